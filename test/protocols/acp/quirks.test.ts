import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { compareVersions, QUIRKS, quirksOf } from '../../../src/protocols/acp/quirks.ts';

interface Recorded {
  readonly way: 'in' | 'out' | 'disk';
  readonly exists?: boolean;
  readonly at?: string;
  readonly file?: string;
  /** Its own record on disk, each line shortened. */
  readonly lines?: readonly { readonly type?: string; readonly $set?: { readonly messages?: readonly { readonly type: string }[] } }[];
  readonly message?: {
    readonly method?: string;
    readonly error?: { readonly code: number };
    readonly params?: {
      readonly prompt?: readonly { readonly type: string }[];
      readonly update?: { readonly sessionUpdate: string; readonly messageId?: string };
    };
    readonly result?: { readonly sessionId?: string; readonly agentInfo?: { readonly name: string; readonly version: string } };
  };
}
const recorded = (file: string) =>
  readFileSync(path.resolve('test/protocols/acp', file), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Recorded);

test('every quirk has a recorded case of the agent it is about', () => {
  for (const { id, peers, proof } of QUIRKS) {
    const info = recorded(proof).find((frame) => frame.message?.result?.agentInfo)?.message?.result?.agentInfo;
    assert.equal(info?.name.toLowerCase(), peers);
    assert.equal(quirksOf(info?.name, info?.version)[id], true);
  }
});

test('recorded: an error for a missing file keeps Gemini from writing it, and OpenCode writes what was refused', () => {
  const gemini = recorded('recorded/gemini-new-file.jsonl');
  assert.ok(gemini.some((frame) => frame.way === 'out' && frame.message?.error?.code === -32002));
  assert.ok(!gemini.some((frame) => frame.message?.method === 'fs/write_text_file'));
  assert.equal(gemini.at(-1)?.exists, false);
  const opencode = recorded('recorded/opencode-refused-write.jsonl');
  assert.ok(opencode.some((frame) => frame.way === 'out' && frame.message?.error));
  assert.equal(opencode.at(-1)?.exists, true);
});

test('recorded: Gemini empties its record when it is loaded in the minute it was begun in, and loads it one minute later', () => {
  const frames = recorded('recorded/gemini-load-too-soon.jsonl');
  const minute = (frame: Recorded | undefined) => frame?.at?.slice(0, 'yyyy-mm-ddThh:mm'.length);
  const begun = frames.filter((frame) => frame.message?.result?.sessionId);
  const loads = frames.flatMap((frame, at) => (frame.message?.method === 'session/load' ? [at] : []));
  const [soon = 0, late = 0] = loads;
  assert.equal(loads.length, 2);
  assert.equal(minute(frames[soon]), minute(begun[0]));
  assert.ok(frames[soon + 1]?.message?.error);
  const answers = (frame: Recorded | undefined) => frame?.lines?.some((line) => line.type === 'gemini');
  assert.ok(answers(frames[soon - 1]), 'the answer was on disk before the process ended');
  const emptied = frames[soon + 2];
  assert.equal(emptied?.file, frames[soon - 1]?.file);
  assert.deepEqual(
    emptied?.lines?.at(-1)?.$set?.messages?.map((message) => message.type),
    ['user'],
  );
  assert.notEqual(minute(frames[late]), minute(begun[1]));
  assert.ok(frames[late + 1]?.message?.result);
});

test('recorded: Codex and Copilot repeat each prompt as one piece without an id, however many blocks it had', () => {
  for (const file of ['recorded/codex-whole-prompts.jsonl', 'recorded/copilot-whole-prompts.jsonl']) {
    const frames = recorded(file);
    const prompts = frames.flatMap(({ message }) => (message?.method === 'session/prompt' ? [message.params?.prompt ?? []] : []));
    const pieces = frames.flatMap(({ message }) => (message?.params?.update ? [message.params.update] : []));
    assert.ok(prompts.some((blocks) => blocks.length > 1));
    assert.equal(pieces.filter((one) => one.sessionUpdate === 'user_message_chunk').length, prompts.length);
    const two = pieces.findIndex((one, at) => one.sessionUpdate === pieces[at + 1]?.sessionUpdate);
    assert.ok(pieces[two]?.sessionUpdate === 'user_message_chunk', 'the prompt that was stopped stands right before the next one');
    assert.ok(pieces.every((one) => one.messageId === undefined));
  }
});

test('a quirk ends with the version it is gone in, and other agents have none', () => {
  assert.ok(compareVersions('0.61.0', '0.9.12') > 0);
  assert.ok(compareVersions('v1.2.3-beta', '1.2.3') === 0);
  assert.ok(compareVersions('1.2', '1.2.1') < 0);
  assert.deepEqual(quirksOf('Codex-ACP', '1.9.9'), { wholePrompts: true });
  assert.deepEqual(quirksOf('codex-acp', '2.0.0'), {});
  assert.deepEqual(quirksOf('somebody', '1.0.0'), {});
  assert.deepEqual(quirksOf(undefined, undefined), {});
});

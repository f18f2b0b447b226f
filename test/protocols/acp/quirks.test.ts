import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { compareVersions, quirksOf, quirkTable } from '../../../src/protocols/acp/quirks.ts';

interface Recorded {
  readonly way: 'in' | 'out' | 'disk';
  readonly exists?: boolean;
  readonly message?: {
    readonly method?: string;
    readonly error?: { readonly code: number };
    readonly result?: { readonly agentInfo?: { readonly name: string; readonly version: string } };
  };
}
const recorded = (file: string) =>
  readFileSync(path.resolve('test/protocols/acp', file), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Recorded);

test('every quirk has a recorded case of the agent and version it is about', () => {
  for (const { agent, from, proof, quirks } of quirkTable) {
    const info = recorded(proof).find((frame) => frame.message?.result?.agentInfo)?.message?.result?.agentInfo;
    assert.equal(info?.name.toLowerCase(), agent);
    assert.ok(info && compareVersions(info.version, from) >= 0);
    for (const quirk of Object.keys(quirks)) assert.ok(quirk in quirksOf(info.name, info.version));
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

test('a quirk ends with the version it is gone in, and other agents have none', () => {
  assert.ok(compareVersions('0.61.0', '0.9.12') > 0);
  assert.ok(compareVersions('v1.2.3-beta', '1.2.3') === 0);
  assert.ok(compareVersions('1.2', '1.2.1') < 0);
  assert.deepEqual(quirksOf('somebody', '1.0.0'), {});
  assert.deepEqual(quirksOf(undefined, undefined), {});
});

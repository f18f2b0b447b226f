import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Tool } from '../../../src/protocols/ports.ts';
import { call, echoTool, textOf } from '../../protocols/ai-sdk/talk.ts';
import { type OfficialMessage, official, parley, serverOf } from './peers.ts';

const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false };
const OUTPUT = { opened: true };
const openInIde: Tool = { ...echoTool('open_in_ide', async () => ({ ok: true, text: JSON.stringify(OUTPUT) })), parameters };
const tools = { open_in_ide: { description: openInIde.description, parameters } };

/** Without what differs from run to run: ids, and names of the same thing in other versions. */
function comparable(messages: readonly OfficialMessage[]) {
  const calls = new Map<unknown, string>();
  const named = (id: unknown) => {
    if (!calls.has(id)) calls.set(id, `call${calls.size + 1}`);
    return calls.get(id);
  };
  return messages.map(({ role, parts, metadata }) => ({
    role,
    metadata,
    parts: parts.map((part) => {
      const { approval, rawInput, ...rest } = JSON.parse(JSON.stringify(part)) as Record<string, unknown>;
      const { id: _, signature: __, ...answer } = (approval ?? {}) as Record<string, unknown>;
      return {
        ...rest,
        // Version 5 and 6 keep unusable input under another name.
        ...(rawInput === undefined || rest.input !== undefined ? {} : { input: rawInput }),
        ...('toolCallId' in rest ? { toolCallId: named(rest.toolCallId) } : {}),
        ...(approval === undefined ? {} : { approval: answer }),
      };
    }),
  }));
}

async function lastAsked(url: string): Promise<readonly OfficialMessage[]> {
  const asked = (await (await fetch(`${new URL(url).origin}/asked`)).json()) as { messages: OfficialMessage[] }[];
  return asked.at(-1)?.messages ?? [];
}

for (const version of [5, 6, 7]) {
  const scenarios = ['hello', 'reason', 'look', 'three', 'weather', 'mixed', 'bad', 'throwing', 'progress'];
  if (version > 5) scenarios.push('delete', 'deleteTwo', 'deleteAndLook');

  test(`a server of version ${version}: what we post back is what the official client holds`, async (t) => {
    const url = `${await serverOf(t, version)}/api/chat`;
    for (const scenario of scenarios) {
      const ours = await parley(t, url, [openInIde]);
      ours.live.store.onChange(({ event }) => {
        if (event.type === 'ask.opened') ours.answer(event.ask, 'allow');
      });
      const turn = await ours.prompt(scenario);
      assert.equal(turn.status, 'done', `${scenario}: ${turn.error?.message}`);
      await ours.prompt('bye');
      const posted = (await lastAsked(url)).slice(0, 2);
      const { messages, failures } = await official(version, url, {
        id: randomUUID(),
        prompts: [scenario],
        tools,
        outputs: { open_in_ide: OUTPUT },
        approve: true,
      });
      assert.deepEqual(failures, [], scenario);
      assert.deepEqual(comparable(posted), comparable(messages), scenario);
    }
  });

  test(`a server of version ${version} that holds its stream open`, async (t) => {
    const url = `${await serverOf(t, version)}/held/chat`;
    const { prompt } = await parley(t, url, [openInIde]);
    for (const scenario of ['look', 'three', 'mixed']) {
      const turn = await prompt(scenario);
      assert.deepEqual([turn.status, /opened/.test(textOf(turn))], ['done', true], scenario);
    }
    const asked = (await (await fetch(`${new URL(url).origin}/asked`)).json()) as unknown[];
    assert.equal(asked.length, 3, 'one request a turn');
  });

  test(`a server of version ${version} whose model fails, and an unknown tool`, async (t) => {
    const url = `${await serverOf(t, version)}/api/chat`;
    const { prompt } = await parley(t, url);
    const failed = await prompt('boom');
    assert.equal(failed.status, 'failed');
    assert.equal((await prompt('hello')).status, 'done');
  });
}

for (const version of [6, 7]) {
  test(`version ${version}: a signed approval is refused with words, and a stopped one leaves a usable history`, async (t) => {
    const url = `${await serverOf(t, version)}/api/chat`;
    const { say, asked, answer, ended, stop, prompt } = await parley(t, url);
    const refused = say('delete');
    answer(await asked(), { kind: 'option', optionId: 'reject', feedback: 'keep it' });
    const turn = await ended(refused);
    assert.deepEqual([turn.status, call(turn, turn.parts.find((part) => part.kind === 'call')!.id).status], ['done', 'rejected']);
    const stopped = say('delete');
    await asked();
    stop();
    assert.equal((await ended(stopped)).status, 'cancelled');
    const after = await prompt('hello');
    assert.deepEqual([after.status, textOf(after)], ['done', 'You said hello.']);
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tool } from '../../../src/protocols/ports.ts';
import { type Body, called, finish, type Route, said, start, step, stepEnd } from '../../fakes/aiSdk.ts';
import { call, echoTool, talk, textOf } from './talk.ts';

// Tools of the editor run for real, and their answers become request bodies.

/** First these calls, then, with their results, a last word. */
const callsThenWord =
  (...calls: readonly ReturnType<typeof called>[]): Route =>
  (reply, _, n) =>
    n === 1
      ? reply.all(start('m'), step, ...calls, stepEnd, finish('tool-calls'))
      : reply.all(start('m'), step, ...said('Thanks.'), stepEnd, finish('stop'));
const partsPosted = (body: Body | undefined) => body?.messages.at(-1)?.parts ?? [];
const posted = (body: Body | undefined, id: string) =>
  partsPosted(body).find((part) => part.toolCallId === id) ?? assert.fail(`${id} was not posted`);

test('ours is run with its input and its result posted; the declaration went with every request', async (t) => {
  const inputs: unknown[] = [];
  const tool = echoTool('open_in_ide', async (input) => {
    inputs.push(input);
    return { ok: true, text: '{"opened":true}' };
  });
  const { server, prompt } = await talk(t, {
    tools: [tool],
    routes: { '/api/chat': callsThenWord(called('c1', 'open_in_ide', { path: 'a.ts' })) },
  });
  const turn = await prompt();
  assert.deepEqual(inputs, [{ path: 'a.ts' }]);
  assert.deepEqual([turn.status, textOf(turn), call(turn, 'c1').status], ['done', 'Thanks.', 'done']);
  const [first, second] = server.bodies('/api/chat');
  assert.deepEqual(posted(second, 'c1'), {
    type: 'tool-open_in_ide',
    toolCallId: 'c1',
    state: 'output-available',
    input: { path: 'a.ts' },
    output: { opened: true },
  });
  assert.deepEqual([second?.trigger, second?.messageId, second?.messages.at(-1)?.role], ['submit-message', 'm', 'assistant']);
  for (const body of [first, second]) {
    assert.deepEqual(body?.tools?.open_in_ide, { description: tool.description, parameters: tool.parameters });
    assert.deepEqual(Object.keys(body?.tools ?? {}), ['ask_person', 'open_in_ide']);
  }
});

test('a tool that needs confirmation asks first; a refusal with words goes back', async (t) => {
  let ran = 0;
  const tool: Tool = {
    ...echoTool('write', async () => ({ ok: true, text: String(++ran) })),
    confirm: () => ({ title: 'Write?', kind: 'edit', detail: { type: 'text', text: 'x' } }),
  };
  const { server, say, ended, asked, answer } = await talk(t, {
    tools: [tool],
    routes: { '/api/chat': callsThenWord(called('c', 'write', { path: 'x' })) },
  });
  const turnId = say('go');
  answer(await asked(), { kind: 'option', optionId: 'reject', feedback: 'not there' });
  await ended(turnId);
  assert.equal(ran, 0);
  assert.match(String(posted(server.bodies('/api/chat')[1], 'c').errorText), /not there/);
});

test('tools are offered unless the profile says no; what they show is on the card, what they say goes to the server', async (t) => {
  const diff = { path: '/w/a.ts', before: 'x', after: 'y' };
  const edit: Tool = {
    ...echoTool('edit_file', async () => ({ ok: true, text: 'Changed a.ts', shown: [{ kind: 'diff', diff }] })),
    confirm: () => ({ title: 'Edit a.ts', kind: 'edit', detail: { type: 'edit', diffs: [diff] } }),
  };
  const edits = called('c', 'edit_file', { path: 'a.ts' });
  const { server, say, asked, answer, ended } = await talk(t, { hands: [edit], routes: { '/api/chat': callsThenWord(edits) } });
  const turnId = say('go');
  const ask = await asked();
  assert.deepEqual(ask.kind === 'approval' && [ask.title, ask.detail], ['Edit a.ts', { type: 'edit', diffs: [diff] }]);
  answer(ask, 'allow');
  const { title, kind, output } = call(await ended(turnId), 'c');
  assert.deepEqual([title, kind, output], ['Edit a.ts', 'edit', [{ kind: 'diff', diff }]]);
  assert.equal(posted(server.bodies('/api/chat')[1], 'c').output, 'Changed a.ts');
  assert.ok(Object.hasOwn(server.bodies('/api/chat')[0]?.tools ?? {}, 'edit_file'));

  const without = await talk(t, { hands: [edit], options: { hands: 'false' }, routes: { '/api/chat': callsThenWord(edits) } });
  const turn = await without.prompt();
  assert.match(String(posted(without.server.bodies('/api/chat')[1], 'c').errorText), /not available in this editor/);
  assert.equal(turn.status, 'done');
  assert.equal(Object.hasOwn(without.server.bodies('/api/chat')[0]?.tools ?? {}, 'edit_file'), false);
});

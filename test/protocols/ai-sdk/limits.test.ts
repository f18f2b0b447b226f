import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToolAnswer } from '../../../src/protocols/ports.ts';
import { called, finish, type Route, said, start, step, stepEnd } from '../../fakes/aiSdk.ts';
import { call, echoTool, talk } from './talk.ts';

// What a tool gives becomes a request body, so this goes through the server.

const route: Route = (reply, _, n) =>
  n === 1
    ? reply.all(start('m'), step, called('c', 'slow', { path: 'x' }), stepEnd, finish('tool-calls'))
    : reply.all(start('m'), step, ...said('ok'), stepEnd, finish('stop'));

test('what is no answer at all is an error result', async (t) => {
  const circular: { self?: unknown } = {};
  circular.self = circular;
  for (const nonsense of [undefined, null, circular, { ok: true, text: circular }, { ok: true, text: 10n }, { ok: true }]) {
    const tool = echoTool('slow', async () => nonsense as unknown as ToolAnswer);
    const { server, prompt } = await talk(t, { tools: [tool], routes: { '/api/chat': route } });
    const turn = await prompt();
    const part = server.bodies('/api/chat')[1]?.messages.at(-1)?.parts.at(-1);
    assert.deepEqual([turn.status, call(turn, 'c').status, part?.state], ['done', 'failed', 'output-error']);
    assert.equal(typeof part?.errorText, 'string');
  }
});

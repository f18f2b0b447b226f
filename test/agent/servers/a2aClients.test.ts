import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { serveA2a } from '../../../src/agent/servers/a2a/serve.ts';
import { EXTENSION } from '../../../src/protocols/a2a/schema.ts';
import type { Json } from '../../fakes/a2a.ts';
import { type Line, scriptedModel } from '../scripted.ts';

// What clients other than ours may do, and what they are told.

interface Told {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly result?: Json;
  readonly error?: { readonly code: number; readonly message: string };
}

async function served(t: TestContext, lines: readonly Line[]) {
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-clients-'));
  const frontend = await serveA2a({ model: scriptedModel(lines), workspace: { cwd, roots: [cwd] }, port: 0 });
  t.after(async () => {
    await frontend.end();
    rmSync(cwd, { recursive: true, force: true });
  });
  let id = 0;
  const ask = async (method: string, params: unknown, accept?: string) => {
    id += 1;
    const headers = { 'content-type': 'application/json', 'x-a2a-extensions': EXTENSION, ...(accept ? { accept } : {}) };
    const answer = await fetch(frontend.url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id, method, params }) });
    const type = answer.headers.get('content-type') ?? '';
    const text = await answer.text();
    const records = type.includes('event-stream') ? [...text.matchAll(/^data: (.*)$/gm)].map(([, record]) => record ?? '') : [text];
    return { id, type, told: records.map((one) => JSON.parse(one) as Told), text };
  };
  return { cwd, ask };
}
const message = (parts: readonly Json[], more: Json = {}) => ({
  message: { kind: 'message', role: 'user', messageId: String(Math.random()), parts, ...more },
});
const words = (text: string, more: Json = {}) => message([{ kind: 'text', text }], more);
const write = { calls: [['WriteFile', { path: 'a.txt', content: 'x\n' }]] as const };

async function waiting(t: TestContext, ...lines: readonly Line[]) {
  const agent = await served(t, [write, ...lines]);
  const { text } = await agent.ask('message/stream', words('write'));
  const found = (name: string) => new RegExp(`"${name}":"([^"]+)"`).exec(text)?.[1] ?? '';
  const [taskId, contextId, callId] = [found('taskId'), found('contextId'), found('tool_call_id')];
  const decision = (more: Json = {}) =>
    message([{ kind: 'data', data: { tool_call_id: callId, selected_option_id: 'proceed_once' } }], { taskId, contextId, ...more });
  return { ...agent, taskId, contextId, callId, decision };
}

/** The one thing told is the error, with the id of its request. */
function assertRefused({ id, told }: Awaited<ReturnType<Awaited<ReturnType<typeof served>>['ask']>>, code: number): void {
  assert.deepEqual(
    told.map((one) => [one.id, one.error?.code]),
    [[id, code]],
  );
}

for (const [method, params] of [
  ['tasks/resubscribe', { id: 'nobody' }],
  ['message/stream', words('hi', { taskId: 'nobody' })],
] as const)
  test(`an error of ${method} carries the id of its request`, async (t) => {
    const { ask } = await served(t, ['Hello.']);
    await ask('tasks/get', { id: 'nobody' });
    assertRefused(await ask(method, params, 'text/event-stream'), -32001);
  });

test('a text to a task whose approval waits: the call is cancelled, told on the stream and kept in the task', async (t) => {
  const { ask, taskId, contextId, callId, cwd, decision } = await waiting(t, 'As you like.');
  const { text } = await ask('message/stream', words('rather not', { taskId, contextId }));
  assert.match(text, new RegExp(`"tool_call_id":"${callId}","status":"CANCELLED"`));
  assert.match(text, /As you like/);
  const kept = await ask('tasks/get', { id: taskId, historyLength: 50 });
  assert.match(kept.text, new RegExp(`"tool_call_id":"${callId}","status":"CANCELLED"`));
  assert.match(kept.text, /"state":"completed"/);
  await ask('message/stream', decision());
  assert.equal(existsSync(path.join(cwd, 'a.txt')), false, 'what was cancelled is not run');
});

test('a decision that names another context is refused, and the call goes on waiting', async (t) => {
  const { ask, taskId, cwd, decision } = await waiting(t, 'Written.');
  const wrong = await ask('message/stream', decision({ contextId: 'another' }));
  assertRefused(wrong, -32602);
  assert.match((await ask('tasks/get', { id: taskId })).text, /"state":"input-required"/);
  await ask('message/stream', decision());
  assert.equal(existsSync(path.join(cwd, 'a.txt')), true);
});

for (const [why, data] of [
  ['an option that was not offered', (callId: string) => ({ tool_call_id: callId, selected_option_id: 'perhaps' })],
  ['no option', (callId: string) => ({ tool_call_id: callId })],
  ['a call that is not known', () => ({ tool_call_id: 'nobody', selected_option_id: 'proceed_once' })],
  ['no call', () => ({ selected_option_id: 'proceed_once' })],
] as const)
  test(`a decision with ${why} is an error, and the call goes on waiting for a good one`, async (t) => {
    const { ask, taskId, contextId, callId, cwd, decision } = await waiting(t, 'Written.');
    for (const method of ['message/stream', 'message/send']) {
      const wrong = await ask(method, message([{ kind: 'data', data: data(callId) }], { taskId, contextId }));
      assertRefused(wrong, -32602);
    }
    assert.match((await ask('tasks/get', { id: taskId })).text, /"state":"input-required"/);
    await ask('message/stream', decision());
    assert.equal(existsSync(path.join(cwd, 'a.txt')), true);
  });

test('a decision about a call that was decided, or without its task, is an error', async (t) => {
  const { ask, contextId, cwd, decision } = await waiting(t, 'Written.');
  const code = async (more?: Json) => (await ask('message/send', decision(more))).told[0]?.error?.code;
  assert.equal(await code({ taskId: undefined }), -32602, 'in the context only');
  assert.equal(await code({ taskId: undefined, contextId: undefined }), -32602, 'nowhere');
  assert.equal(existsSync(path.join(cwd, 'a.txt')), false);
  assert.equal(await code({ contextId }), undefined);
  assert.equal(existsSync(path.join(cwd, 'a.txt')), true);
  assert.equal(await code(), -32602, 'once more');
});

test('a client that takes no stream is told which task its command runs in', async (t) => {
  const { ask } = await served(t, ['Begun.']);
  const { type, told } = await ask('command/execute', { command_path: ['init'] }, 'application/json');
  assert.match(type, /application\/json/);
  const { execution_id, status } = told[0]?.result ?? {};
  assert.equal(status, 'STARTED');
  const state = async () => /"state":"([^"]+)"/.exec((await ask('tasks/get', { id: execution_id })).text)?.[1];
  while ((await state()) !== 'completed') await new Promise((resolve) => setTimeout(resolve, 20));
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { TaskRunner } from '../../../src/agent/servers/a2a/run.ts';
import { ServedTask } from '../../../src/agent/servers/a2a/tasks.ts';
import { EnvelopeServer } from '../../../src/agent/servers/qwen/envelopeServer.ts';
import { MessageServer } from '../../../src/agent/servers/qwen/messageServer.ts';
import type { QwenServer, QwenServerOptions } from '../../../src/agent/servers/qwen/qwenFrontend.ts';
import { SessionStore } from '../../../src/agent/sessionStore.ts';
import { type Line, scriptedModel } from '../scripted.ts';
import { type Chunk, chunksIn, ID, served, user } from './aiSdkServed.ts';

type Written = Readonly<Record<string, unknown>>;

/** A command that is running when `begun` is there, and would not end within any test. */
const LONG: Line = { calls: [['Shell', { command: 'echo begun; sleep 1000' }, 'c1']] };
const WRITE: Line = { calls: [['WriteFile', { path: 'a.txt', content: 'x' }, 'c1']] };

/** A frontend of Qwen's over a scripted model; `line` gives the first line that fits, now or later. */
function qwen(
  t: TestContext,
  Server: new (options: QwenServerOptions) => QwenServer,
  lines: readonly Line[],
  format: QwenServerOptions['format'] = 'stream-json',
) {
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-face-'));
  const written: Written[] = [];
  let wake = () => {};
  const server = new Server({
    write: (line) => {
      written.push(line as Written);
      wake();
    },
    exit: () => {},
    session: 's',
    mode: 'default',
    partials: false,
    inputFormat: 'stream-json',
    modelFor: () => undefined,
    storeOf: (id) => new SessionStore(path.join(cwd, '.home'), cwd, id),
    format,
    model: scriptedModel(lines),
    workspace: { cwd, roots: [cwd] },
    store: new SessionStore(path.join(cwd, '.home'), cwd, 's'),
  });
  t.after(async () => {
    await server.end();
    rmSync(cwd, { recursive: true, force: true });
  });
  const line = async (text: string): Promise<Written> => {
    for (;;) {
      const found = written.find((one) => JSON.stringify(one).includes(text));
      if (found) return found;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { server, written, line };
}

const results = (written: readonly Written[]) =>
  written.flatMap((line) => (line.type === 'user' ? (line.message as { readonly content: readonly Written[] }).content : []));
const ask = { type: 'user', message: { role: 'user', content: 'go' } };
const interrupt = { type: 'control_request', request_id: 'i', request: { subtype: 'interrupt' } };

test('messages: a stop while an approval is open gives the call its result before the turn ends', async (t) => {
  const { server, written, line } = qwen(t, MessageServer, [WRITE]);
  server.take(ask);
  await line('can_use_tool');
  server.take(interrupt);
  await line('Operation cancelled.');
  const [result, ...more] = results(written);
  assert.deepEqual(more, []);
  assert.deepEqual([result?.tool_use_id, result?.is_error], ['c1', true]);
  assert.match(String(result?.content), /^\[Operation Cancelled\] Reason: /);
  assert.equal(written.at(-1)?.type, 'result');
});

test('messages: a stop while a command runs gives the call its result before the turn ends', async (t) => {
  const { server, written, line } = qwen(t, MessageServer, [LONG, 'Again.']);
  server.take({ type: 'control_request', request_id: 'm', request: { subtype: 'set_permission_mode', mode: 'yolo' } });
  server.take(ask);
  await line('"tool_use"');
  server.take(interrupt);
  await line('Operation cancelled.');
  assert.deepEqual(
    results(written).map((one) => [one.tool_use_id, one.is_error]),
    [['c1', true]],
  );
  server.take(ask);
  await line('Again.');
});

for (const format of ['stream-json', 'stream-chunk-json'] as const) {
  test(`envelope, ${format}: a stop while an approval is open shows the call as cancelled before it is answered`, async (t) => {
    const { server, written, line } = qwen(t, EnvelopeServer, [WRITE], format);
    server.take({ session_id: '_new', prompt_id: 'p', input: { origin: 'user', parts: [{ type: 'text', text: 'go' }] } });
    const { request_id } = await line('mcp_message');
    server.take({ type: 'control_response', request_id, response: { subtype: 'error', error: 'none' } });
    await line('can_use_tool');
    server.take({ type: 'control/cancel', session_id: 's', reason: 'escape' });
    await line('control_response');
    const [before, event, last] = written.slice(-4);
    assert.match(JSON.stringify(event), /USER_CANCELLED/);
    assert.deepEqual([last?.type, last?.status], ['result/cancel', 'ok']);
    assert.match(JSON.stringify(before), /"tool_call_id":"c1".*"status":"Canceled"/);
  });
}

test('envelope: a stop before the model has been asked stops the turn', async (t) => {
  const { server, written, line } = qwen(t, EnvelopeServer, []);
  server.take({ session_id: '_new', input: { origin: 'user', parts: [{ type: 'text', text: 'go' }] } });
  const { request_id } = await line('mcp_message');
  server.take({ type: 'control/cancel', session_id: 's', reason: 'escape' });
  server.take({ type: 'control_response', request_id, response: { subtype: 'error', error: 'none' } });
  assert.equal((await line('result/cancel')).status, 'ok');
  assert.doesNotMatch(JSON.stringify(written), /script is over/);
});

test('ai-sdk: a stop while a tool of the client runs gives the call its last word', async (t) => {
  const { url } = await served(t, [{ calls: [['look', {}, 'c1']] }]);
  const tools = { look: { description: 'Looks.', parameters: { type: 'object', properties: {} } } };
  const stop = () => fetch(`${url}/${ID}/stop`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
  const chunks = await stoppedAt(url, { id: ID, messages: [user('go')], tools, hold: true }, 'tool-input-available', stop);
  assert.deepEqual(
    chunks.slice(-4).map(({ type, toolCallId }) => toolCallId ?? type),
    ['c1', 'finish-step', 'abort', 'finish'],
  );
  assert.equal(chunks.at(-4)?.type, 'tool-output-error');
});

/** Posts, stops when that type of chunk has come, and gives everything that was said. */
async function stoppedAt(url: string, body: object, type: string, stop: () => Promise<unknown>): Promise<readonly Chunk[]> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  let text = '';
  let stopped: Promise<unknown> | undefined;
  for await (const data of response.body ?? []) {
    text += Buffer.from(data as Uint8Array).toString();
    if (text.includes(`"${type}"`)) stopped ??= stop();
  }
  await stopped;
  return chunksIn(text);
}

test('a2a: a stop while the editor is still asked for its tools stops the turn', async (t) => {
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-face-'));
  let asked: () => void = () => {};
  let give: () => void = () => {};
  const wanted = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const offered = new Promise<void>((resolve) => {
    give = resolve;
  });
  const editor = {
    name: 'editor',
    tools: async () => {
      asked();
      await offered;
      return [];
    },
    call: () => Promise.reject(new Error('no tools')),
  };
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  const model = scriptedModel(['Too late.']);
  const run = new TaskRunner({ model, workspace: { cwd, roots: [cwd] }, servers: [editor] });
  const task = new ServedTask('c');
  const taken = run.prompt(task, 'go');
  await wanted;
  const stopped = run.stop();
  give();
  await Promise.all([stopped, taken]);
  assert.deepEqual([task.state, model.requests.length], ['canceled', 0]);
});

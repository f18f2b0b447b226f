import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ModelPiece } from '../../../src/agent/models/model.ts';
import { type A2aServeOptions, serveA2a } from '../../../src/agent/servers/a2a/serve.ts';
import { EXTENSION } from '../../../src/protocols/a2a/schema.ts';
import type { Json } from '../../fakes/a2a.ts';
import { type Line, scriptedModel } from '../scripted.ts';

// What servers of A2A refuse, this one refuses too.

async function served(t: TestContext, lines: readonly Line[], more: Partial<A2aServeOptions> = {}) {
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-strict-'));
  const frontend = await serveA2a({ model: scriptedModel(lines), workspace: { cwd, roots: [cwd] }, port: 0, ...more });
  t.after(async () => {
    await frontend.end();
    rmSync(cwd, { recursive: true, force: true });
  });
  const headers = { 'content-type': 'application/json', 'x-a2a-extensions': EXTENSION };
  const post = (body: string, others: Record<string, string> = {}) =>
    fetch(frontend.url, { method: 'POST', headers: { ...headers, ...others }, body });
  const ask = (method: string, params: unknown) => post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  return { cwd, url: frontend.url, post, ask };
}
const message = (more: Json) => ({ message: { kind: 'message', role: 'user', messageId: String(Math.random()), ...more } });
const text = (words: string) => message({ parts: [{ kind: 'text', text: words }] });
const codeOf = async (answer: Response) => ((await answer.json()) as { error?: { code: number } }).error?.code;

test('a body that is no JSON is a bad request', async (t) => {
  const { post } = await served(t, []);
  const bad = await post('{"jsonrpc":');
  assert.deepEqual([bad.status, await codeOf(bad)], [400, -32700]);
});

test('a message without parts is refused as such', async (t) => {
  const { ask } = await served(t, []);
  for (const wrong of [message({}), message({ parts: [] }), message({ parts: [{ text: 'no kind' }] }), {}])
    assert.equal(await codeOf(await ask('message/stream', wrong)), -32602);
});

test('a missing token is told with the way to show one, whose name may be written in any case', async (t) => {
  const { ask, post } = await served(t, [], { token: 'secret' });
  const answer = await ask('tasks/get', { id: 'x' });
  assert.deepEqual([answer.status, answer.headers.get('www-authenticate')], [401, 'Bearer']);
  const statuses = ['bearer secret', 'BEARER secret', 'bearer Secret', 'secret', 'Basic secret'].map(
    async (authorization) => (await post('{}', { authorization })).status,
  );
  assert.deepEqual(await Promise.all(statuses), [200, 200, 401, 401, 401]);
});

test('a page of an origin that is allowed may talk to it, and no other', async (t) => {
  const { url } = await served(t, [], { origins: ['http://page.example'] });
  // fetch sets the origin by itself.
  const asked = (origin: string) =>
    new Promise<http.IncomingMessage>((resolve, reject) => {
      http.get(`${url}/.well-known/agent-card.json`, { headers: { origin } }, resolve).on('error', reject);
    });
  const [allowed, other] = [await asked('http://page.example'), await asked('http://other.example')];
  allowed.resume();
  other.resume();
  assert.deepEqual(
    [allowed.statusCode, allowed.headers['access-control-allow-origin'], other.statusCode],
    [200, 'http://page.example', 403],
  );
});

test('a folder that is not named from the root is refused', async (t) => {
  const { ask } = await served(t, ['Hi.']);
  const words = await (
    await ask('message/stream', message({ parts: [{ kind: 'text', text: 'go' }], metadata: { [EXTENSION]: { workspace_path: '.' } } }))
  ).text();
  assert.match(words, /not absolute/);
});

test('a text to a task that works is refused, and what runs goes on', async (t) => {
  let goOn = () => {};
  const may = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const line = async function* (): AsyncIterable<ModelPiece> {
    yield { type: 'text', text: 'One ' };
    await may;
    yield { type: 'text', text: 'two.' };
  };
  const { ask } = await served(t, [line]);
  const first = await ask('message/stream', text('go'));
  const reader = first.body?.getReader();
  let told = '';
  while (!told.includes('One')) told += new TextDecoder().decode((await reader?.read())?.value);
  const [, taskId] = /"taskId":"([^"]+)"/.exec(told) ?? [];
  const [, contextId] = /"contextId":"([^"]+)"/.exec(told) ?? [];
  assert.equal(await codeOf(await ask('message/stream', message({ parts: [{ kind: 'text', text: 'also' }], taskId, contextId }))), -32600);
  assert.equal(await codeOf(await ask('message/stream', message({ parts: [{ kind: 'text', text: 'also' }], contextId }))), -32600);
  goOn();
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) told += new TextDecoder().decode(piece.value);
  assert.match(told, /two\.[\s\S]*"completed"/);
});

test('a call that needs no approval is told as running before it has ended', async (t) => {
  const { ask } = await served(t, [{ calls: [['Glob', { pattern: '*' }]] }, 'Done.']);
  const told = await (await ask('message/stream', text('look'))).text();
  const states = [...told.matchAll(/"status":"(PENDING|EXECUTING|SUCCEEDED)"/g)].map(([, state]) => state);
  assert.deepEqual(states, ['PENDING', 'EXECUTING', 'SUCCEEDED']);
});

test('a command that was allowed for the session is told as running while it runs', async (t) => {
  const command = 'n=$(cat runs 2>/dev/null || echo 0); echo $((n + 1)) > runs; until [ -e go$n ]; do sleep 0.02; done';
  const calls = [1, 2].map(() => ({ calls: [['Shell', { command }]] }) as const);
  const { cwd, ask } = await served(t, [...calls, 'Done.']);
  const asked = await (await ask('message/stream', text('go'))).text();
  const found = (name: string) => new RegExp(`"${name}":"([^"]+)"`).exec(asked)?.[1];
  const data = { tool_call_id: found('tool_call_id'), selected_option_id: 'proceed_always' };
  writeFileSync(path.join(cwd, 'go0'), '');
  const answer = message({ parts: [{ kind: 'data', data }], taskId: found('taskId'), contextId: found('contextId') });
  const reader = (await ask('message/stream', answer)).body?.getReader();
  let told = '';
  const readUntil = async (holds: () => boolean) => {
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
      told += new TextDecoder().decode(piece.value);
      if (holds()) return;
    }
  };
  const count = (status: string) => told.split(`"status":"${status}"`).length - 1;
  await readUntil(() => count('SUCCEEDED') === 1);
  await readUntil(() => count('EXECUTING') === 2);
  assert.deepEqual([count('EXECUTING'), count('SUCCEEDED')], [2, 1]);
  writeFileSync(path.join(cwd, 'go1'), '');
  await readUntil(() => false);
  assert.deepEqual([count('EXECUTING'), count('SUCCEEDED')], [2, 2]);
});

test('a cancel while an approval waits leaves no call waiting in the task', async (t) => {
  const { ask } = await served(t, [{ calls: [['WriteFile', { path: 'a.txt', content: 'x' }]] }, 'Done.']);
  const told = await (await ask('message/stream', text('write'))).text();
  const [, id] = /"taskId":"([^"]+)"/.exec(told) ?? [];
  await ask('tasks/cancel', { id });
  const task = await (await ask('tasks/get', { id, historyLength: 200 })).text();
  const states = [...task.matchAll(/"status":"(PENDING|EXECUTING|SUCCEEDED|CANCELLED)"/g)].map(([, state]) => state);
  assert.deepEqual([states.at(-1), /"state":"canceled"/.test(task)], ['CANCELLED', true]);
  const last = task.slice(task.lastIndexOf('"status":"CANCELLED"'));
  assert.doesNotMatch(last, /confirmation_request/, 'nobody can answer it any more');
});

test('an approval says where its command would run, and what its edit looks like', async (t) => {
  const { cwd, ask } = await served(t, [
    { calls: [['Shell', { command: 'ls' }]] },
    { calls: [['WriteFile', { path: 'a.txt', content: 'x\n' }]] },
    'Done.',
  ]);
  const shell = await (await ask('message/stream', text('run'))).text();
  assert.ok(shell.includes(`"working_directory":${JSON.stringify(cwd)}`), shell);
  const write = await (await ask('message/stream', text('write'))).text();
  assert.match(write, /"formatted_diff":"[^"]*\+x/);
});

test('a body of 70 MB is too large, and the server goes on', async (t) => {
  const { url, ask } = await served(t, []);
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': 70 * 1024 * 1024 };
    const request = http.request(url, { method: 'POST', headers }, (response) => {
      resolve(response.statusCode);
      request.destroy();
    });
    request.on('error', reject);
    // It answers as soon as it has read too much: nothing follows that would meet a closed connection.
    request.write(Buffer.alloc(64 * 1024 * 1024 + 1, 'x'));
  });
  assert.equal(status, 413);
  assert.equal(await codeOf(await ask('tasks/get', { id: 'nobody' })), -32001);
});

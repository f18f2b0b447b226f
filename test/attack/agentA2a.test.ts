import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ModelPiece } from '../../src/agent/models/model.ts';
import { type A2aServeOptions, serveA2a } from '../../src/agent/servers/a2a/serve.ts';
import { A2aServer } from '../../src/agent/servers/a2a/server.ts';
import { EXTENSION } from '../../src/protocols/a2a/schema.ts';
import { temporaryFolder } from '../agent/agentProcess.ts';
import { type Line, scriptedModel } from '../agent/scripted.ts';

/** parley-agent's A2A server, met by a web page, another account of the computer and a client that means harm. */

type Json = Readonly<Record<string, unknown>>;
const TOKEN = 'the token of its owner';
const CARD = '/.well-known/agent-card.json';

async function served(t: TestContext, lines: readonly Line[], more: Partial<A2aServeOptions> = {}) {
  const cwd = temporaryFolder(t);
  const server = await serveA2a({ model: scriptedModel(lines), workspace: { cwd, roots: [cwd] }, port: 0, token: TOKEN, ...more });
  t.after(() => server.end());
  const { port } = new URL(server.url);
  /** A request as it is written: nothing of a library's in between. Resolves with the status, or 0 when there is no answer. */
  const raw = (request: http.RequestOptions, body = '') =>
    new Promise<{ readonly status: number; readonly text: string }>((resolve) => {
      const asking = http.request({ host: '127.0.0.1', port, ...request }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (piece: string) => {
          text += piece;
        });
        response.on('close', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      asking.on('error', () => resolve({ status: 0, text: '' }));
      asking.on('connect', (response, socket) => {
        socket.destroy();
        resolve({ status: response.statusCode ?? 0, text: '' });
      });
      asking.end(body);
    });
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    'content-type': 'application/json',
    'a2a-version': '1.0',
    'a2a-extensions': EXTENSION,
  };
  const rpc = (method: string, params: unknown, id: unknown = 1) =>
    raw({ method: 'POST', path: '/', headers }, JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  return { cwd, port, headers, raw, rpc };
}

const say = (parts: readonly Json[], more: Json = {}): Json => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts, ...more },
});
const words = (text: string, more: Json = {}) => say([{ text }], more);
const codeIn = ({ text }: { readonly text: string }) => (JSON.parse(text) as { error?: { code: number } }).error?.code;
const taskIn = (text: string) => ({
  taskId: /"taskId":"([^"]+)"/.exec(text)?.[1],
  contextId: /"contextId":"([^"]+)"/.exec(text)?.[1],
});
const writing: Line = { calls: [['WriteFile', { path: 'a.txt', content: 'x' }, 'c1']] };
const caller = { version: '1.0', extensions: [EXTENSION], takesStreams: true } as const;

test('nothing but its card answers a client without the token, in whatever binding or spelling it asks', async (t) => {
  const { raw, headers, port } = await served(t, []);
  const paths = [
    '/',
    '//',
    '/v1/message:send',
    '/message:send',
    '/message:stream',
    '/v1/tasks',
    '/tasks/x:cancel',
    '/v1/card',
    '/extendedAgentCard',
    '/lf.a2a.v1.A2AService/SendMessage',
    '/a2a.v1.A2AService/ListTasks',
    '/.well-known/agent.json',
    `${CARD}/`,
    `${CARD}/../..`,
    `${CARD}%2f..`,
    `${CARD}%00`,
    `${CARD.toUpperCase()}`,
    `/x${CARD}`,
    `http://127.0.0.1:${port}/`,
  ];
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks' });
  const { authorization: _, ...bare } = headers;
  for (const at of paths) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'TRACE', 'PROPFIND']) {
      const { status } = await raw({ method, path: at, headers: bare }, method === 'POST' ? body : '');
      assert.ok([400, 401, 501].includes(status), `${method} ${at}: ${status}`);
    }
  }
  for (const method of ['POST', 'PUT', 'HEAD', 'DELETE'])
    assert.equal((await raw({ method, path: CARD, headers: bare })).status, 401, method);
  const spellings = ['', 'Bearer', 'Bearer ', TOKEN, `Basic ${TOKEN}`, `Bearer ${TOKEN}x`, `Bearer  ${TOKEN}`, `Bearer ${TOKEN.slice(1)}`];
  for (const authorization of spellings) {
    const { status } = await raw(
      { method: 'POST', path: `/?token=${encodeURIComponent(TOKEN)}`, headers: { ...bare, authorization } },
      body,
    );
    assert.equal(status, 401, authorization);
  }
  assert.equal(
    (await raw({ method: 'POST', path: '/', headers: { ...bare, cookie: `token=${TOKEN}`, 'x-api-key': TOKEN } }, body)).status,
    401,
  );
});

test('a client with the token finds no other binding, and no method of the other version', async (t) => {
  const { raw, headers } = await served(t, []);
  for (const at of ['/message:send', '/v1/tasks', '/lf.a2a.v1.A2AService/SendMessage', '/rpc', '/index.html'])
    assert.equal((await raw({ method: 'POST', path: at, headers }, '{}')).status, 404, at);
  const asked = (method: string, version: string) =>
    raw({ method: 'POST', path: '/', headers: { ...headers, 'a2a-version': version } }, JSON.stringify({ jsonrpc: '2.0', id: 1, method }));
  for (const method of ['message/send', '__proto__', 'constructor', 'toString', 'sendmessage', 'SendMessage ']) {
    assert.equal(codeIn(await asked(method, '1.0')), -32601, method);
  }
  for (const version of ['1.0, 0.3', '1', '2.0', '01.0', '1.00', 'x', '0.3x', '1.0 1.0']) {
    assert.equal(codeIn(await asked('ListTasks', version)), -32009, version);
  }
});

test('a web page reaches it neither by its own origin nor by a name for this computer', async (t) => {
  const { raw, headers } = await served(t, []);
  const hosts = ['evil.example', 'localhost.evil.example', '127.0.0.1.nip.io', '127.0.0.1@evil.example', '0.0.0.0', '127.1', '2130706433'];
  for (const host of [...hosts, '[::ffff:127.0.0.1]', 'localhost:1:2', 'localhost.', ' ', 'localhost evil', 'evil#localhost']) {
    for (const at of ['/', CARD]) {
      const { status } = await raw({ method: at === CARD ? 'GET' : 'POST', path: at, headers: { ...headers, host } }, '{}');
      assert.ok(status === 403 || status === 400, `${host} ${at}: ${status}`);
    }
  }
  for (const origin of ['null', 'http://localhost', 'http://127.0.0.1', 'file://', 'vscode-webview://x', 'https://evil.example', '']) {
    for (const method of ['POST', 'GET', 'OPTIONS']) {
      const { status } = await raw({ method, path: method === 'GET' ? CARD : '/', headers: { ...headers, origin } });
      assert.equal(status, 403, `${method} ${origin}`);
    }
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain; application/json', '']) {
    const { status } = await raw({ method: 'POST', path: '/', headers: { ...headers, 'content-type': type } }, '{"jsonrpc":"2.0"}');
    assert.equal(status, 415, type);
  }
});

test('its card tells strangers nothing of this computer', async (t) => {
  const { raw, cwd } = await served(t, []);
  const { status, text } = await raw({ path: CARD });
  assert.equal(status, 200);
  for (const secret of [TOKEN, cwd, path.basename(cwd), process.env.USER ?? '\0', String(process.pid)]) {
    assert.ok(!JSON.stringify({ ...(JSON.parse(text) as object), url: '', supportedInterfaces: [] }).includes(secret), secret);
  }
});

test('a message nested a hundred thousand levels deep spoils neither the server nor the list of tasks', async (t) => {
  const { raw, rpc, headers } = await served(t, ['One.', 'Two.', 'Three.']);
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
  for (const method of ['SendMessage', 'SendStreamingMessage']) {
    for (const parts of [`[{"text":"x"}],"metadata":${deep}`, `[{"text":"x"},{"data":${deep}}]`]) {
      const message = `{"messageId":"m","role":"ROLE_USER","parts":${parts}}`;
      await raw({ method: 'POST', path: '/', headers }, `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"message":${message}}}`);
    }
  }
  const list = await rpc('ListTasks', { pageSize: 100, historyLength: 10 });
  assert.equal(list.status, 200, list.text.slice(0, 200));
  for (const { id } of (JSON.parse(list.text) as { result: { tasks: { id: string }[] } }).result.tasks) {
    assert.equal((await rpc('GetTask', { id })).status, 200);
  }
});

test('what every event of a stream repeats has a length', async (t) => {
  const { rpc } = await served(t, ['One.']);
  const long = 'x'.repeat(100_000);
  assert.equal(codeIn(await rpc('SendMessage', words('go'), long)), -32600, 'the id of a request');
  assert.equal(codeIn(await rpc('SendMessage', words('go', { contextId: long }))), -32602, 'a context');
  assert.equal(codeIn(await rpc('command/execute', { command_path: ['help'], contextId: long })), -32602, 'the context of a command');
});

test('an answer that contradicts itself allows nothing', async (t) => {
  const option = (selected: unknown, more: Json = {}): Json => ({ data: { tool_call_id: 'c1', selected_option_id: selected, ...more } });
  const answers: Readonly<Record<string, readonly Json[]>> = {
    'yes, then no': [option('proceed_once'), option('cancel')],
    'no, then yes': [option('cancel'), option('proceed_once')],
    'once, then for the session': [option('proceed_once'), option('nothing that is offered'), option('proceed_always')],
    'two spellings of the option': [option('proceed_once', { selectedOptionId: 'cancel' })],
    'two spellings of the option, the other way': [option('cancel', { selectedOptionId: 'proceed_once' })],
    'two calls in one': [option('proceed_once', { toolCallId: 'c2' })],
    'another case': [option('Proceed_Once')],
    'a blank behind it': [option('proceed_once ')],
    'two texts': [option('proceed_once', { file_details: { new_content: 'x' }, modified_details: { new_content: 'y' } })],
  };
  for (const [name, parts] of Object.entries(answers)) {
    const { cwd, rpc } = await served(t, [writing, 'Done.', 'Done.']);
    const asked = await rpc('SendStreamingMessage', words('write'));
    assert.match(asked.text, /proceed_once/);
    const answer = await rpc('SendMessage', say(parts, taskIn(asked.text)));
    // Two texts of the user's are a rejection with words, for the call was decided.
    if (name !== 'two texts') assert.equal(codeIn(answer), -32602, name);
    assert.equal(existsSync(path.join(cwd, 'a.txt')), false, name);
  }
});

test('a decision in the task of another client decides nothing there', async (t) => {
  const { cwd, rpc } = await served(t, [writing, 'Other.', 'Done.', 'Done.']);
  const first = await rpc('SendStreamingMessage', words('write'));
  const second = await rpc('SendStreamingMessage', words('hello'));
  const yes = { data: { tool_call_id: 'c1', selected_option_id: 'proceed_once' } };
  const [own, other] = [taskIn(first.text), taskIn(second.text)];
  await rpc('SendMessage', say([yes], other));
  await rpc('SendMessage', say([yes], { contextId: other.contextId }));
  await rpc('SendMessage', say([yes], { contextId: own.contextId }));
  await rpc('SendMessage', say([yes], { ...other, contextId: own.contextId }));
  await rpc('SendMessage', say([yes]));
  assert.equal(existsSync(path.join(cwd, 'a.txt')), false);
  await rpc('SendMessage', say([yes], own));
  assert.equal(existsSync(path.join(cwd, 'a.txt')), true, 'its own client is heard');
});

test('notifications go to few places, on this computer only, and carry no headers of somebody else', async (t) => {
  const { rpc } = await served(t, ['One.']);
  const { taskId } = taskIn((await rpc('SendStreamingMessage', words('go'))).text);
  const elsewhere = [
    'http://127.0.0.1@evil.example/',
    'http://localhost.evil.example/',
    'http://0.0.0.0/',
    'file:///etc/passwd',
    'ftp://127.0.0.1/',
  ];
  for (const url of [
    ...elsewhere,
    'http://[::ffff:127.0.0.1]/',
    'http://169.254.169.254/',
    'http://localhost./',
    '//127.0.0.1',
    'x',
    7,
    null,
  ]) {
    assert.equal(codeIn(await rpc('CreateTaskPushNotificationConfig', { taskId, url })), -32602, String(url));
  }
  for (let at = 0; at < 200; at += 1) await rpc('CreateTaskPushNotificationConfig', { taskId, id: `p${at}`, url: 'http://127.0.0.1:1/' });
  const { text } = await rpc('ListTaskPushNotificationConfigs', { taskId });
  const { configs } = (JSON.parse(text) as { result: { configs: { id: string }[] } }).result;
  assert.ok(configs.length <= 20, `${configs.length} places`);
  assert.equal(configs.at(-1)?.id, 'p199', 'the newest counts');
});

test('a place that never answers does not gather what it is not told', async (t) => {
  const held: http.ServerResponse[] = [];
  let bodies = 0;
  const place = http.createServer((request, response) => {
    request.resume();
    held.push(response);
    bodies += 1;
  });
  await new Promise<void>((resolve) => place.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(place.address() as { port: number }).port}/`;
  const line = async function* (): AsyncIterable<ModelPiece> {
    for (let at = 0; at < 2000; at += 1) yield { type: 'text', text: `${at} ${'x'.repeat(10_000)}` };
  };
  const { rpc } = await served(t, [line]);
  t.after(() => place.closeAllConnections());
  t.after(() => place.close());
  const { text } = await rpc('SendStreamingMessage', { ...words('go'), configuration: { taskPushNotificationConfig: { url } } });
  assert.match(text, /COMPLETED/);
  // Each one is let go as it comes: what is still to be told stays a small part of what happened.
  const last = new Promise<void>((resolve) => {
    const release = () => {
      for (const response of held.splice(0)) response.end();
    };
    place.on('request', (request) => {
      let body = '';
      request.setEncoding('utf8');
      request.on('data', (piece: string) => {
        body += piece;
      });
      request.on('end', () => {
        if (body.includes('COMPLETED')) resolve();
        release();
      });
    });
    release();
  });
  await last;
  assert.ok(bodies <= 800, `${bodies} of 2,000 were kept for it`);
});

test('a client that does not read is let go, and the task comes to its end', { timeout: 60_000 }, async (t) => {
  const pieces = 1200;
  const line = async function* (): AsyncIterable<ModelPiece> {
    for (let at = 0; at < pieces; at += 1) {
      yield { type: 'text', text: 'x'.repeat(100_000) };
      await new Promise(setImmediate);
    }
  };
  const { port, headers, rpc } = await served(t, [line]);
  const stuck = http.request({ host: '127.0.0.1', port, method: 'POST', path: '/', headers });
  const closed = new Promise<number>((resolve) => {
    stuck.on('error', () => resolve(0));
    stuck.on('response', (response) => {
      let bytes = 0;
      response.pause();
      const count = (chunk: Buffer): void => {
        bytes += chunk.length;
      };
      void over.then(() => response.on('data', count).resume());
      response.on('error', () => {});
      response.on('close', () => resolve(bytes));
    });
  });
  let finish = () => {};
  const over = new Promise<void>((resolve) => {
    finish = resolve;
  });
  stuck.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: words('go') }));
  const stateOf = async () => /TASK_STATE_\w+/.exec((await rpc('ListTasks', { historyLength: 0 })).text)?.[0];
  for (let state = await stateOf(); state !== 'TASK_STATE_COMPLETED'; state = await stateOf()) await new Promise(setImmediate);
  finish();
  const bytes = await closed;
  assert.ok(bytes < 0.8 * pieces * 100_000, `${bytes} bytes waited for a client that did not read`);
});

test('contexts that nobody comes back to are forgotten with their tasks', async (t) => {
  const cwd = temporaryFolder(t);
  const model = scriptedModel(Array.from({ length: 1300 }, () => 'Hello.'));
  const a2a = new A2aServer({ model, workspace: { cwd, roots: [cwd] } });
  t.after(() => a2a.end());
  const send = (contextId: string) => a2a.handle('SendMessage', words('hi', { contextId }), caller);
  for (let at = 0; at < 1200; at += 1) await send(`context ${at}`);
  await send('context 0');
  const history = model.requests.at(-1)?.history ?? [];
  assert.equal(history.filter(({ role }) => role === 'user').length, 1, 'the first context was kept for ever');
  await send('context 1199');
  assert.equal(model.requests.at(-1)?.history.filter(({ role }) => role === 'user').length, 2, 'one that is in use goes on');
});

test('names of every object are contexts like others', async (t) => {
  const { rpc } = await served(t, ['One.', 'Two.', 'Three.']);
  for (const contextId of ['__proto__', 'constructor', 'hasOwnProperty']) {
    const { text } = await rpc('SendMessage', words('go', { contextId, metadata: { constructor: 1 } }));
    assert.match(text, /TASK_STATE_COMPLETED/, contextId);
  }
  assert.equal(codeIn(await rpc('GetTask', { id: '__proto__' })), -32001);
});

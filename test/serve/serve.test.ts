import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { WebSocket } from 'ws';
import { serveChats } from '../../src/agent/servers/ai-sdk/serve.ts';
import { scriptedModel } from '../agent/scripted.ts';
import { folderOf, run, type Started, started } from './hostProcess.ts';

/* The host as a process, with the included agent. */

/** The status and the words with which a connection is refused. */
async function refusedWith(
  address: string,
  options: { readonly origin?: string; readonly headers?: Record<string, string> } = {},
): Promise<string> {
  const socket = new WebSocket(address, options);
  const answer = await new Promise<string>((resolve, reject) => {
    socket.on(
      'unexpected-response',
      (_request, response) => void text(response).then((words) => resolve(`${response.statusCode} ${words}`)),
    );
    socket.on('open', () => reject(new Error('it was let in')));
    socket.on('error', () => {});
  });
  socket.terminate();
  return answer;
}
const WRONG_TOKEN =
  /^403 Refused: this is not the token of this host\. It prints its token when it starts.* "Parley: Connect VS Code's Chat"\n$/;
const NO_TOKEN = /^403 Refused: the token of this host is missing\. It prints it when it starts: .*\?tkn=/;

/** A line to the host, and all that it has said. */
async function connected({ address, token }: Pick<Started, 'address' | 'token'>) {
  const socket = new WebSocket(`${address}/?tkn=${token}`);
  await once(socket, 'open');
  const heard: { id?: number; result?: unknown; method?: string; params?: { action?: { type: string } & Record<string, unknown> } }[] = [];
  let id = 0;
  const wakers = new Set<() => void>();
  socket.on('message', (data) => {
    heard.push(JSON.parse(String(data)));
    for (const wake of wakers) wake();
  });
  const until = async (holds: () => boolean) => {
    while (!holds()) {
      await new Promise<void>((resolve) => wakers.add(resolve));
      wakers.clear();
    }
  };
  return {
    socket,
    heard,
    until,
    actions: () => heard.flatMap((one) => one.params?.action ?? []),
    ask: async (method: string, params: object = {}) => {
      id += 1;
      const mine = id;
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: mine, method, params: { channel: 'ahp-root://', ...params } }));
      await until(() => heard.some((one) => one.id === mine));
      return heard.find((one) => one.id === mine)?.result;
    },
    dispatch: (channel: string, action: object) =>
      socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'dispatchAction', params: { channel, clientSeq: 1, action } })),
  };
}

/** Makes the session, with the agent that its address names, and follows it and its chat, whose address it resolves with. */
async function chatOf(client: Awaited<ReturnType<typeof connected>>, session: string, folder: string): Promise<string> {
  const [provider] = session.split(':');
  await client.ask('createSession', { channel: session, provider, workingDirectories: [pathToFileURL(folder).href] });
  const { snapshot } = (await client.ask('subscribe', { channel: session })) as { snapshot: { state: { defaultChat: string } } };
  const chat = snapshot.state.defaultChat;
  await client.ask('subscribe', { channel: chat });
  return chat;
}

test('a turn of the included agent goes to a client, and its session is there after a restart', async (t) => {
  const folder = folderOf(t);
  const host = await started(t, folder);
  const client = await connected(host);
  await client.ask('initialize', { protocolVersions: ['1.0.0', '0.9.0'], clientId: 'c', initialSubscriptions: ['ahp-root://'] });
  const session = 'parley-agent:/11112222-3333-4444-5555-666677778888';
  const chat = await chatOf(client, session, folder);
  const message = { text: 'hello', origin: { kind: 'user' } };
  client.dispatch(chat, { type: 'chat/turnStarted', turnId: 't1', startedAt: new Date(0).toISOString(), message });
  await client.until(() => client.actions().some(({ type }) => type === 'chat/turnComplete'));
  assert.ok(client.actions().some(({ type }) => type === 'chat/responsePart'));
  host.child.kill('SIGTERM');
  await once(host.child, 'exit');
  const old = path.join(folder, 'data', 'sessions', 'old.journal');
  writeFileSync(old, '');
  utimesSync(old, 1, 1);
  const again = await connected(await started(t, folder));
  assert.equal(existsSync(old), false, 'what need not be kept is removed at the start');
  await again.ask('initialize', { protocolVersions: ['0.9.0'], clientId: 'c' });
  const { items } = (await again.ask('listSessions')) as { items: readonly { resource: string; title: string }[] };
  assert.deepEqual(
    items.map(({ resource, title }) => [resource, title]),
    [[session, 'hello']],
  );
});

test('an edit of parley-agent over the AI SDK is asked about and shown as a diff, and is among the changes of its turn', async (t) => {
  const folder = folderOf(t);
  const work = path.join(folder, 'work');
  mkdirSync(work);
  writeFileSync(path.join(work, 'notes.txt'), 'Buy ink\n');
  const edit = { path: 'notes.txt', edit: { old: 'ink', new: 'paper' } };
  const model = scriptedModel([{ calls: [['StrReplaceFile', edit]] }, 'Done.']);
  const server = await serveChats({ model, workspace: { cwd: work, roots: [work] }, port: 0, origins: [] });
  t.after(() => server.end());
  const profile = path.join(folder, 'agents.json');
  writeFileSync(profile, JSON.stringify([{ id: 'chats', name: 'Chats', protocol: 'ai-sdk', url: server.url }]));
  const client = await connected(await started(t, folder, '--profile', profile));
  await client.ask('initialize', { protocolVersions: ['1.0.0'], clientId: 'c' });
  const session = 'chats:/31112222-3333-4444-5555-666677778888';
  const chat = await chatOf(client, session, work);
  const message = { text: 'edit it', origin: { kind: 'user' } };
  client.dispatch(chat, { type: 'chat/turnStarted', turnId: 't1', startedAt: new Date(0).toISOString(), message });
  type Edit = Readonly<Record<'before' | 'after', { readonly uri: string; readonly content: { readonly uri: string } }>>;
  const texts = async (one: Edit | undefined) => {
    const sides: string[] = [];
    for (const uri of [one?.before.content.uri, one?.after.content.uri])
      sides.push(((await client.ask('resourceRead', { uri, encoding: 'utf-8' })) as { data: string }).data);
    return sides;
  };
  const asked = () => client.actions().find((one) => one.type === 'chat/toolCallReady' && one.confirmed === undefined && 'edits' in one);
  await client.until(() => asked() !== undefined);
  interface Proposed {
    readonly toolCallId: string;
    readonly confirmationTitle: unknown;
    readonly invocationMessage: unknown;
    readonly edits: { readonly items: readonly Edit[] };
  }
  const proposed = asked() as unknown as Proposed;
  assert.deepEqual(proposed.confirmationTitle, { markdown: 'Edit notes.txt' }, 'in words, not by the name of the tool');
  assert.deepEqual(proposed.invocationMessage, { markdown: '✕ rejects this edit.' }, 'the reason of the agent is its title again');
  assert.deepEqual(await texts(proposed.edits.items[0]), ['Buy ink\n', 'Buy paper\n']);
  const { toolCallId } = proposed;
  client.dispatch(chat, { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId, approved: true, confirmed: 'user-action' });
  await client.until(() => client.actions().some(({ type }) => type === 'chat/turnComplete'));
  assert.equal(readFileSync(path.join(work, 'notes.txt'), 'utf8'), 'Buy paper\n');
  const done = client.actions().find((one) => one.type === 'chat/toolCallComplete' && one.toolCallId === toolCallId);
  const result = done?.result as { readonly content: readonly ({ readonly type: string } & Edit)[] } | undefined;
  assert.deepEqual(await texts(result?.content.find(({ type }) => type === 'fileEdit')), ['Buy ink\n', 'Buy paper\n']);
  // The files are looked at once the turn is over: its changes are in the snapshot, or come after it.
  interface Changes {
    readonly files: readonly { readonly edit: Edit }[];
  }
  const channel = `${session}/changeset/turn/t1`;
  const { snapshot: first } = (await client.ask('subscribe', { channel })) as { readonly snapshot: { readonly state: Changes } };
  const told = () => client.actions().find((one) => one.type === 'changeset/contentChanged') as (Changes & object) | undefined;
  await client.until(() => first.state.files.length > 0 || told() !== undefined);
  assert.deepEqual(await texts((told() ?? first.state).files[0]?.edit), ['Buy ink\n', 'Buy paper\n']);
});

test('a host that is told to end tells its clients, and is not announced any more', async (t) => {
  const folder = folderOf(t);
  const host = await started(t, folder);
  const client = await connected(host);
  const closed = once(client.socket, 'close');
  host.child.kill('SIGTERM');
  assert.equal((await closed)[0], 1001);
  assert.equal((await once(host.child, 'exit'))[0], 0);
  assert.equal(existsSync(path.join(folder, 'data', 'host.json')), false);
});

test('rules of a file answer, also those that are written while the host runs; without them it asks', async (t) => {
  const folder = folderOf(t);
  const rules = path.join(folder, 'rules.json');
  writeFileSync(rules, JSON.stringify({ rules: [] }));
  const client = await connected(await started(t, folder, '--rules', rules));
  await client.ask('initialize', { protocolVersions: ['1.0.0'], clientId: 'c' });
  const session = 'parley-agent:/21112222-3333-4444-5555-666677778888';
  const chat = await chatOf(client, session, folder);
  const say = (turnId: string) => {
    const message = { text: 'run echo by-rule', origin: { kind: 'user' } };
    client.dispatch(chat, { type: 'chat/turnStarted', turnId, startedAt: new Date(0).toISOString(), message });
  };
  const of = (turnId: string) => client.actions().filter((action) => action.turnId === turnId);
  say('t1');
  const asks = (turnId: string) => of(turnId).some((action) => action.type === 'chat/toolCallReady' && action.confirmed === undefined);
  await client.until(() => asks('t1'));
  client.dispatch(chat, { type: 'chat/turnCancelled', turnId: 't1', duration: 0 });
  await client.until(() => of('t1').some(({ type }) => type === 'chat/turnCancelled'));
  writeFileSync(rules, JSON.stringify({ rules: [{ kind: 'command', pattern: 'echo *', decision: 'allow' }] }));
  utimesSync(rules, new Date(), new Date(Date.now() + 5000));
  say('t2');
  await client.until(() => of('t2').some(({ type }) => type === 'chat/turnComplete'));
  assert.match(JSON.stringify(of('t2')), /by-rule/);
  assert.ok(!asks('t2'), 'nobody was asked');
});

test('attack: nobody gets in without the token, from a web page or by another name of the computer', async (t) => {
  const host = await started(t, folderOf(t));
  const good = `${host.address}/?tkn=${host.token}`;
  assert.match(await refusedWith(host.address), NO_TOKEN);
  assert.match(await refusedWith(`${host.address}/?tkn=`), NO_TOKEN);
  assert.match(await refusedWith(`${host.address}/?tkn=${host.token.slice(1)}`), WRONG_TOKEN);
  const long = '431 Refused: the token or another header is too long\n';
  assert.equal(await refusedWith(`${host.address}/?tkn=${'x'.repeat(60_000)}`), long);
  for (const origin of ['https://example.com', 'http://localhost:3000'])
    assert.equal(await refusedWith(good, { origin }), `403 Refused: the host serves no web pages, and this is the origin ${origin}\n`);
  const elsewhere = await refusedWith(good, { headers: { host: 'evil.example:80' } });
  assert.equal(elsewhere, '403 Refused: the host is reached by the names of this computer only\n');
  const page = await fetch(host.address.replace('ws:', 'http:'));
  assert.deepEqual([page.status, page.headers.get('connection')], [426, 'close'], 'what is no WebSocket keeps no connection');
  assert.match(await page.text(), /^This is an agent host of Parley\. It has no pages/);
  const socket = new WebSocket(good, { origin: 'vscode-file://vscode-app' });
  await once(socket, 'open');
  const answers: { id: number | null; error?: { code: number } }[] = [];
  const answered = new Promise<void>((resolve) =>
    socket.on('message', (data) => {
      answers.push(JSON.parse(String(data)));
      if (answers.at(-1)?.id === 7) resolve();
    }),
  );
  for (const text of ['', '{', '[]', 'null', '{"id":8,"method":5}', '{"id":{},"method":"ping"}', '[{"method":"ping","id":1}]'])
    socket.send(text);
  socket.send(Buffer.from([1, 2]));
  socket.send('{"jsonrpc":"2.0","id":7,"method":"ping","params":{}}');
  await answered;
  assert.deepEqual(
    answers.slice(0, -1).map(({ id, error }) => [id, error?.code]),
    [-32700, -32700, -32600, -32600, -32600, -32600, -32600, -32700].map((code) => [null, code]),
    'what is no message is answered',
  );
  socket.terminate();
});

test('attack: a client that leaves before its thousands of answers fills no log', async (t) => {
  const host = await started(t, folderOf(t));
  let log = '';
  host.child.stderr?.on('data', (data) => (log += data));
  const leaver = await connected(host);
  for (let id = 0; id < 3000; id += 1) leaver.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'ping', params: {} }));
  await leaver.until(() => leaver.heard.length > 0);
  leaver.socket.terminate();
  const other = await connected(host);
  assert.equal(await other.ask('ping'), null);
  host.child.kill('SIGTERM');
  await once(host.child, 'close');
  assert.equal(log, '');
});

test('attack: the token is in no log, and what names it can be read by its owner only', async (t) => {
  const folder = folderOf(t);
  // What is there already, and can be read by others, keeps neither its mode nor its place.
  const files = ['host.json', 'access.json'].map((name) => path.join(folder, 'data', name));
  mkdirSync(path.join(folder, 'data'));
  for (const one of files) {
    writeFileSync(one, '{}');
    chmodSync(one, 0o644);
  }
  const host = await started(t, folder);
  let log = '';
  host.child.stderr?.on('data', (data) => {
    log += String(data);
  });
  await refusedWith(`${host.address}/?tkn=wrong`);
  for (const one of files) {
    assert.deepEqual(JSON.parse(readFileSync(one, 'utf8')).token, host.token);
    if (process.platform !== 'win32') assert.equal(statSync(one).mode & 0o077, 0);
  }
  host.child.kill('SIGTERM');
  await once(host.child, 'exit');
  assert.ok(!log.includes(host.token));
});

test('a second host on the same conversations says who has them, and ends', async (t) => {
  const folder = folderOf(t);
  const host = await started(t, folder);
  const second = run(t, folder);
  let log = '';
  second.stderr.on('data', (data) => {
    log += String(data);
  });
  assert.equal((await once(second, 'close'))[0], 1);
  assert.match(log, new RegExp(`Another host uses .* \\(process ${host.child.pid}\\)`));
});

test('a port that is taken is named in words, and --help is the usage', async (t) => {
  const { address } = await started(t, folderOf(t));
  const { port } = new URL(address);
  const second = run(t, folderOf(t), '--port', port);
  let log = '';
  second.stderr.on('data', (data) => {
    log += String(data);
  });
  assert.equal((await once(second, 'close'))[0], 1);
  assert.match(log, new RegExp(`^[^\\n]*Port ${port} is taken\\. Name another one with --port\\.\\n$`));
  const help = run(t, folderOf(t), '--help');
  let usage = '';
  help.stdout.on('data', (data) => {
    usage += String(data);
  });
  assert.equal((await once(help, 'close'))[0], 0);
  assert.match(usage, /^usage: parley serve /);
});

test('a host listens on a socket of the file system, on Windows on a named pipe, and asks for the token there, too', async (t) => {
  const folder = folderOf(t);
  const place = process.platform === 'win32' ? `\\\\.\\pipe\\${path.basename(folder)}` : path.join(folder, 'host.sock');
  const { address, token } = await started(t, folder, '--socket', place);
  assert.equal(address, place);
  const client = await connected({ address: `ws+unix:${place}:`, token });
  assert.equal(await client.ask('ping'), null);
  assert.match(await refusedWith(`ws+unix:${place}:/?tkn=wrong`), WRONG_TOKEN);
  client.socket.terminate();
});

test('a host that was killed leaves no socket that keeps the next one from listening; one in use stays', async (t) => {
  const folder = folderOf(t);
  const place = process.platform === 'win32' ? `\\\\.\\pipe\\${path.basename(folder)}` : path.join(folder, 'host.sock');
  const first = await started(t, folder, '--socket', place);
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  const { token } = await started(t, folder, '--socket', place);
  const client = await connected({ address: `ws+unix:${place}:`, token });
  const elsewhere = path.join(folder, 'other');
  mkdirSync(elsewhere);
  await assert.rejects(started(t, elsewhere, '--socket', place), /ended before it said/);
  assert.equal(await client.ask('ping'), null);
  client.socket.terminate();
});

test('a place for its data that is a file is refused in a sentence', async (t) => {
  const file = path.join(folderOf(t), 'a.txt');
  writeFileSync(file, '');
  const child = run(t, folderOf(t), '--data', file);
  let log = '';
  child.stderr.on('data', (data) => {
    log += String(data);
  });
  assert.equal((await once(child, 'close'))[0], 1);
  assert.match(log, /a\.txt cannot be a folder: .+\n$/);
});

const NO_PROC = process.platform === 'linux' ? false : 'only Linux has /proc';
test('a place for its data where no folder can be made is refused in a sentence, too', { skip: NO_PROC }, async (t) => {
  for (const place of ['/proc/x', '/proc/x/y']) {
    const child = run(t, folderOf(t), '--data', place);
    let log = '';
    child.stderr.on('data', (data) => {
      log += String(data);
    });
    assert.equal((await once(child, 'close'))[0], 1);
    assert.match(log, /\/proc\/x(?:\/y)? cannot be a folder: .+\n$/);
  }
});

test('arguments that are off end with a sentence and the usage', async (t) => {
  for (const [args, words] of [
    [['--port', 'x'], /--port takes a number/],
    [['--port', '99999'], /--port takes a number/],
    [['--socket', '/x', '--port', '1'], /either --socket or a port/],
    [['--profile', '/none.json'], /^there is no file \/none\.json\n/],
    [['--other'], /other/],
  ] as const) {
    const child = run(t, folderOf(t), ...args);
    let log = '';
    child.stderr.on('data', (data) => {
      log += String(data);
    });
    assert.equal((await once(child, 'close'))[0], 2);
    assert.match(log, words);
    assert.match(log, /usage: parley serve/);
  }
});

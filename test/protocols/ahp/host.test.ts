import assert from 'node:assert/strict';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../../src/base/log.ts';
import { workspacePathsAt } from '../../../src/live/diskFiles.ts';
import type { Launch } from '../../../src/protocols/adapter.ts';
import { ahp } from '../../../src/protocols/ahp/index.ts';
import type { Tool } from '../../../src/protocols/ports.ts';
import { type Listening, listen } from '../../../src/serve/listen.ts';
import type { SessionEvent } from '../../../src/session/events.ts';
import type { Approval, Question, Session, ToolCall } from '../../../src/session/model.ts';
import { ruledAnswer } from '../../../src/session/policy.ts';
import { newSession, reduce } from '../../../src/session/reduce.ts';
import { AhpClient } from '../../serve/ahpClient.ts';
import { hostFolder, hosting as hostOver, noPorts } from '../../serve/hosting.ts';

/* The client of an agent host and the host, over a real socket. */

const TOKEN = 'a-token-of-the-test';

/** A host that listens; called again with the same folder and port it is that host after a restart. */
async function hosting(t: TestContext, folder: string, port = 0) {
  const served = hostOver(folder, Date.now, () => crypto.randomUUID());
  await served.host.restore();
  const listening: Listening = await listen(served.host, { kind: 'port', host: '127.0.0.1', port }, TOKEN, silentLog);
  let isOpen = true;
  const end = async () => {
    if (!isOpen) return;
    isOpen = false;
    await listening.close();
    await served.end();
  };
  t.after(end);
  return { ...served, end, port: listening.place.kind === 'port' ? listening.place.port : 0 };
}

/** A window with one session of the host at that port or address. */
function windowOn(
  t: TestContext,
  place: number | string,
  folder: string,
  resume?: { key: string; history: boolean },
  token = TOKEN,
  tools: readonly Tool[] = [],
) {
  const launch: Launch = {
    kind: 'http',
    url: typeof place === 'string' ? place : `http://127.0.0.1:${place}`,
    headers: { authorization: `Bearer ${token}` },
    cwd: folder,
    options: { agent: 'fake' },
  };
  let session: Session = newSession('s', { protocol: 'ahp', name: 'Fake' }, folder);
  const events: SessionEvent[] = [];
  const wakers = new Set<() => void>();
  const stop = new AbortController();
  const adapter = ahp.open(launch, {
    emit: (event) => {
      events.push(event);
      session = reduce(session, event);
      for (const wake of wakers) wake();
    },
    ports: { ...noPorts, tools },
    client: { name: 'Parley', version: '0' },
    now: Date.now,
    newId: () => crypto.randomUUID(),
    signal: stop.signal,
    trace: () => {},
    log: silentLog,
    ...(resume ? { resume } : {}),
  });
  const dispose = async () => {
    adapter.dispose();
    await adapter.ended;
  };
  t.after(dispose);
  const until = async (holds: (now: Session) => boolean) => {
    while (!holds(session)) {
      await new Promise<void>((resolve) => wakers.add(resolve));
      wakers.clear();
    }
    return session;
  };
  return { adapter, events, until, now: () => session, dispose };
}

async function opened(t: TestContext, tools: readonly Tool[] = []) {
  const folder = hostFolder();
  const host = await hosting(t, folder);
  const window = windowOn(t, host.port, folder, undefined, TOKEN, tools);
  await window.until(({ link }) => link.state === 'ready');
  return { folder, host, window };
}
const prompt = (turnId: string, text = 'Go') => ({ type: 'prompt', turnId, content: [{ type: 'text', text }] }) as const;
/** The prompt has reached the agent in the host. */
async function begun({ host, window }: Awaited<ReturnType<typeof opened>>, turnId: string) {
  window.adapter.send(prompt(turnId));
  await window.until(({ turns }) => turns.at(-1)?.id === turnId);
  while (host.conversations.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const agent = host.last();
  agent.ready();
  while (!agent.prompts().some((one) => one.turnId === turnId)) await new Promise((resolve) => setImmediate(resolve));
  return agent;
}
const call: ToolCall = {
  id: 'c',
  name: 'Shell',
  title: 'Shell',
  kind: 'execute',
  status: 'waiting',
  inputText: '',
  input: { command: 'ls' },
  output: [],
  locations: [],
};
const approval: Approval = {
  kind: 'approval',
  id: 'a',
  turnId: 't',
  callId: 'c',
  title: 'Run ls',
  toolKind: 'execute',
  detail: { type: 'command', command: 'ls', cwd: '/w' },
  options: [
    { id: 'yes', label: 'Yes', effect: 'allow_once' },
    { id: 'always', label: 'Always', effect: 'allow_always' },
    { id: 'no', label: 'No', effect: 'reject_once' },
  ],
};

test('a prompt reaches the agent in the host, and its answer the window', async (t) => {
  const all = await opened(t);
  assert.equal(all.host.conversations.length, 0, 'opening a session starts no agent');
  const agent = await begun(all, 't');
  agent.say(
    { type: 'text.delta', turnId: 't', kind: 'thought', partId: 't.1', text: 'Hm' },
    { type: 'text.delta', turnId: 't', kind: 'text', partId: 't.2', text: 'Hello' },
    { type: 'text.delta', turnId: 't', kind: 'text', partId: 't.2', text: ' there' },
  );
  agent.endTurn();
  const { turns } = await all.window.until(({ turns: [turn] }) => turn?.status === 'done');
  assert.deepEqual(
    turns[0]?.parts.map((part) => ('text' in part ? [part.kind, part.text] : [part.kind])),
    [
      ['thought', 'Hm'],
      ['text', 'Hello there'],
    ],
  );
});

test('an approval shows the command, its folder and what each answer means; the answer reaches the agent', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  agent.say({ type: 'part.added', turnId: 't', part: { kind: 'call', id: 'c', call } }, { type: 'ask.opened', ask: approval });
  const { asks } = await all.window.until((now) => now.asks.length > 0);
  const [ask] = asks;
  assert.ok(ask?.kind === 'approval');
  assert.deepEqual(ask.detail, { type: 'command', command: 'ls', cwd: '/w' });
  assert.deepEqual(
    ask.options.map(({ id, effect }) => [id, effect]),
    [
      ['yes', 'allow_once'],
      ['always', 'allow_always'],
      ['no', 'reject_once'],
    ],
  );
  all.window.adapter.send({ type: 'answer', askId: ask.id, answer: { kind: 'option', optionId: 'always' } });
  await all.window.until((now) => now.asks.length === 0);
  assert.deepEqual(
    agent.heard.filter((intent) => intent.type === 'answer'),
    [{ type: 'answer', askId: 'a', answer: { kind: 'option', optionId: 'always' } }],
  );
});

test('attack: what comes with a command, or is asked in other words than the call, is asked about here, too', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  const beside = [
    { type: 'edit', diffs: [{ path: '/w/.env', before: null, after: 'x' }] },
    { type: 'text', text: 'Both' },
  ] as const;
  const details = [
    { detail: approval.detail, beside },
    { detail: { type: 'text', text: 'May it leave the sandbox?', unknown: true } },
    { detail: { type: 'mcp', server: 's', tool: 'run', input: { command: 'ls' } } },
  ] as const;
  const rule = { kind: 'command', pattern: 'ls', decision: 'allow' } as const;
  const answer = (ask: Approval) => ruledAnswer(ask, [rule], '/w', workspacePathsAt('/w'));
  assert.notEqual(answer(approval), undefined, 'the command alone is allowed by the rule');
  for (const [at, one] of details.entries()) {
    const ask = { ...approval, ...one, id: `a${at}`, callId: `c${at}`, outside: true, asker: 'Helper' } as const;
    agent.say(
      { type: 'part.added', turnId: 't', part: { kind: 'call', id: `c${at}`, call: { ...call, id: `c${at}` } } },
      { type: 'ask.opened', ask },
    );
    const { asks } = await all.window.until((now) => now.asks.length > at);
    const shown = asks[at];
    assert.ok(shown?.kind === 'approval');
    assert.deepEqual(
      [shown.detail, shown.beside, shown.outside, shown.asker],
      [ask.detail, 'beside' in one ? beside : undefined, true, 'Helper'],
    );
    assert.equal(answer(shown), undefined);
  }
});

test('an edit is asked about with both sides of its diff', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  const file = path.join(all.folder, 'a.txt');
  const diffs = [{ path: file, before: 'one\n', after: 'two\n' }];
  const edit: Approval = { ...approval, toolKind: 'edit', detail: { type: 'edit', diffs }, paths: [file] };
  agent.say(
    { type: 'part.added', turnId: 't', part: { kind: 'call', id: 'c', call: { ...call, kind: 'edit' } } },
    { type: 'ask.opened', ask: edit },
  );
  const { asks } = await all.window.until((now) => now.asks.length > 0);
  assert.ok(asks[0]?.kind === 'approval');
  assert.deepEqual(asks[0].detail, { type: 'edit', diffs });
  assert.deepEqual(asks[0].paths, [file]);
});

test('a question with two fields is answered by what was chosen', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  const question: Question = {
    kind: 'question',
    id: 'q',
    turnId: 't',
    title: 'Which?',
    fields: [
      { id: 'db', label: 'Database', choices: [{ label: 'A' }, { label: 'B' }] },
      { id: 'n', label: 'How many', kind: 'integer' },
    ],
  };
  agent.say({ type: 'ask.opened', ask: question });
  const { asks } = await all.window.until((now) => now.asks.length > 0);
  const values = { db: ['B'], n: ['3'] };
  all.window.adapter.send({ type: 'answer', askId: asks[0]?.id ?? '', answer: { kind: 'fields', values } });
  await all.window.until((now) => now.asks.length === 0);
  assert.deepEqual(
    agent.heard.filter((intent) => intent.type === 'answer'),
    [{ type: 'answer', askId: 'q', answer: { kind: 'fields', values } }],
  );
});

test('two windows: the first answer counts, and the other sees it', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  agent.say({ type: 'part.added', turnId: 't', part: { kind: 'call', id: 'c', call } }, { type: 'ask.opened', ask: approval });
  const { resumeKey = '' } = await all.window.until((now) => now.asks.length > 0);
  const other = windowOn(t, all.host.port, all.folder, { key: resumeKey, history: true });
  const { asks } = await other.until((now) => now.asks.length > 0);
  other.adapter.send({ type: 'answer', askId: asks[0]?.id ?? '', answer: { kind: 'option', optionId: 'no' } });
  await all.window.until((now) => now.asks.length === 0);
  const answers = agent.heard.filter((intent) => intent.type === 'answer');
  assert.deepEqual(answers, [{ type: 'answer', askId: 'a', answer: { kind: 'option', optionId: 'no' } }]);
});

test('a prompt of another client says who sent it; those of the window and of other windows of Parley do not', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  agent.endTurn();
  const { resumeKey = '' } = await all.window.until(({ turns }) => turns[0]?.status === 'done');
  const phone = new AhpClient(all.host.host);
  await phone.open('phone', 'Phone');
  const { items } = (await phone.ask('listSessions')) as { items: readonly { resource: string }[] };
  const chat = `ahp-chat:/${items[0]?.resource.split('/')[1]}`;
  const message = { text: 'From afar', origin: { kind: 'user' } };
  await phone.dispatch(chat, { type: 'chat/turnStarted', turnId: 'u', startedAt: new Date(0).toISOString(), message });
  const senders = ({ turns }: Session) => turns.map(({ id, sender }) => [id, sender]);
  const expected = [
    ['t', undefined],
    ['u', 'Phone'],
  ];
  assert.deepEqual(senders(await all.window.until(({ turns }) => turns[1]?.sender !== undefined)), expected);
  const other = windowOn(t, all.host.port, all.folder, { key: resumeKey, history: true });
  assert.deepEqual(senders(await other.until(({ turns }) => turns.length === 2)), expected);
});

test('a failed turn that another client tries again goes on here, too', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  agent.say({ type: 'text.delta', turnId: 't', kind: 'text', partId: 'p', text: 'Half' });
  agent.endTurn('failed');
  await all.window.until(({ turns }) => turns[0]?.status === 'failed');
  const phone = new AhpClient(all.host.host);
  await phone.open('phone', 'Phone');
  const { items } = (await phone.ask('listSessions')) as { items: readonly { resource: string }[] };
  await phone.dispatch(`ahp-chat:/${items[0]?.resource.split('/')[1]}`, { type: 'chat/turnResume', turnId: 't' });
  await all.window.until(({ turns }) => turns.at(-1)?.status === 'running');
  const { turnId = '' } = agent.prompts().at(-1) ?? {};
  agent.say({ type: 'text.delta', turnId, kind: 'text', partId: 'p', text: 'Whole' });
  agent.endTurn();
  const { turns } = await all.window.until((now) => now.turns.at(-1)?.status === 'done');
  const texts = turns[0]?.parts.map((part) => (part.kind === 'text' ? part.text : part.kind));
  assert.deepEqual([turns.map(({ id }) => id), texts], [['t'], ['Half', 'Whole']]);
});

test('what another client says into the turn is shown as its message; what is said here is shown once', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  agent.say({ type: 'link.ready', agent: { protocol: 'scripted', name: 'Fake' }, offers: { steer: true } });
  const { resumeKey = '' } = all.window.now();
  const phone = new AhpClient(all.host.host);
  await phone.open('phone', 'Phone');
  const chat = `ahp-chat:/${resumeKey.split('/')[1]}`;
  const takesUp = (id: string, text: string) => {
    const content = [{ type: 'text', text }] as const;
    agent.say({ type: 'part.added', turnId: 't', part: { kind: 'prompt', id, content, pending: true } });
    agent.say(
      { type: 'parts.removed', turnId: 't', partIds: [id] },
      { type: 'part.added', turnId: 't', part: { kind: 'prompt', id: `${id}2`, content } },
    );
  };
  await phone.dispatch(chat, {
    type: 'chat/pendingMessageSet',
    kind: 'steering',
    id: 's',
    message: { text: 'Faster', origin: { kind: 'user' } },
  });
  takesUp('s', 'Faster');
  const shown = ({ turns: [turn] }: Session) =>
    turn?.parts.map((part) =>
      part.kind === 'prompt' ? [part.content.map((one) => one.type === 'text' && one.text).join(), part.sender, part.pending] : [part.kind],
    );
  const theirs = ['Faster', 'Phone', undefined];
  await all.window.until((now) => JSON.stringify(shown(now)) === JSON.stringify([theirs]));
  all.window.adapter.send({ type: 'steer', turnId: 'u', content: [{ type: 'text', text: 'Slower' }] });
  while (!agent.heard.some((intent) => intent.type === 'steer' && intent.turnId === 'u'))
    await new Promise((resolve) => setImmediate(resolve));
  takesUp('u', 'Slower');
  agent.say({ type: 'text.delta', turnId: 't', kind: 'text', partId: 't.1', text: 'Well' });
  const now = await all.window.until(({ turns: [turn] }) => turn?.parts.at(-1)?.kind === 'text');
  assert.deepEqual(shown(now), [theirs, ['Slower', undefined, undefined], ['text']]);
});

test('what is said into a turn waits in the host for its end where the agent takes nothing up, and begins the next', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  all.window.adapter.send({ type: 'steer', turnId: 'u', content: [{ type: 'text', text: 'Then' }] });
  const waiting = ({ turns }: Session) =>
    turns.flatMap(({ id, parts }) => parts.map((part) => [id, part.id, part.kind === 'prompt' && part.pending]));
  await all.window.until((now) => waiting(now).length > 0);
  const { host } = all.host;
  const other = new AhpClient(host);
  await other.open('other');
  const chat = `ahp-chat:/${all.window.now().resumeKey?.split('/')[1]}`;
  await other.subscribe(chat);
  while (other.chats.get(chat)?.queuedMessages === undefined) await new Promise((resolve) => setImmediate(resolve));
  agent.say({ type: 'text.delta', turnId: 't', kind: 'text', partId: 't.1', text: 'Done' });
  assert.deepEqual(waiting(await all.window.until(({ turns: [turn] }) => turn?.parts.some(({ kind }) => kind === 'text') === true))[0], [
    't',
    'u',
    true,
  ]);
  agent.endTurn();
  const { turns, queue } = await all.window.until(({ turns }) => turns.at(-1)?.id === 'u');
  assert.deepEqual(
    [turns.map(({ id, parts }) => [id, parts.map(({ kind }) => kind)]), queue],
    [
      [
        ['t', ['text']],
        ['u', []],
      ],
      [],
    ],
  );
});

test('stop ends the turn, withdraws what is asked and lets nothing run', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  agent.say({ type: 'part.added', turnId: 't', part: { kind: 'call', id: 'c', call } }, { type: 'ask.opened', ask: approval });
  await all.window.until((now) => now.asks.length > 0);
  all.window.adapter.send({ type: 'cancel' });
  const { asks, turns } = await all.window.until((now) => now.turns[0]?.status !== 'running');
  assert.deepEqual([asks.length, turns[0]?.status], [0, 'cancelled']);
  assert.ok(!agent.heard.some((intent) => intent.type === 'answer' && intent.answer.kind === 'option'));
});

test('a closed window ends nothing: what was said meanwhile is there when it comes back', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  const { resumeKey = '' } = all.window.now();
  await all.window.dispose();
  agent.say({ type: 'text.delta', turnId: 't', kind: 'text', partId: 't.1', text: 'Done alone' });
  agent.endTurn();
  const again = windowOn(t, all.host.port, all.folder, { key: resumeKey, history: true });
  const { turns } = await again.until(({ link }) => link.state === 'ready');
  assert.deepEqual(
    turns.map(({ id, status, parts }) => [id, status, parts.map((part) => ('text' in part ? part.text : part.kind))]),
    [['t', 'done', ['Done alone']]],
  );
});

test('a host that ends says so at once; started again, its conversation goes on', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  agent.endTurn();
  await all.window.until(({ turns }) => turns[0]?.status === 'done');
  await all.host.end();
  const ended = await all.window.until((now) => now.link.state !== 'ready');
  assert.deepEqual([ended.link.state, 'reason' in ended.link && ended.link.reason], ['closed', 'The agent host was stopped.']);
  const again = await hosting(t, all.folder, all.host.port);
  const window = windowOn(t, again.port, all.folder, { key: ended.resumeKey ?? '', history: true });
  await window.until(({ link }) => link.state === 'ready');
  window.adapter.send(prompt('u'));
  await window.until(({ turns }) => turns.at(-1)?.id === 'u');
  while (again.conversations.length === 0) await new Promise((resolve) => setImmediate(resolve));
  again.last().ready();
  while (again.last().prompts().length === 0) await new Promise((resolve) => setImmediate(resolve));
  again.last().endTurn();
  const { turns, link } = await window.until((now) => now.turns.at(-1)?.id === 'u' && now.turns.at(-1)?.status === 'done');
  assert.deepEqual(
    [turns.map(({ id, status }) => [id, status]), link.state],
    [
      [
        ['t', 'done'],
        ['u', 'done'],
      ],
      'ready',
    ],
  );
});

test('a conversation in which nothing was said is not left behind in the host', async (t) => {
  const all = await opened(t);
  await all.window.dispose();
  const other = windowOn(t, all.host.port, all.folder);
  await other.until(({ link }) => link.state === 'ready');
  assert.deepEqual(await other.adapter.history?.(), []);
});

test('an agent in the host uses the tools of the window, and hears when the window is gone', async (t) => {
  const done: unknown[] = [];
  const tool: Tool = {
    name: 'open_in_ide',
    description: 'Opens a file',
    parameters: { type: 'object', properties: { path: { type: 'string' } } },
    run: async (input) => {
      done.push(input);
      return { ok: true, text: 'Opened' };
    },
  };
  const all = await opened(t, [tool]);
  const agent = await begun(all, 't');
  const [theirs] = agent.scene.ports.tools;
  assert.deepEqual(
    [theirs?.name, theirs?.description, theirs?.confirm],
    ['open_in_ide', 'Opens a file', undefined],
    'the window asks by itself',
  );
  const { signal } = new AbortController();
  assert.deepEqual(await theirs?.run({ path: '/w/a' }, signal), { ok: true, text: 'Opened' });
  assert.deepEqual(done, [{ path: '/w/a' }]);
  assert.deepEqual(all.window.now().turns[0]?.parts, [], "the agent's own call shows it");
  await all.window.dispose();
  const late = await theirs?.run({ path: '/w/b' }, signal);
  assert.equal(late?.ok, false);
  assert.match(late?.text ?? '', /window/);
});

test('what a command prints is seen while it runs, in colour and without a gap, and by a window that comes when it is over', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  const output = [{ kind: 'terminal', terminalId: 'term' }] as const;
  const running: ToolCall = { ...call, status: 'running', output };
  agent.say({ type: 'part.added', turnId: 't', part: { kind: 'call', id: 'c', call: running } });
  const says = (delta: string) => agent.say({ type: 'terminal.changed', terminal: { id: 'term', command: 'ls' }, delta });
  says('\u001b[34msrc\u001b[0m\n');
  const tail = (now: Session) => now.terminals.map((one) => one.tail).join('');
  await all.window.until((now) => tail(now) === '\u001b[34msrc\u001b[0m\n');
  let said = tail(all.window.now());
  for (let at = 0; at < 40; at += 1) {
    const text = `line ${at} `.padEnd(7000, '.');
    says(text);
    said += text;
    await all.window.until((now) => tail(now).endsWith(text));
  }
  const [seen] = all.window.now().terminals;
  assert.deepEqual([seen?.tail, seen?.dropped], [said.slice(-64 * 1024), said.length - 64 * 1024]);
  agent.say({ type: 'terminal.changed', terminal: { id: 'term', exit: { code: 0, signal: null } } });
  agent.say({ type: 'call.changed', turnId: 't', callId: 'c', change: { status: 'done' } });
  agent.endTurn();
  const over = await all.window.until(({ turns }) => turns[0]?.status === 'done');
  assert.deepEqual(over.terminals[0]?.exit, { code: 0, signal: null });
  assert.equal(over.resumeKey !== undefined, true);
  const late = windowOn(t, all.host.port, all.folder, { key: over.resumeKey ?? '', history: true });
  const shown = await late.until(({ link }) => link.state === 'ready');
  assert.deepEqual([shown.terminals[0]?.tail, shown.terminals[0]?.exit?.code], [said.slice(-64 * 1024), 0]);
});

test('what a host runs is listed without opening it, with what it waits for', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  const launch: Launch = {
    kind: 'http',
    url: `http://127.0.0.1:${all.host.port}`,
    headers: { authorization: `Bearer ${TOKEN}` },
    cwd: all.folder,
  };
  const list = async () => {
    const context = { client: { name: 'Parley', version: '0' }, log: silentLog, signal: AbortSignal.timeout(10_000) };
    const found = (await ahp.running?.(launch, context)) ?? [];
    return found.map(({ at: _at, key: _key, ...rest }) => rest);
  };
  await all.window.until(({ title }) => title === 'Go');
  assert.deepEqual(await list(), [{ title: 'Go', agent: 'fake', agentName: 'Fake', cwd: all.folder, state: 'busy' }]);
  agent.say({ type: 'part.added', turnId: 't', part: { kind: 'call', id: 'c', call } }, { type: 'ask.opened', ask: approval });
  await all.window.until((now) => now.asks.length > 0);
  assert.equal((await list())[0]?.state, 'asking');
});

test('a session of the host is renamed and deleted without opening it; what the host refuses is said', async (t) => {
  const all = await opened(t);
  await begun(all, 't');
  const launch: Launch = {
    kind: 'http',
    url: `http://127.0.0.1:${all.host.port}`,
    headers: { authorization: `Bearer ${TOKEN}` },
    cwd: all.folder,
  };
  const context = { client: { name: 'Parley', version: '0' }, log: silentLog, signal: AbortSignal.timeout(10_000) };
  const { resumeKey: key = '' } = all.window.now();
  await ahp.order?.(launch, { kind: 'rename', key, title: 'Mine' }, context);
  await all.window.until(({ title }) => title === 'Mine');
  assert.deepEqual(
    (await ahp.running?.(launch, context))?.map(({ title }) => title),
    ['Mine'],
  );
  await assert.rejects(
    ahp.order?.(launch, { kind: 'rename', key: 'fake:/none', title: 'x' }, context) ?? Promise.resolve(),
    /no such session/,
  );
  await ahp.order?.(launch, { kind: 'delete', key }, context);
  assert.deepEqual(await ahp.running?.(launch, context), []);
  const over = await all.window.until(({ link }) => link.state === 'closed');
  assert.match(over.link.state === 'closed' ? over.link.reason : '', /does not know this conversation/);
});

test('a wrong token and a host that is not there are said in words', async (t) => {
  const all = await opened(t);
  const wrong = windowOn(t, all.host.port, all.folder, undefined, 'wrong');
  const refused = await wrong.until(({ link }) => link.state === 'closed');
  assert.match(refused.link.state === 'closed' ? refused.link.reason : '', /did not accept the key\. HTTP 403/);
  await all.host.end();
  const nobody = windowOn(t, all.host.port, all.folder);
  const gone = await nobody.until(({ link }) => link.state === 'closed');
  assert.match(
    gone.link.state === 'closed' ? gone.link.reason : '',
    /^ws:\/\/127\.0\.0\.1:\d+ could not be reached \(connection refused\)/,
  );
});

test('a host on another computer gets no token without encryption, however its address begins', async (t) => {
  for (const address of ['http://host.invalid:9501', 'ws://host.invalid:9501']) {
    const { link } = await windowOn(t, address, '/w').until((now) => now.link.state === 'closed');
    assert.match(link.state === 'closed' ? link.reason : '', /host\.invalid:9501 is not encrypted/);
  }
});

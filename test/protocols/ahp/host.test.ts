import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../../src/base/log.ts';
import { Journal } from '../../../src/live/journal/journal.ts';
import type { Profile } from '../../../src/live/profiles.ts';
import { Sessions } from '../../../src/live/sessions.ts';
import type { Launch } from '../../../src/protocols/adapter.ts';
import { ahp } from '../../../src/protocols/ahp/index.ts';
import { agentHost } from '../../../src/serve/host.ts';
import { type Listening, listen } from '../../../src/serve/listen.ts';
import type { SessionEvent } from '../../../src/session/events.ts';
import type { Approval, Question, Session, ToolCall } from '../../../src/session/model.ts';
import { newSession, reduce } from '../../../src/session/reduce.ts';
import { scriptedProtocol } from '../../live/scriptedProtocol.ts';

/* The client of an agent host and the host, over a real socket. */

const TOKEN = 'a-token-of-the-test';
const profile: Profile = { id: 'fake', name: 'Fake', protocol: 'scripted', args: [], env: {}, headers: {} };

/** A host over one folder; called again with the same folder and port it is that host after a restart. */
async function hosting(t: TestContext, folder: string, port = 0) {
  const scripted = scriptedProtocol();
  const journal = new Journal(path.join(folder, 'sessions'), silentLog);
  const sessions = new Sessions({
    protocols: () => ({ scripted: scripted.protocol }),
    profile: (id) => (id === profile.id ? profile : undefined),
    launch: async () => ({ kind: 'process', command: 'x', args: [], env: {}, cwd: folder }),
    ports: () => ({
      tools: [],
      files: { read: async () => '', write: async () => {} },
      terminals: { create: () => Promise.reject(new Error('none')) },
    }),
    rules: () => [],
    client: { name: 'Parley', version: '0' },
    log: silentLog,
    trace: () => {},
    now: Date.now,
    newId: () => crypto.randomUUID(),
    journal,
    windowKey: 'host',
  });
  const host = agentHost({ sessions, journal, profiles: [profile], log: silentLog, now: Date.now, version: '0' });
  await host.restore();
  const listening: Listening = await listen(host, { kind: 'port', host: '127.0.0.1', port }, TOKEN, silentLog);
  let isOpen = true;
  const end = async () => {
    if (!isOpen) return;
    isOpen = false;
    await listening.close();
    host.dispose();
    sessions.dispose();
    await sessions.gone();
  };
  t.after(end);
  const at = listening.place.kind === 'port' ? listening.place.port : 0;
  return { ...scripted, port: at, end };
}

/** A window with one session of the host. */
function windowOn(t: TestContext, port: number, folder: string, resume?: { key: string; history: boolean }, token = TOKEN) {
  const launch: Launch = {
    kind: 'http',
    url: `http://127.0.0.1:${port}`,
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
    ports: {
      tools: [],
      files: { read: async () => '', write: async () => {} },
      terminals: { create: () => Promise.reject(new Error('none')) },
    },
    client: { name: 'Parley', version: '0' },
    now: Date.now,
    newId: () => crypto.randomUUID(),
    signal: stop.signal,
    trace: (w, m) => process.env.DBG && console.log(w, JSON.stringify(m).slice(0, 300)),
    log: process.env.DBG ? (console as never) : silentLog,
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

async function opened(t: TestContext) {
  const folder = mkdtempSync(path.join(tmpdir(), 'ahp-client-'));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const host = await hosting(t, folder);
  const window = windowOn(t, host.port, folder);
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

test('a host that is started again is found again, and its conversation goes on', async (t) => {
  const all = await opened(t);
  const agent = await begun(all, 't');
  agent.endTurn();
  await all.window.until(({ turns }) => turns[0]?.status === 'done');
  await all.host.end();
  const again = await hosting(t, all.folder, all.host.port);
  all.window.adapter.send(prompt('u'));
  await all.window.until(({ turns }) => turns.at(-1)?.id === 'u');
  while (again.conversations.length === 0) await new Promise((resolve) => setImmediate(resolve));
  again.last().ready();
  while (again.last().prompts().length === 0) await new Promise((resolve) => setImmediate(resolve));
  again.last().endTurn();
  const { turns, link } = await all.window.until((now) => now.turns.at(-1)?.status === 'done');
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

test('a wrong token and a host that is not there are said in words', async (t) => {
  const all = await opened(t);
  const wrong = windowOn(t, all.host.port, all.folder, undefined, 'wrong');
  const refused = await wrong.until(({ link }) => link.state === 'closed');
  assert.match(refused.link.state === 'closed' ? refused.link.reason : '', /could not be reached \(HTTP 403\)/);
  await all.host.end();
  const nobody = windowOn(t, all.host.port, all.folder);
  const gone = await nobody.until(({ link }) => link.state === 'closed');
  assert.match(gone.link.state === 'closed' ? gone.link.reason : '', /could not be reached \(.*ECONNREFUSED/);
});

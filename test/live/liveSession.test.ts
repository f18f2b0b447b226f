import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { MOST_ASKS } from '../../src/live/eventSink.ts';
import { type LiveDeps, LiveSession } from '../../src/live/liveSession.ts';
import type { Resume } from '../../src/protocols/adapter.ts';
import type { Tool } from '../../src/protocols/ports.ts';
import { answersIn } from '../../src/session/approvalAnswers.ts';
import type { Approval, ApprovalDetail, Content, Diff, Offers, ToolCall } from '../../src/session/model.ts';
import type { ApprovalRule } from '../../src/session/policy.ts';
import { newSession } from '../../src/session/reduce.ts';
import { callsOf, canStop, changedFiles } from '../../src/session/select.ts';
import { scriptedProtocol } from './scriptedProtocol.ts';

const text = (words: string): readonly Content[] => [{ type: 'text', text: words }];
const approval = (turnId: string): Approval => ({
  kind: 'approval',
  id: 'ask',
  turnId,
  title: 'Run?',
  detail: { type: 'command', command: 'npm test' },
  options: [
    { id: 'y', label: 'Yes', effect: 'allow_once' },
    { id: 'n', label: 'No', effect: 'reject_once' },
  ],
});

async function opened(over: Partial<LiveDeps> = {}, resume?: Resume, cwd = '/w') {
  const script = scriptedProtocol();
  let ids = 0;
  const rules: ApprovalRule[] = [];
  const live = new LiveSession(newSession('s', { protocol: 'scripted', name: 'Fake' }, cwd), 'profile', {
    protocol: script.protocol,
    launch: async () => ({ kind: 'process', command: 'fake', args: [], env: {}, cwd }),
    ports: {
      tools: [],
      files: { read: async () => '', write: async () => {} },
      terminals: { create: () => Promise.reject(new Error('none')) },
    },
    rules: () => rules,
    client: { name: 'test', version: '0' },
    log: silentLog,
    trace: () => {},
    now: () => 1,
    newId: () => `id${++ids}`,
    ...over,
  });
  await live.start(resume);
  const said = () => script.conversations.flatMap((one) => one.prompts()).map((prompt) => prompt.turnId);
  return { live, script, rules, said, now: () => live.store.now };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('what is typed before the agent is ready is kept and sent when it is', async () => {
  const { live, script, said, now } = await opened();
  live.send({ type: 'prompt', turnId: 't1', content: text('hello') });
  assert.deepEqual([said(), now().queue.length], [[], 1]);
  script.last().ready();
  assert.deepEqual([said(), now().queue.length], [['t1'], 0]);
});

test('Stop while an earlier conversation is read goes to the agent, and what waits goes on afterwards', async () => {
  const { live, script, said } = await opened({}, { key: 'k', history: true });
  const { scene } = script.last();
  scene.emit({ type: 'link.opening', note: 'Reading', stops: true });
  scene.emit({ type: 'turn.started', turnId: 'old', at: 1, prompt: text('earlier') });
  live.send({ type: 'prompt', turnId: 't1', content: text('hello') });
  live.send({ type: 'cancel' });
  live.send({ type: 'cancel' });
  assert.deepEqual(script.last().heard, [{ type: 'cancel' }, { type: 'cancel' }]);
  scene.emit({ type: 'turn.ended', turnId: 'old', at: 1, status: 'cancelled' });
  script.last().ready();
  assert.deepEqual(said(), ['t1']);
});

test('an event nested 20,000 deep comes without what is too deep, and holds up nothing after it', async () => {
  const { live, script, now } = await opened();
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('go') });
  const input: unknown = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
  const call = {
    id: 'c',
    title: 'Deep',
    name: 'deep',
    kind: 'other',
    status: 'running',
    inputText: '',
    input,
    output: [],
    locations: [],
  } as const;
  script.last().say({ type: 'part.added', turnId: 't1', part: { kind: 'call', id: 'c', call } });
  script.last().say({ type: 'ask.opened', ask: { ...approval('t1'), detail: { type: 'mcp', server: 's', tool: 'deep', input } } });
  assert.match(JSON.stringify(now().turns), /nested more than 256 deep/);
  assert.match(JSON.stringify(now().asks), /nested more than 256 deep/);
  script.last().endTurn();
  assert.equal(now().turns[0]?.status, 'done');
});

test('a flood of asks has a bound: what is beyond it is answered at once, the user is told once, a gate too refuses, Stop goes out', async () => {
  let ran = 0;
  const tool: Tool = {
    name: 'change',
    description: '',
    parameters: { type: 'object' },
    confirm: () => ({ title: 'Change', kind: 'edit', detail: { type: 'text', text: '' } }),
    run: async () => ({ ok: true, text: String(++ran) }),
  };
  const never = { read: async () => '', write: async () => {} };
  const { live, script, now } = await opened({
    ports: { tools: [tool], files: never, terminals: { create: () => Promise.reject(new Error('none')) } },
  });
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('go') });
  for (let at = 0; at < 3000; at += 1) script.last().say({ type: 'ask.opened', ask: { ...approval('t1'), id: `a${at}` } });
  assert.equal(now().asks.length, MOST_ASKS);
  assert.equal(now().notices.length, 1);
  const lent = script.last().scene.ports.tools[0];
  const answered = await lent?.run({}, new AbortController().signal);
  assert.deepEqual([answered?.ok, ran], [false, 0]);
  const beyond = script.last().heard.flatMap((one) => (one.type === 'answer' && one.answer.kind === 'cancelled' ? [one.askId] : []));
  assert.deepEqual(
    beyond.slice(0, 2900),
    Array.from({ length: 2900 }, (_, at) => `a${at + MOST_ASKS}`),
  );
  script.last().say({ type: 'ask.opened', ask: { ...approval('t1'), id: 'a0' } });
  await settle();
  assert.equal(now().asks.length, MOST_ASKS);
  live.send({ type: 'cancel' });
  assert.deepEqual(script.last().heard.at(-1), { type: 'cancel' });
});

test('a start that takes long can be stopped; what waits then waits for the user, and the next start begins anew', async () => {
  const { live, script, said, now } = await opened();
  live.send({ type: 'prompt', turnId: 't1', content: text('hello') });
  const first = script.last();
  live.send({ type: 'cancel' });
  const { link, queue } = now();
  assert.deepEqual([link.state === 'closed' && link.reason, link.state === 'closed' && link.next], ['The agent was stopped.', ['restart']]);
  assert.deepEqual(
    queue.map((one) => one.held),
    [true],
  );
  first.ready();
  assert.equal(now().link.state, 'closed', 'what it still says changes nothing');
  await live.restart();
  script.last().ready();
  assert.deepEqual([now().link.state, said()], ['ready', []]);
});

test('prompts typed while a turn runs follow one by one, in order', async () => {
  const { live, script, said } = await opened();
  script.last().ready();
  for (const turnId of ['t1', 't2', 't3']) live.send({ type: 'prompt', turnId, content: text(turnId) });
  assert.deepEqual(said(), ['t1']);
  script.last().endTurn();
  assert.deepEqual(said(), ['t1', 't2']);
  script.last().endTurn();
  assert.deepEqual(said(), ['t1', 't2', 't3']);
});

test('after a stop what waits is held: another prompt does not bring it along, the user sends or removes it', async () => {
  const { live, script, said, now } = await opened();
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  live.send({ type: 'prompt', turnId: 't2', content: text('2') });
  live.send({ type: 'cancel' });
  assert.equal(now().turns[0]?.stopping, true);
  script.last().endTurn('cancelled');
  assert.deepEqual([said(), now().queue], [['t1'], [{ turnId: 't2', content: text('2'), held: true }]]);
  live.send({ type: 'prompt', turnId: 't3', content: text('3') });
  live.send({ type: 'prompt', turnId: 't4', content: text('4') });
  script.last().endTurn();
  script.last().endTurn();
  assert.deepEqual([said(), now().queue.map((one) => one.turnId)], [['t1', 't3', 't4'], ['t2']]);
  live.send({ type: 'prompt', turnId: 't2', content: text('2') });
  assert.deepEqual([said(), now().queue], [['t1', 't3', 't4', 't2'], []]);
});

test('an agent that goes on after Stop is ended by a second one, whatever it speaks; a double click is one Stop', async () => {
  let clock = 1;
  const { live, script, now } = await opened({ now: () => clock });
  script.last().ready();
  script.last().say({ type: 'resume.set', key: 'K' });
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  live.send({ type: 'prompt', turnId: 't2', content: text('2') });
  live.send({ type: 'cancel' });
  live.send({ type: 'cancel' });
  assert.deepEqual([now().turns[0]?.status, script.conversations.length], ['running', 1]);
  clock += 2_000;
  live.send({ type: 'cancel' });
  await settle();
  assert.deepEqual([now().turns[0]?.status, now().turns[0]?.stop], ['cancelled', 'The agent was stopped.']);
  assert.deepEqual([script.conversations.length, script.conversations[0]?.disposed], [2, 1]);
  assert.deepEqual(script.last().scene.resume, { key: 'K', history: false });
  script.last().ready();
  assert.deepEqual([now().turns.length, now().queue.map((one) => one.held)], [1, [true]]);
});

test('what was said into a turn that was stopped waits with the queue', async () => {
  const { live, script, said, now } = await opened();
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  live.send({ type: 'prompt', turnId: 't2', content: text('2') });
  script.last().say({ type: 'part.added', turnId: 't1', part: { kind: 'prompt', id: 's', content: text('into it'), pending: true } });
  script.last().endTurn('cancelled');
  await settle();
  assert.deepEqual([said(), now().queue.map((one) => one.turnId)], [['t1'], ['t2', 's']]);
  live.send({ type: 'prompt', turnId: 's', content: text('into it') });
  assert.deepEqual(said(), ['t1', 's']);
});

test('a prompt that can be sent at once never stands in the queue', async () => {
  const { live, script, said } = await opened();
  script.last().ready();
  const queues: number[] = [];
  live.store.onChange(({ now, event }) => {
    if (event.type === 'queue.set') queues.push(now.queue.length);
  });
  live.send({ type: 'prompt', turnId: 't1', content: text('one') });
  assert.deepEqual([said(), queues], [['t1'], []]);
  live.send({ type: 'prompt', turnId: 't2', content: text('two') });
  script.last().endTurn();
  assert.deepEqual(
    [said(), queues],
    [
      ['t1', 't2'],
      [1, 0],
    ],
  );
});

test('a queued prompt can be taken back', async () => {
  const { live, script, said } = await opened();
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  live.send({ type: 'prompt', turnId: 't2', content: text('2') });
  live.send({ type: 'unqueue', turnId: 't2' });
  script.last().endTurn();
  assert.deepEqual(said(), ['t1']);
});

test('text that names a command of the agent is that command; other slashes are text', async () => {
  const { live, script } = await opened();
  script.last().ready();
  script.last().say({
    type: 'commands.set',
    commands: [{ name: 'memory', description: '', aliases: ['mem'], children: [{ name: 'add', description: '', aliases: [] }] }],
  });
  live.send({ type: 'prompt', turnId: 't1', content: text('/mem add  a fact') });
  script.last().endTurn();
  live.send({ type: 'prompt', turnId: 't2', content: text('/usr/bin is a folder') });
  assert.deepEqual(script.last().prompts(), [
    { type: 'command', turnId: 't1', path: ['mem', 'add'], args: 'a fact' },
    { type: 'prompt', turnId: 't2', content: text('/usr/bin is a folder') },
  ]);
});

test('an earlier conversation of which only half was told is told anew, the half of it is dropped', async () => {
  const { live, script, now } = await opened({}, { key: 'agent-session', history: true });
  const told = (id: string) => [
    { type: 'turn.started', turnId: id, at: 1, prompt: text(id) } as const,
    { type: 'turn.ended', turnId: id, at: 1, status: 'done' } as const,
  ];
  script.last().say(...told('old1'), { type: 'turn.started', turnId: 'old2', at: 1, prompt: text('half') });
  assert.deepEqual([now().partial, now().resumeKey], [true, 'agent-session']);
  script.last().say({ type: 'link.closed', reason: 'gone', at: 5 });
  await settle();
  await live.restart();
  assert.deepEqual(script.last().scene.resume, { key: 'agent-session', history: true });
  assert.deepEqual(now().turns, []);
  script.last().say(...told('a'), ...told('b'));
  script.last().ready();
  assert.deepEqual([now().partial, now().turns.length], [undefined, 2]);
  await live.restart();
  assert.deepEqual(script.last().scene.resume, { key: 'agent-session', history: false }, 'what is whole is not told again');
  assert.equal(now().turns.length, 2);
});

test('a turn that the user ends by a restart says so and is no failure; what waited behind it waits for the user', async () => {
  const { live, script, said, now } = await opened();
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  live.send({ type: 'prompt', turnId: 't2', content: text('2') });
  await live.restart();
  script.last().ready();
  const [first] = now().turns;
  assert.deepEqual([first?.status, first?.stop, first?.error, first?.cutOff], ['cancelled', 'You restarted the agent.', undefined, true]);
  assert.deepEqual([said(), now().queue.map((one) => one.held)], [['t1'], [true]]);
});

test('a turn whose connection was lost failed by that, not by the restart that follows', async () => {
  const { live, script, now } = await opened();
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  script.last().say({ type: 'link.opening', note: 'Trying again (1 of 6)', next: ['restart'] });
  await live.restart();
  const [first] = now().turns;
  assert.deepEqual([first?.status, first?.stop, first?.error?.message], ['failed', undefined, 'The connection was lost.']);
  assert.equal(now().link.state, 'opening');
});

test('a turn of before that the restarted agent tells as failed holds no prompt that was said after it', async () => {
  const { live, script, said, now } = await opened();
  script.last().ready();
  script.last().say({ type: 'resume.set', key: 'agent-session' });
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  script.last().say({ type: 'link.closed', reason: 'killed', at: 5 });
  await settle();
  await live.restart();
  live.send({ type: 'prompt', turnId: 't2', content: text('2') });
  script
    .last()
    .say(
      { type: 'turns.removed', from: 't1' },
      { type: 'turn.started', turnId: 't1', at: 1, prompt: text('1') },
      { type: 'turn.ended', turnId: 't1', at: 2, status: 'failed' },
    );
  script.last().ready();
  assert.deepEqual([said(), now().queue], [['t1', 't2'], []]);
});

test('a turn that fails while a lost connection is opened again holds the prompts that waited for it', async () => {
  const { live, script, said, now } = await opened();
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  live.send({ type: 'prompt', turnId: 't2', content: text('2') });
  script.last().say({ type: 'link.opening', note: 'Trying again' });
  script.last().endTurn('failed');
  script.last().ready();
  assert.deepEqual([said(), now().queue.map((one) => one.held)], [['t1'], [true]]);
});

test('the agent dies in the middle of a turn: transcript and queue survive, restart goes on, and the queue waits for the user', async () => {
  const { live, script, said, now } = await opened();
  script.last().ready();
  script.last().say({ type: 'resume.set', key: 'agent-session' });
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  live.send({ type: 'prompt', turnId: 't2', content: text('2') });
  script.last().say({ type: 'ask.opened', ask: approval('t1') }, { type: 'link.closed', reason: 'exit 1', at: 5 });
  await settle();
  assert.deepEqual([now().turns[0]?.status, now().asks, now().queue.length], ['failed', [], 1]);
  assert.equal(script.last().disposed, 1);
  await live.restart();
  script.last().ready();
  assert.deepEqual(script.last().scene.resume, { key: 'agent-session', history: false });
  assert.deepEqual([said(), now().queue.length], [['t1'], 1]);
  live.send({ type: 'prompt', turnId: 't2', content: text('2') });
  assert.deepEqual(said(), ['t1', 't2']);
  assert.equal(now().turns.length, 2);
});

test('a prompt to an agent that is gone starts it again', async () => {
  const { live, script, said } = await opened();
  script.last().ready();
  script.last().say({ type: 'link.closed', reason: 'exit 1', at: 5 });
  await settle();
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  await settle();
  assert.equal(script.conversations.length, 2);
  script.last().ready();
  assert.deepEqual(said(), ['t1']);
});

test('what an ended conversation still says changes nothing', async () => {
  const { live, script, now } = await opened();
  script.last().ready();
  const first = script.last();
  await live.restart();
  script.last().ready();
  first.say({ type: 'title.set', title: 'ghost' }, { type: 'link.closed', reason: 'late', at: 9 });
  assert.deepEqual([now().title, now().link.state], ['', 'ready']);
});

test('an agent that cannot be launched says why and what to do', async () => {
  const { now } = await opened({ launch: () => Promise.reject(new Error('no such command: fake')) });
  const { link } = now();
  assert.ok(link.state === 'closed');
  assert.match(link.reason, /no such command: fake/);
  assert.ok(link.next?.includes('restart'));
});

test('only an answer that fits an open ask reaches the agent, and only once', async () => {
  const { live, script } = await opened();
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  script.last().say({ type: 'ask.opened', ask: approval('t1') });
  live.send({ type: 'answer', askId: 'other', answer: { kind: 'option', optionId: 'y' } });
  live.send({ type: 'answer', askId: 'ask', answer: { kind: 'option', optionId: 'forged' } });
  live.send({ type: 'answer', askId: 'ask', answer: { kind: 'fields', values: {} } });
  live.send({ type: 'answer', askId: 'ask', answer: { kind: 'option', optionId: 'n' } });
  live.send({ type: 'answer', askId: 'ask', answer: { kind: 'option', optionId: 'y' } });
  assert.deepEqual(
    script.last().heard.filter((intent) => intent.type === 'answer'),
    [{ type: 'answer', askId: 'ask', answer: { kind: 'option', optionId: 'n' } }],
  );
});

test('the agent gets a truth value, and the turn keeps the word that was chosen', async () => {
  const { live, script } = await opened();
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  const fields = [{ id: 'safe', label: 'Safe mode', kind: 'boolean' }] as const;
  script.last().say({ type: 'ask.opened', ask: { kind: 'question', id: 'ask', turnId: 't1', title: 'Set up', fields } });
  live.send({ type: 'answer', askId: 'ask', answer: { kind: 'fields', values: { safe: ['true'] } } });
  assert.deepEqual(script.last().heard.at(-1), { type: 'answer', askId: 'ask', answer: { kind: 'fields', values: { safe: ['true'] } } });
  script.last().say({ type: 'ask.closed', askId: 'ask', how: 'answered' });
  const [kept] = live.store.now.turns.flatMap(callsOf);
  assert.deepEqual(kept?.decision, { kind: 'answers', values: [{ label: 'Safe mode', values: ['Yes'] }] });
});

test('a rule answers for the user', async () => {
  const { live, script, rules } = await opened();
  rules.push({ kind: 'command', pattern: 'npm test', decision: 'allow' });
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  script.last().say({ type: 'ask.opened', ask: approval('t1') });
  await settle();
  assert.deepEqual(script.last().heard.at(-1), { type: 'answer', askId: 'ask', answer: { kind: 'option', optionId: 'y' } });
});

test('an answer with which the user made a rule is kept as theirs, with that rule', async () => {
  const { live, script } = await opened();
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  const words = { id: 'c', name: 'run', title: 'Run', inputText: '' };
  const call = { ...words, kind: 'execute', status: 'pending', output: [], locations: [] } as const;
  script.last().say({ type: 'part.added', turnId: 't1', part: { kind: 'call', id: 'c', call } });
  script.last().say({ type: 'ask.opened', ask: { ...approval('t1'), callId: 'c' } });
  const rule = { kind: 'command', pattern: 'npm test', decision: 'allow' } as const;
  live.send({ type: 'answer', askId: 'ask', answer: { kind: 'option', optionId: 'y', rule } });
  const [kept] = live.store.now.turns.flatMap(callsOf);
  assert.ok(kept?.decision?.kind === 'approval');
  assert.deepEqual([kept.decision.by, kept.decision.rule], ['user', { kind: 'command', pattern: 'npm test' }]);
});

const writer = (ran: unknown[]): Tool => ({
  name: 'apply_edit',
  description: 'edits',
  parameters: { type: 'object' },
  confirm: () => ({ title: 'Edit a.ts', kind: 'edit', detail: { type: 'text', text: 'x' } }),
  run: async (input) => {
    ran.push(input);
    return { ok: true, text: 'done' };
  },
});
const withTool = (tool: Tool): Partial<LiveDeps> => ({
  ports: {
    tools: [tool],
    files: { read: async () => '', write: async () => {} },
    terminals: { create: () => Promise.reject(new Error('none')) },
  },
});

test('one of our own tools that changes something asks first, and runs only when allowed', async () => {
  for (const [optionId, ok] of [
    ['allow', true],
    ['reject', false],
  ] as const) {
    const ran: unknown[] = [];
    const { live, script, now } = await opened(withTool(writer(ran)));
    script.last().ready();
    live.send({ type: 'prompt', turnId: 't1', content: text('1') });
    const [tool] = script.last().scene.ports.tools;
    const answer = tool?.run({ a: 1 }, new AbortController().signal);
    const ask = now().asks[0];
    assert.deepEqual([ask?.kind, ask?.turnId, ran.length], ['approval', 't1', 0]);
    live.send({ type: 'answer', askId: ask?.id ?? '', answer: { kind: 'option', optionId } });
    assert.equal((await answer)?.ok, ok);
    assert.equal(ran.length, ok ? 1 : 0);
    assert.deepEqual(now().asks, []);
    assert.equal(
      script.last().heard.some((intent) => intent.type === 'answer'),
      false,
    );
  }
});

test('one of our own tools that takes an edited proposal gets the text of the user', async () => {
  const ran: unknown[] = [];
  const diff = { path: '/w/a.ts', before: 'a', after: 'b' };
  const confirm = () => ({ title: 'Edit a.ts', kind: 'edit', detail: { type: 'edit', diffs: [diff] } }) as const;
  const runEdited = async (_: unknown, edited: string) => {
    ran.push(edited);
    return { ok: true, text: 'done' };
  };
  const { live, script, now } = await opened(withTool({ ...writer(ran), confirm, runEdited }));
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  const answer = script.last().scene.ports.tools[0]?.run({ a: 1 }, new AbortController().signal);
  const ask = now().asks[0];
  assert.ok(ask?.kind === 'approval' && ask.editable);
  live.send({ type: 'answer', askId: ask.id, answer: { kind: 'option', optionId: 'allow', edited: 'mine' } });
  assert.equal((await answer)?.ok, true);
  assert.deepEqual(ran, ['mine']);
});

test('what the user has allowed the agent is not asked again by the tool itself: once, for that tool and that input', async () => {
  const ran: unknown[] = [];
  const { live, script, now } = await opened(withTool(writer(ran)));
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('1') });
  const [tool] = script.last().scene.ports.tools;
  const run = (input: unknown) => tool?.run(input, new AbortController().signal);
  const allows = (id: string, name: string, input: unknown, optionId: string, title = name) => {
    const call = { id, name, title, kind: 'other', status: 'waiting', inputText: '', input, output: [], locations: [] } as const;
    script.last().say({ type: 'part.added', turnId: 't1', part: { kind: 'call', id, call } });
    script.last().say({
      type: 'ask.opened',
      ask: { ...approval('t1'), id: `ask ${id}`, callId: id, detail: { type: 'mcp', server: 'editor', tool: name, input } },
    });
    live.send({ type: 'answer', askId: `ask ${id}`, answer: { kind: 'option', optionId } });
    script.last().say({ type: 'call.changed', turnId: 't1', callId: id, change: { status: 'running' } });
  };
  /** The tool asks by itself, and the user says no. */
  const asks = async (input: unknown) => {
    const answer = run(input);
    const [ask] = now().asks;
    assert.ok(ask?.kind === 'approval' && ask.ours);
    live.send({ type: 'answer', askId: ask.id, answer: { kind: 'option', optionId: 'reject' } });
    assert.equal((await answer)?.ok, false);
  };
  allows('c1', 'mcp__editor__apply_edit', { a: 1 }, 'y');
  assert.equal((await run({ a: 1 }))?.ok, true);
  await asks({ a: 1 });
  allows('c2', 'apply_edit', { a: 2 }, 'y');
  await asks({ a: 3 });
  allows('c3', 'mcp__other__apply_edit', { a: 4 }, 'y');
  await asks({ a: 4 });
  allows('c6', 'other', { a: 7 }, 'y');
  await asks({ a: 7 });
  allows('c7', 'other', { a: 8 }, 'y', 'apply_edit (editor MCP Server)');
  assert.equal((await run({ a: 8 }))?.ok, true);
  allows('c4', 'apply_edit', { a: 5 }, 'n');
  await asks({ a: 5 });
  script.last().say({ type: 'call.changed', turnId: 't1', callId: 'c2', change: { status: 'done' } });
  await asks({ a: 2 });
  allows('c5', 'apply_edit', { a: 6 }, 'y');
  script.last().endTurn();
  live.send({ type: 'prompt', turnId: 't2', content: text('2') });
  await asks({ a: 6 });
  assert.deepEqual(ran, [{ a: 1 }, { a: 8 }]);
});

test('a tool that waits for a user ends unrun when its turn, its call or the session ends', async () => {
  const ways: ((live: LiveSession, script: ReturnType<typeof scriptedProtocol>, abort: AbortController) => void)[] = [
    (_live, script) => script.last().endTurn('cancelled'),
    (_live, _script, abort) => abort.abort(),
    (live) => live.dispose(),
    (_live, script) => script.last().say({ type: 'link.closed', reason: 'gone', at: 3 }),
  ];
  for (const way of ways) {
    const ran: unknown[] = [];
    const { live, script, now } = await opened(withTool(writer(ran)));
    script.last().ready();
    live.send({ type: 'prompt', turnId: 't1', content: text('1') });
    const abort = new AbortController();
    const answer = script.last().scene.ports.tools[0]?.run({}, abort.signal);
    way(live, script, abort);
    assert.equal((await answer)?.ok, false);
    assert.deepEqual([ran, now().asks], [[], []]);
  }
});

test('a proposed edit is revised, any other ask is not', async () => {
  const { live, script, now } = await opened();
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('go') });
  script.last().scene.emit({ type: 'turn.started', turnId: 't1', at: 1, prompt: [] });
  script.last().scene.emit({ type: 'ask.opened', ask: { ...approval('t1'), detail: { type: 'edit', diffs: [] } } });
  script.last().scene.emit({ type: 'ask.opened', ask: { ...approval('t1'), id: 'fixed' } });
  const diff = { path: '/w/a', before: null, after: 'mine' };
  for (const askId of ['ask', 'fixed', 'nobody']) live.send({ type: 'revise', askId, diffs: [diff] });
  assert.deepEqual(
    now().asks.map((ask) => (ask.kind === 'approval' ? ask.revised : undefined)),
    [[diff], undefined],
  );
  live.send({ type: 'revise', askId: 'ask', diffs: [] });
  assert.ok(now().asks.every((ask) => !('revised' in ask)));
});

test('allowing an edit of which everything is left out rejects it: the agent hears no, whatever was pressed', async () => {
  const { live, script } = await opened();
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('go') });
  script.last().scene.emit({ type: 'turn.started', turnId: 't1', at: 1, prompt: [] });
  const options = [
    { id: 'yes', label: 'Allow', effect: 'allow_once' },
    { id: 'no', label: 'Reject', effect: 'reject_once' },
  ] as const;
  const diffs = [{ path: '/w/a', before: 'one\n', after: 'two\n' }];
  script.last().scene.emit({ type: 'ask.opened', ask: { ...approval('t1'), options, detail: { type: 'edit', diffs } } });
  live.send({ type: 'revise', askId: 'ask', diffs: [{ path: '/w/a', before: 'one\n', after: 'one\n' }] });
  live.send({ type: 'answer', askId: 'ask', answer: { kind: 'option', optionId: 'yes' } });
  assert.deepEqual(script.last().heard.at(-1), { type: 'answer', askId: 'ask', answer: { kind: 'option', optionId: 'no' } });
});

test('corrections go to the agent with the next prompt, once, and never with a command', async () => {
  const { live, script, now } = await opened();
  script.last().ready();
  script.last().scene.emit({ type: 'commands.set', commands: [{ name: 'plan', description: '', aliases: [] }] });
  live.publish({ type: 'corrections.set', texts: ['first', 'second'] });
  const sent = () =>
    script
      .last()
      .prompts()
      .map((intent) => (intent.type === 'prompt' ? intent.content : intent.type));
  const turn = (turnId: string, words: string) => {
    live.send({ type: 'prompt', turnId, content: text(words) });
    script.last().scene.emit({ type: 'turn.started', turnId, at: 1, prompt: text(words) });
    script.last().scene.emit({ type: 'turn.ended', turnId, at: 2, status: 'done' });
  };
  turn('t1', '/plan');
  turn('t2', 'go on');
  turn('t3', 'and on');
  const told = '<file-changes-by-user>\nfirst\n\nsecond\n</file-changes-by-user>';
  assert.deepEqual(sent(), ['command', [...text('go on'), { type: 'text', text: told }], text('and on')]);
  assert.equal(now().corrections, undefined);
  // They are apart from the user's words.
  assert.deepEqual(
    now().turns.map(({ prompt, corrections }) => [prompt, corrections]),
    [
      [[], undefined],
      [text('go on'), 'first\n\nsecond'],
      [text('and on'), undefined],
    ],
  );
});

test('a change nobody reported is counted when the disk shows it, and only then', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-untold-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = (name: string) => path.join(folder, name);
  const whole = (name: string): Diff => ({ path: file(name), before: 'one\ntwo\n', after: 'one\n2\n' });
  const piece = (name: string, before: string, after: string, more = {}): Diff => ({ path: file(name), before, after, excerpt: more });
  const stands: Readonly<Record<string, string>> = {
    'made.txt': 'one\r\n2\r\n',
    'not.txt': 'one\ntwo\n',
    'piece-made.txt': 'a\nnew\nb\n',
    'piece-not.txt': 'a\nnew and old\nb\n',
    'grown.txt': 'a\nb\nc\n',
    'unplaced.txt': 'x\n',
    'gone.txt': 'still there\n',
    'told.txt': 'whatever\n',
  };
  for (const [name, words] of Object.entries(stands)) writeFileSync(file(name), words);
  const diffs: Readonly<Record<string, Diff>> = {
    made: whole('made.txt'),
    not: whole('not.txt'),
    pieceMade: piece('piece-made.txt', 'old', 'new'),
    pieceNot: piece('piece-not.txt', 'new and old', 'new'),
    grown: piece('grown.txt', 'a', 'a\nb'),
    unplaced: piece('unplaced.txt', 'y', 'x', { unplaced: true }),
    gone: { path: file('gone.txt'), before: 'still there\n', after: null },
    missing: whole('missing.txt'),
    told: whole('told.txt'),
  };
  const { live, script, now } = await opened();
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('go') });
  for (const [id, diff] of Object.entries(diffs)) {
    const status = id === 'told' ? 'done' : 'ended';
    const call: ToolCall = {
      id,
      name: 'e',
      title: 'e',
      kind: 'edit',
      status,
      inputText: '',
      output: [{ kind: 'diff', diff }],
      locations: [],
    };
    script.last().say({ type: 'part.added', turnId: 't1', part: { kind: 'call', id, call } });
  }
  script.last().endTurn();
  const counted = () => changedFiles(now().turns[0] ?? assert.fail()).map((one) => path.basename(one.path));
  assert.deepEqual(counted(), ['told.txt'], 'nothing before the disk was looked at');
  await new Promise<void>((resolve) => {
    const look = () => counted().length >= 4 && resolve();
    live.store.onChange(look);
    look();
  });
  assert.deepEqual(counted(), ['made.txt', 'piece-made.txt', 'grown.txt', 'told.txt']);
  live.dispose();
});

test('what one of our tools asks is asked by us, and the words with a rejection reach the agent', async () => {
  const files = { read: async () => '', write: async () => {} };
  const ports = { tools: [writer([])], files, terminals: { create: () => Promise.reject(new Error('none')) } };
  const { live, script, now } = await opened({ ports });
  script.last().ready();
  void script.last().scene.ports.tools[0]?.run({}, new AbortController().signal);
  await settle();
  const [ask] = now().asks;
  assert.deepEqual([ask?.ours, ask?.kind === 'approval' && ask.wordless], [true, undefined]);
  live.dispose();
});

/** A session whose prompts are prepared by hand, with the queues that it had. */
async function prepared(over: Partial<LiveDeps> = {}) {
  const work = new Map<string, () => void>();
  const all = await opened({ beforePrompt: (turnId) => new Promise((resolve) => work.set(turnId, resolve)), ...over });
  all.script.last().ready();
  const queues: string[][] = [];
  all.live.store.onChange(({ now, event }) => {
    if (event.type === 'queue.set') queues.push(now.queue.map((one) => `${one.turnId}${one.held ? ' held' : ''}`));
  });
  const prepare = async (turnId: string) => {
    work.get(turnId)?.();
    await settle();
  };
  const prompt = (turnId: string) => all.live.send({ type: 'prompt', turnId, content: text(turnId) });
  return { ...all, queues, prepare, prompt, begun: () => [...work.keys()] };
}

test('a prompt is sent after what has to be done before it, without the queue; the next one waits there', async () => {
  const { script, said, queues, prompt, prepare, begun } = await prepared();
  prompt('a');
  assert.deepEqual([said(), queues], [[], []]);
  prompt('b');
  await prepare('a');
  assert.deepEqual([said(), queues, begun()], [['a'], [['b']], ['a']]);
  script.last().endTurn();
  assert.deepEqual(said(), ['a'], 'b is prepared after the turn of a, in the queue where it is seen');
  await prepare('b');
  assert.deepEqual(
    [said(), queues],
    [
      ['a', 'b'],
      [['b'], []],
    ],
  );
});

test('a prompt that is taken back while it is prepared is never sent, and the next one is prepared', async () => {
  const { live, said, queues, prompt, prepare, begun } = await prepared();
  prompt('a');
  prompt('b');
  live.send({ type: 'unqueue', turnId: 'a' });
  assert.deepEqual(begun(), ['a', 'b']);
  await prepare('a');
  assert.deepEqual(said(), []);
  await prepare('b');
  assert.deepEqual([said(), queues], [['b'], [['b'], []]]);
});

test('Stop while a prompt is prepared keeps it for the user, who can send it', async () => {
  const { live, said, queues, now, prompt, prepare, begun } = await prepared();
  prompt('a');
  prompt('b');
  live.send({ type: 'cancel' });
  await prepare('a');
  assert.deepEqual([said(), queues.at(-1), now().link.state], [[], ['a held', 'b held'], 'ready']);
  prompt('a');
  assert.deepEqual([said(), queues.at(-1), begun()], [['a'], ['b held'], ['a']], 'what was prepared is not prepared again');
});

test('a prompt that takes long to prepare stands in the queue, where Stop reaches it, too', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const stops of [false, true]) {
    const { live, said, queues, prompt, prepare, now } = await prepared();
    prompt('a');
    t.mock.timers.tick(499);
    assert.deepEqual([queues, canStop(now())], [[], false]);
    t.mock.timers.tick(1);
    assert.deepEqual([queues, canStop(now())], [[['a']], true]);
    if (stops) live.send({ type: 'cancel' });
    await prepare('a');
    assert.deepEqual([said(), queues.at(-1)], stops ? [[], ['a held']] : [['a'], []]);
    live.dispose();
  }
});

test('a prompt whose agent goes while it is prepared is sent by the next one', async () => {
  const { live, script, said, now, prompt, prepare } = await prepared();
  prompt('a');
  script.last().say({ type: 'link.closed', reason: 'exit 1', at: 5 });
  assert.deepEqual(now().queue, [{ turnId: 'a', content: text('a') }]);
  await prepare('a');
  assert.deepEqual(said(), []);
  await live.restart();
  script.last().ready();
  assert.deepEqual([said(), now().queue], [['a'], []]);
});

test('a prompt that is prepared in a turn of the agent follows it, unless that is stopped', async () => {
  for (const stops of [false, true]) {
    const { live, script, said, now, prompt, prepare } = await prepared();
    prompt('a');
    script.last().say({ type: 'turn.started', turnId: 'own', at: 1, prompt: [] });
    if (!stops) await prepare('a');
    assert.deepEqual([said(), now().queue.length], [[], stops ? 0 : 1]);
    if (stops) live.send({ type: 'cancel' });
    script.last().say({ type: 'turn.ended', turnId: 'own', at: 2, status: stops ? 'cancelled' : 'done' });
    await prepare('a');
    assert.deepEqual([said(), now().queue.map((one) => one.held)], stops ? [[], [true]] : [['a'], []]);
  }
});

test('a prompt that is sent again while it is prepared is sent once, as it was said last', async () => {
  const { live, script, prompt, prepare } = await prepared();
  prompt('a');
  live.send({ type: 'prompt', turnId: 'a', content: text('better') });
  await prepare('a');
  assert.deepEqual(script.last().prompts(), [{ type: 'prompt', turnId: 'a', content: text('better') }]);
});

test('a prompt that is being prepared removes the notices above it, and none that come later', async () => {
  const { script, now, prompt, prepare } = await prepared();
  const say = (words: string, about?: 'saving') =>
    script.last().say({ type: 'notice', notice: { level: 'warn', text: words, ...(about ? { about } : {}) } });
  say('read');
  say('goes on', 'saving');
  prompt('a');
  say('new');
  await prepare('a');
  assert.deepEqual(
    now().notices.map((one) => one.text),
    ['goes on', 'new'],
  );
});

/** A running turn `t1` with an open approval, of an agent that offers so much. */
async function asked(offers: Offers = {}, ask: Partial<Approval> = {}) {
  const all = await opened();
  const { live, script } = all;
  script.last().say({ type: 'link.ready', agent: { protocol: 'scripted', name: 'Fake' }, offers });
  live.send({ type: 'prompt', turnId: 't1', content: text('go') });
  script.last().say({ type: 'ask.opened', ask: { ...approval('t1'), ...ask } });
  const reject = (feedback: string, askId = 'ask') =>
    live.send({ type: 'answer', askId, answer: { kind: 'option', optionId: 'n', feedback } });
  const answers = () => script.last().heard.flatMap((one) => (one.type === 'answer' ? [one.answer] : []));
  const prompts = () => script.last().heard.flatMap((one) => (one.type === 'prompt' ? [one.content] : []));
  return { ...all, reject, answers, prompts };
}

test('an agent whose answers carry words hears feedback in the answer, once', async () => {
  const { reject, answers, prompts, script, now } = await asked({ feedback: true });
  reject('use pnpm');
  script.last().endTurn();
  assert.deepEqual(answers(), [{ kind: 'option', optionId: 'n', feedback: 'use pnpm' }]);
  assert.deepEqual([prompts().length, now().queue.length], [1, 0]);
});

test('any other agent hears feedback as the very next prompt, before what already waits, whether it goes on or gives the turn up', async () => {
  for (const end of ['done', 'cancelled'] as const) {
    const { live, reject, answers, prompts, script, now } = await asked();
    live.send({ type: 'prompt', turnId: 'later', content: text('later') });
    reject('/use pnpm');
    assert.deepEqual(answers(), [{ kind: 'option', optionId: 'n' }]);
    assert.deepEqual(
      now().queue.map(({ content, feedback }) => [content, feedback]),
      [
        [text('/use pnpm'), true],
        [text('later'), undefined],
      ],
    );
    script.last().endTurn(end);
    assert.deepEqual(prompts(), [text('go'), text('/use pnpm')], end);
    script.last().endTurn();
    // After a turn that did not end well the user says whether the rest is still meant.
    assert.equal(prompts().length, end === 'done' ? 3 : 2);
    live.dispose();
  }
});

test('feedback stays in the queue when the turn fails, is stopped or breaks off', async () => {
  for (const how of ['fails', 'stopped', 'gone'] as const) {
    const { live, reject, prompts, script, now } = await asked();
    reject('use pnpm');
    if (how === 'stopped') live.send({ type: 'cancel' });
    if (how === 'gone') script.last().say({ type: 'link.closed', reason: 'died', at: 2 });
    else script.last().endTurn(how === 'fails' ? 'failed' : 'cancelled');
    assert.deepEqual([prompts().length, now().queue.map(({ held }) => held)], [1, [true]], how);
    live.dispose();
  }
});

test('feedback on several rejections of a turn is one prompt; an agent that can be steered hears it in the turn', async () => {
  const { reject, prompts, script } = await asked();
  script.last().say({ type: 'ask.opened', ask: { ...approval('t1'), id: 'other' } });
  reject('use pnpm');
  reject('not there', 'other');
  script.last().endTurn();
  assert.deepEqual(prompts().at(-1), [...text('use pnpm'), ...text('not there')]);
  const steered = await asked({ steer: true });
  steered.reject('use pnpm');
  const [, , said] = steered.script.last().heard;
  assert.deepEqual(said?.type === 'steer' && said.content, text('use pnpm'));
  assert.equal(steered.now().queue.length, 0);
});

test('an ask of the agent whose answer carries no words sends them as the next prompt, whatever the agent offers', async () => {
  const { reject, answers, prompts, script } = await asked({ feedback: true }, { wordless: true });
  reject('use pnpm');
  script.last().endTurn();
  assert.deepEqual(answers(), [{ kind: 'option', optionId: 'n' }]);
  assert.deepEqual(prompts().at(-1), text('use pnpm'));
});

test('an approval that leads out of the folder by a link is marked when it opens, whatever the protocol', async (t) => {
  const cwd = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-links-')));
  const folder = path.join(cwd, 'w');
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  for (const one of ['w/src', 'away']) mkdirSync(path.join(cwd, one), { recursive: true });
  symlinkSync(path.join(cwd, 'away'), path.join(folder, 'linked'));
  symlinkSync('/etc', path.join(folder, 'etc'));
  symlinkSync(path.join(folder, 'src'), path.join(folder, 'here'));
  const { live, script, now } = await opened({}, undefined, folder);
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't1', content: text('go') });
  const edit = (file: string): ApprovalDetail => ({ type: 'edit', diffs: [{ path: file, before: null, after: 'x' }] });
  const command = (line: string): ApprovalDetail => ({ type: 'command', command: line });
  let count = 0;
  const isMarked = (detail: ApprovalDetail, change: Partial<Approval> = {}) => {
    const id = `ask${++count}`;
    let first: boolean | undefined;
    const stop = live.store.onChange(({ now }) => {
      const ask = now.asks.find((one) => one.id === id);
      if (ask?.kind === 'approval') first ??= answersIn(now, ask).grave;
    });
    script.last().say({ type: 'ask.opened', ask: { ...approval('t1'), id, detail, ...change } });
    stop.dispose();
    const ask = now().asks.find((one) => one.id === id);
    assert.ok(ask?.kind === 'approval');
    const { dangers, answers } = answersIn(now(), ask);
    const marked = dangers.some(({ kind }) => kind === 'outside');
    assert.deepEqual([first, answers.some(({ letter }) => letter === 'W')], [marked, !marked], 'from the first moment, with no rule');
    return marked;
  };
  for (const file of ['linked/o.txt', path.join(folder, 'linked/o.txt'), 'etc/hosts', 'linked/../linked/x', 'linked'])
    assert.ok(isMarked(edit(file), { toolKind: 'edit' }), file);
  assert.ok(isMarked(command('ls'), { beside: [edit('linked/o.txt')] }));
  assert.ok(isMarked(command('ls'), { paths: ['etc/hosts'] }));
  for (const line of ['cat etc/shadow', 'echo x > linked/a', 'cd linked && touch x', 'cp src/a linked'])
    assert.ok(isMarked(command(line)), line);
  for (const file of ['src/a.ts', 'here/a.ts', path.join(folder, 'here/a.ts'), 'new/deep.ts'])
    assert.ok(!isMarked(edit(file), { toolKind: 'edit' }), file);
  for (const line of ['cat here/a', 'echo x > src/a', 'npm test', 'npx tsc -p .']) assert.ok(!isMarked(command(line)), line);
  // The question changes in place: so does the mark.
  script.last().say({ type: 'ask.opened', ask: { ...approval('t1'), id: 'grows', detail: edit('src/a.ts') } });
  script.last().say({ type: 'ask.changed', ask: { ...approval('t1'), id: 'grows', detail: edit('linked/a.ts') } });
  assert.deepEqual(
    now().asks.flatMap((one) => (one.id === 'grows' && one.kind === 'approval' ? [one.outside] : [])),
    [true],
  );
});

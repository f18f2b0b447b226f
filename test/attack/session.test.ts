import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import type { ToView } from '../../src/bridge/contract.ts';
import { Mirror } from '../../src/bridge/mirror.ts';
import { Outbox } from '../../src/bridge/outbox.ts';
import type { Input } from '../../src/conversation/machine.ts';
import { answerOf } from '../../src/headless/run.ts';
import { workspacePathsAt } from '../../src/live/diskFiles.ts';
import { AT_A_TIME, MOST_PARTS, surplusParts } from '../../src/live/eventSink.ts';
import { LiveSession } from '../../src/live/liveSession.ts';
import { acpMachine } from '../../src/protocols/acp/machine.ts';
import { LIMITS, newAcp } from '../../src/protocols/acp/state.ts';
import { approvalAnswers } from '../../src/session/approvalAnswers.ts';
import type { Approval, Ask, Option, Part, ToolCall, Turn } from '../../src/session/model.ts';
import { type ApprovalRule, autoAnswer } from '../../src/session/policy.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import { Store } from '../../src/session/store.ts';
import { scriptedProtocol } from '../live/scriptedProtocol.ts';
import { assertLinear } from './linear.ts';

/** The room of questions and calls: an agent that asks or calls without end. */

const call = (id: string, status: ToolCall['status'] = 'running', more: Partial<ToolCall> = {}): ToolCall => ({
  id,
  name: 'x',
  title: 'x',
  kind: 'other',
  status,
  inputText: '',
  output: [],
  locations: [],
  ...more,
});

async function inTurn(rules: readonly ApprovalRule[] = [{ kind: 'command', pattern: '*a*a*b', decision: 'allow' }]) {
  const script = scriptedProtocol();
  let ids = 0;
  const live = new LiveSession(newSession('s', { protocol: 'scripted', name: 'Fake' }, '/w'), 'profile', {
    protocol: script.protocol,
    launch: async () => ({ kind: 'process', command: 'fake', args: [], env: {}, cwd: '/w' }),
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
  });
  await live.start();
  script.last().ready();
  live.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'go' }] });
  const { scene } = script.last();
  scene.emit({ type: 'turn.started', turnId: 't', at: 1, prompt: [] });
  return { live, emit: scene.emit, heard: script.last().heard };
}

type Emit = Awaited<ReturnType<typeof inTurn>>['emit'];
const addCall = (emit: Emit, at: number) =>
  emit({ type: 'part.added', turnId: 't', part: { kind: 'call', id: `c${at}`, call: call(`c${at}`) } });
/** What an agent may do tens of thousands of times in one turn. */
const endless: Readonly<Record<string, (emit: Emit, at: number) => void>> = {
  'calls that end': (emit, at) => {
    addCall(emit, at);
    emit({ type: 'call.changed', turnId: 't', callId: `c${at}`, change: { status: 'done' } });
  },
  'calls that never end': addCall,
  'texts and thoughts by turns': (emit, at) =>
    emit({ type: 'text.delta', turnId: 't', kind: at % 2 ? 'text' : 'thought', partId: `c${at}`, text: 'x' }),
};

for (const [name, one] of Object.entries(endless)) {
  test(`tens of thousands of ${name} in one turn cost time in proportion, and the latest are kept`, async () => {
    const sessions = await Promise.all(Array.from({ length: 8 }, () => inTurn()));
    let next = 0;
    assertLinear(
      name,
      2500,
      (size) => () => {
        const { emit } = sessions[next++] ?? assert.fail();
        for (let at = 0; at < size; at++) one(emit, at);
      },
      false,
    );
    const { live } = sessions[6] ?? assert.fail();
    const [turn] = live.store.now.turns;
    assert.ok(turn && turn.parts.length <= MOST_PARTS + AT_A_TIME + 1);
    assert.equal(turn.parts.at(-1)?.id, 'c19999');
    assert.equal(live.store.now.notices.length, 1);
  });
}

test('a turn of calls without an end is ended in proportion to them, also below a sub-agent that goes on', () => {
  for (const goesOn of [false, true]) {
    assertLinear(`end of a turn, ${goesOn ? 'going on' : 'all over'}`, 2500, (size) => {
      const parts = Array.from({ length: size }, (_, at): Part => {
        const id = `c${at}`;
        return { kind: 'call', id, call: call(id, 'running', goesOn && at === 0 ? { goesOn } : {}), ...(at % 2 ? { parent: 'c0' } : {}) };
      });
      const running: Turn = { id: 't', startedAt: 1, prompt: [], parts, status: 'running' };
      const session = { ...newSession('s', { protocol: 'p', name: 'Fake' }, '/w'), turns: [running] };
      return () => {
        const [turn] = reduce(session, { type: 'turn.ended', turnId: 't', at: 1, status: 'done' }).turns;
        assert.equal(
          turn?.parts.filter((part) => part.kind === 'call' && part.call.status === 'running').length,
          goesOn ? size / 2 + 1 : 0,
        );
      };
    });
  }
});

test('what goes on, and what it belongs to, stays in a turn without end', () => {
  const parts: Part[] = [
    { kind: 'call', id: 'agent', call: call('agent', 'done', { goesOn: true }) },
    { kind: 'call', id: 'outer', call: call('outer', 'done') },
    { kind: 'call', id: 'inner', parent: 'outer', call: call('inner', 'done') },
    { kind: 'call', id: 'open', parent: 'inner', call: call('open', 'waiting') },
  ];
  for (let at = 0; at < MOST_PARTS; at++) parts.push({ kind: 'text', id: `t${at}`, text: 'x' });
  const turn: Turn = { id: 't', startedAt: 1, prompt: [], parts, status: 'running' };
  const removed = surplusParts(turn);
  assert.ok(removed.length >= 900);
  for (const id of ['agent', 'outer', 'inner', 'open', `t${MOST_PARTS - 1}`]) assert.ok(!removed.includes(id), id);
  assert.deepEqual(surplusParts({ ...turn, parts: parts.slice(4) }), []);
});

test('a hundred thousand questions are each answered, and none of them as allowed', async () => {
  const { live, emit, heard } = await inTurn();
  const options = [
    { id: 'y', label: 'Yes', effect: 'allow_once' as const },
    { id: 'n', label: 'No', effect: 'reject_once' as const },
  ];
  for (let at = 0; at < 100_000; at++) {
    const detail = { type: 'command' as const, command: 'a'.repeat(50) };
    emit({ type: 'ask.opened', ask: { kind: 'approval', id: `a${at}`, turnId: 't', title: 'x', detail, options } });
  }
  await new Promise(setImmediate);
  assert.equal(live.store.now.asks.length, 100);
  const answers = heard.filter((intent) => intent.type === 'answer');
  assert.equal(answers.length, 99_900);
  assert.ok(answers.every(({ answer }) => answer.kind === 'cancelled'));
});

const wide: readonly Option[] = [
  { id: 'session', label: 'Allow all edits in this session', effect: 'allow_always' },
  { id: 'once', label: 'Allow', effect: 'allow_once' },
  { id: 'no', label: 'Reject', effect: 'reject_once' },
];
const editOf = (name: string, options = wide): Approval => ({
  kind: 'approval',
  id: name,
  turnId: 't',
  title: `Edit ${name}`,
  toolKind: 'edit',
  detail: { type: 'edit', diffs: [{ path: `/w/${name}`, before: 'a', after: 'b' }] },
  options,
});

test('an agent that offers no single allowance is not given one unseen: no rule, no key, no default stands for it', async () => {
  const lasting: readonly Option[] = [
    { id: 'session', label: 'Allow once', effect: 'allow_always' },
    { id: 'no', label: 'Reject', effect: 'reject_once' },
  ];
  const asks: readonly Approval[] = [
    editOf('src/a.ts', lasting),
    editOf('.git/hooks/pre-commit', lasting),
    { ...editOf('run', lasting), toolKind: 'execute', detail: { type: 'command', command: 'sudo rm -rf /' } },
    { ...editOf('gone', lasting), toolKind: 'delete', detail: { type: 'text', text: 'src' } },
  ];
  for (const ask of asks) {
    const { answers, once, dangers } = approvalAnswers(ask, { cwd: '/w', feedback: false });
    assert.equal(once, undefined, ask.id);
    assert.deepEqual(dangers.at(-1), { kind: 'lasting' }, ask.id);
    assert.match(answers[0]?.label ?? '', /^Allow from now on/, ask.id);
    assert.ok(!answers.some(({ means }) => means === 'once' || means === 'always'), ask.id);
    const rules: readonly ApprovalRule[] = ['edit', 'command', 'execute', 'delete'].map((kind) => ({
      kind: kind as ApprovalRule['kind'],
      decision: 'allow',
    }));
    assert.equal(autoAnswer(ask, rules, '/w', workspacePathsAt('/w')), undefined, ask.id);
    assert.deepEqual(answerOf(ask, 'allow'), { kind: 'cancelled' }, ask.id);
  }
});

test('no answer to an edit lets the agent change a guarded file later without asking', async () => {
  const rules: ApprovalRule[] = [];
  const { live, emit, heard } = await inTurn(rules);
  const answers = () => heard.flatMap((intent) => (intent.type === 'answer' ? [[intent.askId, intent.answer]] : []));
  const plain = editOf('src/a.ts');
  emit({ type: 'ask.opened', ask: plain });
  // Whoever sends it: the agent would not ask any more.
  live.send({ type: 'answer', askId: 'src/a.ts', answer: { kind: 'option', optionId: 'session' } });
  assert.deepEqual(answers(), []);
  const session = approvalAnswers(plain, { cwd: '/w', feedback: false }).answers.find(({ does }) => does.kind === 'session');
  assert.ok(session?.does.kind === 'session');
  rules.push(session.does.rule);
  live.send({ type: 'answer', askId: 'src/a.ts', answer: { kind: 'option', optionId: session.does.option.id } });
  const once = { kind: 'option', optionId: 'once' };
  assert.deepEqual(answers(), [['src/a.ts', once]]);
  for (const name of ['src/b.ts', 'package.json', '.git/hooks/pre-commit', '.vscode/tasks.json', '.envrc', 'x.code-workspace', 'Makefile'])
    emit({ type: 'ask.opened', ask: editOf(name) });
  await new Promise(setImmediate);
  assert.deepEqual(answers(), [
    ['src/a.ts', once],
    ['src/b.ts', once],
  ]);
  live.dispose();
});

test('a hundred approvals of the longest commands are judged over several frames, and the view gets the answers to each', () => {
  const store = new Store(newSession('s', { protocol: 'p', name: 'A' }, '/w'));
  const posted: ToView[] = [];
  const frames: (() => void)[] = [];
  const mirror = new Mirror(() => assert.fail('nothing is missing'));
  mirror.take({ type: 'sessions', list: [], profiles: [], active: 's' });
  const outbox = new Outbox(
    {
      post: (message) => {
        posted.push(message);
        mirror.take(message);
      },
    },
    (flush) => frames.push(flush),
  );
  store.onChange(({ event }) => outbox.take('s', event));
  outbox.show({ id: 's', store });
  outbox.listen(true);
  const options: readonly Option[] = [
    { id: 'yes', label: 'Allow', effect: 'allow_once' },
    { id: 'no', label: 'Reject', effect: 'reject_once' },
  ];
  const ids = Array.from({ length: 100 }, (_, at) => `a${at}`);
  for (const id of ids) {
    const detail = { type: 'command', command: `${'cp ../x y && '.repeat(1500)}${id}` } as const;
    store.apply({ type: 'ask.opened', ask: { kind: 'approval', id, title: 'x', detail, options } });
  }
  const answered = () => ids.filter((id) => mirror.answersTo(id).answers.length > 0).length;
  frames.shift()?.();
  assert.ok(answered() >= 1 && answered() < 100, `${answered()} in the first frame`);
  store.apply({ type: 'turn.started', turnId: 't', at: 1, prompt: [] });
  let drawn = 1;
  for (let frame = frames.shift(); frame; frame = frames.shift()) {
    const before = answered();
    frame();
    drawn += 1;
    assert.ok(answered() > before, 'a frame brings at least one more');
  }
  assert.equal(answered(), 100);
  assert.equal(posted.length, drawn + 1);
  assert.deepEqual(mirror.session, store.now);
  // A view that starts over is told in parts as well.
  outbox.snapshot();
  for (let frame = frames.shift(); frame; frame = frames.shift()) frame();
  assert.equal(answered(), 100);
});

test('an agent that asks tens of thousands of times is remembered within bounds, and what would take long to compare is asked about', () => {
  const client = { name: 'client', version: '1' };
  const can = { links: true, logins: true };
  const setup = { cwd: '/w', folders: [], client, newest: 1, resume: null, startedAt: null, can, tools: [], limits: LIMITS } as const;
  const state = newAcp('i', setup);
  const asks: Ask[] = [];
  const feed = (input: Input): void => {
    for (const effect of acpMachine(state, input, 0))
      if (effect.do === 'emit' && effect.event.type === 'ask.opened') asks.push(effect.event.ask);
  };
  const request = (id: string, method: string, params: object) =>
    feed({ on: 'asked', link: 'agent', id, method, params: { sessionId: 'S', ...params } });
  feed({ on: 'start' });
  feed({ on: 'reply', call: 'initialize 1', result: { protocolVersion: 1 } });
  feed({ on: 'reply', call: 'session', result: { sessionId: 'S' } });
  feed({ on: 'intent', intent: { type: 'prompt', turnId: 't', content: [] } });
  const options = [{ optionId: 'n', name: 'No', kind: 'reject_once' }];
  for (let at = 0; at < 20_000; at += 1) {
    const toolCall = { toolCallId: `k${at}`, kind: 'execute', title: 'x', rawInput: { command: `git push ${at}` } };
    request(`q${at}`, 'session/request_permission', { toolCall, options });
    const ask = asks.pop();
    assert.ok(ask);
    feed({ on: 'intent', intent: { type: 'answer', askId: ask.id, answer: { kind: 'option', optionId: 'n' } } });
  }
  assert.ok(Object.keys(state.turn?.calls ?? {}).length <= 7000, 'calls without bounds');
  request('short', 'terminal/create', { command: 'ls' });
  assert.equal(asks.length, 0);
  request('refused', 'terminal/create', { command: 'git', args: ['push', '7'] });
  assert.ok(asks.pop());
  request('long', 'terminal/create', { command: 'git', args: ['git '.repeat(2500)] });
  assert.ok(asks.pop(), 'a line that would be looked through twenty thousand times');
});

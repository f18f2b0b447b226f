import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callWords, hasRun } from '../../src/session/callWords.ts';
import type { SessionEvent } from '../../src/session/events.ts';
import type { Approval, Content, Notice, Question, QueuedPrompt, Session, ToolCall } from '../../src/session/model.ts';
import { MOST_TERMINALS, NOTICES_KEPT, newSession, reduce, TERMINAL_TAIL } from '../../src/session/reduce.ts';
import { callsOf, findTerminal } from '../../src/session/select.ts';

const fresh = () => newSession('s', { protocol: 'p', name: 'Agent' }, '/w');
const run = (session: Session, ...events: readonly SessionEvent[]) => events.reduce(reduce, session);
const began = (turnId: string): SessionEvent => ({ type: 'turn.started', turnId, at: 1, prompt: [{ type: 'text', text: 'hi' }] });
const ended = (turnId: string): SessionEvent => ({ type: 'turn.ended', turnId, at: 2, status: 'done' });
const grew = (turnId: string, partId: string, text: string): SessionEvent => ({ type: 'text.delta', turnId, kind: 'text', partId, text });
const aCall = (id: string, status: ToolCall['status'] = 'running'): ToolCall => ({
  id,
  name: 'Shell',
  title: 'Shell',
  kind: 'execute',
  status,
  inputText: '',
  output: [],
  locations: [],
});
const called = (turnId: string, call: ToolCall): SessionEvent => ({
  type: 'part.added',
  turnId,
  part: { kind: 'call', id: call.id, call },
});
const approval = (id: string, turnId?: string): Approval => ({
  kind: 'approval',
  id,
  title: 'Run?',
  detail: { type: 'command', command: 'ls' },
  options: [{ id: 'y', label: 'Yes', effect: 'allow_once' }],
  ...(turnId === undefined ? {} : { turnId }),
});

test('1. an event that fits nothing gives the same object back', () => {
  const session = run(fresh(), began('t'), grew('t', 'a', 'x'), ended('t'), { type: 'link.closed', reason: 'gone', at: 3 });
  const strangers: SessionEvent[] = [
    began('t'),
    ended('t'),
    ended('nobody'),
    grew('t', 'a', 'late'),
    grew('nobody', 'a', 'x'),
    called('t', aCall('late')),
    { type: 'call.changed', turnId: 't', callId: 'c', change: { status: 'done' } },
    { type: 'call.inputDelta', turnId: 't', callId: 'c', text: 'x' },
    { type: 'parts.removed', turnId: 't', partIds: ['a'] },
    { type: 'ask.closed', askId: 'nobody', how: 'answered' },
    { type: 'ask.opened', ask: approval('a', 't') },
    { type: 'ask.revised', askId: 'nobody', diffs: [] },
    { type: 'turn.activity', turnId: 't', text: 'x' },
    { type: 'plan.set', plan: null },
    { type: 'mode.set', mode: null },
    { type: 'queue.set', queue: [] },
    { type: 'notices.removed' },
    { type: 'title.set', title: '' },
    { type: 'link.closed', reason: 'again', at: 4 },
  ];
  for (const event of strangers) assert.equal(reduce(session, event), session, event.type);
});

test('1b. a change that changes nothing gives the same object back', () => {
  const session = run(fresh(), began('t'), called('t', aCall('c')));
  assert.equal(reduce(session, { type: 'call.changed', turnId: 't', callId: 'c', change: { status: 'running' } }), session);
  assert.equal(reduce(session, grew('t', 'a', '')), session);
});

test('2. calls that nobody reported on end as such, in one event for all of them', () => {
  const calls = [aCall('a'), aCall('b'), aCall('c', 'done')].map((call) => called('t', call));
  const session = run(fresh(), began('t'), ...calls, {
    type: 'turn.ended',
    turnId: 't',
    at: 2,
    status: 'done',
    unreported: ['a', 'c', 'nobody'],
  });
  assert.deepEqual(session.turns[0] && callsOf(session.turns[0]).map((one) => one.status), ['ended', 'cancelled', 'done']);
});

test('2. when a turn ends every unfinished call is cancelled and every ask of it is gone', () => {
  const session = run(
    fresh(),
    began('t'),
    called('t', aCall('open')),
    called('t', aCall('waits', 'waiting')),
    called('t', aCall('fine', 'done')),
    { type: 'ask.opened', ask: approval('of-turn', 't') },
    { type: 'ask.opened', ask: approval('of-background') },
    ended('t'),
  );
  assert.deepEqual(session.turns[0] && callsOf(session.turns[0]).map((call) => call.status), ['cancelled', 'cancelled', 'done']);
  assert.deepEqual(
    session.asks.map((ask) => ask.id),
    ['of-background'],
  );
});

test('2b. what the turn was busy with is gone when it ends', () => {
  const session = run(
    fresh(),
    began('t'),
    { type: 'turn.activity', turnId: 't', text: 'retrying' },
    { type: 'turn.stopping', turnId: 't' },
    ended('t'),
  );
  assert.equal(session.turns[0]?.activity, undefined);
  assert.equal(session.turns[0]?.stopping, undefined);
});

test('2c. a turn the user has stopped already is stopped, not failed, when the link closes', () => {
  const closed = { type: 'link.closed', reason: 'gone', at: 5 } as const;
  const stopped = run(fresh(), began('t'), { type: 'turn.stopping', turnId: 't' }, closed);
  assert.deepEqual([stopped.turns[0]?.status, stopped.turns[0]?.error, stopped.turns[0]?.cutOff], ['cancelled', undefined, true]);
  const failed = run(fresh(), began('t'), closed);
  assert.deepEqual([failed.turns[0]?.status, failed.turns[0]?.error?.message], ['failed', 'gone']);
});

test('3. when the link closes running turns fail, asks vanish, terminals and the queue stay', () => {
  const session = run(
    fresh(),
    began('t'),
    called('t', aCall('c')),
    { type: 'ask.opened', ask: approval('a', 't') },
    { type: 'ask.opened', ask: approval('b') },
    { type: 'terminal.changed', terminal: { id: 'x', command: 'ls' }, delta: 'out' },
    { type: 'queue.set', queue: [{ turnId: 'next', content: [{ type: 'text', text: 'typed' }] }] },
    { type: 'link.closed', reason: 'exit 1', detail: 'stderr', next: ['restart'], at: 9 },
  );
  assert.equal(session.turns[0]?.status, 'failed');
  assert.deepEqual(session.turns[0]?.error, { message: 'exit 1', next: ['retry'] });
  assert.equal(session.turns[0]?.endedAt, 9);
  assert.deepEqual(session.asks, []);
  assert.equal(findTerminal(session, 'x')?.tail, 'out');
  assert.deepEqual(findTerminal(session, 'x')?.exit, { code: null, signal: null }, 'nothing runs without its agent');
  assert.equal(session.queue.length, 1);
  assert.deepEqual(session.link, { state: 'closed', reason: 'exit 1', detail: 'stderr', next: ['restart'] });
});

test('4. a turn, ask or part that is opened twice is opened once', () => {
  const once = run(fresh(), began('t'), called('t', aCall('c')), { type: 'ask.opened', ask: approval('a', 't') });
  const twice = run(once, began('t'), called('t', aCall('c', 'done')), { type: 'ask.opened', ask: approval('a', 't') });
  assert.equal(twice, once);
});

test('5. text grows only the part it names; a part is made by its first growth', () => {
  const session = run(fresh(), began('t'), grew('t', 'a', 'one '), grew('t', 'b', 'two'), grew('t', 'a', 'more'), {
    type: 'text.delta',
    turnId: 't',
    kind: 'thought',
    partId: 'a',
    text: 'not mine',
  });
  assert.deepEqual(session.turns[0]?.parts, [
    { kind: 'text', id: 'a', text: 'one more' },
    { kind: 'text', id: 'b', text: 'two' },
  ]);
});

test('parts stand in the order they were first mentioned, also when some are taken back', () => {
  const session = run(
    fresh(),
    began('t'),
    grew('t', 'a', '1'),
    called('t', aCall('c')),
    grew('t', 'b', '2'),
    { type: 'parts.removed', turnId: 't', partIds: ['c', 'a'] },
    grew('t', 'a', 'again'),
  );
  assert.deepEqual(
    session.turns[0]?.parts.map((part) => part.id),
    ['b', 'a'],
  );
});

test('7. memory is bounded: a terminal keeps its last 64 KiB and counts what it dropped', () => {
  const session = run(
    fresh(),
    { type: 'terminal.changed', terminal: { id: 'x', command: 'yes' }, delta: 'a'.repeat(TERMINAL_TAIL) },
    { type: 'terminal.changed', terminal: { id: 'x' }, delta: 'b'.repeat(10) },
  );
  assert.equal(findTerminal(session, 'x')?.tail.length, TERMINAL_TAIL);
  assert.equal(findTerminal(session, 'x')?.dropped, 10);
  assert.ok(findTerminal(session, 'x')?.tail.endsWith('b'.repeat(10)));
});

test('7b. a terminal is never cut inside a character', () => {
  const session = run(fresh(), { type: 'terminal.changed', terminal: { id: 'x' }, delta: `😀${'a'.repeat(TERMINAL_TAIL - 1)}` });
  assert.equal(findTerminal(session, 'x')?.tail, 'a'.repeat(TERMINAL_TAIL - 1));
  assert.equal(findTerminal(session, 'x')?.dropped, 2);
});

test('a prompt that is sent removes the notices read before, not those of what still goes on or those that come while it waits', () => {
  const notice = (text: string, rest: Partial<Notice> = {}) => ({ type: 'notice', notice: { level: 'warn', text, ...rest } }) as const;
  const queued = (turnId: string, rest: Partial<QueuedPrompt> = {}): QueuedPrompt => ({ turnId, content: [], ...rest });
  const send = (...queue: readonly QueuedPrompt[]) => ({ type: 'queue.set', queue }) as const;
  const started = (turnId: string, prompt: readonly Content[] = [{ type: 'text', text: 'go on' }]) =>
    ({ type: 'turn.started', turnId, prompt, at: 1 }) as const;
  const left = (...events: readonly SessionEvent[]) => events.reduce(reduce, fresh()).notices.map(({ text }) => text);

  const seen = [notice('Not written.', { level: 'error' }), notice('No key.'), notice('Begun anew.', { level: 'info' })];
  assert.deepEqual(left(...seen, send(queued('t'))), []);
  assert.deepEqual(left(send(queued('t')), ...seen, send(), started('t')), ['Not written.', 'No key.'], 'nobody has read them before');
  assert.deepEqual(left(send(queued('t')), ...seen, send(queued('t'), queued('u'))), [], 'the second prompt is sent');
  assert.deepEqual(left(send(queued('t', { held: true })), ...seen, send(queued('t'))), [], 'sent after all');
  for (const not of [queued('t', { held: true }), queued('t', { feedback: true })])
    assert.equal(left(...seen, send(not)).length, 3, 'words with a rejection and what is held are no next prompt');
  const lasting = [notice('Not saved.', { about: 'saving' }), notice('It does not answer.', { about: 'silence' })];
  assert.deepEqual(left(...lasting, send(queued('t'))), ['Not saved.', 'It does not answer.']);
  const saved = notice('Saved again.', { level: 'info', about: 'saving' });
  const unasked = notice('Nothing is asked.', { about: 'approvals' });
  assert.deepEqual(left(unasked, send(queued('t')), send(), started('t'), send(queued('u'))), ['Nothing is asked.']);
  assert.deepEqual(left(unasked, notice('Asks again.', { level: 'info', about: 'approvals' }), send(queued('t'))), []);
  assert.deepEqual(left(...lasting, saved), ['It does not answer.', 'Saved again.']);
  assert.deepEqual(left(...lasting, saved, send(queued('t'))), ['It does not answer.']);
  assert.equal(left(...seen, started('t', [])).length, 3, 'a turn that nobody asked for');
  assert.equal(left(...seen, { type: 'history.started' }, started('t')).length, 3, 'a conversation that is read');
});

test('a copy keeps the name it was given until the agent has one of its own for it', () => {
  const say = (title: string, copyOf?: string) => ({ type: 'title.set', title, ...(copyOf === undefined ? {} : { copyOf }) }) as const;
  let session = reduce(newSession('s', { protocol: 'p', name: 'A' }, '/w'), say('Copy of Fix it', 'Fix it'));
  for (const title of ['Fix it', '']) session = reduce(session, say(title));
  assert.equal(session.title, 'Copy of Fix it');
  session = reduce(JSON.parse(JSON.stringify(session)), say('Fix it'));
  assert.equal(session.title, 'Copy of Fix it', 'after a reload too');
  assert.equal(reduce(session, say('Fix it differently')).title, 'Fix it differently');
});

test('with the conversation that starts over go its plan and what it used', () => {
  const plan = { entries: [{ text: 'a', status: 'pending' }] } as const;
  const before = [
    { type: 'turn.started', turnId: 't', prompt: [], at: 1 },
    { type: 'plan.set', plan },
    { type: 'usage.set', usage: { used: 1, size: 2, cost: { amount: 3, currency: 'USD' } } },
    { type: 'turn.ended', turnId: 't', at: 2, status: 'done', clears: true },
  ] as const;
  const { turns, usage, plan: left } = before.reduce<Session>(reduce, newSession('s', { protocol: 'p', name: 'A' }, '/w'));
  assert.deepEqual([turns, usage, left], [[], undefined, undefined]);
});

test('what an agent said above the composer goes when another one is started, not when the same one goes on opening', () => {
  const notice = { level: 'warn', text: 'No key.' } as const;
  let session = reduce(fresh(), { type: 'notice', notice });
  session = reduce(session, { type: 'link.opening', note: 'Reading' });
  assert.deepEqual(session.notices, [notice]);
  session = reduce(session, { type: 'link.closed', reason: 'It ended.', at: 1 });
  assert.deepEqual(session.notices, [notice], 'it may say why');
  assert.deepEqual(reduce(session, { type: 'link.opening' }).notices, []);
});

test('7d. of the terminals of a session the latest stay, and those that still run', () => {
  const exit = { code: 0, signal: null };
  const full = (exits: object) => ({
    ...fresh(),
    terminals: Array.from({ length: MOST_TERMINALS }, (_, at) => ({
      id: `t${at}`,
      command: '',
      tail: '',
      dropped: 0,
      ...(at > 0 ? exits : {}),
    })),
  });
  const ended = run(full({ exit }), { type: 'terminal.changed', terminal: { id: 'new' } });
  assert.equal(ended.terminals.length, 0.9 * MOST_TERMINALS + 1);
  assert.ok(findTerminal(ended, 't0') && !findTerminal(ended, 't1') && findTerminal(ended, 'new'));
  const running = run(full({}), { type: 'terminal.changed', terminal: { id: 'new' } });
  assert.equal(running.terminals.length, 0.9 * MOST_TERMINALS + 1, 'those that run are no exception without end');
});

test('7c. the last notices are kept', () => {
  let session = fresh();
  for (let at = 0; at < NOTICES_KEPT + 5; at += 1) session = reduce(session, { type: 'notice', notice: { level: 'info', text: `${at}` } });
  assert.equal(session.notices.length, NOTICES_KEPT);
  assert.equal(session.notices[0]?.text, '5');
});

test('a running turn keeps what its adapter wants back; one that has ended takes nothing more', () => {
  const running = run(fresh(), began('t'), { type: 'turn.adapterState', turnId: 't', value: [1] });
  assert.deepEqual(running.turns[0]?.adapterState, [1]);
  const over = run(running, ended('t'));
  assert.equal(reduce(over, { type: 'turn.adapterState', turnId: 't', value: [2] }), over);
  assert.deepEqual(over.turns[0]?.adapterState, [1]);
});

test('8. a session survives JSON: it reduces on exactly as before', () => {
  const first = run(
    fresh(),
    began('t'),
    grew('t', 'a', 'x'),
    called('t', aCall('c')),
    { type: 'ask.opened', ask: approval('q', 't') },
    { type: 'usage.set', usage: { used: 1 } },
  );
  const rest: SessionEvent[] = [
    grew('t', 'a', 'y'),
    { type: 'call.changed', turnId: 't', callId: 'c', change: { status: 'done', title: 'T' } },
    { type: 'usage.set', usage: { size: 2 } },
    ended('t'),
  ];
  assert.deepEqual(run(JSON.parse(JSON.stringify(first)) as Session, ...rest), run(first, ...rest));
  assert.deepEqual(JSON.parse(JSON.stringify(run(first, ...rest))), run(first, ...rest));
});

test('a link may open again after it closed, with the transcript as it was', () => {
  const closed = run(fresh(), began('t'), grew('t', 'a', 'x'), { type: 'link.closed', reason: 'gone', at: 3 });
  const again = run(
    closed,
    { type: 'link.opening', note: 'starting' },
    { type: 'link.ready', agent: { protocol: 'p', name: 'Agent', version: '2' }, offers: {} },
  );
  assert.equal(again.link.state, 'ready');
  assert.deepEqual(again.turns, closed.turns);
});

test('a text and a terminal may be said anew, where they stand', () => {
  const session = run(
    fresh(),
    began('t'),
    grew('t', 'a', 'draft'),
    grew('t', 'b', 'behind it'),
    { type: 'text.set', turnId: 't', partId: 'a', text: 'final' },
    { type: 'terminal.changed', terminal: { id: 'x', command: 'ls' }, delta: 'half a l' },
    { type: 'terminal.changed', terminal: { id: 'x' }, delta: 'whole lines\n', reset: true },
  );
  assert.deepEqual(
    session.turns[0]?.parts.map((part) => part.kind === 'text' && part.text),
    ['final', 'behind it'],
  );
  assert.deepEqual(findTerminal(session, 'x'), { id: 'x', command: 'ls', tail: 'whole lines\n', dropped: 0 });
  for (const partId of ['a', 'nobody']) assert.equal(reduce(session, { type: 'text.set', turnId: 't', partId, text: 'final' }), session);
});

test('two turns that grow out of one keep their own parts in their places', () => {
  const add = (session: Session, id: string) => reduce(session, grew('b', id, id));
  const stem = add(add(run(fresh(), began('b')), 'p1'), 'p2');
  const one = add(stem, 'left');
  const other = add(add(stem, 'right'), 'more');
  const ids = (session: Session) => session.turns.at(-1)?.parts.map((part) => (part.kind === 'text' ? part.text : ''));
  assert.deepEqual(ids(add(add(one, 'left'), 'p1')), ['p1p1', 'p2', 'leftleft']);
  assert.deepEqual(ids(add(add(other, 'right'), 'more')), ['p1', 'p2', 'rightright', 'moremore']);
  assert.deepEqual(ids(add(one, 'right')), ['p1', 'p2', 'left', 'right']);
  const without = reduce(other, { type: 'parts.removed', turnId: 'b', partIds: ['p2'] });
  assert.deepEqual(ids(add(add(without, 'right'), 'p2')), ['p1', 'rightright', 'more', 'p2']);
});

test('a turn with which the conversation starts over takes all turns and the plan along', () => {
  const session = run(fresh(), began('a'), ended('a'), began('b'), { type: 'plan.set', plan: { entries: [] } });
  const cleared = run(session, { type: 'turn.ended', turnId: 'b', at: 2, status: 'done', clears: true });
  assert.deepEqual([cleared.turns, cleared.plan], [[], undefined]);
});

test('only the turn in which the link closed is marked as cut off', () => {
  const session = run(fresh(), began('a'), ended('a'), began('b'), { type: 'link.closed', reason: 'gone', at: 3 });
  assert.deepEqual(
    session.turns.map((turn) => turn.cutOff),
    [undefined, true],
  );
});

test('a turn that was cut off can be gone on with where the agent keeps the conversation', () => {
  const session = run(fresh(), { type: 'resume.set', key: 'K' }, began('a'), { type: 'link.closed', reason: 'gone', at: 3 });
  assert.deepEqual(session.turns[0]?.error?.next, ['retry', 'continue']);
});

test('a sub-agent that goes on after its turn is added to below its call, and only there, until it ends or the link does', () => {
  const below = (id: string, parent: string): SessionEvent => ({
    type: 'part.added',
    turnId: 't',
    part: { kind: 'call', id, parent, call: aCall(id) },
  });
  const changed = (callId: string, change: object): SessionEvent => ({ type: 'call.changed', turnId: 't', callId, change });
  const started = run(
    fresh(),
    began('t'),
    called('t', aCall('agent')),
    called('t', aCall('own')),
    changed('agent', { goesOn: true }),
    below('first', 'agent'),
    ended('t'),
  );
  const status = (session: Session) => Object.fromEntries(callsOf(session.turns[0] ?? assert.fail()).map((call) => [call.id, call.status]));
  assert.deepEqual(status(started), { agent: 'running', own: 'cancelled', first: 'running' });
  const later = run(started, below('second', 'first'), { ...grew('t', 'x', 'words'), parent: 'agent' } as SessionEvent);
  assert.deepEqual(Object.keys(status(later)), ['agent', 'own', 'first', 'second']);
  assert.equal(run(later, grew('t', 'y', 'the agent itself'), changed('own', { status: 'done' }), below('z', 'own')), later);
  const over = run(
    later,
    changed('second', { status: 'done' }),
    changed('first', { status: 'done' }),
    changed('agent', { status: 'done', goesOn: false }),
  );
  assert.equal(run(over, below('late', 'agent'), changed('first', { status: 'failed' })), over);
  const gone = run(later, { type: 'link.closed', reason: 'gone', at: 3 });
  assert.deepEqual(status(gone), { agent: 'cancelled', own: 'cancelled', first: 'cancelled', second: 'cancelled' });
  assert.equal(run(gone, below('late', 'agent')), gone);
});

test('an ask that changes stays where it is, with what the user made of the proposal', () => {
  const ask: Approval = { ...(approval('q', 't') as Approval), detail: { type: 'edit', diffs: [] } };
  const revised = [{ path: 'x', before: null, after: 'mine' }];
  const session = run(
    fresh(),
    began('t'),
    { type: 'ask.opened', ask },
    { type: 'ask.opened', ask: approval('r', 't') },
    {
      type: 'ask.revised',
      askId: 'q',
      diffs: revised,
    },
  );
  const changed = reduce(session, { type: 'ask.changed', ask: { ...ask, title: 'More exactly' } });
  assert.deepEqual(changed.asks[0], { ...ask, title: 'More exactly', revised });
  assert.equal(changed.asks.length, 2);
  assert.equal(reduce(session, { type: 'ask.changed', ask: { ...ask, id: 'gone' } }), session);
});

test('what is known of the changed files of an edit stays until it is told anew', () => {
  const ask: Approval = { ...(approval('q', 't') as Approval), detail: { type: 'edit', diffs: [] } };
  const stale = [{ path: 'x', before: 'mine', after: 'b' }];
  const revised = [{ path: 'x', before: 'mine', after: 'c' }];
  const revise = (diffs: typeof stale, more = {}) => ({ type: 'ask.revised', askId: 'q', diffs, ...more }) as const;
  const changed = run(fresh(), began('t'), { type: 'ask.opened', ask }, revise([], { stale }), revise(revised));
  assert.deepEqual(reduce(changed, { type: 'ask.changed', ask }).asks[0], { ...ask, revised, stale });
  assert.deepEqual(reduce(changed, revise([])).asks[0], { ...ask, stale });
  assert.deepEqual(reduce(changed, revise([], { stale: [] })).asks[0], ask);
});

test('a rejected edit keeps the diff that was proposed, whatever is reported of the call later', () => {
  const diff = { path: 'x', before: 'a', after: 'b' };
  const ask: Approval = { ...(approval('q', 't') as Approval), callId: 'c', detail: { type: 'edit', diffs: [diff] } };
  const decide = (effect: 'reject_once' | 'allow_once') =>
    run(
      fresh(),
      began('t'),
      called('t', aCall('c')),
      { type: 'ask.opened', ask },
      { type: 'ask.decided', askId: 'q', decision: { kind: 'approval', by: 'user', effect } },
      { type: 'ask.closed', askId: 'q', how: 'answered' },
      { type: 'call.changed', turnId: 't', callId: 'c', change: { status: 'rejected', output: [] } },
    ).turns[0]?.parts.map((part) => (part.kind === 'call' ? part.call.output : []));
  assert.deepEqual(decide('reject_once'), [[{ kind: 'diff', diff }]]);
  assert.deepEqual(decide('allow_once'), [[]]);
});

test('a call keeps who decided about it, once the agent has taken the answer; a withdrawn ask decides nothing', () => {
  const decision = { kind: 'approval', by: 'rule', effect: 'allow_once', label: 'Allow' } as const;
  const asked = run(
    fresh(),
    began('t'),
    called('t', aCall('c')),
    { type: 'ask.opened', ask: { ...approval('q', 't'), callId: 'c' } },
    { type: 'ask.decided', askId: 'q', decision },
  );
  assert.equal(callsOf(asked.turns[0] ?? assert.fail())[0]?.decision, undefined);
  const close = (how: 'answered' | 'withdrawn') => run(asked, { type: 'ask.closed', askId: 'q', how });
  assert.deepEqual(callsOf(close('answered').turns[0] ?? assert.fail())[0]?.decision, decision);
  const { decision: none, withdrawn } = callsOf(close('withdrawn').turns[0] ?? assert.fail())[0] ?? {};
  assert.deepEqual([none, withdrawn], [undefined, true]);
});

test('what asked and got no answer before its turn was stopped or ended did not run; what goes on all the same did', () => {
  const question: Question = { kind: 'question', id: 'q', turnId: 't', title: 'Storage', fields: [], callId: 'asks' };
  const asked = run(
    fresh(),
    began('t'),
    called('t', aCall('runs', 'pending')),
    called('t', aCall('asks')),
    { type: 'ask.opened', ask: { ...approval('a', 't'), callId: 'runs' } },
    { type: 'ask.opened', ask: question },
  );
  const rows = (session: Session) => callsOf(session.turns[0] ?? assert.fail()).map((call) => callWords(call, session).verb);
  const stopped = run(asked, { type: 'turn.stopping', turnId: 't' });
  assert.deepEqual(rows(stopped), ['Skipped', 'Skipped']);
  const closed = run(stopped, { type: 'ask.closed', askId: 'a', how: 'answered' }, { type: 'ask.closed', askId: 'q', how: 'answered' });
  assert.deepEqual(rows(run(closed, ended('t'))), ['Skipped', 'Skipped']);
  assert.deepEqual(rows(run(asked, ended('t'))), ['Skipped', 'Skipped']);
  assert.deepEqual(rows(run(asked, { type: 'link.closed', reason: 'gone', at: 3 })), ['Skipped', 'Skipped']);
  const runs = { type: 'call.changed', turnId: 't', callId: 'runs', change: { status: 'running' }, at: 5 } as const;
  assert.deepEqual(rows(run(stopped, runs)), ['Running', 'Skipped']);
  assert.deepEqual(rows(run(stopped, runs, ended('t'))), ['Stopped', 'Skipped']);
});

test('what the user answered stays in the turn, at the call that asked or in a row of its own; what Parley asked itself does not', () => {
  const decision = { kind: 'answers', values: [{ label: 'Which database?', values: ['SQLite'] }] } as const;
  const answered = (more: Partial<Question>, how: 'answered' | 'withdrawn' = 'answered') =>
    callsOf(
      run(
        fresh(),
        began('t'),
        called('t', aCall('c')),
        { type: 'ask.opened', ask: { kind: 'question', id: 'q', turnId: 't', title: 'Storage', fields: [], ...more } },
        { type: 'ask.decided', askId: 'q', decision },
        { type: 'ask.closed', askId: 'q', how },
      ).turns[0] ?? assert.fail(),
    ).map((call) => [call.id, call.decision]);
  assert.deepEqual(answered({ callId: 'c' }), [['c', decision]]);
  const inRowOfItsOwn = [
    ['c', undefined],
    ['q', decision],
  ];
  assert.deepEqual(answered({}), inRowOfItsOwn);
  assert.deepEqual(answered({ callId: 'unknown' }), inRowOfItsOwn);
  assert.deepEqual(answered({ ours: true }), [['c', undefined]]);
  assert.deepEqual(answered({}, 'withdrawn'), [['c', undefined]]);
});

test('an approval outside a turn leaves its decision at its call, or in a row of its own; what is not answered, or about the connection, does not', () => {
  const decision = { kind: 'approval', by: 'user', effect: 'allow_once', label: 'Allow' } as const;
  const command: Approval = { ...approval('q'), toolKind: 'execute' };
  const decided = (ask: Approval, effect: 'allow_once' | 'reject_once' = 'allow_once', how: 'answered' | 'withdrawn' = 'answered') => {
    const session = run(
      fresh(),
      began('first'),
      called('first', aCall('c', 'done')),
      ended('first'),
      began('last'),
      ended('last'),
      { type: 'ask.opened', ask },
      { type: 'ask.decided', askId: 'q', decision: { ...decision, effect } },
      { type: 'ask.closed', askId: 'q', how },
    );
    return session.turns.map((turn) =>
      callsOf(turn).map((call) => {
        const { verb, thing, decided: by } = callWords(call, session);
        return [verb, thing, by].filter(Boolean).join(' ');
      }),
    );
  };
  const edit: Approval = { ...command, toolKind: 'edit', detail: { type: 'edit', diffs: [{ path: '/w/x.ts', before: 'a', after: 'b' }] } };
  assert.deepEqual(decided(command), [['Ran Shell'], ['Ran ls allowed by you']]);
  assert.deepEqual(decided(command, 'reject_once'), [['Ran Shell'], ['Rejected ls by you']]);
  assert.deepEqual(decided(edit), [['Ran Shell'], ['Edited x.ts allowed by you']]);
  assert.deepEqual(decided(edit, 'reject_once'), [['Ran Shell'], ['Rejected x.ts by you']]);
  assert.deepEqual(decided({ ...command, callId: 'c' }), [['Ran Shell allowed by you'], []]);
  assert.deepEqual(decided(command, 'allow_once', 'withdrawn'), [['Ran Shell'], []]);
  assert.deepEqual(decided({ ...command, ours: true }), [['Ran Shell'], ['Ran ls allowed by you']]);
  const { toolKind: _, ...signIn } = { ...command, ours: true } as const;
  assert.deepEqual(decided(signIn), [['Ran Shell'], []]);
});

test('calls and thoughts know how long they took; waiting for the user is not counted', () => {
  const status = (status: ToolCall['status'], at: number): SessionEvent => ({
    type: 'call.changed',
    turnId: 't',
    callId: 'c',
    change: { status },
    at,
  });
  const session = run(
    fresh(),
    began('t'),
    { type: 'text.delta', turnId: 't', kind: 'thought', partId: 'h', text: 'Hm', at: 100 },
    { type: 'part.added', turnId: 't', part: { kind: 'call', id: 'c', call: { ...aCall('c'), status: 'running' } }, at: 180 },
    status('waiting', 200),
    status('running', 900),
    status('done', 1_300),
    ended('t'),
  );
  const [thought, call] = session.turns[0]?.parts ?? [];
  assert.ok(thought?.kind === 'thought' && call?.kind === 'call');
  assert.deepEqual([thought.startedAt, thought.endedAt], [100, 180]);
  assert.deepEqual([call.call.startedAt, call.call.endedAt], [900, 1_300]);
});

test('a call that is stopped while it waits for an answer has not begun', () => {
  const running = { ...aCall('c'), status: 'running' } as const;
  const changed = (status: ToolCall['status'], at: number) =>
    ({ type: 'call.changed', turnId: 't', callId: 'c', change: { status }, at }) as const;
  const added = { type: 'part.added', turnId: 't', part: { kind: 'call', id: 'c', call: running }, at: 100 } as const;
  const session = run(fresh(), began('t'), added, changed('waiting', 110), changed('cancelled', 900), ended('t'));
  const [part] = session.turns[0]?.parts ?? [];
  assert.ok(part?.kind === 'call' && part.call.startedAt === undefined);
  assert.equal(hasRun(part.call, session), false);
});

test('a turn knows its tokens and by how much the price grew; nothing is counted between turns', () => {
  const cost = (amount: number): SessionEvent => ({ type: 'usage.set', usage: { cost: { amount, currency: 'USD' } } });
  const session = run(
    fresh(),
    began('t'),
    { type: 'usage.set', usage: { used: 10, input: 100, output: 20 } },
    cost(0.25),
    ended('t'),
    cost(0.5),
    began('u'),
    cost(0.75),
    cost(1.5),
    ended('u'),
  );
  assert.deepEqual(
    session.turns.map(({ spent }) => spent),
    [{ input: 100, output: 20, cost: { amount: 0.25, currency: 'USD' } }, { cost: { amount: 1, currency: 'USD' } }],
  );
  const resumed = run(fresh(), began('t'), ended('t'), began('u'), cost(3), ended('u'));
  assert.equal(resumed.turns[1]?.spent, undefined, 'what it cost before is unknown');
});

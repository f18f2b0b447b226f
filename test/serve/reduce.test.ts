import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reduceChat, reduceSession } from '../../src/protocols/ahp/reduce.ts';
import { type ChatAction, type ChatState, type SessionState, STATUS, type ToolCallState } from '../../src/protocols/ahp/state.ts';

/* What the protocol's reducer does, as its published cases say (docs/protocols/ahp.md §5, §6). */

const message = { text: 'Hi', origin: { kind: 'user' } };
const empty: ChatState = { resource: 'ahp-chat:/c', title: '', status: STATUS.idle, modifiedAt: '', origin: { kind: 'user' }, turns: [] };
const started: ChatAction = { type: 'chat/turnStarted', turnId: 't', startedAt: '2026-01-01T00:00:00.000Z', message };
const after = (...actions: readonly ChatAction[]) => actions.reduce(reduceChat, empty);
const partsOf = (chat: ChatState) => (chat.activeTurn ?? chat.turns.at(-1))?.responseParts ?? [];
const callOf = (chat: ChatState): ToolCallState => {
  const part = partsOf(chat).find((one) => one.kind === 'toolCall');
  assert.ok(part?.kind === 'toolCall');
  return part.toolCall;
};
const call = { turnId: 't', toolCallId: 'c' };
const start: ChatAction = { type: 'chat/toolCallStart', ...call, toolName: 'edit', displayName: 'Edit' };
const asking: ChatAction = {
  type: 'chat/toolCallReady',
  ...call,
  invocationMessage: 'Editing',
  toolInput: '{}',
  confirmationTitle: 'Edit?',
  options: [{ id: 'yes', label: 'Yes', kind: 'approve' }],
};
const running: ChatAction = { type: 'chat/toolCallReady', ...call, invocationMessage: 'Editing', confirmed: 'not-needed' };
const done: ChatAction = { type: 'chat/toolCallComplete', ...call, result: { success: true, pastTenseMessage: 'Edited' } };
const complete: ChatAction = { type: 'chat/turnComplete', turnId: 't', duration: 5 };

test('text goes to the part it names, of its own kind, in the turn that runs', () => {
  const chat = after(
    started,
    { type: 'chat/responsePart', turnId: 't', part: { kind: 'markdown', id: 'm', content: 'a' } },
    { type: 'chat/delta', turnId: 't', partId: 'm', content: 'b' },
    { type: 'chat/reasoning', turnId: 't', partId: 'm', content: 'lost' },
    { type: 'chat/delta', turnId: 'other', partId: 'm', content: 'lost' },
    { type: 'chat/delta', turnId: 't', partId: 'none', content: 'lost' },
  );
  assert.deepEqual(partsOf(chat), [{ kind: 'markdown', id: 'm', content: 'ab' }]);
  assert.equal(chat.status & STATUS.activity, STATUS.inProgress);
});

test('a call goes from its name over the question to its end', () => {
  const chat = after(started, start, { type: 'chat/toolCallDelta', ...call, content: '{' }, asking);
  assert.equal(callOf(chat).status, 'pending-confirmation');
  assert.equal(chat.status & STATUS.activity, STATUS.inputNeeded);
  const allowed = reduceChat(chat, {
    type: 'chat/toolCallConfirmed',
    ...call,
    approved: true,
    confirmed: 'user-action',
    selectedOptionId: 'yes',
  });
  const ended = reduceChat(allowed, done);
  assert.deepEqual(callOf(ended), {
    status: 'completed',
    toolCallId: 'c',
    toolName: 'edit',
    displayName: 'Edit',
    invocationMessage: 'Editing',
    toolInput: '{}',
    confirmed: 'user-action',
    selectedOption: { id: 'yes', label: 'Yes', kind: 'approve' },
    success: true,
    pastTenseMessage: 'Edited',
  });
});

test('a call that runs may ask again; what it was asked for before stays where nothing else is said', () => {
  const chat = after(started, start, running, asking);
  const { options } = callOf(chat) as Extract<ToolCallState, { status: 'pending-confirmation' }>;
  assert.equal(options?.length, 1);
  const again = reduceChat(chat, { type: 'chat/toolCallReady', ...call, invocationMessage: 'Editing more', confirmationTitle: 'Still?' });
  const now = callOf(again) as Extract<ToolCallState, { status: 'pending-confirmation' }>;
  assert.deepEqual([now.options?.length, now.toolInput, now.invocationMessage, now.confirmationTitle], [1, '{}', 'Editing more', 'Still?']);
});

test('an answer to a call that does not wait changes nothing', () => {
  const confirmed: ChatAction = { type: 'chat/toolCallConfirmed', ...call, approved: true, confirmed: 'user-action' };
  for (const before of [after(started, start), after(started, start, running), after(started, start, running, done), after()])
    assert.equal(reduceChat(before, confirmed), before);
});

test('the end of a turn skips what is not over, and the error of a turn stands in it', () => {
  const skipped = callOf(after(started, start, asking, complete));
  assert.deepEqual(
    [skipped.status, 'reason' in skipped && skipped.reason, 'toolInput' in skipped && skipped.toolInput],
    ['cancelled', 'skipped', '{}'],
  );
  const unnamed = callOf(after(started, start, complete));
  assert.deepEqual([unnamed.status, 'invocationMessage' in unnamed && unnamed.invocationMessage], ['cancelled', '']);
  const error = { errorType: 'agent', message: 'No' };
  const failed = after(started, { type: 'chat/error', turnId: 't', duration: -1, part: { kind: 'error', error } });
  assert.deepEqual(partsOf(failed), [{ kind: 'error', error }]);
  assert.deepEqual([failed.turns[0]?.state, failed.turns[0]?.duration, failed.status], ['error', 0, STATUS.error]);
  assert.equal(reduceChat(failed, complete), failed);
});

test('only the last turn goes on where it failed, if the host says that it may', () => {
  const error = { errorType: 'agent', message: 'No' };
  const resume = { type: 'chat/turnResume', turnId: 't' } as const;
  const failing = (resumable: boolean) =>
    after(started, { type: 'chat/error', turnId: 't', duration: 1, part: { kind: 'error', error, resumable } });
  const failed = failing(true);
  const again = reduceChat(failed, resume);
  assert.deepEqual([again.turns, again.activeTurn?.id, again.status], [[], 't', STATUS.inProgress]);
  assert.deepEqual(again.activeTurn?.responseParts, failed.turns[0]?.responseParts);
  for (const [state, action] of [
    [failing(false), resume],
    [failed, { ...resume, turnId: 'u' }],
    [again, resume],
    [reduceChat(again, complete), resume],
  ] as const)
    assert.equal(reduceChat(state, action), state);
});

test('output is shown while a call runs only', () => {
  const content: ChatAction = { type: 'chat/toolCallContentChanged', ...call, content: [{ type: 'text', text: 'out' }] };
  const shown = callOf(after(started, start, running, content));
  assert.deepEqual('content' in shown && shown.content, [{ type: 'text', text: 'out' }]);
  const waiting = after(started, start, asking);
  assert.equal(reduceChat(waiting, content), waiting);
});

test('a turn that starts from the queue takes its message from there', () => {
  const queued: ChatAction = { type: 'chat/pendingMessageSet', kind: 'queued', id: 'q', message };
  const steering: ChatAction = { type: 'chat/pendingMessageSet', kind: 'steering', id: 's', message };
  const waiting = after(queued, steering, { type: 'chat/pendingMessageSet', kind: 'queued', id: 'q', message: { ...message, text: 'Ho' } });
  assert.deepEqual(waiting.queuedMessages, [{ id: 'q', message: { ...message, text: 'Ho' } }]);
  const begun = reduceChat(waiting, { ...started, turnId: 'q', queuedMessageId: 'q' });
  assert.deepEqual([begun.queuedMessages, begun.steeringMessage?.id], [undefined, 's']);
  const taken = reduceChat(begun, { type: 'chat/pendingMessageRemoved', kind: 'steering', id: 's' });
  assert.equal(taken.steeringMessage, undefined);
  assert.equal(reduceChat(taken, { type: 'chat/pendingMessageRemoved', kind: 'queued', id: 'q' }), taken);
});

test('queued messages take the order that is named, and the others follow', () => {
  const waiting = after(...['a', 'b', 'c'].map((id): ChatAction => ({ type: 'chat/pendingMessageSet', kind: 'queued', id, message })));
  const order = (state: ChatState) => state.queuedMessages?.map(({ id }) => id).join('');
  const reordered = (...ids: string[]) => reduceChat(waiting, { type: 'chat/queuedMessagesReordered', order: ids });
  assert.deepEqual([order(reordered('c', 'a', 'b')), order(reordered('c', 'x', 'c'))], ['cab', 'cab']);
  assert.equal(reordered('a', 'b'), waiting);
});

test('turns are cut after the one that is named', () => {
  const two = after(started, complete, { ...started, turnId: 'u' }, { ...complete, turnId: 'u' }, { ...started, turnId: 'v' });
  const cut = reduceChat(two, { type: 'chat/truncated', turnId: 't' });
  assert.deepEqual([cut.turns.map((turn) => turn.id), cut.activeTurn], [['t'], undefined]);
  assert.equal(reduceChat(two, { type: 'chat/truncated', turnId: 'none' }), two);
  assert.deepEqual(reduceChat(two, { type: 'chat/truncated' }).turns, []);
});

/* What changes nothing, by the numbers of the published cases (types/test-cases/reducers of the protocol's repository), in words of our own. */
const text: ChatAction = { type: 'chat/responsePart', turnId: 't', part: { kind: 'markdown', id: 'm', content: 'a' } };
const queued = (id: string, words = 'Hi'): ChatAction => ({
  type: 'chat/pendingMessageSet',
  kind: 'queued',
  id,
  message: { ...message, text: words },
});
const steering = (id: string): ChatAction => ({ type: 'chat/pendingMessageSet', kind: 'steering', id, message });
const removed = (kind: 'queued' | 'steering', id: string): ChatAction => ({ type: 'chat/pendingMessageRemoved', kind, id });
const nothing: readonly (readonly [number, string, readonly ChatAction[], ChatAction])[] = [
  [11, 'a piece for another turn', [started, text], { type: 'chat/delta', turnId: 'u', partId: 'm', content: 'b' }],
  [12, 'a piece while no turn runs', [], { type: 'chat/delta', turnId: 't', partId: 'm', content: 'b' }],
  [18, 'the end of another turn', [started], { ...complete, turnId: 'u' }],
  [25, 'the end of a call that is not known', [started, start], { ...done, toolCallId: 'x' }],
  [43, 'to take back another message into the turn', [steering('s')], removed('steering', 'x')],
  [44, 'to take back one into the turn where none is', [], removed('steering', 's')],
  [50, 'to take back another queued one', [queued('q')], removed('queued', 'x')],
  [51, 'to take back a queued one where none is', [], removed('queued', 'q')],
  [55, 'an order of queued ones that names others', [queued('q'), queued('r')], { type: 'chat/queuedMessagesReordered', order: ['x'] }],
  [56, 'an empty order', [queued('q'), queued('r')], { type: 'chat/queuedMessagesReordered', order: [] }],
  [57, 'an order where nothing is queued', [], { type: 'chat/queuedMessagesReordered', order: ['q'] }],
  [69, 'to cut after a turn that is not known', [started, complete], { type: 'chat/truncated', turnId: 'x' }],
  [85, 'output of a call that does not run', [started, start], { type: 'chat/toolCallContentChanged', ...call, content: [] }],
  [90, 'the input of a call of another turn', [started, start], { type: 'chat/toolCallDelta', ...call, turnId: 'u', content: '{' }],
  [91, 'a part of another turn', [started], { ...text, turnId: 'u' }],
  [92, 'a call of another turn', [started], { ...start, turnId: 'u' }],
  [93, 'the usage of another turn', [started], { type: 'chat/usage', turnId: 'u', usage: { inputTokens: 1 } }],
  [94, 'a piece of a part that is not there', [started, text], { type: 'chat/delta', turnId: 't', partId: 'x', content: 'b' }],
  [95, 'the input of a call that runs', [started, start, running], { type: 'chat/toolCallDelta', ...call, content: '{' }],
  [
    96,
    'an answer to a call that runs',
    [started, start, running],
    { type: 'chat/toolCallConfirmed', ...call, approved: true, confirmed: 'user-action' },
  ],
  [97, 'the end of a call that is over', [started, start, running, done], done],
];
for (const [number, what, before, action] of nothing)
  test(`published case ${number} changes nothing: ${what}`, () => {
    const chat = after(...before);
    assert.equal(reduceChat(chat, action), chat);
  });

test('a turn that is told again resets nothing, while it runs and when it is over (newer than the cases)', () => {
  const runs = after(started, text);
  assert.equal(reduceChat(runs, started), runs);
  const over = reduceChat(runs, complete);
  assert.equal(reduceChat(over, started), over);
});

test('messages that wait are replaced by their ids, each kind for itself (published cases 8, 9, 40, 41, 46, 47, 49, 52)', () => {
  const both = after(queued('q'), steering('s'));
  assert.deepEqual([both.queuedMessages?.map(({ id }) => id), both.steeringMessage?.id], [['q'], 's']);
  assert.equal(reduceChat(both, steering('r')).steeringMessage?.id, 'r');
  const two = after(queued('q'), queued('r'), queued('q', 'Ho'));
  assert.deepEqual(
    two.queuedMessages?.map(({ id, message: { text: words } }) => [id, words]),
    [
      ['q', 'Ho'],
      ['r', 'Hi'],
    ],
  );
  assert.ok(!('queuedMessages' in reduceChat(both, removed('queued', 'q'))));
  assert.deepEqual(reduceChat(both, started).queuedMessages, both.queuedMessages);
  assert.equal(reduceChat(both, { ...started, queuedMessageId: 's' }).steeringMessage, undefined);
});

test('what a cut leaves ends with the named turn, and no turn runs any more (published cases 64 to 68)', () => {
  const two = after(started, complete, { ...started, turnId: 'u' }, { ...complete, turnId: 'u' });
  const ids = (state: ChatState) => state.turns.map(({ id }) => id).join('');
  const cut = (state: ChatState, turnId?: string) =>
    reduceChat(state, { type: 'chat/truncated', ...(turnId === undefined ? {} : { turnId }) });
  assert.deepEqual([ids(cut(two, 'u')), ids(cut(two, 't')), ids(cut(two))], ['tu', 't', '']);
  const runs = reduceChat(two, { ...started, turnId: 'v' });
  for (const state of [cut(runs, 'u'), cut(runs)])
    assert.deepEqual([state.activeTurn, state.status & STATUS.activity], [undefined, STATUS.idle]);
});

test('a question is open until it is answered, and only once', () => {
  const request = { id: 'q', message: 'Which?', questions: [] };
  const open = after(started, { type: 'chat/inputRequested', turnId: 't', request });
  assert.equal(open.status & STATUS.activity, STATUS.inputNeeded);
  const answered = reduceChat(open, { type: 'chat/inputCompleted', requestId: 'q', response: 'accept', answers: { a: 1 } });
  assert.deepEqual(partsOf(answered), [{ kind: 'inputRequest', request: { ...request, answers: { a: 1 } }, response: 'accept' }]);
  assert.equal(answered.status & STATUS.activity, STATUS.inProgress);
  assert.equal(reduceChat(answered, { type: 'chat/inputCompleted', requestId: 'q', response: 'cancel' }), answered);
});

test('a session keeps what clients noted, and each of its clients once', () => {
  const state: SessionState = {
    provider: 'p',
    title: 'T',
    status: STATUS.idle,
    lifecycle: 'creating',
    workingDirectories: [],
    activeClients: [],
    chats: [],
    defaultChat: 'ahp-chat:/c',
  };
  const read = reduceSession(state, { type: 'session/isReadChanged', isRead: true });
  assert.equal(read.status, STATUS.idle | STATUS.read);
  assert.equal(reduceSession(read, { type: 'session/isReadChanged', isRead: true }), read);
  assert.equal(reduceSession(read, { type: 'session/titleChanged', title: 'T' }), read);
  const client = { clientId: 'w', tools: [] };
  const twice = [client, { ...client, displayName: 'Window' }].reduce(
    (now, activeClient) => reduceSession(now, { type: 'session/activeClientSet', activeClient }),
    read,
  );
  assert.deepEqual(twice.activeClients, [{ ...client, displayName: 'Window' }]);
  const failed = reduceSession(state, { type: 'session/creationFailed', error: { errorType: 'x', message: 'y' } });
  assert.deepEqual([failed.lifecycle, reduceSession(failed, { type: 'session/ready' }).creationError], ['failed', undefined]);
});

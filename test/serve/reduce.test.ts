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

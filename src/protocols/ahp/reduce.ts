import {
  type ActiveTurn,
  type CallName,
  type ChangesetAction,
  type ChangesetState,
  type ChatAction,
  type ChatState,
  type EndedTurn,
  type InputRequest,
  type PendingMessage,
  type ResponsePart,
  type SessionAction,
  type SessionState,
  STATUS,
  type TerminalAction,
  type TerminalPart,
  type TerminalState,
  type ToolCallState,
} from './state.ts';

/**
 * The functions by which both ends follow a chat and a session (docs/protocols/ahp.md §5, §6). An action that does not apply returns the same object.
 * `modifiedAt` is set by the host.
 */
export function reduceChat(state: ChatState, action: ChatAction): ChatState {
  const next = changeChat(state, action);
  if (next === state || !SETS_ACTIVITY.test(action.type)) return next;
  const status = (next.status & ~STATUS.activity) | activityOf(next, action.type === 'chat/error');
  return status === next.status ? next : { ...next, status };
}

/** Parts of one turn. Every action copies the list of them, so a turn without an end would cost ever more. */
export const MOST_PARTS = 6000;
/** A new call, and its output while it runs, needs no confirmation. */
const SETS_ACTIVITY = /^chat\/(?:turn|error|truncated|toolCall(?:Ready|Confirmed|Complete)|input)/;

function changeChat(state: ChatState, action: ChatAction): ChatState {
  switch (action.type) {
    case 'chat/turnStarted': {
      const { turnId: id, startedAt, message, queuedMessageId } = action;
      // One that is told again resets nothing.
      if (state.activeTurn?.id === id || state.turns.some((turn) => turn.id === id)) return state;
      const started: ChatState = {
        ...state,
        status: state.status & ~STATUS.read,
        activeTurn: { id, startedAt, message, responseParts: [] },
      };
      return queuedMessageId === undefined
        ? started
        : withoutPending(withoutPending(started, 'queued', queuedMessageId), 'steering', queuedMessageId);
    }
    case 'chat/responsePart':
      return withPart(state, action.turnId, action.part);
    case 'chat/delta':
    case 'chat/reasoning': {
      const kind = action.type === 'chat/delta' ? 'markdown' : 'reasoning';
      return inPart(state, action.turnId, (part) =>
        part.kind === kind && part.id === action.partId ? { ...part, content: part.content + action.content } : undefined,
      );
    }
    case 'chat/usage':
      return inTurn(state, action.turnId, (turn) => ({ ...turn, usage: action.usage }));
    case 'chat/turnComplete':
      return ended(state, action.turnId, 'complete', action.duration);
    case 'chat/turnCancelled':
      return ended(state, action.turnId, 'cancelled', action.duration);
    case 'chat/error':
      return ended(state, action.turnId, 'error', action.duration, action.part);
    case 'chat/truncated': {
      const at = state.turns.findIndex((turn) => turn.id === action.turnId);
      if (action.turnId !== undefined && at < 0) return state;
      const { activeTurn: _dropped, ...rest } = state;
      return { ...rest, turns: action.turnId === undefined ? [] : state.turns.slice(0, at + 1) };
    }
    case 'chat/turnResume': {
      const last = state.turns.at(-1);
      const end = last?.responseParts.at(-1);
      if (state.activeTurn || last?.state !== 'error' || last.id !== action.turnId || end?.kind !== 'error' || !end.resumable) return state;
      const { duration: _duration, state: _how, ...activeTurn } = last;
      return { ...state, status: state.status & ~STATUS.read, turns: state.turns.slice(0, -1), activeTurn };
    }
    case 'chat/toolCallStart': {
      const { type: _type, turnId, ...name } = action;
      return withPart(state, turnId, { kind: 'toolCall', toolCall: { ...name, status: 'streaming' } });
    }
    case 'chat/toolCallDelta':
    case 'chat/toolCallReady':
    case 'chat/toolCallConfirmed':
    case 'chat/toolCallContentChanged':
    case 'chat/toolCallComplete':
      return inPart(state, action.turnId, (part) => {
        if (part.kind !== 'toolCall' || part.toolCall.toolCallId !== action.toolCallId) return undefined;
        const toolCall = changeCall(part.toolCall, action);
        return toolCall === part.toolCall ? part : { ...part, toolCall };
      });
    case 'chat/inputRequested':
      return requested(state, action.request);
    case 'chat/inputCompleted':
      return inPart(state, state.activeTurn?.id ?? '', (part) =>
        part.kind === 'inputRequest' && part.response === undefined && part.request.id === action.requestId
          ? { ...part, request: { ...part.request, ...(action.answers ? { answers: action.answers } : {}) }, response: action.response }
          : undefined,
      );
    case 'chat/pendingMessageSet':
      return withPending(state, action.kind, { id: action.id, message: action.message });
    case 'chat/pendingMessageRemoved':
      return removedPending(state, action);
    case 'chat/queuedMessagesReordered':
      return withOrder(state, action.order);
    case 'chat/draftChanged':
      return { ...state, draft: action.draft };
  }
}

type CallAction = Extract<ChatAction, { readonly toolCallId: string }>;

function changeCall(call: ToolCallState, action: CallAction): ToolCallState {
  const name = nameOf(call);
  switch (action.type) {
    case 'chat/toolCallStart':
      return call;
    case 'chat/toolCallDelta':
      return call.status === 'streaming' ? { ...call, partialInput: (call.partialInput ?? '') + action.content } : call;
    case 'chat/toolCallReady': {
      if (call.status === 'completed' || call.status === 'cancelled') return call;
      const { type: _type, turnId: _turnId, ...said } = action;
      const before = call.status === 'streaming' ? undefined : call.toolInput;
      const ready = { ...(before === undefined ? {} : { toolInput: before }), ...said };
      if (ready.confirmed !== undefined) return { ...name, status: 'running', ...ready };
      return { ...(call.status === 'pending-confirmation' ? call : {}), ...name, status: 'pending-confirmation', ...ready };
    }
    case 'chat/toolCallConfirmed': {
      if (call.status !== 'pending-confirmation') return call;
      const { invocationMessage, toolInput } = call;
      const input = { invocationMessage, ...(toolInput === undefined ? {} : { toolInput }) };
      const chosen = call.options?.find((option) => option.id === action.selectedOptionId);
      const selected = chosen ? { selectedOption: chosen } : {};
      if (action.approved) return { ...name, status: 'running', ...input, confirmed: action.confirmed ?? 'user-action', ...selected };
      return { ...name, status: 'cancelled', ...input, reason: action.reason ?? 'denied', ...selected };
    }
    case 'chat/toolCallContentChanged':
      return call.status === 'running' ? { ...call, content: action.content } : call;
    case 'chat/toolCallComplete': {
      if (call.status !== 'running' && call.status !== 'pending-confirmation') return call;
      const { invocationMessage, toolInput } = call;
      const running = call.status === 'running' ? call : undefined;
      return {
        ...name,
        status: 'completed',
        invocationMessage,
        ...(toolInput === undefined ? {} : { toolInput }),
        confirmed: running?.confirmed ?? 'not-needed',
        ...(running?.selectedOption ? { selectedOption: running.selectedOption } : {}),
        ...action.result,
      };
    }
  }
}

function nameOf({ toolCallId, toolName, displayName, intention, contributor, _meta }: ToolCallState): CallName {
  const more = { ...(intention === undefined ? {} : { intention }), ...(contributor ? { contributor } : {}), ...(_meta ? { _meta } : {}) };
  return { toolCallId, toolName, displayName, ...more };
}

/** Calls that are not over count as skipped. */
function ended(state: ChatState, turnId: string, how: EndedTurn['state'], duration: number, last?: ResponsePart): ChatState {
  const { activeTurn: active, ...rest } = state;
  if (active?.id !== turnId) return state;
  const settled = active.responseParts.map((part): ResponsePart => {
    if (part.kind !== 'toolCall') return part;
    const { toolCall: call } = part;
    if (call.status === 'completed' || call.status === 'cancelled') return part;
    const said = call.status === 'streaming' ? { invocationMessage: '' } : inputOf(call);
    return { kind: 'toolCall', toolCall: { ...nameOf(call), status: 'cancelled', ...said, reason: 'skipped' } };
  });
  const responseParts = last ? [...settled, last] : settled;
  return { ...rest, turns: [...state.turns, { ...active, responseParts, duration: Math.max(0, duration), state: how }] };
}

function inputOf({ invocationMessage, toolInput }: Exclude<ToolCallState, { status: 'streaming' | 'cancelled' }>) {
  return { invocationMessage, ...(toolInput === undefined ? {} : { toolInput }) };
}

function requested(state: ChatState, request: InputRequest): ChatState {
  const { activeTurn } = state;
  if (!activeTurn) return state;
  const isOpen = (part: ResponsePart) => part.kind === 'inputRequest' && part.response === undefined && part.request.id === request.id;
  const part: ResponsePart = { kind: 'inputRequest', request };
  const unread = { ...state, status: state.status & ~STATUS.read };
  const { responseParts: parts } = activeTurn;
  const at = parts.findIndex(isOpen);
  // Requests for the user's input may exceed the most parts of a turn, but are bounded, too.
  if (at < 0 && parts.length >= 2 * MOST_PARTS) return state;
  return { ...unread, activeTurn: { ...activeTurn, responseParts: at < 0 ? parts.concat([part]) : parts.with(at, part) } };
}

function activityOf(state: ChatState, failed: boolean): number {
  if (failed) return STATUS.error;
  if (!state.activeTurn) return STATUS.idle;
  return state.activeTurn.responseParts.some(needsInput) ? STATUS.inputNeeded : STATUS.inProgress;
}

export function needsInput(part: ResponsePart): boolean {
  if (part.kind === 'toolCall') return part.toolCall.status === 'pending-confirmation';
  return part.kind === 'inputRequest' && part.response === undefined;
}

function inTurn(state: ChatState, turnId: string, change: (turn: ActiveTurn) => ActiveTurn): ChatState {
  if (state.activeTurn?.id !== turnId) return state;
  const activeTurn = change(state.activeTurn);
  return activeTurn === state.activeTurn ? state : { ...state, activeTurn };
}

/** Beyond the limit of one turn a last part mentions it, and nothing more is added. */
function withPart(state: ChatState, turnId: string, part: ResponsePart): ChatState {
  return inTurn(state, turnId, (turn) => {
    const { length } = turn.responseParts;
    if (length > MOST_PARTS) return turn;
    const last: ResponsePart = {
      kind: 'systemNotification',
      content: `This turn has more than ${MOST_PARTS} steps. The rest is not shown.`,
    };
    // A spread would copy twice.
    return { ...turn, responseParts: turn.responseParts.concat([length === MOST_PARTS ? last : part]) };
  });
}

/** Changes the latest part that `change` has something to say about. */
function inPart(state: ChatState, turnId: string, change: (part: ResponsePart) => ResponsePart | undefined): ChatState {
  const turn = state.activeTurn;
  if (turn?.id !== turnId) return state;
  const { responseParts } = turn;
  for (let at = responseParts.length - 1; at >= 0; at--) {
    const part = responseParts[at];
    const next = part && change(part);
    if (!next) continue;
    return next === part ? state : { ...state, activeTurn: { ...turn, responseParts: responseParts.with(at, next) } };
  }
  return state;
}

function withPending(state: ChatState, kind: 'queued' | 'steering', entry: PendingMessage): ChatState {
  if (kind === 'steering') return { ...state, steeringMessage: entry };
  const queue = state.queuedMessages ?? [];
  const isKnown = queue.some((one) => one.id === entry.id);
  return { ...state, queuedMessages: isKnown ? queue.map((one) => (one.id === entry.id ? entry : one)) : [...queue, entry] };
}

function withOrder(state: ChatState, order: readonly string[]): ChatState {
  const queue = state.queuedMessages ?? [];
  const byId = new Map(queue.map((one) => [one.id, one]));
  const next = [...new Set([...order, ...byId.keys()])].flatMap((id) => byId.get(id) ?? []);
  return next.every((one, at) => one === queue[at]) ? state : { ...state, queuedMessages: next };
}

function removedPending(state: ChatState, { kind, id, _meta }: Extract<ChatAction, { type: 'chat/pendingMessageRemoved' }>): ChatState {
  const { steeringMessage } = state;
  const left = withoutPending(state, kind, id);
  return _meta?.queued && left !== state && steeringMessage ? withPending(left, 'queued', steeringMessage) : left;
}

function withoutPending(state: ChatState, kind: 'queued' | 'steering', id: string): ChatState {
  if (kind === 'steering') {
    if (state.steeringMessage?.id !== id) return state;
    const { steeringMessage: _taken, ...rest } = state;
    return rest;
  }
  const { queuedMessages, ...rest } = state;
  const left = queuedMessages?.filter((one) => one.id !== id) ?? [];
  if (left.length === (queuedMessages?.length ?? 0)) return state;
  return left.length > 0 ? { ...rest, queuedMessages: left } : rest;
}

export function reduceSession(state: SessionState, action: SessionAction): SessionState {
  switch (action.type) {
    case 'session/ready': {
      const { creationError: _over, ...rest } = state;
      return { ...rest, lifecycle: 'ready' };
    }
    case 'session/creationFailed':
      return { ...state, lifecycle: 'failed', creationError: action.error };
    case 'session/titleChanged':
      return action.title === state.title ? state : { ...state, title: action.title };
    case 'session/activityChanged': {
      const { activity: _before, ...rest } = state;
      return action.activity === undefined ? rest : { ...rest, activity: action.activity };
    }
    case 'session/configChanged':
      if (!state.config) return state;
      return {
        ...state,
        config: { ...state.config, values: action.replace ? action.config : { ...state.config.values, ...action.config } },
      };
    case 'session/chatAdded':
      return { ...state, chats: replacing(state.chats, action.summary, (one) => one.resource) };
    case 'session/chatRemoved':
      return { ...state, chats: state.chats.filter(({ resource }) => resource !== action.chat) };
    case 'session/chatUpdated':
      return { ...state, chats: state.chats.map((chat) => (chat.resource === action.chat ? { ...chat, ...action.changes } : chat)) };
    case 'session/inputNeededSet':
      return { ...state, inputNeeded: replacing(state.inputNeeded ?? [], action.request, (one) => one.id) };
    case 'session/inputNeededRemoved':
      return { ...state, inputNeeded: (state.inputNeeded ?? []).filter((one) => one.id !== action.id) };
    case 'session/isReadChanged':
      return withBit(state, STATUS.read, action.isRead);
    case 'session/isArchivedChanged':
      return withBit(state, STATUS.archived, action.isArchived);
    case 'session/activeClientSet':
      return { ...state, activeClients: replacing(state.activeClients, action.activeClient, (one) => one.clientId) };
    case 'session/activeClientRemoved':
      return { ...state, activeClients: state.activeClients.filter((one) => one.clientId !== action.clientId) };
  }
}

export function reduceChangeset(state: ChangesetState, action: ChangesetAction): ChangesetState {
  switch (action.type) {
    case 'changeset/contentChanged':
      return { ...state, files: action.files, ...(action.operations ? { operations: action.operations } : {}) };
    case 'changeset/filesReviewChanged': {
      const marked = new Set(action.files);
      return { ...state, files: state.files.map((file) => (marked.has(file.id) ? { ...file, reviewed: action.reviewed } : file)) };
    }
    case 'changeset/cleared':
      return { ...state, files: [] };
  }
}

export function reduceTerminal(state: TerminalState, action: TerminalAction): TerminalState {
  switch (action.type) {
    case 'terminal/data':
      return { ...state, content: withOutput(state.content, action.data) };
    case 'terminal/cleared':
      return { ...state, content: [] };
    case 'terminal/exited': {
      const code = action.exitCode === undefined ? {} : { exitCode: action.exitCode };
      return { ...state, lifecycle: { status: 'exited', ...code } };
    }
    case 'terminal/commandExecuted': {
      const { type: _type, ...command } = action;
      return { ...state, content: [...state.content, { type: 'command', ...command, output: '', isComplete: false }] };
    }
    case 'terminal/commandFinished': {
      const { type: _type, commandId, ...end } = action;
      const ended = (part: TerminalPart) =>
        part.type === 'command' && part.commandId === commandId ? { ...part, ...end, isComplete: true } : part;
      return { ...state, content: state.content.map(ended) };
    }
  }
}

/** Output belongs to the command that runs, otherwise to none. */
function withOutput(content: readonly TerminalPart[], data: string): readonly TerminalPart[] {
  const last = content.at(-1);
  if (last?.type === 'command' && !last.isComplete) return content.with(-1, { ...last, output: last.output + data });
  if (last?.type === 'unclassified') return content.with(-1, { ...last, value: last.value + data });
  return [...content, { type: 'unclassified', value: data }];
}

/** All that was printed. */
export function terminalText({ content }: TerminalState): string {
  return content.map((part) => (part.type === 'command' ? part.output : part.value)).join('');
}

function withBit(state: SessionState, bit: number, on: boolean): SessionState {
  const status = on ? state.status | bit : state.status & ~bit;
  return status === state.status ? state : { ...state, status };
}

function replacing<T>(list: readonly T[], entry: T, key: (one: T) => string): readonly T[] {
  return list.some((one) => key(one) === key(entry)) ? list.map((one) => (key(one) === key(entry) ? entry : one)) : [...list, entry];
}

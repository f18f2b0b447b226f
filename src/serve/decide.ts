import * as z from 'zod/mini';
import { MODE } from '../protocols/ahp/codec.ts';
import { reduceChat } from '../protocols/ahp/reduce.ts';
import {
  type CallResult,
  type ChatAction,
  type ChatState,
  type ConfigValues,
  hasTurn,
  isSenderNote,
  nameBehind,
  type SessionAction,
  type SessionConfig,
  type SessionState,
  withSender,
} from '../protocols/ahp/state.ts';
import { misleadingOptions } from '../session/dangers.ts';
import type { Answer, Intent } from '../session/intents.ts';
import type { Approval, Ask, Content, Field, Question, Session, TurnId } from '../session/model.ts';
import { runningTurn } from '../session/select.ts';
import { oneLine, shortened, visibleText } from '../session/visible.ts';
import { attachedContent } from './attachments.ts';
import { APPROVAL_QUESTION, sideOf } from './translate.ts';

/*
 * The effect of a client's action. It applies only while it fits the host's state: clients act on stale state, and one that stops a turn
 * sends an approval right behind it (ahp.md §6).
 */

export type ActionResult =
  /** The reason, for the user. */
  | {
      readonly kind: 'refused';
      readonly why: string;
      /** Turns that the client has removed stay: its next prompt says so, in these words. */
      readonly keepsTurns?: string;
    }
  /** Changes of the state, and intents for the session. `starts`: it needs its agent. */
  | {
      readonly kind: 'taken';
      readonly apply: ChatAction | SessionAction;
      readonly intents: readonly Intent[];
      readonly starts?: true;
      /** The first of the turns that the next prompt replaces. */
      readonly takesBack?: TurnId;
      /** The prompt was sent while the turn before was being stopped: the user goes on with it. */
      readonly goesOn?: TurnId;
      /** A message for the agent in its turn. */
      readonly steers?: string;
      /** The model that the prompt names; the agent says what it offers when it has started. */
      readonly model?: string;
      /** Words for the user in the turn that begins. */
      readonly note?: string;
      /** Why the turn that begins is over at once: clients do not show why one is refused. */
      readonly fails?: string;
      /** The session's new turn, and the clients' failed turn that it retries. */
      readonly retries?: { readonly sessionTurn: TurnId; readonly clientTurn: TurnId };
    }
  /** Changes nothing and notifies no client. */
  | { readonly kind: 'ignored' };

export type Taken = Extract<ActionResult, { readonly kind: 'taken' }>;

/** Most UTF-16 units of a tool result from a window. */
const LONGEST_RESULT = 400_000;
/** Characters of the name of a session. */
const LONGEST_TITLE = 200;
/** Prompts of a chat that wait for its turns, and UTF-16 units of their JSON: all clients are sent them with each snapshot. */
const MOST_WAITING = 200;
const LONGEST_WAITING = 16 * 1024 * 1024;
/** All clients of a chat are sent its draft with each snapshot. In UTF-16 units of its JSON. */
const LONGEST_DRAFT = 1024 * 1024;
/** Tools of one window, and UTF-16 units of their JSON: agents are told of each. */
const MOST_TOOLS = 1000;
const LONGEST_TOOLS = 4 * 1024 * 1024;
const text = z.string();
/** A name that a client gives a turn or a message: it stands in every action about it. */
const name = z.string().check(z.minLength(1), z.maxLength(200));
const attachment = z.looseObject({
  type: z.optional(text),
  uri: z.optional(text),
  label: z.optional(text),
  data: z.optional(text),
  contentType: z.optional(text),
  modelRepresentation: z.optional(text),
  selection: z.optional(z.unknown()),
});
const message = z.looseObject({
  text,
  attachments: z.optional(z.array(attachment)),
  model: z.optional(z.looseObject({ id: text })),
});
const answer = z.looseObject({
  state: z.optional(text),
  value: z.optional(
    z.looseObject({
      value: z.optional(z.union([text, z.number(), z.boolean(), z.array(text)])),
      freeformValues: z.optional(z.array(text)),
    }),
  ),
});
const chatAction = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('chat/turnStarted'), turnId: name, message, queuedMessageId: z.optional(text) }),
  z.looseObject({ type: z.literal('chat/turnCancelled'), turnId: text, duration: z.optional(z.number()) }),
  z.looseObject({ type: z.literal('chat/turnResume'), turnId: z.optional(text) }),
  z.looseObject({ type: z.literal('chat/truncated'), turnId: z.optional(text) }),
  z.looseObject({
    type: z.literal('chat/toolCallConfirmed'),
    turnId: text,
    toolCallId: text,
    approved: z.boolean(),
    confirmed: z.optional(text),
    selectedOptionId: z.optional(text),
    editedToolInput: z.optional(text),
    userSuggestion: z.optional(z.looseObject({ text })),
  }),
  z.looseObject({
    type: z.literal('chat/inputCompleted'),
    requestId: text,
    response: z.enum(['accept', 'decline', 'cancel']),
    answers: z.optional(z.record(text, answer)),
  }),
  z.looseObject({
    type: z.literal('chat/toolCallComplete'),
    turnId: text,
    toolCallId: text,
    result: z.looseObject({
      success: z.boolean(),
      content: z.optional(z.array(z.looseObject({ type: text, text: z.optional(text) }))),
      error: z.optional(z.looseObject({ message: z.optional(text) })),
    }),
  }),
  z.looseObject({ type: z.literal('chat/inputAnswerChanged') }),
  z.looseObject({ type: z.literal('chat/pendingMessageSet'), kind: z.enum(['queued', 'steering']), id: name, message }),
  z.looseObject({ type: z.literal('chat/pendingMessageRemoved'), kind: z.enum(['queued', 'steering']), id: text }),
  z.looseObject({ type: z.literal('chat/queuedMessagesReordered'), order: z.array(text) }),
  z.looseObject({ type: z.literal('chat/draftChanged'), draft: z.optional(z.unknown()) }),
]);
const sessionAction = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('session/isReadChanged'), isRead: z.boolean() }),
  z.looseObject({ type: z.literal('session/isArchivedChanged'), isArchived: z.boolean() }),
  z.looseObject({ type: z.literal('session/titleChanged'), title: text }),
  z.looseObject({ type: z.literal('session/configChanged'), config: z.record(text, z.unknown()) }),
  z.looseObject({
    type: z.literal('session/activeClientSet'),
    activeClient: z.looseObject({
      clientId: text,
      displayName: z.optional(text),
      tools: z.optional(
        z.array(
          z.looseObject({
            name: text,
            description: z.optional(text),
            inputSchema: z.optional(z.record(text, z.unknown())),
            annotations: z.optional(z.looseObject({ readOnlyHint: z.optional(z.boolean()) })),
            _meta: z.optional(z.record(text, z.unknown())),
          }),
        ),
      ),
    }),
  }),
  z.looseObject({ type: z.literal('session/activeClientRemoved'), clientId: text }),
]);
type ClientChatAction = z.infer<typeof chatAction>;
type TurnStarted = Extract<ClientChatAction, { type: 'chat/turnStarted' }>;
type Confirmed = Extract<ClientChatAction, { type: 'chat/toolCallConfirmed' }>;
type PendingSet = Extract<ClientChatAction, { type: 'chat/pendingMessageSet' }>;
type RanTool = Extract<ClientChatAction, { type: 'chat/toolCallComplete' }>;
type Completed = Extract<ClientChatAction, { type: 'chat/inputCompleted' }>;

const refused = (why: string): ActionResult => ({ kind: 'refused', why });
const EMPTY = 'The prompt is empty.';
const IGNORED: ActionResult = { kind: 'ignored' };

/** The host's state of a chat when an action arrives. */
export interface Held {
  readonly chat: ChatState;
  /** The client has subscribed to the chat. */
  readonly follows: boolean;
  /** Absent until an agent has started for it. */
  readonly session?: Session;
  readonly takenBack?: TurnId;
  /** Turns that this client has removed stayed: words about that for its user. */
  readonly keptTurns?: string;
  /** The client has begun a turn of this chat: it has shown the chat by then. */
  readonly hasSpoken?: true;
  /** Messages that clients have sent into turns, by their ids. */
  readonly steered?: ReadonlySet<string>;
  /** The sender, as other clients see it; unknown of one that comes back to a host that was restarted, as it does not say its name again. */
  readonly sender?: string;
  readonly clientId: string;
  readonly now: number;
  /** Texts of this host that the action attaches, by their addresses. */
  readonly attached?: ReadonlyMap<string, string>;
}

const attaching = z.looseObject({ message: z.looseObject({ attachments: z.array(attachment) }) });

/** Returns the addresses that the message of an action attaches. */
export function attachedUris(said: unknown): readonly string[] {
  const parsed = attaching.safeParse(said);
  return parsed.success ? parsed.data.message.attachments.flatMap(({ uri }) => uri ?? []) : [];
}

/** VS Code takes turns away without a word where that is refused, and sends its next prompt all the same (seen). */
const KEPT =
  'This agent cannot go back: it still knows the messages that were taken away here. They are shown again when the chat is reopened.';
/** A prompt that is sent while VS Code still loads a chat takes all of it away: the window holds no request before that prompt (read in its build). */
const NOT_SHOWN =
  'The messages before this one stay: this window had not said anything here when it took them away. To begin without them, open a new chat.';

/** How a client says that its user has allowed a call. Rules of its own, which also allow ("setting"), do not count here. */
const BY_USER = 'user-action';
const NOT_BY_USER = 'Only the user can allow this ("confirmed": "user-action"), or a rule of this host.';

/** Only what was shown is answered. */
const UNSEEN = 'Only a client that follows the chat can answer.';

export const UNKNOWN = 'Parley does not know this action.';

/** True of an action of a client that this host takes, on whatever channel. */
export function isKnownAction(type: string): boolean {
  return [...chatAction.def.options, ...sessionAction.def.options].some(({ def }) => def.shape.type.def.values.some((one) => one === type));
}

export function decideChat(said: unknown, held: Held): ActionResult {
  const parsed = chatAction.safeParse(said);
  if (!parsed.success) return refused(UNKNOWN);
  const action = parsed.data;
  const { chat } = held;
  switch (action.type) {
    case 'chat/turnStarted':
      return turnStarted(action, held);
    case 'chat/turnCancelled': {
      const { turnId } = action;
      if (chat.activeTurn?.id !== turnId) return refused('This turn is over.');
      // Some clients do not say it, and VS Code says 0 of a turn that was tried again (read in its build).
      const duration = action.duration || held.now - Date.parse(chat.activeTurn.startedAt) || 0;
      const isWaiting = held.session?.queue.some((prompt) => prompt.turnId === turnId);
      const intents: readonly Intent[] = isWaiting ? [{ type: 'unqueue', turnId }, { type: 'cancel' }] : [{ type: 'cancel' }];
      return { kind: 'taken', apply: { type: 'chat/turnCancelled', turnId, duration: Math.max(0, duration) }, intents };
    }
    case 'chat/toolCallConfirmed':
      return held.follows ? confirmed(action, held) : refused(UNSEEN);
    case 'chat/inputCompleted':
      return held.follows ? completed(action, held) : refused(UNSEEN);
    case 'chat/pendingMessageSet':
      // A message into a turn that has just ended begins the next one: clients drop a refused one without a word (read in VS Code's build).
      return pendingSet({ ...action, kind: chat.activeTurn ? action.kind : 'queued' }, held);
    case 'chat/pendingMessageRemoved': {
      const { kind, id } = action;
      const isHere = kind === 'queued' ? chat.queuedMessages?.some((one) => one.id === id) : chat.steeringMessage?.id === id;
      if (!isHere) return refused('This message is not waiting any more.');
      if (kind === 'steering') return refused('The agent already has this message.');
      return { kind: 'taken', apply: { type: action.type, kind, id }, intents: [{ type: 'unqueue', turnId: id }] };
    }
    case 'chat/queuedMessagesReordered': {
      const apply = { type: action.type, order: action.order } as const;
      const after = reduceChat(chat, apply);
      if (after === chat)
        return chat.queuedMessages?.some((one) => action.order.includes(one.id))
          ? IGNORED
          : refused('This message is not waiting any more.');
      const order = after.queuedMessages?.map((one) => one.id) ?? [];
      return { kind: 'taken', apply: { ...apply, order }, intents: [{ type: 'reorder', order }] };
    }
    case 'chat/draftChanged':
      if (lengthOf(action.draft) > LONGEST_DRAFT) return refused('The draft is too long: it is kept up to 1 MiB.');
      return { kind: 'taken', apply: { type: action.type, draft: action.draft }, intents: [] };
    case 'chat/toolCallComplete':
      return ranInWindow(action, held);
    case 'chat/inputAnswerChanged':
      return IGNORED;
    case 'chat/turnResume':
      return resumed(action.turnId, held);
    case 'chat/truncated':
      return truncated(action.turnId, held);
  }
}

function pendingSet({ kind, id, message: said }: Pick<PendingSet, 'kind' | 'id' | 'message'>, held: Held): ActionResult {
  // A client that comes back repeats what it had sent.
  if (wasTaken(id, held) || isKnownBehind(id, held)) return refused('This message is not waiting any more.');
  const waiting = (held.chat.queuedMessages ?? []).filter((one) => one.id !== id);
  if (waiting.length >= MOST_WAITING) return refused('Too many messages are waiting.');
  // One alone is as long as a prompt may be.
  if (waiting.length > 0 && lengthOf(waiting) + lengthOf(said) > LONGEST_WAITING)
    return refused('The messages that wait are too long together: send this one when they have gone.');
  const content = contentOf(said, held);
  if (content.length === 0) return refused(EMPTY);
  const intent: Intent =
    kind === 'steering' && hasBegun(held)
      ? { type: 'steer', turnId: id, content, ...by(held) }
      : { type: 'prompt', turnId: id, content, ...by(held) };
  const apply = { type: 'chat/pendingMessageSet', kind, id, message: plainMessage(said, held.sender) } as const;
  const goesOn = held.session && runningTurn(held.session)?.stopping ? { goesOn: id } : {};
  const steers = intent.type === 'steer' && takesSteering(held) ? { steers: id } : {};
  return { kind: 'taken', apply, intents: [intent], starts: true, ...goesOn, ...steers };
}

/** True for a prompt that came while another turn ran, and waits or has become a turn under its other name. */
function isKnownBehind(turnId: string, held: Held): boolean {
  const id = nameBehind(turnId);
  return wasTaken(id, held) || (held.chat.queuedMessages?.some((one) => one.id === id) ?? false);
}

/** True for a message that has become a turn, or that the agent has or had in its turn, where it may have another id. */
function wasTaken(id: string, { chat, session, steered }: Held): boolean {
  const isWaiting = chat.steeringMessage?.id === id || chat.queuedMessages?.some((one) => one.id === id);
  if (!isWaiting && steered?.has(id)) return true;
  const isTurn = hasTurn(chat, id) || (session?.turns.some((turn) => turn.id === id) ?? false);
  const running = session && runningTurn(session);
  return isTurn || (running?.parts.some((part) => part.kind === 'prompt' && part.id === id && !part.pending) ?? false);
}

/** Accepts a tool's result only from the window that was asked to run it. */
function ranInWindow({ turnId, toolCallId, result }: RanTool, { chat, clientId }: Held): ActionResult {
  const call = chat.activeTurn?.responseParts.find((part) => part.kind === 'toolCall' && part.toolCall.toolCallId === toolCallId);
  const isTheirs = call?.kind === 'toolCall' && call.toolCall.status === 'running' && call.toolCall.contributor?.clientId === clientId;
  if (!isTheirs || chat.activeTurn?.id !== turnId) return refused('This call is not yours.');
  const said = (result.content ?? []).flatMap((one) => (one.type === 'text' && one.text !== undefined ? [one.text] : [])).join('\n');
  const message = said || result.error?.message || '';
  const callResult: CallResult = {
    success: result.success,
    pastTenseMessage: call.toolCall.displayName,
    content: [{ type: 'text', text: message.slice(0, LONGEST_RESULT) }],
    ...(result.success ? {} : { error: { message } }),
  };
  return { kind: 'taken', apply: { type: 'chat/toolCallComplete', turnId, toolCallId, result: callResult }, intents: [] };
}

/** True once the agent has begun the chat's open turn. */
function hasBegun({ chat, session }: Held): boolean {
  return session?.turns.some((turn) => turn.id === chat.activeTurn?.id && turn.status === 'running') ?? false;
}

function takesSteering({ session }: Held): boolean {
  return session?.link.state === 'ready' && session.link.offers.steer === true;
}

function turnStarted(action: TurnStarted, held: Held): ActionResult {
  const { chat, session } = held;
  const { turnId } = action;
  if (hasTurn(chat, turnId) || session?.turns.some((turn) => turn.id === turnId) || isKnownBehind(turnId, held))
    return refused('This turn is over.');
  // VS Code shows a refused prompt as sent and answered by nothing (seen): it waits in place of its turn.
  if (chat.activeTurn) return pendingSet({ kind: 'queued', id: nameBehind(turnId), message: action.message }, held);
  const content = contentOf(action.message, held);
  const { queuedMessageId } = action;
  const apply: ChatAction = {
    type: 'chat/turnStarted',
    turnId,
    startedAt: new Date(held.now).toISOString(),
    message: plainMessage(action.message, held.sender),
    ...(queuedMessageId === undefined ? {} : { queuedMessageId }),
  };
  if (content.length === 0) return { kind: 'taken', apply, intents: [], fails: EMPTY };
  const wanted = action.message.model?.id;
  const model = modelIntent(wanted, session);
  const unqueued: readonly Intent[] = queuedMessageId === undefined ? [] : [{ type: 'unqueue', turnId: queuedMessageId }];
  return {
    kind: 'taken',
    apply,
    intents: [...unqueued, ...model, { type: 'prompt', turnId, content, ...replaced(held), ...by(held) }],
    starts: true,
    ...(wanted === undefined ? {} : { model: wanted }),
    ...(held.keptTurns === undefined ? {} : { note: held.keptTurns }),
  };
}

function by({ sender }: Held): { readonly sender?: string } {
  return sender === undefined ? {} : { sender };
}

/** Removes the turns for clients at once, but for the agent only with the next prompt: until then nothing is lost. */
function truncated(turnId: string | undefined, { chat, session, takenBack, hasSpoken }: Held): ActionResult {
  if (chat.activeTurn) return refused('Stop the turn first.');
  const at = turnId === undefined ? -1 : chat.turns.findIndex((turn) => turn.id === turnId);
  if (turnId !== undefined && at < 0) return refused('There is no such turn.');
  const known = new Set(session?.turns.map((turn) => turn.id));
  const first = chat.turns.slice(at + 1).find((turn) => known.has(turn.id))?.id ?? takenBack;
  if (first === undefined || session?.link.state !== 'ready' || !session.link.offers.edit)
    return { kind: 'refused', why: 'This agent cannot take turns back.', keepsTurns: KEPT };
  if (turnId === undefined && !hasSpoken)
    return { kind: 'refused', why: 'Name the last turn that stays, or begin a new chat.', keepsTurns: NOT_SHOWN };
  const apply: ChatAction = { type: 'chat/truncated', ...(turnId === undefined ? {} : { turnId }) };
  return { kind: 'taken', apply, intents: [], takesBack: first };
}

function replaced({ takenBack, session }: Held): { readonly replaces?: TurnId } {
  return takenBack !== undefined && session?.turns.some((turn) => turn.id === takenBack) ? { replaces: takenBack } : {};
}

/** Tries the last turn again, which goes on for clients, where it failed. */
function resumed(turnId: string | undefined, held: Held): ActionResult {
  const { chat, now } = held;
  const last = chat.turns.at(-1);
  if (last?.state !== 'error' || chat.activeTurn || (turnId !== undefined && turnId !== last.id))
    return refused('Only a failed turn can be tried again.');
  // Each failed attempt adds a part with its error, so the id is new.
  const sessionTurn = `${last.id}~${now.toString(36)}.${last.responseParts.length}`;
  const said = message.safeParse(last.message);
  const content = said.success ? contentOf(said.data, held) : [];
  return {
    kind: 'taken',
    apply: { type: 'chat/turnResume', turnId: last.id },
    intents: [{ type: 'prompt', turnId: sessionTurn, content, again: last.id, ...by(held) }],
    starts: true,
    retries: { sessionTurn, clientTurn: last.id },
  };
}

/** Accepts an approval only for a call now pending, in a turn not being stopped, and uses the named option, or the narrowest whose name is clear. */
function confirmed(action: Confirmed, { chat, session }: Held): ActionResult {
  const { turnId, toolCallId, approved, selectedOptionId } = action;
  const over = refused('This call is not waiting for an answer.');
  const part = chat.activeTurn?.id === turnId ? chat.activeTurn.responseParts.find((one) => isPendingCall(one, toolCallId)) : undefined;
  const turn = session?.turns.find((one) => one.id === turnId);
  const ask = session?.asks.find((one): one is Approval => one.kind === 'approval' && one.callId === toolCallId && !one.decision);
  if (!part || !ask || !turn || turn.stopping || turn.status !== 'running') return over;
  if (approved && action.confirmed !== BY_USER) return refused(NOT_BY_USER);
  const side = approved ? 'approve' : 'deny';
  const options = ask.options.filter((option) => sideOf(option, ask) === side);
  const misleading = misleadingOptions(ask);
  const clear = options.filter((option) => !misleading.has(option));
  const [once, another] = clear.filter((option) => option.effect.endsWith('_once'));
  const chosen =
    selectedOptionId === undefined ? (once ?? (approved ? undefined : clear[0])) : options.find((option) => option.id === selectedOptionId);
  if (selectedOptionId !== undefined && !chosen) return refused('The agent does not offer this answer.');
  // Several ways to allow it once are answers to choose from, not one permission.
  if (selectedOptionId === undefined && approved && another) return refused('The agent offers several ways to allow this. Choose one.');
  if (approved && !chosen) return refused('The agent offers no way to allow this once. Answer in Parley.');
  if (approved && action.editedToolInput !== undefined && action.editedToolInput !== plainInput(part))
    return refused('The input of this call cannot be changed here.');
  const feedback = action.userSuggestion?.text;
  const reply: Answer = chosen
    ? { kind: 'option', optionId: chosen.id, ...(feedback === undefined || approved ? {} : { feedback }) }
    : { kind: 'cancelled' };
  const apply: ChatAction = {
    type: 'chat/toolCallConfirmed',
    turnId,
    toolCallId,
    approved,
    ...(approved ? { confirmed: BY_USER } : { reason: 'denied' }),
    ...(chosen && selectedOptionId !== undefined ? { selectedOptionId } : {}),
  };
  return { kind: 'taken', apply, intents: [{ type: 'answer', askId: ask.id, answer: reply }] };
}

type Part = NonNullable<ChatState['activeTurn']>['responseParts'][number];

function isPendingCall(part: Part, toolCallId: string): boolean {
  return part.kind === 'toolCall' && part.toolCall.toolCallId === toolCallId && part.toolCall.status === 'pending-confirmation';
}

function plainInput(part: Part): string | undefined {
  return part.kind === 'toolCall' && part.toolCall.status === 'pending-confirmation' ? part.toolCall.toolInput : undefined;
}

function completed(action: Completed, { chat, session }: Held): ActionResult {
  const { requestId, response, answers = {} } = action;
  const isOpen = chat.activeTurn?.responseParts.some(
    (part) => part.kind === 'inputRequest' && part.response === undefined && part.request.id === requestId,
  );
  const ask = session?.asks.find((one) => one.id === requestId && !one.decision);
  const turn = session?.turns.find((one) => one.id === ask?.turnId);
  if (!isOpen || !ask || turn?.stopping) return refused('This question is not open any more.');
  const reply = replyTo(ask, response, answers);
  if (!reply) return refused('The agent does not offer this answer.');
  const apply: ChatAction = { type: action.type, requestId, response, ...(response === 'accept' ? { answers } : {}) };
  return { kind: 'taken', apply, intents: [{ type: 'answer', askId: ask.id, answer: reply }] };
}

function replyTo(ask: Ask, response: Completed['response'], answers: NonNullable<Completed['answers']>): Answer | undefined {
  if (ask.kind === 'approval') {
    const [chosen] = valuesOf(answers[APPROVAL_QUESTION]);
    const option = ask.options.find((one) => one.id === chosen && sideOf(one, ask) !== undefined);
    if (response === 'accept') return option && { kind: 'option', optionId: option.id };
    return { kind: 'cancelled' };
  }
  if (response === 'accept') return { kind: 'fields', values: fieldValues(ask, answers) };
  if (response === 'decline' && ask.refusal !== undefined) return { kind: 'option', optionId: ask.refusal };
  return { kind: 'cancelled' };
}

function fieldValues({ fields }: Question, answers: NonNullable<Completed['answers']>): Readonly<Record<string, readonly string[]>> {
  const entries = fields.flatMap((field: Field) => {
    const values = valuesOf(answers[field.id]);
    return values.length > 0 ? [[field.id, values] as const] : [];
  });
  return Object.fromEntries(entries);
}

function valuesOf(given: z.infer<typeof answer> | undefined): readonly string[] {
  if (!given || given.state === 'skipped') return [];
  const { value, freeformValues = [] } = given.value ?? {};
  const chosen = value === undefined ? [] : Array.isArray(value) ? value : [String(value)];
  return [...chosen.filter((one) => one !== ''), ...freeformValues.filter((one) => one.trim() !== '')];
}

/** Sends the names of files, not their content: the agent reads them as needed. */
function contentOf({ text: said, attachments = [] }: z.infer<typeof message>, { attached = new Map() }: Held): readonly Content[] {
  const others = attachments.flatMap((one): readonly Content[] => {
    if (isSenderNote(one)) return [];
    const content = attachedContent(one, attached);
    return content ? [content] : [];
  });
  return said.trim() === '' ? others : [{ type: 'text', text: said }, ...others];
}

/** Returns the message with its sender, which all subscribers of the chat see. */
function plainMessage({ text: said, attachments, model }: z.infer<typeof message>, sender: string | undefined) {
  const plain = {
    text: said,
    origin: { kind: 'user' },
    ...(attachments ? { attachments } : {}),
    ...(model ? { model: { id: model.id } } : {}),
  };
  return withSender(plain, sender);
}

/** Switches to a model that the agent offers and does not use now. */
export function modelIntent(wanted: string | undefined, session: Session | undefined): readonly Intent[] {
  const option = session?.options?.find((one) => one.about === 'model');
  if (wanted === undefined || option?.kind !== 'choice' || option.current === wanted) return [];
  return option.choices.some((choice) => choice.value === wanted) ? [{ type: 'setOption', optionId: option.id, value: wanted }] : [];
}

export function decideSession(said: unknown, state: SessionState, { session, clientId }: Pick<Held, 'session' | 'clientId'>): ActionResult {
  const parsed = sessionAction.safeParse(said);
  if (!parsed.success) return refused(UNKNOWN);
  const action = parsed.data;
  switch (action.type) {
    case 'session/isReadChanged':
      return { kind: 'taken', apply: { type: action.type, isRead: action.isRead }, intents: [] };
    case 'session/isArchivedChanged':
      return { kind: 'taken', apply: { type: action.type, isArchived: action.isArchived }, intents: [] };
    case 'session/titleChanged':
      return named(action.title);
    case 'session/activeClientRemoved':
      if (action.clientId !== clientId) return refused(NOT_ITSELF);
      return { kind: 'taken', apply: { type: action.type, clientId: action.clientId }, intents: [] };
    case 'session/activeClientSet': {
      const { activeClient } = action;
      if (activeClient.clientId !== clientId) return refused(NOT_ITSELF);
      if ((activeClient.tools?.length ?? 0) > MOST_TOOLS) return refused('A window offers 1,000 tools at most.');
      if (lengthOf(activeClient) > LONGEST_TOOLS) return refused('What a window says of itself and its tools is 4 MiB at most.');
      const known = state.activeClients.find((one) => one.clientId === activeClient.clientId);
      if (known && JSON.stringify(known) === JSON.stringify(activeClient)) return IGNORED;
      return { kind: 'taken', apply: { type: action.type, activeClient }, intents: [] };
    }
    case 'session/configChanged':
      return configChanged(action.config, state, session);
  }
}

function lengthOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

const NOT_ITSELF = 'A client announces and removes itself only.';

/** All clients list it in one line, in which nothing may mislead. */
function named(said: string): ActionResult {
  const title = shortened(visibleText(oneLine(said.slice(0, 4 * LONGEST_TITLE))), LONGEST_TITLE);
  if (title === '') return refused('A session needs a name.');
  return { kind: 'taken', apply: { type: 'session/titleChanged', title }, intents: [] };
}

function configChanged(config: Readonly<Record<string, unknown>>, state: SessionState, session: Session | undefined): ActionResult {
  const taken = offered(config, state.config);
  if (Object.keys(taken).length === 0) return refused('The agent does not offer this answer.');
  return { kind: 'taken', apply: { type: 'session/configChanged', config: taken }, intents: configIntents(taken, session) };
}

/** Returns the values that the agent offers: clients send keys of their own (docs/protocols/ahp.md §4). */
export function offered(config: Readonly<Record<string, unknown>>, known: SessionConfig | undefined): ConfigValues {
  const properties = known?.schema.properties ?? {};
  const isOffered = (key: string, value: unknown): value is string | boolean => {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    return property?.type === 'boolean'
      ? typeof value === 'boolean'
      : typeof value === 'string' && property?.enum?.includes(value) === true;
  };
  return Object.fromEntries(Object.entries(config).flatMap(([key, value]) => (isOffered(key, value) ? [[key, value] as const] : [])));
}

/** Returns what a running agent is told to use these values. */
export function configIntents(values: ConfigValues, session: Session | undefined): readonly Intent[] {
  return Object.entries(values).map(([key, value]) =>
    key === MODE && session?.mode !== undefined && typeof value === 'string'
      ? { type: 'setMode', modeId: value }
      : { type: 'setOption', optionId: key, value },
  );
}

import * as z from 'zod/mini';
import type { ApprovalDetail } from '../../session/model.ts';
import type {
  AgentInfo,
  ChatAction,
  ChatState,
  InputRequest,
  ResponsePart,
  ResultContent,
  SessionAction,
  SessionConfig,
  SessionState,
  TerminalAction,
  TerminalState,
  ToolCallState,
} from './state.ts';

/*
 * Messages of a host (docs/protocols/ahp.md §4 to §7). Unknown actions, parts and results are left out, because newer versions
 * add some.
 */

const text = z.string();
const may = z.exactOptional;
/** No list of a host is longer; its members are not looked at before their number. */
const LONGEST_LIST = 10_000;
const list = <T extends z.ZodMiniType>(one: T) =>
  z.pipe(
    z.custom<unknown>((given) => !Array.isArray(given) || given.length <= LONGEST_LIST),
    z.array(one),
  );
/** A member that most messages omit. As `z.catch`, without an error made for each: a history has thousands of them. */
const or = <T extends z.ZodMiniType, V>(one: T, value: V) => z.union([one, z.transform(() => value)]);
/** The last of a list that may be longer than anybody reads. */
const newest = <T extends z.ZodMiniType>(one: T, most: number) =>
  z.pipe(
    z.transform((given: unknown) => (Array.isArray(given) ? given.slice(-most) : given)),
    z.array(one),
  );
/** Turns of a chat that are shown, and sessions of one page of a list. */
export const MOST_TURNS = 1000;
const MOST_LISTED = 2000;
/** Actions told at once after a lost connection; for more, a host tells its state. */
const MOST_MISSED = 20_000;
const words = z.union([text, z.object({ markdown: text })]);
const meta = may(z.record(text, z.unknown()));
const error = z.object({ errorType: z.catch(text, 'error'), message: z.catch(text, '') });
const failure = z.object({ kind: z.literal('error'), error, resumable: may(z.boolean()) });
const message = z.object({
  text: or(text, ''),
  origin: or(z.object({ kind: text }), { kind: 'user' }),
  attachments: may(list(z.unknown())),
  model: may(z.object({ id: text })),
  _meta: meta,
});

const side = z.object({ uri: text, content: z.object({ uri: text }) });
const edit = {
  before: may(side),
  after: may(side),
  diff: z.catch(z.object({ added: z.number(), removed: z.number() }), { added: 0, removed: 0 }),
};
const EMPTY = { type: 'text', text: '' } as const;
const content: z.ZodMiniType<ResultContent> = z.catch(
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text }),
    z.object({ type: z.literal('embeddedResource'), data: text, contentType: text }),
    z.object({ type: z.literal('fileEdit'), ...edit }),
    z.object({
      type: z.literal('terminal'),
      resource: text,
      title: z.catch(text, ''),
      isPty: may(z.boolean()),
      result: may(z.object({ exitCode: may(z.number()), preview: may(text), truncated: may(z.boolean()) })),
    }),
  ]),
  EMPTY,
);
const option = z.object({ id: text, label: text, kind: z.enum(['approve', 'deny']), group: may(z.number()), _meta: meta });
const confirmation = {
  confirmationTitle: z.catch(words, ''),
  options: may(list(option)),
  edits: may(z.object({ items: list(z.object(edit)) })),
};
const result = {
  success: z.boolean(),
  pastTenseMessage: z.catch(words, ''),
  content: may(list(content)),
  error: may(z.object({ message: z.catch(text, '') })),
};
const name = {
  toolCallId: text,
  toolName: z.catch(text, ''),
  displayName: z.catch(text, ''),
  contributor: may(z.catch(z.object({ kind: z.literal('client'), clientId: text }), { kind: 'client', clientId: '' })),
  _meta: meta,
};
const input = { invocationMessage: z.catch(words, ''), toolInput: may(text) };
const confirmed = z.catch(z.enum(['not-needed', 'user-action', 'setting']), 'not-needed');
const selected = { selectedOption: may(option) };
const call: z.ZodMiniType<ToolCallState> = z.discriminatedUnion('status', [
  z.object({ ...name, status: z.literal('streaming'), partialInput: may(text) }),
  z.object({ ...name, ...input, ...confirmation, status: z.literal('pending-confirmation') }),
  z.object({ ...name, ...input, status: z.literal('running'), confirmed, ...selected, content: may(list(content)) }),
  z.object({ ...name, ...input, ...result, status: z.literal('completed'), confirmed, ...selected }),
  z.object({
    ...name,
    invocationMessage: may(words),
    toolInput: may(text),
    status: z.literal('cancelled'),
    reason: z.catch(z.enum(['denied', 'skipped']), 'skipped'),
    ...selected,
  }),
]);

const base = { id: text, title: may(text), message: z.catch(text, ''), required: may(z.boolean()) };
const bounds = { min: may(z.number()), max: may(z.number()) };
const question = z.discriminatedUnion('kind', [
  z.object({ ...base, kind: z.literal('text'), format: may(text), ...bounds, defaultValue: may(text) }),
  z.object({ ...base, kind: z.enum(['number', 'integer']), ...bounds, defaultValue: may(z.number()) }),
  z.object({ ...base, kind: z.literal('boolean'), defaultValue: may(z.boolean()) }),
  z.object({
    ...base,
    kind: z.enum(['single-select', 'multi-select']),
    options: list(z.object({ id: text, label: text, description: may(text), recommended: may(z.boolean()) })),
    allowFreeformInput: may(z.boolean()),
    ...bounds,
  }),
]);
const request: z.ZodMiniType<InputRequest> = z.object({
  id: text,
  message: z.catch(text, ''),
  questions: z.catch(list(question), []),
  answers: may(z.record(text, z.unknown())),
});
const response = z.enum(['accept', 'decline', 'cancel']);
const UNKNOWN_PART = { kind: 'systemNotification', content: '' } as const;
const part: z.ZodMiniType<ResponsePart> = z.catch(
  z.discriminatedUnion('kind', [
    z.object({ kind: z.enum(['markdown', 'reasoning']), id: text, content: text }),
    z.object({ kind: z.literal('toolCall'), toolCall: call }),
    z.object({ kind: z.literal('inputRequest'), request, response: may(response) }),
    z.object({ kind: z.literal('systemNotification'), content: words, _meta: meta }),
    failure,
  ]),
  UNKNOWN_PART,
);
const yes = may(z.literal(true));
const diff = z.object({
  path: text,
  before: z.nullable(text),
  after: z.nullable(text),
  excerpt: may(z.object({ beforeLine: may(z.number()), afterLine: may(z.number()), unplaced: yes })),
  summary: yes,
});
/** Details of an approval that another Parley adds. */
export const details: z.ZodMiniType<readonly ApprovalDetail[]> = list(
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('command'), command: text, cwd: may(text), unsure: yes }),
    z.object({ type: z.literal('edit'), diffs: list(diff) }),
    z.object({ type: z.literal('mcp'), server: text, tool: text, input: may(z.unknown()) }),
    z.object({ type: z.literal('text'), text, unknown: yes, markdown: yes }),
  ]),
);
const usage = z.object({ inputTokens: may(z.number()), outputTokens: may(z.number()), model: may(text) });
const turn = { id: text, startedAt: or(text, ''), message, responseParts: list(part), usage: may(usage) };
const summary = {
  resource: text,
  title: z.catch(text, ''),
  status: z.catch(z.number(), 1),
  modifiedAt: z.catch(text, ''),
  origin: z.catch(z.object({ kind: z.literal('user') }), { kind: 'user' }),
};
const pending = z.object({ id: text, message });
const chat: z.ZodMiniType<ChatState> = z.object({
  ...summary,
  turns: newest(z.object({ ...turn, duration: or(z.number(), 0), state: z.enum(['complete', 'cancelled', 'error']) }), MOST_TURNS),
  activeTurn: may(z.object(turn)),
  steeringMessage: may(pending),
  queuedMessages: may(list(pending)),
});

const inTurn = { turnId: text };
const inCall = { turnId: text, toolCallId: text };
const kind = z.enum(['queued', 'steering']);
const chatAction: z.ZodMiniType<ChatAction> = z.discriminatedUnion('type', [
  z.object({ type: z.literal('chat/turnStarted'), ...inTurn, startedAt: z.catch(text, ''), message, queuedMessageId: may(text) }),
  z.object({ type: z.literal('chat/responsePart'), ...inTurn, part }),
  z.object({ type: z.enum(['chat/delta', 'chat/reasoning']), ...inTurn, partId: text, content: text }),
  z.object({ type: z.literal('chat/usage'), ...inTurn, usage }),
  z.object({ type: z.enum(['chat/turnComplete', 'chat/turnCancelled']), ...inTurn, duration: z.catch(z.number(), 0) }),
  z.object({
    type: z.literal('chat/error'),
    ...inTurn,
    duration: z.catch(z.number(), 0),
    part: z.catch(failure, { kind: 'error', error: { errorType: 'error', message: '' } }),
  }),
  z.object({ type: z.literal('chat/truncated'), turnId: may(text) }),
  z.object({ type: z.literal('chat/turnResume'), turnId: text }),
  z.object({ type: z.literal('chat/toolCallStart'), ...inTurn, ...name }),
  z.object({ type: z.literal('chat/toolCallDelta'), ...inCall, content: z.catch(text, '') }),
  z.object({ type: z.literal('chat/toolCallContentChanged'), ...inCall, content: list(content) }),
  z.object({ type: z.literal('chat/toolCallComplete'), ...inCall, result: z.object(result) }),
  z.object({ type: z.literal('chat/inputRequested'), ...inTurn, request }),
  z.object({ type: z.literal('chat/inputCompleted'), requestId: text, response, answers: may(z.record(text, z.unknown())) }),
  z.object({ type: z.literal('chat/pendingMessageSet'), kind, id: text, message }),
  z.object({
    type: z.literal('chat/pendingMessageRemoved'),
    kind,
    id: text,
    _meta: may(z.object({ queued: may(z.literal(true)) })),
  }),
  z.object({ type: z.literal('chat/queuedMessagesReordered'), order: list(text) }),
  z.object({
    type: z.literal('chat/toolCallConfirmed'),
    ...inCall,
    approved: z.boolean(),
    confirmed: may(confirmed),
    reason: may(z.enum(['denied', 'skipped'])),
    selectedOptionId: may(text),
  }),
]);
/** A call that is ready either asks or runs; with `confirmed` it does not ask. */
const readyAction = z.object({
  type: z.literal('chat/toolCallReady'),
  ...inCall,
  ...input,
  ...confirmation,
  confirmed: may(z.enum(['not-needed', 'user-action', 'setting'])),
  _meta: meta,
});

const configured = z.union([text, z.boolean()]);
const property = z.object({
  type: z.enum(['string', 'boolean']),
  title: z.catch(text, ''),
  description: may(text),
  enum: may(list(text)),
  enumLabels: may(list(text)),
  enumDescriptions: may(list(text)),
  readOnly: may(z.boolean()),
  sessionMutable: z.literal(true),
});
/** A property that cannot be chosen here is left out by `optionsOf`. */
const config: z.ZodMiniType<SessionConfig> = z.object({
  schema: z.object({ type: z.literal('object'), properties: z.record(text, z.catch(property, UNUSABLE())) }),
  values: z.record(text, z.catch(configured, '')),
});
const session = z.object({
  provider: z.catch(text, ''),
  title: z.catch(text, ''),
  lifecycle: z.catch(z.enum(['creating', 'ready', 'failed']), 'ready'),
  creationError: may(error),
  defaultChat: may(text),
  chats: z.catch(list(z.object(summary)), []),
  config: may(z.catch(config, { schema: { type: 'object', properties: {} }, values: {} })),
});
export type SessionFacts = Pick<SessionState, 'provider' | 'title' | 'lifecycle' | 'creationError' | 'config'> & {
  readonly chat: string | null;
};

const sessionAction: z.ZodMiniType<SessionAction> = z.discriminatedUnion('type', [
  z.object({ type: z.literal('session/ready') }),
  z.object({ type: z.literal('session/creationFailed'), error }),
  z.object({ type: z.literal('session/titleChanged'), title: text }),
  z.object({ type: z.literal('session/activityChanged'), activity: may(text) }),
  z.object({
    type: z.literal('session/configChanged'),
    config: z.record(text, z.catch(configured, '')),
    replace: may(z.literal(true)),
  }),
]);

const command = { commandId: text, commandLine: z.catch(text, ''), timestamp: z.catch(z.number(), 0) };
const commandEnd = { exitCode: may(z.number()), durationMs: may(z.number()) };
const terminal: z.ZodMiniType<TerminalState> = z.object({
  title: z.catch(text, ''),
  content: list(
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('unclassified'), value: text }),
      z.object({ type: z.literal('command'), ...command, output: text, isComplete: z.boolean(), ...commandEnd }),
    ]),
  ),
  claim: z.catch(z.object({ kind: z.literal('session'), session: text }), { kind: 'session', session: '' }),
  lifecycle: z.catch(
    z.union([z.object({ status: z.literal('running') }), z.object({ status: z.literal('exited'), exitCode: may(z.number()) })]),
    { status: 'running' },
  ),
  _meta: meta,
});
const terminalAction: z.ZodMiniType<TerminalAction> = z.discriminatedUnion('type', [
  z.object({ type: z.literal('terminal/data'), data: text }),
  z.object({ type: z.literal('terminal/cleared'), _meta: meta }),
  z.object({ type: z.literal('terminal/exited'), exitCode: may(z.number()) }),
  z.object({ type: z.literal('terminal/commandExecuted'), ...command }),
  z.object({ type: z.literal('terminal/commandFinished'), commandId: text, ...commandEnd }),
]);

const agent: z.ZodMiniType<AgentInfo> = z.object({
  provider: text,
  displayName: z.catch(text, ''),
  description: z.catch(text, ''),
  models: z.catch(list(z.object({ id: text, provider: z.catch(text, ''), name: z.catch(text, '') })), []),
  capabilities: z.catch(z.object({}), {}),
});

/** One snapshot of a channel. */
export interface Snapshot {
  readonly resource: string;
  readonly state: unknown;
  readonly fromSeq: number;
}
const snapshot: z.ZodMiniType<Snapshot> = z.object({ resource: text, state: z.unknown(), fromSeq: z.number() });

/** One numbered action, or the refusal of one of Parley's. */
export interface Envelope {
  readonly channel: string;
  readonly action: unknown;
  readonly serverSeq: number;
  readonly origin?: { readonly clientId: string; readonly clientSeq: number };
  readonly rejectionReason?: string;
}
const envelope: z.ZodMiniType<Envelope> = z.object({
  channel: text,
  action: z.unknown(),
  serverSeq: z.number(),
  origin: may(z.object({ clientId: text, clientSeq: z.number() })),
  rejectionReason: may(text),
});

const sessionSummary = z.object({
  resource: text,
  provider: z.catch(text, ''),
  title: z.catch(text, ''),
  status: z.catch(z.number(), 1),
  modifiedAt: z.catch(text, ''),
  workingDirectories: z.catch(list(text), []),
});
export type ListedSession = z.infer<typeof sessionSummary>;
/** Newest first; what is no session is left out. */
const listedSessions = z.pipe(
  z.custom<readonly unknown[]>((given) => Array.isArray(given)),
  z.transform((given: readonly unknown[]) => given.slice(0, MOST_LISTED).flatMap((one) => decoded(sessionSummary, one) ?? [])),
);

function UNUSABLE(): z.infer<typeof property> {
  return { type: 'string', title: '', sessionMutable: true };
}

/** The answers of a host, by what was asked. */
export const answers = {
  initialize: z.object({
    // Another version has other words for the same things, an answer among them.
    protocolVersion: text.check(z.regex(/^(?:0\.9|1)(?:\.|$)/)),
    serverSeq: z.catch(z.number(), 0),
    serverInfo: may(z.object({ name: may(text), version: may(text) })),
    snapshots: z.catch(list(snapshot), []),
  }),
  subscribe: z.object({ snapshot, _meta: may(z.catch(z.record(text, z.unknown()), {})) }),
  reconnect: z.discriminatedUnion('type', [
    z.object({ type: z.literal('replay'), actions: z.array(envelope).check(z.maxLength(MOST_MISSED)), missing: z.catch(list(text), []) }),
    z.object({ type: z.literal('snapshot'), snapshots: list(snapshot) }),
  ]),
  resourceRead: z.object({ data: text, encoding: z.catch(text, 'utf-8') }),
  listSessions: z.object({ items: listedSessions, nextCursor: may(text) }),
  completions: z.object({
    items: list(
      z.object({
        insertText: text,
        rangeStart: may(z.number()),
        rangeEnd: may(z.number()),
        attachment: may(z.object({ label: may(text), _meta: meta })),
      }),
    ),
  }),
};

/** Undefined for what is not of that shape. */
function decoded<T extends z.ZodMiniType>(shape: T, raw: unknown): z.output<T> | undefined {
  const parsed = shape.safeParse(raw);
  return parsed.success ? parsed.data : undefined;
}

export function readEnvelope(raw: unknown): Envelope | undefined {
  return decoded(envelope, raw);
}

/** An action on a chat; undefined for one that this build does not know. */
export function readChatAction(raw: unknown): ChatAction | undefined {
  if (typeof raw !== 'object' || raw === null || !('type' in raw)) return undefined;
  if (raw.type !== 'chat/toolCallReady') return decoded(chatAction, raw);
  const ready = decoded(readyAction, raw);
  if (!ready) return undefined;
  const { confirmed: how, confirmationTitle, options, edits, ...rest } = ready;
  if (how !== undefined) return { ...rest, confirmed: how };
  return { ...rest, confirmationTitle, ...(options ? { options } : {}), ...(edits ? { edits } : {}) };
}
export function readSessionAction(raw: unknown): SessionAction | undefined {
  return decoded(sessionAction, raw);
}
export function readChat(raw: unknown): ChatState | undefined {
  return decoded(chat, raw);
}
export function readTerminal(raw: unknown): TerminalState | undefined {
  return decoded(terminal, raw);
}
export function readTerminalAction(raw: unknown): TerminalAction | undefined {
  return decoded(terminalAction, raw);
}
export function readSession(raw: unknown): SessionFacts | undefined {
  const read = decoded(session, raw);
  if (!read) return undefined;
  const { defaultChat, chats, ...facts } = read;
  return { ...facts, chat: defaultChat ?? chats[0]?.resource ?? null };
}
/** As a host keeps them by the ids of its agents. */
export const keptOffers = z.record(
  text,
  z.object({ models: list(z.object({ id: text, provider: text, name: text })), config, forks: z.boolean() }),
);
export function readConfig(raw: unknown): SessionConfig | undefined {
  return decoded(config, raw);
}
/** The agents of a root state. */
export function readAgents(raw: unknown): readonly AgentInfo[] {
  const none = { provider: '', displayName: '', description: '', models: [], capabilities: {} };
  const root = decoded(z.object({ agents: list(z.catch(agent, none)) }), raw);
  return root?.agents.filter(({ provider }) => provider !== '') ?? [];
}

/**
 * The state that an agent host shares with its clients, and the actions that change it (docs/protocols/ahp.md). Only what Parley sends is typed: a client
 * ignores what it does not know, and so do we. Texts are plain or markdown; times are ISO 8601, durations milliseconds.
 */

import { t } from '../../base/l10n.ts';

export type Text = string | { readonly markdown: string };
/** Extensions to the protocol; unknown ones are ignored. */
export type Meta = Readonly<Record<string, unknown>>;

export interface ErrorInfo {
  readonly errorType: string;
  readonly message: string;
}

export interface Message {
  readonly text: string;
  readonly origin: { readonly kind: string };
  readonly attachments?: readonly unknown[];
  readonly model?: { readonly id: string };
  readonly _meta?: Meta;
}

/** In UTF-16 units. */
const LONGEST_NAME = 100;
/** Names of VS Code's windows, which show no sender of a prompt; a further window of one conversation has a number. */
const WINDOW = /^VS Code\b\D*$/;

/**
 * The message with its sender, for clients of the same conversation. VS Code does not read that, but shows attachments: one that holds nothing names
 * every other client, and a further window.
 */
export function withSender(message: Message, sender: string | undefined): Message {
  const attachments = (message.attachments ?? []).filter((one) => !isSenderNote(one));
  if (sender !== undefined && !WINDOW.test(sender))
    attachments.push({ type: 'simple', label: t('By {0}', sender), _meta: { sender: true } });
  const { attachments: _before, ...rest } = message;
  return {
    ...rest,
    ...(attachments.length > 0 ? { attachments } : {}),
    ...(sender === undefined ? {} : { _meta: { client: sender } }),
  };
}
/** An attachment that names the sender of its message: a client that repeats the message sends it along. */
export function isSenderNote(attachment: unknown): boolean {
  return ((attachment as Partial<Message> | null | undefined)?._meta?.sender ?? false) === true;
}

/** The name under which a prompt waits that came while another turn ran: the turn of its own name is over for its client. */
export function nameBehind(turnId: string): string {
  return `${turnId}~behind`;
}

/** A message that was added to a turn, as a part of it. VS Code shows its text alone. */
export function toSaidPart(text: string, id: string, sender: string | undefined): Extract<ResponsePart, { kind: 'systemNotification' }> {
  const _meta = { prompt: true, ...(sender === undefined ? {} : { client: sender }), id };
  return { kind: 'systemNotification', content: namedIn(_meta) + text, _meta };
}
/** True for a prompt that the chat has as a turn, also under its other name, or that waits there. */
export function hasPrompt(chat: ChatState, turnId: string): boolean {
  const behind = nameBehind(turnId);
  return hasTurn(chat, turnId) || hasTurn(chat, behind) || (chat.queuedMessages?.some(({ id }) => id === behind) ?? false);
}

/** True for a turn of the chat, also the one that runs. */
export function hasTurn({ activeTurn, turns }: ChatState, id: string): boolean {
  return activeTurn?.id === id || turns.some((turn) => turn.id === id);
}
/** The text of such a part as it was said. */
export function saidIn(content: string, meta: Meta): string {
  const name = namedIn(meta);
  return content.startsWith(name) ? content.slice(name.length) : content;
}
function namedIn(meta: Meta): string {
  const sender = senderOf({ _meta: meta });
  return sender === undefined || WINDOW.test(sender) ? '' : `${sender}: `;
}

export function senderOf({ _meta }: Pick<Message, '_meta'>): string | undefined {
  const client = _meta?.client;
  return typeof client === 'string' && client !== '' ? client.slice(0, LONGEST_NAME) : undefined;
}

/** `edits` name contents that are read by `resourceRead`. */
export interface FileSide {
  readonly uri: string;
  readonly content: { readonly uri: string };
}
export interface FileEdit {
  readonly before?: FileSide;
  readonly after?: FileSide;
  readonly diff: { readonly added: number; readonly removed: number };
}
export type ResultContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'embeddedResource'; readonly data: string; readonly contentType: string }
  | ({ readonly type: 'fileEdit' } & FileEdit)
  | TerminalContent;
/** The output of a command, as a channel of its own. `result` is there once it has ended. */
export interface TerminalContent {
  readonly type: 'terminal';
  readonly resource: string;
  readonly title: string;
  /** False: the command has pipes instead of a terminal and accepts no input. */
  readonly isPty?: boolean;
  readonly result?: { readonly exitCode?: number; readonly preview?: string; readonly truncated?: boolean };
}

export interface ConfirmationOption {
  readonly id: string;
  readonly label: string;
  readonly kind: 'approve' | 'deny';
  readonly group?: number;
  readonly _meta?: Meta;
}
export type Confirmed = 'not-needed' | 'user-action' | 'setting';

/** The request of a call that waits for the user. */
export interface Confirmation {
  readonly confirmationTitle: Text;
  readonly options?: readonly ConfirmationOption[];
  readonly edits?: { readonly items: readonly FileEdit[] };
  readonly _meta?: Meta;
}
export interface CallResult {
  readonly success: boolean;
  readonly pastTenseMessage: Text;
  readonly content?: readonly ResultContent[];
  readonly error?: { readonly message: string };
}

export interface CallName {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly displayName: string;
  /** The word that VS Code shows before the command of a terminal, in place of its own "Running" and "Ran". */
  readonly intention?: string;
  readonly _meta?: Meta;
  /** The client that runs it. */
  readonly contributor?: { readonly kind: 'client'; readonly clientId: string };
}
interface CallInput {
  readonly invocationMessage: Text;
  readonly toolInput?: string;
}
export type ToolCallState =
  | (CallName & { readonly status: 'streaming'; readonly partialInput?: string })
  | (CallName & CallInput & Confirmation & { readonly status: 'pending-confirmation' })
  | (CallName &
      CallInput & {
        readonly status: 'running';
        readonly confirmed: Confirmed;
        readonly selectedOption?: ConfirmationOption;
        readonly content?: readonly ResultContent[];
      })
  | (CallName &
      CallInput &
      CallResult & { readonly status: 'completed'; readonly confirmed: Confirmed; readonly selectedOption?: ConfirmationOption })
  | (CallName &
      Partial<CallInput> & {
        readonly status: 'cancelled';
        readonly reason: 'denied' | 'skipped';
        readonly selectedOption?: ConfirmationOption;
      });

export type Question = {
  readonly id: string;
  readonly title?: string;
  readonly message: string;
  readonly required?: boolean;
} & (
  | { readonly kind: 'text'; readonly format?: string; readonly min?: number; readonly max?: number; readonly defaultValue?: string }
  | { readonly kind: 'number' | 'integer'; readonly min?: number; readonly max?: number; readonly defaultValue?: number }
  | { readonly kind: 'boolean'; readonly defaultValue?: boolean }
  | {
      readonly kind: 'single-select' | 'multi-select';
      readonly options: readonly {
        readonly id: string;
        readonly label: string;
        readonly description?: string;
        readonly recommended?: boolean;
      }[];
      readonly allowFreeformInput?: boolean;
      readonly min?: number;
      readonly max?: number;
    }
);
export interface InputRequest {
  readonly id: string;
  readonly message: string;
  readonly questions: readonly Question[];
  readonly answers?: Readonly<Record<string, unknown>>;
}
export type InputResponse = 'accept' | 'decline' | 'cancel';

export type ResponsePart =
  | { readonly kind: 'markdown' | 'reasoning'; readonly id: string; readonly content: string }
  | { readonly kind: 'toolCall'; readonly toolCall: ToolCallState }
  | { readonly kind: 'inputRequest'; readonly request: InputRequest; readonly response?: InputResponse }
  | { readonly kind: 'systemNotification'; readonly content: Text; readonly _meta?: Meta }
  /** `resumable`: clients may try the turn again. */
  | { readonly kind: 'error'; readonly error: ErrorInfo; readonly resumable?: boolean };

/** Tokens of one turn. */
export interface TurnUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly model?: string;
}
export interface ActiveTurn {
  readonly id: string;
  readonly startedAt: string;
  readonly message: Message;
  readonly responseParts: readonly ResponsePart[];
  readonly usage?: TurnUsage;
}
export interface EndedTurn extends ActiveTurn {
  readonly duration: number;
  readonly state: 'complete' | 'cancelled' | 'error';
}
export interface PendingMessage {
  readonly id: string;
  readonly message: Message;
}

/** Bits: what goes on, and what a client noted. */
export const STATUS = { idle: 1, error: 2, inProgress: 8, inputNeeded: 24, activity: 31, read: 32, archived: 64 } as const;

export interface ChatSummary {
  readonly resource: string;
  readonly title: string;
  readonly status: number;
  readonly modifiedAt: string;
  /** `fork`: it began as a copy of another chat, up to that turn. */
  readonly origin: { readonly kind: 'user' } | { readonly kind: 'fork'; readonly chat: string; readonly turnId: string };
}
export interface ChatState extends ChatSummary {
  readonly turns: readonly EndedTurn[];
  readonly activeTurn?: ActiveTurn;
  readonly steeringMessage?: PendingMessage;
  readonly queuedMessages?: readonly PendingMessage[];
  readonly draft?: unknown;
}

export type ChatAction =
  | {
      readonly type: 'chat/turnStarted';
      readonly turnId: string;
      readonly startedAt: string;
      readonly message: Message;
      readonly queuedMessageId?: string;
    }
  | { readonly type: 'chat/responsePart'; readonly turnId: string; readonly part: ResponsePart }
  | { readonly type: 'chat/delta' | 'chat/reasoning'; readonly turnId: string; readonly partId: string; readonly content: string }
  | { readonly type: 'chat/usage'; readonly turnId: string; readonly usage: TurnUsage }
  | { readonly type: 'chat/turnComplete' | 'chat/turnCancelled'; readonly turnId: string; readonly duration: number }
  | {
      readonly type: 'chat/error';
      readonly turnId: string;
      readonly duration: number;
      readonly part: Extract<ResponsePart, { readonly kind: 'error' }>;
    }
  | { readonly type: 'chat/truncated'; readonly turnId?: string }
  | { readonly type: 'chat/turnResume'; readonly turnId: string }
  | ({ readonly type: 'chat/toolCallStart'; readonly turnId: string } & CallName)
  | { readonly type: 'chat/toolCallDelta'; readonly turnId: string; readonly toolCallId: string; readonly content: string }
  | ({
      readonly type: 'chat/toolCallReady';
      readonly turnId: string;
      readonly toolCallId: string;
      readonly intention?: string;
    } & CallInput &
      (({ readonly confirmed?: never } & Confirmation) | { readonly confirmed: Confirmed; readonly _meta?: Meta }))
  | {
      readonly type: 'chat/toolCallConfirmed';
      readonly turnId: string;
      readonly toolCallId: string;
      readonly approved: boolean;
      readonly confirmed?: Confirmed;
      readonly reason?: 'denied' | 'skipped';
      readonly selectedOptionId?: string;
      /** Words for the agent with a rejection. */
      readonly userSuggestion?: { readonly text: string };
    }
  | {
      readonly type: 'chat/toolCallContentChanged';
      readonly turnId: string;
      readonly toolCallId: string;
      readonly content: readonly ResultContent[];
    }
  | { readonly type: 'chat/toolCallComplete'; readonly turnId: string; readonly toolCallId: string; readonly result: CallResult }
  | { readonly type: 'chat/inputRequested'; readonly turnId: string; readonly request: InputRequest }
  | {
      readonly type: 'chat/inputCompleted';
      readonly requestId: string;
      readonly response: InputResponse;
      readonly answers?: Readonly<Record<string, unknown>>;
    }
  | {
      readonly type: 'chat/pendingMessageSet';
      readonly kind: 'queued' | 'steering';
      readonly id: string;
      readonly message: Message;
    }
  /** `queued`: it goes from the turn into the queue, of which clients that do not know this are told next. */
  | {
      readonly type: 'chat/pendingMessageRemoved';
      readonly kind: 'queued' | 'steering';
      readonly id: string;
      readonly _meta?: { readonly queued?: true };
    }
  /** Queued messages that are not named follow the named ones, in the order they had. */
  | { readonly type: 'chat/queuedMessagesReordered'; readonly order: readonly string[] }
  | { readonly type: 'chat/draftChanged'; readonly draft?: unknown };

export interface ConfigProperty {
  readonly type: 'string' | 'boolean';
  readonly title: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly enumLabels?: readonly string[];
  readonly enumDescriptions?: readonly string[];
  readonly readOnly?: boolean;
  readonly sessionMutable: true;
}
export interface SessionConfig {
  readonly schema: { readonly type: 'object'; readonly properties: Readonly<Record<string, ConfigProperty>> };
  readonly values: ConfigValues;
}
/** The offers of sessions with an agent, known from one that ran. `config`: with the values that a new session begins with. */
export interface AgentOffers {
  readonly models: AgentInfo['models'];
  readonly config: SessionConfig;
  readonly forks: boolean;
}
export type ConfigValues = Readonly<Record<string, string | boolean>>;
/** As the client has sent it, with members that only clients know: VS Code offers its tools to a new run of a host only after it saw them unchanged (seen). */
export interface ActiveClient {
  readonly clientId: string;
  readonly displayName?: string | undefined;
  readonly tools?: readonly ClientTool[] | undefined;
}
export interface ClientTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly annotations?: { readonly readOnlyHint?: boolean | undefined } | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}
/** The pending input of a session, for clients that do not follow its chat. */
export type InputNeeded =
  | {
      readonly id: string;
      readonly chat: string;
      readonly kind: 'toolConfirmation';
      readonly turnId: string;
      readonly toolCall: ToolCallState;
    }
  /** That client is to run its tool; nobody is asked. VS Code runs its tools by these, not by the calls of a chat (seen). */
  | {
      readonly id: string;
      readonly chat: string;
      readonly kind: 'toolClientExecution';
      readonly turnId: string;
      readonly clientId: string;
      readonly toolCall: ToolCallState;
    }
  | { readonly id: string; readonly chat: string; readonly kind: 'chatInput'; readonly request: InputRequest };

export interface SessionState {
  readonly provider: string;
  readonly title: string;
  readonly status: number;
  readonly lifecycle: 'creating' | 'ready' | 'failed';
  readonly creationError?: ErrorInfo;
  readonly workingDirectories: readonly string[];
  readonly activeClients: readonly ActiveClient[];
  readonly chats: readonly ChatSummary[];
  readonly defaultChat: string;
  readonly config?: SessionConfig;
  readonly inputNeeded?: readonly InputNeeded[];
  readonly activity?: string;
  readonly changesets?: readonly Changeset[];
}
export type SessionAction =
  | { readonly type: 'session/ready' }
  | { readonly type: 'session/creationFailed'; readonly error: ErrorInfo }
  | { readonly type: 'session/titleChanged'; readonly title: string }
  | { readonly type: 'session/activityChanged'; readonly activity?: string }
  | { readonly type: 'session/configChanged'; readonly config: Readonly<Record<string, string | boolean>>; readonly replace?: true }
  | { readonly type: 'session/chatAdded'; readonly summary: ChatSummary }
  | { readonly type: 'session/chatRemoved'; readonly chat: string }
  | { readonly type: 'session/chatUpdated'; readonly chat: string; readonly changes: Partial<ChatSummary> }
  | { readonly type: 'session/inputNeededSet'; readonly request: InputNeeded }
  | { readonly type: 'session/inputNeededRemoved'; readonly id: string }
  | { readonly type: 'session/isReadChanged'; readonly isRead: boolean }
  | { readonly type: 'session/isArchivedChanged'; readonly isArchived: boolean }
  | { readonly type: 'session/activeClientSet'; readonly activeClient: ActiveClient }
  | { readonly type: 'session/activeClientRemoved'; readonly clientId: string };

/** Files that were changed, as a channel of its own; `{turnId}` in the address stands for a turn. */
export interface Changeset {
  readonly label: string;
  readonly uriTemplate: string;
  readonly changeKind: 'session' | 'turn';
  /** Clients may mark files as reviewed. */
  readonly capabilities?: { readonly review?: Readonly<Record<string, never>> };
}
export interface ChangesetFile {
  readonly id: string;
  readonly edit: FileEdit;
  readonly reviewed?: boolean;
}
export interface ChangesetOperation {
  readonly id: string;
  readonly label: string;
  readonly scopes: readonly ('changeset' | 'resource')[];
  readonly confirmation?: Text;
  readonly icon?: string;
  readonly status: 'idle' | 'disabled';
}
export interface ChangesetState {
  readonly status: 'ready';
  readonly files: readonly ChangesetFile[];
  readonly operations: readonly ChangesetOperation[];
}
export type ChangesetAction =
  | {
      readonly type: 'changeset/contentChanged';
      readonly files: readonly ChangesetFile[];
      readonly operations?: readonly ChangesetOperation[];
    }
  | { readonly type: 'changeset/filesReviewChanged'; readonly files: readonly string[]; readonly reviewed: boolean }
  | { readonly type: 'changeset/cleared' };

/** The output of one command, as a channel. Times are milliseconds. */
export interface TerminalState {
  readonly title: string;
  readonly content: readonly TerminalPart[];
  readonly claim: { readonly kind: 'session'; readonly session: string };
  readonly lifecycle: TerminalLifecycle;
  readonly isPty?: boolean;
  readonly _meta?: Meta;
}
export type TerminalPart =
  | { readonly type: 'unclassified'; readonly value: string }
  | {
      readonly type: 'command';
      readonly commandId: string;
      readonly commandLine: string;
      readonly output: string;
      readonly timestamp: number;
      readonly isComplete: boolean;
      readonly exitCode?: number;
      readonly durationMs?: number;
    };
export type TerminalLifecycle = { readonly status: 'running' } | { readonly status: 'exited'; readonly exitCode?: number };
export type TerminalAction =
  | { readonly type: 'terminal/data'; readonly data: string }
  | { readonly type: 'terminal/cleared'; readonly _meta?: Meta }
  | { readonly type: 'terminal/exited'; readonly exitCode?: number }
  | { readonly type: 'terminal/commandExecuted'; readonly commandId: string; readonly commandLine: string; readonly timestamp: number }
  | { readonly type: 'terminal/commandFinished'; readonly commandId: string; readonly exitCode?: number; readonly durationMs?: number };

export interface AgentInfo {
  readonly provider: string;
  readonly displayName: string;
  readonly description: string;
  readonly models: readonly { readonly id: string; readonly provider: string; readonly name: string }[];
  readonly capabilities: { readonly multipleChats?: { readonly fork?: boolean } };
}
export interface RootState {
  readonly agents: readonly AgentInfo[];
}
export interface SessionSummary {
  readonly resource: string;
  readonly provider: string;
  readonly title: string;
  readonly status: number;
  readonly createdAt: string;
  readonly modifiedAt: string;
  readonly workingDirectories: readonly string[];
}

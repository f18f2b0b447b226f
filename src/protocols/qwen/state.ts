import { type ConversationState, newConversation, type OfferedTool, type Table, type TurnState } from '../../conversation/state.ts';
import type { CallId, Command, Diff, Fault, Offers, OptionChoice, Remedy, ToolCall, TurnId } from '../../session/model.ts';
import type { FileRead } from '../replacements.ts';
import type { Line, QwenDialect } from './codec.ts';
import type { TalkOptions } from './launch.ts';
import type { UsageCounts } from './messageCodec.ts';
import type { Product } from './quirks.ts';
import type { CanUseTool, ChatRequest } from './schema.ts';
import type { ToolUse } from './tools.ts';

/* Everything that is remembered of a conversation. It is JSON. */

export interface QwenState extends ConversationState {
  readonly setup: QwenSetup;
  turn: QwenTurn | null;
  /** The process that runs, with everything that ends with it. */
  agent: QwenAgent | null;
  /** The agent's name for the conversation. */
  key: string | null;
  /** The first turn that is shown. An agent keeps nothing that could be resumed before one began. */
  firstTurn: TurnId | null;
  /** Times of restarts, in milliseconds since the epoch. */
  readonly restarts: number[];
  /** The previous process ended during a turn. */
  brokeOff: boolean;
  /** The prompt to send as soon as the agent is ready. */
  queuedPrompt: QwenPrompt | null;
  /** Count of lines that are not messages. */
  junk: number;
  /** The agent continues a conversation without a readable record; shown when it is ready. */
  unrecorded: boolean;
}
export type QwenPrompt = ConversationState['queue'][number];
/** Setup of a conversation. */
export interface QwenSetup {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly product: Product;
  /** The user's name for the agent. */
  readonly called: string;
  readonly client: { readonly name: string; readonly version: string };
  readonly options: TalkOptions;
  /** Options that could not be read. */
  readonly problems: readonly string[];
  readonly resume: { readonly key: string; readonly history: boolean } | null;
  readonly tools: readonly OfferedTool[];
  /** Operations on conversations that the agent stores. */
  readonly keeps: Pick<Offers, 'history' | 'fork' | 'edit'>;
}
export interface QwenTurn extends TurnState {
  /** Text of the prompt; '' for a turn that the agent began. */
  readonly prompted: string;
  /** The agent has written something in it. */
  spoke: boolean;
  /** It said that nobody is signed in. */
  signedOut: boolean;
  /** With its end the view is cleared. */
  clears: boolean;
  /** The text of `turn.activity`. */
  activity: string | null;
}
export interface QwenAgent {
  /** Started without the arguments that only the message dialect understands. */
  readonly plain: boolean;
  readonly args: readonly string[];
  readonly startedAt: number;
  /** Lines received before the dialect was known. */
  readonly early: { readonly id: string | null; readonly line: Line }[];
  dialect: QwenDialect | null;
  /** Count of lines in the other dialect. */
  foreign: number;
  /** The action after the end of the process, once decided here. */
  ending: ProcessEnd | null;
  readonly calls: Table<QwenCall>;
  readonly approvals: Table<QwenApproval>;
  /** Calls that the user was asked about and did not allow. */
  readonly notAllowed: Table<true>;
  /** Requests of the agent with their answers, for those that repeat a request. The last 200. */
  readonly answered: { readonly id: string; readonly line: Line }[];
  /** Parley's requests without a reply. */
  readonly pending: Table<PendingRequest>;
  /** Our tools that run, by the call of the port. */
  readonly running: Table<QwenToolRun>;
  /** The agent has used our tools as an MCP server. */
  mcp: boolean;
  message: MessageState | null;
  envelope: EnvelopeState | null;
}
export type ProcessEnd =
  | { readonly kind: 'close'; readonly reason: string; readonly next: readonly Remedy[] | null }
  | { readonly kind: 'restart'; readonly reason: string }
  /** The agent does not keep what it was to go on with. */
  | { readonly kind: 'anew'; readonly reason: string }
  /** The conversation continues from an earlier message, with this prompt. */
  | { readonly kind: 'back'; readonly reason: string; readonly upTo: string | null; readonly prompt: QwenPrompt };

/** A tool call of the agent. */
export interface QwenCall {
  readonly id: CallId;
  readonly parent: CallId | null;
  /** The turn it was made in. */
  readonly turn: TurnId;
  use: ToolUse;
  status: ToolCall['status'];
  /** A sub-agent that works on in the background. */
  goesOn: boolean;
  decision: { readonly is: 'none' | 'allowed' | 'refused' } | { readonly is: 'written'; readonly diff: Diff };
  /** Earlier content of its file; null until it is read. */
  before: FileRead | null;
  /** Its pieces and displays (envelope dialect). */
  shown: ShownCall | null;
}
export interface ShownCall {
  args: string;
  /** Time of its newest display, by the agent's clock. */
  at: number;
  /** Somebody will say when it ends: the agent shows it, or we run it. */
  watched: boolean;
  /** Its input is whole. */
  whole: boolean;
  /** The call itself came, with its name; else only its displays speak of it. */
  named: boolean;
  /** Kind and title according to its displays. */
  looks: ToolUse | null;
  /** The user was asked about it. */
  asked: boolean;
  /** Its output is shown in a terminal of its own. */
  prints: boolean;
}
/** A request to use a tool. */
export interface QwenApproval {
  readonly id: string;
  readonly request: CanUseTool;
  readonly use: ToolUse;
  /** Time at which the agent refuses by itself, in milliseconds since the epoch. */
  readonly until: number | null;
  askId: string | null;
  before: FileRead;
  diffs: readonly Diff[];
  /** Its file is read, the user is asked, the file is read again after a yes, the user's version is written. */
  phase:
    | { readonly at: 'reading' | 'asking' }
    | { readonly at: 'checking'; readonly optionId: string; readonly edited: string | null }
    | { readonly at: 'writing'; readonly diff: Diff };
}
export type PendingRequest =
  | { readonly for: 'initialize' | 'interrupt' | 'models' | 'commands' | 'context' | 'continue' | 'probe' }
  | { readonly for: 'mode' | 'model' | 'effort'; readonly value: string }
  | { readonly for: 'usage'; readonly turnId: TurnId }
  /** A preview of the files to restore, and then the restore itself. */
  | { readonly for: 'rewind'; readonly dry: boolean; readonly turnId: TurnId; readonly prompt: QwenPrompt };
/** The origin of a call of our tools: a message to us as an MCP server, or a call of the envelope dialect. */
export type QwenToolRun =
  | { readonly for: 'mcp'; readonly requestId: string; readonly rpcId: unknown }
  | { readonly for: 'call'; readonly callId: CallId; readonly name: string; readonly promptId: string; readonly turnId: TurnId };
/** Subject of an ask, for reading its answer. */
export type QwenAskSubject =
  | { readonly about: 'tool'; readonly requestId: string }
  | { readonly about: 'mode'; readonly mode: string }
  | { readonly about: 'continue' }
  | { readonly about: 'rewind'; readonly turnId: TurnId; readonly prompt: QwenPrompt }
  | { readonly about: 'confirm'; readonly requestId: string; readonly commands: readonly string[] }
  | { readonly about: 'quit' }
  | { readonly about: 'command'; readonly command: Line };

export interface MessageState {
  session: string;
  ready: boolean;
  version: string | null;
  /** The agent has announced a turn, whose end it will tell. */
  announced: boolean;
  readonly commands: Table<Command>;
  readonly can: { contextUsage: boolean; usageReport: boolean };
  readonly choices: {
    mode: string | null;
    model: string | null;
    models: readonly OptionChoice[];
    effort: string | null;
    hasEffort: boolean;
  };
  /** Blocks that may still grow, by the call of the sub-agent that speaks; the agent itself has ''. */
  readonly lanes: Table<Blocks>;
  /** The last text of a sub-agent. */
  readonly lastWords: Table<string>;
  /** Calls whose refusal was told. */
  readonly refused: Table<true>;
  /** Calls that the agent waits for, by their task. */
  readonly foreground: Table<CallId>;
  /** Sub-agents without an end, by their task. */
  readonly tasks: Table<CallId>;
  readonly counted: UsageCounts;
  /** Unknown types of lines. */
  readonly unknown: string[];
  readonly silence: IdleWatch;
}
/** The silence of the agent: `since` is the time of its last line. */
export interface IdleWatch {
  since: number;
  /** When the timer was started, and for how long: one that fires much later was held up by a machine that slept. */
  lookAt: number;
  probedAt: number | null;
  /** Count of probes without an answer. */
  missed: number;
  /** What the user was told of the silence. */
  told: 'nothing' | 'waiting' | 'unresponsive';
}
export interface Blocks {
  /** Blocks of the current message; `open`: the whole block has not come. An index identifies the block that began last under it. */
  blocks: { readonly kind: 'text' | 'thought' | 'call'; readonly id: string; index: number; text: string; open: boolean }[];
  /** Messages that were finished last: a repetition is left out. */
  readonly finished: { readonly messageId: string; readonly keys: string[] }[];
}

export interface EnvelopeState {
  session: string;
  ready: boolean;
  /** Count of sent prompts, and the id of the newest. */
  prompts: number;
  prompt: string;
  version: string | number | null;
  /** Time of the last cancelled turn, in milliseconds since the epoch. */
  cancelledAt: number | null;
  /**
   * The outcome of the turn when nothing follows: a message said that it was the last one, or told an error, with or without (`isCut`) saying
   * that it was the last one.
   */
  ending: 'none' | 'done' | { readonly error: Fault; readonly isCut: boolean };
  /** The prompt of the running turn, not sent while lines of the cancelled turn before it may still come. */
  delayedPrompt: ChatRequest | null;
  /** Calls of our tools by an agent that also uses them as an MCP server, and may run them so. */
  readonly awaited: Table<{ readonly tool: string; readonly name: string; readonly input: unknown }>;
  /** Parts that the next piece extends. */
  text: string | null;
  thought: { readonly id: string; readonly turn: TurnId } | null;
  terminal: { readonly id: string; readonly turn: TurnId } | null;
  terminals: number;
  byIndex: Table<CallId>;
  lastCall: CallId | null;
  /** Ids of requests that were open when their turn ended; the last 200. */
  readonly expiredRequests: string[];
  /** Calls that were open when the user stopped the last turn that was stopped. Their ends may come at any time later. */
  stopped: readonly CallId[];
  readonly unknown: string[];
  /** A prompt that a command submitted, sent on unless the agent begins with it by itself. */
  submitted: { readonly turnId: TurnId; readonly parts: number; readonly promptId: string; readonly content: readonly unknown[] } | null;
  readonly heartbeat: {
    /** Milliseconds since the last line. */
    silence: number;
    /** Count of heartbeats sent. */
    sent: number;
    /** The last one has no answer yet. */
    isOpen: boolean;
    /** The agent has answered one, so it knows heartbeats. */
    isAnswered: boolean;
    hasOtherLines: boolean;
    /** The user was told of the silence. */
    isReported: boolean;
    lastSentAt: number;
  };
  /** The request for the names of commands. */
  commandNames: string | null;
  /** The user was told that the agent does not ask before it acts. */
  audited: boolean;
}

export function newQwenState(seed: string, setup: QwenSetup): QwenState {
  return {
    ...newConversation(seed),
    turn: null,
    setup,
    agent: null,
    key: setup.resume?.key ?? null,
    firstTurn: null,
    restarts: [],
    brokeOff: false,
    queuedPrompt: null,
    junk: 0,
    unrecorded: false,
  };
}
export function newAgent(plain: boolean, args: readonly string[], startedAt: number): QwenAgent {
  return {
    plain,
    args,
    startedAt,
    early: [],
    dialect: null,
    foreign: 0,
    ending: null,
    calls: {},
    approvals: {},
    notAllowed: {},
    answered: [],
    pending: {},
    running: {},
    mcp: false,
    message: null,
    envelope: null,
  };
}

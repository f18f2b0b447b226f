import type { LinkEnd } from '../../base/outcomes.ts';
import {
  type CallState,
  type ConversationState,
  type Lane,
  type NextPrompt,
  newConversation,
  newLane,
  type OfferedTool,
  type Table,
  type TurnState,
} from '../../conversation/state.ts';
import type { StopLimits } from '../../conversation/step.ts';
import type { Command, ToolOffer } from '../../session/model.ts';
import type { WireVersion } from './codec.ts';
import type { InitializeResult, RequestPayload } from './schema.ts';

/* The state of a conversation over Wire: JSON, and one place for everything that is remembered. It is changed in connection.ts and machine.ts. */

export interface WireState extends ConversationState {
  readonly setup: WireSetup;
  readonly child: WireProcess;
  handshake: Handshake | null;
  /** The result of the handshake; null until then. */
  agent: WireAgent | null;
  turn: WireTurn | null;
  /** The agent repeats its record of an earlier conversation. */
  replaying: boolean;
  /** Records from before 1.2 hold no `TurnEnd` at all. There, a missing end means nothing. */
  recordsEnds: boolean;
  /** A prompt that turns approvals off, until the user has confirmed it. */
  unconfirmed: { readonly askId: string; readonly prompt: NextPrompt } | null;
  /** Sent into the turn and not taken up yet, oldest first. */
  steers: Steer[];
  /** Methods that the agent refused as unknown. */
  readonly missing: Table<true>;
  readonly notified: Table<true>;
  /** MCP servers that failed, so that each is named once. */
  readonly failedServers: Table<true>;
  readonly background: Table<{ readonly id: string; readonly text: string }>;
  hasPlanMode: boolean;
  inPlanMode: boolean;
  /** `heard` at the moment the timer of the record was started. */
  heardBefore: number;
}
export interface WireSetup {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The session to open, unless the arguments name another. */
  readonly key: string;
  /** The record of the session is wanted. */
  readonly history: boolean;
  readonly client: { readonly name: string; readonly version: string };
  readonly tools: readonly OfferedTool[];
  readonly limits: WireLimits;
  /** The arguments turn approvals off. */
  readonly asksOff: boolean;
}
/** The timeout of each timer, in milliseconds; `offer restart` and `restart` are those of a stop. */
export interface WireLimits extends StopLimits {
  /** `note N`: a notice that the handshake takes long. */
  readonly notes: readonly number[];
  /** `silence`: no answer to the handshake; the user is asked what to do. */
  readonly silence: number;
  /** `record`: nothing is heard of the record that is being read. */
  readonly historySilence: number;
  /** `grace`: a running turn may take this long to end when the session is left. */
  readonly grace: number;
  /** `closing`: the connection broke during the handshake; the process may end meanwhile and so say why. */
  readonly closing: number;
}
/** How the process was started, and what follows its end. */
export interface WireProcess {
  history: boolean;
  sessionFlag: boolean;
  /** The session that it was told to open; null when that is left to the agent. */
  key: string | null;
  next: 'restart' | 'end';
  /** Why it ended, while that is looked into. */
  ending: LinkEnd | null;
}
export interface Handshake {
  /** `bare`: again, without tools. `renamed`: again, with other names for tools whose names were taken. */
  stage: 'first' | 'bare' | 'renamed';
  result: InitializeResult | null;
  offer: ToolOffer;
  readonly unoffered: ToolOffer['rejected'][number][];
  /** Our tools by the names the agent knows them by. */
  readonly names: Table<string>;
  askId: string | null;
  /** The first line that was not a message. */
  junk: string | null;
}
export interface WireAgent {
  readonly version: WireVersion;
  /** It has no handshake. */
  readonly legacy: boolean;
  readonly server: { readonly name: string; readonly version: string | null } | null;
  readonly commands: readonly Command[];
  readonly names: Table<string>;
  readonly offer: ToolOffer;
}
export interface Steer {
  readonly prompt: NextPrompt;
  /** The turn it was sent into. */
  readonly turnId: string;
  /** `gone`: it is no longer shown in the turn, and its reply is still to come. */
  at: 'sent' | 'accepted' | 'gone';
}
export interface WireTurn extends TurnState<WireLane, WireCall> {
  /** The lane of the agent itself; `lanes` holds those of sub-agents. */
  readonly main: WireLane;
  /** The call that each approval is about. */
  readonly approvals: Table<string>;
  /** Cards made for sub-agents that no call started. */
  readonly agents: string[];
  readonly tokens: { input: number; output: number };
  /** Its prompt is a command that empties the agent's memory, or one that switches approvals. */
  readonly command: 'clear' | 'approvals' | null;
  /** The beginning of the answer to such a command. */
  answer: string;
}
export interface WireLane extends Lane {
  /** The call whose arguments stream in. */
  call: string | null;
  /** Where in `parts` the running step begins. */
  stepFrom: number;
}
export interface WireCall extends CallState<'none' | 'asking' | 'allowed' | 'refused'> {
  /** How many later calls of the turn have the same id of the agent: a model may use one twice. Theirs are `id#2`, `id#3`, … here. */
  repeats: number;
  readonly name: string;
  inputText: string;
  input: unknown;
  inputIsWhole: boolean;
  /** The output of the call has a terminal of its own. */
  prints: boolean;
}
/** The subject of an ask of the agent. */
export type AskedRequest =
  | { readonly type: 'ApprovalRequest'; readonly request: RequestPayload['ApprovalRequest'] }
  | { readonly type: 'QuestionRequest'; readonly request: RequestPayload['QuestionRequest'] };

export function newWire(seed: string, setup: WireSetup): WireState {
  return {
    ...newConversation(seed),
    turn: null,
    setup,
    child: { history: setup.history, sessionFlag: true, key: null, next: 'end', ending: null },
    handshake: null,
    agent: null,
    replaying: false,
    recordsEnds: false,
    unconfirmed: null,
    steers: [],
    missing: {},
    notified: {},
    failedServers: {},
    background: {},
    hasPlanMode: false,
    inPlanMode: false,
    heardBefore: 0,
  };
}
export function newWireLane(name: string, parent: string | null): WireLane {
  return { ...newLane(name, parent), call: null, stepFrom: 0 };
}

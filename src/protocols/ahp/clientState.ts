import type { CallState, ConversationState, OfferedTool, Table, TurnState } from '../../conversation/state.ts';
import { newConversation } from '../../conversation/state.ts';
import type { StopLimits } from '../../conversation/step.ts';
import type { ToolCall } from '../../session/model.ts';
import type { PendingCall } from './codec.ts';
import type { SessionFacts } from './schema.ts';
import type { AgentInfo, ChatAction, ChatState, InputRequest } from './state.ts';

/* A client's state of one session: the chat as the host has it, and the requests under way between the two. */

export interface AhpState extends ConversationState {
  readonly setup: AhpSetup;
  turn: AhpTurn | null;
  /** The number of the last action that was heard. */
  seen: number;
  clientSeq: number;
  /** The agent of the session, as the host lists it. */
  agent: AgentInfo | null;
  session: { readonly uri: string; facts: SessionFacts } | null;
  chat: ChatState | null;
  /** Texts of files by their addresses: `null` for one that cannot be read, `wanted` while it is read. */
  readonly contents: Table<FetchedText>;
  /** Updates that wait for such texts, in order of arrival. */
  readonly inbox: ChatUpdate[];
  /** Dispatched actions that the host has not confirmed yet, by number. */
  readonly dispatched: Table<Dispatched>;
  /** Commands of the running turn whose output is followed, by the addresses of their terminals. */
  readonly terminals: Table<Followed>;
  /** Chosen here for the prompts to come; null leaves it to the agent. */
  model: string | null;
  /** How often a lost connection was opened again in vain. */
  attempts: number;
}
/** In UTF-16 units of the output: how much is known, and where the host's next piece begins. */
export interface Followed {
  readonly id: string;
  readonly total: number;
  /** Null until the host has sent the whole: that includes all earlier pieces. */
  readonly next: number | null;
}
export type FetchedText = { readonly text: string } | 'wanted' | null;
export type ChatUpdate = { readonly kind: 'action'; readonly action: ChatAction } | { readonly kind: 'chat'; readonly chat: ChatState };
/** The kind of a dispatched action, for undoing it when the host rejects it. */
export type Dispatched =
  | { readonly kind: 'turn'; readonly turnId: string }
  | { readonly kind: 'answer'; readonly askId: string }
  | { readonly kind: 'other' };

export interface AhpSetup {
  /** Provider of the host's agent; null for its first. */
  readonly provider: string | null;
  /** `file:` address of the folder. */
  readonly folder: string;
  /** The address of an earlier session. */
  readonly resume: { readonly key: string; readonly history: boolean } | null;
  /** Turns that the session shows already, in their order; `whole` when nothing can be missing in one. */
  readonly shown: readonly { readonly id: string; readonly whole: boolean }[];
  /** The last part of a new session's address. */
  readonly newId: string;
  readonly clientId: string;
  readonly client: { readonly name: string; readonly version: string };
  readonly tools: readonly OfferedTool[];
  readonly limits: AhpLimits;
}
/** The timeout of each timer, in milliseconds. */
export interface AhpLimits extends StopLimits {
  /** `silence`: no answer while the session is opened. */
  readonly silence: number;
  /** `contents`: texts of files that are read to be shown. */
  readonly contents: number;
  /** `reconnect`: before each further try with a lost connection. */
  readonly reconnect: readonly number[];
}
export interface AhpTurn extends TurnState<TurnState['lanes'][string], AhpCall> {
  /** The length of each text already emitted, in UTF-16 units. */
  readonly texts: Table<number>;
  /** Calls of our tools that were begun. */
  readonly ran: Table<true>;
  readonly startedAt: number;
}
export interface AhpCall extends CallState<'none'> {
  shown: Omit<ToolCall, 'id'>;
}
export type AhpAskSubject = { readonly sent?: 'answered' | 'cancelled' } & (
  | { readonly kind: 'call'; readonly call: PendingCall }
  | { readonly kind: 'input'; readonly request: InputRequest }
);

export function newAhp(seed: string, setup: AhpSetup): AhpState {
  return {
    ...newConversation(seed),
    setup,
    turn: null,
    seen: 0,
    clientSeq: 0,
    agent: null,
    session: null,
    chat: null,
    contents: {},
    inbox: [],
    dispatched: {},
    terminals: {},
    model: null,
    attempts: 0,
  };
}

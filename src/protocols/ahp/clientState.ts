import { t } from '../../base/l10n.ts';
import type { CallState, ConversationState, OfferedTool, Table, TurnState } from '../../conversation/state.ts';
import { find, newConversation, type OpenAsk } from '../../conversation/state.ts';
import type { StopLimits } from '../../conversation/step.ts';
import type { Answer } from '../../session/intents.ts';
import type { Content, ToolCall } from '../../session/model.ts';
import type { Contents, PendingCall } from './codec.ts';
import { MOST_TURNS, type SessionFacts } from './schema.ts';
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
  /** How the host names this client to the others. */
  name: string;
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
  /** `isBehind`: another client's turn began before it. */
  | { readonly kind: 'turn'; readonly turnId: string; readonly content: readonly Content[]; readonly isBehind?: true }
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
  /** The same for all sessions of one window. */
  readonly window: string;
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
/** `waits`: an answer that was given while there was no connection. */
export type AhpAskSubject = { readonly sent?: 'answered' | 'cancelled'; readonly waits?: Answer } & (
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
    name: setup.client.name,
    attempts: 0,
  };
}

/** The texts that were read, for those who show them. */
export function textsIn(contents: Table<FetchedText>): Contents {
  return (uri) => {
    const found = find(contents, uri);
    return found === null || found === undefined || found === 'wanted' ? null : found.text;
  };
}

export function aboutCall(call: PendingCall): AhpAskSubject {
  return { kind: 'call', call };
}

/** The question that an ask is about. */
export function requestOf(about: unknown): InputRequest | undefined {
  return (about as AhpAskSubject).kind === 'input' ? (about as Extract<AhpAskSubject, { kind: 'input' }>).request : undefined;
}

/** The answer to an ask, until the host has taken it. */
export function sentFor({ about }: OpenAsk): AhpAskSubject['sent'] {
  return (about as AhpAskSubject).sent;
}

/** The subject of an ask, when its answer may never have arrived. */
export function unsent({ about }: OpenAsk): unknown {
  const { sent: _lost, waits: _waits, ...rest } = about as AhpAskSubject;
  return rest;
}

/** The answer to an ask that waits for the connection. */
export function waitsIn({ about }: OpenAsk): Answer | undefined {
  return (about as AhpAskSubject).waits;
}

/** Turns that are known from before the first that a chat of the most turns still has. */
export function turnsBefore(known: readonly { readonly id: string }[], { turns }: ChatState): number {
  return turns.length < MOST_TURNS
    ? 0
    : Math.max(
        0,
        known.findIndex(({ id }) => id === turns[0]?.id),
      );
}

/** A host's names of parts need be different within a turn only. */
export function partIdOf(turnId: string, partId: string): string {
  return partId.startsWith(turnId) ? partId : `${turnId}/${partId}`;
}

export function isPromptOf(was: Dispatched | undefined, turnId: string): boolean {
  return was?.kind === 'turn' && was.turnId === turnId;
}

export function timeOf(text: string): number | undefined {
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}

export function unknownHere(): string {
  return t('The agent does not know this conversation any more. {0}', '').trim();
}

/** True for a conversation in which nothing was said, as far as it is known here. */
export function isUnsaid({ turn, chat, inbox, setup }: AhpState): boolean {
  if (turn || inbox.length > 0) return false;
  return chat ? chat.turns.length === 0 && !chat.activeTurn : setup.shown.length === 0 && setup.resume?.history !== true;
}

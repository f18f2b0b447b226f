import { type ConversationState, newConversation, type OfferedTool, put, type Table, type TurnState } from '../../conversation/state.ts';
import type { Content, Diff, Fault, Output, Remedy, Turn } from '../../session/model.ts';
import { fromTurns, savedIn } from './history.ts';
import type { Assembly } from './message.ts';
import type { AiSdkSettings, DataApproval, Learned, Post, UiMessage } from './schema.ts';

/* The state of a conversation with a chat server: JSON, and everything there is to know about it. */

export interface AiSdkState extends ConversationState {
  turn: ChatTurn | null;
  readonly setup: AiSdkSetup;
  readonly chatId: string;
  settings: AiSdkSettings;
  /** The profile names no authorization, and the editor can keep a key for it. */
  mayHaveKey: boolean;
  readonly learned: Learned;
  readonly messages: UiMessage[];
  /** Turn to the user's message that began it. */
  readonly users: Table<string>;
  /** Calls that have begun. None begins twice. */
  readonly started: Table<true>;
  /** Calls and approvals whose outcome the server has been told since the user's last message. */
  readonly delivered: Table<true>;
  /** Tools of the server that the user allowed for the whole conversation. */
  readonly allowed: Table<true>;
  hasSizeWarning: boolean;
  /** The last turn failed, and what a retry does. */
  failed: { readonly turnId: string; readonly retry: Post | 'regenerate' } | null;
  /** The rest of a response that was under way when the window closed is looked for. */
  pickUp: { link: string | null; attempt: number } | null;
  linkCount: number;
  /** Count of message ids made. */
  messageCount: number;
}
export interface AiSdkSetup {
  readonly name: string | null;
  /** The folder of the session. */
  readonly cwd: string;
  readonly tools: readonly OfferedTool[];
  /** Tools that work on files of this computer. */
  readonly fileTools: readonly OfferedTool[];
  readonly timing: AiSdkTiming;
  /** Options of the profile that cannot be used. */
  readonly problems: readonly string[];
  /** The last turn, when the window closed in the middle of it. */
  readonly interrupted: { readonly id: string; readonly prompt: readonly Content[]; readonly hasCalls: boolean } | null;
}

/** Timers, by their first word. Milliseconds. */
export interface AiSdkTiming {
  /** `grace ID`: how long a call of Parley's tools waits for an approval of the server before it begins. */
  readonly grace: number;
  /** `quiet ID`: silence after which an open response is taken to wait for our result. */
  readonly quiet: number;
  /** `refused ID`: silence after which a refused result is worth a notice, where it is not known that the server waits for it. */
  readonly refused: number;
  /** `deliver ID`: between tries to hand in a result. The last one repeats. */
  readonly deliveries: readonly number[];
  /** `resume`: between tries to resume. */
  readonly resumes: readonly number[];
  /** `close`: how long the server may take to hear that we stop or leave. */
  readonly close: number;
}
export const TIMING: AiSdkTiming = {
  grace: 50,
  quiet: 1_500,
  refused: 5_000,
  deliveries: [50, 100, 200, 400, 800, 2_000],
  resumes: [500, 1_000, 2_000],
  close: 1_000,
};

export interface ChatTurn extends TurnState {
  /**
   * `settings`: the profile is read before a request. `request`: sent, no headers yet. `key`: the user may enter a key. `response`: chunks arrive.
   * `resume`: the rest of a cut response is looked for. `results`: the response is over, calls and approvals are open. `approval`: one that came as
   * data is asked about. `continue`: the user is asked whether the agent may go on.
   */
  stage: 'settings' | 'request' | 'key' | 'response' | 'resume' | 'results' | 'approval' | 'continue';
  post: Post;
  link: string | null;
  response: ChatResponse | null;
  /** Where its messages begin when the user said nothing. */
  readonly from: number;
  /** Requests without an action of the user. */
  rounds: number;
  /** A held response began a round beyond the limit, and the user is asked about it. */
  isRoundAsked: boolean;
  /** The server took a result while its response was open, and has called nothing since. */
  tookResult: boolean;
  readonly own: Table<OwnCall>;
  /** Calls of Parley's tools that have not begun, because an approval of the server may still follow. */
  grace: string[];
  /** By approval id. An ask that is not open yet waits for its file to be read. */
  readonly approvals: Table<OpenApproval>;
  /** The diff that the user saw of a call, by its id. */
  readonly edits: Table<Diff>;
  /** The request and calls that wait for a key. `askId` is null while the key is stored. */
  keyAsk: { askId: string | null; isForRequest: boolean; readonly calls: string[] } | null;
  /** The refusal that a key would resolve. */
  refused: Refused | null;
  /** The shown form of each part of the last message. */
  shown: ShownPart[];
  readonly shownIds: Table<true>;
  /** `turn.adapterState` holds the messages, because the user is asked about approvals. */
  isSaved: boolean;
}
export interface OpenApproval {
  readonly toolCallId: string;
  /** null: answered. */
  readonly askId: string | null;
}
export interface ShownPart {
  readonly id: string;
  /** UTF-16 units of its text or input. */
  text: number;
  /** The card shows our own result, and whether it is one: what the server repeats of it changes nothing. */
  own: 'result' | 'error' | null;
}
/** A call that we answer: of one of our tools, or of an unknown tool. */
export interface OwnCall {
  readonly id: string;
  /** `round`: waits for the user's word that the agent may go on. `queued`: too many run. `withdrawn`: the server has settled it. */
  stage: 'grace' | 'round' | 'queued' | 'running' | 'answered' | 'withdrawn';
  answer: { readonly ok: boolean; readonly text: string } | null;
  readonly isStranger: boolean;
  /** The server said that its open response waits for it. */
  isAwaited: boolean;
  delivery: ResultDelivery | null;
  /** Why the server, which awaited the answer, did not accept it. The card shows that, and no request repeats it. */
  untaken: string | null;
  /** Chunks received when the server took the answer. */
  acceptedAt: number | null;
  /** `heard` when waiting for silence began. */
  silentSince: number;
}
/** A result on its way to a server that holds its response open. */
export interface ResultDelivery {
  /** `refused`: every address has refused. `over`: taken, or given up. */
  stage: 'trying' | 'refused' | 'over';
  readonly isSure: boolean;
  tries: number;
  /** The address that is tried, as an index and as it was then. */
  at: number;
  url: string;
  readonly refusals: Table<{ readonly why: string; readonly key: string | null }>;
  /** The server's last words that were no acceptance. */
  said: string | null;
  /** The user knows that an address refused. */
  isTold: boolean;
}
/** One response, from its headers to its end, cuts and replays included. */
export interface ChatResponse {
  isOver: boolean;
  readonly resumableId: string | null;
  readonly runId: string | null;
  readonly stopUrl: string | null;
  assembly: Assembly;
  /** A replay, until it has caught up with what is shown. */
  shadow: { readonly message: UiMessage; readonly assembly: Assembly } | null;
  mayReplay: boolean;
  body: Body;
  /** Chunks that were more than bookkeeping. */
  substance: number;
  lastAt: number;
  resume: { tries: number; attempt: number; received: number };
}
/** One body of a response. */
export interface Body {
  events: number;
  malformed: number;
  readonly unknown: Table<true>;
  isDone: boolean;
  /** Its first event was of another protocol. */
  isForeign: boolean;
  broken: string | null;
}
/** The server answered, but not as asked. */
export interface Refused {
  readonly status: number;
  /** For the user, with advice. */
  readonly message: string;
  readonly next: readonly Remedy[];
  /** The server's words, without advice. */
  readonly said: string;
}
/** Subject of an ask. */
export type AiSdkAskSubject =
  | { readonly what: 'approval'; readonly approvalId: string }
  | { readonly what: 'dataApproval'; readonly request: DataApproval; readonly name: string }
  | { readonly what: 'question'; readonly toolCallId: string; readonly isMultiple: boolean }
  | { readonly what: 'request' }
  | { readonly what: 'round' }
  | { readonly what: 'key' };
export interface TurnOutcome {
  readonly status: 'done' | 'cancelled' | 'failed';
  readonly stop?: string;
  readonly error?: Fault;
  readonly retry?: Post | 'regenerate';
}
/** End of a response. `isSaid`: the server said so. */
export type ResponseOutcome =
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'aborted'; readonly reason: string | null }
  | { readonly kind: 'cut' }
  | { readonly kind: 'over'; readonly reason: string | null; readonly isSaid: boolean };

export interface AiSdkStart {
  readonly chatId: string;
  readonly setup: AiSdkSetup;
  readonly settings: AiSdkSettings;
  readonly mayHaveKey: boolean;
  readonly learned: Learned;
  readonly past: readonly Turn[];
}
/** `seed` is a UUID: servers tell messages apart by their ids, across conversations. */
export function newAiSdk(seed: string, { past, ...begin }: AiSdkStart): AiSdkState {
  const state: AiSdkState = {
    ...newConversation(seed),
    ...begin,
    turn: null,
    messages: [],
    users: {},
    started: {},
    delivered: {},
    allowed: {},
    hasSizeWarning: false,
    failed: null,
    pickUp: null,
    linkCount: 0,
    messageCount: 0,
  };
  state.messages.push(...fromTurns(past, () => messageId(state), state.users));
  for (const turn of past) for (const part of turn.parts) if (part.kind === 'call') put(state.started, part.id, true);
  const last = past.at(-1);
  if (last?.status === 'failed') state.failed = { turnId: last.id, retry: savedIn(last.adapterState)?.unsent ?? 'regenerate' };
  return state;
}

/** A UUID: the seed with a count as its last group. */
export function messageId(state: AiSdkState): string {
  return `${state.seed.slice(0, 24)}${(++state.messageCount).toString(16).padStart(12, '0')}`;
}

/** The headers of a response. */
export interface Opened {
  readonly resumableId: string | null;
  readonly runId: string | null;
  /** Where the response can be stopped. */
  readonly stopUrl: string | null;
  /** A resumed response begins at its beginning. */
  readonly replay: boolean;
}
export interface ToolResult {
  readonly ok: boolean;
  readonly text: string;
  readonly shown?: readonly Output[];
}

export function newBody(): Body {
  return { events: 0, malformed: 0, unknown: {}, isDone: false, isForeign: false, broken: null };
}
export function newOwnCall(id: string, stage: OwnCall['stage'], isStranger: boolean): OwnCall {
  return {
    id,
    stage,
    answer: null,
    isStranger,
    isAwaited: false,
    delivery: null,
    untaken: null,
    acceptedAt: null,
    silentSince: 0,
  };
}

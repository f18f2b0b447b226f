import { t } from '../../base/l10n.ts';
import type { Failure, LinkEnd } from '../../base/outcomes.ts';
import {
  type CallState,
  type ConversationState,
  find,
  type Lane,
  laneOf,
  newTable,
  put,
  type Table,
  type TurnState,
} from '../../conversation/state.ts';
import type { Ask, CallId, Notice, Part, SessionOption, ToolCall, Turn } from '../../session/model.ts';
import { type CallSnapshot, isAnotherCall, withLineEndsOf } from './calls.ts';
import type { A2aPeer } from './card.ts';
import type { CommandAnswer, CommandTree, Incoming } from './codec.ts';
import { beginTurn, checkpointOf, type Delivered, newDelivered, restore } from './delivered.ts';
import { hasQuirk } from './quirks.ts';
import { checkpoint, type TurnCheckpoint } from './schema.ts';
import { type ConversationTasks, newSummary } from './task.ts';
import type { TaskState } from './versionCodec.ts';

/* All that a conversation with an A2A agent remembers. It is JSON; members that may be missing hold null. */

// --- timers, in milliseconds

export interface A2aTiming {
  /** `tick`: between looks at what waits: keeping the turn's connection, asking about changed calls. */
  readonly ping: number;
  /** `stop`: until an agent must answer a cancel and end its stream. */
  readonly cancelWithin: number;
  /** `rest N`: how long a stream may stay open after the agent said that it waits, without saying for what. */
  readonly restFor: number;
  /** Until an immediate answer must begin, and for each pause in it. */
  readonly answer: number;
  /** Until the agent must show its card; it may have to start first. */
  readonly card: number;
  /** Silence after a decision until the task is read. */
  readonly verify: number;
  /** Until a stream must confirm a notification; later it counts as dead. */
  readonly notified: number;
  /** `keep`: until a checkpoint with growing text is written; anything else has one at once. */
  readonly keep: number;
  /** `retry`: before the tries to subscribe to a task again. */
  readonly retries: readonly number[];
  /** For all these tries together, without the time that a subscription was open. */
  readonly giveUp: number;
}
export const TIMING: A2aTiming = {
  ping: 2000,
  cancelWithin: 5000,
  restFor: 1000,
  answer: 15_000,
  card: 60_000,
  verify: 15_000,
  notified: 3000,
  keep: 1000,
  retries: [0, 500, 1000, 2000, 4000, 8000, 15_000, 15_000],
  giveUp: 60_000,
};

export interface A2aState extends ConversationState, ConversationTasks {
  readonly setup: A2aSetup;
  /** The agent at the address; null until the link is ready. */
  agent: A2aAgent | null;
  turn: A2aTurn | null;
  /** Notes for the agent, sent with the next prompt. */
  readonly notes: string[];
  /** Allowances for the rest of the conversation that the agent does not keep itself. */
  readonly allowances: Allowance[];
  allowed: number;
  readonly delivered: Delivered;
  /** The turns of earlier windows, until the link is ready. */
  past: Turn[];
  /** The agent names members in camelCase. */
  camel: boolean;
  /** The Gemini CLI server in its later generation. */
  newer: boolean;
  versionChanged: boolean;
  push: PushRegistration;
  /** The model that the agent named last. */
  model: string;
  /** The task is read after a notification. `again`: another one came meanwhile. */
  reading: 'no' | 'reading' | 'again';
  streams: number;
}
export interface A2aSetup {
  readonly cwd: string;
  readonly resumeKey: string;
  /** The agent is started here. */
  readonly starts: boolean;
  readonly timing: A2aTiming;
}
/** Whether the agent has our address for notifications. */
export type PushRegistration =
  | { readonly is: 'none' }
  /** A message carried the address, for the task that it begins. `before`: the task that had it until then. */
  | { readonly is: 'sent'; readonly before: string | null }
  | { readonly is: 'registered'; readonly taskId: string }
  /** The agent takes no address. */
  | { readonly is: 'refused' };
/** The answer to `connect`. */
export interface A2aAgent {
  readonly peer: A2aPeer;
  readonly commands: CommandTree | null;
  /** Notices to show with the link. */
  readonly notices: readonly Notice[];
  /** A server for notifications listens. */
  readonly push: boolean;
  /** Parley's tools that change nothing, as `server/tool`. */
  readonly harmless: readonly string[];
  /** The Gemini CLI server finds our tools by a folder, which the user may turn on. */
  readonly folder: { readonly path: string; on: boolean } | null;
}
export interface Allowance {
  readonly key: string;
  readonly id: string;
  readonly title: string;
}
export interface A2aTurn extends TurnState<Lane, A2aCall> {
  /** By the agent's id of a call: ours. */
  readonly callIds: Table<CallId>;
  readonly streams: A2aStream[];
  prompt: SentPrompt | null;
  command: CommandRun | null;
  /** The text shown in this turn, in pieces: joined one by one, every piece would be kept twice. */
  readonly said: string[];
  /** True when something other than text was shown. */
  hasOtherContent: boolean;

  /** The state in the newest stream. */
  taskState: TaskState | null;
  /** The failure that the agent named. `at`: `progress` when it was named last. */
  failure: { readonly message: string; readonly at: number } | null;
  /** The last text that came with a state. */
  lastWords: string;
  records: number;
  /** Counts all new content. */
  progress: number;
  /** Counts new content with an id, and changes of it: each is written to a checkpoint at once. */
  idChanges: number;
  /** The task may hold content that its streams have not brought since it was last read whole. */
  mayHoldMore: boolean;
  /** The task that was read last. */
  lastTaskRead: Incoming | null;
  /** The newest timestamp of the agent. */
  timestamp: string;
  /** The task that continues in this turn; its earlier content has been shown. */
  readonly earlierTask: string | null;
  /** Other tasks with records on our streams, by their ids, and their calls that wanted approval, as `call ID`. */
  readonly foreign: Table<true>;
  /** The last record of another task, where it may be the end of ours under that id. */
  possibleEnd: Incoming | null;

  /** Words of the user with a decision, by the agent's id of the call: sent once the turn waits. */
  readonly followUps: Table<string>;
  /** Proposals that the user changed, for a server that takes no edits: their text is written when the call is done. */
  readonly lateEdits: LateEdit[];
  /** By the agent's id of a call: the file it is about, as it was at the first record of the call. */
  readonly files: Table<Omit<FileOfCall, 'call'>>;
  activeAt: number;
  /** `rests`: a checkpoint was just written; the timer writes one `soon` after it, or `later` for growing text. */
  keeping: 'no' | 'rests' | 'soon' | 'later';
  /** Time of a notification that no stream has confirmed yet. */
  notifiedAt: number | null;
  /** The task is being read because its streams are silent. `activeAt`: the value at the beginning of the read. */
  staleCheck: { readonly activeAt: number } | null;
  /** The task is being read because nothing followed a decision. */
  verifying: { readonly why: string | null } | null;
  /** The task is being read to learn what it waits for. `whole`: also what became of a call that makes no progress. */
  restingRead: { readonly whole: boolean } | null;
  /** `stopping` exactly while `phase` is. */
  mode: TurnMode;
}
/** A turn follows its streams, recovers one that broke, or stops: never two of them. */
export type TurnMode = { readonly is: 'streaming' } | Recovery | { readonly is: 'stopping'; stop: Stop };
/**
 * The decision about a call, and its author. `about`: the call as it was then, to which the decision is limited. `edited`: the proposal as the
 * user edited it; null when they did not.
 */
export type DecisionState =
  /** The user was not asked. */
  | { readonly is: 'none' }
  /** The user is asked. `edited`: in their earlier answer, which did not arrive. */
  | { readonly is: 'asking'; readonly about: CallSnapshot; readonly edited: string | null }
  /** The call has become another one. `since`: the time from which it waits; it is asked about after a moment. Null when it does not wait. */
  | { readonly is: 'changed'; readonly since: number | null }
  /** The agent went on before the user answered: nothing was allowed. */
  | { readonly is: 'withdrawn'; readonly about: CallSnapshot; readonly edited: string | null }
  /** By the user, or by what they allowed for the conversation. */
  | { readonly is: 'allowed'; readonly about: CallSnapshot; readonly edited: string | null }
  /** By the user, or because the turn was stopped. `about` is null for a call that was rejected in an earlier window, or was not asked about. */
  | { readonly is: 'rejected'; readonly about: CallSnapshot | null };
export interface A2aCall extends CallState<DecisionState> {
  /** The agent's id. */
  readonly key: string;
  readonly dialect: 'rfc' | 'gemini';
  last: CallSnapshot;
  /** The output so far. */
  live: string | null;
  /** Number of times the user was asked again because a decision was not accepted. */
  timesReasked: number;
  /** The task was read once to learn what this call waits for. */
  taskWasRead: boolean;
}
/** The file of a call. `real`: where it lay, links followed. `isNew`: it was not there. */
export interface FileOfCall {
  readonly call: string;
  readonly isNew: boolean;
  readonly real: string;
}
export interface A2aStream {
  readonly link: string;
  readonly of: 'prompt' | 'text' | 'decision' | 'command' | 'subscription';
  /** The agent's id of the call that is decided. */
  readonly callId: string | null;
  /**
   * `open`: something is expected of it, also while it is `resting` and then `lingering` after the agent said that it waits. `stale`: it is open,
   * and nothing is expected. `ended`: it has said its last word, or has closed.
   */
  stage: 'open' | 'resting' | 'lingering' | 'stale' | 'ended';
  /** State of the message. `answered`: the response has begun; `confirmed`: it brought a record; `refused`: the agent did not read the message. */
  delivery: 'new' | 'held' | 'sent' | 'answered' | 'confirmed' | 'refused';
  /** Why the message was not sent yet, for the user. */
  held: string | null;
  /** Time a decision was sent; null after the next record. */
  sentAt: number | null;
  isCancelled: boolean;
  /** It took the turn's connection. */
  isOnTurn: boolean;
  records: number;
  /** The task it began with. */
  began: string | null;
  /** Id, time and text of its newest records, one after the other: streams of one task carry the same records. */
  readonly newest: string[];
}
export interface SentPrompt {
  readonly text: string;
  /** The task it was first sent to. */
  readonly task: string | null;
  readonly settled: boolean;
  /** It was sent in the other version of A2A, or to another task. */
  versionTried: boolean;
  taskTried: boolean;
}
export interface LateEdit {
  readonly callId: string;
  readonly path: string;
  readonly text: string;
  isWriting: boolean;
}
export interface CommandRun {
  readonly path: readonly string[];
  args: string;
  readonly by: 'rpc' | 'rest';
  answer: CommandAnswer | null;
}
/** Subscribing again to a task whose stream has broken. */
export interface Recovery {
  readonly is: 'recovering';
  readonly why: string;
  /** The number of this try. */
  at: number;
  /** The time at which the last try ends, in milliseconds; each subscription that opens moves it. */
  until: number;
  /** A notification brought the try forward; it does not take the place of the one that was due, once for each. */
  isEarly: boolean;
  /** A notification came since the try began. */
  wasNotified: boolean;
  /** `progress` of the turn when the try began. */
  progress: number;
  step: /** Of Gemini CLI's server, which stops without its connection, the task is only read. */
    | { readonly is: 'reading' }
    /** The timer `retry` runs. */
    | { readonly is: 'waiting' }
    | Subscription
    /** The user is asked whether to try again. */
    | { readonly is: 'asking' };
}
export interface Subscription {
  readonly is: 'subscribed';
  readonly link: string;
  /** The time at which it opened. */
  openedAt: number | null;
  /** The stream ended without its last word, and the task is read. */
  hasEnded: boolean;
  /** The task is being read for the missed content. */
  isReading: boolean;
  /** Records that wait until the task was read; null from then on. */
  waiting: unknown[] | null;
  /** The task that the subscription sent first. */
  task: Incoming | null;
}
/** Stopping the task. `before`: the turn as it was when the user stopped it. */
export type Stop =
  /** Waiting calls are refused, which ends the turn of an agent with the quirk `refusalStops`. */
  | { readonly is: 'refusing' }
  | { readonly is: 'cancelling'; readonly before: BeforeStop }
  /** For the end of the streams. `failure`: why the cancel failed, for the user; '' when it was not answered in time; null when it did not. */
  | { readonly is: 'waiting'; readonly before: BeforeStop; readonly failure: string | null }
  | { readonly is: 'hangingUp'; readonly before: BeforeStop }
  /** The task is read. `mayRunOn`: a command ran, and may still run. */
  | { readonly is: 'reading'; readonly mayRunOn: boolean };
export interface BeforeStop {
  readonly commandRan: boolean;
  readonly wasStreaming: boolean;
  /** The turn's connection was in use: closing it stops what runs. */
  readonly holdsConnection: boolean;
}
/** Failure of a stream or a request. `kind`: `rpc`, `status`, `nothing`, or a kind of the transport. */
export interface Problem {
  readonly kind: string;
  readonly code: number;
  readonly message: string;
}
export type OurQuestion = 'reconnect' | 'signIn' | 'checkpoint' | 'arguments' | 'confirmed';
/** `link`: a question of the link, for a secret or before anything goes unencrypted. Its answer goes back to the link. */
export type A2aAskSubject = { readonly on: 'call' | 'link' | OurQuestion };
/** A question of the link, as its request `ask`: the id is given by the machine. It belongs to no turn. */
export type LinkQuestion = { readonly [K in Ask['kind']]: Omit<Extract<Ask, { kind: K }>, 'id' | 'turnId' | 'callId'> }[Ask['kind']];
/** A turn that an earlier window showed, and its checkpoint. */
export interface LeftTurn {
  readonly turn: Turn;
  readonly kept: TurnCheckpoint;
}

/** Its members stand one by one: in Node 20, each object made by spreading another has a shape of its own, and compiled code is thrown away. */
export function newA2a(seed: string, setup: A2aSetup, past: readonly Turn[]): A2aState {
  return {
    phase: 'new',
    seed,
    ids: 0,
    heard: 0,
    links: {},
    turn: null,
    queue: [],
    asks: {},
    requests: {},
    task: { id: null, contextId: null, settled: false, needsSummary: false },
    suspended: null,
    summary: newSummary(past),
    setup,
    agent: null,
    notes: [],
    allowances: [],
    allowed: 0,
    delivered: newDelivered(),
    past: [...past],
    camel: false,
    newer: false,
    versionChanged: false,
    push: { is: 'none' },
    model: '',
    reading: 'no',
    streams: 0,
  };
}
export function newA2aTurn(id: string, task: string | null, now: number): A2aTurn {
  return {
    id,
    by: 'user',
    phase: 'running',
    waiting: false,
    parts: 0,
    lanes: {},
    calls: newTable(),
    callIds: newTable(),
    streams: [],
    prompt: null,
    command: null,
    said: [],
    hasOtherContent: false,
    taskState: null,
    failure: null,
    lastWords: '',
    records: 0,
    progress: 0,
    idChanges: 0,
    mayHoldMore: false,
    lastTaskRead: null,
    timestamp: '',
    earlierTask: task,
    foreign: {},
    possibleEnd: null,
    followUps: {},
    lateEdits: [],
    files: {},
    activeAt: now,
    keeping: 'no',
    notifiedAt: null,
    staleCheck: null,
    verifying: null,
    restingRead: null,
    mode: { is: 'streaming' },
  };
}

// --- new parts of the state

export function newCall(id: CallId, last: CallSnapshot, dialect: 'rfc' | 'gemini'): A2aCall {
  return { id, key: last.id, dialect, ended: false, last, live: null, decision: { is: 'none' }, timesReasked: 0, taskWasRead: false };
}
export function newStream(link: string, of: A2aStream['of'], callId: string | null): A2aStream {
  return {
    link,
    of,
    callId,
    stage: 'open',
    delivery: 'new',
    held: null,
    sentAt: null,
    isCancelled: false,
    isOnTurn: false,
    records: 0,
    began: null,
    newest: [],
  };
}
export function newRecovery(why: string): Recovery {
  return { is: 'recovering', why, at: 0, until: 0, isEarly: false, wasNotified: false, progress: 0, step: { is: 'reading' } };
}

// --- questions to the state

export function callOf(turn: A2aTurn, key: string): A2aCall | undefined {
  const id = find(turn.callIds, key);
  return id === undefined ? undefined : find(turn.calls, id);
}
export function streamOf(turn: A2aTurn, link: string): A2aStream | undefined {
  return turn.streams.findLast((one) => one.link === link);
}
/** The call waits for the user. */
export function isUndecided({ decision }: A2aCall): boolean {
  return decision.is === 'asking' || (decision.is === 'changed' && decision.since !== null);
}
/** The subject of the last decision about a call, or of the question that is open. */
export function askedOf({ decision }: A2aCall): CallSnapshot | null {
  return decision.is === 'none' || decision.is === 'changed' ? null : decision.about;
}
/** The proposal as the user edited it. */
export function editOf({ decision }: A2aCall): string | null {
  return 'edited' in decision ? decision.edited : null;
}
export function recoveryOf({ mode }: A2aTurn): Recovery | null {
  return mode.is === 'recovering' ? mode : null;
}
/** The subscription that this link carries, while it counts. */
export function subscriptionOn(turn: A2aTurn, link: string): Subscription | undefined {
  const step = recoveryOf(turn)?.step;
  return step?.is === 'subscribed' && step.link === link ? step : undefined;
}
/** The registration after a message with the address was sent. */
export function sentWith(push: PushRegistration): PushRegistration {
  if (push.is === 'refused') return push;
  return { is: 'sent', before: push.is === 'sent' ? push.before : push.is === 'registered' ? push.taskId : null };
}
export function stopOf({ mode }: A2aTurn): Stop | null {
  return mode.is === 'stopping' ? mode.stop : null;
}
/** The status to show: one that waits for nobody is pending. */
export function statusOf(call: A2aCall): ToolCall['status'] {
  const { status, request } = call.last;
  if (status === 'waiting') return request && !isDecided(call) ? 'waiting' : 'pending';
  return status === 'cancelled' && call.decision.is === 'rejected' ? 'rejected' : status;
}
/** Returns the user's text of the proposal in `of`: as `edited`, to be sent with the decision, or as `late`, to be written when the call is done. */
export function editsOf(call: A2aCall, of: CallSnapshot, newer: boolean): Readonly<Record<'edited' | 'late', string | null>> {
  const edited = editOf(call);
  const proposed = of.request?.proposed;
  const text = edited === null || proposed === undefined ? proposed : withLineEndsOf(edited, proposed);
  if (text === undefined || text === proposed) return { edited: null, late: null };
  const isSent = call.dialect === 'rfc' || !hasQuirk('takesNoEdits', newer);
  return isSent ? { edited: text, late: null } : { edited: null, late: text };
}
/** Nothing is asked about it any more. */
export function isDecided({ decision }: A2aCall): boolean {
  return decision.is === 'withdrawn' || decision.is === 'allowed' || decision.is === 'rejected';
}
/** Some call waits for the user. */
export function isWaiting(turn: A2aTurn): boolean {
  return Object.values(turn.calls).some(isUndecided);
}
export function commandRuns(turn: A2aTurn): boolean {
  return Object.values(turn.calls).some(({ last }) => last.kind === 'execute' && last.status === 'running');
}
/** Calls that are decided, or whose question was withdrawn, and that the agent still reports as waiting. */
export function undelivered(turn: A2aTurn): readonly A2aCall[] {
  return Object.values(turn.calls).filter(({ key, last, decision }) => {
    if (last.status !== 'waiting') return false;
    const stream = decision.is === 'rejected' ? decisionAbout(turn, key) : undefined;
    return decision.is === 'allowed' || decision.is === 'withdrawn' || (stream?.stage === 'ended' && stream.delivery !== 'confirmed');
  });
}
/** Something is expected of it. */
export function isOpen(stream: A2aStream | undefined): boolean {
  return stream !== undefined && stream.stage !== 'stale' && stream.stage !== 'ended';
}
/** The decision was sent, and it is not known whether it was read. */
export function isUnconfirmed(stream: A2aStream | undefined): boolean {
  return stream?.delivery === 'sent' || stream?.delivery === 'answered';
}
/** The newest decision about a call, by the agent's id; older ones are never sent. */
export function decisionAbout(turn: A2aTurn, callId: string): A2aStream | undefined {
  return turn.streams.findLast((one) => one.callId === callId);
}
function newestDecisions(turn: A2aTurn): readonly A2aStream[] {
  return turn.streams.filter((one) => one.callId !== null && decisionAbout(turn, one.callId) === one);
}
/** Time of the oldest decision without a record since. */
export function sentSince(turn: A2aTurn): number | null {
  const all = newestDecisions(turn).flatMap(({ sentAt }) => sentAt ?? []);
  return all.length > 0 ? Math.min(...all) : null;
}
/** Why decisions are not sent yet, for the user; undefined when all are sent. */
export function heldBecause(turn: A2aTurn): string | undefined {
  return newestDecisions(turn).find(({ held }) => held !== null)?.held ?? undefined;
}
/** The call is no longer the one that the user was asked about. */
export function hasBecomeAnother(call: A2aCall, cwd: string): boolean {
  const { last } = call;
  const asked = askedOf(call);
  if (!asked) return false;
  const isAsking = call.decision.is === 'asking';
  if (last.status === 'pending') return isAsking;
  return last.status === 'waiting' && isAnotherCall(last, asked, isAsking ? null : editOf(call), cwd);
}
/** Some body has not ended. */
export function isStreaming(turn: A2aTurn): boolean {
  return turn.streams.some(({ stage }) => stage !== 'ended');
}
/** No stream of the task is open, and one is wanted. */
export function isOffline({ mode }: A2aTurn): boolean {
  return mode.is === 'recovering' && !(mode.step.is === 'subscribed' && mode.step.openedAt !== null);
}
/** Remembers what earlier windows showed. */
export function restorePast(known: Delivered, past: readonly Turn[]): void {
  for (const turn of past) {
    const parsed = checkpoint.safeParse(turn.adapterState);
    if (!parsed.success) continue;
    beginTurn(known);
    restore(known, parsed.data.known, turn.parts, parsed.data.calls);
  }
}
/** The last turn, when the end of its window or a restart broke it off. One that the user stopped has no reason for its stop. */
export function leftTurn(past: readonly Turn[]): LeftTurn | undefined {
  const turn = past.at(-1);
  const isLeft = turn?.status === 'failed' || (turn?.cutOff && turn.stop !== undefined);
  const parsed = isLeft ? checkpoint.safeParse(turn.adapterState) : undefined;
  return turn && parsed?.data?.running ? { turn, kept: parsed.data } : undefined;
}
/** Parts and checkpoint of a turn that continues, under ids of this window. Calls that the window's end cancelled run on. */
export function renamed({ turn, kept }: LeftTurn, newId: () => string): { readonly parts: readonly Part[]; readonly kept: TurnCheckpoint } {
  const ids = new Map(turn.parts.map(({ id }) => [id, newId()]));
  const idOf = (id: string) => ids.get(id) ?? id;
  const calls = kept.calls.map(([key, id, status]): TurnCheckpoint['calls'][number] => [key, idOf(id), status]);
  const statuses = new Map(calls.map(([, id, status]) => [id, status]));
  const parts = turn.parts.map((part): Part => {
    const id = idOf(part.id);
    if (part.kind !== 'call') return { ...part, id };
    const status = statuses.get(id);
    const wasCut = part.call.status === 'cancelled' && status !== undefined && status !== 'cancelled';
    return { ...part, id, call: { ...part.call, id, ...(wasCut ? { status: status === 'waiting' ? 'pending' : status } : {}) } };
  });
  const apart = kept.known.apart.map(([id, work]): [string, string] => [idOf(id), work]);
  return { parts, kept: { ...kept, known: { ...kept.known, apart }, calls } };
}
/** Brings what an earlier window showed of a turn into it. `isPlain`: the agent's messages stand for themselves. */
export function restoreTurn(turn: A2aTurn, parts: readonly Part[], { calls, known }: TurnCheckpoint, isPlain: boolean): void {
  for (const [key, partId, status] of calls) {
    const part = parts.find((one) => one.id === partId);
    if (part?.kind !== 'call') continue;
    const { name, title, kind, input } = part.call;
    const call = newCall(partId, { id: key, name, title, kind, status, ...(input === undefined ? {} : { input }) }, 'rfc');
    if (part.call.status === 'rejected') call.decision = { is: 'rejected', about: null };
    put(turn.callIds, key, partId);
    put(turn.calls, partId, call);
  }
  turn.hasOtherContent = parts.length > 0;
  const last = parts.at(-1);
  if (last?.kind !== 'text') return;
  // An artifact that grows is known by its own id.
  const message = isPlain ? known.names.at(-1)?.[0].replace(/^text /, '') : undefined;
  laneOf(turn).open = { kind: 'text', partId: last.id, message: new Map(known.apart).get(last.id) || (message ?? null) };
}
/** The checkpoint of a turn, for a later window. */
export function checkpointIn({ task, delivered }: A2aState, { calls }: A2aTurn, running: boolean): TurnCheckpoint {
  return {
    running,
    ...(task.id === null ? {} : { taskId: task.id }),
    ...(task.contextId === null ? {} : { contextId: task.contextId }),
    known: checkpointOf(delivered),
    calls: Object.values(calls).map(({ key, id, last }): [string, string, CallSnapshot['status']] => [key, id, last.status]),
  };
}
/** Factor of a pause: clients that lost one server come back at different times. */
export function spreadOf({ ids, seed }: A2aState): number {
  return 0.8 + ((ids * 7919 + seed.charCodeAt(0)) % 401) / 1000;
}
/** The option that turns the editor's tools on. */
export const EDITOR_TOOLS = 'editorTools';
export function optionsOf({ model, agent, allowances }: A2aState): readonly SessionOption[] {
  const path = agent?.folder?.path ?? '';
  const text = t('Lets this agent open files and read problems here, by the folder {0}. Turning it off removes the folder.', path);
  const choices = [{ value: model, name: model }];
  return [
    // Seen, not chosen: the agent offers no other.
    ...(model === '' ? [] : [{ kind: 'choice', id: 'model', name: t('Model'), about: 'model', current: model, choices } as const]),
    ...(agent?.folder
      ? [{ kind: 'switch', id: EDITOR_TOOLS, name: t('Editor tools'), description: text, on: agent.folder.on } as const]
      : []),
    ...allowances.map(({ id, title }) => ({ kind: 'switch', id, name: t('Always allow {0}', title), on: true }) as const),
  ];
}
export function problemOf({ message, code, data }: Failure): Problem {
  const { kind } = (data ?? {}) as { readonly kind?: string };
  return { kind: kind ?? 'lost', code: code ?? 0, message };
}
/** Null when the body has come to its end. */
export function problemIn({ failure, reason, code }: LinkEnd): Problem | null {
  return failure === undefined ? null : { kind: failure, code: code ?? 0, message: reason };
}
/** Two texts about one failure, neither of them twice. */
export function joinWords(error: string, text: string): string {
  if (error.includes(text)) return error;
  return text.includes(error) ? text : `${error} ${text}`;
}
/** JSON-RPC codes of A2A. */
export const NOT_FOUND = -32001;
export const UNSUPPORTED = -32004;
export function isNotFound(problem: Problem | null): boolean {
  return problem?.kind === 'rpc' && problem.code === NOT_FOUND;
}
/** The task takes no more messages. */
export function isTerminal({ code, message }: Problem): boolean {
  return code === UNSUPPORTED || /terminal state/i.test(message);
}
export function notReached(why: string): string {
  return t('The agent may still be at work. {0}', why).trim();
}
export function mayBeFollowed(): string {
  return t('Your previous answer was sent and may still take effect.');
}
export function installGit(): string {
  return t('Install Git, and set its user.name and user.email: this agent needs them to change files.');
}
/** The Gemini CLI server's first generation fails over its own repository in two ways that the user can mend. */
export function advised(failure: string): string {
  if (!/Git is not installed|Author identity unknown|unable to auto-detect email/i.test(failure)) return failure;
  return `${failure} ${installGit()}`;
}

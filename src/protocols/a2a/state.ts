import { t } from '../../base/l10n.ts';
import type { Failure, LinkEnd } from '../../base/outcomes.ts';
import {
  type CallState,
  type ConversationState,
  find,
  type Lane,
  laneOf,
  newConversation,
  newTurn,
  put,
  type Table,
  type TurnState,
} from '../../conversation/state.ts';
import type { CallId, Notice, Part, SessionOption, ToolCall, Turn } from '../../session/model.ts';
import { type CallSnapshot, isAnotherCall, withLineEndsOf } from './calls.ts';
import type { A2aPeer } from './card.ts';
import type { CommandAnswer, CommandTree, Incoming } from './codec.ts';
import { beginTurn, checkpointOf, type Delivered, newDelivered, restore } from './delivered.ts';
import { hasQuirk } from './quirks.ts';
import { checkpoint, type TurnCheckpoint } from './schema.ts';
import { type ConversationTasks, newTasks } from './task.ts';
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
  readonly news: number;
  /** `keep`: until a checkpoint with growing text is written; other news has one at once. */
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
  news: 3000,
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
  /** The shipped server in its later generation. */
  newer: boolean;
  versionChanged: boolean;
  /** The task that has our address for notifications. `sent`: the last message carried the address. */
  push: { sent: boolean; task: string | null; refused: boolean };
  /** The model that the agent named last. */
  model: string;
  /** The task is read for news. `again`: more came meanwhile. */
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
  /** The shipped server finds our tools by a folder, which the user may turn on. */
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

  /** The state that the newest stream told. */
  taskState: TaskState | null;
  /** The failure that the agent named. */
  failure: string | null;
  /** `progress` when it was named. */
  failedAt: number;
  /** The last text that came with a state. */
  lastWords: string;
  records: number;
  /** Grows with everything new. */
  progress: number;
  /** Grows with every new thing that has an id, and with every change of one: checkpoints are written at once. */
  landmarks: number;
  /** True when the task may hold more than its streams have told since it was last read whole. */
  isUnread: boolean;
  /** The task that was read last. */
  lastRead: Incoming | null;
  /** The newest timestamp of the agent. */
  timestamp: string;
  /** The task that continues in this turn; its earlier content has been shown. */
  readonly earlierTask: string | null;
  /** Other tasks with records on our streams, by their ids, and their calls that wanted approval, as `call ID`. */
  readonly foreign: Table<true>;
  /** The last record, if it may be the end of our task under another id. */
  stray: Incoming | null;

  /** The user's words about a call, by the agent's id: sent when the turn rests. */
  readonly followUps: Table<string>;
  /** Proposals that the user changed, for a server that cannot be told: their text is written when the call is done. */
  readonly lateEdits: LateEdit[];
  /** By the agent's id of a call: the file it is about, as it was when the call was first told. */
  readonly files: Table<Omit<FileOfCall, 'call'>>;
  heardAt: number;
  /** `rests`: a checkpoint was just written; the timer writes one `soon` after it, or `later` for growing text. */
  keeping: 'no' | 'rests' | 'soon' | 'later';
  /** The value of `heardAt` when the task was last read because its streams were silent. */
  staleCheckedAt: number;
  /** Time of a notification that no stream has confirmed yet. */
  newsAt: number | null;
  /** The task is being read because nothing followed a decision. */
  verifying: { readonly why: string | null } | null;
  /** The task is being read to learn what it waits for. `whole`: also what became of a call that makes no progress. */
  looking: { readonly whole: boolean } | null;
  recovery: Recovery | null;
  stop: Stop | null;
}
export type DecisionState =
  /** Nothing was asked. */
  | 'none'
  | 'asking'
  /** It has become another call, and is asked about after a moment. */
  | 'changed'
  | 'allowed'
  | 'rejected';
export interface A2aCall extends CallState<DecisionState> {
  /** The agent's id. */
  readonly key: string;
  readonly dialect: 'rfc' | 'gemini';
  last: CallSnapshot;
  /** The output so far. */
  live: string | null;
  /** The call as it was when the user, or an allowance, decided last. */
  asked: CallSnapshot | null;
  /** The proposal as the user edited it. */
  edited: string | null;
  /** How often the user was asked again because a decision was not accepted. */
  timesReasked: number;
  /** True once the call has become another: from then on its questions come after a moment. */
  hasChanged: boolean;
  /** The time of the decision state `changed`. */
  changedAt: number;
  /** True when the task was read to learn what this call waits for. */
  isRead: boolean;
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
  /** How far the message has come. `answered`: the response has begun; `told`: it brought a record; `refused`: the agent did not read the message. */
  delivery: 'new' | 'held' | 'sent' | 'answered' | 'told' | 'refused';
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
  readonly why: string;
  /** No connection was lost, so the first try is not shown. */
  isQuiet: boolean;
  /** `ended`: the subscription ended without the last word, and the task is read. The shipped server, which stops without its connection, is only read. */
  step: 'waiting' | 'subscribed' | 'ended' | 'asking';
  /** `at`: the number of this try. `until`: the number of the last one; each subscription that opens moves it. */
  at: number;
  until: number;
  /** News brought the try forward; it does not take the place of the one that was due, once for each. */
  isEarly: boolean;
  /** News came since the try began. */
  hasNews: boolean;
  /** `progress` of the turn when the try began. */
  progress: number;
  /** The time at which the subscription opened. */
  openedAt: number | null;
  link: string | null;
  /** Once the subscription is open, the task is read for the missed content; meanwhile its records, and the task it sent first, wait. */
  read: 'no' | 'reading' | 'done';
  held: unknown[] | null;
  task: Incoming | null;
}
/** Stopping the task. Null in a turn that is stopped by refusing what waits. */
export interface Stop {
  step: 'cancelling' | 'waiting' | 'hangingUp' | 'reading';
  /** A command ran, and may still run. */
  commandRan: boolean;
  readonly wasStreaming: boolean;
  /** The turn's connection was in use: closing it stops what runs. */
  readonly holdsConnection: boolean;
  /** Why the cancel failed, for the user; '' when it was not answered in time. */
  why: string | null;
}
/** Failure of a stream or a request. `kind`: `rpc`, `status`, `nothing`, or a kind of the transport. */
export interface Problem {
  readonly kind: string;
  readonly code: number;
  readonly message: string;
}
export type OurQuestion = 'reconnect' | 'signIn' | 'checkpoint' | 'arguments' | 'confirmed';
export type A2aAskSubject = { readonly on: 'call' | OurQuestion };
/** A turn that an earlier window showed, and its checkpoint. */
export interface LeftTurn {
  readonly turn: Turn;
  readonly kept: TurnCheckpoint;
}

export function newA2a(seed: string, setup: A2aSetup, past: readonly Turn[]): A2aState {
  return {
    ...newConversation(seed),
    ...newTasks(past),
    turn: null,
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
    push: { sent: false, task: null, refused: false },
    model: '',
    reading: 'no',
    streams: 0,
  };
}
export function newA2aTurn(id: string, task: string | null, now: number): A2aTurn {
  return {
    ...newTurn<Lane, A2aCall>(id, 'user'),
    callIds: {},
    streams: [],
    prompt: null,
    command: null,
    said: [],
    hasOtherContent: false,
    taskState: null,
    failure: null,
    failedAt: 0,
    lastWords: '',
    records: 0,
    progress: 0,
    landmarks: 0,
    isUnread: false,
    lastRead: null,
    timestamp: '',
    earlierTask: task,
    foreign: {},
    stray: null,
    followUps: {},
    lateEdits: [],
    files: {},
    heardAt: now,
    staleCheckedAt: 0,
    keeping: 'no',
    newsAt: null,
    verifying: null,
    looking: null,
    recovery: null,
    stop: null,
  };
}

// --- new parts of it

export function newCall(id: CallId, last: CallSnapshot, dialect: 'rfc' | 'gemini'): A2aCall {
  const decided = { decision: 'none' as const, asked: null, edited: null, timesReasked: 0, hasChanged: false, changedAt: 0, isRead: false };
  return { id, key: last.id, dialect, ended: false, last, live: null, ...decided };
}
export function newStream(link: string, of: A2aStream['of'], callId: string | null): A2aStream {
  return {
    ...{ link, of, callId, stage: 'open', delivery: 'new', held: null, sentAt: null, isCancelled: false, isOnTurn: false },
    ...{ records: 0, began: null, newest: [] },
  };
}
export function newRecovery(why: string, isQuiet: boolean): Recovery {
  const tries = { at: 0, until: 0, isEarly: false, hasNews: false, progress: 0, openedAt: null } as const;
  return { why, isQuiet, step: 'ended', ...tries, link: null, read: 'no', held: null, task: null };
}

// --- what the state says

export function callOf(turn: A2aTurn, key: string): A2aCall | undefined {
  const id = find(turn.callIds, key);
  return id === undefined ? undefined : find(turn.calls, id);
}
export function streamOf(turn: A2aTurn, link: string): A2aStream | undefined {
  return turn.streams.findLast((one) => one.link === link);
}
/** The call waits for the user. */
export function isUndecided({ decision }: A2aCall): boolean {
  return decision === 'asking' || decision === 'changed';
}
/** The status to show: one that waits for nobody is pending. */
export function statusOf(call: A2aCall): ToolCall['status'] {
  const { status, request } = call.last;
  if (status === 'waiting') return request && !isDecided(call) ? 'waiting' : 'pending';
  return status === 'cancelled' && call.decision === 'rejected' ? 'rejected' : status;
}
/** What becomes of the proposal that the user changed: it is sent with the decision, or written late, when the call is done. */
export function editsOf({ edited, last, dialect }: A2aCall, newer: boolean): Readonly<Record<'edited' | 'late', string | null>> {
  const proposed = last.request?.proposed;
  const text = edited === null || proposed === undefined ? proposed : withLineEndsOf(edited, proposed);
  if (text === undefined || text === proposed) return { edited: null, late: null };
  const isSent = dialect === 'rfc' || !hasQuirk('takesNoEdits', newer);
  return isSent ? { edited: text, late: null } : { edited: null, late: text };
}
export function isDecided(call: A2aCall): boolean {
  return call.decision !== 'none' && !isUndecided(call);
}
/** Some call waits for the user. */
export function isWaiting(turn: A2aTurn): boolean {
  return Object.values(turn.calls).some(isUndecided);
}
export function commandRuns(turn: A2aTurn): boolean {
  return Object.values(turn.calls).some(({ last }) => last.kind === 'execute' && last.status === 'running');
}
/** Decided calls that the agent still reports as waiting. */
export function undelivered(turn: A2aTurn): readonly A2aCall[] {
  return Object.values(turn.calls).filter(({ key, last, decision }) => {
    if (last.status !== 'waiting') return false;
    const stream = decision === 'rejected' ? decisionAbout(turn, key) : undefined;
    return decision === 'allowed' || (stream?.stage === 'ended' && stream.delivery !== 'told');
  });
}
/** Something is expected of it. */
export function isOpen(stream: A2aStream | undefined): boolean {
  return stream !== undefined && stream.stage !== 'stale' && stream.stage !== 'ended';
}
/** The decision left, and nothing says whether it was read. */
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
export function hasBecomeAnother({ last, asked, decision, edited }: A2aCall, cwd: string): boolean {
  if (!asked) return false;
  if (last.status === 'pending') return decision === 'asking';
  return last.status === 'waiting' && isAnotherCall(last, asked, decision === 'asking' ? null : edited, cwd);
}
/** Some body has not ended. */
export function isStreaming(turn: A2aTurn): boolean {
  return turn.streams.some(({ stage }) => stage !== 'ended');
}
/** No stream of the task is open, and one is wanted. */
export function isOffline({ recovery }: A2aTurn): boolean {
  return recovery !== null && recovery.openedAt === null;
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
/** The last turn, when the end of its window broke it off. */
export function leftTurn(past: readonly Turn[]): LeftTurn | undefined {
  const turn = past.at(-1);
  const parsed = turn?.status === 'failed' ? checkpoint.safeParse(turn.adapterState) : undefined;
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
    if (part.call.status === 'rejected') call.decision = 'rejected';
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
/** What a later window needs of the turn. */
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
/** The shipped server's first generation fails over its own repository in two ways that the user can mend. */
export function advised(failure: string): string {
  if (!/Git is not installed|Author identity unknown|unable to auto-detect email/i.test(failure)) return failure;
  return `${failure} ${installGit()}`;
}

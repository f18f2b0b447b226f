import { find } from '../../conversation/state.ts';
import type { Peer } from './card.ts';
import { type Incoming, isAtRest, isOver, textOf } from './codec.ts';
import type { A2aTurn, Stream } from './state.ts';

/* Several streams tell of one task, and of tasks of others: which task a record is about, and whether it says something new. */

// --- which task

/**
 * The record is of another task: its words and states mean nothing here. An early failure names a task that the agent does not keep; the last record
 * of a cancelled task comes after we left it.
 */
export function isForeign(turn: A2aTurn, stream: Stream, record: Incoming, ours: string | null, isFirst: boolean): boolean {
  const { taskId = null } = record;
  if (isFirst) {
    const wasHeard = ours !== null && turn.streams.some(({ began }) => began === ours);
    stream.began = isLost(record) && wasHeard ? ours : taskId;
  }
  const begins = record.kind === 'task' && stream.began !== ours;
  return taskId !== null && ours !== null && taskId !== ours && !begins && taskId !== stream.began;
}
/** The task that the conversation goes on in after a record that is not foreign. */
export function taskAfter(record: Incoming, ours: string | null, isFirst: boolean, isNewest: boolean): string | null {
  const { taskId = null } = record;
  if (taskId === null || record.kind === 'message') return ours;
  const begins = ours === null ? !isLost(record) : record.kind === 'task' || (isFirst && !isLost(record) && isNewest);
  return begins ? taskId : ours;
}
/** Its task has ended, and not well. */
function isLost({ state }: Incoming): boolean {
  return isOver(state) && state !== 'completed';
}
/**
 * If all streams end behind such a failure of an unknown task, it means ours: servers name a fresh one when their agent breaks off within a task they
 * have not been given yet (@a2a-js/sdk 0.3).
 */
export function mayBeOurEnd(turn: A2aTurn, record: Incoming, contextId: string | null, wire: Peer['wire']): boolean {
  const failed = record.kind === 'status' && record.state === 'failed' && (record.final || wire === '1.0');
  const isOurs = record.contextId !== undefined && record.contextId === contextId;
  return failed && isOurs && !find(turn.foreign, record.taskId ?? '');
}

// --- what is new

/** How many of its newest records a stream remembers: alone, and beside one that may be far behind. */
const REMEMBERED = { alone: 8, beside: 10_000 };
/** How many ended streams are compared with one that runs. */
const ENDED_BESIDE = 4;
/** A time that tells two records apart. */
const PRECISE = /\.\d{3,}/;
type Key = readonly [messageId: string, timestamp: string, words: string];

/** Several streams may carry the same record: only the first is new. undefined when a record cannot be recognised. */
export function isNewRecord(turn: A2aTurn, record: Incoming, stream: Stream, dialect: Peer['dialect']): boolean | undefined {
  const { messageId, timestamp, parts } = record;
  if (messageId === undefined || timestamp === undefined) return undefined;
  const key: Key = [messageId, timestamp, textOf(parts)];
  const beside = streamsBeside(turn, stream);
  const before = timesTold(stream, key);
  noteTold(stream, key, !beside.some(({ stage }) => stage !== 'ended'));
  // The same record twice on one stream; only the shipped server's pieces may be alike to the millisecond.
  if (before > 0 && dialect === 'rfc' && PRECISE.test(timestamp)) return false;
  // Another stream may have told as many of them.
  return !beside.some((other) => timesTold(other, key) > before);
}
/** How often the record is among the newest of the stream. */
function timesTold({ told }: Stream, [messageId, timestamp, words]: Key): number {
  let times = 0;
  for (let at = told.length - 3; at >= 0; at -= 3) {
    if (told[at] === messageId && told[at + 1] === timestamp && told[at + 2] === words) times += 1;
  }
  return times;
}
function noteTold({ told }: Stream, [messageId, timestamp, words]: Key, isAlone: boolean): void {
  const most = 3 * (isAlone ? REMEMBERED.alone : REMEMBERED.beside);
  told.push(messageId, timestamp, words);
  if (told.length > 2 * most) told.splice(0, told.length - most);
}
/** The other streams that may carry the same records. */
function streamsBeside({ streams }: A2aTurn, stream: Stream): readonly Stream[] {
  if (streams.length === 1) return [];
  return streams.filter((one, at) => one !== stream && (one.stage !== 'ended' || at >= streams.length - ENDED_BESIDE));
}
/** The record came while the task was being read, and is part of what was read. */
export function isCovered(covered: Incoming | null, { messageId, timestamp, parts }: Incoming): boolean {
  if (!covered || messageId === undefined) return false;
  const { messageId: last, parts: lastParts, timestamp: at, history = [] } = covered;
  const read = messageId === last ? lastParts : history.find((one) => one.messageId === messageId)?.parts;
  if (!read) return false;
  if (timestamp !== undefined && at !== undefined) return Date.parse(timestamp) <= Date.parse(at);
  return textOf(read).endsWith(textOf(parts));
}
/** The notification is about another task, or tells nothing newer than the streams. */
export function isKnown(turn: A2aTurn, { timestamp, state, taskId }: Incoming, ours: string | null): boolean {
  if (taskId !== (ours ?? undefined)) return true;
  const isPast = timestamp !== undefined && Date.parse(timestamp) <= Date.parse(turn.timestamp);
  return isPast && (state === (turn.taskState ?? undefined) || !isAtRest(state));
}
export function noteTime(turn: A2aTurn, { timestamp }: Incoming): void {
  // One agent writes all of them alike, so that the later one is the greater text.
  if (timestamp !== undefined && timestamp > turn.timestamp) turn.timestamp = timestamp;
}

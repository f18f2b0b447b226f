import { find, keys, newTable, put, remove, type Table } from '../../conversation/state.ts';
import type { Part } from '../../session/model.ts';
import type { CallSnapshot } from './calls.ts';
import { type Incoming, isAtRest, meaningOf, type PartContent, textOf } from './codec.ts';
import type { DeliveryCheckpoint, Message } from './schema.ts';

/*
 * Records which content of a task was shown, so that a message that arrives again, or the agent's own record of the task, adds only the rest: the number
 * of characters shown of each message, and the whole text of this turn. A message that was shown in part gives its remainder; one with a new id is
 * recognised by the position of its text (docs/protocols/a2a.md §11).
 */

/**
 * Characters of one message that were shown without another message between them. A message that others interrupted has several runs.
 */
interface ShownRun {
  readonly kind: Kind;
  /** The id of the message. */
  readonly id: string;
  length: number;
  /** Where the run ends in all text of this kind in this turn. */
  end: number;
}
type Kind = 'text' | 'thought';
/** Text in the pieces in which it was shown. */
interface PieceList {
  readonly pieces: string[];
  /** Characters of all pieces. */
  length: number;
}
/** The pieces as one text, and where each of them begins in it. */
interface ShownText {
  readonly whole: string;
  readonly starts: readonly number[];
}
type Status = CallSnapshot['status'];

export interface Delivered {
  /** Messages of earlier turns, by kind and id: the number of characters shown. */
  earlierLengths: Table<number>;
  readonly earlierCalls: Table<true>;
  readonly earlierPromptIds: Table<true>;
  /** In the order in which they were shown. Every piece of text adds to them; they are searched only when a record of the task is read. */
  runs: ShownRun[];
  /** All text of this turn. */
  texts: Readonly<Record<Kind, PieceList>>;
  calls: Table<Status>;
  /** The text of artifacts, by their id. */
  readonly artifacts: Table<string>;
  /** Messages whose files and data were shown. */
  readonly attached: Table<true>;
  /** The id of the artifact that a part shows, by the part's id; '' when the artifact was replaced since. */
  artifactParts: Table<string>;
  /** An earlier window has shown the turn. */
  restored: boolean;
  /** The task holds nothing but this turn. */
  ownTask: boolean;
  /** Messages of the user in this turn. */
  promptIds: Table<true>;
  /** The text of the first of them. */
  promptText: string;
}

/** The number of messages of earlier turns that are remembered. Agents give the last 200 in a record. */
const REMEMBERED = 200;
/** Those messages may have come in many pieces, with others between. */
const MOST_RUNS = 5 * REMEMBERED;
/** Limits of a checkpoint. Beyond them a later window recognises text by its position. */
const CHECKPOINT_LIMITS = { names: 50, prompts: 20, prompt: 2000 };
/** The artifact that holds the output of a call. */
export const OUTPUT = /^tool-(.+)-output$/;

/** Content of an agent's record of the task that was not shown yet. */
export interface Unshown {
  readonly said: PartContent;
  readonly messageId: string | undefined;
}

export function newDelivered(): Delivered {
  return {
    earlierLengths: newTable(),
    earlierCalls: newTable(),
    earlierPromptIds: newTable(),
    runs: [],
    texts: noTexts(),
    calls: newTable(),
    artifacts: newTable(),
    attached: newTable(),
    artifactParts: newTable(),
    restored: false,
    ownTask: false,
    promptIds: newTable(),
    promptText: '',
  };
}
function noTexts(): Delivered['texts'] {
  return { text: { pieces: [], length: 0 }, thought: { pieces: [], length: 0 } };
}

/** Begins a turn: everything shown so far belongs to earlier turns. */
export function beginTurn(delivered: Delivered): void {
  for (const { kind, id, length } of delivered.runs) {
    const key = `${kind} ${id}`;
    put(delivered.earlierLengths, key, (find(delivered.earlierLengths, key) ?? 0) + length);
  }
  for (const key of keys(delivered.earlierLengths).slice(0, -REMEMBERED)) remove(delivered.earlierLengths, key);
  for (const id of keys(delivered.calls)) put(delivered.earlierCalls, id, true);
  for (const id of keys(delivered.promptIds)) put(delivered.earlierPromptIds, id, true);
  delivered.runs = [];
  delivered.calls = newTable();
  delivered.artifactParts = newTable();
  delivered.texts = noTexts();
  delivered.promptIds = newTable();
  delivered.promptText = '';
  delivered.ownTask = false;
}

/** Records an outgoing message: in the agent's record of the task, this turn comes after it. */
export function promptSent(delivered: Delivered, messageId: string, text: string): void {
  put(delivered.promptIds, messageId, true);
  if (delivered.promptText === '') delivered.promptText = text;
}

export function textShown(delivered: Delivered, kind: Kind, text: string, messageId: string | undefined): void {
  const shown = delivered.texts[kind];
  shown.pieces.push(text);
  shown.length += text.length;
  if (messageId !== undefined) noteRun(delivered, kind, messageId, text.length, shown.length);
}

/** Nothing of earlier turns was shown by this window. */
export function isFresh(delivered: Delivered): boolean {
  return !delivered.restored && isEmpty(delivered.earlierLengths) && isEmpty(delivered.earlierCalls);
}

/** Records that a piece of an artifact was shown. */
export function artifactShown(delivered: Delivered, id: string, text: string, append: boolean): void {
  if (!append)
    for (const partId of keys(delivered.artifactParts))
      if (find(delivered.artifactParts, partId) === id) put(delivered.artifactParts, partId, '');
  put(delivered.artifacts, id, (append ? (find(delivered.artifacts, id) ?? '') : '') + text);
}

/** Gives the part of an artifact that was not shown yet, and counts it as shown. */
export function restOfArtifact(delivered: Delivered, id: string, whole: string): string {
  const before = find(delivered.artifacts, id) ?? '';
  put(delivered.artifacts, id, whole);
  return whole.startsWith(before) ? whole.slice(before.length) : whole;
}

/** State of this turn for a later window, besides its parts. */
export function checkpointOf(delivered: Delivered): DeliveryCheckpoint {
  const startsOf = (kind: Kind) => shownIn(delivered.texts[kind], REMEMBERED).starts;
  return {
    prompts: keys(delivered.promptIds).slice(-CHECKPOINT_LIMITS.prompts),
    prompt: delivered.promptText.length > CHECKPOINT_LIMITS.prompt ? '' : delivered.promptText,
    names: delivered.runs
      .slice(-CHECKPOINT_LIMITS.names)
      .map(({ kind, id, length, end }): [string, number, number] => [`${kind} ${id}`, length, end]),
    starts: { text: [...startsOf('text')], thought: [...startsOf('thought')] },
    apart: keys(delivered.artifactParts).map((partId): [string, string] => [partId, find(delivered.artifactParts, partId) ?? '']),
    attached: keys(delivered.attached).slice(-CHECKPOINT_LIMITS.names),
    own: delivered.ownTask,
  };
}

/**
 * Restores the state of a turn that an earlier window showed as these parts. Text that was shown after the checkpoint is in no run; it is recognised by
 * its position.
 */
export function restore(
  delivered: Delivered,
  checkpoint: DeliveryCheckpoint,
  parts: readonly Part[],
  calls: Iterable<readonly [string, string, Status]>,
): void {
  delivered.restored = true;
  delivered.promptIds = newTable();
  for (const id of checkpoint.prompts) put(delivered.promptIds, id, true);
  delivered.promptText = checkpoint.prompt;
  delivered.ownTask = checkpoint.own;
  delivered.runs = checkpoint.names.map(([key, length, end]) => {
    const kind = key.startsWith('thought ') ? 'thought' : 'text';
    return { kind, id: key.slice(kind.length + 1), length, end };
  });
  delivered.artifactParts = newTable();
  for (const [partId, artifactId] of checkpoint.apart) put(delivered.artifactParts, partId, artifactId);
  for (const id of checkpoint.attached) put(delivered.attached, id, true);
  for (const [id, , status] of calls) put(delivered.calls, id, status);
  delivered.texts = noTexts();
  for (const artifactId of Object.values(delivered.artifactParts)) remove(delivered.artifacts, artifactId);
  for (const part of parts) {
    if (part.kind !== 'text' && part.kind !== 'thought') continue;
    const artifactId = find(delivered.artifactParts, part.id);
    if (artifactId) put(delivered.artifacts, artifactId, (find(delivered.artifacts, artifactId) ?? '') + part.text);
    if (artifactId !== undefined) continue;
    restorePieces(delivered.texts[part.kind], part.text, checkpoint.starts[part.kind]);
  }
}

/** Adds the text of a part, cut into its pieces; `starts` are their beginnings in the text of the turn. */
function restorePieces(list: PieceList, text: string, starts: readonly number[]): void {
  const from = list.length;
  const cuts = [0, ...starts.map((one) => one - from).filter((one) => one > 0 && one < text.length), text.length];
  for (let at = 1; at < cuts.length; at += 1) list.pieces.push(text.slice(cuts[at - 1], cuts[at]));
  list.length += text.length;
}

/** With `newest`, only the beginnings of that many last pieces. */
function shownIn({ pieces, length }: PieceList, newest = pieces.length): ShownText {
  const starts: number[] = [];
  let end = length;
  for (let at = pieces.length - 1; at >= 0 && starts.length < newest; at -= 1) {
    end -= pieces[at]?.length ?? 0;
    starts.push(end);
  }
  return { whole: newest < pieces.length ? '' : pieces.join(''), starts: starts.reverse() };
}

/** The prompt of this turn arrived, as far as the record shows. */
export function isInRecord(delivered: Delivered, record: Incoming): boolean {
  if (!isEmpty(delivered.calls) || delivered.texts.text.length + delivered.texts.thought.length > 0) return true;
  return sincePrompt(delivered, record, false).anchored || !(record.history ?? []).some(isUsers);
}

/** The record shows a running task, or content that was not shown. */
export function hasUnshown(delivered: Delivered, record: Incoming, isOld: (text: string) => boolean): boolean {
  if (!isAtRest(record.state)) return true;
  const asks = record.state === 'input-required';
  const isNew = ({ said }: Unshown) =>
    said.type !== 'call' || find(delivered.calls, said.call.id) !== said.call.status || (asks && said.call.request !== undefined);
  return unshownOf(delivered, record, isOld).some(isNew);
}

/** The record holds a call that waits for a decision, and no later state of that call has come. */
export function recordAsks(delivered: Delivered, record: Incoming): boolean {
  const { messages, anchored } = sincePrompt(delivered, record, false);
  const calls = messages.flatMap(({ said }) => said.flatMap((one) => (one.type === 'call' ? [[one.call.id, one.call] as const] : [])));
  const begins: readonly (Status | undefined)[] = [undefined, 'pending', 'waiting'];
  return [...new Map(calls).values()].some(
    ({ id, request }) =>
      request !== undefined && begins.includes(find(delivered.calls, id)) && (anchored || find(delivered.earlierCalls, id) === undefined),
  );
}

/**
 * Returns the content of the record that was not shown yet, in order; each call in its last state, at its first position. `isOld` recognises text of earlier
 * turns in messages with unknown ids. A record that a stream sends (`fromStream`) is read only if this turn is found in it.
 */
export function unshownOf(
  delivered: Delivered,
  record: Incoming,
  isOld: (text: string) => boolean,
  fromStream = false,
): readonly Unshown[] {
  const { messages, anchored } = sincePrompt(delivered, record, fromStream);
  const shown = { text: shownIn(delivered.texts.text), thought: shownIn(delivered.texts.thought) };
  const at: Record<Kind, number | undefined> = { text: anchored ? 0 : undefined, thought: anchored ? 0 : undefined };
  const found: Unshown[] = [];
  const calls = new Map<string, number>();
  const pieces = new Map<string, { readonly shown: number; whole: string }>();
  for (const message of messages) {
    const { messageId } = message;
    const skip: Record<Kind, number> = {
      text: skipOf(delivered, pieces, 'text', message),
      thought: skipOf(delivered, pieces, 'thought', message),
    };
    for (const said of message.said) {
      if (said.type === 'call') {
        const { id } = said.call;
        if (!anchored && find(delivered.earlierCalls, id) && find(delivered.calls, id) === undefined) continue;
        const before = calls.get(id);
        if (before !== undefined) found[before] = { said, messageId };
        else calls.set(id, found.push({ said, messageId }) - 1);
      } else if (said.type === 'text' || said.type === 'thought') {
        if (!anchored && skip[said.type] === 0 && isFresh(delivered) && isOld(said.text)) continue;
        const rest = restOf(delivered, shown[said.type], said.type, said.text, messageId, skip, at);
        if (rest !== '') found.push({ said: { ...said, text: rest }, messageId });
      } else if (messageId === undefined || !find(delivered.attached, messageId)) found.push({ said, messageId });
    }
  }
  return found;
}

/**
 * The agent's messages since this turn's prompt (`anchored`). Where the record does not hold the prompt, those behind the last message of an earlier turn.
 */
function sincePrompt(delivered: Delivered, record: Incoming, fromStream: boolean) {
  const history = record.history ?? [];
  let prompt = history.findIndex((one) => isUsers(one) && find(delivered.promptIds, one.messageId ?? '') !== undefined);
  // Where messages keep their ids, one of another id is another message, even with the same text.
  const renamed = !history.some((one) => isUsers(one) && find(delivered.earlierPromptIds, one.messageId ?? '') !== undefined);
  if (prompt < 0 && delivered.promptText !== '' && renamed)
    prompt = history.findLastIndex((one) => isUsers(one) && textOf(one.parts ?? []).trim() === delivered.promptText.trim());
  const anchored = prompt >= 0 || delivered.ownTask;
  const isEarlier = ({ messageId }: Message) =>
    find(delivered.earlierLengths, `text ${messageId}`) !== undefined ||
    find(delivered.earlierLengths, `thought ${messageId}`) !== undefined;
  const from = anchored ? prompt + 1 : history.findLastIndex((one) => !isUsers(one) && isEarlier(one)) + 1;
  const skipped = !anchored && fromStream && !isFresh(delivered);
  const messages = (skipped ? [] : history.slice(from)).filter((one) => !isUsers(one));
  // One id may stand for several pieces.
  const same = messages.findLast((one) => record.messageId !== undefined && one.messageId === record.messageId);
  const last = same === undefined || JSON.stringify(same.parts ?? []) !== JSON.stringify(record.parts);
  return {
    anchored,
    messages: [
      ...messages.map((one) => ({ messageId: one.messageId ?? undefined, said: meaningOf(asRecord(one)) })),
      ...(last ? [{ messageId: record.messageId, said: meaningOf(record) }] : []),
    ],
  };
}

function shownOf(delivered: Delivered, kind: Kind, messageId: string | undefined): number {
  if (messageId === undefined) return 0;
  return extentOf(delivered, kind, messageId).length + (find(delivered.earlierLengths, `${kind} ${messageId}`) ?? 0);
}

/** The characters of a message that were shown in this turn, and where the last of them ends. */
function extentOf({ runs }: Delivered, kind: Kind, id: string | undefined): { readonly length: number; readonly end: number } {
  const whole = { length: 0, end: 0 };
  for (const run of runs) {
    if (run.id !== id || run.kind !== kind) continue;
    whole.length += run.length;
    whole.end = Math.max(whole.end, run.end);
  }
  return whole;
}

/** How many characters of this entry to skip: they were shown, or an earlier entry of the same id (a piece of the message, or a shorter version) has them. */
function skipOf(
  delivered: Delivered,
  pieces: Map<string, { readonly shown: number; whole: string }>,
  kind: Kind,
  { messageId, said }: { readonly messageId: string | undefined; readonly said: readonly PartContent[] },
): number {
  if (messageId === undefined) return 0;
  const key = `${kind} ${messageId}`;
  const text = said.flatMap((one) => (one.type === kind ? one.text : [])).join('');
  const before = pieces.get(key);
  if (!before) {
    const shown = shownOf(delivered, kind, messageId);
    pieces.set(key, { shown, whole: text });
    return shown;
  }
  const { shown, whole } = before;
  const hasGrown = whole !== '' && text.length > whole.length && text.startsWith(whole);
  before.whole = hasGrown ? text : whole + text;
  return hasGrown ? Math.max(shown, whole.length) : Math.max(0, shown - whole.length);
}

/** The text without its beginning that was shown: `skip` characters of its message, or else what the shown text has at the position `at`. */
function restOf(
  delivered: Delivered,
  { whole, starts }: ShownText,
  kind: Kind,
  text: string,
  messageId: string | undefined,
  skip: Record<Kind, number>,
  at: Record<Kind, number | undefined>,
): string {
  if (skip[kind] > 0) {
    const shown = Math.min(skip[kind], text.length);
    skip[kind] -= shown;
    at[kind] = Math.max(at[kind] ?? 0, extentOf(delivered, kind, messageId).end);
    return text.slice(shown);
  }
  const from = at[kind] ?? 0;
  const start = [from, ...starts.filter((one) => one > from)].find((one) => one < whole.length && whole.startsWith(text, one));
  const tail = whole.slice(from);
  const same = start !== undefined ? text.length : tail !== '' && text.startsWith(tail) ? tail.length : 0;
  at[kind] = start !== undefined ? start + same : whole.length;
  if (same > 0 && messageId !== undefined) noteRun(delivered, kind, messageId, same, at[kind] ?? 0);
  return text.slice(same);
}

function noteRun({ runs }: Delivered, kind: Kind, id: string, length: number, end: number): void {
  const last = runs.at(-1);
  if (last?.id === id && last.kind === kind) {
    last.length += length;
    last.end = end;
    return;
  }
  runs.push({ kind, id, length, end });
  if (runs.length > 2 * MOST_RUNS) runs.splice(0, runs.length - MOST_RUNS);
}

function asRecord({ messageId, parts, metadata }: Message): Incoming {
  return { kind: 'message', final: false, parts: parts ?? [], ...(messageId ? { messageId } : {}), ...(metadata ? { metadata } : {}) };
}
function isUsers(message: Message): boolean {
  return !/agent/i.test(message.role ?? '');
}
function isEmpty(table: Table<unknown>): boolean {
  for (const _ in table) return false;
  return true;
}

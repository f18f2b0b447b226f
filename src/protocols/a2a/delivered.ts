import { find, keys, put, remove, type Table } from '../../conversation/state.ts';
import type { Part } from '../../session/model.ts';
import type { CallSnapshot } from './calls.ts';
import { type Incoming, isAtRest, meaningOf, type PartContent, textOf } from './codec.ts';
import type { KeptDelivery, Message } from './schema.ts';

/*
 * Keeps which parts of a task were shown: the length of each message, and all text of this turn in order. From the agent's own record of the task,
 * only the rest is then shown: a message that was shown in part gives its remainder, and one with a new id is recognised by its position
 * (docs/protocols/a2a.md §11).
 */

/**
 * So many characters of a message were shown in one go; the last of them are at `end` among all the turn's words of that kind. `id` is
 * that of the message. One that others came between has several places.
 */
interface ShownRun {
  readonly kind: Kind;
  readonly id: string;
  length: number;
  end: number;
}
type Kind = 'text' | 'thought';
interface Words {
  readonly pieces: string[];
  length: number;
}
/** The same as one text, and where its pieces begin. */
interface ShownText {
  readonly whole: string;
  readonly starts: readonly number[];
}
type Status = CallSnapshot['status'];

export interface Delivered {
  /** Of messages of earlier turns, by kind and id: how many characters were shown. */
  earlier: Table<number>;
  readonly earlierCalls: Table<true>;
  readonly earlierPrompts: Table<true>;
  /** In the order they were shown. They are written with every piece of text, and looked up only when a task is read. */
  places: ShownRun[];
  /** All words of this turn, in the pieces they were shown in. */
  words: Readonly<Record<Kind, Words>>;
  calls: Table<Status>;
  /** Text of artifacts, by their id. */
  readonly works: Table<string>;
  /** Messages whose files and data were shown. */
  readonly attached: Table<true>;
  /** Parts that show an artifact, with its id; '' when the artifact was replaced since. */
  apart: Table<string>;
  restored: boolean;
  /** The task holds nothing but this turn. */
  ownTask: boolean;
  prompts: Table<true>;
  prompt: string;
}

/** Agents give their last 200 messages, so older ids are not asked for. */
const REMEMBERED = 200;
/** Those messages may have come in many pieces, with others between. */
const MOST_PLACES = 5 * REMEMBERED;
/** Limits of a checkpoint; a later window knows the rest by its place. */
const KEPT = { names: 50, prompts: 20, prompt: 2000 };
/** The artifact that holds what a call prints. */
export const OUTPUT = /^tool-(.+)-output$/;

/** Something in an agent's record of the task that was not shown yet. */
export interface Unseen {
  readonly said: PartContent;
  readonly messageId: string | undefined;
}

export function newDelivered(): Delivered {
  return {
    earlier: {},
    earlierCalls: {},
    earlierPrompts: {},
    places: [],
    words: noWords(),
    calls: {},
    works: {},
    attached: {},
    apart: {},
    restored: false,
    ownTask: false,
    prompts: {},
    prompt: '',
  };
}
function noWords(): Delivered['words'] {
  return { text: { pieces: [], length: 0 }, thought: { pieces: [], length: 0 } };
}

/** Begins a turn: everything shown so far belongs to earlier turns. */
export function beginTurn(known: Delivered): void {
  for (const { kind, id, length } of known.places) {
    const key = `${kind} ${id}`;
    put(known.earlier, key, (find(known.earlier, key) ?? 0) + length);
  }
  for (const key of keys(known.earlier).slice(0, -REMEMBERED)) remove(known.earlier, key);
  for (const id of keys(known.calls)) put(known.earlierCalls, id, true);
  for (const id of keys(known.prompts)) put(known.earlierPrompts, id, true);
  known.places = [];
  known.calls = {};
  known.apart = {};
  known.words = noWords();
  known.prompts = {};
  known.prompt = '';
  known.ownTask = false;
}

/** Notes an outgoing message: the agent's record of this turn comes after it. */
export function promptSent(known: Delivered, messageId: string, text: string): void {
  put(known.prompts, messageId, true);
  if (known.prompt === '') known.prompt = text;
}

export function textShown(known: Delivered, kind: Kind, text: string, messageId: string | undefined): void {
  const words = known.words[kind];
  words.pieces.push(text);
  words.length += text.length;
  if (messageId !== undefined) notePlace(known, kind, messageId, text.length, words.length);
}

/** Nothing is known of earlier turns. */
export function isFresh(known: Delivered): boolean {
  return !known.restored && isEmpty(known.earlier) && isEmpty(known.earlierCalls);
}

/** A piece of an artifact was shown. */
export function workShown(known: Delivered, id: string, text: string, append: boolean): void {
  if (!append) for (const partId of keys(known.apart)) if (find(known.apart, partId) === id) put(known.apart, partId, '');
  put(known.works, id, (append ? (find(known.works, id) ?? '') : '') + text);
}

/** Gives the part of an artifact that was not shown yet, and counts it as shown. */
export function restOfWork(known: Delivered, id: string, whole: string): string {
  const before = find(known.works, id) ?? '';
  put(known.works, id, whole);
  return whole.startsWith(before) ? whole.slice(before.length) : whole;
}

/** State of this turn for a later window, besides its parts. */
export function checkpointOf(known: Delivered): KeptDelivery {
  const startsOf = (kind: Kind) => shownIn(known.words[kind], REMEMBERED).starts;
  return {
    prompts: keys(known.prompts).slice(-KEPT.prompts),
    prompt: known.prompt.length > KEPT.prompt ? '' : known.prompt,
    names: known.places.slice(-KEPT.names).map(({ kind, id, length, end }): [string, number, number] => [`${kind} ${id}`, length, end]),
    starts: { text: [...startsOf('text')], thought: [...startsOf('thought')] },
    apart: keys(known.apart).map((partId): [string, string] => [partId, find(known.apart, partId) ?? '']),
    attached: keys(known.attached).slice(-KEPT.names),
    own: known.ownTask,
  };
}

/** This turn is one that an earlier window showed, as these parts. Its place identifies text shown after the checkpoint. */
export function restore(
  known: Delivered,
  kept: KeptDelivery,
  parts: readonly Part[],
  calls: Iterable<readonly [string, string, Status]>,
): void {
  known.restored = true;
  known.prompts = {};
  for (const id of kept.prompts) put(known.prompts, id, true);
  known.prompt = kept.prompt;
  known.ownTask = kept.own;
  known.places = kept.names.map(([key, length, end]) => {
    const kind = key.startsWith('thought ') ? 'thought' : 'text';
    return { kind, id: key.slice(kind.length + 1), length, end };
  });
  known.apart = {};
  for (const [partId, work] of kept.apart) put(known.apart, partId, work);
  for (const id of kept.attached) put(known.attached, id, true);
  for (const [id, , status] of calls) put(known.calls, id, status);
  known.words = noWords();
  for (const work of Object.values(known.apart)) remove(known.works, work);
  for (const part of parts) {
    if (part.kind !== 'text' && part.kind !== 'thought') continue;
    const work = find(known.apart, part.id);
    if (work) put(known.works, work, (find(known.works, work) ?? '') + part.text);
    if (work !== undefined) continue;
    restoreWords(known.words[part.kind], part.text, kept.starts[part.kind]);
  }
}

/** Adds the words of a part, in the pieces that began at `starts` of all words. */
function restoreWords(words: Words, text: string, starts: readonly number[]): void {
  const from = words.length;
  const cuts = [0, ...starts.map((one) => one - from).filter((one) => one > 0 && one < text.length), text.length];
  for (let at = 1; at < cuts.length; at += 1) words.pieces.push(text.slice(cuts[at - 1], cuts[at]));
  words.length += text.length;
}

/** `newest`: only the beginnings of so many pieces. */
function shownIn({ pieces, length }: Words, newest = pieces.length): ShownText {
  const starts: number[] = [];
  let end = length;
  for (let at = pieces.length - 1; at >= 0 && starts.length < newest; at -= 1) {
    end -= pieces[at]?.length ?? 0;
    starts.push(end);
  }
  return { whole: newest < pieces.length ? '' : pieces.join(''), starts: starts.reverse() };
}

/** The record holds this turn, as far as is known: the prompt arrived. */
export function isInRecord(known: Delivered, record: Incoming): boolean {
  if (!isEmpty(known.calls) || known.words.text.length + known.words.thought.length > 0) return true;
  return sincePrompt(known, record, false).anchored || !(record.history ?? []).some(isUsers);
}

/** The record shows a running task, or content that was not shown. */
export function hasUnshown(known: Delivered, record: Incoming, isOld: (text: string) => boolean): boolean {
  if (!isAtRest(record.state)) return true;
  const asks = record.state === 'input-required';
  const isNew = ({ said }: Unseen) =>
    said.type !== 'call' || find(known.calls, said.call.id) !== said.call.status || (asks && said.call.request !== undefined);
  return unseen(known, record, isOld).some(isNew);
}

/** The record holds a call that waits for a decision, and no later state of that call has come. */
export function recordAsks(known: Delivered, record: Incoming): boolean {
  const { messages, anchored } = sincePrompt(known, record, false);
  const calls = messages.flatMap(({ said }) => said.flatMap((one) => (one.type === 'call' ? [[one.call.id, one.call] as const] : [])));
  const begins: readonly (Status | undefined)[] = [undefined, 'pending', 'waiting'];
  return [...new Map(calls).values()].some(
    ({ id, request }) =>
      request !== undefined && begins.includes(find(known.calls, id)) && (anchored || find(known.earlierCalls, id) === undefined),
  );
}

/**
 * Returns the content of the record that was not shown yet, in order; each call in its last state, at its first position. `isOld` recognises text of earlier
 * turns in messages with unknown ids. A record that a stream sends (`passing`) is read only if this turn is found in it.
 */
export function unseen(known: Delivered, record: Incoming, isOld: (text: string) => boolean, passing = false): readonly Unseen[] {
  const { messages, anchored } = sincePrompt(known, record, passing);
  const shown = { text: shownIn(known.words.text), thought: shownIn(known.words.thought) };
  const at: Record<Kind, number | undefined> = { text: anchored ? 0 : undefined, thought: anchored ? 0 : undefined };
  const found: Unseen[] = [];
  const calls = new Map<string, number>();
  const pieces = new Map<string, { readonly shown: number; whole: string }>();
  for (const message of messages) {
    const { messageId } = message;
    const skip: Record<Kind, number> = {
      text: skipOf(known, pieces, 'text', message),
      thought: skipOf(known, pieces, 'thought', message),
    };
    for (const said of message.said) {
      if (said.type === 'call') {
        const { id } = said.call;
        if (!anchored && find(known.earlierCalls, id) && find(known.calls, id) === undefined) continue;
        const before = calls.get(id);
        if (before !== undefined) found[before] = { said, messageId };
        else calls.set(id, found.push({ said, messageId }) - 1);
      } else if (said.type === 'text' || said.type === 'thought') {
        if (!anchored && skip[said.type] === 0 && isFresh(known) && isOld(said.text)) continue;
        const rest = restOf(known, shown[said.type], said.type, said.text, messageId, skip, at);
        if (rest !== '') found.push({ said: { ...said, text: rest }, messageId });
      } else if (messageId === undefined || !find(known.attached, messageId)) found.push({ said, messageId });
    }
  }
  return found;
}

/** The agent's messages since this turn's prompt; all that are not from earlier turns where the prompt is not among them. */
function sincePrompt(known: Delivered, record: Incoming, passing: boolean) {
  const history = record.history ?? [];
  let prompt = history.findIndex((one) => isUsers(one) && find(known.prompts, one.messageId ?? '') !== undefined);
  // Where messages keep their ids, one of another id is another message, even with the same text.
  const renamed = !history.some((one) => isUsers(one) && find(known.earlierPrompts, one.messageId ?? '') !== undefined);
  if (prompt < 0 && known.prompt !== '' && renamed)
    prompt = history.findLastIndex((one) => isUsers(one) && textOf(one.parts ?? []).trim() === known.prompt.trim());
  const anchored = prompt >= 0 || known.ownTask;
  const isEarlier = ({ messageId }: Message) =>
    find(known.earlier, `text ${messageId}`) !== undefined || find(known.earlier, `thought ${messageId}`) !== undefined;
  const from = anchored ? prompt + 1 : history.findLastIndex((one) => !isUsers(one) && isEarlier(one)) + 1;
  const skipped = !anchored && passing && !isFresh(known);
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

function shownOf(known: Delivered, kind: Kind, messageId: string | undefined): number {
  if (messageId === undefined) return 0;
  return placeOf(known, kind, messageId).length + (find(known.earlier, `${kind} ${messageId}`) ?? 0);
}

/** All that was shown of a message in this turn. */
function placeOf({ places }: Delivered, kind: Kind, id: string | undefined): { readonly length: number; readonly end: number } {
  const whole = { length: 0, end: 0 };
  for (const place of places) {
    if (place.id !== id || place.kind !== kind) continue;
    whole.length += place.length;
    whole.end = Math.max(whole.end, place.end);
  }
  return whole;
}

/** Characters of this entry that were shown or were part of earlier entries of its id: pieces of one message, or one entry that grew. */
function skipOf(
  known: Delivered,
  pieces: Map<string, { readonly shown: number; whole: string }>,
  kind: Kind,
  { messageId, said }: { readonly messageId: string | undefined; readonly said: readonly PartContent[] },
): number {
  if (messageId === undefined) return 0;
  const key = `${kind} ${messageId}`;
  const words = said.flatMap((one) => (one.type === kind ? one.text : [])).join('');
  const before = pieces.get(key);
  if (!before) {
    const shown = shownOf(known, kind, messageId);
    pieces.set(key, { shown, whole: words });
    return shown;
  }
  const { shown, whole } = before;
  const hasGrown = whole !== '' && words.length > whole.length && words.startsWith(whole);
  before.whole = hasGrown ? words : whole + words;
  return hasGrown ? Math.max(shown, whole.length) : Math.max(0, shown - whole.length);
}

function restOf(
  known: Delivered,
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
    at[kind] = Math.max(at[kind] ?? 0, placeOf(known, kind, messageId).end);
    return text.slice(shown);
  }
  const from = at[kind] ?? 0;
  const start = [from, ...starts.filter((one) => one > from)].find((one) => one < whole.length && whole.startsWith(text, one));
  const tail = whole.slice(from);
  const same = start !== undefined ? text.length : tail !== '' && text.startsWith(tail) ? tail.length : 0;
  at[kind] = start !== undefined ? start + same : whole.length;
  if (same > 0 && messageId !== undefined) notePlace(known, kind, messageId, same, at[kind] ?? 0);
  return text.slice(same);
}

function notePlace({ places }: Delivered, kind: Kind, id: string, length: number, end: number): void {
  const last = places.at(-1);
  if (last?.id === id && last.kind === kind) {
    last.length += length;
    last.end = end;
    return;
  }
  places.push({ kind, id, length, end });
  if (places.length > 2 * MOST_PLACES) places.splice(0, places.length - MOST_PLACES);
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

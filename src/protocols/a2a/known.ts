import type { Part } from '../../session/model.ts';
import type { KeptKnown } from './kept.ts';
import { meaningOf, type Said } from './meaning.ts';
import { type Incoming, isAtRest } from './records.ts';
import type { Message } from './schema.ts';
import type { Snapshot } from './snapshot.ts';
import { isRecord } from './words.ts';

/** Words of one message that were shown: so many characters, the last of them there among all the turn's words of that kind. */
interface Place {
  length: number;
  end: number;
}
type Kind = 'text' | 'thought';

/** Agents give their last 200 messages: older names are not asked for. */
const KEPT = 200;
/** What is left behind for a later window, which knows the rest by its place. */
const LEFT = { names: 50, prompts: 20, prompt: 2000 };
/** What a call prints, as a work. */
export const OUTPUT = /^tool-(.+)-output$/;

/** A thing an agent's record of the task holds that was not shown yet. */
export interface Unseen {
  readonly said: Said;
  readonly messageId: string | undefined;
}

/**
 * What of a task has been shown: of every message how much, of this turn all words in their order. An agent's record of the task gives only what
 * comes after: a message that was shown in part gives its rest, and one that goes by a new name is known by its place (a2a.md §11).
 */
export class Known {
  #earlier = new Map<string, number>();
  #places = new Map<string, Place>();
  /** The last names among the places, in their order: what is left behind is put together often, the places are many. */
  #lastNames: string[] = [];
  #words: Record<Kind, { whole: string; starts: number[] }> = { text: { whole: '', starts: [] }, thought: { whole: '', starts: [] } };
  #earlierCalls = new Set<string>();
  #calls = new Map<string, Snapshot['status']>();
  #works = new Map<string, string>();
  readonly #attached = new Set<string>();
  /** Parts that show a work, with its id; '' when it was replaced since. */
  #apart = new Map<string, string>();
  #restored = false;
  /** The task holds nothing but this turn. */
  #own = false;
  readonly #earlierPrompts = new Set<string>();
  #prompts = new Set<string>();
  #prompt = '';

  /** A turn begins; what was shown so far belongs to those before it. */
  begin(): void {
    for (const [key, { length }] of this.#places) this.#earlier.set(key, (this.#earlier.get(key) ?? 0) + length);
    for (const key of [...this.#earlier.keys()].slice(0, -KEPT)) this.#earlier.delete(key);
    for (const id of this.#calls.keys()) this.#earlierCalls.add(id);
    for (const id of this.#prompts) this.#earlierPrompts.add(id);
    this.#places = new Map();
    this.#lastNames = [];
    this.#calls = new Map();
    this.#apart = new Map();
    this.#words = { text: { whole: '', starts: [] }, thought: { whole: '', starts: [] } };
    this.#prompts = new Set();
    this.#prompt = '';
    this.#own = false;
  }

  /** This turn has a task to itself: all that the agent's record of it holds is of this turn. */
  ownTask(): void {
    this.#own = true;
  }

  /** What the user says in this turn: the agent's record of the turn comes after it. */
  prompted(message: unknown): void {
    if (!isRecord(message)) return;
    if (typeof message.messageId === 'string') this.#prompts.add(message.messageId);
    const parts = Array.isArray(message.parts) ? message.parts : [];
    if (this.#prompt === '')
      this.#prompt = parts.flatMap((part) => (isRecord(part) && typeof part.text === 'string' ? part.text : [])).join('');
  }

  said(kind: Kind, text: string, messageId: string | undefined): void {
    const words = this.#words[kind];
    words.starts.push(words.whole.length);
    words.whole += text;
    if (messageId !== undefined) this.#place(`${kind} ${messageId}`, text.length, words.whole.length);
  }

  /** Nothing is known of turns before. */
  get fresh(): boolean {
    return !this.#restored && this.#earlier.size === 0 && this.#earlierCalls.size === 0;
  }

  /** What that message had beside words and calls was shown. */
  attached(messageId: string | undefined): void {
    if (messageId !== undefined) this.#attached.add(messageId);
  }

  called(id: string, status: Snapshot['status']): void {
    this.#calls.set(id, status);
  }

  /** That part shows a work, not a message. */
  apart(partId: string, work: string): void {
    this.#apart.set(partId, work);
  }

  /** What a later window has to know of this turn, besides its parts. */
  keep(): KeptKnown {
    const { text, thought } = this.#words;
    return {
      prompts: [...this.#prompts].slice(-LEFT.prompts),
      prompt: this.#prompt.length > LEFT.prompt ? '' : this.#prompt,
      names: this.#lastNames.slice(-LEFT.names).flatMap((key): [string, number, number][] => {
        const place = this.#places.get(key);
        return place ? [[key, place.length, place.end]] : [];
      }),
      starts: { text: text.starts.slice(-KEPT), thought: thought.starts.slice(-KEPT) },
      apart: [...this.#apart],
      attached: [...this.#attached].slice(-LEFT.names),
      own: this.#own,
    };
  }

  /** This turn is one that an earlier window showed: as these parts. What was shown after it was kept is known by its place. */
  restore(kept: KeptKnown, parts: readonly Part[], calls: Iterable<readonly [string, string, Snapshot['status']]>): void {
    this.#restored = true;
    this.#prompts = new Set(kept.prompts);
    this.#prompt = kept.prompt;
    this.#own = kept.own;
    this.#places = new Map(kept.names.map(([key, length, end]) => [key, { length, end }]));
    this.#lastNames = [...this.#places.keys()];
    this.#apart = new Map(kept.apart);
    for (const id of kept.attached) this.#attached.add(id);
    for (const [id, , status] of calls) this.#calls.set(id, status);
    for (const kind of ['text', 'thought'] as const) this.#words[kind] = { whole: '', starts: [...kept.starts[kind]] };
    for (const work of this.#apart.values()) this.#works.delete(work);
    for (const part of parts) {
      if (part.kind !== 'text' && part.kind !== 'thought') continue;
      const work = this.#apart.get(part.id);
      if (work) this.#works.set(work, (this.#works.get(work) ?? '') + part.text);
      if (work !== undefined) continue;
      const words = this.#words[part.kind];
      words.starts.push(words.whole.length);
      words.whole += part.text;
    }
    for (const { starts } of [this.#words.text, this.#words.thought]) starts.sort((a, b) => a - b);
  }

  /** The record holds this turn, as far as can be told: what the user said arrived. */
  isIn(record: Incoming): boolean {
    if (this.#calls.size > 0 || this.#words.text.whole !== '' || this.#words.thought.whole !== '') return true;
    return this.#since(record, false).anchored || !(record.history ?? []).some(isUsers);
  }

  /** The record says that something goes on or has come since, beyond what was shown. */
  hasNews(record: Incoming, old: (text: string) => boolean): boolean {
    if (!isAtRest(record.state)) return true;
    const asks = record.state === 'input-required';
    const isNew = ({ said }: Unseen) =>
      said.type !== 'call' || this.#calls.get(said.call.id) !== said.call.status || (asks && said.call.request !== undefined);
    return this.unseen(record, old).some(isNew);
  }

  /** The record holds a call that waits for a decision, and nothing later was heard of that call. */
  asks(record: Incoming): boolean {
    const { messages, anchored } = this.#since(record, false);
    const last = new Map(
      messages.flatMap(({ said }) => said.flatMap((one) => (one.type === 'call' ? [[one.call.id, one.call] as const] : []))),
    );
    const begins: readonly (Snapshot['status'] | undefined)[] = [undefined, 'pending', 'waiting'];
    return [...last.values()].some(
      ({ id, request }) => request !== undefined && begins.includes(this.#calls.get(id)) && (anchored || !this.#earlierCalls.has(id)),
    );
  }

  /** What of a work was not shown yet; from now on it counts as shown. */
  restOfWork(id: string, whole: string): string {
    const before = this.#works.get(id) ?? '';
    this.#works.set(id, whole);
    return whole.startsWith(before) ? whole.slice(before.length) : whole;
  }

  /** A piece of a work was shown. */
  worked(id: string, text: string, append: boolean): void {
    if (!append) for (const [partId, work] of this.#apart) if (work === id) this.#apart.set(partId, '');
    this.#works.set(id, (append ? (this.#works.get(id) ?? '') : '') + text);
  }

  /**
   * What the record holds beyond what was shown, in order; of every call its last state, where it stood first. `old` knows words of turns before,
   * for messages whose names were never heard. A record that comes by the way (`passing`) is only looked through where this turn can be found in it.
   */
  unseen(record: Incoming, old: (text: string) => boolean, passing = false): readonly Unseen[] {
    const { messages, anchored } = this.#since(record, passing);
    const at: Record<Kind, number | undefined> = { text: anchored ? 0 : undefined, thought: anchored ? 0 : undefined };
    const found: Unseen[] = [];
    const calls = new Map<string, number>();
    const pieces = new Pieces((kind, messageId) => this.#shownOf(kind, messageId));
    for (const message of messages) {
      const { messageId } = message;
      const skip: Record<Kind, number> = { text: pieces.skip('text', message), thought: pieces.skip('thought', message) };
      for (const said of message.said) {
        if (said.type === 'call') {
          const { id } = said.call;
          if (!anchored && this.#earlierCalls.has(id) && !this.#calls.has(id)) continue;
          const before = calls.get(id);
          if (before !== undefined) found[before] = { said, messageId };
          else calls.set(id, found.push({ said, messageId }) - 1);
        } else if (said.type === 'text' || said.type === 'thought') {
          if (!anchored && skip[said.type] === 0 && this.fresh && old(said.text)) continue;
          const rest = this.#rest(said.type, said.text, messageId, skip, at);
          if (rest !== '') found.push({ said: { ...said, text: rest }, messageId });
        } else if (messageId === undefined || !this.#attached.has(messageId)) found.push({ said, messageId });
      }
    }
    return found;
  }

  /** The agent's messages since this turn's prompt; all that are not from before where the prompt is not among them. */
  #since(record: Incoming, passing: boolean) {
    const history = record.history ?? [];
    let prompt = history.findIndex((one) => isUsers(one) && this.#prompts.has(one.messageId ?? ''));
    // Where messages keep their names, one of another name is another, whatever it says.
    const renamed = !history.some((one) => isUsers(one) && this.#earlierPrompts.has(one.messageId ?? ''));
    if (prompt < 0 && this.#prompt !== '' && renamed)
      prompt = history.findLastIndex((one) => isUsers(one) && wordsOf(one).trim() === this.#prompt.trim());
    const anchored = prompt >= 0 || this.#own;
    const isEarlier = ({ messageId }: Message) => this.#earlier.has(`text ${messageId}`) || this.#earlier.has(`thought ${messageId}`);
    const from = anchored ? prompt + 1 : history.findLastIndex((one) => !isUsers(one) && isEarlier(one)) + 1;
    const skipped = !anchored && passing && !this.fresh;
    const messages = (skipped ? [] : history.slice(from)).filter((one) => !isUsers(one));
    // One name may stand for several pieces.
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

  #shownOf(kind: Kind, messageId: string | undefined): number {
    const key = `${kind} ${messageId}`;
    return messageId === undefined ? 0 : (this.#places.get(key)?.length ?? 0) + (this.#earlier.get(key) ?? 0);
  }

  #rest(kind: Kind, text: string, messageId: string | undefined, skip: Record<Kind, number>, at: Record<Kind, number | undefined>): string {
    const { whole, starts } = this.#words[kind];
    const key = `${kind} ${messageId}`;
    if (skip[kind] > 0) {
      const known = Math.min(skip[kind], text.length);
      skip[kind] -= known;
      at[kind] = Math.max(at[kind] ?? 0, this.#places.get(key)?.end ?? 0);
      return text.slice(known);
    }
    const from = at[kind] ?? 0;
    const start = [from, ...starts.filter((one) => one > from)].find((one) => one < whole.length && whole.startsWith(text, one));
    const tail = whole.slice(from);
    const same = start !== undefined ? text.length : tail !== '' && text.startsWith(tail) ? tail.length : 0;
    at[kind] = start !== undefined ? start + same : whole.length;
    if (same > 0 && messageId !== undefined) this.#place(key, same, at[kind] ?? 0);
    return text.slice(same);
  }

  #place(key: string, length: number, end: number): void {
    const place = this.#places.get(key);
    if (!place) {
      this.#lastNames.push(key);
      if (this.#lastNames.length > 2 * LEFT.names) this.#lastNames.splice(0, LEFT.names);
      return void this.#places.set(key, { length, end });
    }
    place.length += length;
    place.end = end;
  }
}

/** Pieces of one message that stand as several entries, or one entry that grew from each to the next. */
class Pieces {
  readonly #shown: (kind: Kind, messageId: string | undefined) => number;
  readonly #before = new Map<string, { readonly shown: number; whole: string }>();

  constructor(shown: (kind: Kind, messageId: string | undefined) => number) {
    this.#shown = shown;
  }

  /** How much of this entry was shown or has stood in those before it. */
  skip(kind: Kind, { messageId, said }: { readonly messageId: string | undefined; readonly said: readonly Said[] }): number {
    if (messageId === undefined) return 0;
    const key = `${kind} ${messageId}`;
    const words = said.flatMap((one) => (one.type === kind ? one.text : [])).join('');
    const before = this.#before.get(key);
    if (!before) {
      const shown = this.#shown(kind, messageId);
      this.#before.set(key, { shown, whole: words });
      return shown;
    }
    const { shown, whole } = before;
    const grew = whole !== '' && words.length > whole.length && words.startsWith(whole);
    before.whole = grew ? words : whole + words;
    return grew ? Math.max(shown, whole.length) : Math.max(0, shown - whole.length);
  }
}

function asRecord({ messageId, parts, metadata }: Message): Incoming {
  return { kind: 'message', final: false, parts: parts ?? [], ...(messageId ? { messageId } : {}), ...(metadata ? { metadata } : {}) };
}

function isUsers(message: Message): boolean {
  return !/agent/i.test(message.role ?? '');
}

function wordsOf(message: Message): string {
  return (message.parts ?? []).flatMap((part) => part.text ?? []).join('');
}

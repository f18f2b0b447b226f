import type { Content, SessionId } from '../src/session/model.ts';
import type { HostConnection } from './host.ts';

/** The view's own memory of a session; never facts of the session. Replaced, never changed in place. */
export interface SessionMemory {
  readonly draft: string;
  readonly attachments: readonly Content[];
  /** Attachments were too large to keep across a reload, until the user has seen it. */
  readonly lost?: true | undefined;
  /** The turn that the draft replaces. */
  readonly replaces?: string | undefined;
  /** The draft is an earlier message for an agent that cannot go back to it. */
  readonly appends?: true | undefined;
  /** The user's own draft, which waits while an earlier message is edited in its place, and the text that the edit began with. */
  readonly aside?: (Unsent & { readonly began: string }) | undefined;
  /** Name in the draft -> its content, of everything chosen after an @. */
  readonly mentions: Readonly<Record<string, Content>>;
  /** Key of a foldable thing -> open or not, where the user chose. */
  readonly unfolded: Readonly<Record<string, boolean>>;
  /** Unsent answers: ask id -> field id -> values. */
  readonly answers: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** Which of several open asks is shown; the oldest when absent or gone. */
  readonly ask?: string;
  /** The turn at the top edge and how far it is scrolled; absent when at the end. */
  readonly scroll?: { readonly turnId: string; readonly offset: number };
}

/** What the user has written and not sent. */
export type Unsent = Pick<SessionMemory, 'draft' | 'attachments' | 'mentions' | 'lost'>;

/** A message of the history, with what it names after an @. */
export type SentMessage = Pick<SessionMemory, 'mentions'> & { readonly text: string };

const EMPTY: SessionMemory = { draft: '', attachments: [], mentions: {}, unfolded: {}, answers: {} };

/** Largest accepted picture, in bytes. */
export const LARGEST_PICTURE = 8 * 1024 * 1024;

const SESSIONS_KEPT = 20;
/** Messages in the history, and characters of one. */
const MOST_SENT = 100;
const LONGEST_SENT = 4000;
const SAVE_AFTER_MS = 300;
/** The wait where attachments are large: each save copies them. */
const SAVE_LARGE_AFTER_MS = 1500;
const LARGE = 500_000;
/** Characters of JSON that all attachments may take across a reload: any one picture. Those of the latest sessions come first. */
const LARGEST_SAVED = 2 * LARGEST_PICTURE;

/** The memory of the view, kept across reloads by the editor. */
export class Ui {
  readonly #host: Pick<HostConnection, 'saved' | 'save'>;
  readonly #memories: Map<SessionId, SessionMemory>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #saveAfterMs = SAVE_AFTER_MS;
  /** The latest messages of all sessions, oldest first: the view belongs to one workspace. */
  #sent: readonly SentMessage[];
  #shown: SessionId = '';

  constructor(host: Pick<HostConnection, 'saved' | 'save'>) {
    this.#host = host;
    this.#memories = new Map(read(host.saved));
    this.#sent = sentIn(host.saved);
  }

  get sent(): readonly SentMessage[] {
    return this.#sent;
  }

  /** Remembers a message for the history of the composer. */
  noteSent(message: SentMessage): void {
    const { text } = message;
    if (text === '' || text.length > LONGEST_SENT) return;
    this.#sent = [...this.#sent.filter((one) => one.text !== text), message].slice(-MOST_SENT);
    this.#saveSoon();
  }

  /** '' holds the draft while there is no session. */
  memory(id: SessionId): SessionMemory {
    return this.#memories.get(id) ?? EMPTY;
  }

  change(id: SessionId, change: Partial<SessionMemory>): void {
    const next = { ...this.memory(id), ...('attachments' in change ? { lost: undefined } : {}), ...change };
    this.#memories.delete(id);
    this.#memories.set(id, next);
    this.#saveSoon();
  }

  /** Moves the draft typed without a session into the session that comes, below the draft it has. */
  adopt(id: SessionId): void {
    const { draft, attachments, mentions, lost } = this.memory('');
    if (draft === '' && attachments.length === 0 && !lost) return;
    const there = this.memory(id);
    this.change('', { draft: '', attachments: [], mentions: {} });
    this.change(id, {
      draft: [there.draft, draft].filter(Boolean).join('\n'),
      attachments: [...there.attachments, ...attachments],
      mentions: { ...there.mentions, ...mentions },
      lost: lost ?? there.lost,
    });
  }

  /** Remembers the session, so that an editor tab shows it again after a reload. */
  show(id: SessionId): void {
    this.#shown = id;
    this.#saveSoon();
  }

  forgetScroll(id: SessionId): void {
    const { scroll: _, ...rest } = this.memory(id);
    this.#memories.set(id, rest);
    this.#saveSoon();
  }

  /** Saves what waits for it. */
  save(): void {
    if (this.#timer !== undefined) this.flush();
  }

  #saveSoon(): void {
    this.#timer ??= setTimeout(() => this.flush(), this.#saveAfterMs);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    let size = 0;
    const fits = (one: Content) => {
      const more = sizeOf(one);
      if (size + more > LARGEST_SAVED) return false;
      size += more;
      return true;
    };
    const latest = [...this.#memories].slice(-SESSIONS_KEPT).reverse();
    const saved = (memory: SessionMemory): SessionMemory => {
      const { aside } = memory;
      return { ...savedUnsent(memory, fits), ...(aside ? { aside: savedUnsent(aside, fits) } : {}) };
    };
    const kept = latest.map(([id, memory]) => [id, saved(memory)]).reverse();
    this.#saveAfterMs = size > LARGE ? SAVE_LARGE_AFTER_MS : SAVE_AFTER_MS;
    this.#host.save({ memories: kept, sent: this.#sent, ...(this.#shown === '' ? {} : { shown: this.#shown }) });
  }
}

function savedUnsent<T extends Unsent>(unsent: T, fits: (one: Content) => boolean): T {
  const attachments = unsent.attachments.filter(fits);
  return { ...unsent, attachments, ...(attachments.length < unsent.attachments.length ? { lost: true } : {}) };
}

const sizes = new WeakMap<Content, number>();

/** Characters of JSON, counted once: contents never change. */
function sizeOf(content: Content): number {
  const size = sizes.get(content) ?? JSON.stringify(content).length;
  sizes.set(content, size);
  return size;
}

function read(saved: unknown): [SessionId, SessionMemory][] {
  if (typeof saved !== 'object' || saved === null || !('memories' in saved) || !Array.isArray(saved.memories)) return [];
  return saved.memories.flatMap((entry: unknown): [SessionId, SessionMemory][] => {
    if (!Array.isArray(entry) || typeof entry[0] !== 'string' || typeof entry[1] !== 'object' || entry[1] === null) return [];
    const memory = { ...EMPTY, ...(entry[1] as Partial<SessionMemory>) };
    return [[entry[0], { ...memory, mentions: contentsOf(memory.mentions) }]];
  });
}

function sentIn(saved: unknown): readonly SentMessage[] {
  if (typeof saved !== 'object' || saved === null || !('sent' in saved) || !Array.isArray(saved.sent)) return [];
  return saved.sent
    .flatMap((one: unknown): SentMessage[] => {
      // As an earlier version stored it.
      if (typeof one === 'string') return [{ text: one, mentions: {} }];
      if (typeof one !== 'object' || one === null) return [];
      const { text, mentions } = one as Partial<SentMessage>;
      return typeof text === 'string' ? [{ text, mentions: contentsOf(mentions ?? {}) }] : [];
    })
    .slice(-MOST_SENT);
}

/** Converts the paths that an earlier version stored. */
function contentsOf(mentions: Readonly<Record<string, Content | string>>): SessionMemory['mentions'] {
  return Object.fromEntries(
    Object.entries(mentions).map(([name, one]) => [name, typeof one === 'string' ? { type: 'file', path: one } : one]),
  );
}

import type { Session, SessionId } from '../session/model.ts';

/** UTF-16 units of a session's text that are searched, and of all texts that are remembered. */
const LONGEST = 1024 * 1024;
const MOST_REMEMBERED = 16 * 1024 * 1024;
/** Milliseconds after which sessions that were not read yet are left out. */
const LIMIT = 2_000;

export interface Searched {
  readonly id: SessionId;
  readonly title: string;
  /** When it last changed. */
  readonly at: number;
}

/** Finds sessions by their titles and by what was said in them. Texts that were read are remembered until their session changes. */
export class SessionSearch {
  readonly #read: (id: SessionId) => Promise<Session | undefined>;
  readonly #now: () => number;
  readonly #texts = new Map<SessionId, { readonly at: number; readonly text: string }>();
  #remembered = 0;

  constructor(read: (id: SessionId) => Promise<Session | undefined>, now: () => number) {
    this.#read = read;
    this.#now = now;
  }

  /** Returns the sessions that contain every word of the query, in the order given. */
  async find<T extends Searched>(query: string, sessions: readonly T[]): Promise<readonly T[]> {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return sessions;
    const until = this.#now() + LIMIT;
    const found: T[] = [];
    for (const session of sessions) {
      const title = session.title.toLowerCase();
      if (words.every((word) => title.includes(word))) found.push(session);
      else if (this.#now() < until) {
        const text = `${title}\n${await this.#textOf(session)}`;
        if (words.every((word) => text.includes(word))) found.push(session);
      }
    }
    return found;
  }

  async #textOf({ id, at }: Searched): Promise<string> {
    const known = this.#texts.get(id);
    if (known?.at === at) return known.text;
    const session = await this.#read(id).catch(() => undefined);
    const text = session ? textOf(session) : '';
    if (this.#remembered + text.length > MOST_REMEMBERED) {
      this.#texts.clear();
      this.#remembered = 0;
    }
    this.#texts.set(id, { at, text });
    this.#remembered += text.length;
    return text;
  }
}

/** Text of the user and the agent, in lower case. */
function textOf({ turns }: Session): string {
  const pieces: string[] = [];
  let length = 0;
  for (const { prompt, parts } of turns) {
    const said = [
      ...prompt.flatMap((one) => (one.type === 'text' ? [one.text] : one.type === 'file' ? [one.path] : [])),
      ...parts.flatMap((part) => (part.kind === 'text' ? [part.text] : part.kind === 'call' ? [part.call.title] : [])),
    ].join('\n');
    pieces.push(said);
    length += said.length;
    if (length > LONGEST) break;
  }
  return pieces.join('\n').slice(0, LONGEST).toLowerCase();
}

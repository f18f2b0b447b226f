import { DEEPEST } from '../base/json.ts';

/** Longer lines are not remembered: too few come, and they may be nested too deeply. */
const LONGEST = 2 * DEEPEST;
/** A text of JSON without escapes, with its quotes. */
const PLAIN = /"[^"\\\u0000-\u001f]*"/y;

type Members = Record<string, unknown>;

/** The members that lead to the text of a message by which the next one of its kind goes on; undefined for all other messages. */
export type TextPath = (message: object) => readonly string[] | undefined;

/**
 * Joins floods of lines of JSON that differ in one text and nothing else: such lines carry one text in pieces, so those that arrive together are
 * one message with the whole text. Only the pieces are parsed. The result is the last line's message, with the texts of all of them.
 */
export class TextRuns {
  readonly #pathOf: TextPath;
  #path: readonly string[] = [];
  #before = '';
  #behind = '';
  /** The message remembered. */
  #message: Members | undefined;
  /** The texts of the lines that were added and not taken yet, as the lines have them: JSON without its quotes. */
  #json: string | undefined;

  constructor(pathOf: TextPath) {
    this.#pathOf = pathOf;
  }

  /** No line was added since the last `take`. */
  get isEmpty(): boolean {
    return this.#json === undefined;
  }

  /** Adds the text of a line that is like the one remembered. False for any other line, which nothing is done with. */
  add(line: string): boolean {
    if (!this.#message) return false;
    const from = this.#before.length;
    const to = line.length - this.#behind.length;
    // Comparing slices is several times as fast as startsWith and endsWith.
    if (to <= from || line.slice(0, from) !== this.#before || line.slice(to) !== this.#behind) return false;
    if (!isText(line, from, to)) return false;
    const json = line.slice(from + 1, to - 1);
    this.#json = this.#json === undefined ? json : this.#json + json;
    return true;
  }

  /** Remembers a line that was parsed whole, when the place of the text in it is certain. Lines that were added are taken before. */
  note(line: string, message: object): void {
    if (line.length > LONGEST) return;
    const path = this.#pathOf(message);
    if (!path) return;
    let text: unknown = message;
    for (const name of path) text = memberOf(text, name);
    // Without escapes the line has the text unchanged; where it has it only once, that is the place.
    if (typeof text !== 'string' || line.includes('\\')) return;
    const quoted = `"${text}"`;
    const at = line.indexOf(quoted);
    if (at < 0 || at !== line.lastIndexOf(quoted)) return;
    this.#before = line.slice(0, at);
    this.#behind = line.slice(at + quoted.length);
    this.#message = message as Members;
    this.#path = path;
  }

  /** The lines that were added since the last call, as one message; undefined when there were none. */
  take(): object | undefined {
    if (this.#json === undefined || !this.#message) return undefined;
    // Parsed at once: a text put together of slices would keep all that was read alive.
    const text: unknown = JSON.parse(`"${this.#json}"`);
    this.#json = undefined;
    return withText(this.#message, this.#path, text);
  }
}

/** From its first quote to its last the line holds a text of JSON. */
function isText(line: string, from: number, to: number): boolean {
  PLAIN.lastIndex = from;
  if (PLAIN.test(line) && PLAIN.lastIndex === to) return true;
  try {
    return typeof JSON.parse(line.slice(from, to)) === 'string';
  } catch {
    return false;
  }
}

/** A copy with another text; what does not lead there is shared. */
function withText(message: Members, path: readonly string[], text: unknown): object {
  const copy = { ...message };
  let holder = copy;
  for (const name of path.slice(0, -1)) {
    const inner = { ...(holder[name] as Members) };
    holder[name] = inner;
    holder = inner;
  }
  holder[path.at(-1) ?? ''] = text;
  return copy;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Members)[name] : undefined;
}

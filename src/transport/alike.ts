import { DEEPEST } from '../base/json.ts';

/** Longer lines are not remembered: too few come, and they may be nested too deeply. */
const LONGEST = 2 * DEEPEST;

type Members = Record<string, unknown>;

/**
 * Reads floods of lines of JSON that differ in one text and nothing else: such a line means what the one remembered meant, with its own text in
 * place, and only that text is parsed. What comes out is always what parsing the whole line gives.
 */
export class TemplateParser {
  readonly #holders: readonly string[];
  readonly #name: string;
  #before = '';
  #behind = '';
  #message: Members | undefined;

  /** `path`: the members that lead to the text. */
  constructor(path: readonly string[]) {
    this.#holders = path.slice(0, -1);
    this.#name = path.at(-1) ?? '';
  }

  /** The message of a line that is like the one remembered; undefined for any other. */
  read(line: string): object | undefined {
    if (!this.#message) return undefined;
    const from = this.#before.length;
    const to = line.length - this.#behind.length;
    // Comparing slices is several times as fast as startsWith and endsWith.
    if (to <= from || line.slice(0, from) !== this.#before || line.slice(to) !== this.#behind) return undefined;
    const text = parsed(line.slice(from, to));
    return typeof text === 'string' ? this.#with(this.#message, text) : undefined;
  }

  /** A line that was parsed whole is remembered when there is no doubt where in it the text stands. */
  note(line: string, message: unknown): void {
    if (line.length > LONGEST) return;
    let holder = message;
    for (const name of this.#holders) holder = memberOf(holder, name);
    const text = memberOf(holder, this.#name);
    // Without escapes a text stands in the line as it is; where it stands only once, that is the place.
    if (typeof text !== 'string' || line.includes('\\')) return;
    const quoted = `"${text}"`;
    const at = line.indexOf(quoted);
    if (at < 0 || at !== line.lastIndexOf(quoted)) return;
    this.#before = line.slice(0, at);
    this.#behind = line.slice(at + quoted.length);
    this.#message = message as Members;
  }

  /** A copy with another text; what does not lead there is shared. */
  #with(message: Members, text: string): object {
    const copy = { ...message };
    let holder = copy;
    for (const name of this.#holders) {
      const inner = { ...(holder[name] as Members) };
      holder[name] = inner;
      holder = inner;
    }
    holder[this.#name] = text;
    return copy;
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Members)[name] : undefined;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

import { readJson } from '../base/json.ts';

/** Longer texts are parsed each by itself: too few come. */
const LONGEST = 4096;
/** Texts in a row that did not fit the template before another one is looked for: a few in the middle of a flood are not worth it. */
const MISSES = 3;
/** Strings in which two texts may differ: an id, a time, the words. Beyond them parsing anew is as fast. */
const MOST_HOLES = 4;
const [QUOTE, BACKSLASH] = ['"', '\\'];

/** Leads to the strings that change: by the names of members, at last to the number of the hole. */
type Route = number | readonly (readonly [name: string | number, inside: Route])[];
/** What two texts have in common: what stands before, between and behind the strings that change, and a value of which only those are new. */
interface Template {
  readonly before: readonly string[];
  readonly behind: string;
  readonly value: object;
  readonly route: Route;
}

/**
 * Parses the texts of one stream, each to what `readJson` gives for it. In a flood most differ from the one before in a few strings only; of those
 * nothing else is read again. Values share what is the same in them, so nobody may change one.
 */
export class TemplateReader {
  #last = '';
  #misses = 0;
  #template: Template | undefined;

  /** undefined for text that is not JSON. */
  read(text: string): unknown {
    const value = this.#template && filled(this.#template, text);
    this.#misses = value ? 0 : this.#misses + 1;
    if (value) return value;
    const parsed = readJson(text);
    if (text.length > LONGEST || typeof parsed !== 'object' || parsed === null) return parsed;
    if (this.#misses >= MISSES) this.#template = templateOf(this.#last, text, parsed) ?? this.#template;
    this.#last = text;
    return parsed;
  }
}

/** The value of a text that fits, otherwise undefined. */
function filled({ before, behind, value, route }: Template, text: string): object | undefined {
  const strings: string[] = [];
  let at = 0;
  for (const part of before) {
    // Comparing slices is several times as fast as startsWith and endsWith.
    if (text.slice(at, at + part.length) !== part) return undefined;
    at += part.length;
    const end = text.indexOf(QUOTE, at);
    if (end < 0 || text[end - 1] === BACKSLASH) return undefined;
    try {
      // Parsed, not cut out: a slice would keep all that was read alive.
      strings.push(JSON.parse(text.slice(at - 1, end + 1)) as string);
    } catch {
      return undefined;
    }
    at = end;
  }
  return text.slice(at) === behind ? (copyOf(value, route, strings) as object) : undefined;
}

function copyOf(value: unknown, route: Route, strings: readonly string[]): unknown {
  if (typeof route === 'number') return strings[route];
  const copy = (Array.isArray(value) ? value.slice() : { ...(value as object) }) as Record<string | number, unknown>;
  for (const [name, inside] of route) copy[name] = copyOf(copy[name], inside, strings);
  return copy;
}

/** Undefined where the texts differ in anything but a few strings, or their places in the value are not certain. `value`: of the second. */
function templateOf(first: string, second: string, value: object): Template | undefined {
  const quotes = quotesIn(second);
  const others = quotesIn(first);
  if (!quotes || quotes.length !== others?.length) return undefined;
  const before: string[] = [];
  const holes = new Map<number, number>();
  let [from, at, other] = [0, 0, 0];
  for (let quote = 0; quote < quotes.length; quote += 2) {
    const [begin, end] = [quotes[quote] ?? 0, quotes[quote + 1] ?? 0];
    const [otherBegin, otherEnd] = [others[quote] ?? 0, others[quote + 1] ?? 0];
    if (second.slice(at, begin) !== first.slice(other, otherBegin)) return undefined;
    if (second.slice(begin, end) !== first.slice(otherBegin, otherEnd)) {
      if (holes.size === MOST_HOLES) return undefined;
      holes.set(quote / 2, holes.size);
      before.push(second.slice(from, begin + 1));
      from = end;
    }
    [at, other] = [end, otherEnd];
  }
  if (holes.size === 0 || second.slice(at) !== first.slice(other)) return undefined;
  const strings = new Strings(second, quotes);
  const route = routeIn(value, strings, holes);
  return route && strings.isOver ? { before, behind: second.slice(from), value, route } : undefined;
}

/** Where the strings of a text begin and end; undefined for a text with escapes, in which not each quote is one of those. */
function quotesIn(text: string): readonly number[] | undefined {
  if (text.includes(BACKSLASH)) return undefined;
  const found: number[] = [];
  for (let at = text.indexOf(QUOTE); at >= 0; at = text.indexOf(QUOTE, at + 1)) found.push(at);
  return found;
}

/** The strings of a text, names of members and values alike, in their order. */
class Strings {
  #at = 0;
  readonly #text: string;
  readonly #quotes: readonly number[];

  constructor(text: string, quotes: readonly number[]) {
    this.#text = text;
    this.#quotes = quotes;
  }

  get isOver(): boolean {
    return 2 * this.#at === this.#quotes.length;
  }

  /** The number of the next string; undefined when it is another one. */
  next(expected: string): number | undefined {
    const [begin = 0, end = 0] = this.#quotes.slice(2 * this.#at, 2 * this.#at + 2);
    return this.#text.slice(begin + 1, end) === expected ? this.#at++ : undefined;
  }
}

/**
 * The way to the holes. Undefined where the strings of the value are not those of the text, one after the other: members that stand there twice, or
 * in another order, or were left out.
 */
function routeIn(value: unknown, strings: Strings, holes: ReadonlyMap<number, number>): Route | undefined {
  const route: (readonly [string | number, Route])[] = [];
  if (typeof value === 'string') {
    const number = strings.next(value);
    return number === undefined ? undefined : (holes.get(number) ?? route);
  }
  if (typeof value !== 'object' || value === null) return route;
  const isList = Array.isArray(value);
  for (const [name, inner] of isList ? value.entries() : Object.entries(value)) {
    if (!isList) {
      const number = strings.next(String(name));
      // A changed name is no value, and `__proto__` cannot be set.
      if (number === undefined || holes.has(number) || name === '__proto__') return undefined;
    }
    const way = routeIn(inner, strings, holes);
    if (way === undefined) return undefined;
    if (typeof way === 'number' || way.length > 0) route.push([name, way]);
  }
  return route;
}

/** Levels of lists and objects in one value. Nothing real comes near; what goes far beyond cannot be written as JSON again. */
export const DEEPEST = 256;
/** Members of the large objects of one text, together. Reading, copying and writing an object of many names costs far more than its text. */
export const MOST_MEMBERS = 10_000;
/**
 * Values of one message of an agent, which are made at once: of small ones a megabyte takes longer than a hundred of text. Agents that send more send
 * it in pieces, or as text.
 */
export const MOST_VALUES = 300_000;
/** Members of an object that do not count. */
const FREE_MEMBERS = 100;
/** So many members do not fit into less. */
const LARGE = 5 * MOST_MEMBERS;

/**
 * JSON.parse for text from outside: values nested deeper than `DEEPEST`, and members beyond `MOST_MEMBERS`, are replaced by words that say so.
 * Throws on text that is not JSON, and beyond `most` values.
 */
export function parseJson(text: string, onCut?: () => void, most = Number.POSITIVE_INFINITY): unknown {
  // So many brackets do not fit into less.
  if (text.length <= 2 * DEEPEST) return JSON.parse(text);
  if (text.length <= LARGE) return shallow(JSON.parse(text), onCut);
  const { isDeep, surplus } = new Outline(text, most);
  const value: unknown = JSON.parse(surplus.length === 0 ? text : without(text, surplus));
  if (isDeep) return shallow(value, onCut);
  if (surplus.length > 0) onCut?.();
  return value;
}

/** The same; undefined for text that is not JSON. */
export function readJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function shallow(value: unknown, onCut: (() => void) | undefined): unknown {
  if (!isDeeper(value, DEEPEST)) return value;
  onCut?.();
  return cut(value, DEEPEST);
}

/** The same value when it is not nested too deeply, otherwise a copy without the deep parts. */
export function cutDeep<T>(value: T): T {
  return isDeeper(value, DEEPEST) ? (cut(value, DEEPEST) as T) : value;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const inner of value) if (isDeeper(inner, levels - 1)) return true;
    return false;
  }
  for (const name in value) if (isDeeper((value as Record<string, unknown>)[name], levels - 1)) return true;
  return false;
}

function cut(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) return `… (nested more than ${DEEPEST} deep, left out)`;
  if (Array.isArray(value)) return value.map((inner) => cut(inner, levels - 1));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cut(inner, levels - 1)]));
}

/** The last members of an object: from the comma before them up to the object's end. */
interface Surplus {
  readonly from: number;
  readonly to: number;
  readonly members: number;
}

function without(text: string, surplus: readonly Surplus[]): string {
  let kept = '';
  let at = 0;
  for (const { from, to, members } of surplus) {
    kept += `${text.slice(at, from)},"…":"${members} more, left out"`;
    at = to;
  }
  return kept + text.slice(at);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN = 0x7b;
const CLOSE = 0x7d;
/** In place of a count of members. */
const LIST = -1;

/** How deep a text of JSON is nested and how many members its objects have, found in one pass without making a value of it. */
class Outline {
  isDeep = false;
  readonly surplus: Surplus[] = [];
  /** Of each list and object that is open: `LIST`, or how many commas its members have had. */
  readonly #open: number[] = [];
  #counted = 0;
  /** The object whose members are too many, while its end is looked for. */
  #cut: { readonly level: number; readonly from: number } | undefined;

  constructor(text: string, most: number) {
    // Each value follows one of these signs.
    let signs = 0;
    for (let at = 0; at < text.length; at++) {
      const sign = text.charCodeAt(at);
      if (sign === QUOTE) {
        at = endOfString(text, at);
        if (at < 0) return;
      } else if (sign === COMMA) {
        signs += 1;
        this.#comma(at);
      } else if (sign === OPEN || sign === OPEN_LIST) {
        signs += 1;
        this.#begin(sign === OPEN ? 0 : LIST);
      } else if (sign === CLOSE || sign === CLOSE_LIST) this.#end(at);
      if (signs > most) throw new Error(`more than ${most} values`);
    }
  }

  #begin(count: number): void {
    this.#open.push(count);
    if (this.#open.length > DEEPEST) this.isDeep = true;
  }

  #comma(at: number): void {
    const level = this.#open.length - 1;
    const count = this.#open[level];
    if (count === undefined || count === LIST) return;
    this.#open[level] = count + 1;
    if (count < FREE_MEMBERS || this.#cut) return;
    this.#counted += 1;
    if (this.#counted <= MOST_MEMBERS) return;
    this.#open[level] = 1;
    this.#cut = { level, from: at };
  }

  #end(to: number): void {
    const members = this.#open.pop() ?? 0;
    if (!this.#cut || this.#cut.level !== this.#open.length) return;
    this.surplus.push({ from: this.#cut.from, to, members });
    this.#cut = undefined;
  }
}

/** Where the string ends that begins there; -1 when it does not end. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; ; at++) {
    at = nextQuote(text, at);
    if (at < 0) return -1;
    let before = at;
    while (text.charCodeAt(before - 1) === BACKSLASH) before -= 1;
    if ((at - before) % 2 === 0) return at;
  }
}

/** Quotes may be close together, and each search by the engine costs more than a few steps. */
function nextQuote(text: string, from: number): number {
  const near = Math.min(text.length, from + 32);
  for (let at = from; at < near; at++) if (text.charCodeAt(at) === QUOTE) return at;
  return text.indexOf('"', near);
}

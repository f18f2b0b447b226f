/** Characters a `*` and a `?` of a glob may stand for: any but a slash in a path, any at all in a text such as a command line. */
export type GlobKind = 'path' | 'text';

/**
 * One position of a glob. `star` and `globstar` stand for any run of characters, `folders` for nothing or a run that ends in a slash, `set` for one
 * character of a class.
 */
type Token =
  | { readonly type: 'literal'; readonly code: number }
  | { readonly type: 'one' | 'star' | 'globstar' | 'folders' }
  | { readonly type: 'set'; readonly negated: boolean; readonly ranges: readonly (readonly [number, number])[] };

/** Longest glob in characters; a longer one matches nothing. */
const LONGEST = 2000;
/** Most alternatives that the braces of one glob may expand to. */
const MOST_ALTERNATIVES = 256;

/**
 * A predicate for a glob over whole texts: `*` any run within a path segment (anywhere for `text`), `**` any run, `**` and a slash any number of
 * folders, `?` one character. Runs in time proportional to the text, at worst to glob times text: positions are followed together, nothing is tried
 * twice.
 */
export function globMatcher(glob: string, kind: GlobKind): (text: string) => boolean {
  return matcherOf(tokensOf(glob, { classes: false }), kind);
}

/** A word of a command line, and the names under which a command may start at it. */
export interface GlobWord {
  readonly text: string;
  readonly starts: readonly string[];
  /** The shell puts something in its place, which may be nothing or an option. */
  readonly expands: boolean;
  /** The pattern of what a shell may expand it to where that is unknown, with `*` for any run and `?` for one character. */
  readonly guess: string | undefined;
  /** The same for names under which a command may start at it. */
  readonly guessedStarts: readonly string[];
}

/**
 * A predicate for a glob over command lines: it matches from any start, and passes over options with their values where they come before a word that
 * the glob names (`git push*` matches `git -C . push`). A word behind an option may be its value or not: either way counts. Linear as `globMatcher`.
 */
export function wordsMatcher(glob: string): (words: readonly GlobWord[]) => boolean {
  const tokens = tokensOf(glob, { classes: false });
  if (tokens.length > LONGEST) return () => false;
  const automaton = new Automaton(tokens, 'text');
  return (words) => automaton.matchesWords(words);
}

/**
 * A predicate for command lines in which words are not known: true where they may be what the glob names up to its first star. What stands behind the
 * star says too little to doubt a command for.
 */
export function wordsGuesser(glob: string): (words: readonly GlobWord[]) => boolean {
  const star = glob.indexOf('*');
  const tokens = tokensOf(star < 0 ? glob : glob.slice(0, star + 1), { classes: false });
  if (star === 0 || tokens.length > LONGEST) return () => false;
  const automaton = new Automaton(tokens, 'text');
  return (words) => words.some((word) => word.guess !== undefined || word.guessedStarts.length > 0) && automaton.matchesWords(words, true);
}

/**
 * A predicate for the globs of search tools: as `globMatcher` for paths, and also braces (`{a,b}`), classes (`[a-z]`, `[!a]`) and a backslash that
 * takes the next character literally. Throws an Error with a sentence when the glob is too large.
 */
export function searchGlob(glob: string): (path: string) => boolean {
  const all = alternatives(glob).map((one) => matcherOf(tokensOf(one, { classes: true }), 'path'));
  return (path) => all.some((matches) => matches(path));
}

/** A predicate for one pattern of a .gitignore without its marks (`!`, slashes around): as `globMatcher` for paths, with classes and the backslash. */
export function gitGlob(glob: string): (path: string) => boolean {
  return matcherOf(tokensOf(glob, { classes: true }), 'path');
}

/** A glob that was read, to be compared with others. */
export interface ReadGlob {
  readonly tokens: readonly Token[];
}
export function readGlob(glob: string): ReadGlob {
  return { tokens: tokensOf(glob, { classes: false }) };
}

/** True when a path may match both globs. Takes time proportional to the product of their lengths. Of `**` and a slash only the run counts. */
export function globsMeet({ tokens: left }: ReadGlob, { tokens: right }: ReadGlob): boolean {
  if (left.length > LONGEST || right.length > LONGEST) return true;
  if (differs(left[0], right[0]) || differs(left.at(-1), right.at(-1))) return false;
  const width = right.length + 1;
  // Pairs of positions that are reached by the same characters.
  const reached = new Uint8Array((left.length + 1) * width);
  reached[0] = 1;
  for (let at = 0; at < reached.length; at += 1) {
    if (reached[at] === 0) continue;
    const [one, other] = [left[Math.floor(at / width)], right[at % width]];
    if (one && isRun(one)) reached[at + width] = 1;
    if (other && isRun(other)) reached[at + 1] = 1;
    if (one && other && share(one, other)) reached[at + (isRun(one) ? 0 : width) + (isRun(other) ? 0 : 1)] = 1;
  }
  return reached.at(-1) === 1;
}
function isRun({ type }: Token): boolean {
  return type === 'star' || type === 'globstar' || type === 'folders';
}
/** Some character is one that both stand for. */
function share(one: Token, other: Token): boolean {
  if (one.type === 'literal') return takesLiteral(other, one.code);
  return other.type !== 'literal' || takesLiteral(one, other.code);
}
function takesLiteral(token: Token, code: number): boolean {
  if (token.type === 'literal') return token.code === code;
  return code !== SLASH || token.type === 'globstar' || token.type === 'folders';
}
function differs(one: Token | undefined, other: Token | undefined): boolean {
  return one?.type === 'literal' && other?.type === 'literal' && one.code !== other.code;
}

function matcherOf(tokens: readonly Token[], kind: GlobKind): (text: string) => boolean {
  if (tokens.length > LONGEST) return () => false;
  const automaton = new Automaton(tokens, kind);
  return (text) => automaton.matches(text);
}

/** A set of positions, and the sets that follow it: a character that was read here before costs one look-up. */
interface State {
  readonly positions: readonly number[];
  readonly next: Map<number, State>;
  /** Returns the union of this state and another one. */
  readonly with: Map<State, State>;
}
const NOWHERE: State = { positions: [], next: new Map(), with: new Map() };
/** Characters of which an automaton remembers what follows them. A glob that needs more is read without remembering, in time glob times text. */
const MOST_REMEMBERED = 4000;
/** Stands for every character that the glob does not name. */
const OTHER = -1;

/** The automaton of the tokens: the set of positions that are reachable after each character. */
class Automaton {
  readonly #tokens: readonly Token[];
  readonly #kind: GlobKind;
  /** Characters that differ from others for this glob; undefined where classes tell many apart. */
  readonly #named: ReadonlySet<number> | undefined;
  readonly #states = new Map<string, State>();
  readonly #first: State;
  readonly #now: PositionSet;
  #remembered = 0;

  constructor(tokens: readonly Token[], kind: GlobKind) {
    this.#tokens = tokens;
    this.#kind = kind;
    const literals = tokens.flatMap((token) => (token.type === 'literal' ? [token.code] : []));
    this.#named = tokens.some(({ type }) => type === 'set') ? undefined : new Set([SLASH, ...literals]);
    this.#now = new PositionSet(tokens.length + 1);
    enter(tokens, this.#now, 0);
    this.#first = this.#stateOf(this.#now.all());
  }

  matches(text: string): boolean {
    return this.#isEnd(this.#read(this.#first, text));
  }

  /** `guesses`: words that are not known are all they may be. */
  matchesWords(words: readonly GlobWord[], guesses = false): boolean {
    // The states after the words so far, with options passed over or read; and those before the option that may take this word as its value.
    let [now, beforeOption] = [NOWHERE, NOWHERE];
    let read = NOWHERE;
    for (const { text, starts, expands, guess, guessedStarts } of words) {
      const before = now === NOWHERE ? NOWHERE : this.#read(now, ' ');
      read = this.#read(before, text);
      for (const name of starts) read = this.#joined(read, this.#read(this.#first, name));
      if (guesses && guess !== undefined) read = this.#joined(read, this.#readGuess(before, guess));
      if (guesses) for (const name of guessedStarts) read = this.#joined(read, this.#readGuess(this.#first, name));
      // Most words are behind one that the glob does not name.
      if (now === NOWHERE && beforeOption === NOWHERE && read.positions.length === 0) continue;
      const isOption = expands || text.startsWith('-');
      const behind = beforeOption;
      beforeOption = isOption && !text.includes('=') ? now : NOWHERE;
      now = this.#joined(this.#joined(read, behind), isOption ? now : NOWHERE);
      if (now.positions.length === 0) now = NOWHERE;
    }
    return this.#isEnd(read);
  }

  #read(from: State, text: string): State {
    let state = from;
    for (let at = 0; at < text.length && state.positions.length > 0; ) {
      const code = text.codePointAt(at) ?? 0;
      at += code > 0xffff ? 2 : 1;
      const name = this.#named && !this.#named.has(code) ? OTHER : code;
      state = state.next.get(name) ?? this.#step(state, code, name);
    }
    return state;
  }

  /** The state after each text that the guess stands for. */
  #readGuess(from: State, guess: string): State {
    if (!/[*?]/.test(guess)) return this.#read(from, guess);
    let state = from;
    for (const sign of guess) {
      const [least] = state.positions.toSorted((a, b) => a - b);
      if (least === undefined) return state;
      if (sign === '*') state = this.#stateOf(range(least, this.#tokens.length + 1));
      else if (sign === '?') state = this.#stateOf(this.#behindAny(state));
      else state = this.#read(state, sign);
    }
    return state;
  }

  /** The positions behind any one character. */
  #behindAny({ positions }: State): readonly number[] {
    this.#now.clear();
    for (const position of positions) {
      const type = this.#tokens[position]?.type;
      if (type === undefined) continue;
      enter(this.#tokens, this.#now, type === 'literal' || type === 'one' || type === 'set' ? position + 1 : position);
    }
    return this.#now.all();
  }

  #isEnd({ positions }: State): boolean {
    return positions.includes(this.#tokens.length);
  }

  #joined(one: State, other: State): State {
    if (other.positions.length === 0 || one === other) return one;
    if (one.positions.length === 0) return other;
    const known = one.with.get(other);
    if (known) return known;
    const both = this.#stateOf([...new Set([...one.positions, ...other.positions])]);
    if (this.#remembered >= MOST_REMEMBERED) return both;
    this.#remembered += 1;
    one.with.set(other, both);
    return both;
  }

  #step(state: State, code: number, name: number): State {
    const next = this.#now;
    next.clear();
    const slash = code === SLASH && this.#kind === 'path';
    for (const position of state.positions) {
      const token = this.#tokens[position];
      if (!token) continue;
      if (token.type === 'globstar' || (token.type === 'star' && !slash)) enter(this.#tokens, next, position);
      // Only after a slash is the run of folders over.
      if (token.type === 'folders') next.add(position);
      if (token.type === 'folders' ? code === SLASH : takes(token, code, slash)) enter(this.#tokens, next, position + 1);
    }
    if (this.#remembered >= MOST_REMEMBERED) return { positions: next.all(), next: new Map(), with: new Map() };
    this.#remembered += 1;
    const reached = this.#stateOf(next.all());
    state.next.set(name, reached);
    return reached;
  }

  #stateOf(positions: readonly number[]): State {
    const key = positions.toSorted((a, b) => a - b).join();
    const known = this.#states.get(key);
    if (known) return known;
    const state: State = { positions, next: new Map(), with: new Map() };
    this.#states.set(key, state);
    return state;
  }
}
const SLASH = 0x2f;

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, at) => from + at);
}

/** Adds a position and those that follow it without a character. */
function enter(tokens: readonly Token[], positions: PositionSet, from: number): void {
  for (let position = from; ; position++) {
    positions.add(position);
    const type = tokens[position]?.type;
    if (type !== 'star' && type !== 'globstar' && type !== 'folders') return;
  }
}

/** True when a token that stands for exactly one character stands for this one. */
function takes(token: Token, code: number, slash: boolean): boolean {
  if (token.type === 'literal') return token.code === code;
  if (token.type === 'one') return !slash;
  return token.type === 'set' && !slash && token.ranges.some(([from, to]) => code >= from && code <= to) !== token.negated;
}

/** A set of small numbers in the order they were added, cleared in constant time. */
class PositionSet {
  readonly #list: Int32Array;
  readonly #place: Int32Array;
  count = 0;

  constructor(size: number) {
    this.#list = new Int32Array(size);
    this.#place = new Int32Array(size);
  }

  has(position: number): boolean {
    const place = this.#place[position] ?? 0;
    return place < this.count && this.#list[place] === position;
  }

  add(position: number): void {
    if (this.has(position)) return;
    this.#list[this.count] = position;
    this.#place[position] = this.count;
    this.count += 1;
  }

  all(): readonly number[] {
    return Array.from(this.#list.subarray(0, this.count));
  }

  clear(): void {
    this.count = 0;
  }
}

function tokensOf(glob: string, { classes }: { readonly classes: boolean }): readonly Token[] {
  const tokens: Token[] = [];
  const push = (token: Token) => {
    // Neighbouring runs say no more than one of them.
    if (token.type === 'star' && tokens.at(-1)?.type === 'star') return;
    tokens.push(token);
  };
  for (let at = 0; at < glob.length; ) {
    const rest = glob.startsWith('**/', at) ? '**/' : glob.startsWith('**', at) ? '**' : '';
    const code = glob.codePointAt(at) ?? 0;
    const character = String.fromCodePoint(code);
    const set = classes && character === '[' ? classAt(glob, at) : undefined;
    if (rest !== '') push({ type: rest === '**/' ? 'folders' : 'globstar' });
    else if (character === '*') push({ type: 'star' });
    else if (character === '?') push({ type: 'one' });
    else if (set) push(set.token);
    else if (classes && character === '\\' && at + 1 < glob.length) {
      const escaped = glob.codePointAt(at + 1) ?? 0;
      push({ type: 'literal', code: escaped });
      at += String.fromCodePoint(escaped).length;
    } else push({ type: 'literal', code });
    at += set ? set.length : rest !== '' ? rest.length : character.length;
  }
  return tokens;
}

/** The class that begins at a bracket, with its length in the glob; undefined when the bracket is never closed. */
function classAt(glob: string, at: number): { readonly token: Token; readonly length: number } | undefined {
  const negated = glob[at + 1] === '!' || glob[at + 1] === '^';
  const first = at + (negated ? 2 : 1);
  // A bracket that comes first is a member.
  const close = glob.indexOf(']', first + 1);
  if (close < 0) return undefined;
  const members = [...glob.slice(first, close).replaceAll('\\', '')].map((one) => one.codePointAt(0) ?? 0);
  const ranges: [number, number][] = [];
  for (let index = 0; index < members.length; index++) {
    const from = members[index] ?? 0;
    const ranged = members[index + 1] === 0x2d && index + 2 < members.length;
    ranges.push([from, ranged ? (members[index + 2] ?? from) : from]);
    if (ranged) index += 2;
  }
  return { token: { type: 'set', negated, ranges }, length: close + 1 - at };
}

/** A glob without braces for each choice the braces give. Throws when there are too many. */
function alternatives(glob: string): readonly string[] {
  const done: string[] = [];
  const open = [glob];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    const group = innermostBraces(one);
    if (!group) done.push(one);
    else for (const choice of group.choices) open.push(one.slice(0, group.from) + choice + one.slice(group.to));
    if (done.length + open.length > MOST_ALTERNATIVES || one.length > LONGEST) throw new Error('The glob has too many alternatives.');
  }
  return done;
}

/** The first pair of braces with a comma and no braces within. */
function innermostBraces(glob: string): { readonly from: number; readonly to: number; readonly choices: readonly string[] } | undefined {
  let from = -1;
  for (let at = 0; at < glob.length; at++) {
    const character = glob[at];
    if (character === '\\') at += 1;
    else if (character === '{') from = at;
    else if (character === '}' && from >= 0) {
      const choices = glob.slice(from + 1, at).split(',');
      if (choices.length > 1) return { from, to: at + 1, choices };
      from = -1;
    }
  }
  return undefined;
}

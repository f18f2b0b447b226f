/** One word of a command line as the shell hands it on, as far as its text alone tells. */
export interface ShellWord {
  /** Without quotes and escapes; variables and substitutions stay as they are written. */
  readonly text: string;
  /** Its place, in UTF-16 units of the whole text. */
  readonly from: number;
  readonly to: number;
  /** A part of it is put in by the shell: a variable, a substitution, an escape that hides a character. */
  readonly expands: boolean;
  /** The output of a command is a part of it. */
  readonly substitutes: boolean;
  /** The place in the source from which `text` is unchanged; undefined where it was put together. */
  readonly plainFrom?: number;
}
/** One program with its arguments. */
export interface ShellCommand {
  readonly words: readonly ShellWord[];
  /** Files it reads from or writes to. `>` is any redirection that writes. */
  readonly redirections: readonly { readonly op: '<' | '>'; readonly word: ShellWord }[];
  /** Texts it is given by here-documents and here-strings. */
  readonly inputs: readonly ShellWord[];
  /** Reads the output of the command before it. */
  readonly piped: boolean;
  /** Runs only after the command before it has succeeded, in the same shell. */
  readonly joined: boolean;
  /** Runs only after the command before it has failed: what follows may run although this one did not. */
  readonly instead: boolean;
}

/** How quotes and escapes are read. On Windows a backslash parts folders. */
export type ShellDialect = 'posix' | 'powershell' | 'cmd';

/** The text with each line that an escape continues on the next one as one line, for any of the shells. A text that escapes the escape reads otherwise. */
export function withLinesJoined(text: string): string {
  return text.replace(/[\\^`]\r?\n/g, '');
}

/** Nested substitutions that are followed; what lies deeper is reported as not read. */
const DEEPEST = 12;

/**
 * The commands of a command line in their order, those of substitutions before the command they are a part of. Understands what the usual shells
 * have in common, takes linear time and reports what it cannot follow, or what lies behind the `most` commands (`complete: false`).
 */
export function shellCommands(
  text: string,
  dialect: ShellDialect,
  most = Number.POSITIVE_INFINITY,
): { readonly commands: readonly ShellCommand[]; readonly complete: boolean } {
  const reader = new ShellReader(text, dialect, most);
  reader.readCommands('', 0);
  return { commands: reader.commands, complete: !reader.tooDeep };
}

interface OpenWord {
  text: string;
  readonly from: number;
  expands: boolean;
  substitutes: boolean;
  /** Quotes or escapes stood in it. */
  changed: boolean;
}

/** The ways in which a command ends. */
type Stop = 'next' | 'and' | 'or' | 'pipe' | 'end';

class ShellReader {
  readonly commands: ShellCommand[] = [];
  tooDeep = false;
  readonly #text: string;
  readonly #escape: string;
  readonly #dialect: ShellDialect;
  readonly #most: number;
  /** Two percent signs: cmd.exe may put in what a variable holds. */
  readonly #hasVariables: boolean;
  #at = 0;
  /** Here-documents whose text begins with the next line. */
  #awaited: { readonly end: string; readonly quoted: boolean; readonly inputs: ShellWord[] }[] = [];

  constructor(text: string, dialect: ShellDialect, most: number) {
    this.#text = text;
    this.#most = most;
    this.#dialect = dialect;
    this.#hasVariables = text.indexOf('%') !== text.lastIndexOf('%');
    this.#escape = { posix: '\\', powershell: '`', cmd: '^' }[dialect];
  }

  /** Reads up to `end`, which is `)`, a backtick, or nothing for the whole text. */
  readCommands(end: '' | ')' | '`', depth: number, first: Stop = 'next'): void {
    if (depth > DEEPEST || this.commands.length >= this.#most) {
      this.tooDeep = true;
      this.#at = this.#text.length;
      return;
    }
    let before = first;
    while (this.#at < this.#text.length) {
      before = this.#readCommand(end, depth, before);
      if (before === 'end') return;
      if (this.commands.length < this.#most || this.#at >= this.#text.length) continue;
      this.tooDeep = true;
      this.#at = this.#text.length;
    }
  }

  /** One command with the sign that ends it. */
  #readCommand(end: string, depth: number, before: Stop): Stop {
    const words: ShellWord[] = [];
    const redirections: { op: '<' | '>'; word: ShellWord }[] = [];
    const inputs: ShellWord[] = [];
    const done = (how: Stop): Stop => {
      const isEmpty = words.length + redirections.length === 0;
      if (!isEmpty)
        this.commands.push({ words, redirections, inputs, piped: before === 'pipe', joined: before === 'and', instead: before === 'or' });
      // A group reads what is piped into it.
      if (isEmpty && before === 'pipe' && how === 'next') return 'pipe';
      return isEmpty && how === 'and' ? 'next' : how;
    };
    while (this.#at < this.#text.length) {
      const sign = this.#text.charAt(this.#at);
      if (sign === end && end !== '') {
        this.#at += 1;
        return done('end');
      }
      if (sign === ' ' || sign === '\t' || sign === '\r') this.#at += 1;
      else if (sign === '\n') {
        this.#at += 1;
        this.#readDocuments(depth);
        const goesOn = words.length + redirections.length === 0 && (before === 'or' || (before === 'and' && this.#dialect === 'posix'));
        return goesOn ? before : done('next');
      } else if (sign === '#' && this.#dialect === 'posix') this.#skipLine();
      else if (this.#isGroup(sign)) {
        this.#at += 1;
        return done('next');
      } else if (sign === '|') return done(this.#readBar());
      else if (sign === '>' || sign === '<') this.#readRedirection(redirections, inputs, words, depth);
      else if (sign === '&' && this.#text.charAt(this.#at + 1) === '>') this.#at += 1;
      else if (sign === '&' || sign === ';') {
        const isAnd = this.#text.startsWith('&&', this.#at);
        this.#at += isAnd ? 2 : 1;
        return done(isAnd ? 'and' : 'next');
      } else words.push(this.#readWord(depth));
    }
    return done('next');
  }

  #isGroup(sign: string): boolean {
    if (sign === '(' || sign === ')') return true;
    if (sign !== '{' && sign !== '}') return false;
    return this.#dialect === 'powershell' || sign === '}' || /\s/.test(this.#text.charAt(this.#at + 1));
  }

  #readBar(): 'or' | 'pipe' {
    const next = this.#text.charAt(this.#at + 1);
    this.#at += next === '|' || next === '&' ? 2 : 1;
    return next === '|' ? 'or' : 'pipe';
  }

  #skipLine(): void {
    const next = this.#text.indexOf('\n', this.#at);
    this.#at = next < 0 ? this.#text.length : next;
  }

  #readRedirection(redirections: { op: '<' | '>'; word: ShellWord }[], inputs: ShellWord[], words: ShellWord[], depth: number): void {
    const sign = this.#text.charAt(this.#at);
    const two = this.#text.slice(this.#at, this.#at + 2);
    if (two === '<(' || two === '>(') {
      words.push(this.#readWord(depth));
      return;
    }
    const from = this.#at;
    const number = words.at(-1);
    if (number?.to === from && /^\d+$/.test(number.text)) words.pop();
    while ('<>&|'.includes(this.#text.charAt(this.#at)) && this.#at < this.#text.length && this.#at - from < 3) this.#at += 1;
    const op = this.#text.slice(from, this.#at);
    // In `<<-` the sign belongs to the operator.
    if (op === '<<' && this.#text.charAt(this.#at) === '-') this.#at += 1;
    while (' \t'.includes(this.#text.charAt(this.#at)) && this.#at < this.#text.length) this.#at += 1;
    const begin = this.#at;
    const word = this.#readWord(depth);
    if (word.to === begin) return;
    if (op === '<<') this.#awaited.push({ end: word.text, quoted: /['"\\]/.test(this.#text.slice(begin, word.to)), inputs });
    else if (op === '<<<') inputs.push(word);
    // Copies of descriptors: `2>&1`.
    else if (!(op.endsWith('&') && /^[\d-]+$/.test(word.text))) redirections.push({ op: sign === '<' && op !== '<>' ? '<' : '>', word });
  }

  /** The texts of here-documents. Without quotes around their end the shell expands what they hold. */
  #readDocuments(depth: number): void {
    for (const { end, quoted, inputs } of this.#awaited.splice(0)) {
      const from = this.#at;
      let to = this.#text.length;
      while (this.#at < this.#text.length) {
        const line = this.#at;
        this.#skipLine();
        const isEnd = this.#text.slice(line, this.#at).trim() === end;
        this.#at += 1;
        if (!isEnd) continue;
        to = line;
        break;
      }
      const text = this.#text.slice(from, to);
      inputs.push({ text, from, to, expands: !quoted && /[$`]/.test(text), substitutes: false, plainFrom: from });
      if (!quoted) this.#readSubstitutionsIn(from, to, depth);
    }
  }

  #readSubstitutionsIn(from: number, to: number, depth: number): void {
    const after = this.#at;
    const word = { text: '', from, expands: false, substitutes: false, changed: false };
    for (this.#at = from; this.#at < to; ) {
      const sign = this.#text.charAt(this.#at);
      if (sign === '\\') this.#at += 2;
      else if (sign === '`' || this.#text.startsWith('$(', this.#at)) this.#readExpansion(word, depth);
      else this.#at += 1;
    }
    this.#at = Math.max(after, this.#at);
  }

  #readWord(depth: number): ShellWord {
    const from = this.#at;
    const word: OpenWord = { text: '', from, expands: false, substitutes: false, changed: false };
    while (this.#at < this.#text.length) {
      const sign = this.#text.charAt(this.#at);
      if (sign === "'" && this.#dialect !== 'cmd') this.#readQuoted(word);
      else if (sign === '"') this.#readDoubleQuoted(word, depth);
      else if (sign === this.#escape) this.#readEscape(word);
      else if (this.#expandsAt(sign)) this.#readExpansion(word, depth);
      else if ((sign === '<' || sign === '>') && this.#text.charAt(this.#at + 1) === '(') this.#readExpansion(word, depth);
      else if (/[\s;&|<>()]/.test(sign) || (this.#dialect === 'powershell' && /[{}]/.test(sign))) break;
      else this.#take(word, sign);
    }
    // A sign that begins no word: it is passed over.
    if (this.#at === from) this.#at += 1;
    // The text between two of them may hold blanks: `%OS:a=b c%`.
    if (this.#dialect === 'cmd' && this.#hasVariables && word.text.includes('%')) word.expands = true;
    const { text, expands, substitutes } = word;
    const at = word.changed ? this.#plainPlace(from, text) : from;
    return { text, from, to: Math.min(this.#at, this.#text.length), expands, substitutes, ...(at === undefined ? {} : { plainFrom: at }) };
  }

  /** Where the text of a word is unchanged: behind its quote. */
  #plainPlace(from: number, text: string): number | undefined {
    return this.#text.startsWith(text, from + 1) ? from + 1 : undefined;
  }

  #expandsAt(sign: string): boolean {
    return (sign === '$' && this.#dialect !== 'cmd') || (sign === '`' && this.#dialect === 'posix');
  }

  #take(word: OpenWord, text: string): void {
    word.text += text;
    this.#at += text.length;
  }

  #readEscape(word: OpenWord): void {
    word.changed = true;
    const next = this.#text.charAt(this.#at + 1);
    this.#at += 2;
    // A line that goes on.
    if (next !== '\n') word.text += next;
  }

  #readQuoted(word: OpenWord): void {
    word.changed = true;
    const end = this.#text.indexOf("'", this.#at + 1);
    const to = end < 0 ? this.#text.length : end;
    word.text += this.#text.slice(this.#at + 1, to);
    this.#at = to + 1;
  }

  #readDoubleQuoted(word: OpenWord, depth: number): void {
    word.changed = true;
    this.#at += 1;
    while (this.#at < this.#text.length) {
      const sign = this.#text.charAt(this.#at);
      if (sign === '"') {
        this.#at += 1;
        return;
      }
      const next = this.#text.charAt(this.#at + 1);
      if (sign === this.#escape && this.#dialect !== 'cmd' && '"\\$`\n'.includes(next) && next !== '') this.#readEscape(word);
      else if (this.#expandsAt(sign)) this.#readExpansion(word, depth);
      else this.#take(word, sign);
    }
  }

  /** A variable, a substitution or `$'…'`. */
  #readExpansion(word: OpenWord, depth: number): void {
    const from = this.#at;
    const sign = this.#text.charAt(from);
    const next = this.#text.charAt(from + 1);
    if (sign === '`' || next === '(') {
      word.expands = true;
      word.substitutes = true;
      this.#at += sign === '`' ? 1 : 2;
      const awaited = this.#awaited.splice(0);
      // `>(…)` reads what is written to it.
      this.readCommands(sign === '`' ? '`' : ')', depth + 1, sign === '>' ? 'pipe' : 'next');
      this.#awaited = awaited;
      word.text += this.#text.slice(from, this.#at);
    } else if (next === "'") {
      word.expands = true;
      // Its escapes may spell anything.
      this.#take(word, sign);
      this.#readQuoted(word);
    } else {
      if (next === '{' || /[\w@*#?$!-]/.test(next)) word.expands = true;
      this.#take(word, sign);
      if (next === '{') this.#readBraces(word, depth);
    }
  }

  /** `{NAME:-…}`: its content may run. */
  #readBraces(word: OpenWord, depth: number): void {
    while (this.#at < this.#text.length && !/\s/.test(this.#text.charAt(this.#at))) {
      const sign = this.#text.charAt(this.#at);
      if (sign === '`' || this.#text.startsWith('$(', this.#at)) this.#readExpansion(word, depth);
      else this.#take(word, sign);
      if (sign === '}') return;
    }
  }
}

/** The words to which a shell may expand this one: braces are written out, other expansions become globs. */

/** Words that the braces of one word are written out to. */
const MOST_WORDS = 64;
/** UTF-16 units of them together. */
const LONGEST_WORDS = 4000;

/** The words for a word with braces as a POSIX shell writes them out: `{git,push}`, `r{m,}`. Undefined where it has none, or more than are written out. */
export function bracesWrittenOut(word: string): readonly string[] | undefined {
  if (!/\{[^{}]*,[^{}]*\}/.test(word) || NESTED.test(word)) return undefined;
  let words = [''];
  let from = 0;
  for (const { 0: group, 1: inside = '', index } of word.matchAll(CHOICES)) {
    const before = word.slice(from, index);
    const choices = inside.split(',');
    if (words.length * choices.length > MOST_WORDS) return undefined;
    words = words.flatMap((one) => choices.map((choice) => one + before + choice));
    if (words.length * (words[0]?.length ?? 0) > LONGEST_WORDS || inside.length > LONGEST_WORDS) return undefined;
    from = index + group.length;
  }
  const rest = word.slice(from);
  if (words.length * rest.length > LONGEST_WORDS) return undefined;
  return words.map((one) => one + rest).filter((one) => one !== '');
}
const CHOICES = /(?<!\$)\{([^{},]*(?:,[^{},]*)+)\}/g;
const NESTED = /\{[^{}]*\{|\}[^{}]*\}/;

/**
 * A glob of everything that a POSIX shell may put in the place of a word, in which `*` stands for any text and `?` for any character. Undefined where
 * the word is what it reads. `expands`: it holds a variable or a substitution.
 */
export function guessAt(word: string, expands: boolean): string | undefined {
  if (expands) return `${/^[^$`%<>]*/.exec(word)?.[0] ?? ''}*`;
  // Of braces that are not written out only the text before them is known.
  const braces = word.search(/\{[^{}]*(?:,|\.\.|\{)/);
  if (braces >= 0) return `${asGlob(word.slice(0, braces))}*`;
  const glob = asGlob(word);
  return /[*?]/.test(glob) ? glob : undefined;
}

function asGlob(word: string): string {
  // Behind the last end no class begins: each beginning there would be looked for to the end of the word.
  const end = word.lastIndexOf(']') + 1;
  return word.slice(0, end).replace(/\[[^\]]+\]/g, '?') + word.slice(end);
}

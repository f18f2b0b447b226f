import type { ShellCommand, ShellDialect } from './shellWords.ts';

/** How a `cd` stands in its line. */
export interface CdPlace {
  /** Another process runs it, or its success is turned around. */
  readonly apart: boolean;
  readonly piped: boolean;
  readonly instead: boolean;
  /** A command of the line itself that runs whatever became of the one before. */
  readonly alone: boolean;
}

interface OuterText {
  readonly now: string;
  readonly start: string;
  readonly moves: number;
}

/** A function or an alias in the place of `cd`. */
const REPLACES_CD = /\b(?:cd|pushd|chdir)[\s"']*(?:\(|=)|\bfunction\s+(?:cd|pushd|chdir)\b/;
/** Blocks, background jobs, and words that make a shell run a list in another order, skip a part of it, or go on after a failure. */
const BLOCKS =
  /[(){}`]|(?<![&>])&(?![&>])|\b(?:if|while|until|for|case|select|repeat|function|eval|source|trap|exec|alias|builtin|command|enable|unset|shopt|coproc)\b|(?:^|[;&|\n])\s*\.\s|\bset\s+\+|\+[eo]/;

/**
 * The folder in which the commands of a line run, as far as its text tells. Where that is not certain it is the folder of the whole line: every other
 * one inside is below it, and `..` leads out of it. Without a folder `src`, `cd src; cat ../a` reads outside.
 */
export class LineFolder {
  readonly #origin: string;
  readonly #replacesCd: boolean;
  /** The text is a list of commands without blocks, so that each of them runs, in the order written. */
  readonly #isPlainList: boolean;
  #now: string;
  /** The folder of a command after `;`. It differs from the first one only when a failed `cd` would have ended the shell. */
  #start: string;
  /** Where the `cd` just before leads. */
  #went: { readonly to: string; readonly alone: boolean } | undefined;
  /** The folder of a `cd` whose failure ends the shell, until it is clear that `exit` is no part of a pipe. */
  #orExit: string | undefined;
  #endsOnFailure = false;
  /** The number of commands so far that may have led to another folder. */
  #moves = 0;

  constructor(folder: string, text: string, dialect: ShellDialect) {
    this.#origin = folder;
    this.#now = folder;
    this.#start = folder;
    this.#replacesCd = REPLACES_CD.test(text);
    this.#isPlainList = dialect === 'posix' && !BLOCKS.test(text);
  }

  /** The folder from which the paths of the present command count. */
  get now(): string {
    return this.#now;
  }

  /** The next command begins. */
  enter({ joined, piped, instead, words }: ShellCommand): void {
    const went = this.#went;
    const orExit = this.#orExit;
    this.#went = undefined;
    this.#orExit = undefined;
    if (joined) {
      if (went) this.#now = went.to;
      return;
    }
    if (piped) return;
    if (instead) {
      const [first, code, ...more] = words;
      const ends = first?.text === 'exit' && (code === undefined || /^\d+$/.test(code.text)) && more.length === 0;
      if (went && ends && this.#isPlainList) this.#orExit = went.to;
    } else if (orExit !== undefined) this.#start = orExit;
    else if (went?.alone && this.#endsOnFailure) this.#start = went.to;
    this.#now = this.#start;
  }

  /** The present command leads nobody knows where inside. */
  leaves(): void {
    this.#goes(this.#origin, false);
  }

  /** The present command, a `cd`, leads to this folder where it succeeds. */
  goesTo(folder: string, { apart, piped, instead, alone }: CdPlace): void {
    if (!apart && !piped && !instead && !this.#replacesCd) this.#goes(folder, alone);
  }

  /** The shell ends where a command fails. */
  endsOnFailure(): void {
    if (this.#isPlainList) this.#endsOnFailure = true;
  }

  /** A text within the text begins, in the folder of the line. Returns what `endText` needs. */
  beginText(): OuterText {
    const outer = { now: this.#now, start: this.#start, moves: this.#moves };
    this.#start = this.#origin;
    return outer;
  }

  /** Whether this shell ran the text, as with `eval`, is not known here. */
  endText({ now, start, moves }: OuterText): void {
    this.#now = now;
    this.#start = start;
    this.#went = undefined;
    if (this.#moves > moves) this.leaves();
  }

  #goes(to: string, alone: boolean): void {
    this.#moves += 1;
    this.#went = { to, alone };
    this.#start = this.#origin;
    this.#orExit = undefined;
  }
}

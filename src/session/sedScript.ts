import type { ShellWord } from './shellWords.ts';

/** Actions beyond editing in the scripts of a call of sed. */
export interface SedEffects {
  /** The script that runs a program, or that is read from a file. */
  readonly runs?: ShellWord;
  readonly fromFile?: ShellWord;
  /** Files that are written. */
  readonly writes: readonly string[];
  /** False where a script was not understood. */
  readonly complete: boolean;
  /** Files are changed in place. */
  readonly inPlace: boolean;
}

/** Reads the options of a call of sed and its scripts. Long options may be cut as GNU allows it. */
export function sedEffects(args: readonly ShellWord[]): SedEffects {
  const scripts: ShellWord[] = [];
  const operands: ShellWord[] = [];
  let fromFile: ShellWord | undefined;
  let inPlace = false;
  const isLong = (name: string, long: string) => name.length > 2 && long.startsWith(name);
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at];
    if (!word) break;
    const { text } = word;
    if (text === '--') {
      operands.push(...args.slice(at + 1));
      break;
    }
    if (text.startsWith('--')) {
      const name = text.split('=', 1)[0] ?? '';
      const value = text.includes('=') ? { ...word, text: text.slice(name.length + 1) } : undefined;
      const isScript = isLong(name, '--expression');
      if (isScript || isLong(name, '--file')) {
        const next = value ?? args[at + 1];
        if (!value) at += 1;
        if (next && isScript) scripts.push(next);
        else fromFile ??= next ?? word;
      } else if (isLong(name, '--in-place')) inPlace = true;
      else if (isLong(name, '--line-length') && !value) at += 1;
      continue;
    }
    if (!/^-./.test(text)) {
      operands.push(word);
      continue;
    }
    // Letters without a value come before the first that takes the rest, or the next word.
    const [, letter = '', rest = ''] = /^-[nErsuzab]*([efilI])?(.*)$/s.exec(text) ?? [];
    if (letter === 'i' || letter === 'I') inPlace = true;
    const value = rest === '' ? args[at + 1] : { ...word, text: rest };
    if (letter !== '' && 'efl'.includes(letter) && rest === '') at += 1;
    if (letter === 'e' && value) scripts.push(value);
    else if (letter === 'f') fromFile ??= value ?? word;
    else if (letter === '' && rest !== '') scripts.push({ ...word, text: rest });
  }
  // BSD's sed takes an empty ending behind -i.
  if (scripts.length === 0 && !fromFile) scripts.push(...operands.slice(0, operands[0]?.text === '' ? 2 : 1));
  let runs: ShellWord | undefined;
  let complete = true;
  const writes: string[] = [];
  for (const script of scripts) {
    // Text that the shell puts in may hold any command.
    const ways = script.expands ? [] : BRACKETS.map((brackets) => readSed(script.text, brackets));
    if (ways.some((one) => one.runs)) runs ??= script;
    if (!ways.some((one) => one.complete)) complete = false;
    writes.push(...new Set(ways.flatMap((one) => one.writes)));
  }
  return { ...(runs ? { runs } : {}), ...(fromFile ? { fromFile } : {}), writes, complete, inPlace };
}

interface ReadScript {
  readonly runs: boolean;
  readonly writes: readonly string[];
  readonly complete: boolean;
}

/** How versions of sed read brackets in a pattern: not at all, and with a closing one that comes first as a member or as the end. */
const BRACKETS = ['none', 'member', 'end'] as const;

/** Reads a script command by command, in one pass. */
function readSed(script: string, brackets: (typeof BRACKETS)[number]): ReadScript {
  const writes: string[] = [];
  let runs = false;
  let at = 0;
  const end = () => ({ runs, writes, complete: at >= script.length });
  const lineEnd = () => {
    const next = script.indexOf('\n', at);
    return next < 0 ? script.length : next;
  };
  /** Goes behind the separator that ends a part; false where there is none. */
  const passPart = (separator: string, isPattern: boolean): boolean => {
    let inClass = false;
    for (; at < script.length; at += 1) {
      const sign = script.charAt(at);
      if (sign === '\\') at += 1;
      else if (isPattern && inClass) {
        if (sign === ']') inClass = false;
      } else if (isPattern && sign === '[' && separator !== '[' && brackets !== 'none') {
        inClass = true;
        if (script.charAt(at + 1) === '^') at += 1;
        if (script.charAt(at + 1) === ']' && brackets === 'member') at += 1;
      } else if (sign === separator) {
        at += 1;
        return true;
      }
    }
    return false;
  };
  const passWhile = (pattern: RegExp) => {
    while (at < script.length && pattern.test(script.charAt(at))) at += 1;
  };
  while (at < script.length) {
    passWhile(/[\s;{}]/);
    // Addresses with the text between and behind them.
    for (let isAddress = true; isAddress && at < script.length; ) {
      const sign = script.charAt(at);
      if (/[\d$,~+!\sIM]/.test(sign)) at += 1;
      else if (sign === '/' || sign === '\\') {
        at += sign === '/' ? 1 : 2;
        if (!passPart(sign === '/' ? '/' : script.charAt(at - 1), true)) return { runs, writes, complete: false };
      } else isAddress = false;
    }
    if (at >= script.length) break;
    const command = script.charAt(at);
    at += 1;
    if (command === '{' || command === '}') continue;
    if ('=dDgGhHnNpPxzF'.includes(command)) continue;
    if ('lLqQ'.includes(command)) passWhile(/[\s\d]/);
    else if ('aic#rR'.includes(command)) at = lineEnd();
    else if (':btTv'.includes(command)) {
      passWhile(/[ \t]/);
      passWhile(/[^;\s}]/);
    } else if (command === 'w' || command === 'W') {
      writes.push(script.slice(at, lineEnd()).trim());
      at = lineEnd();
    } else if (command === 'e') {
      runs = true;
      at = lineEnd();
    } else if (command === 's' || command === 'y') {
      const separator = script.charAt(at);
      at += 1;
      if (!passPart(separator, command === 's') || !passPart(separator, false)) return { runs, writes, complete: false };
      if (command === 'y') continue;
      const from = at;
      passWhile(/[gpiImMe\d]/);
      if (script.slice(from, at).includes('e')) runs = true;
      if (script.charAt(at) === 'w') {
        at += 1;
        writes.push(script.slice(at, lineEnd()).trim());
        at = lineEnd();
      }
    } else return { runs, writes, complete: false };
    // A command is followed by its end.
    if (at < script.length && !/[\s;}#]/.test(script.charAt(at))) return { runs, writes, complete: false };
  }
  return end();
}

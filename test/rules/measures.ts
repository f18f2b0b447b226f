import { LITERALS, type Source } from './sources.ts';

/* A light reading of TypeScript for the rules: strings, templates and patterns are blanked, then braces are matched. */

export interface FunctionSize {
  readonly name: string;
  /** From the line of its name to its closing brace. */
  readonly lines: number;
}
export interface ClassMeasure {
  readonly name: string;
  /** Fields that hold objects of other classes. */
  readonly collaborators: number;
}

const PLAIN =
  /^(?:Map|Set|Array|Promise|Record|Readonly|Readonly\w+|Iterable|WeakMap|Buffer|Date|NodeJS|Uint8Array|AbortController|AbortSignal|Error|RegExp|Partial)\b/;

/** The code with the content of strings, templates and patterns blanked, line for line. */
export function skeletonOf(code: string): string {
  return code.replace(LITERALS, (found) => found.replaceAll(/[^\n]/g, ' '));
}

/** Where the brace or parenthesis at `open` is closed. */
function closeOf(code: string, open: number): number {
  const [up, down] = code[open] === '{' ? ['{', '}'] : ['(', ')'];
  let depth = 0;
  for (let at = open; at < code.length; at++) {
    if (code[at] === up) depth += 1;
    else if (code[at] === down && --depth === 0) return at;
  }
  return code.length;
}
const lineOf = (code: string, at: number): number => code.slice(0, at).split('\n').length;

const HEAD =
  /(?:\bfunction\s*\*?\s*(\w*)|^\s+(?:(?:private|protected|override|static|async|get|set)\s+)*(#?\w+))\s*(?:<[^(){}]*>)?\(|=>\s*\{/gm;
const CONTROL = new Set(['if', 'for', 'while', 'switch', 'catch', 'return', 'super']);

/** The brace that opens the body behind a parameter list; object types of the result are stepped over. */
function bodyAfter(code: string, from: number): number | undefined {
  for (let at = from; ; ) {
    const open = code.indexOf('{', at);
    const between = code.slice(at, open < 0 ? undefined : open);
    if (open < 0 || /[;}]|=>|\)\s*$/.test(between) || !/^\s*(?::|$|[|&>[\]])/.test(between)) return undefined;
    if (!/[:|&<,]\s*$/.test(between)) return open;
    at = closeOf(code, open) + 1;
  }
}

/** Functions, methods and arrow functions with a body. */
export function functionsOf(source: Source): readonly FunctionSize[] {
  const code = skeletonOf(source.code);
  const found: FunctionSize[] = [];
  for (const match of code.matchAll(HEAD)) {
    const name = match[1] || match[2] || '=>';
    let open = match.index + match[0].length - 1;
    if (!match[0].endsWith('{')) {
      if (CONTROL.has(name)) continue;
      const body = bodyAfter(code, closeOf(code, open) + 1);
      if (body === undefined) continue;
      open = body;
    }
    const start = match.index + (/^\s*/.exec(match[0])?.[0].length ?? 0);
    found.push({ name, lines: lineOf(code, closeOf(code, open)) - lineOf(code, start) + 1 });
  }
  return found;
}

export function classesOf(source: Source): readonly ClassMeasure[] {
  const code = skeletonOf(source.code);
  return [...code.matchAll(/^(?:export\s+)?(?:abstract\s+)?class\s+(\w+)[^{]*\{/gm)].map((match) => {
    const open = match.index + match[0].length - 1;
    const body = code.slice(open + 1, closeOf(code, open));
    return { name: match[1] ?? '', collaborators: collaboratorsOf(body) };
  });
}
function collaboratorsOf(body: string): number {
  let count = 0;
  const field =
    /^ {2}((?:(?:private|protected|public|readonly|static|override|declare)\s+)*)#?\w+\??(?:!?\s*:\s*([^=;]+?))?\s*(?:=(?!>)\s*([^\n]*))?;?\s*$/gm;
  for (const [whole, modifiers = '', type = '', start = ''] of flat(body).matchAll(field)) {
    if (/\bstatic\b/.test(modifiers) || /^\s+(?:return|get|set)\b/.test(whole)) continue;
    const of = type || (/^new (\w+)/.exec(start)?.[1] ?? '');
    if (/^[A-Z]/.test(of) && !PLAIN.test(of)) count += 1;
  }
  return count;
}
/** The body with the ends of members blanked in object types and object literals that stand in one line. */
function flat(body: string): string {
  const inner = body.replace(/\{[^{}\n]*\}/g, (found) => ` ${found.slice(1, -1).replaceAll(/[;=]/g, ' ')} `);
  return inner === body ? body : flat(inner);
}
/** The value below which this share of the numbers lies. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

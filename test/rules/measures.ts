import { LITERALS, type Source } from './sources.ts';

/* A light reading of TypeScript for the rules: strings, templates and patterns are blanked, then braces are matched. */

export interface FunctionSize {
  readonly name: string;
  /** From the line of its name to its closing brace. */
  readonly lines: number;
}
export interface ClassMeasure {
  readonly name: string;
  /** Fields that are assigned, and collections that are filled. */
  readonly mutable: number;
  /** Fields that hold objects of other classes. */
  readonly collaborators: number;
  /** Functions that use `this` and are handed to an object the class makes for itself. */
  readonly closures: number;
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
    return { name: match[1] ?? '', ...fieldsOf(body), closures: closuresOf(body) };
  });
}
function fieldsOf(body: string): { readonly mutable: number; readonly collaborators: number } {
  let mutable = 0;
  let collaborators = 0;
  const field =
    /^ {2}((?:(?:private|protected|public|readonly|static|override|declare)\s+)*)#?\w+\??(?:!?\s*:\s*([^=;]+?))?\s*(?:=(?!>)\s*([^\n]*))?;?\s*$/gm;
  for (const [whole, modifiers = '', type = '', start = ''] of flat(body).matchAll(field)) {
    if (/\bstatic\b/.test(modifiers) || /^\s+(?:return|get|set)\b/.test(whole)) continue;
    const isCollection = /^(?:new (?:Map|Set|WeakMap)\b|\[\])/.test(start);
    if (!/\breadonly\b/.test(modifiers) || isCollection) mutable += 1;
    const of = type || (/^new (\w+)/.exec(start)?.[1] ?? '');
    if (/^[A-Z]/.test(of) && !PLAIN.test(of)) collaborators += 1;
  }
  return { mutable, collaborators };
}
/** The body with the ends of members blanked in object types and object literals that stand in one line. */
function flat(body: string): string {
  const inner = body.replace(/\{[^{}\n]*\}/g, (found) => ` ${found.slice(1, -1).replaceAll(/[;=]/g, ' ')} `);
  return inner === body ? body : flat(inner);
}
function closuresOf(body: string): number {
  let count = 0;
  const made = /\bnew\s+[A-Z]\w*\s*(?:<[^>()]*>)?\(/g;
  const constructed = /^ {2}constructor\s*\(/m.exec(body);
  const inConstructor = constructed
    ? [constructed.index, closeOf(body, body.indexOf('{', closeOf(body, body.indexOf('(', constructed.index))))]
    : [0, 0];
  for (const match of body.matchAll(made)) {
    const line = body.slice(body.lastIndexOf('\n', match.index) + 1, match.index);
    const isField = /^ {2}(?:(?:private|readonly)\s+)*#?\w+[^(]*=\s*$/.test(line);
    if (!isField && (match.index < (inConstructor[0] ?? 0) || match.index > (inConstructor[1] ?? 0))) continue;
    if (/^(?:Promise|Map|Set|Proxy)\b/.test(match[0].replace(/^new\s+/, ''))) continue;
    const open = match.index + match[0].length - 1;
    const given = body.slice(open, closeOf(body, open));
    count += [...given.matchAll(/=>\s*([^,\n]*)/g)].filter((arrow) => /\bthis\b/.test(arrow[1] ?? '')).length;
  }
  return count;
}

/** The value below which this share of the numbers lies. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

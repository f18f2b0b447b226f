import { LITERALS, type Source } from './sources.ts';

/* A light reading of TypeScript for the rules: strings, templates and patterns are blanked, then braces are matched. */

export interface FunctionSize {
  readonly name: string;
  /** From the line of its name to its closing brace. */
  readonly lines: number;
}
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
  /(?:\bfunction\s*\*?\s*(\w*)|^\s+(?:(?:public|private|protected|override|static|async|get|set)\s+)*\*?(#?\w+|\[[^\]\n]+\]))\s*(?:<[^(){}]*>)?\(|=>\s*\{|\bstatic\s*\{/gm;
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

/** Functions, methods, arrow functions with a body, and static blocks. */
export function functionsOf(source: Source): readonly FunctionSize[] {
  const code = skeletonOf(source.code);
  const found: FunctionSize[] = [];
  for (const match of code.matchAll(HEAD)) {
    const name = match[1] || match[2] || (match[0].startsWith('static') ? 'static' : '=>');
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

/** Arrow functions whose body is an expression, which ends before a closing bracket, a comma or a semicolon. */
export function expressionArrowsOf(source: Source): readonly FunctionSize[] {
  const code = skeletonOf(source.code);
  return [...code.matchAll(/=>(?!\s*\{)/g)].map(({ index }) => {
    let depth = 0;
    let at = index + 2;
    for (; at < code.length; at++) {
      const sign = code.charAt(at);
      // `(): () => boolean {` is the type of a result.
      if (depth === 0 && sign === '{' && /(?<!=)[\w)>\]]\s*$/.test(code.slice(index + 2, at)) && !/=>\s*$/.test(code.slice(index, at)))
        break;
      if ('([{'.includes(sign)) depth += 1;
      else if (')]}'.includes(sign) && --depth < 0) break;
      else if (depth === 0 && (sign === ',' || sign === ';')) break;
    }
    return { name: '=>', lines: lineOf(code, at) - lineOf(code, index) + 1 };
  });
}

/** The value below which this share of the numbers lies. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

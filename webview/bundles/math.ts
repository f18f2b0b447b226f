import temml from 'temml';

/** UTF-16 units of the longest formula with macros of its own, and how many of these are replaced. */
const LONGEST_DEFINING = 300;
const FEW_MACROS = 40;
const DEFINES = /\\(?:[egx]?def|let|futurelet|(?:re)?newcommand|providecommand)(?![A-Za-z])/;
const MOST_MACROS = 200;
/** Groups in groups of a formula that is drawn. */
const DEEPEST = 40;

/**
 * TeX as MathML, which the browser draws itself. It can load, link or run nothing; errors are shown in red. Undefined for a formula that may take
 * long: deeper than people write, or long and with macros of its own, which may repeat any length.
 */
export function math(tex: string, block: boolean): string | undefined {
  const defines = DEFINES.test(tex);
  if ((defines && tex.length > LONGEST_DEFINING) || isDeep(tex)) return undefined;
  // The page's policy refuses inline styles, which would only set spacing.
  const mathml = temml.renderToString(tex, {
    displayMode: block,
    throwOnError: false,
    trust: false,
    strict: false,
    maxExpand: defines ? FEW_MACROS : MOST_MACROS,
    maxSize: [20, 200],
  });
  return mathml.replace(/ style="[^"]*"/g, '');
}

function isDeep(tex: string): boolean {
  let depth = 0;
  for (const [mark] of tex.matchAll(/\\(?:begin|end|left|right)(?![A-Za-z])|\\[\s\S]|[{}]/g)) {
    if (mark === '{' || mark === '\\begin' || mark === '\\left') depth += 1;
    if (mark === '}' || mark === '\\end' || mark === '\\right') depth -= 1;
    if (depth > DEEPEST) return true;
  }
  return false;
}

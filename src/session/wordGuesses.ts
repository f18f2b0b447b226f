/** What a shell may make of a word whose text alone does not tell: braces are written out, the rest becomes a glob. */

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
  // Of braces that are not written out only what stands before them is known.
  const braces = word.search(/\{[^{}]*(?:,|\.\.|\{)/);
  if (braces >= 0) return `${asGlob(word.slice(0, braces))}*`;
  const glob = asGlob(word);
  return /[*?]/.test(glob) ? glob : undefined;
}

function asGlob(word: string): string {
  return word.replace(/\[[^\]]+\]/g, '?');
}

/** Puts an English sentence into the user's language. `{0}`, `{1}` stand for the arguments. */
export type Translate = (english: string, ...args: readonly (string | number)[]) => string;

export const inEnglish: Translate = (english, ...args) => filled(english, args);

/**
 * The text with {0}, {1} … filled in; `{0|file|files}` is the first word for 1, the second for all other numbers. Chinese words beside a place for another word keep no space
 * where that is Chinese too.
 */
export function filled(text: string, values: readonly (string | number)[]): string {
  return text.split(/(\{\d+(?:\|[^{}|]*\|[^{}|]*)?\})/).reduce((sum, piece, at) => {
    const [place = '', one, other] = at % 2 === 0 ? [] : piece.slice(1, -1).split('|');
    const value = values[Number(place)];
    const next = at % 2 === 0 || value === undefined ? piece : String(one === undefined ? value : Number(value) === 1 ? one : other);
    if (sum.endsWith(' ')) return joinWords(sum.slice(0, -1), next);
    return next.startsWith(' ') && sum !== '' ? joinWords(sum, next.slice(1)) : sum + next;
  }, '');
}

/** With a space between them, but where two Chinese characters meet. */
export function joinWords(left: string, right: string): string {
  return `${left}${/\p{Script=Han}$/u.test(left.slice(-2)) && /^\p{Script=Han}/u.test(right) ? '' : ' '}${right}`;
}

/** Words of others as a sentence: with the full stop of their script where they came without one. */
export function asSentence(words: string): string {
  const said = words.trimEnd();
  const end = said.slice(-10);
  if (said === '' || /[.!?…。！？]["'”’)\]」』）】*`_]*$/u.test(end)) return said;
  return `${said}${/[\p{Script=Han}」』）】]$/u.test(end) ? '。' : '.'}`;
}

/** Two sentences in a row, of which the first may be somebody else's. */
export function inSentences(first: string, next: string): string {
  const said = asSentence(first);
  const space = said === '' || next === '' || /[。！？][」』”’）】]*$/u.test(said.slice(-10)) ? '' : ' ';
  return `${said}${space}${next}`;
}

let translate = inEnglish;

/**
 * Translates texts of modules without an editor. The English text is the key of the translation, so it must be a literal; a test holds the
 * tables to it.
 */
export const t: Translate = (english, ...args) => translate(english, ...args);

/** Chosen once, by the entry of the program (or of a bundle of its own): a user has one language. */
export function setTranslator(chosen: Translate): void {
  translate = chosen;
}

/** The message for undecodable data from the agent. `detail` is for developers and is not translated. */
export function unreadable(detail: string): string {
  return t('The agent sent something Parley cannot read: {0}', detail);
}

/** For an agent that fails without words. */
export function agentError(): string {
  return t('The agent reports an error.');
}

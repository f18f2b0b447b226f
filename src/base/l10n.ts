/** Translates an English sentence into the user's language. `{0}`, `{1}` are placeholders for the arguments. */
export type Translate = (english: string, ...args: readonly (string | number)[]) => string;

export const inEnglish: Translate = (english, ...args) => filled(english, args);

/**
 * Fills in the placeholders {0}, {1} … of a text. `{0|file|files}` becomes the first word for 1, the second for all other numbers; of more words, the
 * one at that number, from 1, or else the last. A space beside a placeholder is dropped where Chinese text meets a Chinese value.
 */
export function filled(text: string, values: readonly (string | number)[]): string {
  return text.split(/(\{\d+(?:(?:\|[^{}|]*){2,})?\})/).reduce((sum, piece, at) => {
    const [place = '', ...words] = at % 2 === 0 ? [] : piece.slice(1, -1).split('|');
    const value = values[Number(place)];
    const next =
      at % 2 === 0 || value === undefined ? piece : String(words.length === 0 ? value : (words[Number(value) - 1] ?? words.at(-1)));
    if (sum.endsWith(' ')) return joinWords(sum.slice(0, -1), next);
    return next.startsWith(' ') && sum !== '' ? joinWords(sum, next.slice(1)) : sum + next;
  }, '');
}

/** Joins two texts with a space; without one between two Chinese characters. */
export function joinWords(left: string, right: string): string {
  return `${left}${/\p{Script=Han}$/u.test(left.slice(-2)) && /^\p{Script=Han}/u.test(right) ? '' : ' '}${right}`;
}

/** Adds a missing full stop, in the script of the text, to a text from outside Parley. */
export function asSentence(words: string): string {
  const text = words.trimEnd();
  const end = text.slice(-10);
  if (text === '' || /[.!?…。！？]["'”’)\]」』）】*`_]*$/u.test(end)) return text;
  return `${text}${/[\p{Script=Han}」』）】]$/u.test(end) ? '。' : '.'}`;
}

/** Joins two sentences; the first may come from outside Parley. */
export function inSentences(first: string, next: string): string {
  const sentence = asSentence(first);
  const space = sentence === '' || next === '' || /[。！？][」』”’）】]*$/u.test(sentence.slice(-10)) ? '' : ' ';
  return `${sentence}${space}${next}`;
}

let translate = inEnglish;

/**
 * Translates texts of modules without an editor. The English text is the key of the translation, so it must be a literal; a test holds the
 * tables to it.
 */
export const t: Translate = (english, ...args) => translate(english, ...args);

/** Called once, by the entry point of each bundle. */
export function setTranslator(chosen: Translate): void {
  translate = chosen;
}

/** The message for undecodable data from the agent. `detail` is for developers and is not translated. */
export function unreadable(detail: string): string {
  return t('The agent sent something Parley cannot read: {0}', detail);
}

/** The message for an answer that is not all there: it was too long for the model, a filter ended it, or a piece was too large for Parley. */
export function answerCut(why: 'length' | 'filter' | 'size'): string {
  return t('The answer was cut ({0|length|content filter|too large}).', ['length', 'filter', 'size'].indexOf(why) + 1);
}

const LIMITS = ['steps', 'turns', 'budget', 'context', 'service'] as const;

/** The message for an agent that may go no further. */
export function limitReached(what: (typeof LIMITS)[number]): string {
  return t('The agent has reached a limit ({0|steps|turns|budget|context|service}).', LIMITS.indexOf(what) + 1);
}

/** The message for an agent that fails without giving a reason. */
export function agentError(): string {
  return t('The agent reports an error.');
}

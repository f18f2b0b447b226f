/** Puts an English sentence into the user's language. `{0}`, `{1}` stand for the arguments. */
export type Translate = (english: string, ...args: readonly (string | number)[]) => string;

export const inEnglish: Translate = (english, ...args) =>
  english.replace(/\{(\d+)\}/g, (place, at: string) => {
    const value = args[Number(at)];
    return value === undefined ? place : String(value);
  });

let translate = inEnglish;

/**
 * What rooms without an editor say to a user. The English text is the key of the translation, so it must be a literal; a test holds the
 * tables to it.
 */
export const t: Translate = (english, ...args) => translate(english, ...args);

/** Chosen once, by whoever starts the program (or loads a bundle of its own): a user has one language. */
export function setTranslator(chosen: Translate): void {
  translate = chosen;
}

/** What the agent sent cannot be decoded. `detail` is for developers and is not translated. */
export function unreadable(detail: string): string {
  return t('The agent sent something Parley cannot read: {0}', detail);
}

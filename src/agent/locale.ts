/** Chooses between the two languages this agent speaks to people. What models read is always English. */
export type Localize = (english: string, chinese: string) => string;

export const inEnglish: Localize = (english) => english;
export const inChinese: Localize = (_, chinese) => chinese;

/** The language of the editor, as the extension names it. */
export const localize: Localize = /^zh\b/i.test(process.env.PARLEY_LOCALE ?? '') ? inChinese : inEnglish;

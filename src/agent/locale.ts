/** Chooses between the two languages this agent speaks to people. What models read is always English. */
export type Say = (english: string, chinese: string) => string;

export const inEnglish: Say = (english) => english;
export const inChinese: Say = (_, chinese) => chinese;

/** The language of the editor, as the extension names it. */
export const say: Say = /^zh\b/i.test(process.env.PARLEY_LOCALE ?? '') ? inChinese : inEnglish;

/** A text in a fence that nothing in it can close. */
export function fenced(text: string): string {
  let [longest, run] = [2, 0];
  for (let at = text.indexOf('`'); at >= 0; at = text.indexOf('`', at + 1)) {
    run = text.charCodeAt(at - 1) === BACKTICK ? run + 1 : 1;
    longest = Math.max(longest, run);
  }
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

const BACKTICK = 0x60;

/** A name as one line of a prompt: characters that begin another line, and other controls, are written out. */
export function inOneLine(name: string): string {
  return name.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (character) => {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return `⟨U+${code}⟩`;
  });
}

/** Stands between what was said before, which a new task is told, and the user's own words. */
const SAID_NOW = '\n\nWhat the user says now:\n';

export function withEarlier(earlier: string): string {
  return `${earlier}${SAID_NOW}`;
}
/** The user's own words of a prompt that may begin with what was said before. */
export function wordsOfNow(prompt: string): string {
  const at = prompt.lastIndexOf(SAID_NOW);
  return at < 0 ? prompt : prompt.slice(at + SAID_NOW.length).trimStart();
}

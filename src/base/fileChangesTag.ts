const [OPEN, CLOSE] = ['<file-changes-by-user>\n', '\n</file-changes-by-user>'];

/** The user's changes to files at the end of a prompt, apart from the user's words. */
export function taggedChanges(text: string): string {
  return `${OPEN}${text}${CLOSE}`;
}

/** Splits a prompt into the user's words and the changes at its end. */
export function splitChanges(prompt: string): { readonly words: string; readonly changes?: string } {
  const from = prompt.endsWith(CLOSE) ? prompt.lastIndexOf(OPEN) : -1;
  if (from < 0) return { words: prompt };
  return { words: prompt.slice(0, from).trimEnd(), changes: prompt.slice(from + OPEN.length, -CLOSE.length) };
}

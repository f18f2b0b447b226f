/**
 * How often each tag is used.
 * @param {readonly { readonly text: string }[]} notes
 * @returns {Map<string, number>}
 */
export function countTags(notes) {
  const counts = new Map();
  for (const note of notes) {
    for (const tag of note.text.match(/#\w+/g) ?? []) {
      counts.set(tag, (counts.get(tag) ?? 0) + 1);
    }
  }
  return counts;
}

/** Without a query the files near the root come first, by name as in the explorer; among equals of a query the shorter path does. */
export function compareLabels(a: string, b: string, query: string): number {
  const depth = (label: string) => label.split('/').length;
  const byName = a.localeCompare(b, undefined, { numeric: true });
  return (query.trim() === '' ? depth(a) - depth(b) : a.length - b.length) || byName;
}

/** Scores a match of all characters of the query, in order; 0 means no match. */
export function scoreOf(label: string, query: string, open: boolean): number {
  const text = label.toLowerCase();
  const wanted = query.trim().toLowerCase().replaceAll('\\', '/');
  const bonus = open ? 5 : 0;
  if (wanted === '') return 1 + bonus;
  const name = text.slice(text.lastIndexOf('/') + 1);
  if (name === wanted) return 100 + bonus;
  if (name.startsWith(wanted)) return 80 + bonus;
  if (name.includes(wanted)) return 60 + bonus;
  if (text.includes(wanted)) return 40 + bonus;
  let at = 0;
  for (const character of wanted) {
    at = text.indexOf(character, at) + 1;
    if (at === 0) return 0;
  }
  return 10 + bonus;
}

/** The change between the common prefix and the common suffix; undefined for equal texts. */
export function smallestChange(
  before: string,
  after: string,
): { readonly from: number; readonly to: number; readonly text: string } | undefined {
  if (before === after) return undefined;
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from += 1;
  let end = 0;
  while (end < shorter - from && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  return { from, to: before.length - end, text: after.slice(from, after.length - end) };
}

import { applyPatch, structuredPatch } from 'diff';

/** What somebody changed from `base` to `wanted`, made in the present text; undefined when that overlaps with what changed there meanwhile. */
export function mergedInto(present: string, base: string, wanted: string): string | undefined {
  if (present === base) return wanted;
  if (present === wanted) return present;
  const patched = applyPatch(present, structuredPatch('', '', base, wanted, '', '', { context: 2 }), { autoConvertLineEndings: false });
  return patched === false ? undefined : patched;
}

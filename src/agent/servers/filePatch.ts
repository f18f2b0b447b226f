import { formatPatch, type StructuredPatch, structuredPatch } from 'diff';

/** Limits of the edits in one patch and of the lines it compares. Beyond, it replaces all lines between the first and the last change. */
const MOST_EDITS = 500;
const MOST_LINES = 40_000;

export interface FilePatch {
  readonly text: string;
  readonly added: number;
  readonly removed: number;
}
export interface PatchHeaders {
  readonly before?: string;
  readonly after?: string;
  /** Lines around a change. */
  readonly context: number;
}

/** A unified diff of one file, in time that is proportional to its lines. A name with backslashes would be quoted in it. */
export function filePatch(file: string, before: string, after: string, headers: PatchHeaders): FilePatch {
  const name = file.replaceAll('\\', '/');
  const { context } = headers;
  const isShort = countOf(before, '\n') + countOf(after, '\n') <= MOST_LINES;
  const near = isShort && structuredPatch(name, name, before, after, headers.before, headers.after, { context, maxEditLength: MOST_EDITS });
  const patch = near || replacement(name, before, after, headers);
  let [added, removed] = [0, 0];
  for (const { lines } of patch.hunks) {
    for (const line of lines) {
      if (line.startsWith('+')) added += 1;
      else if (line.startsWith('-')) removed += 1;
    }
  }
  return { text: formatPatch(patch), added, removed };
}

function replacement(name: string, before: string, after: string, headers: PatchHeaders): StructuredPatch {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const shorter = Math.min(old.length, fresh.length);
  let start = 0;
  while (start < shorter && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end += 1;
  const from = Math.max(0, start - headers.context);
  const tail = Math.max(0, end - headers.context);
  const lines: string[] = [];
  addSigned(lines, ' ', old.slice(from, start));
  addSigned(lines, '-', old.slice(start, old.length - end));
  addSigned(lines, '+', fresh.slice(start, fresh.length - end));
  addSigned(lines, ' ', old.slice(old.length - end, old.length - tail));
  const [oldLines, newLines] = [old.length - tail - from, fresh.length - tail - from];
  const hunk = { oldStart: from + 1, oldLines, newStart: from + 1, newLines, lines };
  return { oldFileName: name, newFileName: name, oldHeader: headers.before, newHeader: headers.after, hunks: [hunk] };
}

function addSigned(to: string[], sign: string, lines: readonly string[]): void {
  for (const line of lines) {
    if (line.endsWith('\n')) to.push(sign + line.slice(0, -1));
    else to.push(sign + line, '\\ No newline at end of file');
  }
}

/** The lines with their line ends. */
function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  const last = lines.pop() ?? '';
  return [...lines.map((line) => `${line}\n`), ...(last === '' ? [] : [last])];
}

function countOf(text: string, sign: string): number {
  let count = 0;
  for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) count += 1;
  return count;
}

import { parsePatch } from 'diff';
import { t } from '../../../base/l10n.ts';
import type { DiffItem } from '../schema.ts';

interface Change {
  readonly operation: string;
  readonly path: string;
  readonly oldPath?: string | null | undefined;
}
export interface Changes {
  readonly changes: readonly Change[];
  readonly patch?: { readonly format: string; readonly text: string } | null | undefined;
}

/** What happened to files, and maybe a git patch of it, as edits (acp.md §14). A change without a readable patch is a sentence. */
export function diffItems({ changes, patch }: Changes): readonly DiffItem[] {
  const files = patch?.format === 'git_patch' ? patched(patch.text) : [];
  return changes.flatMap((change) => {
    const file = files.find((one) => names(one.path, change.path) || (change.oldPath != null && names(one.path, change.oldPath)));
    const hunks = file?.hunks.map((hunk) => toItem(change, hunk)) ?? [];
    // Lines say nothing of where a file comes from.
    const wanders = change.operation === 'move' || change.operation === 'copy';
    return hunks.length === 0 || wanders ? [sentence(change), ...hunks] : hunks;
  });
}

interface Hunk {
  readonly before: string;
  readonly after: string;
  readonly lines: readonly [number, number];
}
interface Patched {
  readonly path: string;
  readonly hunks: readonly Hunk[];
}

function patched(text: string): readonly Patched[] {
  try {
    return parsePatch(text).map(({ oldFileName, newFileName, hunks }) => ({
      path: withoutSide(newFileName === '/dev/null' || newFileName === undefined ? (oldFileName ?? '') : newFileName),
      hunks: hunks.map(({ oldStart, newStart, lines }) => ({
        before: side(lines, '-'),
        after: side(lines, '+'),
        lines: [Math.max(1, oldStart), Math.max(1, newStart)] as const,
      })),
    }));
  } catch {
    return [];
  }
}

/** Lines of one side; a side whose last line has no end says so behind it. */
function side(lines: readonly string[], mark: '-' | '+'): string {
  let text = '';
  let mine = false;
  for (const line of lines) {
    if (line.startsWith('\\')) text = mine ? text.slice(0, -1) : text;
    else {
      mine = line[0] === mark || line[0] === ' ' || line === '';
      if (mine) text += `${line.slice(1)}\n`;
    }
  }
  return text;
}

function withoutSide(name: string): string {
  return name.replace(/^"(.*)"$/, '$1').replace(/^[ab]\//, '');
}

/** Patches name files from the root of the repository; the changes name them whole. */
function names(short: string, whole: string): boolean {
  const path = whole.replaceAll('\\', '/');
  return short !== '' && (path === short || path.endsWith(`/${short.replace(/^\//, '')}`));
}

function toItem({ operation, path }: Change, { before, after, lines }: Hunk): DiffItem {
  const kind = operation === 'add' || operation === 'delete' ? { _meta: { kind: operation } } : {};
  return { type: 'diff', path, oldText: before, newText: after, lines, ...kind } as DiffItem;
}

function sentence({ operation, path, oldPath }: Change): DiffItem {
  return { type: 'diff', path, oldText: null, newText: wordsFor(operation, path, oldPath ?? ''), summary: true } as DiffItem;
}

function wordsFor(operation: string, path: string, oldPath: string): string {
  switch (operation) {
    case 'add':
      return t('Added: {0}', path);
    case 'delete':
      return t('Deleted: {0}', path);
    case 'move':
      return t('Moved: {0} → {1}', oldPath, path);
    case 'copy':
      return t('Copied: {0} → {1}', oldPath, path);
    default:
      return t('Changed: {0}', path);
  }
}

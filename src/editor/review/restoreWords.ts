import { t } from '../../base/l10n.ts';
import type { RestoredFile, RestorePreview } from '../../live/review/changeSet.ts';
import { betweenWords } from '../../session/fileWords.ts';
import { shortened, visibleText } from '../../session/visible.ts';

/** Files that a confirmation lists. */
const MOST_LISTED = 20;
/** Characters of the names of what is not watched. */
const LONGEST_UNWATCHED = 200;

/** Lines of a confirmation, bounded. */
export function listed(names: readonly string[]): string {
  const more = names.length > MOST_LISTED ? [`… +${names.length - MOST_LISTED}`] : [];
  return [...names.slice(0, MOST_LISTED), ...more].join('\n');
}

/** Says which files a restore does not touch. */
export function isLeft({ how, refused }: RestoredFile): boolean {
  return how === 'unknown' || refused !== undefined;
}

/** A file that moves back is one row, for where it is now. */
function rowsOf(files: readonly RestoredFile[]): readonly RestoredFile[] {
  const places = new Set(files.map(({ back }) => back?.name));
  return files.filter(({ name }) => !places.has(name));
}

function filesWord(files: readonly RestoredFile[]): string {
  return t('{0} {0|file|files}', rowsOf(files).length);
}

/** Asks whether to restore those of the files that are not left alone. */
export function restoreQuestion(files: readonly RestoredFile[]): string {
  return t('Restore {0} to before this prompt? You can undo this.', filesWord(files.filter((one) => !isLeft(one))));
}

/** The title of the diffs, of which there are none for files that are no text, and not of very many. */
export function previewTitle(shown: number, files: readonly RestoredFile[]): string {
  return shown < files.length ? `${t('Restore Files')} (${shown}/${files.length})` : t('Restore Files');
}

export function leftWords(left: readonly RestoredFile[]): string {
  return t('Not changed: {0}', filesWord(left));
}

export function restoredWords(files: readonly RestoredFile[]): string {
  return `${filesWord(files)}: ${effectWord('restored')}`;
}

/** The effect of a restore on each file; those that are left alone, and those with the user's own text, come first. */
export function effectWords({ files, unwatched, between }: RestorePreview): string {
  const effects = listed(
    rowsOf(files)
      .toSorted((a, b) => weightOf(b) - weightOf(a))
      .map(outcomeOf),
  );
  const others = besideWords({ unwatched, between }).map((words) => `${words} — ${effectWord('none')}`);
  return [effects, ...others].join('\n');
}

/** What a restore does not touch, said as in the list of a prompt's changes. */
export function besideWords({ unwatched, between }: Pick<RestorePreview, 'unwatched' | 'between'>): readonly string[] {
  const folders = visibleText(shortened(unwatched.join(', '), LONGEST_UNWATCHED));
  return [...(folders === '' ? [] : [t('Not watched: {0}', folders)]), ...(between.length === 0 ? [] : [betweenWords(between)])];
}

/** Why files were left alone. */
export function reasonWords(left: readonly RestoredFile[]): string {
  return listed(rowsOf(left).map((one) => one.refused ?? outcomeOf(one)));
}

function weightOf({ how, users, refused, back }: RestoredFile): number {
  if (refused !== undefined) return 5;
  return users === 'lost' ? 4 : how === 'unknown' ? 3 : users === 'kept' ? 2 : how === 'delete' && !back ? 1 : 0;
}

function outcomeOf({ name, how, users, refused, back }: RestoredFile): string {
  if (refused !== undefined) return t('Not changed: {0}', refused);
  const own = users && effectWord(users);
  if (back) {
    const effects = [effectWord('move'), ...(back.rewritten ? [effectWord('rewrite')] : []), own];
    return `${name} → ${back.name} — ${effects.filter(Boolean).join(' · ')}`;
  }
  return `${name} — ${[how === 'unknown' ? t('cannot be undone') : effectWord(how), own].filter(Boolean).join(' · ')}`;
}

const EFFECTS = ['delete', 'create', 'rewrite', 'move', 'restored', 'kept', 'lost', 'none'] as const;

/** It has not happened yet, so `deleted`, the word for what the agent has done, would mislead. */
function effectWord(effect: (typeof EFFECTS)[number]): string {
  return t(
    '{0|will be deleted|comes back|goes back to how it was|moves back|restored|other changes stay|other changes are lost|not restored}',
    EFFECTS.indexOf(effect) + 1,
  );
}

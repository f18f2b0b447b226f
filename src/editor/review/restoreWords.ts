import * as vscode from 'vscode';
import { t } from '../../base/l10n.ts';
import type { RestoredFile, RestorePreview } from '../../live/review/changeSet.ts';
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

export function leftWords(count: number): string {
  return vscode.l10n.t('Not changed: {0}', t('{0} {0|file|files}', count));
}

export function restoredWords(count: number): string {
  return `${t('{0} {0|file|files}', count)}: ${vscode.l10n.t('restored')}`;
}

/**
 * The effect of a restore on each file; those that are left alone, and those with the user's own text, come first. What is not watched stays as it is,
 * and is said as in the list of a prompt's changes.
 */
export function effectWords({ files, unwatched }: RestorePreview): string {
  const effects = listed(files.toSorted((a, b) => weightOf(b) - weightOf(a)).map(outcomeOf));
  return [effects, unwatchedWords(unwatched)].filter(Boolean).join('\n');
}

export function unwatchedWords(names: readonly string[]): string {
  return names.length === 0 ? '' : vscode.l10n.t('Not watched: {0}', visibleText(shortened(names.join(', '), LONGEST_UNWATCHED)));
}

/** Why files were left alone. */
export function reasonWords(left: readonly RestoredFile[]): string {
  return listed(left.map((one) => one.refused ?? outcomeOf(one)));
}

function weightOf({ how, users, refused }: RestoredFile): number {
  return refused !== undefined ? 5 : users === 'lost' ? 4 : how === 'unknown' ? 3 : users === 'kept' ? 2 : how === 'delete' ? 1 : 0;
}

function outcomeOf({ name, how, users, refused }: RestoredFile): string {
  if (refused !== undefined) return vscode.l10n.t('Not changed: {0}', refused);
  const kinds = {
    // The question asks to restore the files: it is not done yet.
    rewrite: '',
    create: '',
    delete: vscode.l10n.t('deleted'),
    unknown: vscode.l10n.t('cannot be undone'),
  } as const;
  const others = (word: 1 | 2) => t('other changes {0|stay|are lost}', word);
  const own = { kept: others(1), lost: others(2) };
  const effects = [kinds[how], users ? own[users] : ''].filter(Boolean).join(', ');
  return [name, effects].filter(Boolean).join(' — ');
}

import { rm } from 'node:fs/promises';
import path from 'node:path';
import * as vscode from 'vscode';
import type { ChangeSet } from '../../live/review/changeSet.ts';
import { doneSides, isUnplaced } from '../../session/diffs.ts';
import type { Session, TurnId } from '../../session/model.ts';
import { changedFiles } from '../../session/select.ts';
import { editorFiles, openDocument, presentText } from '../files.ts';
import { mergedFiles } from './review.ts';

/**
 * Takes back what a turn did to one file. `set` knows the file itself where no other turn has changed it; otherwise it goes by what the agent told.
 * Throws with a sentence for the user when that would take away something else.
 */
export async function revertFile(session: Session, turnId: TurnId, file: string, set?: ChangeSet): Promise<void> {
  const turn = session.turns.find((one) => one.id === turnId);
  const wanted = path.resolve(session.cwd, file);
  const known = set?.files.some((one) => one.path === wanted) && set.turnsChanging(wanted).every((one) => one === turnId);
  if (set && known) return set.settle(wanted, 'undo');
  const changed = turn && mergedFiles(session, changedFiles(turn)).find((one) => one.path === wanted);
  const name = vscode.workspace.asRelativePath(wanted);
  if (!changed) throw new Error(vscode.l10n.t('This turn has not changed {0}.', name));
  if (isUnplaced(changed.diffs)) {
    throw new Error(
      vscode.l10n.t('{0} was not reverted: the agent told of the change by an excerpt that has no certain place in the file.', name),
    );
  }
  const located = doneSides(changed.diffs, await presentText(wanted));
  if (!located.ok) {
    throw new Error(
      vscode.l10n.t('{0} was not reverted: it has been changed in the same place since. Open the diff to take back parts by hand.', name),
    );
  }
  const { before } = located.sides;
  if (before !== null) return editorFiles.write(wanted, before);
  if (openDocument(wanted)?.isDirty) throw new Error(vscode.l10n.t('{0} was not deleted: it has unsaved changes.', name));
  await rm(wanted);
}

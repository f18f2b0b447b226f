import { rm } from 'node:fs/promises';
import path from 'node:path';
import * as vscode from 'vscode';
import type { ChangeSets } from '../../live/review/changeSets.ts';
import { realPathNow } from '../../protocols/paths.ts';
import { doneSides, isUnplaced } from '../../session/diffs.ts';
import type { Session, TurnId } from '../../session/model.ts';
import { changedFiles, fileNamed, turnFiles } from '../../session/select.ts';
import { whileHeld } from '../../transport/replaceFile.ts';
import { editorFiles, openDocument, presentText } from '../files.ts';
import { mergedFiles } from './review.ts';

/** Keeps or reverts a turn's changes to one file, whoever wrote it. Rejects with a message for the user when that would remove something else. */
export async function settleTurnFile(
  session: Session,
  turnId: TurnId,
  file: string,
  how: 'keep' | 'undo',
  sets?: ChangeSets,
): Promise<void> {
  const wanted = path.resolve(session.cwd, file);
  const turn = session.turns.find((one) => one.id === turnId);
  const rows = (turn ? turnFiles(turn) : []).map((one) => ({ ...one, path: path.resolve(session.cwd, one.path) }));
  const row = fileNamed(rows, wanted);
  if (row && row.review !== 'reported') return sets?.of(session.id)?.settleTurn(turnId, how, wanted);
  const undo = () => revertReported(session, turnId, wanted);
  if (how === 'undo') await (sets?.of(session.id)?.undoReported(wanted, undo) ?? undo());
  sets?.reportedSettled(session.id, turnId, file, how === 'keep' ? 'kept' : 'undone');
}

/** Reverts a change that only the agent reported, in a place that nothing watches. */
async function revertReported(session: Session, turnId: TurnId, wanted: string): Promise<void> {
  const turn = session.turns.find((one) => one.id === turnId);
  const changed = turn && fileNamed(mergedFiles(session, changedFiles(turn)), wanted);
  const name = vscode.workspace.asRelativePath(wanted);
  if (!changed) throw new Error(`${name}: ${vscode.l10n.t('No changes.')}`);
  const real = realPathNow(wanted);
  const present = await presentText(wanted);
  const located = isUnplaced(changed.diffs) ? undefined : doneSides(changed.diffs, present);
  if (!located?.ok) throw new Error(vscode.l10n.t('{0} has changed in the meantime. Look at the change again.', name));
  const { before } = located.sides;
  if (before !== null) return editorFiles.write(wanted, before, present ?? undefined, real);
  if (openDocument(wanted)?.isDirty) throw new Error(vscode.l10n.t('{0} has unsaved changes. Save or revert it first.', name));
  await whileHeld(wanted, () => rm(wanted));
}

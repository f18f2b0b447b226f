import type * as vscode from 'vscode';
import type { ChangeSets } from '../../live/review/changeSets.ts';
import { isSameFile } from '../../protocols/paths.ts';
import { earlierPath } from './changesTree.ts';
import { REVIEW_SCHEME } from './documents.ts';
import type { FileHunks } from './fileHunks.ts';
import type { Review } from './review.ts';

/** Puts back a text that a diff of an earlier window shows. Tabs with a text that is not known any more close. */
export async function restoreText(
  uri: vscode.Uri,
  sets: Pick<ChangeSets, 'files' | 'loaded'>,
  review: Pick<Review, 'putBack' | 'closeEarlier'>,
  hunks: Pick<FileHunks, 'showAgain' | 'showText'>,
): Promise<void> {
  await sets.loaded();
  const isBack = await (uri.scheme === REVIEW_SCHEME ? review.putBack(uri) : putBackBase(uri, sets, hunks));
  if (!isBack) void review.closeEarlier(uri);
}

async function putBackBase(
  uri: vscode.Uri,
  { files }: Pick<ChangeSets, 'files'>,
  hunks: Pick<FileHunks, 'showAgain' | 'showText'>,
): Promise<boolean> {
  const { query: key, fsPath } = uri;
  // The question about a restore is gone, and its effect may be another by now.
  if (key === 'present' || key === 'restored') return false;
  const file = files.find((one) => [one.path, earlierPath(one)].some((name) => isSameFile(name, fsPath)));
  if (!key.startsWith('link')) await hunks.showAgain(uri, file?.path ?? fsPath);
  else hunks.showText(key, uri.path, (key === 'link' ? file?.links?.before : file?.links?.after) ?? '');
  return true;
}

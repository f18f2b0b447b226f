import * as vscode from 'vscode';
import type { ChatView } from '../chat.ts';
import { toReadOnlySide } from './documents.ts';
import type { Review } from './review.ts';

/**
 * The way out of a diff in which the user answers, looked up before the answer: the diff closes and takes the keyboard along. It leads to the editor
 * behind it, or, where there is none, to the chat: what is typed next must not go nowhere.
 */
export function wayOutOfDiff(review: Pick<Review, 'active' | 'isAlone'>, chat: Pick<ChatView, 'goBack'>): () => Promise<void> {
  const { isAlone, active: left } = review;
  return async () => {
    const { active } = review;
    // Without an answer the diff is still there, and has the keyboard in the side where it was.
    if (left && left.kind !== 'turn' && active?.kind === left.kind && active.askId === left.askId) return;
    // The next diff may be in front by now, and the file that the agent has written.
    if (isAlone && !active) await chat.goBack();
    else await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
  };
}

/**
 * The way back to the editor in front, looked up before the diff of a proposal opens over it; to the chat where there is none. Only for a keyboard that
 * the editor has put into the diff: what is typed next must not change the proposal.
 */
export function wayBackFromDiff(chat: Pick<ChatView, 'goBack'>): () => Promise<void> {
  const { activeTextEditor: editor } = vscode.window;
  const before = frontTab();
  return async () => {
    if (!(await isInDiff())) return;
    if (!before) return chat.goBack();
    const { input } = before;
    if (editor && input instanceof vscode.TabInputText && input.uri.toString() === editor.document.uri.toString()) {
      const { viewColumn, selection } = editor;
      await vscode.window.showTextDocument(editor.document, { selection, ...(viewColumn === undefined ? {} : { viewColumn }) });
    } else if (!isSameTab(input, frontTab()?.input)) await toReadOnlySide();
  };
}

function frontTab(): vscode.Tab | undefined {
  return vscode.window.tabGroups.activeTabGroup.activeTab;
}

/** The user may have asked from the diff itself. */
function isSameTab(one: unknown, other: unknown): boolean {
  if (!(one instanceof vscode.TabInputTextDiff) || !(other instanceof vscode.TabInputTextDiff)) return false;
  return one.modified.toString() === other.modified.toString();
}

/** True while a diff has the keyboard: the editor runs this command there only. */
async function isInDiff(): Promise<boolean> {
  return Boolean(await vscode.commands.executeCommand('diffEditor.switchSide', { dryRun: true }));
}

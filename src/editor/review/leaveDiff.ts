import * as vscode from 'vscode';
import type { ChatView } from '../chat.ts';
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

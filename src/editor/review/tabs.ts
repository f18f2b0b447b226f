import * as vscode from 'vscode';
import { REVIEW_SCHEME } from './documents.ts';

function isOurs(uri: vscode.Uri): boolean {
  return uri.scheme.startsWith(REVIEW_SCHEME);
}

/** End of the address of a text that shows an ask. */
export const ASKED_TEXT = '/asked';

/** The sides of a diff tab that shows one of our documents, both the same for an ask's text; undefined for every other tab. */
export function reviewSides(tab: vscode.Tab | undefined): { readonly left: vscode.Uri; readonly right: vscode.Uri } | undefined {
  const input = tab?.input;
  if (input instanceof vscode.TabInputText && isOurs(input.uri) && input.uri.query.endsWith(ASKED_TEXT))
    return { left: input.uri, right: input.uri };
  if (!(input instanceof vscode.TabInputTextDiff)) return undefined;
  const { original: left, modified: right } = input;
  return isOurs(left) || isOurs(right) ? { left, right } : undefined;
}

export function activeReview(): ReturnType<typeof reviewSides> {
  return reviewSides(vscode.window.tabGroups.activeTabGroup.activeTab);
}

/** Closes our diff tabs, never the user's tabs. Saves changed text in them to memory first, so that the editor does not ask. */
export async function closeReviews(matches: (sides: { readonly left: vscode.Uri; readonly right: vscode.Uri }) => boolean): Promise<void> {
  const closing = vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter((tab) => {
      const sides = reviewSides(tab);
      return sides !== undefined && matches(sides);
    });
  for (const tab of closing) {
    const right = reviewSides(tab)?.right.toString();
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === right);
    if (document?.isDirty && isOurs(document.uri)) await document.save();
  }
  if (closing.length > 0) await vscode.window.tabGroups.close(closing, true);
}

/** True when a tab shows this right side. */
export function isOpenTab(right: vscode.Uri): boolean {
  const wanted = right.toString();
  return vscode.window.tabGroups.all.some((group) => group.tabs.some((tab) => reviewSides(tab)?.right.toString() === wanted));
}

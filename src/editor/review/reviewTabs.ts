import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import * as vscode from 'vscode';
import { KeyedQueue } from '../../base/keyedQueue.ts';
import type { Disposable } from '../../base/lifetime.ts';
import type { Log } from '../../base/log.ts';
import type { ChangeSets } from '../../live/review/changeSets.ts';
import { isSameFile } from '../../protocols/paths.ts';
import type { Sides } from '../../session/diffs.ts';
import { firstPlace, smallestChange } from '../../session/merge.ts';
import { REVIEW_SCHEME, type ReviewDocuments } from './documents.ts';
import { diffsOf } from './severalDiffs.ts';

export interface DiffSides {
  readonly left: vscode.Uri;
  readonly right: vscode.Uri;
}

export function isOurs(uri: vscode.Uri): boolean {
  return uri.scheme.startsWith(REVIEW_SCHEME);
}

/** End of the address of a text that shows an ask. */
export const ASKED_TEXT = '/asked';

/** The sides of a diff tab that shows one of our documents, both the same for an ask's text; undefined for every other tab. */
export function reviewSides(tab: vscode.Tab | undefined): DiffSides | undefined {
  const input = tab?.input;
  if (input instanceof vscode.TabInputText && isOurs(input.uri) && input.uri.query.endsWith(ASKED_TEXT))
    return { left: input.uri, right: input.uri };
  if (!(input instanceof vscode.TabInputTextDiff)) return undefined;
  const { original: left, modified: right } = input;
  return isOurs(left) || isOurs(right) ? { left, right } : undefined;
}

/** The address of a side of a turn's diff: its session, its turn, and which one. */
export const TURN_SIDE = /^turn\/([^/]*)\/(.*?)\/(?:deleted\/)?(before|after)$/s;

/** True for the diff of a turn, which a window shows again after a reload. */
export function isOfTurn({ left, right }: DiffSides): boolean {
  return [left, right].some(({ query }) => TURN_SIDE.test(query));
}

/** Our diff tabs, with their sides. */
export function allReviews() {
  return allTabs().flatMap((tab) => {
    const sides = reviewSides(tab);
    return sides ? [{ tab, ...sides }] : [];
  });
}

function allTabs(): readonly vscode.Tab[] {
  return vscode.window.tabGroups.all.flatMap((group) => group.tabs);
}

export function activeReview(): DiffSides | undefined {
  return reviewSides(vscode.window.tabGroups.activeTabGroup.activeTab);
}

/** The range where the right side begins to differ. */
export function firstChange({ before, after }: Sides): vscode.Range | undefined {
  const first = before === null || after === null ? undefined : firstPlace(before, after);
  return first && new vscode.Range(first.line, first.column, first.line, first.column);
}

/** Replaces only the difference, so that the editor's own undo reverts it. */
export async function replaceText(uri: vscode.Uri, text: string): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  const wanted = document.eol === vscode.EndOfLine.CRLF ? text.replace(/\n/g, '\r\n') : text;
  const change = smallestChange(document.getText(), wanted);
  if (!change) return;
  const edit = new vscode.WorkspaceEdit();
  edit.replace(uri, new vscode.Range(document.positionAt(change.from), document.positionAt(change.to)), change.text);
  await vscode.workspace.applyEdit(edit);
}

/** True when the group in front has a tab of this file. */
export function isOpenFile(file: string): boolean {
  const wanted = vscode.Uri.file(file).toString();
  return vscode.window.tabGroups.activeTabGroup.tabs.some(
    ({ input }) => input instanceof vscode.TabInputText && input.uri.toString() === wanted,
  );
}

/** True when a tab shows this right side. */
export function isOpenTab(right: vscode.Uri): boolean {
  const wanted = right.toString();
  return allReviews().some((one) => one.right.toString() === wanted);
}

/** Saves changed texts of ours to memory. */
export async function saveAll(uris: readonly vscode.Uri[]): Promise<void> {
  const wanted = new Set(uris.filter(isOurs).map(String));
  for (const document of vscode.workspace.textDocuments) if (document.isDirty && wanted.has(document.uri.toString())) await document.save();
}

/** The texts that a tab shows, alone or among others. */
export function shownIn({ input }: vscode.Tab): readonly vscode.Uri[] {
  if (input instanceof vscode.TabInputText) return [input.uri];
  if (input instanceof vscode.TabInputTextDiff) return [input.original, input.modified];
  return (diffsOf(input) ?? []).flatMap(({ original, modified }) => [original, modified]);
}

/** True for a proposed text, which the user may have edited. */
export function isProposed({ scheme, query }: vscode.Uri): boolean {
  return scheme.startsWith(REVIEW_SCHEME) && query.endsWith('/after') && !TURN_SIDE.test(query);
}

/**
 * Closes tabs whose texts are over, so that the editor never asks what to do with them. What the user had typed into a proposal before a reload is
 * there again in a tab, but its text is known no more: it becomes an untitled text.
 */
export class ReviewTabs {
  readonly #documents: ReviewDocuments;
  /** Texts of an earlier window with tabs that are about to close. */
  readonly #earlier = new Map<string, vscode.Uri>();
  readonly #closing = new KeyedQueue();

  constructor(documents: ReviewDocuments) {
    this.#documents = documents;
  }

  /** One closing after the other: none meets a tab of which another still keeps the text. */
  close(isOver: (tab: vscode.Tab) => boolean): Promise<void> {
    // At once: the editor may be waiting for that text, to show or to save it.
    this.#adopt(isOver);
    return this.#closing.run('', () => this.#close(isOver));
  }

  /** Opens what the user has made of a proposal that is another now as an untitled text. */
  async keepOutdated({ path: proposed }: vscode.Uri, bytes: Uint8Array): Promise<void> {
    await openUntitled({ content: new TextDecoder().decode(bytes) });
    const name = posix.basename(proposed);
    void vscode.window.showInformationMessage(vscode.l10n.t('{0} has changed in the meantime. Look at the change again.', name));
  }

  async #close(isOver: (tab: vscode.Tab) => boolean): Promise<void> {
    const found = () => allTabs().filter(isOver);
    this.#adopt(isOver);
    const earlier = [...this.#earlier.values()];
    const typed = (await Promise.all(earlier.map((uri) => typedText(uri)))).flatMap((text) => text ?? []);
    try {
      for (const tab of found()) await showTypedFile(tab);
      await saveAll(found().flatMap(shownIn));
      // The editor closes no tab that it has reported again meanwhile.
      const closing = found().filter((tab) => !isTyped(tab));
      if (closing.length > 0) await vscode.window.tabGroups.close(closing, true);
    } finally {
      // Not before: a window that has just opened takes seconds for it, and would show the same text in several unsaved tabs until then.
      if (typed.length > 0) await keepTyped(typed);
      for (const uri of earlier) {
        this.#earlier.delete(uri.toString());
        if (!allTabs().some((tab) => isIn(tab, uri))) this.#documents.remove(uri);
      }
    }
  }

  /** Without a text of their own they could not be saved, and what cannot be saved does not close without a question. */
  #adopt(isOver: (tab: vscode.Tab) => boolean): void {
    for (const uri of allTabs().filter(isOver).flatMap(shownIn))
      if (isProposed(uri) && this.#documents.owns(uri) && this.#documents.adopt(uri)) this.#earlier.set(uri.toString(), uri);
  }
}

/** True for a tab that shows this text, alone or among others. */
export function isIn(tab: vscode.Tab, uri: vscode.Uri): boolean {
  return shownIn(tab).some((one) => one.toString() === uri.toString());
}

interface TypedText {
  readonly content: string;
  readonly language: string;
}

/** What the user has typed into a text of an earlier window: unsaved, or saved there. */
async function typedText(uri: vscode.Uri): Promise<TypedText | undefined> {
  const document = await vscode.workspace.openTextDocument(uri);
  const content = document.getText();
  return document.isDirty || content !== '' ? { content, language: document.languageId } : undefined;
}

/** Opens these texts as untitled ones. */
async function keepTyped(texts: readonly TypedText[]): Promise<void> {
  for (const text of texts) await openUntitled(text);
  void vscode.window.showInformationMessage(
    vscode.l10n.t('Your edit was not written: the question is closed. Your text stays open until you close it.'),
  );
}

async function openUntitled(text: { readonly content: string; readonly language?: string }): Promise<void> {
  const kept = await vscode.workspace.openTextDocument(text);
  await vscode.window.showTextDocument(kept, { preview: false, preserveFocus: true });
}

/** A file with unsaved text stays open by itself when the diff that shows it closes. */
async function showTypedFile(tab: vscode.Tab): Promise<void> {
  if (!(tab.input instanceof vscode.TabInputTextDiff) || isOurs(tab.input.modified) || !isTyped(tab)) return;
  const { viewColumn } = tab.group;
  await vscode.window.showTextDocument(tab.input.modified, { viewColumn, preview: false, preserveFocus: true });
}

/** True while the tab shows unsaved text that closing it would lose. */
function isTyped(tab: vscode.Tab): boolean {
  return vscode.workspace.textDocuments.some(({ isDirty, uri }) => isDirty && isIn(tab, uri) && !isOpenAlone(tab, uri));
}

function isOpenAlone(tab: vscode.Tab, uri: vscode.Uri): boolean {
  return tab.group.tabs.some(
    ({ input }) => input !== tab.input && input instanceof vscode.TabInputText && input.uri.toString() === uri.toString(),
  );
}

/** Closes the tabs of files that a decision has removed: nothing is left to be looked at there. What the user has typed in one stays. */
export function closeRemovedFiles(sets: Pick<ChangeSets, 'onWrote'>, log: Log): Disposable {
  return sets.onWrote((file) => {
    closeIfGone(file).catch((error: unknown) => log.warn(`A tab could not be closed: ${String(error)}`));
  });
}

async function closeIfGone(file: string): Promise<void> {
  const tabs = allTabs().filter((tab) => !tab.isDirty && shows(tab, file));
  if (tabs.length > 0 && !existsSync(file)) await vscode.window.tabGroups.close(tabs, true);
}

function shows({ input }: vscode.Tab, file: string): boolean {
  const uri = input instanceof vscode.TabInputText ? input.uri : input instanceof vscode.TabInputTextDiff ? input.modified : undefined;
  return uri?.scheme === 'file' && isSameFile(uri.fsPath, file);
}

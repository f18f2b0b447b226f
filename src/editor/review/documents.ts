import * as vscode from 'vscode';
import type { Disposable } from '../../base/lifetime.ts';
import type { SavedText, SavedTexts } from './savedTexts.ts';

export const REVIEW_SCHEME = 'parley-review';
/** Scheme of the texts before the changes under review. */
export const BASE_SCHEME = 'parley-review-base';
/** The endings of the keys of a deletion's two sides: it is decided about there, as the file itself cannot be on the screen. */
export const DELETED_BEFORE = 'deleted/before';
export const DELETED_AFTER = 'deleted/after';

/** True for either side of a deletion; the path of its address is the file's. */
export function isSideOfDeletion({ scheme, query }: vscode.Uri): boolean {
  return scheme.startsWith(REVIEW_SCHEME) && /(?:^|\/)deleted\/(?:before|after)$/.test(query);
}

export function noChangeHere(): void {
  void vscode.window.showInformationMessage(vscode.l10n.t('No changes.'));
}

interface Entry {
  bytes: Uint8Array;
  readonly editable: boolean;
  /** The text that was put; undefined for one of an earlier window. */
  readonly proposal?: Uint8Array;
  mtime: number;
}

/** Texts that are not on disk: sides of diffs and long texts. Read-only, unless a side may be edited before it is accepted. */
export class ReviewDocuments implements vscode.FileSystemProvider, Disposable {
  readonly #entries = new Map<string, Entry>();
  readonly #changes = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.#changes.event;
  readonly scheme: string;
  #saved: SavedTexts | undefined;
  #restore: ((uri: vscode.Uri) => Promise<void>) | undefined;
  readonly #registration: vscode.Disposable;

  /** The editor takes one provider per scheme; the scheme of another one begins with `REVIEW_SCHEME` too. */
  constructor(scheme = REVIEW_SCHEME) {
    this.scheme = scheme;
    this.#registration = vscode.workspace.registerFileSystemProvider(scheme, this, { isCaseSensitive: true });
  }

  /** A tab that the editor restores with its window reads a text that is not there yet: `restore` puts it back, if it can be told. */
  restoreWith(restore: (uri: vscode.Uri) => Promise<void>): void {
    this.#restore = restore;
  }

  /** Keeps what is saved of texts that can be edited there, too. */
  saveIn(saved: SavedTexts): void {
    this.#saved = saved;
  }

  /** The address of the text with that key, whether it exists or not. */
  address(key: string, path: string): vscode.Uri {
    return vscode.Uri.from({
      scheme: this.scheme,
      path: path.startsWith('/') ? path : `/${path.replaceAll('\\', '/')}`,
      query: key,
    });
  }

  /** `key` keeps texts of one path apart; putting the same key again changes the text in place. */
  put(key: string, path: string, text: string, editable = false): vscode.Uri {
    const uri = this.address(key, path);
    const known = this.#entries.get(uri.toString());
    const bytes = new TextEncoder().encode(text);
    if (known && Buffer.compare(known.bytes, bytes) === 0) return uri;
    this.#entries.set(uri.toString(), { bytes, editable, proposal: bytes, mtime: (known?.mtime ?? 0) + 1 });
    // What was saved is of another proposal, or of an earlier window: `earlier` tells that one.
    if (editable) void this.#saved?.remove(uri);
    if (known) this.#changes.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    return uri;
  }

  /** What was saved of this text in an earlier window, until one is put in this window. */
  earlier(uri: vscode.Uri): SavedText | undefined {
    return this.#entries.get(uri.toString())?.proposal ? undefined : this.#saved?.read(uri);
  }

  /**
   * Makes a text that is not known one that can be saved: the one that was saved in an earlier window, if there is one, without a change of what the
   * editor has of it. False where the text is known.
   */
  adopt(uri: vscode.Uri): boolean {
    if (this.#entries.has(uri.toString())) return false;
    // As old as can be: the editor saves over no text that is newer than its own.
    this.#entries.set(uri.toString(), { bytes: this.#saved?.read(uri)?.bytes ?? new Uint8Array(), editable: true, mtime: 0 });
    return true;
  }

  /** True for these documents, whether the text still exists or not. */
  owns(uri: vscode.Uri): boolean {
    return uri.scheme === this.scheme;
  }

  remove(uri: vscode.Uri): void {
    if (this.#entries.get(uri.toString())?.editable) void this.#saved?.remove(uri);
    this.#entries.delete(uri.toString());
  }

  /** The text as it is known now; '' where it is not. */
  textOf(uri: vscode.Uri): string {
    return new TextDecoder().decode(this.#entries.get(uri.toString())?.bytes);
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const { bytes, editable, mtime } = await this.#entry(uri);
    const stat = { type: vscode.FileType.File, ctime: 0, mtime, size: bytes.length };
    return editable ? stat : { ...stat, permissions: vscode.FilePermission.Readonly };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    return (await this.#entry(uri)).bytes;
  }

  async writeFile(uri: vscode.Uri, bytes: Uint8Array): Promise<void> {
    const entry = await this.#entry(uri);
    if (!entry.editable) throw vscode.FileSystemError.NoPermissions(uri);
    entry.bytes = bytes;
    entry.mtime += 1;
    this.#changes.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    await this.#saved?.write(uri, bytes, entry.proposal ?? new Uint8Array());
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => {});
  }

  readDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.FileNotADirectory(uri);
  }
  createDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }
  delete(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }
  rename(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  dispose(): void {
    this.#registration.dispose();
    this.#changes.dispose();
    this.#entries.clear();
  }

  async #entry(uri: vscode.Uri): Promise<Entry> {
    if (!this.#entries.has(uri.toString())) await this.#restore?.(uri);
    const entry = this.#entries.get(uri.toString());
    if (!entry) throw vscode.FileSystemError.FileNotFound(uri);
    return entry;
  }
}

/**
 * Opens a diff of two texts, also where a file has an editor of its own, as a notebook has: only over text there is a place for answers, and for the
 * decisions about a hunk.
 */
export async function openTextDiff(
  left: vscode.Uri,
  right: vscode.Uri,
  title: string,
  options: vscode.TextDocumentShowOptions,
): Promise<void> {
  // The editor takes this since long, and its types do not know it; without it the file's own editor would open.
  await vscode.commands.executeCommand('vscode.diff', left, right, title, { ...options, override: false });
}

/** Puts the keyboard of the diff in front into the side that cannot be edited. */
export async function toReadOnlySide(): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.compareEditor.focusSecondarySide');
}

import path from 'node:path';
import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import { type Log, messageOf } from '../../base/log.ts';
import type { ChangedFile, ChangeSet, FileEffects } from '../../live/review/changeSet.ts';
import type { ChangeSets } from '../../live/review/changeSets.ts';
import type { SessionHost } from '../../live/surface.ts';
import { hunksOfSegments, type PlacedHunk } from '../../session/segments.ts';
import { titleOf } from '../../session/select.ts';
import { editorFiles, isSavedForAgent, onSavesTyped, openDocument, presentText } from '../files.ts';
import type { QuickInputs } from '../quickInputs.ts';
import { ReviewDocuments } from './documents.ts';

/** Texts before the changes under review. */
export const BASE_SCHEME = 'parley-review-base';
/** Milliseconds that typing rests before hunks are found anew. */
const TYPING_RESTS = 200;
const VIEW = 'parley.changes';

export const fileEffects: FileEffects = {
  readText: presentText,
  writeText: (file, text, from, real) => editorFiles.write(file, text, from, real),
  hasUnsaved: (file) => openDocument(file)?.isDirty === true,
};

interface Reviewed {
  readonly set: ChangeSet;
  readonly file: string;
  readonly hunks: readonly PlacedHunk[];
}

/** Changes that wait for review: in the changed files themselves, with Keep and Undo at each hunk, and as a list. */
export class Changes implements Disposable {
  readonly #host: SessionHost;
  readonly #sets: ChangeSets;
  readonly #inputs: QuickInputs;
  readonly #log: Log;
  readonly #life = new Lifetime();
  readonly #documents = this.#life.own(new ReviewDocuments(BASE_SCHEME));
  readonly #tree = new FileTree();
  readonly #view: vscode.TreeView<ChangedFile>;
  readonly #lenses = new vscode.EventEmitter<void>();
  readonly #added = decoration({ backgroundColor: new vscode.ThemeColor('diffEditor.insertedLineBackground'), isWholeLine: true });
  readonly #removed = decoration({
    isWholeLine: true,
    borderWidth: '2px 0 0 0',
    borderStyle: 'dashed',
    borderColor: new vscode.ThemeColor('editorGutter.deletedBackground'),
  });
  /** Of the files that are on the screen, by address. */
  #shown = new Map<string, Reviewed>();
  #resting: NodeJS.Timeout | undefined;

  constructor(host: SessionHost, sets: ChangeSets, inputs: QuickInputs, log: Log) {
    this.#host = host;
    this.#sets = sets;
    this.#inputs = inputs;
    this.#log = log;
    this.#view = this.#life.own(vscode.window.createTreeView(VIEW, { treeDataProvider: this.#tree, showCollapseAll: false }));
    for (const one of [this.#added, this.#removed, this.#lenses]) this.#life.own(one);
    this.#life.onEnd(() => clearTimeout(this.#resting));
    this.#life.own(vscode.languages.registerCodeLensProvider({ scheme: 'file' }, this.#lensProvider()));
    this.#life.own(sets.onChange(() => this.#update()));
    this.#life.own(host.onSessions(() => this.#update()));
    this.#life.own(vscode.window.onDidChangeVisibleTextEditors(() => this.#update()));
    this.#life.own(vscode.window.onDidChangeActiveTextEditor(() => this.#setKeys()));
    this.#life.own(vscode.workspace.onDidChangeTextDocument(({ document }) => this.#typed(document)));
    this.#life.own(vscode.workspace.onDidSaveTextDocument(({ uri }) => isSavedByUser(uri) && sets.userSaved(uri.fsPath)));
    this.#life.own(onSavesTyped(({ file, text }) => sets.userSaved(file, text)));
    this.#update();
  }

  dispose(): void {
    this.#life.dispose();
  }

  /** Keeps or undoes the hunk at that line of the file, or at the cursor. */
  async settleHunk(how: 'keep' | 'undo', uri?: unknown, line?: unknown): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const wanted = uri instanceof vscode.Uri ? uri : editor?.document.uri;
    const reviewed = wanted && this.#shown.get(wanted.toString());
    const at = typeof line === 'number' ? line : editor?.selection.active.line;
    const hunk = at === undefined ? undefined : reviewed?.hunks.find((one) => covers(one, at));
    if (!reviewed || !hunk) return void vscode.window.showInformationMessage(vscode.l10n.t('There is no change at the cursor.'));
    await this.#settle(reviewed.set, reviewed.file, how, [hunk]);
  }

  /** Keeps or undoes all changes of a file: of the row that was chosen, or the file in front. */
  async settleFile(how: 'keep' | 'undo', row?: unknown): Promise<void> {
    const file = isChangedFile(row)
      ? row.path
      : row instanceof vscode.Uri
        ? row.fsPath
        : vscode.window.activeTextEditor?.document.uri.fsPath;
    const set = file === undefined ? undefined : this.#sets.reviewing(file);
    if (set && file !== undefined) await this.#settle(set, file, how, 'all');
  }

  async settleAll(how: 'keep' | 'undo'): Promise<void> {
    const set = this.#sets.of(this.#host.active);
    if (!set) return;
    if (how === 'undo') {
      const undo = vscode.l10n.t('Undo All');
      const text = vscode.l10n.t('Undo all changes in {0} file(s)? What you wrote in them stays.', set.files.length);
      if ((await vscode.window.showWarningMessage(text, { modal: true }, undo)) !== undo) return;
    }
    await this.#reported(() => set.settleAll(how));
  }

  /** Goes to the next or previous hunk of the file in front, around its ends. */
  go(way: 1 | -1): void {
    const editor = vscode.window.activeTextEditor;
    const lines = this.#shown.get(editor?.document.uri.toString() ?? '')?.hunks.map((one) => one.afterLine) ?? [];
    if (!editor || lines.length === 0) return;
    const { line } = editor.selection.active;
    const found = way === 1 ? (lines.find((one) => one > line) ?? lines[0]) : (lines.findLast((one) => one < line) ?? lines.at(-1));
    const target = new vscode.Position(Math.min(found ?? 0, editor.document.lineCount - 1), 0);
    editor.selection = new vscode.Selection(target, target);
    editor.revealRange(new vscode.Range(target, target), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  /** Opens a file of the list beside its text before the changes. */
  async open(row: unknown): Promise<void> {
    const set = isChangedFile(row) ? this.#sets.reviewing(row.path) : undefined;
    if (!isChangedFile(row) || !set) return;
    const base = await set.baseText(row.path);
    if (base === undefined) return void (await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(row.path)));
    const left = this.#documents.put('before', row.path, base ?? '');
    const right = row.kind === 'deleted' ? this.#documents.put('deleted', row.path, '') : vscode.Uri.file(row.path);
    const title = `${path.basename(row.path)} (${vscode.l10n.t('to review')})`;
    await vscode.commands.executeCommand('vscode.diff', left, right, title, { preview: true });
  }

  /** Asks for a prompt and puts the files back to before it, after showing what that changes. */
  /** Without a turn the user chooses one. */
  async restoreFiles(id = this.#host.active, turnId?: string): Promise<void> {
    const set = this.#sets.of(id);
    const session = id === undefined ? undefined : this.#host.get(id)?.store.now;
    if (!set || !session) return;
    if (turnId !== undefined) return this.#restoreTo(set, turnId);
    const turns = session.turns.filter((turn) => set.checkpoints.includes(turn.id)).toReversed();
    const choices = turns.map((turn) => ({
      label: titleOf({ ...session, title: '', turns: [turn] }) || vscode.l10n.t('Prompt'),
      description: new Date(turn.startedAt).toLocaleString(vscode.env.language),
      value: turn.id,
    }));
    const title = vscode.l10n.t('Restore Files to Before a Prompt');
    const chosen = await this.#inputs.pick(choices, { title, placeholder: vscode.l10n.t('Before which prompt?') });
    if (chosen !== undefined) await this.#restoreTo(set, chosen);
  }

  async undoRestore(): Promise<void> {
    const set = this.#sets.of(this.#host.active);
    if (set) await this.#reported(() => set.undoRestore());
  }

  async #restoreTo(set: ChangeSet, turnId: string): Promise<void> {
    const preview = await set.preview(turnId);
    if (!preview || preview.files.length === 0) {
      return void vscode.window.showInformationMessage(vscode.l10n.t('The files are as they were before this prompt.'));
    }
    const signs = { rewrite: 'M', create: 'A', delete: 'D', unknown: '?' } as const;
    const lines = preview.files.slice(0, 20).map(({ name, how }) => `${signs[how]}  ${name}`);
    const more = preview.files.length - lines.length;
    if (more > 0) lines.push(vscode.l10n.t('and {0} more', more));
    const restore = vscode.l10n.t('Restore Files');
    const text = vscode.l10n.t('Restore {0} file(s) to before this prompt? You can undo this.', preview.files.length);
    if ((await vscode.window.showWarningMessage(text, { modal: true, detail: lines.join('\n') }, restore)) !== restore) return;
    if (!(await this.#reported(() => set.restore(turnId)))) return;
    const undo = vscode.l10n.t('Undo');
    if ((await vscode.window.showInformationMessage(vscode.l10n.t('Files restored.'), undo)) === undo) await this.undoRestore();
  }

  async #settle(set: ChangeSet, file: string, how: 'keep' | 'undo', which: 'all' | readonly PlacedHunk[]): Promise<void> {
    await this.#reported(() => set.settle(file, how, which));
  }

  /** False when it failed; the user is told why. */
  async #reported(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      this.#log.error('A change could not be kept or undone', error);
      void vscode.window.showErrorMessage(messageOf(error));
      return false;
    }
  }

  #typed(document: vscode.TextDocument): void {
    if (!this.#shown.has(document.uri.toString())) return;
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => this.#update(), TYPING_RESTS);
  }

  #update(): void {
    const set = this.#sets.of(this.#host.active);
    const files = set?.files ?? [];
    this.#tree.show(files);
    this.#view.badge =
      files.length === 0 ? undefined : { value: files.length, tooltip: vscode.l10n.t('{0} file(s) to review', files.length) };
    this.#view.message = set?.partial ? vscode.l10n.t('This folder is large: not all of its files are watched.') : '';
    void vscode.commands.executeCommand('setContext', 'parley.toReview', files.length > 0);
    void vscode.commands.executeCommand('setContext', 'parley.canRestore', (set?.checkpoints.length ?? 0) > 0);
    void vscode.commands.executeCommand('setContext', 'parley.canUndoRestore', set?.canUndoRestore ?? false);
    this.#findHunks().catch((error: unknown) => this.#log.error('Changes could not be shown', error));
  }

  async #findHunks(): Promise<void> {
    const shown = new Map<string, Reviewed>();
    for (const { document } of vscode.window.visibleTextEditors) {
      const { fsPath: file, scheme } = document.uri;
      const set = scheme === 'file' ? this.#sets.reviewing(file) : undefined;
      const segments = await set?.segments(file);
      if (set && segments) shown.set(document.uri.toString(), { set, file, hunks: hunksOfSegments(segments) });
    }
    this.#shown = shown;
    for (const editor of vscode.window.visibleTextEditors) this.#decorate(editor);
    this.#lenses.fire();
    this.#setKeys();
  }

  #decorate(editor: vscode.TextEditor): void {
    const { uri } = editor.document;
    // A diff marks its lines itself.
    const hunks = isPlainTab(uri) ? (this.#shown.get(uri.toString())?.hunks ?? []) : [];
    const ranges = (chosen: readonly PlacedHunk[]) => chosen.map((one) => rangeOf(one, editor.document));
    editor.setDecorations(this.#added, ranges(hunks.filter(({ hunk }) => hunk.after.length > 0)));
    editor.setDecorations(this.#removed, ranges(hunks.filter(({ hunk }) => hunk.after.length === 0)));
  }

  #setKeys(): void {
    const uri = vscode.window.activeTextEditor?.document.uri.toString() ?? '';
    void vscode.commands.executeCommand('setContext', 'parley.fileHasHunks', (this.#shown.get(uri)?.hunks.length ?? 0) > 0);
  }

  #lensProvider(): vscode.CodeLensProvider {
    return {
      onDidChangeCodeLenses: this.#lenses.event,
      provideCodeLenses: (document) => {
        const { uri } = document;
        return (this.#shown.get(uri.toString())?.hunks ?? []).flatMap((one) => {
          const range = rangeOf(one, document);
          const lens = (title: string, command: string) => new vscode.CodeLens(range, { title, command, arguments: [uri, one.afterLine] });
          const gone = one.hunk.before.length;
          const note = gone === 0 ? [] : [new vscode.CodeLens(range, { title: removedNote(gone), command: '' })];
          return [lens(vscode.l10n.t('Keep'), 'parley.keepHunk'), lens(vscode.l10n.t('Undo'), 'parley.undoHunk'), ...note];
        });
      },
    };
  }
}

class FileTree implements vscode.TreeDataProvider<ChangedFile> {
  #files: readonly ChangedFile[] = [];
  readonly #changes = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changes.event;

  show(files: readonly ChangedFile[]): void {
    this.#files = files;
    this.#changes.fire(undefined);
  }

  getChildren(row?: ChangedFile): ChangedFile[] {
    return row ? [] : [...this.#files];
  }

  getTreeItem(row: ChangedFile): vscode.TreeItem {
    const kinds = { created: vscode.l10n.t('created'), deleted: vscode.l10n.t('deleted'), changed: vscode.l10n.t('changed') };
    const item = new vscode.TreeItem(vscode.Uri.file(row.path));
    item.id = row.path;
    const folder = path.posix.dirname(row.name);
    item.description = [folder === '.' ? '' : folder, kinds[row.kind]].filter(Boolean).join(' · ');
    item.contextValue = 'changedFile';
    item.accessibilityInformation = { label: `${row.name}, ${kinds[row.kind]}` };
    item.command = { title: vscode.l10n.t('Open Changes'), command: 'parley.openChange', arguments: [row] };
    return item;
  }
}

function isSavedByUser(uri: vscode.Uri): boolean {
  return uri.scheme === 'file' && !isSavedForAgent(uri.fsPath);
}

/** The file itself is on the screen, not only in a diff. */
function isPlainTab(uri: vscode.Uri): boolean {
  const inFront = vscode.window.tabGroups.all.map((group) => group.activeTab?.input);
  return inFront.some((input) => input instanceof vscode.TabInputText && input.uri.toString() === uri.toString());
}

function decoration(options: vscode.DecorationRenderOptions): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    ...options,
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.addedForeground'),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
}

/** The lines of a hunk; of lines that were taken away, the one below them. */
function rangeOf({ hunk, afterLine }: PlacedHunk, document: vscode.TextDocument): vscode.Range {
  const last = document.lineCount - 1;
  const from = Math.min(afterLine, last);
  return new vscode.Range(from, 0, Math.min(Math.max(from, afterLine + hunk.after.length - 1), last), 0);
}

function covers({ hunk, afterLine }: PlacedHunk, line: number): boolean {
  return line >= afterLine && line <= afterLine + Math.max(0, hunk.after.length - 1);
}

function removedNote(count: number): string {
  return vscode.l10n.t('{0} line(s) removed', count);
}

function isChangedFile(row: unknown): row is ChangedFile {
  return typeof row === 'object' && row !== null && 'path' in row && 'kind' in row && typeof row.path === 'string';
}

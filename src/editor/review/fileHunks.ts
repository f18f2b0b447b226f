import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import { type Log, messageOf } from '../../base/log.ts';
import type { UnreviewedFile, UnsavedBeside } from '../../live/review/changeSet.ts';
import type { ChangeSets, OfSession, SessionHunk } from '../../live/review/changeSets.ts';
import { isSameFile } from '../../protocols/paths.ts';
import { plain } from '../../session/lineEnds.ts';
import type { SessionId } from '../../session/model.ts';
import { hunkNow, hunksOfSegments, isWithoutOneHunk, linesUndone, type PlacedHunk, type Segments } from '../../session/segments.ts';
import { firstEdits, isSavedForAgent, presentText } from '../files.ts';
import { onSettings, quickDiffOn } from '../settings.ts';
import { DELETED_AFTER, isSideOfDeletion, REVIEW_SCHEME, type ReviewDocuments } from './documents.ts';
import { besideLenses, bySession, lensCommand, MERGE_UNSAVED, mergeUnsaved } from './hunkLenses.ts';
import { changeWords, LensChanges } from './lenses.ts';
import { diffsOf, goInDiffs, reveal, startOf } from './severalDiffs.ts';

/** Milliseconds without typing before hunks are recomputed. */
const TYPING_RESTS = 200;
/** Milliseconds after which they are recomputed although the file is written again and again on the disk. */
const LONGEST_WAIT = 1000;
/** Hunks of which the editor draws all lenses at once: each line that changes costs time for every lens drawn, in sight or not. */
const MOST_DRAWN = 40;
/** In a file with more, lenses this many lines around the screen are drawn at once, and the others as they come into sight. */
const LINES_AROUND = 100;

/** The version of a file that a text of ours shows: without the changes to review of that session, or of the first one; or as it is. */
type Followed = { readonly id: SessionId | undefined } | 'now';

/** Command id that only CodeLenses run. */
const SHOW_REMOVED = 'parley.showRemoved';

/** A hunk among those of its session, as a lens shows it: the text moves below a lens that is drawn before new ones come. */
export class ReviewedHunk implements SessionHunk {
  readonly of: OfSession;
  readonly hunk: PlacedHunk['hunk'];
  readonly beforeLine: number;
  readonly afterLine: number;
  readonly #segments: Segments;

  constructor(of: OfSession, { hunk, beforeLine, afterLine }: PlacedHunk, segments: Segments) {
    this.of = of;
    this.hunk = hunk;
    this.beforeLine = beforeLine;
    this.afterLine = afterLine;
    this.#segments = segments;
  }

  /** The same hunk among the present ones, wherever it is now; undefined where it was decided about or changed. */
  now(reviewed: Reviewed | undefined): ReviewedHunk | undefined {
    const all = reviewed?.hunks.filter(({ of }) => of.id === this.of.id) ?? [];
    const found = all[0] && hunkNow(this.#segments, this, all[0].#segments);
    return found && all.find(({ hunk }) => hunk === found.hunk);
  }
}

export interface Reviewed {
  readonly file: string;
  /** By session. */
  readonly segments: readonly Segments[];
  /** Of all sessions, from the top of the file; in the same place those of the active one first. */
  readonly hunks: readonly ReviewedHunk[];
  /** Changes of the file on disk that the text on the screen does not have. */
  readonly beside?: UnsavedBeside | undefined;
}

/** The hunks under review in the files on the screen: decorations, CodeLenses with Keep and Undo, and, where the user wants it, the editor's quick diff. */
export class FileHunks implements Disposable {
  readonly #sets: ChangeSets;
  readonly #documents: ReviewDocuments;
  readonly #log: Log;
  readonly #life = new Lifetime();
  readonly #lenses = new LensChanges();
  readonly #marks = { added: linesMark('added'), modified: linesMark('modified'), deleted: deletedMark() };
  /** Texts of ours that follow the decisions about a file, by their addresses. */
  readonly #bases = new Map<string, { readonly file: string; readonly put: (text: string) => vscode.Uri; readonly of: Followed }>();
  /** By address; includes documents that only have lenses. */
  readonly #shown = new Map<string, Reviewed>();
  readonly #isFirstEdit = firstEdits();
  #resting: NodeJS.Timeout | undefined;
  /** When the hunks are recomputed at the latest; undefined where the texts on the screen are not written on the disk. */
  #latest: number | undefined;
  #rounds = 0;
  #quickDiff: vscode.SourceControl | undefined;

  constructor(sets: ChangeSets, documents: ReviewDocuments, log: Log) {
    this.#sets = sets;
    this.#documents = documents;
    this.#log = log;
    for (const one of [...Object.values(this.#marks), this.#lenses]) this.#life.own(one);
    this.#life.own(onSettings('parley.review.quickDiff', () => this.update()));
    this.#life.onEnd(() => clearTimeout(this.#resting));
    this.#life.onEnd(() => this.#quickDiff?.dispose());
    const provider: vscode.CodeLensProvider = {
      onDidChangeCodeLenses: this.#lenses.onChange,
      provideCodeLenses: this.#lensesOf.bind(this),
      resolveCodeLens: (lens) => (lens instanceof LaterLens ? new vscode.CodeLens(lens.range, lens.later) : lens),
    };
    const schemes = ['file', REVIEW_SCHEME, documents.scheme];
    this.#life.own(
      vscode.languages.registerCodeLensProvider(
        schemes.map((scheme) => ({ scheme })),
        provider,
      ),
    );
    this.#life.own(
      vscode.commands.registerCommand(SHOW_REMOVED, (uri: unknown, shown: unknown) => this.#showRemoved(uri, shown).catch(showError)),
    );
    this.#life.own(vscode.commands.registerCommand(MERGE_UNSAVED, (uri: unknown) => this.#merge(uri).catch(showError)));
    this.#life.own(vscode.window.onDidChangeVisibleTextEditors(() => this.update()));
    this.#life.own(vscode.window.onDidChangeActiveTextEditor(() => this.#updateKeys()));
    // What the editor shows as no text is in no text editor.
    for (const event of [vscode.window.tabGroups.onDidChangeTabs, vscode.window.tabGroups.onDidChangeTabGroups])
      this.#life.own(event(() => vscode.window.activeTextEditor === undefined && this.#updateKeys()));
    this.#life.own(vscode.workspace.onDidChangeTextDocument((change) => this.#typed(change)));
    this.#life.own(vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#bases.delete(uri.toString())));
  }

  dispose(): void {
    this.#life.dispose();
  }

  /**
   * Shows the file's text without what is to be reviewed of the session, at that path; it follows the decisions. `key` keeps texts of one path apart.
   */
  showBase(key: string, file: string, text: string, id: SessionId | undefined, at = file): vscode.Uri {
    return this.#follow(id === undefined ? key : `${id}/${key}`, file, text, at, { id });
  }

  /** Shows a file that was deleted as it is now: empty, until the deletion is undone. */
  showDeleted(key: string, file: string): vscode.Uri {
    return this.#follow(key, file, '', file, 'now');
  }

  /** Shows a text that no decision changes. */
  showText(key: string, at: string, text: string): vscode.Uri {
    return this.#documents.put(key, at, text);
  }

  /** Shows at its address what an earlier window has shown there of that file. */
  async showAgain({ query: key, fsPath: at }: vscode.Uri, file: string): Promise<void> {
    const of = key === DELETED_AFTER ? 'now' : { id: /^([^/]+)\/before$/.exec(key)?.[1] };
    this.#follow(key, file, (await this.#followed(file, of)) ?? '', at, of);
  }

  #follow(key: string, file: string, text: string, at: string, of: Followed): vscode.Uri {
    const put = (now: string) => this.#documents.put(key, at, now);
    const uri = put(text);
    this.#bases.set(uri.toString(), { file, put, of });
    return uri;
  }

  /** The file whose deletion is shown in that document, and is to be decided about. */
  deletedIn(uri: vscode.Uri | undefined): string | undefined {
    if (!uri || !isSideOfDeletion(uri)) return undefined;
    const file = this.#bases.get(uri.toString())?.file ?? uri.fsPath;
    const isIt = (one: UnreviewedFile) => one.kind === 'deleted' && isSameFile(one.path, file);
    return this.#sets.reviewing(file)?.files.some(isIt) ? file : undefined;
  }

  /** The file that is decided about as a whole in that document: a deleted one, or one without hunks. */
  async wholeIn(uri: vscode.Uri | undefined): Promise<string | undefined> {
    const deleted = this.deletedIn(uri);
    if (deleted !== undefined || uri?.scheme !== 'file') return deleted;
    return this.#isWhole(uri, await this.find(uri)) ? uri.fsPath : undefined;
  }

  /** Of what is no text for us, or where only the permissions, or how the text is written, have changed, there are no hunks. */
  #isWhole({ fsPath: file }: vscode.Uri, reviewed: Reviewed | undefined): boolean {
    const found = this.#sets.files.find((one) => isSameFile(one.path, file));
    return found !== undefined && (!reviewed || (reviewed.hunks.length === 0 && (found.permissions ?? found.form) !== undefined));
  }

  of(uri: vscode.Uri | undefined): Reviewed | undefined {
    return uri && this.#shown.get(uri.toString());
  }

  /** The same for any document: the visible editors do not include those of a multi-diff editor. */
  async find(uri: vscode.Uri | undefined): Promise<Reviewed | undefined> {
    const known = this.of(uri);
    if (!uri || known) return known;
    const round = this.#rounds;
    const reviewed = await this.#reviewedIn({ uri });
    // A round that has begun since knows a later text.
    if (reviewed && round === this.#rounds) this.#shown.set(uri.toString(), reviewed);
    return this.of(uri) ?? reviewed;
  }

  /** The same for the text as it is now: what is on the screen may be of one from before the latest key. */
  async findNow(uri: vscode.Uri | undefined): Promise<Reviewed | undefined> {
    return uri && this.#reviewedIn({ uri });
  }

  update(): void {
    clearTimeout(this.#resting);
    this.#latest = undefined;
    this.#findHunks().catch((error: unknown) => this.#log.error('Changes could not be shown', error));
  }

  /** Goes to the next or previous hunk of the file in front, or of several diffs in one editor; false where there is none in that direction. */
  async go(way: 1 | -1): Promise<boolean> {
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    const inDiffs = diffsOf(input);
    if (inDiffs && (await goInDiffs(inDiffs, way))) return true;
    const editor = vscode.window.activeTextEditor;
    const { line } = editor?.selection.active ?? { line: 0 };
    // The text before the changes has the keyboard after a click into it.
    const isBefore = input instanceof vscode.TabInputTextDiff && input.original.toString() === editor?.document.uri.toString();
    const after = isBefore ? input.modified : undefined;
    const hunks = (await this.findNow(after ?? editor?.document.uri))?.hunks ?? [];
    const starts = hunks.map((one) => (after ? { ...startOf(one), line: one.beforeLine } : startOf(one)));
    const found = way === 1 ? starts.find((one) => one.line > line) : starts.findLast((one) => one.line < line);
    if (!editor || found === undefined) return false;
    reveal(editor, found);
    return true;
  }

  async firstPlace(file: string): Promise<ReturnType<typeof startOf> | undefined> {
    const segments = await this.#sets.reviewing(file)?.segments(file);
    const first = segments && hunksOfSegments(segments)[0];
    return first && startOf(first);
  }

  /** Goes to the hunk after the one at that line once it was decided by key, if there is one: the cursor may have been at its end, below a shorter text. */
  async goOn(from: number): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    const reviewed = await this.#reviewedIn(editor.document);
    const next = reviewed?.hunks.find((one) => one.afterLine >= from);
    if (next) reveal(editor, startOf(next));
  }

  /** Goes to the first hunk of the file in front, or, going backwards, to its last. */
  async goToEnd(way: 1 | -1): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const hunks = editor && (await this.#reviewedIn(editor.document))?.hunks;
    const hunk = hunks?.at(way === 1 ? 0 : -1);
    if (editor && hunk) reveal(editor, startOf(hunk));
  }

  #typed(change: vscode.TextDocumentChangeEvent): void {
    const { document } = change;
    const address = document.uri.toString();
    const isFirst = this.#isFirstEdit(change);
    const reviewed = this.#shown.get(address);
    if (!reviewed) return;
    this.#lenses.textChanged(address, change.contentChanges);
    // An arrow of the editor's own diff reverts a hunk like Undo does, and leaves the file unsaved. What was typed before is not saved with it.
    const byHand = document.isDirty && isFirst && !isSavedForAgent(document.uri.fsPath);
    if (byHand && reviewed.segments.some((one) => isWithoutOneHunk(one, plain(document.getText())))) void document.save();
    if (!document.isDirty) this.#latest ??= performance.now() + LONGEST_WAIT;
    this.#updateLater(document.uri.fsPath);
  }

  /** Once the typing rests, and not while a decision is being written: the hunks are counted again after it. */
  #updateLater(file: string): void {
    clearTimeout(this.#resting);
    const rest = Math.max(0, Math.min(TYPING_RESTS, (this.#latest ?? Number.POSITIVE_INFINITY) - performance.now()));
    this.#resting = setTimeout(() => {
      if (!isSavedForAgent(file)) {
        this.#sets.textChanged(file);
        return this.update();
      }
      this.#latest = undefined;
      this.#updateLater(file);
    }, rest);
  }

  async #findHunks(): Promise<void> {
    this.#rounds += 1;
    const round = this.#rounds;
    const shown = new Map<string, Reviewed>();
    for (const { document } of vscode.window.visibleTextEditors) {
      const reviewed = await this.#reviewedIn(document);
      if (reviewed) shown.set(document.uri.toString(), reviewed);
    }
    // A later round, with newer texts, may have ended before.
    if (round !== this.#rounds) return;
    const known = new Set(this.#shown.keys());
    this.#shown.clear();
    for (const [address, reviewed] of shown) this.#shown.set(address, reviewed);
    const editors = vscode.window.visibleTextEditors;
    for (const editor of editors) this.#decorate(editor);
    const addresses = editors.map(({ document }) => document.uri.toString());
    const deletions = new Set(
      editors
        .map(({ document }) => document.uri)
        .filter((uri) => isSideOfDeletion(uri))
        .map(String),
    );
    this.#lenses.refresh(addresses.filter((one) => shown.has(one) || known.has(one) || deletions.has(one)));
    this.#updateKeys();
    this.#setQuickDiff(quickDiffOn() && [...shown.values()].some(({ hunks }) => hunks.length > 0));
    await this.#followBases();
  }

  /** Kept hunks are no change any more, where the two texts are on the screen, too; nor is a deletion that is undone or kept. */
  async #followBases(): Promise<void> {
    for (const { uri } of vscode.workspace.textDocuments) {
      const shown = this.#bases.get(uri.toString());
      if (!shown) continue;
      const text = await this.#followed(shown.file, shown.of);
      if (text !== undefined) shown.put(text ?? '');
    }
  }

  async #followed(file: string, of: Followed): Promise<string | null | undefined> {
    const all = of === 'now' ? [] : this.#sets.changing(file);
    const found = of !== 'now' && of.id !== undefined ? all.find(({ id }) => id === of.id) : all[0];
    return found ? found.set.baseText(file) : presentText(file);
  }

  async #reviewedIn({ uri }: Pick<vscode.TextDocument, 'uri'>): Promise<Reviewed | undefined> {
    const file = uri.fsPath;
    const all = uri.scheme === 'file' ? this.#sets.changing(file) : [];
    const found = await Promise.all(
      all.map(async (of) => {
        const segments = await of.set.segments(file);
        return segments ? [{ of, segments, beside: await of.set.unsavedBeside(file) }] : [];
      }),
    );
    const known = found.flat();
    if (known.length === 0) return undefined;
    const hunks = known.flatMap(({ of, segments }) => hunksOfSegments(segments).map((one) => new ReviewedHunk(of, one, segments)));
    return {
      file,
      segments: known.map(({ segments }) => segments),
      hunks: hunks.sort((a, b) => a.afterLine - b.afterLine),
      beside: known.find(({ beside }) => beside)?.beside,
    };
  }

  async #merge(uri: unknown): Promise<void> {
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === String(uri));
    const beside = document && (await this.#reviewedIn(document))?.beside;
    if (!document || !beside) return;
    await mergeUnsaved(document, beside);
    this.#sets.userSaved(document.uri.fsPath);
    this.update();
  }

  #decorate(editor: vscode.TextEditor): void {
    const { uri } = editor.document;
    // A diff marks its lines itself.
    const all = isPlainTab(uri) ? (this.of(uri)?.hunks ?? []) : [];
    // Lines that two sessions have changed are marked once.
    const hunks = all.filter(({ afterLine }, at) => afterLine !== all[at - 1]?.afterLine);
    for (const kind of ['added', 'modified', 'deleted'] as const) {
      const chosen = hunks.filter((one) => kindOf(one) === kind);
      editor.setDecorations(
        this.#marks[kind],
        chosen.map((one) => rangeOf(one, editor.document)),
      );
    }
  }

  #updateKeys(): void {
    this.#setKeys().catch((error: unknown) => this.#log.error('The changes of a file could not be found', error));
  }

  async #setKeys(): Promise<void> {
    const uri = uriInFront();
    const set = (has: boolean) => vscode.commands.executeCommand('setContext', 'parley.fileHasHunks', has);
    if (this.deletedIn(uri) !== undefined) return void set(true);
    // A key that is pressed while they are counted is not lost.
    if (!this.of(uri)) void set(uri?.scheme === 'file' && this.#sets.reviewing(uri.fsPath) !== undefined);
    const has = ((await this.find(uri))?.hunks.length ?? 0) > 0 || (await this.wholeIn(uri)) !== undefined;
    // Another editor may have come to the front.
    if (uri?.toString() === uriInFront()?.toString()) void set(has);
  }

  /** Shows the changes under review in the gutter, only while there are some: a source control takes a place in the editor's own views. */
  #setQuickDiff(on: boolean): void {
    if (!on) {
      this.#quickDiff?.dispose();
      this.#quickDiff = undefined;
    } else if (!this.#quickDiff) {
      this.#quickDiff = vscode.scm.createSourceControl('parley', 'Parley');
      this.#quickDiff.inputBox.visible = false;
      this.#quickDiff.quickDiffProvider = { provideOriginalResource: this.#baseOf.bind(this) };
    }
  }

  /** Shows the previous text of a hunk in place. The editor's quick diff shows it with Keep and Undo. */
  async #showRemoved(uri: unknown, shown: unknown): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!(uri instanceof vscode.Uri) || !(shown instanceof ReviewedHunk) || editor?.document.uri.toString() !== uri.toString()) return;
    const reviewed = await this.findNow(uri);
    const hunk = shown.now(reviewed);
    if (!reviewed || !hunk) return;
    const at = new vscode.Position(Math.min(hunk.afterLine, editor.document.lineCount - 1), 0);
    editor.selection = new vscode.Selection(at, at);
    if (this.#quickDiff) return void (await vscode.commands.executeCommand('editor.action.dirtydiff.next'));
    const base = await hunk.of.set.baseText(uri.fsPath);
    if (typeof base !== 'string') return;
    const from = hunk.beforeLine;
    const removed = new vscode.Range(from, 0, from + hunk.hunk.before.length - 1, hunk.hunk.before.at(-1)?.length ?? 0);
    const place = new vscode.Location(this.showBase('before', reviewed.file, base, hunk.of.id), removed);
    await vscode.commands.executeCommand('editor.action.peekLocations', uri, at, [place], 'peek');
  }

  async #baseOf({ scheme, fsPath: file }: vscode.Uri): Promise<vscode.Uri | undefined> {
    const set = scheme === 'file' ? this.#sets.reviewing(file) : undefined;
    const base = await set?.baseText(file);
    return typeof base === 'string' ? this.showBase('quickDiff', file, base, undefined) : undefined;
  }

  async #lensesOf(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const { uri } = document;
    this.#lenses.asked(uri.toString());
    if (uri.scheme !== 'file') return this.deletedIn(uri) !== undefined && uri.query.endsWith('after') ? this.#wholeLenses(document) : [];
    const reviewed = await this.find(uri);
    if (this.#isWhole(uri, reviewed)) return [...this.#wholeLenses(document), ...besideLenses(document, reviewed?.beside)];
    if (!reviewed) return [];
    const { hunks } = reviewed;
    const isDrawn = hunks.length > MOST_DRAWN ? aroundScreen(document) : () => true;
    const isPlain = isPlainTab(uri);
    const writers = await this.writers(reviewed.file, hunks);
    const isNamed = hunks.some(({ of }) => this.#isNamed(of, isPlain));
    const decisions = hunks.flatMap((one, at) => {
      const range = rangeOf(one, document);
      const isNow = isDrawn(range);
      const lens = (title: string, name: string) => {
        const command = lensCommand(title, name, [uri, one]);
        return isNow ? new vscode.CodeLens(range, command) : new LaterLens(range, command);
      };
      const gone = one.hunk.before.length;
      // A diff shows the removed lines itself.
      const peek = gone > 0 && isPlain ? [lens(vscode.l10n.t('Show removed ({0})', gone), SHOW_REMOVED)] : [];
      const edited = (writers[at] ?? []).map((words) => lens(words, ''));
      const whose = isNamed ? [lens(bySession(this.#sets.nameOf(one.of.id)), '')] : [];
      const place = hunks.length > 1 ? [lens(`${at + 1}/${hunks.length}`, '')] : [];
      const decide = [lens(vscode.l10n.t('Keep'), 'parley.keepHunk'), lens(vscode.l10n.t('Undo'), 'parley.undoHunk')];
      // A narrow editor cuts the end of the row: the decisions come first.
      return [...decide, ...whose, ...peek, ...edited, ...place];
    });
    return [...decisions, ...besideLenses(document, reviewed.beside)];
  }

  /** Whether a change names its session. A diff may be of another session than the one in front. */
  #isNamed({ id }: OfSession, isPlain: boolean): boolean {
    return !this.#sets.isActive(id) || (!isPlain && this.#sets.all.filter(({ set }) => set.files.length > 0).length > 1);
  }

  /** The authors of later changes inside each change: other sessions, and the user. */
  async writers(file: string, hunks: readonly SessionHunk[]): Promise<readonly (readonly string[])[]> {
    const found = await this.#sets.writers(file, hunks);
    return hunks.map(({ hunk }, at) => {
      const others = found[at] ?? [];
      const isUsers = hunk.written && !others.some(({ isAll }) => isAll);
      return [...others.map(({ id }) => bySession(this.#sets.nameOf(id))), ...(isUsers ? [vscode.l10n.t('edited by you')] : [])];
    });
  }

  /** Over a file that is decided about as a whole. */
  #wholeLenses({ uri }: vscode.TextDocument): vscode.CodeLens[] {
    const [of] = this.#sets.changing(uri.fsPath);
    const found = of?.set.files.find((one) => isSameFile(one.path, uri.fsPath));
    if (!of || !found) return [];
    const lens = (title: string, command: string) => new vscode.CodeLens(new vscode.Range(0, 0, 0, 0), lensCommand(title, command, [uri]));
    const keep = lens(vscode.l10n.t('Keep'), 'parley.keepFile');
    const { whyUnkept: why, unkept } = found;
    const refused = why === undefined ? [] : [lens(vscode.l10n.t('Not kept for review: {0}', why), '')];
    const whose = this.#isNamed(of, isPlainTab(uri)) ? [lens(bySession(this.#sets.nameOf(of.id)), '')] : [];
    if (unkept) return [keep, ...whose, lens(vscode.l10n.t('cannot be undone'), ''), ...refused];
    const reason = refused.length > 0 ? refused : [lens(changeWords(found, uri.scheme !== 'file'), '')];
    return [keep, lens(vscode.l10n.t('Undo'), 'parley.undoFile'), ...whose, ...reason];
  }
}

/** A lens that the editor keeps a place for, and draws once it comes into sight. */
class LaterLens extends vscode.CodeLens {
  readonly later: vscode.Command;

  constructor(range: vscode.Range, later: vscode.Command) {
    super(range);
    this.later = later;
  }
}

/** Tells what is on the screen or near it, in any of the document's editors. */
function aroundScreen(document: vscode.TextDocument): (range: vscode.Range) => boolean {
  const seen = vscode.window.visibleTextEditors.flatMap((editor) => (editor.document === document ? editor.visibleRanges : []));
  return ({ start, end }) => seen.some((one) => start.line <= one.end.line + LINES_AROUND && end.line >= one.start.line - LINES_AROUND);
}

/** The document in front; what the editor shows as no text has its file's address. */
export function uriInFront(): vscode.Uri | undefined {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  const isFile = input instanceof vscode.TabInputText || input instanceof vscode.TabInputCustom;
  return vscode.window.activeTextEditor?.document.uri ?? (isFile ? input.uri : undefined);
}

function showError(error: unknown): void {
  void vscode.window.showErrorMessage(messageOf(error));
}

export function covers({ hunk, afterLine }: PlacedHunk, line: number): boolean {
  return line >= afterLine && line <= afterLine + Math.max(0, hunk.after.length - 1);
}

/** True when undoing the hunk also removes text the user has written into it. */
export function takesTyped({ hunk }: PlacedHunk): boolean {
  return linesUndone(hunk) === undefined;
}

/** True when the file itself is on the screen, not only a diff. */
function isPlainTab(uri: vscode.Uri): boolean {
  const inFront = vscode.window.tabGroups.all.map((group) => group.activeTab?.input);
  return inFront.some((input) => input instanceof vscode.TabInputText && input.uri.toString() === uri.toString());
}

type HunkKind = 'added' | 'modified' | 'deleted';

function kindOf({ hunk }: PlacedHunk): HunkKind {
  return hunk.after.length === 0 ? 'deleted' : hunk.before.length === 0 ? 'added' : 'modified';
}

/** A bar before the lines, in the colours of the editor's quick diff; in high contrast, which has no backgrounds, they are outlined as in a diff. */
function linesMark(kind: 'added' | 'modified'): vscode.TextEditorDecorationType {
  const backgroundColor = new vscode.ThemeColor('diffEditor.insertedLineBackground');
  const outlineColor = new vscode.ThemeColor('diffEditor.insertedTextBorder');
  const outline = { outlineColor, outlineStyle: 'dashed', outlineWidth: '1px' };
  return decoration(kind, { backgroundColor, borderWidth: '0 0 0 2px', borderStyle: 'solid', ...outline });
}

function deletedMark(): vscode.TextEditorDecorationType {
  return decoration('deleted', { borderWidth: '2px 0 0 0', borderStyle: 'dashed' });
}

function decoration(kind: HunkKind, options: vscode.DecorationRenderOptions): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    ...options,
    isWholeLine: true,
    borderColor: new vscode.ThemeColor(`editorGutter.${kind}Background`),
    overviewRulerColor: new vscode.ThemeColor(`editorOverviewRuler.${kind}Foreground`),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
}

/** The lines of a hunk; for removed lines, the line below them. */
function rangeOf({ hunk, afterLine }: PlacedHunk, document: vscode.TextDocument): vscode.Range {
  const last = document.lineCount - 1;
  const from = Math.min(afterLine, last);
  return new vscode.Range(from, 0, Math.min(Math.max(from, afterLine + hunk.after.length - 1), last), 0);
}

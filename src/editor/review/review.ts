import path from 'node:path';
import * as vscode from 'vscode';
import { Emitter } from '../../base/emitter.ts';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import type { Log } from '../../base/log.ts';
import type { ChangeSets } from '../../live/review/changeSets.ts';
import type { SessionHost } from '../../live/surface.ts';
import { doneSides, excerptSides, type Located, pendingSides, type Sides } from '../../session/diffs.ts';
import { plain } from '../../session/lineEnds.ts';
import type {
  Approval,
  Ask,
  AskId,
  AskRef,
  CallId,
  Diff,
  Session,
  SessionId,
  ToolCall,
  Turn,
  TurnFile,
  TurnId,
} from '../../session/model.ts';
import { carriesEdits, changeNow, isOfProposal, type ProposalHunk, proposalHunks, toggleHunk } from '../../session/proposal.ts';
import { changedFiles, type FileDiffs, fileNamed, findAsk, rowName, tabTitle, turnFiles } from '../../session/select.ts';
import { comparedText, openDocument } from '../files.ts';
import { noChangeHere, openTextDiff, type ReviewDocuments, toReadOnlySide } from './documents.ts';
import {
  ASKED_TEXT,
  activeReview,
  allReviews,
  type DiffSides,
  firstChange,
  isIn,
  isOfTurn,
  isOpenFile,
  isOpenTab,
  isOurs,
  isProposed,
  ReviewTabs,
  replaceText,
  reviewSides,
  saveAll,
  shownIn,
  TURN_SIDE,
} from './reviewTabs.ts';

/** The subject of an open diff: a pending ask, or a file that a turn has changed. */
export type DiffSubject =
  | {
      readonly kind: 'ask';
      readonly sessionId: SessionId;
      readonly askId: AskId;
      readonly file: string;
      /** The file as named by the agent. */
      readonly named: string;
      /** `carried`: the agent gets the edited text. `afterwards`: Parley writes it once the agent has made its own edit. */
      readonly editable: 'carried' | 'afterwards' | false;
      /** The whole sides as they were proposed. */
      readonly proposed: Sides;
    }
  /** An ask shown as text, where there is no diff of it, opened at `line`. */
  | { readonly kind: 'text'; readonly sessionId: SessionId; readonly askId: AskId; readonly line: number }
  | { readonly kind: 'turn'; readonly sessionId: SessionId; readonly turnId: TurnId; readonly file: string };

/** The whole ask; `at`: the offset of its dangerous part, in UTF-16 units. */
interface AskedText {
  readonly name: string;
  readonly text: string;
  readonly at?: number;
}

interface OpenDiff extends DiffSides {
  readonly subject: DiffSubject;
  /** The first change, where the diff opened. */
  readonly at?: vscode.Range | undefined;
  /** Settles when the changes of a pending edit that were to be left out, or put back, are so in its text. */
  toggled?: Promise<void>;
}

/** A change of a pending edit as a lens shows it: the text moves below a lens that is drawn before new ones come. */
export class ShownChange {
  readonly change: ProposalHunk;

  constructor(change: ProposalHunk) {
    this.change = change;
  }
}

/** Milliseconds without typing before the asks show the edited text. */
const TYPING_RESTS = 200;
/** Milliseconds within which the diffs of an answered ask close; an agent that takes longer to take the answer keeps them open. */
const LONGEST_CLOSING = 1000;
/** Diffs of turns that keep a Revert action in their editor. */
const MOST_TURN_DIFFS = 500;

/** Opens the native diff of a proposal or a finished change, and knows the subject of each diff. */
export class Review implements Disposable {
  readonly #host: SessionHost;
  readonly #sets: Pick<ChangeSets, 'of'> | undefined;
  readonly #documents: ReviewDocuments;
  readonly #tabs: ReviewTabs;
  readonly #log: Log;
  readonly #life = new Lifetime();
  readonly #shown = new Map<string, OpenDiff>();
  /** Diffs of settled asks that stay open for the user's edits. */
  readonly #kept = new Set<string>();
  #typing: NodeJS.Timeout | undefined;
  /** The side in which the cursor has moved last: going to the next change moves that of the proposed side, wherever the keyboard is. */
  #cursorIn = '';
  /** The edit whose diff was in front when the user allowed it. */
  #allowed:
    | {
        readonly sessionId: SessionId;
        readonly callId: CallId;
        readonly file: string;
        /** Where the file opens; undefined where the user left it. */
        readonly at: vscode.Position | undefined;
      }
    | undefined;
  readonly #opened = this.#life.own(new Emitter<void>());
  /** Fires when a diff has come to the front. */
  readonly onOpened = this.#opened.listen;

  readonly #left = this.#life.own(new Emitter<AskRef>());
  /** Fires when the user has closed the diff of an ask that is still open. */
  readonly onLeft = this.#left.listen;

  readonly #closed = this.#life.own(new Emitter<void>());
  /** Diffs of settled asks are being closed. */
  #closing = 0;

  constructor(host: SessionHost, documents: ReviewDocuments, log: Log, sets?: Pick<ChangeSets, 'of'>) {
    this.#host = host;
    this.#sets = sets;
    this.#documents = documents;
    this.#tabs = new ReviewTabs(documents);
    this.#log = log;
    this.#life.own(
      host.onChange((sessionId, { event, before, now }) => {
        if (event.type === 'ask.closed' && event.how === 'answered') this.#noteAllowed(sessionId, findAsk(before, event.askId));
        if (before.asks !== now.asks) this.#settle(event.type === 'ask.closed' && event.how === 'answered' ? event.askId : undefined);
        if (event.type === 'ask.revised' && event.stale)
          this.#followFiles(sessionId, event.askId).catch((error: unknown) => log.error('A diff could not follow its file', error));
        if (event.type === 'call.changed' && event.change.status !== undefined)
          this.#callEnded(sessionId, event.callId, event.change.status);
        if (event.type === 'turn.ended') this.#allowed = undefined;
      }),
    );
    this.#life.own(vscode.window.tabGroups.onDidChangeTabs((change) => this.#tabsChanged(change)));
    this.#life.own(host.onSessions(() => this.#settle()));
    this.#life.own(vscode.workspace.onDidChangeTextDocument(({ document }) => this.#changed(document.uri)));
    this.#life.own(vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#changed(uri)));
    this.#life.own(
      vscode.window.onDidChangeTextEditorSelection(({ textEditor: { document } }) => {
        if (isOurs(document.uri)) this.#cursorIn = document.uri.toString();
      }),
    );
    this.#life.onEnd(() => clearTimeout(this.#typing));
    // Of the tabs that the editor restored after a reload, the questions of these are over.
    this.#closeStray();
  }

  /** The subject of the diff in front, while it is current. */
  get active(): DiffSubject | undefined {
    const sides = activeReview();
    return sides && this.#shown.get(idOf(sides.left, sides.right))?.subject;
  }

  /** True when no other editor is open than diffs and texts of ours. */
  get isAlone(): boolean {
    return vscode.window.tabGroups.all.every((group) => group.tabs.every((tab) => this.#oursIn(tab) !== undefined));
  }

  /** The subject of the diff with that right side, or of the one in front when no address is given. */
  subjectOf(uri: unknown): DiffSubject | undefined {
    if (!(uri instanceof vscode.Uri)) return this.active;
    const front = this.active;
    const wanted = uri.toString();
    const found = [...this.#shown.values()].filter((one) => one.right.toString() === wanted).map((one) => one.subject);
    return found.find((one) => one === front) ?? (found.length === 1 ? found[0] : undefined);
  }

  /**
   * Opens the diff of a pending edit: one file of it, or the first. The focus stays where it is, unless `focus` is set. Never as a preview: that
   * would replace the user's own.
   */
  async openAsk(sessionId: SessionId, askId: AskId, file?: string, focus = false): Promise<void> {
    const session = this.#host.get(sessionId)?.store.now;
    const ask = session && findAsk(session, askId);
    if (!session || ask?.kind !== 'approval' || ask.detail.type !== 'edit') return;
    const files = byFile(session, ask.detail.diffs);
    const wanted = file === undefined ? [...files.keys()][0] : path.resolve(session.cwd, file);
    const diffs = wanted === undefined ? undefined : files.get(wanted);
    if (wanted === undefined || !diffs) return;
    const located = pendingSides(diffs, await comparedText(wanted, session.cwd));
    if (!this.#stillOpen(sessionId, askId)) return;
    const { shown, isKnown } = this.#putSides(sessionId, ask, wanted, diffs, located);
    const title = titleOf(wanted, located.ok ? vscode.l10n.t('proposed') : vscode.l10n.t('excerpt'), ask);
    const at = isKnown ? undefined : shown.at;
    await this.#open(shown.left, shown.right, title, { preserveFocus: !focus, preview: false, ...(at ? { selection: at } : {}) });
    // A quick-pick may cover the upper part.
    if (at) revealLow(shown.right, at);
  }

  /** Puts the texts of a pending edit's diff in place, also of one that is open. */
  #putSides(sessionId: SessionId, ask: Approval, wanted: string, diffs: readonly Diff[], located: Located) {
    const { id: askId } = ask;
    const key = `${sessionId}/${askId}`;
    const editable = editableAs(ask, located);
    const sides = this.#orExcerpt(located, diffs);
    const name = located.ok ? wanted : excerptName(wanted);
    const left = this.#documents.put(`${key}/before`, name, sides.before ?? '');
    const id = idOf(left, this.#documents.address(`${key}/after`, name));
    const known = this.#shown.get(id)?.subject;
    // Opened again, the diff is as the user left it.
    const kept = editable && known?.kind === 'ask' && known.editable && known.proposed.after === sides.after;
    const right = kept
      ? this.#documents.address(`${key}/after`, name)
      : editable
        ? this.#putProposal(`${key}/after`, name, sides.after ?? '')
        : this.#documents.put(`${key}/after`, name, sides.after ?? '');
    const subject: DiffSubject = {
      kind: 'ask',
      sessionId,
      askId,
      file: wanted,
      named: diffs[0]?.path ?? wanted,
      editable,
      proposed: sides,
    };
    const shown: OpenDiff = { subject, left, right, at: firstChange(sides) };
    this.#remember(shown);
    return { shown, isKnown: known !== undefined };
  }

  /** A question may be open over a reload, and what the user saved of its proposal with it: that goes on. Made of another proposal, it opens by itself. */
  #putProposal(key: string, name: string, text: string): vscode.Uri {
    const earlier = this.#documents.earlier(this.#documents.address(key, name));
    const uri = this.#documents.put(key, name, text, true);
    if (!earlier) return uri;
    const isOfThis = earlier.isOf(new TextEncoder().encode(text));
    const going = isOfThis ? this.#documents.writeFile(uri, earlier.bytes) : this.#tabs.keepOutdated(uri, earlier.bytes);
    going.then(
      () => isOfThis && this.#reviseAsks(),
      (error: unknown) => this.#log.error('An edited proposal of an earlier window could not be shown', error),
    );
    return uri;
  }

  /** The files of a pending edit have changed: its open diffs show them as they are now. */
  async #followFiles(sessionId: SessionId, askId: AskId): Promise<void> {
    for (const shown of [...this.#shown.values()]) {
      const { subject } = shown;
      const cwd = this.#host.get(sessionId)?.store.now.cwd;
      if (cwd === undefined || subject.kind !== 'ask' || subject.sessionId !== sessionId || subject.askId !== askId) continue;
      const present = await comparedText(subject.file, cwd);
      const session = this.#host.get(sessionId)?.store.now;
      const ask = session && findAsk(session, askId);
      if (!session || ask?.kind !== 'approval' || ask.detail.type !== 'edit') return;
      const diffs = byFile(session, ask.detail.diffs).get(subject.file) ?? [];
      const located = pendingSides(diffs, present);
      // What the user has made of another proposal stays.
      const mayPut = located.ok && (located.sides.after === subject.proposed.after || this.#made(shown) === undefined);
      if (mayPut) this.#putSides(sessionId, ask, subject.file, diffs, located);
    }
    this.#reviseAsks();
    // The answers over its changes count them anew.
    this.#opened.fire();
  }

  /**
   * Shows the ask before it is answered, with the keyboard in it: the diff of an edit, or a text. In an editable diff the keyboard is in the
   * read-only side, and never in the other: letters there choose answers.
   */
  async look(sessionId: SessionId, askId: AskId, at: { readonly path?: string; readonly text?: AskedText }): Promise<void> {
    const { path: file, text } = at;
    if (!text) {
      await this.openAsk(sessionId, askId, file);
      return toReadOnlySide();
    }
    const name = text.name.replace(/[/\\:*?"<>|\s]+/g, ' ').trim();
    const uri = this.#documents.put(`${sessionId}/${askId}${ASKED_TEXT}`, name || 'text', text.text);
    const document = await vscode.workspace.openTextDocument(uri);
    const place = text.at === undefined ? undefined : document.positionAt(text.at);
    this.#remember({ subject: { kind: 'text', sessionId, askId, line: place?.line ?? 0 }, left: uri, right: uri });
    const selection = place && new vscode.Range(place, place);
    await vscode.window.showTextDocument(document, { preview: false, ...(selection ? { selection } : {}) });
    this.#opened.fire();
  }

  /** Opens the changes of a turn: one file, or all of them in one editor. */
  async openTurn(sessionId: SessionId, turnId: TurnId, file?: string): Promise<void> {
    const session = this.#host.get(sessionId)?.store.now;
    const turn = session?.turns.find((one) => one.id === turnId);
    if (!session || !turn) return;
    const all = turnFiles(turn).map((one) => ({ ...one, path: path.resolve(session.cwd, one.path) }));
    const wanted = file === undefined ? all : all.filter((one) => one === fileNamed(all, path.resolve(session.cwd, file)));
    const opened = (await Promise.all(wanted.map((one) => this.#turnSides(session, turn, one)))).flatMap((one) => one ?? []);
    const [first] = opened;
    if (wanted.length === 1 && wanted[0] && !first)
      return void (await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(wanted[0].path)));
    if (!first) return;
    if (opened.length === 1) {
      const { left, right, title, at } = first;
      return this.#open(left, right, title, { preview: true, ...(at ? { selection: at } : {}) });
    }
    const resources = opened.map((one) => [vscode.Uri.file(one.subject.file), one.left, one.right]);
    await vscode.commands.executeCommand('vscode.changes', vscode.l10n.t('Changes'), resources);
  }

  /** Puts back a text that a diff of an earlier window shows; false where it is not known any more. */
  async putBack(uri: vscode.Uri): Promise<boolean> {
    const [, sessionId = '', turnId = '', side] = TURN_SIDE.exec(uri.query) ?? [];
    const session = this.#host.get(sessionId)?.store.now;
    const turn = session?.turns.find((one) => one.id === turnId);
    const files = session && turn ? turnFiles(turn).map((one) => ({ ...one, path: path.resolve(session.cwd, one.path) })) : [];
    const isAt = (name: string | undefined) => name !== undefined && this.#documents.address('', name).path === uri.path;
    const file = files.find((one) => [one.path, one.from, excerptName(one.path)].some(isAt));
    const found = session && turn && file ? await this.#turnSides(session, turn, file) : undefined;
    if (!found) return false;
    this.#documents.put(uri.query, uri.path, found.sides[side === 'before' ? 'before' : 'after'] ?? '');
    // The file may have changed since: then the tab has another right side than a diff that is opened now.
    for (const { left, right } of allReviews())
      if ([left, right].some((one) => one.toString() === uri.toString())) this.#remember({ subject: found.subject, left, right });
    this.#opened.fire();
    return true;
  }

  /**
   * An answer is about to be given: the ask knows what the user has made of the proposal by now. Returns the text that goes with the answer; undefined
   * when unchanged, or when the protocol carries none.
   */
  async edited(sessionId: SessionId, askId: AskId): Promise<string | undefined> {
    await Promise.all([...this.#shown.values()].map(({ toggled }) => toggled));
    this.#reviseAsks();
    for (const shown of this.#shown.values()) {
      const { subject } = shown;
      if (subject.kind === 'ask' && subject.sessionId === sessionId && subject.askId === askId && subject.editable === 'carried')
        return this.#made(shown);
    }
    return undefined;
  }

  /** Shows a text that is too long for a quick-pick. */
  async openText(title: string, text: string): Promise<void> {
    const uri = this.#documents.put(
      'text',
      `/${
        title
          .replace(/[/\\:*?"<>|\s]+/g, ' ')
          .trim()
          .slice(0, 60) || 'text'
      }`,
      text,
    );
    await vscode.window.showTextDocument(uri, { preview: true, preserveFocus: true });
  }

  dispose(): void {
    this.#life.dispose();
  }

  async #open(left: vscode.Uri, right: vscode.Uri, title: string, options: vscode.TextDocumentShowOptions): Promise<void> {
    await openTextDiff(left, right, title, options);
    this.#opened.fire();
  }

  /** The sides of a turn's file; undefined for a file that is not text. */
  async #turnSides(session: Session, turn: Turn, row: TurnFile) {
    const file = row.path;
    const present = await comparedText(file, session.cwd);
    const known = row.review === 'reported' ? undefined : await this.#sets?.of(session.id)?.turnTexts(turn.id, file);
    const texts = known && { ...known, ...row.links };
    const diffs = fileNamed(mergedFiles(session, changedFiles(turn)), file)?.diffs ?? [];
    if (texts ? texts.before === undefined || texts.after === undefined : diffs.length === 0) return undefined;
    const located: Located = texts
      ? { ok: true, sides: { before: texts.before ?? null, after: texts.after ?? null } }
      : doneSides(diffs, present);
    const sides = this.#orExcerpt(located, diffs);
    const key = `turn/${session.id}/${turn.id}`;
    const name = located.ok ? file : excerptName(file);
    const isDeleted = located.ok && sides.after === null;
    const sideKey = (side: 'before' | 'after') => `${key}/${isDeleted ? 'deleted/' : ''}${side}`;
    const left = this.#documents.put(sideKey('before'), located.ok ? (row.from ?? file) : name, sides.before ?? '');
    // Uses the file itself where nothing was changed since.
    const isPresent =
      located.ok && row.links?.after === undefined && typeof present === 'string' && plain(present) === plain(sides.after ?? '');
    const right = isPresent
      ? (openDocument(file)?.uri ?? vscode.Uri.file(file))
      : this.#documents.put(sideKey('after'), name, sides.after ?? '');
    const subject: DiffSubject = { kind: 'turn', sessionId: session.id, turnId: turn.id, file };
    this.#remember({ subject, left, right });
    const note = located.ok ? '' : ` (${vscode.l10n.t('excerpt')})`;
    const from = row.from === undefined ? undefined : vscode.workspace.asRelativePath(row.from);
    return { subject, left, right, sides, title: rowName(vscode.workspace.asRelativePath(file), from) + note, at: firstChange(sides) };
  }

  /** The text of a right side after the user has changed it; undefined when unchanged. */
  #made({ subject, right }: Pick<OpenDiff, 'subject' | 'right'>): string | undefined {
    if (subject.kind !== 'ask') return undefined;
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === right.toString() && !one.isClosed);
    const text = plain(document ? document.getText() : this.#documents.textOf(right));
    return text === plain(subject.proposed.after ?? '') ? undefined : text;
  }

  /** True when the right side has lines of the user's own, not only changes left out. */
  #wrote(shown: Pick<OpenDiff, 'subject' | 'right'>): boolean {
    const text = this.#made(shown);
    if (text === undefined || shown.subject.kind !== 'ask') return false;
    const { before, after } = shown.subject.proposed;
    return !isOfProposal(plain(before ?? ''), plain(after ?? ''), text);
  }

  /** Handles typing, saving or discarding in a diff: updates the asks once typing rests. */
  #changed(uri: vscode.Uri): void {
    const wanted = uri.toString();
    if (![...this.#shown.values()].some(({ subject, right }) => isEditable(subject) && right.toString() === wanted)) return;
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => this.#reviseAsks(), TYPING_RESTS);
  }

  #reviseAsks(): void {
    const asks = new Map(
      [...this.#shown.values()].flatMap(({ subject }) => (isEditable(subject) ? [[subject.askId, subject.sessionId]] : [])),
    );
    for (const [askId, sessionId] of asks) {
      const session = this.#host.get(sessionId ?? '');
      const ask = session && findAsk(session.store.now, askId ?? '');
      if (!session || ask?.kind !== 'approval') continue;
      const changed = [...this.#shown.values()].flatMap((shown) => this.#revisedDiff(shown, ask.id));
      const diffs = changed.map(({ diff }) => diff);
      if (JSON.stringify(diffs) === JSON.stringify(ask.revised ?? [])) continue;
      if (changed[0] && !ask.revised) void this.#showOwnChange(changed[0].shown);
      session.send({ type: 'revise', askId: ask.id, diffs });
    }
  }

  #revisedDiff(shown: OpenDiff, askId: AskId) {
    const { subject } = shown;
    const after = isEditable(subject) && subject.askId === askId ? this.#made(shown) : undefined;
    if (!isEditable(subject) || after === undefined) return [];
    return [{ shown, diff: { path: subject.named, before: subject.proposed.before, after } }];
  }

  /** Tells the user that the proposal is no longer the agent's, with one button to undo: keys may have been typed by mistake. */
  async #showOwnChange({ subject, right }: OpenDiff): Promise<void> {
    if (subject.kind !== 'ask') return;
    const back = vscode.l10n.t('Put back');
    const isLeftOut = this.#made({ subject, right }) === plain(subject.proposed.before ?? '');
    const text =
      subject.editable === 'carried' || isLeftOut
        ? `${path.basename(subject.named)}: ${vscode.l10n.t('edited by you')}`
        : vscode.l10n.t('Allowing it writes your text after the agent’s own edit. The agent is told with your next prompt.');
    if ((await vscode.window.showInformationMessage(text, back)) !== back) return;
    // The notification outlives the request.
    if (!this.#stillOpen(subject.sessionId, subject.askId))
      return void vscode.window.showInformationMessage(`${path.basename(subject.named)}: ${vscode.l10n.t('Answered')}`);
    await replaceText(right, subject.proposed.after ?? '');
  }

  /** Settles with true when no diff of this ask, which is over or about to be, is open any more, or after `limit` milliseconds with false. */
  async diffsClosed(sessionId: SessionId, askId: AskId, limit = LONGEST_CLOSING): Promise<boolean> {
    const isOpen = ({ subject, right }: OpenDiff) =>
      subject.kind !== 'turn' && subject.sessionId === sessionId && subject.askId === askId && isOpenTab(right);
    const areOpen = () => [...this.#shown.values()].some(isOpen);
    if (this.#closing > 0 || areOpen()) await this.#nextClosed(limit);
    return !areOpen();
  }

  /** Settles when diffs of settled asks have been closed, or after `limit` milliseconds. */
  #nextClosed(limit: number): Promise<void> {
    return new Promise((resolve) => {
      const wait = new Lifetime();
      const end = () => {
        this.#life.release(wait);
        wait.dispose();
        resolve();
      };
      this.#life.own(wait);
      wait.own(this.#closed.listen(end));
      const timer = setTimeout(end, limit);
      wait.onEnd(() => clearTimeout(timer));
    });
  }

  /** The changes of a pending editable edit, in the current text of its proposed side; undefined for any other document. */
  hunksOf(document: vscode.TextDocument): readonly ProposalHunk[] | undefined {
    const subject = this.subjectOf(document.uri);
    if (!subject || !isEditable(subject) || !this.#documents.owns(document.uri)) return undefined;
    const { before, after } = subject.proposed;
    return proposalHunks(plain(before ?? ''), plain(after ?? ''), plain(document.getText()));
  }

  /** Takes the keyboard out of a proposal that can be edited, into which a press on one of its answers has put it: keys there choose answers. */
  async leaveProposal(uri: unknown): Promise<void> {
    const subject = this.subjectOf(uri);
    if (subject && isEditable(subject) && subject === this.active) await toReadOnlySide();
  }

  /**
   * Excludes a change of a pending edit, or includes it again: the one that a lens shows, unless it is so already; or the one at that line of the
   * proposed side, or at the cursor of either side. One after the other: each is meant for the text that the one before leaves.
   */
  toggleHunk(uri?: unknown, line?: unknown, shown?: unknown): Promise<void> {
    const wanted = uri instanceof vscode.Uri ? uri : activeReview()?.right;
    const open = [...this.#shown.values()].find(({ right }) => right.toString() === wanted?.toString());
    const toggling = (open?.toggled ?? Promise.resolve()).then(() => this.#toggle(uri, line, shown));
    if (open) open.toggled = toggling.catch(() => undefined);
    return toggling;
  }

  async #toggle(uri: unknown, line: unknown, shown: unknown): Promise<void> {
    if (typeof line === 'number') await this.leaveProposal(uri);
    const sides = activeReview();
    const wanted = uri instanceof vscode.Uri ? uri : sides?.right;
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === wanted?.toString());
    const subject = document && this.subjectOf(document.uri);
    const hunks = (document && this.hunksOf(document)) ?? [];
    const inBefore = typeof line !== 'number' && sides?.left.toString() === this.#cursorIn;
    const at = typeof line === 'number' ? line : cursorLine(inBefore ? sides.left : wanted);
    const ofLens = shown instanceof ShownChange;
    const hunk = ofLens ? changeNow(shown.change, hunks) : hunks.find((one) => at !== undefined && covers(one, at, inBefore));
    if (!document || !subject || !isEditable(subject) || !hunk) return ofLens ? undefined : noChangeHere();
    await replaceText(document.uri, toggleHunk(plain(document.getText()), hunk));
    // The answers are for what is left now.
    this.#reviseAsks();
  }

  #orExcerpt(located: Located, diffs: readonly Diff[]): Sides {
    return located.ok ? located.sides : excerptSides(diffs);
  }

  #stillOpen(sessionId: SessionId, askId: AskId): boolean {
    const session = this.#host.get(sessionId)?.store.now;
    return session !== undefined && findAsk(session, askId) !== undefined;
  }

  /** Remembers an allowed diff in front: the file opens in its place, once the agent has written it. */
  #noteAllowed(sessionId: SessionId, ask: Ask | undefined): void {
    const { active } = this;
    if (ask?.callId === undefined || active?.kind !== 'ask' || active.askId !== ask.id || active.proposed.after === null) return;
    const isAllowed = ask.decision?.kind === 'approval' && ask.decision.effect.startsWith('allow');
    this.#allowed = isAllowed ? { sessionId, callId: ask.callId, file: active.file, at: this.#placeInFront(active.file) } : undefined;
  }

  /**
   * Where the cursor is in the proposed side of the diff in front. Undefined where it has not left the first change and the file is open as well: the
   * user may have come from there.
   */
  #placeInFront(file: string): vscode.Position | undefined {
    const sides = activeReview();
    const shown = sides && this.#shown.get(idOf(sides.left, sides.right));
    const editor = vscode.window.visibleTextEditors.find((one) => one.document.uri.toString() === sides?.right.toString());
    const at = editor?.selection.active;
    const isMoved = at !== undefined && at.line !== (shown?.at?.start.line ?? 0);
    return isMoved || !isOpenFile(file) ? at : undefined;
  }

  #callEnded(sessionId: SessionId, callId: CallId, status: ToolCall['status']): void {
    const allowed = this.#allowed;
    if (allowed?.callId !== callId || allowed.sessionId !== sessionId || status === 'running' || status === 'pending') return;
    this.#allowed = undefined;
    const isNext = (this.#host.get(sessionId)?.store.now.asks.length ?? 0) > 0;
    if (status !== 'done' || isNext) return;
    const selection = allowed.at && new vscode.Range(allowed.at, allowed.at);
    const options = { preview: true, preserveFocus: true, ...(selection ? { selection } : {}) };
    // A notebook opens as one.
    vscode.commands.executeCommand('vscode.open', vscode.Uri.file(allowed.file), options).then(undefined, (error: unknown) => {
      this.#log.warn(`The written file could not be opened: ${String(error)}`);
    });
  }

  /** Closes tabs of settled asks and forgets their texts. Keeps only what the user has written into a proposal and no answer carried. */
  #settle(answered?: AskId): void {
    const over = [...this.#shown].filter(
      ([, { subject }]) => subject.kind !== 'turn' && !this.#stillOpen(subject.sessionId, subject.askId),
    );
    const isKept = ({ subject, right }: OpenDiff) =>
      isEditable(subject) && subject.askId !== answered && this.#wrote({ subject, right }) && isOpenTab(right);
    const kept = over.filter(([, shown]) => isKept(shown));
    const gone = over.filter((one) => !kept.includes(one));
    for (const [id] of over) this.#shown.delete(id);
    for (const [id] of kept) this.#kept.add(id);
    if (kept.length > 0) {
      // As nothing is left to save it for, closing it asks nothing.
      void saveAll(kept.map(([, { right }]) => right)).catch((error: unknown) =>
        this.#log.error('An edited proposal could not be kept', error),
      );
      void vscode.window.showInformationMessage(
        vscode.l10n.t('Your edit was not written: the question is closed. Your text stays open until you close it.'),
      );
    }
    if (gone.length > 0) this.#close(new Map(gone));
  }

  /** Closes the tabs that show a text which is not known any more. Not to be awaited where the editor waits for that text. */
  closeEarlier(uri: vscode.Uri): Promise<void> {
    return this.#tabs.close((tab) => isIn(tab, uri)).catch((error: unknown) => this.#log.error('A tab could not be closed', error));
  }

  #closeStray(): void {
    this.#tabs
      .close((tab) => this.#isStray(tab))
      .catch((error: unknown) => this.#log.error('A diff of an earlier window could not be closed', error));
  }

  #close(gone: ReadonlyMap<string, DiffSides>): void {
    this.#closing += 1;
    this.#tabs
      .close((tab) => {
        const sides = reviewSides(tab);
        return sides !== undefined && gone.has(idOf(sides.left, sides.right));
      })
      .then(
        () => {
          for (const { left, right } of gone.values()) this.#forgetTexts(left, right);
        },
        (error: unknown) => this.#log.error('A diff could not be closed', error),
      )
      .finally(() => {
        this.#closing -= 1;
        this.#closed.fire();
      });
  }

  #forgetTexts(...uris: readonly vscode.Uri[]): void {
    for (const uri of uris) if (this.#documents.owns(uri)) this.#documents.remove(uri);
  }

  /** Closes a diff that came up after its ask was settled: it would show nothing. */
  #tabsChanged({ opened, changed, closed }: vscode.TabChangeEvent): void {
    if ([...opened, ...changed].some((tab) => this.#isStray(tab))) this.#closeStray();
    for (const tab of closed) {
      const sides = this.#oursIn(tab);
      const id = sides && idOf(sides.left, sides.right);
      if (!sides || id === undefined) continue;
      if (this.#kept.delete(id)) this.#forgetTexts(sides.left, sides.right);
      const subject = this.#shown.get(id)?.subject;
      // A tab that is moved closes, too.
      if (subject?.kind === 'ask' && !isOpenTab(sides.right)) this.#left.fire({ sessionId: subject.sessionId, askId: subject.askId });
    }
  }

  /** True for a tab of ours that shows no open ask, and nothing that was kept for the user. */
  #isStray(tab: vscode.Tab): boolean {
    const sides = this.#oursIn(tab);
    if (sides) return !isOfTurn(sides) && !this.#shown.has(idOf(sides.left, sides.right)) && !this.#kept.has(idOf(sides.left, sides.right));
    // The editor opens what was typed before a reload alone, when its diff is gone.
    const [alone, other] = shownIn(tab);
    if (!alone || other || !isProposed(alone) || !this.#documents.owns(alone)) return false;
    return ![...this.#shown.keys(), ...this.#kept].some((id) => id.split('\n').includes(alone.toString()));
  }

  #oursIn(tab: vscode.Tab): DiffSides | undefined {
    const sides = reviewSides(tab);
    return sides && (this.#documents.owns(sides.left) || this.#documents.owns(sides.right)) ? sides : undefined;
  }

  #remember(shown: OpenDiff): void {
    this.#shown.set(idOf(shown.left, shown.right), shown);
    const turns = [...this.#shown].filter(([, { subject }]) => subject.kind === 'turn');
    for (const [id, old] of turns.slice(0, Math.max(0, turns.length - MOST_TURN_DIFFS))) {
      this.#shown.delete(id);
      for (const uri of [old.left, old.right]) this.#documents.remove(uri);
    }
  }
}

/** Scrolls the range to the lower third: an approval's pick may cover the upper part of a window of any size. */
function revealLow(uri: vscode.Uri, range: vscode.Range): void {
  const shown = vscode.window.visibleTextEditors.find((one) => one.document.uri.toString() === uri.toString());
  const lines = shown?.visibleRanges.reduce((sum, { start, end }) => sum + end.line - start.line, 0) ?? 0;
  const top = Math.max(0, range.start.line - Math.floor(lines * 0.7));
  shown?.revealRange(new vscode.Range(top, 0, top, 0), vscode.TextEditorRevealType.AtTop);
  // That has scrolled to the left.
  if (range.start.character > 0) shown?.revealRange(range);
}

function isEditable(subject: DiffSubject): subject is Extract<DiffSubject, { kind: 'ask' }> {
  return subject.kind === 'ask' && subject.editable !== false;
}

/** How an edited proposal reaches the file: written afterwards where the protocol takes no edited text, or only for a single file. */
function editableAs(ask: Approval, located: Located): 'carried' | 'afterwards' | false {
  if (!located.ok || located.sides.after === null || ask.toolKind === 'move') return false;
  if (carriesEdits(ask)) return 'carried';
  return ask.turnId === undefined || ask.ours ? false : 'afterwards';
}

function idOf(left: vscode.Uri, right: vscode.Uri): string {
  return `${left.toString()}\n${right.toString()}`;
}

function byFile(session: Session, diffs: readonly Diff[]): ReadonlyMap<string, readonly Diff[]> {
  const files = new Map<string, Diff[]>();
  for (const diff of diffs) {
    const file = path.resolve(session.cwd, diff.path);
    files.set(file, [...(files.get(file) ?? []), diff]);
  }
  return files;
}

/** Merges files by absolute path, so that a path written in two ways is one file. */
export function mergedFiles(session: Session, files: readonly FileDiffs[]): readonly FileDiffs[] {
  const all = byFile(
    session,
    files.flatMap((file) => file.diffs),
  );
  return [...all].map(([file, diffs]) => ({ path: file, diffs }));
}

/** A name without the language's extension: excerpts checked as a whole file would be full of errors. */
function excerptName(file: string): string {
  return path.extname(file) === '.txt' ? file : `${file}.txt`;
}

function titleOf(file: string, note: string, ask?: Approval): string {
  const asker = ask?.asker ? `${ask.asker}: ` : '';
  return tabTitle(`${asker}${path.basename(file)} (${note})`);
}

/** True where the change stands at that line of the proposed side, or of the other. */
function covers({ line, beforeLine, isIn, hunk }: ProposalHunk, at: number, inBefore: boolean): boolean {
  const [start, lines] = inBefore ? [beforeLine, hunk.before] : [line, isIn ? hunk.after : hunk.before];
  return at >= start && at <= start + Math.max(0, lines.length - 1);
}

function cursorLine(uri: vscode.Uri | undefined): number | undefined {
  const editor = vscode.window.visibleTextEditors.find((one) => one.document.uri.toString() === uri?.toString());
  return editor?.selection.active.line;
}

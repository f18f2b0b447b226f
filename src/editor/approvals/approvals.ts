import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import type { SessionHost } from '../../live/surface.ts';
import {
  type AnswerSetting,
  type ApprovalAnswer,
  type ApprovalAnswers,
  answerSetting,
  approvalAnswers,
  isOneDiff,
} from '../../session/approvalAnswers.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, Ask, AskId, AskRef, Session, SessionId } from '../../session/model.ts';
import type { ApprovalRule } from '../../session/policy.ts';
import type { StoreChange } from '../../session/store.ts';
import type { InputsShown, QuickInputs } from '../quickInputs.ts';
import { ApprovalPick, type ApprovalPickSetting, cardAnswers } from './approvalPick.ts';
import type { AskPick, AskPreview, PickOutcome } from './askPick.ts';
import { ClickGuard, FocusReturn, KeyGuard, untilNextAsk } from './keyboard.ts';
import { pickTitleOf } from './pickTitle.ts';
import { QuestionPick, type QuestionProgress } from './questionPick.ts';
import { type AskKey, AskQueue, keyOf, keyOfOpen, type QueuedAsk } from './queue.ts';

interface InDiff {
  readonly key: AskKey;
  readonly back: (() => Promise<void>) | undefined;
}
type Feedback = Extract<ApprovalAnswer['does'], { readonly kind: 'feedback' }>;
export type PopUp = 'always' | 'whenNoDiff' | 'never';

/** A rule of the user's, and whether it is for this `session` only. */
export interface MadeRule {
  readonly rule: ApprovalRule;
  readonly scope: string;
}

export interface ApprovalsDeps {
  readonly host: SessionHost;
  readonly inputs: QuickInputs;
  /** Whether asks appear by themselves; `whenNoDiff`: all but edits of which a diff shows everything. */
  readonly popUp: () => PopUp;
  /** Whether the diff of a proposed edit opens with the ask. */
  readonly openDiffToo: () => boolean;
  /** Settles when the diff is open. */
  readonly openDiff: (sessionId: SessionId, askId: AskId, path?: string) => Promise<void>;
  /** No editor is in front. */
  readonly nothingOpen: () => boolean;
  /** Opens the same diff, with the keyboard in its read-only side. */
  readonly enterDiff: (sessionId: SessionId, askId: AskId) => void;
  /** Shows the ask with the keyboard in it, and closes it once it is answered. */
  readonly look: (sessionId: SessionId, askId: AskId, at: AskPreview) => void;
  readonly room: () => ApprovalPickSetting['room'];
  /** Milliseconds until the user has stopped typing; an ask that appears by itself waits for that. */
  readonly idleIn: () => number;
  readonly openText: (title: string, text: string) => void;
  /**
   * Returns a way back to the keyboard's present place, or, for a `requested` ask, to its place before the palette: after a quick-pick the editor never
   * returns to a webview. Settles on arrival.
   */
  readonly restoreFocus: (requested: boolean) => (() => Promise<void>) | undefined;
  /** Returns the way to what is in front, for a keyboard that ends up in the diff that is about to open over it. */
  readonly wayBackFromDiff: () => () => Promise<void>;
  /** Returns the way out of the diff in front, which an answer closes. */
  readonly wayOutOfDiff: () => () => Promise<void>;
  /** Reports the ask that a pick shows and Esc therefore dismisses; undefined when the pick has left. */
  readonly shown: (ask: AskRef | undefined) => void;
  /** Reports whether another quick input has closed a pick: Esc in that brings the pick back. */
  readonly covered: (isCovered: boolean) => void;
  /** Settles when the editor has drawn all earlier changes. */
  readonly drawn: () => Promise<void>;
  /**
   * Settles when the open diffs of an ask that is over, or about to be, have closed. A diff that closes takes the keyboard along where it has it: what
   * asked keeps it until then, and the editor returns it to where it was before.
   */
  readonly diffsClosed: (sessionId: SessionId, askId: AskId) => Promise<void>;
  /**
   * The proposed text as the user edited it in the diff, from where the ask knows it, too; undefined when unedited, or not for the agent. The ask then
   * also knows of changes to its files.
   */
  readonly edited: (sessionId: SessionId, askId: AskId) => Promise<string | undefined>;
  /** Keeps feedback whose request was withdrawn. */
  readonly keep: (feedback: string) => void;
  /** Adds a Parley rule that holds until the session is closed. */
  readonly addSessionRule: (sessionId: SessionId, rule: ApprovalRule) => void;
  /** Lets the user make a rule that would allow this. */
  readonly makeRule: (sessionId: SessionId, ask: Approval, shown: InputsShown) => Promise<MadeRule | undefined>;
  readonly manageRules: () => void;
  /** Milliseconds without a key before keys count; only tests set it. */
  readonly quiet?: number;
}

/** Shows open asks as native quick-picks, one after another. The sessions own the asks; this class knows only the one on the screen. */
export class Approvals implements Disposable {
  readonly #deps: ApprovalsDeps;
  readonly #life = new Lifetime();
  readonly #queue = new AskQueue();
  readonly #clicks = new ClickGuard();
  readonly #focus = new FocusReturn();
  readonly #progress = new Map<AskKey, QuestionProgress>();
  #timer: NodeJS.Timeout | undefined;
  #view: { readonly key: AskKey; readonly place: AskRef; readonly pick: AskPick } | undefined;
  /** The edit whose diff came up in place of a pick, and the way back from it. */
  #inDiff: InDiff | undefined;
  /** The ask about which an input is open, for feedback or a rule; its pick is hidden meanwhile. */
  #asking: { readonly key: AskKey; readonly stop: AbortController } | undefined;

  constructor(deps: ApprovalsDeps) {
    this.#deps = deps;
    this.#life.own(deps.host.onChange((sessionId, change) => this.#changed(sessionId, change)));
    this.#life.own(deps.host.onSessions(() => this.refresh()));
    this.#life.own(deps.inputs.onFree(() => this.refresh()));
    this.#life.onEnd(() => clearTimeout(this.#timer));
    this.#life.onEnd(() => this.#view?.pick.dispose());
    this.#life.onEnd(() => this.#asking?.stop.abort());
    this.refresh();
  }

  /** The ask that the pick on the screen shows. */
  get asking(): AskRef | undefined {
    return this.#view?.place;
  }

  /** The answers to an approval as its card shows them. */
  onCard(session: Session, ask: Approval): ApprovalAnswers {
    return cardAnswers(ask, { ...answerSetting(session), diffOpen: this.#opensDiff(ask), room: this.#deps.room() });
  }

  /** The window has another size, which decides what a pick can show. */
  resized(): void {
    this.#view?.pick.resized?.(this.#deps.room());
  }

  /** Shows this ask again. False when it is not open any more. */
  show(sessionId: SessionId, askId: AskId): boolean {
    this.refresh();
    const key = keyOf(sessionId, askId);
    if (this.#view?.key === key) return this.renewPick();
    const found = this.#queue.request(key);
    this.refresh();
    return found;
  }

  /**
   * Shows the pick on the screen again, with that letter's answer in focus: a press elsewhere has taken the keyboard from it, and the editor would
   * return it to the rows at most, where letters do nothing. False when there is none.
   */
  renewPick(letter?: string): boolean {
    if (!this.#view) return false;
    const { pick } = this.#view;
    this.#left();
    pick.dispose();
    this.refresh();
    if (letter !== undefined) this.#view?.pick.focus?.(letter);
    return true;
  }

  /** Shows this ask again from its diff or text, with that letter's answer in focus. The answer leads back to where the keyboard was before. */
  showFromDiff(sessionId: SessionId, askId: AskId, letter?: string): void {
    const key = keyOf(sessionId, askId);
    if (this.#view?.key === key) return void this.renewPick(letter);
    this.#focus.resume(key);
    const { restoreFocus, wayOutOfDiff } = this.#deps;
    this.#focus.leave(() => restoreFocus(true) ?? wayOutOfDiff());
    if (!this.show(sessionId, askId)) this.#focus.forget();
    if (letter !== undefined && this.#view?.key === key) this.#view.pick.focus?.(letter);
  }

  /** Handles the user closing the diff of an open ask: one that came up in place of a pick is dismissed, as Esc does with a pick. */
  async diffClosed({ sessionId, askId }: AskRef): Promise<void> {
    const left = this.#inDiff;
    if (left?.key !== keyOf(sessionId, askId)) return;
    this.#inDiff = undefined;
    this.#openDiffInstead(left.back);
    await this.#leaveDiff(left);
    this.refresh();
  }

  /** Shows the pending asks, oldest first. False when there are none. */
  showPending(): boolean {
    this.refresh();
    const found = this.#queue.requestAll();
    this.refresh();
    return found;
  }

  /** Sends an answer given in the chat, with the user's edits in the diff. */
  answer(sessionId: SessionId, askId: AskId, answer: Answer): void {
    const found = this.#find(sessionId, askId);
    if (found && this.#counts(found)) void this.#answer(found, answer);
  }

  /** Handles Esc closing the pick: the user continues where they were, not in the text that was opened beside it. */
  async dismissed(): Promise<void> {
    // The pick hides with this command; its outcome settles a moment later.
    await new Promise((resolve) => setImmediate(resolve));
    this.#uncover();
    if (this.#view || this.#life.ended) return;
    await this.#focus.goBack('dismissed');
    this.refresh();
  }

  /** Handles Esc closing the quick input that has closed a pick: the ask is there again. */
  comeBack(): void {
    if (this.#view || this.#life.ended) return;
    const key = this.#queue.comeBack();
    if (key === undefined) return;
    this.#deps.covered(false);
    if (this.#queue.request(key)) this.#focus.resume(key);
    this.refresh();
  }

  /** The user types elsewhere: the palette that has closed a pick is over, and Esc in the next one is not about it. */
  typedElsewhere(): void {
    this.#uncover();
  }

  /**
   * Answers one approval as its Accept or Reject button does. False when it has no one-time option of that kind. `rule`: the one for the session that
   * the user has made with it.
   */
  async decide(sessionId: SessionId, askId: AskId, how: 'accept' | 'reject', rule?: ApprovalRule): Promise<boolean> {
    const found = this.#find(sessionId, askId);
    const give = found && this.#decision(found, how, rule);
    if (!give) return false;
    const inDiff = this.#inDiff?.key === keyOfOpen(found) ? this.#inDiff : undefined;
    this.#takeOver(found);
    await give();
    await this.#goBack();
    await this.#leaveDiff(inDiff);
    return true;
  }

  /** Asks for feedback and rejects with it. False where the agent takes none. */
  async rejectWithFeedback(sessionId: SessionId, askId: AskId): Promise<boolean> {
    const found = this.#find(sessionId, askId);
    if (found?.ask.kind !== 'approval') return false;
    const answer = this.#answersTo(sessionId, found.ask).answers.find(({ does }) => does.kind === 'feedback');
    if (answer?.does.kind !== 'feedback') return false;
    const inDiff = this.#inDiff?.key === keyOfOpen(found) ? this.#inDiff : undefined;
    this.#takeOver(found);
    await this.#rejectWithWords(found, found.ask, answer.does);
    await this.#goBack();
    await this.#leaveDiff(inDiff);
    return true;
  }

  /** Opens the rule editor for an open approval; a new rule answers it too. */
  async alwaysAllow(sessionId: SessionId, askId: AskId): Promise<void> {
    const found = this.#find(sessionId, askId);
    if (found?.ask.kind === 'approval') await this.#makeRule(found, found.ask);
  }

  /** Allows an open approval once, and everything its suggested rule covers for the rest of the session. */
  async allowForSession(sessionId: SessionId, askId: AskId): Promise<void> {
    const found = this.#find(sessionId, askId);
    if (found?.ask.kind !== 'approval' || !this.#counts(found)) return;
    const answer = this.#answersTo(sessionId, found.ask).answers.find(({ does }) => does.kind === 'session');
    if (answer) await this.#choose(found, found.ask, answer);
  }

  /** Answers all approvals of a session, on a command, and returns how many. Dangerous ones must be allowed one by one. */
  async decideAll(sessionId: SessionId, how: 'accept' | 'reject'): Promise<number> {
    const isMeant = (ask: Approval) => how === 'reject' || !this.#answersTo(sessionId, ask).grave;
    const waiting = this.#openAsks().flatMap((one) => {
      const give = one.sessionId === sessionId && one.ask.kind === 'approval' && isMeant(one.ask) ? this.#decision(one, how) : undefined;
      return give ? [{ one, give }] : [];
    });
    if (waiting.length === 0) return 0;
    const inDiff = waiting.some(({ one }) => keyOfOpen(one) === this.#inDiff?.key) ? this.#inDiff : undefined;
    for (const { one } of waiting) this.#takeOver(one);
    const { restoreFocus } = this.#deps;
    this.#focus.leave(() => restoreFocus(true));
    const closed = () => Promise.all(waiting.map(({ one }) => this.#diffsClosed(one)()));
    const given = async () => {
      const first = closed();
      await Promise.all(waiting.map(({ give }) => give()));
      await first;
      await closed();
    };
    const hasDiff = waiting.some(({ one: { ask } }) => ask.kind === 'approval' && ask.detail.type === 'edit');
    await (hasDiff ? this.#deps.inputs.holding(`${how}All`, given()) : given());
    await this.#goBack();
    await this.#leaveDiff(inDiff);
    return waiting.length;
  }

  refresh(): void {
    if (this.#life.ended) return;
    this.#queue.update(this.#openAsks());
    const open = new Set(this.#queue.open.map(keyOfOpen));
    for (const key of [...this.#progress.keys()]) if (!open.has(key)) this.#progress.delete(key);
    if (this.#asking && !open.has(this.#asking.key)) this.#asking.stop.abort();
    if (this.#queue.covered !== undefined && !open.has(this.#queue.covered)) this.#uncover();
    const left = this.#inDiff && !open.has(this.#inDiff.key) ? this.#inDiff : undefined;
    if (left) this.#inDiff = undefined;
    const popUp = this.#deps.popUp();
    if (popUp === 'whenNoDiff') this.#openDiffInstead(left?.back);
    const next = this.#queue.next(({ ask }) => popUp === 'always' || (popUp === 'whenNoDiff' && !this.#isShownByDiff(ask)));
    const key = next && keyOfOpen(next);
    if (this.#view && this.#view.key !== key) this.#takeDown();
    if (!next || !key) return;
    if (this.#view) return this.#view.pick.update(next.ask, this.#titleOf(next));
    // One of our own inputs is open: the ask waits instead of closing it.
    if (this.#deps.inputs.busy || this.#focus.returning) return;
    const rest = this.#queue.isRequested(next) ? 0 : this.#deps.idleIn();
    if (rest > 0) this.#later(rest);
    else this.#put(next, key);
  }

  dispose(): void {
    this.#life.dispose();
  }

  #later(rest: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refresh(), rest);
  }

  #changed(sessionId: SessionId, { event, before, now }: StoreChange): void {
    this.#clicks.onEvent(sessionId, event);
    if (before.asks === now.asks && before.link === now.link && event.type !== 'title.set') return;
    // A rule answers right after the ask has opened; such an ask never appears.
    if (event.type === 'ask.opened') setImmediate(() => this.refresh());
    else this.refresh();
  }

  /** False while a press was meant for the question that this one replaced. */
  #counts(one: QueuedAsk): boolean {
    return !this.#clicks.has(keyOfOpen(one));
  }

  #takeDown(): void {
    if (!this.#view) return;
    const { pick, place } = this.#view;
    this.#left();
    this.#focus.forget();
    pick.end?.();
    void this.#deps.diffsClosed(place.sessionId, place.askId).finally(() => pick.dispose());
  }

  /** The user answers beside the pick, in the diff: the keyboard still returns to where the pick took it from. */
  #takeOver(one: QueuedAsk): void {
    if (this.#view?.key !== keyOfOpen(one)) return this.#focus.resume(keyOfOpen(one));
    const { pick } = this.#view;
    this.#left();
    pick.dispose();
  }

  /** Records that the pick has left the screen. */
  #left(): void {
    this.#view = undefined;
    this.#deps.shown(undefined);
  }

  #uncover(): void {
    if (this.#queue.covered === undefined) return;
    this.#queue.uncover();
    this.#deps.covered(false);
  }

  #put(one: QueuedAsk, key: AskKey): void {
    const requested = this.#queue.isRequested(one);
    // It closes the input that has closed another pick, which comes back after it.
    if (this.#queue.comeBack() !== undefined) this.#deps.covered(false);
    this.#queue.show(one);
    const { restoreFocus, wayBackFromDiff } = this.#deps;
    this.#focus.leave(() => restoreFocus(requested), this.#opensDiff(one.ask) ? wayBackFromDiff() : undefined);
    const place = { sessionId: one.sessionId, askId: one.ask.id };
    this.#deps.shown(place);
    const pick = this.#pickFor(one, key);
    this.#view = { key, place, pick };
    void pick.outcome.then((outcome) => this.#settle(one, pick, outcome));
  }

  #pickFor(one: QueuedAsk, key: AskKey): AskPick {
    const { ask, sessionId } = one;
    const title = this.#titleOf(one);
    const { openDiff, nothingOpen, openText, manageRules, drawn, quiet } = this.#deps;
    if (ask.kind === 'question')
      return new QuestionPick(ask, title, this.#progressOf(key), { openText, drawn, guard: new KeyGuard(quiet) });
    const diffOpen = this.#opensDiff(ask);
    // An empty group cannot take the keyboard back once the diff fills it: that takes the keyboard before the pick does, and so Esc leads out of it.
    const after = diffOpen && nothingOpen() && !this.#focus.knowsBack;
    const opened = diffOpen ? openDiff(sessionId, ask.id) : undefined;
    const setting = {
      ...this.#settingOf(sessionId),
      diffOpen,
      room: this.#deps.room(),
      guard: new KeyGuard(quiet),
      ...(after && opened ? { after: opened } : {}),
    };
    const clicks = this.#clicks;
    const isNew = () => clicks.has(key);
    const open = (path?: string) => void openDiff(sessionId, ask.id, path);
    return new ApprovalPick(ask, title, setting, { isNew, drawn, openDiff: open, manageRules });
  }

  async #settle(one: QueuedAsk, pick: AskPick, outcome: PickOutcome): Promise<void> {
    if (outcome.how === 'takenDown' || this.#life.ended) return;
    if (this.#view?.pick === pick) this.#left();
    if (outcome.how === 'answered' || outcome.how === 'chosen') {
      await this.#given(one, pick, outcome);
      // The pick holds the keyboard until it is back: from one that hides, the editor gives it to a file meanwhile.
      await this.#goBack();
      pick.dispose();
      return;
    }
    this.#focus.dismissed(keyOfOpen(one), outcome.how === 'look');
    if (outcome.how === 'look') {
      this.#queue.dismissShown();
      return this.#deps.look(one.sessionId, one.ask.id, outcome.at);
    }
    // Where it was Esc, the command of that key follows at once.
    this.#queue.dismissShown(keyOfOpen(one));
    this.#deps.covered(true);
  }

  /** Gives the answer of a pick. */
  async #given(one: QueuedAsk, pick: AskPick, outcome: Extract<PickOutcome, { how: 'answered' | 'chosen' }>): Promise<void> {
    if (outcome.how === 'answered') {
      await this.#answer(one, outcome.answer);
      return this.#holdForNext(one, pick);
    }
    const { kind } = outcome.answer.does;
    const closed = kind === 'feedback' || kind === 'always' ? undefined : this.#mayGoBack(one);
    if (!closed) pick.dispose();
    await this.#choose(one, outcome.ask, outcome.answer);
    await closed;
    if (closed) await this.#holdForNext(one, pick);
  }

  /**
   * The agent may ask again at once: until then the answered pick keeps the keys that are early for that from an editor. It lets go when the turn is
   * over or the user goes elsewhere.
   */
  async #holdForNext({ sessionId }: QueuedAsk, pick: AskPick): Promise<void> {
    const { host } = this.#deps;
    const mayAsk = () => {
      const turn = host.get(sessionId)?.store.now.turns.at(-1);
      return !this.#view && turn?.status === 'running' && !turn.stopping;
    };
    if (this.#focus.knowsBack || !mayAsk()) return;
    const holding = new Lifetime();
    const over = new Promise<void>((resolve) => holding.own(host.onChange(() => !mayAsk() && resolve())));
    await untilNextAsk(pick.hold(), over);
    holding.dispose();
  }

  #opensDiff(ask: Ask): boolean {
    return ask.kind === 'approval' && ask.detail.type === 'edit' && ask.detail.diffs.length > 0 && this.#deps.openDiffToo();
  }

  /** The diff that opens shows all that an answer is about: the whole change of one file, at its place. */
  #isShownByDiff(ask: Ask): boolean {
    return ask.kind === 'approval' && isOneDiff(ask) && this.#opensDiff(ask);
  }

  /**
   * Opens an edit as a diff with its answers in the editor's title and the keyboard in it; the other asks come as picks. One after the
   * other: a key meant for one diff must not reach another. `back`: from the diff before.
   */
  #openDiffInstead(back: (() => Promise<void>) | undefined): void {
    const isNext = (one: QueuedAsk) =>
      this.#isShownByDiff(one.ask) && !this.#queue.isRequested(one) && this.#queue.shown !== keyOfOpen(one);
    const next = this.#queue.waiting.find(isNext);
    if (!next || this.#inDiff || this.#focus.away || this.#deps.inputs.busy) return;
    const rest = this.#deps.idleIn();
    if (rest > 0) return this.#later(rest);
    const key = keyOfOpen(next);
    this.#queue.dismiss(key);
    this.#inDiff = { key, back: back ?? this.#deps.restoreFocus(false) };
    this.#deps.enterDiff(next.sessionId, next.ask.id);
  }

  /** Returns the user to where they were after an answer in a diff that came up by itself, unless the next diff is there. */
  async #leaveDiff(left: InDiff | undefined): Promise<void> {
    if (!left || this.#view || (this.#inDiff && this.#inDiff !== left)) return;
    await this.#focus.goBackBy(left.back);
    this.refresh();
  }

  #answersTo(sessionId: SessionId, ask: Approval): ApprovalAnswers {
    return approvalAnswers(ask, this.#settingOf(sessionId));
  }

  /** Returns the action that gives the one-time answer of that kind; undefined where there is none, or where a press is not meant for this ask. */
  #decision(one: QueuedAsk, how: 'accept' | 'reject', rule?: ApprovalRule): (() => Promise<void>) | undefined {
    const { ask, sessionId } = one;
    if (ask.kind !== 'approval' || !this.#counts(one)) return undefined;
    const { once, reject } = this.#answersTo(sessionId, ask);
    const answer = how === 'accept' ? once : reject;
    return answer?.does.kind === 'option' || answer?.does.kind === 'stop' ? () => this.#choose(one, ask, answer, rule) : undefined;
  }

  #settingOf(sessionId: SessionId): AnswerSetting {
    const session = this.#deps.host.get(sessionId);
    return session ? answerSetting(session.store.now) : { cwd: '', feedback: false };
  }

  async #choose(one: QueuedAsk, ask: Approval, { does }: ApprovalAnswer, rule?: ApprovalRule): Promise<void> {
    switch (does.kind) {
      case 'feedback':
        return this.#rejectWithWords(one, ask, does);
      case 'always':
        return this.#makeRule(one, ask);
      case 'stop':
        return this.#stopTurn(one);
      case 'session':
        this.#deps.addSessionRule(one.sessionId, does.rule);
        return this.#answer(one, { kind: 'option', optionId: does.option.id, rule: does.rule });
      case 'option':
        return this.#answer(one, { kind: 'option', optionId: does.option.id, ...(rule ? { rule } : {}) });
    }
  }

  /** Rejects with an agent that offers no clear refusal: the ask ends with its turn. */
  #stopTurn(one: QueuedAsk): void {
    this.#queue.answered(keyOfOpen(one));
    this.#deps.host.get(one.sessionId)?.send({ type: 'cancel' });
    this.refresh();
  }

  /** Lets the user make a rule for later asks; the rule answers this one too. */
  async #makeRule(one: QueuedAsk, ask: Approval): Promise<void> {
    const key = keyOfOpen(one);
    const { signal } = this.#ask(key);
    this.#queue.dismiss(key);
    const made = await this.#deps.makeRule(one.sessionId, ask, { signal, until: this.#heldUntilBack(one) });
    this.#asking = undefined;
    const rule = made?.scope === 'session' ? made.rule : undefined;
    if (made && this.#isAsSeen(one.sessionId, ask)) await this.decide(one.sessionId, ask.id, 'accept', rule);
    else this.show(one.sessionId, ask.id);
  }

  /** Returns what closes an input about an approval when that is answered elsewhere or withdrawn. */
  #ask(key: AskKey): AbortController {
    const stop = new AbortController();
    this.#asking = { key, stop };
    return stop;
  }

  async #rejectWithWords(one: QueuedAsk, ask: Approval, { option, way }: Feedback): Promise<void> {
    const { signal } = this.#ask(keyOfOpen(one));
    const feedback = await this.#deps.inputs.input({
      title: this.#titleOf(one),
      prompt:
        way === 'answer'
          ? vscode.l10n.t('What should the agent do instead?')
          : vscode.l10n.t('What should the agent do instead? Sent as the next prompt.'),
      signal,
      until: this.#heldUntilBack(one),
      check: (text) => (text.trim() ? undefined : vscode.l10n.t('Needed')),
      withdrawn: (typed) => typed.trim() && this.#deps.keep(typed.trim()),
    });
    this.#asking = undefined;
    if (this.#life.ended || signal.aborted) return;
    if (feedback === undefined) this.show(one.sessionId, ask.id);
    else await this.#answer(one, { kind: 'option', optionId: option.id, feedback: feedback.trim() });
  }

  /** How long an answered input holds the keyboard: until that is back. */
  #heldUntilBack(one: QueuedAsk): () => Promise<void> {
    return () => this.#mayGoBack(one).then(() => this.#focus.goBack('pick'));
  }

  /** Settles when the keyboard may return: the chat takes it at once, a part of the editor would lose it to the diff until that has closed. */
  async #mayGoBack(one: QueuedAsk): Promise<void> {
    if (!this.#focus.knowsBack) await this.#diffsClosed(one)();
  }

  #diffsClosed({ sessionId, ask }: QueuedAsk): () => Promise<void> {
    return () => this.#deps.diffsClosed(sessionId, ask.id);
  }

  /** Returns the user to where they were after an answer in a pick, unless the next pick is there. */
  async #goBack(): Promise<void> {
    if (this.#view || this.#life.ended) return;
    await this.#focus.goBack('pick');
    this.refresh();
  }

  async #answer(one: QueuedAsk, answer: Answer): Promise<void> {
    const { ask, sessionId } = one;
    this.#queue.answered(keyOfOpen(one));
    this.#progress.delete(keyOfOpen(one));
    const seen = this.#find(sessionId, ask.id)?.ask;
    const edited = ask.kind === 'approval' ? await this.#editedFor(sessionId, ask, answer) : undefined;
    // The first of two simultaneous answers counts.
    if (!seen || !this.#find(sessionId, ask.id)) return;
    if (!this.#isAsSeen(sessionId, seen)) return void this.show(sessionId, ask.id);
    const whole = edited === undefined ? answer : { ...answer, edited };
    this.#deps.host.get(sessionId)?.send({ type: 'answer', askId: ask.id, answer: whole });
    this.refresh();
  }

  async #editedFor(sessionId: SessionId, ask: Approval, answer: Answer): Promise<string | undefined> {
    if (answer.kind !== 'option' || answer.edited !== undefined) return undefined;
    const option = ask.options.find((one) => one.id === answer.optionId);
    if (!option?.effect.startsWith('allow')) return undefined;
    const edited = await this.#deps.edited(sessionId, ask.id);
    return ask.editable ? edited : undefined;
  }

  /** False where an allowance would change other text than the user has seen: a file of the edit has changed since. */
  #isAsSeen(sessionId: SessionId, seen: Ask): boolean {
    const now = this.#find(sessionId, seen.id)?.ask;
    return now?.kind !== 'approval' || seen.kind !== 'approval' || now.stale === seen.stale;
  }

  #find(sessionId: SessionId, askId: AskId): QueuedAsk | undefined {
    return this.#openAsks().find((one) => one.sessionId === sessionId && one.ask.id === askId);
  }

  #openAsks(): readonly QueuedAsk[] {
    return this.#deps.host.all.flatMap((sessionId) =>
      (this.#deps.host.get(sessionId)?.store.now.asks ?? []).flatMap((ask) => (isRuled(ask) ? [] : [{ sessionId, ask }])),
    );
  }

  #progressOf(key: AskKey): QuestionProgress {
    const known = this.#progress.get(key);
    if (known) return known;
    const fresh: QuestionProgress = { step: 0, values: new Map(), drafts: new Map() };
    this.#progress.set(key, fresh);
    return fresh;
  }

  #titleOf(one: QueuedAsk): string {
    return pickTitleOf(one, this.#deps.host, this.#queue.placeOf(keyOfOpen(one)));
  }
}

/** True when a rule has answered and the agent has not taken the answer yet. */
function isRuled({ decision }: Ask): boolean {
  return decision?.kind === 'approval' && decision.by === 'rule';
}

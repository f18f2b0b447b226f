import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import type { HostedSession, SessionHost } from '../../live/surface.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, Ask, AskId, Option, Question, SessionId } from '../../session/model.ts';
import { askTitle, rejection } from '../../session/select.ts';
import type { QuickInputs } from '../quickInputs.ts';
import { showApproval } from './approvalPick.ts';
import { acceptance, plainLabel } from './optionRows.ts';
import { type QuestionProgress, showQuestion } from './questionPick.ts';
import { type AskKey, AskQueue, keyOf, keyOfOpen, type OpenAsk } from './queue.ts';
import { Unread } from './unread.ts';

export interface ApprovalsDeps {
  readonly desk: SessionHost;
  readonly inputs: QuickInputs;
  /** Whether asks appear by themselves. */
  readonly popUp: () => boolean;
  /** Whether the diff of a proposed edit opens with the ask. */
  readonly openDiffToo: () => boolean;
  readonly openDiff: (sessionId: SessionId, askId: AskId, path?: string) => void;
  /** Milliseconds until the user does not type any more; an ask that appears by itself waits for it. */
  readonly restsIn: () => number;
  readonly openText: (title: string, text: string) => void;
  /** Back to where the keyboard is now, from a quick-pick: the editor itself goes back to its own parts only, never to a webview. Settles when the keyboard is there. */
  readonly wayBack: () => (() => Promise<void>) | undefined;
  /** Whether one of the picks is on the screen, and Esc therefore sets it aside. */
  readonly shown: (on: boolean) => void;
  /** What the user made of the proposed text, when they changed it in the diff. */
  readonly edited: (sessionId: SessionId, askId: AskId) => Promise<string | undefined>;
}

/** Open asks as native quick-picks, one after another. The asks live in the sessions; only what is on the screen is known here. */
export class Approvals implements Disposable {
  readonly #deps: ApprovalsDeps;
  readonly #life = new Lifetime();
  readonly #queue = new AskQueue();
  readonly #unread = new Unread();
  #timer: NodeJS.Timeout | undefined;
  readonly #progress = new Map<AskKey, QuestionProgress>();
  #view: { readonly key: AskKey; readonly pick: Disposable; readonly update: (ask: Ask, title: string) => void } | undefined;
  #back: (() => Promise<void>) | undefined;
  /** The way back from the pick that has just left without an answer. */
  #aside: (() => Promise<void>) | undefined;
  /** The keyboard is on its way back; a pick that came now would lose it. */
  #returning = false;
  /** Words are being typed for this one; its pick is away meanwhile. */
  #feedback: { readonly key: AskKey; readonly stop: AbortController } | undefined;

  constructor(deps: ApprovalsDeps) {
    this.#deps = deps;
    this.#life.own(
      deps.desk.onChange((sessionId, { event, before, now }) => {
        this.#unread.heard(sessionId, event);
        if (before.asks !== now.asks || event.type === 'title.set') this.refresh();
      }),
    );
    this.#life.own(deps.desk.onSessions(() => this.refresh()));
    this.#life.own(deps.inputs.onFree(() => this.refresh()));
    this.#life.onEnd(() => clearTimeout(this.#timer));
    this.#life.onEnd(() => this.#view?.pick.dispose());
    this.#life.onEnd(() => this.#feedback?.stop.abort());
    this.refresh();
  }

  /** Shows this ask again. False when it is not open any more. */
  show(sessionId: SessionId, askId: AskId): boolean {
    this.refresh();
    const key = keyOf(sessionId, askId);
    if (this.#view?.key === key) return true;
    const found = this.#queue.want(key);
    this.refresh();
    return found;
  }

  /** Shows what waits, beginning with the oldest. False when nothing waits. */
  showPending(): boolean {
    this.refresh();
    const found = this.#queue.wantAll();
    this.refresh();
    return found;
  }

  /** An answer given elsewhere, in the chat: what the user changed in the diff goes with it too. */
  answer(sessionId: SessionId, askId: AskId, answer: Answer): void {
    const found = this.#find(sessionId, askId);
    if (found && !this.#unread.has(keyOfOpen(found))) void this.#answer(found, answer);
  }

  /** Esc has closed the pick: the user goes on where they were, not in the text that was opened beside it. */
  async setAside(): Promise<void> {
    const back = this.#aside;
    this.#aside = undefined;
    if (back) await this.#return(back);
  }

  /** Answers one approval as its Accept or Reject button says. False when it offers no such option for this once. */
  async decide(sessionId: SessionId, askId: AskId, how: 'accept' | 'reject'): Promise<boolean> {
    const found = this.#find(sessionId, askId);
    if (found?.ask.kind !== 'approval' || this.#unread.has(keyOfOpen(found))) return false;
    const option = how === 'accept' ? acceptance(found.ask) : rejection(found.ask);
    if (!option) return false;
    await this.#answer(found, { kind: 'option', optionId: option.id });
    return true;
  }

  /** How many approvals of a session were answered so. */
  async decideAll(sessionId: SessionId, how: 'accept' | 'reject'): Promise<number> {
    const waiting = this.#openAsks().filter((one) => one.sessionId === sessionId && one.ask.kind === 'approval');
    const done = await Promise.all(waiting.map((one) => this.decide(sessionId, one.ask.id, how)));
    return done.filter(Boolean).length;
  }

  refresh(): void {
    if (this.#life.ended) return;
    this.#queue.update(this.#openAsks());
    const open = new Set(this.#queue.open.map(keyOfOpen));
    for (const key of [...this.#progress.keys()]) if (!open.has(key)) this.#progress.delete(key);
    if (this.#feedback && !open.has(this.#feedback.key)) this.#feedback.stop.abort();
    const next = this.#queue.next(this.#deps.popUp());
    const key = next && keyOfOpen(next);
    if (this.#view && this.#view.key !== key) this.#takeDown();
    if (!next || !key) return;
    if (this.#view) return this.#view.update(next.ask, this.#titleOf(next));
    // One of our own inputs is open: this one waits, it does not close what the user is doing.
    if (this.#deps.inputs.busy || this.#returning) return;
    const rest = this.#queue.isWanted(next) ? 0 : this.#deps.restsIn();
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

  #takeDown(): void {
    const view = this.#view;
    this.#left();
    this.#back = undefined;
    view?.pick.dispose();
  }

  /** The pick is not on the screen any more. */
  #left(): void {
    this.#view = undefined;
    this.#deps.shown(false);
  }

  #put(one: OpenAsk, key: AskKey): void {
    this.#queue.show(one);
    const { ask, sessionId } = one;
    this.#back ??= this.#deps.wayBack();
    this.#aside = undefined;
    this.#deps.shown(true);
    const host = {
      answer: (answer: Answer) => {
        this.#left();
        void this.#answer(one, answer).then(() => this.#goBack());
      },
      // Whoever opens something else over it is there by now.
      dismissed: () => {
        this.#left();
        this.#aside = this.#back;
        this.#back = undefined;
        this.#queue.dismissed();
      },
      openText: this.#deps.openText,
      unread: () => this.#unread.has(key),
    };
    const title = this.#titleOf(one);
    if (ask.kind === 'question') {
      const pick = showQuestion(ask, title, this.#progressOf(key), host);
      this.#view = { key, pick, update: (_, next) => pick.setTitle(next) };
      return;
    }
    const { diffs } = ask.detail.type === 'edit' ? ask.detail : { diffs: [] };
    if (diffs.length > 0 && this.#deps.openDiffToo()) this.#deps.openDiff(sessionId, ask.id);
    const pick = showApproval(ask, title, !ask.wordless && this.#offersFeedback(sessionId), {
      ...host,
      openDiff: (path) => this.#deps.openDiff(sessionId, ask.id, path),
      lookAtDiff: () => {
        host.dismissed();
        this.#deps.openDiff(sessionId, ask.id);
        void this.setAside();
      },
      feedback: (option) => {
        this.#left();
        void this.#rejectWithWords(one, ask, option);
      },
    });
    this.#view = { key, pick, update: (now, next) => now.kind === 'approval' && pick.update(now, next) };
  }

  async #rejectWithWords(one: OpenAsk, ask: Approval, option: Option): Promise<void> {
    const key = keyOfOpen(one);
    const stop = new AbortController();
    this.#feedback = { key, stop };
    const feedback = await this.#deps.inputs.input({
      title: this.#titleOf(one),
      prompt: vscode.l10n.t('What should the agent do instead? It is told together with the rejection.'),
      signal: stop.signal,
      check: (text) => (text.trim() ? undefined : vscode.l10n.t('Type something, or press Esc to go back.')),
    });
    this.#feedback = undefined;
    if (this.#life.ended || stop.signal.aborted) return;
    if (feedback === undefined) this.show(one.sessionId, ask.id);
    else {
      await this.#answer(one, { kind: 'option', optionId: option.id, feedback: feedback.trim() });
      await this.#goBack();
    }
  }

  /** After an answer in a pick the user goes on where they were, unless the next pick is there. */
  async #goBack(): Promise<void> {
    const back = this.#back;
    if (!back || this.#view) return;
    this.#back = undefined;
    await this.#return(back);
  }

  async #return(back: () => Promise<void>): Promise<void> {
    if (this.#view || this.#life.ended) return;
    this.#returning = true;
    await back();
    this.#returning = false;
    this.refresh();
  }

  async #answer(one: OpenAsk, answer: Answer): Promise<void> {
    const { ask, sessionId } = one;
    this.#queue.answered(keyOfOpen(one));
    this.#progress.delete(keyOfOpen(one));
    const edited = ask.kind === 'approval' ? await this.#editedFor(sessionId, ask, answer) : undefined;
    const whole = edited === undefined ? answer : { ...answer, edited };
    this.#deps.desk.get(sessionId)?.send({ type: 'answer', askId: ask.id, answer: whole });
    this.refresh();
  }

  async #editedFor(sessionId: SessionId, ask: Approval, answer: Answer): Promise<string | undefined> {
    if (answer.kind !== 'option' || answer.edited !== undefined) return undefined;
    const option = ask.options.find((one) => one.id === answer.optionId);
    if (!ask.editable || !option?.effect.startsWith('allow')) return undefined;
    return this.#deps.edited(sessionId, ask.id);
  }

  #find(sessionId: SessionId, askId: AskId): OpenAsk | undefined {
    return this.#openAsks().find((one) => one.sessionId === sessionId && one.ask.id === askId);
  }

  #openAsks(): readonly OpenAsk[] {
    return this.#deps.desk.all.flatMap((sessionId) =>
      (this.#deps.desk.get(sessionId)?.store.now.asks ?? []).map((ask) => ({ sessionId, ask })),
    );
  }

  #progressOf(key: AskKey): QuestionProgress {
    const known = this.#progress.get(key);
    if (known) return known;
    const fresh: QuestionProgress = { step: 0, values: new Map(), drafts: new Map() };
    this.#progress.set(key, fresh);
    return fresh;
  }

  #offersFeedback(sessionId: SessionId): boolean {
    const link = this.#deps.desk.get(sessionId)?.store.now.link;
    return link?.state === 'ready' && link.offers.feedback === true;
  }

  #titleOf({ sessionId, ask }: OpenAsk): string {
    const session = this.#deps.desk.get(sessionId);
    const { place, of } = this.#queue.placeOf(keyOf(sessionId, ask.id));
    const title = session ? askTitle(ask, session.store.now, vscode.l10n.t('Run a command')) : ask.title;
    const asked = `${askerOf(session, ask)}: ${plainLabel(title)}`;
    const clock =
      ask.until === undefined
        ? undefined
        : new Date(ask.until).toLocaleTimeString(vscode.env.language, { hour: '2-digit', minute: '2-digit' });
    const text = clock === undefined ? asked : vscode.l10n.t('{0} — refused at {1} if nobody answers', asked, clock);
    return of > 1 ? vscode.l10n.t('{0} ({1} of {2})', text, place, of) : text;
  }
}

function askerOf(session: HostedSession | undefined, ask: Approval | Question): string {
  const agent = session?.store.now.agent.name ?? '';
  if (ask.ours) return agent === '' ? 'Parley' : `Parley (${plainLabel(agent)})`;
  return ask.asker ? `${agent} › ${plainLabel(ask.asker)}` : agent;
}

import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import type { SessionHost } from '../live/surface.ts';
import { answersIn } from '../session/approvalAnswers.ts';
import type { Approval, Ask, AskId, Session, SessionId } from '../session/model.ts';
import { titleOf } from '../session/select.ts';
import { approvalHeading, elsewhere } from '../session/shownApproval.ts';
import type { StoreChange } from '../session/store.ts';
import { askingSession } from './approvals/pickTitle.ts';
import { commandRows, plainLabel } from './approvals/rowText.ts';

export interface AttentionDeps {
  readonly host: SessionHost;
  /** Whether the window has the user's attention. */
  readonly focused: () => boolean;
  readonly onFocus: (listener: () => void) => Disposable;
  readonly notifies: (of: 'approvals' | 'questions' | 'finishedTurns') => boolean;
  /** Milliseconds that notifications stay once the user is back; only tests set it. */
  readonly stay?: number;
}

/** The press on a notification may be what gives the window the focus: it must not vanish under it. */
const STAY = 3000;

/**
 * Notifications for a window in the background: an ask, with its answers as links where the line shows the whole ask beside them, and the end of a turn.
 * Extensions cannot use notifications of the operating system; these are VS Code's. They are progress notifications, the only kind that an extension
 * can close: one closes when its ask is settled, or a moment after the user is back.
 */
export class Attention implements Disposable {
  readonly #deps: AttentionDeps;
  readonly #life = new Lifetime();
  readonly #open = new Map<AskId | SessionId, Notification>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: AttentionDeps) {
    this.#deps = deps;
    this.#life.own(deps.host.onChange((sessionId, change) => this.#changed(sessionId, change)));
    this.#life.own(deps.host.onSessions(() => this.#sweep()));
    this.#life.own(deps.onFocus(() => this.#closeSoon()));
    this.#life.onEnd(() => clearTimeout(this.#timer));
    this.#life.onEnd(() => this.#closeAll());
  }

  dispose(): void {
    this.#life.dispose();
  }

  #changed(sessionId: SessionId, { event, before, now }: StoreChange): void {
    if (event.type === 'ask.opened') setImmediate(() => this.#asked(sessionId, event.ask.id));
    else if (event.type === 'turn.ended' && event.status !== 'cancelled') this.#ended(sessionId, now, event.status === 'failed');
    else if (event.type === 'turn.started') this.#close(sessionId);
    if (before.asks !== now.asks) this.#sweep();
  }

  /** Notifies of an ask, unless a rule has answered it or the window has focus. */
  #asked(sessionId: SessionId, askId: AskId): void {
    const session = this.#deps.host.get(sessionId)?.store.now;
    const ask = session?.asks.find((one) => one.id === askId);
    if (!session || !ask || ask.decision || this.#life.ended || this.#deps.focused()) return;
    if (!this.#deps.notifies(ask.kind === 'approval' ? 'approvals' : 'questions')) return;
    this.#show(askId, askText(session, ask, this.#deps.host));
  }

  #ended(sessionId: SessionId, session: Session, failed: boolean): void {
    if (this.#deps.focused() || session.queue.some((one) => !one.held) || !this.#deps.notifies('finishedTurns')) return;
    const title = plainText(titleOf(session, 60));
    const name = plainText(session.agent.name);
    const text = failed ? vscode.l10n.t('{0} failed: {1}', name, title) : vscode.l10n.t('{0} has finished: {1}', name, title);
    this.#show(sessionId, `${text} · ${link(vscode.l10n.t('Open'), 'parley.focusChat', [sessionId])}`);
  }

  #show(id: AskId | SessionId, text: string): void {
    this.#close(id);
    this.#open.set(id, new Notification(text));
  }

  #close(id: AskId | SessionId): void {
    this.#open.get(id)?.dispose();
    this.#open.delete(id);
  }

  /** Keeps them when the user has gone again meanwhile. */
  #closeSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#deps.focused() && this.#closeAll(), this.#deps.stay ?? STAY);
  }

  #closeAll(): void {
    for (const id of [...this.#open.keys()]) this.#close(id);
  }

  /** Closes notifications whose ask or session is gone, and renews those that changed. */
  #sweep(): void {
    const sessions = this.#deps.host.all.flatMap((id) => this.#deps.host.get(id)?.store.now ?? []);
    for (const [id, shown] of [...this.#open]) {
      const of = sessions.find((session) => session.id === id || session.asks.some((ask) => ask.id === id));
      const ask = of?.asks.find((one) => one.id === id);
      if (!of) this.#close(id);
      else if (ask) shown.report(askText(of, ask, this.#deps.host));
    }
  }
}

/** A notification that stays until it is disposed, or the user closes it. */
class Notification implements Disposable {
  #report: ((text: string) => void) | undefined;
  #end: () => void = () => {};

  constructor(text: string) {
    const over = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    void vscode.window.withProgress({ location: vscode.ProgressLocation.Notification }, async (progress) => {
      this.#report = (message) => progress.report({ message });
      progress.report({ message: text });
      await over;
    });
  }

  report(text: string): void {
    this.#report?.(text);
  }

  dispose(): void {
    this.#end();
  }
}

/** Small letters that a notification shows of its only line before the user opens it. */
const LINE_WIDTH = 54;

/** The links come first: the end of a line may be cut. */
function askText(session: Session, ask: Ask, host: SessionHost): string {
  const name = plainText(askingSession(session, host));
  const show = { label: vscode.l10n.t('Open'), command: 'parley.showPending', args: [session.id, ask.id] };
  if (ask.kind === 'question') return `${linkOf(show)} · ${name}: ${plainText(ask.title).slice(0, 200)}`;
  const { action, subject, amount } = approvalHeading(ask, session);
  const shown = [
    plainText(subject === undefined ? action : `${action}: ${subject}`).slice(0, 300),
    amount === undefined ? '' : `(${amount})`,
  ];
  const heading = `${name}: ${shown.filter(Boolean).join(' ')}`;
  const answers = answerLinks(session, ask);
  if (subject === undefined || answers.length === 0) return `${linkOf(show)} · ${heading}`;
  // Answers only where what they answer is in sight beside them.
  const links = [...answers, show];
  const isShown = (text: string) => commandRows([...links.map(({ label }) => label), text].join(' · '), 1, LINE_WIDTH).more === 0;
  const text = [heading, `${name}: ${plainText(subject)}`, plainText(subject)].find(isShown);
  return text === undefined ? `${linkOf(show)} · ${heading}` : [...links.map(linkOf), text].join(' · ');
}

interface Link {
  readonly label: string;
  readonly command: string;
  readonly args: readonly unknown[];
}

/** The answers as links, only when the ask is nothing but a harmless command. */
function answerLinks(session: Session, ask: Approval): readonly Link[] {
  const { grave, once, reject } = answersIn(session, ask);
  const { detail } = ask;
  const isPlain = detail.type === 'command' && !detail.unsure && (ask.beside ?? []).length === 0;
  if (!isPlain || elsewhere(detail, session.cwd) !== undefined || grave) return [];
  const decide = (label: string | undefined, how: 'accept' | 'reject') =>
    label === undefined ? [] : [{ label, command: 'parley.decide', args: [session.id, ask.id, how] }];
  return [...decide(once?.label, 'accept'), ...decide(reject?.label, 'reject')];
}

function linkOf({ label, command, args }: Link): string {
  return link(label, command, args);
}

function link(label: string, command: string, args: readonly unknown[]): string {
  return `[${plainText(label)}](command:${command}?${encodeURIComponent(JSON.stringify(args))})`;
}

/** An agent's words in a notification, without brackets, which could form a link that runs a command. */
function plainText(text: string): string {
  return plainLabel(text).replaceAll('[', '［').replaceAll(']', '］');
}

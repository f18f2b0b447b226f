import * as vscode from 'vscode';
import { Emitter } from '../base/emitter.ts';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import type { Log } from '../base/log.ts';
import type { Sessions } from '../live/sessions.ts';
import type { HostedSession, SessionHost } from '../live/surface.ts';
import type { AskRef, Content, SessionId, TurnId } from '../session/model.ts';
import { titleOf } from '../session/select.ts';
import type { StoreChange } from '../session/store.ts';
import { ChatLink, type ChatLinkDeps } from './chatLink.ts';
import { helloMessage, loadPage, pageOf } from './chatPage.ts';
import { commandTitle } from './commandTitle.ts';

const PANEL_TYPE = 'parley.session';

interface OpenPanel {
  readonly panel: vscode.WebviewPanel;
  readonly host: PanelSessions;
  readonly link: ChatLink;
}

/** Sessions in editor tabs; the page of each shows one session, whatever the view in the side bar shows. */
export class ChatPanels implements Disposable {
  readonly #extensionUri: vscode.Uri;
  readonly #sessions: Sessions;
  readonly #log: Log;
  readonly #life = new Lifetime();
  readonly #open = new Set<OpenPanel>();
  readonly #moves = this.#life.own(new Emitter<void>());
  /** The tab the user was in last, until they go to the side bar or it is out of sight. */
  #front: OpenPanel | undefined;
  #deps: ChatLinkDeps | undefined;

  constructor(extensionUri: vscode.Uri, sessions: Sessions, log: Log) {
    this.#extensionUri = extensionUri;
    this.#sessions = sessions;
    this.#log = log;
  }

  /** Sets what answers the pages; call it before a tab is opened. */
  serve(deps: Omit<ChatLinkDeps, 'hello' | 'log'>): void {
    this.#deps = { ...deps, hello: helloMessage, log: this.#log };
  }

  /** Fills a tab that the editor restores with the window. */
  async restore(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    const id = shownIn(state);
    if (id !== undefined) await this.#sessions.bringBack(id);
    this.#fill(panel, id);
  }

  /** Shows a session in its existing tab, or in a new one beside the others, and gives its composer the keyboard. */
  async open(id: SessionId): Promise<void> {
    const there = [...this.#open].find(({ host }) => host.active === id);
    if (there) {
      there.panel.reveal();
      return there.link.focus();
    }
    const outcome = await this.#sessions.bringBack(id);
    if (outcome !== 'open') throw new Error(vscode.l10n.t('The session is open in another window or can no longer be read.'));
    const column = this.#open.size === 0 ? vscode.ViewColumn.Active : vscode.ViewColumn.Beside;
    const panel = vscode.window.createWebviewPanel(PANEL_TYPE, 'Parley', column);
    // The editor gives the keyboard to the page, but to nothing in it.
    this.#fill(panel, id)?.link.focus();
  }

  /** The session of the tab the user was in last; undefined when they are, or were last, in the side bar. */
  get front(): SessionId | undefined {
    return this.#front?.host.active;
  }

  /** Gives the focus to the tab in front. False when there is none. */
  focusFront(): boolean {
    const front = this.#front;
    // Where it has the focus, the editor would take it away for a moment, and what is typed then is lost.
    if (front && !front.link.focused) front.panel.reveal();
    front?.link.focus();
    return front !== undefined;
  }

  /** Puts contents into the composer of the tab in front. False when there is none. */
  insertFront(contents: readonly Content[]): boolean {
    for (const content of contents) this.#front?.link.insert(content);
    return this.focusFront();
  }

  /** Lets the tab in front attach the selection of the terminal. False when there is none. */
  keepPictureFront(): boolean {
    const isThere = this.focusFront();
    this.#front?.link.keepPicture();
    return isThere;
  }

  /** Puts the message of a turn into the composer of the tab in front. False when that shows another session. */
  editFront(sessionId: SessionId, turnId: TurnId): boolean {
    if (this.front !== sessionId) return false;
    this.#front?.link.edit(sessionId, turnId);
    return this.focusFront();
  }

  endEdit(sessionId: SessionId, turnId: TurnId): void {
    for (const { link } of this.#open) link.endEdit(sessionId, turnId);
  }

  /** Fires when `front` may have changed. */
  onFront(listener: () => void): Disposable {
    return this.#moves.listen(listener);
  }

  /** The user went to the chat in the side bar. */
  leave(): void {
    this.#comeTo(undefined);
  }

  showPick(ask: AskRef | undefined): void {
    for (const { link } of this.#open) link.showPick(ask);
  }

  /** Trust or the list of agents changed. */
  agentsChanged(): void {
    for (const { link } of this.#open) link.greetAgain();
  }

  dispose(): void {
    this.#life.dispose();
  }

  #fill(panel: vscode.WebviewPanel, id: SessionId | undefined): OpenPanel | undefined {
    const deps = this.#deps;
    if (!deps) return void panel.dispose();
    const life = this.#life.own(new Lifetime());
    const host = new PanelSessions(this.#sessions, id);
    const link = life.own(
      new ChatLink(pageOf(panel, this.#log), {
        ...deps,
        host,
        answers: answersIn(host, deps.answers, this.#sessions),
      }),
    );
    const open = { panel, host, link };
    this.#open.add(open);
    life.own(link.onFocused(() => this.#comeTo(open)));
    if (panel.active) this.#comeTo(open);
    life.own(panel.onDidChangeViewState(() => !panel.visible && this.#goneFrom(open)));
    life.own(host.onSessions(() => this.#front === open && this.#moves.fire()));
    life.own(host.onSessions(() => nameTab(panel, host)));
    life.own(host.onChange((changed, { event }) => changed === host.active && namesIt(event.type) && nameTab(panel, host)));
    nameTab(panel, host);
    panel.onDidDispose(() => {
      this.#open.delete(open);
      this.#goneFrom(open);
      this.#life.release(life);
      life.dispose();
    });
    loadPage(panel, this.#extensionUri);
    return open;
  }

  #comeTo(open: OpenPanel | undefined): void {
    if (this.#front === open) return;
    this.#front = open;
    this.#moves.fire();
  }

  #goneFrom(open: OpenPanel): void {
    if (this.#front === open) this.#comeTo(undefined);
  }
}

/** The sessions of the window with an active one of its own. */
abstract class ActiveSessions implements SessionHost {
  readonly sessions: SessionHost;
  abstract readonly active: SessionId | undefined;
  /** Listens for a change of the active session. */
  protected abstract onActive(listener: () => void): Disposable;

  constructor(sessions: SessionHost) {
    this.sessions = sessions;
  }

  get all(): readonly SessionId[] {
    return this.sessions.all;
  }
  get(id: SessionId): HostedSession | undefined {
    return this.sessions.get(id);
  }
  onChange(listener: (id: SessionId, change: StoreChange) => void): Disposable {
    return this.sessions.onChange(listener);
  }
  onSessions(listener: () => void): Disposable {
    const both = new Lifetime();
    both.own(this.sessions.onSessions(listener));
    both.own(this.onActive(listener));
    return both;
  }
}

/** The sessions as commands and menus see them: active is the one the user was in last, in a tab or in the side bar. */
export class FrontSessions extends ActiveSessions {
  readonly #panels: ChatPanels;

  constructor(sessions: SessionHost, panels: ChatPanels) {
    super(sessions);
    this.#panels = panels;
  }

  get active(): SessionId | undefined {
    return this.#panels.front ?? this.sessions.active;
  }
  protected onActive(listener: () => void): Disposable {
    return this.#panels.onFront(listener);
  }
}

/** The sessions as one tab sees them: active is the one it shows. */
class PanelSessions extends ActiveSessions {
  readonly #changes = new Emitter<void>();
  #shown: SessionId | undefined;

  constructor(sessions: SessionHost, shown: SessionId | undefined) {
    super(sessions);
    this.#shown = shown;
  }

  get active(): SessionId | undefined {
    return this.#shown !== undefined && this.sessions.get(this.#shown) ? this.#shown : undefined;
  }
  protected onActive(listener: () => void): Disposable {
    return this.#changes.listen(listener);
  }

  show(id: SessionId): void {
    this.#shown = id;
    this.#changes.fire();
  }
}

/** The answers for the page of a tab: like the view's, but another session opens in this tab. */
function answersIn(host: PanelSessions, answers: ChatLinkDeps['answers'], sessions: Sessions): ChatLinkDeps['answers'] {
  return {
    ...answers,
    switchSession: async ({ sessionId }) => {
      if ((await sessions.bringBack(sessionId)) === 'open') host.show(sessionId);
      return null;
    },
    // Another session of the window is not this tab's: `ifNone` does not hold here.
    newSession: async ({ ifNone: _, ...how }) => {
      const before = sessions.active;
      await answers.newSession(how);
      if (sessions.active !== undefined && sessions.active !== before) host.show(sessions.active);
      return null;
    },
  };
}

function nameTab(panel: vscode.WebviewPanel, host: PanelSessions): void {
  const session = host.active === undefined ? undefined : host.get(host.active);
  panel.title = (session && titleOf(session.store.now, 40)) || commandTitle('newSession');
}

function namesIt(type: string): boolean {
  return type === 'title.set' || type === 'turn.started';
}

/** The session that a page showed before a reload, from its saved state. */
function shownIn(state: unknown): SessionId | undefined {
  return typeof state === 'object' && state !== null && 'shown' in state && typeof state.shown === 'string' ? state.shown : undefined;
}

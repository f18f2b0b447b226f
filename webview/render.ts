import { keyed } from 'lit/directives/keyed.js';
import { html, nothing, render, type TemplateResult } from 'lit/html.js';
import type { ProfileLine, SetupLine, ToView } from '../src/bridge/contract.ts';
import { Mirror } from '../src/bridge/mirror.ts';
import type { SessionEvent } from '../src/session/events.ts';
import type { Command, Content, Session, SessionId } from '../src/session/model.ts';
import { actions } from './actions.ts';
import { announcement } from './announcer.ts';
import { Composer } from './composer.ts';
import { feedView, TURNS_AT_ONCE } from './feed.ts';
import { followLinks } from './follow.ts';
import { asksView, linkView, noticesView } from './frame.ts';
import { headerView } from './header.ts';
import type { Host } from './host.ts';
import { iconOf } from './icons.ts';
import { stripView } from './parts/plan.ts';
import { answerPaths } from './plainPaths.ts';
import { Scroller } from './scroller.ts';
import { sessionsView } from './sessions.ts';
import { setStrings, t } from './strings.ts';
import { Ui } from './ui.ts';
import type { Act, Popup, View } from './view.ts';
import { welcomeView } from './welcome.ts';

const SAID_FOR_MS = 6000;
/** So long after it opened the view expects the host to start or bring back a session by itself. */
const STARTS_BY_ITSELF_MS = 3000;
/** Stands in for a session while there is none, so that one can type before one begins. */
const NOBODY: Session = {
  id: '',
  title: '',
  agent: { protocol: '', name: '' },
  cwd: '',
  link: { state: 'ready', offers: {} },
  turns: [],
  asks: [],
  queue: [],
  commands: [],
  terminals: [],
  notices: [],
};

const NOT_ASKED: readonly SetupLine[] = [];

/** The chat: what the host says goes into the mirror, and at most once a frame the whole is drawn from it. */
export class Chat {
  readonly #host: Host;
  readonly #root: HTMLElement;
  readonly #mirror: Mirror;
  readonly #ui: Ui;
  readonly #act: Act;
  readonly #composer: Composer;
  #scroller: Scroller | undefined;
  readonly #openedAt = performance.now();
  #shownSession = '';
  #shownTurns = TURNS_AT_ONCE;
  #setups: readonly SetupLine[] = NOT_ASKED;
  #trusted = true;
  #known = false;
  #commands: readonly Command[] = [];
  readonly #popup: { now: Popup | undefined } = { now: undefined };
  #frame = 0;
  /** Something in the page was pressed since the keys last went elsewhere: they are where the user wants them. */
  #pressed = false;
  #said: { readonly text: string; readonly level: 'info' | 'error' } | undefined;
  #announced = '';
  /** When the session last changed: while a turn runs, a sign of its agent. */
  #heardAt = Date.now();
  #saidTimer: ReturnType<typeof setTimeout> | undefined;
  /** What was sent while there was no session; goes to the next one. */
  #waiting: readonly Content[] | undefined;

  constructor(host: Host, root: HTMLElement) {
    this.#host = host;
    this.#root = root;
    this.#ui = new Ui(host);
    this.#mirror = new Mirror((message) => host.post(message));
    const changed = () => this.#schedule();
    const say = (text: string, level: 'info' | 'error') => this.#say(text, level);
    this.#act = actions({ host, mirror: this.#mirror, ui: this.#ui, changed, draw: () => this.draw(), popup: this.#popup, say });
    this.#composer = new Composer({
      host,
      changed,
      send: (content, how, replaces) => this.#send(content, how, replaces),
      problem: (text) => say(text, 'error'),
    });
    this.#mirror.onChange((events) => this.#changed(events));
    followLinks(root, this.#act);
    answerPaths(host, this.#mirror);
    host.onMessage((message) => this.#take(message));
    window.addEventListener('pagehide', () => this.#ui.flush());
    window.addEventListener('blur', () => {
      this.#pressed = false;
    });
    root.addEventListener('pointerdown', () => {
      this.#pressed = true;
    });
    this.draw();
    host.post({ type: 'ready' });
  }

  /** Draws at once; everything else waits for the next frame. */
  draw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const session = this.#mirror.session ?? NOBODY;
    if (session.id !== this.#shownSession) this.#switch(session);
    const [ui, popup] = [this.#ui, this.#popup];
    const view: View = {
      session,
      // As it is when it is asked for: a key may follow another before the next frame.
      get memory() {
        return ui.memory(session.id);
      },
      profile: this.#profile(session.id),
      get popup() {
        return popup.now;
      },
      setups: this.#setups,
      act: this.#act,
    };
    const focused = document.activeElement;
    render(this.#template(view), this.#root);
    if (focused && !focused.isConnected) this.#composer.focus();
    if (session.commands !== this.#commands) {
      this.#commands = session.commands;
      this.#composer.commandsChanged();
    }
    this.#watch();
  }

  #template(view: View): TemplateResult {
    const { session } = view;
    return html`${headerView(this.#mirror, this.#act)} ${sessionsView(this.#mirror, this.#act, view.popup)} ${linkView(view)}
      ${keyed(
        session.id,
        html`<main class="scroller">
          <div class="content">${this.#contentOf(view)}</div>
        </main>`,
      )}
      <section class="dock" aria-label=${t('Your message')}>
        ${
          this.#scroller && !this.#scroller.pinned
            ? html`<button class="jump" type="button" @click=${() => this.#scroller?.pin()}>${iconOf('arrowDown')}${t('Jump to latest')}</button>`
            : nothing
        }
        ${noticesView(view)} ${asksView(view)} ${stripView(view, this.#heardAt)}
        ${this.#said ? html`<div class="said said-${this.#said.level}">${this.#said.text}</div>` : nothing}
        ${this.#composer.template(view)}
      </section>
      <div class="sr-only" role="status" aria-live="polite">${this.#announced}</div>`;
  }

  #profile(id: SessionId): ProfileLine | undefined {
    const line = this.#mirror.sessions.find((one) => one.id === id);
    return this.#mirror.profiles.find((one) => one.id === line?.profile);
  }

  #contentOf(view: View): TemplateResult | typeof nothing {
    const { turns, id } = view.session;
    if (turns.length > 0) return feedView(view, this.#shownTurns, () => this.#earlier());
    // While a session is on its way, nothing is said instead of the wrong thing.
    if (!this.#known || (this.#mirror.active !== undefined && id === '')) return nothing;
    return welcomeView(view, this.#mirror.profiles, this.#trusted, (text) => this.#send([{ type: 'text', text }], 'prompt'));
  }

  #take(message: ToView): void {
    switch (message.type) {
      case 'hello':
        setStrings(message.strings);
        document.documentElement.lang = message.language;
        this.#trusted = message.trusted;
        this.#known = true;
        return this.#schedule();
      case 'insert':
        this.#composer.insert(message.content);
        return this.#composer.focus();
      case 'focus':
        return this.#composer.focus();
      case 'caret':
        // Something else may have taken the keys meanwhile, here or elsewhere.
        return document.hasFocus() && !this.#pressed ? this.#composer.focus() : undefined;
      case 'sessions':
        this.#mirror.take(message);
        return this.#lookForSetups(message.profiles);
      default:
        return this.#mirror.take(message);
    }
  }

  /** Once, and only where the user has no model yet. */
  #lookForSetups(profiles: readonly ProfileLine[]): void {
    if (this.#setups !== NOT_ASKED || !this.#trusted || !profiles.some(({ model }) => model === '')) return;
    this.#setups = [];
    this.#host.call('findSetups', {}).then(
      (found) => {
        this.#setups = found;
        this.#schedule();
      },
      () => {},
    );
  }

  #changed(events: readonly SessionEvent[] | undefined): void {
    const { session } = this.#mirror;
    this.#heardAt = Date.now();
    const text = events && session && announcement(events, session);
    if (text) this.#announced = text;
    this.#schedule();
  }

  #schedule(): void {
    this.#frame ||= requestAnimationFrame(() => this.draw());
  }

  #switch(session: Session): void {
    if (this.#shownSession === '') this.#ui.adopt(session.id);
    // What was said last was said of another session.
    else this.#announced = '';
    this.#popup.now = undefined;
    this.#shownSession = session.id;
    this.#ui.show(session.id);
    this.#shownTurns = TURNS_AT_ONCE;
    this.#scroller?.stop();
    this.#scroller = undefined;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting && session.id !== '') this.#send(waiting, 'prompt');
  }

  /** After the first paint of a session: the scroller belongs to its elements. */
  #watch(): void {
    if (this.#scroller) return;
    const box = this.#root.querySelector<HTMLElement>('.scroller');
    const content = box?.querySelector<HTMLElement>('.content');
    if (!box || !content) return;
    const scroller = new Scroller(box, content, () => this.#scrolled());
    this.#scroller = scroller;
    const { scroll } = this.#ui.memory(this.#shownSession);
    const turns = this.#mirror.session?.turns ?? [];
    const at = scroll ? turns.findIndex((turn) => turn.id === scroll.turnId) : -1;
    if (!scroll || at < 0) return scroller.pin();
    if (turns.length - at > this.#shownTurns) {
      this.#shownTurns = turns.length - at + TURNS_AT_ONCE;
      this.draw();
    }
    scroller.restore(scroll);
    this.#schedule();
  }

  #scrolled(): void {
    const scroller = this.#scroller;
    if (!scroller) return;
    const place = scroller.pinned ? undefined : scroller.place;
    if (place) this.#ui.change(this.#shownSession, { scroll: place });
    else this.#ui.forgetScroll(this.#shownSession);
    if (!scroller.pinned && scroller.nearTop) this.#earlier();
    this.#schedule();
  }

  #earlier(): void {
    if (this.#shownTurns >= (this.#mirror.session?.turns.length ?? 0)) return;
    const place = this.#scroller?.place;
    this.#shownTurns += TURNS_AT_ONCE;
    this.draw();
    if (place) this.#scroller?.restore(place);
  }

  #send(content: readonly Content[], how: 'prompt' | 'steer', replaces?: string): void {
    if (!this.#mirror.session) {
      this.#waiting = content;
      setTimeout(() => this.#begin(), Math.max(0, this.#openedAt + STARTS_BY_ITSELF_MS - performance.now()));
      return;
    }
    const turnId = crypto.randomUUID();
    this.#act.intent(replaces === undefined ? { type: how, turnId, content } : { type: 'prompt', turnId, content, replaces });
    this.#scroller?.pin();
  }

  /** A session for what waits, when none came by itself. */
  #begin(): void {
    if (this.#waiting && this.#mirror.active === undefined) this.#act.newSession({});
  }

  #say(text: string, level: 'info' | 'error'): void {
    clearTimeout(this.#saidTimer);
    this.#said = { text, level };
    this.#announced = text;
    this.#saidTimer = setTimeout(() => {
      this.#said = undefined;
      this.#schedule();
    }, SAID_FOR_MS);
    this.#schedule();
  }
}

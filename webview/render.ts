import { keyed } from 'lit/directives/keyed.js';
import { html, nothing, render, type TemplateResult } from 'lit/html.js';
import type { ToView } from '../src/bridge/contract.ts';
import type { AskRef, Command, Session, SessionId } from '../src/session/model.ts';
import { actions, attachTerminal, editMessage, endEditOf, takeBackUnsent } from './actions.ts';
import { answerPaths, followLinks } from './answerLinks.ts';
import { Composer } from './composer.ts';
import { dockView, linkView } from './frame.ts';
import type { HostConnection } from './host.ts';
import { Page } from './page.ts';
import { feedView, TURNS_AT_ONCE } from './parts/turn.ts';
import { resized, Scroller } from './scroller.ts';
import { focusSessions, headerView, sessionsView } from './sessions.ts';
import type { Act, View } from './view.ts';
import { welcomeView } from './welcome.ts';

/** Milliseconds after which a focus that did not come at once does not come any more. */
const FOCUS_LIMIT = 200;

/** The state of the last draw. */
interface DrawnState {
  readonly sessionId: SessionId;
  /** Number of turns drawn, counted from the end. */
  readonly turns: number;
  readonly commands: readonly Command[];
  /** Messages the user had sent: one more scrolls to the end. */
  readonly sent: number;
}

/** Draws the whole page from its state, at most once a frame. */
export class ChatRenderer {
  readonly #root: HTMLElement;
  readonly #page: Page;
  readonly #act: Act;
  readonly #composer: Composer;
  #scroller: Scroller | undefined;
  #shown: DrawnState = { sessionId: '', turns: TURNS_AT_ONCE, commands: [], sent: 0 };
  #frame = 0;
  readonly #onScroll = () => void (this.#scroller?.scrolled() && this.#moved());
  readonly #onResize = () => this.#scroller?.resized();
  /** True when the user pressed something in the page since it last lost the focus: the focus is where they want it. */
  #pressed = false;

  constructor(host: HostConnection, root: HTMLElement) {
    const page = new Page(host);
    this.#root = root;
    this.#page = page;
    this.#act = actions(page);
    this.#composer = new Composer(page);
    page.onChange((when) => (when === 'now' ? this.draw() : this.#schedule()));
    followLinks(root, this.#act);
    answerPaths(host, page.mirror);
    host.onMessage((message) => this.#receive(host.typing.pass(message, this.#interrupts(message))));
    // Some browsers tell of the composed text after its end.
    root.addEventListener('compositionend', () => setTimeout(() => this.#receive(host.typing.release()), 0));
    window.addEventListener('pagehide', () => {
      takeBackUnsent(page);
      page.ui.flush();
    });
    window.addEventListener('blur', () => {
      this.#pressed = false;
      // The user may hide the page next, which ends it.
      page.ui.save();
    });
    // The page got the focus and nothing in it has it: the composer gets it.
    window.addEventListener('focus', () => {
      if (!this.#pressed && document.activeElement === document.body) this.#focus();
    });
    root.addEventListener('pointerdown', () => {
      this.#pressed = true;
      this.#composer.heedEscape();
    });
    root.addEventListener('keydown', ({ key, repeat }) => key !== 'Escape' && !repeat && this.#composer.heedEscape(), true);
    this.draw();
    host.post({ type: 'ready' });
  }

  /** Draws at once; everything else waits for the next frame. */
  draw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const page = this.#page;
    const { session } = page;
    if (session.id !== this.#shown.sessionId) this.#switch(session);
    const focused = document.activeElement;
    render(this.#template(page.view(this.#act)), this.#root);
    // Gone, or moved, by which the browser takes the focus from it.
    if (focused && focused !== document.body && document.activeElement !== focused) this.#focus(focused.id);
    this.#watch();
    const { commands, sent } = this.#shown;
    this.#shown = { ...this.#shown, commands: session.commands, sent: page.now.sent };
    if (session.commands !== commands) this.#composer.commandsChanged();
    if (page.now.sent !== sent) this.#toEnd();
  }

  #template(view: View): TemplateResult {
    const { session } = view;
    const { mirror, now } = this.#page;
    // The list of sessions lies over the rest, which no key reaches meanwhile.
    const covered = view.popup?.kind === 'sessions';
    return html`${headerView(mirror, this.#act, covered)} ${sessionsView(mirror, this.#act, view.popup)} ${covered ? nothing : linkView(view)}
      ${keyed(
        session.id,
        html`<main class="scroller" tabindex=${this.#isReading ? -1 : nothing} ?inert=${covered} @scroll=${this.#onScroll} ${resized(this.#onResize)}>
          <div class="content" ${resized(this.#onResize)}>${this.#contentOf(view)}</div>
        </main>`,
      )}
      ${dockView(view, now, {
        covered,
        jump: this.#scroller && !this.#scroller.pinned ? () => this.#toEnd() : undefined,
        composer: this.#composer.template(view),
        close: () => this.#page.removeMessage(),
      })}
      <div class="sr-only" role="status" aria-live="polite">${now.announced}</div>`;
  }

  #contentOf(view: View): TemplateResult | typeof nothing {
    const { turns, id } = view.session;
    if (turns.length > 0) return feedView(view, this.#shown.turns, () => this.#earlier());
    const { mirror, now } = this.#page;
    // While a session is on its way, shows nothing instead of the wrong thing.
    if (now.trusted === undefined || (mirror.active !== undefined && id === '')) return nothing;
    return welcomeView(view, mirror.profiles, now.trusted);
  }

  #receive(messages: readonly ToView[]): void {
    for (const message of messages) this.#take(message);
  }

  /** True for a message that changes the text in the composer or shows another session: it would end a composition. */
  #interrupts(message: ToView): boolean {
    if (message.type === 'sessions') return message.active !== this.#page.mirror.active;
    return message.type === 'insert' || message.type === 'edit' || message.type === 'endEdit';
  }

  #take(message: ToView): void {
    switch (message.type) {
      case 'insert':
        this.#uncover();
        this.#composer.insert(message.content);
        return this.#composer.focus();
      case 'keepPicture':
        return attachTerminal(this.#page);
      case 'edit':
        this.#uncover();
        return editMessage(this.#page, message.sessionId, message.turnId);
      case 'endEdit':
        return endEditOf(this.#page, message.sessionId, message.turnId);
      case 'focus':
        return this.#takeFocus(message.back === true);
      case 'pick':
        return this.#picked(message.ask);
      case 'caret':
        // Something else may have taken the focus meanwhile, here or elsewhere.
        return document.hasFocus() && !this.#pressed && !this.#page.host.typing.now ? this.#focus() : undefined;
      default: {
        const { id } = this.#page.session;
        this.#page.take(message);
        // A key may follow before the next frame; it belongs to the session that is on the screen.
        if (this.#page.session.id !== id) this.draw();
      }
    }
  }

  /** Takes the keyboard, and tells the host so even where the page has it already, or that it cannot. */
  #takeFocus(back: boolean): void {
    if (!document.hasFocus()) window.focus();
    if (!this.#page.host.typing.now && !(back && this.#pressed)) this.#focus();
    if (document.hasFocus()) return this.#page.host.post({ type: 'focused', on: true });
    // Where the focus comes from another process it comes later, and is told of then.
    setTimeout(() => !document.hasFocus() && this.#page.host.post({ type: 'unfocused' }), FOCUS_LIMIT);
  }

  /** True while a recording is shown, which takes no messages. */
  get #isReading(): boolean {
    return this.#page.session.link.state === 'recorded';
  }

  /** Focuses the element with this id if it has come back elsewhere, otherwise where keys make sense: the open list of sessions, a recording's text, or the composer. */
  #focus(id = ''): void {
    if (this.#page.now.popup?.kind === 'sessions') return focusSessions(id);
    const again = id === '' ? null : document.getElementById(id);
    if (again) again.focus();
    else if (this.#isReading) this.#root.querySelector<HTMLElement>('.scroller')?.focus();
    else this.#composer.focus();
  }

  /** Closes the list of sessions, which lies over the composer. */
  #uncover(): void {
    if (this.#page.now.popup?.kind !== 'sessions') return;
    this.#act.show(undefined);
    this.draw();
  }

  /** Shows the quick-pick's ask as a card. The Esc that closes a pick must not stop a turn when pressed once more. */
  #picked(ask: AskRef | undefined): void {
    const { ui } = this.#page;
    // The letter was for this one, and Enter will be: nothing of it stays behind.
    if (ask) this.#composer.takeBackAnswer();
    if (ask) ui.change(ask.sessionId, { ask: ask.askId });
    else this.#composer.pickLeft();
    this.#page.update({ pick: ask });
  }

  #schedule(): void {
    this.#frame ||= requestAnimationFrame(() => this.draw());
  }

  #switch(session: Session): void {
    const { ui, now } = this.#page;
    const before = this.#shown.sessionId;
    const isFirst = before === '';
    if (isFirst) ui.adopt(session.id);
    else this.#composer.follow(before, session.id, ui);
    this.#shown = { ...this.#shown, sessionId: session.id, turns: TURNS_AT_ONCE };
    ui.show(session.id);
    this.#scroller = undefined;
    const { unsent } = now;
    // The last announcement belongs to another session.
    this.#page.update({ popup: undefined, unsent: [], ...(isFirst ? {} : { announced: '', said: undefined }) });
    for (const { content } of unsent) this.#act.send(content, 'prompt');
  }

  /** Creates the scroller after the first paint of a session, as it belongs to its elements. */
  #watch(): void {
    const turns = this.#page.mirror.session?.turns ?? [];
    // The welcome page starts at its top.
    if (this.#scroller || turns.length === 0) return;
    const box = this.#root.querySelector<HTMLElement>('.scroller');
    if (!box) return;
    const scroller = new Scroller(box);
    this.#scroller = scroller;
    const { scroll } = this.#page.ui.memory(this.#shown.sessionId);
    const at = scroll ? turns.findIndex((turn) => turn.id === scroll.turnId) : -1;
    if (!scroll || at < 0) return this.#toEnd();
    if (turns.length - at > this.#shown.turns) {
      this.#shown = { ...this.#shown, turns: turns.length - at + TURNS_AT_ONCE };
      this.draw();
    }
    scroller.restore(scroll);
    this.#schedule();
  }

  #toEnd(): void {
    this.#scroller?.pin();
    this.#moved();
  }

  /** Handles a possible change of the place in the transcript, or of being at its end. */
  #moved(): void {
    const scroller = this.#scroller;
    if (!scroller) return;
    const place = scroller.pinned ? undefined : scroller.place;
    if (place) this.#page.ui.change(this.#shown.sessionId, { scroll: place });
    else this.#page.ui.forgetScroll(this.#shown.sessionId);
    if (!scroller.pinned && scroller.nearTop) this.#earlier();
    this.#schedule();
  }

  #earlier(): void {
    if (this.#shown.turns >= (this.#page.mirror.session?.turns.length ?? 0)) return;
    const place = this.#scroller?.place;
    this.#shown = { ...this.#shown, turns: this.#shown.turns + TURNS_AT_ONCE };
    this.draw();
    if (place) this.#scroller?.restore(place);
  }
}

import { Emitter } from '../base/emitter.ts';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import { type Log, messageOf } from '../base/log.ts';
import type { Answers, Calls, ProfileLine, ToView } from '../bridge/contract.ts';
import { type JudgeApproval, Outbox, type Schedule } from '../bridge/outbox.ts';
import type { HostedSession, SessionHost } from '../live/surface.ts';
import type { Answer, Intent } from '../session/intents.ts';
import type { AskId, AskRef, Content, SessionId, TurnId } from '../session/model.ts';
import { findAsk } from '../session/select.ts';
import type { WindowSize } from './approvals/pickRoom.ts';
import { lineOf, sessionLine } from './sessionLine.ts';
import type { Typing } from './typing.ts';
import { readFromView } from './viewMessages.ts';

/** The webview while it exists; each reopening creates a new one. */
export interface ChatPage {
  readonly visible: boolean;
  post(message: ToView): void;
  onMessage(listener: (message: unknown) => void): Disposable;
  onVisible(listener: () => void): Disposable;
}

export interface ChatLinkDeps {
  readonly host: SessionHost;
  readonly answers: Answers;
  readonly profiles: () => readonly ProfileLine[];
  readonly hello: () => Extract<ToView, { type: 'hello' }>;
  /** The page is loaded and listens. */
  readonly ready: () => void;
  /** Answers an open ask of an open session. */
  readonly answer: (sessionId: SessionId, askId: AskId, answer: Answer) => void;
  /** The answers to an approval as its card shows them. */
  readonly judge: JudgeApproval;
  /** The ask that a quick-pick shows. */
  readonly asking: () => AskRef | undefined;
  /** The text of a file with unsaved changes; undefined for any other. */
  readonly unsaved: (path: string) => string | undefined;
  readonly typing: Pick<Typing, 'noted' | 'over'>;
  /** The window that the page is in has this size. */
  readonly sized: (window: WindowSize) => void;
  readonly log: Log;
}

/** About two frames, in milliseconds: text still flows smoothly, at half the messages. */
const FRAME = 33;
/** Calls that the view may have open at a time. */
const MOST_CALLS = 64;
/** Messages that wait for a page to be ready. */
const MOST_EARLY = 100;

/** A listening page knows the last list of sessions it was sent; for one that does not listen yet, messages wait. */
type Greeting = { readonly done: true; readonly list: string } | { readonly done: false; readonly early: readonly ToView[] };
const UNGREETED: Greeting = { done: false, early: [] };

/** One webview and the sessions: sends `hello`, keeps the shown session in step, answers calls, passes intents on. */
export class ChatLink implements Disposable {
  readonly #page: ChatPage;
  readonly #deps: ChatLinkDeps;
  readonly #life = new Lifetime();
  readonly #outbox: Outbox;
  readonly #arrived = this.#life.own(new Emitter<void>());
  /** The page has the keyboard focus from now on. */
  readonly onFocused = this.#arrived.listen;
  /** The page was given the keyboard and cannot take it by itself. */
  readonly #refused = this.#life.own(new Emitter<void>());
  #greeting: Greeting = UNGREETED;
  #focused = false;
  /** When the page lost the keyboard last. */
  #leftAt = Number.NEGATIVE_INFINITY;
  #calls = 0;

  constructor(page: ChatPage, deps: ChatLinkDeps) {
    this.#page = page;
    this.#deps = deps;
    this.#outbox = new Outbox(page, frames(this.#life), deps.judge);
    this.#life.own(page.onMessage((message) => this.#receive(message)));
    this.#life.own(page.onVisible(() => this.#visibility()));
    this.#life.own(
      deps.host.onChange((id, { event, before, now }) => {
        this.#outbox.take(id, event);
        if (event.type !== 'text.delta' && lineOf(id, before) !== lineOf(id, now)) this.#sendList();
      }),
    );
    this.#life.own(deps.host.onSessions(() => this.#sessionsChanged()));
  }

  /** Puts content into the composer, as soon as there is one. */
  insert(content: Content): void {
    this.#postLater({ type: 'insert', content });
  }

  /** Lets the page attach the selection of the terminal, which goes over the clipboard. */
  keepPicture(): void {
    this.#postLater({ type: 'keepPicture' });
  }

  /** Puts the message of a turn into the composer, to be sent in its place. */
  edit(sessionId: SessionId, turnId: TurnId): void {
    this.#postLater({ type: 'edit', sessionId, turnId });
  }

  /** Ends an edit of that message unsent. */
  endEdit(sessionId: SessionId, turnId: TurnId): void {
    this.#postLater({ type: 'endEdit', sessionId, turnId });
  }

  /** True while the page has the keyboard focus. */
  get focused(): boolean {
    return this.#focused;
  }

  /** True while the page has the keyboard focus, or when it lost it within the last `limit` milliseconds. */
  focusedWithin(limit: number): boolean {
    return this.#focused || performance.now() - this.#leftAt < limit;
  }

  /** The user is elsewhere: what comes now does not lead back here. */
  forgetFocus(): void {
    this.#leftAt = Number.NEGATIVE_INFINITY;
  }

  /** Settles when the page has the keyboard focus, or after `limit` milliseconds. */
  async whenFocused(limit: number): Promise<void> {
    if (!this.#focused) await this.#arrival(limit);
  }

  /**
   * Lets the page take the keyboard by itself. False when it does not listen yet, tells that it cannot, or tells nothing within `limit` milliseconds.
   * `back`: the caret stays where the user has put it meanwhile.
   */
  async takeFocus(limit: number, back = false): Promise<boolean> {
    if (!this.#greeting.done) return false;
    const arrived = this.#arrival(limit);
    this.#page.post(back ? { type: 'focus', back } : { type: 'focus' });
    return arrived;
  }

  /** Settles when the page tells that it has the keyboard focus: true; false when it cannot take it, after `limit` milliseconds, or when the page is gone. */
  #arrival(limit: number): Promise<boolean> {
    if (this.#life.ended) return Promise.resolve(false);
    return new Promise((resolve) => {
      const wait = new Lifetime();
      this.#life.own(wait);
      wait.onEnd(() => resolve(false));
      const end = (arrived: boolean) => {
        resolve(arrived);
        this.#life.release(wait);
        wait.dispose();
      };
      wait.own(this.#arrived.listen(() => end(true)));
      wait.own(this.#refused.listen(() => end(false)));
      const timer = setTimeout(() => end(false), limit);
      wait.onEnd(() => clearTimeout(timer));
    });
  }

  caret(): void {
    this.#page.post({ type: 'caret' });
  }

  focus(): void {
    this.#postLater({ type: 'focus' });
  }

  /** The ask that a quick-pick shows, or none when it has left. */
  showPick(ask: AskRef | undefined): void {
    this.#postLater(ask ? { type: 'pick', ask } : { type: 'pick' });
  }

  /** Trust or the list of agents changed. */
  greetAgain(): void {
    if (this.#greeting.done) this.#greet();
  }

  dispose(): void {
    this.#life.dispose();
  }

  #postLater(message: ToView): void {
    if (this.#greeting.done) this.#page.post(message);
    else this.#greeting = { done: false, early: [...this.#greeting.early, message].slice(-MOST_EARLY) };
  }

  #receive(raw: unknown): void {
    const read = readFromView(raw);
    if ('problem' in read) {
      this.#deps.log.warn(`The chat view sent ${read.problem}`);
      if (read.callId !== undefined) this.#page.post({ type: 'failed', id: read.callId, message: read.problem });
      return;
    }
    const { message } = read;
    switch (message.type) {
      case 'ready':
        return this.#ready();
      case 'typing':
        return this.#deps.typing.noted();
      case 'window':
        return this.#deps.sized({ width: message.width, height: message.height });
      case 'focused':
        if (this.#focused && !message.on) this.#leftAt = performance.now();
        this.#focused = message.on;
        if (!message.on) return;
        return this.#arrived.fire();
      case 'unfocused':
        return this.#refused.fire();
      case 'resync':
        if (message.sessionId === this.#outbox.shown) this.#outbox.snapshot();
        return;
      case 'intent':
        return this.#intent(message.sessionId, message.intent);
      case 'call':
        void this.#answer(message.id, message.method, message.params);
        return;
      default: {
        const unknown: never = message;
        return unknown;
      }
    }
  }

  #greet(): void {
    this.#page.post(this.#deps.hello());
    this.#greeting = { done: true, list: '' };
    this.#sendList();
  }

  #ready(): void {
    const early = this.#greeting.done ? [] : this.#greeting.early;
    this.#greet();
    this.#outbox.show(this.#active());
    this.#outbox.listen(true);
    for (const message of early) this.#page.post(message);
    const ask = this.#deps.asking();
    if (ask) this.#page.post({ type: 'pick', ask });
    this.#deps.ready();
  }

  #intent(sessionId: SessionId, intent: Parameters<HostedSession['send']>[0]): void {
    const session = this.#deps.host.get(sessionId);
    if (!session) return this.#deps.log.warn('The chat view meant a session that is gone');
    this.#deps.typing.over();
    if (intent.type !== 'answer') return session.send(withUnsaved(intent, this.#deps.unsaved));
    if (findAsk(session.store.now, intent.askId)) this.#deps.answer(sessionId, intent.askId, intent.answer);
  }

  async #answer<M extends keyof Calls>(id: number, method: M, params: Calls[M]['params']): Promise<void> {
    if (this.#calls >= MOST_CALLS) return this.#page.post({ type: 'failed', id, message: 'too many questions at once' });
    this.#calls += 1;
    let reply: ToView;
    try {
      reply = { type: 'reply', id, result: await this.#deps.answers[method](params) };
    } catch (error) {
      this.#deps.log.warn(`The chat view asked for ${method}: ${messageOf(error)}`);
      reply = { type: 'failed', id, message: messageOf(error) };
    }
    this.#calls -= 1;
    if (!this.#life.ended) this.#page.post(reply);
  }

  #active(): HostedSession | undefined {
    const { active } = this.#deps.host;
    return active === undefined ? undefined : this.#deps.host.get(active);
  }

  /** A hidden page is gone; its successor sends `ready`. */
  #visibility(): void {
    if (this.#page.visible) return;
    if (this.#greeting.done) this.#greeting = UNGREETED;
    this.#focused = false;
    this.#outbox.listen(false);
  }

  #sessionsChanged(): void {
    this.#sendList();
    const active = this.#active();
    if (active?.id !== this.#outbox.shown) this.#outbox.show(active);
  }

  #sendList(): void {
    if (!this.#greeting.done) return;
    const { host } = this.#deps;
    const list = host.all.flatMap((id) => {
      const session = host.get(id);
      return session ? [sessionLine(session)] : [];
    });
    const message: ToView = {
      type: 'sessions',
      list,
      profiles: this.#deps.profiles(),
      ...(host.active === undefined ? {} : { active: host.active }),
    };
    const text = JSON.stringify(message);
    if (text === this.#greeting.list) return;
    this.#greeting = { done: true, list: text };
    this.#page.post(message);
  }
}

/** Runs a function at most once a frame; the first call after a pause runs at once, with everything else from the same moment. */
function frames(life: Lifetime): Schedule {
  let ranAt = Number.NEGATIVE_INFINITY;
  return (run) => {
    if (life.ended) return;
    let timer: NodeJS.Timeout | undefined;
    const stop = life.own({ dispose: () => clearTimeout(timer) });
    timer = setTimeout(
      () => {
        life.release(stop);
        ranAt = performance.now();
        run();
      },
      Math.max(0, ranAt + FRAME - performance.now()),
    );
  };
}

/** UTF-16 units; the agent reads longer texts from the disk. */
const LONGEST = 1024 * 1024;

/**
 * Adds the text of unsaved files that a prompt names: agents read the disk, and would see another text than the user (acp.md §6). `unsaved` gives the
 * text of a file with unsaved changes, undefined for any other.
 */
function withUnsaved<I extends Intent>(intent: I, unsaved: (path: string) => string | undefined): I {
  if (intent.type !== 'prompt' && intent.type !== 'steer') return intent;
  return { ...intent, content: intent.content.map((one) => filled(one, unsaved)) };
}

function filled(content: Content, unsaved: (path: string) => string | undefined): Content {
  if (content.type !== 'file' || content.text !== undefined || content.lines) return content;
  const text = unsaved(content.path);
  return text === undefined || text.length > LONGEST ? content : { ...content, text };
}

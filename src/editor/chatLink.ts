import { Emitter } from '../base/emitter.ts';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import { type Log, messageOf } from '../base/log.ts';
import type { Answers, Calls, ProfileLine, SessionLine, ToView } from '../bridge/contract.ts';
import { Outbox } from '../bridge/outbox.ts';
import type { HostedSession, SessionHost } from '../live/surface.ts';
import type { Answer } from '../session/intents.ts';
import type { AskId, Content, Session, SessionId } from '../session/model.ts';
import { findAsk, isBusy, titleOf } from '../session/select.ts';
import type { ChatPage } from './chatView.ts';
import type { Typing } from './typing.ts';
import { withUnsaved } from './unsavedText.ts';
import { readFromView } from './viewMessages.ts';

export interface ChatLinkDeps {
  readonly desk: SessionHost;
  readonly answers: Answers;
  readonly profiles: () => readonly ProfileLine[];
  readonly hello: () => Extract<ToView, { type: 'hello' }>;
  /** The page is there and listens. */
  readonly ready: () => void;
  /** Answers an open ask of an open session. */
  readonly answer: (sessionId: SessionId, askId: AskId, answer: Answer) => void;
  /** The text of a file with unsaved changes; undefined for any other. */
  readonly unsaved: (path: string) => string | undefined;
  readonly typing: Pick<Typing, 'noted' | 'over'>;
  readonly log: Log;
}

/** About one frame, in milliseconds. */
const FRAME = 16;
/** Calls the view may have open at a time. */
const MOST_CALLS = 64;

/** One webview and the sessions: says hello, keeps the shown session in step, answers calls, passes intents on. */
export class ChatLink implements Disposable {
  readonly #page: ChatPage;
  readonly #deps: ChatLinkDeps;
  readonly #life = new Lifetime();
  readonly #outbox: Outbox;
  #greeted = false;
  readonly #arrived = this.#life.own(new Emitter<void>());
  #focused = false;
  #calls = 0;
  #list = '';
  #sentAt = Number.NEGATIVE_INFINITY;
  /** What was put in before the page could take it. */
  #early: ToView[] = [];

  constructor(page: ChatPage, deps: ChatLinkDeps) {
    this.#page = page;
    this.#deps = deps;
    this.#outbox = new Outbox(
      (message) => this.#page.post(message),
      (flush) => this.#soon(flush),
    );
    const own = (thing: Disposable) => this.#life.own(thing);
    own(page.onMessage((message) => this.#take(message)));
    own(page.onVisible(() => this.#visibility()));
    own(
      deps.desk.onChange((id, { event, before, now }) => {
        this.#outbox.take(id, event);
        if (event.type !== 'text.delta' && lineOf(id, before) !== lineOf(id, now)) this.#sendList();
      }),
    );
    own(deps.desk.onSessions(() => this.#sessionsChanged()));
  }

  /** Puts something into the composer, as soon as there is one. */
  insert(content: Content): void {
    this.#postLater({ type: 'insert', content });
  }

  /** The user's keys go to the page. */
  get focused(): boolean {
    return this.#focused;
  }

  /** Settles when the user's keys go to the page, or after so many milliseconds. */
  whenFocused(limit: number): Promise<void> {
    if (this.#focused || this.#life.ended) return Promise.resolve();
    return new Promise((resolve) => {
      const wait = new Lifetime();
      this.#life.own(wait);
      wait.onEnd(resolve);
      const end = () => {
        this.#life.release(wait);
        wait.dispose();
      };
      wait.own(this.#arrived.listen(end));
      const timer = setTimeout(end, limit);
      wait.onEnd(() => clearTimeout(timer));
    });
  }

  caret(): void {
    this.#page.post({ type: 'caret' } satisfies ToView);
  }

  focus(): void {
    this.#postLater({ type: 'focus' });
  }

  /** Trust or the list of agents changed. */
  greetAgain(): void {
    if (!this.#greeted) return;
    this.#page.post(this.#deps.hello());
    this.#list = '';
    this.#sendList();
  }

  dispose(): void {
    this.#life.dispose();
  }

  #postLater(message: ToView): void {
    if (this.#greeted) this.#page.post(message);
    else this.#early = [...this.#early, message].slice(-100);
  }

  /** At most once a frame; the first after a rest goes at once, with what else the same moment brings. */
  #soon(run: () => void): void {
    const timer = setTimeout(
      () => {
        this.#life.release(stop);
        this.#sentAt = performance.now();
        run();
      },
      Math.max(0, this.#sentAt + FRAME - performance.now()),
    );
    const stop = this.#life.own({ dispose: () => clearTimeout(timer) });
  }

  #take(raw: unknown): void {
    const read = readFromView(raw);
    if ('problem' in read) {
      this.#deps.log.warn(`The chat view sent ${read.problem}`);
      if (read.callId !== undefined) this.#page.post({ type: 'failed', id: read.callId, message: read.problem } satisfies ToView);
      return;
    }
    const { message } = read;
    switch (message.type) {
      case 'ready':
        return this.#ready();
      case 'typing':
        return this.#deps.typing.noted();
      case 'focused':
        this.#focused = message.on;
        if (message.on) this.#arrived.fire();
        return;
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

  #ready(): void {
    this.#greeted = true;
    this.#page.post(this.#deps.hello());
    this.#list = '';
    this.#sendList();
    this.#outbox.show(this.#active());
    this.#outbox.listen(true);
    const early = this.#early;
    this.#early = [];
    for (const message of early) this.#page.post(message);
    this.#deps.ready();
  }

  #intent(sessionId: SessionId, intent: Parameters<HostedSession['send']>[0]): void {
    const session = this.#deps.desk.get(sessionId);
    if (!session) return this.#deps.log.warn('The chat view meant a session that is gone');
    this.#deps.typing.over();
    if (intent.type !== 'answer') return session.send(withUnsaved(intent, this.#deps.unsaved));
    if (findAsk(session.store.now, intent.askId)) this.#deps.answer(sessionId, intent.askId, intent.answer);
  }

  async #answer<M extends keyof Calls>(id: number, method: M, params: Calls[M]['params']): Promise<void> {
    if (this.#calls >= MOST_CALLS) return this.#page.post({ type: 'failed', id, message: 'too many questions at once' } satisfies ToView);
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
    const { active } = this.#deps.desk;
    return active === undefined ? undefined : this.#deps.desk.get(active);
  }

  /** A hidden page is gone; the one that comes after it says `ready`. */
  #visibility(): void {
    if (this.#page.visible) return;
    this.#greeted = false;
    this.#focused = false;
    this.#outbox.listen(false);
  }

  #sessionsChanged(): void {
    this.#sendList();
    const active = this.#active();
    if (active?.id !== this.#outbox.shown) this.#outbox.show(active);
  }

  #sendList(): void {
    if (!this.#greeted) return;
    const { desk } = this.#deps;
    const list = desk.all.flatMap((id) => {
      const session = desk.get(id);
      return session ? [sessionLine(session)] : [];
    });
    const message: ToView = {
      type: 'sessions',
      list,
      profiles: this.#deps.profiles(),
      ...(desk.active === undefined ? {} : { active: desk.active }),
    };
    const text = JSON.stringify(message);
    if (text === this.#list) return;
    this.#list = text;
    this.#page.post(message);
  }
}

function sessionLine({ id, store }: HostedSession): SessionLine {
  const { now } = store;
  return {
    id,
    title: titleOf(now),
    agent: now.agent.name,
    state: stateOf(now),
    asks: now.asks.length,
    at: now.turns.at(-1)?.startedAt ?? 0,
  };
}

function stateOf(session: Session): SessionLine['state'] {
  return session.link.state === 'ready' && isBusy(session) ? 'busy' : session.link.state;
}

/** What of a session the list shows, to compare. */
function lineOf(id: SessionId, session: Session): string {
  return [id, session.title, session.turns.length, session.agent.name, stateOf(session), session.asks.length].join('\n');
}

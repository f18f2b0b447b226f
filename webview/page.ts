import type { ProfileLine, SetupLine, Surroundings, ToView } from '../src/bridge/contract.ts';
import { Mirror } from '../src/bridge/mirror.ts';
import type { SessionEvent } from '../src/session/events.ts';
import type { Ask, AskRef, QueuedPrompt, Session, SessionId } from '../src/session/model.ts';
import { newSession } from '../src/session/reduce.ts';
import { approvalHeading } from '../src/session/shownApproval.ts';
import { visibleText } from '../src/session/visible.ts';
import { colourBy, themeChanges } from './highlighter.ts';
import type { HostConnection } from './host.ts';
import { withoutClosedAsks } from './keptAnswers.ts';
import { setStrings, t } from './strings.ts';
import { Ui } from './ui.ts';
import type { Act, Popup, View } from './view.ts';

const SAID_FOR_MS = 6000;

/** The page's state besides its sessions. Replaced, never changed in place. */
export interface PageState {
  /** Whether the workspace is trusted; undefined until the host has said hello. */
  readonly trusted: boolean | undefined;
  readonly setups: readonly SetupLine[];
  /** The contents of the folder; nothing until the host has answered. */
  readonly around: Surroundings;
  readonly popup: Popup | undefined;
  readonly said: { readonly text: string; readonly level: 'info' | 'error' } | undefined;
  /** The last text for screen readers. */
  readonly announced: string;
  /** When the session last changed: during a turn, a sign that its agent is active. */
  readonly heardAt: number;
  /** Messages sent while there was no session; they go to the next one. */
  readonly unsent: readonly QueuedPrompt[];
  /** The ask that a quick-pick of the editor shows now. */
  readonly pick: AskRef | undefined;
  /** Number of messages the user has sent from this page. */
  readonly sent: number;
}

/** A placeholder while there is no session, so that the user can type before one begins. */
const NOBODY: Session = { ...newSession('', { protocol: '', name: '' }, ''), link: { state: 'ready', offers: {} } };

/** With messages that wait, the placeholder is a session that starts: they are shown, edited and removed like queued ones. */
function placeholder(queue: readonly QueuedPrompt[]): Session {
  return queue.length === 0 ? NOBODY : { ...NOBODY, queue, link: { state: 'opening', note: t('Starting {0}…', 'Parley') } };
}

/** The source of everything drawn: the mirrored sessions, the view's memory, and the page's own state. */
export class Page {
  readonly host: HostConnection;
  readonly mirror: Mirror;
  readonly ui: Ui;
  readonly growth = new TextGrowth();
  readonly #listeners = new Set<(when: 'now' | 'later') => void>();
  #state: PageState = {
    trusted: undefined,
    setups: [],
    around: { tests: false, changes: false, readme: true },
    popup: undefined,
    said: undefined,
    announced: '',
    heardAt: Date.now(),
    unsent: [],
    pick: undefined,
    sent: 0,
  };
  #asked = false;
  #saidTimer: ReturnType<typeof setTimeout> | undefined;
  #wasReady = false;

  constructor(host: HostConnection) {
    this.host = host;
    this.mirror = new Mirror((message) => host.post(message));
    this.ui = new Ui(host);
    this.mirror.onChange((events) => this.#mirrored(events));
    colourBy(host, () => this.changed());
  }

  get now(): PageState {
    return this.#state;
  }

  /** The session that is shown, or a placeholder. */
  get session(): Session {
    return this.mirror.session ?? placeholder(this.now.unsent);
  }

  /** The data that templates read now, and the actions they run. */
  view(act: Act): View {
    const { session, ui } = this;
    const page = this;
    return {
      session,
      // Read at access time: a key may follow another before the next frame.
      get memory() {
        return ui.memory(session.id);
      },
      get popup() {
        return page.now.popup;
      },
      profile: this.profileOf(session.id),
      setups: this.now.setups,
      around: this.now.around,
      theme: themeChanges(),
      act,
      answersTo: (askId) => this.mirror.answersTo(askId),
      grown: (turnId, partId) => this.growth.of(turnId, partId),
    };
  }

  /** `now`: the change must be on the screen when this returns; otherwise the next frame draws it. */
  onChange(listener: (when: 'now' | 'later') => void): void {
    this.#listeners.add(listener);
  }

  update(change: Partial<PageState>): void {
    this.#state = { ...this.#state, ...change };
    this.changed();
  }

  changed(when: 'now' | 'later' = 'later'): void {
    for (const listener of this.#listeners) listener(when);
  }

  /** Shows the user a message and announces it. What failed stays until the user closes it or does something else: it may name many files. */
  showMessage(text: string, level: 'info' | 'error'): void {
    clearTimeout(this.#saidTimer);
    this.update({ said: { text, level }, announced: text });
    if (level === 'info') this.#saidTimer = setTimeout(() => this.removeMessage(), SAID_FOR_MS);
  }

  removeMessage(): void {
    clearTimeout(this.#saidTimer);
    if (this.now.said) this.update({ said: undefined });
  }

  /** The profile a session was started with, as it is configured now. */
  profileOf(id: SessionId): ProfileLine | undefined {
    const line = this.mirror.sessions.find((one) => one.id === id);
    return this.mirror.profiles.find((one) => one.id === line?.profile);
  }

  /** Handles messages that only change state. */
  take(message: ToView): void {
    if (message.type === 'hello') {
      setStrings(message.strings);
      document.documentElement.lang = message.language;
      return this.update({ trusted: message.trusted });
    }
    this.mirror.take(message);
    if (message.type === 'sessions') this.#lookForSetups();
    if (this.session.turns.length === 0 && (message.type === 'sessions' || message.type === 'snapshot')) this.#lookAround();
  }

  /** Runs once, and only where the user has no model yet. */
  #lookForSetups(): void {
    if (this.#asked || this.#state.trusted !== true || !this.mirror.profiles.some(({ model }) => model === '')) return;
    this.#asked = true;
    this.host.call('findSetups', {}).then(
      (setups) => this.update({ setups }),
      () => {},
    );
  }

  /** The examples of the welcome fit what is there now. */
  #lookAround(): void {
    if (this.#state.trusted !== true) return;
    this.host.call('lookAround', {}).then(
      (around) => this.update({ around }),
      () => {},
    );
  }

  #mirrored(events: readonly SessionEvent[] | undefined): void {
    this.growth.take(events);
    const { session } = this.mirror;
    const text = events && session && announcement(events, session, this.#wasReady);
    this.#wasReady = session?.link.state === 'ready';
    if (session) this.#clearClosedAsks(session, events ?? []);
    // Clears the announcement of the turn before.
    const begins = events?.some(({ type }) => type === 'turn.started');
    this.update({ heardAt: Date.now(), ...(text || begins ? { announced: text ?? '' } : {}) });
  }

  #clearClosedAsks(session: Session, events: readonly SessionEvent[]): void {
    const answered = events.flatMap((event) => (event.type === 'ask.closed' && event.how === 'answered' ? event.askId : []));
    const change = withoutClosedAsks(this.ui.memory(session.id), session, answered);
    if (change) this.ui.change(session.id, change);
  }
}

/**
 * Tracks text added since the last draw. A growing text is a chain of pieces inside the engine: comparing or cutting it copies all of it, in every
 * frame.
 */
export class TextGrowth {
  readonly #pieces = new Map<string, string[]>();

  /** Records the events of a patch, or undefined when everything may be new. */
  take(events: readonly SessionEvent[] | undefined): void {
    if (!events) return this.#pieces.clear();
    for (const event of events) {
      if (event.type === 'text.delta') {
        const key = `${event.turnId}/${event.partId}`;
        const pieces = this.#pieces.get(key);
        if (pieces) pieces.push(event.text);
        else this.#pieces.set(key, [event.text]);
      } else if (event.type === 'text.set') this.#pieces.delete(`${event.turnId}/${event.partId}`);
      else if (event.type === 'turn.ended') this.#pieces.clear();
    }
  }

  /** Returns the text added to the part since the last call; undefined when that is not known. */
  of(turnId: string, partId: string): string | undefined {
    const key = `${turnId}/${partId}`;
    const pieces = this.#pieces.get(key);
    this.#pieces.delete(key);
    return pieces?.join('');
  }
}

/**
 * The text a screen reader announces for a patch; undefined for changes that are only visual. Never the text that streams in. `wasReady`: the link was
 * ready before the patch; an agent that tells again what it offers is no news then.
 */
export function announcement(
  events: readonly SessionEvent[],
  session: Pick<Session, 'agent' | 'cwd' | 'turns' | 'partial'>,
  wasReady = false,
): string | undefined {
  const isAgain = wasReady && !events.some(({ type }) => type === 'link.opening' || type === 'link.closed');
  // Turns that ended before the link was ready belong to an earlier conversation being replayed.
  const told = session.partial ? events.length : isAgain ? -1 : events.findLastIndex((event) => event.type === 'link.ready');
  const said = events.flatMap((event, at) => {
    switch (event.type) {
      case 'turn.ended':
        if (at < told) return [];
        if (event.status === 'done') return [`${session.agent.name}: ${t('Done')}`];
        return [event.status === 'cancelled' ? t('Stopped') : t('{0} failed: {1}', session.agent.name, event.error?.message ?? '')];
      case 'ask.opened':
        return [asked(event.ask, titleOf(event.ask, session), session.agent.name)];
      case 'link.ready':
        return isAgain ? [] : [t('{0} is ready.', session.agent.name)];
      case 'link.closed':
        // The user knows what they restart, and the failed turn has already announced the reason.
        return event.restarts || events.some((one) => one.type === 'turn.ended' && one.error?.message === event.reason)
          ? []
          : [event.reason];
      case 'notice':
        return event.notice.level === 'info' ? [] : [event.notice.text];
      default:
        return [];
    }
  });
  // Announced as displayed: with the marks that change the reading direction written out.
  return said.length > 0 ? visibleText(said.join(' ').slice(0, 500)) : undefined;
}

function titleOf(ask: Ask, session: Pick<Session, 'cwd' | 'turns'>): string {
  if (ask.kind === 'question') return ask.title;
  const { action, subject } = approvalHeading(ask, session);
  return subject === undefined ? action : `${action}: ${subject}`;
}

function asked(ask: Ask, title: string, agent: string): string {
  return t('{0} asks: {1}', ask.ours ? 'Parley' : agent, title);
}

import type { ProfileLine, SetupLine, ToView } from '../src/bridge/contract.ts';
import { Mirror } from '../src/bridge/mirror.ts';
import type { SessionEvent } from '../src/session/events.ts';
import type { AskPlace, Content, SessionId } from '../src/session/model.ts';
import { announcement } from './announcer.ts';
import { Growth } from './growth.ts';
import type { Host } from './host.ts';
import { setStrings } from './strings.ts';
import { Ui } from './ui.ts';
import type { Popup } from './view.ts';

const SAID_FOR_MS = 6000;

/** The page's state besides its sessions. Replaced, never changed in place. */
export interface PageState {
  /** Whether the workspace is trusted; undefined until the host has said hello. */
  readonly trusted: boolean | undefined;
  readonly setups: readonly SetupLine[];
  readonly popup: Popup | undefined;
  readonly said: { readonly text: string; readonly level: 'info' | 'error' } | undefined;
  /** The last text for screen readers. */
  readonly announced: string;
  /** When the session last changed: during a turn, a sign that its agent is active. */
  readonly heardAt: number;
  /** Content sent while there was no session; goes to the next one. */
  readonly unsent: readonly Content[] | undefined;
  /** The ask that a quick-pick of the editor shows now. */
  readonly pick: AskPlace | undefined;
  /** Number of messages the user has sent from this page. */
  readonly sent: number;
}

/** The source of everything drawn: the mirrored sessions, the view's memory, and the page's own state. */
export class Page {
  readonly host: Host;
  readonly mirror: Mirror;
  readonly ui: Ui;
  readonly growth = new Growth();
  readonly #listeners = new Set<(when: 'now' | 'later') => void>();
  #state: PageState = {
    trusted: undefined,
    setups: [],
    popup: undefined,
    said: undefined,
    announced: '',
    heardAt: Date.now(),
    unsent: undefined,
    pick: undefined,
    sent: 0,
  };
  #asked = false;
  #saidTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(host: Host) {
    this.host = host;
    this.mirror = new Mirror((message) => host.post(message));
    this.ui = new Ui(host);
    this.mirror.onChange((events) => this.#mirrored(events));
  }

  get now(): PageState {
    return this.#state;
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

  /** Shows the user a message and announces it. */
  say(text: string, level: 'info' | 'error'): void {
    clearTimeout(this.#saidTimer);
    this.update({ said: { text, level }, announced: text });
    this.#saidTimer = setTimeout(() => this.update({ said: undefined }), SAID_FOR_MS);
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

  #mirrored(events: readonly SessionEvent[] | undefined): void {
    this.growth.take(events);
    const { session } = this.mirror;
    const text = events && session && announcement(events, session);
    // Clears the announcement of the turn before.
    const begins = events?.some(({ type }) => type === 'turn.started');
    this.update({ heardAt: Date.now(), ...(text || begins ? { announced: text ?? '' } : {}) });
  }
}

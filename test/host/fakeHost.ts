import { Emitter } from '../../src/base/emitter.ts';
import type { HostedSession, SessionHost } from '../../src/live/surface.ts';
import type { SessionEvent } from '../../src/session/events.ts';
import type { Answer, Intent } from '../../src/session/intents.ts';
import type { Approval, Ask, Option, Question } from '../../src/session/model.ts';
import { newSession } from '../../src/session/reduce.ts';
import { Store, type StoreChange } from '../../src/session/store.ts';

/** A host with one session per name and no agents: asks are opened by the test, answers are kept and close their ask. */
export class FakeSessionHost implements SessionHost {
  readonly #changes = new Emitter<{ readonly id: string; readonly change: StoreChange }>();
  readonly #lists = new Emitter<void>();
  readonly #sessions = new Map<string, HostedSession>();
  readonly answers: { readonly askId: string; readonly answer: Answer }[] = [];
  /** Sessions whose turn was stopped. */
  readonly stopped: string[] = [];
  readonly active: string | undefined;

  constructor(cwd: string, ...ids: readonly string[]) {
    this.active = ids[0];
    for (const id of ids) {
      const store = new Store(newSession(id, { protocol: 'none', name: `Agent ${id}` }, cwd));
      store.onChange((change) => this.#changes.fire({ id, change }));
      this.#sessions.set(id, { id, store, profile: 'none', send: (intent) => this.#take(id, intent), hints: async () => [] });
      this.say(id, { type: 'link.ready', agent: { protocol: 'none', name: `Agent ${id}` }, offers: { feedback: true } });
      this.say(id, { type: 'turn.started', turnId: 't', at: 1, prompt: [] });
    }
  }

  get all(): readonly string[] {
    return [...this.#sessions.keys()];
  }
  get(id: string): HostedSession | undefined {
    return this.#sessions.get(id);
  }
  onChange(listener: (id: string, change: StoreChange) => void) {
    return this.#changes.listen(({ id, change }) => listener(id, change));
  }
  onSessions(listener: () => void) {
    return this.#lists.listen(listener);
  }

  say(id: string, event: SessionEvent): void {
    this.#sessions.get(id)?.store.apply(event);
  }
  open(ask: Ask, id = this.active ?? ''): void {
    this.say(id, { type: 'ask.opened', ask });
  }
  close(askId: string, id = this.active ?? ''): void {
    this.say(id, { type: 'ask.closed', askId, how: 'answered' });
  }
  /** The user closes the session. */
  leave(id: string): void {
    this.#sessions.delete(id);
    this.#lists.fire();
  }
  openAsks(id = this.active ?? ''): readonly string[] {
    return this.#sessions.get(id)?.store.now.asks.map((ask) => ask.id) ?? [];
  }

  #take(id: string, intent: Intent): void {
    if (intent.type === 'revise') return this.say(id, { ...intent, type: 'ask.revised' });
    if (intent.type === 'cancel') this.stopped.push(id);
    if (intent.type !== 'answer') return;
    this.answers.push({ askId: intent.askId, answer: intent.answer });
    this.close(intent.askId, id);
  }
}

export const options: readonly Option[] = [
  { id: 'yes', label: 'Go', effect: 'allow_once' },
  { id: 'always', label: 'Go', effect: 'allow_always' },
  { id: 'no', label: 'No', effect: 'reject_once' },
];

export function command(id: string, text = `run ${id}`): Approval {
  return { kind: 'approval', id, turnId: 't', title: `Run ${id}`, detail: { type: 'command', command: text }, options };
}

export function question(id: string, fields: Question['fields']): Question {
  return { kind: 'question', id, turnId: 't', title: 'Tell me', fields };
}

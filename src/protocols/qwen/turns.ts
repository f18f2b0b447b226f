import type { SessionEvent } from '../../session/events.ts';
import type { Content, Fault, Remedy, TurnId } from '../../session/model.ts';
import type { AdapterContext } from '../adapter.ts';

export interface RunningTurn {
  readonly id: TurnId;
  /** A user asked to stop it. */
  stopping: boolean;
}

/** The one turn that runs, if any; both dialects keep it here. */
export class Turns {
  readonly #emit: (event: SessionEvent) => void;
  readonly #scene: Pick<AdapterContext, 'now' | 'newId'>;
  #running: RunningTurn | undefined;
  #parts = 0;
  #activity: string | null = null;

  constructor(emit: (event: SessionEvent) => void, scene: Pick<AdapterContext, 'now' | 'newId'>) {
    this.#emit = emit;
    this.#scene = scene;
  }

  get running(): RunningTurn | undefined {
    return this.#running;
  }

  begin(id: TurnId, prompt: readonly Content[]): RunningTurn {
    this.#running = { id, stopping: false };
    this.#activity = null;
    this.#emit({ type: 'turn.started', turnId: id, at: this.#scene.now(), prompt });
    return this.#running;
  }

  /** The running turn, or a new one when the agent begins to speak by itself (a background task reports). */
  needed(): RunningTurn {
    return this.#running ?? this.begin(this.#scene.newId(), []);
  }

  end(
    status: 'done' | 'cancelled' | 'failed',
    more: { readonly stop?: string; readonly error?: Fault; readonly clears?: true } = {},
  ): void {
    const turn = this.#running;
    if (!turn) return;
    this.#running = undefined;
    this.#emit({ type: 'turn.ended', turnId: turn.id, at: this.#scene.now(), status, ...more });
  }

  activity(text: string | null): void {
    if (!this.#running || text === this.#activity) return;
    this.#activity = text;
    this.#emit({ type: 'turn.activity', turnId: this.#running.id, text });
  }

  /** A line between the parts of the running turn, or a notice of the session when none runs. */
  note(level: 'info' | 'warn' | 'error', text: string, parent?: string, next?: readonly Remedy[]): void {
    const notice = { level, text, ...(next === undefined ? {} : { next }) };
    if (!this.#running) return this.#emit({ type: 'notice', notice });
    const part = { kind: 'notice', id: this.newPart(), ...(parent === undefined ? {} : { parent }), notice } as const;
    this.#emit({ type: 'part.added', turnId: this.#running.id, part });
  }

  /** How many parts there have been; it changes when something is shown. */
  get parts(): number {
    return this.#parts;
  }

  /** Calls are parts under the agent's own ids, which may be as short as "p1": ours begin as none of those do. */
  newPart(): string {
    this.#parts += 1;
    return `parley:${this.#parts}`;
  }
}

import type { TurnId } from '../../session/model.ts';
import type { AdapterContext } from '../adapter.ts';
import type { Kept } from './kept.ts';

/** Leaves behind what a later window needs to go on with a turn: at once when something new is named, else now and then. */
export class Keeping {
  readonly #scene: Pick<AdapterContext, 'emit'>;
  readonly #turnId: TurnId;
  readonly #value: () => Omit<Kept, 'running'>;
  readonly #every: number;
  #timer: NodeJS.Timeout | undefined;
  #over = false;

  /** `every`: milliseconds that mere growth may wait. */
  constructor(scene: Pick<AdapterContext, 'emit'>, turnId: TurnId, value: () => Omit<Kept, 'running'>, every: number) {
    this.#scene = scene;
    this.#turnId = turnId;
    this.#value = value;
    this.#every = every;
  }

  grew(): void {
    if (!this.#over) this.#timer ??= setTimeout(() => this.now(), this.#every);
  }

  now(): void {
    if (!this.#over) this.#write(true);
  }

  /** The turn has come to its end. */
  end(): void {
    if (!this.#over) this.#write(false);
    this.leave();
  }

  /** The window goes; the turn may go on without it. */
  leave(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  #write(running: boolean): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#scene.emit({ type: 'turn.adapterState', turnId: this.#turnId, value: { running, ...this.#value() } });
  }
}

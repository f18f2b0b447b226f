import { t } from '../../base/l10n.ts';
import type { TurnId } from '../../session/model.ts';
import type { AdapterContext } from '../adapter.ts';

/** Tells the user how long the agent has said nothing. */
export class Silence {
  readonly #scene: Pick<AdapterContext, 'emit' | 'now'>;
  readonly #turnId: TurnId;
  readonly #after: number;
  #heardAt: number;

  /** `after`: milliseconds until it is told. */
  constructor(scene: Pick<AdapterContext, 'emit' | 'now'>, turnId: TurnId, after: number) {
    this.#scene = scene;
    this.#turnId = turnId;
    this.#after = after;
    this.#heardAt = scene.now();
  }

  /** By the scene's clock. */
  get heardAt(): number {
    return this.#heardAt;
  }

  heard(): void {
    const now = this.#scene.now();
    if (now - this.#heardAt >= this.#after) this.#scene.emit({ type: 'turn.activity', turnId: this.#turnId, text: null });
    this.#heardAt = now;
  }

  /** It is not the agent's turn to speak. */
  excused(): void {
    this.#heardAt = this.#scene.now();
  }

  tell(): void {
    const silent = this.#scene.now() - this.#heardAt;
    if (silent < this.#after) return;
    const text = t('Waiting for the agent ({0} s)', Math.round(silent / 1000));
    this.#scene.emit({ type: 'turn.activity', turnId: this.#turnId, text });
  }
}

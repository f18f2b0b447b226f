/** Milliseconds of one turn of the event loop that one source may be read for. */
const MOST_READING = 6;

export interface Source {
  pause(): unknown;
  resume(): unknown;
}

/**
 * Lets others have their turn while a source is read: one that is filled faster than it is read would hold the event loop for megabytes at a time.
 */
export class Pace {
  readonly #source: Source;
  #spent = 0;
  #state: 'idle' | 'reading' | 'paused' | 'over' = 'idle';

  constructor(source: Source) {
    this.#source = source;
  }

  /** Handles one piece of the source, which is paused until the next turn when this turn has been long enough. */
  read(handle: () => void): void {
    if (this.#state === 'idle') {
      this.#state = 'reading';
      setImmediate(() => this.#nextTurn());
    }
    const began = performance.now();
    try {
      handle();
    } finally {
      this.#spent += performance.now() - began;
      if (this.#spent > MOST_READING && this.#state === 'reading') {
        this.#state = 'paused';
        this.#source.pause();
      }
    }
  }

  /** The source is left as it is from now on. */
  end(): void {
    this.#state = 'over';
  }

  #nextTurn(): void {
    const was = this.#state;
    if (was === 'over') return;
    this.#state = 'idle';
    this.#spent = 0;
    if (was === 'paused') this.#source.resume();
  }
}

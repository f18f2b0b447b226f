/** Milliseconds without another line after which a message that says "stop" was the last one (qwen.md §4.2). Chunks say it once. */
const SETTLE = { 'stream-json': 600, 'stream-chunk-json': 120 } as const;

/** Finds out when a turn is over: in this dialect messages in the middle of it say "stop" as well. */
export class Flow {
  readonly #wait: number;
  readonly #busy: () => boolean;
  readonly #end: () => void;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /** `busy`: a call or an approval is open. */
  constructor(format: keyof typeof SETTLE, busy: () => boolean, end: () => void) {
    this.#wait = SETTLE[format];
    this.#busy = busy;
    this.#end = end;
  }

  /** Something of the turn came. What the model says `anew` takes back that it was done; after anything else a finish said before still counts. */
  active(anew: boolean): void {
    clearTimeout(this.#timer);
    if (anew) this.#stopped = false;
    if (this.#stopped && !this.#busy()) this.#settle();
  }

  /** A message said that it was the last one, or that calls follow. */
  finish(reason: string): void {
    clearTimeout(this.#timer);
    this.#stopped = reason !== 'tool_calls';
    if (this.#stopped && !this.#busy()) this.#settle();
  }

  reset(): void {
    clearTimeout(this.#timer);
    this.#stopped = false;
  }

  #settle(): void {
    this.#timer = setTimeout(() => {
      if (this.#busy()) return;
      this.#stopped = false;
      this.#end();
    }, this.#wait);
  }
}

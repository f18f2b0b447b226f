/** A sign of life is asked for this often without an answer before the agent counts as one that knows no heartbeat. */
const TRIES = 3;

export interface HeartbeatDeps {
  /** Milliseconds between questions; 0 asks nothing. */
  readonly every: number;
  /** Milliseconds of silence after which it is said; after as long again it ends. */
  readonly patience: number;
  readonly ask: () => void;
  readonly onSilent: () => void;
  readonly onBack: () => void;
  readonly onDead: () => void;
}

export function heartbeat(session: string): object {
  return { type: 'heartbeat_request', session_id: session };
}

/** Finds out whether the agent is alive (qwen.md §6). Any line is a sign of life; one question is open at a time. */
export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  #timer: NodeJS.Timeout | undefined;
  #silence = 0;
  #asked = 0;
  #open = false;
  #answered = false;
  #otherLines = false;
  #said = false;
  #last = 0;

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
  }

  start(): void {
    if (this.#deps.every <= 0 || this.#timer) return;
    this.#last = performance.now();
    this.#timer = setInterval(() => this.#beat(), this.#deps.every);
  }

  /** A line came; `answer` when it is an answer to a question, or one unasked. */
  heard(answer: boolean): void {
    this.#silence = 0;
    if (answer) {
      this.#answered = true;
      this.#open = false;
    } else this.#otherLines = true;
    if (!this.#said) return;
    this.#said = false;
    this.#deps.onBack();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #beat(): void {
    const { every, patience } = this.#deps;
    const now = performance.now();
    const slept = now - this.#last > 3 * every + 1000;
    this.#last = now;
    if (slept) {
      // The machine slept or we were held up: that is nobody's silence.
      this.#silence = 0;
      this.#open = false;
    }
    if (!this.#answered && this.#otherLines && this.#asked >= TRIES) return this.stop();
    if (this.#silence >= 2 * patience) {
      this.stop();
      return this.#deps.onDead();
    }
    if (this.#silence >= patience && !this.#said) {
      this.#said = true;
      this.#deps.onSilent();
    }
    this.#silence += every;
    if (this.#open && this.#answered) return;
    this.#open = true;
    this.#asked += 1;
    this.#deps.ask();
  }
}

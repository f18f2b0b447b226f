/** Milliseconds in which pieces of one command's output are joined. */
const JOINED_MS = 100;
/** Of what is printed in that time so much is sent, in UTF-16 units: a command that floods its output must not flood the client. */
const MOST = 65_536;

/** What running commands print, for the client to show while they run; the result of the call has it whole. */
export class LiveOutput {
  readonly #send: (callId: string, text: string) => void;
  readonly #waiting = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (callId: string, text: string) => void) {
    this.#send = send;
  }

  push(callId: string, text: string): void {
    this.#waiting.set(callId, `${this.#waiting.get(callId) ?? ''}${text}`.slice(-MOST));
    this.#timer ??= setTimeout(() => this.flush(), JOINED_MS);
  }

  /** Sends what has not been sent yet. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [callId, text] of this.#waiting) if (text !== '') this.#send(callId, text);
    this.#waiting.clear();
  }
}

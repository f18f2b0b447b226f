import { Emitter, Once } from '../../src/base/emitter.ts';
import type { Channel, Closed } from '../../src/transport/channel.ts';

/** A channel without a process: the test says what arrives and reads what was sent. */
export class ScriptedChannel implements Channel {
  readonly sent: string[] = [];
  readonly #messages = new Emitter<string>();
  readonly #closed = new Once<Closed>();
  disposed = 0;
  /** Called with each line that is sent, after it was noted. */
  onSend: (line: string) => void = () => {};

  send(line: string): Promise<void> {
    if (this.#closed.value) return Promise.reject(new Error(this.#closed.value.reason));
    this.sent.push(line);
    this.onSend(line);
    return Promise.resolve();
  }
  onMessage(listener: (line: string) => void) {
    return this.#messages.listen(listener);
  }
  onClosed(listener: (closed: Closed) => void) {
    return this.#closed.listen(listener);
  }
  dispose(): void {
    this.disposed += 1;
    this.close({ reason: 'It was ended.', failure: 'ended', code: 0, stderr: '' });
  }

  say(...values: readonly unknown[]): void {
    for (const value of values) this.#messages.fire(typeof value === 'string' ? value : JSON.stringify(value));
  }
  close(closed: Closed): void {
    this.#closed.fire(closed);
    this.#messages.dispose();
  }
  get listeners(): number {
    return this.#messages.size + this.#closed.waiting;
  }
  /** What was sent, parsed. */
  get out(): { id?: unknown; method?: string; params?: unknown; result?: unknown; error?: { code: number } }[] {
    return this.sent.map((line) => JSON.parse(line));
  }
}

/** Lets everything that is under way in this process settle: microtasks and what the JSON-RPC queue puts off. */
export async function settled(): Promise<void> {
  for (let round = 0; round < 12; round++) await new Promise((resolve) => setImmediate(resolve));
}

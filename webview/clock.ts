import { AsyncDirective, directive } from 'lit/async-directive.js';
import { durationText } from '../src/session/callWords.ts';

/** The time since something began, updated every second while it is on the page. `text` formats the milliseconds. */
class Clock extends AsyncDirective {
  #since = 0;
  #text: (elapsed: number) => unknown = clockText;
  #timer: ReturnType<typeof setInterval> | undefined;

  render(since: number, text: (elapsed: number) => unknown = clockText): unknown {
    this.#since = since;
    this.#text = text;
    if (this.isConnected) this.#start();
    return text(Date.now() - since);
  }

  protected override disconnected(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  protected override reconnected(): void {
    this.#start();
  }

  #start(): void {
    this.#timer ??= setInterval(() => this.setValue(this.#text(Date.now() - this.#since)), 1000);
  }
}

/** Whole seconds as a clock shows them: 0:07. */
export function clockText(elapsed: number): string {
  const seconds = Math.max(0, Math.floor(elapsed / 1000));
  return seconds < 60 ? `0:${String(seconds).padStart(2, '0')}` : durationText(seconds * 1000);
}

export const clock = directive(Clock);

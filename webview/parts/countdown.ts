import { AsyncDirective, directive } from 'lit/async-directive.js';
import { html, nothing, type TemplateResult } from 'lit/html.js';
import { t } from '../strings.ts';

/** A text that changes every second, for as long as it is on the page. */
class TimeLeft extends AsyncDirective {
  #until = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  render(until: number): string {
    this.#until = until;
    if (this.isConnected) this.#start();
    return leftText(until - Date.now());
  }

  protected override disconnected(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  protected override reconnected(): void {
    this.#start();
  }

  #start(): void {
    this.#timer ??= setInterval(() => this.setValue(leftText(this.#until - Date.now())), 1000);
  }
}

const timeLeft = directive(TimeLeft);

/** How long an answer is waited for, where the agent gives up by itself. Read out once, not every second. */
export function countdownView(until: number | undefined): TemplateResult | typeof nothing {
  if (until === undefined) return nothing;
  const clock = new Date(until).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  return html`<p class="faint time-left">
    <span class="sr-only">${t('The agent counts it as refused at {0} if nobody answers.', clock)}</span>
    <span aria-hidden="true" title=${clock}>${timeLeft(until)}</span>
  </p>`;
}

/** What is left of some milliseconds, in words. */
export function leftText(left: number): string {
  const seconds = Math.ceil(left / 1000);
  if (seconds <= 0) return t('The time to answer is over.');
  const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  return t('Counts as refused in {0} if nobody answers.', time);
}

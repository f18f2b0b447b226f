import { html, nothing, type TemplateResult } from 'lit/html.js';
import { clock } from '../clock.ts';
import { t } from '../strings.ts';

/** The time left to answer, where the agent times out. Read out once, not every second. */
export function countdownView(until: number | undefined): TemplateResult | typeof nothing {
  if (until === undefined) return nothing;
  const time = new Date(until).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  return html`<p class="faint time-left">
    <span class="sr-only">${t('Expires: {0}', time)}</span>
    <span aria-hidden="true" title=${time}>${clock(until, (elapsed) => leftText(-elapsed))}</span>
  </p>`;
}

/** Formats the remaining milliseconds in words. */
export function leftText(left: number): string {
  const seconds = Math.max(0, Math.ceil(left / 1000));
  return t('Expires in {0}', `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`);
}

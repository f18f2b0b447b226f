import { html, nothing, type TemplateResult } from 'lit/html.js';
import { durationText } from '../../src/session/callWords.ts';
import type { Plan, Turn } from '../../src/session/model.ts';
import { callsOf, runningTurn } from '../../src/session/select.ts';
import { clock, clockText } from '../clock.ts';
import { commandTitle, t, visible } from '../strings.ts';
import { isUnfolded, type View } from '../view.ts';
import { hasClock } from './call.ts';
import { entriesView } from './content.ts';
import { planStep } from './folded.ts';
import { waitsFor } from './turn.ts';

/** Milliseconds without a sign of the agent after which the strip says so and offers to restart it. */
const SILENT = 30_000;

/** The progress of the turn on one line: the plan's step or the activity, and a clock. Opens to the plan's steps; hidden after the turn. */
export function stripView(view: View, heardAt: number): TemplateResult | typeof nothing {
  const turn = runningTurn(view.session);
  if (!turn) return nothing;
  const { plan } = view.session;
  const entries = plan?.entries ?? [];
  const open = entries.length > 0 && isUnfolded(view.memory, 'plan', false);
  const waits = waitsFor(view.session, turn) && !turn.stopping;
  const isSilent = (elapsed: number) => elapsed >= SILENT && !waits && !isAtWork(turn);
  // The card already says what the agent waits for.
  if (waits && entries.length === 0) return nothing;
  const words =
    entries.length > 0 && !turn.stopping && turn.activity === undefined ? planWords(entries, open) : html`<bdi>${stateText(turn)}</bdi>`;
  const restart = (elapsed: number) =>
    isSilent(elapsed)
      ? html`<button class="ghost small" type="button" @click=${() => view.act.remedy('restart')}>${commandTitle('Restart Agent')}</button>`
      : nothing;
  const state = (elapsed: number) => (isSilent(elapsed) ? t('Silent for {0}', durationText(Math.floor(elapsed / 1000) * 1000)) : words);
  const turnClock = (elapsed: number) => (isSilent(elapsed) ? nothing : clockText(Date.now() - turn.startedAt));
  const line = html`<span class="words">${clock(heardAt, state)}</span>
    <span class="num">${waits ? nothing : html`<span class="spinner" aria-hidden="true"></span>`}${clock(heardAt, turnClock)}</span>`;
  return html`<div class="strip-line" role="group" aria-label=${t('Working')}>
      ${
        entries.length === 0
          ? html`<div class="strip">${line}</div>`
          : html`<button class="strip" type="button" aria-expanded=${String(open)} @click=${() => view.act.unfold('plan', !open)}>${line}</button>`
      }${clock(heardAt, restart)}
    </div>
    ${open ? html`${entriesView(entries)}` : nothing}`;
}

function planWords(entries: Plan['entries'], open: boolean): TemplateResult {
  const now = open ? undefined : entries.find((entry) => entry.status === 'in_progress')?.text;
  return html`${t('Plan')} ${planStep(entries)}${now === undefined ? nothing : html` · <bdi class="thing">${visible(now)}</bdi>`}`;
}

function stateText(turn: Turn): string {
  if (turn.stopping) return t('Stopping…');
  if (turn.activity !== undefined) return turn.activity;
  return turn.parts.at(-1)?.kind === 'thought' ? t('Thinking') : t('Working');
}

/** True while a call runs whose row has a clock of its own. */
function isAtWork(turn: Turn): boolean {
  return callsOf(turn).some((call) => call.status === 'running' && call.startedAt !== undefined && hasClock(call));
}

import { keyed } from 'lit/directives/keyed.js';
import { html, nothing, type TemplateResult } from 'lit/html.js';
import { durationText } from '../src/session/callWords.ts';
import type { Notice, Plan, PlanEntry, Turn } from '../src/session/model.ts';
import { type ClosedLink, closedLinkInTurn, runningTurn } from '../src/session/select.ts';
import { visibleText } from '../src/session/visible.ts';
import { clock } from './clock.ts';
import { iconOf } from './icons.ts';
import type { PageState } from './page.ts';
import { approvalView } from './parts/approval.ts';
import { linkDetail, noticeView, remedies } from './parts/fault.ts';
import { questionView } from './parts/question.ts';
import { waitsFor } from './parts/turn.ts';
import { commandTitle, t, visible } from './strings.ts';
import { isUnfolded, type View } from './view.ts';

const NOTICES_SHOWN = 3;

/** Everything below the turns: the button to their end, notices, the agent's asks, the progress, the last words, and the composer. */
export function dockView(
  view: View,
  { heardAt, said, pick }: Pick<PageState, 'heardAt' | 'said' | 'pick'>,
  { covered, jump, composer }: { readonly covered: boolean; readonly jump: (() => void) | undefined; readonly composer: unknown },
): TemplateResult {
  return html`<section class="dock" ?inert=${covered} aria-label=${t('Ask {0}', view.session.agent.name || 'Parley')}>
    ${jump ? html`<button class="jump" type="button" @click=${jump}>${iconOf('arrowDown')}${t('Jump to latest')}</button>` : nothing}
    ${noticesView(view)} ${asksView(view, pick?.sessionId === view.session.id)} ${stripView(view, heardAt)}
    ${said ? html`<div class="said said-${said.level}">${said.text}</div>` : nothing}
    ${composer}
  </section>`;
}

/** The agent's open asks, always in sight above the composer: one card, with a way to the others. `picked`: a quick-pick shows it too. */
function asksView(view: View, picked: boolean): TemplateResult | typeof nothing {
  const { asks } = view.session;
  const at = Math.max(
    0,
    asks.findIndex((ask) => ask.id === view.memory.ask),
  );
  const ask = asks[at];
  if (!ask) return nothing;
  const next = asks[(at + 1) % asks.length];
  const paging = { place: at + 1, of: asks.length, next: () => next && view.act.showAsk(next.id) };
  return html`<div class=${picked ? 'asks picked' : 'asks'} role="region" aria-label=${t('Waiting for you')}>
    ${keyed(ask.id, ask.kind === 'approval' ? approvalView(view, ask, paging) : questionView(view, ask, paging))}
  </div>`;
}

/** The state of the connection, when it needs attention. */
export function linkView(view: View): TemplateResult | typeof nothing {
  const { link, agent } = view.session;
  switch (link.state) {
    case 'opening':
      return html`<section class="banner" aria-label=${t('Connection')}>
        <span class="spinner" aria-hidden="true"></span><bdi>${visibleText(link.note ?? t('Starting {0}…', agent.name))}</bdi>${remedies(view, link.next)}
      </section>`;
    case 'closed':
      return closedLinkInTurn(view.session) ? nothing : closedView(view, link);
    case 'ready':
      return nothing;
    case 'recorded':
      return html`<section class="banner" aria-label=${t('Connection')}><p>${t('This is a recording. It can be read, not continued.')}</p></section>`;
  }
}

function closedView(view: View, link: ClosedLink): TemplateResult {
  return html`<section class="banner closed" aria-label=${t('Connection')}>
    <p>${visibleText(link.reason)}</p>
    ${remedies(view, link.next?.slice(0, 1))} ${linkDetail(view, link, link.next?.slice(1) ?? [])}
  </section>`;
}

/** The latest notices that were not dismissed. */
function noticesView(view: View): TemplateResult | typeof nothing {
  const open = view.session.notices.filter((notice) => !isUnfolded(view.memory, keyOf(notice), false)).slice(-NOTICES_SHOWN);
  if (open.length === 0) return nothing;
  return html`<div class="notices">
    ${open.map(
      (notice) => html`<div class="notice">
        ${noticeView(view, keyOf(notice), notice)}
        <button class="icon-button" type="button" title=${t('Close')} aria-label=${t('Close')} @click=${() => view.act.unfold(keyOf(notice), true)}>${iconOf('cross')}</button>
      </div>`,
    )}
  </div>`;
}

function keyOf(notice: Notice): string {
  return `dismissed:${notice.text.slice(0, 200)}`;
}

/** Milliseconds without a sign of the agent after which the strip says so and offers to restart it. */
const SILENT = 30_000;

/** The progress of the turn on one line: the plan's step or the activity, and a clock. Opens to the plan's steps; hidden after the turn. */
function stripView(view: View, heardAt: number): TemplateResult | typeof nothing {
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
  const line = html`<span class="words">${clock(heardAt, state)}</span>
    <span class="num">${waits ? nothing : html`<span class="spinner" aria-hidden="true"></span>`}${clock(turn.startedAt)}</span>`;
  return html`<div class="strip-line" role="group" aria-label=${t('Working')}>
      ${
        entries.length === 0
          ? html`<div class="strip">${line}</div>`
          : html`<button class="strip" type="button" aria-expanded=${String(open)} @click=${() => view.act.unfold('plan', !open)}>${line}</button>`
      }${clock(heardAt, restart)}
    </div>
    ${open ? html`<ol class="plan-entries">${entries.map(entryView)}</ol>` : nothing}`;
}

/** True while the latest call runs: its row has a clock of its own. */
function isAtWork({ parts }: Turn): boolean {
  const last = parts.findLast((part) => part.kind === 'call');
  return last?.call.status === 'running';
}

function planWords(entries: Plan['entries'], open: boolean): TemplateResult {
  const done = entries.filter((entry) => entry.status === 'completed').length;
  const at = entries.findIndex((entry) => entry.status === 'in_progress');
  const step = at < 0 ? done : at + 1;
  const now = at < 0 || open ? undefined : entries[at]?.text;
  return html`${t('Plan')} ${step}/${entries.length}${now === undefined ? nothing : html` · <bdi class="thing">${visible(now)}</bdi>`}`;
}

function stateText(turn: Turn): string {
  if (turn.stopping) return t('Stopping…');
  if (turn.activity !== undefined) return turn.activity;
  return turn.parts.at(-1)?.kind === 'thought' ? t('Thinking') : t('Working');
}

function entryView(entry: PlanEntry): TemplateResult {
  const text = entry.status === 'completed' ? t('Done') : entry.status === 'in_progress' ? t('Working') : t('To do');
  const icon = entry.status === 'completed' ? 'stepDone' : entry.status === 'in_progress' ? 'stepNow' : 'step';
  return html`<li class="entry entry-${entry.status}">
    ${iconOf(icon)}<span class="sr-only">${text}: </span><bdi>${visible(entry.text)}</bdi>
    ${entry.priority === 'high' ? html`<span class="tag">${t('high')}</span>` : nothing}
  </li>`;
}

import { keyed } from 'lit/directives/keyed.js';
import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Notice } from '../src/session/model.ts';
import { type ClosedLink, closedLinkInTurn } from '../src/session/select.ts';
import { visibleText } from '../src/session/visible.ts';
import { iconOf } from './icons.ts';
import type { PageState } from './page.ts';
import { approvalView } from './parts/approval.ts';
import { linkDetail, noticeView, remedies } from './parts/fault.ts';
import { questionView } from './parts/question.ts';
import { appendingText } from './parts/retryActions.ts';
import { stripView } from './parts/strip.ts';
import { t } from './strings.ts';
import { isUnfolded, type View } from './view.ts';

const NOTICES_SHOWN = 3;
const SETUP = ['pickAgent', 'openSettings'] as const;

/** Everything below the turns: the button to their end, notices, the agent's asks, the progress, the last words, and the composer. */
export function dockView(
  view: View,
  { heardAt, said, pick }: Pick<PageState, 'heardAt' | 'said' | 'pick'>,
  {
    covered,
    jump,
    composer,
    close,
  }: { readonly covered: boolean; readonly jump: (() => void) | undefined; readonly composer: unknown; close(): void },
): TemplateResult {
  return html`<section class="dock" ?inert=${covered} aria-label=${t('Ask {0}', view.session.agent.name || 'Parley')}>
    ${jump ? html`<button class="jump" type="button" @click=${jump}>${iconOf('arrowDown')}${t('Jump to latest')}</button>` : nothing}
    ${noticesView(view)} ${asksView(view, pick?.sessionId === view.session.id)} ${stripView(view, heardAt)}
    ${said && said.text !== appendingText(view) ? saidView(said, close) : nothing}
    ${composer}
  </section>`;
}

function saidView({ text, level }: NonNullable<PageState['said']>, close: () => void): TemplateResult {
  if (level === 'info') return html`<div class="said">${text}</div>`;
  return html`<div class="said said-error">
    <span class="said-words">${text}</span><button class="icon-button" type="button" title=${t('Close')} aria-label=${t('Close')} @click=${close}>${iconOf('cross')}</button>
  </div>`;
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
    ${keyed(`${view.session.id} ${ask.id}`, ask.kind === 'approval' ? approvalView(view, ask, paging) : questionView(view, ask, paging))}
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
  // An agent that ends before anything was said may be set up wrong.
  const next = view.session.turns.length > 0 ? (link.next ?? []) : [...new Set([...(link.next ?? []), ...SETUP])];
  return html`<section class="banner closed" aria-label=${t('Connection')}>
    <p>${visibleText(link.reason)}</p>
    ${remedies(view, next.slice(0, 1))} ${linkDetail(view, link, next.slice(1))}
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

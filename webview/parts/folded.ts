import { html, nothing, type TemplateResult } from 'lit/html.js';
import { doneOf, durationText, isPlan } from '../../src/session/callWords.ts';
import type { Part, Plan, Turn } from '../../src/session/model.ts';
import { callsOf } from '../../src/session/select.ts';
import { textView } from '../markdownView.ts';
import { t } from '../strings.ts';
import type { View } from '../view.ts';
import { entriesView } from './content.ts';
import { fold, plainText } from './fold.ts';

/** The step that a plan is at, of how many; between steps the number that is done. */
export function planStep(entries: Plan['entries']): string {
  const at = entries.findIndex((entry) => entry.status === 'in_progress');
  const step = at < 0 ? entries.filter((entry) => entry.status === 'completed').length : at + 1;
  return `${step}/${entries.length}`;
}

/** The plan as the turn has left it, in one row that opens; a call that keeps the plan has a row already. */
export function keptPlanView(view: View, turn: Turn): TemplateResult | typeof nothing {
  const { plan } = turn;
  if (!plan || turn.status === 'running' || callsOf(turn).some(isPlan)) return nothing;
  return fold(view, {
    key: `${turn.id}:plan`,
    summary: html`<span>${t('Plan')} ${doneOf(plan.entries)}</span>`,
    body: () => entriesView(plan.entries),
  });
}

/** The agent's notice of the user's own changes. */
export function correctionsView(view: View, { id, corrections }: Turn): TemplateResult | typeof nothing {
  if (corrections === undefined) return nothing;
  return fold(view, {
    key: `${id}:corrections`,
    summary: t('The agent was told what you changed'),
    body: () => plainText(view, `${id}:correctionsText`, corrections),
  });
}

/** Milliseconds from which the time of a thought is worth a word. */
const SHORTEST_THOUGHT = 500;

/** The agent's thought, folded. `growing` while it is still thinking. */
export function thoughtView(view: View, part: Extract<Part, { kind: 'thought' }>, growing: boolean, done: boolean): TemplateResult {
  return fold(view, {
    key: part.id,
    look: growing ? 'thought growing' : 'thought',
    summary: html`<span>${growing ? t('Thinking') : thoughtTitle(part)}</span>`,
    body: () => textView(part.text, done),
  });
}

function thoughtTitle({ startedAt, endedAt }: Extract<Part, { kind: 'thought' }>): string {
  const took = startedAt === undefined || endedAt === undefined ? 0 : endedAt - startedAt;
  return took >= SHORTEST_THOUGHT ? `${t('Thought')} · ${durationText(took)}` : t('Thought');
}

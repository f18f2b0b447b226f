import { html, nothing, type TemplateResult } from 'lit/html.js';
import { durationText } from '../../src/session/callWords.ts';
import type { Session, Turn } from '../../src/session/model.ts';
import { type IconName, iconOf } from '../icons.ts';
import { t } from '../strings.ts';
import type { SessionMemory } from '../ui.ts';
import { COMPOSER_ID, type View } from '../view.ts';

/** Whether earlier messages may be edited just now. */
export function mayEdit({ link, turns }: Session): boolean {
  return link.state === 'ready' && link.offers.edit === true && turns.at(-1)?.status !== 'running';
}

/** At a message: copy it, or say it differently where the agent can take back what came after. */
export function retryActionsView(view: View, turn: Turn): TemplateResult | typeof nothing {
  const { draft } = saidIn(turn);
  if (turn.prompt.length === 0 || (draft === '' && !mayEdit(view.session))) return nothing;
  return html`<div class="again">
    ${draft === '' ? nothing : small('copy', t('Copy this message'), () => view.act.copy(draft))}
    ${mayEdit(view.session) ? small('edit', t('Edit this message and send it again'), () => edit(view, turn)) : nothing}
  </div>`;
}

/** Below a finished turn: how long it took, its answer to copy, and the last one to ask for again. */
export function summaryView(view: View, turn: Turn): TemplateResult | typeof nothing {
  if (turn.status === 'running') return nothing;
  const answer = turn.parts.flatMap((part) => (part.kind === 'text' && part.parent === undefined ? [part.text] : [])).join('\n\n');
  const last = view.session.turns.at(-1) === turn && turn.status !== 'failed' && turn.prompt.length > 0;
  const again = () =>
    view.act.intent({
      type: 'prompt',
      turnId: crypto.randomUUID(),
      content: turn.prompt,
      ...(mayEdit(view.session) ? { replaces: turn.id } : {}),
    });
  const took = turn.endedAt === undefined || turn.startedAt < SINCE ? undefined : turn.endedAt - turn.startedAt;
  if (answer === '' && !last && took === undefined) return nothing;
  return html`<div class="sum">
    <span class="num">${took === undefined ? nothing : durationText(took)}</span>
    ${answer === '' ? nothing : small('copy', t('Copy the answer as Markdown'), () => view.act.copy(answer))}
    ${last ? small('retry', mayEdit(view.session) ? t('Ask for another answer') : t('Send this message again'), again) : nothing}
  </div>`;
}

/** Earlier times are none: conversations that agents tell again may have no dates. */
const SINCE = Date.UTC(2020, 0);

function small(icon: IconName, label: string, run: () => void): TemplateResult {
  return html`<button class="icon-button" type="button" title=${label} aria-label=${label} @click=${run}>${iconOf(icon)}</button>`;
}

function edit(view: View, turn: Turn): void {
  const { draft, attachments } = saidIn(turn);
  view.act.remember({ draft, attachments, mentions: {}, replaces: turn.id });
  view.act.focus(COMPOSER_ID);
}

function saidIn({ prompt }: Turn): Pick<SessionMemory, 'draft' | 'attachments'> {
  return {
    draft: prompt.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('\n\n'),
    attachments: prompt.filter((one) => one.type !== 'text'),
  };
}

/** For a turn that failed: what was said in it, with its attachments, back into the composer, after what is written there. */
export function backView(view: View, turn: Turn): TemplateResult | typeof nothing {
  if (turn.prompt.length === 0) return nothing;
  const back = () => {
    const { memory } = view;
    const said = saidIn(turn);
    view.act.remember({
      draft: [memory.draft, said.draft].filter(Boolean).join('\n\n'),
      attachments: [...memory.attachments, ...said.attachments],
    });
    view.act.focus(COMPOSER_ID);
  };
  return html`<button class="text-button" type="button" @click=${back}>${iconOf('edit')}${t('Put my message back to edit it')}</button>`;
}

/** The turn that is being edited. One that is gone was edited already, or taken back: a reload may bring back what was typed before that. */
export function replacedTurn({ session, memory }: View): string | undefined {
  return session.turns.find((turn) => turn.id === memory.replaces)?.id;
}

/** Above the composer while an earlier message is being edited. */
export function editingView(view: View): TemplateResult {
  return html`<div class="editing faint" role="status">
    <span>${t('Editing an earlier message: sending it takes back everything after it.')}</span>
    <button class="icon-button" type="button" title=${t('Do not edit')} aria-label=${t('Do not edit')}
      @click=${() => view.act.remember({ draft: '', attachments: [], mentions: {}, replaces: undefined })}>${iconOf('cross')}</button>
  </div>`;
}

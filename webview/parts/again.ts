import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Session, Turn } from '../../src/session/model.ts';
import { iconOf } from '../icons.ts';
import { t } from '../strings.ts';
import type { SessionMemory } from '../ui.ts';
import { COMPOSER_ID, type View } from '../view.ts';

/** Whether earlier messages may be edited just now. */
export function mayEdit({ link, turns }: Session): boolean {
  return link.state === 'ready' && link.offers.edit === true && turns.at(-1)?.status !== 'running';
}

/** Saying it differently, or hearing another answer: for agents that can take back what came after. */
export function againView(view: View, turn: Turn): TemplateResult | typeof nothing {
  if (!mayEdit(view.session) || turn.prompt.length === 0) return nothing;
  const last = view.session.turns.at(-1) === turn;
  const regenerate = () => view.act.intent({ type: 'prompt', turnId: crypto.randomUUID(), content: turn.prompt, replaces: turn.id });
  return html`<div class="again">
    <button class="icon-button" type="button" title=${t('Edit this message and send it again')} aria-label=${t('Edit this message and send it again')}
      @click=${() => edit(view, turn)}>${iconOf('edit')}</button>
    ${
      last
        ? html`<button class="icon-button" type="button" title=${t('Ask for another answer')} aria-label=${t('Ask for another answer')}
            @click=${regenerate}>${iconOf('undo')}</button>`
        : nothing
    }
  </div>`;
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

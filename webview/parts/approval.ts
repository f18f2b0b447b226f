import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Approval, ApprovalDetail, Option } from '../../src/session/model.ts';
import { askTitle, byPath, longNames, optionName, rejection } from '../../src/session/select.ts';
import { shortened, visibleText } from '../../src/session/visible.ts';
import { iconOf } from '../icons.ts';
import { t } from '../strings.ts';
import { isUnfolded, type View } from '../view.ts';
import { visible } from '../visible.ts';
import { askerView } from './asker.ts';
import { pretty } from './content.ts';
import { diffCard } from './diffCard.ts';
import { drawnOf, moreOf } from './many.ts';
import { scrolling } from './moreBelow.ts';
import { plainText } from './plainText.ts';
import { textView } from './text.ts';
import { timeLeftView } from './timeLeft.ts';

/** Fields of a half-given answer to an approval. */
const FEEDBACK = 'feedback';
const EDITED = 'edited';
/** What the heading and a tooltip show of a long text, in characters: the whole of it stands in the part that scrolls. */
const HEADING = 300;
/** What a button shows of how far its answer reaches, in characters. */
const LONGEST_REACH = 60;

/** Something the agent may only do when the user says so. Nothing but a press on one of the agent's own options answers it. */
export function approvalView(view: View, ask: Approval): TemplateResult {
  const { session, act } = view;
  const offers = session.link.state === 'ready' ? session.link.offers : {};
  const given = view.memory.answers[ask.id] ?? {};
  const giveWords = offers.feedback && !ask.wordless && ask.options.some(isRejection);
  const wordsOpen = isUnfolded(view.memory, `${ask.id}:words`, false);
  const title = askTitle(ask, session, t('Run a command'));
  return html`<div class="ask approval" role="group" aria-label=${visibleText(shortened(title, HEADING))} data-ask=${ask.id}>
    <h2>${iconOf('hand')}<bdi>${visible(shortened(title, HEADING))}</bdi></h2>
    ${askerView(ask)}
    ${timeLeftView(ask.until)}
    ${scrolling(html`${cutTexts(view, ask, title)}${detailView(view, ask, ask.detail, `ask:${ask.id}`, given[EDITED]?.[0])}${(ask.beside ?? []).map((one, at) => detailView(view, ask, one, `ask:${ask.id}:${at}`))}`)}
    ${wordsOpen && giveWords ? words(view, ask, given[FEEDBACK]?.[0] ?? '') : nothing}
    <div class="actions">
      ${ask.options.map(
        (option, index) =>
          html`<vscode-button appearance=${index === firstAllowing(ask) ? 'primary' : 'secondary'} title=${tooltipOf(option)} data-option=${option.id}
            @click=${(event: MouseEvent) => press(view, ask, option, event)}>${optionText(option)}</vscode-button>`,
      )}
    </div>
    <div class="side-actions">
      ${giveWords && !wordsOpen ? html`<button class="text-button" type="button" id=${openerId(ask)} @click=${() => toggleWords(view, ask, true)}>${t('Reject with feedback…')}</button>` : nothing}
      ${ask.detail.type === 'edit' ? html`<button class="text-button" type="button" @click=${() => act.review({ askId: ask.id })}>${iconOf('diff')}${t('Open diff')}</button>` : nothing}
      ${ask.detail.type === 'command' ? copyButton(view, ask.detail.command) : nothing}
      <button class="text-button" type="button" @click=${() => act.showAsk(ask.id)}>${t('Show in quick pick')}</button>
    </div>
  </div>`;
}

/** How far an answer reaches that is not for this once stands on its button. */
function optionText(option: Option): TemplateResult | string {
  const lasts = option.effect === 'allow_always' || option.effect === 'reject_always';
  if (!lasts || !option.description) return optionName(option);
  // One piece, for the button sets its pieces side by side; and no span, which it takes for a picture.
  return html`<bdi>${optionName(option)}<span class="reach"> · ${visibleText(shortened(option.description, LONGEST_REACH))}</span></bdi>`;
}

function tooltipOf(option: Option): string {
  const parts = [...longNames({ options: [option] }), option.description ?? ''];
  return shortened(parts.map(visibleText).filter(Boolean).join('\n'), HEADING);
}

/** What the heading and the buttons show only the beginning of, whole. */
function cutTexts(view: View, ask: Approval, title: string): TemplateResult {
  const names = longNames(ask).map((one) => visibleText(one));
  return html`${shortened(title, HEADING) === title ? nothing : plainText(view, `ask:${ask.id}:title`, visibleText(title))}${
    names.length === 0
      ? nothing
      : html`<p class="faint">${t('The whole names of the answers')}</p>${plainText(view, `ask:${ask.id}:names`, names.join('\n\n'))}`
  }`;
}

function copyButton(view: View, command: string): TemplateResult {
  return html`<button class="text-button" type="button" @click=${() => view.act.copy(command)}>${iconOf('copy')}${t('Copy command')}</button>`;
}

function isRejection(option: Option): boolean {
  return option.effect === 'reject_once' || option.effect === 'reject_always';
}

function firstAllowing(ask: Approval): number {
  if (ask.detail.type === 'text' && ask.detail.unknown) return -1;
  return ask.options.findIndex((option) => option.effect === 'allow_once');
}

function press(view: View, ask: Approval, option: Option, event: MouseEvent): void {
  // The second press of a double click may land on the next ask.
  if (event.detail <= 1) answer(view, ask, option);
}

function answer(view: View, ask: Approval, option: Option): void {
  const given = view.memory.answers[ask.id] ?? {};
  const feedback = given[FEEDBACK]?.[0]?.trim() ?? '';
  const edited = ask.editable ? given[EDITED]?.[0] : undefined;
  const rejected = isRejection(option);
  view.act.intent({
    type: 'answer',
    askId: ask.id,
    answer: {
      kind: 'option',
      optionId: option.id,
      ...(rejected && feedback !== '' ? { feedback } : {}),
      ...(!rejected && edited !== undefined && edited !== originalOf(ask.detail) ? { edited } : {}),
    },
  });
}

function originalOf(detail: ApprovalDetail): string | undefined {
  return detail.type === 'command' ? detail.command : undefined;
}

function keep(view: View, ask: Approval, field: string, value: string): void {
  const { answers } = view.memory;
  view.act.remember({ answers: { ...answers, [ask.id]: { ...answers[ask.id], [field]: [value] } } });
}

function wordsId(ask: Approval): string {
  return `words-${ask.id}`;
}

function openerId(ask: Approval): string {
  return `words-opener-${ask.id}`;
}

function toggleWords(view: View, ask: Approval, open: boolean): void {
  view.act.unfold(`${ask.id}:words`, open);
  view.act.focus(open ? wordsId(ask) : openerId(ask));
}

function words(view: View, ask: Approval, value: string): TemplateResult {
  const write = (event: Event) => keep(view, ask, FEEDBACK, (event.target as HTMLTextAreaElement).value);
  const key = (event: KeyboardEvent) => {
    if (event.isComposing || event.keyCode === 229) return;
    const option = rejection(ask);
    if (event.key === 'Escape') toggleWords(view, ask, false);
    else if (event.key !== 'Enter' || event.shiftKey) return;
    else if (option && !event.repeat && (event.target as HTMLTextAreaElement).value.trim() !== '') answer(view, ask, option);
    event.preventDefault();
    event.stopPropagation();
  };
  return html`<vscode-text-area class="wide" rows="2" resize="vertical" id=${wordsId(ask)} .value=${value} placeholder=${t('What should the agent do instead?')}
    @input=${write} @keydown=${key}>${t('Feedback: Enter rejects with it, Esc goes back')}</vscode-text-area>`;
}

function detailView(view: View, ask: Approval, detail: ApprovalDetail, key: string, edited?: string): TemplateResult {
  switch (detail.type) {
    case 'command':
      return html`<pre class="command" tabindex="0" dir="ltr"><code>${visible(detail.command)}</code></pre>
        ${detail.cwd === undefined ? nothing : html`<p class="faint">${t('In {0}', visibleText(detail.cwd))}</p>`}
        ${ask.editable && detail === ask.detail ? commandEditor(view, ask, edited ?? detail.command) : nothing}`;
    case 'edit': {
      const files = byPath(ask.revised ? [ask.revised] : detail.diffs);
      return html`${files
        .slice(0, drawnOf(view, key))
        .map((file, index) =>
          diffCard(
            view,
            `${key}/${index}`,
            file,
            () => view.act.review({ askId: ask.id, path: file.path }),
            ask.revised && t('edited by you'),
          ),
        )}${moreOf(view, key, files.length, (left) => t('{0} more files', left))}`;
    }
    case 'mcp':
      return html`<p><bdi>${visible(detail.server)}</bdi> › <strong><bdi>${visible(detail.tool)}</bdi></strong></p>
        ${detail.input === undefined ? nothing : plainText(view, key, visibleText(pretty(detail.input)))}`;
    case 'text':
      return detail.markdown ? textView(visibleText(detail.text), true) : plainText(view, key, visibleText(detail.text));
  }
}

function commandEditor(view: View, ask: Approval, value: string): TemplateResult {
  return html`<vscode-text-area class="wide" rows="2" resize="vertical" .value=${value}
    @input=${(event: Event) => keep(view, ask, EDITED, (event.target as HTMLTextAreaElement).value)}>${t('Change the command before it runs')}</vscode-text-area>`;
}

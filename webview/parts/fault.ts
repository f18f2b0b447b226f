import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Fault, Notice, Remedy } from '../../src/session/model.ts';
import { type ClosedLink, isRecorded } from '../../src/session/select.ts';
import { visibleText } from '../../src/session/visible.ts';
import { iconOf } from '../icons.ts';
import { commandTitle, t, visible } from '../strings.ts';
import type { View } from '../view.ts';
import { fold, plainText } from './fold.ts';

/** Buttons for the remedies that fit the agent: the first stands out, the others are quiet. `beside`: more of them, at the end of the row. */
export function remedies(
  view: View,
  next: readonly Remedy[] | undefined,
  look: 'primary' | 'plain' = 'primary',
  beside: unknown = nothing,
): TemplateResult | typeof nothing {
  // Our model setting is for the included agent; all others bring their own sign-in.
  const unfit: Remedy = view.profile?.model === undefined ? 'configureModel' : 'signIn';
  const fitting = (next ?? []).filter((remedy) => remedy !== unfit);
  if ((fitting.length === 0 && beside === nothing) || isRecorded(view.session)) return nothing;
  return html`<div class="actions">
    ${fitting.map(
      (remedy, index) =>
        html`<button class=${look === 'plain' ? 'button' : index === 0 ? 'button primary' : 'ghost'} type="button" @click=${() => view.act.remedy(remedy)}>${remedyLabel(remedy)}</button>`,
    )}${beside}
  </div>`;
}

function remedyLabel(remedy: Remedy): string {
  switch (remedy) {
    case 'retry':
      return t('Try again');
    case 'continue':
      return t('Continue');
    case 'restart':
      return commandTitle('Restart Agent');
    case 'showLog':
      return commandTitle('Show Log');
    case 'pickAgent':
      return t('Another agent');
    case 'openSettings':
      return commandTitle('Open Settings');
    case 'configureModel':
      return commandTitle('Configure Model');
    case 'signIn':
      return t('Sign in');
  }
}

/** Why a turn ended: a failure, or a limit. */
export function faultView(
  view: View,
  key: string,
  fault: Fault,
  level: 'error' | 'warn' = 'error',
  more: { readonly beside?: unknown; readonly below?: unknown } = {},
): TemplateResult {
  return html`<div class="fault level-${level}">
    ${iconOf(level === 'error' ? 'error' : 'warning')}
    <div class="fault-text">
      <span class="sr-only">${level === 'error' ? t('Error') : t('Warning')}: </span>${plainText(view, `${key}:fault`, visibleText(fault.message))}
      ${fault.code === undefined || isBareNumber(fault.code) ? nothing : html`<span class="faint">${visible(fault.code)}</span>`}
      ${remedies(view, fault.next, 'primary', more.beside)}${more.below ?? nothing}
    </div>
  </div>`;
}

/** How a program ended and what it wrote, folded once it has worked, with the remedies that are not the first to try. */
export function linkDetail(view: View, { detail }: ClosedLink, next: readonly Remedy[]): TemplateResult | typeof nothing {
  if (detail === undefined) return remedies(view, next, 'plain');
  return fold(view, {
    key: 'link:detail',
    summary: t('Details'),
    open: view.session.turns.length === 0,
    body: () => html`${plainText(view, 'link:detailText', visibleText(detail))}${remedies(view, next, 'plain')}`,
  });
}

/** True for a bare JSON-RPC error number, which adds nothing to the message. */
function isBareNumber(code: string): boolean {
  return /^-\d+$/.test(code);
}

export function noticeView(view: View, key: string, notice: Notice): TemplateResult {
  const name = notice.level === 'error' ? t('Error') : notice.level === 'warn' ? t('Warning') : t('Note');
  return html`<div class="fault level-${notice.level}">
    ${iconOf(notice.level === 'error' ? 'error' : notice.level === 'warn' ? 'warning' : 'info')}
    <div class="fault-text">
      <span class="sr-only">${name}: </span>${plainText(view, `${key}:notice`, visibleText(notice.text))} ${remedies(view, notice.next)}
    </div>
  </div>`;
}

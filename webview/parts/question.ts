import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Field, Question } from '../../src/session/model.ts';
import { iconOf } from '../icons.ts';
import { t } from '../strings.ts';
import type { View } from '../view.ts';
import { visible, visibleText } from '../visible.ts';
import { textView } from './text.ts';

type Values = Readonly<Record<string, readonly string[]>>;

/** Where free text beside choices is kept while it is typed. */
function freeKey(field: Field): string {
  return `${field.id}\u0000free`;
}

/** Questions of the agent; one Send answers them all. */
export function questionView(view: View, ask: Question): TemplateResult {
  const given = view.memory.answers[ask.id] ?? {};
  const missing = ask.fields.some((field) => valuesOf(field, given).length === 0);
  const send = (event: Event) => {
    event.preventDefault();
    if (missing) return;
    const values = Object.fromEntries(ask.fields.map((field) => [field.id, valuesOf(field, given)]));
    view.act.intent({ type: 'answer', askId: ask.id, answer: { kind: 'fields', values } });
  };
  return html`<form class="ask question" aria-label=${visibleText(ask.title)} data-ask=${ask.id} @submit=${send}>
    <h3>${iconOf('info')}<bdi>${visible(ask.title)}</bdi></h3>
    ${ask.asker === undefined ? nothing : html`<p class="faint">${t('Asked by {0}', visibleText(ask.asker))}</p>`}
    ${ask.fields.map((field) => fieldView(view, ask, field, given))}
    <div class="actions">
      <vscode-button appearance="primary" ?disabled=${missing} @click=${(event: MouseEvent) => event.detail > 1 || send(event)}>${t('Send answer')}</vscode-button>
    </div>
    <div class="side-actions">
      <button class="text-button" type="button" @click=${() => view.act.showAsk(ask.id)}>${t('Show in quick pick')}</button>
      <button class="text-button" type="button" @click=${() => view.act.intent({ type: 'answer', askId: ask.id, answer: { kind: 'cancelled' } })}>${t('Do not answer')}</button>
    </div>
  </form>`;
}

function valuesOf(field: Field, given: Values): readonly string[] {
  const chosen = given[field.id] ?? [];
  const free = (given[freeKey(field)]?.[0] ?? '').trim();
  if (free === '' || !takesText(field)) return chosen;
  return field.many ? [...chosen, free] : [free];
}

function takesText(field: Field): boolean {
  return field.free === true || (field.choices ?? []).length === 0;
}

function fieldView(view: View, ask: Question, field: Field, given: Values): TemplateResult {
  const set = (key: string, values: readonly string[], also: Values = {}) => {
    const { answers } = view.memory;
    view.act.remember({ answers: { ...answers, [ask.id]: { ...answers[ask.id], [key]: values, ...also } } });
  };
  const choices = field.choices ?? [];
  const chosen = given[field.id] ?? [];
  const free = given[freeKey(field)]?.[0] ?? '';
  const choose = (label: string, on: boolean) => {
    const next = field.many ? (on ? [...chosen, label] : chosen.filter((one) => one !== label)) : on ? [label] : [];
    set(field.id, next, field.many ? {} : { [freeKey(field)]: [''] });
  };
  return html`<fieldset class="field">
    <legend>${visibleText(field.label)}</legend>
    ${field.body === undefined ? nothing : textView(field.body, true)}
    ${choices.map(
      ({ label, description }, index) =>
        html`<label class="choice">
          <input type=${field.many ? 'checkbox' : 'radio'} name="${ask.id}-${field.id}" .checked=${chosen.includes(label) && (field.many === true || free === '')}
            aria-describedby=${description === undefined ? nothing : `${ask.id}-${field.id}-${index}`}
            @change=${(event: Event) => choose(label, (event.target as HTMLInputElement).checked)} />
          <span><bdi>${visibleText(label)}</bdi>${description === undefined ? nothing : html`<span class="faint" id="${ask.id}-${field.id}-${index}">${visibleText(description)}</span>`}</span>
        </label>`,
    )}
    ${
      takesText(field)
        ? html`<vscode-text-area class="wide" rows="1" resize="vertical" .value=${free}
            @input=${(event: Event) => {
              const text = (event.target as HTMLTextAreaElement).value;
              set(freeKey(field), [text], field.many || text.trim() === '' ? {} : { [field.id]: [] });
            }}>${visibleText(field.freeLabel ?? (choices.length > 0 ? t('Another answer') : t('Your answer')))}</vscode-text-area>`
        : nothing
    }
  </fieldset>`;
}

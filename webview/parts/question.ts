import { live } from 'lit/directives/live.js';
import { html, nothing, type TemplateResult } from 'lit/html.js';
import { problemText } from '../../src/session/fields.ts';
import type { Answer } from '../../src/session/intents.ts';
import type { Ask, Field, Question } from '../../src/session/model.ts';
import { visibleText } from '../../src/session/visible.ts';
import { textView } from '../markdownView.ts';
import { t, visible } from '../strings.ts';
import type { View } from '../view.ts';
import { askerView, countdownView, guardOf, type Paging, pagingView } from './askCard.ts';

/** Parts of the last turn right above the card of what is asked. */
const END_PARTS = 3;
/** Secrets while they are typed: ask and field -> text. They never enter the view's memory. */
const secrets = new Map<string, string>();

function secretKey(ask: Question, field: Field): string {
  return `${ask.id}\u0000${field.id}`;
}

/** Questions of the agent; one Send answers them all. */
export function questionView(view: View, ask: Question, paging?: Paging): TemplateResult {
  const given = view.memory.answers[ask.id] ?? {};
  const problems = problemsOf(view, ask);
  const { refusal } = ask;
  const send = (event: Event) => {
    event.preventDefault();
    // Validates again to include text typed since the last frame.
    if (problemsOf(view, ask).size > 0) return;
    const values = Object.fromEntries(ask.fields.map((field) => [field.id, answerTo(view, ask, field)]));
    for (const field of ask.fields) secrets.delete(secretKey(ask, field));
    view.act.intent({ type: 'answer', askId: ask.id, answer: { kind: 'fields', values } });
  };
  const titled = ask.fields.some((field) => field.label.trim() === ask.title.trim());
  const leave = (answer: Answer) => {
    // What was written is not to be sent: it does not go to the draft.
    view.act.remember({ answers: { ...view.memory.answers, [ask.id]: {} } });
    view.act.intent({ type: 'answer', askId: ask.id, answer });
  };
  return html`<form class="ask card question" novalidate aria-label=${visibleText(ask.title)} data-ask=${ask.id} ${guardOf(view, ask)} @submit=${send}>
    ${
      titled && (paging?.of ?? 1) < 2
        ? nothing
        : html`<header><h2>${titled ? nothing : html`<bdi>${visible(ask.title)}</bdi>`}</h2>${pagingView(paging)}</header>`
    }
    ${askerView(ask)}
    ${countdownView(ask.until)}
    <div class="fields">${ask.fields.map((field, index) => fieldView(view, ask, field, index, given, problems.get(field.id)))}</div>
    <div class="answers">
      <button class="button primary" type="submit" data-answer="send" ?disabled=${problems.size > 0}>${t('Send')}</button>
      ${
        refusal === undefined
          ? nothing
          : html`<button class="button" type="button" data-answer="refuse" @click=${() => leave({ kind: 'option', optionId: refusal })}>${t('Reject')}</button>`
      }
      <button class=${refusal === undefined ? 'button' : 'ghost'} type="button" data-answer="skip" @click=${() => leave({ kind: 'cancelled' })}>${t('Skip')}</button>
    </div>
  </form>`;
}

/** The current answer to a field, secrets included. */
function answerTo(view: View, ask: Question, field: Field): readonly string[] {
  const secret = field.kind === 'secret' ? secrets.get(secretKey(ask, field)) : undefined;
  return secret ? [secret] : valuesOf(field, view.memory.answers[ask.id] ?? {});
}

/** Field -> problem with its answer. */
function problemsOf(view: View, ask: Question): ReadonlyMap<string, string> {
  return new Map(
    ask.fields.flatMap((field) => {
      const problem = problemText(field, answerTo(view, ask, field));
      return problem === undefined ? [] : [[field.id, problem] as const];
    }),
  );
}

function fieldView(
  view: View,
  ask: Question,
  field: Field,
  index: number,
  given: DraftAnswers,
  problem: string | undefined,
): TemplateResult {
  const touched = given[field.id] !== undefined || given[freeKey(field)] !== undefined;
  return html`<fieldset class="question-field">
    <legend>${visibleText(field.label)}${field.required ? html`<span class="faint"> *</span>` : nothing}</legend>
    ${field.body === undefined || isSaidAbove(view, field.body) ? nothing : textView(field.body, true)} ${choicesView(view, ask, field, index, given)}
    ${takesText(field) ? freeView(view, ask, field, given) : nothing}
    ${touched && problem ? html`<p class="problem">${problem}</p>` : nothing}
  </fieldset>`;
}

/** Whether the end of the transcript shows the text already, as that of a plan that is to be approved. */
function isSaidAbove({ session }: View, body: string): boolean {
  const parts = session.turns.at(-1)?.parts.slice(-END_PARTS) ?? [];
  return parts.some((part) => part.kind === 'text' && part.text.trim() === body.trim());
}

function set(view: View, ask: Question, change: DraftAnswers): void {
  const { answers } = view.memory;
  view.act.remember({ answers: { ...answers, [ask.id]: { ...answers[ask.id], ...change } } });
}

function choicesView(view: View, ask: Question, field: Field, index: number, given: DraftAnswers): unknown {
  const choices =
    field.kind === 'boolean' && !field.choices
      ? [
          { value: 'true', label: t('Yes') },
          { value: 'false', label: t('No') },
        ]
      : (field.choices ?? []).map((choice) => ({ ...choice, value: choice.label }));
  const chosen = chosenOf(field, given);
  const written = !field.many && freeOf(field, given).trim() !== '';
  const choose = (value: string, on: boolean) => {
    const now = chosenOf(field, view.memory.answers[ask.id] ?? {});
    const next = field.many ? (on ? [...now, value] : now.filter((one) => one !== value)) : on ? [value] : [];
    set(view, ask, { [field.id]: next, ...(field.many ? {} : { [freeKey(field)]: [''] }) });
  };
  return choices.map((choice, at) => {
    const description = 'description' in choice ? choice.description : undefined;
    const id = `choice-${ask.id}-${index}-${at}`.replace(/\s/g, '_');
    return html`<label class="choice">
      <input type=${field.many ? 'checkbox' : 'radio'} name="${ask.id}-${index}" .checked=${live(chosen.includes(choice.value) && !written)}
        aria-describedby=${description === undefined ? nothing : id}
        @change=${(event: Event) => choose(choice.value, (event.target as HTMLInputElement).checked)} />
      <span><bdi>${visibleText(choice.label)}</bdi>${description === undefined ? nothing : html`<span class="faint choice-note" id=${id}>${visibleText(description)}</span>`}</span>
    </label>`;
  });
}

const INPUTS: Readonly<Partial<Record<NonNullable<Field['kind']>, string>>> = {
  secret: 'password',
  email: 'email',
  uri: 'url',
  date: 'date',
  'date-time': 'datetime-local',
};

function freeView(view: View, ask: Question, field: Field, given: DraftAnswers): TemplateResult {
  // Screen readers announce which field it is; visually, the field's name is above it.
  const words = field.freeLabel ?? (field.choices ? t('Other…') : undefined);
  const spoken = words === undefined ? field.label : `${field.label}: ${words}`;
  const label = html`<span class="sr-only">${visibleText(spoken)}</span>`;
  const hint = words === undefined ? nothing : visibleText(words);
  const write = (event: Event) => {
    const text = (event.target as HTMLInputElement).value;
    if (field.kind === 'secret') {
      secrets.set(secretKey(ask, field), text);
      return set(view, ask, {});
    }
    set(view, ask, { [freeKey(field)]: [text], ...(field.many || text.trim() === '' ? {} : { [field.id]: [] }) });
  };
  const type = INPUTS[field.kind ?? 'text'];
  if (type === undefined && field.kind !== 'number' && field.kind !== 'integer') {
    return html`<vscode-text-area class="wide" rows="1" resize="vertical" placeholder=${hint} .value=${freeOf(field, given)} @input=${write}>${label}</vscode-text-area>`;
  }
  const value = field.kind === 'secret' ? nothing : live(freeOf(field, given));
  return html`<label class="plain-field">${label}
    <input class="plain-input" type=${type ?? 'text'} inputmode=${type ? nothing : 'decimal'} autocomplete="off" placeholder=${hint} .value=${value} @input=${write} />
  </label>`;
}

/** Half-given answers: key -> values. */
type DraftAnswers = Readonly<Record<string, readonly string[]>>;

/** Ends the keys of free text. */
const WRITTEN = '\u0000written';

/** The key of free text while it is typed. With the field's name, as ids may be mere numbers: no other question is to get the text. */
function freeKey({ id, label }: Field): string {
  return `${id}\u0000${label}${WRITTEN}`;
}

const isWritten = ([key, [text = '']]: readonly [string, readonly string[]]): boolean => key.endsWith(WRITTEN) && text.trim() !== '';

/** The free texts of half-given answers, a line each. */
export function writtenWords(given: DraftAnswers): string {
  return Object.entries(given)
    .filter(isWritten)
    .map(([, [text = '']]) => text.trim())
    .join('\n');
}

/** Whether the ask is the question that half-given answers with free text were for. */
export function isAskedAgain(ask: Ask, given: DraftAnswers): boolean {
  if (ask.kind !== 'question' || !Object.entries(given).some(isWritten)) return false;
  const keys = new Set(ask.fields.flatMap((field) => [field.id, freeKey(field)]));
  return Object.keys(given).every((key) => keys.has(key));
}

function takesText(field: Field): boolean {
  return field.free === true || ((field.choices ?? []).length === 0 && field.kind !== 'boolean');
}

/** The chosen values; before the user chooses, the agent's defaults. */
function chosenOf(field: Field, given: DraftAnswers): readonly string[] {
  return given[field.id] ?? (takesText(field) && !field.choices ? [] : (field.initial ?? []));
}

function freeOf(field: Field, given: DraftAnswers): string {
  return given[freeKey(field)]?.[0] ?? (field.choices || field.kind === 'boolean' ? '' : (field.initial?.[0] ?? ''));
}

/** The values to send for a field. */
function valuesOf(field: Field, given: DraftAnswers): readonly string[] {
  const chosen = chosenOf(field, given);
  const free = takesText(field) ? freeOf(field, given).trim() : '';
  if (free === '') return chosen;
  // The browser's date-time field has no time zone; the sent value names one.
  if (field.kind === 'date-time' && !Number.isNaN(Date.parse(free))) return [new Date(free).toISOString()];
  return field.many ? [...chosen, free] : [free];
}

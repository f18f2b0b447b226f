import * as vscode from 'vscode';
import { Emitter } from '../../base/emitter.ts';
import { t } from '../../base/l10n.ts';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import { problemText } from '../../session/fields.ts';
import type { Answer } from '../../session/intents.ts';
import type { Ask, Field, Question } from '../../session/model.ts';
import { type AskPick, holdInput, type PickOutcome, pendingOutcome } from './askPick.ts';
import type { KeyGuard } from './keyboard.ts';
import { questionRows, withoutMarks } from './questionText.ts';
import { plainLabel } from './rowText.ts';

/** The answers so far; outlives a dismissal, so that typed text is not lost. */
export interface QuestionProgress {
  step: number;
  readonly values: Map<string, readonly string[]>;
  /** Unfinished free text, per field. */
  readonly drafts: Map<string, string>;
}
export interface QuestionPorts {
  /** Shows a long text whole. */
  readonly openText: (title: string, text: string) => void;
  /** Settles when the editor has drawn all earlier changes. */
  readonly drawn: () => Promise<void>;
  readonly guard: KeyGuard;
}
type Input = vscode.QuickPick<vscode.QuickPickItem> | vscode.InputBox;

/** A question as native inputs, one field after another with a way back. Closing an input answers nothing. */
export class QuestionPick implements AskPick {
  readonly outcome: Promise<PickOutcome>;
  readonly #ask: Question;
  readonly #fields: readonly Field[];
  readonly #progress: QuestionProgress;
  readonly #ports: QuestionPorts;
  readonly #settled = pendingOutcome();
  #title: string;
  #isAnswered = false;
  /** The input on the screen; absent once the question has left. */
  #step: { readonly input: Input; readonly life: Lifetime } | undefined;

  constructor(ask: Question, title: string, progress: QuestionProgress, ports: QuestionPorts) {
    this.outcome = this.#settled.promise;
    this.#ask = ask;
    // A question without fields asks only to continue; the user confirms it.
    this.#fields = ask.fields.length > 0 ? ask.fields : [{ id: '', label: ask.title, choices: [{ label: vscode.l10n.t('Continue') }] }];
    this.#progress = progress;
    this.#ports = ports;
    this.#title = title;
    this.#go(Math.min(progress.step, this.#fields.length - 1));
  }

  update(_: Ask, title: string): void {
    this.#title = title;
    const field = this.#fields[this.#progress.step];
    if (this.#step && field) this.#step.input.title = this.#titleFor(field);
  }

  async hold(): Promise<void> {
    if (this.#step) await holdInput(this.#step.input);
  }

  dispose(): void {
    this.#leave({ how: 'takenDown' });
  }

  /** An answered question stays on the screen until it is disposed. */
  #leave(outcome: PickOutcome): void {
    if (outcome.how === 'answered') this.#isAnswered = true;
    else this.#close();
    this.#settled.settle(outcome);
  }

  #close(): void {
    const closing = this.#step;
    this.#step = undefined;
    closing?.life.dispose();
  }

  /** `free`: a box for an answer in the user's own words, where the field has choices. */
  #go(to: number, free = false): void {
    const field = this.#fields[to];
    if (!field) {
      const values = Object.fromEntries(this.#ask.fields.map((one) => [one.id, [...(this.#progress.values.get(one.id) ?? [])]]));
      return this.#leave({ how: 'answered', answer: { kind: 'fields', values } });
    }
    this.#close();
    this.#progress.step = to;
    const life = new Lifetime();
    const asText = free || choicesOf(field).length === 0;
    const input = asText ? this.#textStep(field, life, free) : this.#choiceStep(field, life);
    this.#step = { input, life };
    input.title = this.#titleFor(field);
    input.ignoreFocusOut = true;
    if (this.#fields.length > 1) {
      input.step = to + 1;
      input.totalSteps = this.#fields.length;
    }
    life.own(input.onDidHide(() => this.#step?.input === input && this.#leave({ how: 'dismissed' })));
    input.show();
    this.#guardUntilSeen(input, life, asText ? field.freeLabel : howToChoose(field));
  }

  /** Ignores keys until the field is drawn, and for a moment after; the hint appears when keys count. */
  #guardUntilSeen(input: Input, life: Lifetime, hint = t('{0|Enter|Space chooses, Enter} decides. Esc decides nothing.', 1)): void {
    const { guard, drawn } = this.#ports;
    guard.stop();
    void drawn().then(() => {
      if (life.ended) return;
      guard.begin();
      const timer = setTimeout(() => {
        input.placeholder = hint;
      }, guard.left);
      life.onEnd(() => clearTimeout(timer));
    });
  }

  #titleFor(field: Field): string {
    return field.label === this.#ask.title ? this.#title : `${this.#title} — ${plainLabel(field.label)}`;
  }

  #openWhole(field: Field): void {
    this.#ports.openText(this.#ask.title, [field.label, field.body].filter(Boolean).join('\n\n'));
  }

  #take(field: Field, values: readonly string[]): void {
    if (this.#isAnswered) return;
    this.#progress.values.set(field.id, values);
    this.#progress.drafts.delete(field.id);
    this.#go(this.#progress.step + 1);
  }

  /** Title buttons: the way back, and the exits that do not answer the field. */
  #addButtons(field: Field, life: Lifetime, input: Input, back: (() => void) | undefined): void {
    const actions = new Map<vscode.QuickInputButton, () => void>();
    const add = (icon: string, tooltip: string, run: () => void) => actions.set({ iconPath: new vscode.ThemeIcon(icon), tooltip }, run);
    const answer = (given: Answer) => this.#leave({ how: 'answered', answer: given });
    if (back) actions.set(vscode.QuickInputButtons.Back, back);
    if (questionRows(field).rows.length > 0) add('info', vscode.l10n.t('Look first'), () => this.#openWhole(field));
    const { refusal } = this.#ask;
    if (refusal !== undefined) add('close', vscode.l10n.t('Reject'), () => answer({ kind: 'option', optionId: refusal }));
    add('circle-slash', vscode.l10n.t('Skip'), () => answer({ kind: 'cancelled' }));
    input.buttons = [...actions.keys()];
    life.own(input.onDidTriggerButton((button) => actions.get(button)?.()));
  }

  #textStep(field: Field, life: Lifetime, asOther: boolean): vscode.InputBox {
    const { values, drafts, step } = this.#progress;
    const box = life.own(vscode.window.createInputBox());
    box.prompt = [field.label, withoutMarks(field.body ?? '')].filter(Boolean).join(' — ');
    let touched = false;
    box.password = field.kind === 'secret';
    box.value = drafts.get(field.id) ?? (asOther ? '' : ((values.get(field.id) ?? field.initial)?.[0] ?? ''));
    this.#addButtons(field, life, box, asOther ? () => this.#go(step) : step > 0 ? () => this.#go(step - 1) : undefined);
    life.own(
      box.onDidChangeValue((value) => {
        touched = true;
        drafts.set(field.id, value);
        box.validationMessage = undefined;
      }),
    );
    life.own(
      box.onDidAccept(() => {
        // An Enter after typing here was meant for this box.
        if (!touched && !this.#ports.guard.press()) return;
        const given = box.value === '' ? [] : [box.value];
        const problem = asOther ? problemText({ id: field.id, label: field.label }, [box.value]) : problemText(field, given);
        if (problem === undefined) this.#take(field, given);
        else box.validationMessage = problem;
      }),
    );
    return box;
  }

  #choiceStep(field: Field, life: Lifetime): Input {
    const { values, drafts, step } = this.#progress;
    const given = { chosen: values.get(field.id) ?? field.initial ?? [], draft: drafts.get(field.id) ?? '' };
    const pick = life.own(new ChoicePick(field, given, this.#ports.guard));
    life.own(pick.onEvent((event) => this.#choiceEvent(field, event)));
    // The user has seen what was wrong.
    life.own(
      pick.input.onDidChangeSelection(() => {
        pick.input.title = this.#titleFor(field);
      }),
    );
    this.#addButtons(field, life, pick.input, step > 0 ? () => this.#go(step - 1) : undefined);
    return pick.input;
  }

  #choiceEvent(field: Field, event: ChoiceEvent): void {
    switch (event.type) {
      case 'draft':
        this.#progress.drafts.set(field.id, event.text);
        return;
      case 'other':
        return this.#go(this.#progress.step, true);
      case 'openText':
        return this.#openWhole(field);
      case 'take': {
        const problem = problemText(field, event.values);
        if (problem === undefined) return this.#take(field, event.values);
        if (this.#step) this.#step.input.title = `${this.#titleFor(field)} — ${problem}`;
      }
    }
  }
}

/** What stands in the input of a field with choices, where Enter alone does not choose. */
function howToChoose({ many, free }: Field): string | undefined {
  if (many) return t('{0|Enter|Space chooses, Enter} decides. Esc decides nothing.', 2);
  return free ? vscode.l10n.t('Choose with the arrow keys, or type an answer of your own') : undefined;
}

type ChoiceEvent =
  /** Answers the field. */
  | { readonly type: 'take'; readonly values: readonly string[] }
  /** Text was typed; dismissing the pick must not lose it. */
  | { readonly type: 'draft'; readonly text: string }
  /** The user wants a box of its own for an answer in their own words. */
  | { readonly type: 'other' }
  /** The user wants to see the whole question. */
  | { readonly type: 'openText' };
interface Row extends vscode.QuickPickItem {
  readonly choice?: string;
  readonly event?: ChoiceEvent;
}

/** Milliseconds that the row for typed text may take to become active. */
const SETTLES = 150;

/**
 * One field with choices. Its first row, or the previous choice, is active; an Enter meant for elsewhere does not count (`KeyGuard`). Typing finds a
 * choice; where other answers are allowed, the typed text is the active row and Enter answers with it. Of several choices Space takes the active one.
 */
class ChoicePick implements Disposable {
  readonly input: vscode.QuickPick<Row>;
  readonly #life = new Lifetime();
  readonly #events = this.#life.own(new Emitter<ChoiceEvent>());
  readonly onEvent = this.#events.listen;
  readonly #field: Field;
  readonly #choices: readonly Row[];
  /** Answers that were typed before. */
  readonly #own: readonly Row[];
  readonly #guard: KeyGuard;
  readonly #chosen: string | undefined;
  #typed: Row | undefined;
  /** The text that the rows were drawn for. */
  #drawn = '';
  /** The row that had the focus last: a blank in the input takes it away. */
  #active: Row | undefined;
  #typedAt = Number.NEGATIVE_INFINITY;

  constructor(field: Field, given: { readonly chosen: readonly string[]; readonly draft: string }, guard: KeyGuard) {
    this.#field = field;
    this.#guard = guard;
    this.#chosen = given.chosen[0];
    this.input = this.#life.own(vscode.window.createQuickPick<Row>());
    this.#choices = choicesOf(field).map((one): Row => {
      const row = { label: plainLabel(one.label), choice: one.value };
      return one.description === undefined ? row : { ...row, description: plainLabel(one.description) };
    });
    this.#own = given.chosen.filter((value) => !this.#choices.some((row) => row.choice === value)).map(answerRow);
    const pick = this.input;
    pick.matchOnDescription = true;
    pick.canSelectMany = field.many === true;
    pick.value = given.draft;
    this.#draw(given.draft);
    if (field.many) {
      const chosen = pick.items.filter((row) => row.choice !== undefined && given.chosen.includes(row.choice));
      pick.selectedItems = [...chosen, ...(this.#typed ? [this.#typed] : [])];
    }
    this.#life.own(
      pick.onDidChangeValue((value) => {
        if (field.many && value.trim() === '' && this.#drawn === '') return value === '' ? undefined : this.#toggle();
        this.#typedAt = performance.now();
        this.#events.fire({ type: 'draft', text: value });
        this.#draw(value);
      }),
    );
    this.#life.own(
      pick.onDidChangeActive(([active]) => {
        if (active && active !== this.#typed) this.#active = active;
      }),
    );
    this.#life.own(pick.onDidAccept(() => this.#accepted()));
  }

  dispose(): void {
    this.#life.dispose();
  }

  /** Handles Space in the empty input, which has the keyboard until an arrow key is pressed: it checks the active row, or unchecks it. */
  #toggle(): void {
    const { input: pick } = this;
    pick.value = '';
    if (!this.#guard.press()) return;
    const active = this.#active ?? pick.items[0];
    if (!active) return;
    pick.activeItems = [active];
    const others = pick.selectedItems.filter((row) => row !== active);
    pick.selectedItems = others.length < pick.selectedItems.length ? others : [...others, active];
  }

  /** Builds the rows for the typed text. */
  #draw(value: string): void {
    const pick = this.input;
    const { many, free } = this.#field;
    const text = value.trim();
    this.#drawn = text;
    const same = this.#choices.find((row) => row.label.toLowerCase() === text.toLowerCase());
    const checked = pick.selectedItems.filter((row) => row !== this.#typed);
    this.#typed = free && text !== '' && !same ? answerRow(text) : undefined;
    const typed = this.#typed ? [this.#typed] : [];
    const rest = many || text !== '' ? [] : [...(free ? [otherRow(this.#field)] : []), ...textRows(this.#field)];
    pick.items = [...typed, ...this.#choices, ...(many ? this.#own : []), ...rest];
    if (many) pick.selectedItems = [...checked, ...typed];
    if (this.#typed) pick.activeItems = typed;
    else if (text === '')
      pick.activeItems = [this.#choices.find((row) => row.choice === this.#chosen) ?? this.#choices[0]].flatMap((row) => row ?? []);
  }

  #accepted(): void {
    if (!this.#guard.press()) return;
    const values = this.#taken();
    const event = values.length === 0 ? this.input.selectedItems[0]?.event : undefined;
    if (event) this.#events.fire(event);
    else if (values.length > 0 || this.#field.many) this.#events.fire({ type: 'take', values });
  }

  #taken(): readonly string[] {
    const typed = this.#typed;
    const { selectedItems, value } = this.input;
    const rows = selectedItems.flatMap((row) => (row.choice === undefined || row.label === typed?.label ? [] : [row.choice]));
    const text = value.trim();
    const early = performance.now() - this.#typedAt < SETTLES;
    const isMeant = early || selectedItems.some((row) => row.label === typed?.label);
    if (!typed || !isMeant) return rows;
    return this.#field.many ? [...rows, text] : [text];
  }
}

function answerRow(text: string): Row {
  return { label: `$(edit) ${vscode.l10n.t('Answer: “{0}”', plainLabel(text))}`, choice: text, alwaysShow: true };
}

function otherRow(field: Field): Row {
  return { label: `$(edit) ${plainLabel(field.freeLabel ?? vscode.l10n.t('Other…'))}`, event: { type: 'other' } };
}

/** The text that does not fit the title, below the answers: an arrow up from the input reaches its last line. */
function textRows(field: Field): readonly Row[] {
  const { rows, more } = questionRows(field);
  if (rows.length === 0) return [];
  const event: ChoiceEvent = { type: 'openText' };
  return [
    { label: '', kind: vscode.QuickPickItemKind.Separator },
    ...rows.map((label) => ({ label, event })),
    ...(more > 0 ? [{ label: `$(go-to-file) ${t('Show {0} more {0|line|lines}', more)}`, event }] : []),
  ];
}

interface FieldChoice {
  readonly label: string;
  readonly value: string;
  readonly description?: string;
}

/** The choices of a field; none for a field answered by text alone. */
function choicesOf(field: Field): readonly FieldChoice[] {
  if (field.kind !== 'boolean') return (field.choices ?? []).map((choice) => ({ ...choice, value: choice.label }));
  return [
    { label: vscode.l10n.t('Yes'), value: 'true' },
    { label: vscode.l10n.t('No'), value: 'false' },
  ];
}

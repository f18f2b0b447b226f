import * as vscode from 'vscode';
import { Emitter } from '../../base/emitter.ts';
import { t } from '../../base/l10n.ts';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import type { Field } from '../../session/model.ts';
import type { KeyGuard } from './keyboard.ts';
import { questionRows } from './questionText.ts';
import { plainLabel } from './rowText.ts';

export type ChoiceEvent =
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
 * choice; where other answers are allowed, the typed text is the active row and Enter answers with it.
 */
export class ChoicePick implements Disposable {
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
        this.#typedAt = performance.now();
        this.#events.fire({ type: 'draft', text: value });
        this.#draw(value);
      }),
    );
    this.#life.own(pick.onDidAccept(() => this.#accepted()));
  }

  dispose(): void {
    this.#life.dispose();
  }

  /** Builds the rows for the typed text. */
  #draw(value: string): void {
    const pick = this.input;
    const { many, free } = this.#field;
    const text = value.trim();
    const same = this.#choices.find((row) => row.label.toLowerCase() === text.toLowerCase());
    const checked = pick.selectedItems.filter((row) => row !== this.#typed);
    this.#typed = free && text !== '' && !same ? answerRow(text) : undefined;
    const typed = this.#typed ? [this.#typed] : [];
    const rest = many || text !== '' ? [] : [...(free ? [otherRow(this.#field)] : []), ...textRows(this.#field)];
    pick.items = [...typed, ...this.#choices, ...(many ? this.#own : []), ...rest];
    if (many) pick.selectedItems = [...checked, ...typed];
    else if (this.#typed) pick.activeItems = typed;
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
export function choicesOf(field: Field): readonly FieldChoice[] {
  if (field.kind !== 'boolean') return (field.choices ?? []).map((choice) => ({ ...choice, value: choice.label }));
  return [
    { label: vscode.l10n.t('Yes'), value: 'true' },
    { label: vscode.l10n.t('No'), value: 'false' },
  ];
}

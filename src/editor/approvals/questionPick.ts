import * as vscode from 'vscode';
import { Lifetime } from '../../base/lifetime.ts';
import type { Answer } from '../../session/intents.ts';
import type { Field, Question } from '../../session/model.ts';
import type { PickView } from './approvalPick.ts';
import { fieldMessage } from './fieldTexts.ts';
import { plainLabel } from './optionRows.ts';

export interface QuestionPickHost {
  answer(answer: Answer): void;
  dismissed(): void;
  openText(title: string, text: string): void;
}
/** What has been answered so far; outlives a dismissal, so that nothing typed is lost. */
export interface QuestionProgress {
  step: number;
  readonly values: Map<string, readonly string[]>;
  /** Free text under way, per field. */
  readonly drafts: Map<string, string>;
}

interface Row extends vscode.QuickPickItem {
  readonly choice?: string;
  readonly act?: 'free' | 'body';
}

/** A question as native inputs, one field after another with a way back. Closing one of them answers nothing. */
export function showQuestion(ask: Question, title: string, progress: QuestionProgress, host: QuestionPickHost): PickView {
  const outer = new Lifetime();
  // A question without fields is one to go on from; it is not answered for the person.
  const fields: readonly Field[] =
    ask.fields.length > 0 ? ask.fields : [{ id: '', label: ask.title, choices: [{ label: vscode.l10n.t('Continue') }] }];
  let shownTitle = title;
  let step: { readonly input: vscode.QuickInput; readonly life: Lifetime } | undefined;

  const close = () => {
    const closing = step;
    step = undefined;
    closing?.life.dispose();
  };
  const finish = (run: () => void) => {
    if (outer.ended) return;
    outer.dispose();
    close();
    run();
  };
  const go = (to: number, free = false) => {
    close();
    const field = fields[to];
    if (!field) {
      const values = Object.fromEntries(ask.fields.map((one) => [one.id, [...(progress.values.get(one.id) ?? [])]]));
      return finish(() => host.answer({ kind: 'fields', values }));
    }
    progress.step = to;
    const life = new Lifetime();
    const asText = free || choicesOf(field).length === 0;
    const input = asText ? textStep(field, life, free) : choiceStep(field, life);
    step = { input, life };
    input.title = shownTitle;
    input.ignoreFocusOut = true;
    if (fields.length > 1) {
      input.step = to + 1;
      input.totalSteps = fields.length;
    }
    life.own(
      input.onDidHide(() => {
        if (step?.input === input) finish(() => host.dismissed());
      }),
    );
    input.show();
  };
  const take = (field: Field, values: readonly string[]) => {
    progress.values.set(field.id, values);
    progress.drafts.delete(field.id);
    go(progress.step + 1);
  };

  /** Buttons of the title, each with what it does; the ways out that are no answer to the field. */
  const buttonsFor = (field: Field, life: Lifetime, input: vscode.QuickPick<Row> | vscode.InputBox, back: (() => void) | undefined) => {
    const actions = new Map<vscode.QuickInputButton, () => void>();
    const add = (icon: string, tooltip: string, run: () => void) => actions.set({ iconPath: new vscode.ThemeIcon(icon), tooltip }, run);
    if (back) actions.set(vscode.QuickInputButtons.Back, back);
    const { body } = field;
    if (body) add('info', vscode.l10n.t('Show the whole text'), () => host.openText(field.label, body));
    if (field.free && field.many && field.choices?.length) add('edit', otherLabel(field), () => go(progress.step, true));
    add('circle-slash', vscode.l10n.t('Do not answer'), () => finish(() => host.answer({ kind: 'cancelled' })));
    input.buttons = [...actions.keys()];
    life.own(input.onDidTriggerButton((button) => actions.get(button)?.()));
  };

  const textStep = (field: Field, life: Lifetime, asOther: boolean): vscode.InputBox => {
    const box = life.own(vscode.window.createInputBox());
    box.prompt = [field.body, field.label].filter(Boolean).join(' — ');
    box.placeholder = field.freeLabel;
    box.password = field.kind === 'secret';
    box.value = progress.drafts.get(field.id) ?? (asOther ? '' : ((progress.values.get(field.id) ?? field.initial)?.[0] ?? ''));
    const back = asOther ? () => go(progress.step) : progress.step > 0 ? () => go(progress.step - 1) : undefined;
    buttonsFor(field, life, box, back);
    life.own(
      box.onDidChangeValue((value) => {
        progress.drafts.set(field.id, value);
        box.validationMessage = undefined;
      }),
    );
    life.own(
      box.onDidAccept(() => {
        const values = [...(field.many ? (progress.values.get(field.id) ?? []) : []), ...(box.value === '' ? [] : [box.value])];
        const problem = fieldMessage(asOther ? { id: field.id, label: field.label } : field, asOther ? [box.value] : values);
        if (problem === undefined) take(field, values);
        else box.validationMessage = problem;
      }),
    );
    return box;
  };

  const choiceStep = (field: Field, life: Lifetime): vscode.QuickPick<Row> => {
    const pick = life.own(vscode.window.createQuickPick<Row>());
    const chosen = progress.values.get(field.id) ?? field.initial ?? [];
    const choices = choicesOf(field).map((one): Row => {
      const row = { label: plainLabel(one.label), choice: one.value };
      return one.description === undefined ? row : { ...row, description: one.description };
    });
    const act = (label: string, what: 'free' | 'body'): Row => ({ label, act: what, alwaysShow: true });
    pick.placeholder = plainLabel(field.label);
    pick.matchOnDescription = true;
    pick.canSelectMany = field.many === true;
    pick.items = field.many
      ? choices
      : [
          // Active when the pick appears: an Enter meant for elsewhere opens the text and answers nothing.
          act(`$(info) ${plainLabel(withoutMarks(field.body ?? field.label)).slice(0, 200)}`, 'body'),
          ...choices,
          ...(field.free ? [act(`$(edit) ${otherLabel(field)}`, 'free')] : []),
        ];
    if (field.many) pick.selectedItems = choices.filter((row) => row.choice !== undefined && chosen.includes(row.choice));
    buttonsFor(field, life, pick, progress.step > 0 ? () => go(progress.step - 1) : undefined);
    life.own(
      pick.onDidAccept(() => {
        const rows = pick.selectedItems;
        const special = rows.find((row) => row.act !== undefined)?.act;
        if (special === 'body') return host.openText(field.label, field.body ?? field.label);
        if (special === 'free') return go(progress.step, true);
        const values = rows.flatMap((row) => (row.choice === undefined ? [] : [row.choice]));
        const problem = values.length === 0 && !field.many ? '' : fieldMessage(field, values);
        if (problem === undefined) take(field, values);
        else if (problem) pick.title = `${shownTitle} — ${problem}`;
      }),
    );
    return pick;
  };

  go(Math.min(progress.step, fields.length - 1));
  return {
    setTitle: (next) => {
      shownTitle = next;
      if (step) step.input.title = next;
    },
    dispose: () => finish(() => {}),
  };
}

/** The beginning of a markdown text as a label: a row shows no markup. */
function withoutMarks(markdown: string): string {
  return markdown.replace(/^#{1,6} +/gm, '').replace(/[`*]+/g, '');
}

function otherLabel(field: Field): string {
  return field.freeLabel ?? vscode.l10n.t('Other…');
}

interface FieldChoice {
  readonly label: string;
  readonly value: string;
  readonly description?: string;
}

function choicesOf(field: Field): readonly FieldChoice[] {
  if (field.kind !== 'boolean') return (field.choices ?? []).map((choice) => ({ ...choice, value: choice.label }));
  return [
    { label: vscode.l10n.t('Yes'), value: 'true' },
    { label: vscode.l10n.t('No'), value: 'false' },
  ];
}

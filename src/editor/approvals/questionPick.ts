import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import type { Answer } from '../../session/intents.ts';
import type { Field, Question } from '../../session/model.ts';
import { choicePick, choicesOf } from './choicePick.ts';
import { fieldMessage } from './fieldTexts.ts';
import { questionRows, withoutMarks } from './questionText.ts';
import { plainLabel } from './rowText.ts';

export interface QuestionPickHost {
  answer(answer: Answer): void;
  dismissed(): void;
  openText(title: string, text: string): void;
}
export interface QuestionView extends Disposable {
  setTitle(title: string): void;
}
/** What has been answered so far; outlives a dismissal, so that nothing typed is lost. */
export interface QuestionProgress {
  step: number;
  readonly values: Map<string, readonly string[]>;
  /** Free text under way, per field. */
  readonly drafts: Map<string, string>;
}

/** A question as native inputs, one field after another with a way back. Closing one of them answers nothing. */
export function showQuestion(ask: Question, title: string, progress: QuestionProgress, host: QuestionPickHost): QuestionView {
  const outer = new Lifetime();
  // A question without fields is one to go on from; it is not answered for the user.
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
    input.title = titleFor(field);
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
  const titleFor = (field: Field) => (field.label === ask.title ? shownTitle : `${shownTitle} — ${plainLabel(field.label)}`);
  const openWhole = (field: Field) => host.openText(ask.title, [field.label, field.body].filter(Boolean).join('\n\n'));
  const take = (field: Field, values: readonly string[]) => {
    progress.values.set(field.id, values);
    progress.drafts.delete(field.id);
    go(progress.step + 1);
  };

  /** Buttons of the title, each with what it does; the ways out that are no answer to the field. */
  const buttonsFor = (
    field: Field,
    life: Lifetime,
    input: vscode.QuickPick<vscode.QuickPickItem> | vscode.InputBox,
    back: (() => void) | undefined,
  ) => {
    const actions = new Map<vscode.QuickInputButton, () => void>();
    const add = (icon: string, tooltip: string, run: () => void) => actions.set({ iconPath: new vscode.ThemeIcon(icon), tooltip }, run);
    if (back) actions.set(vscode.QuickInputButtons.Back, back);
    if (questionRows(field).rows.length > 0) add('info', vscode.l10n.t('Show the whole text'), () => openWhole(field));
    const { refusal } = ask;
    if (refusal !== undefined) {
      add('close', vscode.l10n.t('Decline'), () => finish(() => host.answer({ kind: 'option', optionId: refusal })));
    }
    add('circle-slash', vscode.l10n.t('Do not answer'), () => finish(() => host.answer({ kind: 'cancelled' })));
    input.buttons = [...actions.keys()];
    life.own(input.onDidTriggerButton((button) => actions.get(button)?.()));
  };

  const textStep = (field: Field, life: Lifetime, asOther: boolean): vscode.InputBox => {
    const box = life.own(vscode.window.createInputBox());
    box.prompt = [field.label, withoutMarks(field.body ?? '')].filter(Boolean).join(' — ');
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
        const values = box.value === '' ? [] : [box.value];
        const problem = fieldMessage(asOther ? { id: field.id, label: field.label } : field, asOther ? [box.value] : values);
        if (problem === undefined) take(field, values);
        else box.validationMessage = problem;
      }),
    );
    return box;
  };

  const choiceStep = (field: Field, life: Lifetime): vscode.QuickInput => {
    const given = { chosen: progress.values.get(field.id) ?? field.initial ?? [], draft: progress.drafts.get(field.id) ?? '' };
    const pick = choicePick(field, given, life, {
      take: (values) => {
        const problem = fieldMessage(field, values);
        if (problem === undefined) take(field, values);
        else pick.title = `${titleFor(field)} — ${problem}`;
      },
      draft: (text) => progress.drafts.set(field.id, text),
      other: () => go(progress.step, true),
      openText: () => openWhole(field),
    });
    // What was wrong has been looked at.
    life.own(
      pick.onDidChangeSelection(() => {
        pick.title = titleFor(field);
      }),
    );
    buttonsFor(field, life, pick, progress.step > 0 ? () => go(progress.step - 1) : undefined);
    return pick;
  };

  go(Math.min(progress.step, fields.length - 1));
  return {
    setTitle: (next) => {
      shownTitle = next;
      const field = fields[progress.step];
      if (step && field) step.input.title = titleFor(field);
    },
    dispose: () => finish(() => {}),
  };
}

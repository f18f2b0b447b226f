import * as vscode from 'vscode';
import type { Lifetime } from '../../base/lifetime.ts';
import type { Field } from '../../session/model.ts';
import { questionRows } from './questionText.ts';
import { plainLabel } from './rowText.ts';

export interface ChoicePickHost {
  /** Answers the field, or says what is wrong with that. */
  take(values: readonly string[]): void;
  /** Keeps what is typed, so that going away loses nothing. */
  draft(text: string): void;
  /** Asks for an answer in the user's own words in a box of its own. */
  other(): void;
  /** Shows the whole question. */
  openText(): void;
}
interface Row extends vscode.QuickPickItem {
  readonly choice?: string;
  readonly run?: () => void;
}

/** Milliseconds in which the row that answers with what is typed may not have become the active one yet. */
const SETTLES = 150;

/**
 * One field with choices. Nothing is active when it appears: an Enter meant for elsewhere answers nothing. Typing finds a choice, and where
 * other answers are taken, what is typed is the active row: Enter answers with it.
 */
export function choicePick(
  field: Field,
  given: { readonly chosen: readonly string[]; readonly draft: string },
  life: Lifetime,
  host: ChoicePickHost,
): vscode.QuickPick<Row> {
  const pick = life.own(vscode.window.createQuickPick<Row>());
  const many = field.many === true;
  const choices = choicesOf(field).map((one): Row => {
    const row = { label: plainLabel(one.label), choice: one.value };
    return one.description === undefined ? row : { ...row, description: plainLabel(one.description) };
  });
  const own = given.chosen.filter((value) => !choices.some((row) => row.choice === value)).map(answerRow);
  const answers = many ? [...choices, ...own] : choices;
  const rest: readonly Row[] = many ? [] : [...(field.free ? [otherRow(field, host)] : []), ...textRows(field, host)];
  let typed: Row | undefined;
  let typedAt = Number.NEGATIVE_INFINITY;

  const look = (value: string) => {
    const text = value.trim();
    const same = choices.find((row) => row.label.toLowerCase() === text.toLowerCase());
    const checked = pick.selectedItems.filter((row) => row !== typed);
    typed = field.free && text !== '' && !same ? answerRow(text) : undefined;
    pick.items = [...(typed ? [typed] : []), ...answers, ...(text === '' ? rest : [])];
    if (many) pick.selectedItems = [...checked, ...(typed ? [typed] : [])];
    else if (typed || text === '') pick.activeItems = typed ? [typed] : [];
  };
  const taken = (): readonly string[] => {
    const rows = pick.selectedItems.flatMap((row) => (row.choice === undefined || row.label === typed?.label ? [] : [row.choice]));
    const text = pick.value.trim();
    const early = performance.now() - typedAt < SETTLES;
    const isMeant = early || pick.selectedItems.some((row) => row.label === typed?.label);
    if (!typed || !isMeant) return rows;
    return many ? [...rows, text] : [text];
  };

  pick.placeholder = field.free
    ? vscode.l10n.t('Choose with the arrow keys, or type an answer of your own')
    : vscode.l10n.t('Choose with the arrow keys, or type to find one');
  pick.matchOnDescription = true;
  pick.canSelectMany = many;
  pick.value = given.draft;
  look(given.draft);
  if (many) {
    const chosen = answers.filter((row) => row.choice !== undefined && given.chosen.includes(row.choice));
    pick.selectedItems = [...chosen, ...(typed ? [typed] : [])];
  }
  life.own(
    pick.onDidChangeValue((value) => {
      typedAt = performance.now();
      host.draft(value);
      look(value);
    }),
  );
  life.own(
    pick.onDidAccept(() => {
      const values = taken();
      const run = values.length === 0 ? pick.selectedItems[0]?.run : undefined;
      if (run) run();
      else if (values.length > 0 || many) host.take(values);
    }),
  );
  return pick;
}

function answerRow(text: string): Row {
  return { label: `$(edit) ${vscode.l10n.t('Answer: “{0}”', plainLabel(text))}`, choice: text, alwaysShow: true };
}

function otherRow(field: Field, host: ChoicePickHost): Row {
  return { label: `$(edit) ${plainLabel(field.freeLabel ?? vscode.l10n.t('Other…'))}`, run: () => host.other() };
}

/** What does not fit the title, below the answers: an arrow up from the input is at its last line. */
function textRows(field: Field, host: ChoicePickHost): readonly Row[] {
  const { rows, more } = questionRows(field);
  if (rows.length === 0) return [];
  const run = () => host.openText();
  const last = more > 0 ? vscode.l10n.t('{0} more lines: open the whole text', more) : vscode.l10n.t('Open the whole text');
  return [
    { label: vscode.l10n.t('Question'), kind: vscode.QuickPickItemKind.Separator },
    ...rows.map((label) => ({ label, run })),
    { label: `$(go-to-file) ${last}`, run },
  ];
}

interface FieldChoice {
  readonly label: string;
  readonly value: string;
  readonly description?: string;
}

/** What a field offers to choose from; nothing for one that is answered by text alone. */
export function choicesOf(field: Field): readonly FieldChoice[] {
  if (field.kind !== 'boolean') return (field.choices ?? []).map((choice) => ({ ...choice, value: choice.label }));
  return [
    { label: vscode.l10n.t('Yes'), value: 'true' },
    { label: vscode.l10n.t('No'), value: 'false' },
  ];
}

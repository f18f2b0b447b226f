import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import { type ApprovalAnswer, approvalAnswers, firstAnswers } from '../../session/approvalAnswers.ts';
import { dangerText } from '../../session/dangers.ts';
import { isUnplaced } from '../../session/diffs.ts';
import { hunksOf } from '../../session/hunks.ts';
import type { Approval, ApprovalDetail, Diff } from '../../session/model.ts';
import { shownDiffs } from '../../session/proposal.ts';
import { byPath, type ChangedFile, longNames } from '../../session/select.ts';
import { visibleText } from '../../session/visible.ts';
import { changeSummary, fileBecomes } from './changeSummary.ts';
import type { KeyGuard } from './keyGuard.ts';
import { keyIcon } from './keyIcons.ts';
import { plainMarkdown } from './plainMarkdown.ts';
import { commandRows, plainLabel } from './rowText.ts';

export interface ApprovalPickHost {
  choose(answer: ApprovalAnswer): void;
  /** It has just taken the place of another: what is pressed was meant for that. */
  unread(): boolean;
  /** It left the screen without an answer. */
  dismissed(): void;
  openDiff(path?: string): void;
  /** Shows the diff without the pick over it: the question is set aside. */
  lookAtDiff(): void;
  /** Shows a long text whole. */
  openText(title: string, text: string): void;
  manageRules(): void;
}
export interface ApprovalPickOptions {
  readonly cwd: string;
  /** The agent takes words with a rejection. */
  readonly feedback: boolean;
  /** The diff is open beside the pick. */
  readonly diffOpen: boolean;
  readonly guard: KeyGuard;
}
export interface ApprovalView extends Disposable {
  /** The same ask, as it is by now. */
  update(ask: Approval, title: string): void;
}

interface Row extends vscode.QuickPickItem {
  readonly answer?: ApprovalAnswer;
  readonly open?: () => void;
  readonly letter?: string;
}

/** Files with a row of their own. */
const MOST_FILES = 50;
/** Changed lines shown under the answers. */
const MOST_LINES = 8;
/** A change above this line may lie under the pick, and no editor scrolls above its first line. */
const UNDER_PICK = 14;

/**
 * One approval as a quick-pick: the question is the title, the answers come first, what is asked about stands below them and answers nothing. The
 * safest answer has the focus, or for what is dangerous a row that only opens it. A letter moves the focus, Enter decides. Whatever closes the
 * pick without a chosen answer is a dismissal.
 */
export function showApproval(ask: Approval, title: string, options: ApprovalPickOptions, host: ApprovalPickHost): ApprovalView {
  const life = new Lifetime();
  const pick = life.own(vscode.window.createQuickPick<Row>());
  const { guard } = options;
  let shown = ask;
  let settled = false;
  const settle = (run: () => void) => {
    if (settled) return;
    settled = true;
    life.dispose();
    run();
  };
  const look = () => {
    if (shown.detail.type === 'edit') settle(() => host.lookAtDiff());
    else host.openText(plainLabel(shown.title), wholeText(shown));
  };
  const rows = () => rowsOf(shown, options, host, look);
  const buttons = new Map(titleButtons(ask, options, host, look));
  pick.title = title;
  pick.buttons = [...buttons.keys()];
  pick.keepScrollPosition = true;
  pick.ignoreFocusOut = true;
  pick.items = rows();
  pick.activeItems = pick.items.slice(0, 1);
  // The hint comes when it holds.
  const hint = setTimeout(() => {
    pick.placeholder = vscode.l10n.t('A letter moves, Enter decides. Esc decides nothing.');
  }, guard.left);
  life.onEnd(() => clearTimeout(hint));
  life.own(
    pick.onDidChangeValue((value) => {
      if (value === '') return;
      pick.value = '';
      const row = pick.items.find((one) => one.letter === value.toUpperCase());
      // What is no letter of an answer was meant for elsewhere.
      if (!row) return guard.restart();
      if (guard.press() && !host.unread()) pick.activeItems = [row];
    }),
  );
  life.own(
    pick.onDidAccept(() => {
      const [row] = pick.activeItems;
      if (!guard.press() || host.unread()) return;
      if (row?.open) return row.open();
      const answer = row?.answer;
      if (answer) settle(() => host.choose(answer));
    }),
  );
  life.own(pick.onDidTriggerButton((button) => buttons.get(button)?.()));
  life.own(pick.onDidHide(() => settle(() => host.dismissed())));
  pick.show();
  return {
    update: (next, nextTitle) => {
      pick.title = nextTitle;
      if (next === shown) return;
      const before = shown;
      shown = next;
      const items = rows();
      const active = pick.activeItems.flatMap((one) => items.find((other) => sameRow(one, other)) ?? []);
      pick.items = items;
      pick.activeItems = active.length > 0 ? active : items.slice(0, 1);
      if (JSON.stringify(before.options) !== JSON.stringify(next.options) || JSON.stringify(before.detail) !== JSON.stringify(next.detail))
        guard.restart();
    },
    dispose: () => settle(() => {}),
  };
}

function sameRow(one: Row, other: Row): boolean {
  return one.answer?.id === other.answer?.id && one.label === other.label;
}

function rowsOf(ask: Approval, options: ApprovalPickOptions, host: ApprovalPickHost, look: () => void): readonly Row[] {
  const { grave, once, answers } = approvalAnswers(ask, options);
  const { first, more } = firstAnswers(answers);
  return [
    ...(grave || !once || answers[0] !== once ? [lookRow(ask, look)] : []),
    ...first.map(answerRow),
    ...(more.length > 0 ? [separator(vscode.l10n.t('More answers')), ...more.map(answerRow)] : []),
    ...[ask.detail, ...(ask.beside ?? [])].flatMap((detail) => detailRows(ask, detail, options, host)),
    ...nameRows(ask, host),
  ];
}

function lookRow(ask: Approval, open: () => void): Row {
  const description = ask.detail.type === 'edit' ? vscode.l10n.t('opens the diff') : vscode.l10n.t('opens the text in an editor');
  return { label: vscode.l10n.t('Look first'), description, letter: 'L', iconPath: keyIcon('L'), alwaysShow: true, open };
}

function answerRow(answer: ApprovalAnswer): Row {
  const { letter, description } = answer;
  return {
    label: plainLabel(answer.label),
    alwaysShow: true,
    answer,
    ...(description === undefined ? {} : { description: plainLabel(description) }),
    ...(letter === undefined ? { iconPath: new vscode.ThemeIcon('blank') } : { letter, iconPath: keyIcon(letter) }),
  };
}

function separator(label: string): Row {
  return { label, kind: vscode.QuickPickItemKind.Separator };
}

/** Where some answers have long names: one row that opens those whole. */
function nameRows(ask: Approval, host: ApprovalPickHost): readonly Row[] {
  const names = longNames(ask);
  if (names.length === 0) return [];
  const label = vscode.l10n.t('Open the whole names of the answers');
  const open = () => host.openText(vscode.l10n.t('Answers'), names.map(visibleText).join('\n\n'));
  return [{ label, iconPath: new vscode.ThemeIcon('go-to-file'), alwaysShow: true, open }];
}

function titleButtons(
  ask: Approval,
  options: ApprovalPickOptions,
  host: ApprovalPickHost,
  look: () => void,
): readonly (readonly [vscode.QuickInputButton, () => void])[] {
  const { detail } = ask;
  const button = (icon: string, tooltip: string, run: () => void) => [{ iconPath: new vscode.ThemeIcon(icon), tooltip }, run] as const;
  return [
    ...(detail.type === 'edit' && options.diffOpen ? [button('eye', vscode.l10n.t('See the Whole Diff; the Question Waits'), look)] : []),
    ...(detail.type === 'edit' && !options.diffOpen ? [button('diff', vscode.l10n.t('Open Diff'), () => host.openDiff())] : []),
    ...(detail.type !== 'edit' ? [button('go-to-file', vscode.l10n.t('Open in Editor'), look)] : []),
    ...(detail.type === 'command'
      ? [button('copy', vscode.l10n.t('Copy Command'), () => void vscode.env.clipboard.writeText(detail.command))]
      : []),
    button('settings', vscode.l10n.t('Manage Approval Rules'), () => host.manageRules()),
  ];
}

/** The title: the warnings first, for no row can stand above the answers without taking keys. */
export function pickTitle(ask: Approval, cwd: string, heading: string): string {
  const { dangers } = approvalAnswers(ask, { cwd, feedback: false });
  return dangers.length === 0 ? heading : `⚠ ${dangers.map(dangerText).join('; ')} — ${heading}`;
}

function wholeText(ask: Approval): string {
  return [ask.detail, ...(ask.beside ?? [])].map(textOf).join('\n\n');
}

function textOf(detail: ApprovalDetail): string {
  switch (detail.type) {
    case 'command':
      return detail.cwd === undefined ? detail.command : `${detail.command}\n\n${vscode.l10n.t('in {0}', detail.cwd)}`;
    case 'edit':
      return detail.diffs.map((diff) => diff.path).join('\n');
    case 'mcp':
      return `${detail.server} / ${detail.tool}\n${inputText(detail.input)}`;
    case 'text':
      return detail.text;
  }
}

function inputText(input: unknown): string {
  return input === undefined ? '' : (JSON.stringify(input, null, 2) ?? '');
}

/** What exactly is asked, as far as the title does not say it. */
function detailRows(ask: Approval, detail: ApprovalDetail, options: ApprovalPickOptions, host: ApprovalPickHost): readonly Row[] {
  switch (detail.type) {
    case 'command': {
      const inTitle = detail === ask.detail && fitsTitle(detail.command);
      const place = detail.cwd === undefined || detail.cwd === options.cwd ? [] : [plainRow(vscode.l10n.t('in {0}', detail.cwd))];
      if (inTitle) return place.length > 0 ? [separator(vscode.l10n.t('Folder')), ...place] : [];
      return [
        ...textRows(detail.command, vscode.l10n.t('Command'), () => host.openText(vscode.l10n.t('Command'), detail.command)),
        ...place,
      ];
    }
    case 'edit': {
      const files = byPath(shownDiffs(ask, detail.diffs));
      const [only] = files;
      if (only && files.length === 1) return lineRows(only.diffs, options.diffOpen, ask.revised !== undefined);
      return [
        separator(vscode.l10n.t('Files')),
        ...files.slice(0, MOST_FILES).map((file) => fileRow(file, host)),
        ...moreFiles(files, host),
      ];
    }
    case 'mcp': {
      const input = inputText(detail.input);
      return input === '' ? [] : textRows(input, vscode.l10n.t('Input'), () => host.openText(ask.title, input));
    }
    case 'text': {
      const said = (detail.markdown ? plainMarkdown(detail.text) : detail.text).trim();
      if (said === '' || said === ask.title.trim()) return [];
      return textRows(said, vscode.l10n.t('Request'), () => host.openText(ask.title, said));
    }
  }
}

/** What a title shows whole: titles wrap. */
export function fitsTitle(command: string): boolean {
  const text = command.trim();
  return text.length <= 160 && !text.includes('\n');
}

function fileRow({ path, diffs }: ChangedFile, host: ApprovalPickHost): Row {
  const { counts } = changeSummary(diffs);
  return {
    label: plainLabel(vscode.workspace.asRelativePath(path)),
    description: [fate(diffs), counts, unplacedNote(diffs)].filter(Boolean).join(' · '),
    iconPath: new vscode.ThemeIcon('diff'),
    alwaysShow: true,
    open: () => host.openDiff(path),
  };
}

function unplacedNote(diffs: readonly Diff[]): string {
  return isUnplaced(diffs) ? vscode.l10n.t('excerpt; cannot be previewed exactly') : '';
}

function moreFiles(files: readonly ChangedFile[], host: ApprovalPickHost): readonly Row[] {
  if (files.length <= MOST_FILES) return [];
  const list = () =>
    files.map(({ path, diffs }) =>
      [vscode.workspace.asRelativePath(path), fate(diffs), changeSummary(diffs).counts].filter(Boolean).join('  '),
    );
  const open = () => host.openText(vscode.l10n.t('Files'), list().join('\n'));
  const label = vscode.l10n.t('{0} more files: open the list', files.length - MOST_FILES);
  return [{ label, iconPath: new vscode.ThemeIcon('ellipsis'), alwaysShow: true, open }];
}

/** The changed lines, where the diff beside does not show them for certain. */
function lineRows(diffs: readonly Diff[], diffOpen: boolean, edited: boolean): readonly Row[] {
  const heading = edited ? vscode.l10n.t('Changes, edited by you') : vscode.l10n.t('Changes');
  const note = unplacedNote(diffs) || (fileBecomes(diffs) === 'deleted' ? vscode.l10n.t('the whole file is deleted') : '');
  const summaries = diffs.filter((diff) => diff.summary).map((diff) => plainRow(diff.after ?? diff.before ?? ''));
  const lines = diffs
    .filter((diff) => !diff.summary)
    .flatMap((diff) => hunksOf(diff).hunks.flat())
    .filter((line) => line.sign !== ' ');
  const from = Math.min(...lines.map((line) => line.after ?? line.before ?? 0));
  const hidden = !diffOpen || from < UNDER_PICK;
  const rows = hidden ? lines.filter((line) => line.text.trim() !== '').slice(0, MOST_LINES) : [];
  if (rows.length === 0 && summaries.length === 0 && note === '') return [];
  return [
    separator(heading),
    ...(note === '' ? [] : [plainRow(note)]),
    ...summaries,
    ...rows.map((line, at): Row => {
      const number = line.after ?? line.before;
      const firstOfRun = number !== undefined && rows[at - 1]?.sign !== line.sign;
      const row = plainRow(`${line.sign === '+' ? '+' : '−'} ${line.text.slice(0, 200)}`);
      return firstOfRun ? { ...row, description: vscode.l10n.t('line {0}', number) } : row;
    }),
    ...(rows.length > 0 && lines.length > rows.length
      ? [plainRow(vscode.l10n.t('{0} more lines in the diff', lines.length - rows.length))]
      : []),
  ];
}

/** A row that says something and does nothing. */
function plainRow(text: string): Row {
  return { label: plainLabel(text), iconPath: new vscode.ThemeIcon('blank'), alwaysShow: true };
}

/** A file that comes or goes is told in words: lines alone do not say so. */
function fate(diffs: readonly Diff[]): string {
  const becomes = fileBecomes(diffs);
  if (becomes === 'changed') return '';
  return becomes === 'deleted' ? vscode.l10n.t('deleted') : vscode.l10n.t('new file');
}

function textRows(text: string, heading: string, open: () => void): readonly Row[] {
  const { rows, more } = commandRows(text, MOST_LINES);
  const lines: Row[] = rows.map((label) => ({ label, iconPath: new vscode.ThemeIcon('blank'), alwaysShow: true }));
  if (more > 0) {
    const label = vscode.l10n.t('{0} more lines: open the whole text', more);
    lines.push({ label, iconPath: new vscode.ThemeIcon('ellipsis'), alwaysShow: true, open });
  }
  return [separator(heading), ...lines];
}

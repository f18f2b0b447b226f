import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import { isUnplaced } from '../../session/diffs.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, ApprovalDetail, Diff, Option } from '../../session/model.ts';
import { byPath, type ChangedFile, longNames, rejection } from '../../session/select.ts';
import { visibleText } from '../../session/visible.ts';
import { changeSummary, fileBecomes } from './changeSummary.ts';
import { commandRows, optionRows, plainLabel } from './optionRows.ts';
import { plainMarkdown } from './plainMarkdown.ts';

export interface ApprovalPickHost {
  answer(answer: Answer): void;
  /** It has just taken the place of another: what is pressed was meant for that. */
  unread(): boolean;
  /** It left the screen without an answer. */
  dismissed(): void;
  /** Asks for words to reject with. Leaves the pick first. */
  feedback(option: Option): void;
  openDiff(path?: string): void;
  /** Shows the diff without the pick over it: the question is set aside. */
  lookAtDiff(): void;
  /** Shows a long text whole. */
  openText(title: string, text: string): void;
}
export interface ApprovalView extends Disposable {
  /** The same ask, as it is by now. */
  update(ask: Approval, title: string): void;
}

interface Row extends vscode.QuickPickItem {
  readonly option?: Option;
  /** Words for the agent are asked for first. */
  readonly withWords?: true;
  readonly open?: () => void;
}

/** Milliseconds after a stray key during which nothing is accepted. */
const AFTER_TYPING = 400;
/** Files with a row of their own: the answers stand below them. */
const MOST_FILES = 50;

/**
 * One approval as a quick-pick. The first row, which is the active one, says what is asked and opens it: an Enter meant for elsewhere answers
 * nothing. Typing does not filter, for the same reason. Whatever closes the pick without a chosen option is a dismissal.
 */
export function showApproval(ask: Approval, title: string, offersFeedback: boolean, host: ApprovalPickHost): ApprovalView {
  const life = new Lifetime();
  const pick = life.own(vscode.window.createQuickPick<Row>());
  const buttons = new Map<vscode.QuickInputButton, () => void>();
  const rejecting = rejection(ask);
  let shown = ask;
  const rows = (now: Approval) => [
    ...[now.detail, ...(now.beside ?? [])].flatMap((detail) => detailRows(now, detail, host)),
    ...nameRows(now, host),
    separator(vscode.l10n.t('Answer')),
    ...answerRows(now, rejecting, offersFeedback),
  ];
  pick.title = title;
  pick.keepScrollPosition = true;
  pick.placeholder = vscode.l10n.t('Choose with the arrow keys and Enter. Esc sets the question aside without answering it.');
  pick.ignoreFocusOut = true;
  pick.items = rows(ask);
  let typedAt = Number.NEGATIVE_INFINITY;
  let settled = false;
  const settle = (run: () => void) => {
    if (settled) return;
    settled = true;
    life.dispose();
    run();
  };
  for (const [button, run] of titleButtons(ask, () => settle(() => host.lookAtDiff()))) buttons.set(button, run);
  pick.buttons = [...buttons.keys()];
  life.own(
    pick.onDidChangeValue((value) => {
      if (value === '') return;
      typedAt = performance.now();
      pick.value = '';
    }),
  );
  life.own(
    pick.onDidAccept(() => {
      const row = pick.selectedItems[0];
      if (!row || host.unread() || performance.now() - typedAt < AFTER_TYPING) return;
      if (row.open) return row.open();
      const { option } = row;
      if (option) settle(() => (row.withWords ? host.feedback(option) : host.answer({ kind: 'option', optionId: option.id })));
    }),
  );
  life.own(pick.onDidTriggerButton((button) => buttons.get(button)?.()));
  life.own(pick.onDidHide(() => settle(() => host.dismissed())));
  pick.show();
  return {
    update: (next, nextTitle) => {
      pick.title = nextTitle;
      if (next === shown) return;
      shown = next;
      const items = rows(next);
      const active = pick.activeItems.flatMap((one) => items[pick.items.indexOf(one)] ?? []);
      pick.items = items;
      pick.activeItems = active;
    },
    dispose: () => settle(() => {}),
  };
}

function separator(label: string): Row {
  return { label, kind: vscode.QuickPickItemKind.Separator };
}

function answerRows(ask: Approval, rejecting: Option | undefined, offersFeedback: boolean): readonly Row[] {
  return optionRows(ask).flatMap((row): readonly Row[] => {
    if (!offersFeedback || row.option !== rejecting) return [row];
    return [row, { label: `$(comment) ${vscode.l10n.t('Reject with Feedback…')}`, option: row.option, withWords: true }];
  });
}

/** Where some answers have long names: one row that opens those whole. */
function nameRows(ask: Approval, host: ApprovalPickHost): readonly Row[] {
  const names = longNames(ask);
  if (names.length === 0) return [];
  const label = vscode.l10n.t('Open the whole names of the answers');
  const open = () => host.openText(vscode.l10n.t('Answers'), names.map(visibleText).join('\n\n'));
  return [{ label: `$(go-to-file) ${label}`, alwaysShow: true, open }];
}

function titleButtons(ask: Approval, look: () => void): readonly (readonly [vscode.QuickInputButton, () => void])[] {
  const { detail } = ask;
  switch (detail.type) {
    case 'command':
      return [
        [
          { iconPath: new vscode.ThemeIcon('copy'), tooltip: vscode.l10n.t('Copy Command') },
          () => void vscode.env.clipboard.writeText(detail.command),
        ],
      ];
    case 'edit':
      // The pick lies over the first lines, and no editor scrolls above those.
      return [[{ iconPath: new vscode.ThemeIcon('eye'), tooltip: vscode.l10n.t('See the Whole Diff; the Question Waits') }, look]];
    default:
      return [];
  }
}

/** What exactly is asked. Choosing one of these rows opens it and answers nothing. */
function detailRows(ask: Approval, detail: ApprovalDetail, host: ApprovalPickHost): readonly Row[] {
  switch (detail.type) {
    case 'command': {
      const open = () => host.openText(vscode.l10n.t('Command'), detail.command);
      const where = detail.cwd === undefined ? {} : { detail: vscode.l10n.t('in {0}', detail.cwd) };
      return textRows(detail.command, vscode.l10n.t('Command'), 'terminal', open, where);
    }
    case 'edit': {
      const files = byPath(ask.revised ? [ask.revised] : detail.diffs);
      return [
        separator(vscode.l10n.t('Files')),
        ...files.slice(0, MOST_FILES).map(({ path, diffs }) => ({
          label: `$(diff) ${plainLabel(vscode.workspace.asRelativePath(path))}`,
          ...changeTexts(diffs, ask.revised !== undefined),
          alwaysShow: true,
          open: () => host.openDiff(path),
        })),
        ...moreFiles(files, host),
      ];
    }
    case 'mcp': {
      const input = detail.input === undefined ? '' : (JSON.stringify(detail.input, null, 2) ?? '');
      const text = `${detail.server} / ${detail.tool}${input && `\n${input}`}`;
      return textRows(text, vscode.l10n.t('Tool'), 'plug', () => host.openText(ask.title, text), {});
    }
    case 'text': {
      const said = detail.markdown ? plainMarkdown(detail.text) : detail.text;
      const text = said.trim() ? said : ask.title;
      return textRows(text, vscode.l10n.t('Request'), 'info', () => host.openText(ask.title, text), {});
    }
    default: {
      const unknown: never = detail;
      return unknown;
    }
  }
}

function moreFiles(files: readonly ChangedFile[], host: ApprovalPickHost): readonly Row[] {
  if (files.length <= MOST_FILES) return [];
  const list = () =>
    files.map(({ path, diffs }) =>
      [vscode.workspace.asRelativePath(path), fate(diffs), changeSummary(diffs).counts].filter(Boolean).join('  '),
    );
  const open = () => host.openText(vscode.l10n.t('Files'), list().join('\n'));
  return [{ label: `$(ellipsis) ${vscode.l10n.t('{0} more files: open the list', files.length - MOST_FILES)}`, alwaysShow: true, open }];
}

/** How much changes, and how the change begins: the pick may lie over that part of the diff. */
function changeTexts(diffs: readonly Diff[], edited: boolean): { readonly description: string; readonly detail?: string } {
  const { counts, beginning } = changeSummary(diffs);
  const mark = edited ? vscode.l10n.t('edited by you') : '';
  const open = isUnplaced(diffs) ? vscode.l10n.t('excerpt; cannot be previewed exactly') : vscode.l10n.t('Open diff');
  const description = [fate(diffs), counts, mark, open].filter(Boolean).join(' · ');
  return beginning === '' ? { description } : { description, detail: beginning };
}

/** A file that comes or goes is told in words: lines alone do not say so. */
function fate(diffs: readonly Diff[]): string {
  const becomes = fileBecomes(diffs);
  if (becomes === 'changed') return '';
  return becomes === 'deleted' ? vscode.l10n.t('deleted') : vscode.l10n.t('new file');
}

function textRows(text: string, heading: string, icon: string, open: () => void, last: { readonly detail?: string }): readonly Row[] {
  const { rows, more } = commandRows(text);
  const lines: Row[] = rows.map((row, at) => ({
    label: at === 0 ? `$(${icon}) ${row}` : `$(blank) ${row}`,
    alwaysShow: true,
    open,
    ...(at === rows.length - 1 && more === 0 ? last : {}),
  }));
  if (more > 0)
    lines.push({ label: `$(ellipsis) ${vscode.l10n.t('{0} more lines: open the whole text', more)}`, alwaysShow: true, open, ...last });
  return [separator(heading), ...lines];
}

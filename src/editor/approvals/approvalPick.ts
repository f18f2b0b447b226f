import * as vscode from 'vscode';
import { t } from '../../base/l10n.ts';
import { Lifetime } from '../../base/lifetime.ts';
import {
  type AnswerSetting,
  type ApprovalAnswer,
  type ApprovalAnswers,
  approvalAnswers,
  firstAnswers,
  MOST_ANSWERS,
} from '../../session/approvalAnswers.ts';
import { dangersOf } from '../../session/dangers.ts';
import { hunksOf } from '../../session/hunks.ts';
import type { Approval, ApprovalDetail, Ask, Diff, Session } from '../../session/model.ts';
import { byPath, type FileDiffs, longNames, saysByTitle } from '../../session/select.ts';
import {
  approvalHeading,
  changeAmounts,
  dangerText,
  elsewhere,
  excerptOf,
  fileBecomes,
  inputText,
  sameMeaning,
  shownDiffs,
  unplacedNote,
  wordsBeside,
} from '../../session/shownApproval.ts';
import { shortened, visibleText } from '../../session/visible.ts';
import { commandTitle } from '../commandTitle.ts';
import { type AskPick, type AskPreview, holdInput, type PickOutcome, pendingOutcome } from './askPick.ts';
import { type ChangedLine, changedLines, linesToShow, type PickPlace, rowsOf } from './changedLines.ts';
import type { KeyGuard } from './keyboard.ts';
import { asLines, commandLabel, commandRows, plainLabel, plainMarkdown } from './rowText.ts';

export interface ApprovalPickPorts {
  /** True while this ask has just replaced another, which presses were meant for. */
  isNew(): boolean;
  /** Settles when the editor has drawn all earlier changes. */
  drawn(): Promise<void>;
  openDiff(path?: string): void;
  manageRules(): void;
}
export interface ApprovalPickSetting extends AnswerSetting {
  /** The diff is open beside the pick. */
  readonly diffOpen: boolean;
  /** The pick comes up once this has settled; absent: at once. */
  readonly after?: Promise<void>;
  readonly room: PickRoom;
  readonly guard: KeyGuard;
}

type PickRoom = PickPlace['room'];
type Action =
  | { readonly do: 'look'; readonly path?: string }
  | { readonly do: 'lookAtText'; readonly title: string; readonly text: string }
  | { readonly do: 'openDiff'; readonly path?: string };
interface Row extends vscode.QuickPickItem {
  readonly answer?: ApprovalAnswer;
  readonly action?: Action;
  readonly letter?: string;
}
/** The active row, the one before its last change (the same after Parley has set it), and the one that Parley set last. */
interface Active {
  readonly row: Row | undefined;
  readonly before: Row | undefined;
  readonly set: Row | undefined;
}
/** The input from which the rows are built. */
interface PickInput extends Pick<ApprovalPickSetting, 'cwd' | 'feedback' | 'room'> {
  readonly ask: Approval;
  readonly title: string;
  /** The file whose diff is open beside the pick. */
  readonly openFile: string | undefined;
}

/** Characters of the question in a title, which wraps; a longer question also goes into rows. */
export const LONGEST_TITLE = 300;
/** UTF-16 units of a name that titles hold beside their other words. */
const NAME_IN_TITLE = LONGEST_TITLE - 100;
/** Files with a row of their own. */
const MOST_FILES = 50;
/** Lines of a text shown under the answers. */
const MOST_LINES = 8;
/** Letters beside a file's name. */
const BESIDE_NAME = 10;
/** Dangerous parts of a long command that get rows of their own. */
const MOST_EXCERPTS = 4;

/**
 * One approval as a quick-pick: the question is the title, the answers come first, the details follow and answer nothing. The focus is on the safest
 * answer, or, for a dangerous action, on a row that only opens it. A letter moves the focus, Enter decides. Closing the pick without a chosen answer
 * dismisses it.
 */
export class ApprovalPick implements AskPick {
  readonly outcome: Promise<PickOutcome>;
  readonly #life = new Lifetime();
  readonly #pick = vscode.window.createQuickPick<Row>();
  readonly #setting: ApprovalPickSetting;
  readonly #ports: ApprovalPickPorts;
  readonly #buttons: ReadonlyMap<vscode.QuickInputButton, Action | 'copy' | 'rules'>;
  readonly #settled = pendingOutcome();
  #ask: Approval;
  /** The file whose diff is open beside the pick, and the room in the window. */
  #around: Pick<PickInput, 'openFile' | 'room'>;
  #hint: NodeJS.Timeout | undefined;
  /** Typed characters whose effect on the focus the editor has yet to report; it may restart the wait. */
  #unconfirmed = 0;
  #active: Active = { row: undefined, before: undefined, set: undefined };
  /** The editor has reported a row for the Enter that follows: it does not where no row has the focus on the screen. */
  #hasRow = false;

  constructor(ask: Approval, title: string, setting: ApprovalPickSetting, ports: ApprovalPickPorts) {
    this.#ask = ask;
    this.#setting = setting;
    this.#ports = ports;
    this.outcome = this.#settled.promise;
    this.#around = { openFile: firstOpenFile(ask, setting.diffOpen), room: setting.room };
    this.#buttons = new Map(titleButtons(ask, setting.diffOpen));
    const pick = this.#pick;
    pick.title = title;
    pick.buttons = [...this.#buttons.keys()];
    pick.keepScrollPosition = true;
    // Not declared for extensions: without it a typed letter sorts the rows that have it to the top for a moment.
    Object.assign(pick, { sortByLabel: false });
    pick.ignoreFocusOut = true;
    pick.items = pickRows(this.#shown());
    this.#activate(pick.items[0]);
    this.#life.onEnd(() => clearTimeout(this.#hint));
    this.#life.own(
      pick.onDidChangeActive(([row]) => {
        // While rows are drawn none is active for a moment.
        if (row) this.#active = { row, before: this.#active.row, set: this.#active.set };
      }),
    );
    this.#life.own(pick.onDidChangeValue((value) => this.#typed(value)));
    this.#life.own(
      pick.onDidChangeSelection(([row]) => {
        this.#hasRow = row !== undefined;
      }),
    );
    this.#life.own(pick.onDidAccept(() => this.#accepted()));
    this.#life.own(pick.onDidTriggerButton((button) => this.#pressed(button)));
    this.#life.own(pick.onDidHide(() => this.#leave({ how: 'dismissed' })));
    // Redraws, as the editor draws the icons of rows for the theme active at that moment.
    this.#life.own(vscode.window.onDidChangeActiveColorTheme(() => this.#draw()));
    if (setting.after) void setting.after.then(() => this.#show());
    else this.#show();
  }

  update(ask: Ask, title: string): void {
    if (this.#life.ended || ask.kind !== 'approval') return;
    this.#pick.title = title;
    if (ask === this.#ask) return;
    const before = this.#ask;
    this.#ask = ask;
    this.#draw();
    if (!sameMeaning(before, ask, this.#setting.cwd)) this.#guardUntilSeen();
  }

  resized(room: PickRoom): void {
    if (this.#life.ended || JSON.stringify(room) === JSON.stringify(this.#around.room)) return;
    this.#around = { ...this.#around, room };
    this.#draw();
    // What was in sight may not be any more: the focus is where it is in a new pick.
    this.#activate(this.#pick.items[0]);
    this.#guardUntilSeen();
  }

  focus(letter: string): void {
    const row = this.#pick.items.find((one) => one.letter === letter);
    if (row) this.#activate(row);
  }

  end(): void {
    this.#leave({ how: 'takenDown' });
  }

  hold(): Promise<void> {
    return holdInput(this.#pick);
  }

  dispose(): void {
    this.end();
    this.#pick.dispose();
  }

  #show(): void {
    if (this.#life.ended) return;
    this.#pick.show();
    this.#guardUntilSeen();
  }

  #shown(): PickInput {
    const { cwd, feedback } = this.#setting;
    return { ask: this.#ask, title: this.#pick.title ?? '', cwd, feedback, ...this.#around };
  }

  /** Ignores keys until the ask is drawn, and for a moment after; the hint appears when keys count. */
  #guardUntilSeen(): void {
    const { guard } = this.#setting;
    guard.stop();
    void this.#ports.drawn().then(() => {
      if (this.#life.ended) return;
      guard.begin();
      this.#hintWhenKeysCount();
    });
  }

  #hintWhenKeysCount(): void {
    clearTimeout(this.#hint);
    this.#pick.placeholder = '';
    const { left } = this.#setting.guard;
    if (left === undefined) return;
    this.#hint = setTimeout(() => {
      if (this.#unconfirmed === 0) this.#pick.placeholder = t('{0|Enter|Space chooses, Enter} decides. Esc decides nothing.', 1);
    }, left);
  }

  /** Rebuilds the rows; the active row stays active. */
  #draw(): void {
    const pick = this.#pick;
    const items = pickRows(this.#shown());
    const { row } = this.#active;
    pick.items = items;
    this.#activate(row && (items.find((one) => sameRow(row, one)) ?? items[0]));
  }

  #activate(row: Row | undefined): void {
    this.#active = { row, before: row, set: row };
    this.#pick.activeItems = row ? [row] : [];
  }

  #leave(outcome: PickOutcome): void {
    if (this.#life.ended) return;
    this.#life.dispose();
    if (outcome.how !== 'chosen' && outcome.how !== 'takenDown') this.#pick.dispose();
    this.#settled.settle(outcome);
  }

  #typed(value: string): void {
    if (value === '') return;
    const { guard } = this.#setting;
    this.#pick.value = '';
    const row = this.#pick.items.find((one) => one.letter === value.toUpperCase());
    if (row && guard.press() && !this.#ports.isNew()) this.#activate(row);
    else {
      // A character that belongs to no answer was meant for elsewhere, and so is an Enter that follows.
      if (!row) guard.stray();
      this.#hintWhenKeysCount();
      this.#activate(this.#rowBeforeTyping(!row));
    }
    void this.#confirm();
  }

  /** The editor moves to the first row at each typed character. Where the row before is uncertain or typed for elsewhere, and could allow, none is active. */
  #rowBeforeTyping(isStray: boolean): Row | undefined {
    const { row, before } = this.#active;
    const isSafe = (row === before && !isStray) || !before?.answer || before.answer.means === 'reject';
    return isSafe ? before : undefined;
  }

  /** Activates the row again where an arrow key crossed it: the editor shows this row then, but has reported the first one. */
  async #confirm(): Promise<void> {
    const { set } = this.#active;
    this.#unconfirmed += 1;
    // Changes of a pick leave the extension by a timer.
    await new Promise((resolve) => setTimeout(resolve, 1));
    await this.#ports.drawn();
    this.#unconfirmed -= 1;
    if (this.#life.ended) return;
    const now = this.#active;
    if (now.set === set && now.row !== set && now.row === this.#pick.items[0]) {
      this.#setting.guard.restart();
      this.#activate(set);
      this.#hintWhenKeysCount();
    } else if (this.#pick.placeholder === '') this.#hintWhenKeysCount();
  }

  #accepted(): void {
    const row = this.#hasRow ? this.#active.row : undefined;
    this.#hasRow = false;
    if (!this.#setting.guard.press() || this.#ports.isNew()) return this.#hintWhenKeysCount();
    if (row?.action) return this.#act(row.action);
    if (row?.answer) this.#leave({ how: 'chosen', ask: this.#ask, answer: row.answer });
  }

  #pressed(button: vscode.QuickInputButton): void {
    const action = this.#buttons.get(button);
    if (action === 'rules') return this.#ports.manageRules();
    if (action === 'copy') return void vscode.env.clipboard.writeText(this.#ask.detail.type === 'command' ? this.#ask.detail.command : '');
    if (action) this.#act(action);
  }

  #act(action: Action): void {
    switch (action.do) {
      case 'look': {
        const { path } = action;
        if (path !== undefined || hasOneFile(this.#ask)) return this.#leave({ how: 'look', at: path === undefined ? {} : { path } });
        return this.#leave({ how: 'look', at: { text: lookedAt(this.#ask, this.#setting.cwd) } });
      }
      case 'lookAtText':
        return this.#leave({ how: 'look', at: { text: { name: action.title, text: action.text } } });
      case 'openDiff':
        if (action.path !== undefined) this.#around = { ...this.#around, openFile: action.path };
        this.#ports.openDiff(action.path);
        return this.#draw();
    }
  }
}

/** Compares kinds too: a separator may have the label of a row, and takes no focus. */
function sameRow(one: Row, other: Row): boolean {
  const isSameAction = JSON.stringify(one.action) === JSON.stringify(other.action);
  return one.kind === other.kind && one.answer?.id === other.answer?.id && one.label === other.label && isSameAction;
}

/** Files whose diffs show what an edit changes. */
function filesOf(ask: Approval, diffs: readonly Diff[]): readonly FileDiffs[] {
  return byPath(shownDiffs(ask, diffs));
}
function hasOneFile(ask: Approval): boolean {
  return ask.detail.type === 'edit' && filesOf(ask, ask.detail.diffs).length === 1;
}

/** The ask as one text, with the offset of its dangerous part. An editor cuts very long lines: they go on in the next. */
export function lookedAt(ask: Approval, cwd: string): NonNullable<AskPreview['text']> {
  const { detail } = ask;
  const text = asLines(visibleText(wholeText(ask)));
  const at = dangersOf(ask, cwd).find((one) => one.at)?.at?.from;
  const ending = { command: /^[A-Za-z]:|^\\\\/.test(cwd) ? '.ps1' : '.sh', edit: '.diff', mcp: '', text: '' }[detail.type];
  return {
    name: `${vscode.l10n.t('Look first')}${ending}`,
    text,
    ...(at !== undefined && detail.type === 'command' ? { at: asLines(visibleText(detail.command.slice(0, at))).length } : {}),
  };
}

function pickRows(shown: PickInput): readonly Row[] {
  const { ask } = shown;
  const asked = approvalAnswers(ask, shown);
  const { answers } = asked;
  const { first, more } = firstAnswers(answers);
  const above = [...(looksFirst(asked, shown) ? [lookRow()] : []), ...first.map((one) => answerRow(one, shown.room))];
  const lines = above.length + above.filter((row) => row.detail !== undefined).length;
  const details = [ask.detail, ...(ask.beside ?? [])].flatMap((detail) => detailRows(shown, detail, lines));
  const title = isTitleCut(ask) ? textRows(ask.title.trim(), '', shown.room) : [];
  return [
    ...above,
    ...(more.length > 0 ? [separator(commandTitle('diffAnswers')), ...more.map((one) => answerRow(one, shown.room))] : []),
    ...excerptRows(shown),
    ...title,
    ...details,
    ...wordRows(answers, ask, shown.room),
  ];
}

/** True where the focus is on the row that only shows what is asked: Enter must not allow anything that is out of sight. */
function looksFirst({ grave, once, answers }: ApprovalAnswers, shown: Omit<PickInput, keyof AnswerSetting>): boolean {
  return grave || !once || answers[0] !== once || isCut(shown);
}

/** The answers as a card shows them, which prefers none that the pick does not prefer. */
export function cardAnswers(ask: Approval, { diffOpen, room, ...setting }: Omit<ApprovalPickSetting, 'guard' | 'after'>): ApprovalAnswers {
  const asked = approvalAnswers(ask, setting);
  return { ...asked, grave: looksFirst(asked, { ask, title: '', room, openFile: firstOpenFile(ask, diffOpen) }) };
}

/** The file whose diff opens with the pick. */
function firstOpenFile({ detail }: Approval, diffOpen: boolean): string | undefined {
  return diffOpen && detail.type === 'edit' ? detail.diffs[0]?.path : undefined;
}

function lookRow(): Row {
  return { label: vscode.l10n.t('Look first'), letter: 'L', iconPath: keyIcon('L'), alwaysShow: true, action: { do: 'look' } };
}

function answerRow(answer: ApprovalAnswer, room: PickRoom): Row {
  const { letter } = answer;
  const { description, detail } = wordsOf(answer, room);
  return {
    label: plainLabel(answer.label),
    alwaysShow: true,
    answer,
    ...(description === undefined ? {} : { description }),
    ...(detail === undefined ? {} : { detail }),
    ...(letter === undefined ? { iconPath: new vscode.ThemeIcon('blank') } : { letter, iconPath: keyIcon(letter) }),
  };
}

/** Places an answer's text: beside its label, on a line of its own where that is too short, and cut only where both are. */
function wordsOf(
  { label, description }: ApprovalAnswer,
  room: PickRoom,
): {
  readonly description?: string;
  readonly detail?: string;
  readonly isCut?: true;
} {
  if (description === undefined) return {};
  const words = plainLabel(description);
  const within = (width: number) => commandRows(words, 1, width).rows[0] ?? '';
  if (within(Math.max(16, room.row - 4 - label.length)) === words) return { description: words };
  const line = within(room.row);
  return line === words ? { detail: words } : { detail: `${line.trimEnd()}…`, isCut: true };
}

/** The agent's own answer texts in full, where no row holds them. */
function wordRows(answers: readonly ApprovalAnswer[], ask: Approval, room: PickRoom): readonly Row[] {
  const cut = answers.filter((one) => wordsOf(one, room).isCut);
  const words = [...cut.map(({ label, description }) => `${label}: ${description}`), ...longNames(ask)];
  return words.length === 0 ? [] : textRows(words.join('\n'), vscode.l10n.t('Answers'), room);
}

function separator(label: string): Row {
  return { label, kind: vscode.QuickPickItemKind.Separator };
}

function titleButtons({ detail }: Approval, diffOpen: boolean): readonly (readonly [vscode.QuickInputButton, Action | 'copy' | 'rules'])[] {
  const button = (icon: string, tooltip: string, action: Action | 'copy' | 'rules') =>
    [{ iconPath: new vscode.ThemeIcon(icon), tooltip }, action] as const;
  const look = vscode.l10n.t('Look first');
  return [
    ...(detail.type === 'edit' && !diffOpen
      ? [button('diff', commandTitle('openChange'), { do: 'openDiff' })]
      : [button('eye', look, { do: 'look' })]),
    ...(detail.type === 'command' ? [button('copy', vscode.l10n.t('Copy'), 'copy')] : []),
    button('settings', commandTitle('manageRules'), 'rules'),
  ];
}

/** The title: the warnings first, as a row above the answers would take keys. */
export function pickTitle(ask: Approval, cwd: string, heading: string): string {
  const { dangers } = approvalAnswers(ask, { cwd, feedback: false });
  return dangers.length === 0 ? heading : `⚠ ${dangers.map(dangerText).join(' · ')} — ${heading}`;
}

function wholeText(ask: Approval): string {
  const title = isTitleCut(ask) ? [ask.title.trim()] : [];
  return [...title, ...[ask.detail, ...(ask.beside ?? [])].map((detail) => textOf(ask, detail))].join('\n\n');
}

function textOf(ask: Approval, detail: ApprovalDetail): string {
  switch (detail.type) {
    case 'command':
      return detail.cwd === undefined ? detail.command : `${detail.command}\n\n${vscode.l10n.t('in {0}', detail.cwd)}`;
    case 'edit':
      return filesOf(ask, detail.diffs).map(patchOf).join('\n\n');
    case 'mcp':
      return `${detail.server} / ${detail.tool}\n${inputText(detail.input)}`;
    case 'text':
      return detail.text;
  }
}

/** The changes of a file as a patch; of texts that are too long to compare, both sides. */
function patchOf({ path, diffs }: FileDiffs): string {
  const [name, becomes] = [fileName(path), fileBecomes(diffs)];
  const head = [`--- ${becomes === 'new' ? '/dev/null' : name}`, `+++ ${becomes === 'deleted' ? '/dev/null' : name}`];
  const signed = (sign: string, text: string | null) => (text ?? '').split('\n').map((line) => sign + line);
  const lines = diffs.flatMap((diff) => {
    const { hunks, tooLong } = hunksOf(diff);
    if (diff.summary || tooLong) return [...signed('-', diff.before), ...signed('+', diff.after)];
    return hunks.flatMap(([first, ...rest]) => {
      const line = first?.after ?? first?.before;
      return [`@@ ${line ?? '…'} @@`, ...[first, ...rest].flatMap((one) => (one ? [`${one.sign}${one.text}${one.ends ? '↵' : ''}`] : []))];
    });
  });
  return [...head, ...lines].join('\n');
}

/** True when only the agent's title describes the request, and it is longer than our titles. */
function isTitleCut(ask: Approval): boolean {
  return ask.title.length > LONGEST_TITLE && saysByTitle(ask);
}

/** True when the ask is longer than the pick and the diff beside it show. */
function isCut({ ask, openFile, ...over }: Omit<PickInput, keyof AnswerSetting>): boolean {
  const { room } = over;
  const isLong = (text: string) => commandRows(text, linesIn(room), room.row).more > 0;
  if (isTitleCut(ask)) return true;
  return [ask.detail, ...(ask.beside ?? [])].some((detail) => {
    switch (detail.type) {
      case 'command':
        if (detail.command.trim() === '') return ask.title.trim() === '';
        return !(detail === ask.detail && fitsTitle(detail.command)) && isLong(detail.command);
      case 'edit': {
        const files = filesOf(ask, detail.diffs);
        if (files.some(({ path }) => isLongName(fileName(path)))) return true;
        if (files.length !== 1) return !areFew(files, room);
        const lines = linesOf(files[0]?.diffs ?? [], room);
        const shown = openFile === undefined ? lines : linesToShow(lines, { ...over, above: MOST_ANSWERS, folds: folds() });
        if (shown.some((line) => line.isCut)) return true;
        if (openFile !== undefined) return rowsOf(shown) > room.under;
        return lines.length > linesIn(room) || detail.diffs.some((diff) => hunksOf(diff).tooLong);
      }
      case 'mcp':
        return isLongName(detail.tool + detail.server) || isLong(inputText(detail.input));
      case 'text':
        return isLong(wordsBeside(ask, detail).trim());
    }
  });
}

/** True for changes of several files that the pick shows whole, so that none of their diffs has to be looked at. */
function areFew(files: readonly FileDiffs[], room: PickRoom): boolean {
  const all = files.flatMap(({ diffs }) => diffs);
  const isWhole = ({ diffs }: FileDiffs) =>
    unplacedNote(diffs) === '' && diffs.every((diff) => !diff.summary && hunksOf(diff).hunks.length > 0);
  const most = linesIn(room);
  if (all.length > most || !files.every(isWhole)) return false;
  if (all.map(hunksOf).reduce((sum, { added, removed }) => sum + added + removed, 0) > most) return false;
  const lines = linesOf(all, room);
  return rowsOf(lines) <= most && !lines.some(({ isCut }) => isCut);
}

/** True for a name that a title, or the rows of a file, may cut. */
function isLongName(name: string): boolean {
  return name.length > NAME_IN_TITLE;
}

/** The dangerous parts of a command that its rows do not begin with, each in a row. */
function excerptRows({ ask, cwd, room }: PickInput): readonly Row[] {
  const { detail } = ask;
  if (detail.type !== 'command' || fitsTitle(detail.command) || commandRows(detail.command, linesIn(room), room.row).more === 0) return [];
  const marks = dangersOf(ask, cwd).flatMap(({ at }) => (at ? [at] : []));
  const parts = new Set(marks.slice(0, MOST_EXCERPTS).map((at) => excerptOf(detail.command, at, room.row - 6)));
  return parts.size === 0
    ? []
    : [separator(''), ...[...parts].map((part) => ({ ...plainRow(part), iconPath: new vscode.ThemeIcon('warning') }))];
}

/** The details of an ask that the title does not show. `above`: number of rows above, two-line rows counted twice. */
function detailRows(shown: PickInput, detail: ApprovalDetail, above: number): readonly Row[] {
  const { ask, cwd, openFile, room } = shown;
  switch (detail.type) {
    case 'command': {
      const inTitle = detail === ask.detail && fitsTitle(detail.command);
      const folder = elsewhere(detail, cwd);
      const place = folder === undefined ? [] : [plainRow(vscode.l10n.t('in {0}', folder))];
      if (inTitle) return place.length > 0 ? [separator(''), ...place] : [];
      return [...textRows(detail.command, '', room), ...place];
    }
    case 'edit': {
      const files = filesOf(ask, detail.diffs);
      const heading = ask.revised ? vscode.l10n.t('edited by you') : '';
      const [only] = files;
      if (only && files.length === 1) {
        const name = fileName(only.path);
        const whole = isLongName(name) ? textRows(name, '', room) : [];
        return [...whole, ...changeRows(only, { shown, isOver: openFile !== undefined }, heading, above + whole.length)];
      }
      const inPick = areFew(files, room);
      const open = files.filter(({ path }) => inPick || path === openFile);
      const amounts = changeAmounts(files.map(({ diffs }) => diffs));
      const names = [
        ...files.slice(0, MOST_FILES).flatMap((file, at) => fileRows(file, amounts[at] ?? '', room)),
        ...moreFiles(files, amounts),
      ];
      const changes = open.flatMap((file) => changeRows(file, { shown, isOver: !inPick }, fileLabel(file.path), above + names.length));
      return [...changes, separator(heading), ...names];
    }
    case 'mcp': {
      const input = inputText(detail.input);
      return input === '' ? [] : textRows(input, '', room);
    }
    case 'text': {
      const words = wordsBeside(ask, detail).trim();
      return words === '' ? [] : textRows(detail.markdown ? plainMarkdown(words) : words, '', room);
    }
  }
}

/** True for a command short enough to be shown whole in a title, which wraps. */
export function fitsTitle(command: string): boolean {
  const text = command.trim();
  return text.length <= 160 && !text.includes('\n');
}

function fileLabel(path: string): string {
  return plainLabel(fileName(path));
}

function fileName(path: string): string {
  return vscode.workspace.asRelativePath(path).replace(/\s+/g, ' ').trim();
}

/** A name that is longer than a row goes on in the next. */
function fileRows({ path, diffs }: FileDiffs, amount: string, room: PickRoom): readonly Row[] {
  const [label = '', ...more] = commandRows(fileName(path), MOST_LINES, Math.max(8, room.row - BESIDE_NAME)).rows;
  const first: Row = {
    label,
    description: [fate(diffs), amount, unplacedNote(diffs)].filter(Boolean).join(' · '),
    iconPath: new vscode.ThemeIcon('diff'),
    alwaysShow: true,
    action: { do: 'openDiff', path },
  };
  return [first, ...more.map((text): Row => ({ label: text, iconPath: new vscode.ThemeIcon('blank'), alwaysShow: true }))];
}

function moreFiles(files: readonly FileDiffs[], amounts: readonly string[]): readonly Row[] {
  if (files.length <= MOST_FILES) return [];
  const line = ({ path, diffs }: FileDiffs, at: number) => [fileLabel(path), fate(diffs), amounts[at]].filter(Boolean).join('  ');
  const label = vscode.l10n.t('{0} more', files.length - MOST_FILES);
  const action: Action = { do: 'lookAtText', title: label, text: files.map(line).join('\n') };
  return [{ label, iconPath: new vscode.ThemeIcon('ellipsis'), alwaysShow: true, action }];
}

/** The changed lines of a file that its diff may not show, because there is none or because the pick lies over them. */
function changeRows(
  { path, diffs }: FileDiffs,
  { shown, isOver }: { readonly shown: PickInput; readonly isOver: boolean },
  heading: string,
  above: number,
): readonly Row[] {
  const { room } = shown;
  const note = unplacedNote(diffs);
  const summaries = diffs.filter((diff) => diff.summary).map((diff) => plainRow(diff.after ?? diff.before ?? ''));
  const lines = linesOf(diffs, room);
  const outOfSight = isOver ? linesToShow(lines, { ...shown, above: above + summaries.length, folds: folds() }) : lines;
  const rows = isOver && rowsOf(outOfSight) <= room.under ? outOfSight : outOfSight.slice(0, linesIn(room));
  if (rows.length === 0 && summaries.length === 0 && note === '') return [];
  const more = lines.length - rows.length;
  const action: Action = { do: 'look', path };
  return [
    separator(heading),
    ...(note === '' ? [] : [plainRow(note)]),
    ...summaries,
    ...rows.flatMap((line, at): readonly Row[] => {
      const number = line.after ?? line.before;
      const firstOfRun = number !== undefined && rows[at - 1]?.sign !== line.sign;
      const place = firstOfRun ? { description: vscode.l10n.t('line {0}', number) } : {};
      const blank = { iconPath: new vscode.ThemeIcon('blank'), alwaysShow: true };
      return line.rows.map((label, row): Row => ({ label, ...blank, ...(row === 0 ? place : {}) }));
    }),
    ...(rows.length > 0 && more > 0
      ? [{ ...plainRow(t('Show {0} more {0|line|lines}', more)), iconPath: new vscode.ThemeIcon('ellipsis'), action }]
      : []),
  ];
}

/** Lines of a text under the answers that are in sight. */
function linesIn({ under }: PickRoom): number {
  return Math.min(MOST_LINES, Math.max(2, under));
}

function linesOf(diffs: readonly Diff[], room: PickRoom): readonly ChangedLine[] {
  const ignoresBlanks = vscode.workspace.getConfiguration('diffEditor').get<boolean>('ignoreTrimWhitespace') === true;
  return changedLines(diffs, ignoresBlanks, room);
}
function folds(): boolean {
  return vscode.workspace.getConfiguration('diffEditor').get<boolean>('hideUnchangedRegions.enabled') === true;
}

/** A row that only shows text. */
function plainRow(text: string): Row {
  return { label: plainLabel(text), iconPath: new vscode.ThemeIcon('blank'), alwaysShow: true };
}

/** Says in words that a file is created or deleted, as lines alone do not show it. */
function fate(diffs: readonly Diff[]): string {
  const becomes = fileBecomes(diffs);
  if (becomes === 'changed') return '';
  return becomes === 'deleted' ? vscode.l10n.t('deleted') : vscode.l10n.t('new');
}

function textRows(text: string, heading: string, room: PickRoom): readonly Row[] {
  const { rows, more } = commandRows(text, linesIn(room), room.row);
  const lines: Row[] = rows.map((label) => ({ label, iconPath: new vscode.ThemeIcon('blank'), alwaysShow: true }));
  if (more > 0) {
    const label = t('Show {0} more {0|line|lines}', more);
    const action: Action = { do: 'lookAtText', title: heading === '' ? label : heading, text: asLines(visibleText(text)) };
    lines.push({ label, iconPath: new vscode.ThemeIcon('ellipsis'), alwaysShow: true, action });
  }
  return [separator(heading), ...lines];
}

const made = new Map<string, { readonly light: vscode.Uri; readonly dark: vscode.Uri }>();

/** A key cap with this letter, as a row's icon. */
function keyIcon(letter: string): { readonly light: vscode.Uri; readonly dark: vscode.Uri } {
  let icon = made.get(letter);
  if (!icon) {
    icon = { light: drawn(letter, '#3b3b3b'), dark: drawn(letter, '#cccccc') };
    made.set(letter, icon);
  }
  return icon;
}

function drawn(letter: string, colour: string): vscode.Uri {
  const frame = `<rect x='1.5' y='1.5' width='13' height='13' rx='3' fill='none' stroke='${colour}'/>`;
  const text = `<text x='8' y='11.5' font-family='sans-serif' font-size='9.5' font-weight='600' text-anchor='middle' fill='${colour}'>${letter}</text>`;
  const svg = `<svg xmlns='http://www.w3.org/2000/svg' width='16' height='16' viewBox='0 0 16 16'>${frame}${text}</svg>`;
  return vscode.Uri.parse(`data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`);
}

/** The whole question on one line. `agent`: who asks, where several could be meant; '' otherwise. */
export function pickHeading(session: Session | undefined, ask: Ask, agent: string): string {
  const asker = askerOf(ask, agent);
  if (!session || ask.kind === 'question') return [asker, shortened(plainLabel(ask.title), LONGEST_TITLE)].filter(Boolean).join(': ');
  const { action, subject, amount } = approvalHeading(ask, session);
  const what = subject !== undefined && fitsTitle(subject) ? `${plainLabel(action)}: ${commandLabel(subject)}` : plainLabel(action);
  const heading = [shortened(what, LONGEST_TITLE), amount === undefined ? '' : `(${amount})`].filter(Boolean).join(' ');
  return [asker, pickTitle(ask, session.cwd, heading)].filter(Boolean).join(' · ');
}

function askerOf(ask: Ask, agent: string): string {
  if (ask.ours) return agent === '' ? 'Parley' : `Parley (${plainLabel(agent)})`;
  if (ask.asker) return agent === '' ? plainLabel(ask.asker) : `${agent} › ${plainLabel(ask.asker)}`;
  return agent;
}

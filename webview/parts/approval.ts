import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { ApprovalAnswer, ApprovalAnswers } from '../../src/session/approvalAnswers.ts';
import type { Approval, ApprovalDetail, AskId, Option } from '../../src/session/model.ts';
import { byPath, type FileDiffs, longNames, relativePath } from '../../src/session/select.ts';
import {
  approvalHeading,
  changesEndsOnly,
  dangerText,
  elsewhere,
  excerptOf,
  inputText,
  revisedWords,
  shownDiffs,
  wordsBeside,
} from '../../src/session/shownApproval.ts';
import { shortened, visibleText } from '../../src/session/visible.ts';
import { drawable, drawableEnd } from '../drawable.ts';
import { iconOf } from '../icons.ts';
import { textView } from '../markdownView.ts';
import { byFolders, commandTitle, inWords, t, visible } from '../strings.ts';
import type { SessionMemory } from '../ui.ts';
import { isUnfolded, type View } from '../view.ts';
import { askerView, countdownView, guardOf, type Paging, pagingView, scrollBox, warningLine } from './askCard.ts';
import { counts, diffLines, unplacedNote } from './diff.ts';
import { moreText, notShown, plainText, showMoreButton, shownCount } from './fold.ts';

/** Field name of unsent feedback on an approval. */
const FEEDBACK = 'words';
/** Key of the fold that shows its field. */
const wordsKey = (askId: AskId): string => `${askId}:words`;
const EDITED = 'edited';
/** Characters of a long text in the heading and the tooltip: the scrolling part has the whole text. */
const HEADING = 300;
/** Lines of a command before the rest is folded. */
const LINES_SHOWN = 8;
/** The most lines that are shown to reach the last one with a warning: the dangers of a long command are listed above it. */
const MOST_LINES_SHOWN = 40;
/** UTF-16 units of a command that are drawn folded, unfolded, and of its end. */
const [FOLDED, UNFOLDED, END] = [4000, 40_000, 300];
/** Letters of the agent's own words on a button. */
const WORDS = 60;
/** UTF-16 units of a command that a narrow card shows without scrolling; a longer one gets its dangerous parts shown separately. */
const IN_SIGHT = 200;
const EXCERPT = 60;
/** Warnings that one folded line tells; of more it gives the number, as a whole one may be cut. */
const TOLD_BY_A_LINE = 2;
/** Answers in the agent's words that are buttons before the others fold into the menu. */
const MOST_BUTTONS = 4;

type Dangers = ApprovalAnswers['dangers'];

/** An action that needs the user's approval. Only a press on an answer decides; letters move the focus to their answer. */
export function approvalView(view: View, ask: Approval, paging?: Paging): TemplateResult {
  const { session, memory } = view;
  const answers = view.answersTo(ask.id);
  const { action, amount } = approvalHeading(ask, session);
  const heading = shortened(action, HEADING);
  const given = memory.answers[ask.id] ?? {};
  const wordsOpen = isUnfolded(memory, wordsKey(ask.id), false) && answers.answers.some((one) => one.means === 'feedback');
  return html`<section class="ask card approval" role="group" tabindex="-1" aria-label=${visibleText(heading)} data-ask=${ask.id}
    ${guardOf(view, ask)} @keydown=${(event: KeyboardEvent) => letterPressed(view, ask, event)}>
    <header>
      <h2><bdi>${byFolders(heading)}</bdi></h2>
      ${amountView(ask, amount)} ${openDiffView(view, ask)} ${pagingView(paging)}
    </header>
    ${askerView(ask)} ${countdownView(ask.until)} ${risksView(view, answers.dangers, ask)}
    ${scrollBox(html`${cutTexts(view, ask, action)}${bodyView(view, ask, answers, given[EDITED]?.[0])}`)}
    ${wordsOpen ? wordsView(view, ask, answers, given[FEEDBACK]?.[0] ?? '') : answersView(view, ask, answers)}
  </section>`;
}

function amountView(ask: Approval, amount: string | undefined): TemplateResult | typeof nothing {
  if (ask.detail.type === 'edit') return counts(shownDiffs(ask, ask.detail.diffs));
  return amount === undefined ? nothing : html`<span class="small faint">${amount}</span>`;
}

function openDiffView(view: View, ask: Approval): TemplateResult | typeof nothing {
  if (ask.detail.type !== 'edit') return nothing;
  const label = commandTitle('Open Changes');
  return html`<button class="icon-button" type="button" title="${label} (D)" aria-label=${label} data-letter="D"
    @click=${() => view.act.review({ askId: ask.id })}>${iconOf('open')}</button>`;
}

/** The warnings, the gravest first. They share a line and its sign; where its end is cut, a button shows it whole. */
function risksView(view: View, dangers: Dangers, { id, detail }: Approval): TemplateResult | typeof nothing {
  if (dangers.length === 0) return nothing;
  const long = detail.type === 'command' && detail.command.length > IN_SIGHT ? detail.command : undefined;
  const part = ({ at }: Dangers[number]) =>
    long === undefined || !at ? nothing : html`: <code dir="ltr"><bdi>${visible(excerptOf(long, at, EXCERPT))}</bdi></code>`;
  const key = `ask:${id}:risks`;
  const isOpen = isUnfolded(view.memory, key, false);
  const mayFold = long === undefined;
  const label = isOpen ? t('Show less') : t('Show all');
  const number = isOpen || dangers.length <= TOLD_BY_A_LINE ? '' : String(dangers.length);
  const sign = iconOf('warning');
  const line = mayFold ? dangers.map(dangerText).join(' · ') : nothing;
  return warningLine(
    mayFold ? (isOpen ? 'one-line' : 'one-line folded') : '',
    html`${mayFold ? sign : nothing}<ul class="risks" aria-label=${t('Warning')} title=${line}>${dangers.map((one) => html`<li class="risk">${mayFold ? nothing : sign}<span class="risk-words">${dangerText(one)}${part(one)}</span></li>`)}</ul>
    ${
      mayFold
        ? html`<button class="risk-whole" type="button" title=${label} aria-label=${`${label} ${number}`.trim()} aria-expanded=${String(isOpen)} @click=${() => view.act.unfold(key, !isOpen)}>${number}${iconOf(isOpen ? 'down' : 'chevron')}</button>`
        : nothing
    }`,
  );
}

/** The full texts that the heading and the buttons truncate. */
function cutTexts(view: View, ask: Approval, title: string): TemplateResult {
  const names = longNames(ask).map((one) => visibleText(one));
  return html`${shortened(title, HEADING) === title ? nothing : plainText(view, `ask:${ask.id}:title`, visibleText(title))}${
    names.length === 0 ? nothing : html`<p class="faint">${t('Answers')}</p>${plainText(view, `ask:${ask.id}:names`, names.join('\n\n'))}`
  }`;
}

function bodyView(view: View, ask: Approval, { dangers }: ApprovalAnswers, edited: string | undefined): TemplateResult {
  return html`${detailView(view, ask, ask.detail, `ask:${ask.id}`, dangers, edited)}${(ask.beside ?? []).map((one, at) =>
    detailView(view, ask, one, `ask:${ask.id}:${at}`, []),
  )}`;
}

function detailView(
  view: View,
  ask: Approval,
  detail: ApprovalDetail,
  key: string,
  dangers: Dangers,
  edited?: string,
): TemplateResult | typeof nothing {
  switch (detail.type) {
    case 'command': {
      const folder = elsewhere(detail, view.session.cwd);
      return html`${commandView(view, ask, key, detail.command, dangers)}
        ${folder === undefined ? nothing : html`<p class="faint">${t('in {0}', visibleText(folder))}</p>`}
        ${ask.editable && detail === ask.detail && detail.command.length <= UNFOLDED ? commandEditor(view, ask, edited ?? detail.command) : nothing}`;
    }
    case 'edit': {
      const files = byPath(shownDiffs(ask, detail.diffs));
      const alone = files.length === 1 && detail === ask.detail;
      return html`${ask.revised ? html`<p class="faint">${revisedWords(ask)}</p>` : nothing}${files
        .slice(0, shownCount(view, key))
        .map((file, at) =>
          fileView(view, ask, file, `${key}/${at}`, alone),
        )}${showMoreButton(view, key, files.length, (left) => t('{0} more', left))}`;
    }
    case 'mcp':
      return detail.input === undefined
        ? nothing
        : html`<div class="box">${plainText(view, key, visibleText(inputText(detail.input)))}</div>`;
    case 'text': {
      const words = wordsBeside(ask, detail);
      if (words.trim() === '') return nothing;
      return detail.markdown ? textView(visibleText(words), true) : plainText(view, key, visibleText(words));
    }
  }
}

function fileView(view: View, ask: Approval, file: FileDiffs, key: string, alone: boolean): TemplateResult {
  const path = relativePath(file.path, view.session.cwd);
  const open = () => view.act.review({ askId: ask.id, path: file.path });
  return html`<div class="diff">
    ${
      alone
        ? nothing
        : html`<div class="diff-head"><button class="path-button" type="button" title=${commandTitle('Open Changes')} @click=${open}><bdi>${byFolders(path)}</bdi></button>
            ${file.diffs[0]?.before === null && !file.diffs[0].summary ? html`<span class="tag">${t('new')}</span>` : nothing}
            ${file.diffs.at(-1)?.after === null && !file.diffs.at(-1)?.summary ? html`<span class="tag">${t('deleted')}</span>` : nothing}
            ${counts(file.diffs)}</div>`
    }
    ${unplacedNote(file.diffs)}${changesEndsOnly(ask, file.diffs) ? nothing : diffLines(view, key, file.diffs)}
  </div>`;
}

/** The command as it would run. Lines that carry a warning are never folded away; of a very long one the beginning and the end are drawn. */
function commandView(view: View, ask: Approval, key: string, command: string, dangers: Dangers): TemplateResult {
  const lines = command.split('\n');
  const marks = dangers.flatMap(({ at }) => (at ? [at] : [])).sort((a, b) => a.from - b.from);
  const lastMark = marks.at(-1);
  const needed = lastMark ? command.slice(0, lastMark.to).split('\n').length : 0;
  const folded = Math.max(LINES_SHOWN, Math.min(needed, MOST_LINES_SHOWN));
  const isUnfoldedHere = isUnfolded(view.memory, `${key}:command`, false);
  const whole = lines.length <= folded + 1 || isUnfoldedHere;
  const wanted = whole ? command.length : lines.slice(0, folded).join('\n').length;
  const to = Math.min(wanted, drawable(command, isUnfoldedHere ? UNFOLDED : FOLDED));
  const isCut = to < wanted;
  const end = Math.max(to, drawableEnd(command, END));
  return html`<div class="box"><pre class="command" tabindex="0" dir="ltr"><code>${withMarks(command, marks, 0, to)}${
    isCut ? html`${end > to ? notShown(end - to) : nothing}${withMarks(command, marks, end, command.length)}` : nothing
  }</code></pre>${
    lines.length <= folded + 1 && command.length <= FOLDED && !isCut
      ? nothing
      : html`<button class="more" type="button" @click=${() => view.act.unfold(`${key}:command`, !isUnfoldedHere)}>
            ${iconOf('down')}${isUnfoldedHere ? t('Show less') : isCut ? moreText(0) : moreText(lines.length - folded)}
          </button>`
  }${
    isCut
      ? html`<button class="more" type="button" @click=${() => view.act.review({ askId: ask.id })}>${iconOf('open')}${t('Look first')}</button>`
      : nothing
  }</div>`;
}

/** The part of the text between two places; `marks` are places in the whole text. */
function withMarks(text: string, marks: readonly { readonly from: number; readonly to: number }[], begin: number, end: number): unknown {
  const pieces: unknown[] = [];
  let at = begin;
  for (const { from, to } of marks) {
    if (from < at || from >= end) continue;
    const last = Math.min(to, end);
    pieces.push(inWords(text.slice(at, from)), html`<span class="risky">${inWords(text.slice(from, last))}</span>`);
    at = last;
  }
  return [...pieces, inWords(text.slice(at, end))];
}

function commandEditor(view: View, ask: Approval, value: string): TemplateResult {
  return html`<label class="plain-field"><span class="faint">${t('Edit')}</span>
    <textarea class="text-field" rows="1" .value=${value} @input=${(event: Event) => keep(view, ask, EDITED, (event.target as HTMLTextAreaElement).value)}></textarea></label>`;
}

/** One row: allow, wider scopes behind an arrow, reject, feedback. Answers without a standard meaning are below it, in the agent's words. */
function answersView(view: View, ask: Approval, { once, reject, grave, answers }: ApprovalAnswers): TemplateResult {
  const menuKey = `${ask.id}:menu`;
  const menuOpen = isUnfolded(view.memory, menuKey, false);
  const feedback = answers.find((one) => one.means === 'feedback');
  const rest = answers.filter(({ id }) => id !== once?.id && id !== reject?.id && id !== feedback?.id);
  const buttons = once ? rest.filter((one) => one.means === 'other').slice(0, MOST_BUTTONS) : rest.slice(0, MOST_BUTTONS);
  const inMenu = rest.filter((one) => !buttons.includes(one));
  const unclear = buttons.filter((one) => one.means === 'other');
  // The agent's own words are beside ours where they may say something else.
  const words = once?.description?.startsWith('“') ? ` ${shortened(once.description, WORDS)}` : '';
  const short =
    once && once.label === t('Allow once') && (words !== '' || !grave) ? (words === '' ? t('Allow') : once.label + words) : undefined;
  const button = (one: ApprovalAnswer, label?: string, look = 'button') => answerButton(view, ask, one, label, look);
  const open = (isOpen: boolean) => {
    view.act.unfold(menuKey, isOpen);
    if (isOpen) view.act.focus(firstItemId(ask));
  };
  const key = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowDown' && !(event.key === 'Escape' && menuOpen)) return;
    open(event.key === 'ArrowDown');
    event.preventDefault();
    event.stopPropagation();
  };
  const arrow = html`<button class="button ${once && !grave ? 'primary' : ''} arrow" type="button" id=${menuId(ask)} aria-haspopup="menu" aria-expanded=${String(menuOpen)}
    title=${commandTitle('More Answers')} aria-label=${commandTitle('More Answers')} @click=${() => open(!menuOpen)} @keydown=${key}
    @focusout=${(event: FocusEvent) => menuOpen && leaveMenu(view, ask, event)}>${iconOf('down')}</button>`;
  // Above the row of its arrow: the card grows upwards, so that what opens below would come to lie under the pointer.
  return html`${menuOpen && inMenu.length > 0 ? menuView(view, ask, once ? [once, ...inMenu] : inMenu) : nothing}
    <div class="answers">
      ${
        once
          ? html`<span class="split">${button(once, short, grave ? 'button' : 'button primary')}${inMenu.length > 0 ? arrow : nothing}</span>`
          : nothing
      }
      ${buttons.filter((one) => !unclear.includes(one)).map((one) => button(one))}
      ${reject ? button(reject) : nothing}
      ${once || inMenu.length === 0 ? nothing : arrow}
      ${feedback ? feedbackButton(view, ask, feedback) : nothing}
    </div>
    ${unclear.length > 0 ? html`<div class="answers">${unclear.map((one) => button(one))}</div>` : nothing}`;
}

function menuId(ask: Approval): string {
  return `answers-${ask.id}`;
}

function firstItemId(ask: Approval): string {
  return `first-${menuId(ask)}`;
}

/** Closes the menu when the focus goes anywhere but to the menu or its arrow. */
function leaveMenu(view: View, ask: Approval, { relatedTarget }: FocusEvent): void {
  const stays = relatedTarget instanceof Element && (relatedTarget.id === menuId(ask) || relatedTarget.closest('.answer-menu') !== null);
  if (!stays && document.hasFocus()) view.act.unfold(`${ask.id}:menu`, false);
}

function answerButton(view: View, ask: Approval, one: ApprovalAnswer, label: string | undefined, look: string): TemplateResult {
  return html`<button class=${look} type="button" title=${tooltipOf(one)} data-option=${optionIdOf(one) ?? nothing} data-letter=${one.letter ?? nothing}
    data-answer=${one.id} @click=${() => press(view, ask, one)}><bdi>${withLetter(label ?? one.label, one.letter)}</bdi></button>`;
}

function feedbackButton(view: View, ask: Approval, one: ApprovalAnswer): TemplateResult {
  return html`<button class="ghost" type="button" id=${openerId(ask)} title=${tooltipOf(one)} aria-label=${t('Feedback')} data-letter="F" @click=${() => toggleWords(view, ask, true)}>
    <span class="narrow-only">${iconOf('note')}</span><span class="wide-only">${withLetter(t('Feedback'), one.letter)}</span></button>`;
}

/** Underlines the letter while the card has the focus, as it works only then. */
function withLetter(label: string, letter: string | undefined): unknown {
  const at = letter === undefined ? -1 : label.toUpperCase().indexOf(letter);
  if (at < 0) return visible(label);
  return html`${visible(label.slice(0, at))}<u>${label.slice(at, at + 1)}</u>${visible(label.slice(at + 1))}`;
}

function menuView(view: View, ask: Approval, answers: readonly ApprovalAnswer[]): TemplateResult {
  const key = (event: KeyboardEvent) => {
    const items = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=menuitem]')];
    const at = items.indexOf(event.target as HTMLElement);
    if (event.key === 'Escape') {
      view.act.unfold(`${ask.id}:menu`, false);
      view.act.focus(menuId(ask));
    } else if (event.key === 'ArrowDown') items[(at + 1) % items.length]?.focus();
    else if (event.key === 'ArrowUp') items[(at + items.length - 1) % items.length]?.focus();
    // The key that opened the menu, still held down, chooses nothing in it.
    else if (!event.repeat || (event.key !== 'Enter' && event.key !== ' ')) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return html`<ul class="answer-menu" role="menu" aria-label=${commandTitle('More Answers')} @keydown=${key}
    @focusout=${(event: FocusEvent) => leaveMenu(view, ask, event)}>
    ${answers.map(
      (
        one,
        index,
      ) => html`<li role="none"><button role="menuitem" type="button" id=${index === 0 ? firstItemId(ask) : nothing} title=${tooltipOf(one)} data-option=${optionIdOf(one) ?? nothing} data-letter=${one.letter ?? nothing}
        data-answer=${`menu:${one.id}`} @click=${() => press(view, ask, one)}>
        <span><bdi>${visible(one.label)}</bdi>${one.description === undefined ? nothing : html` <span class="faint">${visible(shortened(one.description, 120))}</span>`}</span>
        ${one.letter === undefined ? nothing : html`<kbd>${one.letter}</kbd>`}</button></li>`,
    )}
  </ul>`;
}

function tooltipOf({ does, label, description, letter }: ApprovalAnswer): string {
  const names = does.kind === 'option' ? longNames({ options: [does.option] }) : [];
  const text = [label, ...names, description ?? ''].map(visibleText).filter(Boolean).join('\n');
  return shortened(letter === undefined ? text : `${text} (${letter})`, HEADING);
}

function optionIdOf({ does }: ApprovalAnswer): string | undefined {
  return does.kind === 'option' ? does.option.id : undefined;
}

/** Handles letters as in the quick-pick: the focus moves to their answer, and Enter decides. */
function letterPressed(view: View, ask: Approval, event: KeyboardEvent): void {
  if (
    event.isComposing ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    /^(?:input|textarea|select)$/i.test((event.target as HTMLElement).tagName)
  )
    return;
  const letter = event.key.toUpperCase();
  if (!/^[ASWRFD]$/.test(letter)) return;
  const card = event.currentTarget as HTMLElement;
  const find = () => card.querySelectorAll<HTMLElement>(`[data-letter=${letter}]`);
  if (find().length === 0 && card.querySelector('[aria-haspopup=menu][aria-expanded=false]')) view.act.unfold(`${ask.id}:menu`, true);
  event.preventDefault();
  requestAnimationFrame(() => [...find()].at(-1)?.focus());
}

function press(view: View, ask: Approval, { does }: ApprovalAnswer): void {
  switch (does.kind) {
    case 'option':
      return answer(view, ask, does.option);
    case 'feedback':
      return toggleWords(view, ask, true);
    case 'stop':
      return view.act.intent({ type: 'cancel' });
    case 'session':
    case 'always':
      return view.act.allowMore(ask.id, does.kind);
  }
}

function answer(view: View, ask: Approval, option: Option): void {
  const edited = ask.editable ? view.memory.answers[ask.id]?.[EDITED]?.[0] : undefined;
  const rejects = option.effect === 'reject_once' || option.effect === 'reject_always';
  const isEdited = !rejects && edited !== undefined && edited !== originalOf(ask.detail);
  view.act.intent({ type: 'answer', askId: ask.id, answer: { kind: 'option', optionId: option.id, ...(isEdited ? { edited } : {}) } });
}

/** Only the field of the feedback sends it: words behind Cancel were taken back. */
function answerInWords(view: View, ask: Approval, option: Option): void {
  const feedback = feedbackIn(view.memory, ask.id);
  if (feedback === '') return;
  view.act.intent({ type: 'answer', askId: ask.id, answer: { kind: 'option', optionId: option.id, feedback } });
}

/** The feedback that is being written about an ask; '' where its field is closed. */
export function openFeedback(memory: SessionMemory, askId: AskId): string {
  return isUnfolded(memory, wordsKey(askId), false) ? feedbackIn(memory, askId) : '';
}
function feedbackIn({ answers }: SessionMemory, askId: AskId): string {
  return answers[askId]?.[FEEDBACK]?.[0]?.trim() ?? '';
}

function originalOf(detail: ApprovalDetail): string | undefined {
  return detail.type === 'command' ? detail.command : undefined;
}

function keep(view: View, ask: Approval, field: string, value: string): void {
  const { answers } = view.memory;
  view.act.remember({ answers: { ...answers, [ask.id]: { ...answers[ask.id], [field]: [value] } } });
}

function wordsId(ask: Approval): string {
  return `words-${ask.id}`;
}

function openerId(ask: Approval): string {
  return `words-opener-${ask.id}`;
}

function toggleWords(view: View, ask: Approval, open: boolean): void {
  view.act.unfold(wordsKey(ask.id), open);
  view.act.focus(open ? wordsId(ask) : openerId(ask));
}

/** Feedback input in place of the answers; the details stay in sight. */
function wordsView(view: View, ask: Approval, { answers }: ApprovalAnswers, value: string): TemplateResult {
  const does = answers.find((one) => one.means === 'feedback')?.does;
  const { option, way } = does?.kind === 'feedback' ? does : {};
  const write = (event: Event) => keep(view, ask, FEEDBACK, (event.target as HTMLTextAreaElement).value);
  const key = (event: KeyboardEvent) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === 'Escape') toggleWords(view, ask, false);
    else if (event.key !== 'Enter' || event.shiftKey) return;
    else if (option && !event.repeat) answerInWords(view, ask, option);
    event.preventDefault();
    event.stopPropagation();
  };
  const label = way === 'next' ? t('What should the agent do instead? Sent as the next prompt.') : t('What should the agent do instead?');
  return html`<textarea class="text-field" rows="2" id=${wordsId(ask)} .value=${value} placeholder=${label} aria-label=${label} @input=${write} @keydown=${key}></textarea>
    <div class="answers">
      <button class="button primary" type="button" data-answer="words" ?disabled=${value.trim() === ''} @click=${() => option && answerInWords(view, ask, option)}>${t('Reject')}</button>
      <button class="ghost" type="button" @click=${() => toggleWords(view, ask, false)}>${t('Cancel')}</button>
    </div>`;
}

import { html, nothing, type TemplateResult } from 'lit/html.js';
import {
  type CallWords,
  callGroup,
  callWords,
  durationText,
  groupThings,
  groupWords,
  isExitLine,
  isRejection,
  planEntries,
  ranFor,
  rowPieces,
} from '../../src/session/callWords.ts';
import type { Diff, Output, ToolCall } from '../../src/session/model.ts';
import { isSettled } from '../../src/session/parts.ts';
import { byPath, diffsOf, type FileDiffs, findTerminal, relativePath } from '../../src/session/select.ts';
import { shortened, visibleText } from '../../src/session/visible.ts';
import { clock } from '../clock.ts';
import { iconOf } from '../icons.ts';
import { byFolders, commandTitle, inWords, t, visible } from '../strings.ts';
import { allowedUnasked, isUnfolded, type View } from '../view.ts';
import { errorView, isRepeated, saysError } from './callError.ts';
import { contentView, entriesView, pretty } from './content.ts';
import { counts, diffCard, diffLines } from './diff.ts';
import { fold, plainText, showMoreButton, shownCount } from './fold.ts';
import { LINES, terminalView, textOf } from './terminal.ts';

/** The steps of a sub-agent under its call. */
export interface SubagentSteps {
  readonly steps: number;
  /** The current step. */
  readonly latest?: ToolCall;
  readonly draw: () => unknown;
  /** The answer because of which the agent did not ask about the call. */
  readonly earlier?: string | undefined;
}

/** A tool call as one row of words; its effects and its raw input open below it. */
export function callView(
  view: View,
  turnId: string,
  call: ToolCall,
  running: boolean,
  { steps, latest, draw, earlier }: SubagentSteps,
): TemplateResult {
  const key = `${turnId}/${call.id}`;
  const empty =
    steps === 0 &&
    call.output.length === 0 &&
    call.inputText === '' &&
    call.input === undefined &&
    !call.error &&
    call.decision?.kind !== 'answers';
  const open = !empty && isUnfolded(view.memory, key, usuallyOpen(view, call, running));
  const status = runsOn(view, call) ? 'running' : call.status;
  const words = rowWords(status === call.status ? call : { ...call, status }, view, earlier);
  const title = titleOf(words);
  // Its questions and answers stand below.
  const shown = open && call.decision?.kind === 'answers' ? { verb: words.verb } : words;
  const buttons = [
    ...(open ? openersOf(view, turnId, call) : []),
    ...(call.stops && !isSettled(call) ? [stopView(view, call.id, words.thing ?? title)] : []),
  ];
  return html`<div class="call call-${status}" role="group" aria-label=${visibleText(title)}>
    <div class="row-line" data-openers=${buttons.length === 0 ? nothing : buttons.length}>
      <button class="row call-toggle" type="button" ?disabled=${empty} aria-expanded=${empty ? nothing : String(open)} @click=${() => view.act.unfold(key, !open)}>
        <span class=${call.decision?.kind === 'answers' ? 'words answered' : 'words'} title=${lineOf(title, words, earlier !== undefined)}>${wordsView(shown, status === 'failed' && words.problem === undefined)}${countsOf(call, words)}${asidesOf(shown, steps)}</span>
        <span class="end">${timeView(call, status)}</span>
        ${empty ? nothing : iconOf(open ? 'down' : 'chevron')}
      </button>
      ${buttons.length === 0 ? nothing : html`<span class="openers">${buttons}</span>`}
    </div>
    ${
      open
        ? html`<div class="call-body">
            ${answersView(call)} ${steps > 0 ? html`<div class="inside">${draw()}</div>` : nothing}
            ${outputsView(view, turnId, key, call, steps > 0)} ${errorView(view, key, call, words)}
            ${places(view, call)} ${rawView(view, key, call)}
          </div>`
        : latest && !isSettled(call)
          ? html`<p class="latest faint">${wordsView(rowWords(latest, view))}</p>`
          : nothing
    }
  </div>`;
}

/** Neighbouring calls in one row of words, which opens to them. */
export function callsView(view: View, key: string, calls: readonly ToolCall[], rows: () => unknown): TemplateResult {
  const open = isUnfolded(view.memory, key, false);
  const groups = calls.flatMap((call) => callGroup(call, view.session) ?? []);
  const unasked = allowedUnasked(view, calls).map(({ by, count }) => ` · ${by}${count === calls.length ? '' : `: ${count}`}`);
  return html`<div class="call-group">
    <button class="row call-toggle" type="button" aria-expanded=${String(open)} @click=${() => view.act.unfold(key, !open)}>
      <span class="words">${byFolders(groupWords(groups, groupThings(calls, view.session)))}${unasked.join('')}</span>${iconOf(open ? 'down' : 'chevron')}
    </button>
    ${open ? html`<div class="inside">${rows()}</div>` : nothing}
  </div>`;
}

/** Labels of a row besides its title. */
function asidesOf({ result, problem, decided, decidedShort }: CallWords, steps: number): readonly TemplateResult[] {
  const faint = [...(steps > 0 ? [t('{0} {0|step|steps}', steps)] : []), ...(result === undefined ? [] : [result])];
  return [
    ...faint.map((text) => html` <span class="aside faint">${text}</span>`),
    ...(problem === undefined ? [] : [html` <span class="aside bad">${problem}</span>`]),
    ...(decided === undefined
      ? []
      : [
          html` <span class=${`aside faint decided${decided.includes('“') ? ' quoted' : ''}`}>${decidedView(decided, decidedShort)}</span>`,
        ]),
  ];
}

/** The words for who decided. A narrow row shows the short words; its tooltip and a screen reader have the full ones. */
function decidedView(decided: string, short: string | undefined): unknown {
  if (short === undefined || short === decided) return visible(decided);
  return html`<span class="in-full">${visible(decided)}</span><span class="in-short" aria-hidden="true">${visible(short)}</span>`;
}

/** An object with its short form, which a narrow row shows. */
function bothView(full: string, short: string): TemplateResult {
  return html`<bdi class="thing"><span class="in-full">${visible(full)}</span><span class="in-short" aria-hidden="true">${visible(short)}</span></bdi>`;
}

/** The row as one text, as its line may be cut. */
function lineOf(title: string, { result, problem, decided }: CallWords, isRemembered: boolean): string {
  const line = shortened(visibleText([title, result, problem, decided].filter(Boolean).join(' · ')), IN_ROW);
  return isRemembered
    ? `${line}\n${t('The agent remembers this by itself, usually until its session ends. Parley cannot take it back.')}`
    : line;
}

/** True for the answers as the agent got them: each stands behind its question already. */
function saysAnswers(output: Output): boolean {
  return output.kind === 'json' || (output.kind === 'content' && output.content.type === 'text');
}

/** Each question with its answer. */
function answersView({ decision }: ToolCall): unknown {
  if (decision?.kind !== 'answers') return nothing;
  return html`<dl class="given">${decision.values.map(({ label, values }) => html`<dt><bdi>${visible(label)}</bdi></dt><dd><bdi>${visible(values.join(', '))}</bdi></dd>`)}</dl>`;
}

/** Characters of an agent's words in a row. */
const IN_ROW = 400;

/** The words of a row, truncated when the agent sends very long ones. */
function rowWords(call: ToolCall, { session }: View, earlier?: string): CallWords {
  const remembered = earlier === undefined ? undefined : { agent: visibleText(session.agent.name), answer: earlier };
  const { verb, thing, thingShort, place, ...rest } = callWords(call, session, remembered);
  const cut = (name: 'thing' | 'thingShort' | 'place', text: string | undefined) =>
    text === undefined ? {} : { [name]: shortened(text, IN_ROW) };
  return { ...rest, verb: shortened(verb, IN_ROW), ...cut('thing', thing), ...cut('thingShort', thingShort), ...cut('place', place) };
}

/** `failed`: the verb tells of a failure. */
function wordsView(words: CallWords, failed = false): TemplateResult {
  const pieces = rowPieces(words);
  const views = pieces.map(({ role, text, gap }, at) => {
    if (role === 'thing' && words.file) return pathView(text);
    if (role === 'thing' && words.thingShort !== undefined) return html`${gap}${bothView(text, words.thingShort)}`;
    if (role === 'thing')
      return words.code ? html` <code class="thing">${inWords(text)}</code>` : html`${gap}<bdi class="thing">${visible(text)}</bdi>`;
    const gapToFile = words.file && pieces[at + 1]?.role === 'thing' ? pieces[at + 1]?.gap : '';
    const look = role === 'verb' && failed ? 'bad' : nothing;
    return html`${gap}<bdi class=${look}>${role === 'place' ? byFolders(text) : visible(text)}${gapToFile}</bdi>`;
  });
  return html`<span class="call-title">${views}</span>`;
}

function titleOf(words: CallWords): string {
  return rowPieces(words)
    .map(({ text, gap }) => gap + text)
    .join('');
}

/** The path of a file: where there is no room its folder gives way, as the name says more. */
function pathView(path: string): TemplateResult {
  const at = Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1;
  const folder = at === 0 ? nothing : html`<span class="folder">${byFolders(path.slice(0, at))}</span><wbr />`;
  return html`<bdi class="thing path">${folder}<span class="name">${visible(path.slice(at))}</span></bdi>`;
}

/** Numbers of added and removed lines, where the words name one file. */
function countsOf(call: ToolCall, { thing }: CallWords): unknown {
  const diffs = call.kind === 'edit' || call.kind === 'delete' ? diffsOf(call) : [];
  return thing === undefined || diffs.length === 0 ? nothing : html` ${counts(diffs)}`;
}

/** True for a call whose row has a clock: of the others none tells how long they take. */
export function hasClock({ kind }: ToolCall): boolean {
  return kind === 'execute' || kind === 'fetch';
}

function timeView(call: ToolCall, status: ToolCall['status']): unknown {
  if (!hasClock(call)) return nothing;
  if (status === 'running' && call.startedAt !== undefined) return html`<span class="num">${clock(call.startedAt)}</span>`;
  const took = ranFor(call);
  const words = took === undefined ? '' : durationText(took);
  return words === '' ? nothing : html`<span class="num">${words}</span>`;
}

/** Buttons for the editor's own views of the row's content: its diff, its terminal. */
function openersOf(view: View, turnId: string, call: ToolCall): readonly TemplateResult[] {
  const files = byPath(diffsOf(call));
  const [file] = files;
  const terminal = call.output.find((output) => output.kind === 'terminal');
  const button = (label: string, run: () => void) =>
    html`<button class="icon-button" type="button" title=${label} aria-label=${label} @click=${run}>${iconOf('open')}</button>`;
  return [
    ...(file && files.length === 1 ? [button(commandTitle('Open Changes'), () => view.act.review({ turnId, path: file.path }))] : []),
    ...(terminal ? [button(t('Open Terminal'), () => view.act.openTerminal(terminal.terminalId))] : []),
  ];
}

function stopView(view: View, callId: string, title: string): TemplateResult {
  return html`<button class="icon-button" type="button" title="${t('Stop')}: ${visibleText(title)}" aria-label="${t('Stop')}: ${visibleText(title)}"
    @click=${() => view.act.intent({ type: 'stopCall', callId })}>${iconOf('stop')}</button>`;
}

/** True for rows that open by themselves: work under way, failures, and changes until their turn ends, unless the user has allowed them. */
function usuallyOpen(view: View, call: ToolCall, running: boolean): boolean {
  if (call.withdrawn) return false;
  if (call.status === 'waiting' && !view.session.asks.some((ask) => ask.callId === call.id)) return call.output.length > 0;
  if (call.status === 'waiting' || call.status === 'rejected' || isRejection(call.decision)) return false;
  if (call.status === 'failed' && call.output.length > 0) return true;
  if (call.error && !saysError(call, callWords(call, view.session))) return true;
  if (call.output.some((output) => output.kind === 'diff'))
    return running && !(call.decision?.kind === 'approval' && call.decision.by === 'user');
  // A call without an input exists only for its output.
  if (call.input === undefined && call.inputText === '' && call.output.some((output) => output.kind === 'terminal')) return true;
  return !isSettled(call) && (call.kind === 'execute' ? call.output.length > 0 : call.output.some((output) => output.kind === 'terminal'));
}

/** True when the call has ended for the agent, but its command still runs. */
function runsOn(view: View, call: ToolCall): boolean {
  if (call.status !== 'done' && call.status !== 'ended') return false;
  const commands = call.output.flatMap((output) => (output.kind === 'terminal' ? [findTerminal(view.session, output.terminalId)] : []));
  // Only commands that can be stopped are certain to report their end.
  return commands.some((terminal) => terminal?.stops && !terminal.exit);
}

/** The agent's own name of the call and its input, for users who want the details. */
function rawView(view: View, key: string, call: ToolCall): TemplateResult | typeof nothing {
  if (call.inputText === '' && call.input === undefined) return nothing;
  return fold(view, {
    key: `${key}:input`,
    summary: html`<span class="small">${t('Details')}: ${visibleText(shortened(call.name || call.title, IN_ROW))}</span>`,
    body: () => plainText(view, `${key}:inputText`, visibleText(call.input === undefined ? call.inputText : pretty(call.input))),
  });
}

/** Draws everything a call does to a file at its first change. `reports`: it is a sub-agent, whose words are an answer like any other. */
function outputsView(view: View, turnId: string, key: string, call: ToolCall, reports: boolean): TemplateResult {
  const plan = planEntries(call);
  if (call.status === 'done' && plan?.every(({ text }) => text !== '')) return entriesView(plan);
  const files = byPath(diffsOf(call));
  const begun = new Map(files.slice(0, shownCount(view, key)).map((file) => [file.diffs[0], file]));
  return html`${call.output.map((output, index) => {
    if (isRepeated(call, index) || (call.decision?.kind === 'answers' && saysAnswers(output))) return nothing;
    if (reports && output.kind === 'content') return contentView(view, `${key}/${index}`, output.content, isSettled(call));
    return outputView(view, turnId, `${key}/${index}`, call, output, begun);
  })}
    ${showMoreButton(view, key, files.length, (left) => t('{0} more', left))}`;
}

function outputView(
  view: View,
  turnId: string,
  key: string,
  call: ToolCall,
  output: Output,
  begun: ReadonlyMap<Diff | undefined, FileDiffs>,
): TemplateResult | typeof nothing {
  switch (output.kind) {
    case 'content': {
      const { content } = output;
      if (content.type === 'text' && call.kind === 'execute') return printedView(view, key, call, content.text);
      if (content.type === 'text' && !/^(?:```|~~~)/m.test(content.text)) return textOf(view, key, content.text);
      return contentView(view, key, content, isSettled(call));
    }
    case 'diff':
      return diffView(view, turnId, key, begun.get(output.diff), begun.size === 1);
    case 'terminal': {
      const terminal = findTerminal(view.session, output.terminalId);
      return terminalView(
        view,
        key,
        terminal,
        call.kind === 'execute' && !terminal?.command.includes('\n') ? terminal?.command : undefined,
      );
    }
    case 'json':
      return plainText(view, key, visibleText(pretty(output.value)));
  }
}

/** A command's output from an agent that sends it as text: as in a terminal, in colours, its end first. */
function printedView(view: View, key: string, call: ToolCall, text: string): TemplateResult | typeof nothing {
  const fenced = /^\s*(?:```|~~~)(?:console|shell|bash|sh|text)?\n([\s\S]*?)\n?(?:```|~~~)\s*$/.exec(text)?.[1];
  if (fenced === undefined && /^(?:```|~~~)/m.test(text)) return contentView(view, key, { type: 'text', text }, isSettled(call));
  const printed = call.status === 'failed' ? withoutExitLine(fenced ?? text) : (fenced ?? text);
  if (printed === undefined) return nothing;
  const tail = printed.slice(-MOST_PRINTED);
  return terminalView(view, key, { id: key, command: '', tail, dropped: printed.length - tail.length }, '');
}

/** The text without a first or last line that only says how the command ended, as the row does; undefined when nothing else is left. */
function withoutExitLine(text: string): string | undefined {
  const whole = text.trim();
  const first = whole.indexOf('\n');
  if (first < 0) return isExitLine(whole) ? undefined : text;
  if (isExitLine(whole.slice(0, first))) return whole.slice(first + 1).replace(/^\s*\n/, '');
  const last = whole.lastIndexOf('\n');
  return isExitLine(whole.slice(last + 1)) ? whole.slice(0, last) : text;
}

/** UTF-16 units; of a longer output only the end is shown. */
const MOST_PRINTED = 400_000;

/** The row names the file when there is only one. */
function diffView(view: View, turnId: string, key: string, file: FileDiffs | undefined, alone: boolean): TemplateResult | typeof nothing {
  if (!file) return nothing;
  if (alone) return diffLines(view, key, file.diffs, LINES);
  return diffCard(view, key, file, () => view.act.review({ turnId, path: file.path }));
}

function places(view: View, call: ToolCall): TemplateResult | typeof nothing {
  // A failed call names its file already, which may not exist.
  if (call.locations.length === 0 || call.status === 'failed' || call.output.some((output) => output.kind === 'diff')) return nothing;
  return html`<div class="chips">
    ${call.locations.slice(0, 20).map(
      ({ path, line }) =>
        html`<button class="chip" type="button" @click=${() => view.act.open(path, line)}>
          ${iconOf('file')}<bdi class="chip-text">${visible(relativePath(path, view.session.cwd))}${line === undefined ? '' : `:${line}`}</bdi>
        </button>`,
    )}
  </div>`;
}

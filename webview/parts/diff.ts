import { until } from 'lit/directives/until.js';
import { html, nothing, type TemplateResult } from 'lit/html.js';
import { isUnplaced } from '../../src/session/diffs.ts';
import { type DiffLine, hunksOf } from '../../src/session/hunks.ts';
import type { Diff } from '../../src/session/model.ts';
import { type FileDiffs, relativePath } from '../../src/session/select.ts';
import { visibleText } from '../../src/session/visible.ts';
import { drawable, drawableEnd } from '../drawable.ts';
import { highlightedLines } from '../highlighter.ts';
import { iconOf } from '../icons.ts';
import { byFolders, commandTitle, t, visible } from '../strings.ts';
import type { Styled } from '../terminalOutput.ts';
import { isUnfolded, type View } from '../view.ts';
import { moreText, notShown, plainText, showMoreButton, shownCount } from './fold.ts';

/** One file's change, in one diff or several: its path, how many lines come and go, the changed lines, and a button for the editor's own diff. `mark`: shown by the path. */
export function diffCard(view: View, key: string, { path: file, diffs }: FileDiffs, openDiff: () => void, mark?: string): TemplateResult {
  const path = relativePath(file, view.session.cwd);
  return html`<div class="diff">
    <div class="diff-head">
      <button class="path-button" type="button" title=${visibleText(file)} @click=${() => view.act.open(file, diffs[0]?.excerpt?.afterLine)}>
        <bdi>${byFolders(path)}</bdi>
      </button>
      ${diffs[0]?.before === null && !diffs[0].summary ? html`<span class="tag">${t('new')}</span>` : nothing}
      ${diffs.at(-1)?.after === null && !diffs.at(-1)?.summary ? html`<span class="tag">${t('deleted')}</span>` : nothing}
      ${isUnplaced(diffs) ? html`<span class="tag">${t('excerpt')}</span>` : nothing} ${counts(diffs)}
      ${mark === undefined ? nothing : html`<span class="tag">${mark}</span>`}
      <button class="text-button" type="button" @click=${openDiff}>${iconOf('diff')}${commandTitle('Open Changes')}</button>
    </div>
    ${diffLines(view, key, diffs)}
  </div>`;
}

/** Says of a change that is only proposed that it is an excerpt without a certain place in the file. */
export function unplacedNote(diffs: readonly Diff[]): TemplateResult | typeof nothing {
  if (!isUnplaced(diffs)) return nothing;
  return html`<p class="faint">${t('This change cannot be previewed exactly: the text it replaces is not in the file, or is there more than once.')}</p>`;
}

/** `+N −M` over all diffs of one file. */
export function counts(diffs: readonly Diff[]): TemplateResult | typeof nothing {
  const all = diffs.filter((diff) => !diff.summary).map(hunksOf);
  if (all.length === 0 || all.some((one) => one.tooLong)) return nothing;
  const added = all.reduce((sum, one) => sum + one.added, 0);
  const removed = all.reduce((sum, one) => sum + one.removed, 0);
  return lineCounts(added, removed);
}

export function lineCounts(added: number, removed: number): TemplateResult {
  return html`<span class="counts" role="img" dir="ltr" aria-label=${t('Lines added: {0}, removed: {1}', added, removed)}>
    ${added === 0 && removed > 0 ? nothing : html`<span class="plus">+${added}</span>`} ${removed === 0 && added > 0 ? nothing : html`<span class="minus">−${removed}</span>`}
  </span>`;
}

/** Lines shown at first where they have a place of their own to scroll in. */
const LINES_SHOWN = 40;
/** Longest line compared by words, in UTF-16 units; longer ones are compared as a whole. */
const LONGEST_COMPARED = 2_000;

/** The changed lines of one file with their surroundings; marks the changed words in them. */
export function diffLines(view: View, key: string, diffs: readonly Diff[], most = LINES_SHOWN): TemplateResult {
  return html`${diffs
    .slice(0, shownCount(view, key))
    .map((diff, at) =>
      diff.summary
        ? plainText(view, `${key}/${at}:summary`, visibleText(diff.after ?? diff.before ?? ''))
        : linesOf(view, `${key}/${at}`, diff, most),
    )}
    ${showMoreButton(view, key, diffs.length, (left) => t('{0} more', left))}`;
}

function linesOf(view: View, key: string, diff: Diff, most: number): TemplateResult {
  const { hunks: all, tooLong } = hunksOf(diff);
  const hunks = all.flatMap(closeTo);
  if (tooLong) return html`<p class="faint">${t('This change is too long to show here.')}</p>`;
  if (hunks.length === 0) return html`<p class="faint">${t('No changes.')}</p>`;
  const total = hunks.reduce((sum, hunk) => sum + hunk.length, 0);
  const isLong = total > most;
  const whole = !isLong || isUnfolded(view.memory, `${key}:lines`, false);
  let left = whole ? Number.POSITIVE_INFINITY : most;
  let last = 0;
  const shown = hunks.flatMap((hunk) => {
    const some = hunk.slice(0, left);
    left -= some.length;
    const [first] = some;
    if (!first) return [];
    const from = first.before ?? first.after;
    const gap = from !== undefined && last > 0 ? from - last - 1 : 0;
    last = some.at(-1)?.before ?? some.at(-1)?.after ?? last;
    return [gap > 0 ? html`<span class="gap">${t('{0} unchanged', gap)}</span>` : nothing, hunkView(some, languageOf(diff.path))];
  });
  return html`<div class=${isLong && whole ? 'box diff-lines whole' : 'box diff-lines'} tabindex="0" role="group" aria-label=${t('Changes')} dir="ltr">${shown}${
    isLong
      ? html`<button class="more" type="button" @click=${() => view.act.unfold(`${key}:lines`, !whole)}>
            ${iconOf('down')}${whole ? t('Show less') : moreText(total - most)}
          </button>`
      : nothing
  }</div>`;
}

/** Only the lines directly beside a change, without empty ones: the editor's own diff shows the rest. */
function closeTo(hunk: readonly DiffLine[]): readonly (readonly DiffLine[])[] {
  const isChanged = (at: number) => hunk[at] !== undefined && hunk[at].sign !== ' ';
  const isNear = (at: number) => isChanged(at) || (hunk[at]?.text.trim() !== '' && (isChanged(at - 1) || isChanged(at + 1)));
  const pieces: DiffLine[][] = [];
  for (const [at, line] of hunk.entries()) {
    if (!isNear(at)) continue;
    if (at > 0 && isNear(at - 1)) pieces.at(-1)?.push(line);
    else pieces.push([line]);
  }
  return pieces;
}

/** Draws a hunk, in colours as soon as they are known. */
function hunkView(lines: readonly DiffLine[], language: string): unknown {
  const partners = partnersOf(lines);
  const draw = (looks: LineStyles) => lines.map((line, at) => lineView(line, partners.get(at), looks.get(line)));
  // Each side is coloured as one text, so that constructs spanning lines keep their look.
  const sides = ['+', '-'].map((left) => lines.filter(({ sign }) => sign !== left));
  const coloured = sides.map((side) => highlightedLines(side.map(({ text }) => text).join('\n'), language));
  if (!coloured.some((one) => one instanceof Promise)) return draw(looksOf(sides, coloured as Coloured));
  return until(
    Promise.all(coloured).then((found) => draw(looksOf(sides, found))),
    draw(new Map()),
  );
}

type LineStyles = ReadonlyMap<DiffLine, readonly Styled[]>;
type Coloured = readonly (readonly (readonly Styled[])[] | undefined)[];

function languageOf(path: string): string {
  return (/[^./\\]+$/.exec(path)?.[0] ?? '').toLowerCase();
}

function looksOf(sides: readonly (readonly DiffLine[])[], coloured: Coloured): LineStyles {
  return new Map(
    sides.flatMap((side, at) =>
      side.flatMap((line, place) => {
        const look = coloured[at]?.[place];
        return look ? [[line, look] as const] : [];
      }),
    ),
  );
}

function lineView(
  { sign, text, before, after, ends }: DiffLine,
  partner: string | undefined,
  looks: readonly Styled[] = [{ text, look: '' }],
): TemplateResult {
  const shownSign = sign === '-' ? '−' : sign;
  const number = after ?? before;
  const changed = partner === undefined || Math.max(text.length, partner.length) > LONGEST_COMPARED ? undefined : changedIn(text, partner);
  const title = number === undefined ? nothing : t('line {0}', number);
  if (drawable(text, LONGEST_LINE) < text.length)
    return html`<span class="l" data-s=${shownSign} title=${title}>${longLine(text, partner ?? '')}</span>`;
  return html`<span class="l" data-s=${shownSign} title=${title}>${withMark(looks, changed)}${ends ? html`<span class="changed">↵</span>` : nothing}</span>`;
}

/** UTF-16 units of a line that are drawn; of a longer one its beginning, the place where it differs from its partner, and its end. */
const LONGEST_LINE = 4000;
const [AT_ENDS, AT_CHANGE] = [300, 400];

function longLine(text: string, partner: string): unknown {
  let change = 0;
  while (change < text.length && text[change] === partner[change]) change += 1;
  const safe = (at: number) => drawableEnd(text, text.length - at);
  const first = drawable(text, AT_ENDS, AT_ENDS);
  const from = Math.max(first, safe(Math.max(0, change - AT_CHANGE / 2)));
  const to = Math.min(text.length, Math.max(from, safe(Math.min(text.length, from + AT_CHANGE))));
  const last = Math.max(to, drawableEnd(text, AT_ENDS));
  const gap = (units: number) => (units > 0 ? notShown(units) : nothing);
  return [visible(text.slice(0, first)), gap(from - first), visible(text.slice(from, to)), gap(last - to), visible(text.slice(last))];
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** The runs, with each changed place in a mark of its own. */
function withMark(looks: readonly Styled[], changed: readonly Range[] | undefined): unknown {
  if (!changed) return looks.map(runView);
  const drawn: unknown[] = [];
  let at = 0;
  for (const { from, to } of changed) {
    drawn.push(
      cutRuns(looks, at, from).map(runView),
      html`<span class="changed">${cutRuns(looks, from, to).map(({ text }) => visible(text))}</span>`,
    );
    at = to;
  }
  return [drawn, cutRuns(looks, at, Number.POSITIVE_INFINITY).map(runView)];
}

/** The runs between two positions of the line. */
function cutRuns(looks: readonly Styled[], from: number, to: number): readonly Styled[] {
  let start = 0;
  return looks.flatMap((run) => {
    const { text } = run;
    const piece = text.slice(Math.max(0, from - start), Math.max(0, to - start));
    start += text.length;
    return piece === '' ? [] : [{ ...run, text: piece }];
  });
}

function runView({ text, css }: Styled): unknown {
  // As a property: the page's policy refuses styles as attributes.
  return css ? html`<span class="coloured" .style=${css.replace(/^color:/, '--colour:')}>${visible(text)}</span>` : visible(text);
}

/** Pairs removed lines with the added ones that replace them: index -> text to compare with. */
function partnersOf(lines: readonly DiffLine[]): ReadonlyMap<number, string> {
  const partners = new Map<number, string>();
  for (let at = 0; at < lines.length; ) {
    let removed = at;
    while (lines[removed]?.sign === '-') removed += 1;
    let added = removed;
    while (lines[added]?.sign === '+') added += 1;
    const pairs = Math.min(removed - at, added - removed);
    for (let pair = 0; pair < pairs; pair += 1) {
      const [before, after] = [lines[at + pair], lines[removed + pair]];
      if (!before || !after) continue;
      partners.set(at + pair, after.text);
      partners.set(removed + pair, before.text);
    }
    at = Math.max(added, at + 1);
  }
  return partners;
}

/** Words, runs of blanks and single signs, each with its position. */
const WORDS = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;
/** Words; longer changes exclude only their common beginning and end. */
const MOST_WORDS = 200;

/** The ranges of the text that the other lacks, word by word; undefined where little is alike. */
function changedIn(text: string, other: string): readonly Range[] | undefined {
  const [mine, theirs] = [wordsOf(text), wordsOf(other)];
  const most = Math.min(mine.length, theirs.length);
  let from = 0;
  while (from < most && mine[from] === theirs[from]) from += 1;
  let end = 0;
  while (end < most - from && mine[mine.length - 1 - end] === theirs[theirs.length - 1 - end]) end += 1;
  const kept = keptOf(mine.slice(from, mine.length - end), theirs.slice(from, theirs.length - end));
  const isKept = (at: number) => at < from || at >= mine.length - end || kept.has(at - from);
  const alike = mine.reduce((sum, word, at) => sum + (isKept(at) ? word.trim().length : 0), 0);
  if (alike * 4 < Math.min(text.trim().length, other.trim().length)) return undefined;
  const ranges: Range[] = [];
  let place = 0;
  for (const [at, word] of mine.entries()) {
    // A blank between two changed words belongs to them.
    const joins = word.trim() === '' && at > 0 && !isKept(at - 1) && at + 1 < mine.length && !isKept(at + 1);
    if (!isKept(at) || joins) {
      const last = ranges.at(-1);
      if (last?.to === place) ranges[ranges.length - 1] = { from: last.from, to: place + word.length };
      else ranges.push({ from: place, to: place + word.length });
    }
    place += word.length;
  }
  return ranges.length > 0 ? ranges : undefined;
}

function wordsOf(text: string): readonly string[] {
  return text.match(WORDS) ?? [];
}

/** Positions in `mine` of the longest common sequence of words; none when there are too many to compare. */
function keptOf(mine: readonly string[], theirs: readonly string[]): ReadonlySet<number> {
  const kept = new Set<number>();
  if (mine.length > MOST_WORDS || theirs.length > MOST_WORDS) return kept;
  const width = theirs.length + 1;
  const longest = new Uint16Array((mine.length + 1) * width);
  const at = (row: number, column: number) => longest[row * width + column] ?? 0;
  for (let row = mine.length - 1; row >= 0; row -= 1)
    for (let column = theirs.length - 1; column >= 0; column -= 1)
      longest[row * width + column] =
        mine[row] === theirs[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
  for (let row = 0, column = 0; row < mine.length && column < theirs.length; ) {
    if (mine[row] === theirs[column]) {
      kept.add(row);
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return kept;
}

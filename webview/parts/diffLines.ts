import { html, nothing, type TemplateResult } from 'lit/html.js';
import { type DiffLine, hunksOf } from '../../src/session/hunks.ts';
import type { Diff } from '../../src/session/model.ts';
import { visibleText } from '../../src/session/visible.ts';
import { iconOf } from '../icons.ts';
import { t } from '../strings.ts';
import { isUnfolded, type View } from '../view.ts';
import { visible } from '../visible.ts';
import { showMoreButton, shownCount } from './overflow.ts';
import { plainText } from './plainText.ts';

const LINES_SHOWN = 40;
/** Longer lines are compared as a whole, in UTF-16 units. */
const LONGEST_COMPARED = 2_000;

/** The changed lines of one file with what is around them, and the changed words in them marked. */
export function diffLines(view: View, key: string, diffs: readonly Diff[]): TemplateResult {
  return html`${diffs
    .slice(0, shownCount(view, key))
    .map((diff, at) =>
      diff.summary
        ? plainText(view, `${key}/${at}:summary`, visibleText(diff.after ?? diff.before ?? ''))
        : linesOf(view, `${key}/${at}`, diff),
    )}
    ${showMoreButton(view, key, diffs.length, (left) => t('{0} more changes', left))}`;
}

function linesOf(view: View, key: string, diff: Diff): TemplateResult {
  const { hunks: all, tooLong } = hunksOf(diff);
  const hunks = all.flatMap(closeTo);
  if (tooLong) return html`<p class="faint">${t('This change is too long to show here.')}</p>`;
  if (hunks.length === 0) return html`<p class="faint">${t('No lines change.')}</p>`;
  const total = hunks.reduce((sum, hunk) => sum + hunk.length, 0);
  const whole = total <= LINES_SHOWN || isUnfolded(view.memory, `${key}:lines`, false);
  let left = whole ? Number.POSITIVE_INFINITY : LINES_SHOWN;
  let last = 0;
  const shown = hunks.flatMap((hunk) => {
    const some = hunk.slice(0, left);
    left -= some.length;
    const [first] = some;
    if (!first) return [];
    const from = first.before ?? first.after;
    const gap = from !== undefined && last > 0 ? from - last - 1 : 0;
    last = some.at(-1)?.before ?? some.at(-1)?.after ?? last;
    return [
      gap > 0 ? html`<span class="gap">${gap === 1 ? t('1 unchanged line') : t('{0} unchanged lines', gap)}</span>` : nothing,
      hunkView(some),
    ];
  });
  return html`<div class="box diff-lines" tabindex="0" role="group" aria-label=${t('Changed lines')} dir="ltr">${shown}${
    total > LINES_SHOWN
      ? html`<button class="more" type="button" @click=${() => view.act.unfold(`${key}:lines`, !whole)}>
            ${iconOf('down')}${whole ? t('Show less') : t('Show all {0} lines', total)}
          </button>`
      : nothing
  }</div>`;
}

/** Only the lines right beside a change: the editor's own diff shows the rest. */
function closeTo(hunk: readonly DiffLine[]): readonly (readonly DiffLine[])[] {
  const isNear = (at: number) => [at - 1, at, at + 1].some((one) => hunk[one] !== undefined && hunk[one].sign !== ' ');
  const pieces: DiffLine[][] = [];
  for (const [at, line] of hunk.entries()) {
    if (!isNear(at)) continue;
    if (at > 0 && isNear(at - 1)) pieces.at(-1)?.push(line);
    else pieces.push([line]);
  }
  return pieces;
}

function hunkView(lines: readonly DiffLine[]): readonly TemplateResult[] {
  const partners = partnersOf(lines);
  return lines.map((line, at) => lineView(line, partners.get(at)));
}

function lineView({ sign, text, before, after }: DiffLine, partner: string | undefined): TemplateResult {
  const shownSign = sign === '-' ? '−' : sign;
  const number = after ?? before;
  return html`<span class="l" data-s=${shownSign} title=${number === undefined ? nothing : t('line {0}', number)}>${
    partner === undefined ? visible(text) : marked(text, partner)
  }</span>`;
}

/** Removed lines and the added ones in their place, by their place in the list: the text each is compared with. */
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
      if (!before || !after || before.text.length > LONGEST_COMPARED || after.text.length > LONGEST_COMPARED) continue;
      partners.set(at + pair, after.text);
      partners.set(removed + pair, before.text);
    }
    at = Math.max(added, at + 1);
  }
  return partners;
}

/** What differs between the two, widened to whole words; nothing is marked where little is alike. */
function marked(text: string, other: string): unknown {
  const most = Math.min(text.length, other.length);
  let from = 0;
  while (from < most && text[from] === other[from]) from += 1;
  let end = 0;
  while (end < most - from && text[text.length - 1 - end] === other[other.length - 1 - end]) end += 1;
  const alike = text.slice(0, from).trim().length + text.slice(text.length - end).trim().length;
  if (alike * 4 < Math.min(text.trim().length, other.trim().length)) return visible(text);
  const isWord = (at: number) => /[\p{L}\p{N}_]/u.test(text[at] ?? '');
  while (from > 0 && isWord(from) && isWord(from - 1)) from -= 1;
  let to = text.length - end;
  while (to < text.length && isWord(to) && isWord(to - 1)) to += 1;
  return to <= from
    ? visible(text)
    : html`${visible(text.slice(0, from))}<span class="changed">${visible(text.slice(from, to))}</span>${visible(text.slice(to))}`;
}

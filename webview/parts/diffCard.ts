import { html, nothing, type TemplateResult } from 'lit/html.js';
import { isUnplaced } from '../../src/session/diffs.ts';
import { hunksOf } from '../../src/session/hunks.ts';
import type { Diff } from '../../src/session/model.ts';
import { type ChangedFile, relativePath } from '../../src/session/select.ts';
import { visibleText } from '../../src/session/visible.ts';
import { iconOf } from '../icons.ts';
import { commandTitle, t } from '../strings.ts';
import type { View } from '../view.ts';
import { visible } from '../visible.ts';
import { diffLines } from './diffLines.ts';

/** One file's change, in one diff or several: its path, how many lines come and go, the changed lines, and a button for the editor's own diff. `mark` stands by the path. */
export function diffCard(view: View, key: string, { path: file, diffs }: ChangedFile, openDiff: () => void, mark?: string): TemplateResult {
  const path = relativePath(file, view.session.cwd);
  return html`<div class="diff">
    <div class="diff-head">
      <button class="path-button" type="button" title=${visibleText(file)} @click=${() => view.act.open(file, diffs[0]?.excerpt?.afterLine)}>
        <bdi>${visible(path)}</bdi>
      </button>
      ${diffs[0]?.before === null && !diffs[0].summary ? html`<span class="tag">${t('new')}</span>` : nothing}
      ${diffs.at(-1)?.after === null && !diffs.at(-1)?.summary ? html`<span class="tag">${t('deleted')}</span>` : nothing}
      ${isUnplaced(diffs) ? html`<span class="tag">${t('excerpt')}</span>` : nothing} ${counts(diffs)}
      ${mark === undefined ? nothing : html`<span class="tag">${mark}</span>`}
      <button class="text-button" type="button" @click=${openDiff}>${iconOf('diff')}${commandTitle('Open Changes')}</button>
    </div>
    ${isUnplaced(diffs) ? unplacedNote() : nothing}
    ${diffLines(view, key, diffs)}
  </div>`;
}

/** Says that a change is an excerpt without a certain place in the file. */
export function unplacedNote(): TemplateResult {
  return html`<p class="faint">${t('This change cannot be previewed exactly: the text it replaces does not stand in the file, or not only once.')}</p>`;
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

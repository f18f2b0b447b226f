import { html, nothing, type TemplateResult } from 'lit/html.js';
import { callWords } from '../../src/session/callWords.ts';
import { isUnplaced } from '../../src/session/diffs.ts';
import { betweenWords, linkWords, mannerWords, noHunksWords } from '../../src/session/fileWords.ts';
import type { Turn, TurnFile } from '../../src/session/model.ts';
import { callsOf, callTitle, changedFiles, diffsOf, filePath, relativePath, turnFiles } from '../../src/session/select.ts';
import { shortened, visibleText } from '../../src/session/visible.ts';
import { iconOf } from '../icons.ts';
import { byFolders, commandTitle, t, visible } from '../strings.ts';
import { isUnfolded, type View } from '../view.ts';
import { counts, lineCounts } from './diff.ts';
import { showMoreButton, shownCount } from './fold.ts';

/** Characters of a call's title shown above its files. */
const LONGEST_CALL = 60;
/** Characters of the names of what is not listed. */
const LONGEST_NAMES = 200;

/** The files that changed in a turn, each with Keep and Undo until it is decided. */
export function changesView(view: View, turn: Turn): TemplateResult | typeof nothing {
  if (turn.status === 'running') return nothing;
  const files = turnFiles(turn);
  if (files.length === 0 && !turn.unlisted) return nothing;
  return html`<div class="changes" role="group" aria-label=${t('Changes')}>
    ${headView(view, turn, files)}
    ${byOrigin(view, turn, files.slice(0, shownCount(view, `${turn.id}:changes`))).map(
      ([origin, group]) => html`${origin === '' ? nothing : html`<p class="faint">${origin}</p>`}
        <ul>
          ${group.map((file) => fileRow(view, turn, file))}
        </ul>`,
    )}
    ${showMoreButton(view, `${turn.id}:changes`, files.length, (left) => t('{0} more', left))} ${unlistedView(turn)}
  </div>`;
}

function headView(view: View, turn: Turn, files: readonly TurnFile[]): TemplateResult | typeof nothing {
  const unlisted = turn.unlisted?.files ?? 0;
  if (files.length + unlisted === 0) return nothing;
  const open = files.filter(({ review }) => review === 'open').length;
  const button = (how: 'keep' | 'undo', text: string) =>
    html`<button class="text-button" type="button" @click=${() => view.act.settleFile(turn.id, undefined, how)}>${text}</button>`;
  return html`<div class="changes-head">
    <h3>${t('{0} {0|file|files} changed', files.length + unlisted)}</h3>
    ${open > 1 && unlisted === 0 ? html`${button('keep', t('Keep all'))} ${button('undo', t('Undo all'))}` : nothing}
  </div>`;
}

function fileRow(view: View, turn: Turn, file: TurnFile): TemplateResult {
  const { path, from } = file;
  const shown = filePath(file, path, view.session.cwd);
  const origin = from === undefined ? nothing : html`<bdi>${visible(filePath(file, from, view.session.cwd))}</bdi> → `;
  const diff = () => view.act.review({ turnId: turn.id, path });
  // There may be no file of that name any more; and the editor of a notebook shows no changes.
  const isInDiff = file.change === 'deleted' || file.review === 'overtaken' || (file.review !== 'undone' && /\.ipynb$/i.test(path));
  const open = () => (isInDiff ? diff() : view.act.open(path));
  const name = isUnwatched(turn, file) ? shown.slice(folderOf(shown).length).replace(/^[\\/]/, '') : shown;
  return html`<li>
    <button class="path-button" type="button" title=${visibleText(path)} @click=${open}>${origin}<bdi>${byFolders(name)}</bdi></button>
    ${markView(file)} ${countsView(view, turn, file)}
    <span class="settle">${file.review === 'undone' ? nothing : html`<button class="icon-button" type="button" title=${commandTitle('Open Changes')} aria-label="${commandTitle('Open Changes')}: ${visibleText(shown)}" @click=${diff}>${iconOf('diff')}</button>`}
    ${decisionView(view, turn, file, visibleText(shown))}</span>
  </li>`;
}

function markView(file: TurnFile): TemplateResult | typeof nothing {
  const { change, review, from } = file;
  if (review === 'undone' || (change === 'changed' && from === undefined)) return nothing;
  return html`<span class="tag">${change === 'created' ? t('new') : change === 'deleted' ? t('deleted') : t('moved')}</span>`;
}

/** True for a move that changed no lines. */
function isPureMove({ from, added, removed }: TurnFile): boolean {
  return from !== undefined && added === 0 && removed === 0;
}

function countsView(view: View, turn: Turn, file: TurnFile): TemplateResult | typeof nothing {
  const { path, review, added, removed } = file;
  if (review === 'undone' || isPureMove(file)) return nothing;
  const manner = mannerWords(file);
  const refused =
    file.whyUnkept === undefined ? nothing : html`<span class="faint">${t('Not kept for review: {0}', visibleText(file.whyUnkept))}</span>`;
  if (manner !== '' && added === 0 && removed === 0) return html`<span class="faint" dir="ltr">${manner}</span>`;
  const form = manner === '' ? nothing : html` <span class="faint" dir="ltr">${manner}</span>`;
  if (added !== undefined && removed !== undefined) return html`${lineCounts(added, removed)}${form} ${refused}`;
  if (review === 'reported') return counts(reportedDiffs(view, turn, path));
  if (refused !== nothing) return refused;
  if (file.links) return html`<span class="faint"><bdi>${linkWords(file.links)}</bdi></span>`;
  return review === 'unkept' && !file.noLines ? nothing : html`<span class="faint">${noHunksWords(file.noLines)}</span>`;
}

/** Groups files by what changed them, where the turn's calls do not show it themselves. */
function byOrigin(view: View, turn: Turn, files: readonly TurnFile[]): readonly (readonly [string, readonly TurnFile[]])[] {
  const groups = new Map<string, TurnFile[]>([['', []]]);
  for (const file of files) {
    const origin = originOf(view, turn, file);
    groups.set(origin, [...(groups.get(origin) ?? []), file]);
  }
  return [...groups].filter(([, group]) => group.length > 0);
}

function originOf(view: View, turn: Turn, file: TurnFile): string {
  const { path, callId, added } = file;
  // Explains why the file has no hunks in its editor.
  if (isUnwatched(turn, file)) {
    const shown = relativePath(path, view.session.cwd);
    return t('Not watched: {0}', visibleText(shortened(folderOf(shown) || shown, LONGEST_CALL)));
  }
  // Lines of a file that only the agent reported are not counted: once decided, it was not found on the disk either.
  const isReported = added === undefined && reportedDiffs(view, turn, path).length > 0;
  if (callId === undefined) return isReported ? '' : t('Changed {0|on disk|while no prompt ran}', 1);
  const call = callsOf(turn).find((one) => one.id === callId);
  if (!call || diffsOf(call).some((diff) => isSame(diff.path, path, view.session.cwd))) return '';
  // Some agents call each command by the name of their tool.
  const command = call.kind === 'execute' ? callWords(call, view.session).thing : undefined;
  return t('By {0}', shortened(visibleText(command ?? callTitle(call, view.session.cwd)), LONGEST_CALL));
}

/** True for a file that only the agent reported, in a turn whose files are watched. */
function isUnwatched({ files }: Turn, { review }: TurnFile): boolean {
  return review === 'reported' && files !== undefined;
}

/** The folder in a path as it is shown; empty for a bare name. */
function folderOf(shown: string): string {
  return shown.slice(0, Math.max(0, shown.lastIndexOf('/'), shown.lastIndexOf('\\')));
}

function decisionView(view: View, turn: Turn, file: TurnFile, shown: string): TemplateResult {
  switch (file.review) {
    case 'kept':
      return html`<span class="faint">${keptWord(file)}</span>`;
    case 'undone':
      return html`<span class="faint">${t('Undone')}</span>`;
    case 'overtaken':
      return file.later === undefined
        ? html``
        : html`<span class="faint">${t('{0|deleted|replaced} later', file.later === 'deleted' ? 1 : 2)}</span>`;
    case 'unkept':
      return html`<span class="faint">${t('cannot be undone')}</span>`;
    case 'reported':
    case 'open':
      return isUnplaced(reportedDiffs(view, turn, file.path)) && file.review === 'reported'
        ? html`<span class="tag">${t('excerpt')}</span>`
        : html`${decidedView(file)}${settleButtons(view, turn.id, file.path, shown)}`;
  }
}

function keptWord({ hunks }: TurnFile): string {
  return hunks && hunks.kept < hunks.all ? `${t('Kept')} ${hunks.kept}/${hunks.all}` : t('Kept');
}

/** The hunks of the file that are decided, while others are not. */
function decidedView({ hunks }: TurnFile): TemplateResult | typeof nothing {
  if (hunks?.open === undefined) return nothing;
  const { kept, all, open } = hunks;
  const words = [kept > open ? `${t('Kept')} ${kept - open}/${all}` : '', all > kept ? `${t('Undone')} ${all - kept}/${all}` : ''];
  return html`<span class="faint">${words.filter(Boolean).join(' · ')}</span>`;
}

function settleButtons(view: View, turnId: string, path: string, shown: string): TemplateResult {
  const key = `${turnId}:undo:${path}`;
  if (isUnfolded(view.memory, key, false)) return confirm(view, turnId, path, key);
  const button = (icon: 'check' | 'undo', id: string, label: string, run: () => void) =>
    html`<button class="icon-button" type="button" id=${id} title=${label} aria-label=${label} @click=${run}>${iconOf(icon)}</button>`;
  const ask = () => {
    view.act.unfold(key, true);
    // The confirmation replaces the button that had the focus.
    view.act.focus(key);
  };
  return html`${button('check', `${key}:keep`, `${t('Keep')}: ${shown}`, () => view.act.settleFile(turnId, path, 'keep'))}
    ${button('undo', `${key}:ask`, `${t('Undo')}: ${shown}`, ask)}`;
}

function confirm(view: View, turnId: string, path: string, key: string): TemplateResult {
  const undo = () => {
    view.act.unfold(key, false);
    view.act.settleFile(turnId, path, 'undo');
  };
  const cancel = () => {
    view.act.unfold(key, false);
    view.act.focus(`${key}:ask`);
  };
  return html`<span class="confirm" role="group" aria-label=${t('Undo')}>
    <button class="text-button danger" type="button" id=${key} @click=${undo}>${t('Undo')}</button>
    <button class="text-button" type="button" @click=${cancel}>${t('Cancel')}</button>
  </span>`;
}

function unlistedView({ unlisted }: Turn): TemplateResult | typeof nothing {
  if (!unlisted) return nothing;
  const { files, folders, between = [] } = unlisted;
  const names = (all: readonly string[]) => visibleText(shortened(all.join(', '), LONGEST_NAMES));
  return html`${
    files + folders.length === 0
      ? nothing
      : html`<p class="faint">
          ${files === 0 ? nothing : t('{0} files changed at once and are not listed.', files)}
          ${folders.length === 0 ? nothing : t('Not watched: {0}', names(folders))}
        </p>`
  }
  ${between.length === 0 ? nothing : html`<p class="faint">${betweenWords(between)}</p>`}`;
}

function reportedDiffs({ session }: View, turn: Turn, path: string): ReturnType<typeof diffsOf> {
  return changedFiles(turn).find((file) => isSame(file.path, path, session.cwd))?.diffs ?? [];
}

function isSame(one: string, other: string, cwd: string): boolean {
  return relativePath(one, cwd) === relativePath(other, cwd);
}

import { html, nothing, type TemplateResult } from 'lit/html.js';
import { isUnplaced } from '../../src/session/diffs.ts';
import type { Turn } from '../../src/session/model.ts';
import { changedFiles, relativePath } from '../../src/session/select.ts';
import { visibleText } from '../../src/session/visible.ts';
import { iconOf } from '../icons.ts';
import { t } from '../strings.ts';
import { isUnfolded, type View } from '../view.ts';
import { visible } from '../visible.ts';
import { counts } from './diffCard.ts';
import { showMoreButton, shownCount } from './overflow.ts';

/** The files a turn changed, with their diffs and a way back. Taking back asks once more. */
export function changesView(view: View, turn: Turn): TemplateResult | typeof nothing {
  const files = changedFiles(turn);
  if (files.length === 0 || turn.status === 'running') return nothing;
  return html`<div class="changes" role="group" aria-label=${t('Changes')}>
    <h3>${files.length === 1 ? t('1 file changed') : t('{0} files changed', files.length)}</h3>
    <ul>
      ${files.slice(0, shownCount(view, `${turn.id}:changes`)).map(({ path, diffs }) => {
        const shown = relativePath(path, view.session.cwd);
        const key = `${turn.id}:revert:${path}`;
        return html`<li>
          <button class="path-button" type="button" title=${visibleText(path)} @click=${() => view.act.open(path)}><bdi>${visible(shown)}</bdi></button>
          ${counts(diffs)}
          <button class="icon-button" type="button" title=${t('Open diff')} aria-label="${t('Open diff')}: ${visibleText(shown)}"
            @click=${() => view.act.review({ turnId: turn.id, path })}>${iconOf('diff')}</button>
          ${isUnplaced(diffs) ? html`<span class="tag">${t('excerpt')}</span>` : isUnfolded(view.memory, key, false) ? confirm(view, turn.id, path, key) : undo(view, shown, key)}
        </li>`;
      })}
    </ul>
    ${showMoreButton(view, `${turn.id}:changes`, files.length, (left) => t('{0} more files', left))}
  </div>`;
}

function undo(view: View, shown: string, key: string): TemplateResult {
  const label = `${t('Take back')}: ${visibleText(shown)}`;
  const ask = () => {
    view.act.unfold(key, true);
    // The question stands where the button was that had the focus.
    view.act.focus(key);
  };
  return html`<button class="icon-button" type="button" id=${undoId(key)} title=${label} aria-label=${label} @click=${ask}>${iconOf('undo')}</button>`;
}

function confirm(view: View, turnId: string, path: string, key: string): TemplateResult {
  const revert = () => {
    view.act.unfold(key, false);
    view.act.revert(turnId, path);
  };
  const keep = () => {
    view.act.unfold(key, false);
    view.act.focus(undoId(key));
  };
  return html`<span class="confirm" role="group" aria-label=${t('Take back')}>
    <span>${t('Take back')}</span>
    <button class="text-button danger" type="button" id=${key} @click=${revert}>${t('Take back')}</button>
    <button class="text-button" type="button" @click=${keep}>${t('Keep')}</button>
  </span>`;
}

function undoId(key: string): string {
  return `${key}:undo`;
}

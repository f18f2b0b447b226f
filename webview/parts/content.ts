import { html, nothing, type TemplateResult } from 'lit/html.js';
import { isAbsolutePath } from '../../src/base/paths.ts';
import type { Content, Part, Plan, PlanEntry, Turn } from '../../src/session/model.ts';
import { isAttached, linesText, promptText, relativePath } from '../../src/session/select.ts';
import { visibleText } from '../../src/session/visible.ts';
import { type IconName, iconOf } from '../icons.ts';
import { targetOf } from '../links.ts';
import { textView } from '../markdownView.ts';
import { isFolder, type MentionPlace, mentionsIn, textPieces } from '../mentions.ts';
import { byFolders, t, visible } from '../strings.ts';
import { isUnfolded, type View } from '../view.ts';
import { fold, PROMPT_BEGINNING, plainText } from './fold.ts';

/** Only pictures that cannot carry script; svg in an image element cannot either, but brings its own fonts and links. */
const PICTURES = /^image\/(?:png|jpe?g|gif|webp|bmp|avif)$/i;

/** One piece of content from an agent. `key` is unique in the session. */
export function contentView(view: View, key: string, content: Content, done: boolean): TemplateResult {
  switch (content.type) {
    case 'text':
      return textView(content.text, done);
    case 'image':
      if (content.data === '') return html`<p class="faint">${t('Image')}</p>`;
      return PICTURES.test(content.mime)
        ? html`<img class="picture" alt=${t('Image')} src="data:${content.mime};base64,${content.data}" />`
        : unknownView(view, key, content.mime, content.mime);
    case 'audio':
      return /^audio\/[\w.+-]+$/.test(content.mime)
        ? html`<audio class="sound" controls src="data:${content.mime};base64,${content.data}"></audio>`
        : unknownView(view, key, content.mime, content.mime);
    case 'file':
    case 'link':
      return html`<div class="chips">${chip(view, content)}</div>${
        content.type === 'file' && content.text !== undefined ? plainText(view, `${key}:text`, visibleText(content.text)) : nothing
      }`;
    case 'raw':
      return unknownView(view, key, content.label, content.value);
  }
}

function unknownView(view: View, key: string, label: string, value: unknown): TemplateResult {
  return fold(view, {
    key: `${key}:raw`,
    look: 'raw',
    summary: html`${iconOf('info')}<bdi>${visible(label)}</bdi>`,
    body: () => plainText(view, `${key}:rawText`, visibleText(pretty(value))),
  });
}

/** A compact attachment that opens its target. */
function chip(view: View, content: Content): TemplateResult {
  const label = chipLabel(content, view.session.cwd);
  const text = html`<bdi class="chip-text">${visible(label)}</bdi>`;
  switch (content.type) {
    case 'file':
      return html`<button class="chip" type="button" title=${visibleText(content.path)} @click=${() => view.act.open(content.path, content.lines?.[0])}>
        ${iconOf(placeIcon(content))}${text}
      </button>`;
    case 'link': {
      const target = targetOf(content.uri);
      if (!target) return html`<span class="chip" title=${visibleText(content.uri)}>${iconOf('link')}${text}</span>`;
      const follow = () => (target.kind === 'web' ? view.act.openLink(target.uri) : view.act.open(target.path, target.line, target.column));
      return html`<button class="chip" type="button" title=${visibleText(content.uri)} @click=${follow}>${iconOf('link')}${text}</button>`;
    }
    case 'image':
      return PICTURES.test(content.mime)
        ? html`<span class="chip chip-image"><img alt=${label} src="data:${content.mime};base64,${content.data}" /></span>`
        : html`<span class="chip">${iconOf('file')}${text}</span>`;
    default:
      return html`<span class="chip">${iconOf('clip')}${text}</span>`;
  }
}

/** Tells a selection, a symbol's line, a folder and a file apart. */
export function placeIcon(content: Content): IconName {
  if (content.type !== 'file') return 'file';
  if (content.lines) return content.text === undefined ? 'symbol' : 'selection';
  return isFolder(content) ? 'folder' : 'file';
}

/** The display name of an attachment. */
export function chipLabel(content: Content, cwd: string): string {
  switch (content.type) {
    case 'text':
      return content.label ?? content.text.trim().split('\n', 1)[0]?.slice(0, 80) ?? '';
    case 'image':
      return t('Image');
    case 'audio':
      return t('Audio');
    case 'file':
      return `${relativePath(content.path, cwd)}${linesText(content.lines)}`;
    case 'link':
      return content.title || content.uri;
    case 'raw':
      return content.label;
  }
}

/** A value formatted for people. */
export function pretty(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
}

/** The user's message: the text as typed, and its attachments. */
export function promptView(view: View, key: string, content: readonly Content[], place?: string, sender?: string): TemplateResult {
  const text = promptText({ prompt: content });
  const mentions = mentionsIn(text, content, view.session.cwd);
  const attached = content.filter((one) => isAttached(one) && !mentions.some((mention) => mention.content === one));
  return html`<div class="prompt" data-vscode-context=${place ?? nothing}>
    <h2 class="sr-only">${t('You')}</h2>
    ${sender === undefined ? nothing : html`<div class="sender"><bdi>${visible(sender)}</bdi></div>`}
    ${text === '' ? nothing : plainText(view, `${key}:prompt`, text, (shown) => mentionChips(view, shown, mentions), PROMPT_BEGINNING)}
    ${attached.length === 0 ? nothing : html`<div class="chips">${attached.map((one, at) => promptChip(view, `${key}:attached${at}`, one))}</div>`}
    ${attached.map((one, at) => attachedText(view, `${key}:attached${at}`, one))}
  </div>`;
}

/** True for a text that is no file, such as the output of a terminal: there is nothing to open, so its chip shows it. */
function isLooseText(content: Content): content is Extract<Content, { type: 'file' }> & { readonly text: string } {
  return content.type === 'file' && content.text !== undefined && !isAbsolutePath(content.path);
}

function promptChip(view: View, key: string, content: Content): TemplateResult {
  if (!isLooseText(content)) return chip(view, content);
  const open = isUnfolded(view.memory, key, false);
  return html`<button class="chip" type="button" aria-expanded=${String(open)} @click=${() => view.act.unfold(key, !open)}>
    ${iconOf('file')}<bdi class="chip-text">${visible(chipLabel(content, view.session.cwd))}</bdi>
  </button>`;
}

function attachedText(view: View, key: string, content: Content): TemplateResult | typeof nothing {
  return isLooseText(content) && isUnfolded(view.memory, key, false) ? plainText(view, `${key}:text`, visibleText(content.text)) : nothing;
}

/** Draws the mentions in a text as chips, which open the file or show the folder. */
function mentionChips(view: View, text: string, mentions: readonly MentionPlace[]): unknown {
  return textPieces(text, mentions).map(({ text: piece, content }) =>
    content === undefined
      ? piece
      : html`<button class="mention" type="button" title=${visibleText(content.path)} @click=${() => view.act.open(content.path)}>${iconOf(isFolder(content) ? 'folder' : 'file')}<bdi>${byFolders(piece)}</bdi></button>`,
  );
}

/** A message sent into the turn that the agent has not taken up yet. */
export function pendingView(view: View, turn: Turn, part: Part): TemplateResult | typeof nothing {
  if (part.kind !== 'prompt' || !part.pending) return nothing;
  return html`<div class="pending">
    ${promptView(view, `${turn.id}/${part.id}`, part.content, undefined, part.sender)}
    <p class="faint">${iconOf('clock')}${t('Sent. The agent reads it after its current step.')}</p>
  </div>`;
}

/** The agent's task for a sub-agent, in its own words; folded, as the card has a short version. */
export function taskView(view: View, key: string, content: readonly Content[]): TemplateResult {
  const text = content.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('\n\n');
  return fold(view, {
    key: `${key}:task`,
    summary: t('The prompt for the sub-agent'),
    body: () => plainText(view, `${key}:taskText`, text),
  });
}

/** The steps of a plan, each with its state. */
export function entriesView(entries: Plan['entries']): TemplateResult {
  return html`<ol class="plan-entries">${entries.map(entryView)}</ol>`;
}

function entryView(entry: PlanEntry): TemplateResult {
  const text = entry.status === 'completed' ? t('Done') : entry.status === 'in_progress' ? t('Working') : t('To do');
  const icon = entry.status === 'completed' ? 'stepDone' : entry.status === 'in_progress' ? 'stepNow' : 'step';
  return html`<li class="entry entry-${entry.status}">
    ${iconOf(icon)}<span class="sr-only">${text}: </span><bdi>${visible(entry.text)}</bdi>
    ${entry.priority === 'high' ? html`<span class="tag">${t('high')}</span>` : nothing}
  </li>`;
}

import { html, nothing, type TemplateResult } from 'lit/html.js';
import { pathOfUri, REMOTE } from '../src/base/paths.ts';
import { MOST_CONTENTS } from '../src/bridge/contract.ts';
import type { Content } from '../src/session/model.ts';
import { visibleText } from '../src/session/visible.ts';
import { named } from './completion.ts';
import { iconOf } from './icons.ts';
import { type MentionPlace, mentionsIn, textPieces, withoutMention } from './mentions.ts';
import { chipLabel, placeIcon } from './parts/content.ts';
import { t } from './strings.ts';
import { LARGEST_PICTURE } from './ui.ts';
import { COMPOSER_ID, type View } from './view.ts';

/** UTF-16 units of a text that the preview shows. */
const LONGEST_PREVIEW = 20_000;

/** The attachments of the prompt, as chips that open or preview them, but for files and folders that are marked in the text. */
export function attachmentsView(view: View): TemplateResult | typeof nothing {
  const all = named(view.memory.draft, view.memory.mentions);
  const mentioned = all.map(({ content }) => content);
  // The text names these where they stand, as it will in the message.
  const marked = new Set<Content>(marksIn(view).map(({ content }) => content));
  const chosen = all.filter(({ content }) => !marked.has(content));
  const { attachments, draft, lost } = view.memory;
  const unnamed = notMentioned(attachments, mentioned);
  const items = [
    ...chosen.map(({ label, content }) => ({
      content,
      // Two places of one line would look alike.
      name: placeIcon(content) === 'symbol' ? `${label} · ${chipLabel(content, view.session.cwd)}` : chipLabel(content, view.session.cwd),
      remove: () => view.act.remember({ draft: withoutMention(draft, `@${label}`), attachments: notMentioned(attachments, [content]) }),
    })),
    ...unnamed.map((content) => ({
      content,
      name: chipLabel(content, view.session.cwd),
      remove: () => view.act.remember({ attachments: attachments.filter((other) => other !== content) }),
    })),
  ];
  const leftOut = all.length + unnamed.length - MOST_ATTACHED;
  const notes = html`${lost ? lostView(view) : nothing}${leftOut > 0 ? html`<div class="lost" role="status"><span>${leftOutWords(leftOut)}</span></div>` : nothing}`;
  if (items.length === 0) return notes;
  return html`${notes}<ul class="chips attachments" aria-label=${t('Attachments')}>${items.map((item) => itemView(view, item))}</ul>
    ${previewView(
      view,
      items.map(({ content }) => content),
    )}`;
}

/** Attachments of a message, beside its text. */
const MOST_ATTACHED = MOST_CONTENTS - 1;

function leftOutWords(count: number): string {
  return t('Only the first {0} attachments are sent; {1} are left out.', MOST_ATTACHED, count);
}

/** As many of the attachments as a message takes; tells the user of the others. */
export function withinBound(attachments: readonly Content[], tell: (words: string) => void): readonly Content[] {
  if (attachments.length > MOST_ATTACHED) tell(leftOutWords(attachments.length - MOST_ATTACHED));
  return attachments.slice(0, MOST_ATTACHED);
}

/** The attachments but for whole files and folders that are mentioned, too. */
export function notMentioned(attachments: readonly Content[], mentioned: readonly Content[]): readonly Content[] {
  const paths = new Set(mentioned.flatMap((one) => wholePath(one) ?? []));
  return attachments.filter((one) => !paths.has(wholePath(one) ?? ''));
}

/** The path of a file or folder as a whole, without a text that came with it. */
function wholePath(content: Content): string | undefined {
  return content.type === 'file' && content.text === undefined && content.lines === undefined ? content.path : undefined;
}

/** The files and folders that the text names by their paths. */
function marksIn({ memory, session }: View): readonly MentionPlace[] {
  const contents = named(memory.draft, memory.mentions).map(({ content }) => content);
  return mentionsIn(memory.draft, contents, session.cwd);
}

/** Marks mentions, below the letters of the text area that follows. */
export function marksView(view: View): TemplateResult | typeof nothing {
  const marks = marksIn(view);
  if (marks.length === 0) return nothing;
  const pieces = textPieces(view.memory.draft, marks).map(({ text, content }) => (content ? html`<mark>${text}</mark>` : text));
  return html`<div class="composer-marks" aria-hidden="true" dir="auto">${pieces}${'\n'}</div>`;
}

/** Keeps the marks behind the letters of a text area that scrolls. */
export function scrollMarks({ target }: Event): void {
  const area = target as HTMLTextAreaElement;
  const marks = area.previousElementSibling;
  if (marks) marks.scrollTop = area.scrollTop;
}

/** The user must notice, before sending, that a reload removed attachments from the draft. */
function lostView(view: View): TemplateResult {
  const close = () => {
    view.act.remember({ lost: undefined });
    view.act.focus(COMPOSER_ID);
  };
  return html`<div class="lost" role="status">
    <span>${t('This draft lost attachments that were too large to keep. Attach them again.')}</span>
    <button class="icon-button" type="button" title=${t('Close')} aria-label=${t('Close')} @click=${close}>${iconOf('cross')}</button>
  </div>`;
}

/** A chip: what it holds, its name, and how it is taken away. */
interface Item {
  readonly content: Content;
  readonly name: string;
  remove(): void;
}

function itemView(view: View, { content, name: label, remove }: Item): TemplateResult {
  const name = visibleText(label);
  const removal = `${t('Remove')}: ${name}`;
  const shown = view.popup?.kind === 'preview' && view.popup.content === content;
  const previews = content.type === 'image' || (content.type === 'file' && content.text !== undefined);
  const open = () => {
    if (previews) view.act.show(shown ? undefined : { kind: 'preview', content });
    else if (content.type === 'file') view.act.open(content.path, content.lines?.[0]);
  };
  const removed = () => {
    if (shown) view.act.show(undefined);
    remove();
    view.act.focus(COMPOSER_ID);
  };
  return html`<li class="attachment">
    <button class="attachment-name" type="button" title=${name} aria-expanded=${previews ? String(shown) : nothing} @click=${open}>
      ${content.type === 'image' ? html`<img class="thumb" alt="" src="data:${content.mime};base64,${content.data}" />` : iconOf(placeIcon(content))}<bdi class="chip-text">${name}</bdi>
    </button>
    <button class="icon-button" type="button" title=${removal} aria-label=${removal} @click=${removed}>${iconOf('cross')}</button>
  </li>`;
}

function previewView({ popup }: View, contents: readonly Content[]): TemplateResult | typeof nothing {
  if (popup?.kind !== 'preview' || !contents.includes(popup.content)) return nothing;
  const { content } = popup;
  if (content.type === 'image') return html`<img class="preview" alt=${t('Image')} src="data:${content.mime};base64,${content.data}" />`;
  if (content.type !== 'file') return nothing;
  return html`<pre class="preview" tabindex="0" role="region" aria-label=${visibleText(content.path)}>${visibleText((content.text ?? '').slice(0, LONGEST_PREVIEW))}</pre>`;
}

const LARGEST_TEXT = 256 * 1024;

/** The paths of files and folders dropped from the editor's explorer or tabs. */
export function droppedPaths(data: DataTransfer): readonly string[] {
  const lists = ['application/vnd.code.uri-list', 'text/uri-list'].map((type) => data.getData(type));
  const list = lists.find((text) => text !== '') ?? '';
  return list.split(/\r?\n/).flatMap((line) => (line.startsWith('#') ? [] : (pathOf(line.trim()) ?? [])));
}

function pathOf(uri: string): string | undefined {
  const local = uri.replace(REMOTE, 'file://');
  const path = pathOfUri(local);
  return path === local ? undefined : path;
}

/** The content of a picture, when the agent supports them, or of a small text file; undefined for other files. */
export async function contentOf(file: File, images: boolean): Promise<Content | undefined> {
  if (file.type.startsWith('image/')) {
    if (!images || file.size > LARGEST_PICTURE) return undefined;
    return { type: 'image', mime: file.type, data: base64(new Uint8Array(await file.arrayBuffer())) };
  }
  if (file.size > LARGEST_TEXT) return undefined;
  const text = await file.text();
  return text.includes('\0') ? undefined : { type: 'file', path: file.name, text };
}

function base64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary);
}

import { live } from 'lit/directives/live.js';
import { createRef, type Ref, ref } from 'lit/directives/ref.js';
import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Content, QueuedPrompt, Session } from '../src/session/model.ts';
import { canStop, isAttached, isBusy, isPreparing, isRecorded, promptText, readsHistory, runningTurn } from '../src/session/select.ts';
import { attachmentsView, contentOf, droppedPaths, marksView, notMentioned, scrollMarks, withinBound } from './attachments.ts';
import { CompletionPopup, commandHint, isEmpty, MENU_ID, mentionAt, menuView, named, optionId, placeContent } from './completion.ts';
import { iconOf } from './icons.ts';
import type { Page } from './page.ts';
import { chipLabel } from './parts/content.ts';
import { editingView, endEdit, historyOf, mayCancelEdit, replacedTurn } from './parts/retryActions.ts';
import { pickerView, pillView } from './picker.ts';
import { t } from './strings.ts';
import { backgroundView, usageView } from './usage.ts';
import { COMPOSER_ID, type View } from './view.ts';

/** Milliseconds after a quick-pick in which the letter of an answer, and Enter, are meant for the next one. */
const AFTER_PICK = 2000;
/** Milliseconds after the draft has come back from behind an edit in which sending is a second press for the edit. */
const AFTER_EDIT = 1000;
/** A letter of the answers, perhaps pressed again. */
const ANSWER_LETTER = /^[aswrfl]{1,3}$/i;
const IGNORED = () => t('Ignored right after an answer. Use the buttons.');

/**
 * Where the text in the box comes from, until something is typed: the user, the history so many steps back with the draft that waits, the button with
 * its @ behind a text, or from behind an edit that was sent.
 */
type Shown =
  | { readonly from: 'user' }
  | { readonly from: 'history'; readonly back: number; readonly draft: string }
  | { readonly from: 'button'; readonly before: string; readonly text: string }
  | { readonly from: 'edit'; readonly at: number };

/** The input box: text, attachments, menus, history. The view's memory holds the draft, so that it outlives a reload. */
export class Composer {
  readonly #completion: CompletionPopup;
  readonly #ui: Page['ui'];
  readonly #ref: Ref<HTMLTextAreaElement> = createRef();
  #view: View | undefined;
  #shown: Shown = { from: 'user' };
  /** The draft before the user came to the composer and typed; undefined until they type there. */
  #before: { readonly sessionId: string; readonly draft: string } | undefined;
  /** False after an answer, until the user does something else in the page: Esc was meant for the question. */
  #escapeStops = true;
  /** When a quick-pick has left, or a key for the next one was last refused. */
  #pickLeftAt = Number.NEGATIVE_INFINITY;

  constructor(page: Page) {
    this.#completion = new CompletionPopup(page);
    this.#ui = page.ui;
  }

  template(view: View): TemplateResult | typeof nothing {
    const { session, memory } = view;
    if (this.#view && hasSettled(this.#view.session, session)) this.ignoreEscape();
    this.#view = view;
    if (isRecorded(session)) return nothing;
    const busy = isBusy(session);
    const offers = session.link.state === 'ready' ? session.link.offers : {};
    const { menu, at } = this.#completion;
    const hint = commandHint(memory.draft, session.commands);
    const stop = t('Stop');
    const steer = t('Send into the running turn ({0})', steerKey(navigator.userAgent));
    const idle = memory.draft.trim() === '' && memory.attachments.length === 0;
    return html`<div class="composer" @dragover=${(event: Event) => event.preventDefault()} @drop=${this.#drop}>
      ${queueView(view, (prompt) => this.#edit(prompt))}
      ${pickerView(view)} ${menu ? menuView(menu, at, (index) => this.#choose(index)) : nothing}
      ${editingView(view, this.#cancelEdit)}
      <div class="composer-box">
        ${attachmentsView(view)}
        <div class="composer-field">
        ${marksView(view)}
        <textarea ${ref(this.#ref)} id=${COMPOSER_ID} rows="1" class="composer-text" dir="auto" aria-autocomplete="list" aria-haspopup="listbox"
          aria-label=${t('Ask {0}', session.agent.name || 'Parley')} aria-controls=${menu ? MENU_ID : nothing}
          aria-activedescendant=${menu && menu.items.length > 0 ? optionId(at) : nothing} placeholder=${t('Ask {0}', session.agent.name || 'Parley')}
          .value=${live(memory.draft)} @input=${this.#input} @keydown=${this.#key} @click=${this.#caretMoved} @blur=${this.#blurred} @paste=${this.#paste} @scroll=${scrollMarks}></textarea>
        </div>
        ${hint ? html`<div class="faint command-hint">${hint}</div>` : nothing}
        <div class="composer-bar">
          <div class="composer-choices">
            <button class="icon-button" type="button" title=${t('Add context')} aria-label=${t('Add context')} @click=${this.#addContext}>${iconOf('plus')}</button>
            ${pillView(view)} ${backgroundView(view)}</div>
          <div class="composer-buttons">${usageView(view)}
          ${
            busy && offers.steer && !idle
              ? html`<button class="icon-button" type="button" title=${steer} aria-label=${steer} @click=${() => this.#send('steer')}>${iconOf('steer')}</button>`
              : nothing
          }
          ${
            canStop(session)
              ? html`<button class="icon-button stop" type="button" title=${stop} aria-label=${stop} @click=${() => view.act.intent({ type: 'cancel' })}>${iconOf('stop')}</button>`
              : nothing
          }
          <button class="icon-button send" type="button" ?disabled=${idle} title=${busy ? t('Send when this turn has ended') : t('Send')} aria-label=${busy ? t('Send when this turn has ended') : t('Send')} @click=${() => this.#send('prompt')}>${iconOf('send')}</button>
          </div>
        </div>
      </div>
    </div>`;
  }

  /** Ignores Esc, because a question has just left the screen. */
  ignoreEscape(): void {
    this.#escapeStops = false;
  }

  /** Heeds Esc again, because the user acts in the page. */
  heedEscape(): void {
    this.#escapeStops = true;
  }

  /** A quick-pick has left the screen: another may follow, and its keys come early. */
  pickLeft(): void {
    this.#escapeStops = false;
    this.#pickLeftAt = performance.now();
  }

  /**
   * Takes back the letter of an answer that was typed here right after another answer, before the next quick-pick was there. True when there is one: it
   * is no message.
   */
  takeBackAnswer(): boolean {
    const [view, before] = [this.#view, this.#before];
    if (!view || before?.sessionId !== view.session.id || performance.now() - this.#pickLeftAt > AFTER_PICK) return false;
    const { draft } = view.memory;
    const typed = draft.startsWith(before.draft) ? draft.slice(before.draft.length) : '';
    if (!ANSWER_LETTER.test(typed)) return false;
    this.#write(before.draft, before.draft.length);
    this.leave();
    return true;
  }

  focus(): void {
    this.#ref.value?.focus();
  }

  /** The user goes elsewhere or gives a command: what is typed from now on is meant for what that shows. */
  leave(): void {
    this.#before = undefined;
  }

  /** Takes what was typed since the user came here along to another session: it was on its way while they typed. */
  follow(from: string, to: string, ui: Page['ui']): void {
    const before = this.#before;
    this.#before = undefined;
    if (before?.sessionId !== from) return;
    const { draft, mentions } = ui.memory(from);
    const typed = draft.startsWith(before.draft) ? draft.slice(before.draft.length) : '';
    if (typed.trim() === '') return;
    const there = ui.memory(to);
    ui.change(from, { draft: before.draft });
    ui.change(to, { draft: [there.draft, typed].filter(Boolean).join('\n'), mentions: { ...mentions, ...there.mentions } });
    this.#before = { sessionId: to, draft: there.draft === '' ? '' : `${there.draft}\n` };
  }

  /** Inserts text at the caret; anything else becomes an attachment. */
  insert(content: Content): void {
    const view = this.#view;
    if (!view) return;
    if (content.type !== 'text') return view.act.remember({ attachments: [...view.memory.attachments, content] });
    const area = this.#ref.value;
    const { draft } = view.memory;
    const from = area?.selectionStart ?? draft.length;
    this.#write(draft.slice(0, from) + content.text + draft.slice(area?.selectionEnd ?? from), from + content.text.length);
  }

  /** Writes the draft and puts the caret at once, as keys may follow before the next frame. */
  #write(draft: string, caret: number): void {
    const area = this.#ref.value;
    if (area) {
      area.value = draft;
      area.setSelectionRange(caret, caret);
    }
    this.#view?.act.remember({ draft });
  }

  readonly #input = (event: Event): void => {
    const area = event.target as HTMLTextAreaElement;
    this.#shown = { from: 'user' };
    const view = this.#view;
    if (view) {
      const sessionId = view.session.id;
      if (this.#before?.sessionId !== sessionId) this.#before = { sessionId, draft: view.memory.draft };
      view.act.remember({ draft: area.value });
    }
    this.#updateCompletion(area);
  };

  /** Updates the menu after the agent's commands changed: the typed text may be one. */
  commandsChanged(): void {
    const area = this.#ref.value;
    if (area && area === document.activeElement && area.value.startsWith('/')) this.#updateCompletion(area);
  }

  /** Opens the menu of what can be attached, as an @ typed at the caret does. */
  readonly #addContext = (): void => {
    const area = this.#ref.value;
    if (!area) return;
    area.focus();
    const before = area.value.slice(0, area.selectionStart);
    const text = before === '' || /\s$/.test(before) ? '@' : ' @';
    this.insert({ type: 'text', text });
    this.#updateCompletion(area);
    this.#shown = { from: 'button', before, text };
  };

  readonly #blurred = (): void => {
    this.leave();
    this.#completion.close();
  };

  readonly #caretMoved = (event: Event): void => this.#updateCompletion(event.target as HTMLTextAreaElement);

  #updateCompletion(area: HTMLTextAreaElement): void {
    if (this.#view) this.#completion.update(this.#view.session, area.value, area.selectionStart);
  }

  readonly #key = (event: KeyboardEvent): void => {
    // While an input method composes, every key belongs to it; some of them send 229 for Enter.
    if (event.isComposing || event.keyCode === 229) return;
    if (isCommand(event)) this.leave();
    const area = event.target as HTMLTextAreaElement;
    if (this.#completion.menu && this.#menuKey(event, area)) return;
    if (event.key === 'Enter' && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      if (this.#view && isBusy(this.#view.session) && this.takeBackAnswer()) {
        this.#pickLeftAt = performance.now();
        this.#view.act.say(IGNORED(), 'info');
      } else if (!event.repeat) this.#send(event.ctrlKey || event.metaKey ? 'steer' : 'prompt');
    } else if (event.key === 'Escape' && !event.repeat && this.#view && escapes(this.#view)) {
      event.preventDefault();
      if (!this.#escapeStops) this.#view.act.say(IGNORED(), 'info');
      else if (mayCancelEdit(this.#view)) this.#cancelEdit();
      else this.#view.act.intent({ type: 'cancel' });
    } else if (!event.shiftKey) this.#historyKey(event, area);
  };

  #historyKey(event: KeyboardEvent, area: HTMLTextAreaElement): void {
    const back = this.#shown.from === 'history' ? this.#shown.back : 0;
    const atEnd = back > 0 && area.selectionStart === area.value.length;
    if (event.key === 'ArrowUp' && area.selectionEnd === 0) this.#recall(event, back + 1, 'start');
    else if (event.key === 'ArrowUp' && atEnd) this.#recall(event, back + 1, 'end');
    else if (event.key === 'ArrowDown' && atEnd) this.#recall(event, back - 1, 'end');
  }

  /** Handles a key of the menu. True when the menu used it. */
  #menuKey(event: KeyboardEvent, area: HTMLTextAreaElement): boolean {
    const completion = this.#completion;
    if (completion.menu?.items.length === 0 && event.key !== 'Escape') return false;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') completion.move(event.key === 'ArrowDown' ? 1 : -1);
    else if (event.key === 'Escape') this.#leaveMenu(area);
    else if ((event.key === 'Enter' && !event.shiftKey) || (event.key === 'Tab' && !event.shiftKey)) {
      const item = completion.menu?.items[completion.at];
      // Sends a completely typed command instead of completing it.
      if (
        event.key === 'Enter' &&
        item &&
        (completion.menu?.kind === 'command' || completion.menu?.kind === 'hint') &&
        item.insert.trim() === area.value.slice(completion.menu.from).trim()
      ) {
        completion.close();
        return false;
      }
      this.#choose(completion.at);
    } else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  /** Closes the menu, and takes back the @ of the button: the user has typed none. */
  #leaveMenu(area: HTMLTextAreaElement): void {
    this.#completion.close();
    if (this.#shown.from !== 'button') return;
    const { before, text } = this.#shown;
    const caret = before.length + text.length;
    if (area.selectionStart !== caret || !area.value.startsWith(before + text)) return;
    this.#write(before + area.value.slice(caret), before.length);
  }

  #choose(index: number): void {
    const { menu } = this.#completion;
    const item = menu?.items[index];
    const area = this.#ref.value;
    if (!menu || !item || !area || isEmpty(item)) return;
    this.#completion.close();
    const view = this.#view;
    const { mention } = item;
    if (view && mention && 'path' in mention)
      view.act.remember({ mentions: { ...view.memory.mentions, [item.label]: placeContent(mention) } });
    // The list may be of a shorter name: what was typed since belongs to it.
    const { from, to } = (menu.kind === 'mention' ? mentionAt(area.value, area.selectionStart) : undefined) ?? menu;
    this.#write(area.value.slice(0, from) + item.insert + area.value.slice(to), from + item.insert.length);
    area.focus();
    if (mention && !('path' in mention)) view?.act.attach(mention.kind);
    else this.#updateCompletion(area);
  }

  #recall(event: KeyboardEvent, back: number, caret: 'start' | 'end'): void {
    const said = historyOf(this.#view, this.#ui.sent);
    if (back > said.length) return;
    event.preventDefault();
    const draft = this.#shown.from === 'history' ? this.#shown.draft : (this.#view?.memory.draft ?? '');
    this.#shown = back === 0 ? { from: 'user' } : { from: 'history', back, draft };
    const { text, mentions } = (back === 0 ? undefined : said.at(-back)) ?? { text: draft, mentions: {} };
    if (this.#view) this.#view.act.remember({ mentions: { ...this.#view.memory.mentions, ...mentions } });
    this.#write(text, caret === 'start' ? 0 : text.length);
  }

  #send(how: 'prompt' | 'steer'): void {
    const view = this.#view;
    if (!view || this.#isSecondPress()) return;
    const text = view.memory.draft.trim();
    const mentioned = named(text, view.memory.mentions);
    const contents = mentioned.map(({ content: one }) => one);
    const content: Content[] = [
      ...(text === '' ? [] : [{ type: 'text', text } as const]),
      ...withinBound([...contents, ...notMentioned(view.memory.attachments, contents)], view.act.say),
    ];
    if (content.length === 0) return;
    this.leave();
    this.#completion.close();
    this.#ui.noteSent({ text, mentions: Object.fromEntries(mentioned.map(({ label, content: one }) => [label, one])) });
    const replaces = replacedTurn(view);
    const hadEdit = mayCancelEdit(view);
    this.#endEdit(view);
    if (hadEdit) this.#shown = { from: 'edit', at: performance.now() };
    view.act.send(content, how, replaces);
  }

  /** True right after an edit was sent: the draft that came back is not meant. */
  #isSecondPress(): boolean {
    return this.#shown.from === 'edit' && performance.now() - this.#shown.at < AFTER_EDIT;
  }

  /** Empties the composer, or brings back the draft that waited for the end of an edit. */
  #endEdit(view: View): void {
    const after = endEdit(view.memory);
    this.#shown = { from: 'user' };
    // A key before the next frame goes on with this text instead of extending the one before.
    this.#write(after.draft, after.draft.length);
    view.act.remember(after);
  }

  /** Drops an edit. Its text stays in the history: Esc is pressed quickly. */
  readonly #cancelEdit = (): void => {
    const view = this.#view;
    if (!view) return;
    const { draft, mentions } = view.memory;
    this.#ui.noteSent({ text: draft.trim(), mentions });
    this.leave();
    this.#completion.close();
    this.#endEdit(view);
    this.focus();
  };

  #edit({ turnId, content }: QueuedPrompt): void {
    const view = this.#view;
    if (!view) return;
    view.act.intent({ type: 'unqueue', turnId });
    const text = promptText({ prompt: content });
    const draft = [view.memory.draft, text].filter(Boolean).join('\n\n');
    view.act.remember({ attachments: [...view.memory.attachments, ...content.filter(isAttached)] });
    this.#write(draft, draft.length);
    this.focus();
  }

  readonly #paste = (event: ClipboardEvent): void => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    void this.#attach(files);
  };

  readonly #drop = (event: DragEvent): void => {
    event.preventDefault();
    if (!event.dataTransfer) return;
    const paths = droppedPaths(event.dataTransfer);
    if (paths.length === 0) void this.#attach([...event.dataTransfer.files]);
    else this.#view?.act.drop(paths);
    this.focus();
  };

  async #attach(files: readonly File[]): Promise<void> {
    const link = this.#view?.session.link;
    const images = link?.state === 'ready' && link.offers.images === true;
    for (const file of files) {
      const content = await contentOf(file, images);
      if (content) this.insert(content);
      else if (file.type.startsWith('image/') && !images)
        this.#view?.act.say(t('{0} cannot take: {1}.', this.#view.session.agent.name, t('Image')));
      else this.#view?.act.say(t('{0} cannot be attached: it is too large or not text.', file.name));
    }
  }
}

/** True for the keys of shortcuts. Ctrl with Alt types letters on many keyboards. */
function isCommand({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return metaKey || (ctrlKey && !altKey) || /^F\d/.test(key);
}

/** True when Escape does something: it drops an edit first. */
function escapes(view: View): boolean {
  return mayCancelEdit(view) || stopsAt(view.session);
}

/** True when Escape may stop the turn; where the agent waits for an answer, it would be one. */
function stopsAt(session: Session): boolean {
  if (readsHistory(session)) return true;
  const turn = runningTurn(session);
  return turn !== undefined && (turn.stopping === true || session.asks.length === 0);
}

/** True when an ask has closed that was shown. Asks that a rule answers never appear. */
function hasSettled(before: Session, now: Session): boolean {
  if (before.id !== now.id || before.asks === now.asks) return false;
  const open = new Set(now.asks.map(({ id }) => id));
  return before.asks.some(({ id, decision }) => !open.has(id) && !(decision?.kind === 'approval' && decision.by === 'rule'));
}

/** The keys that send into a running turn, in the system's keyboard names. */
export function steerKey(userAgent: string): string {
  return /\bMac(?:intosh| OS X)\b/.test(userAgent) ? '⌘↩' : 'Ctrl+Enter';
}

/** Prompts that wait for the running turn to end, or for the user. `edit` takes one back into the composer. */
function queueView(view: View, edit: (prompt: QueuedPrompt) => void): TemplateResult | typeof nothing {
  const { queue, link } = view.session;
  if (queue.length === 0) return nothing;
  const busy = isBusy(view.session);
  const steers = link.state === 'ready' && link.offers.steer === true;
  const { intent } = view.act;
  const shortText = ({ content }: QueuedPrompt) => content.map((one) => chipLabel(one, view.session.cwd)).join(' · ');
  const now = ({ turnId, content }: QueuedPrompt) => {
    if (!busy || !steers) return intent({ type: 'prompt', turnId, content });
    intent({ type: 'unqueue', turnId });
    intent({ type: 'steer', turnId, content });
  };
  return html`<section class="queue" aria-label=${t('{0} waiting', queue.length)}>
    ${isPreparing(view.session) ? html`<p class="faint" role="status">${t('Looking at the files…')}</p>` : nothing}
    <ul>
      ${queue.map(
        (prompt) =>
          html`<li>
            ${iconOf('clock')}<bdi class="queue-text" title=${shortText(prompt)}>${shortText(prompt)}</bdi>
            ${prompt.feedback ? html`<span class="tag">${t('Feedback')}</span>` : nothing}${prompt.held ? html`<span class="tag">${t('Held')}</span>` : nothing}
            ${view.session.id === '' ? nothing : !busy || steers ? small('send', t('Send'), () => now(prompt)) : prompt.held ? small('send', t('Send when this turn has ended'), () => now(prompt)) : nothing} ${small('edit', t('Edit'), () => edit(prompt))}
            ${small('cross', t('Remove'), () => intent({ type: 'unqueue', turnId: prompt.turnId }))}
          </li>`,
      )}
    </ul>
  </section>`;
}

function small(icon: 'send' | 'edit' | 'cross', label: string, act: () => void): TemplateResult {
  return html`<button class="icon-button" type="button" title=${label} aria-label=${label} @click=${act}>${iconOf(icon)}</button>`;
}

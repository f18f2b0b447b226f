import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { Mention, MentionedPlace } from '../src/bridge/contract.ts';
import type { Command, Content, Session } from '../src/session/model.ts';
import { visibleText } from '../src/session/visible.ts';
import { type IconName, iconOf } from './icons.ts';
import { isMentioned } from './mentions.ts';
import type { Page } from './page.ts';
import { t } from './strings.ts';
import { TypedNames } from './typedNames.ts';

/** A line of the menu above the composer. */
export interface MenuItem {
  readonly label: string;
  readonly detail?: string;
  /** Text after the label, shown fainter. */
  readonly hint?: string;
  /** The text that replaces `from`..`to` once the item is chosen. */
  readonly insert: string;
  /** The mention behind the item, after an @. */
  readonly mention?: Mention;
}
export interface Menu {
  readonly kind: 'command' | 'mention' | 'hint';
  readonly items: readonly MenuItem[];
  readonly from: number;
  readonly to: number;
  /** The agent or a language service is still looking; the items are earlier ones, or our own. */
  readonly looking?: true;
  /** Why the agent has no suggestions; the items are our own. */
  readonly problem?: string;
}

const HINTS_AFTER_MS = 80;
/** Milliseconds without an answer after which the menu shows that something is looked for. */
const LOOKING_AFTER_MS = 250;

const ROWS_ABOVE_SYMBOLS = 5;

/** The text after an @ before the caret, and its place in the draft. */
type MentionPlace = NonNullable<ReturnType<typeof mentionAt>>;

/** Selects the menu for the text being typed. Drops late answers of the host. */
export class CompletionPopup {
  readonly #page: Page;
  readonly #typedNames: TypedNames;
  menu: Menu | undefined;
  at = 0;
  #asked = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The session whose agent is looking for suggestions. */
  #looking: string | undefined;

  constructor(page: Page) {
    this.#page = page;
    this.#typedNames = new TypedNames(page);
  }

  /** Reads the text before the caret and opens, changes or closes the menu. */
  update(session: Session, text: string, caret: number): void {
    this.#typedNames.changed(session);
    this.#asked += 1;
    clearTimeout(this.#timer);
    const commands = commandMenu(text, caret, session.commands);
    const mention = mentionAt(text, caret);
    // Our own commands are shown until the agent's suggestions arrive, and where it has none.
    if (commands) this.#show(commands);
    else if (mention) void this.#mentions(mention, this.#asked);
    else this.close();
    const { link } = session;
    if (link.state !== 'ready' || !link.offers.hints) return;
    if (text.trim() === '') return this.#withdraw();
    const asked = this.#asked;
    this.#timer = setTimeout(() => void this.#hints(session.id, text, caret, asked), HINTS_AFTER_MS);
  }

  move(by: number): void {
    const count = this.menu?.items.length ?? 0;
    this.at = count === 0 ? 0 : (this.at + by + count) % count;
    this.#page.changed();
    document.getElementById(`menu-option-${this.at}`)?.scrollIntoView({ block: 'nearest' });
  }

  close(): void {
    this.#asked += 1;
    clearTimeout(this.#timer);
    this.#withdraw();
    if (!this.menu) return;
    this.menu = undefined;
    this.#page.changed();
  }

  #show(menu: Menu): void {
    const before = this.menu?.items[this.at]?.label;
    const stays = menu.items.findIndex((item) => item.label === before);
    this.at = menu.kind === this.menu?.kind && stays > 0 ? stays : 0;
    this.menu = menu;
    this.#page.changed();
  }

  /** Shows places and contexts at once, and symbols as soon as the language services know them. */
  async #mentions(place: MentionPlace, asked: number): Promise<void> {
    const { host } = this.#page;
    const { query } = place;
    const symbols = host.call('findSymbols', { query }).catch(() => []);
    const found = await host.call('findMentions', { query }).catch(() => []);
    const isLate = () => asked !== this.#asked || (this.menu?.kind === 'hint' && this.menu.items.length > 0);
    if (isLate()) return;
    this.#offer(found, place);
    const looking = setTimeout(() => {
      if (!isLate()) this.#show({ ...(this.menu ?? { kind: 'mention', items: [], from: place.from, to: place.to }), looking: true });
    }, LOOKING_AFTER_MS);
    const named = await symbols;
    clearTimeout(looking);
    // The first rows stay: one of them may be about to be chosen.
    if (!isLate()) this.#offer([...found.slice(0, ROWS_ABOVE_SYMBOLS), ...named, ...found.slice(ROWS_ABOVE_SYMBOLS)], place);
  }

  #offer(found: readonly Mention[], { from, to }: MentionPlace): void {
    const items = found.map((mention): MenuItem => {
      const { label, detail } = mention;
      // A place stays named in the text; a context is only attached.
      return { label, insert: 'path' in mention ? `@${label} ` : '', mention, ...(detail ? { hint: detail } : {}) };
    });
    const { problem } = this.menu ?? {};
    // The state of the agent's own search is shown above our items, whatever we found.
    const looking = this.menu?.looking && this.#looking !== undefined;
    const told = { ...(looking ? { looking } : {}), ...(problem === undefined ? {} : { problem }) };
    if (items.length > 0 || looking || problem !== undefined) return this.#show({ kind: 'mention', items, from, to, ...told });
    if (!this.menu) return;
    this.menu = undefined;
    this.#page.changed();
  }

  async #hints(sessionId: string, text: string, cursor: number, asked: number): Promise<void> {
    this.#looking = sessionId;
    const answer = this.#page.host.call('hints', { sessionId, text, cursor });
    const late = setTimeout(() => {
      if (asked === this.#asked) this.#show({ ...(this.menu ?? nothingYet(text)), looking: true });
    }, LOOKING_AFTER_MS);
    try {
      const found = await answer;
      if (asked !== this.#asked) return;
      const items = found.map(
        ({ label, value, description }): MenuItem => ({ label, insert: value, ...(description ? { detail: description } : {}) }),
      );
      if (items.length > 0) this.#show({ kind: 'hint', items, from: 0, to: text.length });
      else if (this.menu?.looking) this.#own();
    } catch (error) {
      if (asked === this.#asked) this.#own(text, error instanceof Error ? error.message : String(error));
    } finally {
      clearTimeout(late);
      if (asked === this.#asked) this.#looking = undefined;
    }
  }

  /** Keeps our own list: the agent has stopped looking, and may have said why it has nothing. */
  #own(text = '', problem?: string): void {
    const { looking: _, problem: __, ...menu } = this.menu ?? nothingYet(text);
    if (problem !== undefined) return this.#show({ ...menu, problem });
    if (menu.items.length > 0) return this.#show(menu);
    this.menu = undefined;
    this.#page.changed();
  }

  /** Tells the agent that its suggestions are not needed any more. */
  #withdraw(): void {
    const sessionId = this.#looking;
    this.#looking = undefined;
    if (sessionId !== undefined) void this.#page.host.call('hints', { sessionId, text: '', cursor: 0 }).catch(() => []);
  }
}

/** An empty menu for suggestions that only the agent may have. */
function nothingYet(text: string): Menu {
  return { kind: 'hint', items: [], from: 0, to: text.length };
}

const MOST_ROWS = 50;

/** The menu for a text that begins with a slash, and the hint of a completely typed command. */
export function commandMenu(text: string, caret: number, commands: readonly Command[]): Menu | undefined {
  const typed = text.slice(0, caret);
  if (!typed.startsWith('/') || typed.includes('\n')) return undefined;
  const words = typed.slice(1).split(' ');
  const query = words.pop() ?? '';
  const level = words.reduce<readonly Command[] | undefined>((list, word) => list && commandNamed(list, word)?.children, commands);
  if (!level) return undefined;
  const items = best(query, level, (command) => [command.name, ...command.aliases]).map((command): MenuItem => {
    const aliases = command.aliases.length > 0 ? `(${command.aliases.map((alias) => `/${alias}`).join(', ')})` : '';
    const hint = [command.hint ?? '', words.length === 0 ? aliases : ''].filter(Boolean).join(' ');
    return {
      label: words.length === 0 ? `/${command.name}` : command.name,
      detail: command.description,
      ...(hint === '' ? {} : { hint }),
      // A name that is typed whole stays: the agent may do something else by an alias, and the chat shows what was said.
      insert: `${words.length === 0 ? '/' : ''}${command.aliases.includes(query) ? query : command.name} `,
    };
  });
  const from = words.length === 0 ? 0 : caret - query.length;
  return items.length > 0 ? { kind: 'command', items, from, to: caret } : undefined;
}

/** The input hint of the command at the beginning of the text, while nothing is typed after it yet. */
export function commandHint(text: string, commands: readonly Command[]): string | undefined {
  const found = /^\/(\S+(?: \S+)*) ?$/.exec(text);
  const words = found?.[1]?.split(' ') ?? [];
  let level: readonly Command[] | undefined = commands;
  let command: Command | undefined;
  for (const word of words) {
    command = level && commandNamed(level, word);
    if (!command) return undefined;
    level = command.children;
  }
  return command?.hint;
}

function commandNamed(commands: readonly Command[], word: string): Command | undefined {
  return commands.find((command) => command.name === word || command.aliases.includes(word));
}

/** Things whose names contain the letters of the query in order, best first; all of them for an empty query. */
export function best<T>(query: string, things: readonly T[], names: (thing: T) => readonly string[]): readonly T[] {
  const scored = things.flatMap((thing, index) => {
    const score = Math.max(...names(thing).map((name) => scoreOf(query.toLowerCase(), name.toLowerCase())));
    return score === Number.NEGATIVE_INFINITY ? [] : [{ thing, score, index }];
  });
  return scored
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, MOST_ROWS)
    .map(({ thing }) => thing);
}

/** Higher is better: prefix, then whole run inside, then scattered letters; -Infinity when letters are missing. */
function scoreOf(query: string, name: string): number {
  if (query === '') return 0;
  const at = name.indexOf(query);
  if (at === 0) return 1000 - name.length;
  if (at > 0) return 500 - at - name.length;
  let from = 0;
  for (const letter of query) {
    from = name.indexOf(letter, from) + 1;
    if (from === 0) return Number.NEGATIVE_INFINITY;
  }
  return 100 - name.length;
}

/** The name being typed after an @ before the caret; from..to includes the @. */
export function mentionAt(text: string, caret: number): { readonly query: string; readonly from: number; readonly to: number } | undefined {
  const found = /(?:^|[\s([{"'])@([^\s@]*)$/.exec(text.slice(0, caret));
  const query = found?.[1];
  return query === undefined ? undefined : { query, from: caret - query.length - 1, to: caret };
}

/** The mentions whose names are still in the text. */
export function named(
  text: string,
  mentions: Readonly<Record<string, Content>>,
): readonly { readonly label: string; readonly content: Content }[] {
  return Object.entries(mentions).flatMap(([label, content]) => (isMentioned(text, `@${label}`) ? [{ label, content }] : []));
}

/** The content of a mention: a path that ends with a slash is a folder; a symbol is its line. */
export function placeContent({ path, line }: MentionedPlace): Content {
  return { type: 'file', path, ...(line === undefined ? {} : { lines: [line, line] }) };
}

export function optionId(index: number): string {
  return `menu-option-${index}`;
}
export const MENU_ID = 'composer-menu';

/** The list above the composer. Focus stays in the composer; aria-activedescendant names the active line. */
export function menuView(menu: Menu, at: number, choose: (index: number) => void): TemplateResult {
  // Long lists scroll, also by keys for who moves into them; the mouse leaves the focus in the composer.
  return html`<div class="menu" tabindex="0" @mousedown=${(event: Event) => event.preventDefault()}>
    ${menu.looking ? html`<div class="menu-note faint" role="status"><span class="menu-looking" aria-hidden="true"></span>${t('Looking at the files…')}</div>` : nothing}
    ${menu.problem === undefined ? nothing : html`<div class="menu-note" role="status">${t('{0} failed: {1}', t('Suggestions'), visibleText(menu.problem))}</div>`}
    <div role="listbox" id=${MENU_ID} aria-label=${t('Suggestions')}>
    ${menu.items.map(
      (item, index) =>
        html`<div class="menu-item" role="option" id=${optionId(index)} aria-selected=${index === at ? 'true' : 'false'} aria-disabled=${isEmpty(item) ? 'true' : nothing}
          @click=${() => choose(index)}>
          <span class="menu-label">${item.mention ? iconOf(icons[item.mention.kind]) : nothing}<bdi>${item.label}</bdi>${item.hint ? html` <span class="menu-hint">${item.hint}</span>` : nothing}</span>
          ${item.detail ? html`<span class="menu-detail"><bdi>${item.detail}</bdi></span>` : nothing}
        </div>`,
    )}
    </div>
  </div>`;
}

/** True for an item whose context is empty now; it cannot be chosen. */
export function isEmpty({ mention }: MenuItem): boolean {
  return mention !== undefined && 'empty' in mention && mention.empty === true;
}

const icons: Readonly<Record<Mention['kind'], IconName>> = {
  file: 'file',
  folder: 'folder',
  symbol: 'symbol',
  selection: 'selection',
  problems: 'warning',
  changes: 'diff',
  terminal: 'execute',
  openEditors: 'copy',
  browse: 'clip',
};

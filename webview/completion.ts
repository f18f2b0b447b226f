import type { Mention } from '../src/bridge/contract.ts';
import type { Session } from '../src/session/model.ts';
import { commandMenu } from './commandMenu.ts';
import { mentionAt } from './mentions.ts';
import type { Menu, MenuItem } from './menu.ts';
import type { Page } from './page.ts';

const HINTS_AFTER_MS = 80;
/** Milliseconds without an answer after which the menu shows that something is looked for. */
const LOOKING_AFTER_MS = 250;

const ROWS_ABOVE_SYMBOLS = 5;

/** The text after an @ before the caret, and its place in the draft. */
type MentionPlace = NonNullable<ReturnType<typeof mentionAt>>;

/** Selects the menu for the text being typed. Drops late answers of the host. */
export class Completion {
  readonly #page: Page;
  menu: Menu | undefined;
  at = 0;
  #asked = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The session whose agent is looking for suggestions. */
  #looking: string | undefined;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Reads the text before the caret and opens, changes or closes the menu. */
  look(session: Session, text: string, caret: number): void {
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

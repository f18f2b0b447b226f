import type { Session } from '../src/session/model.ts';
import { commandMenu } from './commandMenu.ts';
import type { Host } from './host.ts';
import { mentionAt } from './mentions.ts';
import type { Menu, MenuItem } from './menu.ts';

const HINTS_AFTER_MS = 80;

/** Which menu belongs to what is being typed. Answers of the host that come too late are dropped. */
export class Completion {
  readonly #host: Pick<Host, 'call'>;
  readonly #changed: () => void;
  menu: Menu | undefined;
  at = 0;
  #asked = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(host: Pick<Host, 'call'>, changed: () => void) {
    this.#host = host;
    this.#changed = changed;
  }

  /** Looks at the text before the caret and opens, changes or closes the menu. */
  look(session: Session, text: string, caret: number): void {
    this.#asked += 1;
    clearTimeout(this.#timer);
    const commands = commandMenu(text, caret, session.commands);
    const mention = mentionAt(text, caret);
    // What we know ourselves stands until the agent's own suggestions come, and where it has none.
    if (commands) this.#show(commands);
    else if (mention) void this.#files(mention, this.#asked);
    else this.close();
    const { link } = session;
    if (link.state !== 'ready' || !link.offers.hints || text.trim() === '') return;
    const asked = this.#asked;
    this.#timer = setTimeout(() => void this.#hints(session.id, text, caret, asked), HINTS_AFTER_MS);
  }

  move(by: number): void {
    const count = this.menu?.items.length ?? 0;
    this.at = count === 0 ? 0 : (this.at + by + count) % count;
    this.#changed();
    document.getElementById(`menu-option-${this.at}`)?.scrollIntoView({ block: 'nearest' });
  }

  close(): void {
    this.#asked += 1;
    clearTimeout(this.#timer);
    if (!this.menu) return;
    this.menu = undefined;
    this.#changed();
  }

  #show(menu: Menu): void {
    const before = this.menu?.items[this.at]?.label;
    const stays = menu.items.findIndex((item) => item.label === before);
    this.at = menu.kind === this.menu?.kind && stays > 0 ? stays : 0;
    this.menu = menu;
    this.#changed();
  }

  async #files({ query, from, to }: { readonly query: string; readonly from: number; readonly to: number }, asked: number): Promise<void> {
    const found = await this.#host.call('findFiles', { query }).catch(() => []);
    if (asked !== this.#asked || this.menu?.kind === 'hint') return;
    const items = found.map(({ path, label }): MenuItem => ({ label, insert: `@${label} `, path }));
    if (items.length > 0) this.#show({ kind: 'file', items, from, to });
    else this.close();
  }

  async #hints(sessionId: string, text: string, cursor: number, asked: number): Promise<void> {
    const found = await this.#host.call('hints', { sessionId, text, cursor }).catch(() => []);
    if (asked !== this.#asked || found.length === 0) return;
    const items = found.map(
      ({ label, value, description }): MenuItem => ({ label, insert: value, ...(description ? { detail: description } : {}) }),
    );
    this.#show({ kind: 'hint', items, from: 0, to: text.length });
  }
}

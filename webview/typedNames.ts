import type { Content, Session } from '../src/session/model.ts';
import { absolute } from './links.ts';
import { isMentioned } from './mentions.ts';
import type { Page } from './page.ts';

/** Milliseconds without a key after which names are looked up. */
const REST_MS = 200;
/** Names that are looked up in one text, and in one request to the host. */
const MOST_NAMES = 1000;
const AT_ONCE = 100;
/** A name after an @, without the punctuation that ends a sentence. */
const NAME = /(?:^|[\s([{"'])@([^\s@]*[^\s@.,;:!?)\]}"'])/g;

/** Turns names of files that were typed or pasted after an @ into mentions, as if they had been picked, once the host has found these files. */
export class TypedNames {
  readonly #page: Page;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(page: Page) {
    this.#page = page;
  }

  /** The draft of the session has changed. */
  changed({ id, cwd }: Session): void {
    clearTimeout(this.#timer);
    if (this.#unknown(id).length > 0) this.#timer = setTimeout(() => void this.#find(id, cwd), REST_MS);
  }

  #unknown(id: string): readonly string[] {
    const { draft, mentions } = this.#page.ui.memory(id);
    if (!draft.includes('@')) return [];
    const names = new Set([...draft.matchAll(NAME)].flatMap(([, name]) => (name === undefined || name in mentions ? [] : [name])));
    return [...names].slice(0, MOST_NAMES);
  }

  async #find(id: string, cwd: string): Promise<void> {
    const { host, ui } = this.#page;
    const names = this.#unknown(id);
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const asked = names.slice(at, at + AT_ONCE);
      const there = new Set(await host.call('existing', { paths: asked.map((name) => absolute(name, cwd)) }).catch(() => []));
      const { draft, mentions } = ui.memory(id);
      const found = asked.flatMap((name): (readonly [string, Content])[] => {
        const path = absolute(name, cwd);
        return there.has(path) && !(name in mentions) && isMentioned(draft, `@${name}`) ? [[name, { type: 'file', path }]] : [];
      });
      if (found.length === 0) continue;
      ui.change(id, { mentions: { ...mentions, ...Object.fromEntries(found) } });
      this.#page.changed();
    }
  }
}

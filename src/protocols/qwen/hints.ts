import type { Link } from '../../transport/link.ts';
import type { Hint } from '../adapter.ts';
import { hintCancel, hintRequest, type Line, promptName } from './codec.ts';
import { refusalOf } from './messageCodec.ts';
import { resultHint } from './schema.ts';

/** Milliseconds an answer is listened for; what we know ourselves is shown meanwhile. */
const PATIENCE = 10_000;

interface Token {
  readonly trigger: 'slash' | 'at';
  readonly from: number;
  readonly text: string;
}
interface Asked {
  readonly id: string;
  /** The name of the session at the time of the request. */
  readonly session: string;
  readonly token: Token;
  readonly settle: (found: readonly Hint[]) => void;
  readonly refuse: (why: Error) => void;
  timer: NodeJS.Timeout;
}

/** Live suggestions while a user types a command or a reference (docs/protocols/qwen.md §4.6). One request at a time; a late answer is dropped. */
export class Hints {
  readonly #cwd: string;
  #link: Link | undefined;
  #asked: Asked | undefined;
  #count = 0;

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** The agent was started; what it is asked from now on goes there. */
  opened(link: Link): void {
    this.#link = link;
  }

  /** Completions of the whole text; none when the caret is in no command and no reference. */
  async ask(session: string, text: string, cursor: number): Promise<readonly Hint[]> {
    this.cancel();
    const token = tokenAt(text, cursor);
    if (!token) return [];
    const found = await this.#request(session, token);
    const sign = token.trigger === 'at' ? '@' : (token.text[0] ?? '/');
    return found.map(({ label, value, description }) => {
      const whole = value.startsWith(sign) ? value : `${sign}${value}`;
      // One goes on typing in a folder, and after anything else.
      const gap = whole.endsWith('/') ? '' : ' ';
      return {
        label,
        value: `${text.slice(0, token.from)}${whole}${gap}${text.slice(cursor).trimStart()}`,
        ...(description === undefined ? {} : { description }),
      };
    });
  }

  /** A line of the agent, which may be an answer. */
  take(line: Line): void {
    const asked = this.#asked;
    const result = asked && line.type === 'result/command_hint' ? resultHint.safeParse(line).data : undefined;
    if (!result) return;
    if (!asked || (result.trigger && result.trigger !== asked.token.trigger)) return;
    // A peer that does not echo our id is believed while the newest request has that trigger.
    const echoed = result.prompt_id ?? asked.id;
    if (echoed !== asked.id && /########preview-\d+$/.test(echoed)) return;
    if (result.status === 'loading') {
      clearTimeout(asked.timer);
      asked.timer = setTimeout(() => this.#settle(asked, []), PATIENCE);
      return;
    }
    if (result.status === 'error') return this.#refuse(asked, refusalOf(result.message));
    this.#settle(
      asked,
      (result.suggestions ?? []).map(({ label, value, description }) => ({ label, value, ...(description ? { description } : {}) })),
    );
  }

  /** Withdraws the open request. */
  cancel(): void {
    const asked = this.#asked;
    if (!asked) return;
    this.#link?.notify('line', hintCancel(asked.session, asked.id));
    this.#settle(asked, []);
  }

  end(): void {
    if (this.#asked) this.#settle(this.#asked, []);
  }

  #request(session: string, token: Token): Promise<readonly Hint[]> {
    this.#count += 1;
    const id = promptName(session, `preview-${this.#count}`);
    return new Promise((settle, refuse) => {
      const asked: Asked = { id, session, token, settle, refuse, timer: setTimeout(() => this.#settle(asked, []), PATIENCE) };
      this.#asked = asked;
      const { trigger, text } = token;
      const context = { cwd: this.#cwd, selected_text: '' };
      this.#link?.notify('line', hintRequest({ session_id: session, prompt_id: id, trigger, text, cursor: text.length, context }));
    });
  }

  #settle(asked: Asked, found: readonly Hint[]): void {
    this.#over(asked);
    asked.settle(found);
  }

  #refuse(asked: Asked, why: string): void {
    this.#over(asked);
    asked.refuse(new Error(why));
  }

  #over(asked: Asked): void {
    clearTimeout(asked.timer);
    if (this.#asked === asked) this.#asked = undefined;
  }
}

/** The command at the beginning of the text, or the reference the caret is in. A backslash keeps a space inside. */
export function tokenAt(text: string, cursor: number): Token | undefined {
  const before = text.slice(0, cursor);
  const slash = /^[/?][^\n]*$/.exec(before);
  if (slash) return { trigger: 'slash', from: 0, text: before };
  const at = /(?:^|\s)(@(?:\\.|[^\s\\])*)$/.exec(before);
  return at?.[1] === undefined ? undefined : { trigger: 'at', from: cursor - at[1].length, text: at[1] };
}

import type { Content, PartId, TurnId } from '../../session/model.ts';
import type { Scene } from '../adapter.ts';

/** The words of one turn, in the order they came. */
export class Shown {
  readonly #scene: Scene;
  readonly #turnId: TurnId;
  #open: { readonly kind: 'text' | 'thought'; readonly id: PartId; readonly of: string | undefined } | undefined;
  /** Those that have said something, to know them again. */
  readonly #messages = new Set<string>();
  readonly #whole: string[] = [];

  constructor(scene: Scene, turnId: TurnId) {
    this.#scene = scene;
    this.#turnId = turnId;
  }

  get empty(): boolean {
    return this.#whole.length === 0;
  }

  get text(): string {
    return this.#whole.join('');
  }

  /** `of` names what the words belong to where every message stands for itself. */
  say(kind: 'text' | 'thought', text: string, messageId?: string, of?: string): void {
    if (messageId !== undefined) this.#messages.add(messageId);
    if (kind === 'text') this.#whole.push(text);
    if (this.#open?.kind !== kind || this.#open.of !== of || kind === 'thought') this.#open = { kind, id: this.#scene.newId(), of };
    this.#scene.emit({ type: 'text.grew', turnId: this.#turnId, kind, partId: this.#open.id, text });
  }

  /** The message has been shown, as far as it goes. */
  has(messageId: string | undefined, text: string): boolean {
    if (messageId !== undefined && this.#messages.has(messageId)) return true;
    return this.#whole.join('').includes(text);
  }

  content(content: Content): void {
    this.close();
    this.#scene.emit({ type: 'part.added', turnId: this.#turnId, part: { kind: 'content', id: this.#scene.newId(), content } });
  }

  notice(level: 'info' | 'warn' | 'error', text: string): void {
    this.close();
    this.#scene.emit({
      type: 'part.added',
      turnId: this.#turnId,
      part: { kind: 'notice', id: this.#scene.newId(), notice: { level, text } },
    });
  }

  /** What comes next stands apart. */
  close(): void {
    this.#open = undefined;
  }
}

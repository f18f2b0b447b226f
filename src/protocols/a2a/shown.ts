import type { Content, PartId, TurnId } from '../../session/model.ts';
import type { AdapterContext } from '../adapter.ts';
import type { Known } from './known.ts';

/** The words of one turn, in the order they came. */
export class Shown {
  readonly #scene: AdapterContext;
  readonly #turnId: TurnId;
  #open: { readonly kind: 'text' | 'thought'; readonly id: PartId; readonly of: string | undefined } | undefined;
  readonly #known: Known;
  readonly #whole: string[] = [];

  constructor(scene: AdapterContext, turnId: TurnId, known: Known) {
    this.#scene = scene;
    this.#turnId = turnId;
    this.#known = known;
  }

  get empty(): boolean {
    return this.#whole.length === 0;
  }

  get text(): string {
    return this.#whole.join('');
  }

  /** `of` names what the words belong to where every message stands for itself. */
  say(kind: 'text' | 'thought', text: string, messageId?: string, of?: string): void {
    // Works are known by their own names.
    if (messageId !== undefined || of === undefined) this.#known.said(kind, text, messageId);
    if (kind === 'text') this.#whole.push(text);
    const before = this.#open;
    if (this.#open?.kind !== kind || this.#open.of !== of || kind === 'thought') this.#open = { kind, id: this.#scene.newId(), of };
    if (messageId === undefined && of !== undefined && this.#open !== before) this.#known.apart(this.#open.id, of);
    this.#scene.emit({ type: 'text.delta', turnId: this.#turnId, kind, partId: this.#open.id, text });
  }

  /** What was shown last is that part, and may grow. */
  goOn(id: PartId, of: string | undefined): void {
    this.#open = { kind: 'text', id, of };
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

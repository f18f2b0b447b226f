import { AsyncDirective, directive } from 'lit/async-directive.js';
import { type ElementPart, noChange, nothing } from 'lit/html.js';
import type { Ask } from '../src/session/model.ts';
import { sameMeaning } from '../src/session/shownApproval.ts';
import { AnswerPlaces, type Point, UNREAD } from './answerPlaces.ts';

type Press = { readonly answer: string; readonly wait: number } | undefined;

/**
 * Lets presses on the answers of a card (`data-answer`) through once these were in sight for a readable time. Until then they have `data-fresh`, and so
 * has the card.
 */
class CardGuard {
  readonly #card: HTMLElement;
  readonly #places = new AnswerPlaces();
  readonly #sizes: ResizeObserver | undefined;
  readonly #end = new AbortController();
  /** What the pointer went down on. */
  #down: Press;
  /** Until when the answers show that a press did not count. */
  #refusing = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(card: HTMLElement) {
    this.#card = card;
    const { signal } = this.#end;
    const capture = { capture: true, signal };
    card.addEventListener('pointerdown', (event) => this.#pressed(event), capture);
    // A press that does not count leaves the focus where it was, too.
    card.addEventListener('mousedown', (event) => this.#down && this.#down.wait > 0 && event.preventDefault(), capture);
    card.addEventListener('click', (event) => this.#clicked(event), capture);
    window.addEventListener('resize', () => this.#measure(), { signal });
    document.addEventListener('visibilitychange', () => this.forget(), { signal });
    if (typeof ResizeObserver === 'function') this.#sizes = new ResizeObserver(() => this.#measure());
  }

  /** The card is being drawn. */
  drawn(): void {
    queueMicrotask(() => {
      // What stands below the card moves it when it grows.
      for (const one of [this.#card, this.#card.closest('.dock')]) if (one) this.#sizes?.observe(one);
      this.#measure();
    });
  }

  forget(): void {
    this.#places.forget();
    this.drawn();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#end.abort();
    this.#sizes?.disconnect();
  }

  get #answers(): readonly HTMLElement[] {
    return [...this.#card.querySelectorAll<HTMLElement>('[data-answer]')];
  }

  #measure(): void {
    if (this.#end.signal.aborted || !this.#card.isConnected) return;
    const places = this.#answers.map((one) => {
      const { left, top, right, bottom } = one.getBoundingClientRect();
      return { answer: nameOf(one), left, top, right, bottom };
    });
    this.#places.draw(places, performance.now());
    this.#mark();
  }

  /** Shows which answers do not count yet. */
  #mark(): void {
    const now = performance.now();
    const refusing = this.#refusing - now;
    const answers = this.#answers.map((one) => ({ one, wait: Math.max(refusing, this.#places.wait(nameOf(one), now, middleOf(one))) }));
    for (const { one, wait } of answers) one.toggleAttribute('data-fresh', wait > 0);
    const rest = Math.max(0, ...answers.map(({ wait }) => wait));
    this.#card.toggleAttribute('data-fresh', rest > 0);
    clearTimeout(this.#timer);
    if (rest > 0) this.#timer = setTimeout(() => this.#mark(), Math.ceil(rest));
  }

  #pressed({ target, timeStamp, clientX, clientY }: PointerEvent): void {
    const answer = answerAt(target);
    this.#down = answer === undefined ? undefined : { answer, wait: this.#places.wait(answer, timeStamp, { x: clientX, y: clientY }) };
  }

  #clicked(event: MouseEvent): void {
    const answer = answerAt(event.target);
    const down = this.#down;
    this.#down = undefined;
    if (answer === undefined) return;
    // The second press of a double click may land on what the first has brought.
    const wait = Math.max(this.#waitOf(answer, event, down), event.detail > 1 ? UNREAD : 0);
    if (wait <= 0) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.#refusing = performance.now() + Math.min(wait, UNREAD);
    this.#mark();
  }

  /** A press is of the moment in which the pointer went down. */
  #waitOf(answer: string, { detail, timeStamp, clientX, clientY }: MouseEvent, down: Press): number {
    if (detail === 0) return this.#places.waitForKeys(timeStamp);
    if (!down) return this.#places.wait(answer, timeStamp, { x: clientX, y: clientY });
    return down.answer === answer ? down.wait : UNREAD;
  }
}

function middleOf(answer: HTMLElement): Point {
  const { left, top, width, height } = answer.getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}

function nameOf(answer: HTMLElement): string {
  return answer.dataset.answer ?? '';
}

function answerAt(target: EventTarget | null): string | undefined {
  const found = target instanceof Element ? target.closest<HTMLElement>('[data-answer]') : null;
  return found ? nameOf(found) : undefined;
}

class Guarded extends AsyncDirective {
  #guard: CardGuard | undefined;
  #before: { readonly ask: Ask; readonly over: unknown } | undefined;

  override render(_ask: Ask, _cwd: string, _over: unknown): unknown {
    return nothing;
  }

  override update(part: ElementPart, [ask, cwd, over]: [Ask, string, unknown]): unknown {
    this.#guard ??= new CardGuard(part.element as HTMLElement);
    const { ask: before = ask, over: wasOver } = this.#before ?? {};
    this.#before = { ask, over };
    if (!isSame(before, ask, cwd) || (wasOver !== undefined && over !== wasOver)) this.#guard.forget();
    else this.#guard.drawn();
    return noChange;
  }

  protected override disconnected(): void {
    this.#guard?.stop();
    this.#guard = undefined;
  }
}

function isSame(before: Ask, ask: Ask, cwd: string): boolean {
  return before === ask || (before.kind === 'approval' && ask.kind === 'approval' && sameMeaning(before, ask, cwd));
}

/** On the element of a card: presses on its answers count once they could be read. `over`: what lies over the page, perhaps over the card. */
export const guarded = directive(Guarded);

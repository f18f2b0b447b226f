/** Keeps the beginning and the end of a long output and counts what it dropped between them. Sizes in characters. */
export class BoundedOutput {
  readonly #head: number;
  readonly #tail: number;
  #first = '';
  #last = '';
  #dropped = 0;

  constructor(head = 10_000, tail = 20_000) {
    this.#head = head;
    this.#tail = tail;
  }

  push(text: string): void {
    const room = this.#head - this.#first.length;
    this.#first += text.slice(0, room);
    if (text.length <= room) return;
    this.#last += text.slice(room);
    if (this.#last.length > 2 * this.#tail) this.#trim();
  }

  get dropped(): number {
    this.#trim();
    return this.#dropped;
  }

  get text(): string {
    this.#trim();
    if (this.#dropped === 0) return this.#first + this.#last;
    return `${this.#first}\n... (${this.#dropped} characters left out) ...\n${this.#last}`;
  }

  #trim(): void {
    const over = this.#last.length - this.#tail;
    if (over <= 0) return;
    this.#last = this.#last.slice(over);
    this.#dropped += over;
  }
}

/** How much of what was read is remembered. */
const FILES = 200;
const LONGEST = 1024 * 1024;

/** What the agent knows of files: the texts it has read or written, so that a whole text it sends is taken as the change it means. */
export class ReadTexts {
  readonly #texts = new Map<string, string>();

  /** The agent has this text now. */
  note(file: string, text: string): void {
    this.#texts.delete(file);
    if (text.length > LONGEST) return;
    this.#texts.set(file, text);
    const [oldest] = this.#texts.keys();
    if (this.#texts.size > FILES && oldest !== undefined) this.#texts.delete(oldest);
  }

  of(file: string): string | undefined {
    return this.#texts.get(file);
  }
}

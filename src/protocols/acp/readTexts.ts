import { applyPatch, structuredPatch } from 'diff';

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

/** What the agent changed from `base` to `wanted`, made in the present text; undefined when that overlaps with what changed there meanwhile. */
export function mergedInto(present: string, base: string, wanted: string): string | undefined {
  if (present === base) return wanted;
  if (present === wanted) return present;
  const patched = applyPatch(present, structuredPatch('', '', base, wanted, '', '', { context: 2 }), { autoConvertLineEndings: false });
  return patched === false ? undefined : patched;
}

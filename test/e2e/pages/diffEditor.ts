import type { Locator, Page } from 'playwright-core';

/** The native diff that is open. Only lines in view are in the page. */
export class DiffEditor {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  get editor(): Locator {
    return this.#page.locator('.monaco-diff-editor:visible');
  }

  /** Waits until the comparison, which comes later than the text, is there. */
  async compared(): Promise<void> {
    await this.editor.locator('.char-insert, .line-insert, .char-delete, .line-delete').first().waitFor();
  }

  original(): Promise<readonly string[]> {
    return this.#lines('.editor.original');
  }

  modified(): Promise<readonly string[]> {
    return this.#lines('.editor.modified');
  }

  /** A button in the title of the editor. */
  action(title: string): Locator {
    return this.#page.locator(`.editor-actions .action-label[aria-label^="${title}"]`);
  }

  /** The answers above a change: once they are there, the keys of a pending diff count. */
  get answers(): Locator {
    return this.#page.locator('.codelens-decoration', { hasText: 'Reject' }).first();
  }

  async #lines(side: string): Promise<readonly string[]> {
    const placed = await this.editor.locator(`${side} .view-lines .view-line`).evaluateAll((lines) =>
      lines.map((line) => ({
        top: Number.parseFloat(/top:\s*([\d.]+)px/.exec(line.getAttribute('style') ?? '')?.[1] ?? '0'),
        text: (line.textContent ?? '').replaceAll('\u00a0', ' ').replaceAll('\u200c', ''),
      })),
    );
    return placed.sort((a, b) => a.top - b.top).map((line) => line.text);
  }
}

import type { Locator, Page } from 'playwright-core';

/** The quick-pick or input box that is open. */
export class QuickPick {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  get box(): Locator {
    return this.#page.locator('.quick-input-widget:visible');
  }

  get input(): Locator {
    return this.#page.locator('.quick-input-widget input.input');
  }

  get title(): Locator {
    return this.box.locator('.quick-input-title');
  }

  /** A button in its title. */
  button(title: string): Locator {
    return this.box.locator(`.quick-input-titlebar .action-label[aria-label^="${title}"]`);
  }

  row(text: string | RegExp): Locator {
    return this.box.locator('.monaco-list-row', { hasText: text });
  }

  /** The row with this text, once Enter would take it. */
  focusedRow(text: string | RegExp): Locator {
    return this.box.locator('.monaco-list-row.focused', { hasText: text });
  }

  /** The rows with this text in their label, whatever stands in their details. */
  rowNamed(text: string): Locator {
    const label = this.#page.locator('.quick-input-list-row:first-child .label-name', { hasText: text });
    return this.box.locator('.monaco-list-row', { has: label });
  }

  /** The labels of all rows in view. */
  async labels(): Promise<readonly string[]> {
    await this.box.locator('.monaco-list-row').first().waitFor();
    return (await this.box.locator('.monaco-list-row .quick-input-list-row:first-child .label-name').allTextContents()).map((text) =>
      text.trim(),
    );
  }

  /** Moves with the arrow keys to the row with this text and presses Enter. Throws when it is not reached. */
  async choose(text: string): Promise<void> {
    await this.row(text).first().waitFor();
    for (let step = 0; step < 30; step += 1) {
      const focused = (await this.box.locator('.monaco-list-row.focused').allTextContents()).join();
      if (focused.includes(text)) return this.#page.keyboard.press('Enter');
      await this.#page.keyboard.press('ArrowDown');
    }
    throw new Error(`no row '${text}' among ${(await this.labels()).join(' | ')}`);
  }

  /** Moves to the first row with this icon, which in an approval says what the option does, and presses Enter. */
  async chooseIcon(icon: 'check' | 'check-all' | 'close' | 'circle-slash'): Promise<void> {
    const wanted = this.box.locator('.monaco-list-row', { has: this.#page.locator(`.label-name .codicon-${icon}`) });
    await wanted.first().waitFor();
    for (let step = 0; step < 30; step += 1) {
      if (await wanted.first().evaluate((row) => row.classList.contains('focused'))) return this.#page.keyboard.press('Enter');
      await this.#page.keyboard.press('ArrowDown');
    }
    throw new Error(`no row with ${icon} is reached among ${(await this.labels()).join(' | ')}`);
  }

  async gone(): Promise<void> {
    await this.box.waitFor({ state: 'hidden' });
  }
}

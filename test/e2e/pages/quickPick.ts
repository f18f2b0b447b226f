import type { Locator, Page } from 'playwright-core';

/** What allows once is called so, or just Allow; what rejects has no words and no second meaning. A row's name has its label first, then the rest. */
const ANSWERS = {
  A: /^(?:Allow once|Approve once|允许一次|Allow(?=,|$)|允许(?=,|，|$))/,
  R: /^(?:Reject|拒绝)(?! with feedback|并反馈)(?!.*⚠)/,
} as const;

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

  /** Settles when keys decide: what was pressed before an approval could be seen does not count. */
  async readable(): Promise<void> {
    await this.box.locator('input.input[placeholder]:not([placeholder=""])').waitFor();
  }

  /** Types into an input box. What is pressed before the box has the keyboard would go elsewhere. */
  async type(words: string): Promise<void> {
    await this.input.and(this.#page.locator(':focus')).waitFor();
    await this.#page.keyboard.type(words);
  }

  /** Moves to the row with this text, which need not be the first that the list finds. Throws when it is not reached. */
  async moveTo(text: string): Promise<void> {
    for (let step = 0; ; step += 1) {
      try {
        return await this.focusedRow(text).waitFor({ timeout: step === 0 ? 3000 : 500 });
      } catch (error) {
        if (step === 10) throw error;
        await this.#page.keyboard.press('ArrowDown');
      }
    }
  }

  /** Moves with the arrow keys to the row with this text and presses Enter. Throws when it is not reached. */
  async choose(text: string): Promise<void> {
    await this.row(text).first().waitFor();
    await this.readable();
    for (let step = 0; step < 30; step += 1) {
      const focused = this.box.locator('.monaco-list-row.focused');
      const words = (await focused.allTextContents()).join();
      if (words.includes(text)) return this.#page.keyboard.press('Enter');
      await this.#page.keyboard.press('ArrowDown');
      // A key that is still on its way would move on from the row that Enter is meant for. A list of one row stays as it is.
      const moved = words === '' ? focused : focused.filter({ hasNotText: words });
      await moved.waitFor({ timeout: 1000 }).catch(() => {});
    }
    throw new Error(`no row '${text}' among ${(await this.labels()).join(' | ')}`);
  }

  /** Answers an approval by key: the letter moves to the answer, Enter gives it. */
  async answer(letter: 'A' | 'R'): Promise<void> {
    const row = this.box.getByRole('option', { name: ANSWERS[letter] });
    await row.first().waitFor();
    await this.readable();
    await this.#page.keyboard.press(letter.toLowerCase());
    await this.box.locator('.monaco-list-row.focused').and(row).waitFor();
    await this.#page.keyboard.press('Enter');
  }

  async gone(): Promise<void> {
    await this.box.waitFor({ state: 'hidden' });
  }
}

import type { Locator } from 'playwright-core';
import { until } from '../until.ts';
import type { Window } from './window.ts';

/** The changes to review: their list beside the source control, and the decisions over each hunk in the editors. */
export class ReviewPage {
  readonly #window: Window;

  constructor(window: Window) {
    this.#window = window;
  }

  async show(): Promise<void> {
    await this.#window.command('Focus on Agent Changes');
  }

  /** What there is to review. */
  get rows(): Locator {
    const all = this.#window.page.locator('.pane', { hasText: 'Agent Changes' }).locator('.monaco-list-row');
    return all.filter({ hasNotText: 'No changes.' });
  }

  row(name: string): Locator {
    return this.rows.filter({ hasText: name });
  }

  /** Presses the button of a row until it counts, which it does once the row was in its place for a moment. */
  async press(row: Locator, title: 'Keep' | 'Undo', counts: Locator): Promise<void> {
    await row.waitFor();
    await until(async () => {
      await row.hover();
      await row.locator(`.action-label[aria-label^="${title}"]`).click();
      const isDone = counts.waitFor({ timeout: 1000 });
      return isDone.then(
        () => true,
        () => false,
      );
    }, `“${title}” counts`);
  }

  /** The same for the row of a file or a prompt, which says so, and goes. */
  async decideRow(name: string, title: 'Keep' | 'Undo'): Promise<void> {
    const row = this.row(name).first();
    await this.press(row, title, this.row(name).filter({ hasText: title === 'Keep' ? 'Kept' : 'Undone' }));
  }

  /** Ticks the box of a file. */
  async mark(name: string): Promise<void> {
    await this.row(name).locator('.monaco-checkbox, .custom-view-tree-node-item-checkbox').first().click();
    await this.marked(name).waitFor();
  }

  marked(name: string): Locator {
    return this.row(name).and(this.#window.page.locator('[aria-checked=true]')).or(this.row(name).locator('[aria-checked=true]'));
  }

  lens(title: string): Locator {
    return this.#window.page.locator('.codelens-decoration a', { hasText: title });
  }

  /** What stands beside the decisions and does nothing. */
  note(text: string | RegExp): Locator {
    return this.#window.page.locator('.codelens-decoration > span', { hasText: text });
  }

  /** Decides about a hunk, counted from the top of what is in view. */
  async decide(title: 'Keep' | 'Undo' | 'Leave out' | 'Put back', index = 0): Promise<void> {
    // The editor hides those out of sight at its top.
    const lenses = this.lens(title).filter({ visible: true });
    const tops = await lenses.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
    const [at = 0] =
      tops
        .map((top, place) => [top, place] as const)
        .sort((a, b) => a[0] - b[0])
        [index]?.slice(1) ?? [];
    await lenses.nth(at).click();
  }

  /** Waits until so many hunks have their decisions over them. */
  async lenses(count: number): Promise<void> {
    const undo = this.lens('Undo');
    if (count > 0) await undo.nth(count - 1).waitFor();
    await undo.nth(count).waitFor({ state: 'hidden' });
  }

  /** Opens a changed file from the chat's latest list that has it. */
  async openFile(name: string): Promise<void> {
    const { chat, page } = this.#window;
    await this.#window.openChat();
    await chat.frame.locator('.changes li', { hasText: name }).last().locator('.path-button').click();
    await page.locator('.tab.active', { hasText: name }).waitFor();
  }

  /** Keeps everything, if there is something. */
  async keepAll(): Promise<void> {
    await this.show();
    await this.rows.first().or(this.#nothing).first().waitFor();
    if (await this.#isDisabled(this.#keepsAll)) return;
    await this.#window.command('Parley: Keep All Changes');
    await this.isEmpty();
  }

  /** Waits until the list, which is shown for it, has nothing left. */
  async isEmpty(): Promise<void> {
    await this.show();
    await until(() => this.#isDisabled(this.#keepsAll), 'nothing is left to keep');
    await this.#nothing.waitFor();
  }

  /** The button of the list's title. The list itself is as it was when it was last on the screen, until the editor has drawn it anew. */
  get #keepsAll(): Locator {
    return this.#window.page.locator('.pane', { hasText: 'Agent Changes' }).locator('.pane-header .action-label[aria-label^="Keep All"]');
  }

  async #isDisabled(button: Locator): Promise<boolean> {
    await button.waitFor({ state: 'attached' });
    return button.evaluate((one) => one.classList.contains('disabled'));
  }

  get #nothing(): Locator {
    return this.#window.page.getByText('No changes.');
  }
}

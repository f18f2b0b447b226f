import type { FrameLocator, Locator, Page } from 'playwright-core';
import type { Theme } from '../../workbench/settings.ts';
import { until } from '../until.ts';

export const bodyClass: Readonly<Record<Theme, string>> = {
  dark: 'vscode-dark',
  light: 'vscode-light',
  contrast: 'vscode-high-contrast:not(.vscode-high-contrast-light)',
  contrastLight: 'vscode-high-contrast-light',
};

/** The chat view. Its document lives two frames deep. */
export class Chat {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Other extensions have views, too: a notebook draws its cells in one. */
  get #outer(): Locator {
    return this.#page.locator('iframe.webview.ready[src*="extensionId=parley.parley"]');
  }

  get frame(): FrameLocator {
    return this.#outer.contentFrame().locator('iframe#active-frame').contentFrame();
  }

  get composer(): Locator {
    return this.frame.getByRole('textbox', { name: /^Ask / });
  }

  get turns(): Locator {
    return this.frame.getByRole('article');
  }

  get lastTurn(): Locator {
    return this.turns.last();
  }

  get stop(): Locator {
    return this.frame.getByRole('button', { name: 'Stop', exact: true });
  }

  call(title: string | RegExp): Locator {
    return this.frame.locator('.call', { hasText: title });
  }

  /** Opens a session from the list. The list may close, or its rows be drawn anew, while the window is still loading: it is opened again then. */
  async openSession(title: string): Promise<void> {
    const row = this.frame.locator('.session-title', { hasText: title });
    const shown = this.frame.locator('.title-button .title', { hasText: title });
    await until(async () => {
      if (await shown.isVisible()) return true;
      if ((await row.count()) === 0 && (await this.frame.locator('.sheet').count()) === 0)
        await this.frame.locator('.title-button').click();
      await row.click({ timeout: 5_000 }).catch(() => {});
      return (await row.count()) === 0 && (await shown.isVisible());
    }, `the session “${title}” is shown`);
  }

  /** Presses an answer of the card in front, once presses on it count. */
  async answer(name: string): Promise<void> {
    await this.ask(/./).getByRole('button', { name, exact: true }).click();
  }

  /** The open ask with this title, once presses on its answers count. */
  ask(title: string | RegExp): Locator {
    return this.frame.locator('[data-ask]:not([data-fresh])').filter({ hasText: title });
  }

  /** The answers of an ask whose words do not fit into their button. */
  async cutShort(ask: Locator): Promise<readonly string[]> {
    const cut = await ask.locator('.answers button').evaluateAll((buttons) =>
      buttons
        .filter((button) => {
          const words = button.ownerDocument.createRange();
          words.selectNodeContents(button);
          const [inner, outer] = [words.getBoundingClientRect(), button.getBoundingClientRect()];
          return inner.top < outer.top || inner.bottom > outer.bottom || inner.left < outer.left || inner.right > outer.right;
        })
        .map((button) => button.textContent?.trim() ?? ''),
    );
    return cut;
  }

  /** The answers of an ask that a user does not see whole, or that something lies over. */
  async outOfSight(ask: Locator): Promise<readonly string[]> {
    const answers = await ask.locator('.answers button').all();
    const hidden = await Promise.all(
      answers.map((answer) =>
        answer.evaluate((button) => {
          const { left, top, bottom, width } = button.getBoundingClientRect();
          const whole = [top + 3, bottom - 3].every((y) => button.contains(button.ownerDocument.elementFromPoint(left + width / 2, y)));
          return whole ? [] : [button.textContent?.trim() ?? ''];
        }),
      ),
    );
    return hidden.flat();
  }

  /** Waits until the view has become lower than this, in pixels. */
  async lowerThan(height: number): Promise<void> {
    await this.frame.locator('html').evaluate(async (html, limit) => {
      while (html.clientHeight >= limit) await new Promise((drawn) => html.ownerDocument.defaultView?.requestAnimationFrame(drawn));
    }, height);
  }

  /** The rows of the `/` or `@` menu. */
  get menu(): Locator {
    return this.frame.getByRole('option');
  }

  async say(text: string): Promise<void> {
    await this.composer.click();
    await this.composer.pressSequentially(text);
    await this.composer.press('Enter');
  }

  /** Says something and waits for the end of the turn. */
  async exchange(text: string): Promise<Locator> {
    const count = await this.turns.count();
    await this.say(text);
    const turn = this.turns.nth(count);
    await turn.waitFor();
    await this.settled(turn);
    return turn;
  }

  async settled(turn: Locator): Promise<void> {
    await turn.and(this.frame.locator('.settled')).waitFor();
  }

  async wears(theme: Theme): Promise<void> {
    if (await this.#outer.count()) await this.frame.locator(`body.${bodyClass[theme]}`).waitFor();
  }
}

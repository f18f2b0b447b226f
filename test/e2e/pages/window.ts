import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { type Theme, themes } from '../../workbench/settings.ts';
import { until } from '../until.ts';
import { Chat } from './chat.ts';
import { DiffEditor } from './diffEditor.ts';
import { QuickPick } from './quickPick.ts';

/** Where pictures go; CI keeps them. */
export const pictures = path.resolve('out/screenshots');

/** One window of the workbench, as a user sees it. */
export class Window {
  readonly page: Page;
  readonly chat: Chat;
  readonly pick: QuickPick;
  readonly diff: DiffEditor;

  constructor(page: Page) {
    this.page = page;
    this.chat = new Chat(page);
    this.pick = new QuickPick(page);
    this.diff = new DiffEditor(page);
  }

  /** Waits until the extension has put its icon into the activity bar, and shows its view. */
  async ready(): Promise<void> {
    await this.page.locator('.activitybar .action-label[aria-label^="Parley"]').waitFor();
  }

  async openChat(): Promise<void> {
    if (!(await this.chat.composer.isVisible())) await this.command('Parley: Focus Chat');
    await this.chat.composer.waitFor();
  }

  /** Runs a command by its title in the palette. */
  async command(title: string): Promise<void> {
    // The key is lost while the focus moves into a view that is still loading, and the list knows only the commands of when it was opened.
    for (let attempt = 1; ; attempt += 1) {
      await this.page.keyboard.press('F1');
      try {
        await this.pick.input.fill(`>${title}`, { timeout: 5000 });
        await this.pick.row(title).first().waitFor({ timeout: 5000 });
        await this.pick.moveTo(title);
        // What opens meanwhile takes the keyboard, and Enter would be written there.
        await this.pick.input.and(this.page.locator(':focus')).waitFor({ timeout: 5000 });
        break;
      } catch (error) {
        if (attempt === 8) throw error;
        // Only the palette is closed: Esc in one of our picks gives the keyboard back to the chat, and takes it from the palette that opens next.
        if ((await this.pick.box.isVisible()) && (await this.pick.input.inputValue()).startsWith('>'))
          await this.page.keyboard.press('Escape');
      }
    }
    await this.page.keyboard.press('Enter');
  }

  /** Opens a file of the folder by its name. */
  async openFile(name: string): Promise<void> {
    // A file that was made just now may be found only by a search after this one.
    for (let attempt = 1; ; attempt += 1) {
      await this.page.keyboard.press('F1');
      try {
        await this.pick.input.fill(name, { timeout: 5000 });
        await this.pick.row(name).first().waitFor({ timeout: 5000 });
        break;
      } catch (error) {
        if (attempt === 8) throw error;
        if (await this.pick.box.isVisible()) await this.page.keyboard.press('Escape');
      }
    }
    await this.page.keyboard.press('Enter');
    await this.page.locator('.tab.active', { hasText: name }).waitFor();
  }

  /** Closes all editors, once none has a text that is still being saved: the editor would ask about it. */
  async closeEditors(): Promise<void> {
    await this.page.locator('.tabs-container .tab.dirty').first().waitFor({ state: 'hidden' });
    await this.command('View: Close All Editors');
  }

  /** A new extension host and a new page, with what the browser keeps. */
  async reload(): Promise<void> {
    // On a busy machine the palette alone may take longer than a page.
    const loaded = this.page.waitForEvent('domcontentloaded', { timeout: 180_000 });
    await Promise.all([loaded, this.command('Developer: Reload Window')]);
    await this.ready();
  }

  /** Makes the side bar with the chat about as wide as this, in pixels. */
  async chatWidth(width: number): Promise<void> {
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      const bar = await this.page.locator('.part.sidebar').boundingBox();
      if (!bar) throw new Error('no side bar');
      if (Math.abs(bar.width - width) < 10) return;
      // A pick lies over the upper part of the edge.
      const y = bar.y + bar.height - 80;
      await this.page.mouse.move(bar.x + bar.width, y);
      await this.page.mouse.down();
      await this.page.mouse.move(bar.x + width, y, { steps: 4 });
      await this.page.mouse.up();
    }
    throw new Error(`the side bar is not ${width} pixels wide`);
  }

  /** Waits until a changed line that ends so is in sight: in the diff, clear of the pick, or in a row of the pick. */
  async seesLine(end: string): Promise<void> {
    const line = this.diff.editor.locator('.editor.modified .view-line', { hasText: end }).first();
    const height = this.page.viewportSize()?.height ?? 0;
    await until(async () => {
      // The editor scrolls to the change a while after it has compared the texts; before, the line need not be in the page.
      const of = (await line.isVisible()) ? await line.boundingBox() : undefined;
      const [pick, rows] = [await this.pick.box.boundingBox(), await this.pick.labels()];
      const isClear = pick && of && of.y >= pick.y + pick.height && of.y + of.height <= height;
      return isClear === true || rows.some((row) => row.endsWith(end));
    }, `'${end}' is in sight`);
  }

  statusItem(text: string | RegExp): Locator {
    return this.page.locator('.statusbar-item', { hasText: text });
  }

  /** Line and column of the cursor as the status bar says them. */
  cursor(line: number): Locator {
    return this.statusItem(new RegExp(`Ln ${line}, Col`));
  }

  tab(name: string): Locator {
    return this.page.locator('.tabs-container .tab', { hasText: name });
  }

  notification(text: string): Locator {
    return this.page.locator('.notification-list-item', { hasText: text });
  }

  /** A notification that has come up by itself. */
  toast(text: string): Locator {
    return this.page.locator('.notification-toast', { hasText: text });
  }

  /** The window loses the focus of the desktop, or has it again, as far as page and extension are told. */
  async goBehind(on: boolean): Promise<void> {
    await this.page.evaluate(
      `Object.defineProperty(document, 'hasFocus', { value: () => ${!on}, configurable: true });
       window.dispatchEvent(new Event('${on ? 'blur' : 'focus'}'));
       document.dispatchEvent(new Event('visibilitychange'));`,
    );
    if (on) await this.#answered();
  }

  /** Settles once the extension has answered, and so knows what happened before. */
  async #answered(): Promise<void> {
    const draft = await this.chat.composer.inputValue();
    await this.chat.composer.fill('');
    await this.chat.composer.pressSequentially('@src');
    await this.chat.menu.filter({ hasText: 'main.ts' }).first().waitFor();
    await this.chat.composer.fill(draft);
    await this.chat.menu.first().waitFor({ state: 'hidden' });
  }

  async theme(theme: Theme): Promise<void> {
    await this.page.emulateMedia({
      colorScheme: theme === 'light' || theme === 'contrastLight' ? 'light' : 'dark',
      forcedColors: theme.startsWith('contrast') ? 'active' : 'none',
    });
    await this.page.locator(`.monaco-workbench.${themes[theme].mark}`).waitFor();
  }

  /** With --pictures a picture of the window in each of these themes; ends in the first one. Without, none is taken: each costs half a second. */
  async pictures(name: string, list: readonly Theme[] = ['dark', 'light']): Promise<void> {
    if (!process.env.PARLEY_PICTURES) return;
    mkdirSync(path.dirname(path.join(pictures, name)), { recursive: true });
    for (const theme of list) {
      await this.theme(theme);
      await this.chat.wears(theme);
      await this.page.screenshot({ path: path.join(pictures, `${name}-${theme}.png`) });
    }
    if (list[0]) await this.theme(list[0]);
  }
}

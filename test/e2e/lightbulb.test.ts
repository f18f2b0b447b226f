import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pictures } from './pages/window.ts';
import { suite } from './suite.ts';

const inWindow = suite({ name: 'lightbulb' });

test(
  'a problem in the editor has a fix with Parley under the lightbulb, which is one prompt with the place and the problem',
  inWindow(async ({ window, folder }) => {
    const { chat, page } = window;
    writeFileSync(path.join(folder, 'src', 'broken.ts'), 'export const count: number = "many";\n');
    await window.openChat();
    await chat.exchange('open src/broken.ts at line 1');
    await window.tab('broken.ts').waitFor();
    await page.locator('.monaco-editor .squiggly-error').first().waitFor();
    const word = page.locator('.monaco-editor .view-line', { hasText: 'count' }).getByText('count');
    const menu = page.locator('.action-widget');
    // The menu closes when a problem is told again, and the key is lost while the chat still takes the focus.
    for (let attempt = 1; ; attempt += 1) {
      await word.click();
      await page.keyboard.press('Control+.');
      try {
        await menu.getByText('Explain with Parley').waitFor({ timeout: 10_000 });
        break;
      } catch (error) {
        if (attempt === 8) throw error;
        await page.keyboard.press('Escape');
      }
    }
    await page.screenshot({ path: path.join(pictures, 'lightbulb.png') });
    await menu.getByText('Fix with Parley').click();
    await chat.lastTurn.getByText('Find what is wrong here, and fix it.').first().waitFor();
    await chat.lastTurn.getByText('broken.ts').first().waitFor();
  }),
);

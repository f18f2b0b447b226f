import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pictures } from './pages/window.ts';
import { suite } from './suite.ts';

const inWindow = suite({ name: 'sessions' });

test(
  'a session is renamed in the list, stays there under its name, and opens in an editor tab that comes back after a reload',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await window.openChat();
    await chat.exchange('read notes.txt');
    const title = chat.frame.locator('.title-button');
    await title.click();
    await chat.frame.locator('.session-line.active').hover();
    await chat.frame.getByRole('button', { name: /^Rename: / }).click();
    const field = chat.frame.getByRole('textbox', { name: 'Rename' });
    await field.fill('About ink');
    await field.press('Enter');
    await chat.frame.locator('.session-title', { hasText: 'About ink' }).waitFor();
    await window.pictures('sessions');
    await chat.frame.locator('.search').press('Escape');
    await title.getByText('About ink').waitFor();

    await window.command('Parley: Open Session in Editor');
    await window.tab('About ink').waitFor();
    // The view in the side bar and the tab.
    const pages = page.locator('iframe.webview.ready');
    await pages.nth(1).waitFor({ state: 'attached' });
    for (const at of [0, 1]) {
      const content = pages.nth(at).contentFrame().locator('iframe#active-frame').contentFrame();
      await content.getByRole('article').getByText('Buy ink').first().waitFor();
    }
    await page.screenshot({ path: `${pictures}/session-in-editor.png` });
    await window.reload();
    await window.tab('About ink').waitFor();
    assert.equal(await window.tab('About ink').count(), 1);
  }),
);

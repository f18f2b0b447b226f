import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { FrameLocator, Locator } from 'playwright-core';
import { pictures, type Window } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';

// A working day by the keyboard alone: no test here may move the mouse.
const inWindow = suite({ name: 'day' });

/** Waits until the keyboard is there; false when it is not within the limit, in milliseconds. */
async function comesTo(where: Locator, limit: number): Promise<boolean> {
  const isThere = () => where.evaluate((one) => one.ownerDocument.hasFocus() && one === one.ownerDocument.activeElement);
  for (const end = Date.now() + limit; Date.now() < end; await where.page().waitForTimeout(50)) if (await isThere()) return true;
  return isThere();
}

async function keyboardIn(where: Locator): Promise<void> {
  assert.ok(await comesTo(where, 30_000), `the keyboard is not in ${where}`);
}

/** Presses a key until the keyboard is there, whatever stands between. Each press waits for what the one before does. */
async function press({ page }: Window, key: string, to: Locator): Promise<void> {
  for (let step = 0; step < 60; step += 1) {
    if (await comesTo(to, 100)) return;
    const before = await to.evaluateHandle((one) => one.ownerDocument.activeElement);
    await page.keyboard.press(key);
    const moved = () => to.evaluate((one, left) => one.ownerDocument.activeElement !== left, before);
    for (let wait = 0; wait < 40 && !(await moved()); wait += 1) await page.waitForTimeout(50);
  }
  throw new Error(`${key} does not lead to ${to}`);
}

test(
  'Esc in what a button of the welcome opens gives the keyboard back to the chat, and the steps lead back',
  inWindow(async (scene) => {
    const { window } = scene;
    const { chat, page, pick } = window;
    await window.openChat();
    await keyboardIn(chat.composer);
    for (const name of ['Connect: Model', 'Connect: Another agent']) {
      await press(window, 'Shift+Tab', chat.frame.getByRole('button', { name }));
      await page.keyboard.press('Enter');
      await pick.box.waitFor();
      await pick.labels();
      await page.keyboard.press('Escape');
      await pick.gone();
      await keyboardIn(chat.frame.locator(':focus'));
    }
  }),
);

test(
  'in the list of sessions a row is reached, renamed, pinned, searched in its text and exported by keys, and the keyboard never leaves it',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await window.command('Parley: Focus Chat');
    await keyboardIn(chat.composer);
    await page.keyboard.type('read notes.txt');
    await page.keyboard.press('Enter');
    await chat.settled(chat.lastTurn);
    await press(window, 'Shift+Tab', chat.frame.locator('.title-button'));
    await page.keyboard.press('Enter');
    const search = chat.frame.locator('.search');
    await keyboardIn(search);
    await page.keyboard.press('ArrowDown');
    await press(window, 'Tab', chat.frame.getByRole('button', { name: /^Rename Session: / }));
    await page.keyboard.press('Enter');
    await keyboardIn(chat.frame.getByRole('textbox', { name: 'Rename Session' }));
    await page.keyboard.type('About ink');
    await page.keyboard.press('Enter');
    const pin = chat.frame.getByRole('button', { name: 'Pinned: About ink' });
    await press(window, 'Tab', pin);
    await page.keyboard.press('Enter');
    await pin.and(chat.frame.locator('[aria-pressed=true]')).waitFor();
    await keyboardIn(pin);
    // Round the list and back: what lies behind it is not among the stops.
    await press(window, 'Shift+Tab', search);
    await page.keyboard.type('Buy ink');
    await chat.frame.locator('.session-title', { hasText: 'About ink' }).waitFor();
    await page.screenshot({ path: path.join(pictures, 'day-search.png') });
    // The buttons of a row show while the keyboard is in it.
    await press(window, 'Tab', chat.frame.locator('.session-button'));
    await press(window, 'Tab', chat.frame.getByRole('button', { name: /^Export Session as Markdown: / }));
    await page.keyboard.press('Enter');
    await page.locator('.tab.active', { hasText: '# About ink' }).waitFor();
    await page.locator('.view-line', { hasText: 'Buy ink' }).first().waitFor();
    await window.command('Parley: Focus Chat');
    await keyboardIn(search);
    await page.keyboard.press('Escape');
    await keyboardIn(chat.frame.locator('.title-button'));
  }),
);

test(
  'the inspector is filtered and saved by keys after the conversation, and what was saved opens as the session it was',
  inWindow(async ({ window, folder }) => {
    const { chat, page, pick } = window;
    await window.command('Parley: Inspect Protocol');
    await window.tab('Inspect Protocol').waitFor();
    const inspector: FrameLocator = page
      .locator('iframe.webview.ready')
      .last()
      .contentFrame()
      .locator('iframe#active-frame')
      .contentFrame();
    const filter = inspector.getByRole('searchbox');
    await keyboardIn(filter);
    await page.keyboard.type('ToolResult');
    const kind = inspector.locator('.kind', { hasText: 'ToolResult' });
    await press(window, 'Tab', kind.first());
    await press(window, 'ArrowDown', kind.nth(1));
    await page.keyboard.press('Enter');
    await inspector.locator('pre', { hasText: 'Buy ink' }).first().waitFor();
    await page.screenshot({ path: path.join(pictures, 'day-inspector.png') });
    await press(window, 'Shift+Tab', inspector.getByRole('button', { name: 'Save' }));
    await page.keyboard.press('Enter');
    const file = path.join(folder, 'parley-session.jsonl');
    await pick.box.waitFor();
    await until(async () => (await pick.input.inputValue()) === file, 'the dialog names the file');
    await page.keyboard.press('Enter');
    await pick.gone();
    const saved = () => {
      try {
        return readFileSync(file, 'utf8');
      } catch {
        return '';
      }
    };
    for (let tries = 0; !saved().includes('"title.set"'); tries += 1) {
      assert.ok(tries < 100, 'nothing was saved');
      await page.waitForTimeout(100);
    }
    await window.command('View: Close Editor');
    await window.tab('Inspect Protocol').waitFor({ state: 'detached' });
    await window.command('Parley: Close Session');
    await chat.frame.locator('.title', { hasNotText: 'About ink' }).waitFor();
    await window.command('Parley: Open Recorded Session');
    await pick.box.waitFor();
    await until(async () => (await pick.input.inputValue()).endsWith('/'), 'the dialog names a folder');
    await pick.row('parley-session.jsonl').first().waitFor();
    // Once it has read the folder, the dialog may write the folder's name over what was typed.
    for (let attempt = 1; ; attempt += 1) {
      await pick.input.fill(file);
      await page.keyboard.press('Enter');
      try {
        await pick.box.waitFor({ state: 'hidden', timeout: 5000 });
        break;
      } catch (error) {
        if (attempt === 4) throw error;
      }
    }
    await chat.frame.locator('.title', { hasText: 'About ink' }).waitFor();
    await chat.turns.getByText('Buy ink').first().waitFor();
    // It is only read: there is nothing to write in.
    await chat.frame.getByText('This is a recording').waitFor();
    assert.equal(await chat.composer.count(), 0);
    // Keys that come to the chat scroll it, and context for a message starts a session that can take it.
    await window.command('Parley: Focus Chat');
    await chat.frame.locator('.scroller:focus').waitFor();
    await window.openFile('main.ts');
    await window.command('Parley: Add File to Chat');
    await chat.frame.locator('.attachments', { hasText: 'main.ts' }).waitFor();
    await chat.composer.waitFor();
  }),
);

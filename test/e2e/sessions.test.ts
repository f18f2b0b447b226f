import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { FileLock } from '../../src/live/journal/lock.ts';
import { pictures } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';

const inWindow = suite({ name: 'sessions', settings: { 'parley.approvals.popUp': 'never' } });

test(
  'a session is renamed in the list, stays there under its name, and opens in an editor tab that comes back after a reload',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await window.openChat();
    await chat.exchange('read notes.txt');
    const title = chat.frame.locator('.title-button');
    await title.click();
    await chat.frame.locator('.session-line.active').hover();
    await chat.frame.getByRole('button', { name: /^Rename Session: / }).click();
    const field = chat.frame.getByRole('textbox', { name: 'Rename Session' });
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

test(
  'commands act on the session of the tab the user is in, and on the one in the side bar after they went there',
  inWindow(async ({ window }) => {
    const { page } = window;
    const at = (index: number) =>
      page.locator('iframe.webview.ready').nth(index).contentFrame().locator('iframe#active-frame').contentFrame();
    const titles = async () => Promise.all([0, 1].map(async (index) => (await at(index).locator('.title').textContent())?.trim()));
    const titled = (...wanted: string[]) => until(async () => (await titles()).sort().join() === wanted.join(), `titled ${wanted.join()}`);
    // Before both have come back after the reload, the command would not know which one is in use.
    await titled('About ink', 'About ink');
    await window.command('Parley: New Session');
    await titled('About ink', 'New Session');
    const inTab = at((await titles()).indexOf('About ink'));
    const inSideBar = at((await titles()).indexOf('New Session'));
    for (const chat of [inSideBar, inTab]) {
      await chat.locator('.composer-text').click();
      await chat.locator('.composer-text').pressSequentially('replace "Hello" by "Welcome" in src/main.ts');
      await chat.locator('.composer-text').press('Enter');
      await chat.locator('[data-ask]').waitFor();
    }
    // The palette lists other commands first, and, once open, none of a session that a click has just brought to the front; closed so early, it
    // gives the keyboard back to where it was before that click.
    const stop = (chat: typeof inTab) =>
      until(async () => {
        await chat.locator('.composer-text').click();
        await page.keyboard.press('F1');
        await window.pick.input.fill('>Parley: Stop');
        await window.pick.row('Parley: Stop Agent Host').waitFor();
        const row = window.pick.row(/Parley: Stop(?! Agent)/);
        const isThere = (await row.count()) > 0;
        if (isThere) await row.click();
        else await page.keyboard.press('Escape');
        await window.pick.gone();
        return isThere;
      }, 'the palette has Stop');
    await stop(inTab);
    await inTab.locator('.turn.settled').last().locator('.ended', { hasText: 'Stopped' }).waitFor();
    assert.equal(await inSideBar.locator('[data-ask]').count(), 1, 'the other session waits on');
    await stop(inSideBar);
    await inSideBar.locator('.turn.settled').last().locator('.ended', { hasText: 'Stopped' }).waitFor();
  }),
);

test(
  'a session that was not free yet when the window was opened again takes the place of the one started meanwhile',
  inWindow(async ({ window, storage }) => {
    const { chat, page } = window;
    await window.closeEditors();
    await window.openChat();
    const title = chat.frame.locator('.title');
    const before = (await title.textContent())?.trim() ?? '';
    const address = page.url();
    const locks = readdirSync(path.join(storage, 'sessions'), { encoding: 'utf8' }).filter((name) => name.endsWith('.lock'));
    assert.ok(locks.length > 0);
    await page.goto('about:blank');
    // Held as by an extension host that takes long to end.
    const held: FileLock[] = [];
    for (const file of locks)
      await until(() => {
        const lock = FileLock.take(path.join(storage, 'sessions', file));
        if (lock instanceof FileLock) held.push(lock);
        return lock instanceof FileLock;
      }, `${file} is free`);
    await page.goto(address, { waitUntil: 'domcontentloaded' });
    await window.ready();
    // A window that goes at once may not have stored yet that its tabs were closed.
    await window.closeEditors();
    await window.openChat();
    await title.getByText('New Session').waitFor();
    for (const lock of held) lock.dispose();
    await title.getByText(before).waitFor();
    await chat.frame.getByRole('article').last().locator('.ended', { hasText: 'Stopped' }).waitFor();
  }),
);

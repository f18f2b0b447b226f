import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Window } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';

// The list of sessions as a view of its own, beside the chat.

const inWindow = suite({ name: 'sessions-view', settings: { 'parley.approvals.popUp': 'never' } });

const NOTES = 'read notes.txt';
const EDIT = 'replace "Hello" by "Welcome" in src/main.ts';

const pane = ({ page }: Window) => page.locator('.pane', { has: page.locator('.pane-header[aria-label^="Sessions"]') });
const row = (window: Window, title: string) => pane(window).locator('.monaco-list-row').filter({ hasText: title });
const texts = async (window: Window) =>
  (await pane(window).locator('.monaco-list-row .label-name').allTextContents()).map((text) => text.replaceAll('\u00a0', ' '));

test(
  'the list is hidden until the user wants it, and shows each session with its state while it changes',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await window.openChat();
    await window.chatWidth(300);
    await chat.exchange(NOTES);
    assert.equal(await page.locator('.part.sidebar .pane-header:visible').count(), 0, 'the chat has the whole side bar');
    await window.command('Parley: Focus on Sessions View');
    await row(window, NOTES).waitFor();
    assert.deepEqual(await texts(window), ['Today', NOTES]);
    assert.match((await row(window, NOTES).getAttribute('aria-label')) ?? '', /^read notes\.txt, Parley Agent, /);

    await window.command('Parley: New Session');
    await chat.frame.locator('.title', { hasText: 'New Session' }).waitFor();
    await chat.say(EDIT);
    await row(window, EDIT).filter({ hasText: 'Waiting for you · Parley Agent' }).waitFor();
    assert.deepEqual(await texts(window), ['Today', EDIT, NOTES]);
    await row(window, EDIT).locator('.codicon-bell-dot').waitFor();
    await row(window, EDIT).and(page.locator('[aria-selected=true]')).waitFor();
    await chat.frame.locator('[data-ask]').waitFor();
    await window.pictures('sessions-view');
    await chat.frame.locator('[data-ask]:not([data-fresh])').getByRole('button', { name: 'Allow', exact: true }).click();
    await row(window, EDIT)
      .filter({ hasText: /Parley Agent · 1 file/ })
      .waitFor();

    await row(window, NOTES).click();
    await chat.frame.locator('.title', { hasText: NOTES }).waitFor();
    await chat.frame.locator('.composer-text:focus').waitFor();
  }),
);

test(
  'its rows are pinned, renamed, exported, opened in the editor and deleted',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    // A row that is drawn again takes its menu along, and so does a tab that takes the keyboard; a menu takes no click for a moment after it opens.
    const choose = async (title: string, action: string, isDone: () => Promise<boolean>) => {
      const item = page.locator('.monaco-menu .action-label', { hasText: action });
      await until(async () => {
        // What it opens may come late, and lie over the row.
        if (!(await item.isVisible()))
          await row(window, title)
            .click({ button: 'right', timeout: 3000 })
            .catch(() => {});
        await item.click({ timeout: 3000 }).catch(() => {});
        for (let wait = 0; wait < 50 && !(await item.isVisible()); wait += 1) {
          if (await isDone()) return true;
          await page.waitForTimeout(100);
        }
        return isDone();
      }, `${action} was done`);
    };
    const isListed = async (...rows: readonly string[]) => (await texts(window)).join() === rows.join();
    await choose(NOTES, 'Pin Session', () => isListed('Pinned', NOTES, 'Today', EDIT));
    await choose(NOTES, 'Rename Session', () => window.pick.input.isVisible());
    await window.pick.input.fill('About ink');
    await window.pick.input.press('Enter');
    await row(window, 'About ink').waitFor();
    await chat.frame.locator('.title', { hasText: 'About ink' }).waitFor();
    await window.pictures('sessions-view-pinned');
    await choose('About ink', 'Unpin Session', () => isListed('Today', EDIT, 'About ink'));

    const exported = page.locator('.editor-instance .view-line', { hasText: '# replace' });
    await choose(EDIT, 'Export Session as Markdown', () => exported.isVisible());
    await row(window, 'About ink').hover();
    await row(window, 'About ink').locator('.action-label[aria-label^="Open Session in Editor"]').click();
    await window.tab('About ink').waitFor();
    const agreed = page.locator('.monaco-dialog-box').getByRole('button', { name: 'Delete' });
    await choose(EDIT, 'Delete Session', () => agreed.isVisible());
    await agreed.click();
    await row(window, EDIT).waitFor({ state: 'hidden' });
  }),
);

test(
  'it stays where it was put, and lists earlier sessions after a reload',
  inWindow(async ({ window }) => {
    await window.reload();
    await row(window, 'About ink').waitFor();
    assert.equal((await texts(window))[0], 'Today');
  }),
);

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { Frame } from 'playwright-core';
import type { Theme } from '../workbench/settings.ts';
import { bodyClass } from './pages/chat.ts';
import { pictures, type Window } from './pages/window.ts';
import { suite } from './suite.ts';

const all: readonly Theme[] = ['contrast', 'contrastLight', 'light', 'dark'];

const inWindow = suite({ name: 'axe', settings: { 'parley.approvals.popUp': 'never' } });

/** Runs in the page, where axe is. */
const FIND = `axe.run(document).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ' at ' + nodes.map(({ target }) => target.join(' ')).join(', ')))`;

/** What axe finds in the page of a webview; `last` the one that was opened last. */
async function problemsIn({ page }: Window, last = false): Promise<readonly string[]> {
  const outer = page.locator('iframe.webview.ready');
  const inner = (last ? outer.last() : outer.first()).contentFrame().locator('iframe#active-frame');
  const frame: Frame | null | undefined = await (await inner.elementHandle())?.contentFrame();
  assert.ok(frame, 'the view has no page');
  await frame.evaluate(await readFile('node_modules/axe-core/axe.min.js', 'utf8'));
  return frame.evaluate<readonly string[]>(FIND);
}

/** The page of the webview that was opened last. */
function lastPage({ page }: Window) {
  return page.locator('iframe.webview.ready').last().contentFrame().locator('iframe#active-frame').contentFrame();
}

/** Nothing is wrong with the view as it stands, in these themes; the last test takes every state through all of them. */
async function fine(window: Window, state: string, list: readonly Theme[] = ['dark'], last = false): Promise<void> {
  for (const theme of list) {
    await window.theme(theme);
    if (last) await lastPage(window).locator(`body.${bodyClass[theme]}`).waitFor();
    else await window.chat.wears(theme);
    assert.deepEqual(await problemsIn(window, last), [], `${state}, ${theme}`);
  }
  await window.page.screenshot({ path: path.join(pictures, `axe-${state}.png`) });
}

test(
  'axe finds nothing in the welcome, the menus, a running turn with a card, its end, the sessions and the picker',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await window.openChat();
    await fine(window, 'welcome');
    await chat.composer.pressSequentially('@');
    await chat.menu.first().waitFor();
    await fine(window, 'mentions');
    await page.keyboard.press('Escape');
    await chat.composer.fill('');

    await chat.say('replace "Hello" by "Welcome" in src/main.ts');
    const card = chat.frame.locator('[data-ask]');
    await card.waitFor();
    await fine(window, 'approval', all);
    await card.getByRole('button', { name: 'Allow' }).and(card.locator(':not([data-fresh])')).hover();
    await fine(window, 'approval-pointed', ['contrast', 'contrastLight']);
    await window.theme('dark');
    assert.equal(await window.pick.box.count(), 0, 'where the user wants no pick, none comes');
    await chat.answer('Reject');
    await chat.settled(chat.lastTurn);
    await fine(window, 'rejected');
    await chat.exchange('read notes.txt');
    await fine(window, 'done');

    await chat.frame.locator('.title-button').click();
    await chat.frame.locator('.session-line').first().waitFor();
    await fine(window, 'sessions');
    await chat.frame.locator('.search').fill('nothing has this name');
    await chat.frame.getByText('Nothing found').waitFor();
    await fine(window, 'search');
    await chat.frame.locator('.search').press('Escape');
    await chat.frame.locator('.pill').click();
    await chat.frame.getByRole('dialog').waitFor();
    await fine(window, 'picker');
    await page.keyboard.press('Escape');
  }),
);

test(
  'axe finds nothing in the protocol inspector, which shows what came before it was opened',
  inWindow(async ({ window }) => {
    await window.command('Parley: Inspect Protocol');
    await window.tab('Inspect Protocol').waitFor();
    await lastPage(window).locator('tbody tr').first().waitFor();
    await fine(window, 'inspector', all, true);
  }),
);

test('axe finds nothing in any state of the view, in any theme, and nothing is cut', async () => {
  const args = ['test/webview/page/look.mjs', path.join(pictures, 'look'), '300x900'];
  const { stdout } = await promisify(execFile)(process.execPath, args).catch((error: { readonly stdout: string }) => error);
  assert.equal(stdout.trim(), 'nothing wrong');
});

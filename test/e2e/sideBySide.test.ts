import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { FrameLocator } from 'playwright-core';
import type { Theme } from '../workbench/settings.ts';
import { bodyClass } from './pages/chat.ts';
import { pictures, type Window } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';

// Two sessions in editor tabs beside each other, with the side bar closed.

const inWindow = suite({ name: 'side-by-side', settings: { 'parley.approvals.popUp': 'never' } });

const THEMES: readonly Theme[] = ['dark', 'light', 'contrast', 'contrastLight'];
const NOTES = 'read notes.txt';
const TODO = 'read TODO.md';

interface Shown {
  readonly title: string;
  readonly chat: FrameLocator;
}

/** The chats in sight, from the left. */
async function shown({ page }: Window): Promise<readonly Shown[]> {
  const frames = await page.locator('iframe.webview.ready[src*="extensionId=parley.parley"]').all();
  const found = await Promise.all(
    frames.map(async (frame) => {
      const chat = frame.contentFrame().locator('iframe#active-frame').contentFrame();
      const box = (await frame.isVisible()) ? await frame.boundingBox() : null;
      return box ? [{ chat, left: box.x, title: ((await chat.locator('.title').textContent({ timeout: 5000 })) ?? '').trim() }] : [];
    }),
  );
  return found.flat().sort((a, b) => a.left - b.left);
}

/** Waits until the chats with these titles are all that is in sight. */
async function chats(window: Window, ...titles: readonly string[]): Promise<readonly FrameLocator[]> {
  let found: readonly Shown[] = [];
  let seen = '';
  const isSo = async () => {
    try {
      found = await shown(window);
      seen = found.map(({ title }) => title).join();
    } catch (error) {
      // A tab that goes takes its page along.
      seen = String(error);
    }
    return seen === titles.join();
  };
  await until(isSo, `in sight: ${titles.join()}`).catch((error: unknown) => {
    throw new Error(`${String(error)}, but ${seen}`);
  });
  return found.map(({ chat }) => chat);
}

/** Opens a session in a tab, from the list in the side bar. */
async function openInTab(sideBar: FrameLocator, title: string): Promise<void> {
  await sideBar.locator('.title-button').click();
  await sideBar.locator('.session-line', { hasText: title }).hover();
  await sideBar.getByRole('button', { name: `Open Session in Editor: ${title}` }).click();
}

/** The two tabs, which are all that is in sight. */
async function both(window: Window): Promise<readonly [FrameLocator, FrameLocator]> {
  const [notes, todo] = await chats(window, NOTES, TODO);
  assert.ok(notes && todo);
  return [notes, todo];
}

const composer = (chat: FrameLocator) => chat.locator('.composer-text');

async function keyboardIn(chat: FrameLocator): Promise<void> {
  await until(
    () => composer(chat).evaluate((one) => one.ownerDocument.hasFocus() && one === one.ownerDocument.activeElement),
    'the composer has the keyboard',
  );
}

/** As `pictures` of the window, once both pages have the theme. */
async function picturesOf(window: Window, name: string): Promise<void> {
  for (const theme of process.env.PARLEY_PICTURES ? THEMES : THEMES.slice(0, 1)) {
    await window.theme(theme);
    for (const chat of await both(window)) await chat.locator(`body.${bodyClass[theme]}`).waitFor();
    await window.page.screenshot({ path: path.join(pictures, `${name}-${theme}.png`) });
  }
  await window.theme('dark');
}

test(
  'two sessions stand side by side, and what is typed goes to the one in front',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await window.openChat();
    await chat.exchange(NOTES);
    await window.command('Parley: New Session');
    await chat.frame.locator('.title', { hasText: 'New Session' }).waitFor();
    await chat.exchange(TODO);
    await openInTab(chat.frame, NOTES);
    const [sideBar, tab] = await chats(window, TODO, NOTES);
    assert.ok(sideBar && tab);
    await keyboardIn(tab);
    await openInTab(sideBar, TODO);
    const [, , second] = await chats(window, TODO, NOTES, TODO);
    assert.ok(second);
    await keyboardIn(second);
    // The command is for the session the keyboard is in, which has its tab already.
    await window.command('Parley: Open Session in Editor');
    await keyboardIn(second);
    await chats(window, TODO, NOTES, TODO);
    await window.command('View: Toggle Primary Side Bar Visibility');
    const [notes, todo] = await both(window);
    for (const [key, one, draft] of [
      ['1', notes, 'about the notes'],
      ['2', todo, 'about the list'],
    ] as const) {
      await page.keyboard.press(`Control+${key}`);
      await keyboardIn(one);
      await page.keyboard.type(draft);
    }
    assert.deepEqual([await composer(notes).inputValue(), await composer(todo).inputValue()], ['about the notes', 'about the list']);
    await picturesOf(window, 'side-by-side');
  }),
);

test(
  'each asks for itself, and an answer to one leaves the other and its keyboard alone',
  inWindow(async ({ window, folder }) => {
    const { page } = window;
    const text = (name: string) => readFileSync(path.join(folder, name), 'utf8');
    const [notes, todo] = await both(window);
    const send = async (chat: FrameLocator, prompt: string) => {
      await composer(chat).fill(prompt);
      await composer(chat).press('Enter');
      await chat.locator('[data-ask]').waitFor();
    };
    await send(notes, 'replace "Buy" by "Sell" in notes.txt');
    await send(todo, 'replace "Hello" by "Welcome" in src/main.ts');
    assert.match((await notes.locator('[data-ask]').textContent()) ?? '', /notes\.txt/);
    assert.match((await todo.locator('[data-ask]').textContent()) ?? '', /main\.ts/);
    await composer(todo).fill('next here');
    await picturesOf(window, 'side-by-side-asks');
    await notes.locator('[data-ask]:not([data-fresh])').getByRole('button', { name: 'Allow', exact: true }).press('Enter');
    await notes.locator('.turn.settled').nth(1).waitFor();
    await keyboardIn(notes);
    assert.match(text('notes.txt'), /Sell/);
    assert.doesNotMatch(text('src/main.ts'), /Welcome/);
    assert.equal(await todo.locator('[data-ask]').count(), 1, 'the other still waits');
    await page.keyboard.type('next there');
    assert.deepEqual([await composer(notes).inputValue(), await composer(todo).inputValue()], ['next there', 'next here']);
    await todo.locator('[data-ask]:not([data-fresh])').getByRole('button', { name: 'Reject', exact: true }).press('Enter');
    await todo.locator('.turn.settled').nth(1).waitFor();
    assert.doesNotMatch(text('src/main.ts'), /Welcome/);
    assert.equal(await notes.locator('.turn').count(), 2, 'nothing was added to the other');
  }),
);

test(
  'after a reload both are there again, each with its own session and draft',
  inWindow(async ({ window }) => {
    await window.reload();
    const [notes, todo] = await both(window);
    await until(
      async () => [await composer(notes).inputValue(), await composer(todo).inputValue()].join() === 'next there,next here',
      'the drafts are back',
    );
    assert.deepEqual([await notes.locator('.turn').count(), await todo.locator('.turn').count()], [2, 2]);
  }),
);

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import type { Theme } from '../workbench/settings.ts';
import type { Window } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';
import { wirePeer } from './wirePeer.ts';

// What a daily user does with a conversation, with a picture of each in every theme and at three widths.

const ALL: readonly Theme[] = ['dark', 'light', 'contrast', 'contrastLight'];
const ACTIONS = ['fix', 'explain', 'addProblem'];
const peer = await wirePeer(
  {
    initialize: { server: { name: 'Kimi Code CLI', version: '1.49.0' } },
    turns: [[{ think: 'I look at the notes first.' }, { waitMs: 2500 }, { text: 'It holds:\n\n1. notes\n2. tags\n' }]],
  },
  0,
);
const inWindow = suite({
  name: 'points',
  prepare: async () => ({
    machineSettings: { 'parley.agents': peer.settings['parley.agents'] },
    env: peer.env,
    agents: 'fake.mjs',
    end: async () => peer.remove(),
  }),
});

async function startWith(window: Window, agent: string): Promise<void> {
  const { chat, page, pick } = window;
  await window.command('Parley: New Session with Agent');
  await pick.input.fill(agent);
  await pick.focusedRow(agent).waitFor();
  await page.keyboard.press('Enter');
  await pick.gone();
  await chat.frame.getByRole('textbox', { name: `Ask ${agent}`, exact: true }).waitFor();
}

async function keyboardIn(where: Locator): Promise<void> {
  await until(
    () => where.evaluate((one) => one.ownerDocument.hasFocus() && one === one.ownerDocument.activeElement),
    `the keyboard is in ${where}`,
  );
}

/** A picture at each width, in each theme with --pictures. */
async function picturesOf(window: Window, name: string): Promise<void> {
  for (const width of [240, 600, 300]) {
    await window.chatWidth(width);
    await window.pictures(`points/${name}-${width}`, ALL);
  }
}

test(
  'a thought says while it lasts only what the strip does not, and afterwards a time within that of its turn; what can be attached is one click away',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await window.openChat();
    await startWith(window, 'Kimi');
    await chat.say('what is here');
    await chat.frame.locator('.strip-line', { hasText: 'Thinking' }).waitFor();
    await chat.settled(chat.lastTurn);
    const seconds = async (where: string) =>
      Number(/([\d.]+) s$/.exec((await chat.lastTurn.locator(where).textContent())?.trim() ?? '')?.[1]);
    const [thought, whole] = [await seconds('.thought summary'), await seconds('.sum .num')];
    assert.ok(thought >= 2 && thought <= whole, `${thought} s of ${whole} s`);
    await chat.lastTurn.hover();
    await picturesOf(window, 'turn');
    await chat.frame.getByRole('button', { name: 'Add context' }).click();
    await chat.menu.filter({ hasText: 'Browse…' }).waitFor();
    await chat.menu.filter({ hasText: 'notes.txt' }).waitFor();
    await window.pictures('points/attach', ALL);
    await page.keyboard.press('Escape');
    await chat.composer.fill('');
  }),
);

test(
  'the files of a turn are restored by the button at its message, and the turn says so',
  inWindow(async ({ window, folder }) => {
    const { chat, page, pick } = window;
    const main = () => readFileSync(path.join(folder, 'src/main.ts'), 'utf8');
    const before = main();
    await startWith(window, 'Parley Agent');
    await chat.say('replace "Hello" by "Welcome" in src/main.ts');
    await pick.choose('Allow once');
    await chat.settled(chat.lastTurn);
    assert.notEqual(main(), before);
    await chat.lastTurn.locator('.prompt').hover();
    await picturesOf(window, 'edited');
    const lefts = (where: string) =>
      chat.lastTurn.locator(`${where} .icon-button`).evaluateAll((all) => all.map((one) => one.getBoundingClientRect().left));
    assert.deepEqual(
      (await lefts('.settle')).slice(-2),
      (await lefts('.sum')).slice(-2),
      'the buttons of both lines stand below each other',
    );
    await chat.lastTurn.locator('.prompt').hover();
    await chat.lastTurn.getByRole('button', { name: 'Restore Files' }).click();
    const dialog = page.locator('.monaco-dialog-box');
    await dialog.getByText('src/main.ts — goes back to how it was', { exact: true }).waitFor();
    await window.pictures('points/restore', ALL);
    await dialog.getByRole('button', { name: 'Restore Files' }).click();
    await until(() => main() === before, 'the file is as before');
    await chat.lastTurn.getByText('Undone').waitFor();
  }),
);

test(
  'a session is deleted by keys after a question, and the keyboard stays in the list',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await chat.frame.locator('.title-button').press('Enter');
    const search = chat.frame.locator('.search');
    await keyboardIn(search);
    const titles = chat.frame.locator('.session-title');
    await titles.getByText('what is here').waitFor();
    await picturesOf(window, 'sessions');
    const remove = chat.frame.getByRole('button', { name: 'Delete: what is here' });
    await search.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await keyboardIn(chat.frame.locator('.session-button', { hasText: 'what is here' }));
    for (let step = 0; step < 5; step += 1) await page.keyboard.press('Tab');
    await keyboardIn(remove);
    await page.keyboard.press('Enter');
    const dialog = page.locator('.monaco-dialog-box');
    await dialog.getByText('Files it changed stay as they are.').waitFor();
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    // The buttons of a row hide as soon as the keyboard leaves it, before the session is gone.
    await titles.filter({ hasText: 'what is here' }).waitFor({ state: 'detached' });
    await keyboardIn(search);
    await page.keyboard.press('Escape');
    await keyboardIn(chat.frame.locator('.title-button'));
  }),
);

test(
  'a problem is fixed, explained and added from the menu of its row, until each of it is turned off',
  inWindow(async ({ window, folder }) => {
    const { page } = window;
    writeFileSync(path.join(folder, 'src', 'broken.ts'), 'export const count: number = "many";\n');
    await window.openFile('broken.ts');
    await page.locator('.monaco-editor .squiggly-error').first().waitFor();
    const wanted = ['Fix with Parley', 'Explain with Parley', 'Add Problem to Chat'];
    const problem = page.locator('.markers-panel .monaco-list-row', { hasText: 'not assignable' }).first();
    /** The rows of the menu of the problem, which closes again. */
    const inMenu = async () => {
      await window.command('Problems: Focus on Problems View');
      await problem.click({ button: 'right' });
      const rows = page.locator('.monaco-menu .action-label');
      await rows.getByText('Copy Message').waitFor();
      const texts = await rows.allTextContents();
      await page.keyboard.press('Escape');
      await rows.first().waitFor({ state: 'detached' });
      return texts.filter((text) => wanted.includes(text));
    };
    await until(async () => String(await inMenu()) === String(wanted), 'the row has them all');
    await window.command('Preferences: Open User Settings (JSON)');
    await window.tab('settings.json').waitFor();
    await page.locator('.editor-instance .monaco-editor.focused .view-line').first().waitFor();
    await page.keyboard.press('Control+Home');
    await page.keyboard.press('ArrowRight');
    const off = Object.fromEntries(ACTIONS.map((one) => [one, false]));
    await page.keyboard.insertText(`"parley.editorActions": ${JSON.stringify(off)},`);
    await page.keyboard.press('Control+s');
    await page.locator('.tab.dirty').waitFor({ state: 'detached' });
    await window.command('View: Close Editor');
    await until(async () => (await inMenu()).length === 0, 'the row has none');
  }),
);

test(
  'a service of the presets asks for its key and takes no empty one, and leads back',
  inWindow(async ({ window }) => {
    const { page, pick } = window;
    await window.command('Parley: Configure Model');
    for (const name of ['OpenRouter', 'Anthropic', 'Google Gemini', 'DeepSeek', 'Moonshot', 'Qwen', 'OpenAI']) {
      await pick.title.getByText('(1/3)').waitFor();
      await pick.input.fill(name);
      await pick.focusedRow(name).waitFor();
      if (name === 'OpenRouter') await window.pictures('points/configure', ALL);
      await page.keyboard.press('Enter');
      await pick.box.getByText(`API key for ${name}. It is kept in secret storage.`).waitFor();
      await page.keyboard.press('Enter');
      await pick.box.getByText('Needed').waitFor();
      await pick.button('Back').click();
    }
    await pick.title.getByText('(1/3)').waitFor();
    await page.keyboard.press('Escape');
    await pick.gone();
  }),
);

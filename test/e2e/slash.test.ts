import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suite } from './suite.ts';

const inWindow = suite({ name: 'slash' });

test(
  'the chat that a command opens for the first time has the keys, and a slash command runs from it',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await window.command('Parley: Focus Chat');
    await chat.frame.locator('.composer-text:focus').waitFor();
    await page.keyboard.type('/he');
    await chat.menu.filter({ hasText: '/help' }).waitFor();
    await window.pictures('slash-menu');
    await chat.composer.press('Enter');
    assert.match(await chat.composer.inputValue(), /^\/help/);
    await chat.composer.press('Enter');
    await chat.settled(chat.lastTurn);
    await chat.lastTurn.getByText('List the commands').waitFor();
  }),
);

test(
  'a slash command runs from the palette',
  inWindow(async ({ window }) => {
    const { chat, pick, page } = window;
    await window.command('Parley: Run Slash Command');
    await pick.row('/help').waitFor();
    await window.pictures('slash-palette');
    await pick.input.fill('help');
    await pick.choose('/help');
    await pick.box.getByText('/help').first().waitFor();
    await pick.row('/help').waitFor({ state: 'hidden' });
    await page.keyboard.press('Enter');
    await chat.turns.nth(1).waitFor();
    await chat.settled(chat.turns.nth(1));
    await chat.turns.nth(1).getByText('List the commands').waitFor();
  }),
);

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { suite } from './suite.ts';
import { untilFile } from './until.ts';

const inWindow = suite({ name: 'approval' });

const answers = ['Allow once', 'Allow for this session', 'Always allow…', 'Reject', 'Reject with feedback…'];

test(
  'a prompt leads to an approval by quick-pick, a diff and the change',
  inWindow(async ({ window, folder }) => {
    const { chat, pick, diff } = window;
    const file = path.join(folder, 'src/main.ts');
    await window.openChat();
    await chat.say('replace "Hello" with "Welcome" in src/main.ts');
    await pick.row('Allow once').waitFor();
    assert.match((await pick.title.textContent()) ?? '', /^Edit src\/main\.ts \(\+1 −1\)/);
    assert.deepEqual((await pick.labels()).slice(0, 5), answers);
    await diff.compared();
    assert.ok((await diff.original()).some((line) => line.includes("'Hello from Tally Notes'")));
    assert.ok((await diff.modified()).some((line) => line.includes("'Welcome from Tally Notes'")));
    assert.match(readFileSync(file, 'utf8'), /'Hello from/, 'nothing is written before the answer');
    await window.statusItem('1 waiting').waitFor();
    await pick.row("− const greeting = 'Hello").waitFor();
    await window.pictures('approval', ['dark', 'light', 'contrast']);

    await pick.button('Look first').click();
    await pick.gone();
    await diff.compared();
    // The keyboard is in the side that cannot be edited, where letters lead back to the answers.
    await diff.editor.locator('.editor.original :focus').waitFor({ state: 'attached' });
    await diff.answers.waitFor();
    await window.page.keyboard.press('r');
    await pick.focusedRow('Reject').waitFor();
    await window.page.keyboard.press('Escape');
    await pick.gone();
    assert.match(readFileSync(file, 'utf8'), /'Hello from/, 'looking is no answer');
    await window.pictures('approval-diff', ['dark']);
    await chat.ask('src/main.ts').getByRole('button', { name: 'Allow', exact: true }).click();
    await chat.composer.and(chat.frame.locator(':focus')).waitFor();
    await window.page.keyboard.type('and then');
    assert.equal(await chat.composer.inputValue(), 'and then', 'the keys are back where the user was');
    await chat.composer.fill('');
    await chat.settled(chat.lastTurn);
    assert.match(readFileSync(file, 'utf8'), /'Welcome from/);
    await diff.editor.waitFor({ state: 'hidden' });
    await window.pictures('approval-done');
  }),
);

test(
  'a finished edit opens as a diff, and is taken back',
  inWindow(async ({ window, folder }) => {
    const { chat, diff } = window;
    await chat.lastTurn.getByRole('button', { name: 'Open Changes: src/main.ts' }).click();
    await diff.compared();
    assert.ok((await diff.original()).some((line) => line.includes("'Hello from Tally Notes'")));
    assert.ok((await diff.modified()).some((line) => line.includes("'Welcome from Tally Notes'")));
    await window.pictures('review');
    await window.command('Parley: Undo This Prompt’s Changes in File');
    await untilFile(path.join(folder, 'src/main.ts'), /'Hello from/);
    await diff.editor.locator('.char-insert, .line-insert').first().waitFor({ state: 'hidden' });
    await window.closeEditors();
  }),
);

test(
  'a dismissed quick-pick answers nothing: Esc in the palette brings it back, Esc in it leaves the ask open, and it can be shown again',
  inWindow(async ({ window }) => {
    const { chat, pick, page } = window;
    await chat.say('run echo dismissed-$((40+2))');
    await pick.title.filter({ hasText: 'Run in terminal: echo dismissed' }).waitFor();
    await page.keyboard.press('F1');
    await pick.row('Allow once').waitFor({ state: 'hidden' });
    // The extension knows that something else has closed the pick.
    await chat.frame.locator('.asks:not(.picked)').waitFor();
    await page.keyboard.press('Escape');
    await pick.title.filter({ hasText: 'Run in terminal: echo dismissed' }).waitFor();
    await pick.readable();
    await page.keyboard.press('Escape');
    await pick.gone();
    await chat.composer.and(chat.frame.locator(':focus')).waitFor();
    await window.statusItem('1 waiting').waitFor();
    await window.command('Parley: Show Pending Approvals');
    await pick.row('Allow once').waitFor();
    await page.keyboard.press('Escape');
    await pick.gone();
    await chat.ask('dismissed').waitFor();
    await window.statusItem('1 waiting').click();
    await pick.row('Allow once').waitFor();

    await chat.ask('dismissed').getByRole('button', { name: 'Allow', exact: true }).click();
    await pick.gone(); // answered in the chat, it leaves the screen everywhere
    await chat.settled(chat.lastTurn);
    await chat.lastTurn.getByText('dismissed-42').first().waitFor();
    await window.statusItem('waiting').waitFor({ state: 'hidden' });
  }),
);

test(
  'a rejection carries words to the agent and runs nothing',
  inWindow(async ({ window }) => {
    const { chat, pick, page } = window;
    await chat.say('run echo refused-$((40+2))');
    await pick.row('Allow once').waitFor();
    await pick.choose('Reject with feedback');
    await pick.row('Allow once').waitFor({ state: 'hidden' });
    await pick.input.fill('not today');
    await page.keyboard.press('Enter');
    await chat.settled(chat.lastTurn);
    assert.equal(await chat.lastTurn.getByText('refused-42').count(), 0);
    assert.match((await chat.lastTurn.textContent()) ?? '', /reject/i);
  }),
);

test(
  'Esc in the quick-pick of an edit leaves the keys in the composer: what is typed then does not go into the proposal',
  inWindow(async ({ window, folder }) => {
    const { chat, pick, diff, page } = window;
    await chat.say('replace "Hello" with "Aloha" in src/main.ts');
    await pick.row('Allow once').waitFor();
    await diff.compared();
    await page.keyboard.press('Escape');
    await pick.gone();
    await chat.composer.and(chat.frame.locator(':focus')).waitFor();
    await page.keyboard.type('hello');
    assert.equal(await chat.composer.inputValue(), 'hello');
    await chat.composer.fill('');
    await chat.ask('src/main.ts').getByRole('button', { name: 'Allow', exact: true }).click();
    await chat.settled(chat.lastTurn);
    assert.match(readFileSync(path.join(folder, 'src/main.ts'), 'utf8'), /^(?!.*hello).*'Aloha from/s);
  }),
);

test(
  'at 200 % every answer of the card is in sight, whatever is asked about',
  inWindow(async ({ window }) => {
    const { chat, pick, page } = window;
    await chat.say(`run echo ${Array.from({ length: 60 }, (_, at) => `wide-${at}`).join(' ')}`);
    await pick.row('Allow once').first().waitFor();
    await page.keyboard.press('Escape');
    await pick.gone();
    const ask = chat.ask('wide-0');
    await ask.getByRole('button', { name: 'Reject', exact: true }).waitFor();
    assert.deepEqual(await chat.cutShort(ask), []);
    await window.pictures('approval-wide', ['dark']);
    await page.setViewportSize({ width: 640, height: 400 });
    await chat.lowerThan(400);
    assert.deepEqual(await chat.outOfSight(ask), []);
    assert.deepEqual(await chat.cutShort(ask), []);
    assert.ok(await chat.composer.isVisible());
    await window.pictures('approval-zoomed', ['dark', 'light', 'contrast']);
    await page.setViewportSize({ width: 1280, height: 800 });
    await ask.getByRole('button', { name: 'Reject', exact: true }).click();
    await chat.settled(chat.lastTurn);
  }),
);

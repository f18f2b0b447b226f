import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { diskAgent, numbered, text } from './diskAgent.ts';
import { ReviewPage } from './pages/review.ts';
import type { Scene } from './suite.ts';
import { until, untilFile } from './until.ts';

// What a command of the included agent wrote is reviewed without a mouse, over protocols other than ACP.
const script = path.resolve('dist/parley-agent.js');
const peers = [
  { id: 'over-wire', name: 'Over Wire', protocol: 'kimi-wire', command: process.execPath, args: [script, '--wire'] },
  { id: 'over-a2a', name: 'Over A2A', protocol: 'a2a', command: process.execPath, args: [script, '--protocol', 'a2a'] },
] as const;
const lines = numbered('row', 30);
const names = ['one.txt', 'two.txt', 'three.txt'] as const;
const spell = `sed -i -e 's/^row 5$/row five/' -e 's/^row 12$/row twelve/' -e 's/^row 20$/row twenty/'`;
const notes = numbered('notes', 10).map((name) => `${name.replace(' ', '-')}.md`);
const tidy = `rm gone.md\nsed -i 's/^row 2$/row two/' ${notes.join(' ')}\n`;
const scripts = new Map([
  ['spell.sh', `${spell} "$@"\n`],
  ['tidy.sh', tidy],
]);
const disk = await diskAgent({ name: 'changes-after', beside: peers, files: scripts });
const { inWindow, inFolder, read, write } = disk;

async function chord({ page }: Scene['window'], key: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.keyboard.press(key);
}

/** A row of the list has the keyboard. */
async function focusedRow({ page }: Scene['window'], name: string): Promise<void> {
  await page.locator('.pane .monaco-list:focus .monaco-list-row.focused', { hasText: name }).waitFor();
}

for (const { id, name } of peers) {
  test(
    `${name}: by keys alone, the list takes the keyboard at once, Space marks, hunks are kept and undone, and a file is kept`,
    inWindow(async ({ window }) => {
      const { chat, page, pick } = window;
      const review = new ReviewPage(window);
      for (const file of names) write(file, text(lines));
      await window.openChat();
      await window.command('Parley: New Session with Agent');
      await pick.choose(name);
      await chat.frame.locator('.agent', { hasText: name }).waitFor();
      // The list was seen while it was empty.
      await review.show();
      await page.getByText('No changes.').waitFor();
      await window.openChat();
      await chord(window, 'h');
      await chat.composer.and(chat.frame.locator(':focus')).waitFor();
      await page.keyboard.type(`run \`sh spell.sh ${names.join(' ')}\``);
      await page.keyboard.press('Enter');
      await pick.row('Allow once').waitFor();
      await pick.answer('A');
      await chat.lastTurn.getByText('3 files changed').waitFor();
      await review.show();
      await review.row('two.txt').waitFor();
      await page.keyboard.press('ArrowDown');
      await focusedRow(window, 'one.txt');
      await page.keyboard.press('ArrowDown');
      await focusedRow(window, 'three.txt');
      await page.keyboard.press('Space');
      await review.marked('three.txt').waitFor();
      await window.pictures(`review/marked-${id}`, ['dark', 'light', 'contrast']);
      await page.keyboard.press('Space');
      await review.marked('three.txt').waitFor({ state: 'detached' });
      await focusedRow(window, 'three.txt');
      await page.keyboard.press('Space');
      await review.marked('three.txt').waitFor();
      await page.keyboard.press('ArrowUp');
      await focusedRow(window, 'one.txt');
      await page.keyboard.press('Enter');
      await window.diff.compared();
      await window.closeEditors();
      await review.openFile('one.txt');
      await review.lenses(3);
      await page.keyboard.press('Control+1');
      await page.locator('.editor-instance .monaco-editor.focused').waitFor();
      // The file opens at its first change; a decision goes on to the next one.
      await window.cursor(5).waitFor();
      await chord(window, 'j');
      await window.cursor(12).waitFor();
      await chord(window, 'Shift+j');
      await window.cursor(5).waitFor();
      await chord(window, 'Shift+y');
      await window.cursor(12).waitFor();
      await review.lenses(2);
      await chord(window, 'Shift+n');
      await untilFile(inFolder('one.txt'), /row five\n.*row 12\n.*row twenty\n/s);
      await review.lenses(1);
      await window.cursor(20).waitFor();
      await window.pictures(`review/keys-${id}`);
      await chord(window, 'j');
      await page.locator('.tab.active', { hasText: 'three.txt' }).waitFor();
      await window.cursor(5).waitFor();
      await review.lenses(3);
      await window.command('Parley: Keep Changes in File');
      await review.lenses(0);
      await window.command('Parley: Undo All Changes');
      await page.locator('.monaco-dialog-box').waitFor();
      await page.keyboard.press('Enter');
      await untilFile(inFolder('two.txt'), /row 5\n.*row 12\n.*row 20\n/s);
      await until(() => read('one.txt') === text(lines.with(4, 'row five')), 'only what was kept of the first file is left');
      assert.match(read('three.txt'), /row five\n.*row twelve\n.*row twenty\n/s);
      await window.closeEditors();
    }),
  );
}

for (const { id, name } of peers) {
  test(
    `${name}: a command deletes a file and rewrites ten; after a reload the rest of the review is there, all go back, and come again`,
    inWindow(async ({ window }) => {
      const { chat, page, pick } = window;
      const review = new ReviewPage(window);
      for (const file of [...notes, 'gone.md']) write(file, text(lines));
      const rewritten = text(lines.with(1, 'row two'));
      const are = (wanted: string, isGone: boolean) =>
        until(() => notes.slice(1).every((file) => read(file) === wanted) && existsSync(inFolder('gone.md')) !== isGone, 'as wanted');
      await window.openChat();
      await window.command('Parley: New Session with Agent');
      await pick.choose(name);
      await chat.frame.locator('.agent', { hasText: name }).waitFor();
      await chat.say('run `sh tidy.sh`');
      await pick.row('Allow once').waitFor();
      await pick.answer('A');
      await chat.lastTurn.getByText('11 files changed').waitFor();
      await are(rewritten, true);
      await review.openFile('notes-1.md');
      await review.lenses(1);
      await review.decide('Keep');
      await review.lenses(0);
      await window.reload();
      await window.openChat();
      const kept = chat.lastTurn.locator('.changes li', { hasText: 'notes-1.md' });
      await kept.getByText('Kept').waitFor();
      const [word, button] = [await kept.getByText('Kept').boundingBox(), await kept.locator('.settle .icon-button').first().boundingBox()];
      assert.ok(word && button && word.x - button.x - button.width >= 4, JSON.stringify({ word, button }));
      await review.show();
      await review.row('gone.md').waitFor();
      await window.pictures(`review/command-reloaded-${id}`, ['dark', 'light', 'contrast']);
      await window.command('Parley: Restore Files to Before a Prompt');
      await pick.choose('run `sh tidy.sh`');
      await page.getByRole('button', { name: 'Restore Files' }).first().click();
      await are(text(lines), false);
      assert.equal(read('notes-1.md'), text(lines), 'a restore takes back what was kept, too');
      await window.command('Parley: Bring Back Undone Changes');
      await are(rewritten, true);
      await review.show();
      await review.row('gone.md').waitFor();
      await window.command('Parley: Undo All Changes');
      await page.locator('.monaco-dialog-box').waitFor();
      await page.keyboard.press('Enter');
      await are(text(lines), false);
      assert.equal(read('notes-1.md'), rewritten, 'what was kept stays kept');
      await window.closeEditors();
    }),
  );
}

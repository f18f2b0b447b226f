import assert from 'node:assert/strict';
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { diskAgent, numbered, text } from './diskAgent.ts';
import { ReviewPage } from './pages/review.ts';
import { until, untilFile } from './until.ts';

// What an agent does to its own earlier files, and changes out of sight at the right.
const disk = await diskAgent({ name: 'changes-own' });
const { inWindow, inFolder, read, write } = disk;

test(
  'an agent moves and deletes its own file: one row for the move, and nobody is said to have undone it; a restore lists it again',
  inWindow(async ({ window }) => {
    const { chat, page, pick } = window;
    const review = new ReviewPage(window);
    const row = (turn: number, name: string) => chat.turns.nth(turn).locator('.changes li', { hasText: name });
    await window.openChat();
    disk.act = () => write('draft.md', text(numbered('draft', 20)));
    await chat.exchange('make it');
    await row(0, 'draft.md').getByText('new').waitFor();
    disk.act = () => renameSync(inFolder('draft.md'), inFolder('final.md'));
    await chat.exchange('rename it');
    await row(1, 'draft.md → final.md').getByText('moved').waitFor();
    await chat.lastTurn.getByText('1 file changed').waitFor();
    await window.pictures('review/own-moved');
    disk.act = () => rmSync(inFolder('final.md'));
    await chat.exchange('delete it');
    await row(0, 'draft.md').getByText('deleted later').waitFor();
    await row(2, 'final.md').getByText('−20').waitFor();
    assert.equal(await chat.frame.locator('.changes').getByText('Undone').count(), 0);
    await review.isEmpty();
    await window.openChat();
    await window.pictures('review/own-deleted');
    await row(2, 'final.md').getByRole('button', { name: 'Open Changes' }).click();
    await page.locator('.editor.original .view-line', { hasText: 'draft 3' }).first().waitFor();
    await window.closeEditors();
    await window.command('Parley: Restore Files to Before a Prompt');
    await pick.choose('rename it');
    await page.getByRole('button', { name: 'Restore Files' }).click();
    await untilFile(inFolder('draft.md'), /draft 20/);
    await review.show();
    await review.row('draft.md').waitFor();
    await window.command('Parley: Bring Back Undone Changes');
    await review.isEmpty();
    await window.openChat();
    await row(0, 'draft.md').getByText('deleted later').waitFor();
    assert.equal(await chat.frame.getByText('changed at once').count(), 0);
    assert.equal(existsSync(inFolder('draft.md')), false);
  }),
);

test(
  'a file that was replaced by a folder comes back in one go',
  inWindow(async ({ window }) => {
    const { chat, page, pick } = window;
    await window.openChat();
    write('conf', 'mine\n');
    disk.act = () => {
      rmSync(inFolder('conf'));
      mkdirSync(inFolder('conf'));
      write('conf/main.cfg', 'agent\n');
    };
    await chat.exchange('a folder for it');
    await window.command('Parley: Restore Files to Before a Prompt');
    await pick.choose('a folder for it');
    const dialog = page.locator('.monaco-dialog-box');
    await dialog.getByText('conf/main.cfg — will be deleted').waitFor();
    assert.doesNotMatch((await dialog.textContent()) ?? '', /is a folder now/);
    await page.getByRole('button', { name: 'Restore Files' }).click();
    await until(
      () => statSync(inFolder('conf'), { throwIfNoEntry: false })?.isFile() === true && read('conf') === 'mine\n',
      'it is the file that it was',
    );
    await dialog.waitFor({ state: 'hidden' });
  }),
);

test(
  'a change at the end of a long line is in sight in the file, from change to change',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    const long = numbered('line', 40).map((line) => `${line}(${numbered('argument', 24).join(', ')}, A0)`);
    write('long.txt', text(long));
    disk.act = () => write('long.txt', text(long.map((line, at) => (at === 4 || at === 30 ? line.replace('A0)', 'A17)') : line))));
    await window.openChat();
    await chat.exchange('two ends of lines');
    await review.openFile('long.txt');
    // Where the cursor stands is in sight.
    await page.getByText('Ln 5, Col 312').waitFor();
    await window.pictures('review/own-long');
    await window.command('Parley: Go to Next Change');
    await page.getByText('Ln 31, Col 313').waitFor();
    assert.match(read('long.txt'), /A17/);
  }),
);

import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { diskAgent, numbered, text } from './diskAgent.ts';
import { ReviewPage } from './pages/review.ts';
import { until } from './until.ts';

// What goes wrong while changes are reviewed, as the user hears of it. The agent writes straight to the disk.
// What is put into the place of a.txt is not seen before it is undone: a file that is known to be gone has nothing to undo.
const disk = await diskAgent({ name: 'changes-troubles', settings: { 'files.watcherExclude': { '**/a.txt': true } } });
const { inWindow, inFolder, read, write } = disk;

test(
  'a folder in the place of a changed file, a folder that became a link, a text before the change that is gone: said by name, nothing is touched',
  inWindow(async ({ window, storage }) => {
    const { chat } = window;
    mkdirSync(inFolder('lib'));
    const outside = inFolder('../outside');
    mkdirSync(outside);
    for (const name of ['a.txt', 'b.txt', 'lib/c.txt']) write(name, `${name} one\n`);
    disk.act = () => {
      for (const name of ['a.txt', 'b.txt', 'lib/c.txt']) write(name, `${name} agent\n`);
    };
    await window.openChat();
    await chat.frame.getByText('Disk').first().waitFor();
    await chat.exchange('change three');
    await chat.lastTurn.getByText('3 files changed').waitFor();
    const undo = async (name: string, said: string) => {
      await chat.lastTurn.getByRole('button', { name: `Undo: ${name}` }).click();
      await chat.lastTurn.getByRole('button', { name: 'Undo', exact: true }).click();
      await chat.frame.getByText(said).first().waitFor();
    };
    rmSync(inFolder('a.txt'));
    mkdirSync(inFolder('a.txt'));
    await undo('a.txt', 'a.txt is a folder now. Move it away, then try again.');
    await window.pictures('review/trouble-folder');
    renameSync(inFolder('lib'), inFolder('was'));
    writeFileSync(path.join(outside, 'c.txt'), 'lib/c.txt agent\nmore\n');
    symlinkSync(outside, inFolder('lib'));
    await undo('lib/c.txt', 'lib/c.txt now lies elsewhere, so nothing was written. Remove the link that leads there');
    await window.pictures('review/trouble-link');
    assert.equal(readFileSync(path.join(outside, 'c.txt'), 'utf8'), 'lib/c.txt agent\nmore\n');
    assert.equal(read('was/c.txt'), 'lib/c.txt agent\n');
    rmSync(path.join(storage, 'review', 'objects'), { recursive: true, maxRetries: 20, retryDelay: 100 });
    await undo('b.txt', 'b.txt stays as it is: Parley keeps no copy of it that could be brought back.');
    assert.deepEqual([read('b.txt'), readdirSync(inFolder('a.txt'))], ['b.txt agent\n', []]);
    await window.pictures('review/trouble-gone');
    await window.command('Parley: Keep All Changes');
  }),
);

test(
  'a restore over a folder that a link has replaced says beforehand how many files are not changed, with the reason of each',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const names = ['lots/one.txt', 'lots/two.txt', 'lots/three.txt'];
    for (const name of names) write(name, `${name}\n`);
    disk.act = () => {
      for (const name of names) write(name, `${name} agent\n`);
    };
    await window.openChat();
    await chat.frame.getByText('Disk').first().waitFor();
    await chat.exchange('change the lots');
    await chat.lastTurn.getByText('3 files changed').waitFor();
    renameSync(inFolder('lots'), inFolder('lots-moved'));
    symlinkSync('lots-moved', inFolder('lots'));
    await window.command('Parley: Restore Files to Before a Prompt');
    await window.pick.choose('change the lots');
    const dialog = page.locator('.monaco-dialog-box');
    // Nothing could be restored: that is said at once.
    await dialog.getByText('Not changed: 3 files').waitFor();
    await window.pictures('review/trouble-restore-link', ['dark', 'light', 'contrast']);
    await dialog.getByRole('button', { name: 'OK' }).click();
    for (const name of names) assert.equal(read(name), `${name} agent\n`);
    await window.command('Parley: Keep All Changes');
  }),
);

test(
  'a file outside the workspace: what the agent reports is listed as not watched, shown as a diff, and undone',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const lines = numbered('same', 1).concat(Array.from({ length: 20 }, () => 'again'));
    const after = lines.with(10, 'agent');
    write('../beside.txt', text(lines));
    disk.act = () => {
      const content = [{ type: 'diff', path: inFolder('../beside.txt'), oldText: text(lines), newText: text(after) }];
      write('../beside.txt', text(after));
      disk.fake.update({
        sessionUpdate: 'tool_call',
        toolCallId: 'o',
        title: 'Edit beside.txt',
        kind: 'edit',
        status: 'completed',
        content,
      });
    };
    await window.openChat();
    await chat.exchange('change it outside');
    await chat.lastTurn.getByText('Not watched:').waitFor();
    await chat.lastTurn.getByRole('button', { name: /^Open Changes: .*beside\.txt/ }).click();
    await window.diff.compared();
    await window.pictures('review/trouble-outside');
    await chat.lastTurn.getByRole('button', { name: /^Undo: .*beside\.txt/ }).click();
    await chat.lastTurn.getByRole('button', { name: 'Undo', exact: true }).click();
    await until(() => read('../beside.txt') === text(lines), 'the file is as it was');
    await chat.lastTurn.getByText('Undone').waitFor();
    assert.equal(await chat.lastTurn.getByText('Changed on disk').count(), 0);
    await window.closeEditors();
  }),
);

test(
  'a file that a program goes on writing is reviewed meanwhile: a hunk is undone, and no line of the program is lost',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const review = new ReviewPage(window);
    const lines = numbered('row', 30);
    write('busy.txt', text(lines));
    disk.act = () => write('busy.txt', text(lines.with(4, 'row five')));
    await window.openChat();
    await chat.exchange('spell a row');
    await chat.lastTurn.getByText('1 file changed').waitFor();
    // The editor asks for lenses only once a text rests, so they are on the screen before the program begins.
    await review.openFile('busy.txt');
    await review.lens('Undo').first().waitFor();
    let written = 0;
    const program = setInterval(() => {
      written += 1;
      appendFileSync(inFolder('busy.txt'), `${written}\n`);
    }, 150);
    try {
      await until(() => written > 9, 'the program writes');
      await window.pictures('review/trouble-busy');
      await review.decide('Undo');
      await until(() => read('busy.txt').startsWith(text(lines)), 'the hunk is undone');
    } finally {
      clearInterval(program);
    }
    assert.equal(read('busy.txt'), text([...lines, ...Array.from({ length: written }, (_, at) => `${at + 1}`)]));
    await review.keepAll();
    await window.closeEditors();
  }),
);

test(
  'a text in another encoding: opened, it says why it has no hunks, and goes back as a whole, byte for byte',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const review = new ReviewPage(window);
    const wide = (last: string) => Buffer.from(`\ufeff${text([...numbered('row', 9), last])}`, 'utf16le');
    writeFileSync(inFolder('wide.txt'), wide('row 10'));
    disk.act = () => writeFileSync(inFolder('wide.txt'), wide('agent'));
    await window.openChat();
    await chat.exchange('write wide');
    await chat.lastTurn.getByText('1 file changed').waitFor();
    await review.openFile('wide.txt');
    await review.note('not UTF-8 · UTF-16 LE LF').waitFor();
    await window.pictures('review/trouble-encoding');
    await review.decide('Undo');
    await until(() => readFileSync(inFolder('wide.txt')).equals(wide('row 10')), 'the file is as it was');
    await review.lenses(0);
    await window.closeEditors();
  }),
);

test(
  'an agent writes a text anew in an encoding that the editor cannot tell: what that shows is not written, and the old bytes come back',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const review = new ReviewPage(window);
    const old = text([...numbered('größer', 9), 'row 10']);
    const narrow = Buffer.from(old.replace('row 10', 'agent'), 'latin1');
    write('narrow.txt', old);
    disk.act = () => writeFileSync(inFolder('narrow.txt'), narrow);
    await window.openChat();
    await chat.exchange('write narrow');
    await chat.lastTurn.getByText('1 file changed').waitFor();
    await review.openFile('narrow.txt');
    await review.note('not UTF-8').waitFor();
    assert.ok(readFileSync(inFolder('narrow.txt')).equals(narrow));
    await review.decide('Undo');
    await until(() => read('narrow.txt') === old, 'the file is as it was');
    await review.lenses(0);
    await window.closeEditors();
  }),
);

test(
  'a file of 50 MB and thousands of files at once are said, the very large one is not undone, and the rest goes back',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    write('large.bin', '');
    truncateSync(inFolder('large.bin'), 50 * 1024 * 1024);
    disk.act = () => {
      truncateSync(inFolder('large.bin'), 51 * 1024 * 1024);
      write('small.txt', 'small\n');
    };
    await window.openChat();
    await chat.exchange('grow');
    await chat.lastTurn.getByText('cannot be undone').waitFor();
    await review.show();
    await review.row('large.bin').getByText('cannot be undone · large').waitFor();
    await window.pictures('review/trouble-large');
    disk.act = () => {
      write('node_modules/part/index.js', 'made\n');
      for (let at = 0; at < 2100; at += 1) write(`made/${at}.txt`, `${at}\n`);
    };
    await window.openChat();
    await chat.exchange('make many');
    await chat.lastTurn.getByText('2100 files changed at once and are not listed.').waitFor();
    await window.pictures('review/trouble-many');
    await window.command('Parley: Restore Files to Before a Prompt');
    await window.pick.choose('make many');
    await page.getByRole('button', { name: 'Restore Files' }).waitFor();
    await page.locator('.monaco-dialog-box').getByText('Not watched: node_modules').waitFor();
    await window.pictures('review/trouble-many-restore');
    await page.getByRole('button', { name: 'Restore Files' }).click();
    await until(() => !existsSync(inFolder('made')), 'all files that were made are gone, and their folder with them');
    assert.deepEqual([existsSync(inFolder('small.txt')), existsSync(inFolder('node_modules'))], [true, true]);
  }),
);

test(
  'a disk that takes nothing: the list says so, the change is listed with its prompt, and no undo pretends',
  inWindow(async ({ window, storage }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    const objects = path.join(storage, 'review', 'objects');
    await window.command('Parley: Keep All Changes');
    write('late.txt', 'one\n');
    // Where nothing can be put. What was kept of the decision before may still be on its way there.
    await until(() => {
      try {
        rmSync(objects, { recursive: true, force: true });
        writeFileSync(objects, '');
        return true;
      } catch {
        return false;
      }
    }, 'a file stands in the place of the folder');
    disk.act = () => write('late.txt', 'agent\n');
    await window.openChat();
    await chat.exchange('one more');
    await chat.lastTurn.getByText('late.txt').waitFor();
    await review.show();
    await page.getByText('Not kept for review: …/review/objects is a file now.').first().waitFor();
    await window.pictures('review/trouble-disk');
    assert.equal(await chat.lastTurn.getByRole('button', { name: 'Undo: late.txt' }).count(), 0);
    assert.equal(read('late.txt'), 'agent\n');
  }),
);

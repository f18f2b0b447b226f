import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { test } from 'node:test';
import { diskAgent, numbered, text } from './diskAgent.ts';
import { ReviewPage } from './pages/review.ts';
import { until } from './until.ts';

// Files of kinds that a disk has and an editor shows as if they were like all others. The agent writes straight to the disk.
const disk = await diskAgent({ name: 'changes-kinds' });
const { inWindow, inFolder, read, write } = disk;

test(
  'a file with different line ends: hunks stand at their lines, one is kept and two undone, and each other line keeps its end',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const review = new ReviewPage(window);
    const before = 'one\r\ntwo\nthree\rfour\f\u0085\nfive\r\nsix\nseven\r\neight\nnine\r\nten';
    const after = before.replace('two\n', 'agent two\r\n').replace('six\n', 'six\nagent seven\n').replace('nine\r\n', 'agent nine\n');
    write('mixed.txt', before);
    disk.act = () => write('mixed.txt', after);
    await window.openChat();
    await chat.frame.getByText('Disk').first().waitFor();
    await chat.exchange('mix them');
    await chat.lastTurn.getByText('1 file changed').waitFor();
    await review.openFile('mixed.txt');
    await review.lenses(3);
    await window.pictures('review/kind-mixed');
    await review.decide('Undo');
    await until(() => read('mixed.txt') === after.replace('agent two\r\n', 'two\n'), 'the first hunk is undone beneath the editor');
    await review.lenses(2);
    await review.decide('Keep');
    await review.lenses(1);
    await review.decide('Undo');
    await review.lenses(0);
    assert.equal(read('mixed.txt'), before.replace('six\n', 'six\nagent seven\n'));
    await window.closeEditors();
  }),
);

test(
  'a script that the agent made runnable is listed with its permissions, and undone from its editor',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const review = new ReviewPage(window);
    const mode = () => (statSync(inFolder('run.sh')).mode & 0o777).toString(8);
    write('run.sh', 'echo run\n');
    chmodSync(inFolder('run.sh'), 0o644);
    disk.act = () => chmodSync(inFolder('run.sh'), 0o755);
    await window.openChat();
    await chat.frame.getByText('Disk').first().waitFor();
    await chat.exchange('let it run');
    await chat.lastTurn.getByText('1 file changed').waitFor();
    await chat.lastTurn.getByText('rw-r--r-- → rwxr-xr-x').waitFor();
    await review.show();
    await review.row('run.sh').getByText('rw-r--r-- → rwxr-xr-x').waitFor();
    await review.row('run.sh').click();
    await review.note('rw-r--r-- → rwxr-xr-x').first().waitFor();
    await window.pictures('review/kind-mode');
    await review.openFile('run.sh');
    await review.note('rw-r--r-- → rwxr-xr-x').waitFor();
    await review.decide('Undo');
    await until(() => mode() === '644', 'the permissions are as before');
    await review.isEmpty();
    await window.closeEditors();
  }),
);

test(
  'files that are no text, made or changed, say so over themselves and are undone there; so does one of which only the form changed',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    const titleAction = (name: string) => page.locator(`.editor-actions .action-label[aria-label^="${name}"]`);
    const wide = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('eins\nzwei\n', 'utf16le')]);
    write('nul.txt', 'one\ntwo\n');
    write('form.txt', 'one\r\ntwo\r\n');
    disk.act = () => {
      writeFileSync(inFolder('wide.txt'), wide);
      writeFileSync(inFolder('latin.txt'), Buffer.from('gr\u00f6\u00dfer\n', 'latin1'));
      writeFileSync(inFolder('nul.txt'), Buffer.from('one\n\0\0two\n'));
      write('form.txt', '\uFEFFone\ntwo\n');
    };
    await window.openChat();
    await chat.frame.getByText('Disk').first().waitFor();
    await chat.exchange('write bytes');
    await chat.lastTurn.getByText('4 files changed').waitFor();
    const form = 'UTF-8 CRLF → UTF-8 BOM LF';
    await chat.lastTurn.getByText(form).waitFor();
    await review.show();
    await review.row('form.txt').getByText(form).waitFor();
    for (const name of ['wide.txt', 'latin.txt', 'form.txt']) {
      await review.openFile(name);
      await review.note({ 'form.txt': form, 'wide.txt': 'not UTF-8 · UTF-16 LE LF' }[name] ?? 'not UTF-8').waitFor();
      if (name === 'latin.txt' || name === 'form.txt') await window.pictures(`review/kind-${name.replace('.txt', '')}`);
      if (name === 'latin.txt') {
        await page.keyboard.press('Control+k');
        await page.keyboard.press('Shift+n');
      } else if (name === 'form.txt') await titleAction('Undo Changes in File').click();
      else await review.decide('Undo');
      await until(() => !existsSync(inFolder(name)) || read(name) === 'one\r\ntwo\r\n', `${name} is as before`);
      await window.closeEditors();
    }
    // The editor shows no text with such bytes.
    await review.show();
    await review.row('nul.txt').getByText('binary').waitFor();
    await review.openFile('nul.txt');
    await titleAction('Keep Changes in File').waitFor();
    await window.pictures('review/kind-nul');
    await titleAction('Undo Changes in File').click();
    await until(() => read('nul.txt') === 'one\ntwo\n', 'the bytes are a text again');
    await window.closeEditors();
    await review.isEmpty();
    assert.deepEqual([existsSync(inFolder('wide.txt')), existsSync(inFolder('latin.txt'))], [false, false]);
    assert.deepEqual([read('nul.txt'), read('form.txt')], ['one\ntwo\n', 'one\r\ntwo\r\n']);
  }),
);

test(
  'links: one replaced by a file, one deleted and one led elsewhere are listed with where they led, compared, and undone as links',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    write('lib/a.txt', 'a\n');
    const links = { 'gone.txt': 'lib/a.txt', 'led.txt': 'lib/a.txt', 'replaced.txt': 'lib/a.txt' };
    for (const [name, target] of Object.entries(links)) symlinkSync(target, inFolder(name));
    disk.act = () => {
      for (const name of Object.keys(links)) rmSync(inFolder(name));
      symlinkSync('../elsewhere.txt', inFolder('led.txt'));
      write('replaced.txt', 'a file now\n');
    };
    await window.openChat();
    await chat.frame.getByText('Disk').first().waitFor();
    await chat.exchange('replace the links');
    await chat.lastTurn.getByText('3 files changed').waitFor();
    await chat.lastTurn.getByText('+ → ../elsewhere.txt − → lib/a.txt').waitFor();
    await review.show();
    await review.row('gone.txt').getByText('deleted · − → lib/a.txt').waitFor();
    await review.row('led.txt').click();
    await page.locator('.view-lines', { hasText: '../elsewhere.txt' }).waitFor();
    await window.pictures('review/kind-links');
    await review.openFile('replaced.txt');
    await review.note('− → lib/a.txt').waitFor();
    await window.pictures('review/kind-link-replaced');
    await review.decide('Undo');
    await until(() => lstatSync(inFolder('replaced.txt')).isSymbolicLink(), 'the link is there again');
    await window.command('Parley: Undo All Changes');
    await page.getByRole('button', { name: 'Undo all' }).last().click();
    await review.isEmpty();
    assert.deepEqual(
      Object.keys(links).map((name) => readlinkSync(inFolder(name))),
      Object.values(links),
    );
    assert.deepEqual([read('lib/a.txt')], ['a\n']);
    await window.closeEditors();
  }),
);

test(
  'in the middle of a turn without tool calls: what is written shows in its file at once, and what was written is undone after a reload',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const review = new ReviewPage(window);
    await review.keepAll();
    await window.closeEditors();
    const lines = numbered('row', 20);
    write('during.txt', text(lines));
    write('later.txt', 'before\n');
    disk.act = () => {
      write('during.txt', text(lines.with(4, 'agent five')));
      return new Promise(() => {});
    };
    await window.openChat();
    await chat.say('work on and on');
    await review.show();
    await review.row('during.txt').getByText('+1 −1').waitFor();
    await window.pictures('review/kind-during');
    await window.openFile('during.txt');
    await review.lenses(1);
    write('later.txt', 'agent\n');
    await window.reload();
    await review.show();
    await review.row('during.txt').waitFor();
    await review.row('later.txt').getByText('+1 −1').waitFor();
    await window.pictures('review/kind-during-reloaded');
    await window.command('Parley: Undo All Changes');
    await window.page.getByRole('button', { name: 'Undo all' }).last().click();
    await review.isEmpty();
    assert.deepEqual([read('during.txt'), read('later.txt')], [text(lines), 'before\n']);
  }),
);

test(
  'two folders in one window: a change in the other one is listed under its folder, decided about in its file, and undone',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    const lines = numbered('row', 20);
    mkdirSync(inFolder('../beside'));
    write('../beside/other.txt', text(lines));
    write('own.txt', text(lines));
    writeFileSync(
      inFolder('../both.code-workspace'),
      JSON.stringify({ folders: [{ path: inFolder('.') }, { path: inFolder('../beside') }] }),
    );
    const address = new URL(page.url());
    address.searchParams.delete('folder');
    address.searchParams.set('workspace', inFolder('../both.code-workspace'));
    await page.goto(address.href, { waitUntil: 'domcontentloaded' });
    await window.ready();
    disk.act = () => {
      write('../beside/other.txt', text(lines.with(4, 'agent five').with(15, 'agent sixteen')));
      write('own.txt', text(lines.with(2, 'agent three')));
    };
    await window.openChat();
    await chat.frame.getByText('Disk').first().waitFor();
    await chat.exchange('write in both');
    await chat.lastTurn.getByText('2 files changed').waitFor();
    await chat.lastTurn.locator('.path-button', { hasText: /^\s*beside\/other\.txt\s*$/ }).waitFor();
    await review.show();
    await review.row('other.txt').getByText('beside').waitFor();
    await window.pictures('review/kind-folders');
    await review.openFile('other.txt');
    await review.lenses(2);
    await review.decide('Undo');
    await until(() => read('../beside/other.txt') === text(lines.with(15, 'agent sixteen')), 'the hunk is undone');
    await review.lenses(1);
    await window.command('Parley: Undo All Changes');
    await page.getByRole('button', { name: 'Undo all' }).last().click();
    await review.isEmpty();
    assert.deepEqual([readFileSync(inFolder('../beside/other.txt'), 'utf8'), read('own.txt')], [text(lines), text(lines)]);
    await window.closeEditors();
  }),
);

import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { diskAgent, numbered, text } from './diskAgent.ts';
import { ReviewPage } from './pages/review.ts';
import type { Scene } from './suite.ts';
import { until, untilFile } from './until.ts';

// The places besides a file itself where its changes are decided about: its diff, the diffs of a session and of a prompt in one editor, and the list.
const disk = await diskAgent({ name: 'changes-places' });
const { inWindow, inFolder, read, write } = disk;
const lines = numbered('line', 20);
const changed = (...places: readonly number[]) => text(lines.map((line, at) => (places.includes(at + 1) ? `agent ${at + 1}` : line)));

async function chord({ page }: Scene['window'], key: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.keyboard.press(key);
}

/** Nothing is left of the test before. */
async function cleared(window: Scene['window']): Promise<ReviewPage> {
  const review = new ReviewPage(window);
  await window.openChat();
  await window.chat.frame.getByText('Disk').first().waitFor();
  await review.keepAll();
  await window.closeEditors();
  await window.openChat();
  return review;
}

test(
  'in the diff of a file: the keys go from change to change, keep one and undo others, and the next file follows as a diff',
  inWindow(async ({ window }) => {
    const { chat, diff, page } = window;
    const review = await cleared(window);
    for (const name of ['one.txt', 'two.txt']) write(name, text(lines));
    disk.act = () => {
      write('one.txt', changed(4, 10, 16));
      write('two.txt', changed(6));
    };
    await chat.exchange('four places');
    await chat.lastTurn.getByText('2 files changed').waitFor();
    await review.show();
    await review.row('one.txt').click();
    await diff.compared();
    await review.lenses(3);
    await page.locator('.editor.modified .view-line', { hasText: 'agent 4' }).first().click();
    await window.cursor(4).waitFor();
    await chord(window, 'j');
    await window.cursor(10).waitFor();
    await window.pictures('review/places-diff');
    await chord(window, 'Shift+j');
    await window.cursor(4).waitFor();
    await chord(window, 'Shift+y');
    await window.cursor(10).waitFor();
    await review.lenses(2);
    await until(async () => (await diff.original()).includes('agent 4'), 'what was kept is no change any more');
    await chord(window, 'Shift+n');
    await until(() => read('one.txt') === changed(4, 16), 'the second change is undone');
    await window.cursor(16).waitFor();
    await chord(window, 'j');
    await page.locator('.tab.active', { hasText: 'two.txt' }).waitFor();
    await diff.compared();
    await window.cursor(6).waitFor();
    await chord(window, 'Shift+n');
    await until(() => read('two.txt') === text(lines), 'the change of the next file is undone');
    await review.keepAll();
    assert.equal(read('one.txt'), changed(4, 16));
  }),
);

test(
  'in the text of a file: what is kept or undone is no change any more, what the user saves is none, and the rest still is',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = await cleared(window);
    write('gutter.txt', text(lines));
    disk.act = () => write('gutter.txt', changed(4, 10, 16));
    await chat.exchange('three places');
    await review.openFile('gutter.txt');
    await review.lenses(3);
    const marks = (count: number) =>
      until(
        async () => (await page.locator('.view-overlays [class*="TextEditorDecorationType"]').count()) === count,
        `${count} marks in the text`,
      );
    await marks(3);
    // The editor's own views are as they were.
    await review.show();
    assert.equal(await page.locator('.dirty-diff-glyph').count(), 0);
    await page.getByRole('button', { name: 'Initialize Repository' }).waitFor();
    await review.decide('Keep');
    await review.lenses(2);
    await marks(2);
    await review.decide('Undo');
    await review.lenses(1);
    await marks(1);
    await page.locator('.editor-instance .view-line', { hasText: 'line 19' }).click();
    await page.keyboard.press('End');
    await page.keyboard.type(' of mine');
    await page.keyboard.press('Control+s');
    await untilFile(inFolder('gutter.txt'), /line 19 of mine\n/);
    await marks(1);
    await window.pictures('review/places-marks', ['dark', 'light', 'contrast']);
  }),
);

test(
  'by a setting, in the editor’s quick diff: the changes in the gutter, and their old text with Keep and Undo',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = await cleared(window);
    write('.vscode/settings.json', JSON.stringify({ 'parley.review.quickDiff': true }));
    write('quick.txt', text(lines));
    disk.act = () => write('quick.txt', changed(4, 10, 16));
    await chat.exchange('three places');
    await review.openFile('quick.txt');
    await review.lenses(3);
    const glyphs = (count: number) =>
      until(async () => (await page.locator('.dirty-diff-glyph').count()) === count, `${count} changes in the gutter`);
    await glyphs(3);
    await review.lens('Show removed').first().click();
    const peek = page.locator('.peekview-widget');
    await peek.getByText('line 4').first().waitFor();
    await peek.locator('[aria-label^="Keep Change"]').waitFor();
    await window.pictures('review/quick-diff', ['dark', 'light', 'contrast']);
    await peek.locator('[aria-label^="Undo Change"]').click();
    await until(() => read('quick.txt') === changed(10, 16), 'the change is undone');
    await review.lenses(2);
    await glyphs(2);
    write('.vscode/settings.json', '{}');
    await glyphs(0);
    for (const left of [2, 1]) {
      await review.lenses(left);
      await review.decide('Keep');
    }
    await review.lenses(0);
  }),
);

for (const of of ['session', 'prompt'] as const)
  test(
    `in the diffs of a ${of} in one editor: a change is kept and one undone by their lenses, and the same by keys`,
    inWindow(async ({ window }) => {
      const { chat, page } = window;
      const review = await cleared(window);
      for (const name of ['one.txt', 'two.txt']) write(name, text(lines));
      disk.act = () => {
        write('one.txt', changed(4, 16));
        write('two.txt', changed(6, 18));
      };
      await chat.exchange('four places');
      await chat.lastTurn.getByText('2 files changed').waitFor();
      if (of === 'session') await window.command('Parley: Open All Changes to Review');
      else await window.command('Parley: Review Changes of Last Turn');
      await review.lens('Keep').nth(1).waitFor();
      await window.pictures(`review/places-${of}`);
      await review.decide('Undo');
      await until(() => read('one.txt') === changed(16), 'the first change of the first file is undone');
      await review.lenses(3);
      await review.decide('Keep');
      await review.lenses(2);
      await page.locator('.view-line', { hasText: 'agent 6' }).first().click();
      await window.cursor(6).waitFor();
      await chord(window, 'Shift+n');
      await until(() => read('two.txt') === changed(18), 'the first change of the second file is undone by its key');
      await review.lenses(1);
      await page.locator('.view-line', { hasText: 'agent 18' }).first().click();
      await window.cursor(18).waitFor();
      await chord(window, 'Shift+y');
      await review.isEmpty();
      assert.deepEqual([read('one.txt'), read('two.txt')], [changed(16), changed(18)]);
      await window.pictures(`review/places-${of}-decided`);
    }),
  );

for (const of of ['session', 'prompt'] as const)
  test(
    `in the diffs of a ${of} in one editor: the keys go from change to change and from file to file, keep and undo`,
    inWindow(async ({ window }) => {
      const { chat, page } = window;
      const review = await cleared(window);
      for (const name of ['one.txt', 'two.txt']) write(name, text(lines));
      disk.act = () => {
        write('one.txt', changed(4, 16));
        write('two.txt', changed(6, 18));
      };
      await chat.exchange('four places');
      await chat.lastTurn.getByText('2 files changed').waitFor();
      if (of === 'session') await window.command('Parley: Open All Changes to Review');
      else await window.command('Parley: Review Changes of Last Turn');
      await review.lens('Keep').nth(1).waitFor();
      await page.locator('.view-line', { hasText: 'agent 4' }).first().click();
      await window.cursor(4).waitFor();
      await chord(window, 'j');
      await window.cursor(16).waitFor();
      await chord(window, 'j');
      await window.cursor(6).waitFor();
      await window.pictures(`review/places-${of}-keys`);
      await chord(window, 'Shift+n');
      await until(() => read('two.txt') === changed(18), 'the first change of the second file is undone');
      await chord(window, 'Shift+j');
      await window.cursor(16).waitFor();
      await chord(window, 'Shift+j');
      await window.cursor(4).waitFor();
      await chord(window, 'Shift+y');
      await until(async () => (await review.lens('Undo').count()) === 2, 'the first change is kept');
      await chord(window, 'Shift+n');
      await until(() => read('one.txt') === changed(4), 'the keys went on to the next change, which is undone');
      assert.equal(read('two.txt'), changed(18));
    }),
  );

test(
  'a deletion is decided about where it is shown: in its diff and among several in one editor, by the keys, the lenses and the buttons of the title',
  inWindow(async ({ window }) => {
    const { chat, diff, page } = window;
    const review = await cleared(window);
    const names = ['gone1.txt', 'gone2.txt', 'gone3.txt', 'gone4.txt'];
    for (const name of names) write(name, text(lines));
    disk.act = () => {
      for (const name of names) rmSync(inFolder(name));
    };
    await chat.exchange('delete them');
    await chat.lastTurn.getByText('4 files changed').waitFor();
    await review.show();
    await review.row('gone1.txt').click();
    await diff.compared();
    await review.lens('Keep').waitFor();
    await window.pictures('review/places-deletion', ['dark', 'light', 'contrast']);
    // The keyboard may be in either side.
    await page.locator('.editor.original .view-line', { hasText: 'line 4' }).first().click();
    await page.locator('.editor.original :focus').waitFor({ state: 'attached' });
    await chord(window, 'Shift+n');
    await untilFile(inFolder('gone1.txt'), /line 20\n/);
    await until(async () => (await diff.modified()).includes('line 4'), 'nothing is deleted in the diff any more');
    await review.lenses(0);
    await review.show();
    await review.row('gone2.txt').click();
    await diff.compared();
    await diff.action('Undo Changes in File').click();
    await untilFile(inFolder('gone2.txt'), /line 20\n/);
    await review.row('gone2.txt').waitFor({ state: 'hidden' });
    await window.closeEditors();
    await window.command('Parley: Open All Changes to Review');
    await review.lenses(2);
    await window.pictures('review/places-deletions');
    await review.decide('Undo', 0);
    await untilFile(inFolder('gone3.txt'), /line 20\n/);
    await page.locator('.editor.modified .view-line', { hasText: 'line 20' }).first().waitFor();
    await review.lenses(1);
    // Of the two, the one that is left: the editor drops the other a moment later.
    await review.lens('Keep').locator('xpath=..').getByText('deleted').first().waitFor();
    await until(async () => ((await review.lens('Undo').first().boundingBox())?.y ?? 0) > 300, 'the lens of the other one is gone');
    await review.decide('Keep', 0);
    await review.isEmpty();
    assert.equal(existsSync(inFolder('gone4.txt')), false);
    for (const name of names.slice(0, 3)) assert.equal(read(name), text(lines));
  }),
);

test(
  'in the list: a file is kept, what a prompt did to another is undone with the prompt, and the rest of it with its file, by the buttons of their rows',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const review = await cleared(window);
    for (const name of ['one.txt', 'two.txt']) write(name, text(lines));
    disk.act = () => {
      write('one.txt', changed(4));
      write('two.txt', changed(4));
    };
    await chat.exchange('the first');
    await chat.lastTurn.getByText('2 files changed').waitFor();
    disk.act = () => write('one.txt', changed(4, 16));
    await chat.exchange('the second');
    await chat.lastTurn.getByText('1 file changed').waitFor();
    await review.show();
    await review.row('the first').waitFor();
    await window.pictures('review/places-list');
    await review.decideRow('two.txt', 'Keep');
    await review.row('two.txt').waitFor({ state: 'hidden' });
    await review.decideRow('the second', 'Undo');
    await until(() => read('one.txt') === changed(4), 'only what the second prompt did to the file is undone');
    // Of one prompt the files alone are listed.
    await review.row('the first').waitFor({ state: 'hidden' });
    await window.pictures('review/places-list-decided');
    await review.decideRow('one.txt', 'Undo');
    await untilFile(inFolder('one.txt'), /line 4\n/);
    await review.isEmpty();
    assert.deepEqual([read('one.txt'), read('two.txt')], [text(lines), changed(4)]);
  }),
);

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diskAgent, numbered, text } from './diskAgent.ts';
import { ReviewPage } from './pages/review.ts';
import { until } from './until.ts';

// Two sessions whose agents change the same files.
const disk = await diskAgent({ name: 'changes-sessions' });
const { inWindow, read, write } = disk;
const lines = numbered('line', 20);
const changed = (...places: readonly (readonly [place: number, words: string])[]) =>
  text(lines.map((line, at) => places.find(([place]) => place === at + 1)?.[1] ?? line));

test(
  'the changes of two sessions: all are counted, listed by session and named where they are decided about',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    for (const name of ['both.txt', 'first.txt']) write(name, text(lines));
    await window.openChat();
    await chat.frame.getByText('Disk').first().waitFor();
    disk.act = () => {
      write('both.txt', changed([4, 'first 4'], [10, 'first 10']));
      write('first.txt', changed([6, 'first 6']));
    };
    await chat.exchange('Earlier work');
    await chat.lastTurn.getByText('2 files changed').waitFor();
    await window.command('Parley: New Session');
    await chat.frame.locator('.title', { hasText: 'New Session' }).waitFor();
    disk.act = () => write('both.txt', changed([4, 'second 4'], [10, 'first 10'], [16, 'second 16']));
    await chat.exchange('Later work');
    await chat.lastTurn.getByText('1 file changed').waitFor();
    await review.show();
    const session = review.rows.filter({ hasText: /^Earlier work/ });
    await session.waitFor();
    await review.row('first.txt').waitFor();
    await until(async () => (await review.row('both.txt').count()) === 2, 'each session has its row of the file');
    await review.row('both.txt').nth(0).getByText('By Earlier work, Later work').waitFor();
    await page.locator('.activitybar .badge', { hasText: '2' }).first().waitFor();
    await window.pictures('review/sessions-list', ['dark', 'light', 'contrast']);
    await review.openFile('both.txt');
    await review.lenses(4);
    await until(async () => (await review.note('By Earlier work').count()) === 2, 'changes of the other session are named');
    await until(async () => (await review.note('By Later work').count()) === 3, 'and so are the later ones, one of which is over another');
    assert.equal(await review.note('edited by you').count(), 0);
    await window.pictures('review/sessions-file', ['dark', 'light', 'contrast']);
    // Of the two changes in one line that of the session in front is decided about first.
    await review.decide('Undo', 0);
    await until(() => read('both.txt') === changed([4, 'first 4'], [10, 'first 10'], [16, 'second 16']), 'the later one is undone');
    await review.lenses(3);
    await review.show();
    await review.press(session, 'Undo', page.locator('.monaco-dialog-box'));
    await window.pictures('review/sessions-undo');
    await page.getByRole('button', { name: 'Undo all' }).click();
    await until(() => read('both.txt') === changed([16, 'second 16']), 'the changes of the other session are undone');
    await until(() => read('first.txt') === text(lines), 'in its other file, too');
    await review.row('first.txt').waitFor({ state: 'hidden' });
    await window.command('Parley: Keep All Changes');
    await review.isEmpty();
  }),
);

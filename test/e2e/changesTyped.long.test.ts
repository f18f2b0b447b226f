import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SESSION } from '../fakes/acp.ts';
import { diskAgent, numbered, text } from './diskAgent.ts';
import { ReviewPage } from './pages/review.ts';
import type { Scene } from './suite.ts';
import { untilFile } from './until.ts';

// The user types where the agent writes. Nothing is saved by itself, as on a desktop.
const disk = await diskAgent({ name: 'changes-typed', settings: { 'files.autoSave': 'off' } });
const { fake: agent, inWindow, inFolder, read, write } = disk;
const typeAfter = async ({ page }: Scene['window'], line: string, words: string) => {
  await page.locator('.editor-instance .view-line', { hasText: line }).first().click();
  await page.keyboard.press('End');
  await page.keyboard.type(words);
  await page.locator('.editor-instance .view-line', { hasText: words.trim() }).first().waitFor();
};

test(
  'what is typed into the agent’s lines stays under review, saved or not; Undo leaves what it can, and asks where it takes typed text away',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    const lines = numbered('line', 40).with(4, 'return a + b;');
    write('sum.txt', text(lines));
    disk.act = () => write('sum.txt', text(lines.with(4, 'return a * b;').with(20, 'agent 21').with(29, 'agent 30')));
    await window.openChat();
    await chat.frame.getByText('Disk').first().waitFor();
    await chat.exchange('multiply');
    await review.openFile('sum.txt');
    // The file opens at its first change.
    await window.cursor(5).waitFor();
    await review.lenses(3);
    await typeAfter(window, 'return a * b;', ' // mine');
    await typeAfter(window, 'agent 21', '1');
    await review.note('edited by you').nth(1).waitFor();
    await review.lenses(3);
    await page.keyboard.press('Control+s');
    await untilFile(inFolder('sum.txt'), /agent 211/);
    await review.lenses(3);
    await window.pictures('review/edited-by-you', ['dark', 'light', 'contrast']);
    await review.decide('Undo', 0);
    await untilFile(inFolder('sum.txt'), /return a \+ b; \/\/ mine\n/);
    await review.lenses(2);
    await review.decide('Undo', 0);
    const dialog = page.locator('.monaco-dialog-box');
    await dialog.getByText('This change was edited since').waitFor();
    await window.pictures('review/edited-undo', ['dark', 'light', 'contrast']);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    assert.match(read('sum.txt'), /agent 211/);
    await review.decide('Undo', 0);
    await dialog.getByRole('button', { name: 'Undo' }).click();
    await untilFile(inFolder('sum.txt'), /line 21\n/);
    await review.lenses(1);
    await review.decide('Keep');
    await review.lenses(0);
    assert.equal(read('sum.txt'), text(lines.with(4, 'return a + b; // mine').with(29, 'agent 30')));
    await window.openChat();
    await chat.lastTurn.getByText('Kept 1/3').waitFor();
    await window.pictures('review/partly-kept');
  }),
);

test(
  'a file that the agent wrote is saved with the user’s own typing while the turn goes on: the agent’s part is listed, and can be undone',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    const lines = numbered('part', 30);
    write('his.txt', text(lines));
    let goOn = () => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    disk.act = () => {
      write('his.txt', text(lines.with(4, 'agent 5')));
      return held;
    };
    await window.openChat();
    await chat.say('and wait');
    await untilFile(inFolder('his.txt'), /agent 5\n/);
    await window.openFile('his.txt');
    await page.locator('.editor-instance .view-line', { hasText: 'agent 5' }).first().waitFor();
    await typeAfter(window, 'part 15', ' of mine');
    await page.keyboard.press('Control+s');
    await untilFile(inFolder('his.txt'), /agent 5\n.*part 15 of mine\n/s);
    goOn();
    await window.openChat();
    await chat.settled(chat.lastTurn);
    await chat.lastTurn.getByText('1 file changed').waitFor();
    await review.openFile('his.txt');
    await review.lenses(1);
    await review.decide('Undo');
    await untilFile(inFolder('his.txt'), /part 5\n.*part 15 of mine\n/s);
    await review.lenses(0);
  }),
);

test(
  'unsaved text while the agent writes to the disk: the places are shown, Undo is refused with what to do, and both are merged',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    const lines = numbered('row', 40);
    write('both.txt', text(lines));
    await window.openFile('both.txt');
    await typeAfter(window, 'row 20', ' of mine');
    disk.act = () => write('both.txt', text(lines.with(9, 'agent 10')));
    await window.openChat();
    await chat.exchange('meanwhile');
    await chat.lastTurn.getByText('1 file changed').waitFor();
    await review.openFile('both.txt');
    await review.note('Changed on disk').waitFor();
    await window.pictures('review/unsaved-beside', ['dark', 'light', 'contrast']);
    await window.openChat();
    await chat.lastTurn.getByRole('button', { name: 'Undo: both.txt' }).click();
    await chat.lastTurn.getByRole('button', { name: 'Undo', exact: true }).click();
    await chat.frame.getByText('both.txt was changed on disk while you have unsaved text in it').first().waitFor();
    assert.equal(read('both.txt'), text(lines.with(9, 'agent 10')));
    await review.openFile('both.txt');
    await review.lens('Merge').click();
    await untilFile(inFolder('both.txt'), /agent 10\n.*row 20 of mine\n/s);
    await review.note('Changed on disk').waitFor({ state: 'hidden' });
    await review.lenses(1);
    assert.equal(await page.locator('.tab.dirty').count(), 0);
    await window.pictures('review/unsaved-merged');
    await review.decide('Undo');
    await untilFile(inFolder('both.txt'), /row 10\n.*row 20 of mine\n/s);
  }),
);

test(
  'Undo beside unsaved text saves nothing of it, and says so: saved by the user the change is undone, discarded it is under review again',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    const lines = numbered('item', 40);
    const agents = lines.with(4, 'agent 5').with(20, 'agent 21');
    write('half.txt', text(lines));
    disk.act = () => write('half.txt', text(agents));
    await window.openChat();
    await chat.exchange('two items');
    await review.openFile('half.txt');
    await review.lenses(2);
    await typeAfter(window, 'item 10', ' of mine');
    await review.decide('Undo', 0);
    await window.command('Notifications: Show Notifications');
    await window.notification('half.txt has unsaved text of yours').waitFor();
    await window.command('Notifications: Hide Notifications');
    await page
      .locator('.editor-instance .view-line', { hasText: /^item.5$/ })
      .first()
      .waitFor();
    await review.lenses(1);
    // Of what is not saved, too, the lists tell what is left.
    const row = chat.frame.locator('.changes li', { hasText: 'half.txt' }).last();
    await row.getByText('+1').waitFor();
    await page.locator('.tab.dirty', { hasText: 'half.txt' }).waitFor();
    assert.equal(read('half.txt'), text(agents));
    await window.pictures('review/undone-unsaved', ['dark', 'light', 'contrast']);
    await window.command('File: Revert File');
    await review.lenses(2);
    await row.getByText('+2').waitFor();
    assert.equal(read('half.txt'), text(agents));
    await typeAfter(window, 'item 10', ' of mine');
    await window.command('Parley: Undo Changes in File');
    await review.lenses(0);
    assert.equal(read('half.txt'), text(agents));
    await page.locator('.editor-instance .view-line', { hasText: 'of mine' }).first().click();
    await page.keyboard.press('Control+s');
    await untilFile(inFolder('half.txt'), /item 5\n.*item 10 of mine\n.*item 21\n/s);
    await review.show();
    await review.row('half.txt').waitFor({ state: 'hidden' });
  }),
);

test(
  'the keys go from change to change in a pending diff, too',
  inWindow(async ({ window }) => {
    const { chat, diff, page, pick } = window;
    const lines = numbered('line', 60);
    const after = lines.with(2, 'line three').with(45, 'line forty-six');
    write('plan.txt', text(lines));
    disk.act = async () => {
      const content = [{ type: 'diff', path: inFolder('plan.txt'), oldText: text(lines), newText: text(after) }];
      const toolCall = { toolCallId: 'c2', title: 'Edit plan.txt', kind: 'edit', status: 'pending', content };
      agent.update({ sessionUpdate: 'tool_call', ...toolCall });
      const options = [
        { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
        { optionId: 'no', name: 'Reject', kind: 'reject_once' },
      ];
      await agent.ask('session/request_permission', { sessionId: SESSION, toolCall, options }, 'permission-1');
    };
    await window.openChat();
    await chat.say('plan it');
    await pick.row('Allow once').waitFor();
    await diff.compared();
    await window.pictures('review/pending-under-pick');
    await page.keyboard.press('Escape');
    await pick.gone();
    await diff.editor.locator('.editor.modified .view-line', { hasText: 'line three' }).click();
    await window.cursor(3).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('j');
    await window.cursor(46).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Shift+j');
    await window.cursor(3).waitFor();
    await window.command('Parley: Reject Proposal');
    await chat.settled(chat.lastTurn);
  }),
);

test(
  'a key that follows typing at once decides about the change at the cursor, not about one that was there before',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = new ReviewPage(window);
    const lines = numbered('key', 30);
    const changed = lines.with(2, 'agent 3').with(4, 'agent 5');
    write('keys.txt', text(lines));
    disk.act = () => write('keys.txt', text(changed));
    await window.openChat();
    await chat.exchange('two keys');
    await review.openFile('keys.txt');
    await window.cursor(3).waitFor();
    await review.lenses(2);
    await page.keyboard.press('Control+1');
    await page.locator('.editor-instance .monaco-editor.focused').waitFor();
    for (const key of ['Control+Home', 'Enter', 'Enter', 'ArrowDown', 'ArrowDown', 'Control+k', 'Shift+n']) await page.keyboard.press(key);
    await review.lenses(1);
    await page.keyboard.press('Control+s');
    await untilFile(inFolder('keys.txt'), /^\n\n.*key 3\nkey 4\nagent 5\n/s);
    assert.equal(read('keys.txt'), `\n\n${text(changed.with(2, 'key 3'))}`);
    await review.keepAll();
  }),
);

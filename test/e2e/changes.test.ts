import assert from 'node:assert/strict';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { SESSION } from '../fakes/acp.ts';
import { diskAgent, numbered, text } from './diskAgent.ts';
import { ReviewPage } from './pages/review.ts';
import type { Scene } from './suite.ts';
import { until, untilFile } from './until.ts';

const disk = await diskAgent({ name: 'changes' });
const { fake: agent, inWindow, inFolder, read, write } = disk;
/** What a page's document has and these tests' types have not. */
interface HitTest {
  elementFromPoint(x: number, y: number): object | null;
}
const lastPrompt = () => JSON.stringify(agent.received.findLast((frame) => frame.method === 'session/prompt')?.params);
/** The reviewed files, after all of them are decided and the editors are closed. */
const cleared = async (window: Scene['window']) => {
  const review = new ReviewPage(window);
  await review.keepAll();
  await window.closeEditors();
  await window.openChat();
  return review;
};

test(
  'what an agent writes straight to the disk is listed, and kept or undone hunk by hunk in the file',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const review = new ReviewPage(window);
    const [before, other] = [read('src/main.ts'), read('README.md')];
    disk.act = () => {
      write('src/main.ts', ['// first line of the agent', ...before.split('\n'), '// last line of the agent', ''].join('\n'));
      rmSync(inFolder('README.md'));
      write('USAGE.md', 'How to use it\n');
    };
    await window.openChat();
    await chat.frame.getByText('Disk').first().waitFor();
    await chat.exchange('go');
    await chat.lastTurn.getByText('3 files changed').waitFor();
    await window.pictures('review/listed');
    await review.show();
    await review.row('USAGE.md').waitFor();
    assert.equal(await review.rows.count(), 3);
    await review.row('main.ts').click();
    await window.diff.compared();
    await review.lens('Undo').first().waitFor();
    await window.pictures('review/diff', ['dark', 'light', 'contrast']);
    await window.closeEditors();
    await review.openFile('main.ts');
    await review.lens('Undo').first().waitFor();
    await review.show();
    await window.pictures('review/hunks', ['dark', 'light', 'contrast']);
    // High contrast has no backgrounds: the lines are outlined, as those of a diff are.
    const mark = window.page.locator('.view-overlays [class*="TextEditorDecorationType"]').first();
    const outline = async () =>
      await mark.evaluate((element) => {
        const style = element.ownerDocument.defaultView?.getComputedStyle(element);
        return `${style?.outlineStyle} ${style?.outlineColor}`;
      });
    const none = 'dashed rgba(0, 0, 0, 0)';
    assert.equal(await outline(), none);
    await window.theme('contrast');
    await until(async () => /^dashed (?!rgba\(0, 0, 0, 0\))/.test(await outline()), 'the lines are outlined');
    await window.theme('dark');
    await review.decide('Undo');
    await untilFile(inFolder('src/main.ts'), /^(?!\/\/ first line)./);
    assert.match(read('src/main.ts'), /last line of the agent/);
    await review.lenses(1);
    await review.decide('Keep');
    await review.row('main.ts').waitFor({ state: 'hidden' });
    await window.command('Parley: Undo All Changes');
    await window.page.getByRole('button', { name: 'Undo all' }).last().click();
    await review.isEmpty();
    assert.deepEqual([read('README.md'), existsSync(inFolder('USAGE.md'))], [other, false]);
  }),
);

test(
  'two of five hunks over three files are kept, the others undone',
  inWindow(async ({ window }) => {
    const review = await cleared(window);
    const lines = numbered('line', 30);
    const files = { 'one.txt': [5, 25], 'two.txt': [10, 28], 'three.txt': [20] };
    for (const name of Object.keys(files)) write(name, text(lines));
    const changed = (places: readonly number[]) => text(lines.map((line, at) => (places.includes(at + 1) ? `agent ${at + 1}` : line)));
    disk.act = () => {
      for (const [name, places] of Object.entries(files)) write(name, changed(places));
    };
    await window.chat.exchange('five places');
    await window.chat.lastTurn.getByText('3 files changed').waitFor();
    await window.command('Parley: Open All Changes to Review');
    await review.lens('Keep').first().waitFor();
    await window.pictures('review/five');
    await review.openFile('one.txt');
    await review.lenses(2);
    await review.decide('Keep');
    await review.lenses(1);
    await review.decide('Undo');
    await review.lenses(0);
    await review.openFile('two.txt');
    await review.lenses(2);
    await review.decide('Undo');
    await review.lenses(1);
    await review.decide('Keep');
    await review.lenses(0);
    await review.openFile('three.txt');
    await review.lenses(1);
    // What stood there is shown in place.
    await review.lens('Show removed').click();
    const peek = window.page.locator('.peekview-widget');
    await peek.locator('.view-line', { hasText: 'line 20' }).first().waitFor();
    await window.pictures('review/removed', ['dark', 'light', 'contrast']);
    await window.page.keyboard.press('Escape');
    await peek.waitFor({ state: 'hidden' });
    await review.decide('Undo');
    await untilFile(inFolder('three.txt'), /line 20\n/);
    await review.lenses(0);
    assert.equal(read('one.txt'), changed([5]));
    assert.equal(read('two.txt'), changed([28]));
    assert.equal(read('three.txt'), text(lines));
  }),
);

test(
  'the keys go from change to change, from the last of a file to the next file, and around',
  inWindow(async ({ window }) => {
    const { page } = window;
    const review = await cleared(window);
    const lines = numbered('line', 30);
    for (const name of ['one.txt', 'two.txt']) write(name, text(lines));
    disk.act = () => {
      write('one.txt', text(lines.with(4, 'agent 5').with(24, 'agent 25')));
      write('two.txt', text(lines.with(9, 'agent 10')));
    };
    await window.chat.exchange('three places');
    await review.openFile('one.txt');
    await review.lenses(2);
    await page.locator('.editor-instance .view-line', { hasText: 'line 2' }).first().click();
    const press = async (keys: string) => {
      await page.keyboard.press('Control+k');
      await page.keyboard.press(keys);
    };
    const next = async (keys: string, name: string, line: number) => {
      await press(keys);
      await page.locator('.tab.active', { hasText: name }).waitFor();
      await window.cursor(line).waitFor();
      await page.locator('.editor-instance .monaco-editor.focused').waitFor();
    };
    // Each of two at once leads on from the one before.
    await press('j');
    await next('j', 'one.txt', 25);
    await next('j', 'two.txt', 10);
    await window.pictures('review/next-file');
    await next('j', 'one.txt', 5);
    await next('Shift+j', 'two.txt', 10);
    await next('Shift+j', 'one.txt', 25);
    await next('Shift+j', 'one.txt', 5);
    // A decision by key goes on to the next one.
    await next('Shift+y', 'one.txt', 25);
    await review.lenses(1);
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Shift+n');
    await untilFile(inFolder('one.txt'), /agent 5\n.*line 25\n/s);
    // A diff has the keyboard in the text before the changes after a click into it.
    await review.show();
    await review.row('two.txt').click();
    await window.tab('two.txt (to review)').waitFor();
    await window.diff.compared();
    const before = window.diff.editor.locator('.editor.original');
    await before.locator('.view-line', { hasText: 'line 2' }).first().click();
    const at = (line: string) => before.locator('.active-line-number', { hasText: line }).waitFor();
    await at('2');
    await press('j');
    await at('10');
  }),
);

test(
  'a command moves two files, one of them changed on the way: each is one row, opens as one diff, and goes back',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const review = await cleared(window);
    const lines = numbered('line', 30);
    write('alpha.txt', text(lines));
    write('beta.txt', text(lines.map((line) => `${line} of beta`)));
    disk.act = () => {
      renameSync(inFolder('alpha.txt'), inFolder('omega.txt'));
      rmSync(inFolder('beta.txt'));
      write('src/beta.txt', text(lines.map((line, at) => (at === 4 ? 'agent 5' : `${line} of beta`))));
    };
    await chat.exchange('move them');
    await chat.lastTurn.getByText('2 files changed').waitFor();
    await chat.lastTurn.getByText('beta.txt → src/beta.txt').waitFor();
    await review.show();
    await review.row('alpha.txt → omega.txt').waitFor();
    await review.row('beta.txt → src/beta.txt').click();
    await window.diff.compared();
    await window.pictures('review/moved');
    await review.lens('Undo').first().waitFor();
    await review.decide('Undo');
    await untilFile(inFolder('src/beta.txt'), /line 5 of beta/);
    await window.closeEditors();
    await window.openChat();
    await chat.lastTurn.getByRole('button', { name: 'Undo all' }).click();
    await untilFile(inFolder('alpha.txt'), /line 30\n$/);
    await untilFile(inFolder('beta.txt'), /line 30 of beta\n$/);
    assert.deepEqual([existsSync(inFolder('omega.txt')), existsSync(inFolder('src/beta.txt'))], [false, false]);
    await chat.lastTurn.locator('.changes li', { hasText: 'alpha.txt' }).getByText('Undone').waitFor();
    await window.pictures('review/moved-back');
    await window.command('Parley: Bring Back Undone Changes');
    await untilFile(inFolder('omega.txt'), /line 30\n$/);
    assert.equal(existsSync(inFolder('alpha.txt')), false);
  }),
);

test(
  'a hunk is undone after typing elsewhere: what was typed is not to be reviewed, and stays',
  inWindow(async ({ window }) => {
    const { page } = window;
    const review = await cleared(window);
    const lines = numbered('row', 40);
    write('table.txt', text(lines));
    disk.act = () => write('table.txt', text(lines.with(4, 'row five').with(30, 'row thirty-one')));
    await window.chat.exchange('spell it');
    await window.chat.lastTurn.getByText('1 file changed').waitFor();
    await review.openFile('table.txt');
    await review.lenses(2);
    await page.locator('.editor-instance .view-line', { hasText: 'row 10' }).click();
    await page.keyboard.press('End');
    await page.keyboard.type(' of mine');
    await window.pictures('review/typed');
    await review.lenses(2);
    await review.decide('Undo');
    await page.locator('.editor-instance .view-line', { hasText: /^row.5$/ }).waitFor();
    await page.locator('.editor-instance .view-line', { hasText: 'row 10 of mine' }).click();
    await page.keyboard.press('Control+s');
    await untilFile(inFolder('table.txt'), /row 5\n.*row 10 of mine\n.*row thirty-one/s);
    await review.lenses(1);
    await window.pictures('review/typed-undone');
  }),
);

test(
  'a command that deletes a file and rewrites ten: all are in the turn’s list, and all are restored from there',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const review = await cleared(window);
    const names = numbered('notes', 10).map((name) => `${name}.txt`);
    for (const name of names) write(name, 'one\ntwo\n');
    write('gone.txt', 'still needed\n');
    disk.act = () => {
      agent.update({ sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'sh tidy.sh', kind: 'execute', status: 'in_progress' });
      for (const name of names) write(name, 'one\nTWO\n');
      rmSync(inFolder('gone.txt'));
      agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed' });
    };
    await chat.exchange('tidy up');
    await chat.lastTurn.getByText('11 files changed').waitFor();
    await chat.lastTurn.getByText('By sh tidy.sh').waitFor();
    await window.pictures('review/command');
    const height = async () => (await chat.lastTurn.locator('.changes').boundingBox())?.height;
    const undecided = await height();
    await chat.lastTurn.getByRole('button', { name: 'Undo all' }).click();
    await chat.lastTurn.locator('.changes li', { hasText: 'gone.txt' }).getByText('Undone').waitFor();
    await window.pictures('review/command-undone');
    assert.equal(await height(), undecided, 'rows keep their height once they are decided');
    assert.equal(read('gone.txt'), 'still needed\n');
    for (const name of names) assert.equal(read(name), 'one\ntwo\n', name);
    await review.show();
    await review.row('gone.txt').waitFor({ state: 'hidden' });
  }),
);

test(
  'the files go back to before an earlier prompt and return; the agent is told of what is not as it knows it',
  inWindow(async ({ window }) => {
    const { chat, page, pick } = window;
    const review = await cleared(window);
    const before = read('src/main.ts');
    disk.act = () => write('src/main.ts', 'all gone\n');
    await chat.exchange('destroy it');
    disk.act = () => write('more.txt', 'and more\n');
    await chat.exchange('go on');
    await chat.lastTurn.getByText('1 file changed').waitFor();
    await window.command('Parley: Restore Files to Before a Prompt');
    await pick.choose('destroy it');
    await page.getByRole('button', { name: 'Restore Files' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Restore Files and Conversation' }).count(), 0, 'this agent cannot go back');
    await window.pictures('review/restore');
    await page.getByRole('button', { name: 'Restore Files' }).click();
    await untilFile(inFolder('src/main.ts'), /^(?!all gone)./);
    assert.deepEqual([read('src/main.ts'), existsSync(inFolder('more.txt'))], [before, false]);
    await chat.lastTurn.getByText('Undone').waitFor();
    await window.pictures('review/restored');
    await window.command('Parley: Bring Back Undone Changes');
    await untilFile(inFolder('src/main.ts'), /^all gone/);
    await untilFile(inFolder('more.txt'), /^and more/);
    await review.show();
    await review.row('more.txt').waitFor();
    await window.openChat();
    disk.act = () => {};
    await chat.exchange('and now?');
    assert.doesNotMatch(lastPrompt(), /another state of these files/);
    await window.command('Parley: Restore Files to Before a Prompt');
    await pick.choose('go on');
    await page.getByRole('button', { name: 'Restore Files' }).click();
    await until(() => !existsSync(inFolder('more.txt')), 'the file is gone again');
    await window.openChat();
    await chat.exchange('and then?');
    assert.match(lastPrompt(), /another state of these files.* more\.txt\./);
    await chat.lastTurn.getByText('The agent was told what you changed').waitFor();
    await window.pictures('review/told');
  }),
);

test(
  'a pending edit: one change is left out, another is written differently; the agreed text is on the disk, and the agent is told',
  inWindow(async ({ window }) => {
    const { chat, diff, page, pick } = window;
    const review = await cleared(window);
    const lines = numbered('line', 30);
    const after = lines.with(2, 'line three').with(25, 'line twenty-six');
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
      write('plan.txt', text(after));
      agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c2', status: 'completed', content });
    };
    await chat.say('plan it');
    await pick.row('Allow once').waitFor();
    await diff.compared();
    await page.keyboard.press('Escape');
    await pick.gone();
    const modified = diff.editor.locator('.editor.modified .view-line');
    await window.pictures('review/pending');
    const isInSight = await page.locator('.codelens-decoration a').evaluateAll((all) =>
      all.every((one) => {
        const { right, top, height } = one.getBoundingClientRect();
        return one.contains((one.ownerDocument as unknown as HitTest).elementFromPoint(right - 2, top + height / 2));
      }),
    );
    assert.ok(isInSight, 'the last action over a change is cut');
    await diff.action('Leave Out').click();
    await modified.filter({ hasText: 'line three' }).waitFor({ state: 'hidden' });
    // Without a change that is left there is nothing to allow, wherever it is answered.
    await diff.action('Accept Proposal').waitFor();
    await review.lens('Put back').waitFor();
    await review.lens('Leave out').nth(1).waitFor({ state: 'hidden' });
    await review.decide('Leave out');
    await diff.action('Accept Proposal').waitFor({ state: 'hidden' });
    await diff.action('Reject Proposal').waitFor();
    await chat.frame.getByRole('button', { name: /Allow/ }).waitFor({ state: 'hidden' });
    await review.lens('Allow').waitFor({ state: 'hidden' });
    await window.pictures('review/pending-empty');
    await review.lens('Put back').nth(1).waitFor();
    await review.decide('Put back', 1);
    await diff.action('Accept Proposal').waitFor();
    await modified.filter({ hasText: 'line twenty-six' }).click();
    await diff.editor.locator('.editor.modified .monaco-editor.focused').waitFor();
    await page.keyboard.press('End');
    await page.keyboard.type(', as I like it');
    await chat.frame.getByText('edited by you').waitFor();
    await window.pictures('review/pending-edited');
    await window.command('Parley: Accept Proposal');
    await chat.settled(chat.lastTurn);
    await untilFile(inFolder('plan.txt'), /line 3\n.*line twenty-six, as I like it\n/s);
    await window.tab('plan.txt').first().waitFor();
    await window.pictures('review/pending-accepted');
    disk.act = () => {};
    await chat.exchange('and now?');
    assert.match(lastPrompt(), /changed your edit of .*plan\.txt.*-line three.*as I like it/);
    const [prompt, told] = [await chat.lastTurn.locator('.prompt').boundingBox(), await chat.lastTurn.locator('.fold').boundingBox()];
    assert.ok(prompt && told && told.y - prompt.y - prompt.height >= 4, 'what the agent was told stands apart from the message');
    await window.pictures('review/told');
  }),
);

test(
  'a reload in the middle of a review: the rest is there, by prompt, marked and counted, and is decided',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const review = await cleared(window);
    const lines = numbered('row', 40);
    write('table.txt', text(lines));
    disk.act = () => write('table.txt', text(lines.with(4, 'row five').with(30, 'row thirty-one')));
    await chat.exchange('first');
    disk.act = () => write('other.txt', 'other\n');
    await chat.exchange('second');
    await chat.lastTurn.getByText('1 file changed').waitFor();
    await review.show();
    await review.row('second').waitFor();
    await review.mark('table.txt');
    await review.openFile('table.txt');
    await review.lenses(2);
    await review.decide('Keep');
    await review.lenses(1);
    await window.reload();
    await review.show();
    await review.row('table.txt').waitFor();
    await review.row('second').waitFor();
    // One of two changed lines is kept.
    await review.row('table.txt').getByText('+1 −1').waitFor();
    assert.equal(await review.marked('table.txt').count(), 1);
    await window.pictures('review/reloaded-list');
    await review.openFile('table.txt');
    await review.lenses(1);
    await window.pictures('review/reloaded');
    await review.show();
    await review.decide('Undo');
    await untilFile(inFolder('table.txt'), /row five\n.*row 31\n/s);
    await review.row('table.txt').waitFor({ state: 'hidden' });
    await window.command('Parley: Open All Changes to Review');
    await review.lens('Keep').first().waitFor();
    // It takes the keyboard last, from the palette too.
    await window.page.locator('.tab.active', { hasText: 'Changes (' }).waitFor();
    await window.page.locator('.editor-instance .monaco-editor.focused').waitFor();
    await window.command('Parley: Keep All Changes');
    await review.isEmpty();
  }),
);

test(
  'diffs of changes are there again after a reload, alone and several in one editor, with their texts, keys and buttons',
  inWindow(async ({ window }) => {
    const { chat, diff, page } = window;
    const review = await cleared(window);
    const lines = numbered('cell', 20);
    const changed = (...places: readonly number[]) => text(lines.map((line, at) => (places.includes(at + 1) ? `agent ${at + 1}` : line)));
    for (const name of ['left.txt', 'right.txt']) write(name, text(lines));
    disk.act = () => write('left.txt', changed(4));
    await chat.exchange('one file');
    disk.act = () => {
      write('left.txt', changed(4, 12));
      write('right.txt', changed(6, 16));
    };
    await chat.exchange('two files');
    await chat.lastTurn.getByText('2 files changed').waitFor();
    await window.command('Parley: Review Changes of Last Turn');
    await review.lens('Keep').filter({ visible: true }).first().waitFor();
    await window.command('View: Keep Editor');
    await review.show();
    await review.row('right.txt').click();
    await diff.compared();
    await window.command('View: Keep Editor');
    await window.openChat();
    await chat.turns.nth(-2).locator('.changes li', { hasText: 'left.txt' }).getByRole('button', { name: 'Open Changes' }).click();
    await page.locator('.tab.active', { hasText: 'left.txt' }).waitFor();
    await diff.compared();
    await window.command('View: Keep Editor');
    await window.reload();
    await diff.compared();
    assert.deepEqual([(await diff.original())[3], (await diff.modified())[3]], ['cell 4', 'agent 4']);
    assert.equal((await diff.modified())[11], 'cell 12', 'it is the diff of its prompt');
    await window.pictures('review/reloaded-diff');
    await diff.action('Undo This Prompt').click();
    await untilFile(inFolder('left.txt'), /cell 4\n.*agent 12\n/s);
    await page.locator('.tab', { hasText: 'right.txt' }).click();
    await diff.compared();
    assert.equal((await diff.original())[5], 'cell 6');
    await review.lenses(2);
    await page.locator('.editor.modified .view-line', { hasText: 'agent 6' }).first().click();
    await window.cursor(6).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Shift+n');
    await untilFile(inFolder('right.txt'), /cell 6\n.*agent 16\n/s);
    await page.locator('.tab', { hasText: /^Changes/ }).click();
    await review.lenses(2);
    await window.pictures('review/reloaded-diffs');
    await page.locator('.view-line', { hasText: 'agent 12' }).first().click();
    await window.cursor(12).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Shift+y');
    await review.lenses(1);
    await window.command('Parley: Keep All Changes');
    await review.isEmpty();
    assert.deepEqual([read('left.txt'), read('right.txt')], [changed(12), changed(16)]);
  }),
);

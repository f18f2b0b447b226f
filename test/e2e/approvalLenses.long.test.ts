import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { SESSION } from '../fakes/acp.ts';
import { askingWindow, changeOf, chosen, options, rejected } from './approvalKinds.ts';
import { ReviewPage } from './pages/review.ts';
import type { Scene } from './suite.ts';

// The answers over a change are pressed with the mouse, which puts the keyboard into the side that can be edited: the next letter must not land there.
const { agent, inWindow, ask } = await askingWindow('approval-lenses', {
  settings: { 'diffEditor.useInlineViewWhenSpaceIsLimited': true }, // as users have it
});
const changed = /value39 = 39; \/\/ changed/;

/** Asks for an edit; settles with the answer on the wire. */
function asked({ folder }: Scene, id: string) {
  const toolCall = { ...changeOf(40).request(folder), toolCallId: id };
  return agent.ask('session/request_permission', { sessionId: SESSION, toolCall, options }, id);
}

/** An edit of the fourth line of that file and of its 51st. */
function parts(folder: string) {
  const lines = Array.from({ length: 60 }, (_, at) => `export const value${at} = ${at};`);
  const change = (text: string, at: number) => (at === 3 || at === 50 ? `${text} // changed` : text);
  const [oldText, newText] = [lines, lines.map(change)].map((all) => `${all.join('\n')}\n`);
  return {
    kind: 'edit',
    title: 'T',
    status: 'pending',
    content: [{ type: 'diff', path: path.join(folder, 'long.txt'), oldText, newText }],
  };
}

async function chord(page: Scene['window']['page'], key: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.keyboard.press(key);
}

/** The edit's diff is open under its pick. */
async function comesUp({ pick, diff }: Scene['window']): Promise<void> {
  await pick.title.filter({ hasText: 'Edit long.txt' }).waitFor();
  await pick.readable();
  await diff.compared();
}

async function setAside({ pick, page }: Scene['window']): Promise<void> {
  await page.keyboard.press('Escape');
  await pick.gone();
}

async function leaveOut(window: Scene['window']): Promise<void> {
  const review = new ReviewPage(window);
  await review.lens('Leave out').first().waitFor();
  await review.decide('Leave out');
  await review.lens('Put back').first().waitFor();
}

const inReadOnlySide = ({ diff }: Scene['window']) => diff.editor.locator('.editor.original :focus').waitFor({ state: 'attached' });
const takesBack = (requestId: string) => agent.send({ jsonrpc: '2.0', method: '$/cancel_request', params: { requestId } });

test(
  'after a change is left out with the mouse, a letter leads to its answer and changes nothing',
  inWindow(async (scene) => {
    const { window } = scene;
    const { pick, diff, page, chat } = window;
    const answer = asked(scene, 'left out');
    await comesUp(window);
    await setAside(window);
    await leaveOut(window);
    await inReadOnlySide(window);
    await window.pictures('lenses/left-out', ['dark']);
    await page.keyboard.press('r');
    await pick.focusedRow('Reject').waitFor();
    const text = await diff.modified();
    assert.ok(text.includes('export const value39 = 39;') && !text.some((line) => changed.test(line)), text.join('\n'));
    assert.equal(await chat.frame.getByText('edited by you').count(), 1);
    await setAside(window);
    await new ReviewPage(window).lens('Put back').first().click();
    await new ReviewPage(window).lens('Leave out').first().waitFor();
    await inReadOnlySide(window);
    await page.keyboard.press('r');
    await pick.focusedRow('Reject').waitFor();
    assert.ok((await diff.modified()).some((line) => changed.test(line)));
    await pick.readable();
    await page.keyboard.press('Enter');
    assert.deepEqual((await answer).result, chosen('no'));
  }),
);

test(
  'while the pick is there the keyboard returns to it; the arrow over a change leads to the answers',
  inWindow(async (scene) => {
    const { window } = scene;
    const { pick, page } = window;
    const review = new ReviewPage(window);
    const answer = asked(scene, 'under the pick');
    await comesUp(window);
    await leaveOut(window);
    await pick.input.and(page.locator(':focus')).waitFor();
    await review.lens('Put back').first().click();
    await review.lens('Leave out').first().waitFor();
    await pick.input.and(page.locator(':focus')).waitFor();
    await window.diff.editor.locator('.editor.original .view-line').first().click();
    await inReadOnlySide(window);
    await page.keyboard.press('r');
    await pick.focusedRow('Reject').waitFor();
    await pick.input.and(page.locator(':focus')).waitFor();
    await setAside(window);
    await page.locator('.codelens-decoration a .codicon-chevron-down').first().click();
    await pick.focusedRow('Allow once').waitFor();
    await pick.readable();
    await page.keyboard.press('Enter');
    assert.deepEqual((await answer).result, chosen('once'));
  }),
);

test(
  'an edit that the agent takes back leaves no tab behind, unless the user has written into it',
  inWindow(async (scene) => {
    const { window } = scene;
    const { diff, page } = window;
    const first = asked(scene, 'taken back');
    await comesUp(window);
    await setAside(window);
    await leaveOut(window);
    takesBack('taken back');
    await first;
    await window.tab('long.txt').waitFor({ state: 'detached' });
    const second = asked(scene, 'written');
    await comesUp(window);
    await setAside(window);
    // They push the line down.
    await diff.answers.waitFor();
    await diff.editor.locator('.editor.modified .view-line', { hasText: '// changed' }).click();
    await page.keyboard.press('End');
    await page.keyboard.type(' by me');
    await window.chat.frame.getByText('edited by you').waitFor();
    takesBack('written');
    await second;
    await page.locator('.tab.dirty').waitFor({ state: 'detached' });
    assert.ok((await diff.modified()).some((line) => line.includes('// changed by me')));
    await window.tab('long.txt').locator('.tab-actions .action-label').click();
    await window.tab('long.txt').waitFor({ state: 'detached' });
    assert.equal(await page.locator('.monaco-dialog-box').count(), 0);
    await rejected(scene, ask({ ...changeOf(14).request(scene.folder), toolCallId: 'last' }));
  }),
);

test(
  'in a narrow window, whose diffs have one column, the pick hides no change, and keys and title answer and leave out',
  inWindow(async (scene) => {
    const { window, folder } = scene;
    const { pick, diff, page } = window;
    const review = new ReviewPage(window);
    const isInline = () => page.locator('.monaco-diff-editor:not(.side-by-side):visible').waitFor();
    await page.setViewportSize({ width: 900, height: 700 });
    for (const line of [1, 9, 14, 40]) {
      const answer = ask({ ...changeOf(line).request(folder), toolCallId: `inline-${line}` });
      await comesUp(window);
      await isInline();
      await window.seesLine('// changed');
      await rejected(scene, answer);
      await diff.editor.waitFor({ state: 'detached' });
    }
    const toolCall = { ...parts(folder), toolCallId: 'inline keys' };
    const answer = agent.ask('session/request_permission', { sessionId: SESSION, toolCall, options }, 'inline keys');
    await comesUp(window);
    await isInline();
    await pick.button('Look first').click();
    await pick.gone();
    await inReadOnlySide(window);
    await diff.answers.waitFor();
    await chord(page, 'j');
    await window.cursor(51).waitFor();
    await window.pictures('lenses/inline');
    await page.setViewportSize({ width: 620, height: 700 });
    await isInline();
    // What concerns this change alone is not cut.
    await review.lens('Leave out').filter({ visible: true }).last().click({ trial: true });
    await window.pictures('lenses/inline-620');
    await page.setViewportSize({ width: 900, height: 700 });
    await chord(page, 'Shift+n');
    await review.note('Change 2 of 2 is left out').waitFor();
    await window.pictures('lenses/inline-left-out');
    await chord(page, 'Shift+n');
    await review.lens('Put back').waitFor({ state: 'detached' });
    await diff.action('Leave Out').click();
    await review.note('Change 2 of 2 is left out').waitFor();
    await diff.action('Reject Proposal').click();
    assert.deepEqual((await answer).result, chosen('no'));
    await diff.editor.waitFor({ state: 'detached' });
    await page.setViewportSize({ width: 1400, height: 900 });
  }),
);

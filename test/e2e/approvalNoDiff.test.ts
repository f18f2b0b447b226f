import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askingWindow, type Case, cases, changeOf, chosen, run } from './approvalKinds.ts';
import type { Scene } from './suite.ts';

// Edits come as their diff, in the place of a pick, where the user wants it so.
const { inWindow, ask } = await askingWindow('approval-no-diff', { settings: { 'parley.approvals.popUp': 'whenNoDiff' } });
const edit = cases.find(({ name }) => name === 'edit') ?? assert.fail();
const created = cases.find(({ name }) => name === 'new') ?? assert.fail();

/** The diff is there with the keyboard in the side that cannot be edited, and nothing is over it. */
async function comesAsDiff({ diff, pick }: Scene['window']): Promise<void> {
  await diff.compared();
  await diff.editor.locator('.editor.original :focus').waitFor({ state: 'attached' });
  await diff.answers.waitFor();
  assert.equal(await pick.box.count(), 0);
}

async function isInComposer({ chat }: Scene['window']): Promise<void> {
  await chat.composer.and(chat.frame.locator(':focus')).waitFor();
}

function asked({ folder }: Scene, one: Case, toolCallId: string) {
  return ask({ ...one.request(folder), toolCallId });
}

test(
  'what is typed as the diff comes up changes nothing in it; a letter leads to its answer, and the answer back to the composer',
  inWindow(async (scene) => {
    const { diff, pick, page, chat } = scene.window;
    await chat.composer.click();
    for (const [one, name] of [
      [edit, 'Welcome to'],
      [created, 'value0 = 0'],
    ] as const) {
      const answer = asked(scene, one, `typed ${one.name}`);
      await comesAsDiff(scene.window);
      await scene.window.pictures(`no-diff/${one.name}`, ['dark', 'contrast']);
      await page.keyboard.type('hello');
      await page.keyboard.press('Enter');
      await page.keyboard.press('r');
      await pick.focusedRow('Reject').waitFor();
      assert.ok((await diff.modified()).some((line) => line.includes(name) && !line.includes('hello')));
      assert.equal(await chat.frame.getByText('edited by you').count(), 0);
      await pick.readable();
      await page.keyboard.press('Enter');
      assert.deepEqual((await answer).result, chosen('no'));
      await isInComposer(scene.window);
    }
  }),
);

test(
  'a diff that is closed is set aside: the keyboard is in the composer, a command and the next edit come up, and it can be shown again',
  inWindow(async (scene) => {
    const { window } = scene;
    const { pick, page } = window;
    const first = asked(scene, edit, 'closed');
    await comesAsDiff(window);
    await window.tab('main.ts').locator('.tab-actions .action-label').click();
    await isInComposer(window);
    await window.statusItem('1 waiting').waitFor();
    const command = ask(run('beside', 'npm test'));
    await pick.title.filter({ hasText: 'npm test' }).waitFor();
    await pick.readable();
    await page.keyboard.press('Enter');
    assert.deepEqual((await command).result, chosen('once'));
    await isInComposer(window);
    const second = asked(scene, changeOf(14), 'next');
    await comesAsDiff(window);
    await page.keyboard.press('Control+k');
    await page.keyboard.press('x');
    assert.deepEqual((await second).result, chosen('no'));
    await isInComposer(window);
    await window.command('Parley: Show Pending Approvals');
    await pick.title.filter({ hasText: edit.title }).waitFor();
    await pick.readable();
    await page.keyboard.press('Enter');
    assert.deepEqual((await first).result, chosen('once'));
    await isInComposer(window);
  }),
);

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { askingWindow, chosen, run } from './approvalKinds.ts';
import type { QuickPick } from './pages/quickPick.ts';

// Rules by keyboard: made from an approval, seen at work, tried, listed and removed.
const { agent, inWindow, ask } = await askingWindow('approval-rules');
let finish = () => {};
agent.handlers['session/prompt'] = () => new Promise((resolve) => (finish = () => resolve({ stopReason: 'end_turn' })));

/** Moves with the arrow keys to a row of one of our lists and presses Enter. A key that came before the list could be seen is pressed again. */
async function take(pick: QuickPick, page: Page, text: string | RegExp): Promise<void> {
  const row = pick.row(text).first();
  await row.waitFor();
  for (let step = 0; ; step += 1) {
    try {
      if ((await pick.focusedRow(text).count()) === 0) await page.keyboard.press('ArrowDown');
      await pick.focusedRow(text).waitFor({ timeout: 500 });
      await page.keyboard.press('Enter');
      return await row.waitFor({ state: 'hidden', timeout: 3000 });
    } catch (error) {
      if (step === 20) throw error;
    }
  }
}

test(
  'a rule is made from an approval, with what else it would have covered, and answers it',
  inWindow(async ({ window }) => {
    const { pick, page } = window;
    const first = ask(run('1', 'npm run lint'));
    await pick.answer('A');
    assert.deepEqual((await first).result, chosen('once'));
    const forever = ask(run('2', 'make'), [
      { optionId: 'ever', name: 'Always allow make', kind: 'allow_always' },
      { optionId: 'once', name: 'Allow', kind: 'allow_once' },
    ]);
    await pick.title.filter({ hasText: 'make' }).waitFor();
    await pick.readable();
    await page.keyboard.press('s');
    await pick.focusedRow('Always allow make').waitFor();
    await page.keyboard.press('Enter');
    assert.deepEqual((await forever).result, chosen('ever'));

    const answer = ask(run('3', 'npm run build'));
    await pick.title.filter({ hasText: 'npm run build' }).waitFor();
    await pick.readable();
    await page.keyboard.press('w');
    await pick.focusedRow('Always allow…').waitFor();
    await page.keyboard.press('Enter');
    await pick.row('Would also have allowed: npm run lint').waitFor();
    await window.pictures('rules/what');
    await take(pick, page, 'commands that begin with npm run');
    await pick.row('In this workspace').first().waitFor();
    await window.pictures('rules/where');
    await take(pick, page, /In this workspace.*with Cases/);
    assert.deepEqual((await answer).result, chosen('once'));
  }),
);

test(
  'what the rule allows is not asked, marked in the transcript and counted',
  inWindow(async ({ window }) => {
    const { chat, pick } = window;
    assert.deepEqual((await ask(run('4', 'npm run check'))).result, chosen('once'));
    await chat.call('npm run check').filter({ hasText: 'allowed by your rule' }).waitFor();
    assert.equal(await pick.box.count(), 0);
    for (const id of ['1', '2', '3', '4']) agent.update({ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'completed' });
    finish();
    await chat.settled(chat.lastTurn);
    await chat.lastTurn.locator('.sum', { hasText: 'allowed by your rule: 1' }).waitFor();
    await chat.lastTurn.locator('.call-group .words', { hasText: 'allowed by your rule: 1' }).waitFor();
    await window.pictures('rules/marked', ['dark', 'light', 'contrast']);
  }),
);

test(
  'a command is tried: which rule would decide is said below it',
  inWindow(async ({ window }) => {
    const { pick, page } = window;
    await window.command('Parley: Manage Approval Rules');
    await pick.row('Allow: commands that begin with npm run').waitFor();
    await pick.row('Always allow make').filter({ hasText: 'the agent decides how far' }).waitFor();
    await window.pictures('rules/list');
    await take(pick, page, 'Try a command…');
    // The list before it has an input with the focus, too.
    await pick.title.filter({ hasText: 'Try a command… · with Cases' }).waitFor();
    await pick.type('npm run deploy');
    await pick.box.getByText('Decided without asking, by the rule “Allow: commands that begin with npm run”.').waitFor();
    await window.pictures('rules/tried');
    await page.keyboard.type(' && rm -rf .');
    await pick.box.getByText('No rule decides: you would be asked.').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.press('Delete');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.evaluate(`navigator.clipboard.writeText('npm run deploy\\nrm -rf .')`);
    await page.keyboard.press('Control+v');
    await pick.box.getByText('No rule decides: you would be asked.').waitFor();
    assert.equal(await pick.input.inputValue(), 'npm run deploy rm -rf .');
    await page.keyboard.press('Enter');
    await pick.row('Allow: commands that begin with npm run').waitFor();
    await page.keyboard.press('Escape');
    await pick.gone();
  }),
);

test(
  'a rule that is removed decides no more',
  inWindow(async ({ window }) => {
    const { pick, chat, page } = window;
    await window.command('Parley: Manage Approval Rules');
    await take(pick, page, 'Allow: commands that begin with npm run');
    const dialog = page.locator('.monaco-dialog-box');
    await dialog.getByText('Remove the rule “Allow: commands that begin with npm run”?').waitFor();
    await window.pictures('rules/remove', ['dark']);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    await pick.row('Try a command…').waitFor();
    // Rows that are used again keep hidden texts.
    await pick.rowNamed('npm run').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await pick.gone();
    await chat.say('again');
    await agent.got('session/prompt', 1);
    const answer = ask(run('5', 'npm run check'));
    await pick.title.filter({ hasText: 'npm run check' }).waitFor();
    await pick.answer('R');
    assert.deepEqual((await answer).result, chosen('no'));
    await pick.gone();
  }),
);

const script = Array.from({ length: 30 }, (_, at) => `echo step ${at + 1}`).join('\n');
const tool = (toolCallId: string, name: string) => ({
  toolCallId,
  kind: 'other',
  title: 'T',
  status: 'pending',
  _meta: { claudeCode: { toolName: `mcp__github__${name}` } },
});
const edit = (folder: string, toolCallId: string, name: string) => {
  const content = [{ type: 'diff', path: path.join(folder, name), oldText: null, newText: 'x' }];
  return { toolCallId, kind: 'edit', title: 'T', status: 'pending', content };
};
const kinds: readonly {
  readonly covers: string;
  readonly where: RegExp;
  readonly first: (folder: string) => object;
  readonly next: (folder: string) => object;
  /** Where the words of another row begin alike. */
  readonly row?: RegExp;
}[] = [
  {
    covers: 'commands that begin with npm run lint',
    where: /For this session/,
    first: () => run('6', 'npm run lint -- --fix'),
    next: () => run('7', 'npm run lint src'),
  },
  { covers: 'all tools of github', where: /Everywhere.*with Cases/, first: () => tool('8', 'create_issue'), next: () => tool('9', 'list') },
  {
    covers: 'edits in src/parts/',
    row: /edits in src\/parts\/(?!one)/,
    where: /In this workspace.*with every agent/,
    first: (folder) => edit(folder, '10', 'src/parts/one.ts'),
    next: (folder) => edit(folder, '11', 'src/parts/two.ts'),
  },
  {
    covers: 'echo step 1 … (30 lines)',
    where: /Everywhere.*with every agent/,
    first: () => run('12', script),
    next: () => run('13', script),
  },
];
for (const { covers, where, first, next, row = covers } of kinds)
  test(
    `a rule for '${covers}' answers the next of its kind`,
    inWindow(async ({ window, folder }) => {
      const { pick, page, chat } = window;
      const answer = ask(first(folder));
      await pick.title.waitFor();
      await pick.readable();
      await page.keyboard.press('w');
      await pick.focusedRow('Always allow…').waitFor();
      await page.keyboard.press('Enter');
      await take(pick, page, row);
      await take(pick, page, where);
      assert.deepEqual((await answer).result, chosen('once'));
      await pick.gone();
      assert.deepEqual((await ask(next(folder))).result, chosen('once'));
      await chat.frame.locator('.call', { hasText: `allowed by your rule “${covers}”` }).waitFor({ state: 'attached' });
      assert.equal(await pick.box.count(), 0);
    }),
  );

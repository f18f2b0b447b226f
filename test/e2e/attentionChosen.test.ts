import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SESSION } from '../fakes/acp.ts';
import { askingWindow, chosen, run } from './approvalKinds.ts';

// Of notifications while the window is in the back the user chose those of questions alone.
const { agent, inWindow, ask } = await askingWindow('attention-chosen', {
  packaged: true,
  settings: { 'parley.notifications.approvals': false, 'parley.notifications.finishedTurns': false },
});
let finish = () => {};
agent.handlers['session/prompt'] = () => new Promise((resolve) => (finish = () => resolve({ stopReason: 'end_turn' })));

test(
  'a question is a notification that leads to its pick; approvals and turns are not where they are switched off',
  inWindow(async ({ window }) => {
    const { pick, page } = window;
    await window.goBehind(true);
    const approval = ask(run('1', 'npm test'));
    await pick.title.filter({ hasText: 'npm test' }).waitFor();
    await pick.answer('A');
    assert.deepEqual((await approval).result, chosen('once'));
    await pick.gone();
    const question = agent.ask('elicitation/create', {
      mode: 'form',
      sessionId: SESSION,
      message: 'The store needs a name',
      requestedSchema: { type: 'object', properties: { name: { type: 'string', title: 'Its name' } } },
    });
    const toast = window.toast('The store needs a name');
    await toast.waitFor();
    assert.equal(await window.toast('npm test').count(), 0);
    await window.pictures('attention/question', ['dark', 'light', 'contrast']);
    await pick.title.filter({ hasText: 'The store needs a name' }).waitFor();
    await page.keyboard.press('Escape');
    await pick.gone();
    await window.goBehind(false);
    await toast.locator('a', { hasText: 'Open' }).click();
    await pick.title.filter({ hasText: 'The store needs a name' }).waitFor();
    await pick.type('tally');
    await page.keyboard.press('Enter');
    assert.deepEqual((await question).result, { action: 'accept', content: { name: 'tally' } });
    await toast.waitFor({ state: 'hidden' });
    await window.goBehind(true);
    finish();
    await window.chat.settled(window.chat.lastTurn);
    assert.equal(await page.locator('.notification-toast').count(), 0);
  }),
);

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { SESSION } from '../fakes/acp.ts';
import { askingWindow, run } from './approvalKinds.ts';

// Notifications while the window is in the back. Only an installed extension gets to show them.
const { agent, inWindow, ask } = await askingWindow('attention', {
  packaged: true,
  settings: { 'parley.notifications.questions': false },
});
const chosen = (optionId: string) => ({ outcome: { outcome: 'selected', optionId } });
/** The links of a notification that its line shows whole. */
async function linksInSight(toast: Locator): Promise<readonly string[]> {
  const message = toast.locator('.notification-list-item-message');
  const line = await message.boundingBox();
  const links = await message.locator('a').all();
  const seen = await Promise.all(
    links.map(async (link) => {
      const box = await link.boundingBox();
      return box && line && box.x + box.width <= line.x + line.width ? [(await link.textContent()) ?? ''] : [];
    }),
  );
  return seen.flat();
}
let finish = () => {};
agent.handlers['session/prompt'] = () => new Promise((resolve) => (finish = () => resolve({ stopReason: 'end_turn' })));

test(
  'in the back an approval is a notification with its answers, and the answer works',
  inWindow(async ({ window }) => {
    await window.goBehind(true);
    const answer = ask(run('1', 'npm test'));
    const toast = window.toast('npm test');
    await toast.waitFor();
    assert.deepEqual(await linksInSight(toast), ['Allow once', 'Reject', 'Open']);
    await window.pictures('attention/approval', ['dark', 'light', 'contrast']);
    await toast.locator('a', { hasText: 'Allow once' }).click();
    assert.deepEqual((await answer).result, chosen('once'));
    await toast.waitFor({ state: 'hidden' });
    const second = ask(run('2', 'npm run build'));
    const reject = window.toast('npm run build').locator('a', { hasText: 'Reject' });
    await reject.waitFor();
    // The press on a notification gives the window the focus first.
    await window.goBehind(false);
    await reject.click();
    assert.deepEqual((await second).result, chosen('no'));
    await window.goBehind(true);
  }),
);

test(
  'what does not fit beside the answers is opened, and that link is in sight',
  inWindow(async ({ window }) => {
    await window.goBehind(true);
    const answer = ask(run('4', 'npm run build -- --mode production --no-cache --report'));
    const toast = window.toast('npm run build -- --mode');
    await toast.waitFor();
    assert.deepEqual(await linksInSight(toast), ['Open']);
    await window.goBehind(false);
    await toast.waitFor({ state: 'hidden' });
    await window.pick.answer('R');
    assert.deepEqual((await answer).result, chosen('no'));
    await window.goBehind(true);
  }),
);

test(
  'what is dangerous can only be looked at there, and it goes when the user is back',
  inWindow(async ({ window }) => {
    const answer = ask(run('3', 'sudo rm -rf build'));
    const toast = window.toast('sudo rm -rf build');
    await toast.waitFor();
    assert.deepEqual(await toast.locator('.notification-list-item-message a').allTextContents(), ['Open']);
    await window.goBehind(false);
    await toast.waitFor({ state: 'hidden' });
    await window.pick.answer('R');
    assert.deepEqual((await answer).result, chosen('no'));
  }),
);

test(
  'a finished turn is told; questions are not where they are switched off',
  inWindow(async ({ window }) => {
    await window.goBehind(true);
    const question = agent.ask('elicitation/create', {
      mode: 'form',
      sessionId: SESSION,
      message: 'The store needs a name',
      requestedSchema: { type: 'object', properties: { name: { type: 'string', title: 'Its name' } } },
    });
    await window.pick.title.filter({ hasText: 'The store needs a name' }).waitFor();
    await window.page.keyboard.type('tally');
    await window.page.keyboard.press('Enter');
    assert.deepEqual((await question).result, { action: 'accept', content: { name: 'tally' } });
    finish();
    const toast = window.toast('Cases has finished');
    await toast.waitFor();
    assert.equal(await window.toast('The store needs a name').count(), 0);
    await window.pictures('attention/finished', ['dark', 'light', 'contrast']);
    await toast.locator('a', { hasText: 'Open' }).click();
    await window.chat.composer.and(window.chat.frame.locator(':focus')).waitFor();
  }),
);

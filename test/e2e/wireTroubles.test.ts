import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suite } from './suite.ts';
import { wirePeer } from './wirePeer.ts';

// What goes otherwise than wished over Wire, from the keyboard: rejections with words, words that are not taken up, refusals, limits.
const approval = (id: string, display: readonly object[]) => ({
  request: 'ApprovalRequest',
  id,
  payload: { tool_call_id: id, sender: 'Shell', action: 'run command', description: 'Run it', display },
});
const shell = [{ type: 'shell', language: 'bash', command: 'git push --force' }];
const insertion = [{ type: 'diff', path: 'src/main.ts', old_text: '', new_text: '// put in by the agent', old_start: 3, new_start: 3 }];

const peer = await wirePeer(
  {
    turns: [
      [approval('chat', shell), { text: 'First said.' }],
      [approval('pick', shell), { text: 'Second said.' }],
      [{ waitMs: 4000 }, { text: 'Not heard.' }],
      [{ fail: { code: -32002, message: 'The model takes no such input.' } }],
      [{ end: { status: 'max_steps_reached', steps: 1 } }],
      [approval('edit', insertion), { text: 'Edited.' }],
    ],
  },
  50,
);
const inWindow = suite({
  name: 'wire-troubles',
  prepare: async () => ({ machineSettings: peer.settings, env: peer.env, agents: 'fake.mjs', end: async () => peer.remove() }),
});

test(
  'a rejection with words: in the chat the focus goes to their field, in the quick-pick it is a row',
  inWindow(async ({ window }) => {
    const { chat, pick, page } = window;
    await window.openChat();
    await chat.say('one');
    await pick.row('Reject with feedback').waitFor();
    await page.keyboard.press('Escape');
    await chat.composer.and(chat.frame.locator(':focus')).waitFor();
    const opener = chat.frame.getByRole('button', { name: 'Feedback', exact: true });
    await opener.focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('use a branch');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Enter');
    await page.keyboard.type(' of your own');
    await window.pictures('wire-feedback');
    await page.keyboard.press('Enter');
    await chat.lastTurn.getByText('First said.').waitFor();
    assert.deepEqual(peer.answerTo('chat'), { request_id: 'chat', response: 'reject', feedback: 'use a branch of your own' });
    assert.equal(await chat.composer.inputValue(), '');
    await chat.settled(chat.lastTurn);
    await chat.say('two');
    await pick.row('Reject with feedback').waitFor();
    await window.pictures('wire-feedback-pick');
    await pick.choose('Reject with feedback');
    await pick.box.getByText('What should the agent do instead?').waitFor();
    await page.keyboard.type('no');
    await page.keyboard.press('Enter');
    await chat.lastTurn.getByText('Second said.').waitFor();
    assert.deepEqual(peer.answerTo('pick'), { request_id: 'pick', response: 'reject', feedback: 'no' });
  }),
);

test(
  'words that were accepted and not taken up are in sight, then held; a refused prompt comes back; a limit offers to go on',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await chat.settled(chat.lastTurn);
    await chat.say('three');
    await chat.composer.click();
    await page.keyboard.type('mind the tests');
    await page.keyboard.press('Control+Enter');
    await chat.lastTurn.getByText('The agent reads it after its current step.').waitFor();
    await window.pictures('wire-pending');
    await chat.lastTurn.getByText('Not heard.').waitFor();
    await chat.frame.locator('.queue').getByText('mind the tests').waitFor();
    await chat.frame.locator('.queue').getByText('Held', { exact: true }).waitFor();
    await window.pictures('wire-held');
    await chat.frame.locator('.queue').getByRole('button', { name: 'Remove' }).click();
    await chat.say('four');
    const back = chat.lastTurn.getByRole('button', { name: 'Edit Message and Send It Again' });
    await back.waitFor();
    await window.pictures('wire-refused');
    await back.focus();
    await page.keyboard.press('Enter');
    assert.equal(await chat.composer.inputValue(), 'four');
    await page.keyboard.type(', shorter');
    await page.keyboard.press('Enter');
    await chat.lastTurn.getByText('The agent has reached a limit (steps).').waitFor();
    assert.equal(await chat.frame.getByText('max_steps_reached').count(), 0);
    await window.pictures('wire-limit');
    await chat.lastTurn.getByRole('button', { name: 'Continue', exact: true }).click();
    await chat.frame.locator('.ask .l[data-s="+"]', { hasText: 'put in by the agent' }).waitFor();
    assert.equal(await chat.frame.locator('.ask .tag', { hasText: 'new' }).count(), 0);
    await window.pictures('wire-insertion');
    await page.keyboard.press('Escape');
    await chat.frame.locator('.ask:not([data-fresh]) [data-option=approve]').click();
    await chat.lastTurn.getByText('Edited.').waitFor();
  }),
);

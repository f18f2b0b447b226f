import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askingWindow, chosen, run } from './approvalKinds.ts';
import { until } from './until.ts';

// The card's own feedback, beside the quick-pick of the same approval, and approvals of two sessions.
const { agent, inWindow, ask } = await askingWindow('approval-card');
const themes = ['dark', 'light', 'contrast'] as const;
const prompts: unknown[] = [];
let end = (_: { readonly stopReason: string }) => {};
agent.handlers['session/prompt'] = ({ prompt }) => {
  prompts.push(prompt);
  return new Promise((resolve) => {
    end = resolve;
  });
};

test(
  'feedback opens in the card, Esc closes it there, and Enter rejects with the words',
  inWindow(async ({ window }) => {
    const { chat, pick, page } = window;
    await chat.composer.click();
    const answer = ask(run('1', 'npm install left-pad'));
    await pick.title.filter({ hasText: 'npm install left-pad' }).waitFor();
    await pick.readable();
    const card = chat.ask('npm install left-pad');
    const opener = card.getByRole('button', { name: 'Feedback' });
    const field = card.locator('textarea');
    const focused = chat.frame.locator(':focus');
    await opener.click();
    await field.and(focused).waitFor();
    await window.pictures('card/feedback', themes);
    await page.keyboard.press('Enter');
    await page.keyboard.type('use pnpm');
    assert.equal(await field.inputValue(), 'use pnpm', 'Enter without words decides nothing');
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'detached' });
    await opener.and(focused).waitFor();
    await window.pictures('card/closed', ['dark']);
    assert.equal(await pick.title.filter({ hasText: 'npm install left-pad' }).count(), 1, 'Esc in the card leaves the pick');
    await page.keyboard.press('Enter');
    await field.and(focused).waitFor();
    assert.equal(await field.inputValue(), 'use pnpm', 'the words are kept');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('please');
    await page.keyboard.press('Enter');
    assert.deepEqual((await answer).result, chosen('no'));
    await pick.gone();
    await chat.composer.and(focused).waitFor();
    await page.keyboard.type('next');
    assert.equal(await chat.composer.inputValue(), 'next');
    await chat.composer.fill('');
    end({ stopReason: 'cancelled' });
    await until(() => JSON.stringify(prompts.at(-1)).includes('use pnpm\\nplease'), 'the words as the next prompt');
  }),
);

test(
  'an approval of another session waits behind the pick on the screen, and comes when that is answered',
  inWindow(async ({ window }) => {
    const { chat, pick, page } = window;
    await window.command('Parley: New Session');
    // What is typed before it is there goes to the other one.
    await chat.frame.getByText('New Session').first().waitFor();
    await chat.say('go too');
    await agent.got('session/prompt', 2);
    const second = ask(run('2', 'npm run second'));
    await pick.title.filter({ hasText: 'npm run second' }).waitFor();
    await pick.readable();
    agent.starts.reverse();
    const first = ask(run('3', 'npm run first'));
    agent.starts.reverse();
    await pick.title.filter({ hasText: 'Cases “go too” · Run in terminal: npm run second (1 of 2)' }).waitFor();
    await window.statusItem('2 waiting').waitFor();
    await window.pictures('card/two-sessions', themes);
    await pick.readable();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    assert.deepEqual((await second).result, chosen('once'));
    // The chat shows the other session, of the same agent.
    await pick.title.filter({ hasText: 'Cases “go” · Run in terminal: npm run first' }).waitFor();
    await window.pictures('card/other-session', themes);
    await pick.readable();
    await page.keyboard.press('Escape');
    await pick.gone();
    await chat.composer.and(chat.frame.locator(':focus')).waitFor();
    await window.statusItem('1 waiting').click();
    await pick.title.filter({ hasText: 'npm run first' }).waitFor();
    await pick.answer('R');
    assert.deepEqual((await first).result, chosen('no'));
    await pick.gone();
    await chat.composer.and(chat.frame.locator(':focus')).waitFor();
  }),
);

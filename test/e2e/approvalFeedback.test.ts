import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { SESSION } from '../fakes/acp.ts';
import { askingWindow, chosen, options, run } from './approvalKinds.ts';
import type { Scene } from './suite.ts';
import { until } from './until.ts';

// Words with a rejection over a protocol that has no place for them, what rows say of the decision, keys right after an answer, several that wait.
const { agent, inWindow, ask } = await askingWindow('approval-feedback', { settings: { 'parley.approvals.popUp': 'whenNoDiff' } });
const themes = ['dark', 'light'] as const;
const prompts: unknown[] = [];
let end = (_: { readonly stopReason: string }) => {};
agent.handlers['session/prompt'] = ({ prompt }) => {
  prompts.push(prompt);
  return new Promise((resolve) => {
    end = resolve;
  });
};
const said = (text: string) => until(() => JSON.stringify(prompts.at(-1)).includes(text), text);

function edit(folder: string, id: string, name: string): object {
  const change = { type: 'diff', path: path.join(folder, name), oldText: 'old', newText: 'new' };
  return { toolCallId: id, kind: 'edit', title: 'T', status: 'pending', content: [change] };
}

test(
  'feedback waits in sight and is the next prompt when the rejection ends the turn',
  inWindow(async ({ window }) => {
    const { chat, pick, page } = window;
    const answer = ask(run('1', 'npm install left-pad'));
    await pick.title.filter({ hasText: 'npm install left-pad' }).waitFor();
    await pick.readable();
    await window.pictures('feedback/pick', themes);
    await page.keyboard.press('f');
    await pick.focusedRow('Reject with feedback').waitFor();
    await page.keyboard.press('Enter');
    await pick.box.getByText('Sent as the next prompt.').waitFor();
    await window.pictures('feedback/words', ['dark']);
    await pick.type('use pnpm');
    await page.keyboard.press('Enter');
    assert.deepEqual((await answer).result, chosen('no'));
    const queued = chat.frame.locator('.queue li', { hasText: 'use pnpm' });
    await queued.filter({ hasText: 'Feedback' }).waitFor();
    await chat.call('npm install left-pad').filter({ hasText: 'by you' }).waitFor();
    await window.pictures('feedback/waits', themes);
    end({ stopReason: 'cancelled' });
    await said('use pnpm');
    await queued.waitFor({ state: 'detached' });
    await chat.lastTurn.getByText('use pnpm').waitFor();
    await window.pictures('feedback/sent', themes);
  }),
);

test(
  'words for a request that is taken back meanwhile are in the composer',
  inWindow(async ({ window }) => {
    const { chat, pick, page } = window;
    const request = { sessionId: SESSION, toolCall: run('1b', 'npm run gone'), options };
    const answer = agent.ask('session/request_permission', request, 'gone');
    await pick.title.filter({ hasText: 'npm run gone' }).waitFor();
    await pick.readable();
    await page.keyboard.press('f');
    await pick.focusedRow('Reject with feedback').waitFor();
    await page.keyboard.press('Enter');
    await pick.box.getByText('What should the agent do instead?').waitFor();
    await page.keyboard.press('Enter');
    const problem = pick.box.getByText('Needed');
    await problem.waitFor();
    // It goes once the extension has heard of the words.
    await page.keyboard.insertText('not that one');
    await problem.waitFor({ state: 'hidden' });
    agent.send({ jsonrpc: '2.0', method: '$/cancel_request', params: { requestId: 'gone' } });
    await pick.gone();
    await answer;
    await until(async () => (await chat.composer.inputValue()) === 'not that one', 'the words are kept');
    await chat.composer.fill('');
  }),
);

test(
  'an edit comes as a diff with the keys in it: they reject with feedback, or allow, and lead back to the composer',
  inWindow(async ({ window, folder }) => {
    const { chat, pick, diff, page } = window;
    await chat.composer.click();
    const first = ask(edit(folder, '2', 'part1.txt'));
    await diff.compared();
    await diff.editor.locator('.monaco-editor.focused').first().waitFor();
    assert.equal(await pick.box.count(), 0);
    await window.pictures('feedback/diff', ['dark']);
    await diff.answers.waitFor();
    const keys = { 'Accept Proposal': 'A', 'More Answers…': 'Shift+A', 'Reject Proposal': 'X', 'Reject with Feedback…': 'Shift+X' };
    for (const [label, key] of Object.entries(keys)) await diff.action(`${label} (Ctrl+K ${key})`).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Shift+x');
    await pick.box.getByText('Sent as the next prompt.').waitFor();
    await pick.type('another file');
    await page.keyboard.press('Enter');
    assert.deepEqual((await first).result, chosen('no'));
    await chat.composer.and(chat.frame.locator(':focus')).waitFor();
    const second = ask(edit(folder, '3', 'part2.txt'));
    await diff.compared();
    await diff.editor.locator('.monaco-editor.focused').first().waitFor();
    await diff.answers.waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('a');
    assert.deepEqual((await second).result, chosen('once'));
    await chat.composer.and(chat.frame.locator(':focus')).waitFor();
    end({ stopReason: 'end_turn' });
    await said('another file');
  }),
);

test(
  'a rejected command as long as a page is one line; Esc right after an answer stops nothing',
  inWindow(async ({ window }: Scene) => {
    const { chat, pick, page } = window;
    await window.chatWidth(300);
    await chat.composer.click();
    const answer = ask(run('4', `echo ${'word '.repeat(200)}`));
    await pick.title.filter({ hasText: 'Run in terminal' }).waitFor();
    await pick.answer('R');
    assert.deepEqual((await answer).result, chosen('no'));
    await chat.composer.and(chat.frame.locator(':focus')).waitFor();
    const row = chat.call('echo word').locator('.call-toggle');
    await row.filter({ hasText: 'by you' }).waitFor();
    assert.ok(((await row.boundingBox())?.height ?? 999) <= 48, 'the command, and who decided');
    await page.keyboard.press('Escape');
    await chat.frame.getByText('Ignored right after an answer').first().waitFor();
    await window.pictures('feedback/rejected', themes);
    await page.keyboard.press('Escape');
    await chat.composer.press('x');
    await chat.composer.fill('');
    assert.deepEqual(
      agent.received.filter(({ method }) => method === 'session/cancel'),
      [],
    );
  }),
);

test(
  'of several that wait the card and the quick-pick show the same',
  inWindow(async ({ window }) => {
    const { chat, pick, page } = window;
    const answers = ['one', 'two', 'three'].map((name) => ask(run(name, `npm run ${name}`)));
    const same = async (name: string, place: string) => {
      await pick.title.filter({ hasText: `npm run ${name} (${place} of` }).waitFor();
      await chat.ask(`npm run ${name}`).getByText(`${place} of`).waitFor();
    };
    await pick.title.filter({ hasText: '1 of 3' }).waitFor();
    await same('one', '1');
    await chat.frame.getByRole('button', { name: /1 of 3/ }).click();
    await same('two', '2');
    await window.pictures('feedback/several', themes);
    await pick.readable();
    await page.keyboard.press('Enter');
    assert.deepEqual((await answers[1])?.result, chosen('once'));
    await same('one', '1');
    await pick.answer('A');
    assert.deepEqual((await answers[0])?.result, chosen('once'));
    await pick.title.filter({ hasText: 'npm run three' }).waitFor();
    await pick.answer('R');
    assert.deepEqual((await answers[2])?.result, chosen('no'));
  }),
);

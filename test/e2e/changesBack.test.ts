import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { SESSION } from '../fakes/acp.ts';
import { diskAgent, numbered, text } from './diskAgent.ts';
import { ReviewPage } from './pages/review.ts';
import type { Scene } from './suite.ts';
import { until, untilFile } from './until.ts';

// What becomes of a change after a decision about it: restored around the user's own text, brought back, left alone, or allowed as the user edited it.
const script = path.resolve('dist/parley-agent.js');
const peers = [
  { id: 'over-lines', name: 'Over Lines', protocol: 'qwen', command: process.execPath, args: [script] },
  { id: 'over-wire', name: 'Over Wire', protocol: 'kimi-wire', command: process.execPath, args: [script, '--wire'] },
] as const;
const disk = await diskAgent({ name: 'changes-back', beside: peers });
const { fake: agent, inWindow, inFolder, read, write } = disk;
const lines = numbered('line', 20);
const changed = (...places: readonly number[]) => text(lines.map((line, at) => (places.includes(at + 1) ? `agent ${at + 1}` : line)));

async function cleared(window: Scene['window']): Promise<ReviewPage> {
  const review = new ReviewPage(window);
  await window.openChat();
  await review.keepAll();
  await window.closeEditors();
  await window.openChat();
  return review;
}

async function typeAt({ page }: Scene['window'], line: string, words: string): Promise<void> {
  await page.locator('.editor-instance .view-line', { hasText: line }).first().click();
  await page.keyboard.press('End');
  await page.keyboard.type(words);
}

async function restore(window: Scene['window'], prompt: string): Promise<void> {
  const { pick, page } = window;
  await window.command('Parley: Restore Files to Before a Prompt');
  await pick.choose(prompt);
  await page.locator('.monaco-dialog-box').waitFor();
}

test(
  'restored after the user typed elsewhere and saved: the row says so, and their text stays; a hunk that Ctrl+Z brings back is open again',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = await cleared(window);
    write('one.txt', text(lines));
    disk.act = () => write('one.txt', changed(4, 10));
    await chat.exchange('two places');
    const row = chat.lastTurn.locator('.changes li', { hasText: 'one.txt' });
    await review.openFile('one.txt');
    await review.lenses(2);
    await typeAt(window, 'line 18', ' of mine');
    await page.keyboard.press('Control+s');
    await untilFile(inFolder('one.txt'), /of mine/);
    await review.decide('Undo');
    await untilFile(inFolder('one.txt'), /line 4\n/);
    await review.lenses(1);
    await page.locator('.editor-instance .view-line', { hasText: 'line 18' }).first().click();
    await page.keyboard.press('Control+z');
    await page.locator('.editor-instance .view-line', { hasText: 'agent 4' }).waitFor();
    await page.keyboard.press('Control+s');
    await untilFile(inFolder('one.txt'), /agent 4\n/);
    await review.lenses(2);
    await window.openChat();
    await row.getByText('+2').waitFor();
    await window.pictures('review/back-open');
    await restore(window, 'two places');
    await page.getByRole('button', { name: 'Restore Files' }).click();
    await until(() => read('one.txt') === text(lines.with(17, 'line 18 of mine')), 'the agent’s lines are gone, and the user’s stay');
    await row.getByText('Undone').waitFor();
    assert.doesNotMatch((await row.textContent()) ?? '', /\+\d|Kept/);
    await window.pictures('review/back-restored');
  }),
);

test(
  'a restore says which files it will leave alone and why, and says so again when it is done; folders and tabs of new files go with them',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const review = await cleared(window);
    write('one.txt', text(lines));
    write('two.txt', text(lines));
    disk.act = () => {
      write('one.txt', changed(4));
      write('two.txt', changed(4));
      write('made/deep/new.txt', 'agent\n');
    };
    await chat.exchange('three files');
    await review.openFile('new.txt');
    await window.command('View: Keep Editor');
    await review.openFile('one.txt');
    await review.lenses(1);
    await typeAt(window, 'line 18', ' typed');
    await page.locator('.tab.dirty', { hasText: 'one.txt' }).waitFor();
    await restore(window, 'three files');
    const dialog = page.locator('.monaco-dialog-box');
    await dialog.getByText('Not changed: one.txt has unsaved changes. Save or revert it first.').waitFor();
    await window.pictures('review/back-preview');
    await page.getByRole('button', { name: 'Restore Files' }).click();
    await dialog.getByText('Not changed: 1 file').waitFor();
    assert.deepEqual([read('one.txt'), read('two.txt')], [changed(4), text(lines)]);
    await window.pictures('review/back-left');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    assert.ok(!readdirSync(inFolder('.')).includes('made'), 'the folders that the agent made are gone');
    await window.tab('new.txt').waitFor({ state: 'hidden' });
    await window.command('Parley: Bring Back Undone Changes');
    await untilFile(inFolder('made/deep/new.txt'), /agent/);
    await window.command('File: Revert File');
  }),
);

test(
  'an edited proposal that is written after the agent’s edit: the call says whose it is, with the same lines as the file',
  inWindow(async ({ window }) => {
    const { chat, diff, page, pick } = window;
    await cleared(window);
    const after = lines.with(2, 'line three').with(15, 'line sixteen');
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
    await diff.action('Leave Out').click();
    await chat.frame.getByText('edited by you').waitFor();
    await window.command('Parley: Accept Proposal');
    await chat.settled(chat.lastTurn);
    await chat.lastTurn.getByText('1 file changed').waitFor();
    const call = chat.lastTurn.locator('.call', { hasText: 'plan.txt' });
    await call.getByText('edited by you').first().waitFor();
    const counted = async (within: typeof call) => /\+\d+\s*−\d+/.exec((await within.textContent()) ?? '')?.[0].replace(/\s/g, '');
    assert.equal(await counted(call), '+1−1');
    assert.equal(await counted(chat.lastTurn.locator('.changes li', { hasText: 'plan.txt' })), '+1−1');
    await window.pictures('review/back-edited');
    disk.act = () => {};
  }),
);

for (const { name } of peers)
  test(
    `${name}: the included agent takes an edited proposal for what it is, and a rejection for one without words`,
    inWindow(async ({ window }) => {
      const { chat, diff, page, pick } = window;
      await cleared(window);
      write('greet.txt', text(lines));
      await window.command('Parley: New Session with Agent');
      await pick.choose(name);
      await chat.frame.locator('.agent', { hasText: name }).waitFor();
      await chat.say('replace "line 4" with "line four" in greet.txt');
      await pick.row('Allow once').waitFor();
      await diff.compared();
      await page.keyboard.press('Escape');
      await pick.gone();
      await diff.editor.locator('.editor.modified .view-line', { hasText: 'line four' }).click();
      await diff.editor.locator('.editor.modified .monaco-editor.focused').waitFor();
      await page.keyboard.press('End');
      await page.keyboard.type(' as I like it');
      await chat.frame.getByText('edited by you').waitFor();
      await window.command('Parley: Accept Proposal');
      await chat.settled(chat.lastTurn);
      await untilFile(inFolder('greet.txt'), /line four as I like it\n/);
      await chat.lastTurn.locator('.call', { hasText: 'greet.txt' }).getByText('edited by you').first().waitFor();
      assert.doesNotMatch((await chat.lastTurn.textContent()) ?? '', /You said|Rejected/);
      await window.pictures(`review/back-${name.split(' ')[1]?.toLowerCase()}-edited`);
      await window.openChat();
      await chat.say('replace "line 6" with "line six" in greet.txt');
      await pick.row('Allow once').waitFor();
      await pick.answer('R');
      await chat.settled(chat.lastTurn);
      assert.doesNotMatch((await chat.lastTurn.textContent()) ?? '', /You said/);
      await window.pictures(`review/back-${name.split(' ')[1]?.toLowerCase()}-rejected`);
      assert.match(read('greet.txt'), /line 6\n/);
    }),
  );

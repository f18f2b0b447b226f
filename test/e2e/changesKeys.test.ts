import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { SESSION } from '../fakes/acp.ts';
import { diskAgent, numbered, text } from './diskAgent.ts';
import type { Scene } from './suite.ts';
import { until, untilFile } from './until.ts';

// Proposed changes reviewed without a mouse, over protocols with and without a place for an edited proposal.
const overA2a = {
  id: 'over-a2a',
  name: 'Over A2A',
  protocol: 'a2a',
  command: process.execPath,
  args: [path.resolve('dist/parley-agent.js'), '--protocol', 'a2a'],
};
const disk = await diskAgent({ name: 'changes-keys', beside: [overA2a] });
const { fake: agent, inWindow, inFolder, read, write } = disk;

async function chord(page: Page, key: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.keyboard.press(key);
}

/** From the question to its diff: Esc sets it aside, and the editor's own key moves there. */
async function intoDiff({ window }: Scene): Promise<void> {
  const { diff, page, pick } = window;
  await pick.row('Allow once').waitFor();
  await diff.compared();
  await pick.readable();
  await page.keyboard.press('Escape');
  await pick.gone();
  await inComposer(window);
  await fromChatToDiff(window);
  await diff.answers.waitFor();
}

async function fromChatToDiff({ page, diff }: Scene['window']): Promise<void> {
  await page.keyboard.press('Control+1');
  await diff.editor.locator('.monaco-editor.focused').first().waitFor();
}

/** As also after an answer in a diff that was the only editor. */
async function inComposer({ chat }: Scene['window']): Promise<void> {
  await chat.composer.and(chat.frame.locator(':focus')).waitFor();
}

/** After an answer in a diff that had a file behind it: a key that is pressed while the keyboard goes there would be lost. */
async function fromFileToChat({ page, diff }: Scene['window']): Promise<void> {
  await diff.editor.waitFor({ state: 'detached' });
  await page.locator('.tab.active', { hasText: 'main.ts' }).waitFor();
  await page.locator('.monaco-editor.focused').waitFor();
  await chord(page, 'h');
}

async function typed(window: Scene['window'], words: string): Promise<void> {
  const { page } = window;
  await inComposer(window);
  await page.keyboard.type(words);
  await page.keyboard.press('Enter');
}

test(
  'a change is left out of a proposal, and feedback rejects one',
  inWindow(async (scene) => {
    const { window } = scene;
    const { chat, diff, page, pick } = window;
    const lines = numbered('line', 30);
    write('plan.txt', text(lines));
    const after = lines.with(2, 'line three').with(25, 'line twenty-six');
    const propose = (toolCallId: string) => async () => {
      const content = [{ type: 'diff', path: inFolder('plan.txt'), oldText: read('plan.txt'), newText: text(after) }];
      const toolCall = { toolCallId, title: 'Edit plan.txt', kind: 'edit', status: 'pending', content };
      agent.update({ sessionUpdate: 'tool_call', ...toolCall });
      const options = [
        { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
        { optionId: 'no', name: 'Reject', kind: 'reject_once' },
      ];
      const { result } = await agent.ask('session/request_permission', { sessionId: SESSION, toolCall, options }, `ask ${toolCallId}`);
      const isAllowed = JSON.stringify(result).includes('yes');
      if (isAllowed) write('plan.txt', text(after));
      agent.update({ sessionUpdate: 'tool_call_update', toolCallId, status: isAllowed ? 'completed' : 'failed', content });
    };
    disk.act = propose('1');
    await window.openChat();
    await chat.frame.getByText('Disk').first().waitFor();
    await typed(window, 'plan it');
    await intoDiff(scene);
    // It opens at its first change.
    await window.cursor(3).waitFor();
    await chord(page, 'h');
    await inComposer(window);
    await fromChatToDiff(window);
    await chord(page, 'j');
    await window.cursor(26).waitFor();
    await chord(page, 'Shift+n');
    await page.locator('.codelens-decoration', { hasText: 'Put back' }).waitFor();
    await chord(page, 'a');
    await untilFile(inFolder('plan.txt'), /line three\n.*line 26\n/s);
    await chat.settled(chat.lastTurn);
    disk.act = propose('2');
    await diff.editor.waitFor({ state: 'detached' });
    await typed(window, 'the rest, too');
    await intoDiff(scene);
    await chord(page, 'Shift+x');
    await pick.box.getByText('What should the agent do instead?').waitFor();
    disk.act = () => {};
    await pick.type('leave it');
    await page.keyboard.press('Enter');
    await until(() => JSON.stringify(agent.received.at(-1)?.params ?? '').includes('leave it'), 'the words are the next prompt');
    await chat.settled(chat.lastTurn);
    assert.match(read('plan.txt'), /line three\n.*line 26\n/s);
  }),
);

test(
  'a proposal is edited in its diff, and its text goes back to the agent',
  inWindow(async (scene) => {
    const { window } = scene;
    const { chat, page, pick } = window;
    await window.command('Parley: New Session with Agent');
    await pick.choose('Over A2A');
    await chat.frame.locator('.agent', { hasText: 'Over A2A' }).waitFor();
    await typed(window, 'replace "Hello" by "Welcome" in src/main.ts');
    await intoDiff(scene);
    await window.cursor(4).waitFor();
    await page.keyboard.press('End');
    await page.keyboard.type(' // by keys');
    await page.locator('.editor.modified .view-line', { hasText: '// by keys' }).waitFor();
    await chord(page, 'a');
    await untilFile(inFolder('src/main.ts'), /Welcome from Tally Notes.*\/\/ by keys/);
    await chat.settled(chat.lastTurn);
    await fromFileToChat(window);
    await typed(window, 'replace "Welcome" by "Bye" in src/main.ts');
    await intoDiff(scene);
    await chord(page, 'x');
    await chat.settled(chat.lastTurn);
    assert.match(read('src/main.ts'), /Welcome from/);
  }),
);

test(
  'a proposal of which every change is left out cannot be accepted, at once and over each protocol: it is rejected',
  inWindow(async (scene) => {
    const { window } = scene;
    const { chat, page, pick } = window;
    const putBack = page.locator('.codelens-decoration', { hasText: 'Put back' });
    const leftOut = async (picture: string) => {
      await putBack.waitFor();
      await window.pictures(picture, ['dark', 'light', 'contrast']);
    };
    const before = read('src/main.ts');
    await fromFileToChat(window);
    await typed(window, 'replace "Welcome" by "Bye" in src/main.ts');
    await intoDiff(scene);
    await window.cursor(4).waitFor();
    await chord(page, 'Shift+n');
    await leftOut('review/left-out-a2a');
    await chord(page, 'a');
    await chord(page, 'x');
    await chat.settled(chat.lastTurn);
    await chat.lastTurn.getByText('rejected', { exact: false }).first().waitFor();
    assert.equal(read('src/main.ts'), before);
    await window.command('Parley: New Session with Agent');
    await pick.choose('Disk');
    await chat.frame.locator('.agent', { hasText: 'Disk' }).waitFor();
    const [plan, lines] = [numbered('line', 30), numbered('line', 30).with(2, 'line three')];
    write('plan.txt', text(plan));
    let given = '';
    disk.act = async () => {
      const content = [{ type: 'diff', path: inFolder('plan.txt'), oldText: text(plan), newText: text(lines) }];
      const toolCall = { toolCallId: 'all out', title: 'Edit plan.txt', kind: 'edit', status: 'pending', content };
      agent.update({ sessionUpdate: 'tool_call', ...toolCall });
      const options = [
        { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
        { optionId: 'no', name: 'Reject', kind: 'reject_once' },
      ];
      const { result } = await agent.ask('session/request_permission', { sessionId: SESSION, toolCall, options }, 'ask all out');
      given = JSON.stringify(result);
      agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'all out', status: 'failed' });
    };
    await typed(window, 'plan it');
    await intoDiff(scene);
    await window.cursor(3).waitFor();
    // No pause: what the screen shows counts, not what the question was told last.
    await chord(page, 'Shift+n');
    await chord(page, 'a');
    await chord(page, 'x');
    await chat.settled(chat.lastTurn);
    assert.match(given, /"no"/);
    assert.equal(read('plan.txt'), text(plan));
    await chat.lastTurn.getByText('rejected', { exact: false }).first().waitFor();
  }),
);

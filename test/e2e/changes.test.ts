import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { FakeAgent, SESSION } from '../fakes/acp.ts';
import { type Scene, suite } from './suite.ts';
import { untilFile } from './until.ts';

let agent: FakeAgent;
/** What the agent does in the next turn: it writes straight to the disk and tells nothing of it. */
let act: (folder: string) => void | Promise<void> = () => {};
let root = '';

const inWindow = suite({
  name: 'changes',
  prepare: async (folder) => {
    root = folder;
    agent = await FakeAgent.start();
    agent.handlers['session/prompt'] = async () => {
      await act(root);
      agent.text('Done.');
      return { stopReason: 'end_turn' };
    };
    const { command, args } = agent.launch(folder);
    return {
      machineSettings: {
        'parley.agents': [{ id: 'disk', name: 'Disk', protocol: 'acp', command, args }],
        'parley.defaultAgent': 'disk',
      },
      agents: String(args.at(-1)),
      end: () => agent.stop(),
    };
  },
});
const inFolder = (name: string) => path.join(root, name);
const read = (name: string) => readFileSync(inFolder(name), 'utf8');

test(
  'what an agent writes straight to the disk is listed, and kept or undone hunk by hunk in the file',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const before = read('src/main.ts');
    const other = read('README.md');
    act = () => {
      const lines = before.split('\n');
      writeFileSync(inFolder('src/main.ts'), ['// first line of the agent', ...lines, '// last line of the agent', ''].join('\n'));
      rmSync(inFolder('README.md'));
      writeFileSync(inFolder('USAGE.md'), 'How to use it\n');
    };
    await window.openChat();
    await chat.frame.getByText('Disk').first().waitFor();
    await chat.exchange('go');
    const rows = page.locator('.pane', { hasText: 'Changes to Review' }).locator('.monaco-list-row');
    await rows.filter({ hasText: 'USAGE.md' }).waitFor();
    assert.equal(await rows.count(), 3);
    await rows.filter({ hasText: 'main.ts' }).click();
    await window.diff.compared();
    await window.pictures('changes-diff', ['dark', 'light']);
    await window.command('View: Close All Editors');
    await window.command('Go to File');
    await window.pick.input.fill('main.ts');
    await window.pick.row('main.ts').first().waitFor();
    await page.keyboard.press('Enter');
    const lens = (title: string) => page.locator('.codelens-decoration a', { hasText: title });
    await lens('Undo').first().waitFor();
    await window.pictures('changes-hunks', ['dark', 'light']);
    await lens('Undo').first().click();
    await untilFile(inFolder('src/main.ts'), /^(?!\/\/ first line)/);
    assert.match(read('src/main.ts'), /last line of the agent/);
    await page.locator('.codelens-decoration').nth(1).waitFor({ state: 'hidden' });
    await lens('Keep').click();
    await rows.filter({ hasText: 'main.ts' }).waitFor({ state: 'hidden' });
    await window.command('Parley: Undo All Changes');
    await page.getByRole('button', { name: 'Undo all' }).last().click();
    await rows.first().waitFor({ state: 'hidden' });
    assert.deepEqual([read('README.md'), existsSync(inFolder('USAGE.md'))], [other, false]);
  }),
);

test(
  'the files go back to before a prompt',
  inWindow(async ({ window }) => {
    const { chat, page, pick } = window;
    const before = read('src/main.ts');
    act = () => writeFileSync(inFolder('src/main.ts'), 'all gone\n');
    await chat.exchange('destroy it');
    await window.command('Parley: Restore Files to Before a Prompt');
    await pick.choose('destroy it');
    await page.getByRole('button', { name: 'Restore Files' }).waitFor();
    await window.pictures('changes-restore', ['dark', 'light']);
    await page.getByRole('button', { name: 'Restore Files' }).click();
    await untilFile(inFolder('src/main.ts'), /^(?!all gone)/);
    assert.equal(read('src/main.ts'), before);
    await window.command('Parley: Undo Restore of Files');
    await untilFile(inFolder('src/main.ts'), /^all gone/);
  }),
);

const rowsIn = (window: Scene['window']) => window.page.locator('.pane', { hasText: 'Changes to Review' }).locator('.monaco-list-row');
const chatRow = (window: Scene['window'], name: string) => window.chat.lastTurn.locator('.changes li', { hasText: name });

test(
  'a command that deletes a file and rewrites ten: all are in the turn’s list, and all are restored from there',
  inWindow(async ({ window }) => {
    const { chat } = window;
    const names = Array.from({ length: 10 }, (_, at) => `notes-${at}.txt`);
    for (const name of names) writeFileSync(inFolder(name), 'one\ntwo\n');
    writeFileSync(inFolder('gone.txt'), 'still needed\n');
    act = () => {
      agent.update({ sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'sh tidy.sh', kind: 'execute', status: 'in_progress' });
      for (const name of names) writeFileSync(inFolder(name), 'one\nTWO\n');
      rmSync(inFolder('gone.txt'));
      agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed' });
    };
    await window.command('View: Close All Editors');
    await chat.exchange('tidy up');
    await chat.lastTurn.getByText('11 files changed').waitFor();
    await chat.lastTurn.getByText('By sh tidy.sh').waitFor();
    await window.pictures('changes-command', ['dark', 'light']);
    await chat.lastTurn.getByRole('button', { name: 'Undo all' }).click();
    await chatRow(window, 'gone.txt').getByText('Undone').waitFor();
    await window.pictures('changes-command-undone', ['dark', 'light']);
    assert.equal(read('gone.txt'), 'still needed\n');
    for (const name of names) assert.equal(read(name), 'one\ntwo\n', name);
    await rowsIn(window).filter({ hasText: 'gone.txt' }).waitFor({ state: 'hidden' });
  }),
);

test(
  'one change of a pending edit is left out: the agreed text is on the disk, and the agent is told with the next prompt',
  inWindow(async ({ window }) => {
    const { chat, diff, page, pick } = window;
    const lines = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`);
    const [before, after] = [lines, lines.with(2, 'line three').with(25, 'line twenty-six')].map((one) => `${one.join('\n')}\n`);
    writeFileSync(inFolder('plan.txt'), before ?? '');
    act = async () => {
      const content = [{ type: 'diff', path: inFolder('plan.txt'), oldText: before, newText: after }];
      const toolCall = { toolCallId: 'c2', title: 'Edit plan.txt', kind: 'edit', status: 'pending', content };
      agent.update({ sessionUpdate: 'tool_call', ...toolCall });
      const options = [
        { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
        { optionId: 'no', name: 'Reject', kind: 'reject_once' },
      ];
      await agent.ask('session/request_permission', { sessionId: SESSION, toolCall, options }, 'permission-1');
      writeFileSync(inFolder('plan.txt'), after ?? '');
      agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c2', status: 'completed', content });
    };
    await chat.say('plan it');
    await pick.row('Allow once').waitFor();
    await diff.compared();
    await page.keyboard.press('Escape');
    await pick.gone();
    await window.pictures('pending-hunks', ['dark', 'light']);
    await diff.action('Leave Out').click();
    await diff.editor.locator('.editor.modified .view-line', { hasText: 'line three' }).waitFor({ state: 'hidden' });
    await window.pictures('pending-hunk-left-out', ['dark', 'light']);
    await window.command('Parley: Accept Proposed Change');
    await chat.settled(chat.lastTurn);
    await untilFile(inFolder('plan.txt'), /line 3\n.*line twenty-six/s);
    await window.tab('plan.txt').waitFor();
    act = () => {};
    await chat.exchange('and now?');
    const prompts = agent.received.filter((frame) => frame.method === 'session/prompt');
    assert.match(JSON.stringify(prompts.at(-1)?.params), /changed your edit of .*plan\.txt.*-line three/);
  }),
);

test(
  'a reload in the middle of a review: the rest is reviewed, by prompt, marked and counted; a hunk is undone after typing elsewhere',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const lines = Array.from({ length: 40 }, (_, at) => `row ${at + 1}`);
    const text = (of: readonly string[]) => `${of.join('\n')}\n`;
    await window.command('View: Close All Editors');
    writeFileSync(inFolder('table.txt'), text(lines));
    act = () => writeFileSync(inFolder('table.txt'), text(lines.with(4, 'row five').with(30, 'row thirty-one')));
    await chat.exchange('first');
    act = () => writeFileSync(inFolder('other.txt'), 'other\n');
    await chat.exchange('second');
    await rowsIn(window).filter({ hasText: 'second' }).waitFor();
    await rowsIn(window).filter({ hasText: 'table.txt' }).locator('.monaco-checkbox, .custom-view-tree-node-item-checkbox').first().click();
    await window.reload();
    await window.openChat();
    await rowsIn(window).filter({ hasText: 'table.txt' }).waitFor();
    await window.pictures('review-reloaded', ['dark', 'light']);
    await window.command('Go to File');
    await window.pick.input.fill('table.txt');
    await window.pick.row('table.txt').first().waitFor();
    await page.keyboard.press('Enter');
    const lens = (title: string) => page.locator('.codelens-decoration a', { hasText: title });
    await lens('Undo').first().waitFor();
    await page.locator('.editor-instance .view-line', { hasText: 'row 10' }).click();
    await page.keyboard.press('End');
    await page.keyboard.type(' of mine');
    await lens('Undo').first().click();
    await untilFile(inFolder('table.txt'), /row 5\n.*row 10 of mine\n.*row thirty-one/s);
    await window.pictures('review-typed', ['dark', 'light']);
    await window.command('Parley: Open All Changes to Review');
    await page.locator('.multiDiffEditor').first().waitFor();
    await page.locator('.multiDiffEditor .codelens-decoration a', { hasText: 'Keep' }).first().waitFor();
    await window.pictures('review-all', ['dark', 'light']);
    await window.command('Parley: Keep All Changes');
    await rowsIn(window).first().waitFor({ state: 'hidden' });
  }),
);

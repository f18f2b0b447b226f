import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { FakeAgent } from '../fakes/acp.ts';
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

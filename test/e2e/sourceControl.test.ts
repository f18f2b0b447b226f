import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { FakeChat, finish, type Reply, said, start } from '../fakes/aiSdk.ts';
import { pictures, type Window } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';

const CHAT = '/api/chat';
/** What the agent does with the next request. */
let answer: (reply: Reply) => void = () => {};
let server: FakeChat;

const inWindow = suite({
  name: 'source-control',
  settings: { 'git.openRepositoryInParentFolders': 'always' },
  prepare: async (folder) => {
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: folder, stdio: 'pipe' });
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '-m', 'first');
    appendFileSync(path.join(folder, 'notes.txt'), '2026-01-05 Sharpen the pencils #desk\n');
    server = new FakeChat({ [CHAT]: (reply) => answer(reply) });
    await server.start();
    return {
      machineSettings: {
        'parley.agents': [{ id: 'server', name: 'Server', protocol: 'ai-sdk', url: `${server.url}${CHAT}` }],
        'parley.defaultAgent': 'server',
      },
      agents: 'parley-agent',
      end: () => server.stop(),
    };
  },
});

/** Opens the menu of a place and chooses a row of it. */
async function choose({ page }: Window, over: Locator, row: string): Promise<void> {
  const item = page.locator('.monaco-menu .action-label', { hasText: row });
  await over.click({ button: 'right' });
  await item.waitFor();
  // The editor's menus take no click for a moment after they open.
  await until(async () => {
    if (await item.isVisible()) await item.click({ timeout: 2000 }).catch(() => {});
    return !(await item.isVisible());
  }, 'the menu has closed');
}

/** Its buttons show while the mouse is over it. */
async function showSourceControl(window: Window): Promise<void> {
  await window.command('Source Control: Focus on Changes View');
  await inSourceControl(window).file.hover();
}

const inSourceControl = ({ page }: Window) => ({
  write: page.locator('.action-label[aria-label^="Write Commit Message with Parley"]').first(),
  stop: page.locator('.action-label[aria-label^="Stop Writing the Commit Message"]').first(),
  box: page.locator('.scm-editor .view-lines').first(),
  file: page.locator('.scm-view .monaco-list-row', { hasText: 'notes.txt' }).first(),
});

test(
  'the button in Source Control is stopped, says why it failed, and writes the message',
  inWindow(async ({ window }) => {
    const { page } = window;
    await window.openChat();
    await showSourceControl(window);
    const { write, stop, box } = inSourceControl(window);
    let asked: Reply | undefined;
    answer = (reply) => {
      asked = reply;
      reply.open().send(start());
    };
    await write.click();
    await stop.waitFor();
    await page.screenshot({ path: path.join(pictures, 'commit-message-writing.png') });
    await until(() => asked !== undefined, 'the agent is asked');
    await stop.click();
    await asked?.closed;
    await write.waitFor();
    assert.equal((await box.textContent())?.trim(), '', 'nothing is written');

    answer = (reply) => reply.json(401, { error: 'no key' });
    await write.click();
    await window.command('Notifications: Show Notifications');
    await window.notification('Write Commit Message with Parley: ').waitFor();
    await page.screenshot({ path: path.join(pictures, 'commit-message-failed.png') });
    await page.keyboard.press('Escape');
    await write.waitFor();

    answer = (reply) => reply.all(start(), ...said('Note the pencils'), finish());
    await write.click();
    await box.getByText('Note the pencils').waitFor();
    await page.screenshot({ path: path.join(pictures, 'commit-message.png') });
  }),
);

test(
  'the menu of a changed file puts its diff into the message',
  inWindow(async ({ window }) => {
    const { chat } = window;
    await showSourceControl(window);
    await choose(window, inSourceControl(window).file, 'Add Change to Chat');
    await chat.frame.locator('.attachments').getByText('notes.txt.diff').waitFor();
  }),
);

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { FakeChat, type Reply } from '../fakes/aiSdk.ts';
import type { Window } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';

const CHAT = '/api/chat';
/** What the agent does with the next request. */
const answer: (reply: Reply) => void = () => {};
let server: FakeChat;
let place: string;

/** An extension with one test that fails. */
const MANIFEST = {
  name: 'one-test',
  publisher: 'test',
  version: '1.0.0',
  engines: { vscode: '^1.90.0' },
  main: './main.js',
  activationEvents: ['onStartupFinished'],
};
const FAILING = `const vscode = require('vscode');
exports.activate = () => {
  const control = vscode.tests.createTestController('one', 'One');
  const uri = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, 'src', 'main.ts');
  const item = control.createTestItem('adds', 'adds up', uri);
  item.range = new vscode.Range(6, 0, 6, 1);
  control.items.add(item);
  control.createRunProfile('Run', vscode.TestRunProfileKind.Run, (request) => {
    const run = control.createTestRun(request);
    run.started(item);
    const message = vscode.TestMessage.diff('not equal', '1', '2');
    message.location = new vscode.Location(uri, new vscode.Position(6, 0));
    run.failed(item, message);
    run.end();
  }, true);
};
`;

const inWindow = suite({
  name: 'editor-menus',
  settings: { 'git.openRepositoryInParentFolders': 'always', 'testing.automaticallyOpenPeekView': 'never' },
  prepare: async (folder) => {
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: folder, stdio: 'pipe' });
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '-m', 'first');
    appendFileSync(path.join(folder, 'notes.txt'), '2026-01-05 Sharpen the pencils #desk\n');
    place = mkdtempSync(path.join(os.tmpdir(), 'parley-menus-'));
    const other = path.join(place, 'test.one-test-1.0.0');
    mkdirSync(other);
    writeFileSync(path.join(other, 'package.json'), JSON.stringify(MANIFEST));
    writeFileSync(path.join(other, 'main.js'), FAILING);
    server = new FakeChat({ [CHAT]: (reply) => answer(reply) });
    await server.start();
    return {
      others: [other],
      machineSettings: {
        'parley.agents': [{ id: 'server', name: 'Server', protocol: 'ai-sdk', url: `${server.url}${CHAT}` }],
        'parley.defaultAgent': 'server',
      },
      agents: 'parley-agent',
      end: async () => {
        await server.stop();
        rmSync(place, { recursive: true, force: true });
      },
    };
  },
});

/** The rows of the menu of a place. */
async function rowsOf({ page }: Window, over: Locator): Promise<readonly string[]> {
  const rows = page.locator('.monaco-menu .action-label:not(.separator)');
  for (let attempt = 1; ; attempt += 1) {
    await over.click({ button: 'right' });
    try {
      await rows.first().waitFor({ timeout: 5000 });
      break;
    } catch (error) {
      if (attempt === 8) throw error;
    }
  }
  return (await rows.allTextContents()).map((text) => text.trim());
}

async function choose(window: Window, over: Locator, row: string): Promise<void> {
  const item = window.page.locator('.monaco-menu .action-label', { hasText: row });
  assert.ok((await rowsOf(window, over)).includes(row));
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
  file: page.locator('.scm-view .monaco-list-row', { hasText: 'notes.txt' }).first(),
});

test(
  'what the menus of a change, a failed test and a file add is in the message',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    const chips = () => chat.frame.locator('.attachments');
    const { file } = inSourceControl(window);
    await showSourceControl(window);
    await choose(window, file, 'Add Change to Chat');
    await chips().getByText('notes.txt.diff').waitFor();

    await window.command('Test: Run All Tests');
    // A test with one failure is one row, whose menu is that of the test: the failure itself has a button.
    await page.locator('.test-output-peek-tree .monaco-list-row', { hasText: 'not equal' }).first().click();
    await page.getByText('Add Test Failure to Chat').click();
    await chips().getByText('adds up').waitFor();

    await window.openFile('main.ts');
    const code = page.locator('.editor-instance .view-line', { hasText: 'The answer to one command' });
    await choose(window, code, 'Add File to Chat');
    await chips().getByText('main.ts').waitFor();
    await window.pictures('menus-added');
  }),
);

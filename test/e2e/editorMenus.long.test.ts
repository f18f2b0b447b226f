import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { FakeChat, finish, type Reply, said, start } from '../fakes/aiSdk.ts';
import { settingsFor } from './aiSdkServer.ts';
import { pictures, type Window } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';

const CHAT = '/api/chat';
/** What the agent does with the next request. */
let answer: (reply: Reply) => void = () => {};
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
        ...settingsFor(`${server.url}${CHAT}`),
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

/** Opens the menu of a place and chooses a row of it. */
async function choose({ page }: Window, over: Locator, row: string): Promise<void> {
  const item = page.locator('.monaco-menu .action-label', { hasText: row });
  // A place that has just come may take no click yet.
  for (let attempt = 1; ; attempt += 1) {
    await over.click({ button: 'right' });
    try {
      await item.waitFor({ timeout: 5000 });
      break;
    } catch (error) {
      if (attempt === 8) throw error;
    }
  }
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

/** The rows of the menu of a place, which closes again. */
async function rowsOf({ page }: Window, over: Locator): Promise<readonly string[]> {
  await over.click({ button: 'right' });
  const rows = page.locator('.monaco-menu .action-label');
  await until(async () => {
    if ((await rows.count()) > 0) return true;
    await over.click({ button: 'right' });
    return false;
  }, 'the menu is open');
  const texts = await rows.allTextContents();
  await page.keyboard.press('Escape');
  await rows.first().waitFor({ state: 'detached' });
  return texts;
}

/** Writes this, and nothing else, behind the bracket that opens the user's own settings. */
async function inSettings(window: Window, text: string): Promise<void> {
  const { page } = window;
  await window.command('Preferences: Open User Settings (JSON)');
  await window.tab('settings.json').waitFor();
  await page.locator('.editor-instance .monaco-editor.focused .view-line').first().waitFor();
  await page.keyboard.press('Control+Home');
  await page.keyboard.press('ArrowRight');
  if (text === '') {
    await page.keyboard.press('Shift+End');
    await page.keyboard.press('Delete');
  } else await page.keyboard.insertText(text);
  await page.keyboard.press('Control+s');
  await page.locator('.tab.dirty').waitFor({ state: 'detached' });
  await window.command('View: Close Editor');
  await window.tab('settings.json').waitFor({ state: 'detached' });
}

test(
  'the entries of the menus go away with their settings and come back, and a key asks at the cursor',
  inWindow(async ({ window }) => {
    const { page } = window;
    const { write, file } = inSourceControl(window);
    const code = page.locator('.editor-instance .view-line', { hasText: 'The answer to one command' });
    await window.openFile('main.ts');
    await code.click();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('q');
    await page.locator('.review-widget').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.review-widget').waitFor({ state: 'detached' });
    const before = await rowsOf(window, code);
    assert.ok(before.includes('Parley') && before.some((row) => row.startsWith('Add File to Chat')), before.join(', '));

    const inEditor = { fix: false, explain: false, addTest: false, ask: false, addSelection: false, addFile: false };
    const failure = page.getByText('Add Test Failure to Chat');
    await failure.waitFor();
    const elsewhere = { addTestFailure: false, addChange: false, commitMessage: false };
    await inSettings(window, `"parley.editorActions": ${JSON.stringify({ ...inEditor, ...elsewhere })},`);
    await failure.waitFor({ state: 'detached' });
    await until(async () => !(await rowsOf(window, code)).some((row) => row === 'Parley' || row.startsWith('Add File to Chat')), 'none');
    await page.screenshot({ path: path.join(pictures, 'menus-off.png') });
    await showSourceControl(window);
    assert.ok(!(await rowsOf(window, file)).some((row) => row.startsWith('Add Change to Chat')));
    await write.waitFor({ state: 'detached' });

    await inSettings(window, '');
    await failure.waitFor();
    await until(async () => (await rowsOf(window, code)).includes('Parley'), 'the menu of the editor is back');
    await showSourceControl(window);
    assert.ok((await rowsOf(window, file)).some((row) => row.startsWith('Add Change to Chat')));
    await file.hover();
    await write.waitFor();
    await page.screenshot({ path: path.join(pictures, 'menus-back.png') });
  }),
);

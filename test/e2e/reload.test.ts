import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { type Scene, suite } from './suite.ts';
import { until } from './until.ts';

const inWindow = suite({ name: 'reload' });

test(
  'a reload in the middle of a turn brings the conversation back, and it goes on',
  inWindow(async ({ window, folder, running }) => {
    const { chat, pick } = window;
    await window.openChat();
    await chat.exchange('find countTags');
    await chat.say('replace "Hello" by "Welcome" in src/main.ts');
    await pick.row('Allow once').waitFor();
    const [before] = running('parley-agent');
    await window.reload();
    await window.openChat();
    await chat.turns.nth(1).waitFor();
    assert.match((await chat.turns.first().textContent()) ?? '', /countTags/);
    await chat.settled(chat.turns.nth(1));
    assert.equal(await chat.frame.locator('[data-ask]').count(), 0, 'what was asked before the reload is over');
    assert.match(readFileSync(path.join(folder, 'src/main.ts'), 'utf8'), /'Hello from/);
    assert.equal(await window.tab('proposed').count(), 0, 'the diff of what is over is closed');
    await window.pictures('reloaded');

    const turn = await chat.exchange('read TODO.md');
    assert.match((await turn.textContent()) ?? '', /npm test/);
    assert.ok(!running('parley-agent').includes(before ?? 0), 'the agent of the old window is gone');
    await window.pictures('resumed');
  }),
);

/** The texts of proposals that the editor would restore with its window. */
function backups(storage: string): readonly string[] {
  const folder = path.join(storage, '../../Backups');
  const files = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
  return files
    .filter((one) => one.isFile() && path.basename(one.parentPath) === 'parley-review')
    .map((one) => path.join(one.parentPath, one.name));
}

/** Types a note at the end of the line that the agent wants to change, in an open question. */
async function typeIntoProposal({ window }: Scene, note: string): Promise<void> {
  const { chat, diff, page, pick } = window;
  await window.openChat();
  await chat.say('replace "Hello" by "Welcome" in src/main.ts');
  await pick.row('Allow once').waitFor();
  await page.keyboard.press('Escape');
  await pick.gone();
  await diff.answers.waitFor();
  await diff.editor.locator('.editor.modified .view-line', { hasText: "'Welcome from" }).click();
  await page.keyboard.press('End');
  await page.keyboard.type(` // ${note}`);
  await chat.frame.getByText('edited by you').last().waitFor();
}

/** Waits for a text that has come back as the latest of so many untitled ones, and as nothing else. */
async function isUntitled({ window, storage }: Scene, turn: Locator, note: string, count: number): Promise<void> {
  const { chat, page } = window;
  await window.openChat();
  await window
    .tab('Untitled')
    .nth(count - 1)
    .waitFor();
  // Where the same text stood in several unsaved tabs, closing them would ask about each.
  assert.deepEqual(await page.locator('.tab.dirty').filter({ hasText: 'main.ts' }).allTextContents(), []);
  await page.locator('.editor-instance .view-line', { hasText: `// ${note}` }).waitFor();
  assert.equal(await page.locator('.monaco-dialog-box').count(), 0);
  await chat.settled(turn);
  await until(() => backups(storage).length === 0, 'the editor restores the proposal no more');
  assert.equal(await page.locator('.tab', { hasText: 'main.ts' }).count(), 0);
  assert.equal(await page.locator('.monaco-dialog-box').count(), 0);
}

test(
  'what is typed into a proposal is there after a reload, as an untitled text, and the editor asks nothing',
  inWindow(async (scene) => {
    const { window, storage } = scene;
    const turn = window.chat.turns.nth(await window.chat.turns.count());
    await typeIntoProposal(scene, 'typed by me');
    await until(() => backups(storage).some((file) => readFileSync(file, 'utf8').includes('// typed by me')), 'the text is backed up');
    await window.reload();
    await isUntitled(scene, turn, 'typed by me', 1);
    await window.pictures('typed');
  }),
);

test(
  'with auto save, too',
  inWindow(async (scene) => {
    const { window, folder, storage } = scene;
    const settings = path.join(folder, '.vscode');
    mkdirSync(settings, { recursive: true });
    writeFileSync(path.join(settings, 'settings.json'), JSON.stringify({ 'files.autoSave': 'afterDelay', 'files.autoSaveDelay': 200 }));
    const turn = window.chat.turns.nth(await window.chat.turns.count());
    await typeIntoProposal(scene, 'saved by the editor');
    const saved = path.join(storage, 'proposed');
    const texts = () => (existsSync(saved) ? readdirSync(saved) : []).map((name) => readFileSync(path.join(saved, name), 'utf8'));
    await until(() => texts().some((text) => text.includes('// saved by the editor')), 'the text is saved');
    await window.page.locator('.tab.dirty', { hasText: 'proposed' }).waitFor({ state: 'detached' });
    await window.reload();
    await isUntitled(scene, turn, 'saved by the editor', 2);
    await until(() => texts().length === 0, 'the text is not kept twice');
    rmSync(settings, { recursive: true });
  }),
);

test(
  'a rule for the session goes on over a reload, and is listed',
  inWindow(async ({ window }) => {
    const { chat, page, pick } = window;
    await window.openChat();
    const turns = await chat.turns.count();
    await chat.say('replace "Hello" by "Welcome" in src/main.ts');
    await pick.row('edits in src/').waitFor();
    await pick.readable();
    await page.keyboard.press('s');
    await pick.focusedRow('edits in src/').waitFor();
    await page.keyboard.press('Enter');
    await chat.settled(chat.turns.nth(turns));
    await window.reload();
    await window.openChat();
    await chat.turns.nth(turns).waitFor();
    // Nobody answers a question here.
    await chat.exchange('replace "Welcome" by "Good day" in src/main.ts');
    await chat.frame.locator('.call', { hasText: 'allowed by your rule' }).last().waitFor({ state: 'attached' });
    await window.command('Parley: Manage Approval Rules');
    await pick.row('Allow: edits in src/').filter({ hasText: 'For this session' }).waitFor();
    await page.keyboard.press('Escape');
    await pick.gone();
  }),
);

test(
  'a message sent before the session is back waits in sight and goes to that session, once',
  inWindow(async ({ window, running }) => {
    const { chat, page } = window;
    await window.openChat();
    const turns = await chat.turns.count();
    await chat.exchange('find countTags');
    await window.reload();
    await chat.composer.waitFor();
    const hosts = running('extensionHost');
    for (const host of hosts) process.kill(host, 'SIGSTOP');
    try {
      await chat.composer.focus();
      await page.keyboard.type('read TODO.md');
      await page.keyboard.press('Enter');
      if ((await chat.turns.count()) === 0) {
        assert.equal(await chat.frame.locator('.queue-text').textContent(), 'read TODO.md');
        // After three seconds without a session the view asks for one; the host hears of it when it goes on.
        await window.pictures('waiting');
        await page.waitForTimeout(4000);
      }
    } finally {
      for (const host of hosts) process.kill(host, 'SIGCONT');
    }
    await chat.settled(chat.turns.nth(turns + 1));
    assert.match((await chat.turns.nth(turns + 1).textContent()) ?? '', /read TODO\.md[\s\S]*npm test/);
    assert.equal(await chat.frame.locator('.queue-text').count(), 0);
    assert.equal(await chat.turns.count(), turns + 2, 'no other session has taken the view');
  }),
);

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { askingWindow, chosen, rejected, run } from './approvalKinds.ts';

// What is dangerous, cut or more than it seems: what the pick, the card and the diff say of it, and what Enter does.
const { inWindow, ask } = await askingWindow('approval-dangers');
const themes = ['dark', 'light'] as const;

const dangers: readonly (readonly [command: string, words: string])[] = [
  ['cat ../../secret', 'Reaches outside this workspace'],
  ['rm -rf src', 'Deletes files'],
  ['git reset --hard', 'Discards changes or commits'],
  ['git push --force origin main', 'Replaces or deletes history on the server'],
  ['npm publish', 'Publishes or deploys'],
  ['dd if=/dev/zero of=disk.img', 'Overwrites a file or disk'],
  ['crontab jobs', 'Changes what runs by itself or in builds'],
  ['eval "$X"', 'May run something other than it shows'],
  [`python3 -c "import os; os.remove('a')"`, 'Runs code written in the command'],
];

test(
  'what cannot be taken back is named in words, offered once only, and Enter does not allow it',
  inWindow(async (scene) => {
    const { pick, chat } = scene.window;
    for (const [at, [command, words]] of dangers.entries()) {
      const answer = ask(run(`d${at}`, command));
      await pick.title.filter({ hasText: words }).filter({ hasText: command }).waitFor();
      await pick.readable();
      await pick.focusedRow('Look first').waitFor();
      const rows = await pick.labels();
      assert.deepEqual(rows.slice(0, 3), ['Look first', 'Allow once', 'Reject'], command);
      await chat.ask(words).waitFor();
      if (at < 2) await scene.window.pictures(`dangers/${at}`, themes);
      await rejected(scene, answer);
    }
  }),
);

test(
  'Look first shows the command with nothing over it; letters there lead to the answers, and no tab stays',
  inWindow(async ({ window }) => {
    const { pick, page } = window;
    const answer = ask(run('look', 'rm -rf src'));
    await pick.focusedRow('Look first').waitFor();
    await pick.readable();
    await page.keyboard.press('Enter');
    await pick.gone();
    const text = page.locator('.editor-instance .monaco-editor.focused .view-lines', { hasText: 'rm -rf src' });
    await text.waitFor();
    await page.locator('.codelens-decoration', { hasText: 'Allow once' }).waitFor();
    await window.pictures('dangers/look', themes);
    await page.keyboard.press('a');
    await pick.focusedRow('Allow once').waitFor();
    await pick.readable();
    await page.keyboard.press('Enter');
    assert.deepEqual((await answer).result, chosen('once'));
    await page.locator('.tab', { hasText: 'Look first' }).waitFor({ state: 'detached' });
  }),
);

test(
  'the mouse answers over the text that is looked at, and the keyboard is back in the chat',
  inWindow(async ({ window }) => {
    const { pick, page, chat } = window;
    const lens = (name: string) => page.locator(`.codelens-decoration a[title^="${name}"]`);
    const script = Array.from({ length: 30 }, (_, at) => `echo step ${at}`).join('\n');
    for (const [by, command] of [
      ['Reject', 'rm -rf src'],
      ['More Answers', script],
    ] as const) {
      await chat.composer.click();
      const answer = ask(run(`mouse-${by}`, command));
      await pick.focusedRow('Look first').waitFor();
      await pick.readable();
      await page.keyboard.press('Enter');
      await pick.gone();
      await lens('Reject').waitFor();
      assert.match((await lens('Reject').getAttribute('title')) ?? '', /^Reject \(.*K X.*\)$/);
      await lens(by).click();
      if (by !== 'Reject') {
        await pick.focusedRow('Look first').waitFor();
        await pick.readable();
        await page.keyboard.press('r');
        await pick.focusedRow('Reject').waitFor();
        await page.keyboard.press('Enter');
      }
      assert.deepEqual((await answer).result, chosen('no'));
      await chat.composer.and(chat.frame.locator(':focus')).waitFor();
      await page.locator('.tab', { hasText: 'Look first' }).waitFor({ state: 'detached' });
    }
  }),
);

test(
  'the dangerous part of a long line is in the pick and on the card',
  inWindow(async (scene) => {
    const { pick, chat } = scene.window;
    const answer = ask(run('long', `echo ${'word '.repeat(300)}; rm -rf src`));
    await pick.row('; rm -rf src').waitFor();
    await pick.focusedRow('Look first').waitFor();
    await chat.ask('Deletes files').locator('.risks code', { hasText: 'rm -rf src' }).waitFor();
    await scene.window.pictures('dangers/long', themes);
    await rejected(scene, answer);
  }),
);

test(
  'a deletion and a move out of the workspace are marked',
  inWindow(async (scene) => {
    const { pick, chat } = scene.window;
    const { folder } = scene;
    const call = (toolCallId: string, kind: string, title: string, ...paths: readonly string[]) => ({
      toolCallId,
      kind,
      title,
      status: 'pending',
      locations: paths.map((one) => ({ path: one })),
    });
    const deletion = ask(call('del', 'delete', 'Delete src', path.join(folder, 'src')));
    await pick.title.filter({ hasText: 'Deletes files' }).waitFor();
    await pick.focusedRow('Look first').waitFor();
    await chat.ask('Deletes files').waitFor();
    await rejected(scene, deletion);
    const move = ask(call('move', 'move', 'Move a.txt', path.join(folder, 'a.txt'), '/elsewhere/a.txt'));
    await pick.title.filter({ hasText: 'Reaches outside this workspace' }).waitFor();
    await pick.focusedRow('Look first').waitFor();
    await rejected(scene, move);
  }),
);

test(
  'a wider scope names its folder, and an allowance over one change says how much it allows',
  inWindow(async (scene) => {
    const { pick, page, diff } = scene.window;
    const { folder } = scene;
    const edit = (id: string, ...diffs: readonly (readonly [name: string, from: string, to: string])[]) => ({
      toolCallId: id,
      kind: 'edit',
      title: 'T',
      status: 'pending',
      content: diffs.map(([name, oldText, newText]) => ({ type: 'diff', path: path.join(folder, name), oldText, newText })),
    });
    const one = ask(edit('one', ['src/main.ts', "'Hello from Tally Notes'", "'Welcome to Tally Notes'"]));
    await pick.row('Allow for this session').filter({ hasText: 'edits in src/' }).waitFor();
    await scene.window.pictures('dangers/scope', themes);
    await rejected(scene, one);
    const ten = ask(edit('ten', ...Array.from({ length: 10 }, (_, at) => [`part${at}.txt`, `old ${at}`, `new ${at}`] as const)));
    await pick.row('Allow once').waitFor();
    await diff.compared();
    await page.locator('.codelens-decoration', { hasText: 'Allow (10 files)' }).waitFor();
    await scene.window.pictures('dangers/ten', themes);
    await rejected(scene, ten);
  }),
);

test(
  'answers with one id are the user’s alone to choose',
  inWindow(async ({ window }) => {
    const { pick, page, chat } = window;
    const answer = ask(run('ids', 'npm test'), [
      { optionId: 'x', name: 'Allow', kind: 'allow_once' },
      { optionId: 'x', name: 'Reject', kind: 'reject_once' },
      { optionId: 'no', name: 'No', kind: 'reject_once' },
    ]);
    await pick.title.filter({ hasText: 'Misleading answers' }).waitFor();
    await pick.focusedRow('Look first').waitFor();
    await pick.readable();
    await page.keyboard.press('a');
    await pick.focusedRow('Look first').waitFor();
    const card = chat.ask('Misleading answers');
    await card.getByRole('button', { name: 'Allow ⚠ Allow once' }).waitFor();
    await card.getByRole('button', { name: 'Reject', exact: true }).waitFor();
    await window.pictures('dangers/ids', themes);
    await pick.answer('R');
    assert.deepEqual((await answer).result, chosen('no'));
  }),
);

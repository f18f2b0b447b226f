import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import type { JSHandle, Page } from 'playwright-core';
import { SESSION } from '../fakes/acp.ts';
import { agreeOnFirst, askingWindow, changeOf, chosen, options, rejected, run } from './approvalKinds.ts';

// Approvals that mislead, are too large, or change while they are asked: nothing is answered that was not seen.
const { agent, inWindow, ask } = await askingWindow('approval-tricks');
const themes = ['dark', 'light'] as const;

test(
  'options whose names say the opposite of their kinds: no answer has the focus, the one key ends the turn, and words give their own option',
  inWindow(async ({ window }) => {
    const { pick, page } = window;
    const answer = ask(run('1', 'npm test'), [
      { optionId: 'swapped', name: 'Reject', kind: 'allow_once' },
      { optionId: 'swapped-too', name: 'Allow', kind: 'reject_once' },
    ]);
    await pick.title.filter({ hasText: 'npm test' }).waitFor();
    await pick.readable();
    await pick.focusedRow('Look first').waitFor();
    await pick.title.filter({ hasText: 'Misleading answers' }).waitFor();
    await window.pictures('tricks/swapped', themes);
    await page.keyboard.press('r');
    await pick.focusedRow('Reject and stop the turn').waitFor();
    await page.keyboard.press('Escape');
    await pick.gone();
    await window.command('Parley: Show Pending Approvals');
    await pick.readable();
    await pick.focusedRow('Look first').waitFor();
    await page.keyboard.press('ArrowDown');
    await pick.focusedRow('Reject and stop the turn').waitFor();
    await page.keyboard.press('ArrowDown');
    await pick.focusedRow('Reject ⚠ Allow once').waitFor();
    await page.keyboard.press('ArrowDown');
    await pick.focusedRow('Allow ⚠ Reject').waitFor();
    await page.keyboard.press('Enter');
    assert.deepEqual((await answer).result, chosen('swapped-too'), 'the row in the agent’s words gives its own option');
    // The palette took the keyboard from the chat, and the editor itself never gives it back.
    await window.chat.composer.and(window.chat.frame.locator(':focus')).waitFor();
  }),
);

/** The titles that a quick-pick has from now on, the present one first. */
function titlesOf(page: Page): Promise<JSHandle<readonly string[]>> {
  return page.evaluateHandle(`(() => {
    const title = () => document.querySelector('.quick-input-widget .quick-input-title')?.textContent ?? '';
    const seen = [title()];
    const note = () => seen.at(-1) === title() || seen.push(title());
    new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true });
    return seen;
  })()`);
}

/** What the page has and these tests' types have not. */
interface Watching {
  readonly MutationObserver: new (
    seen: () => void,
  ) => { observe(node: object, what: { readonly attributes: true }): void; disconnect(): void };
}

test(
  'a key of no answer allows nothing: a refusal keeps the focus, an answer that allows loses it',
  inWindow(async (scene) => {
    const { pick, page } = scene.window;
    const stray = async () => {
      // The hint is gone for a moment only, in which keys do not count.
      await pick.input.evaluate((input) => {
        const watch = new (input.ownerDocument.defaultView as typeof globalThis & Watching).MutationObserver(() => {
          if (input.getAttribute('placeholder')) return;
          watch.disconnect();
          input.dataset.stray = 'taken';
        });
        watch.observe(input, { attributes: true });
      });
      await page.keyboard.press('x');
      await pick.box.locator('[data-stray]').waitFor({ state: 'attached' });
      await pick.input.evaluate((input) => void delete input.dataset.stray);
      await pick.readable();
    };
    const refusal = pick.focusedRow('Reject').filter({ hasNotText: 'feedback' });
    const answer = ask(run('stray', 'npm run stray'));
    await pick.title.filter({ hasText: 'npm run stray' }).waitFor();
    await pick.readable();
    await stray();
    await pick.focusedRow('').waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    await page.keyboard.press('s');
    await pick.focusedRow('Allow for this session').waitFor();
    await stray();
    await pick.focusedRow('').waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    await page.keyboard.press('r');
    await refusal.waitFor();
    // The arrow key leaves before the letter has led to its answer.
    await Promise.all([page.keyboard.press('f'), page.keyboard.press('ArrowDown')]);
    // Where it crossed the letter the wait begins anew, and a letter within it only begins it once more.
    for (let attempt = 1; (await refusal.count()) === 0; attempt += 1) {
      assert.ok(attempt <= 5, 'the key of the refusal leads to it');
      await pick.readable();
      await page.keyboard.press('r');
      await refusal.waitFor({ timeout: 3000 }).catch(() => {});
    }
    await stray();
    await refusal.waitFor();
    await page.keyboard.press('Enter');
    assert.deepEqual((await answer).result, chosen('no'));
    await pick.gone();
  }),
);

test(
  'characters that mislead are written out, and Enter only looks',
  inWindow(async (scene) => {
    const { pick, page, chat } = scene.window;
    const answer = ask(run('2', 'echo \u202esafe\u200b; rm -rf src'));
    await pick.title.filter({ hasText: 'Contains characters that mislead' }).filter({ hasText: '⟨U+202E⟩safe⟨U+200B⟩' }).waitFor();
    await pick.readable();
    await pick.focusedRow('Look first').waitFor();
    await chat.ask('Contains characters that mislead').getByText('⟨U+202E⟩').first().waitFor();
    await scene.window.pictures('tricks/hidden', themes);
    await page.keyboard.press('Enter');
    await pick.gone();
    const text = page.locator('.editor-instance .monaco-editor.focused .view-lines', { hasText: '⟨U+202E⟩safe⟨U+200B⟩' });
    await text.waitFor();
    await page.locator('.codelens-decoration', { hasText: 'Reject' }).waitFor();
    await page.keyboard.press('r');
    await rejected(scene, answer);
    await text.waitFor({ state: 'detached' });
  }),
);

test(
  'characters that mislead are written out in an answer, a path and a title, and Enter only looks',
  inWindow(async (scene) => {
    const { window, folder } = scene;
    const content = [{ type: 'diff', path: path.join(folder, 'src/\u202egnp.ts'), oldText: null, newText: 'x' }];
    const hidden = [
      { optionId: 'hidden', name: 'Re\u200bject', kind: 'allow_once' },
      { optionId: 'no', name: 'No', kind: 'reject_once' },
    ];
    const open = { toolCallId: 'page', kind: 'fetch', title: 'Open https://\u202emoc.elpmaxe', status: 'pending' };
    for (const [asked, offered, words] of [
      [{ toolCallId: 'path', kind: 'edit', title: 'T', status: 'pending', content }, hidden, '⟨U+202E⟩gnp.ts'],
      [open, options, '⟨U+202E⟩moc.elpmaxe'],
    ] as const) {
      const answer = ask(asked, offered);
      await window.pick.title.filter({ hasText: 'Contains characters that mislead' }).filter({ hasText: words }).waitFor();
      if (offered === hidden) {
        await window.pick.row('Re⟨U+200B⟩ject ⚠ Allow once').waitFor();
        await window.tab('⟨U+202E⟩gnp.ts (proposed)').waitFor();
      }
      await window.pick.readable();
      await window.pick.focusedRow('Look first').waitFor();
      await window.pictures(`tricks/hidden-${asked.toolCallId}`, themes);
      await rejected(scene, answer);
    }
  }),
);

test(
  'a character that misleads in a change is told with its place, and Enter only looks',
  inWindow(async (scene) => {
    const { window, folder } = scene;
    const newText = 'old 1\nif (admin /*\u202e } \u2066*/) {';
    const content = [{ type: 'diff', path: path.join(folder, 'part1.txt'), oldText: 'old 1', newText }];
    const answer = ask({ toolCallId: 'turned', kind: 'edit', title: 'T', status: 'pending', content });
    await window.pick.title.filter({ hasText: 'Contains characters that mislead: ⟨U+202E⟩ part1.txt:2' }).waitFor();
    await window.pick.readable();
    await window.pick.focusedRow('Look first').waitFor();
    await window.chat.ask('Contains characters that mislead: ⟨U+202E⟩ part1.txt:2').waitFor();
    await window.pictures('tricks/hidden-change', themes);
    await rejected(scene, answer);
  }),
);

test(
  'a refusal in look-alike letters or another language that allows is marked, and Enter only looks',
  inWindow(async (scene) => {
    const { pick, chat } = scene.window;
    for (const [at, name] of ['Rеject', 'Ablehnen', '拒绝'].entries()) {
      const answer = ask(run(`word-${at}`, 'npm test'), [{ optionId: 'yes', name, kind: 'allow_once' }, ...options.slice(2)]);
      await pick.title.filter({ hasText: 'Misleading answers' }).waitFor();
      await pick.readable();
      await pick.focusedRow('Look first').waitFor();
      await pick.row(`${name} ⚠ Allow once`).waitFor();
      await chat
        .ask('npm test')
        .getByRole('button', { name: `${name} ⚠ Allow once` })
        .waitFor();
      await scene.window.pictures(`tricks/word-${at}`, ['dark']);
      await rejected(scene, answer);
    }
  }),
);

test(
  'a changed line that is longer than a row stands whole in the rows',
  inWindow(async (scene) => {
    const { window, folder } = scene;
    const newText = `old 1 ${'and more '.repeat(12)}then the end`;
    const content = [{ type: 'diff', path: path.join(folder, 'part1.txt'), oldText: 'old 1', newText }];
    const answer = ask({ toolCallId: 'wide', kind: 'edit', title: 'T', status: 'pending', content });
    await window.pick.title.filter({ hasText: 'part1.txt' }).waitFor();
    await window.pick.row('then the end').waitFor();
    await window.pictures('tricks/wide', ['dark']);
    await rejected(scene, answer);
  }),
);

test(
  'a name and an address as long as a line wrap in the title, which cuts nothing',
  inWindow(async (scene) => {
    const { window, folder } = scene;
    const name = `${'packages/notes-of-the-day/'.repeat(6)}store.ts`;
    const content = [{ type: 'diff', path: path.join(folder, name), oldText: null, newText: 'x' }];
    for (const [asked, end] of [
      [{ toolCallId: 'name', kind: 'edit', title: 'T', status: 'pending', content }, 'store.ts (+1 −0)'],
      [run('address', `npm run open http://127.0.0.1/${'a'.repeat(100)}.last`), '.last'],
    ] as const) {
      const answer = ask(asked);
      const title = window.pick.title.filter({ hasText: end });
      await title.waitFor();
      assert.ok(await title.evaluate((box) => box.scrollWidth <= box.clientWidth));
      await window.pictures(`tricks/wraps-${asked.toolCallId}`, themes);
      await rejected(scene, answer);
    }
  }),
);

test(
  'a title that differs from the command is not what is asked',
  inWindow(async (scene) => {
    const { pick, chat } = scene.window;
    const answer = ask({ ...run('3', 'rm -rf src'), title: 'List the files' });
    await pick.title.filter({ hasText: 'rm -rf src' }).waitFor();
    assert.equal(await pick.title.filter({ hasText: 'List the files' }).count(), 0);
    assert.equal(await chat.ask('rm -rf src').getByText('List the files').count(), 0);
    await scene.window.pictures('tricks/title', themes);
    await rejected(scene, answer);
  }),
);

test(
  'a title of a megabyte and 200 options leave the answers in sight',
  inWindow(async (scene) => {
    const { pick, chat } = scene.window;
    const many = Array.from({ length: 197 }, (_, at) => ({
      optionId: `more-${at}`,
      name: `Option ${at} `.repeat(20),
      kind: 'allow_always',
    }));
    const answer = ask({ ...run('4', ''), kind: 'fetch', title: 'word '.repeat(200_000), rawInput: { q: 1 } }, [...many, ...options]);
    await pick.title.filter({ hasText: 'word word' }).waitFor();
    await pick.row('Allow once').waitFor();
    await pick.readable();
    await pick.focusedRow('Look first').waitFor();
    const card = chat.frame.locator('[data-ask]').first();
    await card.getByRole('button', { name: 'Reject', exact: true }).waitFor();
    assert.deepEqual(await chat.outOfSight(card), []);
    await agreeOnFirst(scene);
    // Each card then says which of the two it is.
    const second = ask({ ...run('4b', ''), kind: 'fetch', title: 'next '.repeat(200_000), rawInput: { q: 1 } }, options);
    await card.getByText('1 of 2').waitFor();
    assert.deepEqual(await chat.outOfSight(card), []);
    await scene.window.pictures('tricks/large', themes);
    await pick.answer('R');
    assert.deepEqual((await answer).result, chosen('no'));
    await pick.title.filter({ hasText: 'next next' }).waitFor();
    await scene.window.pictures('tricks/large-second', themes);
    assert.deepEqual(await chat.outOfSight(chat.frame.locator('[data-ask]').first()), []);
    await rejected(scene, second);
  }),
);

test(
  'an Enter as a request is taken back does not answer what stands in its place',
  inWindow(async (scene) => {
    const { pick, page } = scene.window;
    const first = agent.ask(
      'session/request_permission',
      { sessionId: SESSION, toolCall: run('5', 'npm run first'), options },
      'taken-back',
    );
    await pick.title.filter({ hasText: 'npm run first' }).waitFor();
    await pick.readable();
    agent.send({ jsonrpc: '2.0', method: '$/cancel_request', params: { requestId: 'taken-back' } });
    const second = ask(run('6', 'npm run second'));
    await page.keyboard.press('Enter');
    await pick.title.filter({ hasText: 'npm run second' }).waitFor();
    await first;
    await rejected(scene, second);
  }),
);

test(
  'an Enter as a request becomes another one answers what was on the screen, or nothing',
  inWindow(async (scene) => {
    const { pick, page } = scene.window;
    for (let attempt = 1; ; attempt += 1) {
      assert.ok(attempt <= 5, 'the change comes before the key at last');
      const titles = await titlesOf(page);
      const id = `becomes ${attempt}`;
      const answer = ask(run(id, 'npm run second'));
      await pick.title.filter({ hasText: 'npm run second' }).waitFor();
      await pick.readable();
      agent.update({ sessionUpdate: 'tool_call_update', toolCallId: id, rawInput: { command: 'npm run third' } });
      await page.keyboard.press('Enter');
      const third = pick.title.filter({ hasText: 'npm run third' });
      // Both are on their way: a key that comes first answers what is there.
      const first = await Promise.race([answer, third.waitFor().then(() => undefined)]);
      if (!first) return rejected(scene, answer);
      assert.deepEqual(first.result, chosen('once'));
      await pick.gone();
      // The wire does not tell which of the two was meant: one that had become the other before the key would have shown it.
      const shown = await titles.evaluate((all) => all);
      assert.ok(shown.includes('Run in terminal: npm run second'), shown.join(' | '));
      assert.ok(!shown.some((title) => title.includes('npm run third')), 'what had changed was answered by a key meant for what it was');
    }
  }),
);

test(
  'an answer in the diff leaves the keyboard in the file behind it, where it was',
  inWindow(async ({ window, folder }) => {
    const { pick, page, diff } = window;
    await window.openFile('long.txt');
    await page.locator('.editor-instance .monaco-editor.focused').waitFor();
    await page.keyboard.press('Control+Home');
    await page.keyboard.press('ArrowDown');
    await window.cursor(2).waitFor();
    const answer = ask(changeOf(14).request(folder));
    await pick.title.filter({ hasText: 'long.txt' }).waitFor();
    await pick.readable();
    await diff.compared();
    await page.keyboard.press('Escape');
    await pick.gone();
    // Esc leads back to the file.
    await page.locator('.tab.active:not(:has-text("proposed"))').waitFor();
    await window.tab('proposed').click();
    await diff.answers.waitFor();
    await diff.editor.locator('.editor.modified .view-line', { hasText: '// changed' }).click();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('x');
    assert.deepEqual((await answer).result, chosen('no'));
    await diff.editor.waitFor({ state: 'detached' });
    await page.locator('.editor-instance .monaco-editor.focused').waitFor();
    await page.keyboard.press('ArrowDown');
    await window.cursor(3).waitFor();
  }),
);

test(
  'of two answers at once the agent gets one',
  inWindow(async (scene) => {
    const { pick, page, chat } = scene.window;
    const answer = ask(run('7', 'npm run both'));
    await pick.title.filter({ hasText: 'npm run both' }).waitFor();
    await pick.readable();
    const reject = chat.ask('npm run both').getByRole('button', { name: 'Reject', exact: true });
    await reject.waitFor();
    await Promise.all([page.keyboard.press('Enter'), reject.click({ timeout: 2000 }).catch(() => {})]);
    const { result } = await answer;
    assert.ok(
      [chosen('once'), chosen('no')].some((one) => JSON.stringify(one) === JSON.stringify(result)),
      JSON.stringify(result),
    );
    await chat.ask('npm run both').waitFor({ state: 'detached' });
    assert.deepEqual(
      agent.problems.filter((one) => one.includes('an answer to nothing')),
      [],
    );
  }),
);

test(
  'a command of half a million letters in two directions is asked about at once, with its end',
  inWindow(async (scene) => {
    const { pick, chat, page } = scene.window;
    const answer = ask(run('long', `${'א😀'.repeat(250_000)}; rm -rf x`));
    await pick.title.filter({ hasText: 'Deletes files · May run something other than it shows: 750010 characters' }).waitFor();
    await pick.row('; rm -rf x').waitFor();
    await pick.readable();
    await pick.focusedRow('Look first').waitFor();
    await chat.ask('750010 characters').locator('.risks', { hasText: '; rm -rf x' }).waitFor();
    await scene.window.pictures('tricks/long', ['dark']);
    await page.keyboard.press('Enter');
    await pick.gone();
    await page.locator('.editor-instance .monaco-editor.focused .view-line', { hasText: 'rm -rf x' }).waitFor();
    await page.locator('.codelens-decoration', { hasText: 'Reject' }).filter({ visible: true }).first().waitFor();
    await page.keyboard.press('r');
    await rejected(scene, answer);
  }),
);

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { SESSION } from '../fakes/acp.ts';
import { askingWindow, changeOf, chosen, options, run } from './approvalKinds.ts';
import type { Scene } from './suite.ts';

// After an edit was answered, or taken back, the keyboard is where it was before the question came, although its diff came up and closed.
const { agent, inWindow } = await askingWindow('approval-keyboard');
const change = changeOf(14);

type Window = Scene['window'];
interface Place {
  readonly name: string;
  /** Puts the keyboard there. */
  readonly enter: (window: Window) => Promise<void>;
  /** What has the keyboard then, and after the answer. */
  readonly focused: (window: Window) => Locator;
}

const focusedEditor = ({ page }: Window) => page.locator('.editor-instance:not(:has(.monaco-diff-editor)) .monaco-editor.focused');
const file: Place = {
  name: 'a file',
  enter: async (window) => {
    await window.openFile('main.ts');
    await focusedEditor(window).waitFor();
    await window.page.keyboard.press('Control+Home');
    await window.page.keyboard.press('ArrowDown');
    await window.cursor(2).waitFor();
  },
  focused: focusedEditor,
};
const list: Place = {
  name: 'the list of files',
  enter: (window) => window.command('File: Focus on Files Explorer'),
  focused: ({ page }) => page.locator('.explorer-folders-view .monaco-list:focus'),
};
const terminal: Place = {
  name: 'a terminal',
  enter: (window) => window.command('Terminal: Focus Terminal'),
  focused: ({ page }) => page.locator('.terminal-wrapper .xterm.focus'),
};
const composer: Place = {
  name: 'the composer',
  enter: async (window) => {
    await window.openChat();
    await window.chat.composer.click();
  },
  focused: ({ chat }) => chat.composer.and(chat.frame.locator(':focus')),
};

async function press({ page }: Window, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

interface Way {
  readonly name: string;
  readonly option: string;
  readonly give: (window: Window) => Promise<void>;
}
const allowed: Way = { name: 'allowed', option: 'once', give: (window) => press(window, 'Enter') };
const ways: readonly Way[] = [
  allowed,
  { name: 'rejected', option: 'no', give: (window) => press(window, 'r', 'Enter') },
  {
    name: 'rejected with feedback',
    option: 'no',
    give: async (window) => {
      await press(window, 'f', 'Enter');
      await window.pick.box.getByText('What should the agent do instead?').waitFor();
      await window.pick.type('leave it');
      await press(window, 'Enter');
    },
  },
  {
    name: 'allowed by a new rule',
    option: 'once',
    give: async (window) => {
      await press(window, 'w', 'Enter');
      await window.pick.title.filter({ hasText: 'Always allow…' }).waitFor();
      await window.pick.focusedRow('long.txt').waitFor();
      await press(window, 'Enter');
      await window.pick.focusedRow('For this session').waitFor();
      await press(window, 'Enter');
    },
  },
];

/** Asks about the edit until its pick can be answered. */
async function asks({ window, folder }: Scene, id: string) {
  const toolCall = { ...change.request(folder), toolCallId: id };
  const answer = agent.ask('session/request_permission', { sessionId: SESSION, toolCall, options }, id);
  await window.pick.title.filter({ hasText: change.title }).waitFor();
  await window.diff.compared();
  await window.pick.readable();
  return { answer };
}

async function asksToRun({ window: { pick } }: Scene, id: string) {
  const answer = agent.ask('session/request_permission', { sessionId: SESSION, toolCall: run(id, 'npm test'), options }, id);
  await pick.title.filter({ hasText: 'Run in terminal' }).waitFor();
  await pick.readable();
  return { answer };
}

for (const place of [file, list])
  test(
    `Esc leaves the keyboard of ${place.name} out of the proposal`,
    inWindow(async (scene) => {
      const { window } = scene;
      const { page, pick, diff } = window;
      await place.enter(window);
      const { answer } = await asks(scene, `set aside ${place.name}`);
      await press(window, 'Escape');
      await pick.gone();
      await place.focused(window).waitFor();
      assert.equal(await diff.editor.locator(':focus').count(), 0);
      // A tab of the proposal is still there.
      await window.statusItem('1 waiting').click();
      await pick.title.filter({ hasText: change.title }).waitFor();
      await pick.answer('R');
      assert.deepEqual((await answer).result, chosen('no'));
      await diff.editor.waitFor({ state: 'detached' });
      await pick.gone();
      assert.equal(await page.locator('.tab.dirty').count(), 0);
    }),
  );

test(
  'Esc with nothing else open leads to the composer, out of the proposal',
  inWindow(async (scene) => {
    const { window } = scene;
    const { chat, page, pick, diff } = window;
    await window.openChat();
    await window.closeEditors();
    const nothing = page.locator('.editor-group-container.empty');
    await nothing.click();
    await nothing.and(page.locator(':focus')).waitFor();
    const { answer } = await asks(scene, 'nothing else open');
    await press(window, 'Escape');
    await pick.gone();
    await composer.focused(window).waitFor();
    await page.keyboard.type('next');
    assert.equal(await chat.composer.inputValue(), 'next');
    await press(window, 'Control+a', 'Delete');
    await chat.ask('long.txt').getByRole('button', { name: 'Reject', exact: true }).click();
    assert.deepEqual((await answer).result, chosen('no'));
    await diff.editor.waitFor({ state: 'detached' });
  }),
);

for (const place of [file, list])
  test(
    `an edit that the agent takes back leaves the keyboard in ${place.name}`,
    inWindow(async (scene) => {
      const { window } = scene;
      await place.enter(window);
      await place.focused(window).waitFor();
      const { answer } = await asks(scene, `taken back ${place.name}`);
      agent.send({ jsonrpc: '2.0', method: '$/cancel_request', params: { requestId: `taken back ${place.name}` } });
      await answer;
      await window.diff.editor.waitFor({ state: 'detached' });
      await window.pick.gone();
      await place.focused(window).waitFor();
    }),
  );

test(
  'a letter moves the focus, and no row',
  inWindow(async (scene) => {
    const { page, pick } = scene.window;
    const { answer } = await asks(scene, 'letters');
    await page.evaluate(`
      const list = document.querySelector('.quick-input-list');
      const rows = () => [...list.querySelectorAll('.monaco-list-row')].sort((a, b) => a.dataset.index - b.dataset.index).slice(0, 5).map((row) => row.ariaLabel).join();
      window.orders = new Set([rows()]);
      new MutationObserver(() => list.querySelector('.monaco-list-row') && window.orders.add(rows())).observe(list, { subtree: true, childList: true, attributes: true });
    `);
    for (const [letter, row] of Object.entries({ s: 'Allow for this session', r: 'Reject', w: 'Always allow…', a: 'Allow once' })) {
      await page.keyboard.press(letter);
      await pick.focusedRow(row).waitFor();
    }
    assert.deepEqual(await page.evaluate('[...window.orders].length'), 1, String(await page.evaluate('[...window.orders].join(" | ")')));
    await press(scene.window, 'Enter');
    assert.deepEqual((await answer).result, chosen('once'));
    await pick.gone();
  }),
);

// These come before the rule that is made below, which allows the same edit.
/** Each answers with keys that follow each other without a pause. */
const typedOn: readonly (readonly [string, string, (scene: Scene) => Promise<unknown>])[] = [
  ['a command that is allowed', 'once', ({ window }) => press(window, 'Enter')],
  ['an edit that is allowed', 'once', ({ window }) => press(window, 'Enter')],
  ['a command that is rejected with feedback', 'no', ({ window }) => ways[2]?.give(window) ?? assert.fail()],
];
for (const [name, option, give] of typedOn)
  test(
    `what is typed at once after ${name} is in no file`,
    inWindow(async (scene) => {
      const { window } = scene;
      const { chat, page, pick, diff } = window;
      await file.enter(window);
      // More than once: the keys must not meet a moment in which a file has the keyboard.
      for (let time = 1; time <= 4; time += 1) {
        await composer.enter(window);
        await composer.focused(window).waitFor();
        const id = `${name} ${time}`;
        const { answer } = await (name.includes('edit') ? asks(scene, id) : asksToRun(scene, id));
        await give(scene);
        await page.keyboard.type('typed at once after the answer, and on and on and on and on and on and on');
        assert.deepEqual((await answer).result, chosen(option));
        await pick.gone();
        await diff.editor.waitFor({ state: 'detached' });
        await composer.focused(window).waitFor();
        assert.equal(await page.locator('.tab.dirty').count(), 0);
        await chat.composer.fill('');
      }
    }),
  );

test(
  'keys that are early for the next question are in neither a file nor an answer',
  inWindow(async (scene) => {
    const { window } = scene;
    const { page, pick } = window;
    await file.enter(window);
    // More than once: the keys must not meet a moment in which the file has the keyboard.
    for (let time = 1; time <= 4; time += 1) {
      const first = await asksToRun(scene, `early ${time}`);
      const request = { sessionId: SESSION, toolCall: run(`early ${time}, next`, 'npm run next'), options };
      const second = first.answer.then(() => agent.ask('session/request_permission', request));
      await press(window, 'Enter', 'a', 'Enter', 'a', 'Enter');
      assert.deepEqual((await first.answer).result, chosen('once'));
      await pick.title.filter({ hasText: 'npm run next' }).waitFor();
      await pick.readable();
      await press(window, 'r');
      await pick.focusedRow('Reject').waitFor();
      await press(window, 'Enter', 'a', 'Enter');
      assert.deepEqual((await second).result, chosen('no'));
      await pick.gone();
      await file.focused(window).waitFor();
      assert.equal(await page.locator('.tab.dirty').count(), 0);
    }
  }),
);

test(
  'a view that is opened at once after an answer keeps the keyboard',
  inWindow(async (scene) => {
    const { window } = scene;
    await file.enter(window);
    const { answer } = await asksToRun(scene, 'view after an answer');
    await press(window, 'Enter', 'Control+Shift+E');
    assert.deepEqual((await answer).result, chosen('once'));
    await list.focused(window).waitFor();
    await window.pick.gone();
    await press(window, 'ArrowDown');
    await list.focused(window).waitFor();
  }),
);

/** Each gives the answer with the keyboard in the diff. */
const inDiff: readonly Way[] = [
  { name: 'accepted', option: 'once', give: (window) => press(window, 'Control+k', 'a') },
  { name: 'rejected', option: 'no', give: (window) => press(window, 'Control+k', 'x') },
  {
    name: 'rejected with words',
    option: 'no',
    give: async (window) => {
      await press(window, 'Control+k', 'Shift+X');
      await window.pick.type('ask first');
      await press(window, 'Enter');
    },
  },
  {
    name: 'rejected by its letter',
    option: 'no',
    give: async (window) => {
      // Set aside, the answers leave the keyboard in the side that cannot be edited.
      await press(window, 'r');
      await window.pick.focusedRow('Reject').waitFor();
      await press(window, 'Escape');
      await window.pick.gone();
      await window.diff.editor.locator('.editor.original :focus').waitFor({ state: 'attached' });
      await press(window, 'r');
      await window.pick.focusedRow('Reject').waitFor();
      await window.pick.readable();
      await press(window, 'Enter');
    },
  },
];
for (const way of inDiff)
  test(
    `an edit that is ${way.name} in its diff, with no other editor open, leaves the keyboard in the composer`,
    inWindow(async (scene) => {
      const { window } = scene;
      await window.openChat();
      await window.closeEditors();
      await list.enter(window);
      await list.focused(window).waitFor();
      const { answer } = await asks(scene, `in the diff ${way.name}`);
      await press(window, 'Escape');
      await window.pick.gone();
      await list.focused(window).waitFor();
      await window.diff.editor.locator('.editor.original .view-line').first().click();
      await way.give(window);
      assert.deepEqual((await answer).result, chosen(way.option));
      await window.diff.editor.waitFor({ state: 'detached' });
      await composer.focused(window).waitFor();
      await window.page.keyboard.type('next');
      assert.equal(await window.chat.composer.inputValue(), 'next');
      await press(window, 'Control+a', 'Delete');
    }),
  );

for (const place of [composer, file, list, terminal])
  for (const [title, option] of [
    ['Parley: Accept All Pending Approvals', 'once'],
    ['Parley: Reject All Pending Approvals', 'no'],
  ] as const)
    test(
      `${title} leaves the keyboard in ${place.name}`,
      inWindow(async (scene) => {
        const { window } = scene;
        await place.enter(window);
        await place.focused(window).waitFor();
        const first = await asks(scene, `${title} ${place.name}`);
        const second = agent.ask('session/request_permission', {
          sessionId: SESSION,
          toolCall: run(`beside ${title} ${place.name}`, 'npm test'),
          options,
        });
        await window.statusItem('2 waiting').waitFor();
        await window.command(title);
        assert.deepEqual((await first.answer).result, chosen(option));
        assert.deepEqual((await second).result, chosen(option));
        await window.diff.editor.waitFor({ state: 'detached' });
        await window.pick.gone();
        await place.focused(window).waitFor();
      }),
    );

test(
  'the list of rules, found in the palette and left by Esc, leaves the keyboard in the composer',
  inWindow(async ({ window }) => {
    await composer.enter(window);
    await window.command('Parley: Manage Approval Rules');
    await window.pick.row('Try a command').waitFor();
    await press(window, 'Escape');
    await window.pick.gone();
    await composer.focused(window).waitFor();
  }),
);

for (const [place, way] of [
  ...[list, terminal, composer].map((one) => [one, allowed] as const),
  ...ways.map((one) => [file, one] as const),
])
  test(
    `an edit that is ${way.name} leaves the keyboard in ${place.name}`,
    inWindow(async (scene) => {
      const { window } = scene;
      await place.enter(window);
      await place.focused(window).waitFor();
      const { answer } = await asks(scene, `${way.name} ${place.name}`);
      await way.give(window);
      assert.deepEqual((await answer).result, chosen(way.option));
      await window.diff.editor.waitFor({ state: 'detached' });
      await place.focused(window).waitFor();
    }),
  );

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { FakeChat, finish, said, start } from '../fakes/aiSdk.ts';
import { settingsFor } from './aiSdkServer.ts';
import { pictures, type Window } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';

const CHAT = '/api/chat';
let server: FakeChat;
const inWindow = suite({
  name: 'mentions',
  settings: { 'terminal.integrated.defaultProfile.linux': 'bash' },
  prepare: async () => {
    server = new FakeChat({ [CHAT]: (reply) => reply.all(start(), ...said('Seen.'), finish()) });
    await server.start();
    const { 'parley.agents': agents } = settingsFor(`${server.url}${CHAT}`);
    const args = [path.resolve('dist/parley-agent.js'), '--protocol', 'acp'];
    // Over ACP no agent takes back what was said.
    const forgetful = { id: 'acp', name: 'Onward', protocol: 'acp', command: process.execPath, args };
    return {
      machineSettings: { 'parley.agents': [...agents, forgetful], 'parley.defaultAgent': 'server' },
      agents: 'parley-agent',
      end: () => server.stop(),
    };
  },
});

/** Runs a command in the terminal and waits until the shell is ready for the next one. */
async function run({ page }: Window, command: string): Promise<void> {
  const done = page.locator('.terminal-command-decoration:not(.default-color)');
  const before = await done.count();
  await page.keyboard.type(command);
  await page.keyboard.press('Enter');
  await until(async () => (await done.count()) > before, `${command} has ended`);
}

/** What of the terminal the agent is given with the next message. */
async function attached({ chat, page }: Window): Promise<string> {
  await chat.composer.click();
  await chat.composer.pressSequentially('@term');
  await chat.menu.filter({ hasText: 'Terminal' }).first().waitFor();
  await chat.composer.press('Enter');
  await chat.frame.locator('.attachments').waitFor();
  const name = chat.frame.locator('.attachment-name');
  await name.click();
  const text = await chat.frame.locator('pre.preview').textContent();
  await page.screenshot({ path: path.join(pictures, 'mentions-terminal.png') });
  await chat.frame.locator('.attachment .icon-button').click();
  return text ?? '';
}

test(
  'the last command of the terminal is attached with its whole output, however short it ran',
  inWindow(async ({ window }) => {
    const { page } = window;
    await window.openChat();
    await window.command('Terminal: Create New Terminal');
    await page.locator('.terminal-wrapper.active .xterm-rows').waitFor();
    await page.locator('.xterm-helper-textarea').first().and(page.locator(':focus')).waitFor();
    await page.locator('.terminal-command-decoration').first().waitFor();
    for (const [command, output] of [
      ['echo hi', '$ echo hi\nhi\nexit 0'],
      ['false', '$ false\nexit 1'],
      ['seq 1 5', '$ seq 1 5\n1\n2\n3\n4\n5\nexit 0'],
      ['echo hi', '$ echo hi\nhi\nexit 0'],
    ] as const) {
      await window.command('Terminal: Focus Terminal');
      await page.locator('.xterm-helper-textarea').first().and(page.locator(':focus')).waitFor();
      await run(window, command);
      assert.equal(await attached(window), output);
    }
  }),
);

test(
  'a file that is picked stands in the message once, as a chip, and the message is in the history of the next session',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await window.openChat();
    await chat.composer.fill('');
    await chat.composer.pressSequentially('What is in @main.ts');
    await chat.menu.filter({ hasText: 'src/main.ts' }).first().waitFor();
    await chat.composer.press('Enter');
    await chat.composer.pressSequentially('and @notes');
    await chat.menu.filter({ hasText: 'notes.txt' }).first().waitFor();
    await chat.composer.press('Enter');
    const text = 'What is in @src/main.ts and @notes.txt';
    assert.equal(await chat.composer.inputValue(), `${text} `);
    assert.deepEqual(await chat.frame.locator('.composer-marks mark').allTextContents(), ['@src/main.ts', '@notes.txt']);
    assert.equal(await chat.frame.locator('.attachment').count(), 0, 'said where it stands, and nowhere else');
    await window.pictures('mentions-composer', ['dark', 'light', 'contrast', 'contrastLight']);
    await chat.composer.press('Enter');
    await chat.settled(chat.lastTurn);
    assert.equal(await chat.lastTurn.locator('.prompt .chip').count(), 0);
    await window.pictures('mentions-sent', ['dark', 'light', 'contrast', 'contrastLight']);
    await chat.lastTurn.locator('.mention', { hasText: 'main.ts' }).click();
    await window.tab('main.ts').waitFor();
    const given = server.bodies(CHAT).at(-1)?.messages.at(-1);
    assert.match(JSON.stringify(given), /Welcome from|main\.ts/);

    await window.command('Parley: New Session');
    await chat.frame.locator('.turn').first().waitFor({ state: 'detached' });
    await chat.composer.press('ArrowUp');
    assert.equal(await chat.composer.inputValue(), text);
    await chat.composer.fill('');
    await page.locator('.tab.active').waitFor();
  }),
);

test(
  'a folder that a message names is a chip that shows it in the explorer',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await chat.composer.fill('');
    await chat.composer.pressSequentially('List @src');
    await chat.frame.locator('[role=option]:has(.icon-folder)').first().click();
    await chat.composer.press('Enter');
    await chat.settled(chat.lastTurn);
    await window.pictures('mentions-folder');
    await chat.lastTurn.locator('.mention', { hasText: '@src/' }).click();
    await page.locator('.explorer-folders-view .monaco-list-row.selected', { hasText: 'src' }).waitFor();
    await window.openChat();
  }),
);

test(
  'an agent that cannot go back is said to, before an earlier message is sent again',
  inWindow(async ({ window }) => {
    const { chat, pick } = window;
    await window.command('Parley: New Session with Agent');
    await pick.choose('Onward');
    await chat.frame.locator('.pill', { hasText: 'Onward' }).waitFor();
    const turn = await chat.exchange('read notes.txt');
    const edit = async () => {
      await turn.hover();
      await turn.getByRole('button', { name: 'Edit Message and Send It Again' }).click();
      await chat.frame.locator('.editing', { hasText: 'This agent cannot go back' }).waitFor();
      assert.equal(await chat.composer.inputValue(), 'read notes.txt');
    };
    await chat.composer.fill('a draft');
    await edit();
    await window.pictures('mentions-cannot-go-back');
    await chat.composer.press('Escape');
    await chat.frame.locator('.editing').waitFor({ state: 'detached' });
    assert.equal(await chat.composer.inputValue(), 'a draft');
    await edit();
    await chat.composer.press('Enter');
    await chat.turns.nth(1).waitFor();
    await chat.frame.locator('.editing').waitFor({ state: 'detached' });
    assert.equal(await chat.composer.inputValue(), 'a draft');
    await chat.composer.fill('');
  }),
);

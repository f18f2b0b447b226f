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
    return {
      machineSettings: { ...settingsFor(`${server.url}${CHAT}`), 'parley.defaultAgent': 'server' },
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

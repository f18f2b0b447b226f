import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';
import { suite } from './suite.ts';

// The envelope dialect of Qwen's structured I/O, as a user meets it in the workbench.
const place = mkdtempSync(path.join(tmpdir(), 'parley-envelope-'));
const fake = path.join(place, 'envelopePeer.mjs');
await build({ entryPoints: ['test/fakes/envelope.ts'], bundle: true, platform: 'node', format: 'esm', outfile: fake, logLevel: 'warning' });
const options = { dialect: 'envelope', heartbeatSeconds: '1', timeoutSeconds: '3' };
const inWindow = suite({
  name: 'qwen-envelope',
  prepare: async () => ({
    machineSettings: {
      'parley.agents': [{ id: 'peer', name: 'Envelope', protocol: 'qwen', command: process.execPath, args: [fake], options }],
      'parley.defaultAgent': 'peer',
    },
    agents: 'envelopePeer.mjs',
    end: async () => rmSync(place, { recursive: true, force: true }),
  }),
});

test(
  'cards are called after what they show; what waits stands on its card, and Stop ends it',
  inWindow(async ({ window }) => {
    const { chat } = window;
    await window.openChat();
    const shown = await chat.exchange('show');
    await shown.getByText('finder: Look around').waitFor();
    await shown.getByText('green', { exact: true }).waitFor();
    await window.pictures('envelope-cards');
    await chat.say('wait');
    await chat.call('rm -rf build').locator('.call-body').getByText('rm -rf build').waitFor();
    await chat.stop.click();
    await chat.settled(chat.lastTurn);
    await chat.lastTurn.getByText('Stopped').first().waitFor();
  }),
);

test(
  'the agent suggests while one types: looking, found, or why not',
  inWindow(async ({ window }) => {
    const { chat } = window;
    await chat.composer.click();
    await chat.composer.pressSequentially('see @from');
    await chat.frame.getByText('Looking at the files').first().waitFor();
    await chat.menu.filter({ hasText: 'from the agent' }).waitFor();
    await chat.composer.press('Escape');
    await chat.composer.fill('');
    await chat.composer.pressSequentially('@broken');
    await chat.frame.getByText('The index is broken.').first().waitFor();
    await chat.composer.press('Escape');
    await chat.composer.fill('');
  }),
);

test(
  'one of our tools that comes as an ordinary call opens the file and is answered',
  inWindow(async ({ window }) => {
    await window.chat.exchange('open');
    await window.tab('package.json').waitFor();
    await window.chat.lastTurn.getByText('It is open.').waitFor();
  }),
);

test(
  'an agent that is not heard any more is started again, and nothing that was said is lost',
  inWindow(async ({ window }) => {
    const { chat } = window;
    await chat.say('deaf');
    await chat.frame.getByText('The agent does not answer.').first().waitFor();
    await chat.lastTurn.getByText('The agent does not answer.').first().waitFor();
    await chat.lastTurn.getByText('I hear nothing any more.').waitFor();
    const next = await chat.exchange('hello again');
    await next.getByText('You said hello again.').waitFor();
    // What is left is the end of the turn; the notice is gone.
    await chat.frame.getByText('The agent does not answer.').nth(1).waitFor({ state: 'hidden' });
  }),
);

test(
  'a command brings an earlier conversation back, and one ends the session after a question',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await chat.say('/history');
    await chat.lastTurn.getByText('An old answer.').waitFor();
    await chat.frame.getByText('You said hello again.').waitFor({ state: 'detached' });
    await chat.say('/quit');
    await chat.ask('End this session?').waitFor();
    await page.keyboard.press('Escape');
    await chat.ask('End this session?').getByRole('button', { name: 'Yes' }).click();
    await chat.frame.getByText('The agent was stopped.').first().waitFor();
    await chat.frame.getByText('Restart Agent').waitFor();
  }),
);

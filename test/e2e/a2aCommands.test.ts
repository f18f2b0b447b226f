import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FakeAgent, fakeAgent, over, status, task, text } from '../fakes/a2a.ts';
import { suite } from './suite.ts';

let agent: FakeAgent | undefined;
const add = {
  name: 'add',
  description: 'Keeps a fact',
  arguments: [{ name: 'fact', description: 'What to keep', is_required: true }],
  sub_commands: [],
};
const show = { name: 'show', description: 'Shows what is kept', arguments: [], sub_commands: [] };

const inWindow = suite({
  name: 'a2a-commands',
  prepare: async () => {
    const undo: (() => unknown)[] = [];
    agent = await fakeAgent(
      { after: (done) => void undo.push(done as () => unknown) },
      {
        on: {
          'commands/get': (_, reply) =>
            reply.json({ commands: [{ name: 'memory', description: 'Memory', arguments: [], sub_commands: [add, show] }] }),
          'command/execute': ({ params }, reply) => {
            reply.record({ execution_id: 't1', status: 'STARTED', message: '' });
            reply.record(task('working'));
            reply.record(status('working', 'TEXT_CONTENT', [text(`Ran ${JSON.stringify(params)}`)]));
            reply.record(over());
            reply.end();
          },
        },
      },
    );
    return {
      machineSettings: {
        'parley.agents': [{ id: 'scripted', name: 'Scripted', protocol: 'a2a', url: agent.url }],
        'parley.defaultAgent': 'scripted',
      },
      agents: 'nothing is started',
      end: async () => {
        for (const done of undo) await done();
      },
    };
  },
});

const ran = () => agent?.requests('command/execute').map((one) => one.params);

test(
  'a command below another is in the chat’s menu, and what it needs is asked for',
  inWindow(async ({ window }) => {
    const { chat, pick, page } = window;
    await window.openChat();
    await chat.composer.click();
    await chat.composer.pressSequentially('/memory a');
    await chat.menu.filter({ hasText: 'Keeps a fact' }).waitFor();
    await window.pictures('a2a-menu');
    await chat.composer.press('Enter');
    assert.match(await chat.composer.inputValue(), /^\/memory add/);
    await chat.composer.press('Enter');
    await pick.title.filter({ hasText: '/memory add needs more' }).waitFor();
    await pick.input.fill('buy milk');
    await page.keyboard.press('Enter');
    await chat.settled(chat.lastTurn);
    assert.deepEqual(ran(), [{ command_path: ['memory', 'add'], args: 'buy milk' }]);
  }),
);

test(
  'it is in the palette, too, and Esc at its question runs nothing',
  inWindow(async ({ window }) => {
    const { chat, pick, page } = window;
    await window.command('Parley: Run Slash Command');
    await pick.row('/memory show').waitFor();
    await pick.input.fill('memory add');
    await pick.choose('/memory add');
    await pick.row('/memory add').waitFor({ state: 'hidden' });
    await pick.input.fill('eggs');
    await page.keyboard.press('Enter');
    await chat.turns.nth(1).waitFor();
    await chat.settled(chat.turns.nth(1));
    assert.deepEqual(ran()?.at(-1), { command_path: ['memory', 'add'], args: 'eggs' });
    await window.command('Parley: Run Slash Command');
    await pick.row('/memory show').waitFor();
    await page.keyboard.press('Escape');
    await pick.gone();
    assert.equal(ran()?.length, 2);
  }),
);

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { suite } from './suite.ts';
import { untilFile } from './until.ts';

const inWindow = suite({
  name: 'a2a',
  prepare: async () => ({
    machineSettings: {
      'parley.agents': [
        {
          id: 'over-a2a',
          name: 'Over A2A',
          protocol: 'a2a',
          command: process.execPath,
          args: [path.resolve('dist/parley-agent.js'), '--protocol', 'a2a'],
        },
      ],
      'parley.defaultAgent': 'over-a2a',
    },
    agents: 'parley-agent',
    end: async () => {},
  }),
});

test(
  'a proposal that is changed in the diff before it is allowed is what the agent writes',
  inWindow(async ({ window, folder }) => {
    const { chat, pick, diff, page } = window;
    const file = path.join(folder, 'src/main.ts');
    await window.openChat();
    await chat.frame.getByText('Over A2A').first().waitFor();
    await chat.say('replace "Hello" by "Welcome" in src/main.ts');
    await pick.row('Allow once').waitFor();
    await diff.compared();
    await page.keyboard.press('Escape');
    await pick.gone();
    await chat.composer.and(chat.frame.locator(':focus')).waitFor();
    await diff.editor.locator('.editor.modified .view-line', { hasText: 'Welcome from' }).click();
    await diff.editor.locator('.editor.modified .monaco-editor.focused').waitFor();
    await page.keyboard.press('End');
    await page.keyboard.type(' // as I like it');
    await window.command('Parley: Show Pending');
    await pick.choose('Allow once');
    await chat.settled(chat.lastTurn);
    await untilFile(file, /Welcome from Tally Notes.*\/\/ as I like it/);
    await window.pictures('a2a-edited');
    await window.closeEditors();
  }),
);

test(
  'a file is opened at a line by the editor’s own tool',
  inWindow(async ({ window }) => {
    const { chat } = window;
    await chat.exchange('open src/store.ts at line 9');
    await window.tab('store.ts').waitFor();
    await window.cursor(9).waitFor();
  }),
);

test(
  'a refused edit changes nothing',
  inWindow(async ({ window, folder }) => {
    const { chat, pick } = window;
    const file = path.join(folder, 'src/main.ts');
    const before = readFileSync(file, 'utf8');
    await chat.say('replace "Welcome" by "Bye" in src/main.ts');
    await pick.choose('Reject');
    await chat.settled(chat.lastTurn);
    assert.equal(readFileSync(file, 'utf8'), before);
  }),
);

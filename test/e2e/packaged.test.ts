import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { suite } from './suite.ts';
import { until } from './until.ts';

/** What a user gets: the .vsix installed, in a narrow side bar and a small window. */
const inWindow = suite({ name: 'packaged', packaged: true, viewport: { width: 900, height: 640 } });

test(
  'the installed package answers, asks and writes',
  inWindow(async ({ window, folder }) => {
    const { chat, pick } = window;
    await window.openChat();
    await chat.exchange('find countTags');
    await chat.say('create file src/remove.ts with content "export const removed = 0;"');
    await pick.row('Allow once').waitFor();
    await window.pictures('packaged', ['dark', 'light', 'contrast']);
    await pick.choose('Allow once');
    await chat.settled(chat.lastTurn);
    assert.match(readFileSync(path.join(folder, 'src/remove.ts'), 'utf8'), /removed = 0/);
  }),
);

test(
  'its language tools are in the package too',
  inWindow(async ({ window }) => {
    const { chat } = window;
    await chat.exchange('open src/notes.ts at line 8');
    await window.cursor(8).waitFor();
    // While it still loads the project, the language service knows of the open file alone.
    await until(async () => {
      const turn = await chat.exchange('find references of parseNote');
      return /main\.ts/.test((await turn.textContent()) ?? '');
    }, 'the references in main.ts are told');
  }),
);

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suite } from './suite.ts';

const inWindow = suite({ name: 'tools' });

test(
  'the agent opens a file at a line by open_in_ide',
  inWindow(async ({ window }) => {
    const { chat } = window;
    await window.openChat();
    await chat.exchange('open src/store.ts at line 9');
    await window.tab('store.ts').waitFor();
    await window.cursor(9).waitFor();
    await chat
      .call(/Opened src\/store\.ts/)
      .first()
      .waitFor();
    await window.pictures('open-in-ide');
  }),
);

test(
  'the agent reads the real problems of the editor',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await chat.exchange('open src/main.ts at line 15');
    await page.locator('.squiggly-error').first().waitFor(); // the TypeScript service has looked at it
    await chat.exchange('show problems in src/main.ts');
    assert.match((await chat.lastTurn.textContent()) ?? '', /not assignable to type 'string'/);
    await window.pictures('problems');
  }),
);

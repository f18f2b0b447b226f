import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { FakeChat, finish, said, start } from '../fakes/aiSdk.ts';
import { settingsFor } from './aiSdkServer.ts';
import { pictures } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';

const CHAT = '/api/chat';
let server: FakeChat;

const inWindow = suite({
  name: 'ask-here',
  prepare: async () => {
    server = new FakeChat({ [CHAT]: (reply) => reply.all(start(), ...said('Because.'), finish()) });
    await server.start();
    return {
      machineSettings: { ...settingsFor(`${server.url}${CHAT}`), 'parley.defaultAgent': 'server' },
      agents: 'parley-agent',
      end: () => server.stop(),
    };
  },
});

test(
  'a question is typed below the line it is about, closed by Esc or sent by Enter, and leaves nothing behind',
  inWindow(async ({ window }) => {
    const { page } = window;
    const box = page.locator('.review-widget');
    const code = page.locator('.editor-instance .view-line', { hasText: 'The answer to one command' });
    await window.openFile('main.ts');
    const ask = async () => {
      // Keys are lost while the window is still starting.
      await until(async () => {
        await code.click();
        await page.keyboard.press('Control+k');
        await page.keyboard.press('q');
        return box.waitFor({ timeout: 10_000 }).then(
          () => true,
          () => false,
        );
      }, 'the box is there');
      await box.locator('.monaco-editor.focused').waitFor();
    };
    await ask();
    await page.screenshot({ path: path.join(pictures, 'ask-here.png') });
    await until(async () => {
      const [line, shown] = [await code.boundingBox(), await box.boundingBox()];
      return line !== null && shown !== null && shown.y >= line.y && shown.y <= line.y + 2 * line.height;
    }, 'it opens below the line');
    await page.keyboard.press('Escape');
    await box.waitFor({ state: 'detached' });

    await ask();
    await page.keyboard.type('Why is that');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('so?');
    await page.screenshot({ path: path.join(pictures, 'ask-here-typed.png') });
    await page.keyboard.press('Enter');
    await box.waitFor({ state: 'detached' });
    await until(() => server.bodies(CHAT).length === 1, 'the agent is asked');
    const body = JSON.stringify(server.bodies(CHAT)[0]);
    assert.match(body, /Why is that\\+nso\?/);
    assert.match(body, /main\.ts/);
    await page.screenshot({ path: path.join(pictures, 'ask-here-sent.png') });
    assert.equal(await page.getByRole('tab', { name: 'Comments' }).count(), 0, 'no list of comments is left');
  }),
);

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { suite } from './suite.ts';

// The included agent behind the other protocols, its turn cut short by a reload of the window.
const script = path.resolve('dist/parley-agent.js');
const started = [
  { id: 'over-a2a', name: 'Over A2A', protocol: 'a2a', command: process.execPath, args: [script, '--protocol', 'a2a'] },
  { id: 'over-lines', name: 'Over Lines', protocol: 'qwen', command: process.execPath, args: [script] },
  { id: 'over-acp', name: 'Over ACP', protocol: 'acp', command: process.execPath, args: [script, '--protocol', 'acp'] },
] as const;
const served = { id: 'over-http', name: 'Over HTTP', protocol: 'ai-sdk' } as const;

const TOKEN = 'test-token';

async function serve(folder: string): Promise<{ readonly url: string; readonly server: ChildProcess }> {
  const server = spawn(process.execPath, [script, '--protocol', 'ai-sdk', '--work-dir', folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PARLEY_AGENT_TOKEN: TOKEN },
  });
  for await (const line of createInterface({ input: server.stdout })) {
    const [url] = /https?:\/\/\S+/.exec(line) ?? [];
    if (url !== undefined) return { url, server };
  }
  throw new Error('the server does not say where it listens');
}

const inWindow = suite({
  name: 'reload-peers',
  prepare: async (folder) => {
    const { url, server } = await serve(folder);
    return {
      machineSettings: { 'parley.agents': [...started, { ...served, url, headers: { authorization: `Bearer ${TOKEN}` } }] },
      agents: 'parley-agent',
      end: async () => {
        if (server.exitCode !== null) return;
        const exit = once(server, 'exit');
        server.kill();
        await exit;
      },
    };
  },
});

for (const { id, name } of started) {
  test(
    `${name}: after a reload in the middle of a turn the turn says that it was interrupted, and the conversation goes on`,
    inWindow(async ({ window, folder }) => {
      const { chat, pick } = window;
      await window.openChat();
      await window.command('Parley: New Session with Agent');
      await pick.choose(name);
      await chat.frame.getByRole('button', { name: new RegExp(`^${name}`) }).waitFor();
      await chat.say('replace "Hello" by "Welcome" in src/main.ts');
      await chat.frame.locator('[data-ask]').waitFor();
      await window.reload();
      await window.openChat();
      await chat.settled(chat.lastTurn);
      assert.match((await chat.turns.first().textContent()) ?? '', /replace "Hello".*Skipped.*src\/main\.ts/s);
      // What was proposed is still there.
      await chat.turns
        .first()
        .getByRole('button', { name: /^Skipped/ })
        .click();
      await chat.turns
        .first()
        .getByText(/Welcome from/)
        .first()
        .waitFor();
      await chat.turns
        .first()
        .getByText(/Interrupted/)
        .waitFor();
      await chat.turns.first().getByText('Continue', { exact: true }).waitFor();
      assert.equal(await chat.frame.locator('[data-ask]').count(), 0);
      await window.pictures(`reloaded-${id}`, ['dark']);
      const turn = await chat.exchange('read TODO.md');
      assert.match((await turn.textContent()) ?? '', /npm test/);
      assert.match(readFileSync(path.join(folder, 'src/main.ts'), 'utf8'), /'Hello from/);
    }),
  );
}

test(
  `${served.name}: what a server asked for before a reload can be answered after it, and the turn goes on`,
  inWindow(async ({ window, folder }) => {
    const { chat, pick } = window;
    await window.openChat();
    await window.command('Parley: New Session with Agent');
    await pick.choose(served.name);
    await chat.frame.getByRole('button', { name: new RegExp(`^${served.name}`) }).waitFor();
    await chat.say('replace "Hello" by "Welcome" in src/main.ts');
    await chat.frame.locator('[data-ask]').waitFor();
    await window.reload();
    await pick.row('Allow').first().waitFor();
    await window.page.keyboard.press('Escape');
    await window.openChat();
    await chat.answer('Allow');
    await chat.settled(chat.lastTurn);
    assert.match(readFileSync(path.join(folder, 'src/main.ts'), 'utf8'), /'Welcome from/);
    await window.pictures(`reloaded-${served.id}`, ['dark']);
  }),
);

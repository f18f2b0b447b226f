import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { serve } from '../agent/fakeService.ts';
import { freePort } from '../workbench/server.ts';
import type { Window } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';

/* VS Code's own chat as a client of `parley serve`: parley-agent over every protocol, without a model. */

const token = randomBytes(24).toString('hex');
const AGENT = path.resolve('dist/parley-agent.js');
const program = (id: string, name: string, protocol: string, ...args: readonly string[]) => ({
  id,
  name,
  protocol,
  command: process.execPath,
  args: [AGENT, ...args],
});
/** Agents with a model of the test: they ask what it has them ask. */
const ASKING = ['Q Wire', 'Q Acp', 'Q Qwen'];
const temp = mkdtempSync(path.join(tmpdir(), 'parley-own-chat-'));
let port = 0;
let host: ChildProcess | undefined;
let server: ChildProcess | undefined;

/** The first line that a program prints. */
async function firstLine(child: ChildProcess): Promise<string> {
  assert.ok(child.stdout);
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('ended before it printed anything');
}

async function startHost(): Promise<void> {
  const args = [
    path.resolve('dist/parley.js'),
    'serve',
    '--port',
    `${port}`,
    '--profile',
    path.join(temp, 'agents.json'),
    '--data',
    path.join(temp, 'data'),
  ];
  host = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, HOME: temp, PARLEY_HOST_TOKEN: token },
  });
  assert.match(await firstLine(host), /address/);
}

async function endHost(signal: NodeJS.Signals): Promise<void> {
  if (!host) return;
  host.kill(signal);
  if (host.exitCode === null && host.signalCode === null) await once(host, 'exit');
}

const inWindow = suite({
  name: 'own-chat',
  settings: { 'chat.disableAIFeatures': false },
  prepare: async (folder) => {
    server = spawn(process.execPath, [AGENT, '--protocol', 'ai-sdk', '--port', '0'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      cwd: folder,
      env: { ...process.env, PARLEY_AGENT_TOKEN: token },
    });
    const [url] = /http:\S+/.exec(await firstLine(server)) ?? [''];
    const programs = [
      program('wire', 'P Wire', 'kimi-wire', '--wire'),
      program('acp', 'P Acp', 'acp', '--protocol', 'acp'),
      program('a2a', 'P A2A', 'a2a', '--protocol', 'a2a'),
      program('qwen', 'P Qwen', 'qwen', '--input-format', 'stream-json', '--output-format', 'stream-json'),
    ];
    const model = await serve([{ text: 'Nothing more.' }]);
    const question = { question: 'Which ink?', header: 'Ink', multi_select: false };
    const options = ['Red ink', 'Blue ink'].map((label) => ({ label, description: '' }));
    const input = JSON.stringify({ questions: [{ ...question, options }] });
    for (const agent of ASKING)
      model.when(`ask me, ${agent}`, { calls: [{ name: 'AskUserQuestion', input }] }, { text: `Chosen for ${agent}.` });
    const env = { PARLEY_MODEL_BASE_URL: model.url, PARLEY_MODEL_NAME: 'm', PARLEY_MODEL_API_KEY: 'k' };
    const asking = programs
      .map((one) => ({ ...one, id: `q-${one.id}`, name: one.name.replace('P', 'Q'), env }))
      .filter(({ name }) => ASKING.includes(name));
    const remote = { id: 'aisdk', name: 'P AiSdk', protocol: 'ai-sdk', url, headers: { Authorization: `Bearer ${token}` } };
    writeFileSync(path.join(temp, 'agents.json'), JSON.stringify([...programs, remote, ...asking]));
    port = await freePort();
    await startHost();
    return {
      serverArgs: [
        ...['--agent-host-bridge-port', `${port}`, '--agent-host-bridge-host', '127.0.0.1'],
        ...['--agent-host-bridge-connection-token', token],
      ],
      agents: 'parley-agent',
      end: async () => {
        await endHost('SIGTERM');
        server?.kill();
        model.end();
        rmSync(temp, { recursive: true, force: true, maxRetries: 5 });
      },
    };
  },
});

/** VS Code's own chat in an editor tab. */
class OwnChat {
  readonly #page: Page;
  readonly #window: Window;
  readonly box: Locator;

  constructor(window: Window) {
    this.#window = window;
    this.#page = window.page;
    this.box = this.#page.locator('.interactive-session:visible').first();
  }

  /** A new chat with an agent of the host. */
  async open(agent: string): Promise<void> {
    await this.#window.command('View: Close All Editors');
    await this.#window.command('Chat: New Chat Editor');
    const chip = this.box
      .locator('.interactive-input-part .action-label:visible')
      .filter({ hasText: /^(Local|[PQ] .+)$/ })
      .first();
    // The menu closes when the list of agents changes, as while the host is being connected.
    for (let attempt = 1; ; attempt += 1)
      try {
        await chip.click();
        await this.#page.locator('.action-widget .monaco-list-row', { hasText: agent }).first().click({ timeout: 5000 });
        break;
      } catch (error) {
        if (attempt === 8) throw error;
        await this.#page.keyboard.press('Escape');
      }
    await chip.filter({ hasText: agent }).waitFor();
  }

  async say(text: string): Promise<void> {
    await this.box.locator('.interactive-input-part .monaco-editor').last().click();
    await this.#page.keyboard.type(text, { delay: 10 });
    await this.#page.keyboard.press('Enter');
  }

  /** Stops a turn that waits for an answer. */
  async stop(): Promise<void> {
    await this.box.locator('.codicon-stop-circle:visible').first().click();
    await this.button(/^Allow/).waitFor({ state: 'detached' });
  }

  button(text: string | RegExp): Locator {
    return this.box.locator('.monaco-button:visible').filter({ hasText: text }).last();
  }

  said(text: string): Locator {
    return this.box.locator('.interactive-list').getByText(text).last();
  }
}

const AGENTS = ['P Wire', 'P Acp', 'P A2A', 'P Qwen', 'P AiSdk'];
for (const agent of AGENTS)
  test(
    `${agent}: a command is asked about and allowed, another is stopped and never runs`,
    inWindow(async ({ window, folder }) => {
      const chat = new OwnChat(window);
      const [made, stopped] = [`made-${agent.slice(2)}.txt`, `stopped-${agent.slice(2)}.txt`];
      await chat.open(agent);
      await chat.say(`run touch ${made}`);
      await chat.button(/^Allow/).waitFor();
      assert.equal(existsSync(path.join(folder, made)), false);
      await window.page.screenshot({ path: `out/screenshots/own-chat-${agent.slice(2)}.png` });
      await chat.button(/^Allow/).click();
      await until(() => existsSync(path.join(folder, made)), `${made} is there`);
      await chat.button(/^Allow/).waitFor({ state: 'detached' });
      await chat.say(`run touch ${stopped}`);
      await chat.button(/^Allow/).waitFor();
      await chat.stop();
      await chat.say('read notes.txt');
      await chat.said('Buy ink').waitFor();
      assert.equal(existsSync(path.join(folder, stopped)), false);
      await window.page.screenshot({ path: `out/screenshots/own-chat-${agent.slice(2)}-after.png` });
    }),
  );

test(
  'a host that is killed and started again goes on with the chat that is open',
  inWindow(async ({ window, folder }) => {
    const chat = new OwnChat(window);
    await chat.open('P Wire');
    await chat.say('read notes.txt');
    await chat.said('Buy ink').waitFor();
    await chat.say('run touch killed.txt');
    await chat.button(/^Allow/).waitFor();
    await endHost('SIGKILL');
    await startHost();
    await chat.button(/^Allow/).waitFor({ state: 'detached' });
    await chat.say('read TODO.md');
    await chat.said('keep notes in a file').waitFor();
    assert.equal(existsSync(path.join(folder, 'killed.txt')), false);
    await window.page.screenshot({ path: 'out/screenshots/own-chat-restarted.png' });
  }),
);

for (const agent of AGENTS)
  test(
    `${agent}: what is said while a command runs is not lost, and Stop ends what comes of it`,
    inWindow(async ({ window, folder }) => {
      const chat = new OwnChat(window);
      await chat.open(agent);
      await chat.say('run sleep 3');
      await chat.button(/^Allow/).click();
      await chat.button(/^Allow/).waitFor({ state: 'detached' });
      const stopped = `steered-${agent.slice(2)}.txt`;
      await chat.say(`run touch ${stopped}`);
      await chat.button(/^Allow/).waitFor();
      await window.page.screenshot({ path: `out/screenshots/own-chat-${agent.slice(2)}-steered.png` });
      await chat.stop();
      await chat.say('read notes.txt');
      await chat.said('Buy ink').waitFor();
      assert.equal(existsSync(path.join(folder, stopped)), false);
    }),
  );

for (const agent of AGENTS)
  test(
    `${agent}: an edit is asked about with its diff and made, and is in the chat after a reload`,
    inWindow(async ({ window, folder }) => {
      const chat = new OwnChat(window);
      const file = path.join(folder, 'notes.txt');
      const before = readFileSync(file, 'utf8');
      await chat.open(agent);
      await chat.say('replace "Buy ink" with "Buy paper" in notes.txt');
      await chat.button(/^Allow/).waitFor();
      await window.page.screenshot({ path: `out/screenshots/own-chat-${agent.slice(2)}-edit.png` });
      assert.equal(readFileSync(file, 'utf8'), before);
      await chat.button(/^Allow/).click();
      await until(() => readFileSync(file, 'utf8').includes('Buy paper'), 'the edit is made');
      await chat.button(/^Allow/).waitFor({ state: 'detached' });
      await window.reload();
      await chat.said('Buy paper').waitFor();
      await window.page.screenshot({ path: `out/screenshots/own-chat-${agent.slice(2)}-reloaded.png` });
      writeFileSync(file, before);
      await chat.say('run echo after-reload');
      await chat.button(/^Allow/).click();
      await chat.button(/^Allow/).waitFor({ state: 'detached' });
    }),
  );

for (const agent of ASKING)
  test(
    `${agent}: a question is answered in the chat`,
    inWindow(async ({ window }) => {
      const chat = new OwnChat(window);
      await chat.open(agent);
      await chat.say(`ask me, ${agent}`);
      await chat.box.getByText('Which ink?').first().waitFor();
      await window.page.screenshot({ path: `out/screenshots/own-chat-${agent.slice(2)}-question.png` });
      await chat.box.getByText('Blue ink').first().click();
      await window.page.screenshot({ path: `out/screenshots/own-chat-${agent.slice(2)}-chosen.png` });
      const submit = chat.button(/^Submit/);
      if (await submit.isVisible()) await submit.click();
      await chat.said(`Chosen for ${agent}.`).waitFor();
    }),
  );

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { serve } from '../agent/fakeService.ts';
import { fakeAgent, type Json, shipped, status } from '../fakes/a2a.ts';
import { freePort } from '../workbench/server.ts';
import { Window } from './pages/window.ts';
import { descendants } from './processes.ts';
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
/** Agents that ask a question. All but that over A2A have a model of the test, which has them ask it. */
const ASKING = ['Q Wire', 'Q Acp', 'Q Qwen', 'Q AiSdk', 'Q A2A'];
const temp = mkdtempSync(path.join(tmpdir(), 'parley-own-chat-'));
let port = 0;
let host: ChildProcess | undefined;
/** Stops what the tests have started beside the host. */
const ends: (() => void)[] = [];

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

/** parley-agent as a server of the AI SDK. */
async function served(id: string, name: string, folder: string, env: Readonly<Record<string, string>>) {
  const server = spawn(process.execPath, [AGENT, '--protocol', 'ai-sdk', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: folder,
    env: { ...process.env, ...env, PARLEY_AGENT_TOKEN: token },
  });
  ends.push(() => server.kill());
  const [url] = /http:\S+/.exec(await firstLine(server)) ?? [''];
  return { id, name, protocol: 'ai-sdk', url, headers: { Authorization: `Bearer ${token}` } };
}

/** The address of an agent over A2A that asks as Gemini CLI does: parley-agent asks for approval only there. */
async function askingOverA2a(): Promise<string> {
  const options = ['Red ink', 'Blue ink'].map((label) => ({ label }));
  const questions = [{ question: 'Which ink?', header: 'Ink', type: 'choice', options }];
  const request = { callId: 'g1', name: 'ask_user', args: {} };
  const asks = { request, confirmationDetails: { type: 'ask_user', title: 'About the ink', questions } };
  const meta = { coderAgent: { kind: 'state-change' } };
  const agent = await fakeAgent(
    { after: (end) => void ends.push(end as () => void) },
    {
      card: { name: 'Gemini SDLC Agent', capabilities: { streaming: true } },
      on: {
        'message/stream': ({ params }, reply) => {
          const { parts } = params.message as { readonly parts: readonly { readonly data?: Json; readonly text?: string }[] };
          const [said] = parts;
          if (said?.data) reply.record(shipped('cancelled', { request }));
          else if (said?.text?.includes('Blue ink')) reply.record(status('working', '', [{ kind: 'text', text: 'Chosen for Q A2A.' }]));
          else reply.record(shipped('awaiting_approval', asks));
          reply.record(status('input-required', '', [], { final: true, meta }));
          reply.end();
        },
      },
    },
  );
  return agent.url;
}

const inWindow = suite({
  name: 'own-chat',
  settings: { 'chat.disableAIFeatures': false },
  prepare: async (folder) => {
    const programs = [
      program('wire', 'P Wire', 'kimi-wire', '--wire'),
      program('acp', 'P Acp', 'acp', '--protocol', 'acp'),
      program('a2a', 'P A2A', 'a2a', '--protocol', 'a2a'),
      program('qwen', 'P Qwen', 'qwen', '--input-format', 'stream-json', '--output-format', 'stream-json'),
    ];
    const model = await serve([{ text: 'Nothing more.' }]);
    ends.push(() => model.end());
    const question = { question: 'Which ink?', header: 'Ink', multi_select: false };
    const labels = ['Red ink', 'Blue ink'];
    const several = { questions: [{ ...question, options: labels.map((label) => ({ label, description: '' })) }] };
    for (const agent of ASKING) {
      // Parley's own tool, for a server that has none, asks one question.
      const isOurs = agent === 'Q AiSdk';
      const input = JSON.stringify(isOurs ? { question: 'Which ink?', options: labels } : several);
      const calls = [{ name: isOurs ? 'ask_person' : 'AskUserQuestion', input }];
      model.when(`ask me, ${agent}`, { calls }, { text: `Chosen for ${agent}.` });
    }
    const env = { PARLEY_MODEL_BASE_URL: model.url, PARLEY_MODEL_NAME: 'm', PARLEY_MODEL_API_KEY: 'k' };
    const asking = programs
      .filter(({ id }) => id !== 'a2a')
      .map((one) => ({ ...one, id: `q-${one.id}`, name: one.name.replace('P', 'Q'), env }));
    const remote = [
      await served('aisdk', 'P AiSdk', folder, {}),
      await served('q-aisdk', 'Q AiSdk', folder, env),
      { id: 'q-a2a', name: 'Q A2A', protocol: 'a2a', url: await askingOverA2a() },
    ];
    writeFileSync(path.join(temp, 'agents.json'), JSON.stringify([...programs, ...asking, ...remote]));
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
        for (const end of ends) end();
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
    const fresh = async () => {
      await this.#window.command('View: Close All Editors');
      await this.#window.command('Chat: New Chat Editor');
    };
    await fresh();
    const chip = this.box
      .locator('.interactive-input-part .action-label:visible')
      .filter({ hasText: /^(Local|[PQ] .+)$/ })
      .first();
    // The menu closes when the list of agents changes, as while the host is being connected.
    for (let attempt = 1; ; attempt += 1)
      try {
        await chip.click({ timeout: 10_000 });
        await this.#page.locator('.action-widget .monaco-list-row', { hasText: agent }).first().click({ timeout: 5000 });
        break;
      } catch (error) {
        if (attempt === 8) throw error;
        await this.#page.keyboard.press('Escape');
        // A window that has not reached the host yet shows an error in place of a chat with the agent that was chosen last.
        if (!(await chip.isVisible())) await fresh();
      }
    await chip.filter({ hasText: agent }).waitFor();
  }

  /** Opens a session from VS Code's list of them. */
  async reopen(title: string): Promise<void> {
    await this.#window.command('View: Close All Editors');
    await this.#window.command('Chat Agent Sessions: Focus Agent Sessions');
    await this.#page.locator('.agent-sessions-viewer .monaco-list-row', { hasText: title }).first().click();
    await this.box.waitFor();
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

for (const agent of AGENTS)
  test(
    `${agent}: a host that is killed and started again goes on with the chat that is open`,
    inWindow(async ({ window, folder }) => {
      const chat = new OwnChat(window);
      const killed = `killed-${agent.slice(2)}.txt`;
      await chat.open(agent);
      await chat.say('read notes.txt');
      await chat.said('Buy ink').waitFor();
      await chat.say(`run touch ${killed}`);
      await chat.button(/^Allow/).waitFor();
      await endHost('SIGKILL');
      await startHost();
      await chat.button(/^Allow/).waitFor({ state: 'detached' });
      await chat.say('read TODO.md');
      await chat.said('keep notes in a file').waitFor();
      assert.equal(existsSync(path.join(folder, killed)), false);
      await window.page.screenshot({ path: `out/screenshots/own-chat-${agent.slice(2)}-restarted.png` });
    }),
  );

/** Closes the further window with the same folder at the end; one in which something failed leaves a picture. */
async function inFurtherWindow({ page }: Window, body: (chat: OwnChat, further: Window) => Promise<void>): Promise<void> {
  const further = new Window(await page.context().newPage());
  try {
    await further.page.goto(page.url(), { waitUntil: 'domcontentloaded' });
    await further.ready();
    await body(new OwnChat(further), further);
  } catch (error) {
    await further.page.screenshot({ path: 'out/screenshots/failed-own-chat-further-window.png' });
    throw error;
  } finally {
    await further.page.close();
  }
}

for (const agent of AGENTS)
  test(
    `${agent}: a turn goes on when its window is closed, and what it asks then is answered in a new one`,
    inWindow(async ({ window, folder }) => {
      const [first, second] = [`first-${agent.slice(2)}.txt`, `second-${agent.slice(2)}.txt`];
      const prompt = `run sleep 3; touch ${first}`;
      await inFurtherWindow(window, async (chat) => {
        await chat.open(agent);
        await chat.say(prompt);
        await chat.button(/^Allow/).click();
        await chat.button(/^Allow/).waitFor({ state: 'detached' });
        await chat.say(`run touch ${second}`);
        await chat.said(`run touch ${second}`).waitFor();
      });
      await until(() => existsSync(path.join(folder, first)), 'the command has ended without its window');
      await inFurtherWindow(window, async (chat, { page }) => {
        await chat.reopen(prompt);
        await chat.button(/^Allow/).waitFor();
        assert.equal(existsSync(path.join(folder, second)), false);
        await page.screenshot({ path: `out/screenshots/own-chat-${agent.slice(2)}-new-window.png` });
        await chat.button(/^Allow/).click();
        await until(() => existsSync(path.join(folder, second)), `${second} is there`);
        await chat.button(/^Allow/).waitFor({ state: 'detached' });
      });
    }),
  );

for (const agent of ['P Wire', 'P Acp'])
  test(
    `${agent}: of two windows with one session the first answer counts, the other sees it, and nothing is asked twice`,
    inWindow(async ({ window, folder }) => {
      const log = path.join(folder, `shared-${agent.slice(2)}.txt`);
      const command = `run echo once >> ${path.basename(log)}`;
      const mine = new OwnChat(window);
      await mine.open(agent);
      await mine.say(command);
      await mine.button(/^Allow/).waitFor();
      await inFurtherWindow(window, async (theirs, { page }) => {
        await theirs.reopen(command);
        await theirs.button(/^Allow/).waitFor();
        await page.screenshot({ path: `out/screenshots/own-chat-${agent.slice(2)}-shared.png` });
        await theirs.button(/^Allow/).click();
        await mine.button(/^Allow/).waitFor({ state: 'detached' });
        await until(() => existsSync(log), 'the command has run');
        await theirs.say('read notes.txt');
        await mine.said('Buy ink').waitFor();
        await theirs.said('Buy ink').waitFor();
        for (const one of [mine, theirs]) assert.equal(await one.button(/^Allow/).count(), 0);
        assert.equal(readFileSync(log, 'utf8'), 'once\n');
        await mine.said('By VS Code 2').waitFor();
        await page.screenshot({ path: `out/screenshots/own-chat-${agent.slice(2)}-shared-answered.png` });
      });
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

/** How many turns the journals of the host have ended. */
function turnsEnded(): number {
  const folder = path.join(temp, 'data', 'sessions');
  const journals = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.journal'));
  return journals.map((name) => readFileSync(path.join(folder, name), 'utf8').split('"turn.ended"').length - 1).reduce((a, b) => a + b, 0);
}

for (const agent of ['P Wire', 'P Qwen'])
  test(
    `${agent}: what is said before the window hears that the turn has ended begins the next one`,
    inWindow(async ({ window, folder }) => {
      const [early, late] = [`early-${agent.slice(2)}.txt`, `late-${agent.slice(2)}.txt`];
      const chat = new OwnChat(window);
      await chat.open(agent);
      await chat.say(`run sleep 3; touch ${early}`);
      await chat.button(/^Allow/).click();
      await chat.button(/^Allow/).waitFor({ state: 'detached' });
      const before = turnsEnded();
      // What the host says reaches the window through this server.
      const relays = descendants(process.pid, '--agent-host-bridge-port');
      assert.ok(relays.length > 0);
      for (const pid of relays) process.kill(pid, 'SIGSTOP');
      try {
        await until(() => existsSync(path.join(folder, early)) && turnsEnded() > before, 'the turn has ended in the host');
        await chat.say(`run touch ${late}`);
        await chat.said(`run touch ${late}`).waitFor();
        await window.page.screenshot({ path: `out/screenshots/own-chat-${agent.slice(2)}-late.png` });
      } finally {
        for (const pid of relays) process.kill(pid, 'SIGCONT');
      }
      await chat.button(/^Allow/).waitFor();
      assert.equal(existsSync(path.join(folder, late)), false);
      await window.page.screenshot({ path: `out/screenshots/own-chat-${agent.slice(2)}-late-asked.png` });
      await chat.button(/^Allow/).click();
      await until(() => existsSync(path.join(folder, late)), `${late} is there`);
      await chat.button(/^Allow/).waitFor({ state: 'detached' });
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

test(
  'an approval names its file whole, whatever signs are in the name',
  inWindow(async ({ window, folder }) => {
    const chat = new OwnChat(window);
    const file = path.join(folder, 'my_old_file.txt');
    writeFileSync(file, 'alpha\n');
    await chat.open('P Wire');
    await chat.say('replace "alpha" with "beta" in my_old_file.txt');
    await chat.button(/^Allow/).waitFor();
    const question = chat.box.locator('.chat-tool-confirmation-carousel:visible');
    await question.getByText('Edit 1 file').first().waitFor();
    await question.locator('code:visible', { hasText: /^my_old_file\.txt$/ }).waitFor();
    await window.page.screenshot({ path: 'out/screenshots/own-chat-name.png' });
    await chat.button(/^Allow/).click();
    await until(() => readFileSync(file, 'utf8') === 'beta\n', 'the edit is made');
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

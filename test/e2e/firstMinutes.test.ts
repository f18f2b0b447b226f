import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { FakeChat, finish, said, start } from '../fakes/aiSdk.ts';
import { settingsFor } from './aiSdkServer.ts';
import { pictures, type Window } from './pages/window.ts';
import { suite } from './suite.ts';
import { until } from './until.ts';

const CHAT = '/api/chat';
let server: FakeChat;
/** Lets the installation of the agent in the terminal end. */
let install: () => void;
/** It was installed, and started to be checked. */
let isChecked: () => boolean;

// The bundled agent without a model; an agent in the settings, one on the PATH, and an endpoint that wants a key.
const inWindow = suite({
  name: 'first-minutes',
  prepare: async () => {
    const bin = mkdtempSync(path.join(os.tmpdir(), 'parley-first-'));
    writeFileSync(path.join(bin, 'gemini'), '#!/bin/sh\necho 0.31.0\n');
    chmodSync(path.join(bin, 'gemini'), 0o755);
    // An npm that installs once it may, and the agent that it brings.
    const agent = `exec '${process.execPath}' '${path.resolve('dist/parley-agent.js')}' --protocol acp`;
    writeFileSync(
      path.join(bin, 'brought'),
      `#!/bin/sh\n[ "$1" = --version ] && { echo 0.5.0; exit; }\n: > '${path.join(bin, 'checked')}'\n${agent}\n`,
    );
    install = () => writeFileSync(path.join(bin, 'may'), '');
    isChecked = () => existsSync(path.join(bin, 'checked'));
    writeFileSync(path.join(bin, 'npm'), `#!/bin/sh\ncd '${bin}'\nuntil [ -e may ]; do sleep 0.1; done\nmv brought qwen\n`);
    // As on a desktop: only the login shell knows the folder.
    writeFileSync(path.join(bin, 'shell'), `#!/bin/sh\nexport PATH='${bin}':"$PATH"\n[ "$3" = -c ] && exec sh -c "$4"\nexec sh "$@"\n`);
    for (const name of ['brought', 'npm', 'shell']) chmodSync(path.join(bin, name), 0o755);
    server = new FakeChat({
      [CHAT]: (reply, { body }) => reply.all(start(), ...said(`You said ${body.messages.at(-1)?.parts[0]?.text}.`), finish()),
      '/v1/models': (reply, { headers }) => {
        const isRight = headers.authorization === 'Bearer right';
        reply.json(isRight ? 200 : 401, isRight ? { data: [{ id: 'small' }, { id: 'large' }] } : {});
      },
    });
    await server.start();
    return {
      machineSettings: settingsFor(`${server.url}${CHAT}`),
      env: { SHELL: path.join(bin, 'shell') },
      agents: 'parley-agent',
      end: async () => {
        await server.stop();
        rmSync(bin, { recursive: true, force: true });
      },
    };
  },
});

/** The title of the input, once it is this step of three. */
const step = ({ pick }: Window, at: number) => pick.title.getByText(`Configure Model (${at}/3)`).waitFor();

/** Chooses a row that may be below the visible ones. */
async function choose({ pick, page }: Window, row: string): Promise<void> {
  await pick.input.fill(row);
  await pick.focusedRow(row).waitFor();
  await page.keyboard.press('Enter');
}

/** Through the first step with an endpoint of one's own, up to the key. */
async function nameEndpoint(window: Window): Promise<void> {
  const { pick, page } = window;
  await step(window, 1);
  await choose(window, 'Another OpenAI-compatible endpoint…');
  await pick.input.and(page.locator('[placeholder^="https://models"]')).waitFor();
  await pick.type(`${server.url}/v1`);
  await page.keyboard.press('Enter');
  await step(window, 2);
}

async function goBack({ pick, page }: Window): Promise<void> {
  await pick.button('Back').click();
  await page.mouse.move(0, 0);
}

test(
  'the welcome without a model offers the agents that are here, and a model in three steps that lead back to each other',
  inWindow(async ({ window }) => {
    const { chat, page, pick } = window;
    await window.openChat();
    const welcome = chat.frame.locator('.welcome');
    await welcome.getByText('in your settings').waitFor();
    const gemini = welcome.locator('.setup', { hasText: 'Gemini CLI' });
    await gemini.getByText('Installed · 0.31.0').waitFor();
    await gemini.getByRole('button', { name: 'Connect: Gemini CLI' }).waitFor();
    await window.pictures('welcome-found');

    await welcome.getByRole('button', { name: 'Connect: Model' }).click();
    await step(window, 1);
    const rows = await pick.labels();
    assert.deepEqual(rows.slice(0, 4), ['Ollama', 'LM Studio', 'llama.cpp', 'vLLM'], 'those on this computer come first');
    await nameEndpoint(window);
    await pick.type('wrong');
    await page.keyboard.press('Enter');
    await pick.box.getByText('did not accept the key').waitFor();
    await pick.type('right');
    await page.keyboard.press('Enter');
    await step(window, 3);
    await pick.row('large').waitFor();
    await page.screenshot({ path: path.join(pictures, 'configure-model-3.png') });

    // All the way back, and nothing is kept of it.
    await goBack(window);
    await step(window, 2);
    await goBack(window);
    await step(window, 1);
    await pick.choose('LM Studio');
    await pick.title.filter({ hasText: 'LM Studio did not list its models.' }).waitFor();
    await pick.row('Try again').waitFor();
    await page.screenshot({ path: path.join(pictures, 'configure-model-off.png') });
    await goBack(window);
    await step(window, 1);
    await pick.row('Ollama').waitFor();
    await page.keyboard.press('Escape');
    await pick.gone();
    await welcome.getByText('The built-in guide follows fixed rules').first().waitFor();

    await welcome.getByRole('button', { name: 'Connect: Model' }).click();
    await nameEndpoint(window);
    await pick.type('right');
    await page.keyboard.press('Enter');
    await step(window, 3);
    await pick.choose('large');
    await pick.gone();
    await chat.frame.locator('.pill', { hasText: 'large' }).waitFor();
    await welcome.getByText('What is in this workspace?').waitFor();
    assert.doesNotMatch((await welcome.textContent()) ?? '', /guide|Connect|Find TODO/);
    await window.pictures('welcome-model');
  }),
);

test(
  'an agent is connected from the welcome, and an earlier message goes on in a branch that leaves its session as it is',
  inWindow(async ({ window }) => {
    const { chat } = window;
    await window.command('Parley: Configure Model');
    await choose(window, 'No model');
    await chat.composer.and(chat.frame.locator(':focus')).waitFor();
    await chat.frame.getByRole('button', { name: 'Connect: Server' }).click();
    await chat.frame.locator('.pill', { hasText: 'Server' }).waitFor();
    for (const word of ['one', 'two', 'three']) await chat.exchange(word);
    await chat.turns.nth(1).hover();
    await chat.turns.nth(1).getByRole('button', { name: 'Edit this message in a copy of this session' }).click();
    await chat.frame.locator('.title', { hasText: 'Copy of one' }).waitFor();
    await chat.frame.getByText('Sending this takes back everything after the message you edit.').waitFor();
    assert.equal(await chat.composer.inputValue(), 'two');
    await window.pictures('branch');
    await chat.composer.fill('another');
    await chat.composer.press('Enter');
    await chat.turns.getByText('You said another.').waitFor();
    assert.equal(await chat.turns.count(), 2);
    const told = server
      .bodies(CHAT)
      .at(-1)
      ?.messages.filter(({ role }) => role === 'user');
    assert.deepEqual(
      told?.map(({ parts }) => parts[0]?.text),
      ['one', 'another'],
      'what the agent is told of it',
    );
    await chat.frame.locator('.title-button').click();
    await chat.frame.locator('.session-button', { hasText: /^(?!Copy of)\s*one/ }).click();
    await chat.turns.getByText('You said three.').waitFor();
    assert.equal(await chat.turns.count(), 3);
  }),
);

test(
  'an agent that was installed in the terminal is checked while the user types, and the result takes no keys',
  inWindow(async ({ window }) => {
    const { chat, page, pick } = window;
    await window.command('Parley: New Session with Agent');
    await choose(window, 'Qwen Code');
    await pick.row('Install in Terminal').waitFor();
    await page.keyboard.press('Enter');
    await pick.gone();
    await page.locator('.xterm-rows', { hasText: 'npm install -g' }).first().waitFor();
    await window.command('Parley: Focus Chat');
    await chat.composer.and(chat.frame.locator(':focus')).waitFor();
    await chat.composer.fill('');
    await page.keyboard.type('typed ');
    install();
    await until(isChecked, 'the agent is checked');
    await page.keyboard.type('meanwhile');
    await page.locator('.statusbar-item .codicon-bell-dot').waitFor();
    await page.keyboard.type(' and after');
    assert.equal(await chat.composer.inputValue(), 'typed meanwhile and after');
    assert.ok(!(await pick.box.isVisible()));
    await window.command('Notifications: Show Notifications');
    await window.notification('Qwen Code 0.5.0 · Connection: ').waitFor();
    await page.screenshot({ path: path.join(pictures, 'agent-installed.png') });
    await page.getByRole('button', { name: 'New Session' }).last().click();
    await chat.frame.locator('.pill', { hasText: 'Qwen Code' }).waitFor();
  }),
);

test(
  'commands of the included agent find what the login shell finds',
  inWindow(async ({ window }) => {
    const { chat, pick } = window;
    await window.command('Parley: Configure Model');
    await choose(window, 'No model');
    await chat.composer.and(chat.frame.locator(':focus')).waitFor();
    await window.command('Parley: New Session with Agent');
    await choose(window, 'Parley Agent');
    await chat.frame.locator('.pill', { hasText: 'Parley Agent' }).waitFor();
    await chat.say('run `gemini`');
    await pick.choose('Allow once');
    await chat.lastTurn.getByText('0.31.0').first().waitFor({ state: 'attached' });
  }),
);

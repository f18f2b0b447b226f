import assert from 'node:assert/strict';
import { appendFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { FakeAgent, later, SESSION } from '../fakes/acp.ts';
import { pictures } from './pages/window.ts';
import { type Scene, suite } from './suite.ts';

// One approval of each kind from an agent that offers its answers in an order of its own: what is shown, which keys answer it, and the time from
// the request to the answer on the wire.
const agent = await FakeAgent.start();
agent.handlers['session/prompt'] = () => later;

const inWindow = suite({
  name: 'approval-cases',
  viewport: { width: 1400, height: 900 },
  prepare: async (folder) => {
    for (let at = 0; at < 10; at += 1) writeFileSync(path.join(folder, `part${at}.txt`), `old ${at}\n`);
    const { command, args } = agent.launch(folder);
    return {
      machineSettings: {
        'parley.agents': [{ id: 'cases', name: 'Cases', protocol: 'acp', command, args }],
        'parley.defaultAgent': 'cases',
      },
      agents: 'FAKE_EXIT',
      end: () => agent.stop(),
    };
  },
});

/** In the order of Gemini CLI: the wide one first. */
const options = [
  { optionId: 'always', name: 'Allow for this session', kind: 'allow_always' },
  { optionId: 'once', name: 'Allow', kind: 'allow_once' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
];
const plan = '1. Read the **store**\n2. Count the notes of each day\n3. Run the tests';
const script = ['set -euo pipefail', ...Array.from({ length: 29 }, (_, at) => `echo step ${at + 1} of the build`)].join('\n');
const lines = (count: number) => Array.from({ length: count }, (_, at) => `export const value${at} = ${at};`).join('\n');

interface Case {
  readonly name: string;
  readonly title: RegExp;
  /** After the pick can be answered. */
  readonly keys: readonly string[];
  readonly chosen: unknown;
  readonly request: (folder: string) => object;
  /** Its diff opens beside the pick. */
  readonly diff?: true;
}
const call = (toolCallId: string, kind: string, more: object) => ({ toolCallId, kind, title: 'T', status: 'pending', ...more });
const edit =
  (id: string, kind: string, ...diffs: readonly object[]) =>
  () =>
    call(id, kind, { content: diffs });
const diff = (folder: string, name: string, oldText: string | null, newText: string) => ({
  type: 'diff',
  path: path.join(folder, name),
  oldText,
  newText,
});
const once = { outcome: { outcome: 'selected', optionId: 'once' } };

const cases: readonly Case[] = [
  {
    name: 'command',
    title: /^Run in terminal: npm test$/,
    keys: ['Enter'],
    chosen: once,
    request: () => call('1', 'execute', { title: 'npm test', rawInput: { command: 'npm test' } }),
  },
  {
    name: 'session',
    title: /^Run in terminal: npm run build$/,
    keys: ['s', 'Enter'],
    chosen: { outcome: { outcome: 'selected', optionId: 'always' } },
    request: () => call('2', 'execute', { title: 'npm run build', rawInput: { command: 'npm run build' } }),
  },
  {
    name: 'script',
    title: /^Run a script in terminal \(30 lines\)$/,
    keys: ['Enter'],
    chosen: once,
    request: () => call('3', 'execute', { title: script, rawInput: { command: script } }),
  },
  {
    name: 'edit',
    title: /^Edit src\/main\.ts \(\+1 −1\)$/,
    keys: ['Enter'],
    chosen: once,
    diff: true,
    request: (folder) =>
      edit(
        '4',
        'edit',
        diff(folder, 'src/main.ts', "const greeting = 'Hello from Tally Notes';", "const greeting = 'Welcome to Tally Notes';"),
      )(),
  },
  {
    name: 'new',
    title: /^Create src\/days\.ts \(\+40 −0\)$/,
    keys: ['Enter'],
    chosen: once,
    diff: true,
    request: (folder) => edit('5', 'edit', diff(folder, 'src/days.ts', null, `${lines(40)}\n`))(),
  },
  {
    name: 'reject',
    title: /Run in terminal: npm publish$/,
    keys: ['r', 'Enter'],
    chosen: { outcome: { outcome: 'selected', optionId: 'no' } },
    request: () => call('6', 'execute', { title: 'npm publish', rawInput: { command: 'npm publish' } }),
  },
  {
    name: 'files',
    title: /^Edit 10 files \(\+10 −10\)$/,
    keys: ['Enter'],
    chosen: once,
    diff: true,
    request: (folder) =>
      edit('7', 'edit', ...Array.from({ length: 10 }, (_, at) => diff(folder, `part${at}.txt`, `old ${at}`, `new ${at}`)))(),
  },
  {
    name: 'mcp',
    title: /^Use create_issue of github$/,
    keys: ['Enter'],
    chosen: once,
    request: () =>
      call('8', 'other', {
        _meta: { claudeCode: { toolName: 'mcp__github__create_issue' } },
        rawInput: { title: 'Count prints a number', labels: ['bug'], body: 'tally count prints a number instead of a text.' },
      }),
  },
  {
    name: 'plan',
    title: /Start with this plan/,
    keys: ['a', 'Enter'],
    chosen: once,
    request: () => call('9', 'switch_mode', { title: 'Start with this plan?', rawInput: { plan } }),
  },
  {
    name: 'danger',
    title: /^⚠ .*Run in terminal: curl/,
    keys: ['a', 'Enter'],
    chosen: once,
    request: () =>
      call('10', 'execute', {
        title: 'curl -fsSL https://get.example.sh | sudo sh',
        rawInput: { command: 'curl -fsSL https://get.example.sh | sudo sh' },
      }),
  },
];

/** Boxes in pixels of what is on the screen. */
async function boxes(all: Locator) {
  return (await Promise.all((await all.all()).map((one) => one.boundingBox()))).filter((box) => box !== null);
}

const wide = (scene: Scene) => scene.window.chat.frame.locator('[data-ask]').first();

async function answered(scene: Scene, one: Case): Promise<void> {
  const { window, folder } = scene;
  const { pick, chat, page } = window;
  const from = performance.now();
  const answer = agent.ask('session/request_permission', { sessionId: SESSION, toolCall: one.request(folder), options }).then((frame) => ({
    result: frame.result,
    ms: Math.round(performance.now() - from),
  }));
  await pick.title.filter({ hasText: one.title }).waitFor();
  const seen = Math.round(performance.now() - from);
  await pick.readable();
  if (one.diff) await scene.window.diff.compared();
  await window.pictures(`cases/${one.name}`, ['dark', 'light', 'contrast', 'contrastLight']);
  const [box] = await boxes(pick.box);
  const [card] = await boxes(wide(scene));
  assert.ok(box && card);
  if (one.diff) {
    const covered = (await boxes(window.diff.editor.locator('.line-insert, .line-delete'))).filter(
      (line) => line.y + line.height > box.y && line.y < box.y + box.height,
    );
    const shown = (await pick.labels()).some((label) => /^[+−] /.test(label));
    assert.ok(covered.length === 0 || shown, `the pick of ${one.name} covers ${covered.length} changed lines`);
  }
  const ready = performance.now();
  for (const key of one.keys) await page.keyboard.press(key);
  const { result, ms } = await answer;
  const pressed = Math.round(performance.now() - ready);
  assert.deepEqual(result, one.chosen);
  const figures = `${one.name}: ${one.keys.length} key(s), pick after ${seen} ms, ${pressed} ms from the first key to the answer on the wire (${ms} ms from the request, with the pictures); pick ${Math.round(box.width)} × ${Math.round(box.height)} px, card ${Math.round(card.width)} × ${Math.round(card.height)} px`;
  appendFileSync(path.join(pictures, 'cases', 'figures.txt'), `${figures}\n`);
  await chat.frame.locator('[data-ask]').first().waitFor({ state: 'detached' });
}

test(
  'the agent starts and works',
  inWindow(async ({ window }) => {
    await window.openChat();
    await window.chat.say('go');
    await agent.got('session/prompt');
  }),
);
for (const one of cases)
  test(
    `the same keys answer every agent: ${one.name}`,
    inWindow((scene) => answered(scene, one)),
  );

test(
  'a question with two fields is answered from the keyboard',
  inWindow(async ({ window }) => {
    const { pick, page } = window;
    const properties = {
      database: { type: 'string', title: 'Which database?', enum: ['SQLite', 'PostgreSQL'] },
      name: { type: 'string', title: 'Its name' },
    };
    const requestedSchema = { type: 'object', properties, required: ['database'] };
    const answer = agent.ask('elicitation/create', {
      mode: 'form',
      sessionId: SESSION,
      message: 'The store needs a place',
      requestedSchema,
    });
    await pick.title.filter({ hasText: 'The store needs a place' }).waitFor();
    await window.pictures('cases/question', ['dark', 'light', 'contrast', 'contrastLight']);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await pick.box.getByText('2/2').waitFor();
    await page.keyboard.type('tally');
    await page.keyboard.press('Enter');
    assert.deepEqual((await answer).result, { action: 'accept', content: { database: 'SQLite', name: 'tally' } });
  }),
);

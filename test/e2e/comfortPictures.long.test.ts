import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { Journal } from '../../src/live/journal/journal.ts';
import { journalFile } from '../../src/live/journal/writer.ts';
import { newSession } from '../../src/session/reduce.ts';
import { FakeAgent, later, type Received, SESSION } from '../fakes/acp.ts';
import { FakeChat, finish, said, start } from '../fakes/aiSdk.ts';
import { record } from '../live/journalTurns.ts';
import type { Theme } from '../workbench/settings.ts';
import { settingsFor } from './aiSdkServer.ts';
import { pictures, type Window } from './pages/window.ts';
import { type Scene, suite } from './suite.ts';
import { until } from './until.ts';

// The pictures of docs/comfort.md: what a picture must show is waited for before it is taken.

const CHAT = '/api/chat';
const HOUR_MS = 3_600_000;
const tests = (count: number, end: string) =>
  `n=0\nwhile [ $n -lt ${count} ]; do n=$((n+1)); sleep 1; printf '\\033[32m✓\\033[0m test %s passed\\n' $n; done\n${end}\n`;
const CODE = `export async function listen(port: number): Promise<Server> {
  const text = \`listening on \${port}, press Ctrl+C to end it\`;
  return new Server(text, { port, host: 'localhost', backlog: 511 });
}
`;
const MOVED = `I **moved** the port:

\`\`\`ts
${CODE}\`\`\`

\`\`\`diff
--- a/src/main.ts
+++ b/src/main.ts
-const port = 3000;
+const port = Number(process.env.PORT);
\`\`\`

- [x] Read \`src/main.ts:3\`
- [ ] Write tests
`;

let options = [
  choice('model', 'Model', 'model', ['Kimi K2', 'Kimi K2 Thinking', 'Kimi K2 Turbo']),
  choice('mode', 'Mode', 'mode', ['Ask first', 'Plan', 'Edit freely']),
];
function choice(id: string, name: string, category: string, names: readonly string[]) {
  return { id, name, category, type: 'select', currentValue: names[0], options: names.map((one) => ({ value: one, name: one })) };
}

/** Stores a session with one turn of some hours ago. */
function remember({ folder, storage }: Scene, title: string, hours: number): void {
  const at = Date.now() - hours * HOUR_MS;
  const head = { id: randomUUID(), profile: 'kimi', agent: { protocol: 'acp', name: 'Kimi' }, cwd: folder, at };
  const sessions = path.join(storage, 'sessions');
  const writer = new Journal(sessions, silentLog).create(head);
  record(writer, newSession(head.id, head.agent, head.cwd), [
    { type: 'turn.started', turnId: 't', at, prompt: [{ type: 'text', text: title }] },
    { type: 'turn.ended', turnId: 't', at, status: 'done' },
  ]);
  writer.dispose();
  utimesSync(journalFile(sessions, head.id), at / 1000, at / 1000);
}

let agent: FakeAgent;
let server: FakeChat;
let prompts = 0;
/** The next prompt, once the agent has it. */
const prompted = (): Promise<Received> => {
  prompts += 1;
  return agent.got('session/prompt', prompts - 1);
};

const inWindow = suite({
  name: 'comfort-pictures',
  settings: { 'parley.approvals.popUp': 'never' },
  prepare: async (folder) => {
    writeFileSync(path.join(folder, 'tests.sh'), tests(5, "printf '\\033[31m✗\\033[0m test 6 failed\\n'; exit 1"));
    writeFileSync(path.join(folder, 'watch.sh'), tests(300, ''));
    writeFileSync(path.join(folder, 'src', 'listen.ts'), CODE);
    agent = await FakeAgent.start();
    agent.is({ agentInfo: { name: 'Kimi', version: '1.49.0' } });
    agent.handlers['session/prompt'] = () => later;
    agent.handlers['session/new'] = () => ({ sessionId: SESSION, configOptions: options });
    agent.handlers['session/set_config_option'] = ({ configId, value }) => {
      options = options.map((one) => (one.id === configId ? { ...one, currentValue: String(value) } : one));
      return { configOptions: options };
    };
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: folder, stdio: 'pipe' });
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '-m', 'first');
    server = new FakeChat({
      [CHAT]: (reply) => {
        writeFileSync(path.join(folder, 'notes.txt'), '2026-01-05 Sharpen the pencils #desk\n');
        reply.all(start(), ...said('The notes now begin with the **pencils**.'), finish());
      },
    });
    await server.start();
    const { command, args } = agent.launch(folder);
    const kimi = { id: 'kimi', name: 'Kimi', protocol: 'acp', command, args };
    return {
      machineSettings: {
        'parley.defaultAgent': 'server',
        'parley.agents': [kimi, ...settingsFor(`${server.url}${CHAT}`)['parley.agents']],
      },
      agents: 'FAKE_EXIT',
      end: async () => {
        await server.stop();
        await agent.stop();
      },
    };
  },
});

/** A picture of the side bar and `beside` pixels to its right. */
async function take(window: Window, name: string, theme: Theme = 'dark', beside = 0): Promise<void> {
  if (!process.env.PARLEY_PICTURES) return;
  const { page, chat } = window;
  mkdirSync(path.join(pictures, 'comfort'), { recursive: true });
  await window.theme(theme);
  await chat.wears(theme);
  const bar = await page.locator('.part.sidebar').boundingBox();
  assert.ok(bar, 'no side bar');
  await page.screenshot({ path: path.join(pictures, 'comfort', `${name}.png`), clip: { ...bar, width: bar.width + beside } });
  await window.theme('dark');
}

/** A picture of the whole window. */
async function takeAll({ page }: Window, name: string): Promise<void> {
  if (process.env.PARLEY_PICTURES) await page.screenshot({ path: path.join(pictures, 'comfort', `${name}.png`) });
}

async function startWith(window: Window, name: string): Promise<void> {
  const { chat, pick } = window;
  await window.command('Parley: New Session with Agent');
  await pick.choose(name);
  await pick.gone();
  await chat.frame.getByRole('textbox', { name: `Ask ${name}`, exact: true }).waitFor();
}

/** What the agent does with a prompt, from its request to the end of the turn. */
async function turnOf({ chat }: Window, text: string, body: () => Promise<void> | void): Promise<void> {
  const next = prompted();
  await chat.say(text);
  const { id } = await next;
  await body();
  agent.answer(id, { stopReason: 'end_turn' });
  await chat.settled(chat.lastTurn);
}

test(
  '01: a command runs, fails with its exit code, and keeps its output when it is stopped',
  inWindow(async ({ window }) => {
    const { chat } = window;
    await window.openChat();
    await window.chatWidth(300);
    await startWith(window, 'Parley Agent');
    await chat.say('run `sh tests.sh`');
    await chat.answer('Allow');
    await chat.lastTurn.getByText('test 3 passed').waitFor();
    await take(window, '01-running');
    await chat.settled(chat.lastTurn);
    await chat.lastTurn.getByText('exit 1').first().waitFor();
    await chat.lastTurn.locator('.terminal-output', { hasText: 'test 6 failed' }).waitFor();
    await take(window, '01-ended', 'light');
    await chat.say('run `sh watch.sh`');
    await chat.answer('Allow');
    await chat.lastTurn.getByText('test 3 passed').waitFor();
    await chat.stop.click();
    await chat.settled(chat.lastTurn);
    await chat.lastTurn.getByText('Stopped').first().click();
    await chat.lastTurn.getByText('test 3 passed').waitFor();
    await take(window, '01-stopped', 'contrast');
  }),
);

test(
  '02: what can be done with a message and an answer, as buttons and in the menu',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await startWith(window, 'Server');
    await chat.exchange('Put the pencils first');
    await chat.lastTurn.getByText('1 file changed').waitFor();
    await chat.lastTurn.locator('.prompt').hover();
    const names = await chat.lastTurn
      .locator('.again .icon-button, .sum .icon-button')
      .evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
    assert.deepEqual(names, [
      'Copy Message',
      'Edit Message and Send It Again',
      'Edit this message in a copy of this session',
      'Restore Files',
      'Copy Answer as Markdown',
      'Copy as text',
      'Try again',
    ]);
    await take(window, '02-buttons');
    await chat.lastTurn.locator('.prompt').click({ button: 'right' });
    await page.locator('.monaco-menu .action-label', { hasText: 'Copy Message' }).waitFor();
    await take(window, '02-menu', 'dark', 160);
    await page.keyboard.press('Escape');
  }),
);

test(
  '05 and 06: the plan while its turn runs and afterwards; an agent that works, and one that is silent',
  inWindow(async ({ window }) => {
    const { chat } = window;
    await startWith(window, 'Kimi');
    const plan = (done: number) =>
      agent.update({
        sessionUpdate: 'plan',
        entries: ['Read the entry point', 'Change the greeting', 'Run the tests'].map((content, at) => ({
          content,
          priority: 'medium',
          status: at < done ? 'completed' : at === done ? 'in_progress' : 'pending',
        })),
      });
    await turnOf(window, 'Change the greeting', async () => {
      plan(1);
      agent.text('The greeting stands in `src/main.ts`.');
      await chat.frame.getByText('Change the greeting').nth(1).waitFor();
      await take(window, '05-running');
      plan(3);
      agent.text('\n\nIt says “Welcome” now.');
    });
    await turnOf(window, 'And now something else', () => agent.text('The next turn, about something else.'));
    await take(window, '05-later');
    await turnOf(window, 'Think long', async () => {
      await chat.frame.getByText('0:06').first().waitFor();
      await take(window, '06-working');
      await chat.frame.getByText('Silent for').waitFor();
      await chat.frame.getByRole('button', { name: 'Restart Agent' }).waitFor();
      await window.chatWidth(240);
      await take(window, '06-silent');
      agent.text('So it is.');
    });
    await window.chatWidth(300);
  }),
);

test(
  '07 and 12: code as in the editor beside it, in each theme; a message, an answer and a task list',
  inWindow(async ({ window }) => {
    const { chat } = window;
    await window.openFile('listen.ts');
    await startWith(window, 'Kimi');
    await turnOf(window, 'Move the port', () => agent.text(MOVED));
    const code = chat.lastTurn.locator('code[data-language]').first();
    await until(async () => (await code.locator('span').count()) > 5, 'the code has its colours');
    await take(window, '07-dark', 'dark', 560);
    for (const theme of ['light', 'contrastLight'] as const) await take(window, `07-${theme}`, theme);
    await chat.lastTurn.locator('.code-block, pre').first().hover();
    const wrap = chat.lastTurn.getByRole('button', { name: /wrap/i }).first();
    await wrap.click();
    await take(window, '07-contrast', 'contrast');
    await wrap.click();
    await chat.composer.click();
    for (const theme of ['dark', 'light', 'contrast', 'contrastLight'] as const) await take(window, `12-${theme}`, theme);
  }),
);

test(
  '08: sessions by day, with what each one does, and the buttons of a row',
  inWindow(async (scene) => {
    const { window } = scene;
    const { chat } = window;
    remember(scene, 'Why do the tests wait', 26);
    remember(scene, 'Tags with spaces', 27);
    remember(scene, 'A first look', 150);
    await startWith(window, 'Parley Agent');
    await chat.say('replace "Hello" by "Welcome" in src/main.ts');
    await chat.ask(/./).waitFor();
    await startWith(window, 'Server');
    await chat.frame.locator('.title-button').click();
    const line = (title: string) => chat.frame.locator('.session-line', { hasText: title }).first();
    await line('A first look').waitFor();
    await line('Move the port').hover();
    await line('Move the port').getByRole('button', { name: 'Pinned' }).click();
    await chat.frame.locator('.sheet-day', { hasText: 'Pinned' }).waitFor();
    await line('Waiting for you').waitFor();
    await line('1 file').waitFor();
    await line('Put the pencils first').hover();
    await take(window, '08-sessions');
    await take(window, '08-light', 'light');
    await chat.frame.locator('.search').fill('port');
    await line('Tags with spaces').waitFor({ state: 'detached' });
    await line('Move the port').waitFor();
    await take(window, '08-search');
    await chat.frame.locator('.search').press('Escape');
    await chat.openSession('replace "Hello"');
    await chat.answer('Reject');
    await chat.settled(chat.lastTurn);
  }),
);

test(
  '03: the button that names agent, model and mode, and its picker',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await startWith(window, 'Kimi');
    const pill = chat.frame.locator('.pill');
    await pill.getByText('Kimi K2').waitFor();
    await take(window, '03-button');
    await pill.click();
    await chat.frame.getByRole('option').filter({ hasText: 'Plan' }).waitFor();
    await take(window, '03-picker');
    await page.keyboard.type('thi');
    await until(async () => (await chat.frame.getByRole('option').count()) < 4, 'the search has found less');
    await take(window, '03-search');
    await page.keyboard.press('Escape');
    await window.chatWidth(600);
    await take(window, '03-wide');
    await window.chatWidth(300);
  }),
);

test(
  '10: the lightbulb and the menu of a problem, and a command in the terminal for the next test',
  inWindow(async ({ window, folder }) => {
    const { page } = window;
    await window.closeEditors();
    writeFileSync(path.join(folder, 'src', 'broken.ts'), 'export const count: number = "many";\n');
    await window.openFile('broken.ts');
    await page.locator('.monaco-editor .squiggly-error').first().waitFor();
    const menu = page.locator('.action-widget');
    await until(async () => {
      await page.locator('.monaco-editor .view-line', { hasText: 'count' }).getByText('count').click();
      await page.keyboard.press('Control+.');
      return menu
        .getByText('Explain with Parley')
        .waitFor({ timeout: 10_000 })
        .then(
          () => true,
          () => false,
        );
    }, 'the lightbulb has its menu');
    await takeAll(window, '10-lightbulb');
    await page.keyboard.press('Escape');
    await window.command('Problems: Focus on Problems View');
    await page.locator('.markers-panel .monaco-list-row', { hasText: 'not assignable' }).first().click({ button: 'right' });
    await page.locator('.monaco-menu .action-label').getByText('Fix with Parley').waitFor();
    await takeAll(window, '10-problem');
    await page.keyboard.press('Escape');
    await window.command('Terminal: Create New Terminal');
    const rows = page.locator('.terminal-wrapper.active .xterm-rows');
    await rows
      .getByText(/[$#>%]\s*$/m)
      .first()
      .waitFor();
    // A prompt without the names of this computer.
    await page.keyboard.type("PS1='$ '; clear\n");
    await rows.getByText('PS1').waitFor({ state: 'detached' });
    await page.keyboard.type('cat TODO.md\n');
    await rows.getByText('keep notes in a file').first().waitFor();
  }),
);

test(
  '09: what an @ offers, and its chips',
  inWindow(async ({ window }) => {
    const { chat, page } = window;
    await startWith(window, 'Kimi');
    await window.openFile('main.ts');
    await page.locator('.editor-instance .view-line', { hasText: 'The answer to one command' }).click();
    await page.keyboard.press('Shift+Home');
    await chat.composer.click();
    await chat.composer.pressSequentially('@');
    for (const row of ['Selection', 'Problems', 'Uncommitted changes', 'Terminal', 'Open editors', 'notes.txt'])
      await chat.menu.filter({ hasText: row }).first().waitFor();
    await take(window, '09-menu');
    await page.keyboard.press('Escape');
    await chat.composer.fill('');
    const chip = chat.frame.locator('.attachment');
    for (const [typed, row] of [
      ['@countT', 'countTags'],
      ['@sel', 'Selection'],
      ['@prob', 'Problems'],
    ] as const) {
      await chat.composer.pressSequentially(typed);
      await chat.menu.filter({ hasText: row }).first().waitFor();
      await chat.composer.press('Enter');
      await chat.menu.first().waitFor({ state: 'hidden' });
    }
    await until(async () => (await chip.count()) === 3, 'each has a chip');
    await take(window, '09-chips');
    await chat.composer.fill('');
    while ((await chip.count()) > 0) await chip.first().locator('.icon-button').click();
  }),
);

test(
  '11: the first step to a model has all services, those on this computer first',
  inWindow(async ({ window }) => {
    const { page, pick } = window;
    await page.setViewportSize({ width: 1000, height: 1500 });
    await window.command('Parley: Configure Model');
    for (const name of ['Ollama', 'OpenRouter', 'Anthropic', 'Google Gemini', 'DeepSeek', 'Moonshot', 'Qwen', 'OpenAI'])
      await pick.rowNamed(name).first().waitFor();
    await takeAll(window, '11-services');
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 1280, height: 800 });
  }),
);

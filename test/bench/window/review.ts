import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { Window } from '../../e2e/pages/window.ts';
import { descendants } from '../../e2e/processes.ts';
import { FakeAgent } from '../../fakes/acp.ts';
import { openBrowser } from '../../workbench/browser.ts';
import { installWorkbench } from '../../workbench/install.ts';
import { addressOf, type Server, startServer } from '../../workbench/server.ts';

interface Timed {
  readonly ms: number;
  /** Of the page, on the way. */
  readonly longestTask: number;
}

/** What the review of changes costs in the real workbench. Times in milliseconds. */
export interface WindowFigures {
  /** Without any extension, in the same file: a typed letter until it is saved, and the change of 499 lines on the disk until it is on the screen. */
  readonly editor: Readonly<Record<'saved' | 'reread', Timed>>;
  /** A file of 50,000 lines with 500 hunks: from the click that opens it to the first Keep over a hunk. */
  readonly opened: Timed;
  /** The same file without changes to review, until its text is there. */
  readonly openedPlain: Timed;
  /** In that file: from Undo of one hunk to the lenses of the others, and from undoing all of them to the text without any. */
  readonly undone: Readonly<Record<'one' | 'all', Timed>>;
  /** From the end of the agent's write and its report of it to the hunk in the open editor; median of ten. */
  readonly visible: number;
  /** CPU of processes while 8,000 files come into node_modules: with a turn running, and without. */
  readonly install: Readonly<Record<'turn' | 'rest', Readonly<Record<'host' | 'watcher', number>>>>;
}

const LINES = 50_000;
const text = (line: (at: number) => string) => `${Array.from({ length: LINES }, (_, at) => line(at)).join('\n')}\n`;
const plainLine = (at: number) => `const value${at} = compute(${at});`;
const changed = (at: number) => (at % 100 === 5 ? `${plainLine(at)} // changed` : plainLine(at));

export async function measureInWindow(): Promise<WindowFigures> {
  const folder = mkdtempSync(path.join(tmpdir(), 'review-window-'));
  const agent = await FakeAgent.start();
  const workbench = await installWorkbench('current');
  const { command, args } = agent.launch(folder);
  const machineSettings = {
    'parley.agents': [{ id: 'disk', name: 'Disk', protocol: 'acp', command, args }],
    'parley.defaultAgent': 'disk',
  };
  writeFileSync(path.join(folder, 'large.txt'), text(plainLine));
  writeFileSync(path.join(folder, 'plain.txt'), text(plainLine));
  const server = await startServer({ workbench, machineSettings });
  const browser = await openBrowser(workbench);
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    context.setDefaultTimeout(120_000);
    const editor = await withoutExtension(await context.newPage(), server);
    const page = await context.newPage();
    const window = new Window(page);
    await page.goto(addressOf(server, { folder, extension: '.' }), { waitUntil: 'domcontentloaded' });
    await window.ready();
    await window.openChat();
    await window.chat.frame.getByText('Disk').first().waitFor();
    return { editor, ...(await measure(window, agent, folder, server)) };
  } finally {
    await browser.close();
    await server.stop();
    await agent.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the same changes cost the editor alone. */
async function withoutExtension(page: Page, server: Server): Promise<WindowFigures['editor']> {
  const folder = mkdtempSync(path.join(tmpdir(), 'review-plain-'));
  const file = path.join(folder, 'large.txt');
  writeFileSync(file, text(changed));
  await page.goto(addressOf(server, { folder }), { waitUntil: 'domcontentloaded' });
  await page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'large.txt' }).dblclick();
  const line = page.locator('.view-line', { hasText: 'compute(5); // changed' });
  await line.click();
  const dirty = page.locator('.tab.dirty');
  const saved = await timed(page, async () => {
    await page.keyboard.press('x');
    await dirty.waitFor();
    await page.keyboard.press('Control+S');
    await dirty.waitFor({ state: 'detached' });
  });
  const reread = await timed(page, async () => {
    writeFileSync(file, text(plainLine));
    await line.waitFor({ state: 'detached' });
  });
  await page.close();
  rmSync(folder, { recursive: true, force: true });
  return { saved, reread };
}

async function measure(window: Window, agent: FakeAgent, folder: string, server: Server): Promise<Omit<WindowFigures, 'editor'>> {
  const { chat, page } = window;
  let act: () => Promise<void> = async () => {};
  agent.handlers['session/prompt'] = async () => {
    await act();
    agent.text('Done.');
    return { stopReason: 'end_turn' };
  };
  const large = path.join(folder, 'large.txt');
  const open = (name: string) => chat.frame.locator('.changes li', { hasText: name }).last().locator('.path-button').click();
  const keep = page.locator('.codelens-decoration a', { hasText: 'Keep' }).first();
  act = async () => writeFileSync(path.join(folder, 'plain.txt'), `${text(plainLine)}\n`);
  await chat.exchange('plain');
  await chat.lastTurn.getByRole('button', { name: 'Keep: plain.txt' }).click();
  await chat.lastTurn.getByText('Kept').waitFor();
  const openedPlain = await timed(page, async () => {
    await open('plain.txt');
    await page.locator('.view-line', { hasText: 'value3 ' }).first().waitFor();
  });
  await window.command('View: Close All Editors');
  act = async () => writeFileSync(large, text(changed));
  await chat.exchange('large');
  await chat.lastTurn.getByText('1 file changed').waitFor();
  const opened = await timed(page, async () => {
    await open('large.txt');
    await keep.waitFor();
  });
  await page.locator('.view-line', { hasText: 'changed' }).first().click();
  const one = await timed(page, async () => {
    // The keyboard goes on to the next change; the lenses of the others are out of sight.
    await page.keyboard.press('Control+K');
    await page.keyboard.press('Shift+N');
    await page.locator('.codelens-decoration > span', { hasText: '1/499' }).first().waitFor();
  });
  await page.locator('.view-lines').first().click();
  await window.command('Parley: Undo All Changes');
  const all = await timed(page, async () => {
    await page.getByRole('button', { name: 'Undo all' }).click();
    await keep.waitFor({ state: 'hidden' });
  });
  await window.command('View: Close All Editors');
  const visible = await lastByte(window, agent, folder, (next) => {
    act = next;
  });
  const install = {
    rest: await installing(server, folder, 'rest'),
    turn: { host: 0, watcher: 0 },
  };
  act = async () => {
    install.turn = await installing(server, folder, 'turn');
  };
  await chat.exchange('install');
  return { opened, openedPlain, undone: { one, all }, visible, install };
}

/** How long something takes, and the longest task of the page meanwhile. */
async function timed(page: Page, run: () => Promise<void>): Promise<Timed> {
  await page.evaluate(`globalThis.tasks = []; new PerformanceObserver((list) => globalThis.tasks.push(...list.getEntries().map((entry) => entry.duration)))
    .observe({ entryTypes: ['longtask'] });`);
  const start = performance.now();
  await run();
  const ms = performance.now() - start;
  const tasks = (await page.evaluate('globalThis.tasks')) as readonly number[];
  return { ms, longestTask: Math.max(0, ...tasks) };
}

async function lastByte(window: Window, agent: FakeAgent, folder: string, next: (act: () => Promise<void>) => void): Promise<number> {
  const { chat, page } = window;
  const file = path.join(folder, 'small.txt');
  const rows = (word: string) => `${Array.from({ length: 200 }, (_, at) => (at === 3 ? word : `row ${at}`)).join('\n')}\n`;
  writeFileSync(file, rows('row 3'));
  const times: number[] = [];
  for (let round = 0; round < 11; round += 1) {
    let written = 0;
    next(async () => {
      const call = { toolCallId: `c${round}`, title: 'sh', kind: 'execute' };
      agent.update({ sessionUpdate: 'tool_call', ...call, status: 'in_progress' });
      writeFileSync(file, rows(`word ${round}`));
      written = performance.now();
      agent.update({ sessionUpdate: 'tool_call_update', toolCallId: call.toolCallId, status: 'completed' });
    });
    await chat.exchange(`round ${round}`);
    if (round === 0) {
      await chat.lastTurn.getByText('1 file changed').waitFor();
      await chat.frame.locator('.changes li', { hasText: 'small.txt' }).last().locator('.path-button').click();
    }
    await page.locator('.view-line', { hasText: new RegExp(`word.${round}$`) }).waitFor();
    await page.locator('.codelens-decoration a', { hasText: 'Keep' }).first().waitFor();
    if (round > 0) times.push(performance.now() - written);
    await window.command('Parley: Keep All Changes');
    await page.locator('.codelens-decoration a', { hasText: 'Keep' }).first().waitFor({ state: 'hidden' });
  }
  return times.sort((a, b) => a - b)[5] ?? 0;
}

/** CPU that the extension host and the editor's own watcher take until they are quiet again. */
async function installing(server: Server, folder: string, name: string): Promise<Record<'host' | 'watcher', number>> {
  const used = () => ({ host: cpuOf(server, '--type=extensionHost'), watcher: cpuOf(server, '--type=fileWatcher') });
  const before = used();
  for (let at = 0; at < 400; at += 1) {
    const below = path.join(folder, 'node_modules', `${name}-${at}`);
    mkdirSync(below, { recursive: true });
    for (let file = 0; file < 20; file += 1) writeFileSync(path.join(below, `${file}.js`), plainLine(file).repeat(20));
  }
  let last = used();
  for (let quiet = 0; quiet < 5; ) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    const now = used();
    quiet = now.host + now.watcher - last.host - last.watcher < 30 ? quiet + 1 : 0;
    last = now;
  }
  return { host: last.host - before.host, watcher: last.watcher - before.watcher };
}

/** Milliseconds of CPU of the server's processes of that kind; the clock of the system ticks 100 times a second. */
function cpuOf(server: Server, kind: string): number {
  return descendants(server.pid, kind).reduce((sum, pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return sum + (Number(fields[11]) + Number(fields[12])) * 10;
  }, 0);
}

import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, BrowserContext } from 'playwright-core';
import { runningHost } from '../../src/live/hostProcess.ts';
import { isAlive } from '../fakes/processes.ts';
import { openBrowser } from '../workbench/browser.ts';
import { addressOf, type Server, startServer } from '../workbench/server.ts';
import { pictures, Window } from './pages/window.ts';
import { descendants } from './processes.ts';

/** The second attempt of a file records traces. */
const isRecorded = process.env.PARLEY_RECORD !== undefined;

export interface SuiteSpec {
  /** Names the pictures of failures. */
  readonly name: string;
  /** Install the package instead of loading the folder under development. */
  readonly packaged?: true;
  /** The folder under development, when it is not this one: an earlier build to compare with. */
  readonly extension?: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  /** The display language; English when absent. */
  readonly locale?: string;
  readonly viewport?: { readonly width: number; readonly height: number };
  /** Makes ready what the window needs besides the workspace. */
  readonly prepare?: (folder: string) => Promise<Prepared>;
}

export interface Prepared {
  readonly machineSettings?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Further arguments of the server. */
  readonly serverArgs?: readonly string[];
  /** Folders of other extensions, installed beside this one. */
  readonly others?: readonly string[];
  /** What stands in the command lines of the agents: none of them may outlive the server. */
  readonly agents: string;
  end(): Promise<void>;
}

export interface Scene {
  readonly window: Window;
  /** The workspace, a fresh copy of the sample. */
  readonly folder: string;
  /** What Parley keeps on the disk. */
  readonly storage: string;
  /** The home of the user whose window it is. */
  readonly home: string;
  /** Processes of the server whose command line holds a text. */
  running(text: string): readonly number[];
}

const TEST_LIMIT_MS = 400_000;

/** What an agent is never answered is awaited by no locator that would give up. */
async function inTime(body: Promise<void>): Promise<void> {
  const overdue = pause(TEST_LIMIT_MS, undefined, { ref: false }).then(() => {
    throw new Error(`not over within ${TEST_LIMIT_MS / 1000} s`);
  });
  await Promise.race([body, overdue]);
}

/** One server, one browser and one window for the tests of a file, which run in order. A failed test leaves a picture, and a trace when it is run again. */
export function suite(spec: SuiteSpec): (body: (scene: Scene) => Promise<void>) => (t: TestContext) => Promise<void> {
  const temp = mkdtempSync(path.join(os.tmpdir(), 'parley-e2e-'));
  const folder = path.join(temp, 'tally-notes');
  let server: Server | undefined;
  let browser: Browser | undefined;
  let context: BrowserContext | undefined;
  let scene: Scene | undefined;
  let prepared: Prepared | undefined;

  before(async () => {
    cpSync('test/workbench/sample', folder, { recursive: true });
    const { PARLEY_WORKBENCH: current, PARLEY_E2E_SERVER: workbench } = process.env;
    assert.ok(current && workbench, 'run this by npm test -- e2e');
    prepared = await spec.prepare?.(folder);
    const started = await startServer({
      workbench,
      ...(spec.settings ? { settings: spec.settings } : {}),
      ...(prepared?.machineSettings ? { machineSettings: prepared.machineSettings } : {}),
      ...(spec.locale ? { locale: spec.locale } : {}),
      ...(prepared?.others ? { others: prepared.others } : {}),
      ...(prepared?.serverArgs ? { args: prepared.serverArgs } : {}),
      ...(spec.packaged ? { vsix: 'out/parley.vsix' } : {}),
      env: { ...spec.env, ...prepared?.env },
    });
    server = started;
    browser = await openBrowser(current);
    // Dark from the start: a change of the theme costs as much as a fifth of the start.
    const looks = { reducedMotion: 'reduce', colorScheme: 'dark' } as const;
    context = await browser.newContext({ viewport: spec.viewport ?? { width: 1280, height: 800 }, ...looks });
    context.setDefaultTimeout(90_000);
    if (isRecorded) await context.tracing.start({ screenshots: true, snapshots: true });
    const page = await context.newPage();
    const window = new Window(page);
    const storage = path.join(started.storage, 'parley.parley');
    scene = { window, folder, storage, home: started.home, running: (text) => descendants(started.pid, text) };
    await page.goto(addressOf(started, { folder, ...(spec.packaged ? {} : { extension: spec.extension ?? '.' }) }), {
      waitUntil: 'domcontentloaded',
    });
    await window.ready();
    await window.theme('dark');
  });

  after(async () => {
    await browser?.close();
    const agents = scene?.running(prepared?.agents ?? 'parley-agent') ?? [];
    await server?.stop();
    // An agent host outlives its window, and a test that failed has not stopped it.
    const host = scene && runningHost(path.join(scene.storage, 'host'));
    if (host) process.kill(host.pid, 'SIGKILL');
    // What is ending may write its last.
    rmSync(temp, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    for (let wait = 0; wait < 50 && agents.some(isAlive); wait += 1) await pause(100);
    await prepared?.end();
    assert.deepEqual(agents.filter(isAlive), [], 'agents outlive the server');
  });

  return (body) => async (t) => {
    assert.ok(scene && context, 'the workbench did not open');
    if (isRecorded) await context.tracing.startChunk({ title: t.name });
    try {
      await inTime(body(scene));
    } catch (error) {
      const file = path.join(pictures, `failed-${spec.name}-${t.name.replaceAll(/\W+/g, '-')}`);
      mkdirSync(path.dirname(file), { recursive: true });
      for (const [at, page] of context.pages().entries())
        await page.screenshot({ path: at === 0 ? `${file}.png` : `${file}-${at + 1}.png` });
      if (isRecorded) await context.tracing.stopChunk({ path: `${file}.zip` });
      throw error;
    }
    if (isRecorded) await context.tracing.stopChunk();
  };
}

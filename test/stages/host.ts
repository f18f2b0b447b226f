import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import type { HostResult } from '../host/result.ts';
import { openBrowser } from '../workbench/browser.ts';
import { installWorkbench } from '../workbench/install.ts';
import { type Channel, channels } from '../workbench/pins.ts';
import { addressOf, startServer } from '../workbench/server.ts';
import { chosenFiles, type Options } from './options.ts';
import type { Tally } from './tally.ts';

const outdir = path.resolve('out/host');
const limitMs = 300_000;

/** Runs the mocha suites of test/host inside the extension host of a real workbench, once per VS Code version. */
export async function runHostTests(tally: Tally, options: Options): Promise<void> {
  const { name } = options;
  const files = chosenFiles(options, 'test/host');
  if (files.length === 0) return;
  if (!(await tally.step('bundle host tests', () => bundle(files)))) return;
  for (const channel of options.channels ?? channels) {
    const began = performance.now();
    let results: readonly HostResult[];
    try {
      results = await runIn(channel, name);
    } catch (error) {
      tally.fail(`host (${channel})`, error instanceof Error ? error.message : String(error));
      continue;
    }
    for (const result of results) {
      if (result.ok) tally.pass();
      else tally.fail(`host (${channel}): ${result.name}`, result.detail);
    }
    if (results.length === 0 && name === undefined) tally.fail(`host (${channel})`, 'no test reported anything');
    console.log(`        host (${channel}): ${results.length} tests (${((performance.now() - began) / 1000).toFixed(1)} s)`);
  }
}

async function runIn(channel: Channel, name: string | undefined): Promise<readonly HostResult[]> {
  const report = await inExtensionHost(channel, path.join(outdir, 'index.js'), name === undefined ? {} : { PARLEY_TEST_NAME: name });
  return JSON.parse(report) as readonly HostResult[];
}

/** Calls `run()` of a bundled module inside the extension host, on a copy of the sample; what it wrote to $PARLEY_REPORT. */
export async function inExtensionHost(channel: Channel, tests: string, more: Readonly<Record<string, string>>): Promise<string> {
  const workbench = await installWorkbench(channel);
  const current = channel === 'current' || process.env.CHROMIUM ? workbench : await installWorkbench('current');
  const temp = mkdtempSync(path.join(os.tmpdir(), 'parley-host-'));
  const report = path.join(temp, 'report.json');
  const folder = path.join(temp, 'sample');
  cpSync('test/workbench/sample', folder, { recursive: true });
  const fixtures = path.resolve('test/host/fixtures');
  // The editor has to be told of a certificate nobody signed the way people tell it.
  const env = { PARLEY_REPORT: report, PARLEY_FIXTURES: fixtures, NODE_EXTRA_CA_CERTS: path.join(fixtures, 'agent.test.crt'), ...more };
  const server = await startServer({ workbench, env });
  try {
    const browser = await openBrowser(current);
    try {
      const page = await browser.newPage();
      const lines: string[] = [];
      let timer: NodeJS.Timeout | undefined;
      const done = new Promise<void>((resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`no result in ${limitMs / 1000} s\n${lines.slice(-40).join('\n')}`)), limitMs);
        page.once('crash', () => reject(new Error('the page of the workbench crashed')));
        // Two globals that the workbench calls when it runs tests: every log line, and the exit code.
        void page.exposeFunction(
          'codeAutomationLog',
          (_type: string, args: readonly unknown[]) => void lines.push(args.map(String).join(' ')),
        );
        void page.exposeFunction('codeAutomationExit', () => resolve());
      });
      done.catch(() => {}); // it may end while the page is still loading
      await page.goto(addressOf(server, { folder, extension: '.', tests }), {
        waitUntil: 'domcontentloaded',
      });
      await done.finally(() => clearTimeout(timer));
      if (!existsSync(report)) throw new Error(`the run gave no report\n${lines.slice(-40).join('\n')}`);
      return readFileSync(report, 'utf8');
    } finally {
      await browser.close();
    }
  } finally {
    await server.stop();
    rmSync(temp, { recursive: true, force: true });
  }
}

async function bundle(files: readonly string[]): Promise<void> {
  rmSync(outdir, { recursive: true, force: true });
  mkdirSync(outdir, { recursive: true });
  await build({
    entryPoints: ['test/host/index.ts', ...files],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    external: ['vscode', 'mocha'],
    sourcemap: 'inline',
    logLevel: 'warning',
    outdir,
    outbase: 'test/host',
  });
}

import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Mocha from 'mocha';
import type { HostResult } from './result.ts';

/** Called by the extension host: runs the suites that are bundled beside this file and writes one result per test to $PARLEY_REPORT. */
export async function run(): Promise<void> {
  const grep = process.env.PARLEY_TEST_NAME;
  const mocha = new Mocha({
    ui: 'bdd',
    timeout: 60_000,
    color: false,
    forbidOnly: true,
    forbidPending: true,
    ...(grep ? { grep: new RegExp(grep) } : {}),
  });
  for (const file of readdirSync(__dirname).sort()) if (file.endsWith('.test.js')) mocha.addFile(path.join(__dirname, file));
  const results: HostResult[] = [];
  await new Promise<void>((resolve) => {
    const runner = mocha.run(() => resolve());
    runner.on('pass', (passed) => results.push({ name: passed.fullTitle(), ok: true }));
    runner.on('fail', (failed, error: unknown) => {
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      results.push({ name: failed.fullTitle(), ok: false, detail });
    });
  });
  if (process.env.PARLEY_REPORT) writeFileSync(process.env.PARLEY_REPORT, JSON.stringify(results));
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build, check, pack } from './check.ts';
import { runE2e } from './e2e.ts';
import { filesUnder } from './files.ts';
import { runHostTests } from './host.ts';
import { runNodeTests } from './nodeTests.ts';
import { chosenFiles, type Options, readOptions, usage } from './options.ts';
import { Tally } from './tally.ts';

/** The whole of `npm test`. Resolves with the exit code after printing the sum. */
export async function runAll(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    console.log(usage);
    return 0;
  }
  const options = readOptions(args);
  const remove = useOwnTemp();
  try {
    return await runStages(options);
  } finally {
    remove();
  }
}

/**
 * Gives this run, and all it starts, a folder of its own for temporary files. The function that comes back removes it; a signal does so, too. What a
 * program writes late, or a killed one leaves behind, goes with it.
 */
function useOwnTemp(): () => void {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-test-'));
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) process.env[name] = folder;
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      // After the listeners that end what still runs.
      process.once('exit', remove);
      process.exit(1);
    });
  return remove;
}

async function runStages(options: Options): Promise<number> {
  const tally = new Tally();
  process.env.NODE_OPTIONS = [process.env.NODE_OPTIONS, '--enable-source-maps'].filter(Boolean).join(' ');
  await build(tally);
  if (options.stages.has('check')) await check(tally);
  if (options.stages.has('unit') || options.stages.has('rules')) await unit(tally, options);
  if (options.stages.has('package')) await packaged(tally, options);
  if (options.stages.has('host')) await runHostTests(tally, options);
  if (options.stages.has('e2e')) await runE2e(tally, options);
  return tally.close();
}

/** Everything that needs no editor; `rules` alone is a part of it. */
async function unit(tally: Tally, options: Options): Promise<void> {
  const rules = options.stages.has('unit') ? '' : 'test/rules/';
  const elsewhere = /^test\/(host|e2e|package|bench|agents)\//;
  await runNodeTests(tally, {
    stage: 'unit',
    files: chosenFiles(options, 'test').filter((file) => !elsewhere.test(file) && file.startsWith(rules)),
    programs: filesUnder('test/fakes', '.ts'),
    name: options.name,
    concurrency: 2,
    limitMs: 600_000,
    totalMs: 1_200_000,
  });
}

/** The .vsix: made, and looked into. */
async function packaged(tally: Tally, options: Options): Promise<void> {
  if (!(await pack(tally))) return;
  await runNodeTests(tally, {
    stage: 'package',
    files: chosenFiles(options, 'test/package'),
    name: options.name,
    concurrency: 1,
    limitMs: 60_000,
    totalMs: 300_000,
  });
}

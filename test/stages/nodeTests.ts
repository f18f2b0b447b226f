import { setMaxListeners } from 'node:events';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { run } from 'node:test';
import { type BuildOptions, build } from 'esbuild';
import type { Tally } from './tally.ts';

export interface NodeTestRun {
  /** The bundles go to out/<stage>. */
  readonly stage: string;
  /** Test files, relative to the repository. */
  readonly files: readonly string[];
  /** Modules that tests start as programs, relative to the repository; bundled beside the tests. */
  readonly programs?: readonly string[];
  readonly name: string | undefined;
  readonly concurrency: number;
  /** How long one file may take, in milliseconds. */
  readonly limitMs: number;
  /** How long all of it may take; what still runs then is ended. */
  readonly totalMs: number;
}

/** Bundles test files and runs them with node's own runner, one process per file. A file without a test, and a skipped test, count as failed. */
export async function runNodeTests(tally: Tally, spec: NodeTestRun): Promise<void> {
  const { stage, files, name, concurrency, limitMs } = spec;
  if (files.length === 0) return;
  const outdir = path.join('out', stage);
  const bundled = await tally.step(`bundle ${stage} tests`, () => bundleTests([...files, ...(spec.programs ?? [])], outdir));
  if (!bundled) return;
  const targets = new Map(files.map((file) => [path.resolve(outdir, file.replace(/\.ts$/, '.mjs')), file]));
  // Some versions of node name the source by its source map, some the bundle.
  const sources = new Map([...targets, ...files.map((file) => [path.resolve(file), file] as const)]);
  const counts = new Map<string, number>();
  const signal = AbortSignal.timeout(spec.totalMs);
  setMaxListeners(0, signal); // the runner adds one per file
  const patterns = name === undefined ? {} : { testNamePatterns: [new RegExp(name)] };
  for await (const event of run({ files: [...targets.keys()], concurrency, timeout: limitMs, signal, ...patterns })) {
    if (event.type === 'test:stdout' || event.type === 'test:stderr') process.stdout.write(event.data.message);
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { data } = event;
    const file = sources.get(data.file ?? data.name) ?? targets.get(data.name) ?? '?';
    const title = `${file}: ${data.name}`;
    if (event.type === 'test:fail') {
      const error = event.data.details.error as Failure;
      counts.set(file, (counts.get(file) ?? 0) + 1);
      if (error.failureType !== 'subtestsFailed') tally.fail(targets.has(data.name) ? file : title, explain(error));
    } else if (event.data.details.type !== 'suite' && !targets.has(data.name)) {
      counts.set(file, (counts.get(file) ?? 0) + 1);
      if (data.skip === undefined && data.todo === undefined) tally.pass();
      else if (name === undefined) tally.fail(title, 'skipped');
    }
  }
  for (const file of files) if (!counts.has(file) && name === undefined) tally.fail(file, 'no test reported anything');
  console.log(`        ${stage}: ${[...counts.values()].reduce((sum, n) => sum + n, 0)} tests in ${files.length} files`);
}

interface Failure {
  readonly failureType?: string;
  readonly message?: string;
  readonly cause?: unknown;
}

function explain(error: Failure): string {
  const cause = error.cause ?? error;
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}

export async function bundleTests(entryPoints: readonly string[], outdir: string): Promise<void> {
  rmSync(outdir, { recursive: true, force: true });
  const ofView = entryPoints.filter((file) => file.startsWith('test/webview/'));
  await bundleSome(
    entryPoints.filter((file) => !ofView.includes(file)),
    outdir,
    { packages: 'external' },
  );
  // The view's libraries look for a document as they load: they belong into the bundle, after the module that makes one.
  await bundleSome(ofView, outdir, { conditions: ['browser'], mainFields: ['browser', 'module', 'main'], external: ['happy-dom'] });
}

async function bundleSome(entryPoints: readonly string[], outdir: string, more: BuildOptions): Promise<void> {
  if (entryPoints.length === 0) return;
  await build({
    entryPoints: [...entryPoints],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    loader: { '.css': 'empty' },
    sourcemap: 'inline',
    logLevel: 'warning',
    outbase: '.',
    outdir,
    outExtension: { '.js': '.mjs' },
    ...more,
  });
}

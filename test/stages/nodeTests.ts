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
  /** Run a file with failures once more, one after another, with these environment variables; what passes then is named at the end of the run. */
  readonly secondAttempt?: Readonly<Record<string, string>>;
}

/** Bundles test files and runs them with node's own runner, one process per file. A file without a test, and a skipped test, count as failed. */
export async function runNodeTests(tally: Tally, spec: NodeTestRun): Promise<void> {
  const { stage, files } = spec;
  if (files.length === 0) return;
  const outdir = path.join('out', stage);
  const bundled = await tally.step(`bundle ${stage} tests`, () => bundleTests([...files, ...(spec.programs ?? [])], outdir));
  if (!bundled) return;
  const signal = AbortSignal.timeout(spec.totalMs);
  setMaxListeners(0, signal); // the runner adds one per file
  const fail: Tell = (title, failure) => tally.fail(title, failure);
  const first: Tell = spec.secondAttempt ? (title, failure) => tally.unsteady(title, failure) : fail;
  const runs = await runFiles(spec, files, signal, first);
  const failed = spec.secondAttempt ? files.filter((file) => runs.get(file)?.results.some(({ ok }) => !ok)) : [];
  if (spec.secondAttempt && failed.length > 0) {
    Object.assign(process.env, spec.secondAttempt);
    for (const [file, second] of await runFiles({ ...spec, concurrency: 1 }, failed, signal, fail)) {
      runs.set(file, second);
      for (const { title, ok } of second.results) if (ok) tally.passAgain(title);
    }
    for (const name of Object.keys(spec.secondAttempt)) delete process.env[name];
  }
  const results = [...runs.values()].flatMap((one) => one.results);
  for (const { ok } of results) if (ok) tally.pass();
  console.log(`        ${stage}: ${results.length} tests in ${files.length} files; longest: ${longest(runs)}`);
}

function longest(runs: ReadonlyMap<string, FileRun>): string {
  const slowest = [...runs].toSorted(([, a], [, b]) => b.ms - a.ms).slice(0, 6);
  return slowest.map(([file, { ms }]) => `${path.basename(file, '.test.ts')} ${Math.round(ms / 1000)} s`).join(', ');
}

interface Result {
  readonly title: string;
  readonly ok: boolean;
}
interface FileRun {
  readonly results: Result[];
  ms: number;
}
/** The compiler's server, which the rules ask about types, prints this when it is ended; it is no fault. */
const withoutCanceled = (output: string): string => output.replaceAll(/^context canceled\n/gm, '');
type Tell = (title: string, failure: string) => void;

/** Runs bundled files and tells of each failure at once; the results of each file, at least one unless tests are chosen by name. */
async function runFiles(spec: NodeTestRun, files: readonly string[], signal: AbortSignal, tell: Tell): Promise<Map<string, FileRun>> {
  const { name, concurrency, limitMs } = spec;
  const targets = new Map(files.map((file) => [path.resolve('out', spec.stage, file.replace(/\.ts$/, '.mjs')), file]));
  // Some versions of node name the source by its source map, some the bundle.
  const sources = new Map([...targets, ...files.map((file) => [path.resolve(file), file] as const)]);
  const runs = new Map<string, FileRun>(files.map((file) => [file, { results: [], ms: 0 }]));
  const failed = (ofFile: Result[], title: string, failure: string) => {
    ofFile.push({ title, ok: false });
    tell(title, failure);
  };
  const patterns = name === undefined ? {} : { testNamePatterns: [new RegExp(name)] };
  for await (const event of run({ files: [...targets.keys()], concurrency, timeout: limitMs, signal, ...patterns })) {
    if (event.type === 'test:stdout' || event.type === 'test:stderr') process.stdout.write(withoutCanceled(event.data.message));
    if (event.type === 'test:diagnostic' && spec.stage === 'package' && /^kB\b/.test(event.data.message))
      console.log(`        ${event.data.message}`);
    if (event.type === 'test:complete') {
      const whole = runs.get(targets.get(event.data.name) ?? '');
      if (whole) whole.ms = event.data.details.duration_ms;
    }
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { data } = event;
    // A test that another module declares for a file is named by that module.
    const file = sources.get(data.file ?? data.name) ?? targets.get(data.name) ?? path.relative('.', data.file ?? data.name);
    const title = `${file}: ${data.name}`;
    const ofRun = runs.get(file) ?? { results: [], ms: 0 };
    runs.set(file, ofRun);
    const ofFile = ofRun.results;
    if (event.type === 'test:fail') {
      const error = event.data.details.error as Failure;
      if (error.failureType !== 'subtestsFailed') failed(ofFile, targets.has(data.name) ? file : title, explain(error));
    } else if (event.data.details.type !== 'suite' && !targets.has(data.name)) {
      if (data.skip === undefined && data.todo === undefined) ofFile.push({ title, ok: true });
      else if (name === undefined) failed(ofFile, title, 'skipped');
    }
  }
  if (name === undefined)
    for (const [file, { results }] of runs) if (results.length === 0) failed(results, file, 'no test reported anything');
  return runs;
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

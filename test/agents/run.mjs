// npm run test:agents [-- PROTOCOL ...] [--window] [--only TEXT] [--name REGEX] [--install]
// Installs the real agents named in test/agents/<protocol>/peers.json (pinned versions, the npm registry) into .agents/<name>, or below
// $PARLEY_AGENTS, and runs test/agents/<protocol>/*.test.ts against them. The tests run in a network namespace with loopback only where the
// machine can make one. One file at a time: the agents are heavy. With --window it also runs test/agents/window/<protocol>.*.test.ts: the same agents
// driven by hand, so to speak, in the real workbench (Linux x64); `--only window` leaves the others out. Pictures go to
// out/screenshots/agents/<agent>.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { load } from '../bootstrap.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
process.chdir(root);
if (process.argv.includes('--help')) {
  console.log('npm run test:agents [-- PROTOCOL ...] [--window] [--only TEXT] [--name REGEX] [--install]');
  process.exit(0);
}
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string' }, name: { type: 'string' }, install: { type: 'boolean' }, window: { type: 'boolean' } },
});
const agents = path.resolve(process.env.PARLEY_AGENTS ?? '.agents');
const here = path.join('test', 'agents');
/** The agents that are driven in the workbench, by protocol. */
const seen = JSON.parse(readFileSync(path.join(here, 'window', 'peers.json'), 'utf8'));

/** Folders of protocols that have real peers. */
function protocols() {
  const all = readdirSync(here).filter((name) => name !== 'window' && existsSync(path.join(here, name, 'peers.json')));
  for (const name of positionals)
    if (!all.includes(name)) throw new Error(`There are no such runs with agents of ${name}; known are ${all.join(', ')}`);
  return positionals.length > 0 ? positionals : all;
}

/** Runs npm with the given node, so that what it picks fits the node the agents get. */
function npm(node, cwd, ...args) {
  const env = { ...process.env, PATH: `${path.dirname(node)}${path.delimiter}${process.env.PATH}` };
  execFileSync('npm', args, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' });
}

/** Installs a peer when it is not there in these versions. */
function install(name, packages, node) {
  const folder = path.join(agents, name);
  const versionOf = (pack) => {
    const manifest = path.join(folder, 'node_modules', pack, 'package.json');
    return existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')).version : undefined;
  };
  if (Object.entries(packages).every(([pack, version]) => versionOf(pack) === version)) return;
  console.log(
    `Installing ${name}: ${Object.entries(packages)
      .map(([pack, version]) => `${pack}@${version}`)
      .join(', ')}`,
  );
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: packages }));
  npm(node, folder, 'install', '--no-audit', '--no-fund', '--loglevel=error');
}

/** A node of version 24 or newer for the agents that need it: this one, the workbench's, or the one from the registry. */
function modernNode() {
  const workbench = process.env.PARLEY_WORKBENCH ?? path.join('.workbench', 'current');
  const found = [process.execPath, path.resolve(workbench, 'node', 'node')].find(
    (node) => existsSync(node) && Number(/v(\d+)/.exec(execFileSync(node, ['-v'], { encoding: 'utf8' }))?.[1]) >= 24,
  );
  if (found) return found;
  install('node', { node: '24.10.0' }, process.execPath);
  return path.join(agents, 'node', 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
}

/** What to put before a command so that it sees no network but loopback; empty where that cannot be done. */
function isolation() {
  if (process.platform !== 'linux') return [];
  const inside = 'ip link set lo up && exec "$@"';
  for (const how of ['-n', '-rn']) {
    const probe = spawnSync('unshare', [how, 'sh', '-c', inside, 'sh', 'true']);
    if (probe.status === 0) return ['unshare', how, 'sh', '-c', inside, 'sh'];
  }
  return [];
}

const chosen = protocols();
const node = modernNode();
for (const protocol of chosen) {
  const peers = JSON.parse(readFileSync(path.join(here, protocol, 'peers.json'), 'utf8'));
  const isNeeded = (name) => values.only !== 'window' || seen[protocol].includes(name);
  for (const [name, packages] of Object.entries(peers)) if (isNeeded(name)) install(name, packages, node);
}
if (values.install) process.exit(0);

// Our tools reach the agents through bundles.
execFileSync('npm', ['run', '-s', 'build'], { stdio: 'inherit', shell: process.platform === 'win32' });

/** Files of a folder, with it. */
const inside = (folder) => readdirSync(folder).map((name) => path.join(folder, name));
const files = chosen
  .flatMap((protocol) => [
    ...inside(path.join(here, protocol)),
    ...(values.window ? inside(path.join(here, 'window')).filter((file) => path.basename(file).startsWith(`${protocol}.`)) : []),
  ])
  .filter((file) => file.endsWith('.test.ts') && file.includes(values.only ?? ''));
if (files.length === 0) throw new Error('No test file fits.');
await build({
  entryPoints: files,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  sourcemap: 'inline',
  logLevel: 'warning',
  outbase: '.',
  outdir: 'out/agents',
  outExtension: { '.js': '.mjs' },
});
if (values.window) {
  const { installWorkbench } = await load('test/workbench/install.ts');
  const workbench = await installWorkbench('current');
  Object.assign(process.env, { PARLEY_WORKBENCH: workbench, PARLEY_E2E_SERVER: workbench });
}
const before = isolation();
if (before.length === 0) console.log('This machine makes no network namespace: the agents could reach the network.');
const [program, ...args] = [
  ...before,
  process.execPath,
  '--test',
  '--test-concurrency=1',
  ...(values.name === undefined ? [] : [`--test-name-pattern=${values.name}`]),
  ...files.map((file) => path.join('out/agents', file.replace(/\.ts$/, '.mjs'))),
];
const child = spawn(program, args, {
  stdio: 'inherit',
  env: { ...process.env, PARLEY_AGENTS: agents, PARLEY_MODERN_NODE: node, PARLEY_PICTURES: '1' },
});
child.once('exit', (code) => {
  process.exitCode = code ?? 1;
});

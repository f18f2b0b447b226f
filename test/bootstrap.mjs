// The first step of `npm test`, `npm start` and `npm run bench`: plain JavaScript on node alone, because in a fresh clone nothing else is there.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** Runs npm with the npm that started us, so that it works where `npm` is a script. */
function npm(...args) {
  const own = process.env.npm_execpath;
  const [file, first] = own?.endsWith('.js') ? [process.execPath, [own]] : ['npm', []];
  execFileSync(file, [...first, ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: file === 'npm' && process.platform === 'win32',
  });
}

/** True when node_modules holds every package of the lock in its version; builds for other platforms may be absent. */
function installed() {
  const record = path.join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  const there = JSON.parse(readFileSync(record, 'utf8')).packages;
  const wanted = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')).packages;
  return Object.entries(wanted).every(([place, entry]) => place === '' || entry.optional || there[place]?.version === entry.version);
}

/** Makes the repository the working directory and installs the packages when they are missing or not those of the lock. */
export function prepare() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 20) throw new Error(`Node 20 or newer is needed, this is ${process.version}.`);
  process.chdir(root);
  if (installed()) return;
  console.log('Installing the packages of package-lock.json …');
  npm('ci', '--prefer-offline', '--loglevel=error');
}

/** Bundles one TypeScript module of the test tree; the file that came of it. */
export async function bundle(source) {
  const { build } = await import('esbuild');
  const outfile = path.join(root, 'out', 'harness', source.replace(/\.ts$/, '.mjs'));
  await build({
    entryPoints: [path.join(root, source)],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    sourcemap: 'inline',
    logLevel: 'warning',
    outfile,
  });
  return outfile;
}

/** Bundles one TypeScript module of the test tree and imports it. */
export async function load(source) {
  return import(pathToFileURL(await bundle(source)).href);
}

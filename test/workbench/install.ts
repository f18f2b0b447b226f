import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { command } from '../stages/command.ts';
import { type Channel, chromium, fonts, integrity, leftOutExtensions, leftOutModules, pins, stubs, withBinaries } from './pins.ts';

/** A folder with `node/node`, `server/` (the VS Code server) and, where a browser was wanted, `browser/chromium`. */
export type Workbench = string;

/** Which installed folder the user named for a version. */
const named: Readonly<Record<Channel, string>> = { current: 'PARLEY_WORKBENCH', floor: 'PARLEY_WORKBENCH_FLOOR' };

/** Why there is no workbench for this machine; undefined when there is one. */
export function noRecipe(): string | undefined {
  if (process.platform === 'linux' && process.arch === 'x64') return undefined;
  if (process.platform === 'linux' && process.arch === 'arm64' && process.env.CHROMIUM) return undefined;
  return `There is no ready-made VS Code workbench for ${process.platform} ${process.arch}: it is made for Linux x64, and for Linux arm64 when $CHROMIUM names a browser.`;
}

/**
 * A VS Code server and a browser in .workbench/<channel>, or in the folder that $PARLEY_WORKBENCH (for floor: $PARLEY_WORKBENCH_FLOOR) names,
 * from the npm registry alone: no compiler, no root, no install scripts. Does nothing when it is there already. The browser comes with `current`.
 */
export async function installWorkbench(channel: Channel): Promise<Workbench> {
  const reason = noRecipe();
  if (reason) throw new Error(reason);
  const given = process.env[named[channel]] || undefined;
  const dir = path.resolve(given ?? path.join('.workbench', channel));
  const browser = channel === 'current' && !process.env.CHROMIUM;
  const stampFile = path.join(dir, 'stamp.json');
  // Somebody else's folder is taken as it is; our own must have been made by these pins.
  const stamp = JSON.stringify({ recipe: 1, dir, ...pins[channel], browser });
  if (existsSync(stampFile) && (given !== undefined || readFileSync(stampFile, 'utf8') === stamp)) return dir;

  console.log(`Installing VS Code (${pins[channel].server}) into ${path.relative('.', dir)}; about 220 MB, once …`);
  for (const part of ['stamp.json', 'node', 'server', 'browser']) rmSync(path.join(dir, part), { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const temp = mkdtempSync(path.join(os.tmpdir(), 'parley-workbench-'));
  try {
    await unpack(temp, `node-linux-${process.arch}@${pins[channel].node}`, path.join(dir, 'node'), 2, ['package/bin/node']);
    await installServer(temp, channel, path.join(dir, 'server'));
    if (browser) await installBrowser(temp, path.join(dir, 'browser'));
    writeFileSync(stampFile, stamp);
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
  return dir;
}

async function installServer(temp: string, channel: Channel, server: string): Promise<void> {
  const excluded = leftOutExtensions.map((name) => `package/lib/vscode/extensions/${name}`);
  await unpack(temp, pins[channel].server, server, 3, ['package/lib/vscode'], excluded);
  const file = path.join(server, 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { dependencies: Record<string, string> };
  for (const name of leftOutModules) delete manifest.dependencies[name];
  Object.assign(manifest.dependencies, withBinaries);
  writeFileSync(file, JSON.stringify(manifest, null, 2));
  console.log('  the modules of the server …');
  await npmInstall(server);
  const modules = path.join(server, 'node_modules');
  for (const [name, stub] of Object.entries(stubs)) {
    const folder = path.join(modules, name);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    cpSync(path.resolve('test/workbench/stubs', stub), path.join(folder, 'index.js'));
    writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ name, version: '0.0.0', main: 'index.js' }));
  }
  for (const folder of ['@vscode/ripgrep-universal/bin', 'node-pty/prebuilds']) {
    for (const entry of readdirSync(path.join(modules, folder))) {
      if (entry !== `linux-${process.arch}`) rmSync(path.join(modules, folder, entry), { recursive: true });
    }
  }
  await npmInstall(path.join(server, 'extensions')); // the TypeScript service: real diagnostics and definitions
}

async function installBrowser(temp: string, browser: string): Promise<void> {
  const packed = path.join(temp, 'chromium');
  await unpack(temp, chromium, packed, 2, ['package/bin']);
  const inflate = (name: string): Buffer => brotliDecompressSync(readFileSync(path.join(packed, name)));
  mkdirSync(browser, { recursive: true });
  writeFileSync(path.join(browser, 'chromium'), inflate('chromium.br'), { mode: 0o755 });
  writeFileSync(path.join(temp, 'libraries.tar'), inflate('al2023.tar.br'));
  await command('tar', 'xf', path.join(temp, 'libraries.tar'), '-C', browser); // lib/: nss, nspr, expat
  const faces = ['DejaVuSans', 'DejaVuSans-Bold', 'DejaVuSansMono', 'DejaVuSansMono-Bold'].map((face) => `package/ttf/${face}.ttf`);
  await unpack(temp, fonts, path.join(browser, 'fonts'), 2, faces);
  const prefer = (family: string, face: string): string =>
    `<alias><family>${family}</family><prefer><family>${face}</family></prefer></alias>`;
  writeFileSync(
    path.join(browser, 'fonts.conf'),
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<dir>${browser}/fonts</dir><cachedir>${browser}/fonts-cache</cachedir>
${prefer('sans-serif', 'DejaVu Sans')}${prefer('monospace', 'DejaVu Sans Mono')}
</fontconfig>\n`,
  );
}

/** Downloads one pinned package, checks it, and unpacks the wanted members without their first `strip` path parts. */
async function unpack(
  temp: string,
  spec: string,
  to: string,
  strip: number,
  members: readonly string[],
  excluded: readonly string[] = [],
): Promise<void> {
  console.log(`  ${spec} …`);
  const folder = mkdtempSync(path.join(temp, 'pack-'));
  const answer: unknown = JSON.parse(
    await patiently(() => command('npm', 'pack', spec, '--json', '--loglevel=error', '--pack-destination', folder)),
  );
  const found = Object.values(answer as Record<string, { readonly integrity: string }>)[0]; // a list or a table, as npm's version has it
  if (found?.integrity !== integrity[spec]) throw new Error(`${spec}: the registry's integrity ${found?.integrity} is not the pinned one`);
  const [archive = ''] = readdirSync(folder);
  mkdirSync(to, { recursive: true });
  const leave = excluded.map((member) => `--exclude=${member}`);
  await command('tar', 'xzf', path.join(folder, archive), '-C', to, `--strip-components=${strip}`, ...leave, ...members);
}

/** `npm install`, not `npm ci`: the shipped shrinkwrap is not in step with its manifest. */
async function npmInstall(folder: string): Promise<void> {
  await patiently(() =>
    command('npm', 'install', '--prefix', folder, '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'),
  );
}

/** Three tries, as a registry may fail for a moment. */
async function patiently<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (attempt === 3) throw error;
      console.log(`  once more, after: ${String(error).split('\n').slice(0, 3).join(' ')}`);
      await new Promise((resolve) => setTimeout(resolve, attempt * 3000));
    }
  }
}

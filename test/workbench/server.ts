import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { command, killGroup } from '../stages/command.ts';
import type { Workbench } from './install.ts';
import { quietSettings, themes } from './settings.ts';

export interface ServerSpec {
  readonly workbench: Workbench;
  /** A package to install first; without one the server can load a folder under development. */
  readonly vsix?: string;
  /** Folders of other extensions, as if they were installed. */
  readonly others?: readonly string[];
  /** User settings on top of the quiet ones. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Settings kept per machine: in the served workbench they count only here. */
  readonly machineSettings?: Readonly<Record<string, unknown>>;
  /** A display language; the workbench's own texts stay English, those of extensions are in it. */
  readonly locale?: string;
  /** Added to the environment of the server; extension host and terminals inherit it. */
  readonly env?: Readonly<Record<string, string>>;
  /** Further arguments. */
  readonly args?: readonly string[];
  /** 0 or absent: a free one. */
  readonly port?: number;
  /** What opens when the address names no folder. */
  readonly folder?: string;
}

/** A running VS Code server on 127.0.0.1 with a home of its own that goes when it stops. */
export interface Server {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  /** Loads a folder under development; toasts are muted then. */
  readonly develops: boolean;
  /** The folder that extensions get for what they keep, one below it for each. */
  readonly storage: string;
  /** The home of its user. */
  readonly home: string;
  log(): string;
  /** Settles when the server is gone, whoever ended it. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

export async function startServer(spec: ServerSpec): Promise<Server> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'parley-server-'));
  const folder = (name: string): string => path.join(home, name);
  const settingsFile = path.join(folder('data'), 'User', 'settings.json');
  await mkdir(path.dirname(settingsFile), { recursive: true });
  await mkdir(folder('home'));
  const settings = { ...quietSettings, ...(await preferredThemes(spec.workbench)), ...spec.settings };
  await writeFile(settingsFile, JSON.stringify(settings, null, 2));
  if (spec.machineSettings) {
    await mkdir(path.join(folder('data'), 'Machine'));
    await writeFile(path.join(folder('data'), 'Machine', 'settings.json'), JSON.stringify(spec.machineSettings, null, 2));
  }
  for (const other of spec.others ?? []) await cp(other, path.join(folder('extensions'), path.basename(other)), { recursive: true });
  if (spec.locale) await putLanguage(folder('data'), spec.locale);
  const node = path.join(spec.workbench, 'node', 'node');
  const main = path.join(spec.workbench, 'server', 'out', 'server-main.js');
  const places = ['--server-data-dir', folder('data'), '--extensions-dir', folder('extensions')];
  const develops = spec.vsix === undefined;
  if (spec.vsix) await command(node, main, '--install-extension', path.resolve(spec.vsix), '--accept-server-license-terms', ...places);

  const port = spec.port || (await freePort());
  const args = [main, '--host', '127.0.0.1', '--port', String(port), '--without-connection-token', '--accept-server-license-terms'];
  args.push('--disable-telemetry', '--disable-workspace-trust', '--disable-update-check', '--disable-getting-started-override');
  args.push(...places, '--user-data-dir', folder('data'));
  // Without this a built server silently ignores folders under development.
  if (develops) args.push('--enable-smoke-test-driver');
  if (spec.locale) args.push('--locale', spec.locale);
  if (spec.folder) args.push('--default-folder', spec.folder);
  args.push(...(spec.args ?? []));
  const child = spawn(node, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      HOME: folder('home'), // no start-up files of whoever runs the tests
      EXTENSIONS_GALLERY: '{}', // no gallery queries
      VSCODE_CLI: '1', // take this environment as it is: no login shell to read another one
      NODE_OPTIONS: '',
      ...spec.env,
    },
  });
  // Extension host, terminal host and file watcher are in its group; a hung one must not outlive the run.
  const sweep = (): void => killGroup(child.pid);
  process.once('exit', sweep);
  let log = '';
  const ended = once(child, 'exit').then(() => undefined);
  const up = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the VS Code server did not start in 60 s\n${log}`)), 60_000);
    const hear = (chunk: Buffer): void => {
      log += chunk.toString();
      if (!/Web UI available at/.test(log)) return;
      clearTimeout(timer);
      resolve();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('error', reject);
    child.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`the VS Code server ended with ${code}\n${log}`));
    });
  });
  const clear = async (): Promise<void> => {
    sweep();
    process.off('exit', sweep);
    await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  try {
    await up;
  } catch (error) {
    await clear();
    throw error;
  }
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    develops,
    storage: path.join(folder('data'), 'User', 'globalStorage'),
    home: folder('home'),
    log: () => log,
    ended,
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(sweep, 5000);
      await ended;
      clearTimeout(timer);
      await clear();
    },
  };
}

export interface Opening {
  /** The workspace folder. */
  readonly folder: string;
  /** The extension under development. */
  readonly extension?: string;
  /** A module with `run()`, called inside the extension host. */
  readonly tests?: string;
}

/** The address that opens a folder in the workbench. */
export function addressOf(server: Server, opening: Opening): string {
  const remote = (file: string): string => `vscode-remote://127.0.0.1:${server.port}${path.resolve(file)}`;
  const payload: [string, string][] = [];
  if (opening.extension) payload.push(['extensionDevelopmentPath', remote(opening.extension)]);
  if (opening.tests) payload.push(['extensionTestsPath', remote(opening.tests)]);
  payload.push(['skipWelcome', 'true'], ['skipReleaseNotes', 'true']);
  const address = new URL('/', server.url);
  address.searchParams.set('folder', path.resolve(opening.folder));
  address.searchParams.set('payload', JSON.stringify(payload));
  return address.href;
}

/** A language pack without a single text: enough for the workbench to take the language and hand it to the extensions. */
async function putLanguage(data: string, locale: string): Promise<void> {
  const vscode = path.join(data, 'empty-translations.json');
  await writeFile(vscode, JSON.stringify({ contents: {} }));
  const extensions = [{ extensionIdentifier: { id: 'test.empty-language-pack' }, version: '1.0.0' }];
  const pack = { hash: 'empty', label: locale, extensions, translations: { vscode } };
  await writeFile(path.join(data, 'languagepacks.json'), JSON.stringify({ [locale]: pack }));
}

/** The settings that say which theme goes with what the system prefers; a version has its own ids for them. */
async function preferredThemes(workbench: Workbench): Promise<Readonly<Record<string, string>>> {
  const file = path.join(workbench, 'server', 'extensions', 'theme-defaults', 'package.json');
  const manifest = JSON.parse(await readFile(file, 'utf8')) as { contributes: { themes: readonly { id: string }[] } };
  const ids = manifest.contributes.themes.map((theme) => theme.id);
  return Object.fromEntries(Object.values(themes).map(({ name, setting }) => [setting, ids.find((id) => id.endsWith(name)) ?? '']));
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

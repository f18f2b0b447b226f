import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Where run.mjs has installed the peer of that name. */
export function peerFolder(name: string): string {
  return path.join(process.env.PARLEY_AGENTS ?? path.resolve('.agents'), name, 'node_modules');
}

/** A node of version 24 or newer. */
export function modernNode(): string {
  return process.env.PARLEY_MODERN_NODE ?? process.execPath;
}

/** Fresh folders for one agent: its home and a small workspace. */
export interface Place {
  readonly home: string;
  readonly cwd: string;
  /** Writes a file below home, with its folders. */
  put(file: string, text: string): void;
  remove(): void;
}

/** A workspace that is there already, and what the model says in it. */
export interface Within {
  readonly cwd: string;
  /** A file of test/agents/fakeModel/scenarios. */
  readonly script: string;
}

export function newPlace(name: string, within?: Within): Place {
  const base = mkdtempSync(path.join(tmpdir(), `parley-${name}-`));
  const home = path.join(base, 'home');
  const cwd = within?.cwd ?? path.join(base, 'work');
  mkdirSync(path.join(cwd, 'src'), { recursive: true });
  mkdirSync(home);
  writeFileSync(path.join(cwd, 'src', 'config.json'), '{\n  "name": "sample",\n  "debug": false\n}\n');
  if (!within) writeFileSync(path.join(cwd, 'README.md'), '# Sample\n');
  return {
    home,
    cwd,
    put(file, text) {
      mkdirSync(path.dirname(path.join(home, file)), { recursive: true });
      writeFileSync(path.join(home, file), text);
    },
    remove: () => rmSync(base, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }),
  };
}

export type Undo = (undo: () => unknown) => void;
/** Undoes what a test set up, newest first: the hooks of a test run oldest first, and would remove a folder that an agent still writes to. */
export function undoAtEnd(t: { after(run: () => Promise<void>): void }): Undo {
  const undos: (() => unknown)[] = [];
  t.after(async () => {
    for (const undo of undos.reverse()) await undo();
  });
  return (undo) => {
    undos.push(undo);
  };
}

/** An environment that holds next to nothing of ours; an undefined value takes a variable of ours away. */
export function bareEnvironment(place: Place, added: Readonly<Record<string, string>>): Readonly<Record<string, string | undefined>> {
  const kept = ['PATH', 'LANG', 'TMPDIR', 'TERM', 'SHELL', 'SystemRoot', 'ComSpec', 'PATHEXT'];
  const gone = Object.fromEntries(Object.keys(process.env).flatMap((name) => (kept.includes(name) ? [] : [[name, undefined]])));
  return { ...gone, HOME: place.home, USERPROFILE: place.home, NO_COLOR: '1', ...added };
}

/** One request as the model server saw it; test/agents/fakeModel/server.mjs says which fields there are. */
export interface ModelRequest {
  readonly label?: string;
  readonly api?: string;
  readonly event?: string;
  readonly tools?: readonly string[];
  readonly lastUser?: string;
  readonly lastTool?: string;
}
export interface FakeModel {
  readonly port: number;
  readonly url: string;
  requests(): Promise<readonly ModelRequest[]>;
  stop(): Promise<void>;
}

/** Starts the scripted model server of test/agents/fakeModel. `vars` fill ${name} in the script. */
export async function startModel(vars: Readonly<Record<string, string>>, script = 'basic.json', port = 0): Promise<FakeModel> {
  const folder = path.resolve('test/agents/fakeModel');
  const args = [path.join(folder, 'server.mjs'), '--script', path.join(folder, 'scenarios', script), '--port', String(port)];
  for (const [name, value] of Object.entries(vars)) args.push('--var', `${name}=${value}`);
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await listening(child);
  return {
    port: Number(new URL(url).port),
    url,
    requests: async () => (await (await fetch(`${url}/__log`)).json()) as ModelRequest[],
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill();
      await once(child, 'exit');
    },
  };
}

function listening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const url = /LISTENING (\S+)/.exec(said)?.[1];
      if (url) resolve(url);
    });
    child.once('exit', (code) => reject(new Error(`The model server ended with ${code}`)));
    child.once('error', reject);
  });
}

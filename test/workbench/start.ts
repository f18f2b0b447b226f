import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { npm } from '../stages/command.ts';
import { installWorkbench, noRecipe } from './install.ts';
import { startServer } from './server.ts';

/** Opens VS Code with Parley on a copy of the sample workspace: the user's own, or one that is served on 127.0.0.1. The exit code. */
export async function start(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { web: { type: 'boolean' }, port: { type: 'string' } } });
  const port = Number(values.port ?? 0);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error('--port takes a number from 0 to 65535; 0 is any free port');
  const code = values.web || values.port ? undefined : onPath('code');
  if (code) return openDesktop(code);
  const reason = noRecipe();
  if (reason) {
    console.error(
      `${reason}\nInstall VS Code, put its command 'code' on the path ("Shell Command: Install 'code' command in PATH"), and run npm start again.`,
    );
    return 1;
  }
  return serve(port);
}

/** The user's own VS Code, with settings and extensions of their own. */
async function openDesktop(code: string): Promise<number> {
  console.log('Building Parley …');
  await npm('run', '-s', 'build');
  const folder = freshSample(mkdtempSync(path.join(os.tmpdir(), 'parley-sample-')));
  console.log(`Opening VS Code (${code}) on ${folder} …`);
  const shell = process.platform === 'win32';
  const child = spawn(code, ['--new-window', `--extensionDevelopmentPath=${process.cwd()}`, folder], { stdio: 'inherit', shell });
  const [exit] = await once(child, 'exit');
  if (exit !== 0)
    console.error(`VS Code ended with ${exit}. 'npm start -- --web' serves one instead, where there is a recipe for this machine.`);
  return exit === 0 ? 0 : 1;
}

async function serve(port: number): Promise<number> {
  const orphaned = orphan();
  const workbench = await installWorkbench('current');
  console.log('Building Parley …');
  await npm('run', '-s', 'package');
  console.log('Starting VS Code …');
  const temp = mkdtempSync(path.join(os.tmpdir(), 'parley-start-'));
  const folder = freshSample(temp);
  const server = await startServer({
    workbench,
    port,
    folder,
    vsix: 'out/parley.vsix',
    settings: { 'workbench.startupEditor': 'readme', 'window.commandCenter': true },
    env: { HOME: os.homedir() }, // agents find what the user has set up for them
  });
  console.log(`\nVS Code with Parley is open at  ${server.url}/\n`);
  console.log('Click the Parley icon in the activity bar and say: replace "Hello" with "Welcome" in src/main.ts');
  console.log('Ctrl+C ends it.');
  const asked = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
  const gone = await Promise.race([asked.then(() => false), orphaned.then(() => false), server.ended.then(() => true)]);
  if (gone) console.error(`VS Code ended by itself.\n${server.log()}`);
  await server.stop();
  rmSync(temp, { recursive: true, force: true });
  return gone ? 1 : 0;
}

/** Settles when npm has gone: ended by a signal, npm ends the shell between it and this process, and that shell passes nothing on. */
function orphan(): Promise<void> {
  if (process.env.npm_lifecycle_event === undefined) return new Promise(() => {});
  const parent = process.ppid;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      resolve();
    }, 500);
    timer.unref();
  });
}

/** A copy, so that what an agent does to it does no harm. */
function freshSample(parent: string): string {
  const folder = path.join(parent, 'tally-notes');
  mkdirSync(folder);
  cpSync('test/workbench/sample', folder, { recursive: true });
  return folder;
}

/** The file of a program on the path; undefined when there is none. */
function onPath(program: string): string | undefined {
  const endings = process.platform === 'win32' ? ['.cmd', '.exe'] : [''];
  const places = (process.env.PATH ?? '').split(path.delimiter).flatMap((dir) => endings.map((ending) => path.join(dir, program + ending)));
  return places.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { t } from '../../base/l10n.ts';
import type { Disposable } from '../../base/lifetime.ts';
import { type Log, messageOf } from '../../base/log.ts';
import type { Remedy } from '../../session/model.ts';
import type { Closed } from '../../transport/channel.ts';
import { homeFolder } from '../../transport/environment.ts';
import { commandLine, processChannel, programFor } from '../../transport/process.ts';
import type { AdapterContext, ProcessLaunch } from '../adapter.ts';
import { type OfferedTools, offerTools } from '../offeredTools.ts';

export interface Server extends Disposable {
  /** Settles with the address once the server prints it. Rejects with a message for the user when the process ends before. */
  readonly address: Promise<string>;
  readonly ended: Promise<Closed>;
  /** False when the guard could not be loaded, so that the server may listen on all interfaces. */
  readonly onLoopback: boolean;
  /** There is a git on its PATH. */
  readonly hasGit: boolean;
  /** The last lines that the server printed. */
  tail(): string;
}

const STARTS_WITHIN = 60_000;
const LINES_KEPT = 200;
const SAID = /(?:Agent Server started on|Listening on)\s+(https?:\/\/\S+)/i;
/**
 * Code that the server's process loads first. It binds listeners without a host to loopback, because an early generation serves everyone on all
 * interfaces (docs/protocols/a2a.md §1). It ends the process when its input closes, because a server that reads no input outlives the editor.
 */
const GUARD = `data:text/javascript,${encodeURIComponent(
  "const {default:net}=await import('node:net');const l=net.Server.prototype.listen;net.Server.prototype.listen=function(...a){if(/^\\d+$/.test(String(a[0]))&&typeof a[1]!=='string')a.splice(1,0,'127.0.0.1');return l.apply(this,a)};" +
    // Its child processes end with it.
    'const kill=(s)=>{try{process.kill(-process.pid,s)}catch{process.kill(process.pid,s)}};' +
    "const gone=()=>{kill('SIGTERM');setTimeout(kill,3000,'SIGKILL')};process.stdin.resume().on('end',gone).on('error',gone).unref?.();",
)}`;

/** Starts an agent that serves on this machine, on loopback only, working in the launch's folder. `name`: what the user calls it. */
export async function startServer(launch: ProcessLaunch, log: Log, name?: string): Promise<Server> {
  const guarded = guard(launch);
  const git = await askGit(launch);
  const channel = processChannel(
    {
      // The arguments that Parley adds say nothing about the program.
      name: name || commandLine(launch),
      command: guarded.command,
      args: guarded.args,
      cwd: launch.cwd,
      env: { ...environmentFor(launch, git.identity), ...launch.env },
    },
    { log, patience: { end: 0, term: 3000 } },
  );
  const kept: string[] = [];
  const ended = new Promise<Closed>((resolve) => {
    channel.onClosed(resolve);
  });
  const address = new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(t('The agent did not answer within {0} s.', STARTS_WITHIN / 1000))), STARTS_WITHIN);
    channel.onMessage((line) => {
      kept.push(line);
      if (kept.length > LINES_KEPT) kept.shift();
      const url = SAID.exec(line)?.[1];
      if (!url) return;
      clearTimeout(timer);
      resolve(url.replace('//localhost', '//127.0.0.1'));
    });
    void ended.then((closed) => {
      clearTimeout(timer);
      reject(new Error(closed.reason));
    });
  });
  address.catch(() => {});
  return { address, ended, onLoopback: guarded.guarded, hasGit: git.found, tail: () => kept.join('\n'), dispose: () => channel.dispose() };
}

/** The variable that gives parley-agent the token which it then requires of every request. */
const TOKEN_VARIABLE = 'PARLEY_AGENT_TOKEN';

/** An agent that is started here, with the editor's tools and a token of its own. */
export class AgentProgram {
  readonly #launch: ProcessLaunch;
  readonly #context: AdapterContext;
  readonly #token: string;
  #tools: OfferedTools | undefined;
  #starting: Promise<Server> | undefined;
  #server: Server | undefined;
  #isOver = false;

  constructor(launch: ProcessLaunch, context: AdapterContext) {
    this.#launch = launch;
    this.#context = context;
    this.#token = launch.env[TOKEN_VARIABLE] ?? randomBytes(32).toString('base64url');
  }

  get tools(): OfferedTools | undefined {
    return this.#tools;
  }
  /** The last lines that the server printed. */
  get tail(): string {
    return this.#server?.tail() ?? '';
  }
  get hasGit(): boolean {
    return this.#server?.hasGit ?? true;
  }
  get onLoopback(): boolean {
    return this.#server?.onLoopback ?? true;
  }
  /** parley-agent prints the name of the variable when it wants the token; other agents get none. */
  get headers(): Readonly<Record<string, string>> {
    return this.tail.includes(TOKEN_VARIABLE) ? { authorization: `Bearer ${this.#token}` } : {};
  }

  async start(): Promise<void> {
    const tools = await offerEditorTools(this.#context);
    if (this.#isOver) tools?.dispose();
    if (this.#isOver) throw new Error('left');
    this.#tools = tools;
    const env = { ...(tools ? { [VARIABLE]: tools.address } : {}), [TOKEN_VARIABLE]: this.#token, ...this.#launch.env };
    this.#starting = startServer({ ...this.#launch, env }, this.#context.log, this.#context.name);
    this.#server = await this.#starting;
  }

  /** Available after `start`. Rejects with a message for the user when the server ends before it prints its address. */
  get address(): Promise<string> {
    return this.#server?.address ?? Promise.reject(new Error('It was not started.'));
  }

  /** Why it ended, and what the user can do. */
  get ended(): Promise<Closed & { readonly next: readonly Remedy[] }> {
    const server = this.#server;
    if (!server) return Promise.reject(new Error('It was not started.'));
    return server.ended.then((closed) => {
      this.#tools?.dispose();
      const stderr = closed.stderr || server.tail();
      // The Gemini CLI server prints this when it finds no way to sign in.
      if (!/provide a GEMINI_API_KEY/.test(server.tail() + closed.stderr)) return { ...closed, stderr, next: ['restart', 'showLog'] };
      const reason = t('The agent needs GEMINI_API_KEY, or USE_CCPA for a Google login, in the “env” of its settings.');
      return { ...closed, reason, stderr, next: ['openSettings', 'restart'] };
    });
  }

  /** Settles when the process is gone. A process that is still starting is ended as soon as it runs. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#tools?.dispose();
    this.#server?.dispose();
    const server = this.#server ?? (await this.#starting?.catch(() => undefined));
    server?.dispose();
    await server?.ended;
  }

  /** The folder that the Gemini CLI server finds the editor's tools by. */
  async toolsFolder(): Promise<ExtensionFolder | undefined> {
    if (!this.#tools) return undefined;
    const folder = new ExtensionFolder(this.#launch, this.#tools);
    await folder.refresh().catch((error: unknown) => this.#context.log.warn(`The folder for tools: ${messageOf(error)}`));
    return folder;
  }
}

/** The command with the guard loaded, if the program is a script of node. */
function guard(launch: ProcessLaunch): { readonly command: string; readonly args: readonly string[]; readonly guarded: boolean } {
  const { command, args } = programFor(launch);
  const loaded = [`--import=${GUARD}`];
  if (/^node(\.exe)?$/i.test(path.basename(command)) || command === process.execPath)
    return { command, args: [...loaded, ...args], guarded: true };
  const file = found(command, launch.env.PATH ?? process.env.PATH ?? '');
  if (file && /\.[cm]?js$/.test(file)) return { command: 'node', args: [...loaded, file, ...args], guarded: true };
  // The name stays as given: some programs behind a link decide by it what to do. A missing one gets no watch, so that starting it fails by its name.
  return file ? { ...watched(command, args), guarded: false } : { command, args, guarded: false };
}

function found(command: string, search: string): string | undefined {
  const places = path.isAbsolute(command) ? [command] : search.split(path.delimiter).map((folder) => path.join(folder, command));
  for (const place of places) {
    try {
      accessSync(place, constants.X_OK);
      if (statSync(place).isFile()) return realpathSync(place);
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}

/** The variables that name the folder to the Gemini CLI server, and an identity for the repository it keeps beside it. */
function environmentFor(launch: ProcessLaunch, hasIdentity: boolean): Record<string, string> {
  const home = homeFolder(launch.env);
  const below = path.relative(home, launch.cwd);
  // On another drive it is absolute.
  const outside = below.startsWith('..') || path.isAbsolute(below);
  return {
    CODER_AGENT_WORKSPACE_PATH: launch.cwd,
    ...(outside ? { CODER_AGENT_ALLOWED_ROOT: launch.cwd } : {}),
    ...(hasIdentity ? {} : IDENTITY),
  };
}

const IDENTITY = {
  GIT_AUTHOR_NAME: 'Parley',
  GIT_AUTHOR_EMAIL: 'parley@localhost',
  GIT_COMMITTER_NAME: 'Parley',
  GIT_COMMITTER_EMAIL: 'parley@localhost',
};

function askGit(launch: ProcessLaunch): Promise<{ readonly found: boolean; readonly identity: boolean }> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...launch.env };
    // From the home: Windows would run a git.exe of the working folder.
    execFile('git', ['-C', launch.cwd, 'config', 'user.email'], { cwd: homeFolder(), timeout: 5000, env }, (error, out) =>
      resolve({ found: error?.code !== 'ENOENT', identity: !error && out.trim() !== '' }),
    );
  });
}
/**
 * Takes the place of the guard for programs that are not scripts of node: a shell that becomes the program and leaves a watch in its process group.
 * The watch ends the group when the input closes, however the editor ended.
 */
const WATCH = 'exec 3<&0; (trap "" TERM; cat <&3; kill -TERM 0; sleep 3; kill -KILL 0) >/dev/null 2>&1 & exec 3<&-; exec "$@"';

/** The command line with the watch, for a process that leads its own group. Unchanged on Windows, which has no such groups. */
export function watched(command: string, args: readonly string[]): { readonly command: string; readonly args: readonly string[] } {
  if (process.platform === 'win32') return { command, args };
  return { command: '/bin/sh', args: ['-c', WATCH, 'sh', command, ...args] };
}

/** The variable by which an agent started here finds our tools (docs/protocols/a2a.md §14): one address, no secret in the variable's name. */
export const VARIABLE = 'PARLEY_MCP_URL';
const FOLDER = 'parley-editor-tools';

/** Starts the MCP server for an agent that is about to be started. undefined when there are no tools; never rejects: an agent works without them. */
export async function offerEditorTools(context: AdapterContext): Promise<OfferedTools | undefined> {
  return offerTools(context.ports.tools, context).catch((error: unknown) => {
    context.log.error(`The agent gets no editor tools: ${messageOf(error)}`, error);
    return undefined;
  });
}

/** Tools that change nothing, as the agent names them when it asks. */
export function readOnlyTools(context: AdapterContext, offered: OfferedTools | undefined): ReadonlySet<string> {
  if (!offered) return new Set();
  return new Set(context.ports.tools.filter((tool) => tool.confirm === undefined).map((tool) => `${offered.name}/${tool.name}`));
}

/**
 * The Gemini CLI server takes tool servers from its own folders only. One folder in the user's home, put there when they turn the session's option
 * on and taken away when they turn it off, starts the bridge to the window that started the agent.
 */
export class ExtensionFolder {
  readonly #folder: string;
  readonly #offered: OfferedTools;
  #on = false;

  constructor(launch: ProcessLaunch, offered: OfferedTools) {
    const home = launch.env.GEMINI_CLI_HOME ?? homeFolder(launch.env);
    this.#folder = path.join(home, '.gemini', 'extensions', FOLDER);
    this.#offered = offered;
  }

  /** Reads whether the folder exists, and updates it: the path of the editor changes with its version. */
  async refresh(): Promise<void> {
    const kept = await readFile(this.#file, 'utf8').catch(() => undefined);
    this.#on = kept !== undefined;
    if (this.#on && kept !== this.#content) await this.turn(true);
  }

  async turn(on: boolean): Promise<void> {
    if (on) {
      await mkdir(this.#folder, { recursive: true });
      await writeFile(this.#file, this.#content);
    } else await rm(this.#folder, { recursive: true, force: true });
    this.#on = on;
  }

  get path(): string {
    return this.#folder;
  }
  get on(): boolean {
    return this.#on;
  }

  get #file(): string {
    return path.join(this.#folder, 'gemini-extension.json');
  }

  get #content(): string {
    const { command, args } = this.#offered.process;
    const server = { command, args, env: { ELECTRON_RUN_AS_NODE: '1' } };
    return `${JSON.stringify({ name: FOLDER, version: '1.0.0', mcpServers: { [this.#offered.name]: server } }, null, 2)}\n`;
  }
}

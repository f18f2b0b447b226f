import { existsSync } from 'node:fs';
import path from 'node:path';
import { Emitter, type Listen, Once } from '../../base/emitter.ts';
import { t } from '../../base/l10n.ts';
import { messageOf, systemCode } from '../../base/log.ts';
import type { AdapterContext, ProcessLaunch } from '../adapter.ts';
import { type OfferedTools, offerTools } from '../offeredTools.ts';
import type { Exit, TerminalHandle, TerminalSpec, Terminals } from '../ports.ts';
import type { LoginArgs, SecretArgs, ServerArgs } from './connection.ts';
import { FilePort, placed, refused } from './files.ts';
import type { AcpFileRequest, Created, LinkArgs, LinkReply, TerminalArgs } from './requests.ts';
import { INTERNAL, NOT_FOUND } from './schema.ts';
import { codecOf } from './state.ts';

/* The ports of the machine: files, terminals, secrets, links to open, and the server of the tools that the agent is offered. */

type Emit = AdapterContext['emit'];

export interface Announced {
  readonly emit: Emit;
  /** Listens for the link to be ready, or closed. */
  readonly listen: Listen<void>;
}

/** Passes the events on, and announces when the link is ready or closed. */
export function announcing(context: AdapterContext): Announced {
  const announced = new Emitter<void>();
  const emit: Emit = (event) => {
    context.emit(event);
    if (event.type === 'link.ready' || event.type === 'link.closed') announced.fire();
  };
  return { emit, listen: announced.listen };
}

export function portsOf(
  launch: ProcessLaunch,
  context: AdapterContext,
  { emit, secrets }: { readonly emit: Emit; readonly secrets: AgentSecrets },
) {
  const files = new FilePort(context.ports.files);
  const terminals = new TerminalPort(context.ports.terminals, emit);
  const tools = new EditorToolServer(context);
  return {
    file: (args: AcpFileRequest) => files.run(args),
    terminal: (args: TerminalArgs | LoginArgs) => (args.do === 'login' ? login(args, launch, context) : terminals.run(args)),
    secret: (args: SecretArgs) => secrets.run(args),
    link: (args: LinkArgs) => linkPort(args, context),
    server: (args: ServerArgs) => tools.run(args),
  };
}

// --- terminals

/** How much output is kept for the agent at most, in bytes, whatever it asks for. */
const CEILING = 16 * 1024 * 1024;
const DEFAULT_LIMIT = 1024 * 1024;
/** Commands one session may have running at a time, and ended ones kept for an agent that has not released them. */
const MOST_RUNNING = 64;
const MOST_ENDED = 256;

/** Commands that run for the agent. Their output goes to the session as it comes, not through the machine. */
class TerminalPort {
  readonly #terminals: Terminals;
  readonly #emit: Emit;
  readonly #open = new Map<string, TerminalHandle>();
  /** Names of those whose command has ended, oldest first. */
  readonly #ended = new Set<string>();
  /** Commands that are being started. */
  #starting = 0;
  #isOver = false;

  constructor(terminals: Terminals, emit: Emit) {
    this.#terminals = terminals;
    this.#emit = emit;
  }

  async run(args: TerminalArgs): Promise<unknown> {
    switch (args.do) {
      case 'create':
        return this.#create(args);
      case 'watch':
        return this.#watch(this.#find(args.id));
      case 'output': {
        const { text, truncated, exit } = this.#find(args.id).output();
        return { output: text, truncated, ...(exit ? { exitStatus: toStatus(exit) } : {}) };
      }
      case 'wait_for_exit':
        return toStatus(await this.#find(args.id).exited());
      case 'kill':
        this.#find(args.id).kill();
        return {};
      case 'release':
        this.#release(args.id);
        return {};
      case 'end':
        this.#isOver = true;
        for (const handle of this.#open.values()) handle.release();
        this.#open.clear();
        return null;
    }
  }

  #find(id: string): TerminalHandle {
    const handle = this.#open.get(id);
    if (!handle) throw refused(NOT_FOUND, `There is no terminal ${id}`);
    return handle;
  }

  #release(id: string): void {
    this.#open.get(id)?.release();
    this.#open.delete(id);
    this.#ended.delete(id);
  }

  async #create({ id, command, args, env, cwd, limit, roots, allowed }: Extract<TerminalArgs, { do: 'create' }>): Promise<Created> {
    if ((await placed(cwd, roots)) === 'outside' && !allowed) return { outside: path.resolve(cwd) };
    if (this.#open.size - this.#ended.size + this.#starting >= MOST_RUNNING)
      throw refused(INTERNAL, `More than ${MOST_RUNNING} commands are running.`);
    this.#starting += 1;
    const handle = await this.#start(id, {
      command,
      // Without arguments the command is a line for the shell; with them it is never put together for one.
      ...(args.length > 0 ? { args } : {}),
      cwd,
      // No pager may wait for a key.
      env: { PAGER: 'cat', GIT_PAGER: 'cat', ...Object.fromEntries(env.map(({ name, value }) => [name, value])) },
      limit: Math.min(CEILING, Math.max(0, Math.floor(limit ?? DEFAULT_LIMIT))),
    }).finally(() => {
      this.#starting -= 1;
    });
    if (this.#isOver) {
      handle.release();
      throw new Error('The session has ended.');
    }
    this.#open.set(handle.id, handle);
    return { terminalId: handle.id };
  }

  async #start(id: string, spec: TerminalSpec): Promise<TerminalHandle> {
    try {
      return await this.#terminals.create(spec);
    } catch (error) {
      const missing = systemCode(error) === 'ENOENT';
      if (spec.cwd !== undefined && !existsSync(spec.cwd)) return notStarted(id, `${t('{0} does not exist.', spec.cwd)}\n`, 127);
      // A whole command line in the place of a program.
      if (missing && spec.args !== undefined && /\s/.test(spec.command)) {
        const { args, ...rest } = spec;
        return this.#start(id, { ...rest, command: [spec.command, ...args.map(quoted)].join(' ') });
      }
      return notStarted(id, `${spec.command}: ${messageOf(error)}\n`, missing ? 127 : 126);
    }
  }

  async #watch(handle: TerminalHandle): Promise<object> {
    const { id } = handle;
    let heard = false;
    handle.onOutput?.((text) => {
      if (text === undefined) return;
      heard = true;
      if (!this.#isOver) this.#emit({ type: 'terminal.changed', terminal: { id }, delta: text });
    });
    const { code, signal } = await handle.exited();
    if (this.#open.has(id)) this.#ended.add(id);
    const [oldest] = this.#ended;
    if (oldest !== undefined && this.#ended.size > MOST_ENDED) this.#release(oldest);
    // `rest`: all output, when none of it came through `onOutput`.
    return { code, signal, rest: heard ? '' : handle.output().text };
  }
}

function toStatus(exit: Exit) {
  return { exitCode: exit.code, signal: exit.signal };
}

/** A terminal of a command that could not be started: it holds the reason. */
function notStarted(id: string, text: string, code: number): TerminalHandle {
  const exit = { code, signal: null };
  return { id, output: () => ({ text, truncated: false, exit }), exited: async () => exit, kill: () => {}, release: () => {} };
}

/** One argument in a command line of the system's shell. */
function quoted(arg: string): string {
  return process.platform === 'win32' ? cmdArgument(arg) : `'${arg.replaceAll("'", "'\\''")}'`;
}

function endWithoutBackslashes(text: string): number {
  let end = text.length;
  while (text[end - 1] === '\\') end -= 1;
  return end;
}

/** In quotes as programs of Windows read them, and every character that means something to cmd.exe escaped, the quotes as well. */
export function cmdArgument(arg: string): string {
  // Backslashes before a quote, our own included, count twice.
  const text = `"${arg
    .split('"')
    .map((piece) => piece + piece.slice(endWithoutBackslashes(piece)))
    .join('\\"')}"`;
  return text.replace(/[()[\]%!^"`<>&|;, *?]/g, '^$&');
}

// --- secrets, logins and links

/** Variables that the user entered for this agent, kept by the editor's secret storage. They go to the process and nowhere else. */
export class AgentSecrets {
  values: Readonly<Record<string, string>> = {};
  readonly #launch: ProcessLaunch;
  readonly #context: AdapterContext;

  constructor(launch: ProcessLaunch, context: AdapterContext) {
    this.#launch = launch;
    this.#context = context;
  }

  async run(args: SecretArgs): Promise<unknown> {
    const { secrets } = this.#context.ports;
    if (args.do === 'keep') {
      this.values = { ...this.values, ...args.values };
      for (const [name, value] of Object.entries(args.values)) await secrets?.set(this.#nameOf(name), value);
      return null;
    }
    const found: Record<string, string> = {};
    for (const name of args.names) {
      const value = await secrets?.get(this.#nameOf(name));
      if (value !== undefined) found[name] = value;
    }
    this.values = { ...found, ...this.values };
    return Object.keys(this.values);
  }

  async forget(names: readonly string[]): Promise<void> {
    for (const name of names) await this.#context.ports.secrets?.set(this.#nameOf(name), undefined);
    this.values = {};
  }

  #nameOf(variable: string): string {
    return `acp ${[this.#launch.command, ...this.#launch.args].join(' ')} ${variable}`;
  }
}

/** The agent's own login: the command it names, or the configured one with the method's arguments behind it. */
async function login(args: LoginArgs, launch: ProcessLaunch, { ports }: AdapterContext): Promise<Exit | null> {
  const env = Object.fromEntries(Object.entries(launch.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
  const { title, login: named } = args;
  const exit = await ports.runVisibly?.({
    title,
    command: named?.command ?? launch.command,
    args: named ? (named.args ?? []) : [...launch.args, ...args.args],
    env: { ...env, ...(named ? named.env : args.env) },
    cwd: launch.cwd,
  });
  return exit ?? null;
}

async function linkPort({ do: what, url }: LinkArgs, { ports }: AdapterContext): Promise<LinkReply> {
  if (what === 'open') return (await ports.openLink?.(url)) ?? false;
  if (!URL.canParse(url)) return null;
  const { protocol, host, hostname, username, password } = new URL(url);
  if (!/^https?:$/.test(protocol)) return null;
  return {
    host,
    isEncrypted: protocol === 'https:',
    hasUser: username !== '' || password !== '',
    isPunycode: hostname.split('.').some((label) => label.startsWith('xn--')),
  };
}

// --- tools

/** Our editor tools as a tool server of this session. An agent works without them, too. */
class EditorToolServer {
  readonly #context: AdapterContext;
  #offered: OfferedTools | undefined;
  #isOver = false;
  readonly #listed = new Once<true>();

  constructor(context: AdapterContext) {
    this.#context = context;
  }

  async run(args: ServerArgs): Promise<readonly object[]> {
    if (args.do === 'listed') {
      await new Promise<true>((resolve) => this.#listed.listen(resolve));
      return [];
    }
    if (args.do === 'end') {
      this.#isOver = true;
      this.#offered?.dispose();
      return [];
    }
    const listed = this.#listed;
    try {
      const offered = await offerTools(this.#context.ports.tools, { ...this.#context, onListed: () => listed.fire(true) });
      if (this.#isOver) offered?.dispose();
      if (!offered || this.#isOver) return [];
      this.#offered = offered;
      const { name, http, process } = offered;
      const { server } = codecOf({ protocol: args.version });
      return [
        args.how === 'http'
          ? server({ how: 'http', name, url: http.url, headers: pairs(http.headers) })
          : server({ how: 'process', name, command: process.command, args: process.args, env: pairs(process.env) }),
      ];
    } catch (error) {
      this.#context.log.error(`The agent gets no editor tools: ${messageOf(error)}`, error);
      return [];
    }
  }
}

function pairs(record: Readonly<Record<string, string>>) {
  return Object.entries(record).map(([name, value]) => ({ name, value }));
}

import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { MessageConnection } from 'vscode-jsonrpc/node';
import * as z from 'zod/mini';
import { messageOf } from '../../../base/log.ts';
import { updateParams, type WrittenUpdate } from '../../../protocols/acp/codec.ts';
import type { ModelTool } from '../../models/model.ts';
import { takenNames } from '../../toolbox.ts';
import type { CommandEnd, CommandSpec } from '../../tools/runCommand.ts';
import { shellArguments, shellProgram } from '../../tools/shellProgram.ts';
import { done, failed, type ToolOutcome, toldFailed, toldFailure } from '../../tools/tool.ts';
import type { ResolvedPath } from '../../workspace/paths.ts';
import { diskFiles, encodeText, isReadable, textFileOf } from '../../workspace/textFile.ts';
import type { TextFiles } from '../../workspace/textFiles.ts';

/* The client of an ACP server: what it can do, and its tools, files and terminals. */

const marker = z.nullish(z.unknown());
/** How it greets. */
export const hello = z.object({
  protocolVersion: z.number(),
  clientCapabilities: z.nullish(
    z.object({
      terminal: marker,
      fs: z.nullish(z.object({ readTextFile: marker, writeTextFile: marker })),
      session: z.nullish(z.object({ compaction: marker })),
      elicitation: z.nullish(z.object({ form: marker })),
    }),
  ),
});

/** Capabilities that the client declared. */
export interface ClientCan extends FilesCan {
  readonly terminals: boolean;
  readonly forms: boolean;
  readonly compactions: boolean;
}

export function canOf({ clientCapabilities: caps }: z.infer<typeof hello>): ClientCan {
  return {
    terminals: Boolean(caps?.terminal),
    reads: Boolean(caps?.fs?.readTextFile),
    writes: Boolean(caps?.fs?.writeTextFile),
    forms: Boolean(caps?.elicitation?.form),
    compactions: Boolean(caps?.session?.compaction),
  };
}

interface SessionFacts {
  readonly id: string;
  /** The working directory of the session; absolute. */
  readonly cwd: string;
  readonly can: ClientCan;
}

/** The client, as one session talks to it. */
export class SessionClient implements SessionFacts {
  readonly id: string;
  readonly cwd: string;
  readonly can: ClientCan;
  /** The tools of the servers it has named. */
  readonly servers = new ToolServers();
  readonly #connection: MessageConnection;

  constructor(connection: MessageConnection, { id, cwd, can }: SessionFacts) {
    this.#connection = connection;
    this.id = id;
    this.cwd = cwd;
    this.can = can;
  }

  update(update: WrittenUpdate): void {
    this.#connection.sendNotification('session/update', updateParams(this.id, update)).catch(() => undefined);
  }

  /** Rejects when the client refuses or the signal fires. */
  ask(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    const asked = this.#connection.sendRequest(method, { sessionId: this.id, ...params });
    if (!signal) return asked;
    return new Promise((resolve, reject) => {
      const stop = () => reject(signal.reason);
      if (signal.aborted) return stop();
      signal.addEventListener('abort', stop, { once: true });
      asked.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    });
  }
}

/** The abilities of a client with its text files. */
export interface FilesCan {
  readonly reads: boolean;
  readonly writes: boolean;
}

// --- the tools of the servers it names

/** Milliseconds a tool server may take to be there; the session opens without one that is not. */
const LIMIT = 10_000;

const pairs = z.nullish(z.array(z.object({ name: z.string(), value: z.string() })));
const http = z.object({ type: z.enum(['http', 'sse']), name: z.string(), url: z.string(), headers: pairs });
const stdio = z.object({
  type: z.nullish(z.literal('stdio')),
  name: z.string(),
  command: z.string(),
  args: z.nullish(z.array(z.string())),
  env: pairs,
});
/** How session/new, load and resume name tool servers. */
export const mcpServers = z.nullish(z.array(z.unknown()));

type McpModule = typeof import('./mcpClient.ts');
type ConnectedServer = Awaited<ReturnType<McpModule['connectServer']>>;

interface ClientMcpTool {
  readonly server: ConnectedServer;
  readonly tool: ConnectedServer['tools'][number];
  readonly offer: ModelTool;
}

/** The tools of the servers a client names for a session. A server that fails has none, and standard error names it. */
export class ToolServers {
  readonly #servers: ConnectedServer[] = [];
  readonly #tools = new Map<string, ClientMcpTool>();
  #closed = false;

  get offers(): readonly ModelTool[] {
    return [...this.#tools.values()].map((one) => one.offer);
  }

  /** False for a tool that declares that it changes nothing; undefined when there is no such tool. */
  changes(name: string): boolean | undefined {
    const found = this.#tools.get(name);
    return found && !found.tool.readOnly;
  }

  /** Connects to all of them at once. Never rejects. */
  async connect(servers: readonly unknown[], cwd: string): Promise<void> {
    if (servers.length === 0) return;
    const sdk: McpModule = require(path.join(__dirname, 'parley-agent-mcp.js'));
    const connected = await Promise.all(
      servers.map(async (given) => {
        const spec = specOf(given, cwd);
        if (!spec) return note('a tool server of an unknown kind was left out');
        try {
          return { spec, server: await sdk.connectServer(spec, LIMIT) };
        } catch (error) {
          return note(`the tools of "${spec.name}" are not there: ${messageOf(error)}`);
        }
      }),
    );
    for (const one of connected) {
      if (!one) continue;
      if (this.#closed) void one.server.close();
      else this.#take(one.spec.name, one.server);
    }
  }

  async call(name: string, input: string, signal: AbortSignal): Promise<ToolOutcome> {
    const found = this.#tools.get(name);
    if (!found) return toldFailed(`The client has no tool "${name}".`, `客户端没有工具“${name}”。`);
    try {
      const { isError, text } = await found.server.call(found.tool.name, JSON.parse(input) as Record<string, unknown>, signal);
      return isError ? failed(text) : done(text, `${found.tool.name} ran.`);
    } catch (error) {
      signal.throwIfAborted();
      return failed(messageOf(error));
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#tools.clear();
    await Promise.allSettled(this.#servers.splice(0).map((server) => server.close()));
  }

  #take(name: string, server: ConnectedServer): void {
    this.#servers.push(server);
    for (const tool of server.tools) {
      // The model sees the plain name where it is free.
      const called = takenNames.includes(tool.name) || this.#tools.has(tool.name) ? `mcp__${name}__${tool.name}` : tool.name;
      const { description, parameters } = tool;
      this.#tools.set(called, { server, tool, offer: { name: called, description, parameters } });
    }
  }
}

function specOf(given: unknown, cwd: string): Parameters<McpModule['connectServer']>[0] | undefined {
  const remote = http.safeParse(given);
  if (remote.success) {
    const { type, name, url, headers } = remote.data;
    return { type, name, url, headers: record(headers) };
  }
  const local = stdio.safeParse(given);
  if (!local.success) return undefined;
  const { name, command, args, env } = local.data;
  return { type: 'stdio', name, command, args: args ?? [], env: record(env), cwd };
}

function record(given: z.infer<typeof pairs>): Readonly<Record<string, string>> {
  return Object.fromEntries((given ?? []).map(({ name, value }) => [name, value]));
}

function note(text: string): undefined {
  process.stderr.write(`parley-agent: ${text}\n`);
}

// --- its files

const NOT_FOUND = -32002;

/**
 * The client's text files (acp.md §10.1, §10.2): what is unsaved in its editor is read, and what is written there goes on with it. What lies
 * outside of the workspace the user has been asked about already, and the client would ask once more: that is the disk's.
 */
export function clientFiles(ask: (method: string, params: object) => Promise<unknown>, can: FilesCan): TextFiles {
  return {
    read: async (place, name) => {
      if (!can.reads || !place.inside) return diskFiles.read(place, name);
      await isReadable(place.real, name);
      try {
        const { content } = (await ask('fs/read_text_file', { path: place.path })) as { readonly content?: unknown };
        if (typeof content !== 'string') throw new Error('The client answered without a text.');
        return textFileOf(content);
      } catch (error) {
        if ((error as { readonly code?: unknown }).code === NOT_FOUND) return undefined;
        throw toldFailure(`${name} could not be read: ${messageOf(error)}`, `无法读取 ${name}：${messageOf(error)}`);
      }
    },
    write: async (place: ResolvedPath, text, like) => {
      if (!can.writes || !place.inside) return diskFiles.write(place, text, like);
      try {
        await ask('fs/write_text_file', { path: place.path, content: encodeText(text, { ...like, bom: false }) });
      } catch (error) {
        throw toldFailure(`${place.path} was not written: ${messageOf(error)}`, `未能写入 ${place.path}：${messageOf(error)}`);
      }
    },
  };
}

// --- its terminals

type Ask = (method: string, params: object) => Promise<unknown>;

/** How long a client has to end a command that was killed, before its output is taken as it is. Milliseconds. */
const PATIENCE_MS = 2000;
const STOPPED: CommandEnd = { type: 'exited', code: null, signal: 'SIGTERM' };

/**
 * Runs a command in the client's terminal (acp.md §10). A command that takes too long, or is not wanted any more, is killed there. The user
 * who says stop waits for nothing of it: kill and release go on behind, and so does a client that answers neither.
 */
export async function runInClient(
  ask: Ask,
  spec: CommandSpec,
  onTerminal: (terminalId: string) => void,
  onText: (text: string) => void,
): Promise<CommandEnd> {
  const { signal } = spec;
  if (signal.aborted) return STOPPED;
  const stopped = new Promise<CommandEnd>((resolve) => signal.addEventListener('abort', () => resolve(STOPPED), { once: true }));
  return Promise.race([
    stopped,
    run(ask, spec, onTerminal, onText).catch((error): CommandEnd => ({ type: 'failed', message: messageOf(error) })),
  ]);
}

async function run(
  ask: Ask,
  { command, cwd, seconds, signal }: CommandSpec,
  onTerminal: (terminalId: string) => void,
  onText: (text: string) => void,
): Promise<CommandEnd> {
  const { terminalId } = (await ask('terminal/create', { ...commandOf(command), cwd })) as { terminalId: string };
  const kill = () => ask('terminal/kill', { terminalId }).catch(() => undefined);
  const release = () => ask('terminal/release', { terminalId }).catch(() => undefined);
  // Behind the kill, but not for ever: a client may answer it only when the command has ended.
  const killAndRelease = async () => {
    await Promise.race([kill(), pause(PATIENCE_MS, undefined, { ref: false })]);
    await release();
  };
  const limit = new AbortController();
  const stop = () => {
    limit.abort();
    void killAndRelease();
  };
  if (signal.aborted) {
    stop();
    return STOPPED;
  }
  onTerminal(terminalId);
  signal.addEventListener('abort', stop, { once: true });
  const exit = ask('terminal/wait_for_exit', { terminalId }) as Promise<{ exitCode?: number | null; signal?: string | null }>;
  exit.catch(() => undefined);
  const late = pause(seconds * 1000, 'late' as const, { signal: limit.signal });
  late.catch(() => undefined);
  try {
    const end = await Promise.race([exit, late]);
    if (end === 'late') await Promise.race([kill().then(() => exit), pause(PATIENCE_MS, undefined, { ref: false })]);
    const { output } = (await ask('terminal/output', { terminalId })) as { output: string };
    if (!signal.aborted) onText(output);
    return end === 'late' ? { type: 'timeout' } : { type: 'exited', code: end.exitCode ?? null, signal: end.signal ?? null };
  } finally {
    limit.abort();
    signal.removeEventListener('abort', stop);
    if (!signal.aborted) void release();
  }
}

/** A client would run a bare command line in a shell of its own; the model was told of the agent's. */
function commandOf(command: string): { readonly command: string; readonly args: readonly string[] } {
  const shell = shellProgram();
  return { command: shell.file, args: shellArguments(shell, command) };
}

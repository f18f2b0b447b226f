import path from 'node:path';
import * as z from 'zod/mini';
import { messageOf } from '../../../base/log.ts';
import type { ToolOffer } from '../../models/model.ts';
import { takenNames } from '../../toolbox.ts';
import { done, failed, type Outcome } from '../../tools/tool.ts';
import type { ConnectedServer, ServerSpec, ServerTool } from './mcpClient.ts';

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
/** How tool servers stand in session/new, load and resume. */
export const mcpServers = z.nullish(z.array(z.unknown()));

interface Lent {
  readonly server: ConnectedServer;
  readonly tool: ServerTool;
  readonly offer: ToolOffer;
}

/** The tools of the servers a client names for a session. A server that fails has none, and standard error names it. */
export class ToolServers {
  readonly #servers: ConnectedServer[] = [];
  readonly #lent = new Map<string, Lent>();
  #closed = false;

  get offers(): readonly ToolOffer[] {
    return [...this.#lent.values()].map((one) => one.offer);
  }

  /** False for a tool that says it changes nothing; undefined when there is no such tool. */
  changes(name: string): boolean | undefined {
    const lent = this.#lent.get(name);
    return lent && !lent.tool.readOnly;
  }

  /** Connects to all of them at once. Never rejects. */
  async connect(servers: readonly unknown[], cwd: string): Promise<void> {
    if (servers.length === 0) return;
    const sdk: typeof import('./mcpClient.ts') = require(path.join(__dirname, 'parley-agent-mcp.js'));
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

  async call(name: string, input: string, signal: AbortSignal): Promise<Outcome> {
    const lent = this.#lent.get(name);
    if (!lent) return failed(`The client has no tool "${name}".`);
    try {
      const { isError, text } = await lent.server.call(lent.tool.name, JSON.parse(input) as Record<string, unknown>, signal);
      return isError ? failed(text) : done(text, `${lent.tool.name} ran.`);
    } catch (error) {
      signal.throwIfAborted();
      return failed(messageOf(error));
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#lent.clear();
    await Promise.allSettled(this.#servers.splice(0).map((server) => server.close()));
  }

  #take(name: string, server: ConnectedServer): void {
    this.#servers.push(server);
    for (const tool of server.tools) {
      // The model sees the plain name where it is free.
      const called = takenNames.includes(tool.name) || this.#lent.has(tool.name) ? `mcp__${name}__${tool.name}` : tool.name;
      const { description, parameters } = tool;
      this.#lent.set(called, { server, tool, offer: { name: called, description, parameters } });
    }
  }
}

function specOf(given: unknown, cwd: string): ServerSpec | undefined {
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

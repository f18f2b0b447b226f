import * as z from 'zod/mini';
import { messageOf } from '../../../base/log.ts';
import { isRecord } from '../../../protocols/a2a/schema.ts';
import { HttpClient } from '../../../transport/http.ts';
import { SseReader } from '../../../transport/sse.ts';
import type { ModelTool } from '../../models/model.ts';
import { takenNames } from '../../toolbox.ts';
import { done, failed, problemOfSchema, type ToolOutcome, toldFailed } from '../../tools/tool.ts';
import { NAME, VERSION } from '../../version.ts';

/** An MCP server: the editor that started this agent, or one that a client named. */
export interface McpToolServer {
  /** The name shown to the user in approvals of its tools. */
  readonly name: string;
  /** The current tools; none when the server cannot be reached. */
  tools(): Promise<readonly ListedTool[]>;
  call(name: string, input: string, signal: AbortSignal): Promise<ToolOutcome>;
}
export interface ListedTool {
  readonly offer: ModelTool;
  /** True when a user has to approve it. The editor asks by itself, and tools that only read need no approval. */
  readonly asks: boolean;
}
/** A tool as the model sees it; `tool` is its name at the server. */
export interface ServedTool extends ListedTool {
  readonly server: McpToolServer;
  readonly tool: string;
}

/** The tools of all servers. A name that is taken gets the name of its server as a prefix. */
export async function offersOf(servers: readonly McpToolServer[]): Promise<readonly ServedTool[]> {
  const found = new Map<string, ServedTool>();
  const all = await Promise.all(servers.map(async (server) => ({ server, tools: await server.tools() })));
  for (const { server, tools } of all) {
    for (const { offer, asks } of tools) {
      const isTaken = takenNames.includes(offer.name) || found.has(offer.name);
      const name = isTaken ? `mcp__${server.name}__${offer.name}` : offer.name;
      found.set(name, { server, tool: offer.name, asks, offer: { ...offer, name } });
    }
  }
  return [...found.values()];
}

export interface ToolServerAddress {
  readonly name: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly asksItself?: boolean;
}

const BODY_LIMIT = 8 * 1024 * 1024;
const LIST_WITHIN = 5_000;
const listed = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      description: z.optional(z.string()),
      inputSchema: z.record(z.string(), z.unknown()),
      annotations: z.optional(z.object({ readOnlyHint: z.optional(z.boolean()) })),
    }),
  ),
});
const called = z.object({
  content: z.optional(z.array(z.object({ text: z.optional(z.string()) }))),
  structuredContent: z.optional(z.record(z.string(), z.unknown())),
  isError: z.optional(z.boolean()),
});
const answered = z.object({
  id: z.nullish(z.union([z.string(), z.number()])),
  result: z.optional(z.unknown()),
  error: z.optional(z.object({ message: z.string() })),
});

/**
 * The MCP server at that address (docs/protocols/a2a.md §14), over HTTP: three methods, asked by hand, because a tool that asks a user first may take
 * as long as that user, and hanging up has to stop it. `asksItself`: the server lets its own user decide.
 */
export function toolServer({ name, url, headers = {}, asksItself = false }: ToolServerAddress): McpToolServer {
  const client = new HttpClient();
  let id = 0;
  let session: string | undefined;

  const ask = async (method: string, params: object, signal: AbortSignal): Promise<unknown> => {
    const wanted = ++id;
    const note = method.startsWith('notifications/');
    const answer = await client.request({
      method: 'POST',
      url,
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-06-18',
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...(note ? {} : { id: wanted }), method, params }),
      signal,
      headersWithin: null,
    });
    const named = answer.headers['mcp-session-id'];
    if (method === 'initialize' && typeof named === 'string') session = named;
    const text = await answer.text(BODY_LIMIT);
    if (!answer.ok) throw new Error(`it answered with status ${answer.status}`);
    if (note) return undefined;
    for (const one of answer.type === 'text/event-stream' ? eventsIn(text) : [text]) {
      const parsed = answered.safeParse(JSON.parse(one));
      if (!parsed.success || parsed.data.id !== wanted) continue;
      if (parsed.data.error) throw new Error(parsed.data.error.message);
      return parsed.data.result;
    }
    throw new Error('it did not answer');
  };
  const greet = async (signal: AbortSignal): Promise<void> => {
    const clientInfo = { name: NAME, version: VERSION };
    await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }, signal);
    await ask('notifications/initialized', {}, signal);
  };
  let greeted: Promise<void> | undefined;

  return {
    name,
    async tools() {
      try {
        const signal = AbortSignal.timeout(LIST_WITHIN);
        greeted ??= greet(signal);
        await greeted;
        const { tools } = listed.parse(await ask('tools/list', {}, signal));
        const found: ListedTool[] = [];
        for (const { name: tool, description = '', inputSchema, annotations } of tools) {
          if ((await problemOfSchema(inputSchema)) !== undefined) continue;
          const asks = !asksItself && annotations?.readOnlyHint !== true;
          found.push({ offer: { name: tool, description, parameters: inputSchema }, asks });
        }
        return found;
      } catch (error) {
        greeted = undefined;
        process.stderr.write(`${NAME}: the tools of "${name}" are not there: ${messageOf(error)}\n`);
        return [];
      }
    },
    async call(tool, input, signal) {
      try {
        const { content, structuredContent, isError } = called.parse(
          await ask('tools/call', { name: tool, arguments: JSON.parse(input) as unknown }, signal),
        );
        const text = (content ?? []).map((part) => part.text ?? '').join('\n');
        const shown = structuredContent ? [{ type: 'other' as const, value: structuredContent }] : [];
        return isError ? failed(text) : done(text, `${tool} ran.`, shown);
      } catch (error) {
        signal.throwIfAborted();
        return toldFailed(`The tool ${tool} could not be run: ${messageOf(error)}`, `无法运行工具 ${tool}：${messageOf(error)}`);
      }
    },
  };
}

function eventsIn(text: string): readonly string[] {
  const found: string[] = [];
  const reader = new SseReader((event) => void found.push(event.data));
  reader.push(Buffer.from(text));
  reader.end();
  return found;
}

const MOST_SERVERS = 20;
const server = z.object({
  url: z.optional(z.string()),
  httpUrl: z.optional(z.string()),
  headers: z.optional(z.record(z.string(), z.string())),
});

/** By name; only those that speak HTTP. */
export function serversIn(given: unknown): readonly ToolServerAddress[] {
  if (!isRecord(given)) return [];
  return Object.entries(given)
    .slice(0, MOST_SERVERS)
    .map(([name, value]) => {
      const { url, httpUrl = url, headers } = server.safeParse(value).data ?? {};
      if (httpUrl === undefined || !/^https?:/.test(httpUrl) || !URL.canParse(httpUrl) || !/^[\w.-]{1,64}$/.test(name)) {
        throw new Error(`The MCP server ${name} needs a name of letters and an HTTP address.`);
      }
      return { name, url: httpUrl, ...(headers ? { headers } : {}) };
    });
}

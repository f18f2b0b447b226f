import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { parseJson } from '../base/json.ts';
import type { Disposable } from '../base/lifetime.ts';
import { HEAD_LIMITS, isSameSecret, UnauthenticatedConnections } from '../transport/httpAccess.ts';
import type { JsonSchema, ToolAnswer } from './ports.ts';

/** A bundle of its own, loaded with the first session whose agent takes tools over MCP: the SDK is heavy (acp.md §12). */

export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  /** It changes nothing: agents need not ask before they call it. */
  readonly readOnly: boolean;
}
export interface McpServerOptions {
  readonly tools: readonly McpTool[];
  readonly run: (name: string, input: unknown, signal: AbortSignal) => Promise<ToolAnswer>;
  readonly client: { readonly name: string; readonly version: string };
  /** The token that a caller must send, as a bearer or as the last part of the address. */
  readonly token: string;
  readonly onError: (message: string) => void;
  /** An agent has asked for the list of tools. */
  readonly onListed?: () => void;
}
export interface McpEndpoint extends Disposable {
  readonly url: string;
}

/** Milliseconds for all of a request to arrive. */
const REQUEST_WITHIN = 60_000;
/** One for each call that is under way, and some that are kept. */
const MOST_CONNECTIONS = 256;
/** Bytes in one request. */
const BODY_LIMIT = 4 * 1024 * 1024;
const PATH = '/mcp';

/**
 * An MCP server over HTTP on a random loopback port. Every request stands for itself: nothing is kept between two of them, and a caller that
 * hangs up aborts the tool it called. Only callers with the token, and no web page, get in.
 */
export async function serveMcp(options: McpServerOptions): Promise<McpEndpoint> {
  const unauthenticated = new UnauthenticatedConnections();
  const server = createServer({ ...HEAD_LIMITS, requestTimeout: REQUEST_WITHIN }, (request, response) => {
    serve(options, { server, unauthenticated }, request, response).catch((error: unknown) => {
      options.onError(error instanceof Error ? error.message : String(error));
      if (!response.headersSent) refuse(response, 500, 'Internal error');
    });
  });
  unauthenticated.limit(server, MOST_CONNECTIONS);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${portOf(server)}${PATH}`,
    dispose() {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface Listener {
  readonly server: HttpServer;
  readonly unauthenticated: UnauthenticatedConnections;
}

async function serve(
  options: McpServerOptions,
  { server, unauthenticated }: Listener,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const hosts = [`127.0.0.1:${portOf(server)}`, `localhost:${portOf(server)}`];
  const { host, origin, authorization } = request.headers;
  if (!host || !hosts.includes(host)) return refuse(response, 403, 'Wrong host');
  if (origin !== undefined && !hosts.some((one) => origin === `http://${one}`)) return refuse(response, 403, 'Wrong origin');
  const { pathname } = new URL(request.url ?? '/', `http://${host}`);
  const named = pathname.startsWith(`${PATH}/`) ? `Bearer ${pathname.slice(PATH.length + 1)}` : undefined;
  if (!isSameSecret(named ?? authorization ?? '', `Bearer ${options.token}`)) return refuse(response, 401, 'Unauthorized');
  unauthenticated.remove(request.socket);
  if (named === undefined && pathname !== PATH) return refuse(response, 404, 'Not found');
  // There is nothing to say unasked, so there is no stream to open.
  if (request.method !== 'POST') return refuse(response, 405, 'Method not allowed');
  const body = await read(request);
  if (body === undefined) return refuse(response, 413, 'Too large');
  let message: unknown;
  try {
    message = parseJson(body);
  } catch {
    return refuse(response, 400, 'Not JSON', -32700);
  }
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const mcp = mcpServer(options, gone.signal);
  // Without a session id the transport keeps nothing. Its type takes an absent member only, not undefined.
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  await mcp.connect(transport as Parameters<typeof mcp.connect>[0]);
  response.on('close', () => void mcp.close());
  await transport.handleRequest(request, response, message);
}

function mcpServer({ tools, run, client, onListed }: McpServerOptions, gone: AbortSignal): Server {
  const mcp = new Server({ name: client.name, version: client.version }, { capabilities: { tools: {} } });
  mcp.setRequestHandler(ListToolsRequestSchema, () => {
    onListed?.();
    return {
      tools: tools.map(({ name, description, parameters, readOnly }) => ({
        name,
        description,
        inputSchema: { ...parameters, type: 'object' as const },
        annotations: { readOnlyHint: readOnly, openWorldHint: false },
        // One agent hides tools behind a search unless they say this.
        _meta: { 'anthropic/alwaysLoad': true },
      })),
    };
  });
  mcp.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const answer = await run(params.name, params.arguments ?? {}, AbortSignal.any([signal, gone]));
    return { content: [{ type: 'text' as const, text: answer.text }], isError: !answer.ok };
  });
  return mcp;
}

function read(request: IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= BODY_LIMIT) chunks.push(chunk);
      else resolve(undefined);
    });
    request.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.on('error', reject);
  });
}

function refuse(response: ServerResponse, status: number, message: string, code = -32000): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }));
}

function portOf(server: HttpServer): number {
  return (server.address() as AddressInfo | null)?.port ?? 0;
}

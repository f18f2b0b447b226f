import type { IncomingMessage, ServerResponse } from 'node:http';
import { type A2aVersion, type Card, COMMAND_CONTEXT, EXTENSION, type Fields, isRecord, LENGTHS } from '../../../protocols/a2a/schema.ts';
import { NAME, VERSION } from '../../version.ts';
import { bodyJson, HttpError, listenHttp, type ServerHandle, sendJson } from '../httpServer.ts';
import { A2aError, errorOn, invalidRequest, versionOf } from './requests.ts';
import { A2aServer, type A2aServerOptions, type Caller, type Reply } from './server.ts';

export interface A2aServeOptions extends A2aServerOptions {
  /** 0 takes any that is free. */
  readonly port: number;
  /** Web pages of these origins may talk to it. */
  readonly origins?: readonly string[];
  /** Asked for as a bearer token of every request, when there is one. */
  readonly token?: string;
}

const CARD = '/.well-known/agent-card.json';
/** Milliseconds between comments on a stream that is silent. */
const KEEP_ALIVE = 15_000;
/** Bytes that may wait for a client that does not read, besides the longest event. It can subscribe to its task again. */
const MOST_UNREAD = 32 * 1024 * 1024;

/** Serves A2A 0.3 and 1.0 with the development-tool extension on the loopback interface. */
export async function serveA2a({ port, token, origins = [], ...options }: A2aServeOptions): Promise<ServerHandle> {
  const a2a = new A2aServer(options);
  const server = await listenHttp(
    {
      port,
      ...(token === undefined ? {} : { token }),
      origins,
      isPublic: (request, path) => request.method === 'GET' && path === CARD,
      allowedHeaders: ['x-a2a-extensions', 'a2a-extensions', 'a2a-version'],
    },
    (request, response, path) => {
      if (request.method === 'GET' && path === CARD) return sendJson(response, 200, agentCard(`${server.origin}/`, token !== undefined));
      if (request.method === 'POST' && path === '/') return answerRpc(a2a, request, response);
      return sendJson(response, 404, { error: `There is POST / and GET ${CARD}.` });
    },
  );
  return { url: server.origin, end: () => server.end(() => a2a.end()) };
}

async function answerRpc(a2a: A2aServer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let version: A2aVersion = '0.3';
  let id: unknown = null;
  const deny = (status: number, error: unknown) => sendJson(response, status, { jsonrpc: '2.0', id, error: errorOn(version, error) });
  let body: unknown;
  try {
    body = await bodyJson(request);
  } catch (error) {
    if (error instanceof HttpError && error.status === 400) return deny(400, new A2aError(-32700, 'PARSE_ERROR', error.message));
    throw error;
  }
  let reply: Reply;
  try {
    const asked = requestIn(body);
    id = asked.id;
    version = versionOf(headerOf(request, 'a2a-version'));
    reply = await a2a.handle(asked.method, asked.params, callerOf(request, version));
  } catch (error) {
    return deny(200, error);
  }
  const activated = version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions';
  response.setHeader(activated, EXTENSION);
  if ('result' in reply) return sendJson(response, 200, { jsonrpc: '2.0', id, result: reply.result });
  await sendEvents(response, id, reply.stream);
}

/** Runs to its end with or without listeners: the task continues without its client. */
async function sendEvents(response: ServerResponse, id: unknown, stream: Extract<Reply, { stream: unknown }>['stream']): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
  response.on('error', () => {});
  const beat = setInterval(() => response.write(': keep-alive\n\n'), KEEP_ALIVE);
  let longest = 0;
  const send = (result: unknown): void => {
    if (response.destroyed) return;
    if (response.writableLength > MOST_UNREAD + longest) return void response.destroy();
    const event = `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`;
    longest = Math.max(longest, event.length);
    response.write(event);
  };
  await stream(send).finally(() => clearInterval(beat));
  response.end();
}

/** Throws -32600 for anything but a JSON-RPC request; A2A has no batches. */
function requestIn(body: unknown): { readonly id: unknown; readonly method: string; readonly params: unknown } {
  const { jsonrpc, id = null, method, params } = isRecord(body) ? body : ({} as Fields);
  // Every event of a stream repeats it.
  const hasId = id === null || (typeof id === 'string' && id.length <= LENGTHS.id) || Number.isInteger(id);
  if (jsonrpc !== '2.0' || !hasId || typeof method !== 'string' || method === '') {
    throw invalidRequest('The body is no request of JSON-RPC 2.0.');
  }
  return { id, method, params };
}

function callerOf(request: IncomingMessage, version: A2aVersion): Caller {
  // Clients of 1.0 may still write the header of 0.3.
  const named = `${headerOf(request, 'a2a-extensions')},${headerOf(request, 'x-a2a-extensions')}`;
  return {
    version,
    extensions: named.split(',').map((one) => one.trim()),
    takesStreams: /event-stream|text\/\*|\*\/\*/.test(request.headers.accept ?? '*/*'),
  };
}
function headerOf(request: IncomingMessage, name: string): string {
  return (request.headers[name] ?? '').toString();
}

/** The agent card of parley-agent, for clients of 0.3 and of 1.0: each reads the members of its version. */
function agentCard(url: string, withToken: boolean): Card & Fields {
  const extension = {
    uri: EXTENSION,
    description: 'Interactive development: tool calls, approvals, thoughts, commands.',
    required: true,
    params: { [COMMAND_CONTEXT]: true },
  };
  return {
    name: NAME,
    description: 'Reads, searches, edits and runs things in one folder, and asks before it changes anything.',
    url,
    version: VERSION,
    protocolVersion: '0.3.0',
    preferredTransport: 'JSONRPC',
    supportedInterfaces: [
      { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ],
    capabilities: {
      streaming: true,
      pushNotifications: true,
      extensions: [extension],
    },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'develop', name: 'Development', description: 'Works on the code of a folder.', tags: ['code'] }],
    ...(withToken
      ? {
          securitySchemes: { token: { type: 'http', scheme: 'bearer', httpAuthSecurityScheme: { scheme: 'bearer' } } },
          security: [{ token: [] }],
          securityRequirements: [{ schemes: { token: { list: [] } } }],
        }
      : {}),
  };
}

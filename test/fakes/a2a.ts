import http, { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** One scripted A2A agent over HTTP. It says what the test tells it, and keeps what it was asked. */
export interface FakeAgent {
  readonly url: string;
  readonly asked: Asked[];
  /** Sockets that were closed from the other side. */
  readonly dropped: number[];
  requests(method: string): readonly Asked[];
  /** Settles when that method has been asked for, so many times. */
  until(method: string, times?: number): Promise<void>;
}
export interface Asked {
  readonly method: string;
  readonly params: Json;
  readonly headers: IncomingMessage['headers'];
  readonly path: string;
  /** Which connection it came over. */
  readonly socket: number;
}
export type Json = Readonly<Record<string, unknown>>;
export interface Reply {
  readonly response: ServerResponse;
  /** One record of an event stream. */
  record(result: unknown): void;
  raw(text: string): void;
  end(): void;
  json(result: unknown): void;
  error(code: number, message: string): void;
  /** Breaks the connection. */
  cut(): void;
}
export interface Script {
  readonly card?: Json;
  /** By method of JSON-RPC; the number counts the calls of that method from 0. */
  readonly on?: Readonly<Record<string, (asked: Asked, reply: Reply, at: number) => void>>;
  /** Where it listens; 127.0.0.1 without it. */
  readonly host?: string;
  /** Its certificate and key, when it speaks https. */
  readonly secure?: { readonly cert: string; readonly key: string };
  /** By path, before anything else; true when it answered. */
  readonly before?: (request: IncomingMessage, response: ServerResponse, body: string) => boolean;
}

export const URI = 'https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md';

export function cardOf(url: string, more: Json = {}): Json {
  return {
    name: 'Fake',
    url: `${url}/`,
    protocolVersion: '0.3.0',
    version: '1',
    capabilities: { streaming: true, extensions: [{ uri: URI, required: true }] },
    ...more,
  };
}

export async function fakeAgent(t: Pick<TestContext, 'after'>, script: Script): Promise<FakeAgent> {
  const asked: Asked[] = [];
  const dropped: number[] = [];
  const sockets = new Map<Socket, number>();
  const counts = new Map<string, number>();
  const listener: RequestListener = (request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => answer(request, response, body));
  };
  const server = script.secure ? https.createServer(script.secure, listener) : http.createServer(listener);
  // Longer than any test: who closes first is what is looked at.
  server.keepAliveTimeout = 60_000;
  server.on(script.secure ? 'secureConnection' : 'connection', (socket: Socket) => {
    const n = sockets.size + 1;
    sockets.set(socket, n);
    socket.on('end', () => dropped.push(n));
    socket.on('error', () => dropped.push(n));
  });
  const host = script.host ?? '127.0.0.1';
  server.listen(0, host);
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `${script.secure ? 'https' : 'http'}://${host}:${(server.address() as AddressInfo).port}`;
  const answer = (request: IncomingMessage, response: ServerResponse, body: string) => {
    const path = request.url ?? '';
    const socket = sockets.get(request.socket) ?? 0;
    if (script.before?.(request, response, body)) return;
    if (request.method === 'GET' && path === '/.well-known/agent-card.json') {
      asked.push({ method: 'card', params: {}, headers: request.headers, path, socket });
      response.setHeader('content-type', 'application/json');
      return void response.end(JSON.stringify({ ...cardOf(url), ...script.card }));
    }
    if (request.method !== 'POST') return void response.writeHead(404).end();
    const { id, method, params } = JSON.parse(body) as { id: unknown; method: string; params: Json };
    const one = { method, params, headers: request.headers, path, socket };
    asked.push(one);
    const at = counts.get(method) ?? 0;
    counts.set(method, at + 1);
    const reply = replyTo(id, response);
    const handler = script.on?.[method];
    if (handler) handler(one, reply, at);
    else reply.error(-32601, `There is no ${method}.`);
  };
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const requests = (method: string) => asked.filter((one) => one.method === method);
  return {
    url,
    asked,
    dropped,
    requests,
    until: async (method, times = 1) => {
      while (requests(method).length < times) await new Promise((resolve) => setTimeout(resolve, 5));
    },
  };
}

function replyTo(id: unknown, response: ServerResponse): Reply {
  const open = () => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
  };
  const json = (value: object) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...value }));
  };
  return {
    response,
    record: (result) => {
      open();
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
    },
    raw: (text) => {
      open();
      response.write(text);
    },
    end: () => {
      open();
      response.end();
    },
    json: (result) => json({ result }),
    error: (code, message) => json({ error: { code, message } }),
    cut: () => response.destroy(),
  };
}

let messages = 0;
/** A status update of 0.3 with the RFC's metadata. */
export function status(
  state: string,
  kind: string,
  parts: readonly Json[] = [],
  more: { final?: boolean; meta?: Json; messageId?: string } = {},
): Json {
  messages += 1;
  return {
    kind: 'status-update',
    taskId: 't1',
    contextId: 'c1',
    final: more.final ?? false,
    status: {
      state,
      timestamp: new Date().toISOString(),
      ...(parts.length > 0 ? { message: { kind: 'message', role: 'agent', messageId: more.messageId ?? `m${messages}`, parts } } : {}),
    },
    metadata: more.meta ?? { [URI]: { kind } },
  };
}
export const text = (words: string): Json => ({ kind: 'text', text: words });
export const data = (value: Json): Json => ({ kind: 'data', data: value });
export const task = (state: string, more: Json = {}): Json => ({ kind: 'task', id: 't1', contextId: 'c1', status: { state }, ...more });
export const over = (state = 'completed'): Json => status(state, 'STATE_CHANGE', [], { final: true });
/** A call of the RFC. */
export const call = (state: string, more: Json = {}): Json =>
  status('working', 'TOOL_CALL_UPDATE', [
    data({ tool_call_id: 'k1', status: state, tool_name: 'write_file', input_parameters: { keptAs_is: 1 }, ...more }),
  ]);
export const asks: Json = {
  confirmation_request: {
    options: [
      { id: 'proceed_once', name: 'Allow once' },
      { id: 'cancel', name: 'Reject' },
    ],
    file_edit_details: { file_name: 'a.txt', file_path: '/w/a.txt', new_content: 'one\r\ntwo\r\n' },
  },
};
/** A call of the Gemini CLI server. */
export const shipped = (state: string, more: Json = {}, id = 'g1'): Json =>
  status(
    'working',
    '',
    [
      data({
        request: { callId: id, name: 'run_shell_command', args: { command: 'ls' }, ...(more.request as Json) },
        status: state,
        ...omit(more),
      }),
    ],
    {
      meta: { coderAgent: { kind: 'tool-call-update' } },
    },
  );
function omit({ request: _, ...rest }: Json): Json {
  return rest;
}

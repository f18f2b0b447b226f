import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A chat server that does what a test tells it: every request is kept, and answered by the handler of its path. */
export class FakeChat {
  readonly asked: Asked[] = [];
  readonly #server: http.Server;
  readonly #sockets = new Set<Socket>();
  readonly #routes: Readonly<Record<string, Route>>;
  url = '';

  constructor(routes: Readonly<Record<string, Route>>) {
    this.#routes = routes;
    this.#server = http.createServer((request, response) => void this.#take(request, response));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** The bodies of the requests to a path. */
  bodies(path: string): readonly Body[] {
    return this.asked.filter((one) => one.path === path).map((one) => one.body);
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const path = new URL(request.url ?? '/', 'http://x').pathname;
    const asked = { path, method: request.method ?? '', headers: request.headers, body: (text === '' ? {} : JSON.parse(text)) as Body };
    this.asked.push(asked);
    const known = Object.keys(this.#routes).find((route) => (route.endsWith('*') ? path.startsWith(route.slice(0, -1)) : route === path));
    const route = known === undefined ? undefined : this.#routes[known];
    if (!route) {
      response.writeHead(404, { 'content-type': 'text/plain' });
      response.end('no such place');
      return;
    }
    await route(new Reply(response), asked, this.bodies(path).length);
  }
}

export interface Asked {
  readonly path: string;
  readonly method: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Body;
}
export interface Body {
  readonly id: string;
  readonly sessionId: string;
  readonly trigger: string;
  readonly messageId?: string;
  readonly messages: readonly Message[];
  readonly message?: Message;
  readonly tools?: Readonly<Record<string, { readonly description: string; readonly parameters: object }>>;
  readonly session_id?: string;
  readonly tool_call_id?: string;
  readonly result?: unknown;
  readonly is_error?: boolean;
  readonly [field: string]: unknown;
}
export interface Message {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly { readonly type: string; readonly [field: string]: unknown }[];
}
/** `n` counts the requests of this path, from 1. */
export type Route = (reply: Reply, asked: Asked, n: number) => void | Promise<void>;
export type WireChunk = { readonly type: string; readonly [field: string]: unknown };

/** The answer to one request, as the test lets it happen. */
export class Reply {
  readonly response: ServerResponse;
  readonly closed: Promise<unknown>;
  gone = false;

  constructor(response: ServerResponse) {
    this.response = response;
    this.closed = new Promise((resolve) =>
      response.once('close', () => {
        this.gone = true;
        resolve(undefined);
      }),
    );
  }

  open(headers: Readonly<Record<string, string>> = {}): this {
    this.response.writeHead(200, { 'content-type': 'text/event-stream', 'x-vercel-ai-ui-message-stream': 'v1', ...headers });
    this.response.flushHeaders();
    return this;
  }

  send(...chunks: readonly WireChunk[]): this {
    for (const chunk of chunks) this.raw(`data: ${JSON.stringify(chunk)}\n\n`);
    return this;
  }

  raw(text: string | Buffer): this {
    if (!this.gone) this.response.write(text);
    return this;
  }

  /** The usual end. */
  done(): void {
    this.raw('data: [DONE]\n\n');
    this.end();
  }

  end(): void {
    this.response.end();
  }

  /** Breaks the connection off, after what was written has gone out. */
  cut(): void {
    setImmediate(() => this.response.destroy());
  }

  json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.response.writeHead(status, { 'content-type': 'application/json', ...headers });
    this.response.end(JSON.stringify(value));
  }

  /** A whole response. */
  all(...chunks: readonly WireChunk[]): void {
    this.open()
      .send(...chunks)
      .done();
  }
}

// Chunks that come in every test.
export const start = (messageId?: string): WireChunk => ({ type: 'start', ...(messageId === undefined ? {} : { messageId }) });
export const step: WireChunk = { type: 'start-step' };
export const stepEnd: WireChunk = { type: 'finish-step' };
export const finish = (finishReason?: string): WireChunk => ({ type: 'finish', ...(finishReason === undefined ? {} : { finishReason }) });
export const said = (text: string, id = 't'): readonly WireChunk[] => [
  { type: 'text-start', id },
  { type: 'text-delta', id, delta: text },
  { type: 'text-end', id },
];
export const called = (toolCallId: string, toolName: string, input: unknown = {}, more: object = {}): WireChunk => ({
  type: 'tool-input-available',
  toolCallId,
  toolName,
  input,
  ...more,
});
export const output = (toolCallId: string, value: unknown, more: object = {}): WireChunk => ({
  type: 'tool-output-available',
  toolCallId,
  output: value,
  ...more,
});

import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseJson } from '../../base/json.ts';
import { messageOf } from '../../base/log.ts';
import { HEAD_LIMITS, isLocalHostHeader, isSameSecret, UnauthenticatedConnections } from '../../transport/httpAccess.ts';

/* Shared by the agent's HTTP servers: which requests are accepted, and how large they may be. */

export interface HttpServerOptions {
  /** 0 takes any that is free. */
  readonly port: number;
  /** Every request needs it as a bearer token: other accounts of this computer reach the port, too. */
  readonly token?: string;
  /** Origins of web pages that may talk to the server. Without them only programs may. */
  readonly origins: readonly string[];
  /** Requests that need no token. */
  readonly isPublic?: (request: IncomingMessage, path: string) => boolean;
  readonly allowedHeaders?: readonly string[];
}
export interface HttpServer {
  /** Without a path. */
  readonly origin: string;
  /** Takes no more requests, waits for what is served to end, and closes what is left. */
  end(settle: () => Promise<unknown>): Promise<void>;
}
/** A server that runs, to the one who started it. */
export interface ServerHandle {
  readonly url: string;
  end(): Promise<void>;
}
/** A refusal of one request. */
export class HttpError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const BODY_LIMIT = 64 * 1024 * 1024;
/** Milliseconds for all of a request. */
const REQUEST_WITHIN = 120_000;
const MOST_CONNECTIONS = 256;

/** Listens on the loopback interface, and passes on the requests that are authorized. */
export async function listenHttp(
  options: HttpServerOptions,
  handle: (request: IncomingMessage, response: ServerResponse, path: string) => Promise<void> | void,
): Promise<HttpServer> {
  const unauthenticated = new UnauthenticatedConnections();
  /** The path of a request that may go on; undefined when it is answered already. */
  const admit = (request: IncomingMessage, response: ServerResponse): string | undefined => {
    const { host = '', origin, authorization = '' } = request.headers;
    if (!isLocalHostHeader(host)) throw new HttpError(403, 'Unknown host name.');
    if (origin !== undefined && !options.origins.includes(origin)) throw new HttpError(403, `The origin ${origin} is not allowed.`);
    if (origin !== undefined) {
      response.setHeader('access-control-allow-origin', origin);
      response.setHeader('vary', 'origin');
    }
    const path = pathOf(request);
    if (request.method === 'OPTIONS') {
      preflight(response, options.allowedHeaders ?? []);
      return undefined;
    }
    if (
      options.token !== undefined &&
      !options.isPublic?.(request, path) &&
      !isSameSecret(withScheme(authorization), `Bearer ${options.token}`)
    ) {
      response.setHeader('www-authenticate', 'Bearer');
      throw new HttpError(401, 'The token is missing or wrong.');
    }
    if (options.token === undefined || !options.isPublic?.(request, path)) unauthenticated.remove(request.socket);
    return path;
  };

  const server = http.createServer({ ...HEAD_LIMITS, requestTimeout: REQUEST_WITHIN }, (request, response) => {
    Promise.resolve()
      .then(() => admit(request, response))
      .then((path) => (path === undefined ? undefined : handle(request, response, path)))
      .catch((error: unknown) => sendError(response, error));
  });
  unauthenticated.limit(server, MOST_CONNECTIONS);
  server.listen(options.port, '127.0.0.1');
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    end: async (settle) => {
      server.close();
      await settle();
      server.closeAllConnections();
    },
  };
}

/** Schemes are written in any case (RFC 9110 §11.1). */
function withScheme(authorization: string): string {
  return authorization.replace(/^bearer /i, 'Bearer ');
}

function pathOf(request: IncomingMessage): string {
  try {
    return new URL(request.url ?? '/', 'http://localhost').pathname;
  } catch {
    throw new HttpError(400, 'The address is malformed.');
  }
}

function preflight(response: ServerResponse, more: readonly string[]): void {
  response.writeHead(204, {
    'access-control-allow-methods': 'POST, GET',
    'access-control-allow-headers': ['content-type', 'authorization', 'user-agent', ...more].join(', '),
    'access-control-max-age': '600',
  });
  response.end();
}

/** The body of a request as text. Rejects with a refusal when it is too large. */
async function bodyText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_LIMIT) throw new HttpError(413, `The body is larger than ${BODY_LIMIT} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The body of a request as JSON. Rejects with a refusal when it is not JSON, or was not sent as JSON: a form of a web page could send it otherwise. */
export async function bodyJson(request: IncomingMessage): Promise<unknown> {
  if (!(request.headers['content-type'] ?? '').startsWith('application/json'))
    throw new HttpError(415, 'The body must be application/json.');
  const text = await bodyText(request);
  try {
    return parseJson(text);
  } catch {
    throw new HttpError(400, 'The body is not JSON.');
  }
}

export function sendJson(response: ServerResponse, status: number, value?: object): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, value ? { 'content-type': 'application/json' } : {});
  response.end(value ? JSON.stringify(value) : undefined);
}

function sendError(response: ServerResponse, error: unknown): void {
  // The rest of a body that is too large is not read.
  if (error instanceof HttpError && error.status === 413) response.setHeader('connection', 'close');
  sendJson(response, error instanceof HttpError ? error.status : 500, { error: messageOf(error) });
}

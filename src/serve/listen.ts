import { lstatSync, rmSync } from 'node:fs';
import http, { type IncomingMessage } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { readJson } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { LinkAnswer } from '../base/outcomes.ts';
import { HEAD_LIMITS, isLocalHostHeader, isSameSecret, UnauthenticatedConnections } from '../transport/httpAccess.ts';
import type { Link, LinkEvents } from '../transport/link.ts';
import { rpcLink } from '../transport/rpcLink.ts';
import { acceptedWebSocket, LONGEST_MESSAGE } from '../transport/webSocket.ts';
import type { ClientConnection } from './channels.ts';
import { type AgentHost, RequestError } from './host.ts';

/** Each session that a window of Parley shows has one. */
const MOST_CONNECTIONS = 512;
/** Why all connections are closed, as a code of the WebSocket protocol (RFC 6455 §7.4). */
const GOING_AWAY = 1001;
/** JSON-RPC's error code for an internal error. */
const INTERNAL_ERROR = -32603;
/** Its codes for what is no JSON, and for what is JSON but no message. */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
/** What somebody who opens the address in a browser reads. */
const NO_PAGE = `This is an agent host of Parley. It has no pages: clients such as VS Code's own chat connect to it (docs/servers.md).\n`;
const WRONG_TOKEN =
  'this is not the token of this host. It prints its token when it starts, and VS Code gets it by the command "Parley: Connect VS Code\'s Chat"';
const NO_TOKEN =
  'the token of this host is missing. It prints it when it starts: it belongs behind the address as ?tkn=, or into the header Authorization behind "Bearer "';
/** Bytes of answers that a client has not read yet. */
const MOST_UNREAD = 64 * 1024;

export type ListenAddress =
  | { readonly kind: 'port'; readonly host: string; readonly port: number }
  | { readonly kind: 'socket'; readonly path: string };
export interface Listening {
  readonly place: ListenAddress;
  /** Notifies the clients and accepts no more. */
  close(): Promise<void>;
}

/** Serves the host over WebSockets. Requires the token and rejects web pages, except the editor's own, which their origin identifies. */
export async function listen(host: AgentHost, place: ListenAddress, token: string, log: Log): Promise<Listening> {
  const unauthenticated = new UnauthenticatedConnections();
  const limits = { ...HEAD_LIMITS, requestTimeout: HEAD_LIMITS.headersTimeout };
  const server = http.createServer(limits, (_request, response) => {
    response.writeHead(426, { 'content-type': 'text/plain', connection: 'close' });
    response.end(NO_PAGE);
  });
  unauthenticated.limit(server, MOST_CONNECTIONS);
  const sockets = new WebSocketServer({ noServer: true, maxPayload: LONGEST_MESSAGE, perMessageDeflate: false });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    const why = refusal(request, place, token);
    if (why === undefined) {
      unauthenticated.remove(socket);
      sockets.handleUpgrade(request, socket, head, (one) => serve(host, one, log));
    } else {
      log.warn(`A connection was refused: ${why}`);
      refuse(socket, '403 Forbidden', why);
    }
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable) socket.destroy();
    else if (error.code === 'HPE_HEADER_OVERFLOW')
      refuse(socket, '431 Request Header Fields Too Large', 'the token or another header is too long');
    else refuse(socket, '400 Bad Request', 'this is no request of HTTP, or came too slowly');
  });
  if (place.kind === 'socket') await removeIfLeft(place.path);
  if (place.kind === 'port') server.listen(place.port, place.host);
  else server.listen({ path: place.path, readableAll: false, writableAll: false });
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
  });
  const port = place.kind === 'port' ? (server.address() as AddressInfo).port : 0;
  return {
    place: place.kind === 'port' ? { ...place, port } : place,
    close: async () => {
      for (const one of sockets.clients) one.close(GOING_AWAY, 'The host ends.');
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeIdleConnections();
      setTimeout(() => {
        for (const one of sockets.clients) one.terminate();
        server.closeAllConnections();
      }, 500).unref();
      await closed;
      if (place.kind === 'socket' && process.platform !== 'win32') rmSync(place.path, { force: true });
    },
  };
}

/** Answers in words, and ends the connection. */
function refuse(socket: Duplex, status: string, why: string): void {
  const words = `Refused: ${why}\n`;
  const head = [`HTTP/1.1 ${status}`, 'Connection: close', 'Content-Type: text/plain', `Content-Length: ${Buffer.byteLength(words)}`];
  socket.end(`${head.join('\r\n')}\r\n\r\n${words}`);
}

/** Removes the socket of a host that was killed: nobody listens there any more. */
async function removeIfLeft(file: string): Promise<void> {
  if (process.platform === 'win32' || !lstatSync(file, { throwIfNoEntry: false })?.isSocket()) return;
  const socket = net.connect(file);
  const isLeft = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(false));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
  socket.destroy();
  if (isLeft) rmSync(file, { force: true });
}

/** Returns the reason to refuse a connection, as its client is told, or undefined. */
function refusal({ headers, url = '/' }: IncomingMessage, place: ListenAddress, token: string): string | undefined {
  const { origin, host = '' } = headers;
  if (origin !== undefined && !/^vscode-(?:webview|file):\/\//.test(origin))
    return `the host serves no web pages, and this is the origin ${origin.slice(0, 200)}`;
  if (place.kind === 'port' && isLoopback(place.host) && !isLocalHostHeader(host))
    return 'the host is reached by the names of this computer only';
  const query = URL.canParse(url, 'http://localhost') ? new URL(url, 'http://localhost').searchParams : new URLSearchParams();
  const given = query.get('tkn') ?? headers.authorization?.replace(/^Bearer /, '') ?? '';
  if (isSameSecret(given, token)) return undefined;
  return given === '' ? NO_TOKEN : WRONG_TOKEN;
}

export function isLoopback(host: string): boolean {
  return /^(?:127(?:\.\d{1,3}){3}|localhost|::1)$/i.test(host);
}

/** Serves one client; handles its messages one after the other. */
function serve(host: AgentHost, socket: WebSocket, log: Log): void {
  const client = new SocketClient();
  const connection = host.connect(client);
  let last: Promise<unknown> = Promise.resolve();
  const events: LinkEvents = {
    message: (method, params) => {
      last = last.then(() => connection.notified(method, params));
    },
    asked: (id, method, params) => {
      last = last
        .then(() => connection.asked(method, params))
        .then(
          (result) => client.answer(id, { result }),
          (error: unknown) => client.answer(id, { error: refusalOf(error, log) }),
        );
    },
    withdrawn: () => {},
    junk: (text) => {
      log.warn(`A client sent something that is no message: ${text.slice(0, 200)}`);
      // One that does not read is told nothing more.
      if (socket.bufferedAmount < MOST_UNREAD) socket.send(junkAnswer(text), () => {});
    },
    closed: () => connection.closed(),
  };
  client.open(rpcLink(acceptedWebSocket(socket), events, { log }));
}

/** It is unknown whose request it was. */
function junkAnswer(text: string): string {
  const error =
    readJson(text) === undefined
      ? { code: PARSE_ERROR, message: 'This is not JSON.' }
      : { code: INVALID_REQUEST, message: 'This is no message of JSON-RPC.' };
  return JSON.stringify({ jsonrpc: '2.0', id: null, error });
}

/** A client behind its link. The host knows the client before the link is open, because a link delivers what has arrived as soon as it is made. */
class SocketClient implements ClientConnection {
  #link: Link | undefined;

  open(link: Link): void {
    this.#link = link;
  }
  notify(method: string, params: object): void {
    this.#link?.notify(method, params);
  }
  answer(id: string, answer: LinkAnswer): void {
    this.#link?.answer(id, answer);
  }
}

function refusalOf(error: unknown, log: Log): { readonly code: number; readonly message: string; readonly data?: unknown } {
  if (!(error instanceof RequestError)) {
    log.error('A request of a client failed', error);
    return { code: INTERNAL_ERROR, message: 'Internal error' };
  }
  const { code, message, data } = error;
  return { code, message, ...(data ? { data } : {}) };
}

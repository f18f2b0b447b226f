import net from 'node:net';
import path from 'node:path';
import { type ClientOptions, WebSocket } from 'ws';
import { Once } from '../base/emitter.ts';
import { t } from '../base/l10n.ts';
import { type Disposable, toDisposable } from '../base/lifetime.ts';
import { messageOf } from '../base/log.ts';
import type { Channel, Closed } from './channel.ts';
import { unreachable, whyFailed } from './link.ts';
import { Pace } from './pace.ts';

/** Largest message accepted, in bytes. */
export const LONGEST_MESSAGE = 32 * 1024 * 1024;
/** Most bytes buffered for a peer that does not read. */
const MOST_WAITING = 32 * 1024 * 1024;
/** Milliseconds in which a server must accept the connection. */
const CONNECT_WITHIN = 10_000;
/** The code with which we close a slow connection (RFC 6455 §7.4). */
const TOO_SLOW = 1013;

/** Opens a WebSocket that carries one message per line. A failed connection closes the channel. `name` is shown to the user. */
export function connectWebSocket(url: string, headers: Readonly<Record<string, string>>, name: string): Channel {
  return new SocketChannel(new WebSocket(url, optionsOf(headers)), name);
}

/** The same over a socket of the file system, or a pipe of Windows. */
export function connectLocalSocket(place: string, headers: Readonly<Record<string, string>>): Channel {
  const connected = {
    ...optionsOf(headers),
    createConnection: (() => net.connect(place)) as NonNullable<ClientOptions['createConnection']>,
  };
  return new SocketChannel(new WebSocket('ws://localhost/', connected), place);
}

function optionsOf(headers: Readonly<Record<string, string>>): ClientOptions {
  return { headers: { ...headers }, maxPayload: LONGEST_MESSAGE, perMessageDeflate: false, handshakeTimeout: CONNECT_WITHIN };
}

/** A connection that a client has opened. */
export function acceptedWebSocket(socket: WebSocket): Channel {
  return new SocketChannel(socket, 'The client');
}

class SocketChannel implements Channel {
  readonly #socket: WebSocket;
  readonly #closed = new Once<Closed>();
  readonly #listeners = new Set<(line: string) => void>();
  #unsent: string[] = [];
  #why: string | undefined;

  constructor(socket: WebSocket, name: string) {
    this.#socket = socket;
    socket.on('open', () => {
      for (const line of this.#unsent) socket.send(line);
      this.#unsent = [];
    });
    const pace = new Pace(socket);
    socket.on('message', (data, isBinary) => {
      pace.read(() => {
        // Messages are texts: bytes count as none.
        const line = isBinary ? '' : String(data);
        for (const listener of this.#listeners) listener(line);
      });
    });
    socket.on('unexpected-response', (_request, { statusCode = 0 }) => {
      const isRefusal = statusCode === 401 || statusCode === 403;
      this.#why = isRefusal ? `${t('{0} did not accept the key.', name)} HTTP ${statusCode}` : unreachable(name, `HTTP ${statusCode}`);
      socket.terminate();
    });
    socket.on('error', (error) => {
      this.#why ??=
        /^wss?:/.test(socket.url) && !path.isAbsolute(name) ? whyFailed(socket.url, error).message : unreachable(name, messageOf(error));
    });
    socket.on('close', (code, reason) => {
      pace.end();
      const text = String(reason) || this.#why || t('The connection to {0} was lost ({1}).', name, code);
      this.#closed.fire({ reason: text, failure: 'broken', code, stderr: '' });
    });
  }

  async send(line: string): Promise<void> {
    const { readyState, bufferedAmount } = this.#socket;
    if (readyState === WebSocket.CONNECTING) return void this.#unsent.push(line);
    // Callers that wait for an answer learn of the end through `onClosed`.
    if (readyState !== WebSocket.OPEN) return;
    if (bufferedAmount > MOST_WAITING) return this.#socket.close(TOO_SLOW, 'You do not read.');
    this.#socket.send(line);
  }

  onMessage(listener: (line: string) => void): Disposable {
    this.#listeners.add(listener);
    return toDisposable(() => this.#listeners.delete(listener));
  }

  onClosed(listener: (closed: Closed) => void): Disposable {
    return this.#closed.listen(listener);
  }

  dispose(): void {
    this.#socket.close();
  }
}

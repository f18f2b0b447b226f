import { createHash, timingSafeEqual } from 'node:crypto';
import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';

/** Takes as long for a wrong secret as for a right one, whatever its length. */
export function isSameSecret(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}

/** A `Host` header that names this computer to itself: a page in a browser reaches a local port by a name of its own. */
export function isLocalHostHeader(host: string): boolean {
  return /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/i.test(host);
}

/** Connections that have not shown the token yet; the oldest goes when one more comes. */
const MOST_UNAUTHENTICATED = 48;
/**
 * Milliseconds for the head of a request, looked at each second. A caller of ours sends it with the connection; others must not keep the place of one.
 */
export const HEAD_LIMITS = { headersTimeout: 5_000, connectionsCheckingInterval: 1_000 } as const;

/**
 * The connections that have not shown the token yet. Only few of them are kept, and they are counted apart, so that no program of this computer takes
 * the places of callers that know the token.
 */
export class UnauthenticatedConnections {
  readonly #connections = new Set<Duplex>();

  /** `mostKnown` connections of known callers, at most. */
  limit(server: Server, mostKnown: number): void {
    server.maxConnections = mostKnown + MOST_UNAUTHENTICATED + 1;
    server.on('connection', (socket: Duplex) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
      if (this.#connections.size <= MOST_UNAUTHENTICATED) return;
      const [oldest = socket] = this.#connections;
      this.#connections.delete(oldest);
      oldest.destroy();
    });
  }

  /** The connection has shown the token. */
  remove(connection: Duplex): void {
    this.#connections.delete(connection);
  }
}

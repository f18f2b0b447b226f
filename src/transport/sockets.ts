import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';

export interface AgentOptions {
  /** How many sockets at most per host; without it as many as are needed. */
  readonly maxSockets?: number;
  /** Idle sockets are never closed from this side: there are servers that tie a running turn to the socket that started it. */
  readonly holdIdle?: true;
}

/** Sooner than any server's usual keep-alive time, so that no request meets a socket that is just being closed. */
const IDLE = 2_000;
const TCP_KEEP_ALIVE = 30_000;

/** Sockets of one conversation, shared with nobody. Idle ones do not keep the process alive. */
export function socketsFor(options: AgentOptions): { readonly plain: http.Agent; readonly secure: https.Agent } {
  const shared = {
    keepAlive: true,
    keepAliveMsecs: TCP_KEEP_ALIVE,
    ...(options.maxSockets === undefined ? {} : { maxSockets: options.maxSockets }),
  };
  const plain = new http.Agent(shared);
  const secure = new https.Agent(shared);
  for (const agent of [plain, secure]) {
    // Not in the types: the hooks of an agent are methods to be overridden.
    Object.assign(agent, { keepSocketAlive: (socket: Socket) => keep(socket, options.holdIdle === true) });
  }
  return { plain, secure };
}

function keep(socket: Socket, hold: boolean): boolean {
  socket.setKeepAlive(true, TCP_KEEP_ALIVE);
  socket.setTimeout(hold ? 0 : IDLE);
  socket.unref();
  return true;
}

import http, { type ClientRequest } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Disposable } from '../base/lifetime.ts';

export interface AgentOptions {
  /** How many sockets at most per host; without it as many as are needed. */
  readonly maxSockets?: number;
  /** Idle sockets are never closed from this side: there are servers that tie a running turn to the socket that started it. */
  readonly holdIdle?: true;
}

/** Sooner than any server's usual keep-alive time, so that no request meets a socket that is just being closed. */
const IDLE = 2_000;
const TCP_KEEP_ALIVE = 30_000;

/** Sockets of one conversation only. Idle ones do not keep the process alive. */
export class Sockets implements Disposable {
  readonly #own: Readonly<Record<Scheme, http.Agent>>;
  /** The editor's agents that replace ours. */
  readonly #taken: Partial<Record<Scheme, http.Agent>> = {};
  readonly #keep: (socket: Socket) => boolean;

  constructor({ maxSockets, holdIdle }: AgentOptions) {
    this.#keep = (socket) => keep(socket, holdIdle === true);
    const shared = { keepAlive: true, keepAliveMsecs: TCP_KEEP_ALIVE, ...(maxSockets === undefined ? {} : { maxSockets }) };
    this.#own = { plain: new http.Agent(shared), secure: new https.Agent(shared) };
    // Not in the types: the hooks of an agent are methods to be overridden.
    for (const agent of Object.values(this.#own)) Object.assign(agent, { keepSocketAlive: this.#keep });
  }

  /** The agent for the next request. */
  agent(scheme: Scheme): http.Agent {
    return this.#taken[scheme] ?? this.#own[scheme];
  }

  /**
   * Call this for every request as soon as it is made. For hosts other than this machine the editor sends it through an agent of its own making,
   * one for each request: it knows proxies and certificates, but closes the socket after the answer, or leaves it to an agent all extensions
   * share, which closes it after five seconds. That agent is taken over: it keeps its sockets as ours would, or leaves direct ones to ours, and
   * the editor lets it through when it comes with the next request.
   */
  sent(request: ClientRequest, scheme: Scheme): void {
    const { agent } = request as ClientRequest & { readonly agent?: http.Agent & { readonly opts?: object } };
    if (!agent?.opts) return;
    request.once('socket', (socket) => remember(socket, request));
    if (agent === this.#taken[scheme]) return;
    Object.assign(agent.opts, { originalAgent: this.#own[scheme], keepAlive: true });
    Object.assign(agent, { keepAlive: true, keepSocketAlive: this.#keep, reuseSocket: reuse });
    this.#taken[scheme] = agent;
  }

  /**
   * Ends every connection so that its server hears of it: a socket that is destroyed with something unread is reset, which a server that waits
   * for its end does not notice. Destroyed after `within` milliseconds at the latest; true when all servers had closed their side by then.
   */
  async hangUp(within: number): Promise<boolean> {
    const used = this.#agents.flatMap((agent) => Object.values(agent.sockets ?? {}).flatMap((sockets) => sockets ?? []));
    const closed = used.map((socket) => hangUp(socket, within));
    for (const agent of this.#agents)
      for (const idle of Object.values(agent.freeSockets ?? {})) for (const one of idle ?? []) one.destroy();
    return (await Promise.all(closed)).every(Boolean);
  }

  get #agents(): readonly http.Agent[] {
    return [...Object.values(this.#own), ...Object.values(this.#taken)];
  }

  dispose(): void {
    for (const agent of this.#agents) agent.destroy();
  }
}

type Scheme = 'plain' | 'secure';

function keep(socket: Socket, hold: boolean): boolean {
  socket.setKeepAlive(true, TCP_KEEP_ALIVE);
  socket.setTimeout(hold ? 0 : IDLE);
  socket.unref();
  return true;
}

function hangUp(socket: Socket, within: number): Promise<boolean> {
  return new Promise((resolve) => {
    const late = setTimeout(() => {
      resolve(false);
      socket.destroy();
    }, within);
    socket.once('close', () => {
      clearTimeout(late);
      resolve(true);
    });
    if (socket.connecting) socket.destroy();
    else socket.end();
  });
}

/** Sockets that end at a proxy which has to be told the whole address of every request, with what it wants to know of us. */
const forwarding = new WeakMap<object, { readonly authorization: string | undefined }>();

function remember(socket: object, request: ClientRequest): void {
  if (!/^http:/i.test(request.path)) return;
  const authorization = request.getHeader('proxy-authorization');
  forwarding.set(socket, { authorization: typeof authorization === 'string' ? authorization : undefined });
}

function reuse(this: http.Agent, socket: Socket, request: ClientRequest): void {
  http.Agent.prototype.reuseSocket.call(this, socket, request);
  const proxy = forwarding.get(socket);
  if (!proxy || request.headersSent) return;
  request.path = `http://${String(request.getHeader('host'))}${request.path}`;
  if (proxy.authorization !== undefined) request.setHeader('proxy-authorization', proxy.authorization);
}

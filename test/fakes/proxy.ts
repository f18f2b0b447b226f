import http, { type IncomingMessage } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** A proxy on loopback that reaches one port whatever host it is asked for; each connection to it has one connection behind it. */
export interface ForwardProxy {
  readonly url: string;
  /** What it was asked for, in order: `POST http://host/path` or `CONNECT host:port`. */
  readonly asked: readonly string[];
  close(): void;
}

export async function startProxy(portOf: (asked: string) => number): Promise<ForwardProxy> {
  const asked: string[] = [];
  const behind = new WeakMap<object, http.Agent>();
  const server = http.createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const { method, url = '', socket } = request;
    asked.push(`${method} ${url}`);
    // As real ones do: a request that names no host is none for a proxy.
    if (!URL.canParse(url)) return void response.writeHead(400).end();
    const agent = behind.get(socket) ?? new http.Agent({ keepAlive: true, maxSockets: 1 });
    if (!behind.has(socket)) socket.once('close', () => agent.destroy());
    behind.set(socket, agent);
    const { pathname, search } = new URL(url);
    const { 'proxy-connection': _, ...headers } = request.headers;
    const passed = http.request({ host: '127.0.0.1', port: portOf(url), path: pathname + search, method, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  server.on('connect', (request: IncomingMessage, client: Duplex) => {
    asked.push(`CONNECT ${request.url}`);
    const target = net.connect(portOf(request.url ?? ''), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.pipe(client).pipe(target);
    });
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

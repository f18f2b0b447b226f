import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { HttpClient, type HttpClientOptions, retryAfter } from '../../src/transport/http.ts';
import { HttpFailure } from '../../src/transport/link.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function listen(t: TestContext, server: net.Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

async function serve(t: TestContext, handler: Handler, options?: HttpClientOptions) {
  const server = http.createServer(handler);
  const url = `http://127.0.0.1:${await listen(t, server)}`;
  const client = new HttpClient(options);
  t.after(async () => {
    client.dispose();
    while (client.open > 0) await new Promise((resolve) => setImmediate(resolve));
  });
  return { url, client, server };
}

const kind = (wanted: HttpFailure['kind']) => (error: unknown) => {
  assert.ok(error instanceof HttpFailure, String(error));
  assert.equal(error.kind, wanted, error.message);
  return true;
};

test('a body is sent whole and the answer comes with status, headers and text', async (t) => {
  const { url, client } = await serve(t, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.writeHead(201, { 'content-type': 'Text/Plain; charset=utf-8' });
      response.end(
        `${request.method} ${request.headers['x-key']} ${Buffer.concat(chunks).toString()} ${request.headers['accept-encoding']}`,
      );
    });
  });
  const answer = await client.request({ method: 'POST', url, headers: { 'x-key': 'k' }, body: '{"é":1}' });
  assert.deepEqual([answer.status, answer.ok, answer.type], [201, true, 'text/plain']);
  assert.equal(await answer.text(), 'POST k {"é":1} identity');
});

test('a stream is handed on as it comes, and a silent one is not ended', async (t) => {
  const waiting: ServerResponse[] = [];
  const { url, client } = await serve(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('one');
    waiting.push(response);
  });
  const answer = await client.request({ method: 'GET', url, headersWithin: 1_000 });
  const got: string[] = [];
  let first: () => void = () => {};
  const arrived = new Promise<void>((resolve) => {
    first = resolve;
  });
  const read = answer.read((chunk) => {
    got.push(chunk.toString());
    first();
  });
  await arrived;
  // Longer than the limit on headers: the body has none.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  waiting[0]?.end('two');
  await read;
  assert.equal(got.join(''), 'onetwo');
  assert.equal(client.open, 0);
});

test('a body that breaks off is told from one that ends', async (t) => {
  const { url, client } = await serve(t, (_, response) => {
    response.writeHead(200);
    response.write('part', () => response.destroy());
  });
  const answer = await client.request({ method: 'GET', url });
  const got: string[] = [];
  await assert.rejects(
    answer.read((chunk) => got.push(chunk.toString())),
    kind('cut'),
  );
  assert.deepEqual(got, ['part']);
});

test('aborting before headers and while reading rejects as aborted and closes the socket', async (t) => {
  let closed = 0;
  const { url, client, server } = await serve(t, (request, response) => {
    if (request.url === '/stream') response.write('x');
  });
  server.on('connection', (socket: Socket) => socket.on('close', () => closed++));
  const early = new AbortController();
  const pending = client.request({ method: 'GET', url, signal: early.signal });
  const begun = once(server, 'request');
  await begun;
  early.abort();
  await assert.rejects(pending, kind('aborted'));

  const late = new AbortController();
  const answer = await client.request({ method: 'GET', url: `${url}/stream`, signal: late.signal });
  const read = answer.read(() => late.abort());
  await assert.rejects(read, kind('aborted'));
  while (closed < 2) await new Promise((resolve) => setImmediate(resolve));
  await assert.rejects(client.request({ method: 'GET', url, signal: late.signal }), kind('aborted'));
});

test('a server that takes the connection and never answers runs into the limit on headers', async (t) => {
  const { url, client } = await serve(t, () => {});
  await assert.rejects(client.request({ method: 'GET', url, headersWithin: 30 }), (error) => {
    assert.match((error as Error).message, /did not answer within/);
    return kind('timeout')(error);
  });
});

test('failures to connect say what to look at', async (t) => {
  const client = new HttpClient({ connectWithin: 50 });
  t.after(() => client.dispose());
  const probe = net.createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  await assert.rejects(client.request({ method: 'GET', url: `http://127.0.0.1:${port}/?key=secret` }), (error) => {
    assert.doesNotMatch((error as Error).message, /secret/);
    return kind('refused')(error);
  });
  await assert.rejects(client.request({ method: 'GET', url: 'ftp://127.0.0.1/' }), kind('address'));
  await assert.rejects(client.request({ method: 'GET', url: 'nonsense' }), kind('address'));
});

test('an untrusted certificate is said to be the reason', async (t) => {
  const read = (name: string) => readFileSync(`test/transport/fixtures/localhost.${name}`);
  const server = https.createServer({ key: read('key'), cert: read('crt') }, (_, response) => response.end('secure'));
  const port = await listen(t, server);
  const client = new HttpClient();
  t.after(() => client.dispose());
  await assert.rejects(client.request({ method: 'GET', url: `https://127.0.0.1:${port}` }), kind('certificate'));
});

test('an error body is cut at its bound', async (t) => {
  const { url, client } = await serve(t, (_, response) => {
    response.writeHead(500);
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(16_384)));
    };
    response.on('drain', more);
    more();
  });
  const answer = await client.request({ method: 'GET', url });
  assert.equal((await answer.text()).length, 65_536);
  while (client.open > 0) await new Promise((resolve) => setImmediate(resolve));
});

test('JSON is parsed up to its bound and refused beyond', async (t) => {
  const { url, client } = await serve(t, (_, response) => response.end(JSON.stringify({ a: 'x'.repeat(100) })));
  assert.deepEqual(await (await client.request({ method: 'GET', url })).json(1000), { a: 'x'.repeat(100) });
  await assert.rejects((await client.request({ method: 'GET', url })).json(50), kind('tooLong'));
});

test('redirects are followed within the origin and carry nothing to another one', async (t) => {
  const seen: string[] = [];
  const other = await serve(t, (request, response) => {
    seen.push(`other ${request.headers.authorization}`);
    response.end();
  });
  const { url, client } = await serve(t, (request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    const to: Record<string, [number, string]> = {
      '/away': [307, `${other.url}/x`],
      '/near': [308, '/here'],
      '/see': [303, '/here'],
      '/round': [307, '/round'],
    };
    const [status, location] = to[request.url ?? ''] ?? [200, ''];
    response.writeHead(status, location ? { location } : {});
    response.end('body');
  });
  const post = (path: string) => client.request({ method: 'POST', url: url + path, headers: { authorization: 'secret' }, body: '1' });
  assert.equal(await (await post('/near')).text(), 'body');
  await assert.rejects(post('/away'), (error) => {
    assert.ok((error as Error).message.includes(`${other.url}/x`));
    return kind('redirect')(error);
  });
  await assert.rejects(post('/see'), (error) => {
    // No other address would help.
    assert.match((error as Error).message, /leads to .*\/here \(303\)/);
    return kind('redirect')(error);
  });
  await assert.rejects(post('/round'), kind('redirect'));
  assert.deepEqual(seen.slice(0, 3), ['POST /near secret', 'POST /here secret', 'POST /away secret']);
  assert.ok(!seen.some((line) => line.startsWith('other')));
});

test('one turn connection carries request after request and is not closed from this side', async (t) => {
  const ports = new Set<number | undefined>();
  const { url, client, server } = await serve(
    t,
    (request, response) => {
      ports.add(request.socket.remotePort);
      response.end('ok');
    },
    { maxSockets: 1, holdIdle: true },
  );
  // The server announces that it gives up soon; a stock client would close the socket first.
  server.keepAliveTimeout = 0;
  for (let n = 0; n < 3; n++) {
    await (await client.request({ method: 'POST', url, body: '{}' })).text();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(ports.size, 1);
});

test('disposing ends what is under way', async (t) => {
  const { url, client } = await serve(t, (_, response) => void response.write('x'));
  const answer = await client.request({ method: 'GET', url });
  const read = answer.read(() => client.dispose());
  await assert.rejects(read, kind('aborted'));
  await assert.rejects(client.request({ method: 'GET', url }), kind('aborted'));
});

test('the request function is looked up at each call, as the editor replaces it', async (t) => {
  const { url, client } = await serve(t, (_, response) => response.end('ok'));
  const original = http.request;
  let calls = 0;
  t.mock.method(http, 'request', (...args: Parameters<typeof original>) => {
    calls++;
    return original(...args);
  });
  await (await client.request({ method: 'GET', url })).text();
  assert.equal(calls, 1);
});

test('an agent the editor puts in the place of ours keeps its socket as ours would', async (t) => {
  const ports = new Set<number | undefined>();
  const { url, client } = await serve(
    t,
    (request, response) => {
      ports.add(request.socket.remotePort);
      response.end('ok');
    },
    { maxSockets: 1, holdIdle: true },
  );
  const original = http.request;
  const theirs = new Set<unknown>();
  // As the editor does: one agent for each request, unless it knows the agent as its own. The stock one closes its socket after the answer.
  t.mock.method(http, 'request', (address: URL, options: http.RequestOptions) => {
    if (theirs.has(options.agent)) return original(address, options);
    const agent = Object.assign(new http.Agent({ keepAlive: false }), { opts: {} });
    theirs.add(agent);
    return original(address, { ...options, agent });
  });
  for (let n = 0; n < 3; n++) {
    await (await client.request({ method: 'POST', url, body: '{}' })).text();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.deepEqual([ports.size, theirs.size], [1, 1]);
});

test('retry-after is read in both forms', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  assert.equal(retryAfter({ 'retry-after': '7' }, now), 7000);
  assert.equal(retryAfter({ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, now), 30_000);
  assert.equal(retryAfter({ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, now), 0);
  assert.equal(retryAfter({ 'retry-after': '999999999' }, now), 3_600_000);
  assert.equal(retryAfter({ 'retry-after': 'soon' }, now), undefined);
  assert.equal(retryAfter({}, now), undefined);
});

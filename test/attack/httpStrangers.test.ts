import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import { silentLog } from '../../src/base/log.ts';
import { openWebhook } from '../../src/protocols/a2a/webhook.ts';
import { offerTools } from '../../src/protocols/offeredTools.ts';
import { listen } from '../../src/serve/listen.ts';
import { served } from '../agent/servers/aiSdkServed.ts';
import { hostFolder, hosting } from '../serve/hosting.ts';

/** The room of HTTP: programs that know no token hold as many connections as they can, and the owner still gets in. */

/** More than any door has places. */
const FLOOD = 640;
/** Connections of strangers that stay. */
const MOST = 64;

/** That many connections, one after the other, which send nothing, or the beginning of a request. */
async function flood(t: TestContext, port: number, begin: string): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  t.after(() => {
    for (const one of sockets) one.destroy();
  });
  for (let at = 0; at < FLOOD; at += 1) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    sockets.push(socket);
    await once(socket, 'connect');
    if (begin !== '') socket.write(begin);
  }
  return sockets;
}

interface Door {
  readonly port: number;
  /** What somebody who knows the token gets: the status of a request over a connection that is kept. */
  readonly ask: (agent: http.Agent) => Promise<number | undefined>;
}

function ask(url: string, headers: Readonly<Record<string, string>>, body: string): Door {
  const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
  return {
    port: Number(new URL(url).port),
    ask: async (agent) => {
      const call = http.request(url, { method: 'POST', headers: all, agent });
      call.end(body);
      const [response] = (await once(call, 'response')) as [http.IncomingMessage];
      response.resume();
      await once(response, 'end');
      return response.statusCode;
    },
  };
}

const doors: Readonly<Record<string, (t: TestContext) => Promise<Door>>> = {
  'the included agent': async (t) => {
    const { url } = await served(t, [], { token: 'a-token-of-the-test' });
    return ask(url, { authorization: 'Bearer a-token-of-the-test' }, '{}');
  },
  'the tools of the editor': async (t) => {
    const lent = await offerTools(
      [{ name: 'x', description: 'x', parameters: { type: 'object' }, run: async () => ({ ok: true, text: '' }) }],
      {
        log: silentLog,
        client: { name: 'parley', version: '1' },
      },
    );
    assert.ok(lent);
    t.after(() => lent.dispose());
    return ask(lent.http.url, lent.http.headers, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }));
  },
  'news of an A2A agent': async (t) => {
    const hook = await openWebhook(
      () => false,
      () => {},
    );
    t.after(() => hook.dispose());
    const { token } = hook.inMessage('0.3').pushNotificationConfig as { token: string };
    return ask(hook.url, { 'x-a2a-notification-token': token }, '{}');
  },
};

for (const [name, open] of Object.entries(doors)) {
  for (const begin of ['', 'POST / HTTP/1.1\r\nHost: x\r\n']) {
    test(`${name}: connections that ${begin === '' ? 'say nothing' : 'begin a request'} take no place from the owner`, async (t) => {
      const door = await open(t);
      const kept = new http.Agent({ keepAlive: true, maxSockets: 1 });
      t.after(() => kept.destroy());
      const status = await door.ask(kept);
      assert.ok(status !== undefined && status !== 401 && status !== 403, String(status));
      const sockets = await flood(t, door.port, begin);
      assert.equal(await door.ask(kept), status, 'over the connection that was there');
      const fresh = new http.Agent();
      t.after(() => fresh.destroy());
      assert.equal(await door.ask(fresh), status, 'over a new connection');
      const stay = sockets.filter((one) => !one.destroyed && !one.readableEnded).length;
      assert.ok(stay <= MOST, `${stay} strangers stay`);
    });
  }
}

test('the agent host: connections without the token take no place from the owner, and end none of the owner’s', async (t) => {
  const { host, end } = hosting(
    hostFolder(),
    () => 1000,
    () => crypto.randomUUID(),
  );
  t.after(end);
  const listening = await listen(host, { kind: 'port', host: '127.0.0.1', port: 0 }, 'a-token-of-the-test', silentLog);
  t.after(() => listening.close());
  assert.ok(listening.place.kind === 'port');
  const address = `ws://127.0.0.1:${listening.place.port}/?tkn=a-token-of-the-test`;
  const before = new WebSocket(address);
  await once(before, 'open');
  await flood(t, listening.place.port, '');
  const after = new WebSocket(address);
  await once(after, 'open');
  for (const one of [before, after]) {
    one.send('{"jsonrpc":"2.0","id":7,"method":"ping","params":{}}');
    const [data] = await once(one, 'message');
    assert.equal(JSON.parse(String(data)).id, 7);
    one.terminate();
  }
});

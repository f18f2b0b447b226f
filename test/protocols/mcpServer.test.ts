import assert from 'node:assert/strict';
import { request } from 'node:http';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { silentLog } from '../../src/base/log.ts';
import { type OfferedTools, offerTools } from '../../src/protocols/offeredTools.ts';
import type { Tool } from '../../src/protocols/ports.ts';

const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false };

function tool(run: Tool['run'], more: Partial<Tool> = {}): Tool {
  return { name: 'open_in_ide', description: 'Open a file', parameters, run, ...more };
}

async function door(t: TestContext, tools: readonly Tool[]): Promise<OfferedTools> {
  const lent = await offerTools(tools, { log: silentLog, client: { name: 'parley', version: '1' } });
  assert.ok(lent);
  t.after(() => lent.dispose());
  return lent;
}

interface Reply {
  readonly status: number | undefined;
  readonly text: string;
}

/** A bare request, to say what no client would. */
function post(lent: OfferedTools, headers: Readonly<Record<string, string>>, body: string, method = 'POST'): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...lent.http.headers, ...headers };
    const call = request(lent.http.url, { method, headers: all }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('end', () => resolve({ status: response.statusCode, text }));
    });
    call.on('error', reject);
    call.end(body);
  });
}

const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });

test('62: a call over HTTP by the official client, and the hints that make agents show and run the tools', async (t) => {
  const lent = await door(t, [
    tool(async (input) => ({ ok: true, text: `Opened ${(input as { path: string }).path}` })),
    tool(async () => ({ ok: true, text: '' }), { name: 'rename', confirm: () => undefined }),
  ]);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(lent.http.url), { requestInit: { headers: lent.http.headers } }) as never);
  t.after(() => client.close());
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map((one) => [one.name, one.annotations?.readOnlyHint, one._meta?.['anthropic/alwaysLoad']]),
    [
      ['open_in_ide', true, true],
      ['rename', false, true],
    ],
  );
  const answer = await client.callTool({ name: 'open_in_ide', arguments: { path: 'a.ts' } });
  assert.deepEqual([answer.content, answer.isError], [[{ type: 'text', text: 'Opened a.ts' }], false]);
  const wrong = await client.callTool({ name: 'open_in_ide', arguments: { file: 'a.ts' } });
  assert.equal(wrong.isError, true);
  assert.match(JSON.stringify(wrong.content), /Wrong arguments/);
});

test('the bridge does the same for agents that start processes', async (t) => {
  const lent = await door(t, [tool(async () => ({ ok: true, text: 'Opened' }))]);
  const client = new Client({ name: 'test', version: '1' });
  const { command, args, env } = lent.process;
  assert.equal(args[0], path.resolve('dist/mcpBridge.js'));
  await client.connect(new StdioClientTransport({ command, args: [...args], env: { ...env } }) as never);
  t.after(() => client.close());
  assert.deepEqual(
    (await client.listTools()).tools.map((one) => one.name),
    ['open_in_ide'],
  );
  const answer = await client.callTool({ name: 'open_in_ide', arguments: { path: 'a.ts' } });
  assert.deepEqual(answer.content, [{ type: 'text', text: 'Opened' }]);
  lent.dispose();
  await assert.rejects(client.listTools(), /The editor is gone/);
});

test('nobody gets in without the token, under another host, or from a web page', async (t) => {
  const lent = await door(t, [tool(async () => ({ ok: true, text: '' }))]);
  const port = new URL(lent.http.url).port;
  const status = async (headers: Readonly<Record<string, string>>, body = ping, method = 'POST') =>
    (await post(lent, headers, body, method)).status;
  assert.equal(await status({}), 200);
  assert.equal(await status({ Authorization: 'Bearer x' }), 401);
  assert.equal(await status({ Authorization: '' }), 401);
  assert.equal(await status({ Host: `evil.example:${port}` }), 403);
  assert.equal(await status({ Origin: 'https://evil.example' }), 403);
  assert.equal(await status({ Origin: `http://localhost:${port}` }), 200);
  assert.equal(await status({}, '', 'GET'), 405);
  assert.equal(await status({}, 'not json'), 400);
  assert.equal(await status({}, JSON.stringify({ pad: 'x'.repeat(5_000_000) })), 413);
});

test('a method nobody knows is refused as such, also before anything else', async (t) => {
  const lent = await door(t, [tool(async () => ({ ok: true, text: '' }))]);
  const { text } = await post(lent, {}, JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'server/discover', params: {} }));
  assert.equal((JSON.parse(text) as { readonly error: { readonly code: number } }).error.code, -32601);
});

test('a caller that hangs up aborts the tool, and the door is gone with its session', async (t) => {
  let begun: () => void = () => {};
  const started = new Promise<void>((resolve) => {
    begun = resolve;
  });
  let ended: () => void = () => {};
  const aborted = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const lent = await door(t, [
    tool(async (_input, signal) => {
      begun();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      ended();
      return { ok: false, text: 'stopped' };
    }),
  ]);
  const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'open_in_ide', arguments: { path: 'a' } } });
  const hanging = post(lent, {}, call);
  await started;
  lent.dispose();
  await assert.rejects(hanging);
  await aborted;
  await assert.rejects(post(lent, {}, ping), /ECONNREFUSED/);
});

test('without tools there is no door', async () => {
  assert.equal(await offerTools([], { log: silentLog, client: { name: 'parley', version: '1' } }), undefined);
});

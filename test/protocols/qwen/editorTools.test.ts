import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tool } from '../../../src/protocols/ports.ts';
import { desk } from './desk.ts';
import { ready } from './lines.ts';

const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
const open: Tool = { name: 'open_in_ide', description: 'Open', parameters, run: async () => ({ ok: true, text: 'opened' }) };
const asks: Tool = {
  name: 'apply',
  description: 'Apply',
  parameters: { type: 'object' },
  confirm: () => ({ title: 'Apply?', kind: 'edit', detail: { type: 'text', text: 'x' } }),
  run: async () => ({ ok: true, text: 'applied' }),
};
const message = (id: string, value: object, server = 'ide') => ({
  type: 'control_request',
  request_id: id,
  request: { subtype: 'mcp_message', server_name: server, message: { jsonrpc: '2.0', ...value } },
});

test('our tools as a server on the control channel: announced, listed, called; every message is answered', async (t) => {
  const all = desk(t, { tools: [open, asks] });
  await all.start();
  assert.deepEqual(all.last().requests('initialize')[0]?.request.sdkMcpServers, { ide: { type: 'sdk', name: 'ide' } });
  all
    .last()
    .say(
      ready('initialize'),
      message('1', { id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25' } }),
      message('2', { method: 'notifications/initialized' }),
      message('3', { id: 1, method: 'prompts/list' }),
      message('4', { id: 2, method: 'tools/list' }),
      message('5', { id: 3, method: 'tools/call', params: { name: 'open_in_ide', arguments: { path: 'a' } } }),
      message('6', { id: 4, method: 'tools/call', params: { name: 'open_in_ide', arguments: {} } }),
      message('7', { id: 5, method: 'tools/call', params: { name: 'nosuch' } }),
      message('8', { id: 6, method: 'tools/list' }, 'other'),
      message('9', { id: 7, method: 'tools/call', params: 'bad' }),
    );
  await all.settle();
  const response = (id: string) => Object(all.last().answerTo(id)[0]?.response);
  const mcp = (id: string) => Object(response(id).response).mcp_response;
  assert.deepEqual(mcp('1').result.protocolVersion, '2025-11-25');
  assert.deepEqual(mcp('2'), { jsonrpc: '2.0', id: 0, result: {} });
  assert.equal(mcp('3').error.code, -32601);
  assert.deepEqual(
    mcp('4').result.tools.map((tool: { name: string }) => tool.name),
    ['open_in_ide', 'apply'],
  );
  assert.deepEqual(mcp('5').result, { content: [{ type: 'text', text: 'opened' }], isError: false });
  assert.equal(mcp('6').result.isError, true);
  assert.equal(mcp('7').result.isError, true);
  assert.equal(response('8').subtype, 'error');
  assert.equal(mcp('9').error.code, -32602);
  const { link } = all.now();
  assert.deepEqual(link.state === 'ready' && link.offers.tools?.accepted, ['open_in_ide', 'apply']);
});

test('a tool that waits for a user answers before the agent gives up on it, and does nothing later', async (t) => {
  const all = desk(t, { tools: [asks] });
  await all.start();
  all.last().say(ready('initialize'), message('1', { id: 1, method: 'tools/call', params: { name: 'apply', arguments: {} } }));
  await all.settle();
  assert.equal(all.now().asks.length, 1);
  await all.tick(25_000);
  const answer = JSON.stringify(all.last().answerTo('1'));
  assert.match(answer, /did not answer within 25 s; nothing was done/);
  assert.deepEqual(all.now().asks, []);
});

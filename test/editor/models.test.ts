import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { listModels, priceText } from '../../src/editor/models.ts';

/** An endpoint that answers /models with a body, and keeps what keys it was given. */
async function endpoint(status: number, body: string) {
  const keys: (string | undefined)[] = [];
  const server = createServer((request, answer) => {
    keys.push(request.headers.authorization);
    answer.writeHead(request.url === '/v1/models' ? status : 404, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, keys, close: () => server.close() };
}

test('models are listed with their prices, where the endpoint names them', async (context) => {
  const data = [
    { id: 'a/one', pricing: { prompt: '0.000003', completion: '0.000015', image: '0' } },
    { id: 'two' },
    { id: 'odd', pricing: 'free' },
  ];
  const { url, keys, close } = await endpoint(200, JSON.stringify({ data }));
  context.after(close);
  assert.deepEqual(await listModels(url, 'k'), [{ name: 'a/one', price: '$3 / $15' }, { name: 'two' }, { name: 'odd' }]);
  await listModels(url, undefined);
  assert.deepEqual(keys, ['Bearer k', undefined]);
});

test('an endpoint that cannot list its models says why in a few words', async (context) => {
  const refused = await endpoint(401, '{}');
  const odd = await endpoint(200, '<html>');
  context.after(refused.close);
  context.after(odd.close);
  await assert.rejects(listModels(refused.url, undefined), /^Error: HTTP 401\.$/);
  await assert.rejects(listModels(odd.url, undefined), { message: '' });
  await assert.rejects(listModels('http://127.0.0.1:9/v1', undefined), /127\.0\.0\.1:9.*\./);
});

test('a price is told for a million tokens, and only when it is known', () => {
  assert.equal(priceText({ prompt: '0.00000015', completion: '0.0000006' }), '$0.15 / $0.6');
  assert.equal(priceText({ prompt: '0', completion: '0' }), '$0');
  assert.equal(priceText({ prompt: '-1', completion: '-1' }), undefined);
  assert.equal(priceText({ prompt: '', completion: '' }), undefined);
});

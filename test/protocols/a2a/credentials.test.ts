import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { type TestContext, test } from 'node:test';
import { readCard } from '../../../src/protocols/a2a/card.ts';
import { wantedBy } from '../../../src/protocols/a2a/credentials.ts';
import { cardOf, fakeAgent, type Json, over } from '../../fakes/a2a.ts';
import { talk } from './talk.ts';

const key = { type: 'apiKey', in: 'header', name: 'X-Key' };
const bearer = { type: 'http', scheme: 'bearer' };
const browser = { type: 'openIdConnect', openIdConnectUrl: 'https://x' };

/** An agent behind a door that looks at every JSON-RPC request. */
async function guarded(t: TestContext, card: Json, letsIn: (request: IncomingMessage) => boolean) {
  const refused: IncomingMessage['headers'][] = [];
  const agent = await fakeAgent(t, {
    card,
    before: (request, response) => {
      if (request.method !== 'POST' || letsIn(request)) return false;
      refused.push(request.headers);
      response.writeHead(401).end('expired or unknown');
      return true;
    },
    on: {
      'commands/get': (_, reply) => reply.json({ commands: [] }),
      'message/stream': (_, reply) => {
        reply.record(over());
        reply.end();
      },
    },
  });
  const kept = new Map<string, string>();
  const secrets = { get: async (name: string) => kept.get(name), set: async (name: string, value: string) => void kept.set(name, value) };
  return { agent, refused, kept, session: talk(t, agent.url, { secrets }) };
}
const entered = (...secrets: readonly string[]) => ({
  kind: 'fields' as const,
  values: Object.fromEntries(secrets.map((one, at) => [at === 0 ? 'secret' : `secret${at + 1}`, [one]])),
});

test('which schemes: the first alternative that is known in full, in the spelling of either version', () => {
  const schemes = { browser, key, bearer };
  const names = (security: readonly Json[]) => wantedBy(schemes, security).map(({ scheme }) => scheme);
  assert.deepEqual(names([]), ['key']);
  assert.deepEqual(names([{ bearer: [] }]), ['bearer']);
  assert.deepEqual(names([{ browser: [] }, { bearer: [] }]), ['bearer'], 'one of them is enough');
  assert.deepEqual(names([{ key: [], bearer: [] }]), ['key', 'bearer'], 'both together');
  assert.deepEqual(names([{ key: [], browser: [] }]), [], 'half of it would not do');
  assert.deepEqual(names([{ schemes: { bearer: { list: [] } } }]), ['bearer']);
  const newer = cardOf('http://127.0.0.1:1', { securityRequirements: [{ schemes: { bearer: { list: [] } } }], securitySchemes: schemes });
  assert.deepEqual(readCard(newer, 'http://127.0.0.1:1').security, [{ schemes: { bearer: { list: [] } } }]);
});

test('the card asks for a token although it knows keys too: a token is what is asked for and sent', async (t) => {
  const { session, refused } = await guarded(
    t,
    { securitySchemes: { key, bearer }, security: [{ bearer: [] }] },
    ({ headers }) => headers.authorization === 'Bearer tok',
  );
  const ask = await session.asked();
  assert.deepEqual(ask.kind === 'question' && ask.fields.map(({ label, kind }) => [label, kind]), [['Token', 'secret']]);
  session.answer(ask, entered('tok'));
  assert.equal((await session.prompt('hi')).status, 'done');
  assert.deepEqual(
    refused.map((headers) => headers['x-key']),
    [undefined],
  );
});

test('two secrets that are wanted together are asked for together, sent together and kept apart', async (t) => {
  const { session, kept, agent } = await guarded(
    t,
    { securitySchemes: { key, bearer }, security: [{ key: [], bearer: [] }] },
    ({ headers }) => headers.authorization === 'Bearer b' && headers['x-key'] === 'k',
  );
  const ask = await session.asked();
  assert.equal(ask.kind === 'question' && ask.fields.length, 2);
  session.answer(ask, entered('k', 'b'));
  assert.equal((await session.prompt('hi')).status, 'done');
  assert.deepEqual([...kept].sort(), [
    [`a2a:${agent.url}#bearer`, 'b'],
    [`a2a:${agent.url}#key`, 'k'],
  ]);
});

test('a slip is told and asked about once more, and only what the server took is kept', async (t) => {
  const { session, kept } = await guarded(t, {}, ({ headers }) => headers.authorization === 'Bearer right');
  const first = await session.asked();
  session.answer(first, entered('wrong'));
  const now = await session.until('second ask', ({ asks }) => asks[0] !== undefined && asks[0].id !== first.id);
  assert.equal(kept.size, 0);
  assert.match(JSON.stringify(now.asks), /did not accept the key.*expired or unknown/);
  session.answer(await session.asked(), entered('right'));
  assert.equal((await session.opened()).link.state, 'ready');
  assert.deepEqual([...kept.values()], ['right']);
});

test('an agent that lets nobody in is not said to be ready', async (t) => {
  const { session, kept } = await guarded(t, {}, () => false);
  const first = await session.asked();
  session.answer(first, entered('a'));
  await session.until('second ask', ({ asks }) => asks[0] !== undefined && asks[0].id !== first.id);
  session.answer(await session.asked(), entered('b'));
  const { link } = await session.opened();
  assert.equal(link.state === 'closed' && /expired or unknown/.test(link.reason), true, JSON.stringify(link));
  assert.equal(kept.size, 0);
});

test('a token that expires in the middle of the conversation is asked for anew, and replaced', async (t) => {
  let good = 'one';
  const { session, kept } = await guarded(t, {}, ({ headers }) => headers.authorization === `Bearer ${good}`);
  session.answer(await session.asked(), entered('one'));
  await session.opened();
  assert.equal((await session.prompt('hi')).status, 'done');
  good = 'two';
  const turnId = session.begin('again');
  const ask = await session.asked();
  assert.match(JSON.stringify(ask), /did not accept the key.*expired/);
  session.answer(ask, entered('two'));
  assert.equal((await session.ended(turnId)).status, 'done');
  assert.deepEqual([...kept.values()], ['two']);
  good = 'three';
  const declined = session.begin('and again');
  session.answer(await session.asked(), { kind: 'cancelled' });
  assert.equal((await session.ended(declined)).status, 'failed');
  const asked = session.begin('once more');
  session.answer(await session.asked(), entered('three'));
  assert.equal((await session.ended(asked)).status, 'done');
});

const ways: readonly (readonly [string, Json, string, (request: IncomingMessage) => unknown, unknown])[] = [
  ['a name and password', { type: 'http', scheme: 'Basic' }, 'jürgen:pä', ({ headers }) => headers.authorization, 'Basic asO8cmdlbjpww6Q='],
  ['a key in the address', { type: 'apiKey', in: 'query', name: 'k' }, 'a&b', ({ url }) => url, '/?k=a%26b'],
  ['a key in a cookie', { type: 'apiKey', in: 'cookie', name: 'k' }, 'a;b', ({ headers }) => headers.cookie, 'k=a%3Bb'],
];
for (const [how, scheme, secret, shown, wanted] of ways)
  test(`${how} goes out as the card wants it`, async (t) => {
    const { session } = await guarded(t, { securitySchemes: { s: scheme } }, (request) => shown(request) === wanted);
    session.answer(await session.asked(), entered(secret));
    assert.equal((await session.prompt('hi')).status, 'done');
  });

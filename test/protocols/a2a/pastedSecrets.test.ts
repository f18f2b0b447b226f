import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canBeSent, type SecretPlacement, tidied, wantedBy } from '../../../src/protocols/a2a/credentials.ts';
import { fakeAgent, type Json, over } from '../../fakes/a2a.ts';
import { talk } from './talk.ts';

const basic: SecretPlacement = { how: 'basic' };
const header: SecretPlacement = { how: 'key', place: 'header', name: 'X-Key' };
const encoded = Buffer.from('me:se cret').toString('base64');

test('a pasted secret is what was meant: without line ends, blanks around it, the scheme’s word or the header’s name', () => {
  const cases: readonly (readonly [string, SecretPlacement, string])[] = [
    ['Bearer abc', { how: 'bearer' }, 'abc'],
    ['Authorization: bearer abc\r\n', { how: 'bearer' }, 'abc'],
    [' abc\t', { how: 'bearer' }, 'abc'],
    ['eyJhbGci\r\n  OiJub25l', { how: 'bearer' }, 'eyJhbGciOiJub25l'],
    ['Bearer', { how: 'bearer' }, 'Bearer'],
    ['bearerabc', { how: 'bearer' }, 'bearerabc'],
    [' \n', { how: 'bearer' }, ''],
    [` me:se cret\n`, basic, 'me:se cret'],
    [`Basic ${encoded}`, basic, 'me:se cret'],
    ['basic me:pw', basic, 'basic me:pw'],
    ['X-Key: abc', header, 'abc'],
    ['Bearer abc', header, 'Bearer abc'],
    [' abc ', { how: 'key', place: 'query', name: 'k' }, 'abc'],
  ];
  for (const [typed, way, meant] of cases) assert.equal(tidied(typed, way), meant, JSON.stringify(typed));
});

test('what a header cannot bear is known beforehand; what is encoded on the way bears anything', () => {
  assert.deepEqual(
    ['abc', 'tök', 'tök€n', 'a\u0000b'].map((one) => canBeSent(one, { how: 'bearer' })),
    [true, true, false, false],
  );
  assert.equal(canBeSent('jürgen:€', basic), true);
  assert.equal(canBeSent('€', { how: 'key', place: 'cookie', name: 'k' }), true);
});

test('a card that names no header that could be sent is one whose way is not supported', () => {
  const known = (name: string, place: string) => wantedBy({ key: { type: 'apiKey', in: place, name } }, []).length;
  for (const name of ['bad name', 'Content-Length', 'host', '']) assert.equal(known(name, 'header'), 0, name);
  assert.deepEqual([known('a;b', 'cookie'), known('bad name', 'query'), known('Authorization', 'header')], [0, 1, 1]);
});

async function guarded(t: Parameters<typeof fakeAgent>[0], securitySchemes: Json) {
  const seen: (string | undefined)[] = [];
  const agent = await fakeAgent(t, {
    card: { securitySchemes },
    before: (request, response) => {
      if (request.method !== 'POST') return false;
      seen.push(request.headers.authorization);
      if (request.headers.authorization === 'Bearer abc') return false;
      response.writeHead(401).end('who?');
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
  return { seen, kept, session: talk(t, agent.url, { secrets }) };
}
const entered = (secret: string) => ({ kind: 'fields' as const, values: { secret: [secret] } });

test('a secret with characters that cannot be sent is told so and asked for again, as often as it takes; the next one goes out tidied, and is kept so', async (t) => {
  const { session, seen, kept } = await guarded(t, { b: { type: 'http', scheme: 'bearer' } });
  let last = await session.asked();
  for (const wrong of ['tök€n', '“abc”', 'abc…']) {
    session.answer(last, entered(wrong));
    const { asks } = await session.until('another ask', (now) => now.asks[0] !== undefined && now.asks[0].id !== last.id);
    assert.match(JSON.stringify(asks), /did not accept the key/);
    last = await session.asked();
  }
  session.answer(last, entered(' Bearer abc\t\n'));
  assert.equal((await session.opened()).link.state, 'ready');
  assert.equal((await session.prompt('hi')).status, 'done');
  assert.deepEqual(new Set(seen), new Set([undefined, 'Bearer abc']));
  assert.deepEqual([...kept.values()], ['abc']);
});

test('a card whose key has no sendable header asks for a token instead, in words', async (t) => {
  const { session } = await guarded(t, { b: { type: 'apiKey', in: 'header', name: 'bad name' } });
  const ask = await session.asked();
  assert.match(JSON.stringify(ask), /not supported; paste a token/);
  session.answer(ask, entered('abc'));
  assert.equal((await session.prompt('hi')).status, 'done');
});

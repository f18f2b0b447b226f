import assert from 'node:assert/strict';
import { test } from 'node:test';
import { option, talk } from './talk.ts';

// No loopback name, and nobody listens there: what is looked at is whether anybody tries.
const far = 'http://[::ffff:127.0.0.1]:1';

test('nothing goes readable over a network before the user agreed, who is asked once', async (t) => {
  const kept = new Map<string, string>();
  const secrets = { get: async (name: string) => kept.get(name), set: async (name: string, value: string) => void kept.set(name, value) };
  const session = talk(t, far, { secrets });
  const ask = await session.approval();
  assert.match(ask.title, /7f00:1\]:1/);
  assert.equal(
    ask.options.some((one) => one.effect === 'allow_once'),
    false,
    'no rule agrees to it',
  );
  session.answer(ask, option(ask, 'allow_always'));
  const { link } = await session.opened();
  assert.match(link.state === 'closed' ? link.reason : '', /could not be reached/, 'it was tried');
  assert.deepEqual([...kept], [[`plain:${new URL(far).origin}`, 'yes']]);
  const again = await talk(t, far, { secrets }).opened();
  assert.equal(again.asks.length, 0);
});

test('a no, and Esc, leave it alone', async (t) => {
  const session = talk(t, far);
  session.answer(await session.approval(), { kind: 'cancelled' });
  const { link, asks } = await session.opened();
  assert.deepEqual([link.state === 'closed' && /not encrypted/.test(link.reason), asks.length], [true, 0]);
});

test('leaving while it is asked withdraws the question', async (t) => {
  const session = talk(t, far);
  await session.approval();
  session.live.dispose();
  await session.live.ended;
  assert.equal(session.now().asks.length, 0);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newSession } from '../../../src/session/reduce.ts';
import { open, person } from './talk.ts';

// No loopback name, and nobody listens there: what is looked at is whether anybody tries.
const far = 'http://[::ffff:127.0.0.1]:1/api/chat';
const talkTo = (url: string, more: Parameters<typeof open>[1] = {}) => {
  const live = open(url, more, newSession('s', { protocol: 'ai-sdk', name: 'x' }, '/w'));
  return { start: () => live.start(), leave: () => live.stop().then(() => live.dispose()), ...person(live) };
};
const isOpened = ({ link }: { readonly link: { readonly state: string } }) => link.state !== 'opening';

test('nothing goes readable over a network before the user agreed, who is asked once', async () => {
  const secrets = new Map<string, string>();
  const first = talkTo(far, { secrets });
  await first.start();
  const turnId = first.say('hello');
  const ask = await first.asked();
  assert.match(ask.title, /Connect: \[::ffff:7f00:1\]:1/);
  assert.deepEqual([first.now().link.state, first.now().turns], ['opening', []]);
  first.answer(ask, 'yes');
  assert.equal((await first.ended(turnId)).status, 'failed', 'it was tried');
  await first.leave();
  const again = talkTo(far, { secrets });
  await again.start();
  assert.deepEqual([(await again.until(isOpened)).link.state, again.now().asks], ['ready', []]);
  await again.leave();
});

test('a no, and Esc, leave it alone', async () => {
  for (const answer of ['no', { kind: 'cancelled' }] as const) {
    const session = talkTo(far);
    await session.start();
    session.answer(await session.asked(), answer);
    const { link, asks } = await session.until(isOpened);
    assert.match(link.state === 'closed' ? link.reason : '', /not encrypted/);
    assert.deepEqual(asks, []);
    await session.leave();
  }
});

test('leaving while it is asked withdraws the question, and says nothing more', async () => {
  const session = talkTo(far);
  await session.start();
  await session.asked();
  await session.leave();
  assert.deepEqual(session.now().asks, []);
});

test('a profile that now names a far address without encryption is asked about before anything goes there', async () => {
  const profile = { headers: {}, path: 'http://127.0.0.1:1/api/chat' };
  const session = talkTo('http://127.0.0.1:1/', { profile });
  await session.start();
  await session.until(isOpened);
  profile.path = far;
  const turnId = session.say('hello');
  const ask = await session.asked();
  assert.match(ask.title, /^Connect: /);
  session.answer(ask, 'no');
  const { error } = await session.ended(turnId);
  assert.match(error?.message ?? '', /127\.0\.0\.1:1/, 'the server stays the one that it was');
  await session.leave();
});

test('another server that an option names is asked about before the first prompt', async () => {
  for (const name of ['toolResultUrl', 'stopUrl', 'resumeUrl']) {
    const session = talkTo('http://127.0.0.1:1/', { options: { [name]: 'http://[::ffff:127.0.0.1]:1/x/{chatId}' } });
    await session.start();
    const ask = await session.asked();
    assert.match(ask.title, /Connect: \[::ffff:7f00:1\]:1/, name);
    session.answer(ask, 'no');
    const { link } = await session.until(isOpened);
    assert.match(link.state === 'closed' ? link.reason : '', /not encrypted/, name);
    await session.leave();
  }
});

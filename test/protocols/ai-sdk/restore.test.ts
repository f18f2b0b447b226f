import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { Session } from '../../../src/session/model.ts';
import { newSession } from '../../../src/session/reduce.ts';
import { called, finish, output, type Route, said, start, step, stepEnd, type WireChunk } from '../../fakes/aiSdk.ts';
import { call, echoTool, open, person, type TalkOptions, talk, textOf } from './talk.ts';

/** The same conversation in the next window: everything it knows went through JSON. */
async function nextWindow(t: TestContext, url: string, session: Session, options: Omit<TalkOptions, 'routes'> = {}) {
  const live = open(`${url}/api/chat`, options, JSON.parse(JSON.stringify(session)) as Session);
  // As the journal does: what was under way is over.
  live.interrupt();
  await live.restart();
  t.after(async () => {
    await live.stop();
    live.dispose();
  });
  const now = person(live);
  await now.until((one) => one.link.state === 'ready');
  return now;
}

/** A first answer, then the same for everything that follows. */
const then =
  (...chunks: readonly WireChunk[]): Route =>
  (reply, _, n) =>
    n === 1 ? reply.all(...chunks) : reply.all(start(`m${n}`), step, ...said('ok'), stepEnd, finish('stop'));

test('what is posted after a reload is what was posted before it: ids, thoughts, signatures, metadata, outputs', async (t) => {
  const signature = { anthropic: { signature: 'EqQBCkYIAxgC/+=', redactedData: null } };
  const { server, prompt, now } = await talk(t, {
    routes: {
      '/api/chat': then(
        start('m'),
        { type: 'message-metadata', messageMetadata: { model: 'x', cost: 0.5 } },
        step,
        { type: 'reasoning-start', id: 'r', providerMetadata: signature },
        { type: 'reasoning-delta', id: 'r', delta: 'Let me see.' },
        { type: 'reasoning-end', id: 'r', providerMetadata: signature },
        ...said('I look.'),
        called('c', 'look', { path: 'a' }, { providerMetadata: { google: { thoughtSignature: 'abc' } } }),
        output('c', { deep: [1, null, 'x'] }, { providerMetadata: { google: { n: 1 } } }),
        { type: 'source-url', sourceId: 's', url: 'https://example.test/', title: 'Source' },
        { type: 'data-plan', id: 'p', data: { items: [1] } },
        stepEnd,
        finish('stop'),
      ),
    },
  });
  await prompt('first');
  await prompt('second');
  const before = server.bodies('/api/chat')[1]?.messages.slice(0, 2);
  const after = await nextWindow(t, server.url, now());
  after.live.send({ type: 'prompt', turnId: 'third', content: [{ type: 'text', text: 'third' }] });
  await after.ended('third');
  const body = server.bodies('/api/chat')[2];
  assert.deepEqual(body?.messages.slice(0, 2), before);
  assert.equal(body?.messages[2]?.id, server.bodies('/api/chat')[1]?.messages[2]?.id, 'the ids of the user too');
  assert.equal(body?.id, server.bodies('/api/chat')[0]?.id);
  assert.match(JSON.stringify(before), /EqQBCkYIAxgC/);
});

const asking = [
  start('m'),
  step,
  called('c', 'delete_file', { path: 'x.txt' }),
  { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'c', signature: 'v1.SiG/+=', approvalDescriptor: { n: 1 } },
  stepEnd,
  finish('tool-calls'),
] as const;

for (const approved of [true, false]) {
  test(`an approval that was open when the window closed is asked again; ${approved ? 'allowed' : 'refused'}, its signature goes back`, async (t) => {
    const first = await talk(t, {
      routes: {
        '/api/chat': (reply, _, n) =>
          n === 1
            ? reply.all(...asking)
            : reply.all(
                start('m'),
                approved ? output('c', 'gone') : { type: 'tool-output-denied', toolCallId: 'c' },
                step,
                ...said('Well.'),
                finish('stop'),
              ),
      },
    });
    first.say('go');
    await first.until((one) => one.asks.length === 1 && one.turns[0]?.adapterState !== undefined);
    const session = first.now();
    await first.live.stop();
    const { now, asked, answer, until } = await nextWindow(t, first.server.url, session);
    const ask = await asked();
    assert.deepEqual([ask.title, first.server.asked.length], ['delete_file', 1]);
    assert.deepEqual([now().turns.length, now().turns[0]?.status], [1, 'running']);
    answer(ask, approved ? 'allow' : 'reject');
    await until((one) => one.turns[0]?.status === 'done');
    const turn = now().turns[0]!;
    assert.deepEqual([textOf(turn), call(turn, 'c').status], ['Well.', approved ? 'done' : 'rejected']);
    const posted = first.server.bodies('/api/chat')[1]!;
    assert.deepEqual([posted.messageId, posted.messages.map((message) => message.role)], ['m', ['user', 'assistant']]);
    assert.deepEqual(posted.messages[1]?.parts.at(-1)?.approval, { id: 'a', descriptor: { n: 1 }, signature: 'v1.SiG/+=', approved });
  });
}

test('an approval that is open again can be stopped, and closed again by a message', async (t) => {
  const first = await talk(t, { routes: { '/api/chat': then(...asking) } });
  first.say('go');
  await first.until((one) => one.asks.length === 1 && one.turns[0]?.adapterState !== undefined);
  const session = first.now();
  await first.live.stop();
  const { live, now, asked, until, ended } = await nextWindow(t, first.server.url, session);
  await asked();
  live.send({ type: 'cancel' });
  await until((one) => one.turns[0]?.status === 'cancelled' && one.asks.length === 0);
  live.send({ type: 'prompt', turnId: 'next', content: [{ type: 'text', text: 'other' }] });
  await ended('next');
  const part = first.server.bodies('/api/chat')[1]?.messages[1]?.parts.at(-1);
  assert.deepEqual([part?.state, 'approval' in (part ?? {})], ['output-error', false]);
  assert.equal(now().turns.length, 2);
});

test('a call of ours that was under way when the window closed does not run again; the model hears that it was interrupted', async (t) => {
  let runs = 0;
  const look = echoTool('look', (_, signal) => {
    runs += 1;
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ ok: false, text: 'aborted' })));
  });
  const routes = {
    '/api/chat': ((reply, _, n) =>
      n === 1
        ? reply.all(start('m'), step, called('own', 'look', { path: 'a' }), ...asking.slice(2))
        : reply.all(start('m'), output('c', 1), step, ...said('ok'), finish('stop'))) satisfies Route,
  };
  const first = await talk(t, { tools: [look], routes });
  first.say('go');
  await first.until((one) => one.asks.length === 1 && runs === 1 && one.turns[0]?.adapterState !== undefined);
  const session = first.now();
  await first.live.stop();
  const { asked, answer, until } = await nextWindow(t, first.server.url, session, { tools: [look] });
  answer(await asked(), 'allow');
  await until((one) => one.turns[0]?.status === 'done');
  const [own] = first.server.bodies('/api/chat')[1]?.messages[1]?.parts.filter((part) => part.toolCallId === 'own') ?? [];
  assert.deepEqual(
    [runs, own?.state, own?.errorText],
    [1, 'output-error', 'Interrupted: the window was closed before there was a result.'],
  );
});

test('Retry after a reload asks for the failed answer anew, with one message of the user', async (t) => {
  const { server, prompt, now } = await talk(t, {
    routes: { '/api/chat': then(start('m'), step, ...said('half'), { type: 'error', errorText: 'broken' }) },
  });
  assert.equal((await prompt('go')).status, 'failed');
  const after = await nextWindow(t, server.url, now());
  assert.equal((await after.retry()).status, 'done');
  const body = server.bodies('/api/chat')[1];
  assert.deepEqual([body?.trigger, body?.messageId, body?.messages.map((message) => message.role)], ['regenerate-message', 'm', ['user']]);
});

for (const flow of ['repost', 'user-message'] as const) {
  test(`Retry after a reload posts a result that did not get through again, and runs nothing twice (${flow})`, async (t) => {
    let runs = 0;
    const look = echoTool('look', async () => {
      runs += 1;
      return { ok: true, text: 'found' };
    });
    const options = { tools: [look], options: { toolFlow: flow } };
    const { server, prompt, now } = await talk(t, {
      ...options,
      routes: {
        '/api/chat': (reply, _, n) => {
          if (n === 1) return reply.all(start('m'), step, called('c', 'look', { path: 'a' }), stepEnd, finish('tool-calls'));
          if (n <= 3) return reply.json(503, { error: 'busy' });
          return reply.all(start(flow === 'repost' ? 'm' : 'm2'), step, ...said('Done.'), finish('stop'));
        },
      },
    });
    const broken = await prompt('go');
    assert.deepEqual([broken.status, broken.error?.code], ['failed', '503']);
    const second = await nextWindow(t, server.url, now(), options);
    assert.equal((await second.retry()).error?.code, '503', 'it may fail again');
    const third = await nextWindow(t, server.url, second.now(), options);
    const turn = await third.retry();
    assert.deepEqual([turn.status, textOf(turn), third.now().turns.length, runs], ['done', 'Done.', 1, 1]);
    const [, before, ...again] = server.bodies('/api/chat');
    assert.match(JSON.stringify(before?.messages), /"state":"output-available".*found/);
    assert.deepEqual(again, [before, before]);
  });
}

test('Retry after a reload posts the answer to an approval that did not get through again', async (t) => {
  const { server, say, asked, answer, ended, now } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) => {
        if (n === 1) return reply.all(...asking);
        if (n === 2) return reply.json(503, { error: 'busy' });
        return reply.all(start('m'), output('c', 'gone'), step, ...said('Done.'), finish('stop'));
      },
    },
  });
  const id = say('go');
  answer(await asked(), 'allow');
  assert.equal((await ended(id)).error?.code, '503');
  const after = await nextWindow(t, server.url, now());
  const turn = await after.retry();
  assert.deepEqual([turn.status, textOf(turn), call(turn, 'c').status], ['done', 'Done.', 'done']);
  const [, before, again] = server.bodies('/api/chat');
  assert.match(JSON.stringify(before?.messages[1]), /"approved":true/);
  assert.deepEqual(again, before);
});

test('a turn that failed and was tried again is remembered once', async (t) => {
  let gone = true;
  const { server, say, asked, answer, ended, retry, now } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) => {
        if (n === 1)
          return reply.all(
            start('m'),
            step,
            called('c', 'delete_file', { path: 'x' }),
            { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'c' },
            finish('tool-calls'),
          );
        if (gone) return void reply.response.destroy();
        return n === 3
          ? reply.all(start('m'), output('c', 'gone'), step, ...said('Done.'), finish('stop'))
          : reply.all(...said('ok'), finish());
      },
    },
  });
  const id = say('go');
  answer(await asked(), 'allow');
  assert.equal((await ended(id)).status, 'failed');
  gone = false;
  assert.equal((await retry()).status, 'done');
  const after = await nextWindow(t, server.url, now());
  after.live.send({ type: 'prompt', turnId: 'next', content: [{ type: 'text', text: 'next' }] });
  await after.ended('next');
  const messages = server.bodies('/api/chat').at(-1)?.messages ?? [];
  assert.deepEqual(
    messages.map((message) => message.role),
    ['user', 'assistant', 'user'],
  );
  assert.equal(messages[1]?.parts.find((part) => part.toolCallId === 'c')?.state, 'output-available');
});

test('a record that cannot be read is as good as none', async (t) => {
  const { server, prompt, now } = await talk(t, { routes: { '/api/chat': then(start('m'), step, ...said('one'), finish('stop')) } });
  await prompt('first');
  const turns = now().turns.map((turn) => ({ ...turn, adapterState: { messages: [{ role: 'assistant', parts: 'none' }] } }));
  const after = await nextWindow(t, server.url, { ...now(), turns });
  after.live.send({ type: 'prompt', turnId: 'next', content: [{ type: 'text', text: 'next' }] });
  await after.ended('next');
  assert.deepEqual(
    server.bodies('/api/chat')[1]?.messages.map((message) => [message.role, message.parts[0]?.text]),
    [
      ['user', 'first'],
      ['assistant', 'one'],
      ['user', 'next'],
    ],
  );
});

test('the second conversation with a server begins with what the first has learned', async (t) => {
  const memory = new Map();
  let held: import('../../fakes/aiSdk.ts').Reply | undefined;
  const routes: Record<string, Route> = {
    '/api/chat': (reply, _, n) => {
      held = reply.open().send(start(`m${n}`), step, called(`c${n}`, 'look', { path: 'a' }));
    },
    '/chat/tool-result': (reply, { body }) => {
      reply.json(200, { ok: true });
      held?.send(output(body.tool_call_id ?? '', body.result), stepEnd, step, ...said('ok'), finish('stop')).done();
    },
  };
  const tools = [echoTool('look')];
  const first = await talk(t, { tools, routes, memory });
  assert.equal((await first.prompt()).status, 'done');
  // Silence is never waited for again: this would be for ever.
  const live = open(
    `${first.server.url}/api/chat`,
    { tools, memory, timing: { quiet: 2 ** 31 - 1 } },
    newSession(randomUUID(), { protocol: 'ai-sdk', name: 'x' }, '/w'),
  );
  await live.start();
  t.after(async () => {
    await live.stop();
    live.dispose();
  });
  assert.equal((await person(live).prompt()).status, 'done');
  assert.deepEqual(
    first.server.asked.map((one) => one.path),
    ['/api/chat', '/api/chat/tool-result', '/chat/tool-result', '/api/chat', '/chat/tool-result'],
    'the address that was found is the only one tried',
  );
});

test('headers that were set since are sent with the next request, and an address that was mended is used', async (t) => {
  const { server, live, prompt, headers, moved } = await changing(t);
  const refused = await prompt('go');
  assert.deepEqual([refused.status, refused.error?.code], ['failed', '401']);
  headers({ authorization: 'Bearer good' });
  assert.equal((await prompt('go')).status, 'done');
  moved('/other/chat');
  assert.equal((await prompt('more')).status, 'done');
  assert.deepEqual(
    server.asked.map((one) => [one.path, one.headers.authorization]),
    [
      ['/api/chat', 'Bearer old'],
      ['/api/chat', 'Bearer good'],
      ['/other/chat', 'Bearer good'],
    ],
  );
  assert.equal(live.store.now.notices.length, 0);
});

async function changing(t: TestContext) {
  const answer: Route = (reply) => reply.all(start('m'), step, ...said('ok'), finish('stop'));
  const profile = { headers: { authorization: 'Bearer old' }, path: '/api/chat' };
  const talking = await talk(t, {
    routes: {
      '/api/chat': (reply, asked, n) =>
        asked.headers.authorization === 'Bearer good' ? answer(reply, asked, n) : reply.json(401, { error: 'no' }),
      '/other/chat': answer,
    },
    profile,
  });
  return {
    ...talking,
    headers: (headers: { authorization: string }) => {
      profile.headers = headers;
    },
    moved: (path: string) => {
      profile.path = path;
    },
  };
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { called, finish, output, said, start, step, stepEnd, type WireChunk } from '../../fakes/aiSdk.ts';
import { call, echoTool, talk, textOf } from './talk.ts';

const asking = (id: string, more: object = {}): readonly WireChunk[] => [
  called(id, 'delete_file', { path: `${id}.txt` }),
  { type: 'tool-approval-request', approvalId: `a-${id}`, toolCallId: id, ...more },
];
const end = [stepEnd, finish('tool-calls')];

test('allow: the answer is posted in the part and the output belongs to the earlier step', async (t) => {
  const { server, say, asked, answer, ended, turn } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply.all(start('m'), step, ...asking('c', { reason: 'It is not in version control.' }), ...end)
          : reply.all(start('m'), output('c', 'deleted'), step, ...said('Gone.'), stepEnd, finish('stop')),
    },
  });
  const id = say('go');
  const ask = await asked();
  assert.ok(ask.kind === 'approval' && ask.detail.type === 'text');
  assert.deepEqual(
    [ask.title, ask.callId, ask.options.map((option) => option.effect)],
    ['delete_file', 'c', ['allow_once', 'allow_always', 'reject_once']],
  );
  assert.match(ask.detail.text, /not in version control[\s\S]*c\.txt/);
  assert.equal(call(turn(id), 'c').status, 'waiting');
  answer(ask, 'allow');
  const done = await ended(id);
  assert.deepEqual([done.status, textOf(done), call(done, 'c').status], ['done', 'Gone.', 'done']);
  const body = server.bodies('/api/chat')[1]!;
  assert.deepEqual(body.messages.at(-1)?.parts.at(-1), {
    type: 'tool-delete_file',
    toolCallId: 'c',
    state: 'approval-responded',
    input: { path: 'c.txt' },
    approval: { id: 'a-c', requestReason: 'It is not in version control.', approved: true },
  });
  assert.deepEqual([body.trigger, body.messageId], ['submit-message', 'm']);
});

test('deny with a reason; the server confirms with output-denied or says nothing', async (t) => {
  for (const confirmation of [[{ type: 'tool-output-denied', toolCallId: 'c' }], []]) {
    const { server, say, asked, answer, ended, prompt } = await talk(t, {
      routes: {
        '/api/chat': (reply, _, n) =>
          n === 1
            ? reply.all(start('m'), step, ...asking('c'), ...end)
            : reply.all(start('m'), ...confirmation, step, ...said('As you wish.'), stepEnd, finish('stop')),
      },
    });
    const id = say('go');
    answer(await asked(), { kind: 'option', optionId: 'reject', feedback: 'Not that file' });
    const done = await ended(id);
    assert.deepEqual([done.status, call(done, 'c').status, call(done, 'c').error?.message], ['done', 'rejected', 'Not that file']);
    const approval = server.bodies('/api/chat')[1]?.messages.at(-1)?.parts.at(-1)?.approval;
    assert.deepEqual(approval, { id: 'a-c', approved: false, reason: 'Not that file' });
    await prompt('next');
    const state = server.bodies('/api/chat')[2]?.messages[1]?.parts[1]?.state;
    assert.equal(state, confirmation.length > 0 ? 'output-denied' : 'output-error');
  }
});

test('two approvals are answered one by one and posted together', async (t) => {
  const { server, say, asked, answer, ended, until } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply.all(start('m'), step, ...asking('c1'), ...asking('c2'), ...end)
          : reply.all(start('m'), { type: 'tool-output-denied', toolCallId: 'c2' }, output('c1', 1), step, ...said('ok'), finish('stop')),
    },
  });
  const id = say('go');
  await until((session) => session.asks.length === 2);
  answer(await asked(), 'allow');
  await until((session) => session.asks.length === 1);
  assert.equal(server.asked.length, 1);
  answer(await asked(), 'reject');
  await ended(id);
  assert.deepEqual(
    server
      .bodies('/api/chat')[1]
      ?.messages.at(-1)
      ?.parts.slice(1)
      .map((part) => (part.approval as { approved: boolean }).approved),
    [true, false],
  );
});

test('mixed with a call of ours: one post when both are there', async (t) => {
  const { server, say, asked, answer, ended } = await talk(t, {
    tools: [echoTool('look')],
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply.all(start('m'), step, called('o', 'look', { path: 'x' }), ...asking('c'), ...end)
          : reply.all(start('m'), output('c', 1), step, ...said('ok'), finish('stop')),
    },
  });
  const id = say('go');
  answer(await asked(), 'allow');
  assert.equal((await ended(id)).status, 'done');
  assert.equal(server.asked.length, 2);
  assert.deepEqual(
    server
      .bodies('/api/chat')[1]
      ?.messages.at(-1)
      ?.parts.map((part) => part.state),
    [undefined, 'output-available', 'approval-responded'],
  );
});

test('automatic approvals are never asked', async (t) => {
  const { server, prompt, events } = await talk(t, {
    routes: {
      '/api/chat': (reply) =>
        reply.all(
          start('m'),
          step,
          ...asking('c', { isAutomatic: true }),
          { type: 'tool-approval-response', approvalId: 'a-c', approved: true, reason: 'policy' },
          output('c', 'done'),
          stepEnd,
          step,
          ...said('ok'),
          finish('stop'),
        ),
    },
  });
  assert.equal((await prompt()).status, 'done');
  assert.equal(server.asked.length, 1);
  assert.ok(!events.some((event) => event.type === 'ask.opened'));
});

test('the server decides by itself while the user is asked: the ask closes', async (t) => {
  let decide: () => void = () => {};
  const decided = new Promise<void>((resolve) => {
    decide = resolve;
  });
  const { say, asked, ended, now } = await talk(t, {
    routes: {
      '/api/chat': async (reply) => {
        reply.open().send(start('m'), step, ...asking('c'));
        await decided;
        reply
          .send(
            { type: 'tool-approval-response', approvalId: 'a-c', approved: false, reason: 'too late' },
            { type: 'tool-output-denied', toolCallId: 'c' },
            finish('stop'),
          )
          .done();
      },
    },
  });
  const id = say('go');
  await asked();
  decide();
  const done = await ended(id);
  assert.deepEqual([now().asks.length, call(done, 'c').status, call(done, 'c').error?.message], [0, 'rejected', 'too late']);
});

test('signed: what the server sent goes back byte by byte', async (t) => {
  const approvalDescriptor = { kind: 'path', nested: { list: [1, 'é\u2028', null] } };
  const { server, say, asked, answer, ended } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply.all(
              start('m'),
              step,
              ...asking('c', { signature: 'v1.AbC/+=', approvalDescriptor, inputSchemaInput: { path: 'raw' } }),
              ...end,
            )
          : reply.all(start('m'), output('c', 1), step, ...said('ok'), finish('stop')),
    },
  });
  const id = say('go');
  const ask = await asked();
  assert.ok(ask.kind === 'approval' && ask.detail.type === 'text');
  assert.match(ask.detail.text, /What will run:[\s\S]*c\.txt[\s\S]*What the model wrote:[\s\S]*raw/);
  answer(ask, 'allow');
  await ended(id);
  const approval = server.bodies('/api/chat')[1]?.messages.at(-1)?.parts.at(-1)?.approval;
  assert.deepEqual(approval, {
    id: 'a-c',
    descriptor: approvalDescriptor,
    inputSchemaInput: { path: 'raw' },
    signature: 'v1.AbC/+=',
    approved: true,
  });
});

test('a response that ends after the request without finish', async (t) => {
  const { say, asked, answer, ended } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1 ? reply.all(start('m'), step, ...asking('c')) : reply.all(start('m'), output('c', 1), step, ...said('ok'), finish()),
    },
  });
  const id = say('go');
  answer(await asked(), 'allow');
  assert.equal(textOf(await ended(id)), 'ok');
});

test('always: the same tool is not asked about again in this conversation', async (t) => {
  const { say, asked, answer, ended, prompt, events } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) =>
        n % 2 === 1
          ? reply.all(start(`m${n}`), step, ...asking(`c${n}`), ...end)
          : reply.all(start(`m${n - 1}`), output(`c${n - 1}`, 1), step, ...said('ok'), finish('stop')),
    },
  });
  const id = say('go');
  answer(await asked(), 'always');
  await ended(id);
  assert.equal((await prompt()).status, 'done');
  assert.equal(events.filter((event) => event.type === 'ask.opened').length, 1);
});

for (const approved of [true, false]) {
  test(`data-part only, ${approved ? 'allowed' : 'refused'}: the answer goes beside the history, the call stays open in it`, async (t) => {
    const data = {
      type: 'data-tool-call-approval',
      id: 'c',
      data: { state: 'suspended', runId: 'run1', toolCallId: 'c', toolName: 'rm', args: { path: 'x' } },
    };
    const { server, say, asked, answer, ended } = await talk(t, {
      routes: {
        '/api/chat': (reply, _, n) =>
          n === 1
            ? reply.all(start('m'), step, called('c', 'rm', { path: 'x' }), data, stepEnd, finish('tool-calls'))
            : reply.all(
                approved ? output('c', 'gone') : { type: 'tool-output-denied', toolCallId: 'c' },
                step,
                ...said('ok'),
                finish('stop'),
              ),
      },
    });
    const id = say('go');
    const ask = await asked();
    assert.equal(ask.title, 'rm');
    answer(ask, approved ? 'allow' : { kind: 'option', optionId: 'reject', feedback: 'no' });
    const done = await ended(id);
    assert.deepEqual([done.status, call(done, 'c').status], ['done', approved ? 'done' : 'rejected']);
    const body = server.bodies('/api/chat')[1]!;
    assert.deepEqual([body.resumeData, body.runId], [approved ? { approved } : { approved, reason: 'no' }, 'run1']);
    assert.equal(body.messages.at(-1)?.parts[1]?.state, 'input-available');
  });
}

test('both kinds at once: asked once, the native one is answered', async (t) => {
  const data = { type: 'data-tool-call-approval', data: { runId: 'r', toolCallId: 'c', toolName: 'delete_file', args: {} } };
  const { server, say, asked, answer, ended, events } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply.all(start('m'), step, ...asking('c'), data, ...end)
          : reply.all(start('m'), output('c', 1), step, ...said('ok'), finish('stop')),
    },
  });
  const id = say('go');
  answer(await asked(), 'allow');
  await ended(id);
  assert.equal(events.filter((event) => event.type === 'ask.opened').length, 1);
  assert.equal('resumeData' in server.bodies('/api/chat')[1]!, false);
});

test('a stop while asked, then a new message: the open approval is posted as an error', async (t) => {
  const { server, say, asked, stop, ended, prompt, now } = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) => (n === 1 ? reply.all(start('m'), step, ...asking('c'), ...end) : reply.all(...said('ok'), finish())),
    },
  });
  const id = say('go');
  await asked();
  stop();
  assert.deepEqual([(await ended(id)).status, now().asks.length], ['cancelled', 0]);
  await prompt('something else');
  const part = server.bodies('/api/chat')[1]?.messages[1]?.parts[1];
  assert.deepEqual([part?.state, part?.approval, typeof part?.errorText], ['output-error', undefined, 'string']);
});

test('an approval for a tool of ours: it runs only when allowed', async (t) => {
  let ran = 0;
  const tool = echoTool('delete_file', async () => ({ ok: true, text: String(++ran) }));
  const { server, say, asked, answer, ended } = await talk(t, {
    tools: [tool],
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1 ? reply.all(start('m'), step, ...asking('c'), ...end) : reply.all(start('m'), step, ...said('ok'), finish('stop')),
    },
  });
  const id = say('go');
  const ask = await asked();
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(ran, 0);
  answer(ask, 'allow');
  await ended(id);
  assert.equal(ran, 1);
  const part = server.bodies('/api/chat')[1]?.messages.at(-1)?.parts.at(-1);
  assert.deepEqual([part?.state, part?.output, part?.approval], ['output-available', '1', { id: 'a-c', approved: true }]);
});

test('a continuation that is cut after an answered approval fails with Retry; cut while asked, the answer still goes out', async (t) => {
  const after = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply.all(start('m'), step, ...asking('c'), ...end)
          : reply
              .open()
              .send(start('m'), output('c', 1), step, ...said('so'))
              .cut(),
    },
  });
  const id = after.say('go');
  after.answer(await after.asked(), 'allow');
  const turn = await after.ended(id);
  assert.deepEqual([turn.status, turn.error?.next], ['failed', ['retry']]);
  const during = await talk(t, {
    routes: {
      '/api/chat': (reply, _, n) =>
        n === 1
          ? reply
              .open()
              .send(start('m'), step, ...asking('c'))
              .cut()
          : reply.all(start('m'), output('c', 1), step, ...said('ok'), finish()),
    },
  });
  const second = during.say('go');
  during.answer(await during.asked(), 'allow');
  assert.equal(textOf(await during.ended(second)), 'ok');
});

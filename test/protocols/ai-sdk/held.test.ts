import assert from 'node:assert/strict';
import { test } from 'node:test';
import { called, finish, output, type Reply, type Route, said, start, step, stepEnd } from '../../fakes/aiSdk.ts';
import { call, echoTool, talk, textOf } from './talk.ts';

// Which addresses for results are tried, and in which order, shows on the connection only.

const tool = echoTool('look');
const look = (id: string, more: object = {}) => called(id, 'look', { path: id }, more);
const RESULT = '/api/chat/tool-result';

/** A server that keeps its response open until these calls are answered, and takes answers at `path` from the `after`th request on. */
function holding(
  ids: readonly string[],
  options: { readonly path?: string; readonly after?: number; readonly more?: object } = {},
): Record<string, Route> {
  const results = new Map<string, unknown>();
  let held: Reply | undefined;
  const path = options.path ?? RESULT;
  return {
    '/api/chat': (reply) => {
      held = reply.open().send(start('m'), step, ...ids.map((id) => look(id, options.more)));
    },
    [path]: (reply, { body }, n) => {
      if (n < (options.after ?? 0)) return reply.json(404, { error: 'not waiting' });
      const { tool_call_id: id = '', result, is_error: isError } = body;
      results.set(id, result);
      reply.json(200, { ok: true });
      held?.send(isError ? { type: 'tool-output-error', toolCallId: id, errorText: 'An error occurred.' } : output(id, result));
      if (results.size === ids.length) held?.send(stepEnd, step, ...said('Thank you.'), stepEnd, finish('stop')).done();
      return undefined;
    },
  };
}

test('an immediate result that is answered 404 three times, then taken', async (t) => {
  const { server, prompt } = await talk(t, { tools: [tool], options: { toolFlow: 'held' }, routes: holding(['c'], { after: 4 }) });
  const turn = await prompt();
  assert.deepEqual([turn.status, textOf(turn), call(turn, 'c').status], ['done', 'Thank you.', 'done']);
  const posts = server.bodies(RESULT);
  assert.equal(posts.length, 4);
  assert.deepEqual(posts[3], {
    session_id: server.bodies('/api/chat')[0]?.id,
    tool_call_id: 'c',
    result: { got: { path: 'c' } },
    is_error: false,
  });
  assert.equal(server.bodies('/api/chat').length, 1);
});

const refusing: Readonly<Record<string, Route>> = {
  'wants a key': (reply) => reply.json(401, { error: 'who are you' }),
  'refuses the request': (reply) => reply.json(422, { error: 'what is that' }),
  'sends to a login': (reply) => reply.json(302, {}, { location: '/login' }),
  'answers everything with a page': (reply) => {
    reply.response.writeHead(200, { 'content-type': 'text/html' });
    reply.response.end('<!doctype html><title>App</title>');
  },
};
for (const [what, other] of Object.entries(refusing)) {
  test(`the right address says "not yet", the other one ${what}: the result is not lost`, async (t) => {
    const { server, prompt } = await talk(t, {
      tools: [tool],
      options: { toolFlow: 'held' },
      routes: { ...holding(['c'], { after: 4 }), '/chat/tool-result': other },
    });
    const turn = await prompt();
    assert.deepEqual([turn.status, textOf(turn)], ['done', 'Thank you.']);
    assert.deepEqual([server.bodies(RESULT).length, server.bodies('/chat/tool-result').length], [4, 1]);
  });
}

const noes: Readonly<Record<string, Route>> = Object.fromEntries(
  [400, 403, 404, 408, 409, 410, 200].map((status) => [
    String(status),
    (reply: Reply) => reply.json(status, status === 200 ? { ok: false, error: 'timed out' } : { error: 'timed out' }),
  ]),
);
for (const [status, no] of Object.entries(noes)) {
  test(`a server that answers a result with ${status} and goes on without it: the card says so, and the model answers once`, async (t) => {
    let held: Reply | undefined;
    const goesOn: Route = (reply, body, n) => {
      no(reply, body, n);
      held?.send(...said('Gave up.'), stepEnd, finish('stop')).done();
      held = undefined;
    };
    const { server, prompt, events } = await talk(t, {
      tools: [tool],
      routes: {
        '/api/chat': (reply) => {
          held = reply.open().send(start('m'), step, look('c', { state: 'requires-action' }));
        },
        [RESULT]: no,
        '/chat/tool-result': goesOn,
      },
    });
    const turn = await prompt();
    assert.deepEqual([turn.status, textOf(turn), call(turn, 'c').status], ['done', 'Gave up.', 'failed']);
    assert.match(call(turn, 'c').error?.message ?? '', /timed out/);
    assert.equal(events.filter((event) => event.type === 'notice' && event.notice.text.includes('timed out')).length, 1);
    assert.equal(server.bodies('/api/chat').length, 1);
  });
}

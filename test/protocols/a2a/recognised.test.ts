import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asks, call, fakeAgent, type Json, over } from '../../fakes/a2a.ts';
import { option, talk } from './talk.ts';

test('what would change a file or run outside the workspace says so where it is asked', async (t) => {
  const outside: Json = { ...(asks.confirmation_request as Json), file_edit_details: undefined };
  const requests = [
    asks,
    { confirmation_request: { ...outside, execute_details: { command: 'ls', working_directory: '/etc' } } },
    { confirmation_request: { ...outside, execute_details: { command: 'ls', working_directory: '.' } } },
  ];
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply, at) => {
        const request = at % 2 === 0 ? requests[at / 2] : undefined;
        if (request) reply.record(call('PENDING', { ...request, tool_call_id: `k${at}` }));
        reply.record(over(request ? 'input-required' : 'completed'));
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const titles: string[] = [];
  for (const _ of requests) {
    const turnId = session.begin('go');
    const ask = await session.approval();
    titles.push(ask.title);
    session.answer(ask, option(ask, 'allow_once'));
    await session.ended(turnId);
  }
  assert.deepEqual(titles, ['write_file (outside the workspace)', 'write_file (outside the workspace)', 'write_file']);
});

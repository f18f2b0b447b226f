import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Credentials } from '../../../src/protocols/a2a/credentials.ts';
import type { AdapterContext } from '../../../src/protocols/adapter.ts';
import { fakeAgent, over, status, text } from '../../fakes/a2a.ts';
import { talk, textOf } from './talk.ts';

const says = (words: string) => status('working', 'TEXT_CONTENT', [text(words)]);

for (const code of [429, 503])
  test(`${code}, again and again: what was sent is sent once more, then the user is told`, async (t) => {
    let refused = 0;
    const agent = await fakeAgent(t, {
      before: (_, response, body) => {
        if (!body.includes('message/stream')) return false;
        refused += 1;
        response.writeHead(code, { 'retry-after': '0' }).end('still busy');
        return true;
      },
    });
    const turn = await talk(t, agent.url).prompt('hi');
    assert.deepEqual([turn.status, /still busy/.test(turn.error?.message ?? ''), refused], ['failed', true, 2]);
  });

test('a last record that no blank line follows is heard', async (t) => {
  const agent = await fakeAgent(t, {
    on: {
      'message/stream': (_, reply) => {
        reply.record(says('All of it.'));
        reply.raw(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: over() })}`);
        reply.end();
      },
    },
  });
  const turn = await talk(t, agent.url).prompt('go');
  assert.deepEqual([turn.status, textOf(turn)], ['done', 'All of it.']);
  assert.equal(agent.requests('tasks/resubscribe').length, 0);
});

test('neither the headers of the settings nor a secret go to another origin', () => {
  const headers = { authorization: 'Bearer mine' };
  const context = {} as unknown as AdapterContext;
  const questions = { ask: () => Promise.resolve({ kind: 'cancelled' } as const) };
  const credentials = new Credentials({ context, origin: 'https://agent.example', headers, questions });
  const to = (url: string) => credentials.sign({ method: 'POST', url }).request.headers;
  assert.deepEqual(to('https://agent.example/rpc'), headers);
  for (const url of ['https://elsewhere.example/rpc', 'http://agent.example/rpc', 'https://agent.example:8443/'])
    assert.equal(to(url), undefined);
});

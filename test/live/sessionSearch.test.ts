import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessionOfRecording } from '../../src/live/recording.ts';
import { SessionSearch } from '../../src/live/sessionSearch.ts';
import type { Session } from '../../src/session/model.ts';
import { newSession } from '../../src/session/reduce.ts';
import { session, textPart, turn } from '../webview/page/sessions.ts';

const sessions: Readonly<Record<string, Session>> = {
  a: session({ turns: [turn({ prompt: [{ type: 'text', text: 'Make the PORT optional' }] })] }),
  b: session({ turns: [turn({ parts: [textPart('The harbour is optional too.')] })] }),
};
const line = (id: string, title = '', at = 1) => ({ id, title, at });

test('titles and what was said are searched for every word; texts are read once until the session changes', async () => {
  const read: string[] = [];
  const search = new SessionSearch(
    async (id) => {
      read.push(id);
      if (id === 'gone') throw new Error('damaged');
      return sessions[id];
    },
    () => 0,
  );
  const all = [line('a'), line('b'), line('gone'), line('c', 'Port of call')];
  const ids = async (query: string, list = all) => (await search.find(query, list)).map(({ id }) => id);
  assert.deepEqual(await ids('  '), ['a', 'b', 'gone', 'c']);
  assert.deepEqual(read, []);
  assert.deepEqual(await ids('port'), ['a', 'c']);
  assert.deepEqual(await ids('optional PORT'), ['a']);
  assert.deepEqual(await ids('harbour'), ['b']);
  assert.deepEqual(read, ['a', 'b', 'gone', 'c'], 'once, and only where the title does not tell');
  await ids('harbour', [line('b', '', 2)]);
  assert.equal(read.at(-1), 'b', 'it has changed since');
});

test('a search ends in time, with what was found so far', async () => {
  let now = 0;
  const search = new SessionSearch(
    async () => {
      now += 5000;
      return sessions.a;
    },
    () => now,
  );
  const found = await search.find('port', [line('a'), line('x'), line('y', 'portable')]);
  assert.deepEqual(
    found.map(({ id }) => id),
    ['a', 'y'],
  );
});

test('a recording becomes the session it recorded; lines that are none are left out', () => {
  const start = newSession('r', { protocol: 'p', name: 'A' }, '/');
  const events = [
    { event: { type: 'turn.started', turnId: 't', at: 1, prompt: [{ type: 'text', text: 'Hello' }] } },
    { intent: { type: 'cancel' } },
    { event: { type: 'text.delta', turnId: 't', kind: 'text', partId: 'p', text: 'Hi.' } },
    { event: { type: 'no such event' } },
    { event: { type: 'turn.ended', turnId: 't', at: 2, status: 'done' } },
  ];
  const text = `${events.map((one) => JSON.stringify(one)).join('\n')}\n{"event":\nnull\n`;
  const recorded = sessionOfRecording(text, start);
  assert.deepEqual(
    recorded?.turns.map(({ status, parts }) => [status, parts.length]),
    [['done', 1]],
  );
  assert.equal(sessionOfRecording('{"a":1}\n', start), undefined);
});

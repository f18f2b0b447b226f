import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { TemplateParser } from '../../src/transport/alike.ts';
import { openRpc } from '../../src/transport/jsonrpc.ts';
import { ScriptedChannel, settled } from './scriptedChannel.ts';

const PATH = ['params', 'piece', 'text'];
const lineOf = (text: string, of = 'm1') =>
  JSON.stringify({ jsonrpc: '2.0', method: 'grew', params: { piece: { type: 'text', text }, of, meta: { a: [1] } } });

/** Remembers the first line and reads the second. */
function readAfter(first: string, second: string): object | undefined {
  const alike = new TemplateParser(PATH);
  alike.note(first, JSON.parse(first));
  return alike.read(second);
}

test('a line that differs in its text only is read without the rest, and means what parsing it gives', () => {
  for (const text of ['more', '', 'one\ntwo "three" \\ \u0001', '…你好🙂', '\ud83d', '"}', 'm1', 'x'.repeat(100_000)]) {
    const line = lineOf(text);
    assert.deepEqual(readAfter(lineOf('some words'), line), JSON.parse(line));
  }
});

test('a message read is one of its own: the next one does not change it', () => {
  const alike = new TemplateParser(PATH);
  const line = lineOf('one');
  const first = JSON.parse(line);
  alike.note(line, first);
  const second = alike.read(lineOf('two'));
  const third = alike.read(lineOf('three'));
  assert.deepEqual(
    [first, second, third],
    [lineOf('one'), lineOf('two'), lineOf('three')].map((one) => JSON.parse(one)),
  );
});

test('a line that differs anywhere else is left to be parsed whole', () => {
  const first = lineOf('some words');
  const others = [
    lineOf('more', 'm2'),
    `${lineOf('more')} `,
    lineOf('more').slice(0, -1),
    first.replace('"some words"', '5'),
    first.replace('"some words"', '"a","text":"b"'),
    first.replace('"some words"', '"a'),
    first.replace('"some words"', '"a\u0001"'),
    first.replace('"some words"', '"\\x"'),
    first.replace('"some words"', ''),
    '"some words"',
    '',
  ];
  for (const line of others) assert.equal(readAfter(first, line), undefined, line);
});

test('where the place of the text is in doubt, the line is not remembered', () => {
  const doubtful = [
    lineOf('text'),
    lineOf('m1'),
    lineOf('a\nb'),
    // The only "a" in it is a name.
    '{"a":1,"params":{"piece":{"text":"\\u0061"}}}',
    // Two of one name: the last one counts, and here both are the same.
    '{"params":{"piece":{"text":"b","text":"b"}}}',
    '{"params":{"piece":{"text":7}}}',
    '{"params":{"piece":["text"]}}',
    '{"params":null}',
    '[]',
    '"text"',
    lineOf('x'.repeat(600)),
  ];
  for (const line of doubtful) assert.equal(readAfter(line, line), undefined, line.slice(0, 100));
});

test('of two members of one name the last one is the text, as in parsing', () => {
  const line = (first: string, last: string) => `{"params":{"piece":{"text":"${first}","text":"${last}"}}}`;
  assert.deepEqual(readAfter(line('a', 'b'), line('a', 'c')), { params: { piece: { text: 'c' } } });
  assert.equal(readAfter(line('a', 'b'), line('c', 'b')), undefined);
});

test('over a connection: all messages in their order with what lies between them, each in the trace, requests answered, junk reported', async () => {
  const channel = new ScriptedChannel();
  const [heard, traced, junk]: [unknown[], unknown[], string[]] = [[], [], []];
  const { connection } = openRpc(channel, {
    log: silentLog,
    textAt: PATH,
    trace: (way, message) => way === 'in' && traced.push(message),
    first: (message) => {
      if ('id' in message) return false;
      heard.push(message);
      return true;
    },
    onJunk: (text) => junk.push(text),
  });
  connection.onRequest((method, params) => {
    heard.push({ method, params });
    return { got: params };
  });
  const asked = (id: string, text: string) => ({ jsonrpc: '2.0', id, method: 'asked', params: { piece: { text } } });
  const broken = lineOf('broken').replace('"broken"', '"bro"ken"');
  channel.say(
    lineOf('one'),
    lineOf('two'),
    asked('a', 'first'),
    asked('a2', 'first'),
    lineOf('three'),
    broken,
    lineOf('four'),
    lineOf('five'),
  );
  await settled();
  const grew = (text: string) => JSON.parse(lineOf(text));
  const took = (text: string) => ({ method: 'asked', params: { piece: { text } } });
  assert.deepEqual(heard, [grew('one'), grew('two'), took('first'), took('first'), grew('three'), grew('four'), grew('five')]);
  assert.equal(traced.length, 7);
  assert.deepEqual(traced.at(-1), grew('five'));
  assert.deepEqual(junk, [broken]);
  assert.deepEqual(
    channel.out.map(({ id, result }) => [id, result]),
    ['a', 'a2'].map((id) => [id, { got: { piece: { text: 'first' } } }]),
  );
});

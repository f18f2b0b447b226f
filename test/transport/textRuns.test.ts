import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { openRpc } from '../../src/transport/jsonrpc.ts';
import { TextRuns } from '../../src/transport/textRuns.ts';
import { ScriptedChannel, settled } from './scriptedChannel.ts';

const PATH = ['params', 'piece', 'text'];
const lineOf = (text: string, of = 'm1') =>
  JSON.stringify({ jsonrpc: '2.0', method: 'grew', params: { piece: { type: 'text', text }, of, meta: { a: [1] } } });

/** Remembers the first line and adds the others; what comes of them, or undefined when one of them is no such line. */
function runOf(first: string, ...others: readonly string[]): object | undefined {
  const runs = new TextRuns(() => PATH);
  runs.note(first, JSON.parse(first));
  return others.every((line) => runs.add(line)) ? runs.take() : undefined;
}

test('a line that differs in its text only is read without the rest, and means what parsing it gives', () => {
  for (const text of ['more', '', 'one\ntwo "three" \\ \u0001', '…你好🙂', '\ud83d', '"}', 'm1', 'x'.repeat(100_000)]) {
    const line = lineOf(text);
    assert.deepEqual(runOf(lineOf('some words'), line), JSON.parse(line));
  }
});

test('lines that are alike are one message with all their texts, also where a character is cut in two', () => {
  const texts = ['one ', '', 'two\n', '"three"', '\ud83d', '\ude42', ' end'];
  assert.deepEqual(runOf(lineOf('first'), ...texts.map((text) => lineOf(text))), JSON.parse(lineOf(texts.join(''))));
});

test('a message is one of its own: the next one does not change it', () => {
  const runs = new TextRuns(() => PATH);
  const lines = [lineOf('one'), lineOf('two'), lineOf('three')] as const;
  const first = JSON.parse(lines[0]);
  runs.note(lines[0], first);
  assert.equal(runs.take(), undefined);
  runs.add(lines[1]);
  const second = runs.take();
  runs.add(lines[2]);
  const third = runs.take();
  assert.deepEqual(
    [first, second, third],
    lines.map((line) => JSON.parse(line)),
  );
  assert.equal(runs.take(), undefined);
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
    first.replace('"some words"', '"\\"'),
    first.replace('"some words"', ''),
    '"some words"',
    '',
  ];
  for (const line of others) assert.equal(runOf(first, line), undefined, line);
});

test('where the place of the text is in doubt, or nothing goes on by texts, the line is not remembered', () => {
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
  for (const line of doubtful) assert.equal(runOf(line, line), undefined, line.slice(0, 100));
  const runs = new TextRuns(() => undefined);
  runs.note(lineOf('one'), JSON.parse(lineOf('one')));
  assert.equal(runs.add(lineOf('two')), false);
});

test('of two members of one name the last one is the text, as in parsing', () => {
  const line = (first: string, last: string) => `{"params":{"piece":{"text":"${first}","text":"${last}"}}}`;
  assert.deepEqual(runOf(line('a', 'b'), line('a', 'c')), { params: { piece: { text: 'c' } } });
  assert.equal(runOf(line('a', 'b'), line('c', 'b')), undefined);
});

test('over a connection: pieces that arrive together are one, all else is in its order and in the trace, requests answered, junk reported', async () => {
  const channel = new ScriptedChannel();
  const [heard, traced, junk]: [unknown[], unknown[], string[]] = [[], [], []];
  const { connection } = openRpc(channel, {
    log: silentLog,
    textPath: () => PATH,
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
  assert.deepEqual(heard, [grew('one'), grew('two'), took('first'), took('first'), grew('three'), grew('fourfive')]);
  assert.equal(traced.length, 6);
  assert.deepEqual(traced.at(-1), grew('fourfive'));
  assert.deepEqual(junk, [broken]);
  assert.deepEqual(
    channel.out.map(({ id, result }) => [id, result]),
    ['a', 'a2'].map((id) => [id, { got: { piece: { text: 'first' } } }]),
  );
});

test('over a connection: pieces are told of before anything else happens, and before the connection closes', async () => {
  const channel = new ScriptedChannel();
  const heard: unknown[] = [];
  openRpc(channel, { log: silentLog, textPath: () => PATH, first: (message) => heard.push(message) > 0 });
  channel.say(lineOf('one'), lineOf('two'), lineOf('three'));
  assert.equal(heard.length, 1);
  await Promise.resolve();
  assert.deepEqual(heard[1], JSON.parse(lineOf('twothree')));
  channel.say(lineOf('four'));
  channel.close({ reason: 'It ended.', failure: 'ended', code: 0, stderr: '' });
  assert.deepEqual(heard[2], JSON.parse(lineOf('four')));
});

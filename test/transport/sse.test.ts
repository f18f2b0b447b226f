import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SseEvent, type SseOptions, SseReader } from '../../src/transport/sse.ts';

function read(chunks: readonly (string | Buffer)[], options?: SseOptions): SseEvent[] {
  const events: SseEvent[] = [];
  const reader = new SseReader((event) => events.push(event), options);
  for (const chunk of chunks) reader.push(Buffer.from(chunk as string));
  reader.end();
  return events;
}

const SAMPLE =
  '\uFEFF: open\n\ndata: {"a":"é漢😀"}\n\nevent: error\r\nid: 7\r\ndata: one\r\ndata:two\r\n\r\ndata: x\u2028y\u2029z\r\rdata\n\nretry: 5\n\ndata:  spaced';
const EXPECTED: readonly SseEvent[] = [
  { data: '{"a":"é漢😀"}' },
  { data: 'one\ntwo', event: 'error', id: '7' },
  { data: 'x\u2028y\u2029z' },
  { data: '' },
  { data: ' spaced' },
];

test('every two-cut split of the bytes gives the same events', () => {
  const bytes = Buffer.from(SAMPLE);
  for (let a = 0; a <= bytes.length; a++) {
    for (let b = a; b <= bytes.length; b++) {
      assert.deepEqual(read([bytes.subarray(0, a), bytes.subarray(a, b), bytes.subarray(b)]), EXPECTED, `cut at ${a} and ${b}`);
    }
  }
});

test('fragments of 1 byte give the same events', () => {
  assert.deepEqual(read([...Buffer.from(SAMPLE)].map((byte) => Buffer.from([byte]))), EXPECTED);
});

test('comments are a sign of life and no events', () => {
  const comments: string[] = [];
  assert.deepEqual(read([': keep-alive\n\n:\n\ndata: 1\n: inside\ndata: 2\n\n'], { onComment: (text) => comments.push(text) }), [
    { data: '1\n2' },
  ]);
  assert.deepEqual(comments, ['keep-alive', '', 'inside']);
});

test('a last event without its blank line is an event', () => {
  assert.deepEqual(read(['data: 1\n\ndata: 2\n']), [{ data: '1' }, { data: '2' }]);
  assert.deepEqual(read(['data: 1\n\ndata: 2']), [{ data: '1' }, { data: '2' }]);
});

test('an event beyond the limit is left out with a notice, and what follows is read', () => {
  const limits: number[] = [];
  const options = { limit: 10, onTooLong: (limit: number) => limits.push(limit) };
  const lines = [
    `data: ${'x'.repeat(40)}`,
    'data: more',
    '',
    'data: 12345',
    'data: 67890',
    '',
    'data: 12345',
    'data: 678901',
    '',
    'data: short',
  ];
  for (const end of ['\n', '\r\n', '\r']) {
    const text = lines.join(end);
    for (const size of [1, 3, 7, 1000]) {
      limits.length = 0;
      const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
      assert.deepEqual(read(pieces, options), [{ data: '12345\n67890' }, { data: 'short' }], `${JSON.stringify(end)} in pieces of ${size}`);
      assert.deepEqual(limits, [10, 10]);
    }
  }
});

test('a 20 MB event is read whole', () => {
  const big = 'a'.repeat(20 * 1024 * 1024);
  const bytes = Buffer.from(`data: ${big}\n\ndata: after\n\n`);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 65_536) chunks.push(bytes.subarray(at, at + 65_536));
  const events = read(chunks);
  assert.equal(events[0]?.data.length, big.length);
  assert.deepEqual(events[1], { data: 'after' });
});

test('bytes that are not UTF-8 become a replacement character and nothing is lost around them', () => {
  assert.deepEqual(read([Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0x61, 0xff, 0x62, 0x0a, 0x0a])]), [{ data: 'a\ufffdb' }]);
});

test('peers that leave the blank lines out are read line by line when asked', () => {
  assert.deepEqual(read(['data: 1\ndata: 2\n\ndata: 3'], { eachLine: true }), [{ data: '1' }, { data: '2' }, { data: '3' }]);
  assert.deepEqual(read(['data: 1\ndata: 23456\ndata: 3\n'], { eachLine: true, limit: 4 }), [{ data: '1' }, { data: '3' }]);
});

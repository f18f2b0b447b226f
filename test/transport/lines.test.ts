import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lines, LineTooLong, toLine } from '../../src/transport/lines.ts';

function cut(chunks: readonly Uint8Array[], limit?: number): string[] {
  const got: string[] = [];
  const lines = new Lines((line) => got.push(line), limit === undefined ? {} : { limit });
  for (const chunk of chunks) lines.push(chunk);
  lines.end();
  return got;
}

const messages = ['{"a":"ü€😀"}', '{"b":"one\u2028two\u2029three"}', 'not json', '{"c":"\\u0000\\ud800"}'];
const bytes = Buffer.from(`${messages[0]}\n\n${messages[1]}\r\n${messages[2]}\n\r\n${messages[3]}\n`);

test('every way to cut the bytes in three gives the same lines', () => {
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const got = cut([bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]);
      assert.deepEqual(got, messages, `cut at ${first} and ${second}`);
    }
  }
});

test('one byte at a time gives the same lines', () => {
  assert.deepEqual(cut(Array.from(bytes, (byte) => Uint8Array.of(byte))), messages);
});

test('U+2028 does not end a line', () => {
  assert.deepEqual(cut([Buffer.from('a\u2028b\u2029c\u0085d\n')]), ['a\u2028b\u2029c\u0085d']);
});

test('bytes that are not UTF-8 become replacement characters and cost no other line', () => {
  assert.deepEqual(cut([Buffer.from([0x61, 0xff, 0x62, 0x0a, 0xe2, 0x82, 0x0a, 0x63, 0x0a])]), ['a\ufffdb', '\ufffd', 'c']);
});

test('only one carriage return is dropped', () => {
  assert.deepEqual(cut([Buffer.from('a\r\r\nb\rc\n')]), ['a\r', 'b\rc']);
});

test('half a message at the end is given when the stream ends', () => {
  assert.deepEqual(cut([Buffer.from('whole\nhal'), Buffer.from('f')]), ['whole', 'half']);
});

test('a line beyond the limit fails as soon as it is seen, without waiting for its end', () => {
  assert.throws(() => cut([Buffer.alloc(60, 97), Buffer.alloc(41, 97)], 100), LineTooLong);
  assert.throws(() => cut([Buffer.alloc(101, 97)], 100), LineTooLong);
  assert.deepEqual(cut([Buffer.from(`${'a'.repeat(100)}\nb\n`)], 100), ['a'.repeat(100), 'b']);
});

test('where somebody is told, a line that is too long is passed over, wherever it is cut, and costs no other line', () => {
  const whole = Buffer.from(`first\n${'x'.repeat(30)}\nsecond\n\n${'y'.repeat(12)}\nthird\n${'z'.repeat(11)}`);
  for (let size = 1; size <= whole.length; size += 1) {
    const got: string[] = [];
    const told: number[] = [];
    const lines = new Lines((line) => got.push(line), { limit: 10, onTooLong: (limit) => told.push(limit) });
    for (let at = 0; at < whole.length; at += size) lines.push(whole.subarray(at, at + size));
    lines.end();
    assert.deepEqual(got, ['first', 'second', 'third'], `in pieces of ${size}`);
    assert.deepEqual(told, [10, 10, 10], `in pieces of ${size}`);
  }
});

test('100 MB in one line arrive whole', () => {
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  const got = cut([...Array.from({ length: 100 }, () => chunk), Buffer.from('\nnext\n')]);
  assert.equal(got.length, 2);
  assert.equal(got[0]?.length, 100 * 1024 * 1024);
  assert.equal(got[1], 'next');
});

test('outgoing text holds no character that a reader may take for a line end', () => {
  const value = { text: 'a\u2028b\u2029c\nd' };
  const line = toLine(value);
  assert.doesNotMatch(line, /[\n\u2028\u2029]/);
  assert.deepEqual(JSON.parse(line), value);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasMixedEnds, inMannerOf, losesEnds, mannerOf, plain } from '../../src/session/lineEnds.ts';
import { mergedWithEnds } from '../../src/session/merge.ts';
import { afterText, compareTexts, hunksOfSegments, settleHunks } from '../../src/session/segments.ts';
import { type Random, randomFrom } from '../random.ts';

const CASES = 4000;

/** Few words, so that lines repeat with other ends; form feeds and the like are words of a line. */
const line = (random: Random): string =>
  (['a', 'b', '', '\f', 'x\u2028y', '\u0085'][random(6)] ?? '') + (['\n', '\r\n', '\n', '\r\n', '\r'][random(5)] ?? '');

function randomLines(random: Random): readonly string[] {
  const lines = Array.from({ length: random(14) }, () => line(random));
  return random(2) === 0 ? lines : [...lines, 'no end'];
}

function changed(lines: readonly string[], random: Random): readonly string[] {
  const next = [...lines];
  for (let time = random(5); time > 0; time -= 1) {
    next.splice(random(next.length), random(3), ...Array.from({ length: random(3) }, () => line(random)));
  }
  return next;
}

test('texts with different line ends: undoing all hunks gives the old bytes, keeping all the new ones, any order of both the same', () => {
  for (let seed = 0; seed < CASES; seed += 1) {
    const random = randomFrom(seed);
    const lines = randomLines(random);
    const [before, after] = [lines.join(''), changed(lines, random).join('')];
    const manner = mannerOf(after);
    if (manner.name === 'plain') continue;
    const segments = compareTexts(manner.read(before), manner.read(after));
    const settled = (how: 'keep' | 'undo') => manner.write(afterText(settleHunks(segments, () => true, how)), after);
    assert.deepEqual([settled('undo'), settled('keep')], [before, after], `seed ${seed}`);
    const hunks = hunksOfSegments(segments).map(({ hunk }) => hunk);
    const undone = new Set(hunks.filter(() => random(2) === 0));
    const atOnce = afterText(settleHunks(segments, (hunk) => undone.has(hunk), 'undo'));
    const oneByOne = [...undone].reverse().reduce((now, one) => settleHunks(now, (hunk) => hunk === one, 'undo'), segments);
    assert.equal(afterText(oneByOne), atOnce, `seed ${seed}`);
  }
});

test('a text takes the ends of the file it is written to, line by line where these differ', () => {
  for (let seed = 0; seed < CASES; seed += 1) {
    const text = randomLines(randomFrom(seed)).join('');
    assert.equal(inMannerOf(plain(text), text), text, `seed ${seed}`);
  }
  const mixed = 'a\r\nb\nc\r\nd\re';
  assert.equal(inMannerOf('a\nb\nnew\nc\nd\ne', mixed), 'a\r\nb\nnew\r\nc\r\nd\re');
  assert.equal(inMannerOf('b\nc', mixed), 'b\nc');
  assert.equal(inMannerOf('a\nb\nc\nd\ne\nnew', mixed), 'a\r\nb\nc\r\nd\re\r\nnew');
  assert.equal(inMannerOf('a\nnew\n', 'a\r\nb\r\n'), 'a\r\nnew\r\n');
});

test('lone carriage returns end lines, as in the editor; what else separates lines elsewhere does not', () => {
  assert.equal(plain('a\r\r\nb\rc\fd\u2028e\u0085f'), 'a\n\nb\nc\fd\u2028e\u0085f');
  assert.deepEqual(['a\nb\n', 'a\r\nb\r\n', 'a\rb\r', 'a', '', 'a\r\n', 'a\rb', 'a\u2028b\n'].map(hasMixedEnds), [
    false,
    false,
    false,
    false,
    false,
    false,
    false,
    false,
  ]);
  assert.deepEqual(['a\nb\r\n', 'a\r\nb\n', 'a\rb\n', 'a\nb\r', 'a\r\r\n', 'a\rb\r\n'].map(hasMixedEnds), Array(6).fill(true));
  assert.deepEqual(['a\rb\r', 'a\rb', 'a\r\nb\n', 'a\r\n', 'a\nb', ''].map(losesEnds), [true, true, true, false, false, false]);
});

test('lines that stand for as many others get their ends, and those that are more get what most lines have', () => {
  const like = 'a\nb\r\nc\n';
  assert.equal(inMannerOf('a\nB\nc\n', like), 'a\nB\r\nc\n');
  assert.equal(inMannerOf('a\nB\nnew\nc\n', like), 'a\nB\nnew\nc\n');
  assert.equal(inMannerOf('a\nB\nC', 'a\nb\r\nc'), 'a\nB\r\nC');
});

test('what was made of a text with different ends is written into a newer one, in which each other line keeps its end', () => {
  const base = 'a\r\nb\nc\r\nd\n';
  assert.equal(mergedWithEnds(`${base}mine\r`, base, 'a\r\nB\r\nc\r\nd\n'), 'a\r\nB\r\nc\r\nd\nmine\r');
  assert.equal(mergedWithEnds('\uFEFFa\r\nb\n', 'a\nb\n', 'a\nnew\nb\n'), '\uFEFFa\r\nnew\nb\n');
  assert.equal(mergedWithEnds('a\r\nX\nc\r\nd\n', base, 'a\r\nB\r\nc\r\nd\n'), undefined);
});

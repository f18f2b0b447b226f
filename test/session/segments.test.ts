import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  afterText,
  beforeText,
  compareTexts,
  type Hunk,
  hunksOfSegments,
  isWithoutOneHunk,
  type LineEdit,
  linesOf,
  type Segments,
  settleHunks,
  withUserEdit,
  withUserEdits,
  withUserText,
} from '../../src/session/segments.ts';

/** Deterministic numbers from a seed. */
function randomFrom(seed: number) {
  let state = Math.imul(seed + 1, 2654435761);
  return (below: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 1 | state) + 0x6d2b79f5) | 0;
    return below === 0 ? 0 : ((state ^ (state >>> 14)) >>> 0) % below;
  };
}
type Random = ReturnType<typeof randomFrom>;

/** Few different lines, so that they repeat and diffs are ambiguous; sometimes no text at all, sometimes no final line end. */
function randomText(random: Random): string {
  const lines = Array.from({ length: random(14) }, () => ['a', 'b', '', '}', '  x', '中😀'][random(6)] ?? '');
  return lines.join('\n') + (random(2) === 0 && lines.length > 0 ? '\n' : '');
}

function changed(text: string, random: Random): string {
  const lines = text.split('\n');
  for (let time = random(6); time > 0; time -= 1) {
    const fresh = Array.from({ length: random(3) }, () => ['a', 'b', 'agent', '', '}'][random(5)] ?? '');
    lines.splice(random(lines.length + 1), random(4), ...fresh);
  }
  return lines.join('\n');
}

function shuffled<T>(list: readonly T[], random: Random): readonly T[] {
  return list
    .map((value) => ({ value, at: random(1e6) }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}

const hunksIn = (segments: Segments): readonly Hunk[] => hunksOfSegments(segments).map(({ hunk }) => hunk);
const all = () => true;
const CASES = 4000;

test('both sides come out as they went in; keeping all gives the new text, undoing all the old one', () => {
  for (let seed = 0; seed < CASES; seed += 1) {
    const random = randomFrom(seed);
    const before = randomText(random);
    const after = changed(before, random);
    const segments = compareTexts(before, after);
    assert.deepEqual([beforeText(segments), afterText(segments)], [before, after], `seed ${seed}`);
    for (const [how, text] of [
      ['keep', after],
      ['undo', before],
    ] as const) {
      const settled = settleHunks(segments, all, how);
      assert.deepEqual([beforeText(settled), afterText(settled), hunksIn(settled).length], [text, text, 0], `seed ${seed}`);
    }
  }
});

test('hunks stand at the lines they name', () => {
  for (let seed = 0; seed < CASES; seed += 1) {
    const random = randomFrom(seed);
    const before = randomText(random);
    const after = changed(before, random);
    for (const { hunk, beforeLine, afterLine } of hunksOfSegments(compareTexts(before, after))) {
      assert.deepEqual(linesOf(before).slice(beforeLine, beforeLine + hunk.before.length), hunk.before, `seed ${seed}`);
      assert.deepEqual(linesOf(after).slice(afterLine, afterLine + hunk.after.length), hunk.after, `seed ${seed}`);
    }
  }
});

test('the same decisions in any order, one by one or together, make the same text', () => {
  for (let seed = 0; seed < CASES; seed += 1) {
    const random = randomFrom(seed);
    const before = randomText(random);
    const segments = compareTexts(before, changed(before, random));
    const decisions = hunksIn(segments).map((hunk) => ({ hunk, how: (['keep', 'undo', 'none'] as const)[random(3)] ?? 'none' }));
    const run = (list: typeof decisions): readonly string[] => {
      let now = segments;
      for (const { hunk, how } of list) if (how !== 'none') now = settleHunks(now, (one) => one === hunk, how);
      return [beforeText(now), afterText(now), String(hunksIn(now).length)];
    };
    const together = (['undo', 'keep'] as const).reduce(
      (now, how) => settleHunks(now, (one) => decisions.some((each) => each.hunk === one && each.how === how), how),
      segments,
    );
    const expected = [beforeText(together), afterText(together), String(hunksIn(together).length)];
    for (let time = 0; time < 3; time += 1) assert.deepEqual(run([...shuffled(decisions, random)]), expected, `seed ${seed}`);
  }
});

test('typing between decisions never loses a character of the user, and what is on the screen is what was typed', () => {
  for (let seed = 0; seed < CASES; seed += 1) {
    const random = randomFrom(seed);
    const before = randomText(random);
    let segments = compareTexts(before, changed(before, random));
    const typed: string[] = [];
    for (let step = 0; step < 8; step += 1) {
      const lines = linesOf(afterText(segments)).slice();
      const kind = random(4);
      if (kind === 0) {
        const hunks = hunksIn(segments);
        const chosen = hunks[random(hunks.length)];
        segments = settleHunks(segments, (one) => one === chosen, random(2) === 0 ? 'keep' : 'undo');
        continue;
      }
      // The user writes lines of their own, or into a line that stands there, and deletes only what is not theirs.
      const from = random(lines.length + 1);
      const line = lines[from];
      const own = `user${seed}.${step}`;
      const replaces = kind === 1 && line !== undefined && !line.includes('user');
      const fresh = kind === 2 && line !== undefined ? [`${line}${own}`] : [own, ...(random(2) === 0 ? [''] : [])];
      const to = from + (replaces || (kind === 2 && line !== undefined) ? 1 : 0);
      typed.push(own);
      lines.splice(from, to - from, ...fresh);
      segments = random(3) === 0 ? withUserText(segments, lines.join('\n')) : withUserEdit(segments, { from, to, lines: fresh });
      assert.equal(afterText(segments), lines.join('\n'), `seed ${seed}, step ${step}`);
    }
    for (const how of ['keep', 'undo'] as const) {
      const text = afterText(settleHunks(segments, all, how));
      for (const own of typed) assert.ok(text.includes(own), `seed ${seed}: ${how} loses ${own}`);
    }
    assert.equal(beforeText(settleHunks(segments, all, 'undo')), beforeText(segments));
  }
});

test('what the user deletes does not come back when a hunk elsewhere is undone', () => {
  const segments = compareTexts('one\ntwo\nthree\nfour', 'one\nTWO\nthree\nfour');
  const typed = withUserText(segments, 'one\nTWO\nfour');
  assert.equal(afterText(settleHunks(typed, all, 'undo')), 'one\ntwo\nfour');
});

test('a hunk that the user takes back by hand, or with the arrow of a diff, is no hunk any more', () => {
  const segments = compareTexts('a\none\ntwo\nz\n', 'a\nONE\nTWO\nmore\nz\n');
  const back = withUserText(segments, 'a\none\ntwo\nz\n');
  assert.deepEqual([hunksIn(back).length, beforeText(back)], [0, 'a\none\ntwo\nz\n']);
});

test('a line typed into the middle of a hunk stays when the hunk is undone', () => {
  const segments = compareTexts('a\nz', 'a\none\ntwo\nz');
  const typed = withUserEdit(segments, { from: 2, to: 2, lines: ['mine'] });
  assert.equal(afterText(typed), 'a\none\nmine\ntwo\nz');
  assert.equal(afterText(settleHunks(typed, all, 'undo')), 'a\nmine\nz');
  assert.equal(afterText(settleHunks(typed, all, 'keep')), 'a\none\nmine\ntwo\nz');
});

test('two texts that have nothing in common, and are large, are one hunk', () => {
  const lines = (word: string) => Array.from({ length: 30_000 }, (_, at) => `${word} ${at}`).join('\n');
  const segments = compareTexts(lines('a'), lines('b'));
  assert.equal(hunksIn(segments).length, 1);
  assert.equal(afterText(settleHunks(segments, all, 'undo')), lines('a'));
});

test('many edits at once are the same as one after the other, from the last to the first', () => {
  for (let seed = 0; seed < CASES; seed += 1) {
    const random = randomFrom(seed);
    const before = randomText(random);
    const segments = compareTexts(before, changed(before, random));
    const count = linesOf(afterText(segments)).length;
    const edits: LineEdit[] = [];
    for (let at = random(3); at <= count; ) {
      const to = Math.min(count, at + random(3));
      const lines = Array.from({ length: random(3) }, () => ['a', 'mine', '', '}'][random(4)] ?? '');
      edits.push({ from: at, to, lines });
      // At least one line stays between two of them.
      at = to + 1 + random(4);
    }
    const one = edits.reduceRight(withUserEdit, segments);
    const all = withUserEdits(segments, edits);
    assert.deepEqual([beforeText(all), afterText(all)], [beforeText(one), afterText(one)], `seed ${seed}`);
    assert.deepEqual(hunksOfSegments(all), hunksOfSegments(one), `seed ${seed}`);
  }
});

test('a text with one hunk undone is told from any other', () => {
  for (let seed = 0; seed < CASES; seed += 1) {
    const random = randomFrom(seed);
    const before = randomText(random);
    const segments = compareTexts(before, changed(before, random));
    const hunks = hunksIn(segments);
    const chosen = new Set(hunks.filter(() => random(2) === 0));
    const settled = afterText(settleHunks(segments, (hunk) => chosen.has(hunk), 'undo'));
    const text = random(4) === 0 ? changed(settled, random) : settled;
    const expected = hunks.some((hunk) => afterText(settleHunks(segments, (one) => one === hunk, 'undo')) === text);
    assert.equal(isWithoutOneHunk(segments, text), expected, `seed ${seed}`);
  }
});

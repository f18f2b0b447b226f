import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hunksOf } from '../../src/session/hunks.ts';
import { mergedInto } from '../../src/session/merge.ts';
import { randomFrom } from '../random.ts';

test('the hunks of an edit say what changed, however much it is', () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const next = randomFrom(seed);
    const before = Array.from({ length: 20 + next(1500) }, () => `line ${next(seed % 2 ? 40 : 100_000)}`);
    const keep = 1 + next(30);
    const after = before.flatMap((line) => (next(keep) > 0 ? [line] : next(2) ? [] : [`new ${next(50)}`, line].slice(0, 1 + next(2))));
    const sides = [before, after].map((lines) => lines.join('\n') + (lines.length > 0 ? '\n' : '')) as [string, string];
    const { hunks, added, removed, tooLong } = hunksOf({ path: 'a', before: sides[0], after: sides[1] });
    assert.equal(tooLong, undefined);
    let [oldLine, newLine, plus, minus] = [1, 1, 0, 0];
    for (const line of hunks.flat()) {
      // What stands between two hunks is the same on both sides.
      while (oldLine < (line.before ?? oldLine) && newLine < (line.after ?? newLine))
        assert.equal(before[oldLine++ - 1], after[newLine++ - 1]);
      if (line.sign !== '+') assert.deepEqual([line.before, before[oldLine - 1]], [oldLine++, line.text], `seed ${seed}`);
      if (line.sign !== '-') assert.deepEqual([line.after, after[newLine - 1]], [newLine++, line.text], `seed ${seed}`);
      if (line.sign === '+') plus += 1;
      if (line.sign === '-') minus += 1;
    }
    while (oldLine <= before.length || newLine <= after.length) assert.equal(before[oldLine++ - 1], after[newLine++ - 1]);
    assert.deepEqual([added, removed], [plus, minus]);
  }
});

test('hunks have three lines around them and are joined where they touch', () => {
  const lines = Array.from({ length: 2000 }, (_, at) => `line ${at}`);
  const changed = lines.map((line, at) => (at % 1000 < 400 ? `other ${at}` : line));
  const { hunks } = hunksOf({ path: 'a', before: lines.join('\n'), after: changed.join('\n') });
  assert.deepEqual(
    hunks.map((hunk) => [hunk.length, hunk[0]?.before, hunk.at(-1)?.after]),
    [
      [803, 1, 403],
      [806, 998, 1403],
    ],
  );
});

test('a merge of texts of 300,000 lines goes through', () => {
  const base = 'x\n'.repeat(300_000);
  assert.equal(mergedInto(`${base}mine\n`, base, `theirs\n${base}`), `theirs\n${base}mine\n`);
});

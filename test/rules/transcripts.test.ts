import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { filesUnder } from '../stages/files.ts';

/*
 * How many cases of the protocols are transcripts (`test/protocols/<x>/cases/*.txt`). The others are the `test(` of the folder's code, each line
 * counted once. A case stays code where it needs a socket, a process, a limit or random input.
 */
const FOLDER = 'test/protocols';
/** In percent. What all protocols have together, and what each has at least. */
const LEAST = { together: 80, each: 66 };

interface Counted {
  readonly protocol: string;
  readonly transcripts: number;
  readonly code: number;
}
interface Text {
  readonly name: string;
  readonly text: string;
}
/** Titles: `#` lines with no other one before them. */
const transcriptsIn = ({ text }: Text): number => [...text.matchAll(/(?<!^#.*\n)^# /gm)].length;
const testsIn = ({ text }: Text): number => [...text.matchAll(/^\s*(?:test|it)\(/gm)].length;
const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
const shareOf = (counted: readonly Counted[]): number => {
  const transcripts = sum(counted.map((one) => one.transcripts));
  return (100 * transcripts) / (transcripts + sum(counted.map(({ code }) => code)));
};
const countOf = (protocol: string, files: readonly Text[]): Counted => ({
  protocol,
  transcripts: sum(files.filter(({ name }) => name.endsWith('.txt')).map(transcriptsIn)),
  code: sum(files.filter(({ name }) => name.endsWith('.test.ts')).map(testsIn)),
});

test('the cases of the protocols are transcripts, for the most part', (t) => {
  const counted = readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name: protocol }) => {
      const folder = path.posix.join(FOLDER, protocol);
      const names = [...filesUnder(path.posix.join(folder, 'cases'), '.txt'), ...filesUnder(folder, '.test.ts')];
      return countOf(
        protocol,
        names.map((name) => ({ name, text: readFileSync(name, 'utf8') })),
      );
    });
  for (const one of counted) t.diagnostic(`${one.protocol}: ${one.transcripts} transcripts, ${one.code} in code`);
  t.diagnostic(`together ${shareOf(counted).toFixed(1)} %`);
  assert.ok(shareOf(counted) >= LEAST.together, `${shareOf(counted).toFixed(1)} % of the cases are transcripts`);
  assert.deepEqual(
    counted.flatMap((one) => (shareOf([one]) < LEAST.each ? [`${one.protocol}: ${shareOf([one]).toFixed(1)} %`] : [])),
    [],
  );
});

test('transcripts and cases in code are counted', () => {
  const files = [
    { name: 'a.txt', text: '# one\n> start\n< end\n\n# two, with a title\n# of two lines\n> start\n' },
    { name: 'a.test.ts', text: "test('three', () => {});\nfor (const four of five)\n  test(four, () => {});\n" },
  ];
  assert.deepEqual(countOf('x', files), { protocol: 'x', transcripts: 2, code: 2 });
  assert.equal(shareOf([countOf('x', files)]), 50);
});

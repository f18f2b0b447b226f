import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approvalAnswers, asRejection } from '../../src/session/approvalAnswers.ts';
import type { Approval, Diff } from '../../src/session/model.ts';
import {
  amendmentsOf,
  changedSince,
  changeNow,
  correctionTexts,
  isOfProposal,
  proposalHunks,
  toggleHunk,
} from '../../src/session/proposal.ts';
import { afterText, compareTexts, hunksOfSegments, settleHunks } from '../../src/session/segments.ts';
import { approvalHeading, dangerText, shownDiffs } from '../../src/session/shownApproval.ts';
import { randomFrom } from '../random.ts';

const approval = (diffs: readonly Diff[], more: Partial<Approval> = {}): Approval => ({
  kind: 'approval',
  id: 'a',
  turnId: 't',
  title: 'Edit',
  detail: { type: 'edit', diffs },
  options: [],
  ...more,
});

test('a change of a proposal is left out and put back, and keeps its place between edits of the user', () => {
  const before = 'a\nb\nc\nd\ne\nf\n';
  const proposed = 'a\nB\nc\nd\nd2\ne\n';
  const read = (text: string) => proposalHunks(before, proposed, text).map(({ line, isIn }) => `${line}${isIn ? '' : ' out'}`);
  const places = (text: string) => proposalHunks(before, proposed, text).map(({ beforeLine }) => beforeLine);
  assert.deepEqual(read(proposed), ['1', '4', '6']);
  assert.deepEqual(places(proposed), [1, 4, 5]);
  const [first, second] = proposalHunks(before, proposed, proposed);
  assert.ok(first && second);
  let text = toggleHunk(proposed, first);
  assert.equal(text, 'a\nb\nc\nd\nd2\ne\n');
  assert.ok(isOfProposal(before, proposed, text), 'nothing in it is the user’s own');
  assert.deepEqual(read(text), ['1 out', '4', '6']);
  text = `mine\n${text}`;
  assert.ok(!isOfProposal(before, proposed, text));
  assert.deepEqual(read(text), ['0', '2 out', '5', '7']);
  assert.deepEqual(places(text), [0, 1, 4, 5]);
  const out = proposalHunks(before, proposed, text).find(({ isIn }) => !isIn);
  assert.ok(out);
  assert.equal(toggleHunk(text, out), `mine\n${proposed}`);
});

test('a change as it was shown is found where it is now, and no more once it was left out or put back', () => {
  const [before, proposed] = ['a\nx\nb\nx\nc\nx\n', 'new\nnewer\na\nX\nb\nX\nc\nX\n'];
  const shown = proposalHunks(before, proposed, proposed);
  const [added, first] = shown;
  assert.ok(added && first);
  const now = (text: string) => proposalHunks(before, proposed, text);
  const without = toggleHunk(proposed, added);
  assert.deepEqual(
    shown.map((one) => changeNow(one, now(without))?.line),
    [undefined, 1, 3, 5],
  );
  const moved = changeNow(first, now(without));
  assert.ok(moved);
  const neither = toggleHunk(without, moved);
  assert.equal(neither, 'a\nx\nb\nX\nc\nX\n');
  assert.deepEqual(
    shown.map((one) => changeNow(one, now(neither))?.line),
    [undefined, undefined, 3, 5],
  );
  assert.deepEqual(
    shown.map((one) => changeNow(one, now(`mine\n${neither}`))?.line),
    [undefined, undefined, 4, 6],
  );
  // What stood over the change that is left out puts it back once.
  const out = now(neither)[0];
  assert.ok(out && changeNow(out, now(neither)));
  assert.equal(changeNow(out, now(toggleHunk(neither, out))), undefined);
});

test('any choice of changes, in any order, gives exactly that choice, and each can be put back', () => {
  const random = randomFrom(11);
  for (let round = 0; round < 4000; round += 1) {
    const lines = Array.from({ length: random(14) }, () => `${random(5)}`);
    const changed = lines.flatMap((line) => [[line], [line], [line], [], [`${line}!`], [line, `new ${random(3)}`]][random(6)] ?? []);
    const [before, proposed] = [lines.join('\n'), changed.join('\n')];
    const all = compareTexts(before, proposed);
    const dropped = new Set(hunksOfSegments(all).flatMap(({ hunk }) => (random(2) === 0 ? [hunk] : [])));
    const chosen = afterText(settleHunks(all, (hunk) => dropped.has(hunk), 'undo'));
    let text = chosen;
    const found = proposalHunks(before, proposed, text);
    assert.equal(found.length, hunksOfSegments(all).length, `${before} → ${proposed}, ${text}`);
    const order = found.toSorted((a, b) => b.line - a.line);
    for (const one of order) text = toggleHunk(text, one);
    // The opposite of each decision, and back.
    const opposite = proposalHunks(before, proposed, text);
    assert.deepEqual(opposite.map(({ isIn }) => isIn).toSorted(), found.map(({ isIn }) => !isIn).toSorted());
    for (const one of opposite.toSorted((a, b) => b.line - a.line)) text = toggleHunk(text, one);
    assert.equal(text, chosen);
    for (const one of found.filter(({ isIn }) => !isIn).toReversed()) text = toggleHunk(text, one);
    assert.equal(text, proposed);
  }
});

test('what the user made of one file stands in its place, the other files as proposed', () => {
  const diffs = [
    { path: 'a', before: 'x\n', after: 'y\n' },
    { path: 'b', before: 'x\n', after: 'y\n' },
  ];
  const revised = [{ path: 'b', before: 'x\n', after: 'z\n' }];
  assert.deepEqual(shownDiffs(approval(diffs), diffs), diffs);
  assert.deepEqual(shownDiffs(approval(diffs, { revised }), diffs), [diffs[0], revised[0]]);
});

test('only what the protocol cannot carry is written afterwards, and the agent is told how the file differs', () => {
  const diffs = [{ path: 'a', before: 'b', after: 'B', excerpt: { beforeLine: 2 } }];
  const revised = [{ path: 'a', before: 'a\nb\nc\n', after: 'a\nmine\nc\n' }];
  const [only, ...more] = amendmentsOf(approval(diffs, { revised }));
  assert.ok(only);
  assert.deepEqual([only, more], [{ path: 'a', written: 'a\nB\nc\n', wanted: 'a\nmine\nc\n', agreed: revised[0] }, []]);
  assert.deepEqual(amendmentsOf(approval(diffs, { revised, editable: true })), []);
  const two = approval([...diffs, { path: 'other', before: 'c', after: 'C' }], { revised, editable: true });
  assert.deepEqual(amendmentsOf(two), [only], 'an edited text is carried for one file only');
  assert.deepEqual(amendmentsOf(approval(diffs)), []);
});

test('an edit of which everything is left out is rejected, where it is allowed once and can be rejected', () => {
  const diffs = [
    { path: 'a', before: 'b', after: 'B', excerpt: { beforeLine: 2 } },
    { path: 'made', before: null, after: 'new\n' },
  ];
  const options = [
    { id: 'yes', label: 'Allow', effect: 'allow_once' },
    { id: 'ever', label: 'Always', effect: 'allow_always' },
    { id: 'no', label: 'Reject', effect: 'reject_once' },
  ] as const;
  const [ofA, ofMade] = [
    { path: 'a', before: 'a\nb\n', after: 'a\nb\n' },
    { path: 'made', before: null, after: '' },
  ];
  const given = (optionId: string, more: Partial<Approval>, edited?: string) => {
    const answer = asRejection(approval(diffs, { options, ...more }), {
      kind: 'option',
      optionId,
      ...(edited === undefined ? {} : { edited }),
    });
    return answer.kind === 'option' && answer.optionId;
  };
  assert.equal(given('yes', { revised: [ofA, ofMade] }), 'no');
  assert.equal(given('yes', { revised: [ofA] }), 'yes', 'the other file is still proposed');
  assert.equal(given('yes', {}), 'yes');
  assert.equal(given('ever', { revised: [ofA, ofMade] }), 'ever');
  assert.equal(given('yes', { revised: [ofA, ofMade], options: [options[0]] }), 'yes');
  const misleading = [options[0], { ...options[2], label: 'Allow it' }];
  assert.equal(given('yes', { revised: [ofA, ofMade], options: misleading }), 'yes', 'an option whose name contradicts it is never given');
  const one = { detail: { type: 'edit', diffs: [diffs[0]!] }, editable: true, revised: [ofA] } as const;
  assert.equal(given('yes', one, 'a\nb\n'), 'no');
  assert.equal(given('yes', one, 'a\nmine\n'), 'yes', 'what goes to the agent counts');
});

test('where everything is left out of an edit, no answer is shown that allows it, and rejecting takes their place', () => {
  const diffs = [{ path: 'a', before: 'b\n', after: 'B\n' }];
  const options = [
    { id: 'yes', label: 'Allow', effect: 'allow_once' },
    { id: 'ever', label: 'Allow for this session', effect: 'allow_always' },
    { id: 'no', label: 'Reject', effect: 'reject_once' },
  ] as const;
  const shown = (after: string, some: Approval['options'] = options) => {
    const ask = approval(diffs, { options: some, revised: [{ path: 'a', before: 'b\n', after }] });
    const { answers, once, reject } = approvalAnswers(ask, { cwd: '/w', feedback: true });
    return [answers.map(({ means }) => means).join(' '), once?.label, reject?.label];
  };
  assert.deepEqual(shown('mine\n'), ['once wider always reject feedback', 'Allow once', 'Reject']);
  assert.deepEqual(shown('b\n'), ['reject feedback', undefined, 'Reject']);
  assert.deepEqual(shown('b\n', [options[0]])[1], 'Allow once', 'what cannot be rejected is allowed, and put back');
});

test('the agent is told the lines that differ, shortly, and of restored files the names', () => {
  const edited = (known: string | null | undefined, present: string | null | undefined) =>
    correctionTexts([{ path: 'a', how: 'edited', known, present }]);
  assert.deepEqual(edited('one\nB\nthree\n', 'one\nmine\nthree\n'), ['The user changed your edit of a:\n-B\n+mine']);
  assert.deepEqual(edited('x\n'.repeat(20_000), 'y\n'.repeat(20_000)), [
    'The user changed your edit of a. Read it again before you change it.',
  ]);
  assert.match(edited(undefined, 'text')[0] ?? '', /Read it again/);
  assert.match(edited('text', null)[0] ?? '', /does not exist/);
  const names = Array.from({ length: 80 }, (_, at) => `f${at + 10}`);
  const told = correctionTexts(names.map((path) => ({ path, how: 'restored', known: undefined, present: undefined })));
  assert.equal(told.length, 1);
  assert.match(told[0] ?? '', /: f10, f11, .*f29, and 60 more\.$/);
  assert.deepEqual(correctionTexts([]), []);
});

test('what the user undid is told with its lines, as long as they are few; of the rest the agent reads the files again', () => {
  const one = { path: 'a', how: 'undone' as const, known: 'one\nTWO\nthree\n', present: 'one\ntwo\nthree\n' };
  assert.deepEqual(correctionTexts([one]), ['The user undid changes that you made in a:\n-TWO\n+two']);
  assert.deepEqual(correctionTexts([{ ...one, present: null }]), [
    'The user undid changes that you made in a. It does not exist any more.',
  ]);
  const many = Array.from({ length: 300 }, (_, at) => ({ ...one, path: `f${at}`, known: `${'x'.repeat(900)}\n`, present: `${at}\n` }));
  const told = correctionTexts(many);
  assert.ok(told.join('\n').length < 10_000, `${told.join('\n').length}`);
  assert.match(told.at(-1) ?? '', /^The user undid changes that you made in these files\. Read them again .*and 272 more\.$/);
});

test('a proposal of a whole text has changed with its file, an excerpt only where it has no place in it any more', () => {
  const whole = { path: 'x', before: 'a\nb\n', after: 'a\nB\n' };
  assert.equal(changedSince([whole], 'a\nb\n', 'a\r\nb\r\n'), undefined, 'line ends are no change');
  assert.deepEqual(changedSince([whole], 'a\nb\n', 'a\nb\nmine\n'), [{ ...whole, before: 'a\nb\nmine\n' }]);
  assert.deepEqual(changedSince([whole], 'a\nb\n', null), [{ ...whole, before: null }]);
  assert.deepEqual(changedSince([whole], 'a\nb\n', undefined), [whole], 'it cannot be read any more');
  assert.equal(changedSince([whole], 'a\n', 'a\nb\n'), undefined, 'as the agent knew it');
  const part = { path: 'x', before: 'b', after: 'B', excerpt: {} };
  assert.equal(changedSince([part], 'a\nb\n', 'mine\na\nb\n'), undefined);
  for (const now of ['a\n', 'a\nb\nb\n', null])
    assert.deepEqual(changedSince([part], 'a\nb\n', now), [{ ...part, excerpt: { unplaced: true } }]);
  assert.equal(changedSince([part], 'a\n', 'c\n'), undefined, 'it never had a place');
});

test('a whole text that goes on from another one of the same answer is as it was once that one is written', () => {
  const before = 'a\nb\nc\nd\n';
  const first = 'A\nb\nc\nd\n';
  const both = { path: 'x', before, after: 'A\nb\nc\nD\n' };
  assert.equal(changedSince([both], before, first), undefined);
  assert.equal(changedSince([{ ...both, before: null }], null, 'A\nb\n'), undefined, 'of a new file');
  const alone = { path: 'x', before, after: 'a\nb\nc\nD\n' };
  assert.deepEqual(changedSince([alone], before, first), [{ ...alone, before: first }], 'it would take back the first');
  for (const now of ['A\nb\nmine\nc\nd\n', 'A\nb\nd\n', null])
    assert.deepEqual(changedSince([both], before, now), [{ ...both, before: now }], 'what else has changed is lost');
});

test('an edit whose file has changed since says so, counts what it would change now, and leads to a look first', () => {
  const option = { id: 'yes', label: 'Allow', effect: 'allow_once' } as const;
  const asked = approval([{ path: '/w/x.ts', before: 'a\nb\n', after: 'a\nB\n' }], { options: [option] });
  const stale = { ...asked, stale: [{ path: '/w/x.ts', before: 'a\nb\nmine\n', after: 'a\nB\n' }] };
  const read = (ask: Approval) => {
    const { grave, dangers } = approvalAnswers(ask, { cwd: '/w', feedback: false });
    return [approvalHeading(ask, { cwd: '/w', turns: [] }).amount, grave, dangers.map(dangerText)];
  };
  assert.deepEqual(read(asked), ['+1 −1', false, []]);
  assert.deepEqual(read(stale), ['+1 −2', true, ['x.ts has changed in the meantime. Look at the change again.']]);
  const mine = { path: '/w/x.ts', before: 'a\nb\nmine\n', after: 'mine\n' };
  assert.deepEqual(shownDiffs({ ...stale, revised: [mine] }, []), [mine], 'what the user has made of it comes first');
});

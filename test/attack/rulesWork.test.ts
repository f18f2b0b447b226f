import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approvalAnswers } from '../../src/session/approvalAnswers.ts';
import { commandDangers, isGrave } from '../../src/session/commandDangers.ts';
import type { Approval } from '../../src/session/model.ts';
import { type ApprovalRule, ruledAnswer } from '../../src/session/policy.ts';
import { assertLinear } from './linear.ts';
import { triesIn } from './work.ts';

/** The room of rules: one command of any shape is judged in a moment, by all rules and surfaces together. */

const LONGEST = 20_000;
const folders = { posix: '/w/app', win32: 'C:\\w\\app' } as const;
type System = keyof typeof folders;
const systems = ['posix', 'win32'] as const;
const rules: readonly ApprovalRule[] = [
  ...['*a*a*a*a*b', '?*?*?*?*', 'git *'].map((pattern) => ({ kind: 'command', pattern, decision: 'allow' }) as const),
  ...['*b*b*b*b*c', 'git push*', 'rm -rf *'].map((pattern) => ({ kind: 'command', pattern, decision: 'reject' }) as const),
];

/** What the rules and the surfaces make of a command. */
function judge(command: string, system: System, by: readonly ApprovalRule[] = rules) {
  const cwd = folders[system];
  const ask: Approval = {
    kind: 'approval',
    id: 'a',
    title: 'x',
    toolKind: 'execute',
    detail: { type: 'command', command },
    options: [
      { id: 'y', label: 'Allow', effect: 'allow_once' },
      { id: 'n', label: 'Reject', effect: 'reject_once' },
    ],
  };
  const ruled = ruledAnswer(ask, by, cwd, { platform: system, real: cwd, below: () => ({ path: 'a' }) });
  return { ruled, ...approvalAnswers(ask, { cwd, feedback: true }) };
}
const filled = (begin: string, piece: string, size: number, end = '') =>
  begin + piece.repeat(Math.max(1, Math.floor((size - begin.length - end.length) / piece.length))) + end;

/** What lines are made of: one word, quotes, substitutions, separators, paths of Windows, braces, classes, here-documents. */
const PIECES: readonly string[] = [
  ...['a', 'a ', '"', "' ", '"a b" ', '$(', '$(a) ', '"$(', '`a` ', ';', 'ls a; ', 'a&&', 'cd a&&', 'cd ..\\a;', '|a', '%a% ', 'x >a '],
  ...['C:\\a\\', 'C:\\a ', 'rm C:\\a;', '> C:\\a ', '\\\\s\\a ', '//a/b ', '"../a" ', 'a/../', '{', '{a,', '{a,b} ', '[', '[a', '[a] '],
  ...[
    '<<a\n',
    'cat <<a <<b\n',
    'bun x ',
    'npm exec ',
    'sudo ',
    'docker -v a:b ',
    'kubectl exec a -- ',
    'sh -c "a";',
    'find . -exec rm {} ;',
  ],
  ...['cmd /c a&', 'powershell -c ', '[a]::b', '& (', 'C:\\w\\app\\a ', 'rm /w/app/a;', 'touch a:b ', '\u0001', '\u202e', 'İ'],
];

test('a command of any shape is judged in time proportional to it, by the rules of each system', () => {
  for (const system of systems)
    for (const piece of PIECES)
      assertLinear(`${system}: a command of ${JSON.stringify(piece)}`, LONGEST / 8, (size) => {
        const command = filled('', piece, size);
        return () => judge(command, system);
      });
});

test('programs around programs cost no more than one of them', () => {
  for (const system of systems)
    for (const [wrapper, piece] of [
      ['sudo ', 'A=C:\\a '],
      ['sudo ', 'a '],
      ['bun x ', 'a '],
      ['nice env ', 'rm '],
      ['docker exec x ', '-v a:b '],
    ] as const) {
      const tries = (begin: string) => triesIn(() => commandDangers(filled(begin, piece, LONGEST), folders[system]));
      const [one, many] = [tries(wrapper), tries(wrapper.repeat(12))];
      assert.ok(many <= 4 * one, `${system}: ${wrapper}${piece} ${one} → ${many}`);
    }
});

test('a text that is read again and again is read a few times', () => {
  const tries = (times: number) => triesIn(() => commandDangers(`find ${'-exec sh + '.repeat(times)}<<a\n${'b '.repeat(7000)}\na`, '/w'));
  const [few, many] = [tries(4), tries(300)];
  assert.ok(many <= 4 * few, `${few} → ${many}`);
});

test('what is beyond the work for one command is never answered by a rule, and is looked at first', () => {
  const wide: readonly ApprovalRule[] = [{ kind: 'command', decision: 'allow' }];
  for (const command of [
    filled('env '.repeat(12), 'a ', LONGEST, ' rm -rf /'),
    `find ${'-exec sh + '.repeat(300)}<<a\n${'b '.repeat(7000)}\na`,
    filled('', 'nice a b c d e f g h i j k l m n o p q r s t u v w x y z; ', LONGEST, 'rm -rf ~'),
  ]) {
    assert.ok(isGrave(commandDangers(command, '/w')), command.slice(0, 60));
    const { ruled, grave, dangers } = judge(command, 'posix', wide);
    assert.equal(ruled, undefined);
    assert.ok(grave && dangers.some(({ kind }) => kind === 'unsure'), command.slice(0, 60));
  }
  assert.ok(judge('nice ls a', 'posix', wide).ruled);
});

test('a command is judged once, however many rules and surfaces ask', () => {
  const command = filled('touch ', 'a ', 4000);
  const allowing = (count: number): readonly ApprovalRule[] =>
    Array.from({ length: count }, (_, at) => ({ kind: 'command', pattern: `touch *a${'?'.repeat(at)}*`, decision: 'allow' }));
  const [one, many] = [1, 12].map((count) => triesIn(() => judge(command, 'win32', allowing(count))));
  assert.ok(many !== undefined && one !== undefined && many <= 1.5 * one, `${one} → ${many}`);
});

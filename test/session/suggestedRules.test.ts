import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workspacePathsAt } from '../../src/live/diskFiles.ts';
import { coveredBy } from '../../src/session/callWords.ts';
import type { Approval, ApprovalDetail } from '../../src/session/model.ts';
import { type ApprovalRule, autoAnswer } from '../../src/session/policy.ts';
import { suggestedRules } from '../../src/session/suggestedRules.ts';

const offered = (detail: ApprovalDetail) =>
  suggestedRules({ kind: 'approval', id: 'a', title: 't', detail, options: [] }, '/w').map(({ covers }) => covers);

test('rules are offered in plain words, the narrowest first', () => {
  assert.deepEqual(offered({ type: 'command', command: 'npm run lint' }), ['npm run lint', 'commands that begin with npm run']);
  assert.deepEqual(offered({ type: 'command', command: 'npm run lint -- --fix' }), [
    'npm run lint -- --fix',
    'commands that begin with npm run lint',
    'commands that begin with npm run',
  ]);
  assert.deepEqual(offered({ type: 'command', command: 'git commit -m x' }), ['git commit -m x', 'commands that begin with git commit']);
  assert.deepEqual(offered({ type: 'command', command: 'echo a\necho b' }), ['echo a … (2 lines)']);
  const diffs = [{ path: '/w/src/a.ts', before: 'a', after: 'b' }];
  assert.deepEqual(offered({ type: 'edit', diffs }), ['edits in src/a.ts', 'edits in src/', 'all edits in this workspace']);
  const files = ['/w/src/a/x.ts', '/w/src/b/y.ts'].map((path) => ({ path, before: 'a', after: 'b' }));
  assert.deepEqual(offered({ type: 'edit', diffs: files }), ['edits in src/', 'all edits in this workspace']);
  assert.deepEqual(offered({ type: 'edit', diffs: [{ path: '/w/a.md', before: 'a', after: 'b' }] }), [
    'edits in a.md',
    'all edits in this workspace',
  ]);
  assert.deepEqual(offered({ type: 'mcp', server: 'github', tool: 'create_issue' }), ['create_issue of github', 'all tools of github']);
});

test('of a command whose effect is gone for good, or that runs any text, only the very same is offered to be allowed again', () => {
  for (const command of ['rm a.log', 'kill 4711', 'python3 -c "print(1)"'])
    assert.deepEqual(offered({ type: 'command', command }), [command]);
});

test('a variable before a command is not taken for its program', () => {
  assert.deepEqual(offered({ type: 'command', command: 'CI=1 npm test' }), ['CI=1 npm test']);
  const command = 'CI=1 npm run lint --fix';
  assert.deepEqual(offered({ type: 'command', command }), [command, 'commands that begin with CI=1 npm run']);
  const rule: ApprovalRule = { kind: 'command', pattern: 'CI=1 *', decision: 'allow' };
  const ask: Approval = { kind: 'approval', id: 'a', title: 't', detail: { type: 'command', command: 'CI=1 ./evil.sh' }, options: [] };
  assert.equal(autoAnswer(ask, [rule], '/w', workspacePathsAt('/w')), undefined);
});

test('what cmd.exe puts in is covered by no pattern, so only the line itself is offered', () => {
  for (const [cwd, count] of [
    ['c:\\w', 1],
    ['/w', 2],
  ] as const)
    for (const command of ['npm run %X% y', 'npm run !X! y', 'npm run ^y z']) {
      const ask: Approval = { kind: 'approval', id: 'a', title: 't', detail: { type: 'command', command }, options: [] };
      assert.equal(suggestedRules(ask, cwd).length, count, `${command} in ${cwd}`);
    }
});

test('a rule that the user wrote is told by its pattern where no words say the same', () => {
  assert.equal(coveredBy({ kind: 'command', pattern: 'npm * --force' }), 'command: npm * --force');
  assert.equal(coveredBy({ kind: 'command', pattern: '*' }), 'command: *');
  assert.equal(coveredBy({ kind: 'edit', pattern: 'src/*.ts' }), 'edit: src/*.ts');
  assert.equal(coveredBy({ kind: 'mcp', pattern: '*/*' }), 'mcp: */*');
  assert.equal(coveredBy({ kind: 'unheard' }), 'unheard: *');
});

test('a rule without a pattern is told in words', () => {
  assert.equal(coveredBy({ kind: 'fetch' }), 'Uses the network');
  assert.equal(coveredBy({ kind: 'command' }), 'Run in terminal');
  assert.equal(coveredBy({ kind: 'mcp' }), 'all tools of MCP');
  assert.equal(coveredBy({ kind: 'constructor' }), 'constructor: *');
});

const asking = (command: string): Approval => ({
  kind: 'approval',
  id: 'a',
  title: 't',
  detail: { type: 'command', command },
  options: [{ id: 'once', label: 'Once', effect: 'allow_once' }],
});

test('a rule about a script allows exactly that script, and is told by its first line and their number', () => {
  const script = 'set -e\nnpm ci\nnpm test';
  assert.deepEqual(offered({ type: 'command', command: script }), ['set -e … (3 lines)']);
  const rules = suggestedRules(asking(script), '/w').map(({ rule }) => rule);
  const allowed = (command: string) => autoAnswer(asking(command), rules, '/w', workspacePathsAt('/w')) !== undefined;
  assert.deepEqual([script, `${script}\n`, `${script}\nrm -rf .`, 'set -e', script.replace('ci', 'i')].map(allowed), [
    true,
    true,
    false,
    false,
    false,
  ]);
  assert.deepEqual(offered({ type: 'command', command: 'set -e\nrm *.log' }), [], 'a pattern would match more than the script');
});

test('a rule about a long command allows exactly that command, and is told by its beginning', () => {
  const long = `npm test -- ${'some/test/file '.repeat(26)}`.trim();
  const suggested = suggestedRules(asking(long), '/w');
  assert.deepEqual(
    suggested.map(({ covers }) => covers.length <= 301 && long.startsWith(covers.slice(0, 290))),
    [true],
  );
  const allowed = (command: string) =>
    autoAnswer(
      asking(command),
      suggested.map(({ rule }) => rule),
      '/w',
      workspacePathsAt('/w'),
    ) !== undefined;
  assert.deepEqual([long, `${long} more`, long.slice(0, 300)].map(allowed), [true, false, false]);
});

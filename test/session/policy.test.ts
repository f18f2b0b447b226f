import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Approval, ApprovalDetail } from '../../src/session/model.ts';
import { type ApprovalRule, autoAnswer } from '../../src/session/policy.ts';

const ask = (detail: ApprovalDetail): Approval => ({
  kind: 'approval',
  id: 'a',
  title: 'x',
  detail,
  options: [
    { id: 'always', label: 'Always', effect: 'allow_always' },
    { id: 'once', label: 'Once', effect: 'allow_once' },
    { id: 'no', label: 'No', effect: 'reject_once' },
  ],
});
const command = (text: string) => ask({ type: 'command', command: text });
const edit = (...paths: string[]) => ask({ type: 'edit', diffs: paths.map((path) => ({ path, before: 'a', after: 'b' })) });
const answered = (what: Approval, ...rules: ApprovalRule[]) => {
  const answer = autoAnswer(what, rules, '/w');
  return answer?.kind === 'option' ? answer.optionId : answer;
};
const allow = (kind: ApprovalRule['kind'], pattern?: string): ApprovalRule => ({
  kind,
  decision: 'allow',
  ...(pattern === undefined ? {} : { pattern }),
});

test('without a rule nobody but a person answers', () => {
  assert.equal(answered(command('ls')), undefined);
  assert.equal(answered(command('ls'), allow('edit')), undefined);
});

test('a rule chooses the one-time option, never one that widens', () => {
  assert.equal(answered(command('npm test'), allow('command', 'npm test')), 'once');
  const { options, ...rest } = command('npm test');
  assert.equal(answered({ ...rest, options: options.filter((one) => one.id !== 'once') }, allow('command')), undefined);
});

test('a pattern does not let a second command through', () => {
  for (const text of [
    'git status; rm -rf /',
    'git status && rm x',
    'git log | sh',
    'git log `id`',
    'git log $(id)',
    'git log > /etc/passwd',
    'git log\nrm x',
  ]) {
    assert.equal(answered(command(text), allow('command', 'git *')), undefined, text);
  }
  assert.equal(answered(command('git log -1'), allow('command', 'git *')), 'once');
  assert.equal(answered(command('a | b'), allow('command', 'a | b')), 'once');
});

test('a rejection beats every allowance, in whichever order', () => {
  const no: ApprovalRule = { kind: 'command', pattern: 'git push*', decision: 'reject' };
  assert.equal(answered(command('git push -f'), no, allow('command', 'git *')), 'no');
  assert.equal(answered(command('git push -f'), allow('command', 'git *'), no), 'no');
  assert.equal(answered(command('git push; true'), no, allow('command')), 'no');
});

test('edits are allowed by paths below the folder only, and only when all paths match', () => {
  assert.equal(answered(edit('/w/src/a.ts'), allow('edit', 'src/**')), 'once');
  assert.equal(answered(edit('/w/src/deep/a.ts'), allow('edit', '**/*.ts')), 'once');
  assert.equal(answered(edit('/w/src/deep/a.ts'), allow('edit', 'src/*.ts')), undefined);
  assert.equal(answered(edit('/w/src/a.ts', '/w/package.json'), allow('edit', 'src/**')), undefined);
  assert.equal(answered(edit('/etc/passwd'), allow('edit')), undefined);
  assert.equal(answered(edit('/w/../etc/passwd'), allow('edit')), undefined);
  assert.equal(answered(edit('/w-other/a.ts'), allow('edit')), undefined);
  assert.equal(answered(edit('C:\\w\\a.ts'), allow('edit')), undefined);
});

test('tools of MCP servers are named server/tool', () => {
  const mcp = ask({ type: 'mcp', server: 'github', tool: 'get_issue' });
  assert.equal(answered(mcp, allow('mcp', 'github/get_*')), 'once');
  assert.equal(answered(mcp, allow('mcp', 'gitlab/*')), undefined);
});

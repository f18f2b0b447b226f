import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApprovalDetail } from '../../src/session/model.ts';
import { coveredBy, suggestedRules } from '../../src/session/suggestedRules.ts';

const offered = (detail: ApprovalDetail) =>
  suggestedRules({ kind: 'approval', id: 'a', title: 't', detail, options: [] }, '/w').map(({ covers }) => covers);

test('rules are offered in plain words, the narrowest first', () => {
  assert.deepEqual(offered({ type: 'command', command: 'npm run lint' }), ['npm run lint', 'commands that begin with npm run']);
  const diffs = [{ path: '/w/src/a.ts', before: 'a', after: 'b' }];
  assert.deepEqual(offered({ type: 'edit', diffs }), ['edits in src/', 'edits of src/a.ts', 'all edits in this workspace']);
  assert.deepEqual(offered({ type: 'mcp', server: 'github', tool: 'create_issue' }), ['create_issue of github', 'all tools of github']);
});

test('a rule that the user wrote is told by its pattern where no words say the same', () => {
  assert.equal(coveredBy({ kind: 'command', pattern: 'npm * --force' }), 'command: npm * --force');
  assert.equal(coveredBy({ kind: 'command', pattern: '*' }), 'command: *');
  assert.equal(coveredBy({ kind: 'edit', pattern: 'src/*.ts' }), 'edit: src/*.ts');
  assert.equal(coveredBy({ kind: 'mcp', pattern: '*/*' }), 'mcp: */*');
  assert.equal(coveredBy({ kind: 'fetch' }), 'fetch: *');
});

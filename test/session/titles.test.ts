import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Approval, ApprovalDetail } from '../../src/session/model.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import { askTitle } from '../../src/session/select.ts';

const ask = (title: string, detail: ApprovalDetail): Approval => ({ kind: 'approval', id: 'a', title, detail, options: [] });
const edit = (...paths: string[]): ApprovalDetail => ({
  type: 'edit',
  diffs: paths.map((path) => ({ path, before: null, after: '' })),
});

test('an edit is called after its file, once', () => {
  assert.equal(askTitle(ask('Edit', edit('/w/src/a.ts')), '/w', 'Run'), 'Edit: src/a.ts');
  assert.equal(askTitle(ask('Edit', edit('/w/a.ts', '/w/b.ts', '/w/a.ts')), '/w', 'Run'), 'Edit: a.ts +1');
  assert.equal(askTitle(ask('Writing to a.ts', edit('/w/src/a.ts')), '/w', 'Run'), 'Writing to a.ts');
  assert.equal(askTitle(ask('Edit', edit()), '/w', 'Run'), 'Edit');
});

test('a command that is all the title says is not said twice, nor is the name of a tool', () => {
  const detail: ApprovalDetail = { type: 'command', command: 'npm test' };
  assert.equal(askTitle(ask('npm test', detail), '/w', 'Run'), 'Run');
  assert.equal(askTitle(ask('Bash', detail), '/w', 'Run'), 'Run');
  assert.equal(askTitle(ask('Check the build', detail), '/w', 'Run'), 'Check the build');
});

test('the name a person gave an agent stays when the agent says its own', () => {
  const ready = { type: 'link.ready', agent: { protocol: 'p', name: 'server-x', version: '2' }, offers: {} } as const;
  const mine = reduce(newSession('s', { protocol: 'p', name: 'My agent' }, '/w'), ready);
  assert.deepEqual(mine.agent, { protocol: 'p', name: 'My agent', own: 'server-x', version: '2' });
  assert.deepEqual(reduce(mine, ready).agent, mine.agent);
  assert.equal(reduce(newSession('s', { protocol: 'p', name: '' }, '/w'), ready).agent.name, 'server-x');
});

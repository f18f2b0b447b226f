import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Approval, ApprovalDetail, ToolCall } from '../../src/session/model.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import { askTitle, callTitle } from '../../src/session/select.ts';

const ask = (title: string, detail: ApprovalDetail): Approval => ({ kind: 'approval', id: 'a', title, detail, options: [] });
const fresh = newSession('s', { protocol: 'p', name: 'A' }, '/w');
const edit = (...paths: string[]): ApprovalDetail => ({
  type: 'edit',
  diffs: paths.map((path) => ({ path, before: null, after: '' })),
});

test('an edit is called after its file, once', () => {
  assert.equal(askTitle(ask('Edit', edit('/w/src/a.ts')), fresh, 'Run'), 'Edit: src/a.ts');
  assert.equal(askTitle(ask('Edit', edit('/w/a.ts', '/w/b.ts', '/w/a.ts')), fresh, 'Run'), 'Edit: a.ts +1');
  assert.equal(askTitle(ask('Writing to a.ts', edit('/w/src/a.ts')), fresh, 'Run'), 'Writing to a.ts');
  assert.equal(askTitle(ask('Edit', edit()), fresh, 'Run'), 'Edit');
});

test('a command that is all the title says is not said twice, nor is the name of a tool', () => {
  const detail: ApprovalDetail = { type: 'command', command: 'npm test' };
  assert.equal(askTitle(ask('npm test', detail), fresh, 'Run'), 'Run');
  assert.equal(askTitle(ask('Bash', detail), fresh, 'Run'), 'Run');
  assert.equal(askTitle(ask('Check the build', detail), fresh, 'Run'), 'Check the build');
});

const call = (title: string, more: Partial<ToolCall> = {}): ToolCall => ({
  id: 'c',
  name: 'tool',
  title,
  kind: 'other',
  status: 'done',
  inputText: '',
  output: [],
  locations: [],
  ...more,
});

test('a call is called with paths as people read them, and a bare tool with what it works on', () => {
  assert.equal(callTitle(call('Reading /w/p/src/a.ts and /w/p/b.ts'), '/w/p'), 'Reading src/a.ts and b.ts');
  assert.equal(callTitle(call('w/p/src/a.ts'), '/w/p'), 'src/a.ts');
  assert.equal(callTitle(call('/elsewhere/a.ts'), '/w/p'), '/elsewhere/a.ts');
  assert.equal(callTitle(call('write', { locations: [{ path: '/w/p/a.ts' }] }), '/w/p'), 'write: a.ts');
  assert.equal(callTitle(call('mcp__editor__open_in_ide', { input: { path: '/w/p/a.ts', line: 3 } }), '/w/p'), 'open_in_ide: a.ts:3');
  assert.equal(callTitle(call('server: open_in_ide', { input: { path: 'a.ts' } }), '/w/p'), 'open_in_ide: a.ts');
  assert.equal(callTitle(call('Shell: ls', { input: { path: 'a.ts' } }), '/w/p'), 'Shell: ls');
  assert.equal(callTitle(call(''), '/w/p'), 'tool');
});

test('the name a user gave an agent stays when the agent says its own', () => {
  const ready = { type: 'link.ready', agent: { protocol: 'p', name: 'server-x', version: '2' }, offers: {} } as const;
  const mine = reduce(newSession('s', { protocol: 'p', name: 'My agent' }, '/w'), ready);
  assert.deepEqual(mine.agent, { protocol: 'p', name: 'My agent', own: 'server-x', version: '2' });
  assert.deepEqual(reduce(mine, ready).agent, mine.agent);
  assert.equal(reduce(newSession('s', { protocol: 'p', name: '' }, '/w'), ready).agent.name, 'server-x');
});

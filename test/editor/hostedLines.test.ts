import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostKeyOf, type KnownLine, mergedLines, type RunningLine } from '../../src/editor/hostedLines.ts';

const AGENT = { id: 'kimi@host', name: 'Kimi' };
const KEY = hostKeyOf(AGENT.id, 'kimi:/1') ?? '';

function line(id: string, more: Partial<KnownLine> = {}): KnownLine {
  return { id, title: 'Fix it', agent: 'Kimi', profile: 'kimi', state: 'past', asks: 0, at: 10, files: 0, hostKey: KEY, ...more };
}
function there(more: Partial<RunningLine> = {}): RunningLine {
  return { key: 'kimi:/1', title: 'Fix it', agent: 'kimi', agentName: 'Kimi', cwd: '/w', state: 'idle', at: 20, profile: AGENT, ...more };
}

test('a session that two windows had open is one line, which waits when the host does', () => {
  const lines = mergedLines(
    [line('a', { at: 12, title: 'Old', failed: true }), line('b', { files: 4, pinned: true })],
    [there({ state: 'asking' })],
    undefined,
  );
  const { hostKey: _key, ...shown } = line('b', { files: 4, pinned: true, state: 'busy', asks: 1, at: 20 });
  assert.deepEqual(lines, [shown]);
});

test('while no host runs, the newest of its conversations counts', () => {
  const lines = mergedLines([line('a', { files: 4 }), line('b', { at: 12, title: 'New', failed: true })], [], undefined);
  assert.deepEqual(
    lines.map(({ id, title, at, failed }) => ({ id, title, at, failed })),
    [{ id: 'b', title: 'New', at: 12, failed: true }],
  );
});

test('the one that is open counts before the earlier ones, and the active one before another', () => {
  const open = [line('a', { state: 'closed', files: 3 }), line('b', { state: 'ready', at: 5 }), line('c', { at: 12 })];
  const idsOf = (active?: string) => mergedLines(open, [there()], active).map(({ id, state }) => `${id} ${state}`);
  assert.deepEqual(idsOf(), ['b ready']);
  assert.deepEqual(idsOf('a'), ['a closed']);
  assert.deepEqual(
    mergedLines(open, [there({ state: 'asking' })], 'a').map(({ id, state, asks }) => [id, state, asks]),
    [['a', 'busy', 1]],
  );
});

test('sessions of other hosts, and those that run in the window, stay apart', () => {
  const other = hostKeyOf('kimi@host:0123456789abcdef', 'kimi:/1');
  assert.equal(hostKeyOf('kimi', 'kimi:/1'), undefined);
  assert.notEqual(other, KEY);
  const { hostKey: _key, ...local } = line('c');
  const ids = mergedLines(
    [line('a'), line('b', other === undefined ? {} : { hostKey: other }), local, { ...local, id: 'd' }],
    [],
    undefined,
  );
  assert.deepEqual(
    ids.map(({ id }) => id),
    ['a', 'b', 'c', 'd'],
  );
});

test('sessions in which nothing was said do not pile up', () => {
  const { hostKey: _key, ...empty } = line('a', { title: '', at: 0, state: 'ready' });
  const known = [empty, { ...empty, id: 'b' }, { ...empty, id: 'c', profile: 'other' }];
  const running = [there({ title: 'Kimi' }), there({ key: 'kimi:/2', title: '' }), there({ key: 'kimi:/3', title: 'Kimi', state: 'busy' })];
  const ids = (active?: string) => mergedLines(known, running, active).map(({ id }) => id);
  assert.deepEqual(ids(), ['a', 'c', 'host kimi:/3']);
  assert.deepEqual(ids('b'), ['b', 'c', 'host kimi:/3']);
});

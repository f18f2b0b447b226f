import assert from 'node:assert/strict';
import { existsSync, readFileSync, realpathSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { silentLog } from '../../../src/base/log.ts';
import { Amendments } from '../../../src/live/review/amendments.ts';
import { ChangeSet, type FileEffects } from '../../../src/live/review/changeSet.ts';
import { ChangeSets } from '../../../src/live/review/changeSets.ts';
import { callWords } from '../../../src/session/callWords.ts';
import type { Approval } from '../../../src/session/model.ts';
import { callsOf, diffsOf } from '../../../src/session/select.ts';
import { PlaceChanged } from '../../../src/transport/realFiles.ts';
import { Desk } from './desk.ts';

/** An edit of two lines is allowed after the user has changed it. */
async function allowed(
  run: (desk: Desk, file: string) => Promise<void>,
  { editable, effect = 'allow_once' }: { editable?: true; effect?: 'allow_once' | 'reject_once' } = {},
): Promise<void> {
  const effects: FileEffects = {
    readText: async (file) => (existsSync(file) ? readFileSync(file, 'utf8') : null),
    // The editor merges nothing into a file that is not open.
    writeText: async (file, text, _from, real) => {
      if (real !== undefined && realpathSync(file) !== real) throw new PlaceChanged(file);
      writeFileSync(file, text);
    },
    hasUnsaved: () => false,
    folders: () => [],
  };
  const desk = new Desk((host, folder, publish) => new ChangeSets(host, folder, () => ChangeSet, effects, publish, silentLog), 'a');
  const amendments = new Amendments(desk, desk.sets, effects, (id, event) => desk.say(id, event), silentLog);
  try {
    const file = desk.path('x');
    desk.write('x', 'one\ntwo\nthree\nfour\n');
    await desk.start('a');
    const output = [{ kind: 'diff' as const, diff: { path: file, before: null, after: 'ONE\ntwo\nthree\nFOUR\n' } }];
    desk.call('a', 'e', { kind: 'edit', status: 'waiting', output });
    const ask: Approval = {
      kind: 'approval',
      id: 'q',
      turnId: 't',
      callId: 'e',
      title: 'Edit x',
      detail: { type: 'edit', diffs: [{ path: 'x', before: null, after: 'ONE\ntwo\nthree\nFOUR\n' }] },
      options: [],
      ...(editable ? { editable } : {}),
    };
    desk.say('a', { type: 'ask.opened', ask });
    const diffs = [{ path: 'x', before: 'one\ntwo\nthree\nfour\n', after: 'ONE\ntwo\nthree\nfour\nmine\n' }];
    desk.say('a', { type: 'ask.revised', askId: 'q', diffs });
    desk.say('a', { type: 'ask.decided', askId: 'q', decision: { kind: 'approval', by: 'user', effect } });
    desk.say('a', { type: 'ask.closed', askId: 'q', how: 'answered' });
    await run(desk, file);
  } finally {
    amendments.dispose();
    desk.remove();
  }
}
const session = (desk: Desk) => desk.get('a')?.store.now;

test('the agreed text is written after the agent’s own write, keeps what changed elsewhere, and the agent is told once', () =>
  allowed(async (desk, file) => {
    writeFileSync(file, 'ONE\ntwo\nTHREE\nFOUR\n');
    desk.done('a', 'e');
    await desk.until(() => session(desk)?.corrections !== undefined);
    assert.equal(readFileSync(file, 'utf8'), 'ONE\ntwo\nTHREE\nfour\nmine\n');
    assert.match(session(desk)?.corrections?.join() ?? '', /edit of x:\n-FOUR\n\+four\n\+mine$/);
    desk.end('a');
    await desk.until(() => desk.rows('a') !== undefined);
    assert.equal(session(desk)?.corrections?.length, 1);
  }));

test('undoing an edit that was agreed brings back what was there before it, the user’s own words in it included', () =>
  allowed(async (desk, file) => {
    writeFileSync(file, 'ONE\ntwo\nthree\nFOUR\n');
    desk.done('a', 'e');
    await desk.until(() => session(desk)?.corrections !== undefined);
    desk.end('a');
    await desk.until(() => desk.rows('a') !== undefined);
    assert.deepEqual(
      session(desk)
        ?.turns.at(-1)
        ?.files?.map(({ added, removed, callId }) => [added, removed, callId]),
      [[2, 1, 'e']],
    );
    const [call] = session(desk)?.turns.flatMap(callsOf) ?? [];
    const diff = { path: file, before: 'one\ntwo\nthree\nfour\n', after: 'ONE\ntwo\nthree\nfour\nmine\n' };
    assert.deepEqual(call && diffsOf(call), [diff], 'the call shows what was agreed, with the same lines as the file');
    assert.equal(call && callWords(call, { cwd: desk.root, terminals: [] }).decided, 'edited by you');
    await desk.sets.of('a')?.settle(file, 'undo');
    assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\nthree\nfour\n');
    assert.deepEqual(desk.sets.of('a')?.files, []);
  }));

test('where the agent wrote something else, nothing is written, and the user is told', () =>
  allowed(async (desk, file) => {
    writeFileSync(file, 'ONE\ntwo\nthree\nsomething else\n');
    desk.done('a', 'e');
    await desk.until(() => (session(desk)?.notices.length ?? 0) > 0);
    assert.match(session(desk)?.notices[0]?.text ?? '', /x was not written/);
    assert.equal(readFileSync(file, 'utf8'), 'ONE\ntwo\nthree\nsomething else\n');
    assert.equal(session(desk)?.corrections, undefined);
    const [call] = session(desk)?.turns.flatMap(callsOf) ?? [];
    assert.equal(call && callWords(call, { cwd: desk.root, terminals: [] }).decided, 'allowed by you', 'it is not as the user edited it');
  }));

test('a file that has become a link: the agreed text is written nowhere, and the reason is said', () =>
  allowed(async (desk, file) => {
    renameSync(file, desk.path('was'));
    writeFileSync(desk.path('was'), 'ONE\ntwo\nthree\nFOUR\n');
    symlinkSync(desk.path('was'), file);
    desk.done('a', 'e');
    await desk.until(() => (session(desk)?.notices.length ?? 0) > 0);
    assert.equal(session(desk)?.notices[0]?.text, 'x could not be written: x has changed in the meantime. Look at the change again.');
    assert.equal(readFileSync(desk.path('was'), 'utf8'), 'ONE\ntwo\nthree\nFOUR\n');
  }));

for (const how of [{ editable: true as const }, { effect: 'reject_once' as const }]) {
  test(`nothing is written afterwards: ${Object.keys(how).join()}`, () =>
    allowed(async (desk, file) => {
      writeFileSync(file, 'ONE\ntwo\nthree\nFOUR\n');
      desk.done('a', 'e');
      desk.end('a');
      await desk.until(() => desk.rows('a') !== undefined);
      assert.equal(readFileSync(file, 'utf8'), 'ONE\ntwo\nthree\nFOUR\n');
      assert.equal(session(desk)?.corrections, undefined);
    }, how));
}

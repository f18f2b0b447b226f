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
import { FakeReviewHost } from './fakeHost.ts';

/** An edit of two lines is allowed after the user has changed it. */
async function allowed(
  run: (fakeHost: FakeReviewHost, file: string) => Promise<void>,
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
  const fakeHost = new FakeReviewHost(
    (host, folder, publish) => new ChangeSets(host, folder, () => ChangeSet, effects, publish, silentLog),
    'a',
  );
  const amendments = new Amendments(fakeHost, fakeHost.sets, effects, (id, event) => fakeHost.say(id, event), silentLog);
  try {
    const file = fakeHost.path('x');
    fakeHost.write('x', 'one\ntwo\nthree\nfour\n');
    await fakeHost.start('a');
    const output = [{ kind: 'diff' as const, diff: { path: file, before: null, after: 'ONE\ntwo\nthree\nFOUR\n' } }];
    fakeHost.call('a', 'e', { kind: 'edit', status: 'waiting', output });
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
    fakeHost.say('a', { type: 'ask.opened', ask });
    const diffs = [{ path: 'x', before: 'one\ntwo\nthree\nfour\n', after: 'ONE\ntwo\nthree\nfour\nmine\n' }];
    fakeHost.say('a', { type: 'ask.revised', askId: 'q', diffs });
    fakeHost.say('a', { type: 'ask.decided', askId: 'q', decision: { kind: 'approval', by: 'user', effect } });
    fakeHost.say('a', { type: 'ask.closed', askId: 'q', how: 'answered' });
    await run(fakeHost, file);
  } finally {
    amendments.dispose();
    fakeHost.remove();
  }
}
const session = (fakeHost: FakeReviewHost) => fakeHost.get('a')?.store.now;

test('the agreed text is written after the agent’s own write, keeps what changed elsewhere, and the agent is told once', () =>
  allowed(async (fakeHost, file) => {
    writeFileSync(file, 'ONE\ntwo\nTHREE\nFOUR\n');
    fakeHost.done('a', 'e');
    await fakeHost.until(() => session(fakeHost)?.corrections !== undefined);
    assert.equal(readFileSync(file, 'utf8'), 'ONE\ntwo\nTHREE\nfour\nmine\n');
    assert.match(session(fakeHost)?.corrections?.join() ?? '', /edit of x:\n-FOUR\n\+four\n\+mine$/);
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a') !== undefined);
    assert.equal(session(fakeHost)?.corrections?.length, 1);
  }));

test('undoing an edit that was agreed brings back what was there before it, the user’s own words in it included', () =>
  allowed(async (fakeHost, file) => {
    writeFileSync(file, 'ONE\ntwo\nthree\nFOUR\n');
    fakeHost.done('a', 'e');
    await fakeHost.until(() => session(fakeHost)?.corrections !== undefined);
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a') !== undefined);
    assert.deepEqual(
      session(fakeHost)
        ?.turns.at(-1)
        ?.files?.map(({ added, removed, callId }) => [added, removed, callId]),
      [[2, 1, 'e']],
    );
    const [call] = session(fakeHost)?.turns.flatMap(callsOf) ?? [];
    const diff = { path: file, before: 'one\ntwo\nthree\nfour\n', after: 'ONE\ntwo\nthree\nfour\nmine\n' };
    assert.deepEqual(call && diffsOf(call), [diff], 'the call shows what was agreed, with the same lines as the file');
    assert.equal(call && callWords(call, { cwd: fakeHost.root, terminals: [] }).decided, 'edited by you');
    await fakeHost.sets.of('a')?.settle(file, 'undo');
    assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\nthree\nfour\n');
    assert.deepEqual(fakeHost.sets.of('a')?.files, []);
  }));

test('where the agent wrote something else, nothing is written, and the user is told', () =>
  allowed(async (fakeHost, file) => {
    writeFileSync(file, 'ONE\ntwo\nthree\nsomething else\n');
    fakeHost.done('a', 'e');
    await fakeHost.until(() => (session(fakeHost)?.notices.length ?? 0) > 0);
    assert.match(session(fakeHost)?.notices[0]?.text ?? '', /x was not written/);
    assert.equal(readFileSync(file, 'utf8'), 'ONE\ntwo\nthree\nsomething else\n');
    assert.equal(session(fakeHost)?.corrections, undefined);
    const [call] = session(fakeHost)?.turns.flatMap(callsOf) ?? [];
    assert.equal(
      call && callWords(call, { cwd: fakeHost.root, terminals: [] }).decided,
      'allowed by you',
      'it is not as the user edited it',
    );
  }));

test('a file that has become a link: the agreed text is written nowhere, and the reason is said', () =>
  allowed(async (fakeHost, file) => {
    renameSync(file, fakeHost.path('was'));
    writeFileSync(fakeHost.path('was'), 'ONE\ntwo\nthree\nFOUR\n');
    symlinkSync(fakeHost.path('was'), file);
    fakeHost.done('a', 'e');
    await fakeHost.until(() => (session(fakeHost)?.notices.length ?? 0) > 0);
    assert.equal(session(fakeHost)?.notices[0]?.text, 'x could not be written: x has changed in the meantime. Look at the change again.');
    assert.equal(readFileSync(fakeHost.path('was'), 'utf8'), 'ONE\ntwo\nthree\nFOUR\n');
  }));

for (const how of [{ editable: true as const }, { effect: 'reject_once' as const }]) {
  test(`nothing is written afterwards: ${Object.keys(how).join()}`, () =>
    allowed(async (fakeHost, file) => {
      writeFileSync(file, 'ONE\ntwo\nthree\nFOUR\n');
      fakeHost.done('a', 'e');
      fakeHost.end('a');
      await fakeHost.until(() => fakeHost.rows('a') !== undefined);
      assert.equal(readFileSync(file, 'utf8'), 'ONE\ntwo\nthree\nFOUR\n');
      assert.equal(session(fakeHost)?.corrections, undefined);
    }, how));
}

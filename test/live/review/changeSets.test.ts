import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { silentLog } from '../../../src/base/log.ts';
import { ChangeSet } from '../../../src/live/review/changeSet.ts';
import { ChangeSets } from '../../../src/live/review/changeSets.ts';
import { hunksOfSegments } from '../../../src/session/segments.ts';
import { Desk } from './desk.ts';

const effects = {
  readText: async (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : null),
  writeText: async (file: string, text: string) => writeFileSync(file, text),
  hasUnsaved: () => false,
  folders: () => [],
};

function withDesk(ids: readonly string[], run: (desk: Desk) => Promise<void>): () => Promise<void> {
  return async () => {
    const desk = new Desk((host, folder, publish) => new ChangeSets(host, folder, () => ChangeSet, effects, publish, silentLog), ...ids);
    try {
      await run(desk);
    } finally {
      desk.remove();
    }
  };
}

test(
  'a change belongs to the call that names the file, else to the only one that can have made it, else to nobody known',
  withDesk(['a'], async (desk) => {
    await desk.start('a');
    desk.call('a', 'read', { kind: 'read' });
    desk.done('a', 'read');
    desk.call('a', 'npm', { kind: 'execute' });
    desk.write('made', '1');
    desk.done('a', 'npm');
    await desk.until(() => desk.sets.of('a')?.files.length === 1);
    desk.edit('a', 'edited', 'e');
    desk.call('a', 'one', { kind: 'execute' });
    desk.call('a', 'two', { kind: 'execute' });
    desk.write('by one or two', '1');
    desk.end('a');
    await desk.until(() => desk.rows('a')?.length === 3);
    assert.deepEqual(desk.rows('a'), ['by one or two open -', 'edited open e', 'made open npm']);
  }),
);

test(
  'what is written or deleted after a command has ended is not the command’s, although the look at the folder comes later',
  withDesk(['a'], async (desk) => {
    desk.write('old', 'of old\n');
    await desk.start('a');
    desk.call('a', 'run', { kind: 'execute' });
    desk.write('in time', '1');
    desk.done('a', 'run');
    const ended = Date.now();
    while (Date.now() < ended + 60) await new Promise((resolve) => setImmediate(resolve));
    desk.write('too late', '1');
    rmSync(desk.path('old'));
    desk.end('a');
    await desk.until(() => desk.rows('a')?.length === 3);
    assert.deepEqual(desk.rows('a'), ['in time open run', 'old open -', 'too late open -']);
  }),
);

test(
  'two sessions in one folder: each has what its agent did, and no change is in both',
  withDesk(['a', 'b'], async (desk) => {
    await desk.start('a');
    await desk.start('b');
    desk.edit('a', 'of a', 'e');
    desk.edit('b', 'of b', 'e');
    desk.call('b', 'run', { kind: 'execute' });
    desk.write('by a command of b', '1');
    desk.end('a');
    await desk.until(() => desk.rows('a') !== undefined);
    desk.end('b');
    await desk.until(() => desk.rows('b') !== undefined);
    assert.deepEqual([desk.rows('a'), desk.rows('b')], [['of a open e'], ['by a command of b open run', 'of b open e']]);
    await desk.sets.of('a')?.settle(path.join(desk.root, 'of a'), 'undo');
    await desk.start('b', 't2');
    desk.end('b', 't2');
    await desk.until(() => desk.rows('b', 't2') !== undefined);
    assert.deepEqual(desk.rows('b', 't2'), []);
  }),
);

test(
  'a change that another session made before, and that is gone meanwhile, counts for the session that makes it anew',
  withDesk(['a', 'b'], async (desk) => {
    for (const id of ['a', 'b'] as const) {
      desk.write('x', 'one\n');
      await desk.start(id);
      desk.write('x', 'two\n');
      desk.end(id);
      await desk.until(() => desk.rows(id)?.length === 1);
      assert.deepEqual(desk.rows(id), ['x open -']);
    }
  }),
);

test(
  'what one session’s user undoes while another’s agent works is not that agent’s',
  withDesk(['a', 'b'], async (desk) => {
    desk.write('x', 'one\n');
    await desk.start('a');
    desk.edit('a', 'x', 'e');
    desk.end('a');
    await desk.until(() => desk.rows('a') !== undefined);
    await desk.start('b');
    desk.call('b', 'run', { kind: 'execute' });
    await desk.sets.of('a')?.settle(path.join(desk.root, 'x'), 'undo');
    desk.end('b');
    await desk.until(() => desk.rows('b') !== undefined);
    assert.deepEqual(desk.rows('b'), []);
  }),
);

test(
  'an agent that works on in the background is followed until it is done',
  withDesk(['a'], async (desk) => {
    await desk.start('a');
    desk.call('a', 'sub', { kind: 'other', goesOn: true });
    desk.say('a', { type: 'background.set', tasks: [{ id: 'x', text: 'works on' }] });
    desk.end('a');
    await desk.sets.look('a');
    desk.write('later', '1');
    desk.say('a', { type: 'call.changed', turnId: 't', callId: 'sub', change: { goesOn: false, status: 'done' } });
    desk.say('a', { type: 'background.set', tasks: [] });
    await desk.until(() => desk.rows('a')?.length === 1);
    assert.deepEqual(desk.rows('a'), ['later open sub']);
    desk.write('mine', '1');
    await desk.sets.look('a');
    assert.deepEqual(desk.rows('a'), ['later open sub'], 'from then on the folder is the user’s');
  }),
);

test(
  'what the agent told of a place that is not watched is listed as told, and a decision stands there, too',
  withDesk(['a'], async (desk) => {
    const outside = path.join(desk.state, 'outside.txt');
    writeFileSync(outside, 'new\n');
    await desk.start('a');
    for (const [callId, file] of [
      ['e1', outside],
      ['e2', path.join(desk.root, 'never written')],
    ] as const) {
      desk.call('a', callId, { kind: 'edit', output: [{ kind: 'diff', diff: { path: file, before: 'old\n', after: 'new\n' } }] });
      desk.done('a', callId);
    }
    desk.end('a');
    await desk.until(() => desk.rows('a') !== undefined);
    assert.deepEqual(desk.rows('a'), ['outside.txt reported -'], 'what was not written is no change');
    await desk.sets.of('a')?.undoReported(outside, async () => writeFileSync(outside, 'undone\n'));
    desk.sets.reportedSettled('a', 't', outside, 'undone');
    assert.deepEqual(desk.rows('a'), ['outside.txt undone -']);
    await desk.sets.updateCorrections('a');
    assert.match(desk.get('a')?.store.now.corrections?.join() ?? '', /undid changes that you made in .*outside\.txt:\n.*\+undone$/s);
    await desk.start('a', 't2');
    desk.end('a', 't2');
    await desk.until(() => desk.rows('a', 't2') !== undefined);
    assert.deepEqual(desk.rows('a'), ['outside.txt undone -']);
  }),
);

test(
  'an ignored file that the agent tells of is listed, and is not named a second time as left out',
  withDesk(['a'], async (desk) => {
    desk.write('.gitignore', '.env\n*.log\n');
    desk.write('.env', 'old\n');
    await desk.start('a');
    desk.write('.env', 'new, and longer\n');
    desk.write('x.log', '1\n');
    desk.call('a', 'e', {
      kind: 'edit',
      output: [{ kind: 'diff', diff: { path: desk.path('.env'), before: 'old\n', after: 'new, and longer\n' } }],
    });
    desk.done('a', 'e');
    desk.end('a');
    await desk.until(() => desk.rows('a') !== undefined);
    assert.deepEqual(desk.rows('a'), ['.env reported -']);
    assert.deepEqual(desk.get('a')?.store.now.turns[0]?.unlisted, { files: 0, folders: ['x.log'] });
  }),
);

test(
  'files that the user puts back are told to the agent, once, whatever the way there',
  withDesk(['a'], async (desk) => {
    desk.write('x', 'one\n');
    await desk.start('a');
    desk.edit('a', 'x', 'e');
    desk.end('a');
    await desk.until(() => desk.rows('a') !== undefined);
    await desk.sets.restore('a', 't');
    assert.deepEqual(readFileSync(desk.path('x'), 'utf8'), 'one\n');
    const told = () => desk.get('a')?.store.now.corrections?.join();
    assert.match(told() ?? '', /^The user restored another state of these files.* x\.$/);
    await desk.sets.undoRestore('a');
    assert.deepEqual(readFileSync(desk.path('x'), 'utf8'), 'a e\n');
    assert.equal(told(), undefined, 'it is again as the agent knows it');
    assert.deepEqual(desk.rows('a'), ['x open e']);
  }),
);

test(
  'hunks and files that the user undoes are told to the agent with its next prompt; what comes back is not',
  withDesk(['a'], async (desk) => {
    const set = desk.sets.of('a');
    const lines = Array.from({ length: 12 }, (_, at) => `line ${at}`);
    const told = async () => {
      await desk.sets.updateCorrections('a');
      return desk.get('a')?.store.now.corrections ?? [];
    };
    desk.write('x', lines.join('\n'));
    await desk.start('a');
    desk.edit('a', 'x', 'e');
    desk.write('x', lines.with(1, 'ONE').with(8, 'EIGHT').join('\n'));
    desk.write('y', 'agent\n');
    desk.end('a');
    await desk.until(() => desk.rows('a') !== undefined);
    const [, second] = hunksOfSegments((await set?.segments(desk.path('x'))) ?? []);
    assert.ok(set && second);
    await set.settle(desk.path('x'), 'undo', [second]);
    assert.deepEqual(await told(), ['The user undid changes that you made in x:\n-EIGHT\n+line 8']);
    await set.settle(desk.path('y'), 'undo');
    assert.deepEqual((await told())[1], 'The user undid changes that you made in y. It does not exist any more.');
    await desk.sets.undoRestore('a');
    assert.equal((await told()).length, 1, 'the new file is there again');
    await set.settle(desk.path('x'), 'keep');
    assert.equal((await told()).length, 1, 'what is kept is as the agent knows it');
  }),
);

test(
  'the agent is told what differs when it gets the prompt: nothing of files that are again as it knows them, and no line of before',
  withDesk(['a'], async (desk) => {
    const edited = () => desk.get('a')?.store.now.corrections?.join('\n');
    desk.write('x', 'one\ntwo\n');
    await desk.start('a');
    desk.edit('a', 'x', 'e');
    desk.write('x', 'ONE\ntwo\n');
    desk.write('y', 'agent\n');
    await desk.sets.look('a');
    for (const [name, text] of [
      ['x', 'ONE\nmine\n'],
      ['y', 'not for long\n'],
    ] as const)
      await desk.sets.of('a')?.agree(desk.path(name), async () => desk.write(name, text));
    await desk.sets.updateCorrections('a');
    assert.match(edited() ?? '', /edit of x:\n-two\n\+mine\n.*edit of y:\n-agent\n\+not for long$/s);
    desk.end('a');
    await desk.sets.of('a')?.look(undefined, true);
    // The user goes on: the one file differs in another way, the other one not at all.
    desk.write('x', 'ONE\nbetter\n');
    desk.write('y', 'agent\n');
    await desk.sets.beforePrompt('a', 't2');
    assert.equal(edited(), 'The user changed your edit of x:\n-two\n+better');
    // Once it is sent it is not told again.
    desk.say('a', { type: 'corrections.set', texts: [] });
    await desk.start('a', 't2');
    desk.end('a', 't2');
    await desk.until(() => desk.rows('a', 't2') !== undefined);
    await desk.sets.updateCorrections('a');
    assert.equal(edited(), undefined);
  }),
);

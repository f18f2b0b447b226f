import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { mock, test } from 'node:test';
import { silentLog } from '../../../src/base/log.ts';
import { ChangeSet } from '../../../src/live/review/changeSet.ts';
import { ChangeSets } from '../../../src/live/review/changeSets.ts';
import { ContentStore } from '../../../src/live/review/contentStore.ts';
import { hunksOfSegments } from '../../../src/session/segments.ts';
import { FakeReviewHost } from './fakeHost.ts';

const effects = {
  readText: async (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : null),
  writeText: async (file: string, text: string) => writeFileSync(file, text),
  hasUnsaved: () => false,
  folders: () => [],
};

function withFakeHost(ids: readonly string[], run: (fakeHost: FakeReviewHost) => Promise<void>): () => Promise<void> {
  return async () => {
    const fakeHost = new FakeReviewHost(
      (host, folder, publish) => new ChangeSets(host, folder, () => ChangeSet, effects, publish, silentLog),
      ...ids,
    );
    try {
      await run(fakeHost);
    } finally {
      fakeHost.remove();
    }
  };
}

test(
  'a change belongs to the call that names the file, else to the only one that can have made it, else to nobody known',
  withFakeHost(['a'], async (fakeHost) => {
    await fakeHost.start('a');
    fakeHost.call('a', 'read', { kind: 'read' });
    fakeHost.done('a', 'read');
    fakeHost.call('a', 'npm', { kind: 'execute' });
    fakeHost.write('made', '1');
    fakeHost.done('a', 'npm');
    await fakeHost.until(() => fakeHost.sets.of('a')?.files.length === 1);
    fakeHost.edit('a', 'edited', 'e');
    fakeHost.call('a', 'one', { kind: 'execute' });
    fakeHost.call('a', 'two', { kind: 'execute' });
    fakeHost.write('by one or two', '1');
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a')?.length === 3);
    assert.deepEqual(fakeHost.rows('a'), ['by one or two open -', 'edited open e', 'made open npm']);
  }),
);

test(
  'what is written or deleted after a command has ended is not the command’s, although the look at the folder comes later',
  withFakeHost(['a'], async (fakeHost) => {
    fakeHost.write('old', 'of old\n');
    await fakeHost.start('a');
    fakeHost.call('a', 'run', { kind: 'execute' });
    fakeHost.write('in time', '1');
    fakeHost.done('a', 'run');
    const ended = Date.now();
    while (Date.now() < ended + 60) await new Promise((resolve) => setImmediate(resolve));
    fakeHost.write('too late', '1');
    rmSync(fakeHost.path('old'));
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a')?.length === 3);
    assert.deepEqual(fakeHost.rows('a'), ['in time open run', 'old open -', 'too late open -']);
  }),
);

test(
  'two sessions in one folder: each has what its agent did, and no change is in both',
  withFakeHost(['a', 'b'], async (fakeHost) => {
    await fakeHost.start('a');
    await fakeHost.start('b');
    fakeHost.edit('a', 'of a', 'e');
    fakeHost.edit('b', 'of b', 'e');
    fakeHost.call('b', 'run', { kind: 'execute' });
    fakeHost.write('by a command of b', '1');
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a') !== undefined);
    fakeHost.end('b');
    await fakeHost.until(() => fakeHost.rows('b') !== undefined);
    assert.deepEqual([fakeHost.rows('a'), fakeHost.rows('b')], [['of a open e'], ['by a command of b open run', 'of b open e']]);
    await fakeHost.sets.of('a')?.settle(path.join(fakeHost.root, 'of a'), 'undo');
    await fakeHost.start('b', 't2');
    fakeHost.end('b', 't2');
    await fakeHost.until(() => fakeHost.rows('b', 't2') !== undefined);
    assert.deepEqual(fakeHost.rows('b', 't2'), []);
  }),
);

test(
  'turns that an agent tells again, as a host does to another window, have the files that were found for them',
  withFakeHost(['a'], async (fakeHost) => {
    await fakeHost.start('a');
    fakeHost.call('a', 'run', { kind: 'execute' });
    fakeHost.write('by a command', '1');
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a')?.length === 1);
    // The end of the turn has told all it has to tell.
    await fakeHost.sets.loaded();
    await new Promise((resolve) => setImmediate(resolve));
    fakeHost.say('a', { type: 'history.started' });
    fakeHost.say('a', { type: 'turns.removed', from: 't' });
    fakeHost.say('a', { type: 'turn.started', turnId: 't', at: 1, prompt: [{ type: 'text', text: 'go' }] });
    fakeHost.end('a');
    assert.equal(fakeHost.rows('a'), undefined);
    fakeHost.say('a', { type: 'link.ready', agent: { protocol: 'none', name: 'x' }, offers: {} });
    await fakeHost.until(() => fakeHost.rows('a') !== undefined);
    assert.deepEqual(fakeHost.rows('a'), ['by a command open run']);
  }),
);

test(
  'a change that another session made before, and that is gone meanwhile, counts for the session that makes it anew',
  withFakeHost(['a', 'b'], async (fakeHost) => {
    for (const id of ['a', 'b'] as const) {
      fakeHost.write('x', 'one\n');
      await fakeHost.start(id);
      fakeHost.write('x', 'two\n');
      fakeHost.end(id);
      await fakeHost.until(() => fakeHost.rows(id)?.length === 1);
      assert.deepEqual(fakeHost.rows(id), ['x open -']);
    }
  }),
);

test(
  'lines that were undone in one session, and that another one’s agent has written since, are that agent’s alone',
  withFakeHost(['a', 'b'], async (fakeHost) => {
    const lines = Array.from({ length: 20 }, (_, at) => `row ${at + 1}`);
    const text = (...all: readonly string[]) => `${all.join('\n')}\n`;
    const spelled = text(...lines.with(4, 'row five').with(15, 'row sixteen'));
    const file = fakeHost.path('x');
    const undoFirst = async (id: string) => {
      const [first] = hunksOfSegments((await fakeHost.sets.of(id)?.segments(file)) ?? []);
      assert.ok(first);
      await fakeHost.sets.of(id)?.settle(file, 'undo', [first]);
    };
    for (const id of ['a', 'b'] as const) {
      fakeHost.write('x', text(...lines));
      await fakeHost.start(id);
      fakeHost.write('x', spelled);
      fakeHost.end(id);
      await fakeHost.until(() => fakeHost.rows(id)?.length === 1);
      await undoFirst(id);
      if (id === 'a') await undoFirst(id);
    }
    assert.equal(readFileSync(file, 'utf8'), text(...lines.with(15, 'row sixteen')));
    // Settles after what has been heard of the undoing.
    await fakeHost.sets.of('a')?.corrections();
    assert.deepEqual(
      fakeHost.sets.changing(file).map(({ id }) => id),
      ['b'],
    );
  }),
);

test(
  'what one session’s user undoes while another’s agent works is not that agent’s',
  withFakeHost(['a', 'b'], async (fakeHost) => {
    fakeHost.write('x', 'one\n');
    await fakeHost.start('a');
    fakeHost.edit('a', 'x', 'e');
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a') !== undefined);
    await fakeHost.start('b');
    fakeHost.call('b', 'run', { kind: 'execute' });
    await fakeHost.sets.of('a')?.settle(path.join(fakeHost.root, 'x'), 'undo');
    fakeHost.end('b');
    await fakeHost.until(() => fakeHost.rows('b') !== undefined);
    assert.deepEqual(fakeHost.rows('b'), []);
  }),
);

for (const how of ['deleted', 'moved'] as const)
  test(
    `a file that a later session has ${how} does not come back by the undo of an earlier one, which waits for the later one’s`,
    withFakeHost(['a', 'b'], async (fakeHost) => {
      const [file, moved] = [fakeHost.path('x'), fakeHost.path('y')];
      const lines = 'one\ntwo\nthree\nfour\n';
      fakeHost.write('x', lines);
      await fakeHost.start('a');
      fakeHost.write('x', lines.replace('two', 'TWO'));
      fakeHost.end('a');
      await fakeHost.until(() => fakeHost.rows('a')?.length === 1);
      await fakeHost.start('b');
      if (how === 'deleted') rmSync(file);
      else renameSync(file, moved);
      fakeHost.end('b');
      await fakeHost.until(() => fakeHost.rows('b')?.length === 1);
      const [a, b] = [fakeHost.sets.of('a'), fakeHost.sets.of('b')];
      await assert.rejects(a?.settleAll('undo') ?? Promise.resolve(), /other prompts have changed/);
      assert.deepEqual([existsSync(file), a?.files.length, b?.files.length], [false, 1, 1]);
      await b?.settleAll('undo');
      await a?.settleAll('undo');
      assert.deepEqual([readFileSync(file, 'utf8'), existsSync(moved), a?.files.length, b?.files.length], [lines, false, 0, 0]);
    }),
  );

for (const how of ['deleted', 'moved', 'deleted where this one had moved it'] as const)
  test(
    `a restore leaves a file alone that a later session has ${how}, and its preview says so`,
    withFakeHost(['a', 'b'], async (fakeHost) => {
      const lines = 'one\ntwo\nthree\nfour\n';
      const here = how === 'deleted where this one had moved it' ? 'y' : 'x';
      for (const name of ['x', 'other']) fakeHost.write(name, `${name}\n${lines}`);
      await fakeHost.start('a');
      if (here === 'y') renameSync(fakeHost.path('x'), fakeHost.path('y'));
      for (const name of [here, 'other']) fakeHost.write(name, `${name}\n${lines.replace('two', 'TWO')}`);
      fakeHost.end('a');
      await fakeHost.until(() => fakeHost.rows('a')?.length === 2);
      await fakeHost.start('b');
      if (how === 'moved') renameSync(fakeHost.path('x'), fakeHost.path('z'));
      else rmSync(fakeHost.path(here));
      fakeHost.end('b');
      await fakeHost.until(() => fakeHost.rows('b')?.length === 1);
      const a = fakeHost.sets.of('a');
      const files = (await a?.preview('t'))?.files ?? [];
      const refused = files.filter((one) => one.refused !== undefined).map(({ name }) => name);
      assert.deepEqual([files.length, refused], [2, ['x']]);
      await assert.rejects(a?.restore('t') ?? Promise.resolve(), /other prompts have changed/);
      await a?.restore('t', new Set(refused));
      assert.deepEqual([existsSync(fakeHost.path('x')), readFileSync(fakeHost.path('other'), 'utf8')], [false, `other\n${lines}`]);
    }),
  );

test(
  'an agent that works on in the background is followed until it is done',
  withFakeHost(['a'], async (fakeHost) => {
    await fakeHost.start('a');
    fakeHost.call('a', 'sub', { kind: 'other', goesOn: true });
    fakeHost.say('a', { type: 'background.set', tasks: [{ id: 'x', text: 'works on' }] });
    fakeHost.end('a');
    await fakeHost.sets.look('a');
    fakeHost.write('later', '1');
    fakeHost.say('a', { type: 'call.changed', turnId: 't', callId: 'sub', change: { goesOn: false, status: 'done' } });
    fakeHost.say('a', { type: 'background.set', tasks: [] });
    await fakeHost.until(() => fakeHost.rows('a')?.length === 1);
    assert.deepEqual(fakeHost.rows('a'), ['later open sub']);
    fakeHost.write('mine', '1');
    await fakeHost.sets.look('a');
    assert.deepEqual(fakeHost.rows('a'), ['later open sub'], 'from then on the folder is the user’s');
  }),
);

test(
  'what the agent told of a place that is not watched is listed as told, and a decision stands there, too',
  withFakeHost(['a'], async (fakeHost) => {
    const outside = path.join(fakeHost.state, 'outside.txt');
    writeFileSync(outside, 'new\n');
    await fakeHost.start('a');
    for (const [callId, file] of [
      ['e1', outside],
      ['e2', path.join(fakeHost.root, 'never written')],
    ] as const) {
      fakeHost.call('a', callId, { kind: 'edit', output: [{ kind: 'diff', diff: { path: file, before: 'old\n', after: 'new\n' } }] });
      fakeHost.done('a', callId);
    }
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a') !== undefined);
    assert.deepEqual(fakeHost.rows('a'), ['outside.txt reported -'], 'what was not written is no change');
    await fakeHost.sets.of('a')?.undoReported(outside, async () => writeFileSync(outside, 'undone\n'));
    fakeHost.sets.reportedSettled('a', 't', outside, 'undone');
    assert.deepEqual(fakeHost.rows('a'), ['outside.txt undone -']);
    await fakeHost.sets.updateCorrections('a');
    assert.match(fakeHost.get('a')?.store.now.corrections?.join() ?? '', /undid changes that you made in .*outside\.txt:\n.*\+undone$/s);
    await fakeHost.start('a', 't2');
    fakeHost.end('a', 't2');
    await fakeHost.until(() => fakeHost.rows('a', 't2') !== undefined);
    assert.deepEqual(fakeHost.rows('a'), ['outside.txt undone -']);
  }),
);

test(
  'a file that the agent wrote through a link in the folder is listed once, where it is',
  withFakeHost(['a'], async (fakeHost) => {
    mkdirSync(fakeHost.path('real'));
    fakeHost.write('real/a.txt', 'old\n');
    symlinkSync('real', fakeHost.path('linked'));
    await fakeHost.start('a');
    fakeHost.write('real/a.txt', 'new\n');
    const diff = { path: fakeHost.path('linked/a.txt'), before: 'old\n', after: 'new\n' };
    fakeHost.call('a', 'e', { kind: 'edit', output: [{ kind: 'diff', diff }] });
    fakeHost.done('a', 'e');
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a') !== undefined);
    assert.deepEqual(
      fakeHost.get('a')?.store.now.turns[0]?.files?.map((one) => one.path),
      [fakeHost.path('real/a.txt')],
    );
  }),
);

test(
  'the lines of two agents in one file: each session has its own, and undoing one leaves the other’s',
  withFakeHost(['a', 'b'], async (fakeHost) => {
    const text = (changed: Readonly<Record<number, string>>) =>
      Array.from({ length: 30 }, (_, at) => `${changed[at] ?? `row ${at}`}\n`).join('');
    fakeHost.write('x', text({}));
    for (const [id, changed] of [
      ['a', { 3: 'of a' }],
      ['b', { 3: 'of a', 20: 'of b' }],
    ] as const) {
      await fakeHost.start(id);
      fakeHost.write('x', text(changed));
      fakeHost.end(id);
      await fakeHost.until(() => fakeHost.rows(id)?.length === 1);
    }
    const hunks = async (id: string) => {
      const segments = await fakeHost.sets.of(id)?.segments(fakeHost.path('x'));
      return hunksOfSegments(segments ?? []).map(({ hunk }) => hunk.after.join());
    };
    assert.deepEqual([await hunks('a'), await hunks('b')], [['of a'], ['of b']]);
    await fakeHost.sets.of('a')?.settle(fakeHost.path('x'), 'undo');
    assert.equal(readFileSync(fakeHost.path('x'), 'utf8'), text({ 20: 'of b' }));
    assert.deepEqual([await hunks('a'), await hunks('b')], [[], ['of b']]);
    await fakeHost.sets.of('b')?.settle(fakeHost.path('x'), 'undo');
    assert.equal(readFileSync(fakeHost.path('x'), 'utf8'), text({}));
    assert.deepEqual([fakeHost.sets.of('a')?.files, fakeHost.sets.of('b')?.files], [[], []]);
  }),
);

test(
  'a file that one agent made and another changed: deleted by the first session’s undo, the other’s change is undone, too',
  withFakeHost(['a', 'b'], async (fakeHost) => {
    await fakeHost.start('a');
    fakeHost.write('made', 'one\ntwo\nthree\n');
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a')?.length === 1);
    await fakeHost.start('b');
    fakeHost.write('made', 'of b\ntwo\nthree\n');
    fakeHost.end('b');
    await fakeHost.until(() => fakeHost.rows('b')?.length === 1);
    rmSync(fakeHost.path('made'));
    await fakeHost.sets.of('b')?.userSaved(fakeHost.path('made'));
    await fakeHost.until(() => fakeHost.rows('b')?.[0] === 'made undone -');
  }),
);

test(
  'an ignored file that the agent tells of is listed, and is not named a second time as left out',
  withFakeHost(['a'], async (fakeHost) => {
    fakeHost.write('.gitignore', '.env\n*.log\n');
    fakeHost.write('.env', 'old\n');
    await fakeHost.start('a');
    fakeHost.write('.env', 'new, and longer\n');
    fakeHost.write('x.log', '1\n');
    fakeHost.call('a', 'e', {
      kind: 'edit',
      output: [{ kind: 'diff', diff: { path: fakeHost.path('.env'), before: 'old\n', after: 'new, and longer\n' } }],
    });
    fakeHost.done('a', 'e');
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a') !== undefined);
    assert.deepEqual(fakeHost.rows('a'), ['.env reported -']);
    assert.deepEqual(fakeHost.get('a')?.store.now.turns[0]?.unlisted, { files: 0, folders: ['x.log'] });
  }),
);

test(
  'files that the user puts back are told to the agent, once, whatever the way there',
  withFakeHost(['a'], async (fakeHost) => {
    fakeHost.write('x', 'one\n');
    await fakeHost.start('a');
    fakeHost.edit('a', 'x', 'e');
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a') !== undefined);
    await fakeHost.sets.restore('a', 't');
    assert.deepEqual(readFileSync(fakeHost.path('x'), 'utf8'), 'one\n');
    const told = () => fakeHost.get('a')?.store.now.corrections?.join();
    assert.match(told() ?? '', /^The user restored another state of these files.* x\.$/);
    await fakeHost.sets.undoRestore('a');
    assert.deepEqual(readFileSync(fakeHost.path('x'), 'utf8'), 'a e\n');
    assert.equal(told(), undefined, 'it is again as the agent knows it');
    assert.deepEqual(fakeHost.rows('a'), ['x open e']);
  }),
);

test(
  'hunks and files that the user undoes are told to the agent with its next prompt; what comes back is not',
  withFakeHost(['a'], async (fakeHost) => {
    const set = fakeHost.sets.of('a');
    const lines = Array.from({ length: 12 }, (_, at) => `line ${at}`);
    const told = async () => {
      await fakeHost.sets.updateCorrections('a');
      return fakeHost.get('a')?.store.now.corrections ?? [];
    };
    fakeHost.write('x', lines.join('\n'));
    await fakeHost.start('a');
    fakeHost.edit('a', 'x', 'e');
    fakeHost.write('x', lines.with(1, 'ONE').with(8, 'EIGHT').join('\n'));
    fakeHost.write('y', 'agent\n');
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a') !== undefined);
    const [, second] = hunksOfSegments((await set?.segments(fakeHost.path('x'))) ?? []);
    assert.ok(set && second);
    await set.settle(fakeHost.path('x'), 'undo', [second]);
    assert.deepEqual(await told(), ['The user undid changes that you made in x:\n-EIGHT\n+line 8']);
    await set.settle(fakeHost.path('y'), 'undo');
    assert.deepEqual((await told())[1], 'The user undid changes that you made in y. It does not exist any more.');
    await fakeHost.sets.undoRestore('a');
    assert.equal((await told()).length, 1, 'the new file is there again');
    await set.settle(fakeHost.path('x'), 'keep');
    assert.equal((await told()).length, 1, 'what is kept is as the agent knows it');
  }),
);

test(
  'the agent is told what differs when it gets the prompt: nothing of files that are again as it knows them, and no line of before',
  withFakeHost(['a'], async (fakeHost) => {
    const edited = () => fakeHost.get('a')?.store.now.corrections?.join('\n');
    fakeHost.write('x', 'one\ntwo\n');
    await fakeHost.start('a');
    fakeHost.edit('a', 'x', 'e');
    fakeHost.write('x', 'ONE\ntwo\n');
    fakeHost.write('y', 'agent\n');
    await fakeHost.sets.look('a');
    for (const [name, text] of [
      ['x', 'ONE\nmine\n'],
      ['y', 'not for long\n'],
    ] as const)
      await fakeHost.sets.of('a')?.applyEditedProposal(fakeHost.path(name), async () => fakeHost.write(name, text));
    await fakeHost.sets.updateCorrections('a');
    assert.match(edited() ?? '', /edit of x:\n-two\n\+mine\n.*edit of y:\n-agent\n\+not for long$/s);
    fakeHost.end('a');
    await fakeHost.sets.of('a')?.look(undefined, true);
    // The user goes on: the one file differs in another way, the other one not at all.
    fakeHost.write('x', 'ONE\nbetter\n');
    fakeHost.write('y', 'agent\n');
    await fakeHost.sets.beforePrompt('a', 't2');
    assert.equal(edited(), 'The user changed your edit of x:\n-two\n+better');
    // Once it is sent it is not told again.
    fakeHost.say('a', { type: 'corrections.set', texts: [] });
    await fakeHost.start('a', 't2');
    fakeHost.end('a', 't2');
    await fakeHost.until(() => fakeHost.rows('a', 't2') !== undefined);
    await fakeHost.sets.updateCorrections('a');
    assert.equal(edited(), undefined);
  }),
);

test(
  'what the agent wrote into a file stays listed although the user saves it before the next look: what they typed is not the agent’s',
  withFakeHost(['a'], async (fakeHost) => {
    const six = ['one', 'two', 'three', 'four', 'five', 'six'];
    const text = (lines: readonly string[]) => `${lines.join('\n')}\n`;
    for (const name of ['his', 'opened']) fakeHost.write(name, text(six));
    await fakeHost.start('a');
    fakeHost.call('a', 'run', { kind: 'execute' });
    const agents = six.with(1, 'agent');
    for (const name of ['his', 'new']) fakeHost.write(name, text(agents));
    for (const name of ['his', 'new', 'opened']) {
      await fakeHost.sets.userSaves(fakeHost.path(name));
      fakeHost.write(name, text((name === 'opened' ? six : agents).with(4, 'mine')));
      // The editor tells of the save a little later than the file has it.
      if (name === 'opened') fakeHost.end('a');
      fakeHost.sets.userSaved(fakeHost.path(name));
    }
    await fakeHost.until(() => fakeHost.rows('a')?.length === 2);
    assert.deepEqual(fakeHost.rows('a'), ['his open run', 'new open run']);
    const set = fakeHost.sets.of('a');
    const hunks = hunksOfSegments((await set?.segments(fakeHost.path('his'))) ?? []);
    assert.deepEqual(
      hunks.map(({ hunk }) => [hunk.before, hunk.after]),
      [[['two'], ['agent']]],
    );
    await set?.settle(fakeHost.path('his'), 'undo');
    assert.equal(readFileSync(fakeHost.path('his'), 'utf8'), text(six.with(4, 'mine')));
  }),
);

test(
  'what a turn had changed when the window was reloaded is listed after it, by the call that named it or ran, and can be undone',
  withFakeHost(['a'], async (fakeHost) => {
    fakeHost.write('old', 'old\n');
    await fakeHost.start('a');
    fakeHost.edit('a', 'edited', 'e');
    await fakeHost.until(() => fakeHost.sets.of('a')?.files.length === 1);
    fakeHost.call('a', 'run', { kind: 'execute' });
    fakeHost.write('old', 'new\n');
    fakeHost.write('made', 'new\n');
    fakeHost.reload();
    await fakeHost.until(() => fakeHost.rows('a')?.length === 3);
    assert.deepEqual(fakeHost.rows('a'), ['edited open e', 'made open run', 'old open run']);
    await fakeHost.sets.of('a')?.settleAll('undo');
    assert.deepEqual([readFileSync(fakeHost.path('old'), 'utf8'), existsSync(fakeHost.path('made'))], ['old\n', false]);
  }),
);

test(
  'what changes on the disk in the middle of a turn is listed before any call ends, and belongs to the call that is known later',
  withFakeHost(['a'], async (fakeHost) => {
    await fakeHost.start('a');
    fakeHost.write('early', 'a e\n');
    fakeHost.sets.changedOnDisk([fakeHost.path('early')]);
    await fakeHost.until(() => fakeHost.rows('a')?.length === 1);
    assert.deepEqual(fakeHost.rows('a'), ['early open -']);
    fakeHost.edit('a', 'early', 'e');
    await fakeHost.until(() => fakeHost.rows('a')?.[0] === 'early open e');
    fakeHost.call('a', 'run', { kind: 'execute' });
    fakeHost.write('by run', '1');
    fakeHost.sets.changedOnDisk([fakeHost.path('by run')]);
    await fakeHost.until(() => fakeHost.rows('a')?.length === 2);
    assert.deepEqual(fakeHost.rows('a'), ['by run open run', 'early open e']);
  }),
);

test(
  'two sessions at work in one folder: a change that no call explains yet waits for the call, and is its session’s',
  withFakeHost(['a', 'b'], async (fakeHost) => {
    await fakeHost.start('a');
    await fakeHost.start('b');
    fakeHost.write('of b', 'b e\n');
    fakeHost.call('a', 'run', { kind: 'execute' });
    fakeHost.write('by run', '1');
    fakeHost.sets.changedOnDisk(['of b', 'by run'].map((name) => fakeHost.path(name)));
    fakeHost.done('a', 'run');
    fakeHost.edit('b', 'of b', 'e');
    fakeHost.end('b');
    await fakeHost.until(() => fakeHost.rows('b')?.length === 1);
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a')?.length === 1);
    assert.deepEqual([fakeHost.rows('a'), fakeHost.rows('b')], [['by run open run'], ['of b open e']]);
  }),
);

test(
  'a burst that the editor tells of in parts is one: small parts that follow a large one wait for the scan, too',
  withFakeHost(['a'], async (fakeHost) => {
    await fakeHost.start('a');
    const names = Array.from({ length: 2100 }, (_, at) => `file ${at}`);
    for (const name of names) fakeHost.write(name, name);
    const files = names.map((name) => fakeHost.path(name));
    fakeHost.sets.changedOnDisk(files.slice(0, 500));
    await fakeHost.sets.of('a')?.corrections();
    fakeHost.sets.changedOnDisk(files.slice(500, 600));
    await fakeHost.sets.of('a')?.corrections();
    fakeHost.end('a');
    const turn = () => fakeHost.get('a')?.store.now.turns[0];
    await fakeHost.until(() => turn()?.unlisted !== undefined);
    assert.deepEqual([turn()?.unlisted?.files, turn()?.files], [2100, []]);
  }),
);

test(
  'of a burst, what a call of the agent names is listed, and what was there before',
  withFakeHost(['a'], async (fakeHost) => {
    fakeHost.write('seen', '1\n');
    await fakeHost.start('a');
    for (let at = 0; at < 2100; at += 1) fakeHost.write(`file ${at}`, '1');
    fakeHost.write('seen', '2\n');
    fakeHost.edit('a', 'named', 'e');
    fakeHost.end('a');
    const turn = () => fakeHost.get('a')?.store.now.turns[0];
    await fakeHost.until(() => turn()?.unlisted !== undefined);
    assert.deepEqual([turn()?.unlisted?.files, fakeHost.rows('a')], [2101, ['named reported -', 'seen open -']]);
  }),
);

test(
  'two sessions write into the same line: it is said whose it is, also once that is decided, and when the user has written there, too',
  withFakeHost(['a', 'b'], async (fakeHost) => {
    const file = fakeHost.path('shared');
    const written = async (id: string) =>
      hunksOfSegments((await fakeHost.sets.of(id)?.segments(file)) ?? []).find(({ hunk }) => hunk.written);
    const writers = async () => {
      const hunk = await written('a');
      const of = fakeHost.sets.all.find(({ id }) => id === 'a');
      return hunk && of && (await fakeHost.sets.writers(file, [{ ...hunk, of }]))[0];
    };
    fakeHost.write('shared', 'one\ntwo\nthree\n');
    for (const id of ['a', 'b']) {
      await fakeHost.start(id);
      fakeHost.call(id, 'run', { kind: 'execute' });
      fakeHost.write('shared', `one\nof ${id}\nthree\n`);
      fakeHost.done(id, 'run');
      fakeHost.end(id);
      await fakeHost.until(() => fakeHost.rows(id)?.length === 1);
    }
    assert.deepEqual(
      fakeHost.sets.changing(file).map(({ id }) => id),
      ['a', 'b'],
    );
    assert.deepEqual(
      fakeHost.sets.files.map((one) => one.name),
      ['shared'],
    );
    assert.deepEqual(await writers(), [{ id: 'b', isAll: true }]);
    await fakeHost.sets.of('b')?.settle(file, 'keep');
    assert.deepEqual(await writers(), [{ id: 'b', isAll: true }]);
    fakeHost.write('shared', 'one\nof b and mine\nthree\n');
    fakeHost.sets.userSaved(file);
    assert.deepEqual(await writers(), [{ id: 'b', isAll: false }]);
  }),
);

test(
  'a first prompt waits until the files are read, half a minute at most, so that a command that rewrites them at once can be undone',
  withFakeHost(['a'], async (fakeHost) => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    let reached = (): void => {};
    const reading = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const put = ContentStore.prototype.put;
    mock.method(ContentStore.prototype, 'put', async function (this: ContentStore, bytes: Uint8Array) {
      reached();
      await gate;
      return put.call(this, bytes);
    });
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      for (let at = 0; at < 30; at += 1) fakeHost.write(`f${at}`, `before ${at}\n`);
      let isSent = false;
      const sent = fakeHost.start('a').then(() => {
        isSent = true;
      });
      await reading;
      mock.timers.tick(29_000);
      for (let turns = 0; turns < 10; turns += 1) await new Promise<void>((resolve) => setImmediate(resolve));
      assert.equal(isSent, false);
      open();
      await sent;
    } finally {
      mock.timers.reset();
      mock.restoreAll();
    }
    for (let at = 0; at < 30; at += 1) fakeHost.write(`f${at}`, `after ${at}\n`);
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a')?.length === 30);
    await fakeHost.sets.of('a')?.settleAll('undo');
    const texts = Array.from({ length: 30 }, (_, at) => readFileSync(fakeHost.path(`f${at}`), 'utf8'));
    assert.deepEqual(
      texts,
      texts.map((_, at) => `before ${at}\n`),
    );
  }),
);

const between = (fakeHost: FakeReviewHost, id: string, at = 0) => fakeHost.get(id)?.store.now.turns[at]?.unlisted?.between ?? [];

test(
  'what an agent writes as it starts is told of with the first prompt and is not under review; what the user saves is not told of',
  withFakeHost(['a'], async (fakeHost) => {
    for (const name of ['cache', 'gone', 'mine']) fakeHost.write(name, 'old\n');
    fakeHost.say('a', { type: 'link.opening' });
    await fakeHost.sets.of('a')?.prime();
    fakeHost.write('cache', 'new\n');
    fakeHost.write('fresh', 'new\n');
    rmSync(fakeHost.path('gone'));
    fakeHost.write('mine', 'saved\n');
    fakeHost.sets.userSaved(fakeHost.path('mine'));
    fakeHost.write('made', 'in the explorer\n');
    fakeHost.sets.userMoved([fakeHost.path('made')]);
    await fakeHost.start('a');
    fakeHost.write('mine', 'changed\n');
    fakeHost.write('fresh', 'changed\n');
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a')?.length === 2);
    assert.deepEqual(between(fakeHost, 'a'), ['cache', 'gone'], 'what the prompt changed stands in its list');
    assert.deepEqual(fakeHost.rows('a'), ['fresh open -', 'mine open -']);
    const preview = await fakeHost.sets.of('a')?.preview('t');
    assert.deepEqual(
      preview?.files.map(({ name }) => name),
      ['fresh', 'mine'],
    );
  }),
);

test(
  'what is written after a turn has ended stands below that turn, at the latest with the next prompt, and no restore touches it',
  withFakeHost(['a'], async (fakeHost) => {
    fakeHost.write('x', 'old\n');
    fakeHost.write('.gitignore', 'logs\n');
    await fakeHost.start('a');
    fakeHost.write('by the turn', '1\n');
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a')?.length === 1);
    fakeHost.write('x', 'by the background command\n');
    mkdirSync(fakeHost.path('logs'));
    fakeHost.write('logs/1', 'ignored\n');
    fakeHost.sets.changedBetween([fakeHost.path('x'), fakeHost.path('logs/1')]);
    await fakeHost.until(() => between(fakeHost, 'a').length > 0);
    assert.deepEqual(between(fakeHost, 'a'), ['x']);
    fakeHost.write('y', 'nobody was told\n');
    await fakeHost.start('a', 't2');
    await fakeHost.until(() => between(fakeHost, 'a').length > 1);
    fakeHost.write('x', 'by the background command\nand by the turn\n');
    fakeHost.end('a', 't2');
    await fakeHost.until(() => fakeHost.rows('a', 't2')?.length === 1);
    assert.deepEqual([between(fakeHost, 'a'), between(fakeHost, 'a', 1), fakeHost.rows('a')], [['x', 'y'], [], ['by the turn open -']]);
    const set = fakeHost.sets.of('a');
    const preview = await set?.preview('t');
    assert.deepEqual([preview?.files.map(({ name }) => name), preview?.between], [['by the turn', 'x'], ['y']]);
    await set?.restore('t');
    assert.deepEqual(
      ['x', 'y'].map((name) => readFileSync(fakeHost.path(name), 'utf8')),
      ['by the background command\n', 'nobody was told\n'],
    );
  }),
);

test(
  'of very many files that change at once between prompts the first hundred are named without a prompt',
  withFakeHost(['a'], async (fakeHost) => {
    await fakeHost.start('a');
    fakeHost.write('by the turn', '1\n');
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a')?.length === 1);
    const many = Array.from({ length: 300 }, (_, at) => `many ${at}`);
    for (const name of many) fakeHost.write(name, 'new\n');
    fakeHost.sets.changedBetween(many.map((name) => fakeHost.path(name)));
    await fakeHost.until(() => between(fakeHost, 'a').length > 0);
    assert.deepEqual(between(fakeHost, 'a'), many.slice(0, 100).sort());
  }),
);

test(
  'what another window with the same conversation undoes is known as undone, by file and by hunk, and is not told of as changed between prompts',
  withFakeHost(['a'], async (fakeHost) => {
    const lines = Array.from({ length: 20 }, (_, at) => `line ${at}`);
    const text = (all: readonly string[]) => `${all.join('\n')}\n`;
    for (const name of ['hunk', 'whole', 'late', 'typed']) fakeHost.write(name, text(lines));
    await fakeHost.start('a');
    const agents = lines.with(2, 'agent').with(15, 'agent');
    for (const name of ['hunk', 'whole', 'late', 'typed', 'made']) fakeHost.write(name, text(agents));
    fakeHost.end('a');
    await fakeHost.until(() => fakeHost.rows('a')?.length === 5);
    fakeHost.write('hunk', text(lines.with(15, 'agent')));
    fakeHost.write('whole', text(lines));
    fakeHost.write('typed', text([...agents, 'somebody']));
    rmSync(fakeHost.path('made'));
    fakeHost.sets.changedBetween(['hunk', 'whole', 'typed', 'made'].map((name) => fakeHost.path(name)));
    await fakeHost.until(() => between(fakeHost, 'a').length > 0);
    assert.deepEqual(between(fakeHost, 'a'), ['typed']);
    assert.deepEqual(fakeHost.rows('a'), ['hunk open -', 'late open -', 'made undone -', 'typed open -', 'whole undone -']);
    fakeHost.write('late', text(lines));
    await fakeHost.start('a', 't2');
    assert.deepEqual(between(fakeHost, 'a'), ['typed'], 'nor where it is found with the next prompt');
    fakeHost.end('a', 't2');
  }),
);

test(
  'what another session’s agent writes is not told of as changed between the prompts of this one',
  withFakeHost(['a', 'b'], async (fakeHost) => {
    fakeHost.write('x', 'old\n');
    for (const turnId of ['t', 't2'] as const) {
      await fakeHost.start('a', turnId);
      fakeHost.end('a', turnId);
      await fakeHost.until(() => fakeHost.rows('a', turnId) !== undefined);
      await fakeHost.start('b', turnId);
      fakeHost.write('x', `of b in ${turnId}\n`);
      fakeHost.end('b', turnId);
      await fakeHost.until(() => fakeHost.rows('b', turnId)?.length === 1);
    }
    assert.deepEqual(between(fakeHost, 'a'), []);
    assert.deepEqual(between(fakeHost, 'b'), []);
  }),
);

test(
  'what an agent writes while the turn of another session waits for an answer is that agent’s, with a call or without one',
  withFakeHost(['a', 'b'], async (fakeHost) => {
    fakeHost.write('x', 'old\n');
    for (const id of ['a', 'b'] as const) await fakeHost.start(id);
    fakeHost.call('a', 'run', { kind: 'execute' });
    const ask = {
      kind: 'approval',
      id: 'q',
      turnId: 't',
      callId: 'run',
      title: 'Run?',
      options: [],
      detail: { type: 'text', text: 'Run?' },
    } as const;
    fakeHost.say('a', { type: 'ask.opened', ask });
    // The times of files may be behind the clock by less than this.
    await new Promise((resolve) => setTimeout(resolve, 50));
    fakeHost.write('x', 'of b\n');
    fakeHost.write('y', 'of b, too\n');
    fakeHost.end('b');
    await fakeHost.until(() => fakeHost.rows('b')?.length === 2);
    assert.deepEqual(fakeHost.rows('b'), ['x open -', 'y open -']);
    fakeHost.say('a', { type: 'ask.closed', askId: 'q', how: 'answered' });
    fakeHost.write('z', 'of a\n');
    fakeHost.done('a', 'run');
    fakeHost.end('a');
    await fakeHost.until(() => (fakeHost.rows('a')?.length ?? 0) > 0);
    assert.deepEqual(fakeHost.rows('a'), ['z open run']);
  }),
);

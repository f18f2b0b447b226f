import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { mock, test } from 'node:test';
import { usualLimits } from '../../../src/live/review/scan.ts';
import { usedBy } from '../../../src/live/review/state.ts';
import { mannerWords } from '../../../src/session/fileWords.ts';
import { mergedInto } from '../../../src/session/merge.ts';
import type { TurnFile } from '../../../src/session/model.ts';
import { hunksOfSegments } from '../../../src/session/segments.ts';
import { randomFrom } from '../../random.ts';
import { inScene, lines, numbered, type Scene } from './scene.ts';

test(
  'a file that the agent created is taken back, final line end or not',
  inScene(async (scene) => {
    await scene.turn('t', () => scene.write({ 'USAGE.md': 'text\n', 'docs/other.md': 'text' }));
    assert.deepEqual(scene.names, ['created USAGE.md', 'created docs/other.md']);
    for (const { path: file } of scene.changes.files) await scene.changes.settle(file, 'undo');
    assert.deepEqual([existsSync(scene.path('USAGE.md')), existsSync(scene.path('docs/other.md')), scene.names], [false, false, []]);
  }),
);

test(
  'a file is compared once for as long as nothing of it changes, and anew after typing, a decision or another turn',
  inScene(async (scene) => {
    const file = scene.path('a.txt');
    scene.write({ 'a.txt': numbered(30) });
    await scene.turn('t', () => scene.write({ 'a.txt': numbered(30, (at) => (at % 10 === 5 ? 'agent' : undefined)) }));
    const seen: unknown[] = [];
    const isNew = async () => {
      const [first, again] = [await scene.changes.segments(file), await scene.changes.segments(file)];
      assert.ok(first);
      assert.equal(first, again);
      assert.ok(!seen.includes(first));
      seen.push(first);
    };
    await isNew();
    scene.unsaved.set(file, scene.read('a.txt').replace('line 0', 'mine'));
    await isNew();
    await scene.changes.settle(file, 'undo', (await scene.hunks('a.txt')).slice(0, 1));
    await isNew();
    await scene.changes.settle(file, 'keep', (await scene.hunks('a.txt')).slice(0, 1));
    await isNew();
    await scene.turn('u', () => scene.write({ 'a.txt': `${scene.read('a.txt')}more\n` }));
    await isNew();
    assert.equal((await scene.hunks('a.txt')).length, 2);
  }),
);

test(
  'a command that deletes a file and one that rewrites ten: all are listed, and all come back byte for byte',
  inScene(async (scene) => {
    const files: Record<string, string | Uint8Array> = {
      'gone.txt': '\uFEFFwith a mark\r\nand CRLF, no end',
      'picture.png': Uint8Array.from([0, 255, 1, 254, 10, 13]),
    };
    for (let at = 0; at < 10; at += 1) files[`src/f${at}.ts`] = numbered(20);
    scene.write(files);
    await scene.turn('t', () => {
      rmSync(scene.path('gone.txt'));
      scene.write({ 'picture.png': Uint8Array.from([9, 9]) });
      for (let at = 0; at < 10; at += 1)
        scene.write({ [`src/f${at}.ts`]: numbered(20, (line) => (line % 5 === at % 5 ? 'new' : undefined)) });
    });
    assert.equal(scene.names.length, 12);
    assert.ok(scene.names.includes('deleted gone.txt'));
    for (const { path: file } of scene.changes.files) await scene.changes.settle(file, 'undo');
    for (const [name, text] of Object.entries(files)) assert.deepEqual(readFileSync(scene.path(name)), Buffer.from(text), name);
    assert.deepEqual(scene.names, []);
  }),
);

test(
  'of a file with different line ends, each hunk is kept or undone byte for byte',
  inScene(async (scene) => {
    const before = ['one\r\n', 'two\n', 'three\r', 'four\f\u2028\u0085\n', 'five\r\n', 'six\n', 'seven\r\n', 'eight'];
    const after = before.with(1, 'agent two\r\n').toSpliced(4, 0, 'agent\n').with(7, 'agent seven\n');
    for (const kept of [[], [0], [1], [2], [0, 2], [0, 1, 2]]) {
      scene.write({ a: before.join('') });
      await scene.turn(`t ${kept}`, () => scene.write({ a: after.join('') }));
      const all = await scene.hunks('a');
      assert.deepEqual(
        all.map(({ afterLine }) => afterLine),
        [1, 4, 7],
      );
      for (const [at, hunk] of all.entries()) {
        const placed = (await scene.hunks('a')).filter((one) => one.hunk.after.join() === hunk.hunk.after.join());
        await scene.changes.settle(scene.path('a'), kept.includes(at) ? 'keep' : 'undo', placed);
        await scene.reload().load();
      }
      let wanted = before;
      if (kept.includes(2)) wanted = wanted.with(6, 'agent seven\n');
      if (kept.includes(1)) wanted = wanted.toSpliced(4, 0, 'agent\n');
      if (kept.includes(0)) wanted = wanted.with(1, 'agent two\r\n');
      assert.deepEqual([scene.read('a'), scene.names], [wanted.join(''), []]);
    }
  }),
);

test(
  'the file as a whole, and a prompt of two, are undone around what the user has saved: each line keeps its end',
  inScene(async (scene) => {
    scene.write({ a: 'one\r\ntwo\nthree\r\nfour\nfive\r\n' });
    await scene.turn('t', () => scene.write({ a: 'one\r\nfirst\ntwo\nthree\r\nfour\nfive\r\n' }));
    await scene.turn('u', () => scene.write({ a: 'one\r\nfirst\ntwo\nthree\r\nfour\nsecond\nfive\r\n' }));
    scene.write({ a: 'mine\rone\r\nfirst\ntwo\nthree\r\nfour\nsecond\nfive\r\n' });
    await scene.changes.userSaved(scene.path('a'));
    await scene.changes.settleTurn('t', 'undo', scene.path('a'));
    assert.equal(scene.read('a'), 'mine\rone\r\ntwo\nthree\r\nfour\nsecond\nfive\r\n');
    await scene.changes.settle(scene.path('a'), 'undo');
    assert.deepEqual([scene.read('a'), scene.names], ['mine\rone\r\ntwo\nthree\r\nfour\nfive\r\n', []]);
  }),
);

test(
  'an agent that also changes how all lines end: its hunks are only what it wrote, and after the last is undone the file is as it was',
  inScene(async (scene) => {
    const before = '\uFEFFone\r\ntwo\nthree\r\nfour\r\nfive\r\nsix\r\n';
    for (const was of [before, before.replace('two\n', 'two\r\n')]) {
      scene.write({ a: was });
      await scene.turn(`t ${was}`, () => scene.write({ a: 'ONE\ntwo\nthree\nfour\nfive\nSIX\n' }));
      const [first] = await scene.hunks('a');
      assert.ok(first);
      await scene.changes.settle(scene.path('a'), 'undo', [first]);
      assert.equal(scene.read('a'), 'one\ntwo\nthree\nfour\nfive\nSIX\n');
      await scene.changes.settle(scene.path('a'), 'undo', await scene.hunks('a'));
      assert.deepEqual([scene.read('a'), scene.names], [was, []]);
    }
  }),
);

test(
  'line ends that the user has changed stay as they are when the hunks are undone',
  inScene(async (scene) => {
    scene.write({ a: numbered(9) });
    await scene.turn('t', () => scene.write({ a: numbered(9, (at) => (at === 4 ? 'agent' : undefined)) }));
    scene.write({ a: scene.read('a').replaceAll('\n', '\r\n') });
    await scene.changes.userSaved(scene.path('a'));
    await scene.changes.settle(scene.path('a'), 'undo', await scene.hunks('a'));
    assert.deepEqual([scene.read('a'), scene.names], [numbered(9).replaceAll('\n', '\r\n'), []]);
  }),
);

test(
  'unsaved text, whose line ends are of one kind, hides none of the hunks of a file with different ones',
  inScene(async (scene) => {
    scene.write({ a: 'one\r\ntwo\nthree\r\nfour\n' });
    await scene.turn('t', () => scene.write({ a: 'one\r\ntwo\nagent\nthree\r\nfour\n' }));
    scene.unsaved.set(scene.path('a'), 'mine\r\none\r\ntwo\r\nagent\r\nthree\r\nfour\r\n');
    assert.deepEqual(
      (await scene.hunks('a')).map(({ hunk, afterLine }) => [hunk.after, afterLine]),
      [[['agent'], 3]],
    );
    await scene.changes.settle(scene.path('a'), 'keep', await scene.hunks('a'));
    assert.deepEqual(scene.names, []);
  }),
);

test(
  'after a hunk was undone elsewhere, by hand or with the arrow of the diff, the rest of the file can still be undone',
  inScene(async (scene) => {
    scene.write({ 'a.txt': numbered(30) });
    await scene.turn('t', () => scene.write({ 'a.txt': numbered(30, (at) => (at === 3 || at === 20 ? `agent ${at}` : undefined)) }));
    scene.write({ 'a.txt': numbered(30, (at) => (at === 20 ? 'agent 20' : undefined)) });
    await scene.changes.userSaved(scene.path('a.txt'));
    assert.equal((await scene.hunks('a.txt')).length, 1);
    await scene.changes.settle(scene.path('a.txt'), 'undo');
    assert.equal(scene.read('a.txt'), numbered(30));
  }),
);

test(
  'two of five hunks over three files are kept, the others undone; what was kept stays kept in the next window',
  inScene(async (scene) => {
    scene.write({ a: numbered(30), b: numbered(30), c: numbered(30) });
    await scene.turn('t', () =>
      scene.write({
        a: numbered(30, (at) => (at === 2 || at === 20 ? `agent ${at}` : undefined)),
        b: numbered(30, (at) => (at === 5 || at === 25 ? `agent ${at}` : undefined)),
        c: numbered(30, (at) => (at === 9 ? 'agent 9' : undefined)),
      }),
    );
    const [a1] = await scene.hunks('a');
    const [, b2] = await scene.hunks('b');
    assert.ok(a1 && b2);
    await scene.changes.settle(scene.path('a'), 'keep', [a1]);
    await scene.changes.settle(scene.path('b'), 'keep', [b2]);
    await scene.reload().load();
    assert.deepEqual([(await scene.hunks('a')).length, (await scene.hunks('b')).length, (await scene.hunks('c')).length], [1, 1, 1]);
    for (const name of ['a', 'b', 'c']) await scene.changes.settle(scene.path(name), 'undo', await scene.hunks(name));
    assert.deepEqual(
      ['a', 'b', 'c'].map((name) => scene.read(name)),
      [numbered(30, (at) => (at === 2 ? 'agent 2' : undefined)), numbered(30, (at) => (at === 25 ? 'agent 25' : undefined)), numbered(30)],
    );
    assert.deepEqual(scene.names, []);
  }),
);

test(
  'undoing a hunk, or the file, keeps what the user typed, saved or not',
  inScene(async (scene) => {
    scene.write({ 'a.txt': numbered(30), 'b.txt': numbered(30) });
    const agents = (at: number) => (at === 3 || at === 20 ? `agent ${at}` : undefined);
    await scene.turn('t', () => scene.write({ 'a.txt': numbered(30, agents), 'b.txt': numbered(30, agents) }));
    const typed = (at: number) => (at === 10 ? 'mine' : agents(at));
    scene.unsaved.set(scene.path('a.txt'), numbered(30, typed));
    scene.write({ 'b.txt': numbered(30, typed) });
    await scene.changes.settle(scene.path('a.txt'), 'undo');
    await scene.changes.settle(scene.path('b.txt'), 'undo');
    const mine = numbered(30, (at) => (at === 10 ? 'mine' : undefined));
    assert.deepEqual([scene.read('a.txt'), scene.read('b.txt')], [mine, mine]);
  }),
);

test(
  'a prompt says how many hunks of a file are kept and how many undone while others are left, also after a reload',
  inScene(async (scene) => {
    const file = scene.path('a');
    scene.write({ a: numbered(30) });
    await scene.turn('t', () => scene.write({ a: numbered(30, (at) => (at % 8 === 3 ? `agent ${at}` : undefined)) }));
    const hunks = () => scene.changes.turnFiles('t')?.files.map((one) => [one.review, one.hunks]);
    assert.deepEqual(hunks(), [['open', undefined]]);
    await scene.changes.settle(file, 'keep', (await scene.hunks('a')).slice(0, 1));
    assert.deepEqual(hunks(), [['open', { kept: 4, all: 4, open: 3 }]]);
    await scene.changes.settle(file, 'undo', (await scene.hunks('a')).slice(0, 1));
    await scene.reload().load();
    assert.deepEqual(hunks(), [['open', { kept: 3, all: 4, open: 2 }]]);
    await scene.changes.settle(file, 'keep');
    assert.deepEqual(
      hunks()?.map(([review]) => review),
      ['kept'],
    );
  }),
);

test(
  'what the user types is no hunk while it is not saved, and a decision about a hunk leaves it',
  inScene(async (scene) => {
    for (const how of ['keep', 'undo'] as const) {
      const file = scene.path(how);
      scene.write({ [how]: numbered(30) });
      await scene.turn(how, () => scene.write({ [how]: numbered(30, (at) => (at === 3 || at === 20 ? `agent ${at}` : undefined)) }));
      const typed = (agent: number) => (at: number) => (at === 10 ? 'mine' : at === 3 || at === agent ? `agent ${at}` : undefined);
      scene.unsaved.set(file, numbered(30, typed(20)));
      const hunks = await scene.hunks(how);
      assert.deepEqual(
        hunks.map(({ hunk }) => hunk.after),
        [['agent 3'], ['agent 20']],
      );
      await scene.changes.settle(file, how, hunks.slice(1));
      // Until all that it set going is done.
      await scene.changes.load();
      const left = await scene.hunks(how);
      assert.deepEqual(
        left.map(({ hunk }) => hunk.after),
        [['agent 3']],
      );
      scene.write({ [how]: scene.unsaved.get(file) ?? scene.read(how) });
      scene.unsaved.delete(file);
      await scene.changes.userSaved(file);
      assert.equal((await scene.hunks(how)).length, 1);
      await scene.changes.settle(file, 'undo');
      assert.equal(
        scene.read(how),
        numbered(30, (at) => (at === 10 ? 'mine' : at === 20 && how === 'keep' ? 'agent 20' : undefined)),
      );
    }
  }),
);

test(
  'what the user saves during a turn is not the agent’s, nor what they change between turns',
  inScene(async (scene) => {
    scene.write({ mine: 'a\n', both: numbered(20) });
    await scene.turn('t1', async () => {
      scene.write({ mine: 'mine\n' });
      await scene.changes.userSaved(scene.path('mine'));
      scene.write({ both: numbered(20, (at) => (at === 2 ? 'agent' : undefined)) });
    });
    assert.deepEqual(scene.names, ['changed both']);
    scene.write({ mine: 'more\n', both: numbered(20, (at) => (at === 2 ? 'agent' : at === 15 ? 'mine' : undefined)), fresh: 'x' });
    await scene.turn('t2', () => {});
    assert.deepEqual(scene.names, ['changed both']);
    await scene.changes.settle(scene.path('both'), 'undo');
    assert.equal(
      scene.read('both'),
      numbered(20, (at) => (at === 15 ? 'mine' : undefined)),
    );
  }),
);

test(
  'what happens when no turn runs is not the agent’s, in this window or the next',
  inScene(async (scene) => {
    scene.write({ a: 'one\n' });
    await scene.turn('t', () => {});
    scene.write({ a: 'mine\n', b: 'mine\n' });
    await scene.changes.look(undefined, true);
    await scene.reload().load();
    await scene.changes.look(undefined, true);
    assert.deepEqual(scene.names, []);
  }),
);

test(
  'a hunk that is not there any more is refused, and nothing is written',
  inScene(async (scene) => {
    scene.write({ a: numbered(10) });
    await scene.turn('t', () => scene.write({ a: numbered(10, (at) => (at === 4 ? 'agent' : undefined)) }));
    const hunks = await scene.hunks('a');
    const now = numbered(10, (at) => (at === 4 ? 'agent, again' : undefined));
    scene.write({ a: now });
    await assert.rejects(scene.changes.settle(scene.path('a'), 'undo', hunks), /changed in the meantime/);
    assert.equal(scene.read('a'), now);
  }),
);

test(
  'files go back to before a prompt, only those the agent changed since, and the way back can be undone',
  inScene(async (scene) => {
    scene.write({ a: 'one\n', b: 'one\n', mine: 'one\n' });
    await scene.turn('t1', () => scene.write({ a: 'two\n' }));
    await scene.turn('t2', () => {
      scene.write({ a: 'three\n', made: 'x\n' });
      rmSync(scene.path('b'));
    });
    scene.write({ mine: 'mine\n' });
    await scene.reload().load();
    assert.deepEqual((await scene.changes.preview('t2'))?.files, [
      { name: 'a', how: 'rewrite' },
      { name: 'b', how: 'create' },
      { name: 'made', how: 'delete' },
    ]);
    await scene.changes.restore('t2');
    const state = () => [scene.read('a'), scene.read('b'), scene.read('mine'), existsSync(scene.path('made'))];
    assert.deepEqual(state(), ['two\n', 'one\n', 'mine\n', false]);
    assert.deepEqual(scene.names, ['changed a']);
    await scene.changes.restore('t1', undefined, true);
    assert.deepEqual([scene.read('a'), scene.names], ['one\n', []]);
    await scene.reload().load();
    assert.equal(await scene.changes.undoRestore(), 't1', 'its message was put into the composer');
    assert.deepEqual(state(), ['two\n', 'one\n', 'mine\n', false]);
    assert.deepEqual(scene.names, ['changed a'], 'what is back is to be reviewed as before');
    await scene.changes.restore('t1', undefined, true);
    await scene.changes.undoRestore();
    await scene.changes.settle(scene.path('a'), 'undo');
    assert.equal(await scene.changes.undoRestore(), undefined, 'an undo has put nothing there');
    assert.equal(await scene.changes.preview('t9'), undefined);
  }),
);

test(
  'folders that an agent has made and left empty go when all is undone; those of the user stay',
  inScene(async (scene) => {
    const make = (...names: readonly string[]) => {
      for (const name of names) mkdirSync(scene.path(name), { recursive: true });
    };
    scene.write({ a: 'one\n' });
    make('mine/empty');
    await scene.turn('t', () => {
      scene.write({ a: 'two\n', 'made/file': 'x\n' });
      make('made/inner/empty', 'alone', 'mine/agents');
    });
    make('later');
    scene.write({ 'alone/notes': 'mine\n' });
    await scene.changes.settleAll('undo');
    const there = (name: string) => existsSync(scene.path(name));
    assert.deepEqual(['made', 'mine/agents'].filter(there), []);
    assert.deepEqual(['mine/empty', 'alone/notes', 'later'].filter(there), ['mine/empty', 'alone/notes', 'later']);
  }),
);

test(
  'folders that an agent has made and left empty go with a restore; those that may be the user’s stay',
  inScene(async (scene) => {
    const make = (...names: readonly string[]) => {
      for (const name of names) mkdirSync(scene.path(name), { recursive: true });
    };
    const there = (...names: readonly string[]) => names.filter((name) => existsSync(scene.path(name)));
    scene.write({ a: 'one\n' });
    make('mine/empty');
    await scene.turn('t', () => {
      scene.write({ a: 'two\n', 'made/file': 'x\n' });
      make('made/inner/empty');
    });
    make('between');
    await scene.turn('u', () => {
      scene.write({ a: 'three\n' });
      make('alone/empty', 'mine/agents');
    });
    await scene.changes.restore('u');
    assert.deepEqual(there('alone', 'mine/agents'), []);
    assert.deepEqual(there('mine/empty', 'made/inner/empty', 'between').length, 3);
    await scene.changes.restore('t');
    assert.deepEqual(there('made'), []);
    assert.deepEqual(there('mine/empty', 'between').length, 2);
  }),
);

test(
  'hunks that were decided about before a restore count as decided again once it is undone',
  inScene(async (scene) => {
    const lines = (...changed: readonly [number, string][]) =>
      Array.from({ length: 30 }, (_, at) => `${changed.find(([line]) => line === at)?.[1] ?? `line ${at}`}\n`).join('');
    scene.write({ a: lines() });
    await scene.turn('t', () => scene.write({ a: lines([2, 'two'], [12, 'twelve'], [22, 'twenty-two']) }));
    await scene.changes.settle(scene.path('a'), 'undo', (await scene.hunks('a')).slice(0, 1));
    await scene.changes.settle(scene.path('a'), 'keep', (await scene.hunks('a')).slice(0, 1));
    const counted = () => scene.changes.turnFiles('t')?.files.map(({ review, hunks }) => ({ review, hunks }));
    const before = counted();
    assert.deepEqual(before, [{ review: 'open', hunks: { kept: 2, all: 3, open: 1 } }]);
    await scene.changes.restore('t');
    assert.equal(scene.read('a'), lines());
    await scene.changes.undoRestore();
    assert.equal(scene.read('a'), lines([12, 'twelve'], [22, 'twenty-two']));
    assert.deepEqual(counted(), before);
  }),
);

test(
  'a file that is written while a restore puts back others is left as it is by then, with a reason; the others go back',
  inScene(async (scene) => {
    const names = ['a', 'b', 'c', 'made'] as const;
    scene.write({ a: 'a\n', b: 'b\n', c: 'c\n' });
    await scene.turn('t', () => scene.write({ a: 'agent\n', b: 'agent\n', c: 'agent\n', made: 'agent\n' }));
    // The user saves two files once all were looked at, before the first is written.
    scene.effects.hasUnsaved = (file) => {
      if (file === scene.path('made')) scene.write({ b: 'agent\nmine\n', made: 'agent\nmine\n' });
      return false;
    };
    await assert.rejects(scene.changes.restore('t'), /^Error: (b|made) has changed in the meantime.*\n(b|made) has changed/);
    scene.effects.hasUnsaved = () => false;
    assert.deepEqual(
      names.map((name) => scene.read(name)),
      ['a\n', 'agent\nmine\n', 'c\n', 'agent\nmine\n'],
    );
    await scene.changes.undoRestore();
    assert.deepEqual(
      names.map((name) => scene.read(name)),
      ['agent\n', 'agent\nmine\n', 'agent\n', 'agent\nmine\n'],
    );
  }),
);

test(
  'a restore that cannot be done whole is not begun',
  inScene(async (scene) => {
    scene.write({ a: 'one\n', b: 'one\n' });
    await scene.turn('t', () => scene.write({ a: 'two\n', b: 'two\n' }));
    scene.unsaved.set(scene.path('b'), 'typed\n');
    await assert.rejects(scene.changes.restore('t'), /b has unsaved changes/);
    assert.deepEqual([scene.read('a'), scene.read('b')], ['two\n', 'two\n']);
  }),
);

test(
  'nothing is written through a link, over a folder, or into a file that may not be written',
  inScene(async (scene) => {
    const outside = path.join(scene.state, 'outside');
    writeFileSync(outside, 'untouched');
    mkdirSync(path.join(scene.state, 'elsewhere'));
    scene.write({ link: 'one\n', 'dir/file': 'one\n', folder: 'one\n', locked: 'one\n' });
    await scene.turn('t', () => scene.write({ link: 'two\n', 'dir/file': 'two\n', folder: 'two\n', locked: 'two\n' }));
    for (const name of ['link', 'dir', 'folder']) rmSync(scene.path(name), { recursive: true });
    symlinkSync(outside, scene.path('link'));
    symlinkSync(path.join(scene.state, 'elsewhere'), scene.path('dir'));
    mkdirSync(scene.path('folder'));
    chmodSync(scene.path('locked'), 0o400);
    const root = process.getuid?.() === 0;
    for (const name of ['link', 'dir/file', 'folder', ...(root ? [] : ['locked'])]) {
      await assert.rejects(scene.changes.settle(scene.path(name), 'undo'), name);
    }
    assert.equal(readFileSync(outside, 'utf8'), 'untouched');
    assert.deepEqual(readdirSync(path.join(scene.state, 'elsewhere')), []);
    assert.deepEqual(readdirSync(scene.path('folder')), []);
  }),
);

/** Names in the folder, links with where they lead. */
const listed = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder, { withFileTypes: true }).map((entry) => {
      const file = path.join(folder, entry.name);
      return [entry.name, entry.isSymbolicLink() ? `-> ${readlinkSync(file)}` : entry.isDirectory() ? '/' : readFileSync(file, 'utf8')];
    }),
  );

test(
  'links that were replaced, deleted, led elsewhere or made are listed with where they lead, and go back one by one or all at once',
  inScene(async (scene) => {
    const outside = path.join(scene.state, 'outside');
    mkdirSync(outside);
    writeFileSync(path.join(outside, 'secret'), 'untouched');
    const link = (name: string, target: string) => symlinkSync(target, scene.path(name));
    scene.write({ 'src/a': 'one\n', plain: 'plain\n' });
    const links = { replaced: 'src/a', gone: 'nowhere', moved: path.join(outside, 'secret'), folder: 'src' };
    for (const [name, target] of Object.entries(links)) link(name, target);
    const before = listed(scene.root);
    const change = () => {
      for (const name of [...Object.keys(links), 'plain']) rmSync(scene.path(name), { force: true });
      scene.write({ replaced: 'a file\n', 'folder/b': 'in a folder\n' });
      for (const [name, target] of Object.entries({ moved: 'src/a', made: '../..', plain: path.join(outside, 'secret') }))
        link(name, target);
    };
    const all = [
      'deleted folder',
      'created folder/b',
      'deleted gone',
      'created made',
      'changed moved',
      'changed plain',
      'changed replaced',
    ];
    await scene.turn('t', change);
    assert.deepEqual(scene.names, all);
    const shown = (scene.changes.turnFiles('t')?.files ?? []).map((one) => [path.basename(one.path), one.review, one.links]);
    assert.deepEqual(shown, [
      ['folder', 'open', { before: 'src' }],
      ['b', 'open', undefined],
      ['gone', 'open', { before: 'nowhere' }],
      ['made', 'open', { after: '../..' }],
      ['moved', 'open', { before: links.moved, after: 'src/a' }],
      ['plain', 'open', { after: path.join(outside, 'secret') }],
      ['replaced', 'open', { before: 'src/a' }],
    ]);
    const after = listed(scene.root);
    await scene.changes.settleAll('undo');
    assert.deepEqual([listed(scene.root), scene.names], [before, []]);
    await scene.changes.undoRestore();
    assert.deepEqual([listed(scene.root), scene.names], [after, all]);
    scene.reload();
    await scene.changes.load();
    for (const name of ['folder/b', 'folder', 'gone', 'made', 'moved', 'plain', 'replaced'])
      await scene.changes.settle(scene.path(name), 'undo');
    assert.deepEqual([listed(scene.root), scene.names], [before, []]);
    const changeMost = () => {
      change();
      rmSync(scene.path('folder'), { recursive: true });
      link('folder', '..');
    };
    await scene.turn('t2', changeMost);
    const most = listed(scene.root);
    await scene.changes.restore('t2');
    assert.deepEqual([listed(scene.root), scene.names], [before, []]);
    await scene.changes.undoRestore();
    await scene.changes.settleAll('keep');
    assert.deepEqual([listed(scene.root), scene.names], [most, []]);
    assert.deepEqual([listed(outside), listed(scene.path('src'))], [{ secret: 'untouched' }, { a: 'one\n' }]);
  }),
);

test(
  'a link that the user, or somebody between the look and the write, has put in the place stays, and nothing is written behind it',
  inScene(async (scene) => {
    const outside = path.join(scene.state, 'outside');
    writeFileSync(outside, 'untouched');
    symlinkSync('a', scene.path('link'));
    symlinkSync('a', scene.path('late'));
    scene.write({ made: '' });
    rmSync(scene.path('made'));
    const replace = (name: string, target: string) => {
      rmSync(scene.path(name));
      symlinkSync(target, scene.path(name));
    };
    await scene.turn('t', () => {
      for (const name of ['link', 'late']) rmSync(scene.path(name));
      scene.write({ link: 'file\n', late: 'file\n', made: 'untouched' });
    });
    for (const name of ['link', 'made']) replace(name, outside);
    for (const name of ['link', 'made'])
      await assert.rejects(scene.changes.settle(scene.path(name), 'undo'), / has changed in the meantime\. Look at the change again/);
    const refused = (await scene.changes.preview('t'))?.files.map(({ name, refused: why }) => [name, why !== undefined]);
    assert.deepEqual(refused, [
      ['late', false],
      ['link', true],
      ['made', true],
    ]);
    scene.effects.hasUnsaved = (file) => {
      // Asked after the file was looked at.
      if (file === scene.path('late') && !readlinkOf(file)) replace('late', outside);
      return false;
    };
    await assert.rejects(scene.changes.settle(scene.path('late'), 'undo'), / has changed in the meantime\. Look at the change again/);
    assert.deepEqual(listed(scene.root), { late: `-> ${outside}`, link: `-> ${outside}`, made: `-> ${outside}` });
    assert.equal(readFileSync(outside, 'utf8'), 'untouched');
  }),
);

const readlinkOf = (file: string): boolean => lstatSync(file).isSymbolicLink();

test(
  'whatever an agent makes of files and links, in several turns, an undo of all and a restore bring back every one',
  inScene(async (scene) => {
    const random = randomFrom(15);
    const outside = path.join(scene.state, 'outside');
    writeFileSync(outside, 'untouched');
    const targets = ['a', 'b', 'nowhere', '..', outside];
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (let round = 0; round < 150; round += 1) {
      const act = () => {
        for (const name of names.filter(() => random(2) === 0)) {
          rmSync(scene.path(name), { force: true });
          const kind = random(3);
          if (kind === 0) symlinkSync(targets[random(targets.length)] ?? 'a', scene.path(name));
          else if (kind === 1) writeFileSync(scene.path(name), `${'text\n'.repeat(random(3))}${round} ${name}\n`);
        }
      };
      act();
      const before = listed(scene.root);
      const turns = Array.from({ length: 1 + random(2) }, (_, at) => `t${round}.${at}`);
      for (const turn of turns) await scene.turn(turn, act);
      const after = listed(scene.root);
      if (random(2) === 0) await scene.changes.settleAll('undo');
      else await scene.changes.restore(turns[0] ?? '');
      assert.deepEqual([listed(scene.root), scene.names], [before, []], `round ${round}`);
      if (random(2) === 0) continue;
      await scene.changes.undoRestore();
      assert.deepEqual(listed(scene.root), after, `round ${round}, undo of it`);
      await scene.changes.settleAll('keep');
    }
    assert.equal(readFileSync(outside, 'utf8'), 'untouched');
  }),
);

test(
  'a folder that a link takes the place of between the look and the write is not followed, and the rest is restored and can return',
  inScene(async (scene) => {
    const outside = path.join(scene.state, 'elsewhere');
    mkdirSync(outside);
    writeFileSync(path.join(outside, 'file'), 'untouched');
    scene.write({ a: 'one\n', 'dir/file': 'one\n' });
    await scene.turn('t', () => scene.write({ a: 'two\n', 'dir/file': 'two\n' }));
    const get = scene.store.get.bind(scene.store);
    let reads = 0;
    scene.store.get = async (hash) => {
      const bytes = await get(hash);
      reads += 1;
      // The list of files, and both contents: all is looked at by now.
      if (reads === 3) {
        rmSync(scene.path('dir'), { recursive: true });
        symlinkSync(outside, scene.path('dir'));
      }
      return bytes;
    };
    await assert.rejects(scene.changes.restore('t'), / now lies elsewhere, so nothing was written\. Remove the link/);
    assert.ok(reads >= 3);
    assert.deepEqual([scene.read('a'), readFileSync(path.join(outside, 'file'), 'utf8')], ['one\n', 'untouched']);
    await scene.changes.undoRestore();
    assert.deepEqual([scene.read('a'), scene.names], ['two\n', ['changed a', 'changed dir/file']]);
  }),
);

test(
  'a file of 50 MB is listed as cannot be undone and left alone by a restore; nothing reads it',
  inScene(async (scene) => {
    const size = 50 * 1024 * 1024;
    scene.write({ big: '', a: 'one\n' });
    truncateSync(scene.path('big'), size);
    await scene.turn('t', () => {
      appendFileSync(scene.path('big'), 'agent');
      scene.write({ a: 'two\n' });
    });
    const read: string[] = [];
    scene.effects.readText = async (file) => {
      read.push(file);
      return undefined;
    };
    assert.deepEqual(review(scene, 't'), ['a changed open +1 -1', 'big changed unkept']);
    assert.equal(await scene.changes.segments(scene.path('big')), undefined);
    assert.deepEqual(read, []);
    assert.deepEqual((await scene.changes.preview('t'))?.files.map(({ name, how }) => `${how} ${name}`).toSorted(), [
      'rewrite a',
      'unknown big',
    ]);
    await scene.changes.restore('t');
    assert.deepEqual([scene.read('a'), statSync(scene.path('big')).size], ['one\n', size + 5]);
    await assert.rejects(scene.changes.settle(scene.path('big'), 'undo'), /keeps no copy/);
    await scene.changes.settle(scene.path('big'), 'keep');
    assert.deepEqual(scene.names, []);
  }),
);

test(
  'the hunks that decisions leave are those that a new window finds',
  inScene(async (scene) => {
    const agents = (...places: readonly number[]) => numbered(40, (at) => (places.includes(at) ? `agent ${at}\nand more` : undefined));
    scene.write({ a: numbered(40) });
    await scene.turn('t', () => scene.write({ a: agents(3, 4, 10, 20, 35) }));
    for (const how of ['undo', 'keep', 'undo'] as const) {
      await scene.changes.settle(scene.path('a'), how, (await scene.hunks('a')).slice(0, 1));
      const left = await scene.hunks('a');
      await scene.reload().load();
      assert.deepEqual(await scene.hunks('a'), left);
    }
    assert.deepEqual([(await scene.hunks('a')).length, scene.read('a')], [1, agents(10, 35)]);
  }),
);

test(
  'what is written to a file while it is reviewed is lost to nobody: the agent’s stays to be reviewed, the user’s stays',
  inScene(async (scene) => {
    const agents = (...places: readonly number[]) => numbered(40, (at) => (places.includes(at) ? `agent ${at}` : undefined));
    scene.write({ a: numbered(40) });
    await scene.changes.startTurn('t');
    scene.write({ a: agents(3, 20) });
    await scene.changes.look();
    const hunks = await scene.hunks('a');
    scene.write({ a: agents(3, 20, 35) });
    await scene.changes.look();
    await scene.changes.settle(scene.path('a'), 'undo', hunks.slice(0, 1));
    assert.equal(scene.read('a'), agents(20, 35));
    assert.equal((await scene.hunks('a')).length, 2);
    // Between the look at the text and the write.
    const read = scene.effects.readText;
    scene.effects.readText = async (file) => {
      const text = await read(file);
      scene.write({ a: agents(20, 35).replace('line 10', 'mine') });
      return text;
    };
    await scene.changes.settle(scene.path('a'), 'undo', (await scene.hunks('a')).slice(0, 1));
    scene.effects.readText = read;
    await scene.changes.look(undefined, true);
    assert.equal(scene.read('a'), agents(35).replace('line 10', 'mine'));
    await assert.rejects(scene.changes.settle(scene.path('a'), 'undo', hunks.slice(0, 1)), /changed in the meantime/);
  }),
);

test(
  'a text before the change that is gone or damaged is said, and nothing is changed',
  inScene(async (scene) => {
    const gone = (name: string) => {
      const one = scene.changes.files.find((file) => file.name === name);
      const { review: how, whyUnkept: why } = scene.changes.turnFiles('t')?.files.find((file) => file.path === one?.path) ?? {};
      return [one?.unkept, one?.whyUnkept, how, why];
    };
    const said = [true, 'its earlier text is gone', 'unkept', 'its earlier text is gone'];
    for (const name of ['a', 'b', 'c', 'damaged']) scene.write({ [name]: `${name} one\n` });
    await scene.turn('t', () => {
      for (const name of ['a', 'b', 'c', 'damaged']) scene.write({ [name]: `${name} two\n` });
    });
    const stored = (text: string) => {
      const hash = createHash('sha256').update(text).digest('hex');
      return path.join(scene.state, 'objects', hash.slice(0, 2), hash.slice(2));
    };
    // The text now, which is on the disk as well, is stored again.
    writeFileSync(stored('b two\n'), '');
    assert.equal(await scene.changes.segments(scene.path('b')), undefined);
    assert.equal((await scene.hunks('b')).length, 1);
    writeFileSync(stored('damaged one\n'), 'damaged');
    assert.deepEqual(gone('damaged'), [false, undefined, 'open', undefined]);
    assert.equal(await scene.changes.segments(scene.path('damaged')), undefined, 'as its editor asks');
    assert.deepEqual(gone('damaged'), said);
    rmSync(path.join(scene.state, 'objects'), { recursive: true });
    await assert.rejects(scene.changes.settle(scene.path('a'), 'undo'), /keeps no copy/);
    assert.deepEqual([gone('a'), gone('b')], [said, [false, undefined, 'open', undefined]]);
    await scene.reload().load();
    assert.deepEqual([gone('a'), gone('b'), gone('c')], [said, said, said]);
    await assert.rejects(scene.changes.restore('t'), /The files before this prompt are not known/);
    assert.equal(await scene.changes.preview('t'), undefined);
    for (const name of ['a', 'b', 'c', 'damaged']) assert.equal(scene.read(name), `${name} two\n`);
  }),
);

test(
  'ignored files, folders of packages and links are left out, a file that became very large goes back; the repository bears no mark',
  inScene(async (scene) => {
    scene.write({ '.gitignore': 'build/\n*.log\n!kept.log\n', 'sub/.gitignore': 'here\n', large: 'x' });
    symlinkSync(tmpdir(), scene.path('outside'));
    const before = readdirSync(scene.root).sort();
    await scene.turn('t', () => {
      scene.write({ 'build/x': '1', 'a.log': '1', 'kept.log': '1', 'node_modules/p/i.js': '1', '.git/hooks/x': '1' });
      scene.write({ 'sub/here': '1', 'sub/there': '1', here: '1', large: new Uint8Array(50 * 1024 * 1024) });
    });
    assert.deepEqual(scene.names, ['created here', 'created kept.log', 'changed large', 'created sub/there']);
    for (const { path: file } of scene.changes.files) await scene.changes.settle(file, 'undo');
    rmSync(scene.path('node_modules'), { recursive: true });
    rmSync(scene.path('build'), { recursive: true });
    rmSync(scene.path('.git'), { recursive: true });
    rmSync(scene.path('a.log'));
    assert.deepEqual(readdirSync(scene.root).sort(), before);
  }),
);

test(
  'what no change set needs is removed from the disk, what one needs stays',
  inScene(async (scene) => {
    scene.write({ a: 'one\n', b: 'one and only\n' });
    await scene.turn('t', () => scene.write({ a: 'two\n' }));
    const extra = await scene.store.put(Buffer.from('needed by nobody'));
    const used = new Set(await usedBy(path.join(scene.state, 's.json'), scene.store));
    await scene.store.collect(used, Date.now());
    assert.ok(await scene.store.get(extra), 'it may be about to be needed');
    await scene.store.collect(used, Date.now() + 24 * 3600 * 1000);
    assert.equal(await scene.store.get(extra), undefined);
    await scene.changes.restore('t');
    assert.equal(scene.read('a'), 'one\n');
  }),
);

const review = (scene: Scene, turnId: string) =>
  (scene.changes.turnFiles(turnId)?.files ?? []).map(({ path: file, change, review: how, added, removed }) =>
    [path.basename(file), change, how, added === undefined ? '' : `+${added} -${removed}`].join(' ').trim(),
  );

test(
  'each turn has its files with counts, and a decision stands in every turn it is about',
  inScene(async (scene) => {
    scene.write({ a: numbered(10), gone: 'one\ntwo\n', huge: new Uint8Array(9 * 1024 * 1024), pic: Uint8Array.from([0, 1]) });
    await scene.turn('t1', () => {
      scene.write({ a: numbered(10, (at) => (at === 2 ? 'agent' : undefined)), made: 'x\n', pic: Uint8Array.from([0, 2]) });
      scene.write({ huge: new Uint8Array(9 * 1024 * 1024 + 1) });
      rmSync(scene.path('gone'));
    });
    const all = ['a changed open +1 -1', 'gone deleted open +0 -2', 'huge changed unkept', 'made created open +1 -0', 'pic changed open'];
    assert.deepEqual(review(scene, 't1').toSorted(), all);
    await scene.turn('t2', () => scene.write({ a: numbered(10, (at) => (at === 2 ? 'agent' : at === 7 ? 'again' : undefined)) }));
    await scene.changes.settle(scene.path('made'), 'undo');
    await scene.changes.settle(scene.path('a'), 'keep');
    await assert.rejects(scene.changes.settle(scene.path('huge'), 'undo'), /keeps no copy/);
    await scene.changes.settle(scene.path('huge'), 'keep');
    await scene.reload().load();
    assert.deepEqual(review(scene, 't1').toSorted(), [
      'a changed kept +1 -1',
      'gone deleted open +0 -2',
      'huge changed kept',
      'made created undone +1 -0',
      'pic changed open',
    ]);
    assert.deepEqual(review(scene, 't2'), ['a changed kept +1 -1']);
  }),
);

test(
  'what one of two prompts did to a file is kept or undone by itself',
  inScene(async (scene) => {
    const agents = (...at: readonly number[]) => numbered(30, (line) => (at.includes(line) ? `agent ${line}` : undefined));
    scene.write({ a: numbered(30), b: numbered(30), c: 'one\n' });
    await scene.turn('t1', () => scene.write({ a: agents(3), b: agents(3), c: 'two\n', made: 'one\n' }));
    await scene.turn('t2', () => scene.write({ a: agents(3, 20), b: agents(3, 20), c: 'three\n', made: 'two\n' }));
    await scene.changes.settleTurn('t1', 'undo', scene.path('a'));
    await scene.changes.settleTurn('t2', 'keep', scene.path('b'));
    assert.deepEqual([scene.read('a'), scene.read('b')], [agents(20), agents(3, 20)]);
    assert.deepEqual(
      [await scene.hunks('a'), await scene.hunks('b')].map((hunks) => hunks.map((one) => one.afterLine)),
      [[20], [3]],
    );
    await assert.rejects(scene.changes.settleTurn('t2', 'keep', scene.path('c')), /changed the same lines/);
    await scene.changes.settleTurn('t2', 'undo', scene.path('c'));
    assert.equal(scene.read('c'), 'two\n');
    await scene.changes.settleTurn('t1', 'undo', scene.path('c'));
    await scene.changes.settleTurn('t2', 'undo', scene.path('made'));
    await scene.changes.settleTurn('t1', 'undo', scene.path('made'));
    assert.deepEqual([scene.read('c'), existsSync(scene.path('made')), scene.names], ['one\n', false, ['changed a', 'changed b']]);
    await assert.rejects(scene.changes.settleTurn('t1', 'undo', scene.path('c')), /No changes\./);
  }),
);

test(
  'an undo is itself undone, and what came back is reviewed as before',
  inScene(async (scene) => {
    scene.write({ a: 'one\n', b: 'one\n' });
    await scene.turn('t', () => scene.write({ a: 'two\n', b: 'two\n' }));
    await scene.changes.settleAll('undo');
    assert.deepEqual([scene.read('a'), scene.read('b'), scene.names], ['one\n', 'one\n', []]);
    await scene.reload().load();
    await scene.changes.undoRestore();
    assert.deepEqual([scene.read('a'), scene.read('b'), scene.names], ['two\n', 'two\n', ['changed a', 'changed b']]);
    assert.deepEqual(review(scene, 't'), ['a changed open +1 -1', 'b changed open +1 -1']);
  }),
);

test(
  'files of the other folders of the workspace are reviewed and restored like those of the session’s own',
  inScene(async (scene) => {
    const other = mkdtempSync(path.join(tmpdir(), 'review-other-'));
    scene.others = [scene.path('inside'), other];
    writeFileSync(path.join(other, 'b.txt'), 'one\ntwo\n');
    scene.write({ 'inside/a.txt': 'one\n' });
    await scene.turn('t', () => {
      scene.write({ 'inside/a.txt': 'two\n' });
      writeFileSync(path.join(other, 'b.txt'), 'one\nTWO\n');
      mkdirSync(path.join(other, 'node_modules'));
      writeFileSync(path.join(other, 'new.txt'), 'new\n');
    });
    const name = path.basename(other);
    assert.deepEqual(scene.names.toSorted(), ['changed inside/a.txt', `changed ${name}/b.txt`, `created ${name}/new.txt`]);
    assert.deepEqual(scene.changes.turnFiles('t')?.unlisted?.folders, [`${name}/node_modules`]);
    assert.deepEqual(
      scene.changes
        .turnFiles('t')
        ?.files.map(({ folder }) => folder)
        .toSorted(),
      [other, other, undefined],
    );
    assert.equal(hunksOfSegments((await scene.changes.segments(path.join(other, 'b.txt'))) ?? []).length, 1);
    // It is not in the workspace any more: what is there can be read, and nothing is written there.
    scene.others = [];
    await scene.reload().load();
    await assert.rejects(scene.changes.settle(path.join(other, 'b.txt'), 'undo'), /No changes\./);
    scene.others = [other];
    await scene.reload().load();
    await scene.changes.restore('t');
    assert.deepEqual(readdirSync(other).toSorted(), ['b.txt', 'node_modules']);
    assert.deepEqual([readFileSync(path.join(other, 'b.txt'), 'utf8'), scene.read('inside/a.txt')], ['one\ntwo\n', 'one\n']);
    assert.deepEqual(scene.names, []);
    rmSync(other, { recursive: true });
  }),
);

test(
  'a burst of new files and ignored folders are said, not listed; the few others that changed with it are; a restore takes the burst along',
  inScene(async (scene) => {
    scene.write({ '.gitignore': 'dist\n', 'dist/a.js': '1', old: '1', gone: 'text\n', 'sub/seen': '1' });
    await scene.turn('t', () => {
      scene.write({ 'dist/b.js': '1', 'node_modules/p/i.js': '1', old: '2', 'sub/seen': '2' });
      rmSync(scene.path('gone'));
      for (let at = 0; at < 2200; at += 1) scene.write({ [`out/${at}`]: '1' });
    });
    assert.deepEqual(scene.names, ['deleted gone', 'changed old', 'changed sub/seen']);
    const found = scene.changes.turnFiles('t');
    assert.deepEqual([found?.files.length, found?.unlisted], [3, { files: 2200, folders: ['dist', 'node_modules'] }]);
    await scene.turn('u', () => scene.write({ 'dist/c.js': '1', '__pycache__/p': '1' }));
    assert.deepEqual((await scene.changes.preview('t'))?.unwatched, ['__pycache__', 'dist', 'node_modules']);
    assert.deepEqual((await scene.changes.preview('u'))?.unwatched, ['__pycache__', 'dist']);
    await scene.changes.settle(scene.path('sub/seen'), 'undo');
    assert.equal(scene.read('sub/seen'), '1');
    await scene.changes.restore('t');
    assert.deepEqual([existsSync(scene.path('out/7')), existsSync(scene.path('dist/b.js'))], [false, true]);
    assert.deepEqual([scene.read('old'), scene.read('gone'), scene.read('sub/seen'), scene.names], ['1', 'text\n', '1', []]);
    assert.deepEqual([scene.changes.burst, (await scene.changes.preview('t'))?.files], [0, []]);
  }),
);

test(
  'what the user has made of a file since a restore or an undo is not lost when that is taken back: the file stays, and is named',
  inScene(async (scene) => {
    scene.write({ a: 'one\n', b: 'one\n', gone: 'one\n' });
    await scene.turn('t', () => {
      scene.write({ a: 'agent\n', b: 'agent\n', made: 'agent\n' });
      rmSync(scene.path('gone'));
    });
    const state = () => [
      scene.read('a'),
      scene.read('b'),
      existsSync(scene.path('made')) && scene.read('made'),
      existsSync(scene.path('gone')),
    ];
    for (const back of [() => scene.changes.restore('t'), () => scene.changes.settleAll('undo')]) {
      await back();
      assert.deepEqual(state(), ['one\n', 'one\n', false, true]);
      scene.write({ a: 'one\nmine\n', made: 'mine\n' });
      await scene.reload().load();
      await assert.rejects(scene.changes.undoRestore(), /^Error: a has changed in the meantime.*\nmade has changed/);
      assert.deepEqual(state(), ['one\nmine\n', 'agent\n', 'mine\n', false]);
      // Once the user has taken that back, the rest comes back, too.
      scene.write({ a: 'one\n' });
      rmSync(scene.path('made'));
      await scene.changes.undoRestore();
      assert.deepEqual(state(), ['agent\n', 'agent\n', 'agent\n', false]);
      assert.deepEqual(scene.names, ['changed a', 'changed b', 'deleted gone', 'created made'], 'all is to be reviewed again');
    }
  }),
);

test(
  'a file that the agent made and no copy is kept of is not undone; one whose copy is gone keeps no other from coming back',
  inScene(async (scene) => {
    scene.write({ a: 'one\n' });
    scene.reload({ ...usualLimits, fileBytes: 100 });
    await scene.turn('t', () => scene.write({ a: 'agent\n', big: 'x'.repeat(200), lost: 'agent, too\n' }));
    await assert.rejects(scene.changes.settleAll('undo'), /^Error: big stays as it is: Parley keeps no copy/);
    assert.deepEqual([scene.read('a'), scene.read('big').length, existsSync(scene.path('lost'))], ['one\n', 200, false]);
    const hash = createHash('sha256').update('agent, too\n').digest('hex');
    rmSync(path.join(scene.state, 'objects', hash.slice(0, 2), hash.slice(2)));
    await scene.reload().load();
    await assert.rejects(scene.changes.undoRestore(), /^Error: lost stays as it is/);
    assert.deepEqual([scene.read('a'), existsSync(scene.path('lost'))], ['agent\n', false]);
  }),
);

test(
  'a burst that was restored is said no more, and once more when the restore is undone',
  inScene(async (scene) => {
    scene.write({ old: '1' });
    scene.reload({ ...usualLimits, burst: 5 });
    await scene.turn('t', () => {
      scene.write({ old: '2' });
      for (let at = 0; at < 10; at += 1) scene.write({ [`out/${at}`]: '1' });
    });
    assert.deepEqual([scene.changes.burst, scene.names], [10, ['changed old']]);
    await scene.changes.restore('t');
    assert.deepEqual([scene.changes.burst, scene.names, (await scene.changes.preview('t'))?.files], [0, [], []]);
    await scene.changes.undoRestore();
    assert.deepEqual([scene.changes.burst, existsSync(scene.path('out/7')), scene.read('old')], [10, true, '2']);
    assert.deepEqual([scene.names, (await scene.changes.preview('t'))?.files.length], [['changed old'], 11]);
  }),
);

test(
  'many files that were there before and changed at once are a burst, with all that are new',
  inScene(async (scene) => {
    const all = (text: string) => Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`src/${at}`, text]));
    scene.write(all('1'));
    scene.reload({ ...usualLimits, burst: 50 });
    const count = () => [scene.changes.burst, scene.changes.turnFiles('t')?.unlisted?.files, scene.names];
    await scene.turn('t', async () => {
      scene.write({ 'src/7': '0' });
      await scene.changes.lookAt([scene.path('src/7')]);
      scene.write({ ...all('2'), fresh: '1' });
    });
    assert.deepEqual(count(), [101, 101, ['changed src/7']], 'what was found by itself before is followed, and counts once');
    assert.deepEqual(hunksOfSegments((await scene.changes.segments(scene.path('src/7'))) ?? [])[0]?.hunk.after, ['2']);
    await scene.changes.restore('t');
    assert.deepEqual([scene.read('src/7'), scene.read('src/8'), existsSync(scene.path('fresh'))], ['1', '1', false]);
  }),
);

test(
  'what is rewritten, made or removed in an ignored folder is told of, however deep it is; what the user saves there is not',
  inScene(async (scene) => {
    const untold = () => scene.changes.turnFiles(scene.changes.checkpoints.at(-1) ?? '')?.unlisted?.folders;
    scene.write({ '.gitignore': 'dist/\n', 'dist/a/b.js': 'one', 'dist/c.js': 'one', seen: 'one' });
    await scene.turn('nothing', () => scene.write({ seen: 'two' }));
    assert.equal(untold(), undefined);
    await scene.turn('rewritten', () => scene.write({ 'dist/a/b.js': 'two' }));
    assert.deepEqual(untold(), ['dist']);
    await scene.turn('made', () => scene.write({ 'dist/a/new.js': 'one' }));
    assert.deepEqual(untold(), ['dist']);
    await scene.turn('removed', () => rmSync(scene.path('dist/a/new.js')));
    assert.deepEqual(untold(), ['dist']);
    await scene.turn('saved', async () => {
      scene.write({ 'dist/c.js': 'mine', seen: 'three' });
      await scene.changes.userSaved(scene.path('dist/c.js'));
    });
    assert.equal(untold(), undefined);
  }),
);

test(
  'a text that the disk did not take after the change says so, and goes back as a whole',
  inScene(async (scene) => {
    scene.write({ a: 'one\n' });
    const put = scene.store.put.bind(scene.store);
    scene.store.put = (bytes) =>
      Buffer.from(bytes).equals(Buffer.from('two\n')) ? Promise.reject(new Error('ENOSPC: no space left, write')) : put(bytes);
    await scene.turn('t', () => scene.write({ a: 'two\n' }));
    const [row] = scene.changes.turnFiles('t')?.files ?? [];
    assert.deepEqual(
      [row?.review, row?.added, row?.whyUnkept, scene.changes.files[0]?.unkept],
      ['open', undefined, 'no space left', false],
    );
    await scene.changes.settle(scene.path('a'), 'undo');
    assert.deepEqual([scene.read('a'), scene.names], ['one\n', []]);
  }),
);

test(
  'a file in the place of the folder in which texts are kept is said in words, of the change as well',
  inScene(async (scene) => {
    scene.write({ a: 'one\n' });
    const objects = path.join(scene.state, 'objects');
    rmSync(objects, { recursive: true, force: true });
    writeFileSync(objects, '');
    await scene.turn('t', () => scene.write({ a: 'two\n' }));
    const why = `…/${path.basename(scene.state)}/objects is a file now. Move it away, then try again.`;
    assert.deepEqual([scene.changes.trouble, scene.changes.files[0]?.whyUnkept], [why, why]);
  }),
);

test(
  'a text whose baseline the disk has lost says so, and is left alone; what was only moved goes back',
  inScene(async (scene) => {
    scene.write({ a: 'one\n', old: numbered(9), removed: 'removed\n' });
    await scene.changes.startTurn('t');
    rmSync(path.join(scene.state, 'objects'), { recursive: true });
    scene.write({ a: 'two\n' });
    rmSync(scene.path('removed'));
    renameSync(scene.path('old'), scene.path('new'));
    await scene.changes.look(undefined, true);
    const gone = 'its earlier text is gone';
    assert.deepEqual(
      scene.changes.files.map(({ name, from, unkept, whyUnkept }) => [name, from, unkept, whyUnkept]),
      [
        ['a', undefined, true, gone],
        ['new', 'old', false, undefined],
        ['removed', undefined, true, gone],
      ],
    );
    await assert.rejects(scene.changes.settleAll('undo'), /a stays as it is: Parley keeps no copy/);
    assert.deepEqual([scene.read('a'), scene.read('old'), existsSync(scene.path('new'))], ['two\n', numbered(9), false]);
    await scene.reload().load();
    assert.equal(scene.changes.turnFiles('t')?.files.find(({ review }) => review === 'unkept')?.whyUnkept, gone);
  }),
);

test(
  'a disk that is full is said; what could not be kept is listed as cannot be undone',
  inScene(async (scene) => {
    scene.write({ a: 'one\n' });
    const put = scene.store.put.bind(scene.store);
    scene.store.put = (bytes) =>
      Buffer.from(bytes).equals(Buffer.from('one\n')) ? Promise.reject(new Error('ENOSPC: no space left')) : put(bytes);
    await scene.turn('t', () => scene.write({ a: 'two\n' }));
    assert.deepEqual([scene.names, review(scene, 't')], [['changed a'], ['a changed unkept']]);
    assert.deepEqual(
      [scene.changes.files[0]?.whyUnkept, scene.changes.turnFiles('t')?.files[0]?.whyUnkept],
      Array(2).fill('no space left'),
    );
    await assert.rejects(scene.changes.settle(scene.path('a'), 'undo'), /keeps no copy/);
    scene.write({ a: 'one\n' });
    await scene.changes.startTurn('t2');
    assert.equal(scene.changes.trouble, 'no space left');
    // Nor can decisions be kept: a folder stands where their file is written.
    scene.store.put = put;
    await scene.changes.look(undefined, true);
    mkdirSync(path.join(scene.state, 's.json.new'));
    await scene.turn('t3', () => scene.write({ a: 'three\n' }));
    assert.equal(scene.changes.trouble, 'illegal operation on a directory');
    // Nothing at all is kept any more: a change is still told by the prompt it belongs to, and the user hears why it cannot be undone.
    rmSync(path.join(scene.state, 's.json.new'), { recursive: true });
    scene.store.put = async (bytes) => {
      const name = createHash('sha256').update(bytes).digest('hex');
      if (await scene.store.get(name)) return name;
      throw new Error('ENOSPC: no space left');
    };
    let told = 0;
    scene.changes.onChange(() => {
      told += 1;
    });
    await scene.changes.startTurn('t4');
    assert.deepEqual([told, scene.changes.trouble], [1, 'no space left']);
    scene.write({ a: 'four\n' });
    await scene.changes.look(undefined, true);
    assert.deepEqual(review(scene, 't4'), ['a changed open']);
    await assert.rejects(scene.changes.restore('t4'), /are not known/);
    assert.equal(scene.read('a'), 'four\n');
  }),
);

test(
  'agent and user write at random: what is undone leaves exactly the user’s text, and a restore the text of that time',
  inScene(async (scene) => {
    const random = randomFrom(7);
    for (let round = 0; round < 25; round += 1) {
      const name = `f${round}`;
      // Every writer has lines of its own, so that what is left can be told.
      let users = Array.from({ length: 12 }, (_, at) => `user ${round}.${at}`);
      let present = users;
      scene.write({ [name]: present.join('\n') });
      for (let turn = 0; turn < 3; turn += 1) {
        await scene.turn(`${round}.${turn}`, () => {
          present = present.flatMap((line, at) => (random(4) === 0 ? [line, `agent ${turn}.${at}`] : [line]));
          scene.write({ [name]: present.join('\n') });
        });
        const at = random(present.length);
        const after = users.indexOf(present[at] ?? '');
        const own = `user ${round}.${turn}+`;
        if (after >= 0) {
          present = present.toSpliced(at + 1, 0, own);
          users = users.toSpliced(after + 1, 0, own);
          scene.write({ [name]: present.join('\n') });
        }
      }
      await scene.changes.userSaved(scene.path(name));
      if (scene.changes.files.some((file) => file.name === name)) await scene.changes.settle(scene.path(name), 'undo');
      assert.equal(scene.read(name), users.join('\n'), `round ${round}`);
    }
  }),
);

test(
  'lines are counted in other encodings where their mark or the editor tells which; what is no text has no counts',
  inScene(async (scene) => {
    const bytes = (encoding: 'latin1' | 'utf16le', ...words: readonly string[]) => Buffer.from(lines(...words), encoding);
    scene.write({ latin: bytes('latin1', 'größer', 'b'), wide: bytes('utf16le', '\uFEFFa', 'b'), binary: Uint8Array.from([0, 1]) });
    scene.effects.encoding = (file) => (path.basename(file) === 'latin' ? 'windows1252' : 'utf8');
    await scene.turn('t', () =>
      scene.write({
        latin: bytes('latin1', 'größer', 'ä', 'c'),
        wide: bytes('utf16le', '\uFEFFa', 'b', 'c'),
        binary: Uint8Array.from([0, 2]),
        other: bytes('latin1', 'ä'),
      }),
    );
    const counts = scene.changes.turnFiles('t')?.files.map(({ path: file, added, removed }) => [path.basename(file), added, removed]);
    assert.deepEqual(counts, [
      ['binary', undefined, undefined],
      ['latin', 2, 1],
      ['other', undefined, undefined],
      ['wide', 1, 0],
    ]);
  }),
);

test(
  'a restore takes the agent’s lines and leaves the user’s, as its preview says, and can be undone',
  inScene(async (scene) => {
    scene.write({ a: lines('one', 'two', 'three'), b: 'one\n' });
    await scene.turn('t', () => scene.write({ made: lines('agent 1', 'agent 2'), a: lines('one', 'agent', 'three'), b: 'agent\n' }));
    scene.write({ made: lines('agent 1', 'mine', 'agent 2'), a: lines('one', 'agent', 'three', 'mine') });
    const before = () => [scene.read('made'), scene.read('a'), scene.read('b')];
    const [made, a, b] = before();
    assert.deepEqual((await scene.changes.preview('t'))?.files, [
      { name: 'a', how: 'rewrite', users: 'kept' },
      { name: 'b', how: 'rewrite' },
      { name: 'made', how: 'rewrite', users: 'kept' },
    ]);
    const texts = await scene.changes.previewTexts('t', 10);
    assert.deepEqual(texts.map(({ target }) => target).toSorted(), ['mine\n', 'one\n', 'one\ntwo\nthree\nmine\n']);
    await scene.changes.restore('t');
    assert.deepEqual(before(), ['mine\n', 'one\ntwo\nthree\nmine\n', 'one\n']);
    assert.deepEqual((await scene.changes.preview('t'))?.files, []);
    await scene.changes.undoRestore();
    assert.deepEqual(before(), [made, a, b]);
    // What is no text cannot be taken apart: the preview says that what the user did to it goes.
    scene.write({ a: Uint8Array.from([0, 1]) });
    assert.deepEqual((await scene.changes.preview('t'))?.files[0], { name: 'a', how: 'rewrite', users: 'lost' });
  }),
);

test(
  'agent and user write at random over prompts: a restore takes the agent’s lines since and no character of the user’s',
  inScene(async (scene) => {
    const random = randomFrom(5);
    for (let round = 0; round < 40; round += 1) {
      const name = `f${round}`;
      const isNew = random(3) === 0;
      let present: readonly string[] = isNew ? [] : Array.from({ length: 8 }, (_, at) => `line ${at}`);
      const write = () => scene.write({ [name]: present.map((line) => `${line}\n`).join('') });
      const insert = (line: string) => {
        present = present.toSpliced(random(present.length + 1), 0, line);
      };
      if (!isNew) write();
      const turns = 1 + random(4);
      for (let turn = 0; turn < turns; turn += 1) {
        await scene.turn(`${round}.${turn}`, () => {
          for (let count = 0; count <= random(4); count += 1) insert(`agent ${turn} ${count}`);
          write();
        });
        for (let count = random(3); count > 0; count -= 1) insert(`user ${turn} ${count}`);
        write();
      }
      const all = scene.read(name);
      const back = random(turns);
      const left = present.filter((line) => !line.startsWith('agent') || Number(line.split(' ')[1]) < back);
      await scene.changes.restore(`${round}.${back}`);
      const what = `round ${round}, ${turns} prompts, back to ${back}`;
      if (left.length === 0) assert.equal(existsSync(scene.path(name)), false, what);
      else assert.equal(scene.read(name), left.map((line) => `${line}\n`).join(''), what);
      await scene.changes.undoRestore();
      assert.equal(scene.read(name), all, `${what} and forth`);
      await scene.changes.settleAll('keep');
    }
  }),
);

test(
  'a file named in another case is the changed one where the system says so, and only there',
  inScene(async (scene) => {
    scene.write({ 'src/a.ts': 'one\n' });
    await scene.turn('t', () => scene.write({ 'src/a.ts': 'two\n' }));
    const other = path.join(scene.root.toUpperCase(), 'SRC', 'A.ts');
    const folds = existsSync(other);
    assert.equal(await scene.changes.baseText(other), folds ? 'one\n' : undefined);
    assert.equal(scene.changes.watches('t', other), folds);
    assert.equal(scene.changes.watches('t', scene.path('src/a.ts')), true);
  }),
);

test(
  'a file that a command moved is one row, changed on the way or not, and goes back with its mode and what the user wrote since',
  inScene(async (scene) => {
    scene.write({ 'a.ts': numbered(20), 'docs/b.md': numbered(30), 'run.sh': '#!/bin/sh\nexit 0\n', 'other.txt': 'something else\n' });
    chmodSync(scene.path('run.sh'), 0o755);
    await scene.turn('t', () => {
      renameSync(scene.path('a.ts'), scene.path('moved.ts'));
      rmSync(scene.path('docs/b.md'));
      rmSync(scene.path('other.txt'));
      renameSync(scene.path('run.sh'), scene.path('start.sh'));
      scene.write({ 'notes/b.md': numbered(30, (at) => (at === 3 || at === 20 ? 'agent' : undefined)), 'fresh.txt': 'quite new\n' });
    });
    const rows = () => scene.changes.files.map(({ kind, from, name }) => `${kind} ${from ?? '-'} ${name}`);
    assert.deepEqual(rows(), [
      'created - fresh.txt',
      'changed a.ts moved.ts',
      'changed docs/b.md notes/b.md',
      'deleted - other.txt',
      'changed run.sh start.sh',
    ]);
    const counted = scene.changes.turnFiles('t')?.files.map(({ from, added, removed }) => [from && path.basename(from), added, removed]);
    assert.deepEqual(counted?.slice(1, 3), [
      ['a.ts', 0, 0],
      ['b.md', 2, 2],
    ]);
    const [first] = await scene.hunks('notes/b.md');
    assert.ok(first);
    await scene.changes.settle(scene.path('notes/b.md'), 'keep', [first]);
    assert.equal((await scene.hunks('notes/b.md')).length, 1);
    assert.deepEqual(scene.changes.files.find(({ name }) => name === 'notes/b.md')?.left, { added: 1, removed: 1 });
    scene.write({ 'notes/b.md': `${scene.read('notes/b.md')}mine\n` });
    await scene.changes.userSaved(scene.path('notes/b.md'));
    scene.reload();
    await scene.changes.load();
    await scene.changes.settleAll('undo');
    assert.deepEqual(rows(), []);
    assert.deepEqual([scene.read('a.ts'), existsSync(scene.path('moved.ts'))], [numbered(20), false]);
    assert.equal(scene.read('docs/b.md'), `${numbered(30, (at) => (at === 3 ? 'agent' : undefined))}mine\n`);
    assert.deepEqual([existsSync(scene.path('notes/b.md')), existsSync(scene.path('start.sh'))], [false, false]);
    assert.equal(statSync(scene.path('run.sh')).mode & 0o777, 0o755);
    await scene.changes.undoRestore();
    assert.deepEqual([existsSync(scene.path('a.ts')), scene.read('moved.ts')], [false, numbered(20)]);
    assert.ok(rows().includes('changed a.ts moved.ts'));
    assert.equal(scene.changes.turnFiles('t')?.unlisted, undefined, 'the old place of a moved file is no file that is not listed');
  }),
);

test(
  'a move that is kept, or whose hunks are, is decided; a restore takes it back and gives it back',
  inScene(async (scene) => {
    scene.write({ 'a.ts': numbered(20), 'b.ts': numbered(9) });
    await scene.turn('t', () => {
      rmSync(scene.path('a.ts'));
      rmSync(scene.path('b.ts'));
      scene.write({ 'lib/a.ts': numbered(20, (at) => (at === 3 ? 'agent' : undefined)), 'lib/b.ts': numbered(9) });
    });
    await scene.changes.settle(scene.path('lib/a.ts'), 'undo', await scene.hunks('lib/a.ts'));
    assert.equal(scene.read('lib/a.ts'), numbered(20));
    assert.deepEqual(scene.names, ['changed lib/a.ts', 'changed lib/b.ts'], 'where it stands is not decided yet');
    await scene.changes.settle(scene.path('lib/b.ts'), 'keep');
    const files = (await scene.changes.preview('t'))?.files.map(({ name, how }) => `${how} ${name}`).toSorted();
    assert.deepEqual(files, ['create a.ts', 'create b.ts', 'delete lib/a.ts', 'delete lib/b.ts']);
    await scene.changes.restore('t');
    assert.deepEqual([scene.read('a.ts'), scene.read('b.ts'), scene.names], [numbered(20), numbered(9), []]);
    await scene.changes.undoRestore();
    assert.deepEqual([existsSync(scene.path('a.ts')), scene.read('lib/a.ts')], [false, numbered(20)]);
    assert.deepEqual(
      scene.changes.files.map(({ from, name }) => `${from} ${name}`),
      ['a.ts lib/a.ts'],
    );
  }),
);

test(
  'changed by one prompt, moved by the next, moved on by a third: each is undone by itself or refused with a reason',
  inScene(async (scene) => {
    const edited = numbered(20, (at) => (at === 3 ? 'agent' : undefined));
    scene.write({ 'a.ts': numbered(20) });
    await scene.turn('edit', () => scene.write({ 'a.ts': edited }));
    await scene.turn('move', () => renameSync(scene.path('a.ts'), scene.path('b.ts')));
    const row = () => scene.changes.files.map(({ from, name }) => `${from ?? '-'} ${name}`);
    assert.deepEqual(row(), ['a.ts b.ts']);
    assert.equal(scene.changes.placeNow('edit', scene.path('a.ts')), scene.path('b.ts'));
    await scene.changes.settleTurn('edit', 'undo', scene.path('a.ts'));
    assert.equal(scene.read('b.ts'), numbered(20));
    await scene.changes.undoRestore();
    assert.equal(scene.read('b.ts'), edited);
    await scene.turn('on', () => renameSync(scene.path('b.ts'), scene.path('c.ts')));
    assert.deepEqual(row(), ['a.ts c.ts']);
    const preview = async (turn: string) =>
      (await scene.changes.preview(turn))?.files.map(({ how, name, back }) => [how, name, back?.name, back?.rewritten]);
    const made = (name: string) => ['create', name, undefined, undefined];
    assert.deepEqual(await preview('on'), [made('b.ts'), ['delete', 'c.ts', 'b.ts', false]]);
    assert.deepEqual(await preview('edit'), [made('a.ts'), ['delete', 'c.ts', 'a.ts', true]], 'over all moves, with the text before them');
    await assert.rejects(scene.changes.settleTurn('move', 'undo'), /In b\.ts, you or other prompts have changed the same lines/);
    await scene.changes.settleTurn('on', 'undo');
    assert.deepEqual([row(), scene.read('b.ts')], [['a.ts b.ts'], edited]);
    await scene.changes.settleTurn('move', 'undo');
    assert.deepEqual([row(), scene.read('a.ts')], [['- a.ts'], edited]);
    await scene.changes.settleTurn('edit', 'undo');
    assert.deepEqual([row(), scene.read('a.ts')], [[], numbered(20)]);
  }),
);

test(
  'a move is found over several looks; a new file in the old place parts it again, and each side goes back',
  inScene(async (scene) => {
    scene.write({ 'a.ts': numbered(20), 'made.ts': 'x' });
    await scene.changes.startTurn('t');
    scene.write({ 'b.ts': numbered(20) });
    await scene.changes.look();
    assert.deepEqual(scene.names, ['created b.ts']);
    rmSync(scene.path('a.ts'));
    await scene.changes.look();
    assert.deepEqual(scene.names, ['changed b.ts']);
    scene.write({ 'a.ts': 'export * from "./b.ts";\n' });
    await scene.changes.look(undefined, true);
    assert.deepEqual(scene.names, ['changed a.ts', 'created b.ts']);
    await scene.changes.settleAll('undo');
    assert.deepEqual([scene.read('a.ts'), existsSync(scene.path('b.ts'))], [numbered(20), false]);
    // The user has put something where it came from.
    await scene.turn('u', () => renameSync(scene.path('a.ts'), scene.path('b.ts')));
    scene.write({ 'a.ts': 'mine\n' });
    await assert.rejects(scene.changes.settle(scene.path('b.ts'), 'undo'), /a\.ts/);
    assert.deepEqual([scene.read('a.ts'), scene.read('b.ts'), scene.names], ['mine\n', numbered(20), ['changed b.ts']]);
  }),
);

test(
  'a very large file that was moved is moved back, by itself and by a restore, although its content is not kept',
  inScene(async (scene) => {
    scene.write({ 'a.bin': 'x' });
    truncateSync(scene.path('a.bin'), 50 * 1024 * 1024);
    await scene.turn('t', () => renameSync(scene.path('a.bin'), scene.path('b.bin')));
    assert.deepEqual(
      scene.changes.files.map(({ from, name, unkept }) => [from, name, unkept]),
      [['a.bin', 'b.bin', false]],
    );
    const here = () => [existsSync(scene.path('a.bin')), existsSync(scene.path('b.bin'))];
    await scene.changes.settle(scene.path('b.bin'), 'undo');
    assert.deepEqual(here(), [true, false]);
    await scene.changes.undoRestore();
    assert.deepEqual(here(), [false, true]);
    await scene.changes.restore('t');
    assert.deepEqual(here(), [true, false]);
    await scene.changes.undoRestore();
    assert.deepEqual(here(), [false, true]);
    assert.equal(statSync(scene.path('b.bin')).size, 50 * 1024 * 1024);
    // What nobody could bring back is not deleted by a restore.
    await scene.turn('u', () => truncateSync(scene.path('b.bin'), 40 * 1024 * 1024));
    await scene.changes.restore('t');
    assert.equal(statSync(scene.path('b.bin')).size, 40 * 1024 * 1024);
  }),
);

test(
  'an agent moves, writes, deletes and makes files at random over prompts: each restore, its undo and undoing all give the files exactly',
  inScene(async (scene) => {
    const random = randomFrom(11);
    const places = ['a.ts', 'b.ts', 'lib/c.ts', 'lib/d.ts', 'e.ts'];
    const files = () => Object.fromEntries(places.flatMap((name) => (existsSync(scene.path(name)) ? [[name, scene.read(name)]] : [])));
    const clear = () => {
      for (const name of places) rmSync(scene.path(name), { force: true });
    };
    // A file that was moved is one that is gone and one that is new, as it is once another has its name.
    const toReview = () =>
      scene.changes.files
        .flatMap(({ kind, name, from }) =>
          from === undefined ? [`${kind} ${name}`] : [`deleted ${from}`, ...(kind === 'deleted' ? [] : [`created ${name}`])],
        )
        .toSorted();
    let made = 0;
    const act = () => {
      const there = Object.keys(files());
      const [one, free] = [there[random(there.length)], places.filter((name) => !there.includes(name))];
      const target = free[random(free.length)];
      made += 1;
      const text = (from: string) => from.replace(`line ${random(20)}\n`, `line ${made}.\n`);
      const what = random(6);
      if (what <= 2 && one && target) {
        mkdirSync(path.dirname(scene.path(target)), { recursive: true });
        renameSync(scene.path(one), scene.path(target));
        if (what === 2) scene.write({ [target]: text(scene.read(target)) });
      } else if (what === 3 && one) scene.write({ [one]: text(scene.read(one)) });
      else if (what === 4 && one) rmSync(scene.path(one));
      else if (target) scene.write({ [target]: `${made}\n${numbered(20, (at) => `other ${made} ${at}`)}` });
    };
    for (let round = 0; round < 60; round += 1) {
      clear();
      for (const name of places.slice(0, 3)) scene.write({ [name]: numbered(20, (at) => (at % 2 === 0 ? `${name} ${at}` : undefined)) });
      const before = [files()];
      const listed: (readonly string[])[] = [[]];
      const turns = 1 + random(4);
      for (let turn = 0; turn < turns; turn += 1) {
        await scene.turn(`${round}.${turn}`, () => {
          for (let step = random(4); step >= 0; step -= 1) act();
        });
        before.push(files());
        listed.push(toReview());
      }
      const back = random(turns);
      const at = `round ${round}, ${turns} prompts, back to ${back}`;
      await scene.changes.restore(`${round}.${back}`);
      assert.deepEqual(files(), before[back], at);
      // Nothing was decided: what was to be reviewed then is to be reviewed again.
      assert.deepEqual(toReview(), listed[back], `${at}, listed`);
      await scene.changes.undoRestore();
      assert.deepEqual([toReview(), scene.changes.burst], [listed.at(-1), 0], `${at} and forth, listed`);
      assert.deepEqual(files(), before.at(-1), `${at} and forth`);
      await scene.changes.settleAll('undo');
      assert.deepEqual(files(), before[0], `${at}, all undone`);
      assert.deepEqual(scene.names, [], at);
      await scene.changes.undoRestore();
      assert.deepEqual(files(), before.at(-1), `${at}, undone and back`);
      await scene.changes.settleAll('keep');
    }
  }),
);

test(
  'a text behind a link that leads outside is not written, although the agent’s change is in it',
  inScene(async (scene) => {
    scene.write({ 'lib/c.txt': numbered(9) });
    await scene.turn('t', () => scene.write({ 'lib/c.txt': numbered(9, (at) => (at === 4 ? 'agent' : undefined)) }));
    const [hunk] = await scene.hunks('lib/c.txt');
    assert.ok(hunk);
    const outside = path.join(scene.state, 'outside');
    mkdirSync(outside);
    const text = `${scene.read('lib/c.txt')}more\n`;
    writeFileSync(path.join(outside, 'c.txt'), text);
    rmSync(scene.path('lib'), { recursive: true });
    symlinkSync(outside, scene.path('lib'));
    await assert.rejects(
      scene.changes.settle(scene.path('lib/c.txt'), 'undo'),
      / now lies elsewhere, so nothing was written\. Remove the link/,
    );
    await assert.rejects(
      scene.changes.settle(scene.path('lib/c.txt'), 'undo', [hunk]),
      / now lies elsewhere, so nothing was written\. Remove the link/,
    );
    assert.equal(readFileSync(path.join(outside, 'c.txt'), 'utf8'), text);
  }),
);

test(
  'what another program writes after the turn is none of the agent’s lines, and stays when those are undone',
  inScene(async (scene) => {
    const file = scene.path('a');
    const agents = (at: number) => ([5, 21].includes(at) ? `agent ${at}` : undefined);
    const begin = async () => {
      scene.write({ a: numbered(40) });
      await scene.turn('t', () => scene.write({ a: numbered(40, agents) }));
      scene.write({ a: numbered(40, (at) => (at === 11 ? 'other' : agents(at))) });
    };
    const others = numbered(40, (at) => (at === 11 ? 'other' : undefined));
    await begin();
    const hunks = await scene.hunks('a');
    assert.deepEqual(
      hunks.map(({ hunk }) => hunk.after),
      [['agent 5'], ['agent 21']],
    );
    await scene.changes.settle(file, 'undo', hunks.slice(0, 1));
    await scene.changes.settle(file, 'undo');
    assert.deepEqual([scene.read('a'), scene.names], [others, []]);
    await begin();
    await scene.changes.settleTurn('t', 'undo', file);
    assert.equal(scene.read('a'), others);
    // In the agent's own line, it is taken away only on demand.
    await begin();
    scene.write({ a: scene.read('a').replace('agent 21', 'other, agent 21') });
    const [, mixed] = await scene.hunks('a');
    assert.ok(mixed);
    await assert.rejects(scene.changes.settle(file, 'undo', [mixed]));
    assert.match(scene.read('a'), /other, agent 21/);
  }),
);

test(
  'a folder that was moved and left a link behind: a restore says so beforehand and leaves its files alone, the others it restores',
  inScene(async (scene) => {
    scene.write({ 'lib/a': 'one\n', b: 'one\n' });
    await scene.turn('t', () => scene.write({ 'lib/a': 'two\n', b: 'two\n' }));
    mkdirSync(scene.path('moved'));
    renameSync(scene.path('lib'), scene.path('moved/lib'));
    symlinkSync('moved/lib', scene.path('lib'));
    const preview = (await scene.changes.preview('t'))?.files.map(({ name, refused }) => [name, refused]);
    const refused = 'lib/a now lies elsewhere, so nothing was written. Remove the link that leads there, or add its folder, and try again.';
    assert.deepEqual(Object.fromEntries(preview ?? []), { b: undefined, 'lib/a': refused });
    await scene.changes.restore('t', new Set(['lib/a']));
    assert.deepEqual([scene.read('b'), scene.read('moved/lib/a')], ['one\n', 'two\n']);
  }),
);

test(
  'a character typed into a line of the agent’s leaves it under review; undoing it never leaves the old and the new line side by side',
  inScene(async (scene) => {
    const agents = numbered(12, (at) => (at === 2 ? 'return a * b;' : at === 8 ? 'agent 8' : undefined));
    const old = numbered(12, (at) => (at === 2 ? 'return a + b;' : undefined));
    for (const way of ['typed', 'saved', 'after a reload'] as const) {
      scene.write({ [way]: old });
      const file = scene.path(way);
      await scene.turn(way, () => scene.write({ [way]: agents }));
      const edited = agents.replace('a * b;', 'a * b; // mine').replace('agent 8', 'agent 88').replace('line 5', 'line five');
      if (way === 'typed') scene.unsaved.set(file, edited);
      else {
        scene.write({ [way]: edited });
        await scene.changes.userSaved(file);
      }
      if (way === 'after a reload') await scene.reload().load();
      const hunks = await scene.hunks(way);
      assert.deepEqual(
        hunks.map(({ hunk }) => [hunk.before, hunk.after, hunk.written]),
        [
          [['return a + b;'], ['return a * b; // mine'], ['return a * b;']],
          [['line 8'], ['agent 88'], ['agent 8']],
        ],
        way,
      );
      const [product, second] = hunks;
      assert.ok(product && second);
      await assert.rejects(scene.changes.settle(file, 'undo', [second]), /changed the same lines/);
      await assert.rejects(scene.changes.settle(file, 'undo'), /changed the same lines/);
      // The other hunk was undone around the user's words.
      const left = old.replace('a + b;', 'a + b; // mine').replace('line 5', 'line five');
      assert.equal(scene.read(way), left.replace('line 8', 'agent 88'), way);
      const [last] = await scene.hunks(way);
      assert.ok(last);
      await scene.changes.settle(file, 'undo', [last], true);
      assert.deepEqual([scene.read(way), scene.names], [left, []], way);
    }
  }),
);

test(
  'a line that both have written stays so when the agent writes on, and is kept as it is',
  inScene(async (scene) => {
    scene.write({ a: numbered(12) });
    const agents = numbered(12, (at) => (at === 2 ? 'agent 2' : undefined));
    await scene.turn('t1', () => scene.write({ a: agents }));
    scene.write({ a: agents.replace('agent 2', 'agent 2 and me') });
    await scene.changes.userSaved(scene.path('a'));
    await scene.turn('t2', () => scene.write({ a: agents.replace('agent 2', 'agent 2 and me').replace('line 9', 'agent 9') }));
    const [mixed, pure] = await scene.hunks('a');
    assert.ok(mixed && pure);
    assert.deepEqual([mixed.hunk.written, pure.hunk.written], [['agent 2'], undefined]);
    await assert.rejects(scene.changes.settleAll('undo'), /In a, you or other prompts have changed the same lines/);
    assert.equal(scene.read('a'), agents.replace('agent 2', 'agent 2 and me'));
    await scene.changes.undoRestore();
    assert.equal((await scene.hunks('a')).length, 2);
    await scene.changes.settle(scene.path('a'), 'keep', (await scene.hunks('a')).slice(0, 1));
    await scene.changes.settle(scene.path('a'), 'undo');
    assert.deepEqual([scene.read('a'), scene.names], [agents.replace('agent 2', 'agent 2 and me'), []]);
  }),
);

test(
  'undoing what an earlier prompt did to a line that a later one has changed again is refused',
  inScene(async (scene) => {
    scene.write({ a: numbered(5) });
    await scene.turn('t1', () => scene.write({ a: numbered(5, (at) => (at === 2 ? 'first' : undefined)) }));
    await scene.turn('t2', () => scene.write({ a: numbered(5, (at) => (at === 2 ? 'second' : undefined)) }));
    await assert.rejects(scene.changes.settleTurn('t1', 'undo'), /changed the same lines/);
    assert.equal(
      scene.read('a'),
      numbered(5, (at) => (at === 2 ? 'second' : undefined)),
    );
  }),
);

test(
  'undoing everything names each file that could not be undone, with its reason, and undoes the others',
  inScene(async (scene) => {
    const names = Array.from({ length: 13 }, (_, at) => `f${at}`);
    for (const name of [...names, 'good']) scene.write({ [name]: 'one\n' });
    await scene.turn('t', () => {
      for (const name of [...names, 'good']) scene.write({ [name]: 'agent\n' });
    });
    for (const name of names) {
      rmSync(scene.path(name));
      mkdirSync(scene.path(name));
    }
    await assert.rejects(scene.changes.settleAll('undo'), (error: Error) => {
      const said = error.message.split('\n');
      assert.deepEqual([said.length, said[0], said.at(-1)], [11, 'f0 is a folder now. Move it away, then try again.', '… +3']);
      return true;
    });
    assert.equal(scene.read('good'), 'one\n');
  }),
);

test(
  'a turn’s file says how much of what the turn did is left, and how many of its hunks were kept',
  inScene(async (scene) => {
    const agents = (...at: readonly number[]) => numbered(20, (line) => (at.includes(line) ? `agent ${line}` : undefined));
    const review = (name: string) => {
      const file = scene.changes.turnFiles('t')?.files.find((one) => one.path === scene.path(name));
      return [file?.review, file?.added, file?.removed, file?.hunks?.kept, file?.hunks?.all];
    };
    for (const name of ['a', 'b', 'c']) scene.write({ [name]: numbered(20) });
    await scene.turn('t', () => {
      for (const name of ['a', 'b', 'c']) scene.write({ [name]: agents(2, 9, 16) });
    });
    for (const name of ['a', 'b', 'c']) {
      await scene.changes.settle(scene.path(name), 'undo', (await scene.hunks(name)).slice(0, 1));
      assert.deepEqual(review(name), ['open', 2, 2, 2, 3], name);
    }
    await scene.changes.settle(scene.path('a'), 'keep');
    await scene.changes.settle(scene.path('b'), 'keep', (await scene.hunks('b')).slice(0, 1));
    await scene.changes.settle(scene.path('b'), 'undo');
    await scene.changes.settle(scene.path('c'), 'undo', await scene.hunks('c'));
    const decided = [
      ['kept', 2, 2, 2, 3],
      ['kept', 1, 1, 1, 3],
      ['undone', 0, 0, 0, 3],
    ];
    assert.deepEqual(['a', 'b', 'c'].map(review), decided);
    await scene.reload().load();
    assert.deepEqual(['a', 'b', 'c'].map(review), decided);
  }),
);

test(
  'a full disk is told with the file that stays as the agent left it, and the undo is done once there is room',
  inScene(async (scene) => {
    scene.write({ 'lib/notes.txt': 'one\n', 'plans.txt': 'one\n' });
    await scene.turn('t', () => scene.write({ 'lib/notes.txt': 'two\n', 'plans.txt': 'two\n' }));
    const handle = await open(scene.path('plans.txt'));
    const prototype = Object.getPrototypeOf(handle) as typeof handle;
    await handle.close();
    const full = mock.method(prototype, 'writeFile', () => Promise.reject(new Error('ENOSPC: no space left on device, write')));
    await assert.rejects(scene.changes.settleAll('undo'), {
      message: 'lib/notes.txt could not be written: no space left on device\nplans.txt could not be written: no space left on device',
    });
    full.mock.restore();
    assert.deepEqual(
      [scene.read('lib/notes.txt'), scene.read('plans.txt'), readdirSync(scene.root)],
      ['two\n', 'two\n', ['lib', 'plans.txt']],
    );
    await scene.changes.settleAll('undo');
    assert.deepEqual([scene.read('lib/notes.txt'), scene.read('plans.txt')], ['one\n', 'one\n']);
  }),
);

test(
  'a prompt that has brought back lines is undone with the file, also after a restore that was undone',
  inScene(async (scene) => {
    const first = numbered(40);
    scene.write({ f: first });
    await scene.turn('t1', () => scene.write({ f: numbered(40, (at) => `agent ${at}`) }));
    await scene.turn('t2', () => scene.write({ f: numbered(40, (at) => (at === 3 ? `agent ${at}` : undefined)) }));
    await scene.changes.restore('t1');
    await scene.changes.undoRestore();
    await scene.changes.settleAll('undo');
    assert.equal(scene.read('f'), first);
    const reviews = ['t1', 't2'].flatMap((turn) => scene.changes.turnFiles(turn)?.files.map(({ review }) => review) ?? []);
    assert.deepEqual(reviews, ['undone', 'undone']);
  }),
);

test(
  'a prompt whose hunks in a file are all kept is decided, although hunks of another prompt in that file are not',
  inScene(async (scene) => {
    const agents = (...at: readonly number[]) => numbered(30, (line) => (at.includes(line) ? `agent ${line}` : undefined));
    const decide = async (how: 'keep' | 'undo', at: number) =>
      scene.changes.settle(
        scene.path('a'),
        how,
        (await scene.hunks('a')).filter((one) => one.afterLine === at),
      );
    scene.write({ a: numbered(30) });
    await scene.turn('t1', () => scene.write({ a: agents(3, 12) }));
    await scene.turn('t2', () => scene.write({ a: agents(3, 12, 20, 27) }));
    await decide('keep', 3);
    assert.deepEqual([review(scene, 't1'), review(scene, 't2')], [['a changed open +2 -2'], ['a changed open +2 -2']]);
    await decide('keep', 12);
    assert.deepEqual([review(scene, 't1'), review(scene, 't2')], [['a changed kept +2 -2'], ['a changed open +2 -2']]);
    await decide('undo', 20);
    assert.deepEqual(review(scene, 't2'), ['a changed open +1 -1']);
    await scene.changes.settle(scene.path('a'), 'undo');
    assert.deepEqual([review(scene, 't1'), review(scene, 't2')], [['a changed kept +2 -2'], ['a changed undone +0 -0']]);
    assert.equal(scene.read('a'), agents(3, 12));
    await scene.turn('t3', () => scene.write({ a: agents(3, 12, 20) }));
    await scene.turn('t4', () => scene.write({ a: agents(3, 12, 20, 27) }));
    await decide('undo', 20);
    await scene.changes.settle(scene.path('a'), 'keep');
    assert.deepEqual([review(scene, 't3'), review(scene, 't4')], [['a changed undone +0 -0'], ['a changed kept +1 -1']]);
  }),
);

/** Unsaved text takes undone changes as the editor's does. */
function typing(scene: Scene): void {
  scene.effects.typeText = async (file, text, from) => {
    const merged = mergedInto(scene.unsaved.get(file) ?? '', from, text);
    if (merged === undefined) throw new Error('changed meanwhile');
    scene.unsaved.set(file, merged);
  };
}

test(
  'what is undone in unsaved text is counted at once, and again when the user discards it',
  inScene(async (scene) => {
    typing(scene);
    const agents = (at: number) => (at === 5 ? 'agent 5' : at === 20 ? 'agent 20' : undefined);
    const file = scene.path('a');
    const counts = () => [scene.changes.files[0]?.left, scene.changes.turnFiles('t')?.files.map(({ added, removed }) => [added, removed])];
    scene.write({ a: numbered(30) });
    await scene.turn('t', () => scene.write({ a: numbered(30, agents) }));
    scene.unsaved.set(
      file,
      numbered(30, (at) => (at === 12 ? 'mine' : agents(at))),
    );
    await scene.changes.settle(file, 'undo', (await scene.hunks('a')).slice(0, 1));
    assert.deepEqual(counts(), [{ added: 1, removed: 1 }, [[1, 1]]]);
    assert.equal(scene.read('a'), numbered(30, agents));
    scene.unsaved.delete(file);
    await scene.changes.textChanged(file);
    assert.deepEqual(counts(), [{ added: 2, removed: 2 }, [[2, 2]]]);
    scene.unsaved.set(
      file,
      numbered(30, (at) => (at === 12 ? 'mine' : agents(at))),
    );
    await scene.changes.settle(file, 'undo');
    assert.deepEqual(counts(), [{ added: 0, removed: 0 }, [[0, 0]]]);
    scene.write({ a: scene.unsaved.get(file) ?? '' });
    scene.unsaved.delete(file);
    await scene.changes.userSaved(file);
    assert.deepEqual([scene.names, review(scene, 't')], [[], ['a changed undone +0 -0']]);
  }),
);

test(
  'one prompt of several is undone in unsaved text, which stays with the other prompt’s lines; where the user wrote into the lines it is refused',
  inScene(async (scene) => {
    typing(scene);
    const file = scene.path('a');
    const text = (one: boolean, two: boolean, mine?: string) =>
      numbered(30, (at) => (at === 5 && one ? 'one' : at === 20 && two ? 'two' : at === 12 ? mine : undefined));
    scene.write({ a: text(false, false) });
    await scene.turn('one', () => scene.write({ a: text(true, false) }));
    await scene.turn('two', () => scene.write({ a: text(true, true) }));
    scene.unsaved.set(file, text(true, true, 'mine').replace('one\n', 'one of mine\n'));
    await assert.rejects(scene.changes.settleTurn('one', 'undo', file), /changed the same lines/);
    scene.unsaved.set(file, text(true, true, 'mine'));
    await scene.changes.settleTurn('one', 'undo', file);
    assert.deepEqual([scene.unsaved.get(file), scene.read('a')], [text(false, true, 'mine'), text(true, true)]);
    assert.deepEqual([review(scene, 'one'), review(scene, 'two')], [['a changed open +0 -0'], ['a changed open +1 -1']]);
    scene.write({ a: scene.unsaved.get(file) ?? '' });
    scene.unsaved.delete(file);
    await scene.changes.userSaved(file);
    assert.deepEqual([review(scene, 'one'), review(scene, 'two')], [['a changed undone +0 -0'], ['a changed open +1 -1']]);
    await scene.changes.settle(file, 'undo');
    assert.deepEqual([scene.read('a'), scene.names], [text(false, false, 'mine'), []]);
  }),
);

test(
  'what the agent writes to the disk beside unsaved text is told with its places, and nothing is written over either',
  inScene(async (scene) => {
    scene.write({ a: numbered(20) });
    const file = scene.path('a');
    const mine = `mine\n${numbered(20, (at) => (at === 12 ? 'mine 12' : undefined))}`;
    await scene.turn('t', () => {
      scene.unsaved.set(file, mine);
      scene.write({ a: numbered(20, (at) => (at === 5 ? 'agent 5' : undefined)) });
    });
    assert.deepEqual(await scene.hunks('a'), []);
    const beside = await scene.changes.unsavedBeside(file);
    assert.deepEqual([beside?.lines, beside?.unsaved, beside?.disk], [[6], mine, scene.read('a')]);
    const merged = mergedInto(beside?.unsaved ?? '', beside?.base ?? '', beside?.disk ?? '');
    assert.equal(merged, mine.replace('line 5', 'agent 5'));
    await assert.rejects(scene.changes.settle(file, 'undo'), /changed on disk while you have unsaved text/);
    assert.deepEqual([scene.read('a'), scene.unsaved.get(file)], [beside?.disk, mine]);
    // Merged: the agent's change is a hunk, and the user's lines are theirs.
    scene.unsaved.delete(file);
    scene.write({ a: merged ?? '' });
    await scene.changes.userSaved(file);
    assert.equal(await scene.changes.unsavedBeside(file), undefined);
    await scene.changes.settle(file, 'undo', await scene.hunks('a'));
    assert.equal(scene.read('a'), mine);
  }),
);

test(
  'a change behind a link that leads outside is named with its turn, one behind a link inside is listed at its own place',
  inScene(async (scene) => {
    const outside = mkdtempSync(path.join(tmpdir(), 'review-outside-'));
    try {
      writeFileSync(path.join(outside, 'config'), 'one\n');
      scene.write({ 'src/a': 'one\n' });
      symlinkSync(path.join(outside, 'config'), scene.path('config'));
      symlinkSync(scene.path('src'), scene.path('lib'));
      await scene.turn('t1', () => scene.write({ 'lib/a': 'two\n' }));
      assert.deepEqual([scene.names, scene.changes.turnFiles('t1')?.unlisted], [['changed src/a'], undefined]);
      await scene.turn('t2', () => writeFileSync(scene.path('config'), 'two, longer\n'));
      assert.deepEqual(scene.changes.turnFiles('t2')?.unlisted, { files: 0, folders: ['config'] });
    } finally {
      rmSync(outside, { recursive: true });
    }
  }),
);

test(
  'after the user typed elsewhere and saved, a restore says of the agent’s change that it is undone, and the undo of it counts it again',
  inScene(async (scene) => {
    scene.write({ a: numbered(20) });
    await scene.turn('t', () => scene.write({ a: numbered(20, (at) => (at === 5 ? 'agent' : undefined)) }));
    scene.write({ a: scene.read('a').replace('line 15', 'mine') });
    await scene.changes.userSaved(scene.path('a'));
    const row = () => scene.changes.turnFiles('t')?.files.map(({ review, added, removed }) => [review, added, removed]);
    assert.deepEqual(row(), [['open', 1, 1]]);
    await scene.changes.restore('t');
    assert.equal(
      scene.read('a'),
      numbered(20, (at) => (at === 15 ? 'mine' : undefined)),
    );
    assert.deepEqual(row(), [['undone', 0, 0]]);
    await scene.changes.undoRestore();
    assert.deepEqual(row(), [['open', 1, 1]]);
  }),
);

for (const how of ['the hunk', 'the file', 'a restore', 'the arrow of a diff'] as const)
  test(
    `undone by ${how}, and then undone again by the user: what is in the file again is to be reviewed again, and what they typed is theirs`,
    inScene(async (scene) => {
      const agents = numbered(30, (at) => (at === 5 || at === 20 ? `agent ${at}` : undefined));
      scene.write({ a: numbered(30) });
      await scene.turn('t', () => scene.write({ a: agents }));
      const file = scene.path('a');
      const [first, second] = await scene.hunks('a');
      assert.ok(first && second);
      const saved = async (text: string) => {
        scene.write({ a: text });
        await scene.changes.userSaved(file);
      };
      const row = () => scene.changes.turnFiles('t')?.files.map(({ review, added }) => [review, added]);
      const open = async () => (await scene.hunks('a')).map(({ hunk }) => hunk.after.join());
      const isWhole = how === 'the file' || how === 'a restore';
      if (how === 'the hunk') await scene.changes.settle(file, 'undo', [first]);
      else if (how === 'the file') await scene.changes.settle(file, 'undo');
      else if (how === 'a restore') await scene.changes.restore('t');
      else await saved(agents.replace('agent 5', 'line 5'));
      if (!isWhole) await scene.changes.settle(file, 'keep');
      const settled = row();
      assert.deepEqual(settled, isWhole ? [['undone', settled?.[0]?.[1]]] : [['kept', 1]]);
      // What they write in the same place, or elsewhere, brings nothing back.
      await saved(scene.read('a').replace('line 5', 'mine 5').replace('line 10', 'mine 10'));
      assert.deepEqual([scene.names, row()?.[0]?.[0]], [[], isWhole ? 'undone' : 'kept']);
      await saved(scene.read('a').replace('mine 5', 'line 5'));
      await saved(scene.read('a').replace('line 5', 'agent 5').replace('line 20', 'agent 20'));
      assert.deepEqual(await open(), isWhole ? ['agent 5', 'agent 20'] : ['agent 5']);
      assert.deepEqual(row(), [['open', 2]]);
      await scene.changes.settle(file, 'undo');
      const text = scene.read('a');
      assert.equal(
        text,
        numbered(30, (at) => (at === 10 ? 'mine 10' : !isWhole && at === 20 ? 'agent 20' : undefined)),
      );
      assert.deepEqual([scene.names, row()?.[0]?.[0]], [[], isWhole ? 'undone' : 'kept']);
    }),
  );

test(
  'a restore can leave files alone that cannot be written now: the preview says which, and why, and both places of a moved one stay',
  inScene(async (scene) => {
    scene.write({ a: 'one\n', b: 'one\n', c: 'one\n', d: 'one\n', old: numbered(5) });
    await scene.turn('t', () => {
      scene.write({ a: 'two\n', b: 'two\n', c: 'two\n', d: 'two\n' });
      renameSync(scene.path('old'), scene.path('new'));
    });
    scene.unsaved.set(scene.path('b'), 'typed\n');
    scene.unsaved.set(scene.path('new'), 'typed\n');
    for (const name of ['c', 'd']) rmSync(scene.path(name));
    mkdirSync(scene.path('c'));
    symlinkSync(scene.path('a'), scene.path('d'));
    const preview = (await scene.changes.preview('t'))?.files ?? [];
    const save = 'has unsaved changes. Save or revert it first.';
    assert.deepEqual(
      preview.map(({ name, refused }) => [name, refused]),
      [
        ['a', undefined],
        ['b', `b ${save}`],
        ['c', 'c is a folder now. Move it away, then try again.'],
        ['d', 'd has changed in the meantime. Look at the change again.'],
        ['new', `new ${save}`],
        ['old', `new ${save}`],
      ],
    );
    const shown = (await scene.changes.previewTexts('t', 9)).filter(({ present, target }) => present !== target);
    assert.deepEqual(
      shown.map((one) => path.basename(one.path)),
      ['a'],
    );
    const left = preview.flatMap(({ name, refused }) => (refused === undefined ? [] : [name]));
    await scene.changes.restore('t', new Set(left));
    assert.deepEqual([scene.read('a'), scene.read('b'), existsSync(scene.path('old'))], ['one\n', 'two\n', false]);
    await scene.changes.undoRestore();
    assert.equal(scene.read('a'), 'two\n');
  }),
);

for (const how of ['restore', 'undo'] as const)
  test(
    `folders that the agent made go with its files: ${how}; those that were there stay, empty or not`,
    inScene(async (scene) => {
      mkdirSync(scene.path('empty/inner'), { recursive: true });
      scene.write({ 'kept/a': 'one\n' });
      const made = ['made/deep/x', 'made/deep/er/y', 'empty/inner/z', 'kept/more/w', 'shared/v'];
      await scene.turn('t', () => scene.write(Object.fromEntries(made.map((name) => [name, 'agent\n']))));
      scene.write({ 'shared/mine': 'mine\n' });
      if (how === 'restore') await scene.changes.restore('t');
      else await scene.changes.settleAll('undo');
      const left = readdirSync(scene.root, { recursive: true }).map(String).toSorted();
      assert.deepEqual(left, ['empty', 'empty/inner', 'kept', 'kept/a', 'shared', 'shared/mine']);
      await scene.changes.undoRestore();
      assert.deepEqual(
        made.map((name) => scene.read(name)),
        made.map(() => 'agent\n'),
      );
    }),
  );

test(
  'an agent changes what is ignored: what was watched is watched on, and what was ignored is no new file, whose undo would delete it',
  inScene(async (scene) => {
    const ignore = (...names: readonly string[]) => scene.write({ '.gitignore': names.map((name) => `${name}\n`).join('') });
    scene.write({ '.env': 'KEY=1\n', 'dist/a.js': '1', 'dist/b.js': '1', 'cache/old': '1', 'local.txt': 'mine\n' });
    ignore('cache', 'local.txt');
    await scene.turn('t1', () => {
      ignore('.env', 'dist');
      scene.write({ 'dist/a.js': '2', 'dist/new.js': '1', 'cache/new': '1' });
      rmSync(scene.path('dist/b.js'));
    });
    assert.deepEqual(scene.names, ['changed .gitignore', 'changed dist/a.js', 'deleted dist/b.js']);
    await scene.changes.restore('t1');
    assert.deepEqual(
      ['.env', 'dist/a.js', 'dist/b.js', 'cache/old', 'local.txt'].map((name) => scene.read(name)),
      ['KEY=1\n', '1', '1', '1', 'mine\n'],
    );
    // From the next prompt on what is ignored by then counts.
    ignore('dist');
    await scene.turn('t2', () => scene.write({ '.env': 'KEY=2\n', 'dist/a.js': '3', 'local.txt': 'agent\n' }));
    assert.deepEqual(scene.names, ['changed .env', 'changed local.txt']);
  }),
);

test(
  'a folder that is ignored and that a link has taken the place of is not followed',
  inScene(async (scene) => {
    const outside = mkdtempSync(path.join(tmpdir(), 'review-outside-'));
    try {
      writeFileSync(path.join(outside, 'a'), 'secret\n');
      scene.write({ 'dist/sub/a': 'one\n', 'dist/b': 'one\n' });
      await scene.turn('t', () => {
        scene.write({ '.gitignore': 'dist\n' });
        rmSync(scene.path('dist/sub'), { recursive: true });
        symlinkSync(outside, scene.path('dist/sub'));
      });
      assert.deepEqual(scene.names, ['created .gitignore', 'deleted dist/sub/a']);
    } finally {
      rmSync(outside, { recursive: true });
    }
  }),
);

test(
  'ignored files that an agent writes, makes or removes are named with its turn; those that the user saves meanwhile are not',
  inScene(async (scene) => {
    scene.write({
      '.gitignore': '*.log\n.env*\n',
      '.env': '1',
      '.env.local': '1',
      'a.log': '1',
      'mine.log': '1',
      'node_modules/p/i.js': '1',
    });
    await scene.turn('t', async () => {
      scene.write({ '.env': 'two', 'new.log': '1' });
      rmSync(scene.path('a.log'));
      rmSync(scene.path('node_modules'), { recursive: true });
      scene.write({ 'mine.log': 'of mine' });
      await scene.changes.userSaved(scene.path('mine.log'));
    });
    assert.deepEqual(
      [scene.names, scene.changes.turnFiles('t')?.unlisted],
      [[], { files: 0, folders: ['.env', 'a.log', 'new.log', 'node_modules'] }],
    );
  }),
);

test(
  'what the user saves where nothing is looked at, as the message of a commit, is not listed as deleted',
  inScene(async (scene) => {
    scene.write({ '.gitignore': 'dist\n', '.git/COMMIT_EDITMSG': 'one\n', 'dist/a.js': '1', 'node_modules/p/i.js': '1' });
    await scene.turn('t', async () => {
      for (const name of ['.git/COMMIT_EDITMSG', 'dist/a.js', 'node_modules/p/i.js']) {
        scene.write({ [name]: 'of mine\n' });
        await scene.changes.userSaved(scene.path(name));
      }
      scene.write({ a: 'agent\n' });
    });
    assert.deepEqual(scene.names, ['created a']);
  }),
);

test(
  'who may read, write and run a file comes back with it: on Undo, on Restore, and as the agent left it when that is undone',
  inScene(async (scene) => {
    // Windows has no such modes.
    if (process.platform === 'win32') return;
    const modes = () =>
      ['run.sh', 'secret', 'tool', 'plain'].map((name) =>
        existsSync(scene.path(name)) ? (statSync(scene.path(name)).mode & 0o777).toString(8) : '-',
      );
    const start = { 'run.sh': 755, secret: 600, tool: 755, plain: 640 };
    scene.write({ 'run.sh': 'run\n', secret: 'key\n', tool: numbered(9), plain: 'plain\n' });
    for (const [name, mode] of Object.entries(start)) chmodSync(scene.path(name), Number.parseInt(String(mode), 8));
    const act = () => {
      for (const name of ['run.sh', 'secret']) rmSync(scene.path(name));
      scene.write({ tool: numbered(9, (at) => (at === 3 ? 'agent' : undefined)), plain: 'agent\n' });
      chmodSync(scene.path('tool'), 0o644);
    };
    await scene.turn('t', act);
    // What the agent did not change is the user's to change.
    chmodSync(scene.path('plain'), 0o600);
    const left = ['-', '-', '644', '600'];
    assert.deepEqual(modes(), left);
    await scene.changes.settleAll('undo');
    assert.deepEqual(modes(), ['755', '600', '755', '600']);
    await scene.changes.undoRestore();
    assert.deepEqual(modes(), left);
    await scene.reload().load();
    await scene.changes.restore('t');
    assert.deepEqual(modes(), ['755', '600', '755', '600']);
    await scene.changes.undoRestore();
    await scene.changes.settle(scene.path('tool'), 'undo', await scene.hunks('tool'));
    assert.deepEqual(modes(), ['-', '-', '755', '600']);
  }),
);

test(
  'a text that is not UTF-8 says its encoding, where that is known, whatever was changed in it',
  inScene(async (scene) => {
    const wide = (text: string) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);
    const latin = (text: string) => Buffer.from(text, 'latin1');
    scene.effects.encoding = (file) => (file.endsWith('latin') ? 'windows1252' : undefined);
    scene.write({ latin: latin('zw\u00f6lf\n'), unknown: latin('zw\u00f6lf\n'), wide: wide('one\n'), gone: wide('one\n'), plain: 'one\n' });
    await scene.turn('t', () => {
      scene.write({
        latin: latin('f\u00fcnf\n'),
        unknown: latin('f\u00fcnf\n'),
        wide: wide('two\n'),
        made: wide('two\r\n'),
        plain: 'two\n',
      });
      rmSync(scene.path('gone'));
    });
    const words = { gone: 'UTF-16 LE LF', latin: 'windows1252 LF', made: 'UTF-16 LE CRLF', plain: '', unknown: '', wide: 'UTF-16 LE LF' };
    assert.deepEqual(Object.fromEntries(scene.changes.files.map((one) => [one.name, mannerWords(one)])), words);
    assert.deepEqual(
      scene.changes.turnFiles('t')?.files.map((one) => [path.basename(one.path), one.added, mannerWords(one)]),
      Object.entries(words).map(([name, form]) => [
        name,
        { gone: 0, unknown: undefined }[name] ?? (name === 'unknown' ? undefined : 1),
        form,
      ]),
    );
  }),
);

test(
  'of a file without counted lines it is known why, also after a reload: a zero byte, its size, or its encoding',
  inScene(async (scene) => {
    const zeros = (text: string) => Buffer.from(`${text}\0`);
    const latin = (text: string) => Buffer.from(text, 'latin1');
    const long = (line: string) => `${line}\n`.repeat(300_000);
    const huge = (size: number) => Buffer.alloc(size, 'x\n');
    scene.write({ zeros: zeros('one'), latin: latin('zw\u00f6lf\n'), long: long('one'), huge: huge(9_000_000), text: 'one\n' });
    await scene.turn('t', () =>
      scene.write({ zeros: zeros('two'), latin: latin('f\u00fcnf\n'), long: long('two'), huge: huge(9_000_002), text: 'two\n' }),
    );
    const why = { huge: 'large', latin: 'encoding', long: 'large', text: undefined, zeros: 'binary' };
    const known = () => [
      Object.fromEntries(scene.changes.files.map((one) => [one.name, one.noLines])),
      Object.fromEntries(scene.changes.turnFiles('t')?.files.map((one) => [path.basename(one.path), one.noLines]) ?? []),
    ];
    assert.deepEqual(known(), [why, why]);
    await scene.reload().load();
    assert.deepEqual(known(), [why, why]);
  }),
);

test(
  'a text that is only written in another way says how, also after a reload, and goes back byte for byte',
  inScene(async (scene) => {
    const text = 'one\r\nzw\u00f6lf\r\n';
    const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);
    const was = { mark: `\uFEFF${text}`, ends: text, wide: utf16, mixed: `${text}three\nfour\r`, mode: text };
    const is = { mark: text, ends: text.replaceAll('\r', ''), wide: text, mixed: `${text}three\r\nfour\r\n`, mode: `\uFEFF${text}` };
    scene.write({ ...was, empty: '' });
    await scene.turn('t', () => {
      scene.write({ ...is, empty: '\uFEFF' });
      chmodSync(scene.path('mode'), 0o755);
    });
    const shown = (files: readonly { readonly form?: TurnFile['form'] }[]) =>
      files.map(({ form }) => form && `${form.before} → ${form.after}`);
    const words = [
      'UTF-8 → UTF-8 BOM',
      'UTF-8 CRLF → UTF-8 LF',
      'UTF-8 BOM CRLF → UTF-8 CRLF',
      'UTF-8 CRLF+LF+CR → UTF-8 CRLF',
      'UTF-8 CRLF → UTF-8 BOM CRLF',
      'UTF-16 LE CRLF → UTF-8 CRLF',
    ];
    assert.deepEqual([shown(scene.changes.files), shown(scene.changes.turnFiles('t')?.files ?? [])], [words, words]);
    await scene.reload().load();
    assert.deepEqual([shown(scene.changes.files), shown(scene.changes.turnFiles('t')?.files ?? [])], [words, words]);
    assert.equal(mannerWords(scene.changes.files[4] ?? {}), 'rw-r--r-- → rwxr-xr-x · UTF-8 CRLF → UTF-8 BOM CRLF');
    await scene.changes.settle(scene.path('mark'), 'undo');
    await scene.turn('u', () => scene.write({ ends: `${is.ends}more\n` }));
    assert.deepEqual(shown(scene.changes.files).slice(0, 2), [words[0], undefined]);
    await scene.changes.settleAll('undo');
    const bytes = (name: string) => readFileSync(scene.path(name));
    for (const [name, content] of Object.entries({ ...was, empty: '' })) assert.deepEqual(bytes(name), Buffer.from(content), name);
    assert.deepEqual([scene.names, statSync(scene.path('mode')).mode & 0o777], [[], 0o644]);
  }),
);

test(
  'a file whose permissions alone were changed is listed, kept, undone, restored and undone in one of two prompts; its text is the user’s',
  inScene(async (scene) => {
    // Windows has no such modes.
    if (process.platform === 'win32') return;
    const mode = () => (statSync(scene.path('tool')).mode & 0o777).toString(8);
    const shown = () => scene.changes.files.map(({ name, permissions }) => [name, permissions?.before, permissions?.after]);
    const toRun = () => chmodSync(scene.path('tool'), 0o755);
    const listed = [['tool', 'rw-r--r--', 'rwxr-xr-x']];
    scene.write({ tool: numbered(9), other: 'other\n' });
    chmodSync(scene.path('tool'), 0o644);
    await scene.turn('t1', toRun);
    assert.deepEqual(shown(), listed);
    const counts = { added: 0, removed: 0, permissions: { before: 'rw-r--r--', after: 'rwxr-xr-x' } };
    const row = { path: scene.path('tool'), change: 'changed', review: 'open', ...counts };
    assert.deepEqual(scene.changes.turnFiles('t1')?.files, [row]);
    scene.write({ tool: `${numbered(9)}user\n` });
    await scene.changes.userSaved(scene.path('tool'));
    await scene.reload().load();
    assert.deepEqual(shown(), listed);

    await scene.changes.settle(scene.path('tool'), 'undo');
    assert.deepEqual([mode(), scene.read('tool'), shown()], ['644', `${numbered(9)}user\n`, []]);
    await scene.changes.undoRestore();
    assert.deepEqual([mode(), shown()], ['755', listed]);
    await scene.changes.restore('t1');
    assert.deepEqual([mode(), scene.read('tool'), shown()], ['644', `${numbered(9)}user\n`, []]);
    await scene.changes.undoRestore();
    assert.deepEqual([mode(), shown()], ['755', listed]);

    await scene.turn('t2', () => scene.write({ tool: `${numbered(9, (at) => (at === 3 ? 'agent' : undefined))}user\n` }));
    await scene.changes.settleTurn('t1', 'undo');
    assert.equal(mode(), '644');
    assert.equal(scene.read('tool').includes('agent'), true);
    await scene.changes.settleTurn('t2', 'undo');
    assert.deepEqual([mode(), scene.read('tool'), shown()], ['644', `${numbered(9)}user\n`, []]);

    await scene.turn('t3', toRun);
    await scene.changes.settle(scene.path('tool'), 'keep');
    assert.deepEqual([mode(), shown()], ['755', []]);
    await scene.turn('t4', () => {
      chmodSync(scene.path('tool'), 0o600);
      toRun();
    });
    assert.deepEqual([shown(), scene.changes.turnFiles('t4')?.files], [[], []]);
  }),
);

test(
  'a file that became a folder and a folder that became a file are undone at once, all and of one prompt',
  inScene(async (scene) => {
    for (const undo of [() => scene.changes.settleAll('undo'), () => scene.changes.settleTurn('t', 'undo')]) {
      scene.write({ becomes: 'a file\n', 'tree/leaf': 'in a folder\n' });
      await scene.turn('t', () => {
        for (const name of ['becomes', 'tree']) rmSync(scene.path(name), { recursive: true });
        scene.write({ 'becomes/made': 'other words\n', tree: 'and others again\n' });
      });
      await undo();
      assert.deepEqual([scene.read('becomes'), scene.read('tree/leaf'), scene.names], ['a file\n', 'in a folder\n', []]);
      await scene.changes.settleAll('keep');
    }
  }),
);

/** The window is closed now, and opened again later. */
async function reopenLater(scene: Scene, later = 0): Promise<void> {
  const file = path.join(scene.state, 's.json');
  const at = statSync(file).mtimeMs / 1000 - later;
  utimesSync(file, at, at);
  scene.reload();
  await scene.changes.load();
}

test(
  'what a turn had changed when the window was closed in its middle is listed by the next one, and undone; what the user saved is not',
  inScene(async (scene) => {
    scene.write({ '.gitignore': '*.log\n', a: numbered(9), b: 'b\n', gone: 'gone\n', mine: 'mine\n', 'old.log': 'old\n', seen: 'seen\n' });
    const before = listed(scene.root);
    await scene.changes.startTurn('t');
    scene.write({ seen: 'seen by a look\n' });
    await scene.changes.look();
    scene.write({ mine: 'saved by the user\n' });
    await scene.changes.userSaved(scene.path('mine'));
    rmSync(scene.path('gone'));
    scene.write({
      '.gitignore': 'b\n',
      a: numbered(9, (at) => (at === 4 ? 'agent' : undefined)),
      made: 'made\n',
      seen: 'seen, and changed again\n',
    });
    await reopenLater(scene);
    assert.deepEqual(scene.names, ['changed seen']);
    await scene.changes.look(undefined, true);
    // What was ignored when the turn began is left out, and what is ignored only now is not gone.
    assert.deepEqual(scene.names, ['changed .gitignore', 'changed a', 'deleted gone', 'created made', 'changed seen']);
    assert.deepEqual(review(scene, 't'), [
      '.gitignore changed open +1 -1',
      'a changed open +1 -1',
      'gone deleted open +0 -1',
      'made created open +1 -0',
      'seen changed open +1 -1',
    ]);
    assert.equal(await scene.changes.baseText(scene.path('a')), numbered(9));
    await scene.changes.settleAll('undo');
    assert.deepEqual([listed(scene.root), scene.names], [{ ...before, mine: 'saved by the user\n' }, []]);
    await reopenLater(scene);
    scene.write({ a: 'by nobody\n' });
    await scene.changes.look(undefined, true);
    assert.deepEqual(scene.names, [], 'the turn has ended');
  }),
);

test(
  'what changes long after the window was closed in the middle of a turn is the user’s, in files of the agent’s, too',
  inScene(async (scene) => {
    scene.write({ a: numbered(20), b: 'b\n', c: 'c\n' });
    await scene.changes.startTurn('t');
    scene.write({ a: numbered(20, (at) => (at === 4 ? 'agent' : undefined)) });
    await scene.changes.look();
    scene.write({ a: numbered(20, (at) => ({ 4: 'agent', 15: 'mine' })[at]), b: 'of the user\n', made: 'of the user\n' });
    rmSync(scene.path('c'));
    await reopenLater(scene, 3600);
    await scene.changes.look(undefined, true);
    assert.deepEqual(scene.names, ['changed a']);
    await scene.changes.settleAll('undo');
    assert.deepEqual(listed(scene.root), {
      a: numbered(20, (at) => (at === 15 ? 'mine' : undefined)),
      b: 'of the user\n',
      made: 'of the user\n',
    });
  }),
);

test(
  'of a turn that was cut off, folders that joined the workspace since have no changes, and files behind the end of a large folder none either',
  inScene(async (scene) => {
    const beside = path.join(scene.state, 'beside');
    mkdirSync(beside);
    writeFileSync(path.join(beside, 'x'), 'x');
    scene.reload({ ...usualLimits, files: 3 });
    scene.write({ a: 'a', b: 'b', c: 'c', d: 'd' });
    await scene.changes.startTurn('t');
    scene.write({ b: 'agent', d: 'not watched' });
    scene.others = [beside];
    scene.reload({ ...usualLimits, files: 3 });
    await scene.changes.load();
    await scene.changes.look(undefined, true);
    assert.deepEqual([scene.names, scene.changes.partial], [['changed b'], true]);
  }),
);

/** Deletes some of the files and writes others. */
function changeSome(scene: Scene, names: readonly string[], random: (below: number) => number, round: number): void {
  for (const name of names.filter(() => random(2) === 0)) {
    rmSync(scene.path(name), { force: true });
    if (random(3) > 0) scene.write({ [name]: numbered(1 + random(6), (at) => (random(2) === 0 ? `${name} ${round} ${at}` : undefined)) });
  }
}

function textsOf(scene: Scene, names: readonly string[]): readonly (string | undefined)[] {
  return names.map((name) => (existsSync(scene.path(name)) ? scene.read(name) : undefined));
}

test(
  'whenever the window is closed in the middle of a turn, the next one lists the same as without that, and undoes it',
  inScene(async (scene) => {
    const random = randomFrom(16);
    const names = ['a', 'b', 'c', 'dir/d', 'dir/e'];
    for (let round = 0; round < 60; round += 1) {
      const act = () => changeSome(scene, names, random, round);
      act();
      const all = () => textsOf(scene, names);
      const before = all();
      await scene.changes.startTurn(`t${round}`);
      act();
      if (random(2) === 0) await scene.changes.look();
      act();
      if (random(2) === 0) await reopenLater(scene);
      act();
      if (random(2) === 0) await reopenLater(scene);
      await scene.changes.look(undefined, true);
      const after = all();
      const changed = names.filter((_, at) => before[at] !== after[at]);
      const from = scene.changes.files.flatMap((file) => file.from ?? []);
      assert.deepEqual([...scene.changes.files.map(({ name }) => name), ...from].sort(), changed, `round ${round}`);
      await scene.changes.settleAll('undo');
      assert.deepEqual([all(), scene.names], [before, []], `round ${round}`);
    }
  }),
);

test(
  'files that are looked at by themselves in the middle of a turn are listed as by a scan: new, changed, gone, moved; not what is ignored or behind a link',
  inScene(async (scene) => {
    scene.write({
      '.gitignore': 'out/\n',
      'sub/.gitignore': '*.tmp\n',
      a: numbered(9),
      gone: 'gone\n',
      'dir/b': 'b\n',
      'dir/c': numbered(20),
      'out/x': 'x\n',
    });
    symlinkSync('sub', scene.path('link'));
    await scene.changes.startTurn('t');
    scene.write({
      a: numbered(9, (at) => (at === 4 ? 'agent' : undefined)),
      'new/d': 'd\n',
      'out/x': 'y\n',
      'out/y': 'y\n',
      'sub/e.tmp': 'e\n',
    });
    scene.write({
      'sub/.gitignore': '*.tmp\nlater\n',
      'sub/later': 'later\n',
      'node_modules/p': 'p\n',
      '.git/x': 'x\n',
      'sub/f': 'f\n',
      away: numbered(20),
    });
    rmSync(scene.path('gone'));
    rmSync(scene.path('dir'), { recursive: true });
    const told = [
      'a',
      'gone',
      'dir',
      'new',
      'new/d',
      'out/x',
      'out/y',
      'sub/e.tmp',
      'sub/later',
      'node_modules/p',
      '.git/x',
      'sub/f',
      'link/f',
      'away',
    ];
    assert.equal(await scene.changes.lookAt([...told.map((name) => scene.path(name)), path.join(scene.state, 'elsewhere')]), true);
    const found = ['changed a', 'changed away', 'deleted dir/b', 'deleted gone', 'created new/d', 'created sub/f'];
    assert.deepEqual(scene.names, found);
    assert.equal(scene.changes.files.find(({ name }) => name === 'away')?.from, 'dir/c');
    await scene.changes.look(undefined, true);
    assert.deepEqual(scene.names, [...found, 'changed sub/.gitignore'].toSorted(byName));
    assert.equal(await scene.changes.lookAt([scene.path('a')]), true);
    scene.write({ a: 'after the turn\n' });
    await scene.changes.lookAt([scene.path('a')]);
    await scene.changes.settleAll('undo').catch(() => {});
    assert.equal(existsSync(scene.path('gone')), true);
  }),
);

const byName = (one: string, other: string): number => ((one.split(' ')[1] ?? '') < (other.split(' ')[1] ?? '') ? -1 : 1);

test(
  'of very many files none is looked at by itself, and one written again and again counts from before the first time',
  inScene(async (scene) => {
    scene.write({ a: 'one\n' });
    await scene.changes.startTurn('t');
    const many = Array.from({ length: 300 }, (_, at) => `many/${at}`);
    scene.write(Object.fromEntries(many.map((name) => [name, name])));
    assert.equal(await scene.changes.lookAt(many.map((name) => scene.path(name))), false);
    assert.deepEqual(scene.names, []);
    for (const text of ['two\n', '', 'three\n']) {
      scene.write({ a: text });
      await scene.changes.lookAt([scene.path('a')]);
    }
    assert.deepEqual(review(scene, 't'), ['a changed open +1 -1']);
    scene.write({ a: 'one\n' });
    await scene.changes.lookAt([scene.path('a')]);
    assert.deepEqual(scene.names, []);
  }),
);

test(
  'whatever is looked at by itself on the way, a turn lists the same in the end, and undoes it',
  inScene(async (scene) => {
    const random = randomFrom(17);
    const names = ['a', 'b', 'c', 'dir/d', 'dir/e'];
    for (let round = 0; round < 60; round += 1) {
      const act = () => changeSome(scene, names, random, round);
      const all = () => textsOf(scene, names);
      act();
      const before = all();
      await scene.changes.startTurn(`t${round}`);
      for (let step = 0; step < 3; step += 1) {
        act();
        await scene.changes.lookAt(names.filter(() => random(2) === 0).map((name) => scene.path(name)));
      }
      await scene.changes.look(undefined, true);
      const after = all();
      const changed = names.filter((_, at) => before[at] !== after[at]);
      const from = scene.changes.files.flatMap((file) => file.from ?? []);
      assert.deepEqual([...new Set([...scene.changes.files.map(({ name }) => name), ...from])].sort(), changed, `round ${round}`);
      await scene.changes.settleAll('undo');
      assert.deepEqual([all(), scene.names], [before, []], `round ${round}`);
    }
  }),
);

/** One text in several encodings, with what else a file can hold; null: no file. */
const inForms = (text: string): Readonly<Record<string, Buffer | null>> => ({
  none: null,
  plain: Buffer.from(text),
  marked: Buffer.from(`\ufeff${text}`),
  latin: Buffer.from(text, 'latin1'),
  wide: Buffer.from(`\ufeff${text}`, 'utf16le'),
  wideBig: Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
  binary: Buffer.from([0, 1, 2, 255, 254, 0, ...Buffer.from(text)]),
  large: Buffer.from(text.repeat(40)),
});
const isTextForm = (form: string): boolean => ['none', 'plain', 'marked'].includes(form);

interface FormScene {
  readonly scene: Scene;
  readonly file: string;
  readonly before: string;
  readonly after: string;
  /** Both sides are text. */
  readonly isText: boolean;
  readonly was: Buffer | null;
  /** What the agent has left. */
  readonly left: Buffer | null;
  readonly now: () => Buffer | null;
  readonly put: (bytes: Buffer | null) => void;
}

/** For each form before an agent's change with each after it, all in one turn. */
function inEachChangeOfForm(run: (of: FormScene) => Promise<void>): () => Promise<void> {
  return inScene(async (scene) => {
    scene.reload({ ...usualLimits, fileBytes: 5000 });
    const forms = Object.keys(inForms(''));
    const all = forms.flatMap((before) => forms.map((after) => ({ before, after })));
    const chosen = all.filter(({ before, after }) => before !== 'none' || after !== 'none');
    const files = chosen.map(({ before, after }): FormScene => {
      const file = scene.path(`${before} to ${after}.txt`);
      const line = (at: number) => `${before} ${after} ${at} ä`;
      return {
        scene,
        file,
        before,
        after,
        isText: isTextForm(before) && isTextForm(after),
        was: inForms(numbered(20, line))[before] ?? null,
        left: inForms(numbered(20, (at) => (at === 3 ? 'ß' : line(at))))[after] ?? null,
        now: () => (existsSync(file) ? readFileSync(file) : null),
        put: (bytes) => (bytes === null ? rmSync(file, { force: true }) : writeFileSync(file, bytes)),
      };
    });
    for (const { put, was } of files) put(was);
    await scene.turn('t', () => {
      for (const { put, left } of files) put(left);
    });
    for (const one of files) await run(one);
  });
}

test(
  'whatever a file was and became, undoing it brings its old bytes back, exactly, and keeping it leaves it as it is',
  inEachChangeOfForm(async ({ scene, file, before, after, isText, was, left, now }) => {
    assert.equal((await scene.changes.segments(file)) !== undefined, isText, file);
    const undone = await scene.changes.settle(file, 'undo').then(
      () => true,
      () => false,
    );
    // A file that is too large to be kept is not taken away: nothing could bring it back.
    assert.equal(undone, before !== 'large' && !(before === 'none' && after === 'large'), file);
    assert.deepEqual(now(), undone ? was : left, file);
    // What was too large is not kept.
    if (after === 'large') return;
    if (undone) await scene.changes.undoRestore();
    await scene.changes.settle(file, 'keep');
    assert.deepEqual(now(), left, file);
  }),
);

for (const isSaved of [true, false])
  test(
    `of what is no text, nothing is undone once somebody else has written the file${isSaved ? ', and saved it in the editor' : ''}`,
    inEachChangeOfForm(async ({ scene, file, isText, now, put }) => {
      // Where both sides are text, the two are merged.
      if (isText) return;
      for (const others of [Buffer.from('others\n'), Buffer.from('größer\n', 'latin1')]) {
        put(others);
        if (isSaved) await scene.changes.userSaved(file);
        await scene.changes.settle(file, 'undo').catch(() => {});
        await scene.changes.settleTurn('t', 'undo', file).catch(() => {});
        assert.deepEqual(now(), others, file);
      }
    }),
  );

test(
  'the editor shows bytes that are no text as one: that is never written, and nothing is said to be undone',
  inEachChangeOfForm(async ({ scene, file, isText, left, now }) => {
    if (left === null || isText) return;
    for (const isTyped of [true, false]) {
      if (isTyped) scene.effects.typeText = async (_, text) => void scene.unsaved.set(file, text);
      else delete scene.effects.typeText;
      const shown: string = `${left.toString()}typed`;
      scene.unsaved.set(file, shown);
      assert.equal(await scene.changes.segments(file), undefined, file);
      await assert.rejects(scene.changes.settle(file, 'undo'), file);
      await assert.rejects(scene.changes.settleTurn('t', 'undo', file), file);
      assert.deepEqual([now(), scene.unsaved.get(file)], [left, shown], file);
    }
  }),
);

test(
  'a later prompt has made a text another encoding: the earlier prompt alone cannot be undone, the later one and both can, exactly',
  inScene(async (scene) => {
    const [old, first] = [numbered(20, (at) => `Zeile ${at} ä`), numbered(20, (at) => `Zeile ${at === 3 ? 'neu' : at} ä`)];
    const second = Buffer.from(first.replace('Zeile 9', 'Zeile neun'), 'latin1');
    const now = () => readFileSync(scene.path('a.txt'));
    scene.write({ 'a.txt': old, 'from.txt': old });
    await scene.turn('one', () => {
      scene.write({ 'a.txt': first });
      renameSync(scene.path('from.txt'), scene.path('to.txt'));
    });
    await scene.turn('two', () => scene.write({ 'a.txt': second, 'to.txt': second }));
    for (const name of ['a.txt', 'to.txt']) await assert.rejects(scene.changes.settleTurn('one', 'undo', scene.path(name)));
    assert.deepEqual([now(), readFileSync(scene.path('to.txt')), existsSync(scene.path('from.txt'))], [second, second, false]);
    await scene.changes.settleTurn('two', 'undo', scene.path('a.txt'));
    assert.equal(scene.read('a.txt'), first);
    await scene.changes.undoRestore();
    assert.deepEqual(now(), second);
    await scene.changes.settleAll('undo');
    assert.deepEqual([scene.read('a.txt'), scene.read('from.txt'), existsSync(scene.path('to.txt'))], [old, old, false]);
  }),
);

test(
  'what the user has written into a text stays refused to an undo once the agent has made that another encoding',
  inScene(async (scene) => {
    scene.write({ 'a.txt': numbered(20, (at) => `Zeile ${at} ä`) });
    await scene.turn('one', () => scene.write({ 'a.txt': numbered(20, (at) => (at === 3 ? 'agents ä' : `Zeile ${at} ä`)) }));
    scene.write({ 'a.txt': scene.read('a.txt').replace('agents ä', 'agents and mine ä') });
    await scene.changes.userSaved(scene.path('a.txt'));
    const left = Buffer.from(scene.read('a.txt').replace('Zeile 9', 'neun'), 'latin1');
    await scene.turn('two', () => scene.write({ 'a.txt': left }));
    await assert.rejects(scene.changes.settle(scene.path('a.txt'), 'undo'));
    assert.deepEqual(readFileSync(scene.path('a.txt')), left);
    await scene.changes.settleTurn('two', 'undo', scene.path('a.txt'));
    assert.match(scene.read('a.txt'), /agents and mine ä/);
    await assert.rejects(scene.changes.settle(scene.path('a.txt'), 'undo'), /same lines/);
  }),
);

test(
  'a prompt with a side that is no text is not said to have written all lines of the other',
  inScene(async (scene) => {
    const rows = (change: (at: number) => string | undefined) => numbered(30, change);
    scene.write({ 'a.txt': Buffer.from('größer\n', 'latin1') });
    await scene.turn('one', () => scene.write({ 'a.txt': rows(() => undefined) }));
    await scene.turn('two', () => scene.write({ 'a.txt': rows((at) => (at === 3 || at === 20 ? 'agent' : undefined)) }));
    const wrote = await scene.changes.wroteIn(scene.path('a.txt'));
    assert.deepEqual(
      wrote.map(({ hunk }) => hunk.after),
      [['agent'], ['agent']],
    );
  }),
);

/** 300 files, and an agent that rewrites them. */
const many = Array.from({ length: 300 }, (_, at) => `d${at % 7}/f${at}`);
const inAll = (text: string) => Object.fromEntries(many.map((name) => [name, `${name}\n${text}\n`]));

test(
  'a look through many files lists them bit by bit, and a window that is closed in the middle of it loses none',
  inScene(async (scene) => {
    scene.write(inAll('before'));
    await scene.changes.startTurn('t');
    scene.write(inAll('agent'));
    const counts: number[] = [];
    let kept: Buffer | undefined;
    scene.changes.onChange(() => {
      counts.push(scene.changes.files.length);
      kept ??= readFileSync(path.join(scene.state, 's.json'));
    });
    await scene.changes.look(undefined, true);
    assert.deepEqual([counts.at(-1), counts.every((count, at) => count > (counts[at - 1] ?? 0) || count === many.length)], [300, true]);
    assert.ok((counts[0] ?? 0) < 100 && counts.length < 10, String(counts));
    assert.ok(kept);
    writeFileSync(path.join(scene.state, 's.json'), kept);
    await scene.reload().load();
    await scene.changes.look(undefined, true);
    assert.equal(scene.names.length, 300);
    await scene.changes.settleAll('undo');
    assert.ok(many.every((name) => scene.read(name) === inAll('before')[name]));
  }),
);

test(
  'what a prompt did is undone while it is still looked at and the next prompt is sent: nothing of it is left, and it is told as it goes',
  inScene(async (scene) => {
    scene.write(inAll('before'));
    await scene.changes.startTurn('t');
    scene.write(inAll('agent'));
    const look = scene.changes.look(undefined, true);
    const undo = scene.changes.settleTurn('t', 'undo');
    const next = scene.changes.startTurn('u');
    await look;
    const open: number[] = [];
    scene.changes.onChange(() => open.push(scene.changes.files.length));
    await Promise.all([undo, next]);
    // Files beside the last one of a portion may be undone by then.
    const most = [275, 250, 200, 100];
    assert.ok(
      most.every((count, at) => Number(open[at]) <= count && Number(open[at]) > count - 16),
      String(open),
    );
    assert.ok(many.every((name) => scene.read(name) === inAll('before')[name]));
    assert.deepEqual([scene.names, review(scene, 't').every((one) => one.includes(' undone'))], [[], true]);
    await scene.changes.undoRestore();
    assert.ok(many.every((name) => scene.read(name) === inAll('agent')[name]));
  }),
);

test(
  'of a prompt that is undone, a file whose text before is not known is named: it stays as it is',
  inScene(async (scene) => {
    scene.reload({ ...usualLimits, fileBytes: 10 });
    scene.write({ big: numbered(20), small: 'one\n' });
    await scene.turn('t', () => scene.write({ big: numbered(21), small: 'two\n' }));
    assert.deepEqual(review(scene, 't'), ['big changed unkept', 'small changed open +1 -1']);
    await assert.rejects(scene.changes.settleTurn('t', 'undo'), /big stays as it is/);
    assert.deepEqual([scene.read('small'), scene.read('big'), scene.names], ['one\n', numbered(21), ['changed big']]);
    await scene.changes.settleTurn('t', 'keep');
    assert.deepEqual([scene.names, review(scene, 't')], [[], ['big changed kept', 'small changed undone +1 -1']]);
  }),
);

test(
  'an agent that moves and deletes its own file has undone nothing: the move is one change, the rest says what came later',
  inScene(async (scene) => {
    const rows = (turn: string) =>
      scene.changes
        .turnFiles(turn)
        ?.files.map(({ path: file, from, change, review, later }) =>
          [from && path.basename(from), path.basename(file), change, review, later].filter(Boolean).join(' '),
        );
    await scene.turn('make', () => scene.write({ 'draft.md': numbered(20), 'other.md': 'one\n' }));
    await scene.turn('move', () => renameSync(scene.path('draft.md'), scene.path('final.md')));
    assert.deepEqual(
      [scene.names, rows('make')],
      [
        ['created final.md', 'created other.md'],
        ['draft.md created open', 'other.md created open'],
      ],
    );
    assert.deepEqual(rows('move'), ['draft.md final.md changed open']);
    await scene.turn('delete', () => rmSync(scene.path('final.md')));
    assert.deepEqual(
      [scene.names, rows('make'), rows('move'), rows('delete')],
      [
        ['created other.md'],
        ['draft.md created overtaken deleted', 'other.md created open'],
        ['draft.md final.md changed overtaken deleted'],
        ['final.md deleted overtaken'],
      ],
    );
    await scene.reload().load();
    assert.deepEqual(rows('move'), ['draft.md final.md changed overtaken deleted']);
    await assert.rejects(scene.changes.settleTurn('move', 'undo', scene.path('final.md')), /No changes/);
  }),
);

test(
  'a hunk that was undone and is back on the screen is to be reviewed before it is saved, and is not once that text is discarded',
  inScene(async (scene) => {
    const file = scene.path('a');
    const agents = (...places: readonly number[]) => numbered(30, (at) => (places.includes(at) ? `agent ${at}` : undefined));
    const state = async () => [(await scene.hunks('a')).length, scene.changes.turnFiles('t')?.files[0]?.review, scene.names];
    for (const places of [[3, 20], [3]]) {
      scene.write({ a: numbered(30) });
      await scene.turn('t', () => scene.write({ a: agents(...places) }));
      await scene.changes.settle(file, 'undo', (await scene.hunks('a')).slice(0, 1));
      const undone = await state();
      assert.equal(undone[0], places.length - 1);
      const open = [places.length, 'open', ['changed a']];
      scene.unsaved.set(file, agents(...places));
      await scene.changes.textChanged(file);
      assert.deepEqual(await state(), open);
      scene.unsaved.delete(file);
      await scene.changes.textChanged(file);
      assert.deepEqual(await state(), undone);
      scene.unsaved.set(file, agents(...places));
      await scene.changes.textChanged(file);
      scene.write({ a: agents(...places) });
      scene.unsaved.delete(file);
      await scene.changes.userSaved(file);
      assert.deepEqual(await state(), open);
      await scene.changes.settleAll('undo');
      assert.deepEqual([scene.read('a'), scene.names], [numbered(30), []]);
    }
  }),
);

test(
  'what an agent changes and changes back is replaced later; a move back is one row; a prompt that goes on is no end of it',
  inScene(async (scene) => {
    scene.write({ a: numbered(5), b: numbered(9) });
    const rows = () =>
      ['t1', 't2', 't3'].map((turn) =>
        scene.changes.turnFiles(turn)?.files.map(({ path: file, review, later }) => [path.basename(file), review, later]),
      );
    await scene.turn('t1', () => {
      scene.write({ a: numbered(6) });
      renameSync(scene.path('b'), scene.path('c'));
    });
    await scene.turn('t2', () => {
      scene.write({ a: numbered(5) });
      renameSync(scene.path('c'), scene.path('b'));
    });
    const over = (later?: string) => ['overtaken', later];
    assert.deepEqual(scene.names, []);
    assert.deepEqual(rows().slice(0, 2), [
      [
        ['a', ...over('replaced')],
        ['c', ...over('replaced')],
      ],
      [
        ['a', ...over()],
        ['b', ...over()],
      ],
    ]);
    await scene.changes.startTurn('t3');
    scene.write({ a: numbered(7) });
    await scene.changes.look();
    scene.write({ a: numbered(5) });
    await scene.changes.look();
    scene.write({ a: numbered(8) });
    await scene.changes.look(undefined, true);
    assert.deepEqual([scene.names, rows()[2], rows()[0]?.[0]], [['changed a'], [['a', 'open', undefined]], ['a', ...over('replaced')]]);
  }),
);

test(
  'a prompt that takes away an earlier one’s file and makes it again leaves that one open',
  inScene(async (scene) => {
    await scene.turn('t1', () => scene.write({ a: numbered(5) }));
    await scene.changes.startTurn('t2');
    rmSync(scene.path('a'));
    await scene.changes.look();
    scene.write({ a: numbered(5) });
    await scene.changes.look(undefined, true);
    assert.deepEqual(
      [scene.names, scene.changes.turnFiles('t1')?.files[0]?.review, scene.changes.turnFiles('t2')?.files],
      [['created a'], 'open', []],
    );
  }),
);

test(
  'what a restore puts back of an agent’s is to be reviewed again, and bringing back leaves no burst',
  inScene(async (scene) => {
    scene.write({ keep: numbered(9), moved: numbered(30) });
    const reviews = () =>
      ['t1', 't2', 't3'].map((turn) =>
        scene.changes.turnFiles(turn)?.files.map(({ path: file, review }) => `${path.basename(file)} ${review}`),
      );
    await scene.turn('t1', () => {
      scene.write({ 'draft.md': numbered(20), 'gone.md': 'one\n', keep: numbered(8) });
      renameSync(scene.path('moved'), scene.path('there'));
    });
    await scene.turn('t2', () => {
      renameSync(scene.path('draft.md'), scene.path('final.md'));
      renameSync(scene.path('there'), scene.path('further'));
      rmSync(scene.path('gone.md'));
      scene.write({ keep: numbered(9) });
    });
    await scene.turn('t3', () => rmSync(scene.path('final.md')));
    const before = [scene.names, reviews()];
    for (const [turn, listed] of [
      ['t3', ['changed further', 'created final.md']],
      ['t2', ['changed keep', 'changed there', 'created draft.md', 'created gone.md']],
      ['t1', []],
    ] as const) {
      await scene.changes.restore(turn);
      assert.deepEqual(scene.names.toSorted(), listed.toSorted(), turn);
      const first = scene.changes.turnFiles('t1')?.files.map(({ review }) => review) ?? [];
      assert.ok(
        first.every((review) => review === (turn === 't1' ? 'undone' : turn === 't2' ? 'open' : review)),
        `${turn}: ${first}`,
      );
      await scene.reload().load();
      await scene.changes.undoRestore();
      assert.deepEqual([scene.names, reviews(), scene.changes.burst], [...before, 0], turn);
    }
    await scene.changes.restore('t2');
    await scene.changes.settleAll('undo');
    assert.deepEqual(
      [existsSync(scene.path('draft.md')), existsSync(scene.path('gone.md')), scene.read('moved'), scene.read('keep')],
      [false, false, numbered(30), numbered(9)],
    );
  }),
);

test(
  'a restore to before a prompt undoes what was kept of it, all or in part, and says so; bringing back is to what was kept',
  inScene(async (scene) => {
    const agents = numbered(30, (at) => (at === 5 || at === 20 ? `agent ${at}` : undefined));
    scene.write({ part: numbered(30), whole: 'whole\n', left: 'left\n' });
    await scene.turn('t', () => scene.write({ part: agents, whole: 'agent\n', made: 'made\n', left: 'agent\n' }));
    const rows = () =>
      scene.changes.turnFiles('t')?.files.map(({ path: file, review, hunks }) => [path.basename(file), review, hunks?.kept, hunks?.all]);
    const [first, second] = await scene.hunks('part');
    assert.ok(first && second);
    await scene.changes.settle(scene.path('part'), 'undo', [first]);
    await scene.changes.settleAll('keep');
    const kept = [
      ['left', 'kept', undefined, undefined],
      ['made', 'kept', undefined, undefined],
      ['part', 'kept', 1, 2],
      ['whole', 'kept', undefined, undefined],
    ];
    assert.deepEqual(rows(), kept);
    const text = scene.read('part');
    await scene.changes.restore('t', new Set(['left']));
    const undone = kept.map(([name, , count, all]) => (name === 'left' ? kept[0] : [name, 'undone', count === undefined ? count : 0, all]));
    assert.deepEqual(rows(), undone);
    assert.deepEqual([scene.read('part'), scene.read('left'), scene.names], [numbered(30), 'agent\n', []]);
    await scene.reload().load();
    assert.deepEqual(rows(), undone);
    await scene.changes.undoRestore();
    assert.deepEqual([rows(), scene.read('part'), scene.names], [kept, text, []]);
    await scene.reload().load();
    assert.deepEqual(rows(), kept);
  }),
);

test(
  'what was kept is not to be reviewed again by a restore',
  inScene(async (scene) => {
    await scene.turn('t1', () => scene.write({ a: 'one\n' }));
    await scene.changes.settleAll('keep');
    await scene.turn('t2', () => renameSync(scene.path('a'), scene.path('b')));
    await scene.changes.restore('t2');
    assert.deepEqual([scene.names, scene.read('a')], [[], 'one\n']);
    await scene.changes.undoRestore();
    assert.deepEqual([scene.names, scene.changes.burst], [['changed b'], 0]);
  }),
);

test(
  'a file that the agent has replaced by a folder comes back at once, unless something else is in that folder',
  inScene(async (scene) => {
    scene.write({ conf: 'mine\n', other: 'one\n' });
    await scene.turn('t', () => {
      rmSync(scene.path('conf'));
      scene.write({ 'conf/main.cfg': 'a\n', 'conf/deep/more.cfg': 'b\n', other: 'two\n' });
      mkdirSync(scene.path('conf/empty'));
    });
    const preview = async () =>
      (await scene.changes.preview('t'))?.files.map(({ name, how, refused }) => [name, refused ?? how].join(': '));
    const back = ['conf: create', 'conf/deep/more.cfg: delete', 'conf/main.cfg: delete', 'other: rewrite'];
    assert.deepEqual(await preview(), back);
    await scene.changes.restore('t');
    assert.deepEqual([scene.read('conf'), scene.read('other'), scene.names], ['mine\n', 'one\n', []]);
    await scene.changes.undoRestore();
    assert.deepEqual([scene.read('conf/main.cfg'), scene.read('conf/deep/more.cfg'), scene.read('other')], ['a\n', 'b\n', 'two\n']);
    scene.write({ 'conf/mine.txt': 'mine\n' });
    const folder = 'conf is a folder now. Move it away, then try again.';
    assert.deepEqual(await preview(), [...back.slice(0, 3).map((one) => `${one.split(':')[0]}: ${folder}`), 'other: rewrite']);
    await assert.rejects(scene.changes.restore('t'), /conf is a folder now/);
    assert.deepEqual([scene.read('conf/main.cfg'), scene.read('other')], ['a\n', 'two\n']);
  }),
);

test(
  'a folder that came back with a file goes with it, and one that the agent has left empty goes with a restore',
  inScene(async (scene) => {
    scene.write({ 'dir/in/a.txt': 'one\n', 'new/mine.txt': 'mine\n' });
    await scene.turn('t1', () => {
      rmSync(scene.path('dir'), { recursive: true });
      scene.write({ 'new/deep/n.txt': numbered(20) });
    });
    await scene.turn('t2', () => renameSync(scene.path('new/deep/n.txt'), scene.path('moved.txt')));
    for (const undo of [() => scene.changes.restore('t1'), () => scene.changes.settleAll('undo')]) {
      await undo();
      assert.deepEqual([existsSync(scene.path('dir/in/a.txt')), existsSync(scene.path('moved.txt'))], [true, false]);
      assert.equal(existsSync(scene.path('new/deep')), false);
      await scene.changes.undoRestore();
      assert.deepEqual([existsSync(scene.path('dir')), existsSync(scene.path('moved.txt'))], [false, true]);
    }
  }),
);

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { inScene, numbered, type Scene } from './scene.ts';

const agents = numbered(30, (at) => (at === 5 || at === 20 ? `agent ${at}` : undefined));

/** As the next window finds it. */
async function reloaded(scene: Scene): Promise<void> {
  await scene.reload().load();
  await scene.changes.prime();
}

/** Something beside the agent and the editor changes these files while no turn runs, and the disk comes to rest. */
async function outside(scene: Scene, names: readonly string[], act: () => void): Promise<void> {
  act();
  await scene.changes.changedBetween(names.map((name) => scene.path(name)));
}

/** All there is to see of the review. */
async function shown(scene: Scene) {
  const rows = ['t', 'u'].map((turn) =>
    scene.changes.turnFiles(turn)?.files.map(({ path: file, review, hunks, added, removed }) => {
      return [path.basename(file), review, hunks, added, removed];
    }),
  );
  return { files: scene.changes.files, rows, hunks: await scene.hunks('changed') };
}

const names = ['changed', 'gone', 'made', 'place', 'moved'];

/** A review of all kinds of changes. */
async function reviewed(scene: Scene): Promise<void> {
  scene.write({ changed: numbered(30), gone: 'gone\n', place: numbered(40) });
  await scene.turn('t', () => {
    scene.write({ changed: agents, made: 'made\n' });
    rmSync(scene.path('gone'));
    renameSync(scene.path('place'), scene.path('moved'));
  });
}

/** As `git stash -u` does it. */
function stash(scene: Scene): void {
  for (const name of ['changed', 'made', 'moved']) rmSync(scene.path(name));
  scene.write({ changed: numbered(30), gone: 'gone\n', place: numbered(40) });
}

function pop(scene: Scene): void {
  for (const name of ['changed', 'gone', 'place']) rmSync(scene.path(name), { force: true });
  scene.write({ changed: agents, made: 'made\n', moved: numbered(40) });
}

for (const reload of ['no reload', 'a reload while they are away', 'a reload once they are back'] as const)
  test(
    `changes that git takes away and brings back while no prompt runs are reviewed as before; ${reload}`,
    inScene(async (scene) => {
      await reviewed(scene);
      const [first] = await scene.hunks('changed');
      assert.ok(first);
      const before = await shown(scene);
      await outside(scene, names, () => stash(scene));
      assert.deepEqual(
        [scene.names, scene.changes.turnFiles('t')?.files.map(({ review }) => review)],
        [[], ['undone', 'undone', 'undone', 'undone']],
      );
      // The session does not run yet.
      if (reload === 'a reload while they are away') await scene.reload().load();
      if (reload === 'a reload once they are back') pop(scene);
      if (reload === 'a reload once they are back') await reloaded(scene);
      else await outside(scene, names, () => pop(scene));
      assert.deepEqual(await shown(scene), before);
      assert.equal(scene.changes.turnFiles('t')?.unlisted, undefined);
      // And again, by another order of the watcher’s.
      await outside(scene, names.toReversed(), () => stash(scene));
      for (const name of names) await outside(scene, [name], () => pop(scene));
      assert.deepEqual(await shown(scene), before);

      await scene.changes.settleAll('undo');
      assert.deepEqual(
        ['changed', 'gone', 'place'].map((name) => scene.read(name)),
        [numbered(30), 'gone\n', numbered(40)],
      );
    }),
  );

test(
  'changes that are back before the next prompt, or after it, are reviewed as before, half decided ones too',
  inScene(async (scene) => {
    await reviewed(scene);
    const [first] = await scene.hunks('changed');
    assert.ok(first);
    await scene.changes.settle(scene.path('changed'), 'undo', [first]);
    const half = scene.read('changed');
    const back = () => {
      pop(scene);
      scene.write({ changed: half });
    };
    const before = (await shown(scene)).files;
    await outside(scene, names, () => stash(scene));
    assert.deepEqual(
      scene.changes.turnFiles('t')?.files.map(({ review }) => review),
      ['undone', 'undone', 'undone', 'undone'],
    );
    back();
    // Nothing has told of it.
    await scene.turn('u', () => {});
    assert.deepEqual((await shown(scene)).files, before);
    await outside(scene, names, () => stash(scene));
    await scene.turn('v', () => {});
    await outside(scene, names, back);
    assert.deepEqual((await shown(scene)).files, before);
    assert.deepEqual(scene.changes.turnFiles('v'), { files: [] });
  }),
);

test(
  'a link or a folder in the place of a file decides nothing for good, nor does another branch in between',
  inScene(async (scene) => {
    await reviewed(scene);
    const before = await shown(scene);
    const reviewOf = (name: string) => scene.changes.turnFiles('t')?.files.find((one) => path.basename(one.path) === name)?.review;
    scene.write({ other: 'other\n' });
    await outside(scene, ['changed', 'made'], () => {
      for (const name of ['changed', 'made']) rmSync(scene.path(name));
      symlinkSync('other', scene.path('changed'));
      mkdirSync(scene.path('made'));
    });
    // Of the agent’s text there is nothing.
    assert.deepEqual([reviewOf('changed'), reviewOf('made')], ['undone', 'undone']);
    await reloaded(scene);
    await outside(scene, ['changed', 'made'], () => {
      for (const name of ['changed', 'made']) rmSync(scene.path(name), { recursive: true });
      scene.write({ changed: agents, made: 'made\n' });
    });
    assert.deepEqual(await shown(scene), before);
    assert.equal(readFileSync(scene.path('other'), 'utf8'), 'other\n');

    // One branch has half of it, the next none.
    for (const text of [agents.replace('agent 5', 'line 5'), 'quite another\n', agents])
      await outside(scene, ['changed'], () => scene.write({ changed: text }));
    assert.deepEqual(await shown(scene), before);
  }),
);

for (const how of ['keep', 'undo', 'restore', 'write'] as const)
  test(
    `what is decided since is not asked again: ${how}`,
    inScene(async (scene) => {
      await reviewed(scene);
      const half = agents.replace('agent 5', 'line 5');
      await outside(scene, ['changed'], () => scene.write({ changed: half }));
      await outside(scene, ['changed'], () => scene.write({ changed: `${half}user\n` }));
      if (how === 'restore') await scene.changes.restore('t');
      else if (how === 'write') await scene.turn('u', () => scene.write({ changed: `${numbered(30)}user\n` }));
      else await scene.changes.settleAll(how);
      await reloaded(scene);
      await outside(scene, ['changed'], () => scene.write({ changed: agents }));
      assert.equal(
        scene.changes.files.some((one) => path.basename(one.path) === 'changed'),
        false,
      );
    }),
  );

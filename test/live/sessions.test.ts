import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { Journal } from '../../src/live/journal/journal.ts';
import type { Profile } from '../../src/live/profiles.ts';
import { windowOn as scriptedWindow } from './scriptedWindow.ts';

const profile: Profile = { id: 'fake', name: 'Fake', protocol: 'scripted', command: 'fake', args: [], env: {}, headers: {} };
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** A window in which these agents are configured. */
function windowOn(folder: string, configured: readonly Profile[] = [profile]) {
  return scriptedWindow(folder, (id) => configured.find((one) => one.id === id));
}

function inFolder(run: (folder: string) => Promise<void>): () => Promise<void> {
  return async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'sessions-'));
    try {
      await run(folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
}

test(
  'a window closed in the middle of a turn brings the conversation back and goes on with it',
  inFolder(async (folder) => {
    const before = windowOn(folder);
    const id = before.sessions.open(profile, '/w');
    await settle();
    before.script.last().ready();
    before.script.last().say({ type: 'resume.set', key: 'k' });
    before.sessions.get(id)?.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'hello' }] });
    before.script.last().say({ type: 'text.delta', turnId: 't', kind: 'text', partId: 'p', text: 'half an ans' });
    before.sessions.dispose();

    const after = windowOn(folder);
    await after.sessions.restore();
    await settle();
    assert.equal(after.sessions.active, id);
    const turn = after.sessions.get(id)?.store.now.turns[0];
    assert.deepEqual([turn?.status, turn?.parts[0]], ['failed', { kind: 'text', id: 'p', text: 'half an ans' }]);
    assert.deepEqual(after.script.last().scene.resume, { key: 'k', history: false });
    after.script.last().ready();
    assert.equal(after.sessions.get(id)?.store.now.link.state, 'ready');
    after.sessions.dispose();
  }),
);

test(
  'of several sessions only the active one starts its agent; another starts when it is switched to',
  inFolder(async (folder) => {
    const before = windowOn(folder);
    const ids = [before.sessions.open(profile, '/w'), before.sessions.open(profile, '/w')];
    await settle();
    before.sessions.dispose();
    const after = windowOn(folder);
    await after.sessions.restore();
    await settle();
    assert.deepEqual([after.sessions.all.length, after.script.conversations.length, after.sessions.active], [2, 1, ids[1]]);
    after.sessions.switchTo(ids[0] ?? '');
    await settle();
    assert.equal(after.script.conversations.length, 2);
    after.sessions.switchTo(ids[1] ?? '');
    after.sessions.switchTo(ids[0] ?? '');
    await settle();
    assert.equal(after.script.conversations.length, 2);
    after.sessions.dispose();
  }),
);

test(
  'a copy is called so although its agent calls it like the original, also in the next window',
  inFolder(async (folder) => {
    const before = windowOn(folder);
    const id = before.sessions.open(profile, '/w', { key: 'k', title: 'Copy of Fix it', copyOf: 'Fix it' });
    await settle();
    assert.deepEqual(before.script.last().scene.resume, { key: 'k', history: true });
    before.script.last().ready();
    before.script.last().say({ type: 'title.set', title: 'Fix it' });
    before.sessions.get(id)?.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'hello' }] });
    before.sessions.dispose();
    const after = windowOn(folder);
    await after.sessions.restore();
    await settle();
    after.script.last().ready();
    after.script.last().say({ type: 'title.set', title: 'Fix it' });
    assert.equal(after.sessions.get(id)?.store.now.title, 'Copy of Fix it');
    after.script.last().say({ type: 'title.set', title: 'Fix it otherwise' });
    assert.equal(after.sessions.get(id)?.store.now.title, 'Fix it otherwise');
    after.sessions.dispose();
  }),
);

test(
  'events of every session reach the host; a closed session is removed and its agent ended',
  inFolder(async (folder) => {
    const { sessions, script } = windowOn(folder);
    const first = sessions.open(profile, '/w');
    await settle();
    const conversation = script.last();
    const second = sessions.open(profile, '/w');
    const seen: string[] = [];
    sessions.onChange((id) => seen.push(id));
    conversation.say({ type: 'title.set', title: 'in the background' });
    assert.deepEqual(seen, [first]);
    await sessions.close(second);
    assert.deepEqual([sessions.all, sessions.active], [[first], first]);
    await sessions.close(first);
    assert.equal(conversation.disposed, 1);
    sessions.dispose();
  }),
);

test(
  'a session whose agent is configured no more is left closed, not lost',
  inFolder(async (folder) => {
    const before = windowOn(folder);
    const id = before.sessions.open(profile, '/w');
    await settle();
    before.script.last().ready();
    before.sessions.get(id)?.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'hello' }] });
    before.sessions.dispose();
    const after = windowOn(folder, []);
    await after.sessions.restore();
    assert.deepEqual(after.sessions.all, []);
    assert.deepEqual(
      (await after.sessions.past('/w')).map((entry) => entry.head.id),
      [id],
    );
    assert.deepEqual(await after.sessions.past('/elsewhere'), []);
    after.sessions.dispose();
  }),
);

test(
  'a session whose agent comes into the settings late comes back then; a reload before that loses nothing',
  inFolder(async (folder) => {
    const other: Profile = { ...profile, id: 'other' };
    const before = windowOn(folder, [profile, other]);
    const ids = [before.sessions.open(profile, '/w'), before.sessions.open(other, '/w')];
    before.sessions.dispose();

    const hasty = windowOn(folder, [profile]);
    await hasty.sessions.restore();
    assert.deepEqual(hasty.sessions.all, [ids[0]]);
    hasty.sessions.dispose();

    const configured = [profile];
    const after = windowOn(folder, configured);
    await after.sessions.restore();
    assert.equal(await after.sessions.restoreAwaited(), undefined);
    configured.push(other);
    await after.sessions.restoreAwaited();
    assert.deepEqual(after.sessions.all, ids);
    after.sessions.dispose();
  }),
);

test(
  'a window that is closed while its sessions are being brought back loses none of them',
  inFolder(async (folder) => {
    const before = windowOn(folder);
    const ids = [before.sessions.open(profile, '/w'), before.sessions.open(profile, '/w'), before.sessions.open(profile, '/w')];
    before.sessions.switchTo(ids[1] ?? '');
    before.sessions.dispose();
    const hasty = windowOn(folder);
    const first = new Promise<void>((resolve) => hasty.sessions.onSessions(resolve));
    const restoring = hasty.sessions.restore();
    await first;
    assert.ok(hasty.sessions.all.length < ids.length);
    // What the next window finds when this one is gone now.
    const written = new Journal(folder, silentLog).readOpen('w');
    assert.deepEqual([[...written.ids].sort(), written.active], [[...ids].sort(), ids[1]]);
    await restoring;
    hasty.sessions.dispose();
  }),
);

test(
  'two windows on one folder: the second is told what is open in the first, and gets it when that one is closed',
  inFolder(async (folder) => {
    const first = windowOn(folder);
    const id = first.sessions.open(profile, '/w');
    await settle();
    first.script.last().ready();
    first.sessions.get(id)?.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'hello' }] });
    first.script.last().endTurn();

    const second = windowOn(folder);
    assert.deepEqual(await second.sessions.restore(), [id]);
    assert.deepEqual([second.sessions.all, await second.sessions.reopen(id)], [[], 'elsewhere']);
    const own = second.sessions.open(profile, '/w');
    first.sessions.dispose();
    assert.equal(await second.sessions.reopen(id), 'open');
    assert.equal(second.sessions.get(id)?.store.now.turns[0]?.status, 'done');
    second.sessions.dispose();

    const third = windowOn(folder);
    await third.sessions.restore();
    assert.deepEqual([...third.sessions.all].sort(), [id, own].sort(), 'neither window has lost the other its sessions');
    third.sessions.dispose();
  }),
);

test(
  'a window that found its active session held by another one says when it is back, and not of one that was not active',
  inFolder(async (folder) => {
    const before = windowOn(folder);
    const ids = [before.sessions.open(profile, '/w'), before.sessions.open(profile, '/w')];
    await settle();
    for (const id of ids) before.sessions.get(id)?.send({ type: 'prompt', turnId: `t-${id}`, content: [{ type: 'text', text: 'hello' }] });
    const after = windowOn(folder);
    let returned = (_: string) => {};
    const back = new Promise<string>((resolve) => (returned = resolve));
    assert.deepEqual(await after.sessions.restore((id) => returned(id)), ids);
    // The look for what was released keeps no process alive.
    const alive = setInterval(() => {}, 1000);
    before.sessions.dispose();
    assert.equal(await back, ids[1]);
    clearInterval(alive);
    assert.deepEqual([...after.sessions.all].sort(), [...ids].sort());
    after.sessions.dispose();
  }),
);

test(
  'a prompt that is prepared before it is sent is one line in the journal, and is kept when the window closes first',
  inFolder(async (folder) => {
    const window = windowOn(folder);
    const work: (() => void)[] = [];
    window.sessions.holdPrompts(() => new Promise((resolve) => work.push(resolve)));
    const id = window.sessions.open(profile, '/w');
    await settle();
    window.script.last().ready();
    const lines = () => readFileSync(path.join(folder, `${id}.journal`), 'utf8').split('\n');
    const naming = (words: string) => lines().flatMap((line) => (line.includes(words) ? (/"type":"([^"]+)"/.exec(line)?.[1] ?? '') : []));
    const prompt = (turnId: string) => window.sessions.get(id)?.send({ type: 'prompt', turnId, content: [{ type: 'text', text: turnId }] });
    prompt('first');
    work.shift()?.();
    await settle();
    assert.deepEqual(naming('"text":"first"'), ['turn.started']);
    window.script.last().endTurn();
    prompt('second');
    window.sessions.dispose();
    assert.deepEqual(naming('"text":"second"'), ['queue.set']);
    const read = await new Journal(folder, silentLog).read(id);
    assert.deepEqual(
      read?.session.queue.map((one) => one.turnId),
      ['second'],
    );
  }),
);

test(
  'what a listener of an event brings about stands behind it in the journal',
  inFolder(async (folder) => {
    const window = windowOn(folder);
    const id = window.sessions.open(profile, '/w');
    await settle();
    window.script.last().ready();
    const live = window.sessions.get(id);
    window.sessions.onChange((_, { event }) => {
      if (event.type === 'turn.ended' && event.turnId === 'a')
        live?.send({ type: 'prompt', turnId: 'b', content: [{ type: 'text', text: 'more' }] });
    });
    live?.send({ type: 'prompt', turnId: 'a', content: [{ type: 'text', text: 'hello' }] });
    window.script.last().endTurn();
    window.sessions.dispose();
    const read = await new Journal(folder, silentLog).read(id);
    assert.deepEqual(
      read?.session.turns.map((turn) => [turn.id, turn.status]),
      [
        ['a', 'done'],
        ['b', 'failed'],
      ],
    );
  }),
);

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
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
    before.script.last().say({ type: 'text.grew', turnId: 't', kind: 'text', partId: 'p', text: 'half an ans' });
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
  'events of every session reach the desk; a closed session is taken off it and its agent ended',
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

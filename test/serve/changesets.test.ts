import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { ChangesetState } from '../../src/protocols/ahp/state.ts';
import { changedTextPlace, changedTextUri } from '../../src/serve/addresses.ts';
import { AhpClient } from './ahpClient.ts';
import { hostFolder, hosting } from './hosting.ts';

const SESSION = 'fake:/0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';
const CHAT = 'ahp-chat:/0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';
const CHANGES = `${SESSION}/changeset/session`;
const OF_TURN = `${SESSION}/changeset/turn/t1`;

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

function serving(t: TestContext, folder: string) {
  let count = 0;
  const served = hosting(
    folder,
    () => 1000,
    () => {
      count += 1;
      return `id-${count}`;
    },
  );
  served.sessions.holdPrompts((id, turnId) => served.changeSets.beforePrompt(id, turnId));
  t.after(served.end);
  return served;
}

/** A session whose agent has changed one file, made another and deleted a third in its only turn. */
async function changed(t: TestContext) {
  const folder = hostFolder();
  const root = path.join(folder, 'work');
  const file = (name: string) => path.join(root, name);
  mkdirSync(root);
  writeFileSync(file('changed.txt'), 'one\r\ntwo\r\nthree\r\n');
  writeFileSync(file('deleted.txt'), 'gone\n');
  writeFileSync(file('untouched.txt'), 'secret\n');
  const served = serving(t, folder);
  const client = new AhpClient(served.host);
  await client.open();
  await client.ask('createSession', { channel: SESSION, provider: 'fake', workingDirectories: [pathToFileURL(root).href] });
  for (const channel of [SESSION, CHAT, CHANGES]) await client.subscribe(channel);
  const turn = { turnId: 't1', startedAt: '2026-01-01T00:00:00Z', message: { text: 'Do it', origin: { kind: 'user' } } };
  await client.dispatch(CHAT, { type: 'chat/turnStarted', ...turn });
  await until(() => served.conversations.length > 0);
  served.last().ready();
  await until(() => served.last().prompts().length > 0);
  writeFileSync(file('changed.txt'), 'one\r\n2\r\nthree\r\n');
  writeFileSync(file('created.txt'), 'new\n');
  rmSync(file('deleted.txt'));
  served.last().endTurn();
  const files = (of = client, channel = CHANGES) => of.changesets.get(channel)?.files ?? [];
  await until(() => files().length === 3);
  const read = async (uri = '') => ((await client.ask('resourceRead', { uri })) as { data: string }).data;
  const invoke = (operationId: string, target?: string, channel = CHANGES) =>
    client.ask('invokeChangesetOperation', {
      channel,
      operationId,
      ...(target === undefined ? {} : { target: { kind: 'resource', resource: target } }),
    });
  return {
    ...served,
    folder,
    root,
    file,
    uri: (name: string) => pathToFileURL(file(name)).href,
    client,
    files,
    read,
    invoke,
    prompts: () => served.last().prompts().length,
  };
}

const shown = (state: ChangesetState | undefined) =>
  state?.files.map(({ id, edit, reviewed }) => [
    id.split('/').at(-1),
    `${edit.before ? 'before' : ''} ${edit.after ? 'after' : ''}`.trim(),
    edit.diff.added,
    edit.diff.removed,
    ...(reviewed ? ['reviewed'] : []),
  ]);

test('what the agent has changed is a channel of the session and one of the turn, with both texts of each file', async (t) => {
  const { client, files, read } = await changed(t);
  const expected = [
    ['changed.txt', 'before after', 1, 1],
    ['created.txt', 'after', 1, 0],
    ['deleted.txt', 'before', 0, 1],
  ];
  assert.deepEqual(shown(client.changesets.get(CHANGES)), expected);
  await client.subscribe(OF_TURN);
  assert.deepEqual(shown(client.changesets.get(OF_TURN)), expected);
  for (const channel of [CHANGES, OF_TURN]) {
    const [edit] = files(client, channel).map((one) => one.edit);
    assert.equal(await read(edit?.before?.content.uri), 'one\r\ntwo\r\nthree\r\n');
    assert.equal(await read(edit?.after?.content.uri), 'one\r\n2\r\nthree\r\n');
  }
  assert.deepEqual(
    client.sessions.get(SESSION)?.changesets?.map(({ changeKind, uriTemplate }) => [changeKind, uriTemplate]),
    [
      ['session', CHANGES],
      ['turn', `${SESSION}/changeset/turn/{turnId}`],
    ],
  );
});

test('a prompt that the agent can take at once is in no queue, and one line of the journal names it', async (t) => {
  const { client, folder, sessions, last, prompts } = await changed(t);
  // Of a computer that is busy: the prompt stays out of the queue however long this takes.
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turn = { turnId: 't2', startedAt: '2026-01-01T00:00:00Z', message: { text: 'A second thing', origin: { kind: 'user' } } };
  await client.dispatch(CHAT, { type: 'chat/turnStarted', ...turn });
  await until(() => prompts() === 2);
  last().endTurn();
  const [id = ''] = sessions.all;
  const lines = readFileSync(path.join(folder, 'sessions', `${id}.journal`), 'utf8').split('\n');
  assert.deepEqual(
    lines.flatMap((line) => (line.includes('"text":"A second thing"') ? (/"type":"([^"]+)"/.exec(line)?.[1] ?? []) : [])),
    ['turn.started'],
  );
});

test('Undo takes back one file, or what is left; Keep takes files off the list; each other client sees it', async (t) => {
  const { client, host, file, uri, files, invoke } = await changed(t);
  const other = new AhpClient(host);
  await other.open('window-2');
  await other.subscribe(CHANGES);
  await invoke('undo', uri('changed.txt'));
  assert.equal(readFileSync(file('changed.txt'), 'utf8'), 'one\r\ntwo\r\nthree\r\n');
  await until(() => files(other).length === 2);
  await invoke('keep', uri('created.txt'));
  await until(() => files(other).length === 1);
  await invoke('undo');
  await until(() => files(other).length === 0);
  assert.equal(readFileSync(file('deleted.txt'), 'utf8'), 'gone\n');
  assert.equal(readFileSync(file('created.txt'), 'utf8'), 'new\n');
  await until(() => files().length === 0);
  assert.deepEqual(
    client.changesets.get(CHANGES)?.operations.map(({ id, status }) => [id, status]),
    [
      ['keep', 'disabled'],
      ['undo', 'disabled'],
    ],
  );
});

test('Undo of a turn leaves what was written since', async (t) => {
  const { client, file, uri, invoke } = await changed(t);
  await client.subscribe(OF_TURN);
  writeFileSync(file('changed.txt'), 'one\r\n2\r\nthree\r\nmine\r\n');
  await invoke('undo', uri('changed.txt'), OF_TURN);
  assert.equal(readFileSync(file('changed.txt'), 'utf8'), 'one\r\ntwo\r\nthree\r\nmine\r\n');
});

test('a file that was moved has its old place before and its new one after', async (t) => {
  const { client, file, uri, files, last, prompts } = await changed(t);
  const turn = { turnId: 't2', startedAt: '2026-01-01T00:00:00Z', message: { text: 'Move it', origin: { kind: 'user' } } };
  await client.dispatch(CHAT, { type: 'chat/turnStarted', ...turn });
  await until(() => prompts() > 1);
  renameSync(file('untouched.txt'), file('moved.txt'));
  last().endTurn();
  await until(() => files().some(({ id }) => id === uri('moved.txt')));
  const edit = files().find(({ id }) => id === uri('moved.txt'))?.edit;
  assert.deepEqual([edit?.before?.uri, edit?.after?.uri], [uri('untouched.txt'), uri('moved.txt')]);
});

test('files are marked as reviewed for all clients, and what waits for review is there after a restart', async (t) => {
  const { client, folder, host, uri, files, end } = await changed(t);
  const other = new AhpClient(host);
  await other.open('window-2');
  await other.subscribe(CHANGES);
  await client.dispatch(CHANGES, { type: 'changeset/filesReviewChanged', files: [uri('created.txt')], reviewed: true });
  await until(() => files(other).some(({ reviewed }) => reviewed));
  const marks = (reviewed: boolean) => ({ type: 'changeset/filesReviewChanged', files: [uri('created.txt')], reviewed });
  await client.dispatch(CHANGES, marks(false));
  await client.dispatch(CHANGES, marks(true));
  await until(() => other.envelopes.filter(({ channel }) => channel === CHANGES).length >= 3);
  // What the review has to say of it is in this answer.
  await other.subscribe(CHANGES);
  const told = other.envelopes.filter(({ channel }) => channel === CHANGES).map(({ action }) => action);
  assert.deepEqual(told, [marks(true), marks(false), marks(true)], 'each mark is told once');
  const before = shown(other.changesets.get(CHANGES));
  await end();
  const again = serving(t, folder);
  await again.host.restore();
  const back = new AhpClient(again.host);
  await back.open();
  await back.subscribe(CHAT);
  await back.subscribe(CHANGES);
  assert.deepEqual(shown(back.changesets.get(CHANGES)), before);
  await back.ask('invokeChangesetOperation', { channel: CHANGES, operationId: 'undo' });
  await until(() => files(back).length === 0);
  assert.ok(!existsSync(path.join(folder, 'work', 'created.txt')));
});

test('attack: nothing else can be read, taken back or marked through a changeset', async (t) => {
  const { client, file, uri, root, files, invoke } = await changed(t);
  await client.subscribe(OF_TURN);
  const known = changedTextPlace(files()[0]?.edit.before?.content.uri ?? '');
  assert.ok(known);
  for (const place of [file('untouched.txt'), '/etc/passwd', path.join(root, '..', 'sessions')])
    for (const one of [known, { ...known, turnId: 't1' }, { ...known, side: 'after' as const }])
      await assert.rejects(client.ask('resourceRead', { uri: changedTextUri({ ...one, file: place }) }), /-32008/, place);
  for (const target of [uri('untouched.txt'), 'file:///etc/passwd', 'https://host/x', `${uri('x')}/../../y`])
    await assert.rejects(invoke('undo', target), /-326/, target);
  await assert.rejects(invoke('delete'), /-32602/);
  await assert.rejects(invoke('undo', undefined, SESSION), /-32602/);
  await assert.rejects(client.subscribe(`${SESSION}/changeset/turn/t2`), /-32008/);
  await assert.rejects(client.subscribe(`${SESSION}/changeset/other`), /-32001/);
  await assert.rejects(client.subscribe('fake:/none/changeset/session'), /-32001/);
  const refused = client.refusals.length;
  await client.dispatch(OF_TURN, { type: 'changeset/filesReviewChanged', files: [uri('created.txt')], reviewed: true });
  await client.dispatch(CHANGES, { type: 'changeset/cleared' });
  await client.dispatch(CHANGES, { type: 'changeset/filesReviewChanged', files: 'all', reviewed: true });
  assert.equal(client.refusals.length, refused + 3);
  assert.equal(files().length, 3);
  assert.equal(readFileSync(file('changed.txt'), 'utf8'), 'one\r\n2\r\nthree\r\n');
});

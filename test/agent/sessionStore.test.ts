import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs, { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { deleteSession, lastSession, SessionStore, sessionsOf } from '../../src/agent/sessionStore.ts';
import { holdFiles } from '../fakes/heldFiles.ts';

const said = (text: string) => ({ type: 'added', message: { role: 'user', parts: [{ type: 'text', text }] } }) as const;

test('what could not be stored for a while is stored, in order, once the disk allows it', () => {
  const home = mkdtempSync(path.join(tmpdir(), 'store-'));
  try {
    const inTheWay = path.join(home, 'sessions');
    writeFileSync(inTheWay, '');
    const store = new SessionStore(home, '/w', 's');
    store.keep(said('one'));
    store.keep(said('two'));
    rmSync(inTheWay);
    store.keep(said('three'));
    store.flush();
    assert.deepEqual(
      new SessionStore(home, '/w', 's').readMessages().map((message) => (message.role === 'user' ? message.parts : [])),
      [[{ type: 'text', text: 'one' }], [{ type: 'text', text: 'two' }], [{ type: 'text', text: 'three' }]],
    );
  } finally {
    rmSync(home, { recursive: true });
  }
});

const textsOf = (store: SessionStore) => store.readMessages().flatMap((one) => (one.role === 'user' ? one.parts : []));

test('a folder is one, in whatever case its path is written where the system folds case', () => {
  const home = mkdtempSync(path.join(tmpdir(), 'store-'));
  try {
    new SessionStore(home, 'Z:\\Work\\App', 'one', 'win32').keep(said('hello'));
    for (const cwd of ['z:\\Work\\App', 'Z:\\WORK\\app\\', 'z:/work/App']) {
      assert.deepEqual(textsOf(new SessionStore(home, cwd, 'one', 'win32')), [{ type: 'text', text: 'hello' }], cwd);
      assert.deepEqual(
        sessionsOf(home, cwd, 'win32').map(({ id }) => id),
        ['one'],
        cwd,
      );
    }
    new SessionStore(home, '/Users/me/App', 'two', 'darwin').keep(said('hi'));
    assert.deepEqual(
      sessionsOf(home, '/users/Me/app', 'darwin').map(({ id }) => id),
      ['two'],
    );
    new SessionStore(home, '/home/me/App', 'three', 'posix').keep(said('hi'));
    assert.deepEqual(sessionsOf(home, '/home/me/app', 'posix'), []);
  } finally {
    rmSync(home, { recursive: true });
  }
});

test('a conversation kept under the written path is found, listed and gone on with where it is', () => {
  const home = mkdtempSync(path.join(tmpdir(), 'store-'));
  try {
    const old = path.join(home, 'sessions', createHash('md5').update('Z:\\Work\\App').digest('hex'), 'old');
    mkdirSync(old, { recursive: true });
    writeFileSync(path.join(old, 'context.jsonl'), `${JSON.stringify(said('before').message)}\n`);
    writeFileSync(path.join(old, 'wire.jsonl'), '{}\n');
    for (const cwd of ['Z:\\Work\\App', 'z:\\Work\\App']) {
      const store = new SessionStore(home, cwd, 'old', 'win32');
      assert.equal(store.folder, old);
      assert.deepEqual(
        sessionsOf(home, cwd, 'win32').map(({ id }) => id),
        ['old'],
      );
      assert.equal(lastSession(home, cwd, 'win32'), 'old');
    }
    new SessionStore(home, 'z:\\Work\\App', 'old', 'win32').keep(said('after'));
    new SessionStore(home, 'z:\\Work\\App', 'new', 'win32').keep(said('x'));
    assert.deepEqual(textsOf(new SessionStore(home, 'Z:\\Work\\App', 'old', 'win32')), [
      { type: 'text', text: 'before' },
      { type: 'text', text: 'after' },
    ]);
    assert.deepEqual(
      sessionsOf(home, 'Z:\\Work\\App', 'win32')
        .map(({ id }) => id)
        .sort(),
      ['new', 'old'],
    );
  } finally {
    rmSync(home, { recursive: true });
  }
});

/** Another program holds these files: they can be neither replaced nor written. */
function hold(t: TestContext, ...names: readonly string[]): { tries: number; free(): void } {
  const { appendFileSync, renameSync } = fs;
  return holdFiles(
    t,
    (file) => names.includes(path.basename(file)),
    (refuse) => [
      t.mock.method(fs, 'appendFileSync', (...args: Parameters<typeof appendFileSync>) => {
        refuse(args[0]);
        appendFileSync(...args);
      }),
      t.mock.method(fs, 'renameSync', (...args: Parameters<typeof renameSync>) => {
        refuse(args[1]);
        renameSync(...args);
      }),
    ],
  );
}

function storeIn(t: TestContext): { readonly store: SessionStore; readonly told: () => string } {
  const home = mkdtempSync(path.join(tmpdir(), 'store-'));
  t.after(() => rmSync(home, { recursive: true }));
  const { mock } = t.mock.method(process.stderr, 'write', () => true);
  return { store: new SessionStore(home, '/w', 's'), told: () => mock.calls.map((one) => String(one.arguments[0])).join('') };
}

test('thousands of records that wait for a held file are all stored once it is free, and the other files meanwhile', async (t) => {
  const { store } = storeIn(t);
  store.append('wire.jsonl', { n: 0 });
  const held = hold(t, 'wire.jsonl');
  for (let n = 1; n <= 3000; n += 1) store.append('wire.jsonl', { n });
  store.keep(said('hello'));
  store.writeState({ title: 'T' });
  assert.equal(held.tries, 1, 'records do not try a held file again');
  assert.deepEqual([store.readMessages().length, store.readState().title], [1, 'T']);
  held.free();
  while (store.readRecording().length === 1) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(
    store.readRecording(),
    Array.from({ length: 3001 }, (_, n) => ({ n })),
  );
});

test('a held state or history blocks no record, and the newest of both is stored once they are free', (t) => {
  const { store } = storeIn(t);
  const waits = t.mock.method(Atomics, 'wait');
  const held = hold(t, 'state.json', 'context.jsonl');
  store.writeState({ title: 'one', plan_mode: true });
  store.writeState({ title: 'two' });
  store.keep(said('old'));
  store.keep({ type: 'replaced', messages: [said('summary').message] });
  store.keep(said('new'));
  for (let n = 0; n < 10; n += 1) store.append('wire.jsonl', { n });
  assert.equal(waits.mock.callCount(), 0);
  assert.equal(store.readRecording().length, 10);
  held.free();
  store.flush();
  assert.deepEqual(store.readState(), { title: 'two', plan_mode: true });
  assert.deepEqual(textsOf(store), [
    { type: 'text', text: 'summary' },
    { type: 'text', text: 'new' },
  ]);
  assert.deepEqual(fs.readdirSync(store.folder).sort(), ['context.jsonl', 'state.json', 'wire.jsonl']);
});

test('a recording that waits too long loses its middle, says so once, and goes on', (t) => {
  const { store, told } = storeIn(t);
  const held = hold(t, 'wire.jsonl');
  const text = 'x'.repeat(1024 * 1024);
  for (let n = 0; n < 60; n += 1) store.append('wire.jsonl', { n, text });
  held.free();
  store.flush();
  store.append('wire.jsonl', { n: 60 });
  const stored = store.readRecording().map((one) => (one as { n: number }).n);
  assert.ok(stored.length < 20);
  assert.deepEqual([stored[0], stored.at(-2), stored.at(-1)], [0, 59, 60]);
  assert.equal(told().match(/a part of what was shown could not be stored/g)?.length, 1);
});

test('a kept session of which a file is open elsewhere stays whole and says why; it goes once the file is free', async (t) => {
  const home = mkdtempSync(path.join(tmpdir(), 'store-'));
  t.after(() => rmSync(home, { recursive: true }));
  const store = new SessionStore(home, '/w', 's');
  store.keep(said('hello'));
  store.append('wire.jsonl', { n: 0 });
  const { rename } = promises;
  // As Windows does with the folder of an open file.
  const held = holdFiles(
    t,
    (file) => file === store.folder,
    (refuse) => [
      t.mock.method(promises, 'rename', async (...args: Parameters<typeof rename>) => {
        refuse(args[0]);
        await rename(...args);
      }),
    ],
  );
  await assert.rejects(deleteSession(home, 's'), {
    message: `${store.folder} is open in another program, or protected (EBUSY). Close it there or allow writing, then try again.`,
  });
  assert.ok(held.tries > 0);
  const kept = new SessionStore(home, '/w', 's');
  assert.deepEqual([textsOf(kept), kept.readRecording()], [[{ type: 'text', text: 'hello' }], [{ n: 0 }]]);
  held.free();
  assert.equal(await deleteSession(home, 's'), true);
  assert.deepEqual(sessionsOf(home, '/w'), []);
  assert.equal(await deleteSession(home, 's'), false);
  while (fs.readdirSync(path.join(home, 'deleted')).length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
});

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { lastSession, SessionStore, sessionsOf } from '../../src/agent/sessionStore.ts';

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

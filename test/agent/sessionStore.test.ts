import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { SessionStore } from '../../src/agent/sessionStore.ts';

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

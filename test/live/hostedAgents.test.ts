import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reconnectHosted } from '../../src/live/hostedAgents.ts';
import type { SessionEvent } from '../../src/session/events.ts';
import { newSession } from '../../src/session/reduce.ts';
import { Store } from '../../src/session/store.ts';

const CLOSED: SessionEvent = { type: 'link.closed', reason: 'The agent host was stopped.', at: 1 };
const LOOKING: SessionEvent = { type: 'link.opening', note: 'Trying again (1 of 6)' };
const READY: SessionEvent = { type: 'link.ready', agent: { protocol: 'ahp', name: 'A' }, offers: {} };

/** The names of the sessions that are started again. */
function startedAgain(isNew: boolean): readonly string[] {
  const again: string[] = [];
  const session = (name: string, profile: string, event: SessionEvent, startedHere = true) => {
    const store = new Store(newSession(name, { protocol: 'ahp', name: 'A' }, '/w'));
    store.apply(event);
    return { profile, startedHere, store, restart: async () => void again.push(name) };
  };
  reconnectHosted(
    [
      session('stopped', 'a@host', CLOSED),
      session('looking', 'a@host', LOOKING),
      session('starting', 'a@host', { type: 'link.opening' }),
      session('connected', 'a@host', READY),
      session('only read', 'a@host', CLOSED, false),
      session('in another host', 'a@host:0123456789abcdef', CLOSED),
      session('in the window', 'a', CLOSED),
    ],
    isNew,
  );
  return again;
}

test('sessions of a host that was stopped are connected to the one that is started after it', () => {
  assert.deepEqual(startedAgain(true), ['stopped', 'looking']);
});

test('a session that looks for a host which runs still is left to find it', () => {
  assert.deepEqual(startedAgain(false), ['stopped']);
});

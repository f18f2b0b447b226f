import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionEvent } from '../../src/session/events.ts';
import type { Session } from '../../src/session/model.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import { randomEvents } from './randomEvents.ts';

/*
 * Surfaces compare the session before an event with the one after it, and the journal reads both later. So `reduce` must write to nothing it was
 * given: not to the session, nor to the event, whose members become part of it.
 */

const ROUNDS = 40;
const EVENTS = 300;

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) frozen(member);
  return Object.freeze(value);
}

test('sessions and events that are deeply frozen are reduced', () => {
  for (let seed = 1; seed <= ROUNDS; seed += 1) {
    const states: { readonly session: Session; readonly text: string }[] = [];
    let session = frozen(newSession('s', { protocol: 'p', name: 'Agent' }, '/w'));
    let plain: Session = session;
    for (const event of randomEvents(seed, EVENTS)) {
      states.push({ session, text: JSON.stringify(session) });
      session = frozen(reduce(session, frozen<SessionEvent>(structuredClone(event))));
      plain = reduce(plain, event);
    }
    assert.deepEqual(session, plain);
    assert.ok(session.turns.length > 0);
    for (const [at, before] of states.entries()) {
      assert.equal(JSON.stringify(before.session), before.text, `seed ${seed}: the session before event ${at} has changed`);
    }
  }
});

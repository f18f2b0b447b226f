import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Typing } from '../../src/editor/typing.ts';

test('a user rests a second after the last key, or at once when what they typed was sent', () => {
  let now = 5000;
  const typing = new Typing(() => now);
  assert.equal(typing.idleIn(), 0);
  typing.noted();
  assert.equal(typing.idleIn(), 1000);
  now += 400;
  assert.equal(typing.idleIn(), 600);
  typing.noted();
  assert.equal(typing.idleIn(), 1000);
  now += 2000;
  assert.equal(typing.idleIn(), 0);
  typing.noted();
  typing.over();
  assert.equal(typing.idleIn(), 0);
});

import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { Pace } from '../../src/transport/pace.ts';
import { stdioChannel } from '../../src/transport/stdio.ts';

/** Work that a slow machine cannot take for short. */
function workLong(): void {
  const until = performance.now() + 50;
  while (performance.now() < until);
}
const nextTurn = () => new Promise(setImmediate);

function source() {
  const calls: string[] = [];
  return { calls, pause: () => calls.push('pause'), resume: () => calls.push('resume') };
}

test('a source that was read for long is paused until everybody else has had a turn', async () => {
  const one = source();
  const pace = new Pace(one);
  pace.read(workLong);
  pace.read(() => {});
  assert.deepEqual(one.calls, ['pause']);
  await nextTurn();
  assert.deepEqual(one.calls, ['pause', 'resume']);
});

test('a source that has ended is not read again', async () => {
  const one = source();
  const pace = new Pace(one);
  pace.read(workLong);
  pace.end();
  await nextTurn();
  pace.read(workLong);
  await nextTurn();
  assert.deepEqual(one.calls, ['pause']);
});

test('what goes wrong while a piece is read counts, and is told', async () => {
  const one = source();
  const pace = new Pace(one);
  const fail = () => {
    workLong();
    throw new Error('bad');
  };
  assert.throws(() => pace.read(fail), /bad/);
  await nextTurn();
  assert.deepEqual(one.calls, ['pause', 'resume']);
});

test('many messages that arrive in one piece leave others their turn between them, in their order and to the end', async () => {
  const input = new PassThrough();
  const channel = stdioChannel(input, new PassThrough());
  const told: string[] = [];
  const ended = new Promise<void>((resolve) => channel.onClosed(() => resolve()));
  const sent = Array.from({ length: 60 }, (_, at) => `${at} ${'x'.repeat(1000)}`);
  let turns = 0;
  const beat = () => {
    turns += 1;
    if (told.length < sent.length) setImmediate(beat);
  };
  channel.onMessage((line) => {
    if (told.length === 0) setImmediate(beat);
    told.push(line);
    if (told.length % 16 === 1) workLong();
  });
  input.end(sent.map((line) => `${line}\n`).join(''));
  await ended;
  assert.deepEqual(told, sent);
  assert.ok(turns > 1, 'everything was read in one turn');
});

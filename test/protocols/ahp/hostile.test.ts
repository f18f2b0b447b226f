import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Input } from '../../../src/conversation/machine.ts';
import { ahpMachine } from '../../../src/protocols/ahp/machine.ts';
import { randomFrom } from '../../random.ts';
import { action, ahpCases, CHAT, LIMITS } from './cases.ts';

test('attack: whatever a host says, nothing throws, and what was asked is settled when it is gone', () => {
  const random = randomFrom(7);
  const junk: readonly unknown[] = [null, undefined, 0, -1, 1e308, '', 'x', '__proto__', [], {}, [null], { markdown: 'm' }, true];
  const one = (): unknown => junk[random(junk.length)];
  const types = [
    'turnStarted',
    'responsePart',
    'delta',
    'reasoning',
    'toolCallStart',
    'toolCallReady',
    'toolCallConfirmed',
    'toolCallComplete',
  ];
  types.push('toolCallContentChanged', 'inputRequested', 'inputCompleted', 'turnComplete', 'turnCancelled', 'error', 'truncated', 'usage');
  const ids = ['t', 'u', 'c', '__proto__'];
  const id = (): unknown => (random(4) === 0 ? one() : ids[random(ids.length)]);
  const question = { id: 'q', kind: 'single-select', message: 'Which?', options: [{ id: '1', label: 'A' }] };
  const fields = (): Readonly<Record<string, unknown>> => ({
    turnId: id(),
    toolCallId: id(),
    partId: id(),
    message: random(3) === 0 ? one() : { text: 'go' },
    part: random(2) === 0 ? one() : { kind: 'markdown', id: id(), content: 'x' },
    content: random(2) === 0 ? 'x' : one(),
    request: random(3) === 0 ? one() : { id: id(), message: one(), questions: [question, one()].slice(random(2)) },
    invocationMessage: one(),
    toolInput: random(2) === 0 ? one() : 'ls',
    options: random(2) === 0 ? one() : [{ id: 'y', label: 'Y', kind: 'approve' }],
    approved: one(),
    response: random(2) === 0 ? one() : 'accept',
    result: random(2) === 0 ? one() : { success: one(), content: [one()] },
    duration: one(),
  });
  for (let run = 0; run < 300; run += 1) {
    const { state, inputs } = ahpCases.start({});
    const open = new Set<string>();
    const step = (input: Input) => {
      for (const effect of ahpMachine(state, input, 0)) {
        if (effect.do !== 'emit') continue;
        if (effect.event.type === 'ask.opened') open.add(effect.event.ask.id);
        if (effect.event.type === 'ask.closed') open.delete(effect.event.askId);
      }
    };
    for (const input of inputs) step(typeof input === 'string' ? { on: 'start' } : input);
    for (let at = 0; at < 40; at += 1) step(action(CHAT, `chat/${types[random(types.length)]}`, fields()));
    step({ on: 'closed', link: 'host', why: { reason: 'gone' } });
    for (let tries = 0; tries < LIMITS.reconnect.length; tries += 1) {
      step({ on: 'timer', timer: 'reconnect' });
      step({ on: 'closed', link: 'host', why: { reason: 'gone' } });
    }
    assert.deepEqual([state.phase, open.size], ['over', 0]);
  }
});

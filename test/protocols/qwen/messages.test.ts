import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Desk, type DeskOptions, desk } from './desk.ts';
import * as l from './lines.ts';

async function talking(t: TestContext, options: DeskOptions = {}): Promise<Desk> {
  const all = desk(t, options);
  await all.start();
  all.last().say(l.ready('initialize'));
  await all.settle();
  await all.prompt('go');
  return all;
}

test('prompts wait here, one turn after the other', async (t) => {
  const all = await talking(t);
  await all.prompt('two', 't2');
  await all.prompt('three', 't3');
  assert.equal(all.last().prompts().length, 1);
  all.last().say(l.result());
  await all.settle();
  assert.equal(all.last().prompts().length, 2);
  all.last().say(l.result());
  await all.settle();
  assert.deepEqual(
    all
      .last()
      .prompts()
      .map((line) => Object(line.message).content),
    ['go', 'two', 'three'],
  );
});

test('/clear: the view is cleared when its turn is over, and the next start begins the new conversation', async (t) => {
  const all = await talking(t);
  all.last().say(l.init(), l.assistant([{ type: 'text', text: 'the first answer' }]), l.result());
  await all.settle();
  await all.prompt('/clear', 'clears');
  await all.prompt('what comes next', 'next');
  const lane = { session_id: 'NEW' };
  all.last().say({ ...l.assistant([{ type: 'text', text: 'Cleared' }]), ...lane });
  await all.settle();
  assert.deepEqual([all.now().turns.length, all.now().resumeKey], [2, 'NEW'], 'not before it is done');
  all.last().say({ ...l.result({ num_turns: 0 }), ...lane });
  await all.settle();
  assert.deepEqual(
    all.now().turns.map((turn) => turn.id),
    ['next'],
    'what waited is said in the new conversation',
  );
  all.last().say({ ...l.result(), ...lane });
  await all.prompt('/clear');
  all.last().say({ ...l.init(), session_id: 'NEWER' }, { ...l.result({ num_turns: 0 }), session_id: 'NEWER' });
  await all.settle();
  assert.match(all.notices().join(), /starts over/);
  assert.deepEqual(all.now().turns, []);
  await all.live.restart();
  await all.settle();
  assert.ok(!all.last().spec.args.includes('--resume'), 'of which the agent keeps nothing yet');
});

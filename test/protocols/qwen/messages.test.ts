import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { call, type Desk, type DeskOptions, desk, textOf } from './desk.ts';
import * as l from './lines.ts';

async function talking(t: TestContext, options: DeskOptions = {}): Promise<Desk> {
  const all = desk(t, options);
  await all.start();
  all.last().say(l.ready('initialize'));
  await all.settle();
  await all.prompt('go');
  return all;
}

test('Stop and no answer: it is said, and a second Stop starts the agent anew on the same conversation', async (t) => {
  const all = await talking(t);
  await all.cancel();
  await all.tick(5_000);
  assert.match(all.now().notices.at(-1)?.text ?? '', /is not stopping/);
  assert.deepEqual(all.now().notices.at(-1)?.next, ['restart']);
  await all.cancel();
  await all.settle();
  assert.deepEqual([all.turn().status, all.now().notices], ['cancelled', []]);
  assert.equal(all.now().link.state, 'opening');
  assert.deepEqual(all.last().spec.args.slice(-2), ['--resume', 'S']);
});

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

test('words after the end of a turn are shown, and hold nothing up: the turn they make is over when nothing follows', async (t) => {
  const all = await talking(t);
  all.last().say(l.init(), l.result(), l.assistant([{ type: 'text', text: 'One more thing.' }]));
  await all.settle();
  await all.prompt('next');
  assert.deepEqual([textOf(all.turn()), all.turn().status, all.now().queue.length], ['One more thing.', 'running', 1]);
  await all.tick(1_999);
  assert.equal(all.turn().status, 'running');
  await all.tick(1);
  assert.deepEqual(
    all.now().turns.map((turn) => turn.status),
    ['done', 'done', 'running'],
  );
});

test('usage: the context of the last round, the tokens and cost of the session', async (t) => {
  const all = await talking(t);
  const message = { id: 'm', content: [{ type: 'text', text: 'x' }], usage: { input_tokens: 90, output_tokens: 10, total_tokens: 100 } };
  const modelUsage = { a: { inputTokens: 5, outputTokens: 2, cacheReadInputTokens: 1, contextWindow: 1000 } };
  all.last().say({ ...l.assistant([]), message }, l.result({ modelUsage, total_cost_usd: 0.5 }));
  await all.settle();
  assert.deepEqual(all.now().usage, { used: 100, input: 6, output: 2, size: 1000, cost: { amount: 0.5, currency: 'USD' } });
});

/** A sub-agent in the background, as Claude Code tells of it: what it does comes when the turn is over. */
async function inBackground(t: TestContext): Promise<Desk> {
  const all = await talking(t, { command: 'claude', files: {} });
  all
    .last()
    .say(
      l.assistant([l.use('a', 'Agent', { description: 'Look at back', prompt: 'look', run_in_background: true })]),
      { type: 'system', subtype: 'task_started', task_id: 'T', tool_use_id: 'a', description: 'Look at back' },
      l.toolResult('a', 'Async agent launched successfully. (internal metadata)', false, { tool_use_result: { isAsync: true } }),
      l.assistant([{ type: 'text', text: 'The helper runs.' }]),
      l.result(),
    );
  await all.settle();
  return all;
}
const under = (id: string, content: object) =>
  l.assistant([content], { parent_tool_use_id: id, message: { id: 'sub', content: [content] } });
const reported = (summary: string, status = 'completed') => ({
  type: 'system',
  subtype: 'task_notification',
  task_id: 'T',
  tool_use_id: 'a',
  status,
  summary,
});
const belowA = (all: Desk) =>
  all.turn(0).parts.flatMap((part) => (part.parent === 'a' ? [part.kind === 'text' ? part.text : part.kind] : []));

test('a sub-agent in the background stands under its card after the turn, whoever speaks meanwhile, and its report comes once', async (t) => {
  const all = await inBackground(t);
  assert.deepEqual([all.turn().status, call(all.turn(), 'a').status, call(all.turn(), 'a').output], ['done', 'running', []]);
  assert.deepEqual(all.now().background, [{ id: 'T', text: 'Look at back' }]);
  all.last().say(under('a', { type: 'text', text: 'Reading.' }), under('a', l.use('r', 'Read', { file_path: '/w/a' })));
  await all.settle();
  assert.equal(all.now().turns.length, 1, 'nobody else speaks');
  await all.prompt('meanwhile');
  all.last().say(l.toolResult('r', 'text', false, { parent_tool_use_id: 'a' }), under('a', { type: 'text', text: 'I read **it**.' }));
  all.last().say(l.assistant([{ type: 'text', text: 'Yes?' }]), l.result());
  await all.settle();
  assert.equal(textOf(all.turn(1)), 'Yes?');
  assert.equal(call(all.turn(0), 'r').status, 'done');
  all.last().say(reported('I read **it**.'));
  await all.settle();
  assert.deepEqual(belowA(all), ['Reading.', 'call', 'I read **it**.']);
  assert.deepEqual([call(all.turn(0), 'a').status, all.now().background, all.notices()], ['done', [], []]);
  all
    .last()
    .say(
      l.init(),
      l.assistant([{ type: 'text', text: 'It is read.' }], { message: { id: 'm9', content: [{ type: 'text', text: 'It is read.' }] } }),
    );
  all.last().say(l.result());
  await all.settle();
  assert.deepEqual([all.now().turns.length, textOf(all.turn())], [3, 'It is read.']);
});

test('what a sub-agent in the background asks outlives the turn of the agent, and its card shows the answer', async (t) => {
  const all = await inBackground(t);
  await all.prompt('meanwhile');
  const wanted = { file_path: '/w/back.txt', content: 'back\n' };
  all.last().say(under('a', l.use('w', 'Write', wanted)), l.permission('R', 'w', 'Write', wanted));
  await all.until(() => all.now().asks.length > 0);
  all.last().say(l.assistant([{ type: 'text', text: 'Yes?' }]), l.result());
  await all.settle();
  assert.deepEqual([all.turn(1).status, all.approval().callId, call(all.turn(0), 'w').status], ['done', 'w', 'waiting']);
  await all.answer(all.approval(), 'allow');
  await all.until(() => all.last().answerTo('R').length > 0);
  assert.equal(Object(Object(all.last().answerTo('R')[0]?.response).response).behavior, 'allow');
  assert.equal(call(all.turn(0), 'w').status, 'running');
  all.last().say(l.toolResult('w', 'File created', false, { parent_tool_use_id: 'a' }), reported('Wrote it.'));
  await all.settle();
  assert.deepEqual([call(all.turn(0), 'w').status, call(all.turn(0), 'a').status], ['done', 'done']);
  assert.deepEqual(belowA(all), ['call', 'Wrote it.'], 'a report that was not said yet is');
});

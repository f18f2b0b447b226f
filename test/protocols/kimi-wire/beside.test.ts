import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Server, settled } from './server.ts';

// What goes on beside the conversation: tasks in the background, hooks, how full the context is; and the commands that turn asking off.
const task = (status: string, task_id = 'b1') => ({
  type: 'background_task',
  task_id,
  kind: 'agent',
  status,
  description: `look ${task_id}`,
});
const background = (server: Server) => server.desk.session.background?.map((one) => one.text) ?? [];

async function shows(server: Server, ...display: object[]): Promise<void> {
  await server.call('c', 'TaskList', {});
  await server.toolResult('c', '', { display });
}

test('tasks in the background are known from their blocks, and gone with their end', async () => {
  const server = await Server.running();
  await shows(server, task('starting'), task('awaiting_approval', 'b2'));
  assert.deepEqual(background(server), ['look b1', 'look b2']);
  await shows(server, task('running'), task('completed', 'b2'));
  assert.deepEqual(background(server), ['look b1']);
  const news = { id: 'n', title: 'Task done', category: 'task', source_kind: 'background_task', created_at: 1 };
  await server.event('Notification', { ...news, id: 'm', type: 'task.progress', source_id: 'b1' });
  await server.event('Notification', { ...news, type: 'task.completed', source_id: 'other' });
  assert.deepEqual(background(server), ['look b1']);
  await server.finish();
  await server.event('Notification', { ...news, id: 'o', type: 'task.failed', source_id: 'b1' });
  assert.deepEqual(background(server), []);
});

test('tasks of a replayed past are not taken for running ones', async () => {
  const server = new Server({ resume: { key: 'k', history: true } });
  await server.answer('initialize', { protocol_version: '1.10' });
  await server.event('TurnBegin', { user_input: 'before' });
  await shows(server, task('running'));
  await server.event('TurnEnd');
  await server.answer('replay', { status: 'finished', events: 4, requests: 0 });
  await server.desk.ready;
  assert.deepEqual(background(server), []);
});

test('a hook that runs is said while it runs; one that blocks leaves a line, outside a turn as well', async () => {
  const server = await Server.running();
  await server.event('HookTriggered', { event: 'PreToolUse', target: 'Shell', hook_count: 2 });
  assert.equal(server.desk.turn.activity, 'Running a hook (PreToolUse: Shell)');
  await server.event('HookResolved', { event: 'PreToolUse', target: 'Shell', action: 'allow', reason: '', duration_ms: 3 });
  assert.equal(server.desk.turn.activity, undefined);
  assert.deepEqual(server.desk.shown, []);
  await server.event('HookTriggered', { event: 'Stop', target: '', hook_count: 1 });
  await server.event('HookResolved', { event: 'Stop', target: '', action: 'block', reason: 'run the tests', duration_ms: 3 });
  assert.deepEqual(server.desk.shown, ['notice: A hook (Stop) blocked …: run the tests']);
  await server.finish();
  await server.event('HookTriggered', { event: 'SessionEnd', target: '', hook_count: 1 });
  await server.event('HookResolved', { event: 'SessionEnd', target: 'x', action: 'block', reason: '', duration_ms: 3 });
  assert.deepEqual(server.desk.session.notices, [{ level: 'warn', text: 'A hook (SessionEnd) blocked x: …' }]);
});

test('the share of the context is shown where no tokens are told', async () => {
  const server = await Server.running();
  await server.event('StatusUpdate', { context_usage: 0.25 });
  assert.deepEqual(server.desk.session.usage, { share: 0.25 });
  await server.event('StatusUpdate', { context_usage: -1 });
  await server.event('StatusUpdate', { context_usage: 1.2 });
  assert.deepEqual(server.desk.session.usage, { share: 1 });
});

test('a step of a plan in a state nobody knows is neither done nor under way, and says so', async () => {
  const server = await Server.running();
  const items = ['done', 'in_progress', 'pending', 'skipped'].map((status) => ({ title: status, status }));
  await shows(server, { type: 'todo', items });
  assert.deepEqual(server.desk.session.plan?.entries, [
    { text: 'done', status: 'completed' },
    { text: 'in_progress', status: 'in_progress' },
    { text: 'pending', status: 'pending' },
    { text: 'skipped (skipped)', status: 'pending' },
  ]);
});

test('a command that turns asking off goes out only when the user says so twice', async () => {
  for (const text of ['/yolo', ' /afk on']) {
    const server = await Server.ready();
    server.desk.prompt(text);
    assert.equal(server.asked('prompt').length, 0);
    const { ask } = server.desk;
    assert.equal(ask.kind, 'question');
    server.desk.send({ type: 'answer', askId: ask.id, answer: { kind: 'fields', values: { sure: ['Do not send it'] } } });
    await settled();
    assert.deepEqual([server.asked('prompt').length, server.desk.turn.status], [0, 'cancelled']);
    server.desk.prompt(text, 'again');
    server.desk.send({ type: 'cancel' });
    await settled();
    assert.deepEqual([server.asked('prompt').length, server.desk.turn.status, server.desk.session.asks.length], [0, 'cancelled', 0]);
    server.desk.prompt(text, 'and again');
    assert.equal(server.desk.ask.ours, true);
    server.desk.send({ type: 'answer', askId: server.desk.ask.id, answer: { kind: 'fields', values: { sure: ['Send it'] } } });
    await settled();
    assert.equal(server.params('prompt').user_input, text);
    await server.finish();
    assert.equal(server.desk.turn.status, 'done');
  }
  const plain = await Server.running();
  assert.equal(plain.params('prompt').user_input, 'go');
  await plain.finish();
  plain.desk.prompt('/yoloing is fun');
  assert.equal(plain.asked('prompt').length, 2);
});

test('an agent started without asking says so', async () => {
  const server = await Server.ready({ args: ['--wire', '--yolo'] });
  assert.match(server.desk.session.notices[0]?.text ?? '', /asks for nothing/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Closed } from '../../../src/transport/channel.ts';
import { ScriptedChannel } from '../../transport/scriptedChannel.ts';
import { Desk } from './desk.ts';
import { hangingTool, Server, settled } from './server.ts';

// wire.md §14, "Cancel", and steering.
const approval = { id: 'a', tool_call_id: 'c', sender: 'Shell', action: 'run command', description: 'Run `ls`' };
const gone: Closed = { reason: '"kimi --wire" was ended.', failure: 'ended', code: 0, stderr: '' };

async function cancelled(server: Server): Promise<void> {
  server.desk.send({ type: 'cancel' });
  await settled();
}

test('cancel idle: nothing is sent', async () => {
  const server = await Server.ready();
  await cancelled(server);
  assert.equal(server.asked('cancel').length, 0);
});

test('cancel streaming: the turn ends when the agent says so, as cancelled', async () => {
  const server = await Server.running();
  await server.text('half a');
  await cancelled(server);
  assert.equal(server.asked('cancel').length, 1);
  assert.equal(server.desk.turn.status, 'running');
  await server.answer('cancel', {});
  await server.event('TurnEnd');
  await server.finish({ status: 'cancelled' });
  assert.equal(server.desk.turn.status, 'cancelled');
  assert.deepEqual(server.desk.shown, ['text: half a']);
});

test('cancel that comes too late, or is refused, still reads as cancelled', async () => {
  const server = await Server.running();
  await cancelled(server);
  await server.refuse('cancel', -32000, 'No agent turn is in progress');
  await server.finish({ status: 'finished' });
  assert.equal(server.desk.turn.status, 'cancelled');
  server.desk.prompt('two');
  await cancelled(server);
  await server.refuse('prompt', -32603, 'interrupted');
  assert.equal(server.desk.turn.status, 'cancelled');
  assert.deepEqual(server.desk.session.notices, []);
});

test('approval open: answered first, then cancel', async () => {
  const server = await Server.running();
  await server.request('ApprovalRequest', approval);
  await cancelled(server);
  assert.deepEqual(
    server.channel.out.slice(-2).map((message) => message.method ?? message.result),
    [{ request_id: 'a', response: 'reject' }, 'cancel'],
  );
  assert.equal(server.desk.session.asks.length, 0);
});

test('tool and question open: both answered first, the tool is told to stop', async () => {
  let told = false;
  const hang = hangingTool(() => {
    told = true;
  });
  const server = await Server.running({ tools: [hang] });
  await server.request('ToolCallRequest', { id: 't', name: 'hang', arguments: '' });
  await server.request('QuestionRequest', { id: 'q', tool_call_id: 'c', questions: [{ question: 'Which?', options: [] }] });
  await cancelled(server);
  assert.equal(told, true);
  assert.equal((server.result('t').return_value as { is_error: boolean }).is_error, true);
  assert.deepEqual(server.result('q'), { request_id: 'q', answers: {} });
  assert.equal(server.channel.out.at(-1)?.method, 'cancel');
});

test('what is asked after the cancel is refused at once', async () => {
  const server = await Server.running();
  await cancelled(server);
  await server.request('ApprovalRequest', approval);
  assert.deepEqual(server.result('a'), { request_id: 'a', response: 'reject' });
  assert.equal(server.desk.session.asks.length, 0);
  await server.finish({ status: 'cancelled' });
  server.desk.prompt('next');
  await server.request('ApprovalRequest', { ...approval, id: 'b' });
  assert.equal(server.desk.session.asks.length, 1);
});

test('a replay, and a turn the server began by itself, can be stopped too', async () => {
  const replay = new Server({ resume: { key: 'k', history: true } });
  await replay.answer('initialize', { protocol_version: '1.10' });
  await cancelled(replay);
  assert.equal(replay.asked('cancel').length, 1);
  const server = await Server.ready();
  await server.event('TurnBegin', { user_input: 'by itself' });
  await server.request('ApprovalRequest', approval);
  await cancelled(server);
  assert.deepEqual(server.result('a'), { request_id: 'a', response: 'reject' });
  assert.equal(server.channel.out.at(-1)?.method, 'cancel');
  await server.event('TurnEnd');
  server.desk.prompt('mine');
  await server.request('ApprovalRequest', { ...approval, id: 'b' });
  assert.equal(server.desk.session.asks.length, 1);
});

test('a turn the server began by itself ends when nothing runs there any more, and is not waited for endlessly', async () => {
  const server = await Server.ready();
  await server.event('TurnBegin', { user_input: 'by itself' });
  await cancelled(server);
  await server.refuse('cancel', -32000, 'No agent turn is in progress');
  assert.equal(server.desk.turn.status, 'cancelled');
  assert.deepEqual(server.desk.session.notices, []);
  const silent = await Server.ready({ limits: { offerRestart: 5, restart: 20 } });
  await silent.event('TurnBegin', { user_input: 'by itself' });
  await cancelled(silent);
  await silent.desk.until(() => silent.desk.session.notices.length > 0);
  assert.deepEqual(silent.desk.session.notices[0]?.next, ['restart']);
  await silent.desk.ended();
  assert.equal(silent.desk.turn.status, 'cancelled');
  await settled();
  assert.equal(silent.channel.disposed, 1);
});

test('background approval open: it stays', async () => {
  const server = await Server.running();
  await server.request('ApprovalRequest', { ...approval, source_kind: 'background_agent' });
  await cancelled(server);
  assert.equal(server.answerTo('a'), undefined);
  assert.equal(server.desk.session.asks.length, 1);
});

test('cancelling twice asks twice and ends once', async () => {
  const server = await Server.running();
  await cancelled(server);
  await cancelled(server);
  assert.equal(server.asked('cancel').length, 2);
  await server.finish({ status: 'cancelled' });
  assert.equal(server.desk.events.filter((event) => event.type === 'turn.ended').length, 1);
});

test('not obeyed: a restart is offered, then done, and the same session goes on in a new process', async () => {
  const channels: ScriptedChannel[] = [];
  const specs: string[][] = [];
  const desk = new Desk(
    (spec) => {
      const channel = new ScriptedChannel();
      channel.onSend = (line) => {
        const { id, method } = JSON.parse(line);
        if (method === 'initialize') channel.say({ jsonrpc: '2.0', id, result: { protocol_version: '1.10' } });
      };
      channels.push(channel);
      specs.push([...spec.args]);
      return channel;
    },
    { limits: { offerRestart: 5, restart: 20 } },
  );
  await desk.ready;
  desk.prompt('go');
  desk.send({ type: 'cancel' });
  await desk.until(() => desk.session.notices.length > 0);
  assert.deepEqual(desk.session.notices[0]?.next, ['restart']);
  assert.match(desk.turn.activity ?? '', /does not stop/);
  await desk.ended();
  assert.equal(desk.turn.status, 'cancelled');
  assert.deepEqual(desk.session.notices, [], 'the offer goes with the turn');
  await desk.until(() => channels.length === 2 && desk.session.link.state === 'ready');
  assert.equal(channels[0]?.disposed, 1);
  assert.deepEqual(specs[0], ['--wire', '--session', desk.session.resumeKey]);
  assert.deepEqual(specs[1], specs[0]);
  assert.equal(
    channels[1]?.out.some((message) => message.method === 'replay'),
    false,
  );
  desk.prompt('again');
  assert.equal(channels[1]?.out.at(-1)?.method, 'prompt');
  desk.dispose();
  await desk.adapter.ended;
});

test('ending the session in a running turn: answers, cancel, then the input closes; nothing is said after it', async () => {
  const server = await Server.running();
  await server.request('ApprovalRequest', approval);
  const said = server.desk.events.length;
  server.desk.dispose();
  await settled();
  assert.equal(server.channel.out.at(-1)?.method, 'cancel');
  assert.equal(server.channel.disposed, 0);
  await server.finish({ status: 'cancelled' });
  await server.desk.adapter.ended;
  assert.equal(server.channel.disposed, 1);
  assert.equal(server.desk.events.length, said);
  assert.equal(server.channel.listeners, 0);
});

test('ending the session does not wait long for a turn that does not end', async () => {
  const server = await Server.running({ limits: { grace: 5 } });
  server.desk.dispose();
  await server.desk.adapter.ended;
  assert.equal(server.channel.disposed, 1);
});

test('the process gone with everything open: asks vanish, tools stop, the turn fails with the reason, nothing is left', async () => {
  let told = false;
  const hang = hangingTool(() => {
    told = true;
  });
  const server = await Server.running({ tools: [hang] });
  await server.request('ApprovalRequest', approval);
  await server.request('ToolCallRequest', { id: 't', name: 'hang', arguments: '' });
  server.channel.close({ ...gone, reason: '"kimi --wire" ended with exit code 1.', code: 1, stderr: 'Traceback\n' });
  await server.desk.adapter.ended;
  await settled();
  const { link } = server.desk.session;
  assert.deepEqual(link, {
    state: 'closed',
    reason: '"kimi --wire" ended with exit code 1.',
    detail: 'Traceback',
    next: ['restart', 'showLog', 'pickAgent'],
  });
  assert.equal(server.desk.turn.status, 'failed');
  assert.match(server.desk.turn.error?.message ?? '', /exit code 1/);
  assert.equal(server.desk.session.asks.length, 0);
  assert.equal(told, true);
  assert.equal(server.channel.listeners, 0);
});

test('steer: sent into the turn; it stands where the agent takes it up', async () => {
  const server = await Server.running();
  server.desk.send({ type: 'steer', turnId: 's', content: [{ type: 'text', text: 'also this' }] });
  assert.deepEqual(server.params('steer'), { user_input: 'also this' });
  assert.deepEqual(server.desk.turn.parts, [{ kind: 'prompt', id: 's', content: [{ type: 'text', text: 'also this' }], pending: true }]);
  await server.answer('steer', { status: 'steered' });
  assert.deepEqual(server.desk.shown, ['prompt: also this'], 'in sight until it is taken up');
  await server.text('before');
  await server.event('SteerInput', { user_input: 'also this' });
  await server.text('after');
  assert.deepEqual(server.desk.shown, ['text: before', 'prompt: also this', 'text: after']);
});

test('steer that was accepted and never taken up stands in the queue, held, after a turn that went well', async () => {
  const server = await Server.running();
  server.desk.send({ type: 'steer', turnId: 's', content: [{ type: 'text', text: 'also this' }] });
  server.desk.send({ type: 'steer', turnId: 's2', content: [{ type: 'text', text: 'and that' }] });
  await server.answer('steer', { status: 'steered' });
  await server.answer('steer', { status: 'steered' });
  await server.event('SteerInput', { user_input: 'also this' });
  await server.finish();
  assert.deepEqual(server.desk.shown, ['prompt: also this']);
  assert.deepEqual(server.desk.session.queue, [{ turnId: 's2', content: [{ type: 'text', text: 'and that' }], held: true }]);
  server.desk.prompt('next');
  await server.event('SteerInput', { user_input: 'other' });
  assert.deepEqual(server.desk.session.queue.length, 1, 'nothing of a later turn is taken for it');
});

test('steer on 1.4, which does not say when: it stands where it was accepted', async () => {
  const server = await Server.running({ version: '1.4' });
  server.desk.send({ type: 'steer', turnId: 's', content: [{ type: 'text', text: 'also' }] });
  await server.answer('steer', { status: 'steered' });
  assert.deepEqual(server.desk.shown, ['prompt: also']);
});

test('steer that comes too late, or that the server does not know, is the next prompt', async () => {
  for (const code of [-32000, -32601]) {
    const server = await Server.running();
    server.desk.send({ type: 'steer', turnId: 's', content: [{ type: 'text', text: 'then this' }] });
    await server.finish();
    await server.refuse('steer', code);
    assert.deepEqual(server.params('prompt', 1), { user_input: 'then this' });
    assert.equal(server.desk.turn.id, 's');
    assert.deepEqual(server.desk.session.queue, []);
  }
});

test('steer that is lost with a cancelled turn, or with the agent, is given back', async () => {
  const server = await Server.running();
  server.desk.send({ type: 'steer', turnId: 's', content: [{ type: 'text', text: 'wait, no' }] });
  await server.answer('steer', { status: 'steered' });
  await cancelled(server);
  await server.finish({ status: 'cancelled' });
  assert.deepEqual(server.desk.session.queue, [{ turnId: 's', content: [{ type: 'text', text: 'wait, no' }], held: true }]);
  const dying = await Server.running();
  dying.desk.send({ type: 'steer', turnId: 's', content: [{ type: 'text', text: 'wait, no' }] });
  await dying.answer('steer', { status: 'steered' });
  dying.channel.close(gone);
  await dying.desk.adapter.ended;
  assert.deepEqual(
    dying.desk.session.queue.map((one) => one.turnId),
    ['s'],
  );
});

test('plan mode toggled while a turn runs: the status carries the truth', async () => {
  const server = await Server.running();
  server.desk.send({ type: 'setMode', modeId: 'plan' });
  assert.deepEqual(server.params('set_plan_mode'), { enabled: true });
  await server.event('StatusUpdate', { plan_mode: true });
  assert.equal(server.desk.session.mode?.current, 'plan');
  await server.answer('set_plan_mode', { status: 'ok', plan_mode: true });
  await server.event('StatusUpdate', { plan_mode: false });
  assert.equal(server.desk.session.mode?.current, 'default');
});

test('plan mode without its method: by command where there is one, and the control goes when it is refused', async () => {
  const old = await Server.ready({ version: '1.3', result: { slash_commands: [{ name: 'plan', description: '', aliases: [] }] } });
  old.desk.send({ type: 'setMode', modeId: 'plan' });
  assert.deepEqual(old.params('prompt'), { user_input: '/plan on' });
  const server = await Server.ready();
  server.desk.send({ type: 'setMode', modeId: 'plan' });
  await server.refuse('set_plan_mode', -32601);
  assert.equal(server.desk.session.mode, undefined);
  assert.deepEqual(server.desk.session.notices, []);
});

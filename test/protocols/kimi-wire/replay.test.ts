import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pastSessions } from '../../../src/protocols/kimi-wire/history.ts';
import type { Tool } from '../../../src/protocols/ports.ts';
import { readsHistory } from '../../../src/session/select.ts';
import { ScriptedChannel } from '../../transport/scriptedChannel.ts';
import { Desk } from './desk.ts';
import { processDesk } from './processDesk.ts';
import { Server, settled } from './server.ts';

// wire.md §11, §14 "Lifecycle", §9.10, §9.19, §9.20.
const resume = { key: 'earlier', history: true };
const approval = { id: 'a', tool_call_id: 'c', sender: 'Shell', action: 'run command', description: 'Run `ls`' };

async function replaying(version = '1.10', tools: readonly Tool[] = []): Promise<Server> {
  const server = new Server({ resume, tools });
  await server.answer('initialize', { protocol_version: version });
  return server;
}

test('replay runs no tool and asks nobody; its requests get no answer, and the conversation is there before the first prompt', async () => {
  let ran = 0;
  const run = async () => {
    ran += 1;
    return { ok: true, text: '' };
  };
  const server = await replaying('1.10', [{ name: 'get', description: 'd', parameters: { type: 'object' }, run }]);
  assert.deepEqual(server.desk.session.link, { state: 'opening', note: 'Reading the earlier conversation', stops: true });
  await server.event('TurnBegin', { user_input: 'list files' });
  await server.event('StepBegin', { n: 1 });
  await server.text('Let me look.');
  await server.call('c', 'Shell', { command: 'ls' });
  await server.request('ApprovalRequest', approval);
  await server.event('ApprovalResponse', { request_id: 'a', response: 'approve' });
  await server.toolResult('c', 'a.ts');
  await server.request('ToolCallRequest', { id: 't', name: 'get', arguments: '{}' });
  await server.request('QuestionRequest', { id: 'q', tool_call_id: 'x', questions: [{ question: 'Which?', options: [] }] });
  await server.request('ApprovalRequest', { ...approval, id: 'bg', source_kind: 'background_agent' });
  await server.event('TurnEnd');
  await server.event('StatusUpdate', { plan_mode: true });
  await server.event('TurnBegin', { user_input: 'cut off' });
  await server.text('I wi');
  await server.event('TurnBegin', { user_input: [{ type: 'text', text: 'last' }] });
  await server.text('done');
  await server.event('TurnEnd');
  assert.equal(server.desk.session.link.state, 'opening');
  await server.answer('replay', { status: 'finished', events: 14, requests: 4 });
  assert.equal(server.desk.session.link.state, 'ready');
  assert.deepEqual(
    server.desk.session.turns.map((turn) => [turn.status, turn.prompt[0]?.type === 'text' && turn.prompt[0].text]),
    [
      ['done', 'list files'],
      ['cancelled', 'cut off'],
      ['done', 'last'],
    ],
  );
  const parts = server.desk.session.turns[0]?.parts ?? [];
  assert.deepEqual(
    parts.map((part) => (part.kind === 'notice' ? part.notice.text : part.kind)),
    ['text', 'call', 'The agent asked: Which?'],
  );
  assert.equal(server.desk.session.mode?.current, 'plan');
  assert.equal(ran, 0);
  assert.equal(server.desk.session.asks.length, 0);
  assert.deepEqual(
    server.channel.out.map((message) => message.method),
    ['initialize', 'replay'],
  );
  await server.request('ToolCallRequest', { id: 't', name: 'get', arguments: '{}' });
  assert.equal(ran, 1);
});

test('replay of old recordings: the old names, no TurnEnd', async () => {
  const server = await replaying('1.10');
  await server.event('TurnBegin', { user_input: 'one' });
  await server.call('task', 'Task', {});
  await server.event('SubagentEvent', {
    task_tool_call_id: 'task',
    event: { type: 'ContentPart', payload: { type: 'text', text: 'inner' } },
  });
  await server.event('ApprovalRequestResolved', { request_id: 'a', response: 'approve' });
  await server.toolResult('task');
  await server.answer('replay', { status: 'finished', events: 4, requests: 0 });
  assert.deepEqual(server.desk.shown, ['call Task done', 'text: inner']);
  assert.equal(server.desk.turn.status, 'done');
});

test('replay cancelled, or empty: the session is ready', async () => {
  for (const result of [
    { status: 'cancelled', events: 3, requests: 0 },
    { status: 'finished', events: 0, requests: 0 },
  ]) {
    const server = await replaying();
    await server.event('TurnBegin', { user_input: 'one' });
    await server.event('TurnEnd');
    await server.event('TurnBegin', { user_input: 'two' });
    await server.answer('replay', result);
    assert.equal(server.desk.session.link.state, 'ready');
    assert.equal(server.desk.turn.status, 'cancelled');
    assert.equal(server.desk.session.notices.length, result.status === 'cancelled' ? 1 : 0);
  }
});

test('a replay that is silent, or goes on after Stop, is given up: what was read stays, and another process goes on without it', async () => {
  for (const how of ['silent', 'stopped'] as const) {
    const channels: ScriptedChannel[] = [];
    const desk = new Desk(
      () => {
        const channel = new ScriptedChannel();
        channel.onSend = (line) => {
          const { id, method } = JSON.parse(line);
          if (method === 'initialize') channel.say({ jsonrpc: '2.0', id, result: { protocol_version: '1.10' } });
          if (method === 'replay')
            channel.say({ jsonrpc: '2.0', method: 'event', params: { type: 'TurnBegin', payload: { user_input: 'one' } } });
        };
        channels.push(channel);
        return channel;
      },
      { resume, limits: how === 'silent' ? { historySilence: 10 } : { offerRestart: 10 } },
    );
    await desk.until(() => desk.session.turns.length === 1);
    if (how === 'stopped') {
      assert.equal(readsHistory(desk.session), true, 'Stop is offered');
      desk.send({ type: 'cancel' });
      assert.equal(channels[0]?.out.at(-1)?.method, 'cancel');
    }
    await desk.ready;
    assert.equal(channels.length, 2);
    assert.equal(channels[0]?.disposed, 1);
    assert.notEqual(desk.turn.status, 'running');
    assert.match(desk.session.notices[0]?.text ?? '', /only in part/);
    desk.prompt('next');
    assert.deepEqual(
      channels[1]?.out.map((message) => message.method),
      ['initialize', 'prompt'],
    );
    desk.dispose();
    channels[1]?.close({ reason: 'over', failure: 'ended', code: 0, stderr: '' });
    await desk.adapter.ended;
  }
});

test('no replay before 1.3, or when the server does not know it: said, and the session is ready', async () => {
  const old = await replaying('1.2');
  assert.equal(old.asked('replay').length, 0);
  const server = await replaying();
  await server.refuse('replay', -32601);
  for (const one of [old, server]) {
    assert.equal(one.desk.session.link.state, 'ready');
    assert.match(one.desk.session.notices[0]?.text ?? '', /still remembers/);
  }
});

test('whoever has the transcript already gets no replay', async () => {
  const server = new Server({ resume: { key: 'earlier', history: false } });
  await server.answer('initialize', { protocol_version: '1.10' });
  await settled();
  assert.equal(server.asked('replay').length, 0);
  assert.equal(server.desk.session.resumeKey, 'earlier');
});

test('the process gone in the middle of a replay closes the link', async () => {
  const server = await replaying();
  await server.event('TurnBegin', { user_input: 'one' });
  server.channel.close({ reason: 'gone', failure: 'ended', code: 1, stderr: '' });
  await server.desk.adapter.ended;
  assert.equal(server.desk.session.link.state, 'closed');
  assert.equal(server.desk.turn.status, 'failed');
});

test('a large session is replayed whole, over a real process', async () => {
  const turn = (at: number) => [
    { event: 'TurnBegin', payload: { user_input: `prompt ${at}` } },
    { text: `answer ${at}` },
    { event: 'TurnEnd' },
  ];
  const replay = Array.from({ length: 5_000 }, (_, at) => turn(at)).flat();
  const { desk, heard } = processDesk({ replay }, { resume });
  await desk.ready;
  assert.equal(desk.session.turns.length, 5_000);
  assert.deepEqual(desk.shown, ['text: answer 4999']);
  assert.match(heard()[0] ?? '', /--session earlier$/);
});

test('sessions of a folder: newest first, titled by name or first prompt, empty ones left out, broken files harmless', async () => {
  const share = mkdtempSync(join(tmpdir(), 'parley-'));
  const folder = join(share, 'sessions', createHash('md5').update('/my/project').digest('hex'));
  const session = (key: string, seconds: number, lines: readonly unknown[], state?: string): void => {
    mkdirSync(join(folder, key), { recursive: true });
    const file = join(folder, key, 'wire.jsonl');
    writeFileSync(file, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
    utimesSync(file, seconds, seconds);
    if (state !== undefined) writeFileSync(join(folder, key, 'state.json'), state);
  };
  const began = (user_input: unknown) => ({ timestamp: 1, message: { type: 'TurnBegin', payload: { user_input } } });
  const head = { type: 'metadata', protocol_version: '1.10' };
  session('plain', 100, [head, 'not json', began('fix the bug\nplease')]);
  session('named', 300, [head, began('x')], '{"custom_title":"The big one"}');
  session(
    'parts',
    200,
    [
      began([
        { type: 'image_url', image_url: { url: 'x' } },
        { type: 'text', text: 'look at this' },
      ]),
    ],
    'not json',
  );
  session('empty', 400, [head]);
  mkdirSync(join(folder, 'no recording'));
  const env = { KIMI_SHARE_DIR: share };
  assert.deepEqual(await pastSessions('/my/project', env), [
    { key: 'named', title: 'The big one', at: 300_000 },
    { key: 'parts', title: 'look at this', at: 200_000 },
    { key: 'plain', title: 'fix the bug', at: 100_000 },
  ]);
  assert.deepEqual(await pastSessions('/other', env), []);
  const server = await Server.ready({ cwd: '/my/project', env, resume: { key: 'parts', history: false } });
  assert.deepEqual(
    (await server.desk.adapter.history()).map((past) => past.key),
    ['named', 'plain'],
  );
  rmSync(share, { recursive: true });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acp } from '../../../src/protocols/acp/index.ts';
import { findTerminal } from '../../../src/session/select.ts';
import { drive, textOf } from '../../agents/drive.ts';
import { inTurn, scene } from './scene.ts';

// Bytes, lines, ids on the wire and the process itself: what the machine never sees, so it is in no transcript.

const frame = (update: object) => JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 'sess-1', update } });
const chunk = (text: string) => frame({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });

test('1, 2, 3, 5, 6: lines as agents write them: cut inside a character, with CRLF, 600 kB long, between logs and errors without an id', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const { driven, finish } = await inTurn(made);
  const before = agent.received.length;
  const bytes = Buffer.from(`${chunk('héllo 你')}\r\n`);
  const cut = bytes.indexOf(Buffer.from('你')) + 1;
  agent.raw(bytes.subarray(0, cut));
  await new Promise((resolve) => setImmediate(resolve));
  agent.raw(bytes.subarray(cut));
  await driven.until('the text', (session) => session.turns[0]?.parts.length === 1);
  agent.raw('Loaded cached credentials.\n');
  agent.send({ jsonrpc: '2.0', error: { code: -32601, message: 'Method not found' } });
  const long = 'x'.repeat(600_000);
  agent.text(long);
  assert.equal(textOf(await finish()), `héllo 你${long}`);
  assert.equal(agent.received.length, before, 'nothing is answered');
  assert.ok(driven.logged.some((line) => line.includes('Loaded cached credentials.')));
});

test('4: a hundred thousand small updates all arrive, in order, before the answer behind them', async (t) => {
  const made = await scene(t);
  const { finish } = await inTurn(made);
  const many = 100_000;
  made.agent.raw(`${Array.from({ length: many }, (_, at) => chunk(`${at % 10}`)).join('\n')}\n`);
  const text = textOf(await finish());
  assert.equal(text.length, many);
  assert.equal(text.slice(0, 12), '012345678901');
});

test('7: ids go back as they came, text or number, also when they equal ours, and a request that is taken back is answered', async (t) => {
  const made = await scene(t);
  const path = made.file('a.txt', 'A');
  const { driven, finish } = await inTurn(made);
  const params = { sessionId: 'sess-1', path };
  const byText = await made.agent.ask('fs/read_text_file', params, 'b9c3-uuid');
  const byNumber = await made.agent.ask('fs/read_text_file', params, 0);
  assert.deepEqual([byText.id, byNumber.id], ['b9c3-uuid', 0]);
  assert.deepEqual(byNumber.result, { content: 'A' });
  const options = [{ optionId: 'y', name: 'Yes', kind: 'allow_once' }];
  const asked = made.agent.ask('session/request_permission', { sessionId: 'sess-1', toolCall: { toolCallId: 'c1' }, options }, 'perm');
  await driven.until('an ask', (session) => session.asks.length === 1);
  made.agent.send({ jsonrpc: '2.0', method: '$/cancel_request', params: { requestId: 'perm' } });
  assert.deepEqual((await asked).result, { outcome: { outcome: 'cancelled' } });
  assert.deepEqual(driven.now().asks, []);
  await finish();
});

test('8: an agent that exits in a prompt: one clear reason with the end of stderr, and its terminals end', async (t) => {
  const made = await scene(t);
  const { driven, turnId } = await inTurn(made, { env: { FAKE_STDERR: 'boom: no memory', FAKE_EXIT: '3' } });
  const command = { sessionId: 'sess-1', command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] };
  const { result } = await made.agent.ask('terminal/create', command);
  const { terminalId } = result as { readonly terminalId: string };
  const closed = driven.until('a closed link', (session) => session.link.state === 'closed');
  made.agent.exit();
  const session = await closed;
  assert.ok(session.link.state === 'closed');
  assert.match(session.link.reason, /stopped unexpectedly/);
  assert.match(session.link.detail ?? '', /^exit 3\n\n[\s\S]*boom: no memory/);
  assert.equal(session.turns.find((turn) => turn.id === turnId)?.status, 'failed');
  assert.deepEqual(session.asks, []);
  assert.ok(findTerminal(session, terminalId));
});

test('what an agent printed before it ended is shown', async (t) => {
  const made = await scene(t);
  const usage = "console.log('Usage: agent acp [options]')";
  const driven = drive({
    protocol: acp,
    launch: { kind: 'process', command: process.execPath, args: ['-e', usage], env: {}, cwd: made.cwd },
  });
  t.after(() => driven.stop());
  const ended = await driven.until('its end', (session) => session.link.state === 'closed');
  assert.equal(ended.link.state === 'closed' && ended.link.detail, 'exit 0\n\nUsage: agent acp [options]');
});

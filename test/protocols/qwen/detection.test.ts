import assert from 'node:assert/strict';
import { test } from 'node:test';
import { desk } from './desk.ts';
import { init, ready, result } from './lines.ts';

test('auto: the first line is initialize, the second a heartbeat, in that order', async (t) => {
  const { start, last } = desk(t);
  await start();
  assert.deepEqual(
    last().told.map((line) => line.type),
    ['control_request', 'heartbeat_request'],
  );
  assert.deepEqual(last().requests('initialize')[0]?.request, { subtype: 'initialize', hooks: null, timeout: { canUseTool: 600000 } });
});

test('message dialect: the answer to initialize makes the link ready, quick or after twelve seconds', async (t) => {
  for (const wait of [0, 12_000]) {
    await t.test(`${wait}`, async (t) => {
      const { start, last, now, tick, settle } = desk(t);
      await start();
      await tick(wait);
      assert.equal(now().link.state, 'opening');
      last().say(ready('initialize'));
      await settle();
      assert.equal(now().link.state, 'ready');
      assert.equal(now().resumeKey, 'S');
    });
  }
});

test('envelope dialect: a receipt, a fingerprint, a heartbeat, an answer without handshake', async (t) => {
  const message = (more: object) => ({ object: 'chat.completion', id: 'c', created: 1, model: 'm', choices: [], ...more });
  const first: readonly object[] = [
    message({ metadata: { protocol_version: 1, session_id: 'E', capabilities: [] } }),
    message({ system_fingerprint: JSON.stringify({ protocol_version: '1', session_id: 'E' }) }),
    { type: 'result/heartbeat', session_id: 'E', status: 'ok', ts: 1 },
    { object: 'chat.completion.chunk', id: 'c', choices: [{ delta: { role: 'assistant' } }], metadata: { session_id: 'E' } },
    { type: 'control_response', request_id: 'initialize', response: { subtype: 'error', error: 'unknown' } },
  ];
  for (const [at, line] of first.entries()) {
    await t.test(`${at}`, async (t) => {
      const { start, last, now, settle, live, prompt } = desk(t);
      await start();
      last().say(line);
      await settle();
      assert.equal(now().link.state, 'ready');
      const { link } = now();
      assert.equal(link.state === 'ready' && link.offers.hints, true);
      await prompt('go');
      const [request] = last().prompts();
      assert.equal(request?.type, undefined);
      assert.deepEqual(request?.input, { origin: 'user', parts: [{ type: 'text', text: 'go' }], command: null });
      assert.equal(live.store.now.turns[0]?.status, 'running');
    });
  }
});

test('a peer that dies of the probe is started once more and asked by heartbeat alone', async (t) => {
  const { start, processes, now, settle } = desk(t);
  await start();
  processes[0]?.exit({ code: 1, stderr: 'no such type: control_request' });
  await settle();
  assert.equal(processes.length, 2);
  assert.deepEqual(
    processes[1]?.told.map((line) => line.type),
    ['heartbeat_request'],
  );
  processes[1]?.say({ type: 'result/heartbeat', session_id: 'E', status: 'ok', ts: 1 });
  await settle();
  assert.equal(now().link.state, 'ready');
});

test('a usage text is shown up to where the usage begins, without a second start', async (t) => {
  const { start, processes, now, settle } = desk(t);
  await start();
  processes[0]?.exit({ code: 1, stderr: 'Unknown argument: --nope\n\nUsage: qwen [options]\n  many lines' });
  await settle();
  assert.equal(processes.length, 1);
  const { link } = now();
  assert.ok(link.state === 'closed' && link.reason.endsWith(' Unknown argument: --nope'));
  assert.ok(link.detail?.endsWith('\n\nUnknown argument: --nope'));
});

test('noise before the first line is passed over; silence ends it after 45 seconds', async (t) => {
  const { start, last, now, tick, settle, logged } = desk(t);
  await start();
  last().raw('Loading…');
  last().raw('{"half":');
  last().raw('[1,2]');
  last().say({ something: 'else' });
  await tick(44_000);
  assert.equal(now().link.state, 'opening');
  assert.equal(logged.filter((line) => line.includes('no message')).length, 3);
  await tick(2_000);
  await settle();
  assert.equal(now().link.state, 'closed');
});

test('both kinds of noise and then the message dialect', async (t) => {
  const { start, last, now, settle } = desk(t);
  await start();
  last().raw('hello');
  last().say({ type: 'whatever' }, init(), ready('initialize'));
  await settle();
  assert.equal(now().link.state, 'ready');
});

test('no sign-in: the reason of the result is what the user reads', async (t) => {
  const { start, last, now, settle } = desk(t);
  await start();
  last().say(result({ is_error: true, subtype: 'error_during_execution', error: { message: 'No auth type is selected.' } }));
  await settle();
  const { link } = now();
  assert.equal(link.state === 'closed' && link.reason, 'No auth type is selected.');
  assert.ok(link.state === 'closed' && link.next?.includes('openSettings'));
});

test('lines of the other dialect are passed over; the third ends the session', async (t) => {
  const { start, last, now, settle } = desk(t);
  await start();
  last().say(ready('initialize'));
  const foreign = { object: 'chat.completion', id: 'c', choices: [] };
  last().say(foreign, foreign);
  await settle();
  assert.equal(now().link.state, 'ready');
  last().say(foreign);
  await settle();
  assert.equal(now().link.state, 'closed');
});

test('Claude Code is known by its name: its flags, its tools, no probe', async (t) => {
  const tool = { name: 'open_in_ide', description: '', parameters: { type: 'object' }, run: async () => ({ ok: true, text: '' }) };
  const { start, last } = desk(t, { command: '/usr/bin/claude', args: ['--model', 'opus'], tools: [tool] });
  await start();
  assert.deepEqual(
    last().told.map((line) => line.type),
    ['control_request'],
  );
  assert.deepEqual(last().requests('initialize')[0]?.request.sdkMcpServers, ['parley']);
  assert.deepEqual(last().spec.args.slice(0, 4), ['--model', 'opus', '-p', '--verbose']);
  assert.ok(last().spec.args.join(' ').includes('--permission-prompt-tool stdio'));
});

test('flags the profile gives itself are not given twice; a mode is always given', async (t) => {
  const { start, last } = desk(t, { args: ['--approval-mode=plan', '--input-format', 'stream-json'], resume: 'K', history: true });
  await start();
  assert.deepEqual(last().spec.args, [
    '--approval-mode=plan',
    '--input-format',
    'stream-json',
    '--output-format',
    'stream-json',
    '--include-partial-messages',
    '--resume',
    'K',
  ]);
});

test('a strict peer that refuses the probe in its own words, and ends, is asked again by heartbeat alone', async (t) => {
  const { start, processes, now, settle } = desk(t);
  await start();
  processes[0]?.say({ error: { message: 'bad first line', code: 'QWEN_INVALID_INPUT' } });
  processes[0]?.exit({ code: 1 });
  await settle();
  assert.deepEqual(
    processes[1]?.told.map((line) => line.type),
    ['heartbeat_request'],
  );
  processes[1]?.say({ type: 'result/heartbeat', session_id: 'E', status: 'ok', ts: 1 });
  await settle();
  assert.equal(now().link.state, 'ready');
});

test('a peer that refuses the heartbeat too is ended with its reason', async (t) => {
  const { start, processes, now, settle } = desk(t);
  await start();
  for (const at of [0, 1]) {
    processes[at]?.say({ error: { message: 'not licensed', code: 'NO' } });
    processes[at]?.exit({ code: 1 });
    await settle();
  }
  const { link } = now();
  assert.deepEqual([processes.length, link.state === 'closed' && link.reason], [2, 'not licensed (NO)']);
});

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { diffsOf } from '../../src/protocols/kimi-wire/codec.ts';
import type { DisplayBlock } from '../../src/protocols/kimi-wire/schema.ts';
import { startAgent, temporaryFolder } from './agentProcess.ts';

const openInIde = {
  name: 'open_in_ide',
  description: 'Open a file',
  parameters: { type: 'object', properties: { path: { type: 'string' }, line: { type: 'integer' } }, required: ['path'] },
};
const HELLO = { protocol_version: '1.10', client: { name: 'test', version: '1' } };

test('the handshake tells version, server and commands', async (t) => {
  const agent = startAgent(t, { cwd: temporaryFolder(t) });
  const result = await agent.ok('initialize', HELLO);
  assert.equal(result.protocol_version, '1.10');
  assert.equal((result.server as { name: string }).name, 'parley-agent');
  assert.ok((result.slash_commands as { name: string }[]).some((command) => command.name === 'help'));
  assert.equal('external_tools' in result, false);
  assert.deepEqual(await agent.close(), { code: 0, signal: null });
});

test('a tool that cannot be used is refused with a reason; a malformed one sinks the handshake, as with Kimi CLI', async (t) => {
  const agent = startAgent(t, { cwd: temporaryFolder(t) });
  const external_tools = [
    openInIde,
    { ...openInIde, name: 'Shell' },
    { name: 'bad_schema', description: 'x', parameters: { type: 'object', properties: { a: { type: 'nonsense' } } } },
    { name: 'not an id', description: 'x', parameters: { type: 'object' } },
  ];
  const result = await agent.ok('initialize', { ...HELLO, external_tools });
  const { accepted, rejected } = result.external_tools as { accepted: string[]; rejected: { name: string; reason: string }[] };
  assert.deepEqual(accepted, ['open_in_ide']);
  assert.equal(rejected.length, 3);
  assert.equal(rejected.find((one) => one.name === 'Shell')?.reason, 'conflicts with builtin tool');
  assert.ok(rejected.every((one) => one.reason !== ''));
  for (const bad of [{ name: 'no_parameters', description: 'x' }, 'text', null]) {
    assert.equal((await agent.call('initialize', { ...HELLO, external_tools: [openInIde, bad] })).error?.code, -32602);
  }
});

test('an approval is not sent to a client that has not shaken hands, from 1.6 on; before it is', async (t) => {
  for (const version of ['1.10', '1.5']) {
    const cwd = temporaryFolder(t);
    const agent = startAgent(t, { cwd, args: ['--wire-version', version] });
    const turn = agent.start('prompt', { user_input: 'create file a.txt with "x"' });
    await agent.find((message) => message.params?.type === 'ToolCall');
    if (version === '1.10') {
      // A late handshake is refused while the turn runs, so only a stop helps.
      assert.equal((await agent.call('initialize', HELLO)).error?.code, -32000);
      await agent.ok('cancel');
    } else {
      const asked = await agent.asked('ApprovalRequest');
      agent.answer(asked.id, { request_id: asked.id, response: 'approve' });
    }
    assert.deepEqual((await agent.answerTo(turn)).result, { status: version === '1.10' ? 'cancelled' : 'finished' });
    assert.equal(agent.messages.filter((message) => message.params?.type === 'ApprovalRequest').length, version === '1.10' ? 0 : 1);
    assert.equal(existsSync(path.join(cwd, 'a.txt')), version === '1.5');
  }
});

test("blocks of the client's tool come back as they are, those nobody knows wrapped; what is no result is told to the model", async (t) => {
  const diff = { type: 'diff', path: '/a', old_text: 'a', new_text: 'b', is_summary: true };
  const cwd = temporaryFolder(t);
  writeFileSync(path.join(cwd, 'a.txt'), 'one\ntwo\n');
  const agent = startAgent(t, { cwd });
  await agent.ok('initialize', { ...HELLO, external_tools: [openInIde] });
  const run = async (return_value: object) => {
    const turn = agent.start('prompt', { user_input: 'open a.txt at line 2' });
    const asked = await agent.asked('ToolCallRequest');
    agent.answer(asked.id, { tool_call_id: asked.id, return_value });
    await agent.answerTo(turn);
    return agent.events('ToolResult').at(-1)?.return_value as { is_error: boolean; message: string; display: unknown };
  };
  const whole = { is_error: false, output: 'ok', message: 'Opened', display: [] };
  const good = await run({ ...whole, display: [{ type: 'brief', text: 'b' }, diff, { type: 'chart', points: [1] }] });
  assert.deepEqual(good.display, [{ type: 'brief', text: 'b' }, diff, { type: 'chart', data: { points: [1] } }]);
  for (const bad of [
    { ...whole, output: [{ type: 'runs', what: 'x' }] },
    { ...whole, display: [{ type: 'diff', path: '/a' }] },
    { ...whole, display: ['text'] },
    { ...whole, message: undefined },
  ]) {
    const result = await run(bad);
    assert.equal(result.is_error, true);
    assert.match(result.message, /Invalid tool result/);
    assert.deepEqual(result.display, [{ type: 'brief', text: result.message }], 'a failure has a note for the user');
  }
});

test('a prompt without a handshake is answered', async (t) => {
  const agent = startAgent(t, { cwd: temporaryFolder(t) });
  const result = await agent.ok('prompt', { user_input: 'hello' });
  assert.deepEqual(result, { status: 'finished' });
  assert.match(agent.text, /not a language model/);
});

test('an edit waits for the answer, and is made only when it is allowed', async (t) => {
  const cwd = temporaryFolder(t);
  const file = path.join(cwd, 'a.txt');
  writeFileSync(file, 'one\ntwo\n');
  const agent = startAgent(t, { cwd });
  await agent.call('initialize', HELLO);

  const refused = agent.start('prompt', { user_input: 'replace "two" with "three" in a.txt' });
  const first = await agent.asked('ApprovalRequest');
  assert.equal(first.payload.action, 'edit file');
  assert.deepEqual(first.payload.display, [
    { type: 'diff', path: file, old_text: 'one\ntwo', new_text: 'one\nthree', old_start: 1, new_start: 1 },
  ]);
  assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\n');
  agent.answer(first.id, { request_id: first.id, response: 'reject' });
  assert.deepEqual((await agent.answerTo(refused)).result, { status: 'finished' });
  assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\n');
  assert.match(agent.text, /Rejected, nothing was changed/);

  const allowed = agent.start('prompt', { user_input: 'replace "two" with "three" in a.txt' });
  const second = await agent.asked('ApprovalRequest');
  agent.answer(second.id, { request_id: second.id, response: 'approve' });
  await agent.answerTo(allowed);
  assert.equal(readFileSync(file, 'utf8'), 'one\nthree\n');
});

test('a new file without a line is shown, and counts as a new one for the client', async (t) => {
  const cwd = temporaryFolder(t);
  const agent = startAgent(t, { cwd });
  await agent.call('initialize', HELLO);
  const prompt = agent.start('prompt', { user_input: 'create file blank.md' });
  const { id, payload } = await agent.asked('ApprovalRequest');
  const [block] = payload.display as readonly DisplayBlock[];
  assert.ok(block);
  assert.deepEqual(diffsOf([block]), [{ path: path.join(cwd, 'blank.md'), before: null, after: '' }]);
  agent.answer(id, { request_id: id, response: 'approve' });
  await agent.answerTo(prompt);
  assert.equal(readFileSync(path.join(cwd, 'blank.md'), 'utf8'), '');
});

test('an answer for the session is remembered by action', async (t) => {
  const agent = startAgent(t, { cwd: temporaryFolder(t) });
  await agent.call('initialize', HELLO);
  const first = agent.start('prompt', { user_input: 'run `echo first`' });
  const asked = await agent.asked('ApprovalRequest');
  assert.equal(asked.payload.action, 'run command');
  agent.answer(asked.id, { request_id: asked.id, response: 'approve_for_session' });
  await agent.answerTo(first);
  await agent.call('prompt', { user_input: 'run `echo second`' });
  assert.equal(agent.messages.filter((message) => message.params?.type === 'ApprovalRequest').length, 1);
  assert.match(agent.text, /second/);
});

test("the client's tool is called and its answer used", async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(path.join(cwd, 'a.txt'), 'x\n');
  const agent = startAgent(t, { cwd });
  await agent.call('initialize', { ...HELLO, external_tools: [openInIde] });
  const turn = agent.start('prompt', { user_input: 'open a.txt at line 1' });
  const asked = await agent.asked('ToolCallRequest');
  assert.equal(asked.payload.name, 'open_in_ide');
  assert.deepEqual(JSON.parse(String(asked.payload.arguments)), { path: 'a.txt', line: 1 });
  agent.answer(asked.id, {
    tool_call_id: asked.payload.id,
    return_value: { is_error: false, output: 'ok', message: 'Opened', display: [] },
  });
  await agent.answerTo(turn);
  assert.match(agent.text, /Opened `a\.txt:1`/);
});

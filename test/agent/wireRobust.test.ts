import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { type AgentProcess, startAgent, temporaryFolder } from './agentProcess.ts';
import { fuzzAgent } from './fuzz/fuzzAgent.ts';
import { startFuzzService } from './fuzz/service.ts';

const HELLO = { protocol_version: '1.10' };
const agentFile = path.resolve('dist/parley-agent.js');

function run(args: readonly string[], cwd: string): { code: number | null; out: string; err: string } {
  const { error, status, stdout, stderr } = spawnSync(process.execPath, [agentFile, ...args], { cwd, encoding: 'utf8', input: '' });
  if (error) throw error;
  return { code: status, out: stdout, err: stderr };
}

/** Resolves when no process of that id is left. */
async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A turn that has a command running; gives the id of a process deep inside it. */
async function withCommand(agent: AgentProcess, cwd: string): Promise<{ turn: string; pid: number }> {
  await agent.ok('initialize', HELLO);
  const turn = agent.start('prompt', { user_input: "run sh -c 'echo $$ > pid; exec sleep 600' & wait" });
  const asked = await agent.asked('ApprovalRequest');
  agent.answer(asked.id, { request_id: asked.id, response: 'approve' });
  const file = path.join(cwd, 'pid');
  while (!existsSync(file) || readFileSync(file, 'utf8').trim() === '') await new Promise((resolve) => setTimeout(resolve, 10));
  return { turn, pid: Number(readFileSync(file, 'utf8')) };
}

test('info, version and help are told; what is unknown is refused with the usage', (t) => {
  const cwd = temporaryFolder(t);
  const info = run(['info', '--json'], cwd);
  assert.equal(info.code, 0);
  assert.equal((JSON.parse(info.out) as { wire_protocol_version: string }).wire_protocol_version, '1.10');
  assert.equal(
    (JSON.parse(run(['info', '--json', '--wire-version', '1.0'], cwd).out) as { wire_protocol_version: string }).wire_protocol_version,
    '1',
  );
  assert.match(run(['--version'], cwd).out, /^parley-agent \d/);
  assert.match(run(['--help'], cwd).out, /--wire-version/);
  for (const flag of ['input-format', 'output-format', 'dialect', 'include-partial-messages', 'approval-mode', 'session-id'])
    assert.match(run(['--help'], cwd).out, new RegExp(`^  --${flag} `, 'm'));
  for (const args of [
    ['--nonsense'],
    ['--wire-version', '1.11'],
    ['--wire-version', '2.0'],
    ['surprise'],
    ['--work-dir', '/no/such/folder'],
    ['--work-dir'],
    ['--max-steps-per-turn', '0'],
    ['--port', 'x'],
    ['--protocol', 'nonsense'],
    ['--face', 'nonsense'],
  ]) {
    const refused = run(args, cwd);
    assert.equal(refused.code, 2, args.join(' '));
    assert.match(refused.err, /Usage: parley-agent/, args.join(' '));
    assert.equal(refused.out, '', args.join(' '));
  }
});

test('the flags of other clients are known: --yolo asks for nothing, --continue opens the last session', async (t) => {
  const cwd = temporaryFolder(t);
  const first = startAgent(t, { cwd, args: ['--yolo', '--no-thinking', '--model', 'any', '--session', 'one'] });
  await first.ok('prompt', { user_input: 'create file a.txt with "x"' });
  assert.ok(existsSync(path.join(cwd, 'a.txt')));
  assert.equal(first.messages.filter((message) => message.method === 'request').length, 0);
  await first.close();
  const second = startAgent(t, { cwd, args: ['--continue', '--plan'] });
  await second.ok('initialize', HELLO);
  assert.ok(Number((await second.ok('replay')).events) > 0);
  await second.ok('prompt', { user_input: 'create file b.txt with "x"' });
  assert.equal(existsSync(path.join(cwd, 'b.txt')), false, 'plan mode');
});

test('what is no valid request is answered in the words of JSON-RPC and hurts nothing', async (t) => {
  const agent = startAgent(t, { cwd: temporaryFolder(t) });
  const lines: readonly (readonly [line: string, code: number | undefined, id: string | null])[] = [
    ['{"jsonrpc":', -32700, null],
    ['no json at all', -32700, null],
    ['[{"jsonrpc":"2.0","id":"1","method":"cancel"}]', -32600, null],
    ['42', -32600, null],
    ['null', -32600, null],
    ['{"jsonrpc":"2.0","id":7,"method":"cancel"}', -32600, null],
    ['{"jsonrpc":"1.0","id":"v","method":"cancel"}', -32600, null],
    ['{"jsonrpc":"2.0","id":"m","method":3}', -32600, null],
    ['{"jsonrpc":"2.0","id":"n"}', -32600, null],
    ['{"jsonrpc":"2.0","id":"f","error":"text"}', -32600, null],
    ['{"jsonrpc":"2.0","id":"u","method":"toString"}', -32601, 'u'],
    ['{"jsonrpc":"2.0","id":"p","method":"prompt"}', -32602, 'p'],
    ['{"jsonrpc":"2.0","id":"q","method":"prompt","params":{"user_input":[{"type":"nonsense"}]}}', -32602, 'q'],
    ['{"jsonrpc":"2.0","id":"e","method":"prompt","params":{"user_input":"  "}}'.replace('"  "', '""'), -32602, 'e'],
    ['{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}', -32602, 'i'],
    ['{"jsonrpc":"2.0","id":"c","method":"initialize","params":{"protocol_version":"1","client":{}}}', -32602, 'c'],
    ['{"jsonrpc":"2.0","id":"x","method":"cancel"}', -32000, 'x'],
    ['', undefined, null],
    ['\r', undefined, null],
    ['{"jsonrpc":"2.0","method":"prompt","params":{"user_input":"dropped"}}', undefined, null],
    ['{"jsonrpc":"2.0","id":"nobody asked","result":{}}', undefined, null],
    ['{"jsonrpc":"2.0","id":null,"method":"cancel"}', undefined, null],
  ];
  for (const [line, code, id] of lines) {
    const before = agent.messages.length;
    agent.raw(`${line}\n`);
    if (code === undefined) continue;
    const answer = await agent.find((message) => agent.messages.indexOf(message) >= before && message.error !== undefined);
    assert.deepEqual([answer.error?.code, answer.id], [code, id], line);
  }
  assert.deepEqual(await agent.ok('prompt', { user_input: 'hello' }), { status: 'finished' });
  assert.equal(agent.events('TurnBegin').length, 1);
});

test('a prompt, a handshake and a replay during a turn are refused and do not disturb it', async (t) => {
  const cwd = temporaryFolder(t);
  const agent = startAgent(t, { cwd });
  await agent.ok('initialize', HELLO);
  const turn = agent.start('prompt', { user_input: 'create file a.txt with "x"' });
  const asked = await agent.asked('ApprovalRequest');
  for (const [method, params] of [
    ['prompt', { user_input: 'second' }],
    ['initialize', HELLO],
    ['replay', {}],
  ] as const) {
    assert.equal((await agent.call(method, params)).error?.code, -32000, method);
  }
  agent.answer(asked.id, { request_id: asked.id, response: 'approve' });
  assert.deepEqual((await agent.answerTo(turn)).result, { status: 'finished' });
  assert.ok(existsSync(path.join(cwd, 'a.txt')));
});

test('an answer of the wrong shape, an error and an unknown word count as a rejection; a second answer is ignored', async (t) => {
  const cwd = temporaryFolder(t);
  const agent = startAgent(t, { cwd });
  await agent.ok('initialize', HELLO);
  const bad: readonly object[] = [
    { result: { response: 'approve' } },
    { result: { request_id: 'x', response: 'sure' } },
    { result: null },
    { result: 'approve' },
    { error: { code: -32603, message: 'no' } },
  ];
  for (const answer of bad) {
    const turn = agent.start('prompt', { user_input: 'create file a.txt with "x"' });
    const asked = await agent.asked('ApprovalRequest');
    agent.send({ id: asked.id, ...answer });
    agent.send({ id: asked.id, result: { request_id: asked.id, response: 'approve' } });
    assert.deepEqual((await agent.answerTo(turn)).result, { status: 'finished' });
    assert.equal(existsSync(path.join(cwd, 'a.txt')), false, JSON.stringify(answer));
  }
  assert.ok(agent.events('ApprovalResponse').every((event) => event.response === 'reject'));
  agent.child.stdin.end();
  await once(agent.child, 'close');
  const logged = agent.stderr.match(/^parley-agent: the answer to request \S+ is malformed, the approval counts as rejected: .+$/gm);
  assert.equal(logged?.length, 4, 'the log says why; an error is an answer');
});

test('cancelling while an approval or a tool of the client is open ends the turn; late answers do nothing', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(path.join(cwd, 'a.txt'), 'x');
  const agent = startAgent(t, { cwd });
  const external_tools = [
    { name: 'open_in_ide', description: 'Open', parameters: { type: 'object', properties: { path: { type: 'string' } } } },
  ];
  await agent.ok('initialize', { ...HELLO, external_tools });
  const approving = agent.start('prompt', { user_input: 'create file b.txt with "x"' });
  const approval = await agent.asked('ApprovalRequest');
  await agent.ok('cancel');
  assert.deepEqual((await agent.answerTo(approving)).result, { status: 'cancelled' });
  assert.deepEqual(agent.events('ApprovalResponse').at(-1), { request_id: approval.id, response: 'reject', feedback: '' });
  agent.answer(approval.id, { request_id: approval.id, response: 'approve' });

  const calling = agent.start('prompt', { user_input: 'open a.txt' });
  const call = await agent.asked('ToolCallRequest');
  await agent.ok('cancel');
  assert.deepEqual((await agent.answerTo(calling)).result, { status: 'cancelled' });
  agent.answer(call.id, { tool_call_id: call.id, return_value: { is_error: false, output: '', message: '', display: [] } });

  assert.deepEqual(await agent.ok('prompt', { user_input: 'hello' }), { status: 'finished' });
  assert.equal(existsSync(path.join(cwd, 'b.txt')), false);
  assert.equal((await agent.call('cancel')).error?.code, -32000);
});

test('cancelling a running command ends its whole group', async (t) => {
  const cwd = temporaryFolder(t);
  const agent = startAgent(t, { cwd });
  const { turn, pid } = await withCommand(agent, cwd);
  await agent.ok('cancel');
  assert.deepEqual((await agent.answerTo(turn)).result, { status: 'cancelled' });
  await gone(pid);
});

test('the end of the input ends turn, command and process, with code 0', async (t) => {
  const cwd = temporaryFolder(t);
  const agent = startAgent(t, { cwd });
  const { pid } = await withCommand(agent, cwd);
  assert.deepEqual(await agent.close(), { code: 0, signal: null });
  await gone(pid);
});

test('SIGTERM ends turn, command and process', async (t) => {
  const cwd = temporaryFolder(t);
  const agent = startAgent(t, { cwd });
  const { pid } = await withCommand(agent, cwd);
  agent.child.kill('SIGTERM');
  assert.deepEqual(await agent.exited, { code: 143, signal: null });
  await gone(pid);
});

test('a client that stops reading does not keep the agent alive', async (t) => {
  const cwd = temporaryFolder(t);
  const agent = startAgent(t, { cwd });
  const { pid } = await withCommand(agent, cwd);
  agent.child.stdout.destroy();
  agent.send({ id: 'x', method: 'cancel' });
  assert.equal((await agent.exited).code, 0);
  await gone(pid);
});

test('a line of 100 MB is answered, and U+2028 stays inside its line', async (t) => {
  const agent = startAgent(t, { cwd: temporaryFolder(t) });
  await agent.ok('initialize', HELLO);
  const block = 'x'.repeat(1024 * 1024);
  agent.raw('{"jsonrpc":"2.0","id":"big","method":"prompt","params":{"user_input":"find \u2028\u2029","padding":"');
  for (let at = 0; at < 100; at += 1) {
    if (!agent.child.stdin.write(block)) await new Promise((resolve) => agent.child.stdin.once('drain', resolve));
  }
  agent.raw('"}}\n');
  assert.deepEqual((await agent.answerTo('big')).result, { status: 'finished' });
  assert.equal(agent.events('TurnBegin')[0]?.user_input, 'find \u2028\u2029');
  assert.deepEqual(agent.junk, []);
});

test('a multi-byte character that is cut between two chunks arrives whole', async (t) => {
  const agent = startAgent(t, { cwd: temporaryFolder(t) });
  const line = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id: 'c', method: 'prompt', params: { user_input: '查找 你好' } })}\n`);
  const cut = line.indexOf(Buffer.from('你')) + 1;
  agent.raw(line.subarray(0, cut));
  await new Promise((resolve) => setImmediate(resolve));
  agent.raw(line.subarray(cut));
  await agent.answerTo('c');
  assert.equal(agent.events('TurnBegin')[0]?.user_input, '查找 你好');
});

test('a fuzzer on the input, with prompts, approvals, questions and tools held open', async (t) => {
  const seconds = Number(process.env.PARLEY_FUZZ_SECONDS ?? 0);
  const cwd = temporaryFolder(t);
  const service = await startFuzzService();
  t.after(service.stop);
  const until = Date.now() + seconds * 1000;
  await fuzzAgent({ seed: 20261121, cwd, service: service.url, goOn: (rounds) => rounds < 24 || Date.now() < until });
  assert.deepEqual(readdirSync(cwd), [], 'and nothing was written');
});

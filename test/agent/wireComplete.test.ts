import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { type AgentProcess, startAgent, temporaryFolder } from './agentProcess.ts';
import { type Reply, type Service, startService } from './fakeService.ts';

const FULL = { protocol_version: '1.10', client: { name: 'test' }, capabilities: { supports_question: true, supports_plan_mode: true } };

interface Staged {
  readonly agent: AgentProcess;
  readonly service: Service;
  readonly cwd: string;
}

async function stage(
  t: TestContext,
  replies: readonly Reply[],
  args: readonly string[] = [],
  locale: Readonly<Record<string, string>> = {},
): Promise<Staged> {
  const cwd = temporaryFolder(t);
  const service = await startService(t, replies);
  const agent = startAgent(t, {
    cwd,
    args,
    env: { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'fake', PARLEY_MODEL_CONTEXT: '8000', ...locale },
  });
  return { agent, service, cwd };
}

const call = (name: string, input: object) => ({ name, input: JSON.stringify(input) });
const lastResult = (service: Service): unknown => service.bodies.at(-1)?.messages.at(-1)?.content;

test('a model behind the wire: thoughts, text, calls, token figures', async (t) => {
  const { agent, service } = await stage(t, [
    {
      thought: 'hm',
      text: 'Let me look.',
      calls: [call('ListDirectory', {})],
      usage: { prompt_tokens: 1000, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 400 } },
    },
    { text: 'Done.', usage: { prompt_tokens: 1100, completion_tokens: 5 } },
  ]);
  await agent.ok('initialize', FULL);
  assert.deepEqual(await agent.ok('prompt', { user_input: 'look' }), { status: 'finished' });
  assert.equal(agent.text, 'Let me look.Done.');
  assert.ok(agent.events('ContentPart').some((part) => part.type === 'think'));
  const [first] = agent.events('StatusUpdate');
  assert.deepEqual(first?.token_usage, { input_other: 600, output: 20, input_cache_read: 400, input_cache_creation: 0 });
  assert.equal(first?.max_context_tokens, 8000);
  assert.ok(Number(first?.context_tokens) >= 1020);
  const order = agent.messages
    .flatMap((message) => (message.method === 'event' ? [message.params?.type] : []))
    .filter((type) => !/ContentPart|ToolCallPart/.test(String(type)));
  assert.deepEqual(order, ['TurnBegin', 'StepBegin', 'ToolCall', 'StatusUpdate', 'ToolResult', 'StepBegin', 'StatusUpdate', 'TurnEnd']);
  const names = agent.events('ToolCall').map((event) => (event.function as { name: string }).name);
  assert.deepEqual(names, ['ListDirectory']);
  assert.equal(
    agent
      .events('ToolCallPart')
      .map((part) => part.arguments_part)
      .join(''),
    '{}',
  );
  assert.match(String(service.bodies[0]?.messages[0]?.content), /Working directory/);
});

test('a busy service: StepRetry in 1.10, and the error code when it stays so', async (t) => {
  const busy: Reply = { status: 429, headers: { 'retry-after': '0' }, message: 'slow down' };
  const { agent } = await stage(t, [busy, { text: 'There.' }]);
  await agent.ok('initialize', FULL);
  await agent.ok('prompt', { user_input: 'x' });
  assert.deepEqual(agent.events('StepRetry'), [
    { n: 1, next_attempt: 2, max_attempts: 4, wait_s: 0, error_type: 'HTTP 429', status_code: 429 },
  ]);
  const always = await stage(t, [busy]);
  await always.agent.ok('initialize', FULL);
  const { error } = await always.agent.call('prompt', { user_input: 'x' });
  assert.equal(error?.code, -32003);
  assert.match(String(error?.message), /slow down/);
  assert.equal(always.agent.events('StepInterrupted').length, 1);
});

test('a refused key is -32004, an input the model cannot take -32002', async (t) => {
  const key = await stage(t, [{ status: 401, message: 'no' }]);
  assert.equal((await key.agent.call('prompt', { user_input: 'x' })).error?.code, -32004);
  const image = await stage(t, [{ status: 400, message: 'image_url is not supported' }]);
  const user_input = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }];
  assert.equal((await image.agent.call('prompt', { user_input })).error?.code, -32002);
});

test('a model that is only half named is -32001, with what is missing', async (t) => {
  for (const [env, missing] of [
    [{ PARLEY_MODEL_NAME: 'fake' }, /PARLEY_MODEL_BASE_URL is missing/],
    [{ PARLEY_MODEL_BASE_URL: 'http://127.0.0.1:9/v1' }, /PARLEY_MODEL_NAME is missing/],
  ] as const) {
    const agent = startAgent(t, { cwd: temporaryFolder(t), env });
    await agent.ok('initialize', FULL);
    const { error } = await agent.call('prompt', { user_input: 'x' });
    assert.equal(error?.code, -32001);
    assert.match(String(error?.message), missing);
  }
});

test('what the model cannot take is told once: the next prompt goes without it', async (t) => {
  const user_input = [
    { type: 'text', text: 'what is this?' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
  ];
  const { agent, service } = await stage(t, [{ status: 400, message: 'image_url is not supported' }, { text: 'ok' }]);
  assert.equal((await agent.call('prompt', { user_input })).error?.code, -32002);
  assert.deepEqual(await agent.ok('prompt', { user_input: 'then in words' }), { status: 'finished' });
  const sent = JSON.stringify(service.bodies.at(-1)?.messages);
  assert.ok(!sent.includes('image_url') && sent.includes('[image the model could not take]'), sent);

  const guide = startAgent(t, { cwd: temporaryFolder(t) });
  const { error } = await guide.call('prompt', { user_input });
  assert.equal(error?.code, -32002);
  assert.match(String(error?.message), /Connect a model/);
  assert.deepEqual(await guide.ok('prompt', { user_input: 'hello' }), { status: 'finished' });
});

test('a picture in the result of a client tool reaches the model; one it cannot take is -32002, once', async (t) => {
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const run = async (last: Reply) => {
    const calls = ['a', 'b'].map((path) => call('lent_tool', { path }));
    const { agent, service } = await stage(t, [{ calls }, last, { text: 'ok' }]);
    await agent.ok('initialize', { ...FULL, external_tools: [{ name: 'lent_tool', description: 'd', parameters: { type: 'object' } }] });
    const turn = agent.start('prompt', { user_input: 'x' });
    for (const output of [[{ type: 'text', text: 'see' }, picture], 'plain']) {
      const { id } = await agent.asked('ToolCallRequest');
      agent.answer(id, { tool_call_id: id, return_value: { is_error: false, output, message: '', display: [] } });
    }
    return { agent, service, answer: await agent.answerTo(turn) };
  };
  const taken = await run({ text: 'A dot.' });
  assert.deepEqual(taken.answer.result, { status: 'finished' });
  const messages = taken.service.bodies.at(-1)?.messages ?? [];
  assert.deepEqual(
    messages.slice(-4).map((message) => message.role),
    ['assistant', 'tool', 'tool', 'user'],
  );
  assert.match(JSON.stringify(messages.at(-1)), /result of lent_tool.*data:image\/png;base64,AAAA/);
  const refused = await run({ status: 400, message: 'image_url is not supported' });
  assert.equal(refused.answer.error?.code, -32002);
  assert.deepEqual(await refused.agent.ok('prompt', { user_input: 'in words' }), { status: 'finished' });
  const after = JSON.stringify(refused.service.bodies.at(-1)?.messages);
  assert.ok(!after.includes('base64') && after.includes('[image the model could not take]'), after);
});

test('the same call of a client tool twice in one step is one request and two results; in another step it is asked again', async (t) => {
  const twice = call('lent_tool', { path: 'a' });
  const { agent } = await stage(t, [{ calls: [twice, call('lent_tool', { path: 'b' }), twice] }, { calls: [twice] }, { text: 'ok' }]);
  await agent.ok('initialize', { ...FULL, external_tools: [{ name: 'lent_tool', description: 'd', parameters: { type: 'object' } }] });
  const turn = agent.start('prompt', { user_input: 'x' });
  for (const output of ['first', 'other', 'again']) {
    const { id } = await agent.asked('ToolCallRequest');
    agent.answer(id, { tool_call_id: id, return_value: { is_error: false, output, message: '', display: [] } });
  }
  await agent.answerTo(turn);
  assert.deepEqual(
    agent.events('ToolResult').map((event) => (event.return_value as { output: string }).output),
    ['first', 'other', 'first', 'again'],
  );
  assert.equal(new Set(agent.events('ToolResult').map((event) => event.tool_call_id)).size, 4);
});

test('cancelling reaches the model service', async (t) => {
  const { agent, service } = await stage(t, [{ text: 'And', hang: true }, { text: 'ok' }]);
  await agent.ok('initialize', FULL);
  const turn = agent.start('prompt', { user_input: 'x' });
  await agent.find((message) => message.params?.type === 'ContentPart');
  assert.deepEqual(await agent.ok('cancel'), {});
  assert.deepEqual((await agent.answerTo(turn)).result, { status: 'cancelled' });
  while (service.aborted() === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(await agent.ok('prompt', { user_input: 'again' }), { status: 'finished' });
});

test('prompt and cancel in one write: the turn is cancelled', async (t) => {
  const { agent } = await stage(t, [{ hang: true }]);
  const lines = ['prompt', 'cancel'].map((method, at) =>
    JSON.stringify({ jsonrpc: '2.0', id: `w${at}`, method, params: { user_input: 'x' } }),
  );
  agent.raw(`${lines.join('\n')}\n`);
  assert.deepEqual((await agent.answerTo('w1')).result, {});
  assert.deepEqual((await agent.answerTo('w0')).result, { status: 'cancelled' });
});

test('a session is resumed with what the model knew, and replayed without doing anything', async (t) => {
  const cwd = temporaryFolder(t);
  const args = ['--session', 'my-session'];
  const first = startAgent(t, { cwd, args });
  await first.ok('initialize', FULL);
  const made = first.start('prompt', { user_input: 'create file made.txt with "hello"' });
  const asked = await first.asked('ApprovalRequest');
  first.answer(asked.id, { request_id: asked.id, response: 'approve' });
  await first.answerTo(made);
  await first.ok('prompt', { user_input: 'plan: read made.txt; find hello' });
  await first.close();
  writeFileSync(path.join(cwd, 'made.txt'), 'changed since');

  const second = startAgent(t, { cwd, args });
  await second.ok('initialize', FULL);
  const replayed = await second.ok('replay');
  const shown = second.messages.filter((message) => message.method !== undefined);
  assert.equal(replayed.status, 'finished');
  assert.equal(replayed.events, shown.length);
  assert.deepEqual(
    second.events('TurnBegin').map((event) => event.user_input),
    ['create file made.txt with "hello"', 'plan: read made.txt; find hello'],
  );
  assert.equal(second.text, first.text);
  assert.ok(second.events('ContentPart').length < first.events('ContentPart').length, 'joined');
  assert.ok(second.events('ToolCall').every((event) => String((event.function as { arguments: string }).arguments).startsWith('{')));
  assert.equal(readFileSync(path.join(cwd, 'made.txt'), 'utf8'), 'changed since');
  await second.ok('prompt', { user_input: 'next' });
  assert.match(second.text, /Step 1.*read made\.txt/s);
});

test('a session that was left in plan mode says so when it is taken up, and what its record says last is put right', async (t) => {
  const cwd = temporaryFolder(t);
  const args = ['--session', 'planned'];
  const first = startAgent(t, { cwd, args });
  await first.ok('initialize', FULL);
  await first.ok('prompt', { user_input: '/plan on' });
  await first.close();
  const told = (agent: AgentProcess) =>
    agent.events('StatusUpdate').flatMap(({ plan_mode }) => (plan_mode === undefined ? [] : [plan_mode]));

  const second = startAgent(t, { cwd, args });
  await second.ok('initialize', FULL);
  await second.ok('replay');
  assert.deepEqual(told(second), [true, true], 'at once, and by the record');
  await second.ok('set_plan_mode', { enabled: false });
  await second.close();

  const third = startAgent(t, { cwd, args });
  await third.ok('initialize', FULL);
  assert.deepEqual(told(third), []);
  assert.equal((await third.ok('replay')).events, third.messages.filter(({ method }) => method !== undefined).length - 1);
  assert.deepEqual(told(third), [true, false]);
});

test('replaying nothing counts to nothing; a session without a turn leaves no folder', async (t) => {
  const cwd = temporaryFolder(t);
  const agent = startAgent(t, { cwd });
  await agent.ok('initialize', FULL);
  assert.deepEqual(await agent.ok('replay'), { status: 'finished', events: 0, requests: 0 });
  await agent.close();
  assert.equal(existsSync(`${cwd}.home`), false);
});

test('a steer is taken up after the step', async (t) => {
  const { agent, service } = await stage(t, [{ calls: [call('Shell', { command: 'true' })] }, { text: 'Both done.' }]);
  await agent.ok('initialize', FULL);
  assert.equal((await agent.call('steer', { user_input: 'x' })).error?.code, -32000);
  const turn = agent.start('prompt', { user_input: 'one' });
  const asked = await agent.asked('ApprovalRequest');
  assert.deepEqual(await agent.ok('steer', { user_input: 'and two' }), { status: 'steered' });
  agent.answer(asked.id, { request_id: asked.id, response: 'approve' });
  await agent.answerTo(turn);
  assert.deepEqual(agent.events('SteerInput'), [{ user_input: 'and two' }]);
  assert.equal(lastResult(service), 'and two');
});

test('plan mode: told before the answer, refuses changes, ends with an approved plan', async (t) => {
  const { agent, service, cwd } = await stage(t, [
    { calls: [call('WriteFile', { path: 'a.txt', content: 'x' })] },
    { calls: [call('ExitPlanMode', { plan: '# Plan\n1. write a.txt' })] },
    { calls: [call('WriteFile', { path: 'a.txt', content: 'x' })] },
    { text: 'Done.' },
  ]);
  await agent.ok('initialize', FULL);
  assert.deepEqual(await agent.ok('set_plan_mode', { enabled: true }), { status: 'ok', plan_mode: true });
  const at = agent.messages.findIndex((message) => message.params?.payload.plan_mode === true);
  assert.ok(at >= 0 && at < agent.messages.length - 1, 'StatusUpdate before the answer');
  const turn = agent.start('prompt', { user_input: 'write a.txt' });
  const question = await agent.asked('QuestionRequest');
  const offered = service.bodies[0]?.tools?.map((tool) => tool.function.name) ?? [];
  assert.ok(offered.includes('ExitPlanMode') && !offered.includes('WriteFile') && !offered.includes('Shell'), offered.join());
  assert.match(JSON.stringify(service.bodies[1]?.messages.at(-1)), /Plan mode is on/);
  assert.equal(agent.events('PlanDisplay')[0]?.content, '# Plan\n1. write a.txt');
  const [item] = question.payload.questions as { question: string; header: string; options: { label: string }[] }[];
  assert.equal(item?.header, 'Plan');
  assert.deepEqual(
    item?.options.map((option) => option.label),
    ['Approve', 'Reject', 'Reject and Exit'],
  );
  agent.answer(question.id, { request_id: question.id, answers: { [item?.question ?? '']: 'Approve' } });
  const approval = await agent.asked('ApprovalRequest');
  agent.answer(approval.id, { request_id: approval.id, response: 'approve' });
  await agent.answerTo(turn);
  assert.equal(readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'x');
  assert.ok(agent.events('StatusUpdate').some((status) => status.plan_mode === false));
});

test('questions: offered only to clients that show them, answered or dismissed', async (t) => {
  const questions = [{ question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] }];
  const ask: Reply = { calls: [call('AskUserQuestion', { questions })] };
  const { agent, service } = await stage(t, [ask, ask, { text: 'ok' }]);
  await agent.ok('initialize', FULL);
  const turn = agent.start('prompt', { user_input: 'x' });
  const first = await agent.asked('QuestionRequest');
  agent.answer(first.id, { request_id: first.id, answers: { 'Which?': 'B' } });
  const second = await agent.asked('QuestionRequest');
  assert.match(String(lastResult(service)), /"Which\?": "B"/);
  agent.answer(second.id, { request_id: second.id, answers: {} });
  await agent.answerTo(turn);
  assert.match(String(lastResult(service)), /dismissed/);

  const plain = await stage(t, [{ text: 'ok' }]);
  await plain.agent.ok('initialize', { protocol_version: '1.10' });
  await plain.agent.ok('prompt', { user_input: 'x' });
  const offered = plain.service.bodies[0]?.tools?.map((tool) => tool.function.name) ?? [];
  assert.ok(!offered.includes('AskUserQuestion') && !offered.includes('EnterPlanMode'));
});

test('hooks: a block becomes a failed result; no answer in time and errors let it pass', async (t) => {
  const list: Reply = { calls: [call('ListDirectory', {})] };
  const { agent, service } = await stage(t, [list, list, list, { text: 'ok' }]);
  const hooks = [
    { id: 'h1', event: 'PreToolUse', matcher: '^List', timeout: 1 },
    { id: 'h2', event: 'PreToolUse', matcher: '^Nothing' },
    { id: 'h3', event: 'NoSuchEvent' },
  ];
  const { hooks: told } = await agent.ok('initialize', { ...FULL, hooks });
  assert.deepEqual((told as { configured: object }).configured, { PreToolUse: 2 });
  const turn = agent.start('prompt', { user_input: 'x' });
  const first = await agent.asked('HookRequest');
  assert.deepEqual([first.payload.subscription_id, first.payload.event, first.payload.target], ['h1', 'PreToolUse', 'ListDirectory']);
  assert.equal((first.payload.input_data as { tool_name: string }).tool_name, 'ListDirectory');
  agent.answer(first.id, { request_id: first.id, action: 'block', reason: 'not now' });
  const second = await agent.asked('HookRequest');
  assert.match(String(lastResult(service)), /Blocked by a hook: not now/);
  agent.send({ id: second.id, error: { code: -32603, message: 'no' } });
  await agent.asked('HookRequest');
  await agent.answerTo(turn);
  assert.deepEqual(
    agent.events('HookResolved').map((event) => event.action),
    ['block', 'allow', 'allow'],
  );
});

test('a hook on Stop makes the model go on once', async (t) => {
  const { agent, service } = await stage(t, [{ text: 'one' }, { text: 'two' }]);
  await agent.ok('initialize', { ...FULL, hooks: [{ id: 's', event: 'Stop' }] });
  const turn = agent.start('prompt', { user_input: 'x' });
  const asked = await agent.asked('HookRequest');
  agent.answer(asked.id, { request_id: asked.id, action: 'block', reason: 'run the tests' });
  await agent.answerTo(turn);
  assert.equal(lastResult(service), 'run the tests');
  assert.equal(agent.text, 'onetwo');
});

test('a sub-agent is nested under its call, asks with its name, and only its report comes back', async (t) => {
  const order = { description: 'make a file', prompt: 'Write sub.txt', subagent_type: 'general' };
  const { agent, service, cwd } = await stage(t, [
    { calls: [call('Agent', order)] },
    { calls: [call('WriteFile', { path: 'sub.txt', content: 'x' })] },
    { text: 'The report.' },
    { text: 'All done.' },
  ]);
  await agent.ok('initialize', FULL);
  const turn = agent.start('prompt', { user_input: 'delegate' });
  const asked = await agent.asked('ApprovalRequest');
  assert.deepEqual([asked.payload.subagent_type, asked.payload.source_description], ['general', 'make a file']);
  agent.answer(asked.id, { request_id: asked.id, response: 'approve' });
  await agent.answerTo(turn);
  assert.equal(readFileSync(path.join(cwd, 'sub.txt'), 'utf8'), 'x');
  const nested = agent.events('SubagentEvent');
  const [toolCall] = agent.events('ToolCall');
  assert.ok(
    nested.length > 0 && nested.every((event) => event.parent_tool_call_id === toolCall?.id && event.agent_id === asked.payload.agent_id),
  );
  const inner = nested.map((event) => (event.event as { type: string }).type);
  assert.ok(inner.includes('ToolCall') && inner.includes('ToolResult') && inner.includes('ContentPart'));
  assert.deepEqual(nested[0]?.event, { type: 'TurnBegin', payload: { user_input: 'Write sub.txt' } }, 'its turn has an input of its own');
  assert.deepEqual([inner[0], inner.at(-1)], ['TurnBegin', 'TurnEnd']);
  assert.equal(agent.text, 'All done.');
  assert.match(String(lastResult(service)), /The report\.$/);
  assert.ok(!(service.bodies[1]?.tools ?? []).some((tool) => tool.function.name === 'Agent'));
});

test('skills of the workspace are commands, also ones that came after the start', async (t) => {
  const { agent, service, cwd } = await stage(t, [{ text: 'ok' }]);
  const folder = path.join(cwd, '.agents/skills/deploy');
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'SKILL.md'), '---\nname: deploy\ndescription: "Ships it"\n---\n# Deploy\nCall ship.sh\n');
  const { slash_commands } = await agent.ok('initialize', FULL);
  const skill = (slash_commands as { name: string; description: string }[]).find((one) => one.name === 'skill:deploy');
  assert.equal(skill?.description, 'Ships it');
  await agent.ok('prompt', { user_input: '/skill:deploy to staging' });
  assert.match(String(lastResult(service)), /Call ship\.sh[\s\S]*to staging/);
});

test('compaction is told by its events', async (t) => {
  const { agent } = await stage(t, [{ text: 'answer one' }, { text: 'answer two' }, { text: 'SUMMARY' }]);
  await agent.ok('initialize', FULL);
  await agent.ok('prompt', { user_input: 'first' });
  await agent.ok('prompt', { user_input: 'second' });
  await agent.ok('prompt', { user_input: '/compact' });
  assert.deepEqual([agent.events('CompactionBegin').length, agent.events('CompactionEnd').length], [1, 1]);
});

test('what a command prints is told while it runs, to a client that knows it; the result has its exit code', async (t) => {
  const command = 'echo one; sleep 30';
  const { agent } = await stage(t, [{ calls: [call('Shell', { command })] }], ['--live-output', '--yolo']);
  await agent.ok('initialize', FULL);
  const turn = agent.start('prompt', { user_input: 'run it' });
  const said = await agent.find((message) => message.params?.type === 'ToolOutput');
  assert.equal(said.params?.payload.text, 'one\n');
  await agent.ok('cancel');
  await agent.answerTo(turn);

  const plain = await stage(t, [{ calls: [call('Shell', { command: 'echo one; exit 3' })] }, { text: 'Done.' }], ['--yolo']);
  await plain.agent.ok('initialize', FULL);
  await plain.agent.ok('prompt', { user_input: 'run it' });
  assert.deepEqual(plain.agent.events('ToolOutput'), []);
  const result = plain.agent.events('ToolResult')[0]?.return_value as { readonly extras?: unknown };
  assert.deepEqual(result.extras, { exit_code: 3 });
});

test('a failure is told to the user in their language, and to the model in English', async (t) => {
  const replies = [{ calls: [call('ReadFile', { path: 'none' })] }, { text: 'Done.' }];
  const { agent, service } = await stage(t, replies, [], { PARLEY_LOCALE: 'zh-cn' });
  await agent.ok('initialize', FULL);
  await agent.ok('prompt', { user_input: 'read it' });
  const told = 'none 不存在。';
  assert.deepEqual(agent.events('ToolResult')[0]?.return_value, {
    ...{ is_error: true, output: '', message: 'none does not exist.' },
    ...{ display: [{ type: 'brief', text: told }], extras: { message_for_user: told } },
  });
  assert.match(String(lastResult(service)), /none does not exist/);
});

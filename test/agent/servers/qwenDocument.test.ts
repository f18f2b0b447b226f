import assert from 'node:assert/strict';
import { type Dirent, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { HintAnswers } from '../../../src/agent/servers/qwen/envelopeServer.ts';
import { terminalNote } from '../../../src/protocols/qwen/codec.ts';
import * as schema from '../../../src/protocols/qwen/schema.ts';
import { startService } from '../fakeService.ts';
import { CHUNKS, ENVELOPE, finished, type Line, metadata, offerNoTools, request, served, servedWith, text } from './qwenServed.ts';

/* What the document of the envelope dialect describes, item by item, from the side of the agent (docs/protocols/qwen.md, the table at its end). */

const annotations = (lines: readonly Line[], type: string): readonly Line[] =>
  lines.flatMap((line) => {
    if (line.type === type) return [line];
    const [choice] = (line.choices ?? []) as readonly Line[];
    const said = Object(choice?.delta ?? choice?.message) as { annotations?: readonly Line[] };
    return (said.annotations ?? []).filter((one) => one.type === type);
  });
const approve = (id: unknown) => ({
  type: 'control_response',
  request_id: id,
  response: { subtype: 'success', result: { behavior: 'approve' } },
});

for (const [name, args] of [
  ['messages', ENVELOPE],
  ['chunks', CHUNKS],
] as const) {
  test(`envelope, ${name}: what a command prints comes as terminal text of its call, colours beside it; the program's own log and its end as well`, async (t) => {
    const agent = served(t, ...args);
    agent.say(request(text("run printf 'a\\033[32mb\\033[0mc'"), { prompt_id: 'p1' }));
    await offerNoTools(agent);
    const asked = await agent.line((line) => line.subtype === 'can_use_tool');
    agent.say(approve(asked.request_id));
    await agent.line(finished);
    agent.end();
    assert.equal(await agent.exited, 0);
    const notes = annotations(agent.lines(), 'x-qwen-terminal');
    const printed = notes.filter((note) => note.source === 'tool');
    assert.equal(printed.map((note) => note.text).join(''), 'abc');
    assert.deepEqual(printed[0]?.ansi, [
      { offset: 1, code: '\u001b[32m' },
      { offset: 2, code: '\u001b[0m' },
    ]);
    assert.deepEqual(printed[0]?.spans, [{ start: 1, end: 2, style: { theme_token: 'AccentGreen' } }]);
    for (const { channel, log_scope: scope, prompt_id: prompt, tool_call_id: call } of printed)
      assert.deepEqual([channel, scope, prompt, call], ['stdout', 'tool', 'p1', asked.tool_call_id]);
    const [logged] = notes.filter((note) => note.source === 'console');
    assert.deepEqual([logged?.channel, logged?.console_level, logged?.log_scope], ['stderr', 'warn', 'system']);
    assert.match(String(logged?.text), /tools of "ide"/);
    const last = agent.lines().at(-1);
    assert.deepEqual([last?.type, last?.source, last?.exit_code], ['x-qwen-terminal', 'system', 0]);
    assert.equal(agent.told.err, '');
  });
}

test('envelope: what a command prints says on which output', async (t) => {
  const agent = served(t, ...ENVELOPE, '--yolo');
  agent.say(request(text("run printf out; printf 'wrong\\033[31m!' >&2")));
  await offerNoTools(agent);
  await agent.line(finished);
  const printed = annotations(agent.lines(), 'x-qwen-terminal').filter((note) => note.source === 'tool');
  const on = (channel: string) => printed.flatMap((note) => (note.channel === channel ? [note.text] : [])).join('');
  assert.deepEqual([on('stdout'), on('stderr')], ['out', 'wrong!']);
});

test('envelope: a plan is asked about as a plan, and its approval shown as a summary of it', async (t) => {
  const service = await startService(t, [
    { calls: [{ name: 'ExitPlanMode', input: '{"plan":"1. Look\\n2. Do"}' }] },
    { thought: '**Doing it** as planned', text: 'Done.' },
  ]);
  const agent = servedWith(t, { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'm' }, ...ENVELOPE, '--plan');
  agent.say(request(text('go'), { prompt_id: 'p1' }));
  await offerNoTools(agent);
  const asked = await agent.line((line) => line.subtype === 'can_use_tool');
  assert.deepEqual(asked.tool, { name: 'exit_plan_mode', arguments: { plan: '1. Look\n2. Do' } });
  agent.say(approve(asked.request_id));
  await agent.line(finished);
  const displays = annotations(agent.lines(), 'x-qwen-tool-display');
  assert.deepEqual(
    displays.map((one) => one.status),
    ['Pending', 'Confirming', 'Executing', 'Success'],
  );
  assert.deepEqual(displays.at(-1)?.result_display, {
    log_scope: 'tool',
    kind: 'plan_summary',
    message: 'The user approved the plan. Plan mode is off; carry it out.',
    plan_markdown: '1. Look\n2. Do',
  });
  const [thought] = annotations(agent.lines(), 'x-qwen-thought');
  assert.deepEqual([thought?.subject, thought?.description], ['Doing it', 'as planned']);
});

test('envelope: a request chooses model, sampling and tools of its own turn, and of no other', async (t) => {
  const service = await startService(t, [{ text: 'One.' }, { text: 'Two.' }]);
  const agent = servedWith(t, { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'm' }, ...ENVELOPE);
  const options = { temperature: 0.2, top_p: 0.5, tool_overrides: ['EditTool', 'run_shell_command', 'ReadFile'] };
  agent.say(request(text('one'), { prompt_id: 'p1', model: 'other', options }));
  await offerNoTools(agent);
  const end = await agent.line(finished);
  assert.equal(end.model, 'other');
  const before = agent.lines().length;
  agent.say({ ...request(text('two'), { prompt_id: 'p2' }), session_id: '' });
  await agent.line((line, at) => at >= before && finished(line));
  const seen = service.bodies.map((body) => {
    const { temperature, top_p } = body as unknown as { temperature?: number; top_p?: number };
    return [body.model, temperature, top_p, body.tools?.map((one) => one.function.name).sort()] as const;
  });
  assert.deepEqual(seen[0], ['other', 0.2, 0.5, ['ReadFile', 'Shell', 'StrReplaceFile']]);
  assert.deepEqual(seen[1]?.slice(0, 3), ['m', undefined, undefined]);
  assert.ok((seen[1]?.[3]?.length ?? 0) > 3);
  const third = agent.lines().length;
  agent.say({ ...request(text('three'), { prompt_id: 'p3' }), session_id: '_new', model: 'third' });
  await agent.line((line, at) => at >= third && finished(line));
  const models = agent.lines().map((line, at) => (line.model === undefined ? '' : `${at < before ? 1 : at < third ? 2 : 3} ${line.model}`));
  assert.deepEqual([...new Set(models.filter(Boolean))], ['1 other', '2 m', '3 third']);
  const greeting = agent.lines().find((line) => metadata(line).capabilities !== undefined) ?? {};
  const { model_override: model, tool_overrides: tools } = Object(metadata(greeting).capabilities);
  assert.deepEqual([model, tools], [true, true]);
});

test('envelope: a prompt during a turn is refused by its name, ends, and leaves the running one alone', async (t) => {
  const agent = served(t, ...ENVELOPE);
  agent.say(request(text('run echo never'), { prompt_id: 'p1' }));
  await offerNoTools(agent);
  const asked = await agent.line((line) => line.subtype === 'can_use_tool');
  agent.say({ ...request(text('hello'), { prompt_id: 'p2' }), session_id: '' });
  const refused = await agent.line((line) => metadata(line).error !== undefined);
  assert.deepEqual(
    [Object(Object(refused.choices)[0]).finish_reason, metadata(refused).prompt_id, Object(metadata(refused).error).retryable],
    ['stop', 'p2', true],
  );
  agent.say({ type: 'control_response', request_id: asked.request_id, response: { subtype: 'success', result: { behavior: 'deny' } } });
  await agent.line(finished);
});

test('envelope: a tool of the client may be answered by a tool response in the place of a message', async (t) => {
  const service = await startService(t, [{ calls: [{ id: 'c1', name: 'open_in_ide', input: '{"path":"a.txt"}' }] }, { text: 'Opened.' }]);
  const agent = servedWith(t, { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'm' }, ...ENVELOPE);
  agent.say(request(text('open it'), { prompt_id: 'p1' }));
  const answer = async (method: string, result: object): Promise<void> => {
    const asked = await agent.line((line) => Object(line.message).method === method);
    const mcp = { jsonrpc: '2.0', id: Object(asked.message).id ?? 0, result };
    agent.say({ type: 'control_response', request_id: asked.request_id, response: { subtype: 'success', result: { mcp_response: mcp } } });
  };
  await answer('initialize', {});
  await answer('notifications/initialized', {});
  await answer('tools/list', { tools: [{ name: 'open_in_ide', description: 'Opens', inputSchema: { type: 'object' } }] });
  await agent.line((line) => Object(line.message).method === 'tools/call');
  const parts = [{ type: 'function_response', function_response: { name: 'open_in_ide', response: { output: 'It is open.' } } }];
  const more = { session_id: '', prompt_id: 'p1', continuation: true };
  agent.say({ ...more, tool_request: { callId: 'c1', name: 'open_in_ide' }, input: { origin: 'tool_response', parts } });
  await agent.line(finished);
  assert.match(JSON.stringify(service.bodies[1]?.messages), /It is open\./);
  agent.say({ ...more, input: { origin: 'tool_response', parts } });
  const late = await agent.line((line) => metadata(line).error !== undefined);
  assert.match(Object(metadata(late).error).message, /needs its tool_call_id/);
});

test('envelope: a text of the system is a prompt, marked as such, and never a command', async (t) => {
  const service = await startService(t, [{ text: 'Noted.' }]);
  const agent = servedWith(t, { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'm' }, ...ENVELOPE);
  agent.say({ ...request([], { prompt_id: 'p1' }), input: { origin: 'system', parts: text('/clear was pressed') } });
  await offerNoTools(agent);
  await agent.line(finished);
  assert.match(JSON.stringify(service.bodies[0]?.messages), /<system-reminder>\\n\/clear was pressed/);
});

test('envelope: commands say when nobody can look at calls before they run; one that becomes a prompt says that', async (t) => {
  const service = await startService(t, [{ text: 'Explored.' }]);
  const agent = servedWith(t, { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'm' }, ...ENVELOPE, '--yolo');
  agent.say(request(text('/status'), { prompt_id: 'p1' }));
  await offerNoTools(agent);
  const status = await agent.line((line) => line.type === 'result/command');
  assert.deepEqual(metadata(status).audit, {
    enabled: false,
    message: 'Approvals are off (yolo): the client cannot look at calls before they run.',
  });
  agent.say({
    ...request([], { prompt_id: 'p2' }),
    session_id: '',
    input: { origin: 'user', parts: [], command: { kind: 'slash', path: ['init'], args: '' } },
  });
  const became = await agent.line((line) => line.type === 'result/command' && line.prompt_id === 'p2');
  assert.deepEqual(
    [became.command, became.result],
    [
      { kind: 'slash', path: ['init'], args: '' },
      { type: 'submit_prompt', content: [] },
    ],
  );
  await agent.line(finished);
  const careful = served(t, ...ENVELOPE);
  careful.say(request(text('/status'), { prompt_id: 'p1' }));
  await offerNoTools(careful);
  assert.equal((await careful.line((line) => line.type === 'result/command')).metadata, undefined);
});

test('envelope: a compressed conversation says so, with its size before and after', async (t) => {
  const agent = served(t, ...CHUNKS);
  agent.say(request(text('hello'), { prompt_id: 'p1' }));
  await offerNoTools(agent);
  await agent.line(finished);
  agent.say({ ...request(text('/compact'), { prompt_id: 'p2' }), session_id: '' });
  await agent.line((line) => line.type === 'result/command');
  const [compressed] = annotations(agent.lines(), 'x-qwen-session-event').filter((one) => one.event === 'ChatCompressed');
  const { original_tokens: from, compressed_tokens: to } = Object(compressed?.metrics) as Record<string, unknown>;
  assert.ok(typeof from === 'number' && typeof to === 'number' && from > 0, JSON.stringify(compressed));
});

test('envelope: a request with a member of the wrong kind is fatal and named; a late answer is told at once', async (t) => {
  const late = served(t, ...ENVELOPE);
  late.say({ type: 'control_response', request_id: 'gone', response: { subtype: 'success', result: {} } });
  const told = await late.line((line) => metadata(line).control_errors !== undefined);
  assert.deepEqual(metadata(told).control_errors, [{ request_id: 'gone', message: 'No such request is open.' }]);
  for (const [wrong, param] of [
    [{ input: { origin: 'nobody', parts: [] } }, 'input.origin'],
    [{ prompt_id: 7, input: { origin: 'user', parts: [] } }, 'prompt_id'],
    [{ input: { origin: 'user', parts: [] }, options: { tool_overrides: 'all' } }, 'options.tool_overrides'],
  ] as const) {
    const agent = served(t, ...ENVELOPE);
    agent.say({ session_id: '_new', ...wrong });
    assert.equal(await agent.exited, 1);
    const { type, param: named, code } = Object(agent.lines()[0]?.error);
    assert.deepEqual([type, named, code], ['invalid_request_error', param, 'QWEN_INVALID_INPUT']);
  }
});

test('hints: files that take long are announced, an error says why, and a cancelled request gets no answer', async () => {
  const lines: Line[] = [];
  let wake = () => {};
  const line = async (fits: (line: Line) => boolean): Promise<Line> => {
    for (;;) {
      const found = lines.find(fits);
      if (found) return found;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const lists: ((entries: readonly Dirent[]) => void)[] = [];
  const hints = new HintAnswers(
    (one) => {
      lines.push(one);
      wake();
    },
    (folder) => {
      if (folder.endsWith('secret')) return Promise.reject(Object.assign(new Error('no'), { code: 'EACCES' }));
      return new Promise((resolve) => lists.push(resolve));
    },
  );
  const scene = { session: 's', cwd: '/w', commands: { all: [], find: () => undefined } };
  const ask = (id: string, typed: string) =>
    hints.answer(
      schema.hintRequest.parse({ type: 'command_hint_request', prompt_id: id, trigger: 'at', text: typed, cursor: typed.length }),
      scene,
    );
  const slow = ask('slow', '@a');
  assert.deepEqual([(await line((one) => one.prompt_id === 'slow')).status, lines.length], ['loading', 1]);
  const word = ask('word', 'see @old and @a\\ b');
  const dropped = ask('dropped', '@a');
  hints.cancel('dropped');
  const entry = { name: 'a b.txt', isDirectory: () => false } as Dirent;
  for (const list of lists) list([entry]);
  await Promise.all([slow, word, dropped, ask('secret', '@secret/'), ask('outside', '@../')]);
  const answers = Object.fromEntries(lines.map((one) => [`${one.prompt_id} ${one.status}`, one]));
  assert.deepEqual(answers['slow ok']?.suggestions, [{ label: 'a b.txt', value: 'a\\ b.txt' }]);
  assert.deepEqual(answers['word ok']?.suggestions, [{ label: 'a b.txt', value: 'a\\ b.txt' }]);
  assert.match(String(answers['secret error']?.message), /cannot be read: EACCES/);
  assert.match(String(answers['outside error']?.message), /outside/);
  assert.ok(!lines.some((one) => one.prompt_id === 'dropped'));
});

test('envelope: spans name the colours of the theme, and stand for all of them or none', () => {
  const spans = (words: string) => terminalNote({ channel: 'stdout', source: 'tool', text: words, scope: 'tool', prompt: 'p' }).spans;
  assert.deepEqual(spans('plain'), []);
  assert.deepEqual(spans('\u001b[1;31mab\u001b[22mc\u001b[39md\u001b[mend'), [
    { start: 0, end: 2, style: { bold: true, theme_token: 'AccentRed' } },
    { start: 2, end: 3, style: { theme_token: 'AccentRed' } },
  ]);
  assert.deepEqual(spans('\u001b[32mok\u001b[0m \u001b[38;5;200mpink\u001b[0m'), []);
});

test('envelope: an answer that is cut at its greatest length is followed by MAX_TOKENS, once', async (t) => {
  const service = await startService(t, [{ text: 'Half an ans', finish: 'length' }]);
  const agent = servedWith(t, { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'm' }, ...CHUNKS);
  agent.say(request(text('go')));
  await offerNoTools(agent);
  await agent.line(finished);
  const events = annotations(agent.lines(), 'x-qwen-session-event');
  assert.deepEqual(
    events.map((event) => event.event),
    ['MAX_TOKENS', 'Finished'],
  );
  assert.match(String(events[0]?.message), /length/);
  const said = agent.lines().map((line) => Object(Object(Object(line.choices)[0]).delta).content ?? '');
  assert.equal(said.join(''), 'Half an ans');
});

test('envelope: hook_callback asks a client that wants it; a no, a failure and nothing said stop a call before it runs', async (t) => {
  const calls = ['one', 'two', 'three'].map((name) => ({
    calls: [{ name: 'Shell', input: JSON.stringify({ command: `touch ${name}` }) }],
  }));
  const service = await startService(t, [...calls, { text: 'Done.' }]);
  const agent = servedWith(t, { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'm' }, ...ENVELOPE, '--yolo');
  agent.say(request(text('go'), { options: { hooks: ['PreToolUse', 'Nonsense'] } }));
  await offerNoTools(agent);
  const answers = [
    { subtype: 'success', result: { behavior: 'deny', message: 'not that one' } },
    { subtype: 'error', error: { message: 'broken', retryable: false } },
    { subtype: 'success', result: {} },
  ];
  for (const [at, response] of answers.entries()) {
    const asked = await agent.line(
      (line) => line.subtype === 'hook_callback' && JSON.stringify(line).includes(`touch ${['one', 'two', 'three'][at]}`),
    );
    const { event, target, input } = Object(asked.payload) as Line;
    assert.deepEqual([event, target, Object(input).tool_name], ['PreToolUse', 'run_shell_command', 'run_shell_command']);
    agent.say({ type: 'control_response', request_id: asked.request_id, response });
  }
  await agent.line(finished);
  assert.deepEqual(readdirSync(agent.cwd), ['three']);
  const results = JSON.stringify(service.bodies.at(-1)?.messages);
  assert.match(results, /not that one/);
  assert.match(results, /broken/);
  assert.ok(annotations(agent.lines(), 'x-qwen-session-event').some(({ message }) => /the hook "Nonsense"/.test(String(message))));
});

test('envelope: a sub-agent is a task_execution in the display of its call, with its calls and its report', async (t) => {
  const order = { description: 'look', prompt: 'Look.', subagent_type: 'general' };
  const service = await startService(t, [
    { calls: [{ name: 'Agent', input: JSON.stringify(order) }] },
    { calls: [{ name: 'ListDirectory', input: '{"path":"."}' }] },
    { text: 'The report.' },
    { text: 'Done.' },
  ]);
  const agent = servedWith(t, { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'm' }, ...ENVELOPE, '--yolo');
  agent.say(request(text('go')));
  await offerNoTools(agent);
  await agent.line(finished);
  const shown = annotations(agent.lines(), 'x-qwen-tool-display').flatMap(({ result_display: result }) =>
    result ? [Object(result) as Line] : [],
  );
  const steps = shown.map(({ kind, subagentName, status, toolCalls }) => [
    kind,
    subagentName,
    status,
    (toolCalls as readonly Line[]).map((call) => [call.name, call.status]),
  ]);
  assert.deepEqual(steps, [
    ['task_execution', 'general', 'running', [['list_directory', 'executing']]],
    ['task_execution', 'general', 'running', [['list_directory', 'success']]],
    ['task_execution', 'general', 'completed', [['list_directory', 'success']]],
  ]);
  assert.match(String(shown.at(-1)?.result), /The report\./);
});

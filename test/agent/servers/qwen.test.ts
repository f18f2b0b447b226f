import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { CLIENT_WORDS, successLine } from '../../../src/protocols/qwen/codec.ts';
import { temporaryFolder } from '../agentProcess.ts';
import {
  CHUNKS,
  ENVELOPE,
  finished,
  type Line,
  MESSAGES,
  metadata,
  offerNoTools,
  request,
  served,
  servedWith,
  text,
} from './qwenServed.ts';

for (const [name, args] of [
  ['messages', ENVELOPE],
  ['chunks', CHUNKS],
] as const) {
  test(`envelope, ${name}: a prompt without anything in it is refused and runs no turn; the next one does`, async (t) => {
    const agent = served(t, ...args);
    agent.say(request([], { prompt_id: 'p1' }));
    await agent.line(finished);
    const errors = agent.lines().flatMap((line) => metadata(line).error ?? []);
    assert.deepEqual(errors, [{ message: 'The prompt is empty.', code: 'QWEN_EMPTY_INPUT', retryable: false }]);
    assert.ok(!agent.lines().some((line) => JSON.stringify(line).includes('tool_calls":[')));
    const before = agent.lines().length;
    agent.say(request(text('hello'), { prompt_id: 'p2' }));
    await agent.line((line, at) => at >= before && finished(line));
    agent.end();
    assert.equal(await agent.exited, 0);
  });
}

test('envelope: a version it does not speak is refused with an exit that says so; a minor one of its own is served', async (t) => {
  const refused = served(t, ...ENVELOPE);
  refused.say(request(text('hello'), { metadata: { protocol_version: 2 } }));
  assert.notEqual(await refused.exited, 0);
  const [last] = refused.lines().filter((line) => metadata(line).error !== undefined);
  assert.equal(Object(metadata(last ?? {}).error).code, 'unsupported_protocol');
  assert.match(JSON.stringify(last), /"finish_reason":"error"/);
  const taken = served(t, ...ENVELOPE);
  taken.say(request(text('hello'), { metadata: { protocol_version: '1.2' } }));
  await taken.line(finished);
});

test('envelope: a line that is no request is fatal, as an error object and a code', async (t) => {
  for (const line of ['{"model":"m","messages":[]}\n', 'not json\n']) {
    const agent = served(t, ...ENVELOPE);
    agent.raw(line);
    assert.equal(await agent.exited, 1);
    assert.equal(Object(agent.lines()[0]?.error).type, 'invalid_request_error');
  }
});

test('envelope: an error answer to a request for a permission means no', async (t) => {
  const agent = served(t, ...ENVELOPE);
  agent.say(request(text('run echo never')));
  const offered = await agent.line((line) => line.subtype === 'mcp_message');
  const failed = { subtype: 'error', error: { message: 'callback broke', retryable: false } };
  agent.say({ type: 'control_response', request_id: offered.request_id, response: failed });
  const asked = await agent.line((line) => line.subtype === 'can_use_tool');
  const waits = agent.lines().find((line) => JSON.stringify(line).includes('"Confirming"'));
  assert.match(JSON.stringify(waits), /"confirmation":\{"type":"exec","title":"[^"]*","command":"echo never"/);
  agent.say({ type: 'control_response', request_id: asked.request_id, response: failed });
  await agent.line(finished);
  assert.match(agent.told.out, /"status":"Error"[^\n]*The approval failed, so the call did not run: callback broke/);
  assert.doesNotMatch(agent.told.out, /reject/i, 'the user has rejected nothing');
});

test('envelope: an answer with an unknown behavior is a control error, and approves nothing', async (t) => {
  const agent = served(t, ...ENVELOPE);
  agent.say(request(text('run echo never')));
  const offered = await agent.line((line) => line.subtype === 'mcp_message');
  agent.say({ type: 'control_response', request_id: offered.request_id, response: { subtype: 'error', error: { message: 'none' } } });
  const asked = await agent.line((line) => line.subtype === 'can_use_tool');
  agent.say({ type: 'control_response', request_id: asked.request_id, response: { subtype: 'success', result: { behavior: 'perhaps' } } });
  const told = await agent.line((line) => metadata(line).control_errors !== undefined);
  const message = 'The behavior "perhaps" is none of approve, allow, deny, reject.';
  assert.deepEqual(metadata(told).control_errors, [{ request_id: asked.request_id, message }]);
  await agent.line(finished);
  assert.deepEqual(statuses(agent.lines()), ['Pending', 'Confirming', 'Error']);
});

test('envelope: the end of the program is told once, with its exit code', async (t) => {
  const codes = (agent: ReturnType<typeof served>) =>
    agent.lines().flatMap((line) => (typeof line.exit_code === 'number' ? [line.exit_code] : []));
  const ended = served(t, ...ENVELOPE);
  ended.say({ type: 'heartbeat_request' });
  await ended.line((line) => line.type === 'result/heartbeat');
  ended.end();
  assert.deepEqual([await ended.exited, codes(ended)], [0, [0]]);
  const fatal = served(t, ...ENVELOPE);
  fatal.say({ input: {} });
  assert.deepEqual([await fatal.exited, codes(fatal)], [1, []], 'its last line is the fatal one');
});

test('message: an error answer to a request for a permission fails the call in its words, and denies nothing', async (t) => {
  const agent = served(t, ...MESSAGES);
  agent.say({ type: 'control_request', request_id: 'i', request: { subtype: 'initialize', hooks: null } });
  await agent.line((one) => one.type === 'control_response');
  agent.say({ type: 'user', session_id: '', parent_tool_use_id: null, message: { role: 'user', content: 'run echo never' } });
  const asked = await agent.line((one) => one.type === 'control_request');
  agent.say({ type: 'control_response', response: { subtype: 'error', request_id: asked.request_id, error: 'callback broke' } });
  const result = await agent.line((one) => one.type === 'result');
  assert.deepEqual(result.permission_denials, []);
  assert.match(agent.told.out, /"is_error":true,"content":"The approval failed, so the call did not run: callback broke"/);
});

test('envelope: nothing to cancel is a noop with a reason; an answer nobody waits for is a control error', async (t) => {
  const agent = served(t, ...ENVELOPE);
  agent.say({ type: 'control/cancel', session_id: '', reason: 'escape' });
  const noop = await agent.line((line) => line.type === 'result/cancel');
  assert.deepEqual([noop.status, noop.message], ['noop', 'Nothing was running.']);
  agent.say({ type: 'control/cancel', session_id: 'elsewhere', prompt_id: 'p', reason: 'escape' });
  const unknown = await agent.line((line) => line.type === 'result/cancel' && line.prompt_id === 'p');
  assert.deepEqual([unknown.status, unknown.message], ['noop', 'There is no session "elsewhere" here.']);
  agent.say({ type: 'control_response', request_id: 'gone', response: { subtype: 'success', result: {} } }, request(text('hello')));
  const told = await agent.line((line) => metadata(line).control_errors !== undefined);
  assert.deepEqual(metadata(told).control_errors, [{ request_id: 'gone', message: 'No such request is open.' }]);
});

test('message: a line without a type, or that is no JSON, ends it with 1 and no line of the other dialect', async (t) => {
  for (const line of ['{"input":{}}\n', 'not json\n']) {
    const agent = served(t, ...MESSAGES);
    agent.say({ type: 'control_request', request_id: 'i', request: { subtype: 'initialize', hooks: null } });
    await agent.line((one) => one.type === 'control_response');
    agent.raw(line);
    assert.equal(await agent.exited, 1);
    assert.match(agent.told.err, /Missing required "type" field|not JSON/);
    assert.equal(agent.lines().length, 1);
  }
});

test('one prompt in plain text: the answer in each form, and nothing on the other output', async (t) => {
  for (const [output, more] of [
    ['text', []],
    ['json', []],
    ['stream-json', []],
    ['stream-json', ['--dialect', 'envelope']],
    ['stream-chunk-json', []],
  ] as const) {
    await t.test([output, ...more].join(' '), async (t) => {
      const agent = served(t, '--input-format', 'text', '--output-format', output, ...more);
      agent.end('hello');
      assert.equal(await agent.exited, 0);
      assert.equal(agent.told.err, '');
      if (output === 'text') assert.match(agent.told.out, /\w/);
      else if (output === 'json') assert.ok(Array.isArray(JSON.parse(agent.told.out)));
      else assert.ok(agent.lines().length > 0);
      assert.doesNotMatch(agent.told.out, /control_request/, 'nobody is there to be asked');
    });
  }
});

for (const [name, args] of [
  ['lines', ENVELOPE],
  ['chunks', CHUNKS],
] as const) {
  const late = [{ type: 'function_response', function_response: { name: 'x', response: {} } }];
  const first: readonly (readonly [string, readonly object[]])[] = [
    ['two prompts at once', [request(text('hello')), request(text('and hello'))]],
    ['a tool response that nobody waits for', [request(late, { tool_call_id: 'c', input: { origin: 'tool_response', parts: late } })]],
    ['an answer that nobody waits for', [{ type: 'control_response', request_id: 'gone', response: { subtype: 'success', result: {} } }]],
  ];
  for (const [what, lines] of first) {
    test(`envelope, ${name}: the first completion says the protocol, when what comes first is ${what}; it is said once`, async (t) => {
      const agent = served(t, ...args);
      agent.say(...lines);
      await agent.line((line) => metadata(line).error !== undefined || metadata(line).control_errors !== undefined);
      agent.say(request(text('hello'), { prompt_id: 'last' }));
      agent.end();
      await agent.exited;
      const completions = agent.lines().filter((line) => String(line.object).startsWith('chat.completion'));
      const introduced = completions.flatMap((line, at) => (metadata(line).protocol_version === undefined ? [] : [at]));
      assert.deepEqual(introduced, [0]);
      const [choice] = Object(completions[0]).choices as readonly { readonly delta?: { readonly role?: string } }[];
      if (args === CHUNKS) assert.equal(choice?.delta?.role, 'assistant');
    });
  }
}

test('envelope: a cancel of another prompt is a noop and stops nothing; the right one is told as a session event and confirmed', async (t) => {
  const agent = served(t, ...ENVELOPE);
  agent.say(request(text('run echo never'), { prompt_id: 'p2' }));
  const offered = await agent.line((line) => line.subtype === 'mcp_message');
  agent.say({ type: 'control_response', request_id: offered.request_id, response: { subtype: 'error', error: { message: 'none' } } });
  await agent.line((line) => line.subtype === 'can_use_tool');
  agent.say({ type: 'control/cancel', session_id: '', prompt_id: 'p1', reason: 'escape' });
  const other = await agent.line((line) => line.type === 'result/cancel');
  assert.deepEqual([other.status, other.prompt_id, other.message], ['noop', 'p1', 'That prompt is not running.']);
  assert.doesNotMatch(agent.told.out, /USER_CANCELLED|Canceled/);
  agent.say({ type: 'control/cancel', session_id: 'elsewhere', prompt_id: 'p2', request_id: 'r', reason: 'escape' });
  const foreign = await agent.line((line) => line.type === 'control_response' && line.request_id === 'r');
  assert.deepEqual(Object(foreign.response).result, { cancelled: false, message: 'There is no session "elsewhere" here.' });
  agent.say({ type: 'control/cancel', session_id: '', prompt_id: 'p2', reason: 'escape' });
  const ok = await agent.line((line) => line.type === 'result/cancel' && line.status === 'ok');
  assert.equal(ok.status, 'ok');
  const reply = await agent.line((line) => line.type === 'control_response' && line.request_id === 'p2');
  assert.deepEqual(reply.response, { subtype: 'success', result: { cancelled: true } });
  const kinds = agent.lines().map((line) => (JSON.stringify(line).includes('USER_CANCELLED') ? 'event' : String(line.type)));
  assert.deepEqual(kinds.slice(-3), ['event', 'result/cancel', 'control_response']);
  const choice = (agent.lines().at(-3) as { choices?: readonly { finish_reason?: unknown }[] }).choices?.[0];
  assert.equal(choice?.finish_reason, 'stop', 'a client that reads completions only has its end');
});

test('envelope: a prompt that was named before the session was told is cancelled by either name', async (t) => {
  for (const name of [(_: string) => '_new########1', (session: string) => `${session}########1`]) {
    const agent = served(t, ...ENVELOPE);
    agent.say(request(text('run echo never'), { prompt_id: '_new########1' }));
    const offered = await agent.line((line) => line.subtype === 'mcp_message');
    agent.say({ type: 'control/cancel', session_id: '', prompt_id: name(String(offered.session_id)), reason: 'escape' });
    assert.equal((await agent.line((line) => line.type === 'result/cancel')).status, 'ok');
  }
});

test('envelope: a prompt without a name is counted, and what is asked in it says so; displays are timed in milliseconds', async (t) => {
  const agent = served(t, ...ENVELOPE);
  agent.say(request(text('run echo never')));
  const offered = await agent.line((line) => line.subtype === 'mcp_message');
  agent.say({ type: 'control_response', request_id: offered.request_id, response: { subtype: 'error', error: { message: 'none' } } });
  const asked = await agent.line((line) => line.subtype === 'can_use_tool');
  assert.equal(asked.prompt_id, `${asked.session_id}########1`);
  const times = [...agent.told.out.matchAll(/"timestamp":(\d+)[,}]/g)].map(([, at]) => Number(at));
  assert.ok(times.length > 0);
  for (const at of times) assert.ok(at > 1e12 && Number.isInteger(at), String(at));
});

test('envelope: "?" asks for help, as a prompt, as a command and as a hint', async (t) => {
  const agent = served(t, ...ENVELOPE);
  agent.say({ type: 'command_hint_request', session_id: '', prompt_id: 'h', trigger: 'slash', text: '/?', cursor: 2, context: {} });
  const hint = await agent.line((line) => line.type === 'result/command_hint');
  assert.deepEqual(
    [hint.suggestions, hint.metadata],
    [[{ label: 'help', value: 'help', description: 'List the commands' }], { is_perfect_match: true }],
  );
  const helps: Line[] = [];
  for (const one of [
    request(text('?')),
    request([], { input: { origin: 'user', parts: [], command: { kind: 'slash', path: ['?'], args: '' } } }),
  ]) {
    const { session_id: _, ...next } = one;
    agent.say({ ...next, prompt_id: `p${helps.length}` });
    const at = helps.length;
    helps.push(await agent.line((line) => line.type === 'result/command' && line.prompt_id === `p${at}`));
  }
  for (const help of helps) assert.match(String(Object(help.result).content), /- `\/help` - List the commands/);
});

test('envelope: "_new" begins another conversation; a session that is not here is a recoverable error', async (t) => {
  const agent = served(t, ...ENVELOPE);
  const done = async (message: object): Promise<readonly Line[]> => {
    const before = agent.lines().length;
    agent.say(message);
    await agent.line((line, at) => at >= before && (finished(line) || metadata(line).error !== undefined));
    return agent.lines().slice(before);
  };
  const first = await done({ ...request(text('hello')), session_id: 'session-123' });
  const told = String(metadata(first[0] ?? {}).session_id);
  assert.notEqual(told, 'session-123', 'our own name for it wins');
  for (const session of [told, 'session-123', '']) {
    const again = await done({ ...request(text('hello')), session_id: session });
    assert.deepEqual(
      again.flatMap((line) => metadata(line).error ?? []),
      [],
      session,
    );
  }
  const [foreign] = await done({ ...request(text('hello')), session_id: 'other' });
  const { code, message, retryable } = Object(metadata(foreign ?? {}).error);
  assert.deepEqual([code, retryable], ['QWEN_UNKNOWN_SESSION', false]);
  assert.match(message, /no session "other"/);
  const anew = await done(request(text('hello')));
  const next = String(metadata(anew[0] ?? {}).session_id);
  assert.ok(next !== told && next !== 'undefined', next);
  const [gone] = await done({ ...request(text('hello')), session_id: told });
  assert.equal(Object(metadata(gone ?? {}).error).code, 'QWEN_UNKNOWN_SESSION');
});

test('envelope: what cannot be followed is told: a tool response nobody waits for, parts of other kinds, another model, options of unknown meaning', async (t) => {
  const agent = served(t, ...ENVELOPE);
  const response = [{ type: 'function_response', function_response: { name: 'x', response: {} } }];
  agent.say({ session_id: '_new', tool_call_id: 'c1', continuation: true, input: { origin: 'tool_response', parts: response } });
  const late = await agent.line((line) => metadata(line).error !== undefined);
  assert.equal(Object(metadata(late).error).code, 'QWEN_UNKNOWN_TOOL_CALL');
  assert.match(Object(metadata(late).error).message, /No tool call "c1"/);
  agent.say(request([{ type: 'inline_data', inline_data: { data: 'AAAA' } }]));
  const part = await agent.line((line) => Object(metadata(line).error).code === 'QWEN_UNSUPPORTED_PART');
  assert.match(Object(metadata(part).error).message, /inline_data/);
  agent.say(
    request(text('hello'), { model: 'qwen-coder', options: { temperature: 0.2, tool_overrides: ['GlobTool', 'Nonsense'], loud: true } }),
  );
  await agent.line(finished);
  // The offline guide is no language model, so there is nothing to choose.
  const left = /"OptionsNotFollowed","message":"[^\n]*not followed: model \\"qwen-coder\\", temperature, loud, the tool \\"Nonsense\\"\./;
  assert.match(agent.told.out, left);
  const greeting = agent.lines().find((line) => metadata(line).capabilities !== undefined) ?? {};
  assert.equal(Object(metadata(greeting).capabilities).model_override, false);
});

test('envelope: references and files of a prompt reach the agent as what they resolve to', async (t) => {
  const agent = served(t, ...ENVELOPE);
  const command = { kind: 'at', references: [{ original: '@main', resolved: 'src/main.py' }] };
  const input = { origin: 'user', parts: text('read @main'), command };
  agent.say({ session_id: '_new', input });
  await agent.line(finished);
  assert.match(agent.told.out, /src\/main\.py/);
  const before = agent.told.out.length;
  const files = agent.lines().length;
  agent.say({
    ...request([...text('read'), { type: 'file_data', file_data: { file_uri: pathToFileURL(path.resolve('/nowhere/a b.txt')).href } }]),
    session_id: '',
  });
  await agent.line((line, at) => at >= files && finished(line));
  assert.match(agent.told.out.slice(before), /nowhere[\\/]+a/);
});

test('the output has the form that was asked for, whatever form the input has', async (t) => {
  const agent = served(t, '--input-format', 'stream-chunk-json', '--output-format', 'stream-json');
  agent.say(request(text('hello')));
  await agent.line(finished);
  const greeting = metadata(agent.lines()[0] ?? {});
  assert.deepEqual([greeting.input_format, greeting.output_format], ['stream-chunk-json', 'stream-json']);
  assert.doesNotMatch(agent.told.out, /chat\.completion\.chunk/);
});

const statuses = (lines: readonly Line[]): readonly string[] =>
  lines.flatMap((line) =>
    [...JSON.stringify(line).matchAll(/"status":"(Pending|Confirming|Executing|Success|Error|Canceled)"/g)].map((match) => match[1] ?? ''),
  );

test('envelope: a call waits, is asked about, runs and succeeds, in this order; a change comes with its diff; the end is the last line', async (t) => {
  const agent = served(t, ...ENVELOPE);
  agent.say(request(text('create file notes.md with "Hello"')));
  const offered = await agent.line((line) => line.subtype === 'mcp_message');
  agent.say({ type: 'control_response', request_id: offered.request_id, response: { subtype: 'error', error: 'none' } });
  const asked = await agent.line((line) => line.subtype === 'can_use_tool');
  agent.say({ type: 'control_response', request_id: asked.request_id, response: { subtype: 'success', result: { behavior: 'approve' } } });
  const end = await agent.line(finished);
  assert.deepEqual(statuses(agent.lines()).slice(-4), ['Pending', 'Confirming', 'Executing', 'Success']);
  assert.match(agent.told.out, /"kind":"file_diff"[^\n]*"diff":"[^"]*\+Hello[^\n]*"ai_added_lines":1/);
  assert.deepEqual(agent.lines().at(-1), end);
  assert.equal(Object(Object(end.choices)[0]).finish_reason, 'stop');
});

test('envelope: a call that was not allowed is shown as cancelled, and did not run', async (t) => {
  const agent = served(t, ...ENVELOPE);
  agent.say(request(text('run echo never')));
  const offered = await agent.line((line) => line.subtype === 'mcp_message');
  agent.say({ type: 'control_response', request_id: offered.request_id, response: { subtype: 'error', error: 'none' } });
  const asked = await agent.line((line) => line.subtype === 'can_use_tool');
  agent.say({ type: 'control_response', request_id: asked.request_id, response: { subtype: 'success', result: { behavior: 'deny' } } });
  await agent.line(finished);
  assert.deepEqual(statuses(agent.lines()), ['Pending', 'Confirming', 'Canceled']);
});

for (const [dialect, args] of [
  ['message', MESSAGES],
  ['envelope', ENVELOPE],
] as const) {
  /** The agent proposes a new file, and the client refuses with these words, after it has done that in the agent's folder. */
  const refusedWith = async (t: TestContext, message: string, act: (cwd: string) => void = () => {}) => {
    const agent = served(t, ...args);
    const words = 'create file notes.md with "Hello"';
    if (dialect === 'envelope') agent.say(request(text(words)));
    else {
      agent.say({ type: 'control_request', request_id: 'i', request: { subtype: 'initialize', hooks: null } });
      await agent.line((one) => one.type === 'control_response');
      agent.say({ type: 'user', session_id: '', parent_tool_use_id: null, message: { role: 'user', content: words } });
    }
    if (dialect === 'envelope') await offerNoTools(agent);
    const isAsk = (line: Line) => line.subtype === 'can_use_tool' || Object(line.request).subtype === 'can_use_tool';
    const asked = await agent.line(isAsk);
    act(agent.cwd);
    agent.say(successLine(dialect, String(asked.request_id), { behavior: 'deny', message }));
    await agent.line((line) => (dialect === 'envelope' ? finished(line) : line.type === 'result'));
    return agent;
  };

  test(`${dialect}: the client's own words for a refusal are no words of the user`, async (t) => {
    const { told } = await refusedWith(t, CLIENT_WORDS.refused);
    assert.doesNotMatch(told.out, /You said|The user says/);
    const other = await refusedWith(t, 'use tabs');
    assert.match(other.told.out, /The user says: use tabs/);
  });

  test(`${dialect}: an edit that the client has written as the user edited it is no rejection`, async (t) => {
    const agent = await refusedWith(t, CLIENT_WORDS.applied, (cwd) => writeFileSync(path.join(cwd, 'notes.md'), 'mine\n'));
    assert.equal(readFileSync(path.join(agent.cwd, 'notes.md'), 'utf8'), 'mine\n');
    assert.doesNotMatch(agent.told.out, /You said|The user says|Rejected|is_error":true/);
    assert.match(agent.told.out, /`notes\.md` is as you edited it\./);
  });
}

test('envelope: a prompt that is not taken ends, and the debugging command of the document is taken', async (t) => {
  const agent = served(t, ...ENVELOPE);
  agent.say({ session_id: '_new', prompt_id: 'P', input: { origin: 'tool_response', parts: [] } });
  const refused = await agent.line((line) => metadata(line).error !== undefined);
  assert.deepEqual([Object(Object(refused.choices)[0]).finish_reason, metadata(refused).prompt_id], ['stop', 'P']);
  agent.say({
    model: 'm',
    messages: [
      { role: 'system', content: 'x' },
      { role: 'user', content: 'hello' },
    ],
  });
  await agent.line(finished);
});

test('envelope: hints look at what stands before the cursor, and say why there are none', async (t) => {
  const agent = served(t, ...ENVELOPE);
  const hint = { type: 'command_hint_request', session_id: '', trigger: 'slash' };
  agent.say({ ...hint, prompt_id: 'a', text: '/st and more', cursor: 3 }, { ...hint, prompt_id: 'b', trigger: 'smell', text: 'x' });
  const found = await agent.line((line) => line.prompt_id === 'a');
  assert.match(JSON.stringify(found.suggestions), /"status"/);
  assert.equal((await agent.line((line) => line.prompt_id === 'b')).status, 'error');
});

test('the options of every protocol are taken beside the formats: the folder, and that nothing is asked', async (t) => {
  const folder = temporaryFolder(t);
  const agent = served(t, ...ENVELOPE, '--yolo', '--work-dir', folder, '--session', 'mine');
  agent.say(request(text('create file notes.md with "Hello"')));
  const offered = await agent.line((line) => line.subtype === 'mcp_message');
  agent.say({ type: 'control_response', request_id: offered.request_id, response: { subtype: 'error', error: 'none' } });
  await agent.line(finished);
  assert.equal(readFileSync(path.join(folder, 'notes.md'), 'utf8').trim(), 'Hello');
  assert.ok(!agent.told.out.includes('can_use_tool'));
});

test('messages: a session that was left in plan mode says so in its answer to the handshake', async (t) => {
  const folder = temporaryFolder(t);
  const args = [...MESSAGES, '--work-dir', folder, '--session', 'planned'];
  const again = () => servedWith(t, { KIMI_SHARE_DIR: `${folder}.home` }, ...args);
  const greeted = async (agent: ReturnType<typeof served>) => {
    agent.say({ type: 'control_request', request_id: 'i', request: { subtype: 'initialize' } });
    const { response } = await agent.line((line) => line.type === 'control_response');
    return Object(Object(response).response).current_permission_mode;
  };
  const first = again();
  assert.equal(await greeted(first), 'default');
  first.say({ type: 'user', message: { role: 'user', content: 'hello' } });
  await first.line((line) => line.type === 'result');
  first.say({ type: 'control_request', request_id: 'm', request: { subtype: 'set_permission_mode', mode: 'plan' } });
  await first.line((line) => line.type === 'control_response' && Object(line.response).request_id === 'm');
  first.end();
  await first.exited;
  const second = again();
  assert.equal(await greeted(second), 'plan');
  second.say({ type: 'user', message: { role: 'user', content: 'hello' } });
  assert.equal((await second.line((line) => line.subtype === 'init')).permission_mode, 'plan');
});

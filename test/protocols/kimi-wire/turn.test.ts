import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Server, settled } from './server.ts';

// wire.md §14, "Turn".
const bare = (server: Server) => server.desk.shown;

test('streaming text and think: pieces join, a change of kind or a call begins a new block', async () => {
  const server = await Server.running();
  await server.event('StepBegin', { n: 1 });
  await server.event('ContentPart', { type: 'think', think: 'hm' });
  await server.event('ContentPart', { type: 'think', think: 'm', encrypted: null });
  await server.text('Hel');
  await server.text('lo');
  await server.call('c', 'Glob', { pattern: '*.ts' });
  await server.text('after');
  await server.event('StepBegin', { n: 2 });
  await server.text('next step');
  await server.finish();
  assert.deepEqual(bare(server), ['thought: hmm', 'text: Hello', 'call Glob cancelled', 'text: after', 'text: next step']);
  assert.equal(server.desk.turn.status, 'done');
});

test('partial tool arguments: they grow, and the card gets its title when they are whole', async () => {
  const server = await Server.running();
  await server.event('ToolCall', { type: 'function', id: 'c', function: { name: 'ReadFile', arguments: '{"pa' } });
  await server.event('ToolCallPart', { arguments_part: 'th":"/a.ts",' });
  await server.event('ToolCallPart', { arguments_part: null });
  await server.event('ToolCallPart', { arguments_part: '"line_offset":7}' });
  assert.equal(server.desk.call('c').status, 'pending');
  assert.equal(server.desk.call('c').inputText, '{"path":"/a.ts","line_offset":7}');
  await server.event('StatusUpdate', {});
  const call = server.desk.call('c');
  assert.deepEqual([call.status, call.title, call.kind], ['running', 'ReadFile: /a.ts', 'read']);
  assert.deepEqual(call.input, { path: '/a.ts', line_offset: 7 });
  assert.deepEqual(call.locations, [{ path: '/a.ts', line: 7 }]);
});

test('whole arguments in one message make the card run at once', async () => {
  const server = await Server.running();
  await server.call('c', 'Shell', { command: 'ls -l\nrm x' });
  const call = server.desk.call('c');
  assert.deepEqual([call.status, call.title, call.kind], ['running', 'Shell: ls -l…', 'execute']);
});

test('parallel tools, reversed results: each result goes to its card', async () => {
  const server = await Server.running();
  await server.call('a', 'Glob', {});
  await server.call('b', 'Grep', {});
  await server.toolResult('b', 'for b');
  await server.toolResult('a', 'for a', { is_error: true, message: 'no such folder' });
  assert.deepEqual(server.desk.call('b').output, [{ kind: 'content', content: { type: 'text', text: 'for b' } }]);
  assert.equal(server.desk.call('b').status, 'done');
  assert.equal(server.desk.call('a').status, 'failed');
  assert.deepEqual(server.desk.call('a').error, { message: 'no such folder' });
});

test('the same call id twice makes two cards, and two results close both', async () => {
  const server = await Server.running();
  await server.call('c', 'Glob', { pattern: 'one' });
  await server.call('c', 'Glob', { pattern: 'two' });
  await server.toolResult('c', 'first');
  await server.toolResult('c', 'second');
  assert.deepEqual(bare(server), ['call Glob done', 'call Glob done']);
  assert.equal(server.desk.call('c').title, 'Glob: one');
  assert.equal(server.desk.call('c#2').title, 'Glob: two');
});

test('dedup: one request and two results', async () => {
  let ran = 0;
  const run = async () => {
    ran += 1;
    return { ok: true, text: 'same' };
  };
  const server = await Server.running({ tools: [{ name: 'get', description: 'd', parameters: { type: 'object' }, run }] });
  await server.call('a', 'get', {});
  await server.call('b', 'get', {});
  await server.request('ToolCallRequest', { id: 'a', name: 'get', arguments: '{}' });
  await server.toolResult('a', 'same');
  await server.toolResult('b', 'same');
  assert.equal(ran, 1);
  assert.deepEqual(bare(server), ['call get done', 'call get done']);
});

test('a result nobody announced is a card of its own', async () => {
  const server = await Server.running();
  await server.toolResult('unheard', 'something');
  assert.deepEqual(bare(server), ['call tool done']);
});

test('StepRetry discards the text and the unfinished cards of its step, keeps finished ones, and says what it waits for', async () => {
  const server = await Server.running();
  await server.event('StepBegin', { n: 1 });
  await server.text('kept');
  await server.event('StepBegin', { n: 2 });
  await server.text('lost');
  await server.call('done', 'Glob', {});
  await server.toolResult('done');
  await server.call('open', 'Agent', {});
  await server.event('SubagentEvent', {
    parent_tool_call_id: 'open',
    event: { type: 'ContentPart', payload: { type: 'text', text: 'lost too' } },
  });
  await server.event('StepRetry', { n: 2, next_attempt: 2, max_attempts: 3, wait_s: 1.6, error_type: 'RateLimitError', status_code: 429 });
  assert.deepEqual(bare(server), ['text: kept', 'call Glob done']);
  assert.equal(server.desk.turn.activity, 'Trying again (2 of 3) in 2 s: RateLimitError 429');
  await server.text('again');
  assert.deepEqual(bare(server), ['text: kept', 'call Glob done', 'text: again']);
  assert.equal(server.desk.turn.activity, undefined);
});

test('TurnEnd missing: the answer to prompt ends the turn all the same', async () => {
  const server = await Server.running({ version: '1.1' });
  await server.text('hi');
  await server.finish();
  assert.equal(server.desk.turn.status, 'done');
});

test('TurnEnd alone does not end the turn', async () => {
  const server = await Server.running();
  await server.event('TurnEnd');
  await server.text('and more');
  assert.equal(server.desk.turn.status, 'running');
  assert.deepEqual(bare(server), ['text: and more']);
});

test('messages after the response change no finished turn, and status still counts', async () => {
  const server = await Server.running();
  await server.text('before');
  await server.finish();
  const { turn } = server.desk;
  await server.text('late');
  await server.toolResult('late');
  await server.event('StatusUpdate', { plan_mode: true, context_tokens: 50, max_context_tokens: 100 });
  assert.equal(server.desk.turn, turn);
  assert.equal(server.desk.session.mode?.current, 'plan');
  assert.deepEqual(server.desk.session.usage, { used: 50, size: 100 });
});

const failures: readonly (readonly [number, readonly string[]])[] = [
  [-32700, ['showLog']],
  [-32600, ['showLog']],
  [-32601, ['showLog']],
  [-32602, ['showLog']],
  [-32603, ['retry', 'showLog']],
  [-32000, ['retry', 'restart']],
  [-32001, ['configureModel', 'signIn', 'retry']],
  [-32002, ['retry']],
  [-32003, ['retry']],
  [-32004, ['configureModel', 'signIn', 'retry']],
  [-31999, ['showLog']],
];
test('every error code fails the turn with a way on, and the next prompt goes out', async () => {
  for (const [code, next] of failures) {
    const server = await Server.running();
    await server.refuse('prompt', code, 'the reason');
    assert.equal(server.desk.turn.status, 'failed');
    assert.match(server.desk.turn.error?.message ?? '', /the reason/);
    assert.equal(server.desk.turn.error?.code, String(code));
    assert.deepEqual(server.desk.turn.error?.next, next, `${code}`);
    server.desk.prompt('again');
    assert.equal(server.asked('prompt').length, 2);
  }
});

test('a failure without an id ends a prompt that nothing was heard of, and not a turn that is under way', async () => {
  const stray = { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'not a request' } } as const;
  const unheard = await Server.running();
  unheard.channel.say(stray);
  await settled();
  assert.equal(unheard.desk.turn.status, 'failed');
  const server = await Server.running();
  await server.event('TurnBegin', { user_input: 'go' });
  server.channel.say(stray);
  await server.text('going on');
  await settled();
  assert.equal(server.desk.turn.status, 'running');
  await server.finish();
  assert.deepEqual([server.desk.turn.status, ...bare(server)], ['done', 'text: going on']);
  server.desk.prompt('again');
  server.channel.say(stray);
  await settled();
  assert.equal(server.desk.turn.status, 'failed', 'what was heard of the turn before says nothing of this one');
});

test('max steps is a success with an offer to go on', async () => {
  const server = await Server.running();
  await server.finish({ status: 'max_steps_reached', steps: 100 });
  assert.equal(server.desk.turn.status, 'done');
  assert.equal(server.desk.turn.stop, undefined, 'no word of the protocol');
  assert.match(server.desk.turn.error?.message ?? '', /after 100 steps/);
  assert.deepEqual(server.desk.turn.error?.next, ['continue']);
  server.desk.prompt('Continue.');
  await server.finish({ status: 'max_steps_reached', steps: 1 });
  assert.match(server.desk.turn.error?.message ?? '', /after one step,/);
});

test('unknown event, malformed event, event without a payload: left out, the turn goes on', async () => {
  const server = await Server.running();
  await server.event('Telepathy', { a: 1 });
  await server.event('constructor', {});
  await server.event('ToolCall', { id: 7 });
  server.channel.say({ jsonrpc: '2.0', method: 'event', params: { type: 'ContentPart' } });
  server.channel.say({ jsonrpc: '2.0', method: 'event', params: [] }, { jsonrpc: '2.0', method: 'event' });
  server.channel.say({ jsonrpc: '2.0', method: 'whatever', params: {} });
  await server.text('fine');
  assert.deepEqual(bare(server), ['text: fine']);
});

test('an event that carries an id is an event and gets no answer', async () => {
  const server = await Server.running();
  const before = server.channel.sent.length;
  server.channel.say({ jsonrpc: '2.0', id: 'x', method: 'event', params: { type: 'ContentPart', payload: { type: 'text', text: 'hi' } } });
  await settled();
  assert.deepEqual(bare(server), ['text: hi']);
  assert.equal(server.channel.sent.length, before);
});

test('unknown display block and unknown content part are kept as they came', async () => {
  const server = await Server.running();
  await server.event('ContentPart', { type: 'hologram', url: 'x' });
  await server.call('c', 'Draw', {});
  await server.toolResult('c', '', {
    display: [
      { type: 'chart', data: [1] },
      { type: 'diff', path: 5 },
    ],
    output: [{ type: 'smell', of: 'rain' }],
  });
  const [first] = server.desk.turn.parts;
  assert.deepEqual(first?.kind === 'content' && first.content, { type: 'raw', label: 'hologram', value: { type: 'hologram', url: 'x' } });
  assert.deepEqual(
    server.desk.call('c').output.map((one) => one.kind === 'content' && one.content.type === 'raw' && one.content.label),
    ['chart', 'diff', 'smell'],
  );
});

test('every display block has its place', async () => {
  const server = await Server.running();
  await server.call('c', 'Do', {});
  const hunk = { type: 'diff', path: '/a', old_text: 'a\nb', new_text: 'a\nc', old_start: 3, new_start: 4 };
  await server.toolResult('c', '', {
    display: [
      { type: 'brief', text: 'short' },
      hunk,
      { ...hunk, old_start: null, new_start: undefined },
      { ...hunk, path: '/b', old_text: '', old_start: 1 },
      { ...hunk, path: '/c', old_text: '', old_start: 3 },
      { ...hunk, old_text: '', old_start: 1, new_start: 1 },
      { ...hunk, old_text: '(0 lines)', new_text: '(60000 lines)', is_summary: true },
      {
        type: 'todo',
        items: [
          { title: 'one', status: 'done' },
          { title: 'two', status: 'pending' },
        ],
      },
      { type: 'shell', language: 'bash', command: 'ls' },
      { type: 'background_task', task_id: 't1', kind: 'agent', status: 'running', description: 'looking' },
    ],
  });
  const { output } = server.desk.call('c');
  assert.deepEqual(
    output.flatMap((one) => (one.kind === 'diff' ? [one.diff] : [])),
    [
      { path: '/a', before: 'a\nb', after: 'a\nc', excerpt: { beforeLine: 3, afterLine: 4 } },
      { path: '/a', before: 'a\nb', after: 'a\nc', excerpt: {} },
      { path: '/b', before: null, after: 'a\nc' },
      { path: '/c', before: '', after: 'a\nc', excerpt: { beforeLine: 3, afterLine: 4 } },
      { path: '/a', before: '', after: 'a\nc', excerpt: { beforeLine: 1, afterLine: 1 } },
      { path: '/a', before: '(0 lines)', after: '(60000 lines)', summary: true },
    ],
  );
  assert.deepEqual(
    output.flatMap((one) => (one.kind === 'content' && one.content.type === 'text' ? [one.content.text] : [])),
    ['short', 'ls', 'In the background: looking (running, agent t1)'],
  );
  assert.deepEqual(server.desk.session.plan?.entries, [
    { text: 'one', status: 'completed' },
    { text: 'two', status: 'pending' },
  ]);
});

test('a result with members missing still closes its card', async () => {
  const server = await Server.running();
  await server.call('c', 'Do', {});
  await server.event('ToolResult', { tool_call_id: 'c', return_value: { message: 'did it', output: null } });
  assert.equal(server.desk.call('c').status, 'done');
  assert.deepEqual(server.desk.call('c').output, [{ kind: 'content', content: { type: 'text', text: 'did it' } }]);
});

test('media in an answer become images, sounds and links', async () => {
  const server = await Server.running();
  await server.event('ContentPart', { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', id: null } });
  await server.event('ContentPart', { type: 'audio_url', audio_url: { url: 'data:audio/wav;base64,BBBB' } });
  await server.event('ContentPart', { type: 'video_url', video_url: { url: 'https://example.com/v.mp4' } });
  assert.deepEqual(
    server.desk.turn.parts.map((part) => part.kind === 'content' && part.content),
    [
      { type: 'image', mime: 'image/png', data: 'AAAA' },
      { type: 'audio', mime: 'audio/wav', data: 'BBBB' },
      { type: 'link', uri: 'https://example.com/v.mp4', title: 'video' },
    ],
  );
});

test('only known part types go out: files and links as text, media as data URIs', async () => {
  const server = await Server.ready();
  server.desk.send({
    type: 'prompt',
    turnId: 't',
    content: [
      { type: 'text', text: 'look' },
      { type: 'file', path: '/a.ts', text: '```\nx', lines: [3, 4] },
      { type: 'file', path: '/b.ts' },
      { type: 'link', uri: 'https://example.com', title: 'here' },
      { type: 'image', mime: 'image/png', data: 'AAAA' },
      { type: 'raw', label: 'odd', value: { a: 1 } },
    ],
  });
  assert.deepEqual(server.params('prompt').user_input, [
    { type: 'text', text: 'look' },
    { type: 'text', text: '@/a.ts:3-4\n````\n```\nx\n````' },
    { type: 'text', text: '@/b.ts' },
    { type: 'text', text: 'here: https://example.com' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    { type: 'text', text: 'odd: {"a":1}' },
  ]);
});

test('a command is a prompt that begins with its name', async () => {
  const server = await Server.ready();
  server.desk.send({ type: 'command', turnId: 't', path: ['skill:x'], args: 'a b' });
  assert.deepEqual(server.asked('prompt')[0]?.params, { user_input: '/skill:x a b' });
});

test('a second prompt waits for the first to end', async () => {
  const server = await Server.running();
  server.desk.prompt('second');
  assert.equal(server.asked('prompt').length, 1);
  await server.finish();
  assert.equal(server.asked('prompt').length, 2);
  assert.equal(server.desk.session.turns.length, 2);
});

test('sub-agents: nested under their call, under an old name, without a call, and in one another', async () => {
  const server = await Server.running();
  const inner = (text: string) => ({ type: 'ContentPart', payload: { type: 'text', text } });
  await server.call('task', 'Agent', { description: 'look' });
  await server.event('SubagentEvent', { parent_tool_call_id: 'task', agent_id: 'x', subagent_type: 'coder', event: inner('one') });
  await server.event('SubagentEvent', { parent_tool_call_id: 'task', agent_id: 'y', event: inner('two') });
  await server.event('SubagentEvent', { parent_tool_call_id: 'task', agent_id: 'x', event: inner(' more') });
  await server.event('SubagentEvent', {
    task_tool_call_id: 'task',
    event: { type: 'ToolCall', payload: { id: 'deep', function: { name: 'Agent' } } },
  });
  await server.event('SubagentEvent', {
    task_tool_call_id: 'task',
    event: { type: 'SubagentEvent', payload: { parent_tool_call_id: 'deep', event: inner('deeper') } },
  });
  await server.event('SubagentEvent', { parent_tool_call_id: null, agent_id: 'z', subagent_type: 'explorer', event: inner('alone') });
  await server.text('main');
  assert.deepEqual(
    server.desk.turn.parts.map((part) => [part.id.replace('turn go', ''), part.parent, part.kind === 'text' ? part.text : part.kind]),
    [
      ['task', undefined, 'call'],
      ['.1', 'task', 'one more'],
      ['.2', 'task', 'two'],
      ['deep', 'task', 'call'],
      ['.3', 'deep', 'deeper'],
      ['agent z', undefined, 'call'],
      ['.4', 'agent z', 'alone'],
      ['.5', undefined, 'main'],
    ],
  );
  await server.finish();
  assert.equal(server.desk.call('agent z').status, 'done');
});

test('sub-agents nested without end are cut off, not followed', async () => {
  const server = await Server.running();
  let event: object = { type: 'ContentPart', payload: { type: 'text', text: 'bottom' } };
  for (let depth = 0; depth < 500; depth++)
    event = { type: 'SubagentEvent', payload: { parent_tool_call_id: null, agent_id: `${depth}`, event } };
  server.channel.say({ jsonrpc: '2.0', method: 'event', params: event });
  await server.text('main');
  assert.equal(server.desk.shown.at(-1), 'text: main');
  assert.ok(server.desk.turn.parts.length < 20);
});

test('what keeps the turn waiting is said, and unsaid', async () => {
  const server = await Server.running();
  await server.event('MCPLoadingBegin');
  assert.equal(server.desk.turn.activity, 'Starting MCP servers');
  await server.event('MCPLoadingEnd');
  assert.equal(server.desk.turn.activity, undefined);
  await server.event('CompactionBegin');
  assert.equal(server.desk.turn.activity, 'Compacting the conversation');
  await server.event('CompactionEnd');
  assert.equal(server.desk.turn.activity, undefined);
});

test('tokens of the steps add up, null changes nothing, nonsense is left out', async () => {
  const server = await Server.running();
  const token_usage = { input_other: 10, output: 5, input_cache_read: 1, input_cache_creation: 2 };
  await server.event('StatusUpdate', { context_usage: 0.5, context_tokens: 500, max_context_tokens: 1000, token_usage });
  await server.event('StatusUpdate', { context_tokens: null, token_usage, plan_mode: null });
  await server.event('StatusUpdate', { context_tokens: -5 });
  assert.deepEqual(server.desk.session.usage, { used: 500, size: 1000, input: 26, output: 10 });
});

test('MCP servers that fail are named once', async () => {
  const server = await Server.running();
  const mcp = (status: string) => ({
    mcp_status: { loading: false, connected: 0, total: 1, tools: 0, servers: [{ name: 'files', status, tools: [] }] },
  });
  for (const status of ['connecting', 'failed', 'failed', 'unauthorized']) await server.event('StatusUpdate', mcp(status));
  assert.deepEqual(
    server.desk.session.notices.map((notice) => notice.text),
    ['The MCP server "files" failed to start.'],
  );
});

test('notifications are shown once, in the turn or outside it', async () => {
  const server = await Server.running();
  const news = (id: string, severity: string) => ({ id, title: 'Task done', body: 'all green', severity, category: 'task', created_at: 1 });
  await server.event('Notification', news('1', 'success'));
  await server.event('Notification', news('1', 'success'));
  assert.deepEqual(bare(server), ['notice: Task done\nall green']);
  await server.finish();
  await server.event('Notification', news('2', 'warning'));
  assert.deepEqual(server.desk.session.notices, [{ level: 'warn', text: 'Task done\nall green' }]);
});

test('plans, hooks that block and side questions leave their trace', async () => {
  const server = await Server.running();
  await server.event('PlanDisplay', { content: '# Plan', file_path: '/plan.md' });
  await server.event('HookTriggered', { event: 'PreToolUse', target: 'Shell', hook_count: 1 });
  await server.event('HookResolved', { event: 'PreToolUse', target: 'Shell', action: 'allow', reason: '', duration_ms: 3 });
  await server.event('HookResolved', { event: 'PreToolUse', target: 'Shell', action: 'block', reason: 'not here', duration_ms: 3 });
  await server.event('BtwBegin', { id: '1', question: 'why?' });
  await server.event('BtwEnd', { id: '1', response: 'because', error: null });
  await server.event('BtwEnd', { id: '2', response: null, error: 'down' });
  assert.deepEqual(bare(server), [
    'text: # Plan',
    'content file',
    'notice: A hook (PreToolUse) blocked Shell: not here',
    'notice: Side question: why?',
    'text: because',
    'notice: The side question failed: down',
  ]);
});

test('odd text passes through untouched: U+2028, U+0000, lone surrogates, escapes', async () => {
  const server = await Server.running();
  const odd = 'a\u2028b\u2029c\u0000d\ud800e\u001b[31mf\ufffdg';
  server.channel.say(
    `{"jsonrpc":"2.0","method":"event","params":{"type":"ContentPart","payload":{"type":"text","text":${JSON.stringify(odd)}}}}`,
  );
  await settled();
  assert.deepEqual(bare(server), [`text: ${odd}`]);
});

test('a turn the server begins by itself is shown, and ends with its TurnEnd or is cut off by our next prompt', async () => {
  const server = await Server.ready();
  await server.event('TurnBegin', { user_input: 'by itself' });
  await server.text('working');
  assert.equal(server.desk.turn.status, 'running');
  await server.event('TurnEnd');
  assert.equal(server.desk.turn.status, 'done');
  await server.event('TurnBegin', { user_input: [{ type: 'text', text: 'again' }] });
  server.desk.prompt('mine');
  assert.deepEqual(
    server.desk.session.turns.map((turn) => turn.status),
    ['done', 'cancelled', 'running'],
  );
});

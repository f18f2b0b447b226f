import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tool } from '../../../src/protocols/ports.ts';
import { hangingTool, Server, settled } from './server.ts';

// wire.md §14, "Requests".
const approval = (id: string, more: object = {}) => ({
  id,
  tool_call_id: 'c',
  sender: 'Shell',
  action: 'run command',
  description: 'Run command `ls`',
  display: [{ type: 'shell', language: 'bash', command: 'ls' }],
  ...more,
});
const approvals = (server: Server) => server.desk.session.asks.filter((ask) => ask.kind === 'approval');

test('approve: the ask shows the command and the scope of each choice; the answer goes to the JSON-RPC id with the id of the payload', async () => {
  const server = await Server.running();
  await server.call('c', 'Shell', { command: 'ls' });
  await server.request('ApprovalRequest', approval('payload id'), 'rpc id');
  const [ask] = approvals(server);
  assert.ok(ask);
  assert.deepEqual(ask.detail, { type: 'command', command: 'ls' });
  assert.equal(ask.callId, 'c');
  assert.equal(ask.turnId, 'turn go');
  assert.deepEqual(
    ask.options.map((option) => [option.id, option.label, option.effect]),
    [
      ['approve', 'Approve', 'allow_once'],
      ['approve_for_session', 'Allow all "run command" this session', 'allow_always'],
      ['reject', 'Reject', 'reject_once'],
    ],
  );
  assert.equal(server.desk.call('c').status, 'waiting');
  server.desk.choose('approve');
  assert.equal(server.desk.call('c').status, 'running');
  await settled();
  assert.deepEqual(server.answerTo('rpc id'), { jsonrpc: '2.0', id: 'rpc id', result: { request_id: 'payload id', response: 'approve' } });
  assert.equal(server.desk.session.asks.length, 0);
});

test('for session settles others: the server says so, the asks vanish, and no answer of ours follows', async () => {
  const server = await Server.running();
  await server.request('ApprovalRequest', approval('a'));
  await server.request('ApprovalRequest', approval('b'));
  const [, second] = approvals(server);
  server.desk.choose('approve_for_session');
  await settled();
  assert.deepEqual(server.result('a'), { request_id: 'a', response: 'approve_for_session' });
  assert.deepEqual(server.desk.shown, ['notice: Every later "run command" of this session runs without asking']);
  await server.event('ApprovalResponse', { request_id: 'a', response: 'approve_for_session' });
  await server.event('ApprovalResponse', { request_id: 'b', response: 'approve' });
  assert.equal(server.desk.session.asks.length, 0);
  server.desk.choose('reject', undefined, second);
  await settled();
  assert.equal(server.answerTo('b'), undefined);
});

test('reject: the card is refused even when its failed result comes', async () => {
  const server = await Server.running();
  await server.call('c', 'Shell', { command: 'ls' });
  await server.request('ApprovalRequest', approval('a'));
  server.desk.choose('reject');
  await server.toolResult('c', '', { is_error: true, message: 'Rejected by user' });
  assert.equal(server.desk.call('c').status, 'rejected');
  await settled();
  assert.deepEqual(server.result('a'), { request_id: 'a', response: 'reject' });
});

test('reject with feedback: sent where the server takes it, left out where it does not', async () => {
  for (const [version, expected] of [
    ['1.10', { request_id: 'a', response: 'reject', feedback: 'use rg' }],
    ['1.5', { request_id: 'a', response: 'reject' }],
  ] as const) {
    const server = await Server.running({ version });
    await server.request('ApprovalRequest', approval('a'));
    server.desk.choose('reject', ' use rg ');
    await settled();
    assert.deepEqual(server.result('a'), expected);
  }
});

test('an option nobody offered, and a dismissed approval, are rejections, never allowances', async () => {
  const server = await Server.running();
  await server.request('ApprovalRequest', approval('a'));
  await server.request('ApprovalRequest', approval('b'));
  server.desk.choose('yes please');
  server.desk.send({ type: 'answer', askId: 'b', answer: { kind: 'cancelled' } });
  await settled();
  assert.deepEqual(server.result('a'), { request_id: 'a', response: 'reject' });
  assert.deepEqual(server.result('b'), { request_id: 'b', response: 'reject' });
});

test('ApprovalRequestResolved, the old name, settles too', async () => {
  const server = await Server.running({ version: '1' });
  await server.call('c', 'Shell', { command: 'ls' });
  await server.request('ApprovalRequest', approval('a', { display: null }));
  await server.event('ApprovalRequestResolved', { request_id: 'a', response: 'reject' });
  assert.equal(server.desk.session.asks.length, 0);
  assert.equal(server.desk.call('c').status, 'rejected');
  await settled();
  assert.equal(server.answerTo('a'), undefined);
});

test('duplicate request id: one ask, one answer', async () => {
  const server = await Server.running();
  await server.request('ApprovalRequest', approval('a'));
  await server.request('ApprovalRequest', approval('a'));
  assert.equal(server.desk.session.asks.length, 1);
  server.desk.choose('approve');
  await settled();
  assert.equal(server.channel.out.filter((message) => message.id === 'a').length, 1);
});

test('the same ask under two JSON-RPC ids: one ask, both are answered', async () => {
  const server = await Server.running();
  await server.request('ApprovalRequest', approval('a'), 'first');
  await server.request('ApprovalRequest', approval('a'), 'second');
  assert.equal(server.desk.session.asks.length, 1);
  server.desk.choose('approve');
  await settled();
  assert.deepEqual(server.result('first'), server.result('second'));
});

test('what an approval is about: edits by hunk, MCP tools, a command known only from its call, plain words', async () => {
  const server = await Server.running();
  await server.call('old', 'Shell', { command: 'make all' });
  const diff = { type: 'diff', path: '/a', old_text: 'x', new_text: 'y', old_start: 5, new_start: 5 };
  const cases: readonly (readonly [object, object])[] = [
    [
      { sender: 'WriteFile', action: 'edit file', display: [diff, { ...diff, old_start: 9 }] },
      {
        type: 'edit',
        diffs: [
          { path: '/a', before: 'x', after: 'y', excerpt: { beforeLine: 5, afterLine: 5 } },
          { path: '/a', before: 'x', after: 'y', excerpt: { beforeLine: 9, afterLine: 5 } },
        ],
      },
    ],
    [
      { sender: 'query', action: 'mcp:query', display: [] },
      { type: 'mcp', server: 'mcp', tool: 'query' },
    ],
    [
      { tool_call_id: 'old', display: undefined },
      { type: 'command', command: 'make all' },
    ],
    [
      { sender: 'TaskStop', action: 'stop background task', description: 'Stop t1', display: [{ type: 'brief', text: 'It runs' }] },
      { type: 'text', text: 'Stop t1\nIt runs' },
    ],
  ];
  for (const [at, [more, detail]] of cases.entries()) {
    await server.request('ApprovalRequest', approval(`a${at}`, more));
    assert.deepEqual(approvals(server)[at]?.detail, detail);
  }
});

test('three open at once, from different agents: oldest first, each says who asks, each gets its own answer', async () => {
  const server = await Server.running();
  await server.request('ApprovalRequest', approval('a'));
  await server.request('ApprovalRequest', approval('b', { subagent_type: 'coder' }));
  await server.request('QuestionRequest', { id: 'q', tool_call_id: 'x', questions: [{ question: 'Which?', options: [{ label: 'A' }] }] });
  assert.deepEqual(
    server.desk.session.asks.map((ask) => [ask.id, ask.asker]),
    [
      ['a', undefined],
      ['b', 'coder'],
      ['q', undefined],
    ],
  );
  server.desk.send({ type: 'answer', askId: 'q', answer: { kind: 'fields', values: { 0: ['A'] } } });
  server.desk.choose('reject', undefined, server.desk.session.asks[1]);
  server.desk.choose('approve');
  await settled();
  assert.deepEqual(server.result('q'), { request_id: 'q', answers: { 'Which?': 'A' } });
  assert.deepEqual(server.result('b'), { request_id: 'b', response: 'reject' });
  assert.deepEqual(server.result('a'), { request_id: 'a', response: 'approve' });
});

const tools: readonly Tool[] = [
  {
    name: 'ok',
    description: 'd',
    parameters: { type: 'object' },
    run: async (input) => ({ ok: true, text: `got ${JSON.stringify(input)}\nmore` }),
  },
  { name: 'throws', description: 'd', parameters: { type: 'object' }, run: () => Promise.reject(new Error('broken')) },
  { name: 'picky', description: 'd', parameters: { type: 'object', required: ['path'] }, run: async () => ({ ok: true, text: 'never' }) },
];
const toolCases: readonly (readonly [string, string, unknown, boolean, RegExp])[] = [
  ['tool ok', 'ok', '{"path":"a"}', false, /^got {"path":"a"}\nmore$/],
  ['tool without arguments', 'ok', null, false, /^got {}/],
  ['tool throws', 'throws', '', true, /broken/],
  ['tool unknown', 'gone', '{}', true, /no tool called "gone"/],
  ['tool with bad JSON', 'ok', '{"path"', true, /not JSON/],
  ['tool with arguments against its schema', 'picky', '{}', true, /path/],
];
for (const [name, tool, args, is_error, output] of toolCases) {
  test(`${name}: one whole result`, async () => {
    const server = await Server.running({ tools });
    await server.call('t', tool, {});
    await server.request('ToolCallRequest', { id: 't', name: tool, arguments: args }, 'rpc');
    const result = server.result('rpc') as { tool_call_id: string; return_value: Record<string, unknown> };
    assert.equal(result.tool_call_id, 't');
    assert.equal(result.return_value.is_error, is_error);
    assert.match(String(result.return_value.output), output);
    assert.equal(String(result.return_value.message).includes('\n'), false);
    assert.deepEqual(result.return_value.display, []);
  });
}

test('tool hangs: the end of the turn tells it to stop, and nothing is sent any more', async () => {
  let told = false;
  const hang = hangingTool((reject) => {
    told = true;
    reject(new Error('aborted'));
  });
  const server = await Server.running({ tools: [hang] });
  await server.request('ToolCallRequest', { id: 't', name: 'hang', arguments: null });
  assert.equal(server.answerTo('t'), undefined);
  await server.finish({ status: 'cancelled' });
  await settled();
  assert.equal(told, true);
  assert.equal(server.answerTo('t'), undefined);
});

const question = (id: string, questions: readonly object[]) => ({ id, tool_call_id: 'c', questions });
const choice = (text: string, more: object = {}) => ({
  question: text,
  options: [{ label: 'A', description: 'first' }, { label: 'B' }],
  ...more,
});

test('question single: labels go back exactly as they came', async () => {
  const server = await Server.running();
  await server.request(
    'QuestionRequest',
    question('q', [choice('Which?', { header: 'Pick', body: '**both** work', other_label: 'Else' })]),
  );
  assert.deepEqual(server.desk.ask, {
    kind: 'question',
    id: 'q',
    turnId: 'turn go',
    title: 'Pick',
    fields: [
      {
        id: '0',
        label: 'Which?',
        body: '**both** work',
        choices: [{ label: 'A', description: 'first' }, { label: 'B' }],
        free: true,
        required: true,
        freeLabel: 'Else',
      },
    ],
  });
  server.desk.send({ type: 'answer', askId: 'q', answer: { kind: 'fields', values: { 0: ['B'] } } });
  await settled();
  assert.deepEqual(server.result('q'), { request_id: 'q', answers: { 'Which?': 'B' } });
});

test('question multi, free text and several: all go in one reply', async () => {
  const server = await Server.running();
  await server.request('QuestionRequest', question('q', [choice('Many?', { multi_select: true }), choice('Free?'), choice('Open?')]));
  assert.equal(server.desk.ask.kind === 'question' && server.desk.ask.fields[0]?.many, true);
  const values = { 0: ['A', 'B'], 1: ['something else'] };
  server.desk.send({ type: 'answer', askId: 'q', answer: { kind: 'fields', values } });
  await settled();
  assert.deepEqual(server.result('q'), { request_id: 'q', answers: { 'Many?': 'A, B', 'Free?': 'something else', 'Open?': '' } });
});

test('question dismissed, or answered with nothing: an empty reply', async () => {
  const server = await Server.running();
  await server.request('QuestionRequest', question('q', [choice('Which?')]));
  await server.request('QuestionRequest', question('r', [choice('Which?')]));
  server.desk.send({ type: 'answer', askId: 'q', answer: { kind: 'cancelled' } });
  server.desk.send({ type: 'answer', askId: 'r', answer: { kind: 'fields', values: {} } });
  await settled();
  assert.deepEqual(server.result('q'), { request_id: 'q', answers: {} });
  assert.deepEqual(server.result('r'), { request_id: 'r', answers: {} });
});

test('plan approval: the plan is shown, then asked for as a question', async () => {
  const server = await Server.running();
  await server.event('PlanDisplay', { content: '# Plan\n1. do', file_path: '/p.md' });
  const options = ['Approve', 'Reject', 'Reject and Exit'].map((label) => ({ label, description: '' }));
  await server.request('QuestionRequest', question('q', [{ question: 'Approve this plan?', header: 'Plan', options }]));
  assert.equal(server.desk.ask.title, 'Plan');
  server.desk.send({ type: 'answer', askId: 'q', answer: { kind: 'fields', values: { 0: ['Reject and Exit'] } } });
  await settled();
  assert.deepEqual(server.result('q'), { request_id: 'q', answers: { 'Approve this plan?': 'Reject and Exit' } });
});

test('a hook nobody subscribed to is allowed, in the turn and outside it', async () => {
  const server = await Server.ready();
  const hook = { subscription_id: 's', event: 'PreToolUse', target: 'Shell', input_data: {} };
  await server.request('HookRequest', { id: 'h', ...hook });
  assert.deepEqual(server.result('h'), { request_id: 'h', action: 'allow', reason: '' });
});

test('unknown request, unknown method, payload missing: answered with the right failure, and the turn goes on', async () => {
  const server = await Server.running();
  await server.request('MindReading', { id: 'a' });
  await server.request('ApprovalRequest', { id: 'b' });
  server.channel.say({ jsonrpc: '2.0', id: 'c', method: 'request', params: { type: 'ApprovalRequest' } });
  server.channel.say({ jsonrpc: '2.0', id: 'd', method: 'telepathy', params: {} });
  server.channel.say({ jsonrpc: '2.0', id: 'e', method: 'request', params: [1, 2] });
  server.channel.say({ jsonrpc: '2.0', id: 'f', method: 'request' });
  await settled();
  assert.deepEqual(
    ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => server.answerTo(id)?.error?.code),
    [-32601, -32602, -32602, -32601, -32602, -32602],
  );
  assert.match(JSON.stringify(server.answerTo('a')), /MindReading/);
  await server.text('fine');
  assert.deepEqual(server.desk.shown, ['text: fine']);
});

test('a request without an id is shown to nobody and answered to nobody', async () => {
  const server = await Server.running();
  const before = server.channel.sent.length;
  server.channel.say({ jsonrpc: '2.0', method: 'request', params: { type: 'ApprovalRequest', payload: approval('a') } });
  await server.request('ApprovalRequest', approval('b'), null);
  assert.equal(server.desk.session.asks.length, 0);
  assert.equal(server.channel.sent.length, before);
});

test('a request whose id equals one of ours is a request', async () => {
  const server = await Server.running();
  const ours = server.asked('prompt')[0]?.id;
  await server.request('ApprovalRequest', approval('a'), ours);
  server.desk.choose('approve');
  await settled();
  assert.deepEqual(server.result(ours), { request_id: 'a', response: 'approve' });
  assert.equal(server.desk.turn.status, 'running');
  await server.finish();
  assert.equal(server.desk.turn.status, 'done');
});

test('turn ends with requests open: their asks vanish and late answers are not sent', async () => {
  const server = await Server.running();
  await server.request('ApprovalRequest', approval('a'));
  await server.request('QuestionRequest', question('q', [choice('Which?')]));
  const { asks } = server.desk.session;
  await server.finish();
  assert.equal(server.desk.session.asks.length, 0);
  server.desk.choose('approve', undefined, asks[0]);
  server.desk.send({ type: 'answer', askId: 'q', answer: { kind: 'fields', values: { 0: ['A'] } } });
  await server.event('ApprovalResponse', { request_id: 'a', response: 'reject' });
  await settled();
  assert.equal(server.answerTo('a'), undefined);
  assert.equal(server.answerTo('q'), undefined);
});

test('background approvals: they come without a turn, outlive turns and cancels, and are answered', async () => {
  const server = await Server.ready();
  await server.request('ApprovalRequest', approval('bg', { source_kind: 'background_agent', source_description: 'the tester' }));
  assert.deepEqual([server.desk.ask.turnId, server.desk.ask.asker], [undefined, 'the tester']);
  server.desk.prompt('go');
  server.desk.send({ type: 'cancel' });
  await settled();
  await server.answer('cancel', {});
  await server.finish({ status: 'cancelled' });
  assert.equal(server.desk.session.asks.length, 1);
  server.desk.choose('approve');
  await settled();
  assert.deepEqual(server.result('bg'), { request_id: 'bg', response: 'approve' });
});

test('arguments nested 20,000 deep: the call is shown without what is too deep, and the turn goes on', async () => {
  const server = await Server.running();
  await server.event('ToolCall', {
    type: 'function',
    id: 'c',
    function: { name: 'Deep', arguments: `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}` },
  });
  await server.request('ApprovalRequest', approval('p'), 'rpc');
  assert.match(JSON.stringify(server.desk.call('c')), /nested more than 256 deep/);
  server.desk.choose('reject');
  await settled();
  assert.ok(server.answerTo('rpc'));
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Answer } from '../../../src/session/intents.ts';
import { callsOf, diffsOf, findTerminal } from '../../../src/session/select.ts';
import { textOf } from '../../agents/drive.ts';
import { later, Refuse, SESSION } from '../../fakes/acp.ts';
import { problemOfDraft } from './oracle.ts';
import { type Scene, scene } from './scene.ts';

/** Acts as an agent of version 2 in its answer to initialize. */
const hello = { protocolVersion: 2, info: { name: 'fake2', version: '2.0.0' }, capabilities: { session: { prompt: { image: {} } } } };
const text = (words: string) => ({ type: 'text', text: words });
const chunk = (messageId: string, words: string, kind = 'agent_message_chunk') => ({
  sessionUpdate: kind,
  messageId,
  content: text(words),
});
const running = { sessionUpdate: 'state_update', state: 'running' };
const idle = (stopReason?: string, more: object = {}) => ({
  sessionUpdate: 'state_update',
  state: 'idle',
  ...(stopReason ? { stopReason } : {}),
  ...more,
});

/** An agent of version 2; everything it says in the test is good by the schema of version 2. */
async function scene2(t: TestContext): Promise<Scene & { say(...updates: readonly object[]): void }> {
  const made = await scene(t);
  made.agent.version = 2;
  made.agent.is(hello);
  return {
    ...made,
    say(...updates) {
      for (const update of updates) {
        assert.equal(problemOfDraft('UpdateSessionNotification', { sessionId: SESSION, update }), undefined);
        made.agent.update(update);
      }
    },
  };
}

/** A ready session in a turn that the agent has taken and works at. */
async function inTurn2(t: TestContext, more: Parameters<Scene['start']>[0] = {}) {
  const made = await scene2(t);
  made.agent.handlers['session/prompt'] = () => ({ messageId: 'u1' });
  const driven = made.start({ ...more, version: '2' });
  await driven.ready();
  const turnId = driven.begin('go');
  await made.agent.got('session/prompt');
  made.say(running, { sessionUpdate: 'user_message', messageId: 'u1', content: [text('go')] });
  return {
    ...made,
    driven,
    turnId,
    finish(stopReason = 'end_turn', rest: object = {}) {
      made.say(idle(stopReason, rest));
      return driven.ended(turnId);
    },
  };
}

test('63: version 2 is offered beside version 1, and an agent of version 1 stays with that', async (t) => {
  const made = await scene2(t);
  await made.start({ version: '2' }).ready();
  const { params } = await made.agent.got('initialize');
  assert.equal(params?.protocolVersion, 2);
  assert.ok(params?.info && params.capabilities && params.clientInfo && params.clientCapabilities);
  made.agent.version = 1;
  made.agent.is({});
  const old = await made.start({ version: '2' }).ready();
  assert.equal(old.link.state, 'ready');
  assert.equal((await made.agent.got('session/new', 1)).params?.cwd, made.cwd);
});

test('63: an agent that refuses version 2 is asked for version 1; without the option version 2 is never offered', async (t) => {
  const made = await scene(t);
  const answer = made.agent.handlers.initialize as (params: object, id: undefined) => unknown;
  made.agent.handlers.initialize = (params) =>
    params.protocolVersion === 2 ? new Refuse(-32022, 'Unsupported', { requested: 2, supported: [1] }) : answer(params, undefined);
  await made.start({ version: '2' }).ready();
  await made.start().ready();
  const asked = made.agent.received.filter((frame) => frame.method === 'initialize').map((frame) => frame.params?.protocolVersion);
  assert.deepEqual(asked, [2, 1, 1]);
});

test('63: both versions give the same session', async (t) => {
  const strip = (value: unknown) => JSON.parse(JSON.stringify(value).replace(/"(startedAt|endedAt)":\d+/g, '"$1":0')) as object;
  const options = [{ value: 'a', name: 'A' }];
  const sessions: object[] = [];
  for (const version of [1, 2]) {
    const made = version === 2 ? await scene2(t) : await scene(t);
    const { agent } = made;
    const file = made.file('a.txt', 'one\ntwo\nthree\n');
    agent.handlers['session/new'] = () =>
      version === 2
        ? {
            sessionId: SESSION,
            configOptions: [{ configId: 'model', name: 'Model', category: 'model', type: 'select', currentValue: 'a', options }],
          }
        : {
            sessionId: SESSION,
            configOptions: [{ id: 'model', name: 'Model', category: 'model', type: 'select', currentValue: 'a', options }],
          };
    agent.handlers['session/prompt'] = () => (version === 2 ? { messageId: 'u1' } : later);
    const driven = made.start(version === 2 ? { version: '2' } : {});
    await driven.ready();
    driven.live.send({ type: 'prompt', turnId: 't', content: [{ type: 'text', text: 'go' }] });
    const { id } = await agent.got('session/prompt');
    const call = { toolCallId: 'c1', title: 'Edit', kind: 'edit', status: 'in_progress', rawInput: { path: file } };
    const patch = {
      format: 'git_patch',
      text: 'diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n',
    };
    const diff =
      version === 2
        ? { type: 'diff', changes: [{ operation: 'modify', path: file }], patch }
        : { type: 'diff', path: file, oldText: 'one\ntwo\nthree\n', newText: 'one\n2\nthree\n' };
    const entries = [{ content: 'Do it', priority: 'high', status: 'pending' }];
    const both: object[] = [
      chunk('th', 'hm', 'agent_thought_chunk'),
      chunk('m1', 'Hello '),
      chunk('m1', 'there'),
      version === 2 ? { sessionUpdate: 'tool_call_update', ...call } : { sessionUpdate: 'tool_call', ...call },
      { sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed', content: [diff] },
      version === 2 ? { sessionUpdate: 'plan_update', plan: { type: 'items', planId: 'p', entries } } : { sessionUpdate: 'plan', entries },
      chunk('m2', 'Done'),
      { sessionUpdate: 'usage_update', used: 10, size: 100 },
      {
        sessionUpdate: 'available_commands_update',
        availableCommands: [
          {
            ...(version === 2 ? { type: 'command' } : {}),
            name: 'x',
            description: 'd',
            input: { ...(version === 2 ? { type: 'text' } : {}), hint: 'h' },
          },
        ],
      },
      { sessionUpdate: 'session_info_update', title: 'T' },
    ];
    if ('say' in made) (made as Awaited<ReturnType<typeof scene2>>).say(running, ...both, idle('end_turn'));
    else {
      for (const update of both) agent.update(update);
      agent.answer(id, { stopReason: 'end_turn' });
    }
    await driven.ended('t');
    const {
      turns,
      plan,
      usage,
      commands,
      title,
      options: shown,
    } = await driven.until('the whole diff', (session) =>
      session.turns
        .flatMap(callsOf)
        .flatMap(diffsOf)
        .some((one) => !one.excerpt),
    );
    sessions.push(JSON.parse(JSON.stringify(strip({ turns, plan, usage, commands, title, shown })).replaceAll(made.cwd, '/w')) as object);
  }
  assert.deepEqual(sessions[1], sessions[0]);
});

test('63: the turn ends when the agent is idle after it worked, also when that is told before the prompt is taken', async (t) => {
  const made = await scene2(t);
  const { agent } = made;
  agent.handlers['session/prompt'] = () => later;
  const driven = made.start({ version: '2' });
  await driven.ready();
  const first = driven.begin('go');
  const { id } = await agent.got('session/prompt');
  // What it says again of earlier work is no end.
  made.say(
    idle('end_turn'),
    running,
    chunk('m', 'quick'),
    idle('max_tokens', { usage: { totalTokens: 3, inputTokens: 2, outputTokens: 1 } }),
  );
  await driven.until('the text', (session) => session.turns[0]?.parts.length === 1);
  assert.equal(driven.now().turns[0]?.status, 'running');
  agent.answer(id, { messageId: 'u1' });
  const turn = await driven.ended(first);
  assert.deepEqual([turn.status, turn.error?.next, driven.now().usage], ['done', ['continue'], { input: 2, output: 1 }]);
  const second = driven.begin('again');
  agent.answer((await agent.got('session/prompt', 1)).id, { messageId: 'u2' });
  made.say(idle('end_turn'), running, idle('error', { error: { code: -32603, message: 'out of luck' } }));
  const failed = await driven.ended(second);
  assert.deepEqual([failed.status, failed.error?.message], ['failed', 'out of luck']);
});

test('63: stopping, a prompt that is refused, and an agent that goes away', async (t) => {
  const { agent, driven, turnId, say } = await inTurn2(t);
  driven.live.send({ type: 'cancel' });
  await agent.got('session/cancel');
  say(idle('cancelled'));
  assert.equal((await driven.ended(turnId)).status, 'cancelled');
  agent.handlers['session/prompt'] = () => new Refuse(-32603, 'not now');
  assert.equal((await driven.prompt('again')).error?.message, 'not now');
  agent.handlers['session/prompt'] = () => ({ messageId: 'u3' });
  const last = driven.begin('once more');
  await agent.got('session/prompt', 2);
  agent.exit();
  const closed = new Promise<void>((resolve) => driven.live.store.onChange(({ now }) => now.link.state === 'closed' && resolve()));
  await closed;
  assert.equal(driven.now().turns.find((turn) => turn.id === last)?.status, 'failed');
});

test('63: a message said whole replaces its pieces where they stand; null clears', async (t) => {
  const { say, driven, finish } = await inTurn2(t);
  say(
    chunk('m1', 'drft'),
    { sessionUpdate: 'tool_call_update', toolCallId: 'c', title: 'T', status: 'completed' },
    { sessionUpdate: 'agent_message', messageId: 'm1', content: [text('draft'), { type: 'image', data: 'AA==', mimeType: 'image/png' }] },
    chunk('m1', ', more'),
    { sessionUpdate: 'agent_message', messageId: 'm1' },
    { sessionUpdate: 'agent_thought', messageId: 'th', content: [text('gone')] },
    { sessionUpdate: 'agent_thought', messageId: 'th', content: null },
    { sessionUpdate: 'user_message', messageId: 'other', content: [text('from somewhere else')] },
  );
  const turn = await finish();
  assert.equal(textOf(turn), 'draft, more*Said in your name by the agent:*\n\nfrom somewhere else');
  assert.deepEqual(
    turn.parts.map((part) => part.kind),
    ['text', 'call', 'content', 'thought', 'text'],
  );
  assert.ok(turn.parts[3]?.kind === 'thought' && turn.parts[3].text === '');
  assert.deepEqual(driven.now().asks, []);
});

test('63: calls: created by an update, content item by item, null takes away', async (t) => {
  const { say, finish } = await inTurn2(t);
  const item = (words: string) => ({ type: 'content', content: text(words) });
  say(
    {
      sessionUpdate: 'tool_call_update',
      toolCallId: 'c',
      title: 'Look',
      name: 'look',
      kind: 'read',
      locations: [{ path: '/w/a', line: 3 }],
      rawInput: { a: 1 },
    },
    { sessionUpdate: 'tool_call_content_chunk', toolCallId: 'c', content: item('one') },
    { sessionUpdate: 'tool_call_content_chunk', toolCallId: 'c', content: item('two') },
    { sessionUpdate: 'tool_call_update', toolCallId: 'd', title: 'Other', content: [item('x')], status: 'paused' },
    { sessionUpdate: 'tool_call_update', toolCallId: 'd', title: null, kind: null, content: null, locations: null, status: 'cancelled' },
  );
  const [look, other] = callsOf(await finish());
  assert.deepEqual(
    look?.output.map((one) => one.kind === 'content' && one.content),
    [text('one'), text('two')],
  );
  assert.deepEqual([look?.locations, look?.input], [[{ path: '/w/a', line: 3 }], { a: 1 }]);
  assert.deepEqual([other?.title, other?.status, other?.output], ['Tool', 'cancelled', []]);
});

test('63: changes of files: a patch placed by its lines, new and deleted files, and a sentence where there is no patch', async (t) => {
  const { say, driven, finish, file, cwd } = await inTurn2(t);
  const many = file('many.txt', 'x\nx\nx\nx\nx\n');
  const dead = file('dead.txt', 'old\n');
  const patch = [
    'diff --git a/many.txt b/many.txt\n--- a/many.txt\n+++ b/many.txt\n@@ -4 +4 @@\n-x\n+y',
    'diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file',
    'diff --git a/dead.txt b/dead.txt\ndeleted file mode 100644\n--- a/dead.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n',
  ].join('\n');
  const changes = [
    { operation: 'modify', path: many },
    { operation: 'add', path: `${cwd}/new.txt` },
    { operation: 'delete', path: dead },
    { operation: 'move', oldPath: `${cwd}/p`, path: `${cwd}/q` },
  ];
  say({
    sessionUpdate: 'tool_call_update',
    toolCallId: 'c',
    title: 'Edit',
    kind: 'edit',
    content: [{ type: 'diff', changes, patch: { format: 'git_patch', text: patch } }],
  });
  const found = await driven.until('placed diffs', (session) => {
    const diffs = session.turns.flatMap(callsOf).flatMap(diffsOf);
    return diffs.length === 4 && diffs.every((one) => !one.excerpt);
  });
  assert.deepEqual(found.turns.flatMap(callsOf).flatMap(diffsOf), [
    { path: many, before: 'x\nx\nx\nx\nx\n', after: 'x\nx\nx\ny\nx\n' },
    { path: `${cwd}/new.txt`, before: null, after: 'a\nb' },
    { path: dead, before: 'old\n', after: null },
    { path: `${cwd}/q`, before: null, after: `Moved: ${cwd}/p → ${cwd}/q`, summary: true },
  ]);
  say({
    sessionUpdate: 'tool_call_update',
    toolCallId: 'd',
    content: [{ type: 'diff', changes: [{ operation: 'modify', path: many }], patch: { format: 'git_patch', text: '@@ nonsense' } }],
  });
  assert.deepEqual(diffsOf(callsOf(await finish())[1] as ReturnType<typeof callsOf>[0]), [
    { path: many, before: null, after: `Changed: ${many}`, summary: true },
  ]);
});

test('63: a file that is moved and changed is told in words, with the lines that change', async (t) => {
  const { say, driven, finish, cwd } = await inTurn2(t);
  const patch = 'diff --git a/p b/q\nrename from p\nrename to q\n--- a/p\n+++ b/q\n@@ -1 +1 @@\n-x\n+y\n';
  const changes = [{ operation: 'move', oldPath: `${cwd}/p`, path: `${cwd}/q` }];
  const content = [{ type: 'diff', changes, patch: { format: 'git_patch', text: patch } }];
  say({ sessionUpdate: 'tool_call_update', toolCallId: 'c', title: 'Edit', kind: 'edit', content });
  const found = await driven.until('placed diffs', (session) => session.turns.flatMap(callsOf).flatMap(diffsOf).length === 2);
  const [words, lines] = found.turns.flatMap(callsOf).flatMap(diffsOf);
  assert.deepEqual(words, { path: `${cwd}/q`, before: null, after: `Moved: ${cwd}/p → ${cwd}/q`, summary: true });
  assert.deepEqual([lines?.before, lines?.after], ['x\n', 'y\n']);
  await finish();
});

test("63: the agent's own terminals: bytes in pieces, a snapshot, the end", async (t) => {
  const { say, driven, finish } = await inTurn2(t);
  const bytes = Buffer.from('héllo\n');
  const part = (from: number, to?: number) => bytes.subarray(from, to).toString('base64');
  say(
    { sessionUpdate: 'terminal_update', terminalId: 'x', command: 'echo', cwd: '/w' },
    { sessionUpdate: 'terminal_output_chunk', terminalId: 'x', data: part(0, 2) },
    { sessionUpdate: 'terminal_output_chunk', terminalId: 'x', data: part(2) },
  );
  await driven.until('its output', (session) => findTerminal(session, 'x')?.tail === 'héllo\n');
  say({
    sessionUpdate: 'terminal_update',
    terminalId: 'x',
    output: { data: Buffer.from('all\n').toString('base64') },
    exitStatus: { exitCode: 1 },
  });
  await finish();
  assert.deepEqual(findTerminal(driven.now(), 'x'), {
    id: 'x',
    command: 'echo',
    tail: 'all\n',
    dropped: 0,
    exit: { code: 1, signal: null },
  });
});

test('63: one call, and one command, are stopped by themselves while the agent says that they can be', async (t) => {
  const { agent, say, driven, finish } = await inTurn2(t);
  agent.handlers['tool_call/cancel'] = () => ({});
  agent.handlers['terminal/cancel'] = () => new Refuse(-32602, 'Not now');
  const cancel = { capabilities: { cancel: {} } };
  say(
    { sessionUpdate: 'tool_call_update', toolCallId: 'c', title: 'Long', status: 'in_progress', ...cancel },
    { sessionUpdate: 'tool_call_update', toolCallId: 'd', title: 'Firm', status: 'in_progress' },
    { sessionUpdate: 'tool_call_update', toolCallId: 'e', title: 'Firm now', status: 'in_progress', ...cancel },
    { sessionUpdate: 'tool_call_update', toolCallId: 'e', capabilities: null },
    { sessionUpdate: 'terminal_update', terminalId: 'x', command: 'sleep', ...cancel },
    { sessionUpdate: 'terminal_update', terminalId: 'y', command: 'firm' },
  );
  const session = await driven.until('the terminals', (now) => findTerminal(now, 'y') !== undefined);
  assert.deepEqual([findTerminal(session, 'x')?.stops, findTerminal(session, 'y')?.stops ?? false], [true, false]);
  assert.deepEqual(
    session.turns.flatMap(callsOf).map((call) => call.stops ?? false),
    [true, false, false],
  );
  for (const callId of ['d', 'e', 'nobody', 'c']) driven.live.send({ type: 'stopCall', callId });
  for (const terminalId of ['y', 'nobody', 'x']) driven.live.send({ type: 'stopTerminal', terminalId });
  assert.deepEqual((await agent.got('tool_call/cancel')).params, { sessionId: SESSION, toolCallId: 'c' });
  assert.deepEqual((await agent.got('terminal/cancel')).params, { sessionId: SESSION, terminalId: 'x' });
  await driven.until('word of the refusal', (session) => session.notices.some(({ text }) => text.includes('Not now')));
  say({ sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'cancelled', capabilities: null });
  const [call] = callsOf(await finish());
  assert.equal(call?.status, 'cancelled');
  assert.equal(agent.received.filter(({ method }) => method === 'tool_call/cancel').length, 1);
});

test('63: permissions about a call, a command, something else or nothing', async (t) => {
  const { agent, driven, finish } = await inTurn2(t);
  const options = [
    { optionId: 'y', name: 'Yes', kind: 'allow_once' },
    { optionId: 'n', name: 'No', kind: 'reject_once' },
  ];
  const subjects: readonly [object, object][] = [
    [
      { subject: { type: 'tool_call', toolCall: { toolCallId: 'c', title: 'Own title', rawInput: { q: 1 } } } },
      { type: 'text', text: '{\n  "q": 1\n}' },
    ],
    [{ subject: { type: 'command', command: 'rm x', cwd: '/w', toolCallId: 'c' } }, { type: 'command', command: 'rm x', cwd: '/w' }],
    [
      { description: 'because', subject: { type: 'hologram', x: 1 } },
      { type: 'text', text: 'because' },
    ],
    [{}, { type: 'text', text: 'May I?' }],
  ];
  for (const [more, detail] of subjects) {
    const params = { sessionId: SESSION, title: 'May I?', options, ...more };
    assert.equal(problemOfDraft('RequestPermissionRequest', params), undefined);
    const answered = agent.ask('session/request_permission', params);
    const { asks } = await driven.until('an ask', (session) => session.asks.length === 1);
    assert.ok(asks[0]?.kind === 'approval');
    assert.deepEqual([asks[0].title, asks[0].detail], ['May I?', detail]);
    const answer: Answer = { kind: 'option', optionId: 'n' };
    driven.live.send({ type: 'answer', askId: asks[0].id, answer });
    assert.deepEqual((await answered).result, { outcome: { outcome: 'selected', optionId: 'n' } });
  }
  const [call] = callsOf(await finish());
  assert.deepEqual([call?.title, call?.status], ['Own title', 'rejected']);
});

test("63: files and terminals are the agent's own: no request for them is served", async (t) => {
  const { agent, finish, file } = await inTurn2(t);
  for (const [method, params] of [
    ['fs/read_text_file', { path: file('a', 'A') }],
    ['terminal/create', { command: 'ls' }],
  ] as const) {
    assert.equal((await agent.ask(method, { sessionId: SESSION, ...params })).error?.code, -32601);
  }
  await finish();
});

test('63: a conversation is resumed with its record, in turns', async (t) => {
  const made = await scene2(t);
  made.agent.handlers['session/resume'] = () => {
    made.say(
      { sessionUpdate: 'user_message', messageId: 'u1', content: [text('first')] },
      { sessionUpdate: 'agent_message', messageId: 'a1', content: [text('one')] },
      chunk('u2', 'sec', 'user_message_chunk'),
      { sessionUpdate: 'user_message', messageId: 'u2', content: [text('second')] },
      chunk('a2', 'two'),
      idle('end_turn'),
    );
    return {};
  };
  const session = await made.start({ version: '2', resume: { key: SESSION, history: true } }).ready();
  assert.deepEqual(
    session.turns.map((turn) => [turn.prompt, textOf(turn), turn.status]),
    [
      [[text('first')], 'one', 'done'],
      [[text('second')], 'two', 'done'],
    ],
  );
  assert.deepEqual((await made.agent.got('session/resume')).params?.replayFrom, { type: 'start' });
});

test('63: commands with the session, options, signing in and out', async (t) => {
  const made = await scene2(t);
  const { agent } = made;
  agent.is({ ...hello, authMethods: [{ type: 'agent', methodId: 'web', name: 'In the browser' }] });
  const group = { groupId: 'g', name: 'G', options: [{ value: 'b', name: 'B' }] };
  const option = { configId: 'm', name: 'M', type: 'select', currentValue: 'b', options: [group] };
  const flag = { configId: 'f', name: 'F', type: 'boolean', currentValue: false };
  let signedIn = false;
  agent.handlers['auth/login'] = () => {
    signedIn = true;
    return {};
  };
  agent.handlers['auth/logout'] = () => ({});
  agent.handlers['session/new'] = () =>
    signedIn
      ? { sessionId: SESSION, configOptions: [option, flag], availableCommands: [{ type: 'command', name: 'go', description: 'Goes' }] }
      : new Refuse(-32000, 'Authentication required');
  agent.handlers['session/set_config_option'] = () => ({ configOptions: [option, { ...flag, currentValue: true }] });
  const driven = made.start({ version: '2' });
  driven.onAsk(() => ({ kind: 'option', optionId: 'web' }));
  const { link, commands, options } = await driven.ready();
  assert.ok(link.state === 'ready' && link.offers.signOut && link.offers.history && !link.offers.fork);
  assert.deepEqual(commands, [{ name: 'go', description: 'Goes', aliases: [] }]);
  assert.ok(options?.[0]?.kind === 'choice');
  assert.deepEqual(options[0].choices, [{ value: 'b', name: 'B', group: 'G' }]);
  driven.live.send({ type: 'setOption', optionId: 'f', value: true });
  driven.live.send({ type: 'setOption', optionId: 'm', value: 'b' });
  await driven.until('the switch', (session) => session.options?.some((one) => one.kind === 'switch' && one.on) ?? false);
  await driven.live.signOut();
  await agent.got('session/set_config_option', 1);
});

test('63: what the agent does unasked is over when it says so', async (t) => {
  const made = await scene2(t);
  const driven = made.start({ version: '2' });
  await driven.ready();
  made.say(running, chunk('m', 'by the way'));
  await driven.until('a turn', (session) => session.turns.length === 1);
  made.say(idle());
  await driven.until('its end', (session) => session.turns[0]?.status === 'done');
});

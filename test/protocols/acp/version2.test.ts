import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { callsOf, diffsOf } from '../../../src/session/select.ts';
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
    { path: `${cwd}/q`, before: null, after: `R ${cwd}/p → ${cwd}/q`, summary: true },
  ]);
  say({
    sessionUpdate: 'tool_call_update',
    toolCallId: 'd',
    content: [{ type: 'diff', changes: [{ operation: 'modify', path: many }], patch: { format: 'git_patch', text: '@@ nonsense' } }],
  });
  assert.deepEqual(diffsOf(callsOf(await finish())[1] as ReturnType<typeof callsOf>[0]), [
    { path: many, before: null, after: `M ${many}`, summary: true },
  ]);
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

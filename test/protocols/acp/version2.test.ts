import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { callsOf, diffsOf } from '../../../src/session/select.ts';
import { later, SESSION } from '../../fakes/acp.ts';
import { problemOfDraft } from './oracle.ts';
import { type Scene, scene } from './scene.ts';

// The same said in both versions, and what is the adapter's; version 2 by itself is in cases/version2.txt.

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
    sessions.push(
      JSON.parse(
        JSON.stringify(strip({ turns, plan, usage, commands, title, shown })).replaceAll(JSON.stringify(made.cwd).slice(1, -1), '/w'),
      ) as object,
    );
  }
  assert.deepEqual(sessions[1], sessions[0]);
});

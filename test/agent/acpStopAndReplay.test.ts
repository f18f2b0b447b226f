import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { methods, type SessionNotification } from '@agentclientprotocol/sdk';
import { diffLocations, locationsOf, titleOf } from '../../src/agent/servers/acp/words.ts';
import { temporaryFolder } from './agentProcess.ts';
import { startService } from './fakeService.ts';
import { say, type Terminals, withAgent } from './officialClient.ts';

type Update = SessionNotification['update'];
type CallUpdate = Extract<Update, { sessionUpdate: 'tool_call' | 'tool_call_update' }>;

const PICTURE = { type: 'image' as const, mimeType: 'image/png', data: 'aGk=' };

function callsIn(updates: readonly SessionNotification[]): readonly CallUpdate[] {
  return updates.flatMap(({ update }) =>
    update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update' ? [update] : [],
  );
}

/** The last word about every call. */
function endsOf(updates: readonly SessionNotification[]): readonly (string | null | undefined)[] {
  const ends = new Map<string, string | null | undefined>();
  for (const { toolCallId, status } of callsIn(updates)) ends.set(toolCallId, status ?? ends.get(toolCallId));
  return [...ends.values()];
}

/** Terminals of a client in which a command ends only when the test says so: killing it changes nothing. */
function stubborn() {
  const done: string[] = [];
  let begun: () => void = () => {};
  let released: () => void = () => {};
  const started = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const gone = new Promise<void>((resolve) => {
    released = resolve;
  });
  const terminals: Terminals = {
    create: () => 'T1',
    output: () => 'so far',
    waitForExit: () => {
      begun();
      return new Promise(() => {});
    },
    kill: () => void done.push('kill'),
    release: () => {
      done.push('release');
      released();
    },
  };
  return { terminals, started, gone, done };
}

test('a stop while a command runs in a terminal of the client is answered at once, though the command does not end', async (t) => {
  const cwd = temporaryFolder(t);
  const { terminals, started, gone, done } = stubborn();
  await withAgent(
    t,
    cwd,
    async (agent, seen) => {
      seen.answer = 'once';
      const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
      const turn = say(agent, sessionId, 'run `sleep 30`');
      await started;
      await agent.notify(methods.agent.session.cancel, { sessionId });
      assert.equal((await turn).stopReason, 'cancelled');
      assert.deepEqual(endsOf(seen.updates), ['failed'], 'every call has its last word before the answer');
      await gone;
      assert.deepEqual(done, ['kill', 'release']);
      assert.equal((await say(agent, sessionId, 'hello')).stopReason, 'end_turn');
    },
    { terminals },
  );
});

test('a stop while the terminal is still being made: what comes of it later is killed and released', async (t) => {
  const cwd = temporaryFolder(t);
  const { terminals, gone, done } = stubborn();
  let asked: () => void = () => {};
  let make: (id: string) => void = () => {};
  const wanted = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const create = () => {
    asked();
    return new Promise<string>((resolve) => {
      make = resolve;
    });
  };
  await withAgent(
    t,
    cwd,
    async (agent, seen) => {
      seen.answer = 'once';
      const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
      const turn = say(agent, sessionId, 'run `sleep 30`');
      await wanted;
      await agent.notify(methods.agent.session.cancel, { sessionId });
      assert.equal((await turn).stopReason, 'cancelled');
      make('T1');
      await gone;
      assert.deepEqual(done, ['kill', 'release']);
    },
    { terminals: { ...terminals, create } },
  );
});

test('a command that takes too long is given up though the client cannot end it, with what it had printed', async (t) => {
  const cwd = temporaryFolder(t);
  const { terminals, done } = stubborn();
  const call = { name: 'Shell', input: '{"command":"sleep 30","timeout":1}' };
  const service = await startService(t, [{ calls: [call] }, { text: 'over' }]);
  const env = { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'fake' };
  await withAgent(
    t,
    cwd,
    async (agent, seen) => {
      seen.answer = 'once';
      const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
      assert.equal((await say(agent, sessionId, 'go')).stopReason, 'end_turn');
      assert.deepEqual(endsOf(seen.updates), ['failed']);
      assert.match(JSON.stringify(service.bodies.at(-1)), /Ended after 1 s.*so far/);
      assert.equal(done[0], 'kill');
    },
    { terminals, env },
  );
});

test("a command is asked about as its line, and the client runs it in the agent's shell", async (t) => {
  const cwd = temporaryFolder(t);
  const created: { readonly command: string; readonly args?: readonly string[] | null }[] = [];
  const terminals: Terminals = {
    create: ({ command, args }) => {
      created.push({ command, ...(args ? { args } : {}) });
      return 'T1';
    },
    output: () => 'ok',
    waitForExit: async () => ({ exitCode: 0 }),
    kill: () => {},
    release: () => {},
  };
  await withAgent(
    t,
    cwd,
    async (agent, seen) => {
      seen.answer = 'once';
      const asked: unknown[] = [];
      seen.onPermission = ({ toolCall }) => void asked.push(toolCall.rawInput);
      const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
      assert.equal((await say(agent, sessionId, 'run `npm test`')).stopReason, 'end_turn');
      assert.deepEqual(asked, [{ command: 'npm test' }]);
      if (process.platform === 'win32') {
        assert.match(created.map(({ command }) => command).join(), /^[^,]*\\(?:pwsh|powershell|bash)\.exe$/i);
        assert.match(created[0]?.args?.at(-1) ?? '', /npm test/);
      } else assert.deepEqual(created, [{ command: '/usr/local/bin/zsh', args: ['-c', 'npm test'] }]);
    },
    { terminals, env: { SHELL: '/usr/local/bin/zsh' } },
  );
});

test('a stop while a permission is open gives its call a last word', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(path.join(cwd, 'a.txt'), 'one\n');
  await withAgent(t, cwd, async (agent, seen) => {
    const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
    seen.onPermission = () => agent.notify(methods.agent.session.cancel, { sessionId });
    assert.equal((await say(agent, sessionId, 'replace "one" with "two" in a.txt')).stopReason, 'cancelled');
    assert.ok(endsOf(seen.updates).length > 0);
    assert.ok(endsOf(seen.updates).every((status) => status === 'completed' || status === 'failed'));
  });
});

test('calls say where they work, absolute and with the line, and what they do in words', async (t) => {
  const cwd = temporaryFolder(t);
  const file = path.join(cwd, 'a.txt');
  writeFileSync(file, 'one\ntwo\n');
  await withAgent(t, cwd, async (agent, seen) => {
    seen.answer = 'once';
    let place: unknown;
    seen.onPermission = ({ toolCall }) => {
      place = toolCall.locations;
    };
    const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
    await say(agent, sessionId, 'replace "two" with "three" in a.txt');
    const edit = callsIn(seen.updates).filter((call) => /^Edit/.test(call.title ?? ''));
    assert.equal(edit.at(-1)?.title, 'Edit a.txt');
    assert.deepEqual(edit.at(-1)?.locations, [{ path: file }]);
    assert.deepEqual(place, [{ path: file, line: 2 }]);
  });
});

test('places of paths as they are written here and on Windows; titles with the pattern, the command, the path', () => {
  const at = (input: object, cwd: string, style: path.PlatformPath) => locationsOf(input, cwd, style);
  assert.deepEqual(at({ path: 'src/a.ts', line_offset: 7 }, '/w', path.posix), [{ path: '/w/src/a.ts', line: 7 }]);
  assert.deepEqual(at({ path: '/x/a.ts' }, '/w', path.posix), [{ path: '/x/a.ts' }]);
  assert.deepEqual(at({ path: 'src/a.ts' }, 'C:\\w', path.win32), [{ path: 'C:\\w\\src\\a.ts' }]);
  assert.deepEqual(at({ path: 'D:\\x\\a.ts' }, 'C:\\w', path.win32), [{ path: 'D:\\x\\a.ts' }]);
  assert.deepEqual(at({ directory: 'src' }, '/w', path.posix), [{ path: '/w/src' }]);
  assert.deepEqual(at({ path: 'a\0b' }, '/w', path.posix), []);
  assert.deepEqual(diffLocations([{ type: 'diff', path: '/a', before: null, after: 'x\n' }]), [{ path: '/a', line: 1 }]);
  const titles = [
    titleOf('Grep', { pattern: 'TODO', path: 'src' }),
    titleOf('Glob', { pattern: '**/*.ts' }),
    titleOf('Shell', { command: 'npm test' }),
    titleOf('ReadFile', { path: 'a.ts' }),
    titleOf('StrReplaceFile', {}),
    titleOf('open_in_ide', { path: 'a.ts' }),
  ];
  assert.deepEqual(titles, ['Search for "TODO" in src', 'Find files **/*.ts', 'npm test', 'Read a.ts', 'Edit a file', 'open_in_ide']);
});

test('a loaded conversation has its edits with their diff, place and input, its plan, and the pictures of the user', async (t) => {
  const cwd = temporaryFolder(t);
  const home = temporaryFolder(t);
  const file = path.join(cwd, 'a.txt');
  writeFileSync(file, 'one\ntwo\n');
  let sessionId = '';
  const calls = [
    { id: 'c1', name: 'StrReplaceFile', input: '{"path":"a.txt","edit":{"old":"two","new":"three"}}' },
    { id: 'c2', name: 'SetTodoList', input: '{"todos":[{"title":"read","status":"done"},{"title":"write","status":"pending"}]}' },
  ];
  const service = await startService(t, [{ calls }, { text: 'done' }]);
  const env = { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'fake' };
  await withAgent(
    t,
    cwd,
    async (agent, seen) => {
      seen.answer = 'once';
      ({ sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] }));
      await say(agent, sessionId, [{ type: 'text', text: 'as in the picture' }, PICTURE]);
    },
    { home, env },
  );
  await withAgent(
    t,
    cwd,
    async (agent, { updates }) => {
      await agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] });
      const begun = callsIn(updates).find((call) => call.title === 'Edit a.txt');
      assert.ok(begun?.sessionUpdate === 'tool_call');
      assert.deepEqual([begun.locations, (begun.rawInput as { path?: string }).path], [[{ path: file }], 'a.txt']);
      const ended = callsIn(updates).find((call) => call.toolCallId === begun.toolCallId && call.status === 'completed');
      assert.deepEqual(ended?.content, [{ type: 'diff', path: file, oldText: 'one\ntwo\n', newText: 'one\nthree\n' }]);
      assert.deepEqual(ended?.locations, [{ path: file, line: 2 }]);
      const said = updates.flatMap(({ update }) => (update.sessionUpdate === 'user_message_chunk' ? [update.content] : []));
      assert.deepEqual(said[1], PICTURE);
      const plan = updates.find(({ update }) => update.sessionUpdate === 'plan')?.update;
      assert.equal(plan?.sessionUpdate === 'plan' && plan.entries.length, 2);
    },
    { home },
  );
});

test('a folder that is relative, missing or a file is refused with words', async (t: TestContext) => {
  const cwd = temporaryFolder(t);
  const file = path.join(cwd, 'a.txt');
  writeFileSync(file, '');
  await withAgent(t, cwd, async (agent) => {
    const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
    await say(agent, sessionId, 'hello');
    for (const [wrong, why] of [
      ['relative/x', /absolute path/],
      [path.join(cwd, 'nope'), /not a folder/],
      [file, /not a folder/],
    ] as const) {
      const refusal = { code: -32602, message: why };
      await assert.rejects(agent.request(methods.agent.session.new, { cwd: wrong, mcpServers: [] }), refusal);
      await assert.rejects(agent.request(methods.agent.session.load, { sessionId, cwd: wrong, mcpServers: [] }), refusal);
      await assert.rejects(agent.request(methods.agent.session.resume, { sessionId, cwd: wrong, mcpServers: [] }), refusal);
    }
    const more = { cwd, mcpServers: [], additionalDirectories: ['other'] };
    await assert.rejects(agent.request(methods.agent.session.new, more), { code: -32602, message: /absolute path/ });
  });
});

test('an attachment that is no text is told to the model with its type and size; a picture is given as one', async (t) => {
  const cwd = temporaryFolder(t);
  const service = await startService(t, [{ text: 'seen' }]);
  const env = { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'fake' };
  await withAgent(
    t,
    cwd,
    async (agent) => {
      const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
      const resource = (uri: string, mimeType: string) => ({ type: 'resource' as const, resource: { uri, mimeType, blob: 'aGk=' } });
      await say(agent, sessionId, [resource('file:///x.bin', 'application/zip'), resource('file:///x.png', 'image/png')]);
      const told = JSON.stringify(service.bodies.at(-1)?.messages.at(-1));
      assert.match(told, /attached: file:\/\/\/x\.bin, application\/zip, 2 bytes/);
      assert.match(told, /data:image\/png;base64,aGk=/);
    },
    { env },
  );
});

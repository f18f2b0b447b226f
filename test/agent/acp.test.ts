import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { acp } from '../../src/protocols/acp/index.ts';
import type { Resume } from '../../src/protocols/adapter.ts';
import type { Files } from '../../src/protocols/ports.ts';
import { callsOf, changedFiles, findTerminal } from '../../src/session/select.ts';
import { choose, type Drive, drive, textOf } from '../agents/drive.ts';
import { problemOfFrame } from '../protocols/acp/oracle.ts';
import { endAfter, startAgent, temporaryFolder } from './agentProcess.ts';
import { startService } from './fakeService.ts';

/** The built agent behind the ACP client, offline: its guide answers. All frames of both sides must be good by the official schema. */
function start(t: TestContext, cwd: string, resume?: Resume, files?: Files): Drive {
  const env = { PARLEY_MODEL_BASE_URL: undefined, PARLEY_MODEL_NAME: undefined, KIMI_SHARE_DIR: path.join(cwd, '.home') };
  const args = [path.resolve('dist/parley-agent.js'), '--protocol', 'acp'];
  const driven = drive({
    protocol: acp,
    launch: { kind: 'process', command: process.execPath, args, env, cwd },
    ports: { tools: [], ...(files ? { files } : {}) },
    ...(resume ? { resume } : {}),
  });
  endAfter(t, async () => {
    await driven.stop();
    assert.deepEqual(
      driven.frames.flatMap((frame) => problemOfFrame(frame) ?? []),
      [],
    );
  });
  return driven;
}

test('a change is asked about with its diff, refused, then allowed', async (t) => {
  const cwd = temporaryFolder(t);
  const file = path.join(cwd, 'a.txt');
  writeFileSync(file, 'one\ntwo\n');
  const driven = start(t, cwd);
  const session = await driven.ready();
  assert.deepEqual(session.agent.name, 'Parley Agent');
  assert.deepEqual(
    session.mode?.all.map((mode) => mode.id),
    ['default', 'plan'],
  );
  await driven.until('commands', (now) => now.commands.some((command) => command.name === 'help'));
  driven.onAsk((ask) => {
    assert.deepEqual(ask.kind === 'approval' && ask.detail, {
      type: 'edit',
      diffs: [{ path: file, before: 'one\ntwo\n', after: 'one\nthree\n' }],
    });
    return choose('reject_once')(ask);
  });
  const refused = await driven.prompt('replace "two" with "three" in a.txt');
  assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\n');
  assert.ok(callsOf(refused).some((call) => call.status === 'rejected'));
  driven.onAsk(choose('allow_once'));
  const allowed = await driven.prompt('replace "two" with "three" in a.txt');
  assert.equal(readFileSync(file, 'utf8'), 'one\nthree\n');
  const edit = callsOf(allowed).find((call) => call.kind === 'edit');
  assert.deepEqual(
    edit?.output.find((one) => one.kind === 'diff'),
    { kind: 'diff', diff: { path: file, before: 'one\ntwo\n', after: 'one\nthree\n' } },
  );
  assert.equal(edit?.status, 'done');
  const told = driven.frames.flatMap(({ message }) => /"status":"(\w+)"/.exec(JSON.stringify(message))?.[1] ?? []);
  assert.deepEqual(told.slice(-4), ['pending', 'pending', 'in_progress', 'completed'], 'it runs once it was allowed');
});

test('a file with unsaved text is edited in the editor: that text stays, and a write it refuses is a call that failed', async (t) => {
  const cwd = temporaryFolder(t);
  const file = path.join(cwd, 'a.txt');
  writeFileSync(file, 'one\ntwo\n');
  let buffer = 'unsaved\none\ntwo\n';
  let refuses = false;
  const files: Files = {
    read: async (target) => (target === file ? buffer : readFileSync(target, 'utf8')),
    write: async (target, text) => {
      assert.equal(target, file);
      if (refuses) throw new Error('the editor does not want it');
      buffer = text;
    },
  };
  const driven = start(t, cwd, undefined, files);
  await driven.ready();
  driven.onAsk(choose('allow_once'));
  const turn = await driven.prompt('replace "two" with "three" in a.txt');
  assert.equal(buffer, 'unsaved\none\nthree\n');
  assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\n', 'nothing goes past the editor');
  assert.deepEqual(
    callsOf(turn).flatMap((call) => call.output.flatMap((one) => (one.kind === 'diff' ? [one.diff] : []))),
    [{ path: file, before: 'unsaved\none\ntwo\n', after: 'unsaved\none\nthree\n' }],
  );
  assert.equal(changedFiles(turn).length, 1);
  refuses = true;
  buffer = 'unsaved\none\ntwo\n';
  const failed = await driven.prompt('replace "two" with "three" in a.txt');
  const edit = callsOf(failed).find((call) => call.kind === 'edit');
  assert.equal(edit?.status, 'failed');
  assert.match(JSON.stringify(edit), /does not want it/);
  assert.equal(buffer, 'unsaved\none\ntwo\n');
});

test("commands run in the client's terminals, and stop with the turn", async (t) => {
  const cwd = temporaryFolder(t);
  const driven = start(t, cwd);
  await driven.ready();
  driven.onAsk(choose('allow_once'));
  const turn = await driven.prompt('run `echo from the terminal`');
  const call = callsOf(turn).find((one) => one.kind === 'execute');
  const shown = call?.output.find((one) => one.kind === 'terminal');
  assert.ok(shown?.kind === 'terminal');
  assert.deepEqual(
    [findTerminal(driven.now(), shown.terminalId)?.tail, findTerminal(driven.now(), shown.terminalId)?.exit?.code],
    ['from the terminal\n', 0],
  );
  const long = driven.begin('run `echo begun; sleep 1000`');
  await driven.until('the output', (session) => session.terminals.some((one) => one.tail === 'begun\n'));
  driven.live.send({ type: 'cancel' });
  assert.equal((await driven.ended(long)).status, 'cancelled');
  await driven.until('its end', (session) => session.terminals.every((one) => one.exit !== undefined));
});

test('a conversation is loaded with its history, and only an old one', async (t) => {
  const cwd = temporaryFolder(t);
  const first = start(t, cwd);
  await first.ready();
  first.onAsk(choose('allow_once'));
  await first.prompt('create file made.txt with "hello"');
  assert.ok(existsSync(path.join(cwd, 'made.txt')));
  const { resumeKey = '' } = first.now();
  await first.stop();
  const again = start(t, cwd, { key: resumeKey, history: true });
  const session = await again.ready();
  const [turn] = session.turns;
  assert.deepEqual(turn?.prompt, [{ type: 'text', text: 'create file made.txt with "hello"' }]);
  assert.ok(turn && callsOf(turn).some((call) => call.status === 'done'));
  assert.match(textOf(await again.prompt('hello')), /\S/);
  const lost = start(t, cwd, { key: 'never-was', history: true });
  assert.match((await lost.ready()).notices[0]?.text ?? '', /cannot take up this conversation.*never-was/);
});

test('a client that fails to ask the user, or answers with no option of the request, fails the call: nobody has rejected it', async (t) => {
  const cwd = temporaryFolder(t);
  const agent = startAgent(t, { cwd, args: ['--protocol', 'acp'] });
  await agent.ok('initialize', { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await agent.ok('session/new', { cwd, mcpServers: [] });
  const answers: readonly (readonly [object, RegExp])[] = [
    [{ error: { code: -32603, message: 'The view broke.' } }, /The approval failed, so the call did not run: The view broke\./],
    [{ result: { outcome: { outcome: 'selected', optionId: 'perhaps' } } }, /selects none of the options/],
    [{ result: { nonsense: 1 } }, /selects none of the options/],
    [{ result: { outcome: { outcome: 'selected', optionId: 'reject' } } }, /"Rejected"/],
  ];
  for (const [answer, expected] of answers) {
    const before = agent.messages.length;
    const turn = agent.start('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'run echo never' }] });
    const asked = await agent.find((one) => one.method === 'session/request_permission' && agent.messages.indexOf(one) >= before);
    agent.send({ id: asked.id, ...answer });
    assert.deepEqual((await agent.answerTo(turn)).result, { stopReason: 'end_turn' });
    const ended = agent.messages.slice(before).filter((one) => JSON.stringify(one).includes('"status":"failed"'));
    assert.match(JSON.stringify(ended), expected);
  }
});

test('plan mode is set and told', async (t) => {
  const driven = start(t, temporaryFolder(t));
  await driven.ready();
  driven.live.send({ type: 'setMode', modeId: 'plan' });
  await driven.until('plan mode', (session) => session.mode?.current === 'plan');
});

test('a key that the model refuses is a sign-in that is wanted, in the words of the model', async (t) => {
  const cwd = temporaryFolder(t);
  const service = await startService(t, [{ status: 401, message: 'expired on 3 May' }]);
  const env = { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'fake', KIMI_SHARE_DIR: path.join(cwd, '.home') };
  const args = [path.resolve('dist/parley-agent.js'), '--protocol', 'acp'];
  const launch = { kind: 'process', command: process.execPath, args, env, cwd } as const;
  const driven = drive({ protocol: acp, launch, ports: { tools: [] } });
  t.after(() => driven.stop());
  await driven.ready();
  const turn = await driven.prompt('hi');
  const answers = driven.frames.map(({ message }) => message as { readonly error?: { readonly code: number } });
  assert.deepEqual(
    answers.flatMap(({ error }) => error?.code ?? []),
    [-32000],
  );
  assert.equal(turn.status, 'failed');
  assert.match(turn.error?.message ?? '', /expired on 3 May/);
  assert.deepEqual(turn.error?.next, ['retry', 'signIn', 'showLog']);
});

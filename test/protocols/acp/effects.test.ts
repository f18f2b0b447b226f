import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { diskFiles } from '../../../src/live/diskFiles.ts';
import { slice } from '../../../src/protocols/acp/files.ts';
import { placeOf } from '../../../src/protocols/paths.ts';
import type { Files } from '../../../src/protocols/ports.ts';
import { callsOf, diffsOf, findTerminal } from '../../../src/session/select.ts';
import { choose } from '../../agents/drive.ts';
import { type FakeAgent, SESSION } from '../../fakes/acp.ts';
import { inTurn, scene } from './scene.ts';

const read = (agent: FakeAgent, file: string, more: object = {}) =>
  agent.ask('fs/read_text_file', { sessionId: SESSION, path: file, ...more });
const write = (agent: FakeAgent, file: string, content: string) =>
  agent.ask('fs/write_text_file', { sessionId: SESSION, path: file, content });

/** A folder beside the workspace. */
function outside(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-outside-')));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('40: what the editor holds unsaved is read, and a mark at the beginning is not part of the text', async (t) => {
  const made = await scene(t);
  const file = made.file('a.txt', 'on disk');
  const files = { read: async (name: string) => (name === file ? '\uFEFFunsaved' : ''), write: async () => {} };
  const { finish } = await inTurn(made, { ports: { files } });
  assert.deepEqual((await read(made.agent, file)).result, { content: 'unsaved' });
  await finish();
});

test('41: line and limit at their edges', () => {
  const text = 'one\r\ntwo\r\nthree';
  assert.equal(slice(text, undefined, undefined), text);
  assert.equal(slice(text, 0, undefined), text);
  assert.equal(slice(text, 1, 1), 'one\r\n');
  assert.equal(slice(text, 2, 1000), 'two\r\nthree');
  assert.equal(slice(text, 3, 1), 'three');
  assert.equal(slice(text, 4, 1), '');
  assert.equal(slice(text, -3, 0), '');
  assert.equal(slice('a\n', 1, 1), 'a\n');
  assert.equal(slice('', 1, 5), '');
});

test('43 and 48: a write is answered after the file holds it, and the call that wrote shows it', async (t) => {
  const made = await scene(t);
  const { agent } = made;
  const file = path.join(made.cwd, 'deep', 'new.txt');
  const { finish } = await inTurn(made);
  agent.update({
    sessionUpdate: 'tool_call',
    toolCallId: 'c1',
    title: 'Write',
    kind: 'edit',
    status: 'in_progress',
    rawInput: { path: file },
  });
  assert.deepEqual((await write(agent, file, 'hello\n')).result, {});
  assert.equal(readFileSync(file, 'utf8'), 'hello\n');
  await write(agent, file, 'hello there\n');
  agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed', content: [] });
  const [call] = callsOf(await finish());
  assert.deepEqual(call?.output, [{ kind: 'diff', diff: { path: file, before: null, after: 'hello there\n' } }]);
});

test('43: a write into text that was changed meanwhile changes only what the agent changed; the same lines are asked about', async (t) => {
  const made = await scene(t);
  const file = made.file('a.txt', 'one\ntwo\nthree\nfour\nfive\n');
  const { driven, finish } = await inTurn(made);
  await read(made.agent, file);
  writeFileSync(file, 'one\ntwo\nthree\nfour\nFIVE, by hand\n');
  assert.deepEqual((await write(made.agent, file, 'ONE\ntwo\nthree\nfour\nfive\n')).result, {});
  assert.equal(readFileSync(file, 'utf8'), 'ONE\ntwo\nthree\nfour\nFIVE, by hand\n');
  // The agent goes on from what it wrote.
  assert.deepEqual((await write(made.agent, file, 'ONE\nTWO\nthree\nfour\nfive\n')).result, {});
  assert.equal(readFileSync(file, 'utf8'), 'ONE\nTWO\nthree\nfour\nFIVE, by hand\n');
  for (const [optionId, kept] of [
    ['reject', 'FIVE, by hand'],
    ['allow', 'V'],
  ] as const) {
    const both = write(made.agent, file, 'ONE\nTWO\nthree\nfour\nV\n');
    const { asks } = await driven.until('an ask', (session) => session.asks.length === 1);
    assert.ok(asks[0]?.kind === 'approval' && asks[0].detail.type === 'edit' && asks[0].ours);
    assert.match(asks[0].detail.diffs[0]?.before ?? '', /FIVE, by hand/);
    driven.live.send({ type: 'answer', askId: asks[0].id, answer: { kind: 'option', optionId } });
    assert.equal((await both).error !== undefined, optionId === 'reject');
    assert.equal(readFileSync(file, 'utf8'), `ONE\nTWO\nthree\nfour\n${kept}\n`);
  }
  await finish();
});

test('45: links out of the workspace, .., folders that steer the editor, relative paths', async (t) => {
  const made = await scene(t);
  const away = outside(t);
  symlinkSync(away, path.join(made.cwd, 'link'));
  symlinkSync(path.join(away, 'not-yet'), path.join(made.cwd, 'dangling'));
  mkdirSync(path.join(made.cwd, '.git'));
  const place = (name: string) => placeOf(path.join(made.cwd, name), [made.cwd]);
  assert.equal(await place('src/new/deep.txt'), 'inside');
  assert.equal(await place('link/x.txt'), 'outside');
  assert.equal(await place('dangling'), 'outside');
  assert.equal(await placeOf(`${made.cwd}/../x`, [made.cwd]), 'outside');
  assert.equal(await placeOf(`${made.cwd}-twin/x`, [made.cwd]), 'outside');
  assert.equal(await place('.git/hooks/pre-commit'), 'guarded');
  assert.equal(await place('sub/.vscode/tasks.json'), 'guarded');
  for (const name of ['x.code-workspace', '.devcontainer/devcontainer.json', '.mcp.json', 'sub/.envrc'])
    assert.equal(await place(name), 'guarded');
  await assert.rejects(placeOf('src/a.txt', [made.cwd]), /not absolute/);
  await assert.rejects(placeOf(`${made.cwd}/a\0b`, [made.cwd]), /NUL/);
});

test('45: outside the workspace a user is asked: each write, and once a folder for reading; a refusal writes nothing', async (t) => {
  const made = await scene(t);
  const away = outside(t);
  writeFileSync(path.join(away, 'a.txt'), 'A');
  writeFileSync(path.join(away, 'b.txt'), 'B');
  const { driven, finish } = await inTurn(made);
  let asked = 0;
  driven.onAsk((ask) => {
    asked += 1;
    const yes = ask.kind === 'approval' && ask.toolKind === 'read';
    return { kind: 'option', optionId: yes ? 'allow' : 'reject' };
  });
  assert.deepEqual((await read(made.agent, path.join(away, 'a.txt'))).result, { content: 'A' });
  assert.deepEqual((await read(made.agent, path.join(away, 'b.txt'))).result, { content: 'B' });
  assert.equal(asked, 1);
  assert.equal((await read(made.agent, path.join(away, 'AGENTS.md'))).error?.code, -32002);
  assert.equal((await write(made.agent, path.join(away, 'new.txt'), 'x')).error?.code, -32603);
  assert.equal((await write(made.agent, path.join(made.cwd, '.git', 'config'), 'x')).error?.code, -32603);
  assert.equal(asked, 3, 'a missing file is not asked about; both writes are');
  assert.equal(existsSync(path.join(away, 'new.txt')), false);
  await finish();
});

test('what is no regular file is not read: a pipe in the workspace holds nothing up', async (t) => {
  const made = await scene(t);
  const { finish } = await inTurn(made);
  const pipe = path.join(made.cwd, 'pipe');
  execFileSync('mkfifo', [pipe]);
  for (const answer of await Promise.all(Array.from({ length: 12 }, () => read(made.agent, pipe)))) {
    assert.match(answer.error?.message ?? '', /not a regular file/);
  }
  assert.match((await write(made.agent, pipe, 'x')).error?.message ?? '', /not a regular file/);
  assert.deepEqual((await read(made.agent, made.file('a.txt', 'A'))).result, { content: 'A' });
  await finish();
});

test('a write the user has allowed with its call is not asked about again', async (t) => {
  const made = await scene(t);
  const file = path.join(outside(t), 'new.txt');
  const { driven, finish } = await inTurn(made);
  driven.onAsk(choose('allow_once'));
  const toolCall = { toolCallId: 'c1', title: 'W', kind: 'edit', content: [{ type: 'diff', path: file, oldText: null, newText: 'x' }] };
  const options = [{ optionId: 'y', name: 'Yes', kind: 'allow_once' }];
  await made.agent.ask('session/request_permission', { sessionId: SESSION, toolCall, options });
  assert.deepEqual((await write(made.agent, file, 'x')).result, {});
  assert.equal(readFileSync(file, 'utf8'), 'x');
  await finish();
});

test('a folder that becomes a link out of the workspace between the look at a file and its write is not written through', async (t) => {
  const made = await scene(t);
  const { agent, cwd } = made;
  const away = outside(t);
  const folder = path.join(cwd, 'd');
  mkdirSync(folder);
  const files: Files = {
    ...diskFiles,
    // Reading is the last step of the look.
    async read(file) {
      rmSync(folder, { recursive: true, force: true });
      symlinkSync(away, folder);
      return diskFiles.read(file);
    },
  };
  const { finish } = await inTurn(made, { ports: { files } });
  const { error } = await write(agent, path.join(folder, 'f.txt'), 'x');
  assert.match(error?.message ?? '', /leads elsewhere/);
  assert.equal(existsSync(path.join(away, 'f.txt')), false);
  await finish();
});

test('an allowed call allows what was shown of it and nothing else: no other text, no other file, nothing a link hides', async (t) => {
  const made = await scene(t);
  const { agent, cwd } = made;
  const away = outside(t);
  symlinkSync(away, path.join(cwd, 'link'));
  const { driven, finish } = await inTurn(made);
  let extra = 0;
  driven.onAsk((ask) => {
    if (ask.kind === 'approval' && ask.options.some((one) => one.id === 'y')) return { kind: 'option', optionId: 'y' };
    extra += 1;
    return { kind: 'option', optionId: 'reject' };
  });
  const allow = (toolCall: object) =>
    agent.ask('session/request_permission', {
      sessionId: SESSION,
      toolCall,
      options: [{ optionId: 'y', name: 'Yes', kind: 'allow_once' }],
    });
  const diff = (file: string) => ({ type: 'diff', path: file, oldText: null, newText: 'shown' });
  const places = [path.join(away, 'a.txt'), path.join(cwd, '.git', 'hooks', 'pre-commit'), path.join(cwd, '.vscode', 'settings.json')];
  const through = path.join(cwd, 'link', 'b.txt');
  const locations = [...places, through].map((file) => ({ path: file }));
  // Places are no texts, neither told with the question nor slipped in afterwards.
  await allow({ toolCallId: 'r', title: 'Read README.md', kind: 'read', locations });
  agent.update({ sessionUpdate: 'tool_call_update', toolCallId: 'r', locations, content: places.map(diff) });
  for (const file of places) assert.equal((await write(agent, file, 'shown')).error?.code, -32603, file);
  // What steers the editor, and what a link leads outside, is asked about by its own; so is another text than the one that was shown.
  await allow({ toolCallId: 'w', title: 'Write', kind: 'edit', content: [...places, through].map(diff) });
  assert.equal((await write(agent, places[0] ?? '', 'another')).error?.code, -32603);
  const around = await agent.ask('terminal/create', { sessionId: SESSION, command: `echo another > ${places[0]}` });
  assert.match(around.error?.message ?? '', /rejected a change of a file/);
  extra -= 1;
  for (const file of [...places.slice(1), through]) assert.equal((await write(agent, file, 'shown')).error?.code, -32603, file);
  assert.equal(extra, 7);
  // A file of build tools is asked about once, unless a link leads its name elsewhere.
  const build = [path.join(cwd, 'package.json'), path.join(cwd, 'Makefile')];
  symlinkSync('.git', path.join(cwd, 'Makefile'));
  await allow({ toolCallId: 'b', title: 'Write', kind: 'edit', content: build.map(diff) });
  assert.deepEqual((await write(agent, build[0] ?? '', 'shown')).result, {});
  assert.equal(extra, 7);
  assert.equal((await write(agent, build[0] ?? '', 'another')).error?.code, -32603);
  assert.notEqual((await write(agent, build[1] ?? '', 'shown')).error, undefined);
  assert.deepEqual((await write(agent, places[0] ?? '', 'shown')).result, {});
  assert.equal(existsSync(path.join(away, 'b.txt')), false);
  await finish();
});

test('a write that belongs to no call is shown as one of its own, in a turn, beside other calls, and after the turn', async (t) => {
  const made = await scene(t);
  const file = made.file('a.txt', 'old\n');
  const { agent } = made;
  const { driven, finish } = await inTurn(made);
  const shown = () =>
    driven
      .now()
      .turns.flatMap(callsOf)
      .flatMap(diffsOf)
      .filter((diff) => diff.path === file);
  for (const toolCallId of ['c1', 'c2'])
    agent.update({ sessionUpdate: 'tool_call', toolCallId, title: 'Think', kind: 'think', status: 'in_progress' });
  await write(agent, file, 'one\n');
  await driven.until('the write', () => shown().length === 1);
  assert.deepEqual(shown()[0], { path: file, before: 'old\n', after: 'one\n' });
  await finish();
  await write(agent, file, 'two\n');
  await driven.until('the later write', () => shown().length === 2);
  assert.deepEqual(shown()[1], { path: file, before: 'one\n', after: 'two\n' });
  await driven.until('its end', (session) => session.turns.length === 2 && session.turns.every((turn) => turn.status === 'done'));
});

test('what the editor holds unsaved is saved when the agent writes just that', async (t) => {
  const made = await scene(t);
  const file = made.file('a.txt', 'on disk');
  const saved: string[] = [];
  const files = { read: async () => 'typed', write: async (_: string, text: string) => void saved.push(text) };
  const { finish } = await inTurn(made, { ports: { files } });
  assert.deepEqual((await read(made.agent, file)).result, { content: 'typed' });
  assert.deepEqual((await write(made.agent, file, 'typed')).result, {});
  assert.deepEqual(saved, ['typed']);
  await finish();
});

test('an answer whose kind nobody knows, and a call that says it only reads, allow no write outside; the question says that it goes there', async (t) => {
  const made = await scene(t);
  const file = path.join(outside(t), 'new.txt');
  const { driven, finish } = await inTurn(made);
  const titles: string[] = [];
  driven.onAsk((ask) => {
    titles.push(ask.title);
    return { kind: 'option', optionId: ask.kind === 'approval' && ask.options[0]?.id === 'q' ? 'q' : 'reject' };
  });
  const content = [{ type: 'diff', path: file, oldText: null, newText: 'x' }];
  const asked = (toolCallId: string, callKind: string, kind: string) =>
    made.agent.ask('session/request_permission', {
      sessionId: SESSION,
      toolCall: { toolCallId, title: 'W', kind: callKind, content },
      options: [{ optionId: 'q', name: 'Deny quietly', kind }],
    });
  await asked('c1', 'edit', 'mystery');
  assert.equal((await write(made.agent, file, 'x')).error?.code, -32603);
  await asked('c2', 'read', 'allow_once');
  assert.equal((await write(made.agent, file, 'x')).error?.code, -32603);
  assert.equal(existsSync(file), false);
  assert.deepEqual(titles, [
    'W (outside the workspace)',
    'Write a file outside the workspace',
    'W (outside the workspace)',
    'Write a file outside the workspace',
  ]);
  await finish();
});

test('46 and 47: a folder and a binary file are no texts; a file that cannot be written says why', async (t) => {
  const made = await scene(t);
  const binary = path.join(made.cwd, 'b.bin');
  writeFileSync(binary, Buffer.from([1, 0, 2]));
  const { finish } = await inTurn(made);
  assert.match((await read(made.agent, made.cwd)).error?.message ?? '', /EISDIR/);
  assert.match((await read(made.agent, binary)).error?.message ?? '', /not a text file/);
  assert.match((await write(made.agent, made.cwd, 'x')).error?.message ?? '', /EISDIR/);
  await finish();
});

type Output = {
  readonly output: string;
  readonly truncated: boolean;
  readonly exitStatus?: { readonly exitCode: number | null; readonly signal: string | null };
};

/** Starts a command; what comes back speaks of it. */
async function command(agent: FakeAgent, params: object) {
  const { result, error } = await agent.ask('terminal/create', { sessionId: SESSION, ...params });
  assert.equal(error, undefined);
  const { terminalId } = result as { readonly terminalId: string };
  const about = async (method: string) => (await agent.ask(`terminal/${method}`, { sessionId: SESSION, terminalId })).result;
  return { terminalId, output: async () => (await about('output')) as Output, wait: () => about('wait_for_exit'), about };
}

test('commands that have ended take no room from later ones, and the oldest are let go in the end', { timeout: 60_000 }, async (t) => {
  const made = await scene(t);
  const created: string[] = [];
  const handle = (id: string, ends: boolean) => ({
    id,
    output: () => ({ text: id, truncated: false, ...(ends ? { exit: { code: 0, signal: null } } : {}) }),
    exited: () => (ends ? Promise.resolve({ code: 0, signal: null }) : new Promise<never>(() => {})),
    kill: () => {},
    release: () => {},
  });
  const terminals = {
    create: async ({ command: line }: { readonly command: string }) => {
      created.push(`t${created.length}`);
      return handle(`t${created.length - 1}`, line === 'ends');
    },
  };
  const { finish } = await inTurn(made, { ports: { terminals } });
  const create = (line: string) => made.agent.ask('terminal/create', { sessionId: SESSION, command: line });
  const output = (terminalId: string) => made.agent.ask('terminal/output', { sessionId: SESSION, terminalId });
  for (let at = 0; at < 257; at++) assert.equal((await create('ends')).error, undefined, `number ${at}`);
  assert.equal((await output('t0')).error?.code, -32002);
  assert.deepEqual((await output('t1')).result, { output: 't1', truncated: false, exitStatus: { exitCode: 0, signal: null } });
  for (let at = 0; at < 64; at++) assert.equal((await create('runs')).error, undefined);
  assert.match((await create('runs')).error?.message ?? '', /commands are running/);
  await finish();
});

test('49 and 50: arguments reach the program as they are; a line without arguments is for the shell; no pager waits', async (t) => {
  const made = await scene(t);
  const { finish } = await inTurn(made);
  mkdirSync(path.join(made.cwd, 'a b'));
  const split = await command(made.agent, {
    command: '/bin/sh',
    args: ['-c', 'cd "a b" && pwd && echo "$PAGER $X"'],
    env: [{ name: 'X', value: '1 2' }],
    cwd: made.cwd,
  });
  assert.deepEqual(await split.wait(), { exitCode: 0, signal: null });
  assert.deepEqual(await split.output(), {
    output: `${made.cwd}/a b\ncat 1 2\n`,
    truncated: false,
    exitStatus: { exitCode: 0, signal: null },
  });
  process.env.ELECTRON_RUN_AS_NODE = '1';
  const bare = await command(made.agent, { command: 'echo "[$ELECTRON_RUN_AS_NODE]"' });
  delete process.env.ELECTRON_RUN_AS_NODE;
  await bare.wait();
  assert.equal((await bare.output()).output, '[]\n', "what is meant for the editor's own runtime is not passed on");
  const line = await command(made.agent, { command: 'echo one && echo two >&2; exit 3' });
  assert.deepEqual(await line.wait(), { exitCode: 3, signal: null });
  assert.deepEqual((await line.output()).output.split('\n').sort(), ['', 'one', 'two']);
  await finish();
});

test('51 and 52: the last bytes are kept from a character on, and all of the output is there after the wait', async (t) => {
  const made = await scene(t);
  const { finish } = await inTurn(made);
  const script = "process.stdout.write('€'.repeat(1000)); process.stdout.write('end')";
  const one = await command(made.agent, { command: process.execPath, args: ['-e', script], outputByteLimit: 100 });
  await one.wait();
  const { output, truncated } = await one.output();
  assert.equal(truncated, true);
  assert.match(output, /^€+end$/);
  assert.ok(Buffer.byteLength(output) <= 100);
  await finish();
});

test('53, 54 and 55: kill ends the grandchildren and leaves the output; release leaves the text in the session', async (t) => {
  const made = await scene(t);
  const { driven, finish } = await inTurn(made);
  const one = await command(made.agent, { command: 'sleep 1000 & echo $!; wait' });
  await driven.until('the pid', (session) => /\d+\n/.test(findTerminal(session, one.terminalId)?.tail ?? ''));
  const pid = Number(findTerminal(driven.now(), one.terminalId)?.tail);
  assert.deepEqual(await one.about('kill'), {});
  const exit = (await one.wait()) as { readonly signal: string | null };
  assert.match(exit.signal ?? '', /^SIG(TERM|KILL)$/);
  assert.equal((await one.output()).output, `${pid}\n`);
  // Where nobody collects the dead, one stays in the list as a zombie.
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  assert.match(stdout, /^(Z.*)?\s*$/);
  assert.deepEqual(await one.about('release'), {});
  assert.deepEqual(await one.about('release'), {});
  const { error } = await made.agent.ask('terminal/output', { sessionId: SESSION, terminalId: one.terminalId });
  assert.equal(error?.code, -32002);
  assert.equal(findTerminal(driven.now(), one.terminalId)?.tail, `${pid}\n`);
  await finish();
});

test('the user ends one command: its whole group goes, the agent is told the signal, the turn runs on', async (t) => {
  const made = await scene(t);
  const { driven, finish } = await inTurn(made);
  const [one, other] = [
    await command(made.agent, { command: 'echo on; sleep 1000; true' }),
    await command(made.agent, { command: 'echo 2; sleep 1000' }),
  ];
  await driven.until('both run', (now) => [one, other].every(({ terminalId }) => findTerminal(now, terminalId)?.tail));
  assert.equal(findTerminal(driven.now(), one.terminalId)?.stops, true);
  driven.live.send({ type: 'stopTerminal', terminalId: 'nobody' });
  driven.live.send({ type: 'stopTerminal', terminalId: one.terminalId });
  assert.deepEqual(await one.wait(), { exitCode: null, signal: 'SIGTERM' });
  await driven.until('its end is shown', (now) => findTerminal(now, one.terminalId)?.exit?.signal === 'SIGTERM');
  assert.equal(findTerminal(driven.now(), other.terminalId)?.exit, undefined);
  assert.equal((await finish()).status, 'done');
});

test('56: a command that cannot be started is a terminal that says so; a whole line in the place of a program is given to the shell', async (t) => {
  const made = await scene(t);
  const { finish } = await inTurn(made);
  const none = await command(made.agent, { command: 'no-such-program-here', args: ['x'] });
  assert.deepEqual(await none.wait(), { exitCode: 127, signal: null });
  assert.match((await none.output()).output, /no-such-program-here/);
  const line = await command(made.agent, { command: 'echo a', args: ['b c'] });
  await line.wait();
  assert.equal((await line.output()).output, 'a b c\n');
  const nowhere = path.join(made.cwd, 'none');
  const lost = await command(made.agent, { command: 'pwd', cwd: nowhere });
  assert.deepEqual(await lost.wait(), { exitCode: 127, signal: null });
  assert.equal((await lost.output()).output, `The folder ${nowhere} does not exist.\n`);
  await finish();
});

test('a file whose change was rejected is asked about when the agent writes it by another way, and stays when that is rejected too', async (t) => {
  const made = await scene(t);
  const file = made.file('main.ts', 'a\n');
  const { driven, finish } = await inTurn(made);
  const titles: string[] = [];
  let answer = 'n';
  driven.onAsk((ask) => {
    titles.push(ask.title);
    return { kind: 'option', optionId: answer };
  });
  const options = [
    { optionId: 'y', name: 'Yes', kind: 'allow_once' },
    { optionId: 'n', name: 'No', kind: 'reject_once' },
  ];
  const toolCall = {
    toolCallId: 'c1',
    title: 'Edit',
    kind: 'edit',
    content: [{ type: 'diff', path: file, oldText: 'a\n', newText: 'b\n' }],
  };
  await made.agent.ask('session/request_permission', { sessionId: SESSION, toolCall, options });
  answer = 'reject';
  assert.match((await write(made.agent, file, 'evil')).error?.message ?? '', /did not allow/);
  assert.equal(readFileSync(file, 'utf8'), 'a\n');
  answer = 'allow';
  const link = path.join(made.cwd, 'link.ts');
  symlinkSync(file, link);
  assert.deepEqual((await write(made.agent, link, 'c\n')).result, {}, 'by the name of a link it is the same file');
  assert.equal(readFileSync(file, 'utf8'), 'c\n');
  assert.deepEqual((await write(made.agent, file, 'd\n')).result, {});
  assert.deepEqual(
    titles.slice(1),
    Array.from({ length: 2 }, () => 'Write a file whose change you have rejected before'),
  );
  await finish();
});

test('a command that names a file whose change was rejected is asked about first; one the user has allowed is not asked about twice', async (t) => {
  const made = await scene(t);
  const file = made.file('main.ts', 'a\n');
  const { driven, finish } = await inTurn(made);
  const asked: string[] = [];
  let answer = 'n';
  driven.onAsk((ask) => {
    asked.push(ask.title);
    return { kind: 'option', optionId: answer };
  });
  const options = [
    { optionId: 'y', name: 'Yes', kind: 'allow_once' },
    { optionId: 'n', name: 'No', kind: 'reject_once' },
  ];
  const permission = (toolCall: object) => made.agent.ask('session/request_permission', { sessionId: SESSION, toolCall, options });
  const create = (params: object) => made.agent.ask('terminal/create', { sessionId: SESSION, ...params });
  const content = [{ type: 'diff', path: file, oldText: 'a\n', newText: 'b\n' }];
  await permission({ toolCallId: 'c1', title: 'Edit', kind: 'edit', content });
  answer = 'reject';
  const ways = [
    { command: 'echo evil > main.ts' },
    { command: 'sh', args: ['-c', 'echo evil > ./main.ts'] },
    { command: 'tee', args: [file] },
    { command: 'cp', args: ['other', 'MAIN.TS'] },
  ];
  for (const way of ways) assert.match((await create(way)).error?.message ?? '', /rejected a change of a file this command names/);
  assert.equal(readFileSync(file, 'utf8'), 'a\n');
  assert.deepEqual(
    asked.slice(1),
    ways.map(() => 'Run a command that names a file whose change you have rejected'),
  );
  for (const command of ['echo domain.ts', 'echo main.tsx']) assert.equal((await create({ command })).error, undefined);
  answer = 'y';
  await permission({ toolCallId: 'c2', title: 'Run', kind: 'execute', rawInput: { command: 'cat main.ts' } });
  answer = 'reject';
  const before = asked.length;
  for (const way of [{ command: 'cat main.ts' }, { command: 'cat', args: ['main.ts'] }, { command: 'sh', args: ['-c', 'cat main.ts'] }])
    assert.equal((await create(way)).error, undefined);
  assert.equal(asked.length, before);
  assert.notEqual((await create({ command: 'cat main.ts; echo evil > main.ts' })).error, undefined);
  answer = 'allow';
  for (const _ of ['asked', 'known']) assert.equal((await create({ command: 'wc main.ts' })).error, undefined);
  assert.equal(asked.length, before + 2);
  await finish();
});

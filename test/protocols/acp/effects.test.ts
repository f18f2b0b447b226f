import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { diskFilesIn } from '../../../src/live/diskFiles.ts';
import { FilePort, slice } from '../../../src/protocols/acp/files.ts';
import type { WriteLook } from '../../../src/protocols/acp/state.ts';
import type { Files } from '../../../src/protocols/ports.ts';
import { callsOf, findTerminal } from '../../../src/session/select.ts';
import { argumentsFor } from '../../../src/transport/shellLine.ts';
import { type FakeAgent, SESSION } from '../../fakes/acp.ts';
import { inTurn, scene } from './scene.ts';

// Files and commands as they really are on this machine. What is asked about them, and when, is in cases/files.txt and cases/terminals.txt.

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

test('40: what the editor holds unsaved is read without its mark, and saved when the agent writes just that', async (t) => {
  const made = await scene(t);
  const file = made.file('a.txt', 'on disk');
  const saved: string[] = [];
  const files = { read: async () => '\uFEFFunsaved', write: async (_: string, text: string) => void saved.push(text) };
  const { finish } = await inTurn(made, { ports: { files } });
  assert.deepEqual((await read(made.agent, file)).result, { content: 'unsaved' });
  assert.deepEqual((await write(made.agent, file, 'unsaved')).result, {});
  assert.deepEqual(saved, ['unsaved']);
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

test('a look tells where links lead: to a file whose change was refused, and out of the workspace though the path does not show it', async (t) => {
  const made = await scene(t);
  const away = outside(t);
  const file = made.file('main.ts', 'a\n');
  symlinkSync(file, path.join(made.cwd, 'link.ts'));
  symlinkSync(away, path.join(made.cwd, 'link'));
  const look = async (name: string) =>
    (await new FilePort(diskFilesIn(made.cwd)).run({
      do: 'look',
      path: path.join(made.cwd, name),
      content: 'b\n',
      roots: [made.cwd],
      refused: [file],
    })) as WriteLook;
  const same = await look('link.ts');
  assert.deepEqual([same.place, same.real, same.refusedPath], ['inside', file, file]);
  const hidden = await look('link/new.txt');
  assert.deepEqual([hidden.place, hidden.evident, hidden.refusedPath], ['outside', false, null]);
  assert.deepEqual([hidden.real, hidden.before, hidden.merged], [path.join(away, 'new.txt'), null, 'b\n']);
});

test('an edit of a relative path is compared with the file of the session’s folder', async (t) => {
  const made = await scene(t);
  made.file('part1.txt', 'one\ntwo\n');
  const port = new FilePort(diskFilesIn(made.cwd));
  assert.deepEqual(await port.run({ do: 'text', path: 'part1.txt', roots: [made.cwd] }), { text: 'one\ntwo\n', outside: false });
  assert.deepEqual(await port.run({ do: 'text', path: 'new.txt', roots: [made.cwd] }), { text: null, outside: false });
});

test('without an editor a written file keeps its line ends and its mark, and a new one takes the line ends around it', async (t) => {
  const made = await scene(t);
  mkdirSync(path.join(made.cwd, 'unix'));
  made.file('README.md', '# read\r\n');
  made.file('old.txt', '\uFEFFone\r\ntwo\r\n');
  made.file('unix/a.ts', 'a\n');
  const { finish } = await inTurn(made, { ports: { files: diskFilesIn(made.cwd) } });
  const written = async (name: string, content: string) => {
    assert.deepEqual((await write(made.agent, path.join(made.cwd, name), content)).result, {});
    return readFileSync(path.join(made.cwd, name), 'utf8');
  };
  assert.equal(await written('old.txt', 'one\n2\nthree\n'), '\uFEFFone\r\n2\r\nthree\r\n');
  assert.equal(await written('deep/new.ts', 'a\nb\n'), 'a\r\nb\r\n');
  assert.equal(await written('run.sh', 'a\nb\n'), 'a\nb\n', 'a shell script runs with no other');
  assert.equal(await written('unix/b.ts', 'a\n'), 'a\n');
  assert.equal(await written('unix/c.ts', 'a\r\n'), 'a\r\n', 'as the agent means it');
  await finish();
  const away = path.join(outside(t), 'new.ts');
  await diskFilesIn(made.cwd).write(away, 'a\n');
  assert.equal(readFileSync(away, 'utf8'), 'a\n', 'outside of the folder');
});

test('an agent that writes the file itself between the two looks at it is no conflict with the user', async (t) => {
  const made = await scene(t);
  const file = made.file('main.ts', 'one\ntwo\n');
  let looks = 0;
  const files: Files = {
    ...diskFilesIn(made.cwd),
    async read(name) {
      const text = await diskFilesIn(made.cwd).read(name);
      looks += 1;
      if (looks === 1) writeFileSync(file, 'one\nagent\n');
      return text;
    },
  };
  const look = (await new FilePort(files).run({
    do: 'look',
    path: file,
    content: 'one\nagent\n',
    roots: [made.cwd],
    refused: [],
  })) as WriteLook;
  assert.deepEqual([look.same, look.merged], [true, 'one\nagent\n']);
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

test('a folder that becomes a link out of the workspace between the look at a file and its write is not written through', async (t) => {
  const made = await scene(t);
  const { agent, cwd } = made;
  const away = outside(t);
  const folder = path.join(cwd, 'd');
  mkdirSync(folder);
  const files: Files = {
    ...diskFilesIn(made.cwd),
    // Reading is the last step of the look.
    async read(file) {
      rmSync(folder, { recursive: true, force: true });
      symlinkSync(away, folder);
      return diskFilesIn(made.cwd).read(file);
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

test('a command of the included agent on Windows is shown as it was asked for, and any other with the program it is for', async (t) => {
  const made = await scene(t);
  let count = 0;
  const exit = { code: 0, signal: null };
  const create = async () => ({
    id: `t${count++}`,
    output: () => ({ text: '', truncated: false, exit }),
    exited: async () => exit,
    kill: () => {},
    release: () => {},
  });
  const { driven, finish } = await inTurn(made, { ports: { terminals: { create } } });
  const shown = async (program: string, args: readonly string[]) => {
    const { terminalId } = await command(made.agent, { command: program, args });
    return findTerminal(driven.now(), terminalId)?.command;
  };
  const places = {
    pwsh: 'C:\\Program Files\\PowerShell\\7\\pwsh.exe',
    powershell: 'C:\\WINDOWS\\System32\\WindowsPowerShell\\v1.0\\powershell.exe',
    gitBash: 'D:\\Program Files\\Git\\bin\\bash.exe',
  } as const;
  for (const kind of ['pwsh', 'powershell', 'gitBash'] as const) {
    const args = argumentsFor(kind, 'npm test', 'C:\\WINDOWS\\System32\\chcp.com');
    assert.equal(await shown(places[kind], args), 'npm test');
    assert.equal(await shown('C:\\ws\\pwsh.exe', args), `C:\\ws\\pwsh.exe ${args.at(-2)} npm test`);
    const more = [...args.slice(0, -1), `del x; ${args.at(-1)}`];
    assert.equal(await shown(places[kind], more), [places[kind], ...more].join(' '));
  }
  await finish();
});

test('a command is shown with its arguments quoted, so that it reads as what runs; an answer about one that was refused holds', async (t) => {
  const made = await scene(t);
  const exit = { code: 0, signal: null };
  let count = 0;
  const create = async () => ({
    id: `t${count++}`,
    output: () => ({ text: '', truncated: false, exit }),
    exited: async () => exit,
    kill: () => {},
    release: () => {},
  });
  const { driven, finish } = await inTurn(made, { ports: { terminals: { create } } });
  const shown = async (program: string, args: readonly string[]) => {
    const { terminalId } = await command(made.agent, { command: program, args });
    return findTerminal(driven.now(), terminalId)?.command;
  };
  assert.equal(await shown('sh', ['-c', 'for i in 1 2; do echo $i; done']), "sh -c 'for i in 1 2; do echo $i; done'");
  assert.equal(await shown('rm', ['-rf', '~', '', "it's"]), "rm -rf '~' '' 'it'\\''s'");
  assert.equal(await shown('npm', ['run', 'test:unit', '--dir=src/a_b']), 'npm run test:unit --dir=src/a_b');
  assert.equal(await shown('/bin/sh', ['-c', 'a "b c"']), 'a "b c"');
  const asks: string[] = [];
  driven.onAsk((ask) => {
    asks.push(ask.id);
    return { kind: 'option', optionId: asks.length === 1 ? 'n' : 'allow' };
  });
  await made.agent.ask('session/request_permission', {
    sessionId: SESSION,
    toolCall: { toolCallId: 'p', title: 'Push', kind: 'execute', rawInput: { command: 'git push' } },
    options: [{ optionId: 'n', name: 'No', kind: 'reject_once' }],
  });
  assert.equal(await shown('git', ['push', 'my remote']), "git push 'my remote'");
  assert.equal(asks.length, 2, 'asked once');
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
  assert.equal((await lost.output()).output, `${nowhere} does not exist.\n`);
  await finish();
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../agent/agentProcess.ts';
import { folderOf, run, started } from '../serve/hostProcess.ts';

/** Parley without an editor, in a terminal: what an agent, a recording or a folder of somebody else does to it. */

/** Sequences of terminals in both spellings: the clipboard, a title, the erasing of what stands there, and the order of letters. */
const SEQUENCES = '\u001b]52;c;cm0gLXJm\u0007\u009d0;title\u009c\u001b[2J\u009b2J\u007f\u202e\u2066\r';
const RAW = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the headless host to its end. */
function headless(t: TestContext, ...args: readonly string[]): Promise<Ended> {
  const home = temporaryFolder(t);
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [path.resolve('dist/headless.js'), ...args],
      { maxBuffer: 64e6, env: { ...process.env, HOME: home, USERPROFILE: home } },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}

/** A program that speaks as an ACP agent and puts the sequences wherever there is a text. */
function agentIn(folder: string): readonly string[] {
  const file = path.join(folder, 'agent.cjs');
  const program = `
    const bad = ${JSON.stringify(SEQUENCES)};
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
    const update = (update) => send({ method: 'session/update', params: { sessionId: 's', update } });
    process.stderr.write(bad + 'stderr');
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (method === 'initialize') send({ id, result: { protocolVersion: 1, agentCapabilities: {}, authMethods: [] } });
      if (method === 'session/new') send({ id, result: { sessionId: 's' } });
      if (method === 'session/prompt') {
        update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: bad + 'text' } });
        update({ sessionUpdate: 'tool_call', toolCallId: 'c', title: bad + 'title', kind: 'execute', status: 'pending' });
        process.stdout.write(bad + 'no JSON\\n');
        send({ id: 'ask', method: 'session/request_permission', params: { sessionId: 's', toolCall: { toolCallId: 'c', title: bad + 'asks' },
          options: [{ optionId: 'y', name: bad + 'Allow', kind: 'allow_once' }] } });
        process.on('exit', () => {});
      }
      if (id === 'ask') send({ id: 2, error: { code: -1, message: bad + 'failed' } }), process.stderr.write(bad + 'end\\n', () => process.exit(3));
    });`;
  writeFileSync(file, program);
  return ['--command', process.execPath, '--arg', file];
}

test('nothing of an agent reaches the terminal but as text', async (t) => {
  const folder = temporaryFolder(t);
  const { stdout, stderr } = await headless(t, '--protocol', 'acp', ...agentIn(folder), '--cwd', folder, '--prompt', 'go');
  assert.match(stdout, /title/);
  for (const line of [...stdout.split('\n'), ...stderr.split('\n')]) assert.doesNotMatch(line, RAW, JSON.stringify(line.slice(0, 300)));
  const texts = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.stringify(JSON.parse(line)));
  assert.ok(
    texts.some((text) => text.includes('\u009d0;title')),
    'a program that reads the lines gets what was said',
  );
});

test('a recording of somebody else is played or refused, and ends nothing in the middle', async (t) => {
  const folder = temporaryFolder(t);
  const lines: Readonly<Record<string, string>> = {
    'a part without its kind': '{"event":{"type":"part.added","turnId":"t","part":null}}',
    'a turn that is none': '{"event":{"type":"turn.started","turnId":{},"at":"x","prompt":7}}',
    'a call of a name of every object': '{"event":{"type":"__proto__"}}',
    'a title of a hundred thousand levels': `{"event":{"type":"title.set","title":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
    'a text with sequences': JSON.stringify({
      event: { type: 'turn.started', turnId: 't', at: 1, prompt: [{ type: 'text', text: SEQUENCES }] },
    }),
    'no JSON': `{"event":${SEQUENCES}`,
    'no event': '{"what":1}',
  };
  for (const [name, line] of Object.entries(lines)) {
    const file = path.join(folder, 'recording.jsonl');
    writeFileSync(file, `${line}\n`);
    const { code, stdout, stderr } = await headless(t, '--replay', file);
    assert.ok(code === 0 || code === 1 || code === 2, `${name}: ${code}`);
    assert.doesNotMatch(stderr, /\n\s+at .*:\d+/, `${name}: a stack`);
    for (const one of [...stdout.split('\n'), ...stderr.split('\n')]) assert.doesNotMatch(one, RAW, name);
  }
});

test('flags that mean nothing are refused before anything starts', async (t) => {
  const folder = temporaryFolder(t);
  const agent = agentIn(folder);
  const wrong: readonly (readonly string[])[] = [
    ['--timeout', ''],
    ['--timeout', ' '],
    ['--timeout', '1e400'],
    ['--timeout', '-1'],
    ['--timeout', '0x10'],
    ['--answer', '__proto__'],
    ['--answer', 'Allow'],
    ['--header', '=x'],
    ['--env', 'x'],
    ['--unknown', 'x'],
    ['--cwd', path.join(folder, 'none')],
    ['--prompt'],
    ['and', 'more'],
    ['--record', folder],
  ];
  const asked = [...wrong.map((flags) => ['--protocol', 'acp', ...agent, ...flags])];
  for (const protocol of ['__proto__', 'constructor', '../acp', '']) asked.push(['--protocol', protocol, ...agent]);
  const answers = await Promise.all(asked.map(async (flags) => ({ flags, ...(await headless(t, ...flags)) })));
  for (const { flags, code, stdout } of answers) assert.deepEqual([code, stdout], [2, ''], flags.join(' '));
});

test('a limit of many days does not end a run at once', async (t) => {
  const folder = temporaryFolder(t);
  const { stderr } = await headless(t, '--protocol', 'acp', ...agentIn(folder), '--cwd', folder, '--prompt', 'go', '--timeout', '99999999');
  assert.doesNotMatch(stderr, /Not done after/);
});

test('a host takes no token from a folder that others may write', { skip: process.platform === 'win32' }, async (t) => {
  const folder = folderOf(t);
  const data = path.join(folder, 'data');
  const planted = 'planted by another account';
  for (const mode of [0o777, 0o700]) {
    mkdirSync(data, { recursive: true });
    chmodSync(data, mode);
    writeFileSync(path.join(data, 'access.json'), JSON.stringify({ token: planted, port: 1 }));
    chmodSync(path.join(data, 'access.json'), mode === 0o777 ? 0o600 : 0o666);
    const { child, token } = await started(t, folder);
    assert.notEqual(token, planted, mode.toString(8));
    assert.equal(statSync(data).mode & 0o077, 0, 'its folder is its own now');
    assert.equal(statSync(path.join(data, 'access.json')).mode & 0o077, 0);
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
});

test('flags of a host that mean nothing are refused', async (t) => {
  const folder = folderOf(t);
  const rules = path.join(folder, 'rules.json');
  const wrong: readonly (readonly string[])[] = [
    ['--port', '65536'],
    ['--port', '-1'],
    ['--port', ''],
    ['--port', '1', '--socket', path.join(folder, 's')],
    ['--socket', path.join(folder, 's'), '--host', '0.0.0.0'],
    ['--profile', path.join(folder, 'none')],
    ['--what'],
    ['and more'],
  ];
  const refused = async (flags: readonly string[]) => {
    const [code] = (await once(run(t, folder, ...flags), 'exit')) as [number];
    assert.equal(code, 2, flags.join(' '));
  };
  for (const text of [
    '{"rules":[{"kind":"command","pattern":"","decision":"allow"}]}',
    '{"rules":[{"kind":"all","decision":"allow"}]}',
    '[]',
  ]) {
    writeFileSync(rules, text);
    await refused(['--rules', rules]);
  }
  await Promise.all(wrong.map(refused));
  assert.throws(() => readFileSync(path.join(folder, 'data', 'host.json')));
});

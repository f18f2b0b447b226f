import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, type TestContext, test } from 'node:test';
import type { SessionEvent } from '../../src/session/events.ts';
import type { Session } from '../../src/session/model.ts';
import { isAlive } from '../fakes/processes.ts';

const HEADLESS = path.resolve('dist/headless.js');
/** Agents keep their sessions here, not with the user who runs the tests. */
const HOME = mkdtempSync(path.join(tmpdir(), 'headless-home-'));
after(() => rmSync(HOME, { recursive: true, force: true }));
const AGENT = ['--command', process.execPath, '--arg', path.resolve('dist/parley-agent.js'), '--arg', '--wire'];

interface Outcome {
  readonly code: number | null;
  readonly events: readonly SessionEvent[];
  readonly session: Session | undefined;
  /** Everything else that was printed: results of queries. */
  readonly printed: Readonly<Record<string, unknown>>;
  readonly stderr: string;
}

/** Runs the headless host to its end. Every line of its stdout must be JSON. */
function headless(...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [HEADLESS, ...args],
      { maxBuffer: 512e6, env: { ...process.env, HOME, USERPROFILE: HOME } },
      (error, stdout, stderr) => {
        const lines = stdout
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line) as { event?: SessionEvent; session?: Session });
        resolve({
          code: error ? ((error.code as unknown as number | undefined) ?? null) : 0,
          events: lines.flatMap((line) => (line.event ? [line.event] : [])),
          session: lines.at(-1)?.session,
          printed: Object.assign({}, ...lines.filter((line) => !line.event && !line.session)) as Record<string, unknown>,
          stderr,
        });
      },
    );
  });
}

function folder(t: TestContext, files: Readonly<Record<string, string>> = {}): string {
  const at = mkdtempSync(path.join(tmpdir(), 'headless-'));
  t.after(() => rmSync(at, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(at, name), text);
  return at;
}

/** An agent that is a few lines of script. */
function program(t: TestContext, body: string): readonly string[] {
  const file = path.join(folder(t), 'agent.cjs');
  writeFileSync(file, body);
  return ['--command', process.execPath, '--arg', file];
}
const answering = `
  const say = (o) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...o }) + '\\n');
  const event = (type, payload) => say({ method: 'event', params: { type, payload } });
  let heard = '';
  process.stdin.on('end', () => process.exit(0));
  process.stdin.on('data', (d) => { heard += d; for (let i; (i = heard.indexOf('\\n')) >= 0;) { const m = JSON.parse(heard.slice(0, i)); heard = heard.slice(i + 1); on(m); } });
  const on = (m) => {
    if (m.method === 'initialize') say({ id: m.id, result: { protocol_version: '1.1', server: { name: 'bad', version: '1' }, slash_commands: [] } });
    if (m.method === 'prompt') prompt(m);
  };
`;
const statusOf = (outcome: Outcome) => outcome.session?.turns.map((turn) => turn.status);
const textOf = (outcome: Outcome) =>
  outcome.session?.turns.flatMap((turn) => turn.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []))).join('');

test('bad usage ends with 2 and says what is wrong, before any agent starts', async (t) => {
  const script = path.join(folder(t), 'bad.json');
  writeFileSync(script, '[{"prompt": "x"}, {"promt": "typo"}]');
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /--protocol is missing/],
    [['--protocol', 'smoke', '--command', 'x'], /unknown protocol "smoke".*kimi-wire/],
    [['--protocol', 'kimi-wire', ...AGENT, '--url', 'http://x'], /--command or --url/],
    [['--protocol', 'kimi-wire', ...AGENT, '--answer', 'maybe'], /--answer takes/],
    [['--protocol', 'kimi-wire', ...AGENT, '--cwd', '/no/such/folder'], /no folder/],
    [['--protocol', 'kimi-wire', ...AGENT, '--env', 'NOVALUE'], /NAME=VALUE/],
    [['--protocol', 'kimi-wire', ...AGENT, '--timeout', 'soon'], /seconds/],
    [['--protocol', 'kimi-wire', ...AGENT, '--script', script], /bad\.json: \[1\]: promt is no step; there are setup, prompt/],
    [
      ['--protocol', 'acp', ...scriptOf(t, { setup: { tools: [{ name: 'a', inputSchema: {} }] } })],
      /script\.json: \[0\]\.setup\.tools\[0\] takes no inputSchema/,
    ],
    [['--protocol', 'acp', ...scriptOf(t, { rules: [{ about: 'a', answer: 'yes' }] })], /\[0\]\.rules\[0\]\.answer does not fit/],
    [['--protocol', 'acp', ...scriptOf(t, { waitMs: 1e12 })], /\[0\]\.waitMs does not fit/],
    [
      ['--protocol', 'acp', ...scriptOf(t, { expect: { calls: [{ status: 'finished' }] } })],
      /\[0\]\.expect\.calls\[0\]\.status does not fit/,
    ],
    [['--protocol', 'acp', ...scriptOf(t, { prompt: 'x' }, { setup: {} })], /\[1\]: setup has to be the first step/],
    [['--protocol', 'acp', '--script', textFile(t, '[\n {"prompt": "x"},\n {"prompt": y}\n]')], /file: line 3, column 13 is not JSON/],
    [['--protocol', 'acp', '--script', textFile(t, '[{"prompt": "x"},]')], /file: line 1, column 18 is not JSON/],
    [['--protocol', 'acp', '--script', textFile(t, '[{"prompt": "x')], /file: line 1, column 15 is not JSON/],
    [['--protocol', 'acp', '--script', folder(t)], /headless-\w+: E[A-Z]+:/],
    [['--nonsense', 'x'], /nonsense/],
    [['--replay'], /--replay takes a file/],
    [['--replay', '/no/such/file'], /no such file/],
    [['--replay', script, '--prompt', 'x'], /nothing beside it/],
    [['--replay', textFile(t, '')], /recording is empty/],
    [['--replay', textFile(t, 'nonsense\n{"exit": 0}\n')], /line 1 of the recording/],
    [['--protocol', 'ahp'], /ahp needs --command or --url/],
    [['--protocol', 'acp', '--record', '/no/such/folder/file'], /no such file/],
  ];
  for (const [args, message] of cases) {
    const outcome = await headless(...args);
    assert.equal(outcome.code, 2, args.join(' '));
    assert.match(outcome.stderr, message);
    assert.match(outcome.stderr, /usage:/);
    assert.deepEqual(outcome.events, []);
  }
});

test('an edit is carried out when it is allowed, and nothing changes when it is not; the default is no', async (t) => {
  for (const [answer, expected, status] of [
    [['--answer', 'allow'], 'hello mars\n', 'done'],
    [['--answer', 'reject'], 'hello world\n', 'rejected'],
    [[], 'hello world\n', 'rejected'],
  ] as const) {
    const cwd = folder(t, { 'a.txt': 'hello world\n' });
    const outcome = await headless(
      '--protocol',
      'kimi-wire',
      ...AGENT,
      '--cwd',
      cwd,
      ...answer,
      '--prompt',
      'replace "world" by "mars" in a.txt',
    );
    assert.equal(outcome.code, 0, outcome.stderr);
    assert.equal(readFileSync(path.join(cwd, 'a.txt'), 'utf8'), expected);
    const edit = outcome.session?.turns[0]?.parts.findLast((part) => part.kind === 'call' && part.call.kind === 'edit');
    assert.equal(edit?.kind === 'call' && edit.call.status, status);
    assert.deepEqual(outcome.session?.asks, []);
  }
});

test('words with a rejection are the next prompt of an agent whose answers carry none, before the next step', async (t) => {
  const cwd = folder(t, { 'a.txt': 'one\n' });
  const script = path.join(folder(t), 'script.json');
  const steps = [
    { rules: [{ answer: { reject: 'replace "one" by "2" in a.txt' } }] },
    { prompt: 'replace "one" by "1" in a.txt' },
    { prompt: 'list files' },
  ];
  writeFileSync(script, JSON.stringify(steps));
  const outcome = await headless('--protocol', 'acp', '--cwd', cwd, '--script', script, '--timeout', '60');
  assert.equal(outcome.code, 0, outcome.stderr);
  // The second rejection says the same: it would begin a turn for ever.
  assert.deepEqual(
    outcome.session?.turns.map(({ prompt: [said] }) => said?.type === 'text' && said.text),
    ['replace "one" by "1" in a.txt', 'replace "one" by "2" in a.txt', 'list files'],
  );
  assert.equal(readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'one\n');
});

test('prompts go in order, the events lead to the session that is printed last', async (t) => {
  const cwd = folder(t, { 'a.txt': 'one\n' });
  const outcome = await headless('--protocol', 'kimi-wire', ...AGENT, '--cwd', cwd, '--prompt', 'read a.txt', '--prompt', 'list files');
  assert.deepEqual(
    outcome.session?.turns.map((turn) => turn.prompt[0]),
    [
      { type: 'text', text: 'read a.txt' },
      { type: 'text', text: 'list files' },
    ],
  );
  assert.deepEqual(statusOf(outcome), ['done', 'done']);
  assert.equal(outcome.events.filter((event) => event.type === 'turn.ended').length, 2);
});

test('a script runs commands, answers in turn, cancels on an ask', async (t) => {
  const cwd = folder(t, { 'a.txt': 'one two\n' });
  const script = path.join(folder(t), 'script.json');
  writeFileSync(
    script,
    JSON.stringify([
      { command: ['help'] },
      { answers: [{ reject: 'leave it' }] },
      { prompt: 'replace "one" by "1" in a.txt' },
      { answers: ['allow'] },
      { prompt: 'replace "two" by "2" in a.txt' },
      { answers: ['hold'] },
      { cancelOn: 'ask', afterMs: 0 },
      { prompt: 'replace "2" by "3" in a.txt' },
      { waitMs: 1 },
    ]),
  );
  const outcome = await headless('--protocol', 'kimi-wire', ...AGENT, '--cwd', cwd, '--script', script);
  assert.equal(outcome.code, 0, outcome.stderr);
  assert.deepEqual(statusOf(outcome), ['done', 'done', 'done', 'cancelled']);
  assert.equal(readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'one 2\n');
});

test('a conversation is resumed with its history, and nothing of it is done again', async (t) => {
  const cwd = folder(t, { 'a.txt': 'hello world\n' });
  const first = await headless(
    '--protocol',
    'kimi-wire',
    ...AGENT,

    '--cwd',
    cwd,
    '--answer',
    'allow',
    '--prompt',
    'replace "world" by "mars" in a.txt',
  );
  const key = first.session?.resumeKey;
  assert.ok(key);
  writeFileSync(path.join(cwd, 'a.txt'), 'hello world\n');
  const script = path.join(folder(t), 'script.json');
  writeFileSync(script, JSON.stringify([{ resume: key }, { prompt: 'read a.txt' }]));
  const again = await headless('--protocol', 'kimi-wire', ...AGENT, '--cwd', cwd, '--script', script);
  assert.equal(again.code, 0, again.stderr);
  assert.deepEqual(
    again.session?.turns.map((turn) => turn.prompt[0]?.type === 'text' && turn.prompt[0].text),
    ['replace "world" by "mars" in a.txt', 'read a.txt'],
  );
  assert.equal(readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'hello world\n');
});

test('our tools reach the agent and answer it', async (t) => {
  const cwd = folder(t, { 'a.txt': 'x\n' });
  const outcome = await headless('--protocol', 'kimi-wire', ...AGENT, '--cwd', cwd, '--prompt', 'open a.txt at line 1');
  const call = outcome.session?.turns[0]?.parts.find((part) => part.kind === 'call' && part.call.name === 'open_in_ide');
  assert.equal(call?.kind === 'call' && call.call.status, 'done');
});

test('an agent that is missing, no program, or ends at once is named, with what to do', async (t) => {
  const plain = path.join(folder(t), 'plain.txt');
  writeFileSync(plain, 'no program');
  chmodSync(plain, 0o644);
  const cases: readonly (readonly [readonly string[], RegExp, RegExp])[] = [
    [['--command', 'no-such-agent-here'], /no-such-agent-here.*not found/, /^/],
    [['--command', plain], /may not be executed/, /^/],
    [program(t, 'console.error("no licence"); process.exit(3)'), /stopped unexpectedly/, /^exit 3\n\nno licence/],
    [program(t, 'process.stdout.write("hello\\n{\\"half"); process.exit(0)'), /stopped unexpectedly/, /^exit 0/],
  ];
  for (const [agent, reason, detail] of cases) {
    const outcome = await headless('--protocol', 'kimi-wire', ...agent, '--cwd', folder(t), '--prompt', 'hi');
    assert.equal(outcome.code, 1);
    const link = outcome.session?.link;
    assert.ok(link?.state === 'closed');
    assert.match(link.reason, reason);
    assert.match(link.detail ?? '', detail);
    assert.ok((link.next ?? []).length > 0);
  }
});

test('an agent that dies in the middle of a turn with an approval open leaves a transcript and no ask', async (t) => {
  const agent = program(
    t,
    `${answering}
    const prompt = () => {
      event('TurnBegin', { user_input: 'x' });
      event('ContentPart', { type: 'text', text: 'half an ans' });
      say({ id: 'a', method: 'request', params: { type: 'ApprovalRequest', payload: { id: 'a', tool_call_id: 'c', sender: 'Shell', action: 'run command', description: 'Run', display: [] } } });
      setTimeout(() => { process.stderr.write('out of memory'); process.kill(process.pid, 'SIGKILL'); }, 50);
    };`,
  );
  const outcome = await headless('--protocol', 'kimi-wire', ...agent, '--cwd', folder(t), '--answer', 'hold', '--prompt', 'hi');
  assert.equal(outcome.code, 1);
  assert.deepEqual(statusOf(outcome), ['failed']);
  assert.equal(textOf(outcome), 'half an ans');
  assert.deepEqual(outcome.session?.asks, []);
  assert.ok(outcome.session?.link.state === 'closed');
  assert.match(outcome.session.link.reason, /stopped unexpectedly/);
  assert.match(outcome.session.link.detail ?? '', /SIGKILL[\s\S]*out of memory/);
});

test('logs on stdout, broken lines, bad UTF-8, strangers and answers given twice cost nothing but themselves', async (t) => {
  const agent = program(
    t,
    `${answering}
    console.log('starting up ...'); console.log('{"half": '); console.log('[]'); console.log('42'); console.log('');
    process.stdout.write(Buffer.from([0xff, 0xfe, 0x0a]));
    const prompt = (m) => {
      event('TurnBegin', { user_input: 'x' });
      event('NeverHeardOf', { a: 1 }); event('ContentPart', null); event('ContentPart', { type: 'hologram', data: 1 });
      say({ method: 'strange/notification', params: [] });
      process.stdout.write(Buffer.concat([Buffer.from('{"jsonrpc":"2.0","method":"event","params":{"type":"ContentPart","payload":{"type":"text","text":"a'), Buffer.from([0xc3, 0x28]), Buffer.from('b"}}}\\n')]));
      event('ContentPart', { type: 'text', text: ' fine \u2028 still' });
      event('TurnEnd', {});
      say({ id: m.id, result: { status: 'finished' } }); say({ id: m.id, result: { status: 'finished' } }); say({ id: 'nobody', result: {} });
    };`,
  );
  const outcome = await headless('--protocol', 'kimi-wire', ...agent, '--cwd', folder(t), '--prompt', 'one', '--prompt', 'two');
  assert.equal(outcome.code, 0, outcome.stderr);
  assert.deepEqual(statusOf(outcome), ['done', 'done']);
  assert.match(textOf(outcome) ?? '', /a\ufffd\(b fine \u2028 still/);
});

test('the time limit and a signal end the run and the agent with it', async (t) => {
  const pidFile = path.join(folder(t), 'pid');
  const agent = program(
    t,
    `${answering}
    require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));
    const prompt = () => event('TurnBegin', { user_input: 'x' });`,
  );
  const limited = await headless('--protocol', 'kimi-wire', ...agent, '--cwd', folder(t), '--timeout', '1', '--prompt', 'never ends');
  assert.equal(limited.code, 1);
  assert.match(limited.stderr, /after 1 s/);
  assert.equal(isAlive(Number(readFileSync(pidFile, 'utf8'))), false);

  const child = spawn(process.execPath, [HEADLESS, '--protocol', 'kimi-wire', ...agent, '--cwd', folder(t), '--prompt', 'never ends'], {
    env: { ...process.env, HOME, USERPROFILE: HOME },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  child.stdout.on('data', (chunk: Buffer) => {
    if (chunk.includes('turn.started')) child.kill('SIGTERM');
  });
  assert.equal(await ended, 1);
  assert.equal(isAlive(Number(readFileSync(pidFile, 'utf8'))), false);
});

test('without a command or an address the bundled agent is used, over every protocol', async (t) => {
  for (const protocol of ['kimi-wire', 'acp', 'a2a', 'qwen', 'ai-sdk']) {
    const { code, session } = await headless('--protocol', protocol, '--cwd', folder(t), '--prompt', 'help', '--timeout', '60');
    assert.deepEqual([code, session?.turns[0]?.status], [0, 'done'], protocol);
  }
});

test('a question before the first prompt is answered, and a refusal ends the run with its session', async () => {
  const far = ['--protocol', 'a2a', '--url', 'http://far.example.test/', '--timeout', '30'];
  const { code, events, session } = await headless(...far, '--prompt', 'x', '--answer', 'reject');
  assert.ok(events.some((event) => event.type === 'ask.opened'));
  assert.deepEqual([code, session?.link.state], [1, 'closed']);
});

test('a command that clears the conversation ends its turn', async (t) => {
  const { code } = await headless(
    '--protocol',
    'kimi-wire',
    '--cwd',
    folder(t),
    '--prompt',
    'help',
    '--prompt',
    '/clear',
    '--timeout',
    '30',
  );
  assert.equal(code, 0);
});

test('a script is a test: answers by title, a tool of its own, expectations and their exit code', async (t) => {
  const cwd = folder(t, { 'a.txt': 'one\n' });
  const script = (expected: string) => {
    const file = path.join(folder(t), 'script.json');
    const steps = [
      { setup: { tools: [{ name: 'look', error: 'broken', afterMs: 5 }] } },
      { rules: [{ title: 'a.txt', answer: { afterMs: 5, answer: 'allow' } }] },
      { prompt: 'replace "one" by "two" in a.txt' },
      { expect: { status: expected, calls: [{ title: 'a.txt' }] } },
      { prompt: 'help', files: ['a.txt'] },
      { hints: '/he' },
    ];
    writeFileSync(file, JSON.stringify(steps));
    return file;
  };
  const run = (expected: string) => headless('--protocol', 'kimi-wire', '--cwd', cwd, '--script', script(expected), '--timeout', '60');
  const fine = await run('done');
  assert.deepEqual([fine.code, readFileSync(path.join(cwd, 'a.txt'), 'utf8')], [0, 'two\n'], fine.stderr);
  assert.deepEqual(fine.session?.turns[1]?.prompt[1], { type: 'file', path: path.join(cwd, 'a.txt'), text: 'two\n' });
  const wrong = await run('failed');
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /Expected otherwise: status is done/);
});

test('a recording is played without the agent, with the same events and exit code', async (t) => {
  const file = path.join(folder(t), 'run.jsonl');
  const first = await headless('--protocol', 'kimi-wire', '--cwd', folder(t), '--prompt', 'help', '--record', file);
  assert.match(readFileSync(file, 'utf8'), /^\{"intent":\{"type":"prompt"/m);
  assert.doesNotMatch(readFileSync(file, 'utf8'), /queue\.set/, 'a prompt that can be sent at once is in no queue');
  const again = await headless('--replay', file);
  assert.deepEqual([again.code, again.events], [first.code, first.events]);
  assert.deepEqual(
    again.session?.turns,
    first.session?.turns.map(({ adapterState: _, ...turn }) => turn),
  );
});

test('the schema of scripts is the one in the documentation, and the examples there do what they expect', async (t) => {
  const printed = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, [HEADLESS, '--schema'], (error, stdout) => (error ? reject(error) : resolve(stdout)));
  });
  const documented: unknown = JSON.parse(readFileSync('docs/headless/script.schema.json', 'utf8'));
  assert.deepEqual(documented, JSON.parse(printed), 'npm run -s headless -- --schema > docs/headless/script.schema.json');
  const examples = readdirSync('docs/headless').filter((name) => name.endsWith('.json') && name !== 'script.schema.json');
  assert.ok(examples.length >= 4);
  const [, inline = ''] = /```json\n([\s\S]*?)```/.exec(readFileSync('docs/headless.md', 'utf8')) ?? [];
  const written = path.join(folder(t), 'inline.json');
  writeFileSync(written, inline);
  for (const file of [written, ...examples.map((name) => path.resolve('docs/headless', name))]) {
    const name = path.basename(file);
    const cwd = folder(t, { 'a.txt': 'one\n' });
    // Over ACP the bundled agent has lists and copies; over Wire calls go by the names of its tools.
    const protocol = name === 'conversations.json' ? 'acp' : 'kimi-wire';
    const { code, session, stderr } = await headless('--protocol', protocol, '--cwd', cwd, '--script', file, '--timeout', '60');
    assert.deepEqual([name, code, session !== undefined], [name, 0, true], stderr);
  }
});

test('a script closes the conversation in the middle of a turn, and tests an agent that dies', async (t) => {
  const script = (...steps: readonly object[]) => {
    const file = path.join(folder(t), 'script.json');
    writeFileSync(file, JSON.stringify(steps));
    return ['--script', file, '--cwd', folder(t), '--timeout', '60'];
  };
  const closing = { during: [{ on: 'ask', do: { close: true } }] };
  const closed = script({ answers: ['hold'] }, closing, { prompt: 'run sleep 60' }, { expect: { link: 'closed', status: 'failed' } });
  for (const protocol of ['kimi-wire', 'acp', 'qwen']) {
    const { code, session, stderr } = await headless('--protocol', protocol, ...closed);
    assert.deepEqual([protocol, code, session?.link.state, session?.asks], [protocol, 0, 'closed', []], stderr);
  }
  const dying = program(t, `${answering} const prompt = () => process.exit(3);`);
  const expected = script({ prompt: 'go' }, { expect: { link: 'closed', status: 'failed' } });
  assert.equal((await headless('--protocol', 'kimi-wire', ...dying, ...expected)).code, 0);
  const unexpected = await headless('--protocol', 'kimi-wire', ...dying, ...script({ prompt: 'go' }, { prompt: 'again' }));
  assert.equal(unexpected.code, 1);
  assert.match(unexpected.stderr, /is closed, so this is not done: \{"prompt":"again"\}/);
});

test('what a script cannot do ends the run with its session: a file that is not there, a copy that was never made', async (t) => {
  for (const step of [{ prompt: 'help', files: ['nope.txt'] }, { resume: '$fork' }]) {
    const file = path.join(folder(t), 'script.json');
    writeFileSync(file, JSON.stringify([step]));
    const { code, session, stderr } = await headless('--protocol', 'kimi-wire', '--cwd', folder(t), '--script', file, '--timeout', '60');
    assert.deepEqual([code, session !== undefined], [1, true]);
    assert.match(stderr, /cannot go on/);
  }
});

test('a turn that a step began without waiting for it is waited for at the end', async (t) => {
  const file = path.join(folder(t), 'script.json');
  writeFileSync(file, JSON.stringify([{ now: { prompt: 'help' } }]));
  const { code, session } = await headless('--protocol', 'acp', '--cwd', folder(t), '--script', file, '--timeout', '60');
  assert.deepEqual([code, session?.turns.map((turn) => turn.status)], [0, ['done']]);
});

function textFile(t: TestContext, text: string): string {
  const file = path.join(folder(t), 'file');
  writeFileSync(file, text);
  return file;
}

function scriptOf(t: TestContext, ...steps: readonly object[]): readonly string[] {
  const file = path.join(folder(t), 'script.json');
  writeFileSync(file, JSON.stringify(steps));
  return ['--script', file, '--timeout', '60'];
}

test('--help says what a script is, and is no wrong usage', async () => {
  const help = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, [HEADLESS, '--help'], (error, stdout) => (error ? reject(error) : resolve(stdout)));
  });
  assert.match(help, /usage:[\s\S]*ai-sdk[\s\S]*array of steps/);
});

test('messages that come into a turn, two steers and a prompt, are waited for: over every protocol each turn ends', async (t) => {
  for (const protocol of ['kimi-wire', 'acp', 'a2a', 'qwen', 'ai-sdk']) {
    const script = scriptOf(
      t,
      { during: [{ on: 'ask', do: { steer: 'first' } }] },
      { during: [{ on: 'ask', do: { steer: 'second' } }] },
      { during: [{ on: 'ask', do: { prompt: 'help' } }] },
      { answers: [{ afterMs: 50, answer: 'allow' }] },
      { prompt: 'run echo hi' },
      { expect: { status: 'done' } },
    );
    const { code, session, stderr } = await headless('--protocol', protocol, '--cwd', folder(t), ...script);
    assert.deepEqual([protocol, code, session?.queue], [protocol, 0, []], stderr);
    const prompts = session?.turns.map(({ prompt: [first] }) => first?.type === 'text' && first.text) ?? [];
    // Wire takes a steer into the turn; elsewhere it becomes a turn of its own, after this one.
    const steered = protocol === 'kimi-wire' ? [] : ['first', 'second'];
    assert.deepEqual(prompts, ['run echo hi', ...steered, 'help'], protocol);
    assert.ok(
      session?.turns.every((turn) => turn.status === 'done'),
      protocol,
    );
  }
});

test('what `during` has sent is over before the next step, and `expect` checks the turn of the step', async (t) => {
  const script = scriptOf(
    t,
    { during: [{ on: 'ask', do: { prompt: 'help' } }] },
    { answers: ['reject'] },
    { prompt: 'run echo hi' },
    { expect: { status: 'done', asks: 1, calls: [{ status: 'rejected' }] } },
    { close: true },
  );
  const { code, session, stderr } = await headless('--protocol', 'acp', '--cwd', folder(t), ...script);
  assert.deepEqual([code, session?.turns.map((turn) => turn.status)], [0, ['done', 'done']], stderr);
});

test('an action whose turn is over does nothing in the next one, and is named', async (t) => {
  const script = scriptOf(
    t,
    { during: [{ on: 'text', afterMs: 500, do: { prompt: 'late' } }] },
    { prompt: 'help' },
    { waitMs: 600 },
    { prompt: 'list files' },
  );
  const agent = program(
    t,
    `${answering}
    const prompt = (m) => {
      event('TurnBegin', { user_input: 'x' }); event('ContentPart', { type: 'text', text: 'a' }); event('TurnEnd', {});
      say({ id: m.id, result: { status: 'finished' } });
    };`,
  );
  const { code, session, stderr } = await headless('--protocol', 'kimi-wire', ...agent, '--cwd', folder(t), ...script);
  assert.deepEqual([code, session?.turns.length], [0, 2], stderr);
  assert.match(stderr, /Not done, for its turn was over: \{"prompt":"late"\}/);
});

test('a prompt behind a turn that was stopped is said not to be sent, and nobody waits for it', async (t) => {
  const during = [
    { on: 'ask', do: { prompt: 'help' } },
    { on: 'ask', afterMs: 5, do: { cancel: true } },
  ];
  const first = scriptOf(t, { answers: ['hold'] }, { during }, { prompt: 'run sleep 60' }, { expect: { status: 'cancelled' } });
  const beside = await headless('--protocol', 'acp', '--cwd', folder(t), ...first);
  assert.deepEqual([beside.code, beside.session?.queue.length], [0, 1], beside.stderr);
  assert.match(beside.stderr, /Not sent, for the turn before was stopped/);
  const second = scriptOf(t, { answers: ['hold'] }, { now: { prompt: 'run sleep 60' } }, { cancelOn: 'ask' }, { prompt: 'help' });
  const step = await headless('--protocol', 'acp', '--cwd', folder(t), ...second);
  assert.equal(step.code, 1);
  assert.match(step.stderr, /Not sent, .*\{"prompt":"help"\}/);
});

test('what the agent does not offer is named with what it offers, and nothing is allowed by it', async (t) => {
  const cwd = folder(t, { 'a.txt': 'one\n' });
  const script = scriptOf(
    t,
    { mode: 'nonsense' },
    { option: { id: 'nonsense', value: 'x' } },
    { answers: [{ option: 'nonsense' }] },
    { prompt: 'replace "one" by "two" in a.txt' },
    { answers: [{ fields: { a: 'b' } }] },
    { prompt: 'replace "one" by "two" in a.txt' },
  );
  const { code, session, stderr } = await headless('--protocol', 'acp', '--cwd', cwd, ...script);
  assert.deepEqual([code, session?.turns.map((turn) => turn.status)], [1, ['done', 'done']]);
  assert.equal(readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'one\n');
  for (const words of [
    /There is no mode nonsense; the agent has default, plan/,
    /There is no option nonsense; the agent has none/,
    /there is no option nonsense; offered are once, reject/,
    /an approval has no fields/,
  ])
    assert.match(stderr, words);
});

test('a text of a command that cannot be edited is not allowed in its place', async (t) => {
  const script = scriptOf(t, { answers: [{ edited: 'echo other' }] }, { prompt: 'run echo hi' });
  const { code, session, stderr } = await headless('--protocol', 'kimi-wire', '--cwd', folder(t), ...script);
  const call = session?.turns[0]?.parts.find((part) => part.kind === 'call');
  assert.deepEqual([code, call?.kind === 'call' && call.call.status], [1, 'rejected']);
  assert.match(stderr, /cannot be edited/);
});

test('an answer that allows once is not given where only more is offered, and the options are named', async (t) => {
  const agent = `
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
    let isIn = false;
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (method === 'initialize') send({ id, result: { protocolVersion: 1, authMethods: [{ id: 'key', name: 'API key' }] } });
      if (method === 'authenticate') { isIn = true; send({ id, result: {} }); }
      if (method === 'session/new' && isIn) send({ id, result: { sessionId: 's' } });
      if (method === 'session/new' && !isIn) send({ id, error: { code: -32000, message: 'Your key has expired' } });
      if (method === 'session/prompt') send({ id, result: { stopReason: 'end_turn' } });
    });`;
  const run = ['--protocol', 'acp', '--command', process.execPath, '--arg', '-e', '--arg', agent, '--cwd', folder(t), '--prompt', 'hi'];
  const once = await headless(...run, '--answer', 'allow');
  assert.equal(once.code, 1);
  assert.match(once.stderr, /Sign in: nothing here allows once; offered are key \(API key, allow_always\)/);
  assert.equal((await headless(...run, '--answer', 'allow_always')).code, 0);
});

test('a rule goes by what the ask is about, over every protocol', async (t) => {
  for (const protocol of ['kimi-wire', 'acp', 'a2a', 'qwen', 'ai-sdk']) {
    const cwd = folder(t, { 'a.txt': 'one\n', 'b.txt': 'one\n' });
    const script = scriptOf(
      t,
      { rules: [{ about: 'a.txt', answer: 'allow' }] },
      { prompt: 'replace "one" by "two" in a.txt' },
      { prompt: 'replace "one" by "two" in b.txt' },
    );
    await headless('--protocol', protocol, '--cwd', cwd, ...script);
    const texts = ['a.txt', 'b.txt'].map((name) => readFileSync(path.join(cwd, name), 'utf8'));
    assert.deepEqual([protocol, ...texts], [protocol, 'two\n', 'one\n']);
  }
});

test('a copy is opened in the place of the conversation, and deleted by its name; the same one keeps its turns', async (t) => {
  const script = scriptOf(
    t,
    { prompt: 'help' },
    { fork: true },
    { resume: '$fork' },
    { prompt: 'list files' },
    { close: true },
    { resume: '$this' },
  );
  const { code, session, stderr } = await headless('--protocol', 'acp', '--cwd', folder(t), ...script);
  assert.equal(code, 0, stderr);
  const prompts = (one: Session | undefined) => one?.turns.map(({ prompt: [first] }) => first?.type === 'text' && first.text);
  assert.deepEqual(prompts(session), ['help', 'list files']);
  const deleting = scriptOf(t, { prompt: 'help' }, { fork: true }, { forget: '$fork' }, { resume: '$fork' });
  const gone = await headless('--protocol', 'acp', '--cwd', folder(t), ...deleting);
  assert.match(JSON.stringify(gone.session?.notices), /cannot take up this conversation/);
  for (const protocol of ['kimi-wire', 'a2a', 'qwen', 'ai-sdk']) {
    const other = await headless('--protocol', protocol, '--cwd', folder(t), ...scriptOf(t, { prompt: 'help' }, { fork: true }));
    assert.deepEqual([protocol, other.code, other.session?.link.state], [protocol, 1, 'ready']);
    assert.match(other.stderr, /fork: This agent cannot copy conversations/);
  }
});

/** An agent over Wire that asks or calls one thing after the other, and tells the answers as its text. */
const asking = (...requests: readonly object[]) =>
  `${answering}
  const waits = ${JSON.stringify(requests)};
  let prompted;
  const next = () => {
    const one = waits.shift();
    if (one && one.type === 'ToolCall') { event(one.type, one.payload); return next(); }
    if (one) return say({ id: 'r' + waits.length, method: 'request', params: one });
    event('TurnEnd', {}); say({ id: prompted, result: { status: 'finished' } });
  };
  const prompt = (m) => { prompted = m.id; event('TurnBegin', { user_input: 'x' }); next(); };
  const take = on;
  on = (m) => { if (!('result' in m)) return take(m); event('ContentPart', { type: 'text', text: JSON.stringify(m.result) }); next(); };
`.replace('const on =', 'let on =');

test('a question is answered by its fields; a field it does not have, and no fields at all, are named', async (t) => {
  const questions = [{ question: 'Tabs or spaces?', header: 'Indent', options: [{ label: 'Tabs' }, { label: 'Spaces' }] }];
  const request = { type: 'QuestionRequest', payload: { id: 'q', tool_call_id: 'c', questions } };
  const start = (...rest: string[]) => headless('--protocol', 'kimi-wire', ...program(t, asking(request)), '--cwd', folder(t), ...rest);
  const run = (answer: object | string) => start(...scriptOf(t, { answers: [answer] }, { prompt: 'go' }));
  const asked = await run({ reject: '' });
  const ask = asked.events.find((event) => event.type === 'ask.opened')?.ask;
  assert.ok(ask?.kind === 'question');
  const [id = ''] = ask.fields.map((field) => field.id);
  const answered = await run({ fields: { [id]: 'Spaces' } });
  assert.match(textOf(answered) ?? '', /Spaces/);
  assert.equal(answered.code, 0, answered.stderr);
  const wrong = await run({ fields: { other: 'Spaces' } });
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, new RegExp(`there is no field other; the question has ${id}`));
  assert.equal((await run({ edited: 'Spaces' })).code, 1);
  for (const allowed of [await run('allow'), await run('allow_always'), await start('--prompt', 'go', '--answer', 'allow')]) {
    assert.equal(allowed.code, 1, 'a word for approvals chooses nothing');
    assert.match(allowed.stderr, new RegExp(`a question is answered by fields: ${id}`));
    assert.doesNotMatch(textOf(allowed) ?? '', /Tabs|Spaces/);
  }
});

test('tools of a script answer late, and fail, as it says', async (t) => {
  const call = (name: string) => ({ type: 'ToolCallRequest', payload: { id: name, name, arguments: '{}' } });
  const tools = [
    { name: 'slow', result: 'late', afterMs: 20 },
    { name: 'broken', error: 'out of order' },
  ];
  const script = scriptOf(
    t,
    { setup: { tools } },
    { prompt: 'go' },
    { expect: { text: 'late', status: 'done' } },
    { expect: { text: 'out of order' } },
  );
  const { code, stderr } = await headless(
    '--protocol',
    'kimi-wire',
    ...program(t, asking(call('slow'), call('broken'))),
    '--cwd',
    folder(t),
    ...script,
  );
  assert.equal(code, 0, stderr);
});

test('a tool of a script stands in the place of the editor tool of its name', async (t) => {
  const cwd = folder(t, { 'a.txt': 'one\n' });
  const script = scriptOf(
    t,
    {
      setup: {
        tools: [{ name: 'open_in_ide', parameters: { type: 'object', properties: { path: { type: 'string' } } }, error: 'out of order' }],
      },
    },
    { prompt: 'open a.txt' },
    { expect: { calls: [{ tool: 'open_in_ide', status: 'failed' }] } },
  );
  const { code, stderr } = await headless('--protocol', 'kimi-wire', '--cwd', cwd, ...script);
  assert.equal(code, 0, stderr);
});

test('a form that does not take its values is named and left, and the run ends', async (t) => {
  const agent = program(
    t,
    `const say = (o) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...o }) + '\\n');
    let prompted;
    process.stdin.on('end', () => process.exit(0));
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const m = JSON.parse(line);
      if (m.method === 'initialize') say({ id: m.id, result: { protocolVersion: 1, agentCapabilities: {} } });
      else if (m.method === 'session/new') say({ id: m.id, result: { sessionId: 'S' } });
      else if (m.method === 'session/prompt') {
        prompted = m.id;
        const requestedSchema = { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] };
        say({ id: 'f', method: 'elicitation/create', params: { sessionId: 'S', mode: 'form', message: 'M', requestedSchema } });
      } else if (m.id === 'f') say({ id: prompted, result: { stopReason: 'end_turn' } });
    });`,
  );
  const script = scriptOf(t, { answers: [{ fields: { age: 'old' } }] }, { prompt: 'go' });
  const { code, session, stderr } = await headless('--protocol', 'acp', ...agent, '--cwd', folder(t), ...script);
  assert.deepEqual([code, session?.turns.map((turn) => turn.status)], [1, ['done']], stderr);
  assert.match(stderr, /M: The answer to “age” does not fit/);
});

test('credentials of a script are used, answered ones too, and a recording does not hold them', async (t) => {
  const server = createServer((request, response) => {
    request.resume();
    if (request.headers.authorization !== 'Bearer s3cret') {
      response.writeHead(401).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-vercel-ai-ui-message-stream': 'v1' });
    const chunks = [
      { type: 'start' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'in' },
      { type: 'text-end', id: '1' },
      { type: 'finish' },
    ];
    response.end(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`;
  const file = path.join(folder(t), 'run.jsonl');
  const stored = scriptOf(t, { setup: { secrets: { '127.0.0.1': 's3cret' } } }, { prompt: 'go' }, { expect: { text: 'in', asks: 0 } });
  const byAddress = scriptOf(t, { setup: { secrets: { [url]: 's3cret' } } }, { prompt: 'go' }, { expect: { text: 'in', asks: 0 } });
  const entered = scriptOf(t, { answers: [{ fields: { key: 's3cret' } }] }, { prompt: 'go' }, { expect: { text: 'in', asks: 1 } });
  for (const script of [stored, byAddress, entered]) {
    const { code, stderr } = await headless('--protocol', 'ai-sdk', '--url', url, '--cwd', folder(t), '--record', file, ...script);
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(readFileSync(file, 'utf8'), /s3cret/);
  }
});

test('a recording gives the exit code of its run, also for what no turn tells; a run that was killed is shown as far as it came', async (t) => {
  const file = path.join(folder(t), 'run.jsonl');
  const wrong = scriptOf(t, { prompt: 'help' }, { expect: { text: 'never said' } });
  const missing = ['--command', 'no-such-agent-here', '--prompt', 'x'];
  for (const run of [wrong, missing]) {
    const { code, events } = await headless('--protocol', 'acp', '--cwd', folder(t), ...run, '--record', file);
    const again = await headless('--replay', file);
    assert.deepEqual([code, again.code, again.events], [1, 1, events]);
  }
  await headless('--protocol', 'acp', '--cwd', folder(t), '--prompt', 'help', '--record', file);
  const lines = readFileSync(file, 'utf8').split('\n');
  const at = lines.findIndex((line) => line.includes('text.delta'));
  const killed = textFile(t, `${lines.slice(0, at).join('\n')}\n${(lines[at] ?? '').slice(0, -9)}`);
  const shown = await headless('--replay', killed);
  assert.equal(shown.code, 1, shown.stderr);
  assert.deepEqual(statusOf(shown), ['running']);
  assert.match(shown.stderr, new RegExp(`The recording is cut off: line ${at + 1} is not whole`));
  // The exit code, the last line, is missing or cut, although each turn has ended well.
  const whole = lines.filter((line) => line !== '');
  for (const text of [`${whole.slice(0, -1).join('\n')}\n`, whole.join('\n').slice(0, -3)]) {
    const cut = await headless('--replay', textFile(t, text));
    assert.deepEqual([cut.code, statusOf(cut)], [1, ['done']]);
    assert.match(cut.stderr, /The recording is cut off/);
  }
});

for (const [protocol, key] of [
  ['kimi-wire', 'never-heard-of'],
  ['a2a', 'never-heard-of'],
  ['a2a', '{"taskId":"never-heard-of"}'],
  ['acp', 'never-heard-of'],
  ['qwen', 'never-heard-of'],
] as const)
  test(`resuming a conversation that nobody knows is said over ${protocol}: ${key}`, async (t) => {
    const script = scriptOf(t, { resume: key }, { prompt: 'help' });
    const { code, session, stderr } = await headless('--protocol', protocol, '--cwd', folder(t), ...script);
    assert.equal(code, 0, stderr);
    const told = session?.notices.filter(({ level }) => level === 'warn').map(({ text }) => text);
    assert.match(told?.join('\n') ?? '', /cannot take up this conversation|does not keep this conversation/);
  });

test('no credential is printed or recorded, also where the agent repeats it or a script is wrong', async (t) => {
  const body = `
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
    const { MY_KEY } = process.env;
    process.stdin.on('end', () => process.exit(0));
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      const vars = [{ name: 'MY_KEY' }];
      if (method === 'initialize') send({ id, result: { protocolVersion: 1, authMethods: [{ id: 'key', name: 'API key', type: 'env_var', vars }] } });
      if (method === 'session/new' && MY_KEY) send({ id, result: { sessionId: 's' } });
      if (method === 'session/new' && !MY_KEY) send({ id, error: { code: -32000, message: 'No key' } });
      if (method !== 'session/prompt') return;
      const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'the key is ' + MY_KEY } };
      send({ method: 'session/update', params: { sessionId: 's', update } });
      process.stderr.write('bad key ' + MY_KEY);
      process.exit(3);
    });`;
  const file = path.join(folder(t), 'run.jsonl');
  const runs: readonly (readonly string[])[] = [
    scriptOf(t, { setup: { secrets: { MY_KEY: 's3cret' } } }, { prompt: 'hi' }),
    scriptOf(t, { answers: [{ option: 'key' }, { fields: { MY_KEY: 's3cret' } }] }, { prompt: 'hi' }),
    ['--env', 'MY_KEY=s3cret', '--prompt', 'hi'],
  ];
  for (const run of runs) {
    const { events, session, stderr } = await headless(
      '--protocol',
      'acp',
      ...program(t, body),
      '--cwd',
      folder(t),
      '--record',
      file,
      ...run,
    );
    assert.match(JSON.stringify([events, session]), /the key is \*\*\*/);
    assert.match(stderr, /bad key \*\*\*/);
    assert.doesNotMatch(JSON.stringify([events, session, stderr, readFileSync(file, 'utf8')]), /s3cret/);
  }
  for (const wrong of [
    scriptOf(t, { setup: { secrets: { MY_KEY: 's3cret' }, tool: [] } }),
    scriptOf(t, { answers: [{ fields: { MY_KEY: 's3cret' }, x: 1 }] }),
    ['--header', 'Authorization: Bearer s3cret'],
  ]) {
    const { code, stderr } = await headless('--protocol', 'acp', ...wrong);
    assert.equal(code, 2);
    assert.doesNotMatch(stderr, /s3cret/);
  }
});

test('a reader that goes away ends the run and the agent, and a recording that cannot be written is said', async (t) => {
  const pidFile = path.join(folder(t), 'pid');
  const agent = program(
    t,
    `${answering}
    require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));
    const prompt = () => { event('TurnBegin', { user_input: 'x' }); setInterval(() => event('ContentPart', { type: 'text', text: 'more' }), 5); };`,
  );
  const child = spawn(process.execPath, [HEADLESS, '--protocol', 'kimi-wire', ...agent, '--cwd', folder(t), '--prompt', 'never ends'], {
    env: { ...process.env, HOME, USERPROFILE: HOME },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdout.on('data', (chunk: Buffer) => chunk.includes('turn.started') && child.stdout.destroy());
  const [code] = (await once(child, 'close')) as [number | null];
  assert.equal(code, 1);
  assert.match(stderr, /The output was closed/);
  assert.doesNotMatch(stderr, /EPIPE/);
  assert.equal(isAlive(Number(readFileSync(pidFile, 'utf8'))), false);
  if (process.platform !== 'linux') return;
  const full = await headless('--protocol', 'acp', '--cwd', folder(t), '--prompt', 'help', '--record', '/dev/full');
  assert.deepEqual([full.code, statusOf(full)], [1, ['done']], full.stderr);
  assert.match(full.stderr, /The recording ends here/);
});

test('a turn that failed is named where nothing else says why the run ends with 1', async (t) => {
  const agent = program(t, `${answering} const prompt = (m) => say({ id: m.id, error: { code: -32003, message: 'No such model' } });`);
  const { code, stderr } = await headless('--protocol', 'kimi-wire', ...agent, '--cwd', folder(t), '--prompt', 'hi');
  assert.equal(code, 1);
  assert.match(stderr, /The turn of "hi" failed: .+/);
});

test('a rule answers one call of several that read alike', async (t) => {
  const approval = (id: string) => ({
    type: 'ApprovalRequest',
    payload: { id, tool_call_id: `call-${id}`, sender: 'Shell', action: 'run command', description: 'Run it', display: [] },
  });
  const call = (id: string) => ({
    type: 'ToolCall',
    payload: { type: 'function', id: `call-${id}`, function: { name: 'Shell', arguments: '{"command":"ls"}' } },
  });
  const script = scriptOf(t, { rules: [{ call: 'call-b', answer: 'allow' }] }, { prompt: 'go' });
  const agent = program(t, asking(call('a'), call('b'), approval('a'), approval('b')));
  const outcome = await headless('--protocol', 'kimi-wire', ...agent, '--cwd', folder(t), ...script);
  assert.deepEqual(textOf(outcome)?.match(/approve|reject/g), ['reject', 'approve'], outcome.stderr);
});

test('modes and options are changed between turns and within one, pictures are attached, hints and lists printed', async (t) => {
  const agent = program(
    t,
    `const say = (o) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...o }) + '\\n');
    const options = { size: 'small', tone: 'dry' };
    const modes = { currentModeId: 'ask', availableModes: [{ id: 'ask', name: 'Ask' }, { id: 'plan', name: 'Plan' }] };
    const one = (id) => ({ id, name: id, type: 'select', currentValue: options[id], options: ['small', 'large', 'dry', 'warm'].map((value) => ({ value, name: value })) });
    const update = (update) => say({ method: 'session/update', params: { sessionId: 'S', update } });
    let prompted;
    process.stdin.on('end', () => process.exit(0));
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === 'initialize') say({ id, result: { protocolVersion: 1, agentCapabilities: { promptCapabilities: { image: true }, sessionCapabilities: { list: {} } } } });
      if (method === 'session/new') say({ id, result: { sessionId: 'S', modes, configOptions: Object.keys(options).map(one) } });
      if (method === 'session/list') say({ id, result: { sessions: [{ sessionId: 'old', cwd: process.cwd(), title: 'Earlier' }] } });
      if (method === 'session/set_config_option') { options[params.configId] = params.value; say({ id, result: { configOptions: Object.keys(options).map(one) } }); }
      if (method === 'session/set_mode') { modes.currentModeId = params.modeId; say({ id, result: {} }); if (prompted) { say({ id: prompted, result: { stopReason: 'end_turn' } }); } }
      if (method !== 'session/prompt') return;
      const seen = params.prompt.map((block) => block.type + (block.data ?? '')).join() + ' ' + modes.currentModeId + ' ' + Object.values(options);
      update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: seen } });
      if (params.prompt[0].text === 'wait') prompted = id; else say({ id, result: { stopReason: 'end_turn' } });
    });`,
  );
  const cwd = folder(t, { 'b.png': 'x' });
  const script = scriptOf(
    t,
    { mode: 'plan' },
    { option: { id: 'size', value: 'large' } },
    { prompt: 'look', files: ['b.png'] },
    { expect: { text: `text,image${Buffer.from('x').toString('base64')} plan large,dry` } },
    {
      during: [
        { on: 'text', do: { option: { id: 'tone', value: 'warm' } } },
        { on: 'text', afterMs: 1, do: { mode: 'ask' } },
      ],
    },
    { prompt: 'wait' },
    { prompt: 'look' },
    { expect: { text: 'text ask large,warm' } },
    { list: true },
  );
  const { code, printed, stderr } = await headless('--protocol', 'acp', ...agent, '--cwd', cwd, ...script);
  assert.equal(code, 0, stderr);
  assert.match(JSON.stringify(printed.conversations), /"old".*Earlier/);
  const hinted = await headless('--protocol', 'qwen', '--cwd', cwd, ...scriptOf(t, { hints: '/he' }));
  assert.match(JSON.stringify(hinted.printed.hints), /help/);
});

test('each thing that is expected fails the run when it is otherwise', async (t) => {
  for (const [expected, words] of [
    [{ text: 'zzz' }, /text is "/],
    [{ notice: 'zzz' }, /notices are \[/],
    [{ error: 'zzz' }, /error is none/],
    [{ asks: 1 }, /asks are 0/],
    [{ calls: [{ tool: 'zzz' }] }, /no call like \{"tool":"zzz"\}/],
    [{ link: 'closed' }, /link is ready/],
  ] as const) {
    const { code, stderr } = await headless(
      '--protocol',
      'acp',
      '--cwd',
      folder(t),
      ...scriptOf(t, { prompt: 'help' }, { expect: expected }),
    );
    assert.deepEqual([JSON.stringify(expected), code], [JSON.stringify(expected), 1]);
    assert.match(stderr, words);
  }
});

test('a model that refuses the key fails the turn and the run over every protocol, with its words', async (t) => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"message":"Your key has expired on 3 May"}}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const base = `PARLEY_MODEL_BASE_URL=http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  for (const protocol of ['kimi-wire', 'acp', 'a2a', 'qwen', 'ai-sdk']) {
    const model = ['--env', base, '--env', 'PARLEY_MODEL_NAME=m', '--env', 'PARLEY_MODEL_API_KEY=sk-s3cret'];
    const outcome = await headless('--protocol', protocol, '--cwd', folder(t), ...model, '--prompt', 'hi', '--timeout', '60');
    assert.deepEqual([protocol, outcome.code, statusOf(outcome)], [protocol, 1, ['failed']], outcome.stderr);
    assert.match(outcome.session?.turns[0]?.error?.message ?? '', /Your key has expired on 3 May/, protocol);
  }
});

test('a late answer and a slow tool leave time for what happens before them', async (t) => {
  const file = path.join(folder(t), 'run.jsonl');
  const order = async (marks: readonly RegExp[], ...args: readonly string[]) => {
    const { code, stderr } = await headless('--protocol', 'kimi-wire', '--cwd', folder(t), '--record', file, ...args);
    assert.equal(code, 0, stderr);
    const lines = readFileSync(file, 'utf8').split('\n');
    return marks.map((mark) => lines.findIndex((line) => mark.test(line)));
  };
  const steered = /"intent":\{"type":"steer"/;
  const late = scriptOf(
    t,
    { answers: [{ afterMs: 300, answer: 'reject' }] },
    { during: [{ on: 'ask', afterMs: 1, do: { steer: 'wait' } }] },
    { prompt: 'run echo hi' },
  );
  const [steer = -1, answer = -1] = await order([steered, /"intent":\{"type":"answer"/], ...late);
  assert.ok(steer >= 0 && steer < answer, `${steer} ${answer}`);
  const tools = [
    { name: 'slow', result: 'at last', afterMs: 300 },
    { name: 'quick', result: 'at once' },
  ];
  const agent = program(
    t,
    `${answering}
    let prompted, answers = 0;
    const call = (name) => say({ id: name, method: 'request', params: { type: 'ToolCallRequest', payload: { id: name, name, arguments: '{}' } } });
    const prompt = (m) => { prompted = m.id; event('TurnBegin', { user_input: 'x' }); call('slow'); call('quick'); };
    const take = on;
    on = (m) => {
      if (!('result' in m)) return take(m);
      event('ContentPart', { type: 'text', text: JSON.stringify(m.result) });
      answers += 1;
      if (answers === 2) { event('TurnEnd', {}); say({ id: prompted, result: { status: 'finished' } }); }
    };`.replace('const on =', 'let on ='),
  );
  const [first = -1, last = -1] = await order(
    [/"text.delta".*at once/, /"text.delta".*at last/],
    ...agent,
    ...scriptOf(t, { setup: { tools } }, { prompt: 'go' }),
  );
  assert.ok(first >= 0 && first < last, `${first} ${last}`);
});

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, type TestContext, test } from 'node:test';
import type { SessionEvent } from '../../src/session/events.ts';
import type { Session } from '../../src/session/model.ts';

const HEADLESS = path.resolve('dist/headless.js');
/** Agents keep their sessions here, not with the user who runs the tests. */
const HOME = mkdtempSync(path.join(tmpdir(), 'headless-home-'));
after(() => rmSync(HOME, { recursive: true, force: true }));
const AGENT = ['--command', process.execPath, '--arg', path.resolve('dist/parley-agent.js'), '--arg', '--wire'];

interface Outcome {
  readonly code: number | null;
  readonly events: readonly SessionEvent[];
  readonly session: Session | undefined;
  readonly stderr: string;
}

/** Runs the headless host to its end. Every line of its stdout must be JSON. */
function headless(...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, [HEADLESS, ...args], { maxBuffer: 512e6, env: { ...process.env, HOME } }, (error, stdout, stderr) => {
      const lines = stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as { event?: SessionEvent; session?: Session });
      resolve({
        code: error ? ((error.code as unknown as number | undefined) ?? null) : 0,
        events: lines.flatMap((line) => (line.event ? [line.event] : [])),
        session: lines.at(-1)?.session,
        stderr,
      });
    });
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
    [['--protocol', 'kimi-wire', ...AGENT, '--script', script], /step 1/],
    [['--nonsense', 'x'], /nonsense/],
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
    [program(t, 'console.error("no licence"); process.exit(3)'), /exit code 3/, /no licence/],
    [program(t, 'process.stdout.write("hello\\n{\\"half"); process.exit(0)'), /exit code 0/, /^/],
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
  assert.match(outcome.session.link.reason, /SIGKILL/);
  assert.match(outcome.session.link.detail ?? '', /out of memory/);
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
    env: { ...process.env, HOME },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  child.stdout.on('data', (chunk: Buffer) => {
    if (chunk.includes('turn.started')) child.kill('SIGTERM');
  });
  assert.equal(await ended, 1);
  assert.equal(isAlive(Number(readFileSync(pidFile, 'utf8'))), false);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

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
  for (const name of examples) {
    const file = path.resolve('docs/headless', name);
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

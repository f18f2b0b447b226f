import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../agentProcess.ts';

type Line = Readonly<Record<string, unknown>>;

/** The built agent, spoken to in raw lines. */
function served(t: TestContext, ...args: readonly string[]) {
  const cwd = temporaryFolder(t);
  const { PARLEY_MODEL_BASE_URL: _, PARLEY_MODEL_NAME: __, ...env } = process.env;
  const child = spawn(process.execPath, [path.resolve('dist/parley-agent.js'), ...args], {
    cwd,
    env: { ...env, KIMI_SHARE_DIR: `${cwd}.home` },
  });
  const told = { out: '', err: '' };
  let wake = () => {};
  child.stdin.on('error', () => {});
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    told.out += text;
    wake();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    told.err += text;
  });
  let gone = false;
  const exited = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      gone = true;
      wake();
      resolve(code);
    });
  });
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const lines = (): readonly Line[] =>
    told.out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  return {
    told,
    exited,
    lines,
    raw: (text: string) => void child.stdin.write(text),
    say: (...messages: readonly object[]) => void child.stdin.write(messages.map((one) => `${JSON.stringify(one)}\n`).join('')),
    end: (text = '') => void child.stdin.end(text),
    /** The first line that fits, now or later. */
    line: async (fits: (line: Line, at: number) => boolean): Promise<Line> => {
      for (;;) {
        const found = lines().find(fits);
        if (found) return found;
        assert.equal(gone, false, `it ended: ${told.err}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

const MESSAGES = ['--input-format', 'stream-json', '--output-format', 'stream-json'];
const ENVELOPE = [...MESSAGES, '--dialect', 'envelope'];
const CHUNKS = ['--input-format', 'stream-chunk-json', '--output-format', 'stream-chunk-json'];
const request = (parts: readonly object[], more: object = {}) => ({ session_id: '_new', input: { origin: 'user', parts }, ...more });
const text = (words: string) => [{ type: 'text', text: words }];
const finished = (line: Line) => JSON.stringify(line).includes('"Finished"');
const metadata = (line: Line) => Object(line.metadata) as Line;

for (const [name, args] of [
  ['messages', ENVELOPE],
  ['chunks', CHUNKS],
] as const) {
  test(`envelope, ${name}: a prompt without anything in it is refused and runs no turn; the next one does`, async (t) => {
    const agent = served(t, ...args);
    agent.say(request([], { prompt_id: 'p1' }));
    await agent.line(finished);
    const errors = agent.lines().flatMap((line) => metadata(line).error ?? []);
    assert.deepEqual(errors, [{ message: 'The prompt is empty.', code: 'QWEN_EMPTY_INPUT', retryable: false }]);
    assert.ok(!agent.lines().some((line) => JSON.stringify(line).includes('tool_calls":[')));
    const before = agent.lines().length;
    agent.say(request(text('hello'), { prompt_id: 'p2' }));
    await agent.line((line, at) => at >= before && finished(line));
    agent.end();
    assert.equal(await agent.exited, 0);
  });
}

test('envelope: a version it does not speak is refused with an exit that says so; a minor one of its own is served', async (t) => {
  const refused = served(t, ...ENVELOPE);
  refused.say(request(text('hello'), { metadata: { protocol_version: 2 } }));
  assert.notEqual(await refused.exited, 0);
  const [last] = refused.lines().filter((line) => metadata(line).error !== undefined);
  assert.equal(Object(metadata(last ?? {}).error).code, 'unsupported_protocol');
  assert.match(JSON.stringify(last), /"finish_reason":"error"/);
  const taken = served(t, ...ENVELOPE);
  taken.say(request(text('hello'), { metadata: { protocol_version: '1.2' } }));
  await taken.line(finished);
});

test('envelope: a line that is no request is fatal, as an error object and a code', async (t) => {
  for (const line of ['{"model":"m","messages":[]}\n', 'not json\n']) {
    const agent = served(t, ...ENVELOPE);
    agent.raw(line);
    assert.equal(await agent.exited, 1);
    assert.equal(Object(agent.lines()[0]?.error).type, 'invalid_request_error');
  }
});

test('envelope: an error answer to a request for a permission means no', async (t) => {
  const agent = served(t, ...ENVELOPE);
  agent.say(request(text('run echo never')));
  const lent = await agent.line((line) => line.subtype === 'mcp_message');
  const failed = { subtype: 'error', error: { message: 'callback broke', retryable: false } };
  agent.say({ type: 'control_response', request_id: lent.request_id, response: failed });
  const asked = await agent.line((line) => line.subtype === 'can_use_tool');
  const waits = agent.lines().find((line) => JSON.stringify(line).includes('"Confirming"'));
  assert.match(JSON.stringify(waits), /"confirmation":\{"type":"run_shell_command","command":"echo never"/);
  agent.say({ type: 'control_response', request_id: asked.request_id, response: failed });
  await agent.line(finished);
  assert.match(agent.told.out, /"status":"Error"[^\n]*callback broke/);
});

test('envelope: nothing to cancel is a noop with a reason; an answer nobody waits for is a control error', async (t) => {
  const agent = served(t, ...ENVELOPE);
  agent.say({ type: 'control/cancel', session_id: '', reason: 'escape' });
  const noop = await agent.line((line) => line.type === 'result/cancel');
  assert.deepEqual([noop.status, noop.message], ['noop', 'Nothing was running.']);
  agent.say({ type: 'control_response', request_id: 'gone', response: { subtype: 'success', result: {} } }, request(text('hello')));
  const told = await agent.line((line) => metadata(line).control_errors !== undefined);
  assert.deepEqual(metadata(told).control_errors, [{ request_id: 'gone', message: 'No such request is open.' }]);
});

test('message: a line without a type, or that is no JSON, ends it with 1 and no line of the other dialect', async (t) => {
  for (const line of ['{"input":{}}\n', 'not json\n']) {
    const agent = served(t, ...MESSAGES);
    agent.say({ type: 'control_request', request_id: 'i', request: { subtype: 'initialize', hooks: null } });
    await agent.line((one) => one.type === 'control_response');
    agent.raw(line);
    assert.equal(await agent.exited, 1);
    assert.match(agent.told.err, /Missing required "type" field|not JSON/);
    assert.equal(agent.lines().length, 1);
  }
});

test('one prompt in plain text: the answer in each form, and nothing on the other output', async (t) => {
  for (const [output, more] of [
    ['text', []],
    ['json', []],
    ['stream-json', []],
    ['stream-json', ['--dialect', 'envelope']],
    ['stream-chunk-json', []],
  ] as const) {
    await t.test([output, ...more].join(' '), async (t) => {
      const agent = served(t, '--input-format', 'text', '--output-format', output, ...more);
      agent.end('hello');
      assert.equal(await agent.exited, 0);
      assert.equal(agent.told.err, '');
      if (output === 'text') assert.match(agent.told.out, /\w/);
      else if (output === 'json') assert.ok(Array.isArray(JSON.parse(agent.told.out)));
      else assert.ok(agent.lines().length > 0);
      assert.doesNotMatch(agent.told.out, /control_request/, 'nobody is there to be asked');
    });
  }
});

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { ProcessLaunch } from '../../../src/protocols/adapter.ts';
import { qwen } from '../../../src/protocols/qwen/index.ts';
import { detailOf, explain, readTalkOptions, sentenceOf } from '../../../src/protocols/qwen/launch.ts';
import { withoutWrapper } from '../../../src/protocols/qwen/record.ts';
import { drive, textOf } from '../../agents/drive.ts';

// Real programs, pipes and files: how an agent is found, started, read and ended.

test('the wrapper that npm installs on Windows is passed by: the script in the folder beside it is run', () => {
  const base = mkdtempSync(path.join(tmpdir(), 'parley-wrapper-'));
  try {
    const pack = path.join(base, 'npm', 'node_modules', '@qwen-code', 'qwen-code');
    mkdirSync(pack, { recursive: true });
    for (const name of ['cli-entry.js', 'cli.js']) writeFileSync(path.join(pack, name), '');
    writeFileSync(path.join(base, 'npm', 'qwen.cmd'), '');
    const launch: ProcessLaunch = { kind: 'process', command: 'qwen.cmd', args: ['-x'], env: { PATH: path.join(base, 'npm') }, cwd: base };
    assert.deepEqual(withoutWrapper(launch), { command: 'node', args: [path.join(pack, 'cli.js'), '-x'] });
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
});

test('the installed wrapper is passed by: the script beside it is run', () => {
  const base = mkdtempSync(path.join(tmpdir(), 'parley-wrapper-'));
  try {
    const pack = path.join(base, 'lib', 'qwen-code');
    mkdirSync(path.join(base, 'bin'));
    mkdirSync(pack, { recursive: true });
    for (const name of ['cli-entry.js', 'cli.js']) writeFileSync(path.join(pack, name), '');
    symlinkSync(path.join(pack, 'cli-entry.js'), path.join(base, 'bin', 'qwen'));
    const launch = (over: Partial<ProcessLaunch>): ProcessLaunch => ({
      kind: 'process',
      command: 'qwen',
      args: ['-x'],
      env: {},
      cwd: base,
      ...over,
    });
    const script = path.join(pack, 'cli.js');
    assert.deepEqual(withoutWrapper(launch({ env: { PATH: path.join(base, 'bin') } })), { command: 'node', args: [script, '-x'] });
    assert.deepEqual(withoutWrapper(launch({ command: path.join(base, 'bin', 'qwen') })), { command: 'node', args: [script, '-x'] });
    assert.deepEqual(withoutWrapper(launch({ command: 'node', args: [path.join(pack, 'cli-entry.js'), 'y'] })), {
      command: 'node',
      args: [script, 'y'],
    });
    assert.deepEqual(withoutWrapper(launch({ env: { PATH: base } })), { command: 'qwen', args: ['-x'] });
    assert.deepEqual(withoutWrapper(launch({ command: 'other' })), { command: 'other', args: ['-x'] });
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
});

test('options: chunks mean the envelope dialect; what cannot be read is named', () => {
  assert.equal(readTalkOptions({}, ['--output-format', 'stream-chunk-json']).options.dialect, 'envelope');
  assert.equal(readTalkOptions({ format: 'stream-chunk-json' }, []).options.dialect, 'envelope');
  const { options, problems } = readTalkOptions({ dialect: 'klingon', timeoutSeconds: 'soon', heartbeatSeconds: '2', direct: 'false' }, []);
  assert.deepEqual(
    [options.dialect, options.patience, options.heartbeat, options.direct, problems.length],
    ['auto', 10_000, 2_000, false, 2],
  );
  assert.deepEqual(readTalkOptions({}, []).options.request, {});
  const asked = readTalkOptions({ model: 'qwen-coder', temperature: '0.2', tools: 'EditTool, shell,' }, []);
  assert.deepEqual(asked.options.request, { model: 'qwen-coder', options: { temperature: 0.2, tool_overrides: ['EditTool', 'shell'] } });
  const odd = readTalkOptions({ temperature: 'warm' }, []);
  assert.deepEqual([odd.options.request, odd.problems], [{}, ['Option temperature: “warm” is invalid. Expected: 0–2']]);
});

test('why it ended, in one line: before a usage text, the error of a stack, the last words, or what the code means', () => {
  const why = (stderr: string, code = 1) => sentenceOf({ reason: 'X ended.', failure: 'ended', code, stderr });
  assert.equal(why('Unknown argument: --frob\nmore\nUsage: qwen [options]\nError: no'), 'X ended. Unknown argument: --frob');
  assert.equal(why('a warning\n\u001b[31mTypeError: x is not\u001b[0m\n    at y (z.js:1)\n\nNode.js v24'), 'X ended. TypeError: x is not');
  assert.equal(why('first\nReached max session turns.\n', 53), 'X ended. Reached max session turns.');
  assert.equal(why('', 53), 'X ended. The agent has reached a limit (turns).');
  assert.equal(why('  \n', 1), 'X ended.');
  assert.equal(why('y'.repeat(5000)), `X ended. ${'y'.repeat(300)}…`);
});

test('the first of stderr before a usage text, else the last of it', () => {
  assert.equal(explain('bad flag\nUsage: x\nmore'), 'bad flag');
  assert.equal(explain(`${'x'.repeat(9000)}end`).length, 4096);
});

/** A program that plays an agent, as its own file. */
function program(base: string, body: string): string {
  const file = path.join(base, 'agent.cjs');
  writeFileSync(
    file,
    `const say = (line) => process.stdout.write(JSON.stringify(line) + '\\n');
const result = { type: 'result', subtype: 'success', is_error: false, duration_ms: 1, num_turns: 1, session_id: 'S' };
const init = { type: 'control_response', response: { subtype: 'success', request_id: 'initialize', response: { session_id: 'S' } } };
let lines = 0;
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => { const line = JSON.parse(text); lines += 1; (${body})(line); });`,
  );
  chmodSync(file, 0o755);
  return file;
}
const launchOf = (base: string, file: string): ProcessLaunch => ({
  kind: 'process',
  command: process.execPath,
  args: [file],
  env: {},
  cwd: base,
});
const inFolder = async (run: (base: string) => Promise<void>) => {
  const base = mkdtempSync(path.join(tmpdir(), 'parley-qwen-life-'));
  try {
    await run(base);
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
};

test('real bytes: CRLF, blank lines, split characters, two lines in one read, U+2028, a line of 5 MB, noise', async () => {
  await inFolder(async (base) => {
    const file = program(
      base,
      `(line) => {
        if (line.type === 'control_request' && line.request.subtype === 'initialize') {
          process.stdout.write('warming up\\r\\n\\r\\n');
          process.stdout.write(JSON.stringify(init) + '\\r\\n');
        }
        if (line.type !== 'user') return;
        const big = { type: 'assistant', session_id: 'S', message: { id: 'm', content: [{ type: 'text', text: '好\\u2028' + 'x'.repeat(5e6) }] } };
        const bytes = Buffer.from(JSON.stringify(big) + '\\n' + JSON.stringify({ type: 'result', subtype: 'success', is_error: false, duration_ms: 1, num_turns: 1, session_id: 'S' }) + '\\n');
        const at = bytes.indexOf(Buffer.from('好')) + 1;
        process.stdout.write(bytes.subarray(0, at));
        setTimeout(() => process.stdout.write(bytes.subarray(at)), 20);
      }`,
    );
    const agent = drive({ protocol: qwen, launch: launchOf(base, file) });
    await agent.ready();
    const turn = await agent.prompt('a\u2028b');
    const [part] = turn.parts;
    assert.ok(part?.kind === 'text' && part.text.startsWith('好\u2028xxx') && part.text.length === 5_000_002);
    await agent.stop();
  });
});

test('a line of more than 64 MiB is left out with a word about it; the turn and the session go on', async () => {
  await inFolder(async (base) => {
    const file = program(
      base,
      `(line) => { if (line.type === 'control_request') say(init); if (line.type === 'user') { const x = 'x'.repeat(1 << 20); let n = 0; const go = () => { while (n++ < 70) if (!process.stdout.write(x)) return process.stdout.once('drain', go); process.stdout.write('\\n'); say({ type: 'assistant', session_id: 'S', message: { id: 'm', content: [{ type: 'text', text: 'after it' }] } }); say(result); }; go(); } }`,
    );
    const agent = drive({ protocol: qwen, launch: launchOf(base, file) });
    await agent.ready();
    const turn = await agent.prompt('go');
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    assert.equal(textOf(turn), 'after it');
    assert.deepEqual(agent.now().notices.filter((notice) => /cut \(too large\)/.test(notice.text)).length, 1);
    assert.equal((await agent.prompt('go on')).status, 'done');
    await agent.stop();
  });
});

test('ending leaves no process: not the agent, not what it started', { skip: process.platform === 'win32' }, async () => {
  await inFolder(async (base) => {
    const pids = path.join(base, 'pids');
    const file = program(
      base,
      `(line) => { if (line.type === 'control_request') { const child = require('node:child_process').spawn('sleep', ['300']); require('node:fs').writeFileSync(${JSON.stringify(pids)}, process.pid + ' ' + child.pid); process.on('SIGTERM', () => {}); say(init); } }`,
    );
    const agent = drive({ protocol: qwen, launch: launchOf(base, file) });
    await agent.ready();
    await agent.stop();
    for (const pid of readFileSync(pids, 'utf8').split(' ').map(Number)) assert.throws(() => process.kill(pid, 0), /ESRCH/);
  });
});

test('output that ends without the process, and a process whose pipe somebody else holds: both end the session', {
  skip: process.platform === 'win32',
}, async () => {
  await inFolder(async (base) => {
    const file = program(
      base,
      `(line) => { if (line.type === 'control_request') say(init); if (line.type === 'user') { require('node:fs').writeFileSync('pid', String(require('node:child_process').spawn('sleep', ['300'], { detached: true, stdio: ['ignore', 'inherit', 'ignore'] }).pid)); setTimeout(() => process.exit(53), 50); } }`,
    );
    const agent = drive({ protocol: qwen, launch: launchOf(base, file) });
    await agent.ready();
    const turn = await agent.ended(agent.begin('go')).catch(() => agent.now().turns[0]);
    assert.equal(turn?.status, 'failed');
    const { link } = agent.now();
    const reason = 'Qwen Code stopped unexpectedly. The agent has reached a limit (turns).';
    assert.deepEqual([link.state === 'closed' && link.reason, turn?.error?.message], [reason, reason], 'and no command line');
    assert.ok(link.state === 'closed' && link.detail?.includes(file), 'which is among the details');
    await agent.stop();
    process.kill(Number(readFileSync(path.join(base, 'pid'), 'utf8')));
  });
});

test('an end without an error and without a word has no details; every other end names what was started', () => {
  const spec = { command: 'qwen', args: ['--x'], env: {}, cwd: '/w' };
  assert.equal(detailOf(spec, '', { code: 0 }), undefined);
  assert.equal(detailOf(spec, '', { code: 53 }), 'exit 53\n\nqwen --x');
  assert.equal(detailOf(spec, '', {}), 'qwen --x');
  assert.equal(detailOf(spec, 'so it goes', { code: 0 }), 'exit 0\n\nqwen --x\n\nso it goes');
});

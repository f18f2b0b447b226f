import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { discover, probe } from '../../../src/protocols/kimi-wire/index.ts';
import { refusedSessionFlag, whyClosed, wireLaunch } from '../../../src/protocols/kimi-wire/launch.ts';
import { processHarness } from './processHarness.ts';

// wire.md §14, "Lifecycle" and "Transport" over real processes.
const approval = { id: 'a', tool_call_id: 'c', sender: 'Shell', action: 'run command', description: 'Run `ls`' };
const posix = process.platform !== 'win32';

test('a whole conversation: text, approval, tool, and a tidy end', async () => {
  const { harness, heard } = processHarness(
    {
      turns: [
        [
          { think: 'hm' },
          { text: 'Hello' },
          { event: 'ToolCall', payload: { type: 'function', id: 'c', function: { name: 'Shell', arguments: '{"command":"ls"}' } } },
          { request: 'ApprovalRequest', payload: approval, on: { approve: [{ text: 'allowed' }] } },
          { request: 'ToolCallRequest', payload: { id: 't', name: 'now', arguments: '{}' }, on: { ok: [{ text: ' and told' }] } },
        ],
      ],
    },
    { tools: [{ name: 'now', description: 'd', parameters: { type: 'object' }, run: async () => ({ ok: true, text: 'noon' }) }] },
  );
  await harness.ready;
  harness.prompt('hi');
  await harness.asked();
  harness.choose('approve');
  await harness.ended();
  assert.deepEqual(harness.shown, ['thought: hm', 'text: Hello', 'call Shell cancelled', 'text: allowed and told']);
  assert.match(heard()[0] ?? '', /^start --wire --session id1$/);
  assert.equal(harness.session.resumeKey, 'id1');
});

for (const [name, step, expected] of [
  ['exit 0', { exit: 0 }, 'exit 0'],
  ['exit 1', { exit: 1 }, 'exit 1'],
  ['signal', { kill: 'SIGKILL' }, 'killed (SIGKILL)'],
] as const) {
  test(`${name} during a turn with an approval open: everything is settled and the reason is said`, {
    skip: !posix && name === 'signal',
  }, async () => {
    const { harness } = processHarness({
      turns: [[{ text: 'so far' }, { request: 'ApprovalRequest', payload: approval, noWait: true }, { stderr: 'out of luck' }, step]],
    });
    await harness.ready;
    harness.prompt('hi');
    await harness.until(() => harness.session.link.state === 'closed');
    await harness.adapter.ended;
    const { link } = harness.session;
    assert.ok(link.state === 'closed');
    assert.match(link.reason, / stopped unexpectedly\.$/);
    assert.equal(link.detail, `${expected}\n\nout of luck`);
    assert.deepEqual(link.next, ['restart', 'showLog', 'pickAgent']);
    assert.equal(harness.turn.status, 'failed');
    assert.equal(harness.session.asks.length, 0);
    assert.deepEqual(harness.shown, ['text: so far']);
  });
}

test('a program that is not there: the link says what was tried', async () => {
  const { harness } = processHarness({}, { command: 'no-such-agent-anywhere' });
  await harness.until(() => harness.session.link.state === 'closed');
  const { link } = harness.session;
  assert.ok(link.state === 'closed');
  assert.match(link.reason, /“no-such-agent-anywhere” was not found/);
  assert.deepEqual(link.next, ['pickAgent', 'openSettings', 'showLog']);
});

test('a program that exits at once: its exit code and the end of its stderr', async () => {
  const { harness } = processHarness({ atStart: [{ stderr: 'config broken' }, { exit: 3 }] });
  await harness.until(() => harness.session.link.state === 'closed');
  const { link } = harness.session;
  assert.match(link.state === 'closed' ? `${link.reason} ${link.detail}` : '', /exit 3.*config broken/s);
});

test('banner on stdout, half a line at the end, raw U+2028: none of it hurts', async () => {
  const { harness } = processHarness({
    atStart: [{ line: 'Welcome!' }, { line: '' }, { line: '[1,2]' }],
    turns: [[{ text: 'a\u2028b' }, { line: '{"jsonrpc":"2.0","method":"event"' }, { text: 'c' }]],
  });
  await harness.ready;
  harness.prompt('hi');
  await harness.ended();
  assert.deepEqual(harness.shown, ['text: a\u2028bc']);
});

test('100 MB line: it arrives whole', async () => {
  const { harness } = processHarness({ turns: [[{ megabytes: 100 }]] });
  await harness.ready;
  harness.prompt('hi');
  await harness.ended();
  const [part] = harness.turn.parts;
  assert.equal(part?.kind === 'text' && part.text.length, 100 * 1024 * 1024);
});

test('a flood arrives in order and whole', async () => {
  const { harness } = processHarness({ turns: [[{ flood: 20_000 }]] });
  await harness.ready;
  harness.prompt('hi');
  await harness.ended();
  const [part] = harness.turn.parts;
  assert.equal(part?.kind === 'text' && part.text.split(' ').length, 20_001);
  assert.ok(part?.kind === 'text' && part.text.endsWith('19998 19999 '));
});

test('servers before 1.12: a stop with an approval open ends the turn, because the answer goes first', async () => {
  const { harness } = processHarness({
    version: '1.1',
    habits: { cancelHangs: true, noTurnEnd: true, settles: 'never' },
    turns: [[{ request: 'ApprovalRequest', payload: approval, on: { reject: [{ hang: true }] } }]],
  });
  await harness.ready;
  harness.prompt('hi');
  await harness.asked();
  harness.send({ type: 'cancel' });
  await harness.ended();
  assert.equal(harness.turn.status, 'cancelled');
});

test('servers 1.25 to 1.31: what was open is settled after the answer to prompt', async () => {
  const { harness } = processHarness({
    habits: { settles: 'after' },
    turns: [[{ request: 'ApprovalRequest', payload: approval, noWait: true }, { end: { status: 'finished' } }]],
  });
  await harness.ready;
  harness.prompt('hi');
  await harness.ended();
  harness.prompt('more');
  await harness.ended(1);
  assert.equal(harness.session.asks.length, 0);
  assert.deepEqual(harness.shown, ['text: You said: more']);
});

test('1.0: no handshake, no TurnEnd, and still a conversation', async () => {
  const { harness } = processHarness({ handshake: 'unknownMethod', habits: { noTurnEnd: true } });
  await harness.ready;
  harness.prompt('hi');
  await harness.ended();
  assert.deepEqual(harness.shown, ['text: You said: hi']);
});

test('an agent that is deaf to cancel is restarted with the same session, and the next prompt works', async () => {
  const { harness, heard } = processHarness(
    { habits: { deaf: true }, turns: [[{ text: 'on and on' }, { hang: true }]] },
    { limits: { offerRestart: 10, restart: 50 } },
  );
  await harness.ready;
  harness.prompt('hi');
  await harness.until(() => harness.session.turns[0]?.parts.length);
  harness.send({ type: 'cancel' });
  await harness.ended();
  await harness.until(() => harness.session.link.state === 'ready');
  const starts = heard().filter((line) => line.startsWith('start'));
  assert.equal(starts.length, 2);
  assert.equal(starts[0], starts[1]);
});

test('two sessions at once do not hear each other', async () => {
  const one = processHarness({ turns: [[{ text: 'one' }]] });
  const two = processHarness({ turns: [[{ text: 'two' }]] });
  await Promise.all([one.harness.ready, two.harness.ready]);
  one.harness.prompt('hi');
  two.harness.prompt('hi');
  await Promise.all([one.harness.ended(), two.harness.ended()]);
  assert.deepEqual([one.harness.shown, two.harness.shown], [['text: one'], ['text: two']]);
});

test('ending the session ends a process that ignores the end of its input', { skip: !posix }, async () => {
  const { harness } = processHarness({ habits: { ignoresEnd: true } });
  await harness.ready;
  harness.dispose();
  await harness.adapter.ended;
});

const launch = (command: string, ...args: string[]) => ({ kind: 'process', command, args, env: {}, cwd: '/code' }) as const;

test('what is started: --wire and a session of our own, unless the arguments say so already', () => {
  const args = (command: string, ...given: string[]) => wireLaunch(launch(command, ...given), 'key').spec.args;
  assert.deepEqual(args('kimi'), ['--wire', '--session', 'key']);
  assert.deepEqual(args('/usr/bin/kimi', '--wire', '--yolo'), ['--wire', '--yolo', '--session', 'key']);
  assert.deepEqual(args('kimi', '--continue'), ['--continue', '--wire']);
  assert.deepEqual(args('C:\\bin\\kimi-agent.exe'), []);
  assert.deepEqual(wireLaunch(launch('kimi', '--session', 'mine'), 'key').key, 'mine');
  assert.deepEqual(wireLaunch(launch('kimi', '--resume=mine'), 'key').key, 'mine');
  assert.equal(wireLaunch(launch('kimi', '--continue'), 'key').key, undefined);
});

test('kimi that is Kimi Code: named as such, with the way to use it', () => {
  const closed = { reason: 'x', failure: 'ended', code: 1, stderr: "error: unknown option '--wire'\n" } as const;
  const why = whyClosed(closed, { command: 'kimi', file: '/opt/bin/kimi', version: '2.1.0' });
  assert.match(why.reason, /^\/opt\/bin\/kimi is Kimi Code 2\.1\.0,.*“kimi acp”/);
  assert.match(whyClosed(closed, { command: 'kimi' }).reason, /^kimi is Kimi Code,/);
  assert.deepEqual(why.next, ['pickAgent', 'openSettings', 'showLog']);
});

test('a server too old for the session flag is started again without it', { skip: !posix }, async () => {
  const usage = { reason: 'x', failure: 'ended', code: 2, stderr: 'Error: No such option: --session' } as const;
  assert.equal(refusedSessionFlag(usage), true);
  assert.equal(refusedSessionFlag({ ...usage, stderr: 'No such option: --yolo' }), false);
  const { harness: first, folder } = processHarness({});
  await first.ready;
  const old = join(folder, 'old');
  writeFileSync(old, `#!/bin/sh\ncase "$*" in *--session*) echo "No such option: --session" >&2; exit 2;; esac\nexec "$@"\n`);
  chmodSync(old, 0o755);
  const { harness } = processHarness({}, { command: old, args: [process.execPath, ...first.launchArgs] });
  await harness.ready;
  assert.equal(harness.session.link.state, 'ready');
});

test('probing: a Wire server, Kimi Code, something silent, nothing there', { skip: !posix }, async () => {
  const { harness, folder } = processHarness({});
  await harness.ready;
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const program = (name: string, body: string): string => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
    return join(bin, name);
  };
  const found = (command: string) => probe(command, { cwd: folder, limit: 5_000 });
  const json = '{"kimi_cli_version":"1.49.0","agent_spec_versions":["1"],"wire_protocol_version":"1.10","python_version":"3.13.1"}';
  assert.deepEqual(await found(program('new', `echo '${json}'`)), { kind: 'wire', version: { major: 1, minor: 10 }, program: '1.49.0' });
  assert.deepEqual(await found(program('old', `echo '{"wire_protocol_version":"1"}'`)), { kind: 'wire', version: { major: 1, minor: 0 } });
  assert.deepEqual(await found(program('code', `echo "error: unknown option '--json'" >&2; exit 1`)), { kind: 'kimiCode' });
  assert.deepEqual(await found(program('ancient', `echo "No such command 'info'" >&2; exit 2`)), {
    kind: 'silent',
    why: "No such command 'info'",
  });
  assert.equal((await found(program('chatty', `echo hello`))).kind, 'silent');
  assert.deepEqual(await found(join(bin, 'absent')), { kind: 'missing' });
  const hanging = await probe(program('hanging', 'sleep 30'), { cwd: folder, limit: 20 });
  assert.equal(hanging.kind, 'silent');
});

test('discovery: what is on the PATH, with the protocol each speaks', { skip: !posix }, async () => {
  const { harness, folder } = processHarness({});
  await harness.ready;
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const program = (name: string, body: string): void => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  program('kimi', `echo "error: unknown option '--json'" >&2; exit 1`);
  program('kimi-legacy', `echo '{"kimi_cli_version":"1.49.0","wire_protocol_version":"1.10"}'`);
  const own = join(folder, 'kimi');
  writeFileSync(own, `#!/bin/sh\necho "No such command 'info'" >&2; exit 2\n`);
  chmodSync(own, 0o755);
  const search = { cwd: folder, path: `${bin}:/bin:/usr/bin`, commands: [own, '/bin/sh'] };
  assert.deepEqual(await discover(search, new AbortController().signal), [
    { protocol: 'acp', command: 'kimi', args: ['acp'], name: 'Kimi Code' },
    { protocol: 'kimi-wire', command: 'kimi-legacy', args: [], name: 'Kimi CLI', version: '1.49.0' },
    { protocol: 'kimi-wire', command: own, args: [], name: own },
  ]);
});

test('a started program that is Kimi Code: its file, its version, and where to choose it again', { skip: !posix }, async () => {
  const { harness: first, folder } = processHarness({});
  await first.ready;
  const file = join(folder, 'kimi');
  writeFileSync(file, `#!/bin/sh\n[ "$1" = --version ] && { echo 2.1.0; exit; }\necho "error: unknown option '--wire'" >&2; exit 1\n`);
  chmodSync(file, 0o755);
  const { harness } = processHarness({}, { command: 'kimi', args: [], env: { PATH: `${folder}:/bin:/usr/bin` } });
  await harness.until(() => harness.session.link.state === 'closed');
  const { link } = harness.session;
  assert.ok(link.state === 'closed');
  assert.ok(link.reason.startsWith(`${file} is Kimi Code 2.1.0, which does not speak Wire.`), link.reason);
  assert.equal(link.next?.[0], 'pickAgent');
});

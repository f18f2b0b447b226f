import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { atLeast, isNewer, parseVersion } from '../../../src/protocols/kimi-wire/codec.ts';
import { pastSessions } from '../../../src/protocols/kimi-wire/pastSessions.ts';
import { processHarness } from './processHarness.ts';
import { Server, settled } from './server.ts';

const resume = { key: 'earlier', history: true };

test('a large session is replayed whole, over a real process', async () => {
  const turn = (at: number) => [
    { event: 'TurnBegin', payload: { user_input: `prompt ${at}` } },
    { text: `answer ${at}` },
    { event: 'TurnEnd' },
  ];
  const replay = Array.from({ length: 5_000 }, (_, at) => turn(at)).flat();
  const { harness, heard } = processHarness({ replay }, { resume });
  await harness.ready;
  assert.equal(harness.session.turns.length, 5_000);
  assert.deepEqual(harness.shown, ['text: answer 4999']);
  assert.match(heard()[0] ?? '', /--session earlier$/);
});

test('sessions of a folder: newest first, titled by name or first prompt, empty ones left out, broken files harmless', async () => {
  const share = mkdtempSync(join(tmpdir(), 'parley-'));
  const folder = join(share, 'sessions', createHash('md5').update('/my/project').digest('hex'));
  const session = (key: string, seconds: number, lines: readonly unknown[], state?: string): void => {
    mkdirSync(join(folder, key), { recursive: true });
    const file = join(folder, key, 'wire.jsonl');
    writeFileSync(file, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
    utimesSync(file, seconds, seconds);
    if (state !== undefined) writeFileSync(join(folder, key, 'state.json'), state);
  };
  const began = (user_input: unknown) => ({ timestamp: 1, message: { type: 'TurnBegin', payload: { user_input } } });
  const head = { type: 'metadata', protocol_version: '1.10' };
  session('plain', 100, [head, 'not json', began('fix the bug\nplease')]);
  session('named', 300, [head, began('x')], '{"custom_title":"The big one"}');
  session(
    'parts',
    200,
    [
      began([
        { type: 'image_url', image_url: { url: 'x' } },
        { type: 'text', text: 'look at this' },
      ]),
    ],
    'not json',
  );
  session('empty', 400, [head]);
  mkdirSync(join(folder, 'no recording'));
  const env = { KIMI_SHARE_DIR: share };
  assert.deepEqual(await pastSessions('/my/project', env), [
    { key: 'named', title: 'The big one', at: 300_000 },
    { key: 'parts', title: 'look at this', at: 200_000 },
    { key: 'plain', title: 'fix the bug', at: 100_000 },
  ]);
  assert.deepEqual(await pastSessions('/other', env), []);
  const server = await Server.ready({ cwd: '/my/project', env, resume: { key: 'parts', history: false } });
  assert.deepEqual(
    (await server.harness.adapter.history()).map((past) => past.key),
    ['named', 'plain'],
  );
  rmSync(share, { recursive: true });
});

test('earlier sessions of a folder are found in whatever case its path is written on Windows', async () => {
  const share = mkdtempSync(join(tmpdir(), 'parley-'));
  const keep = (name: string, key: string, seconds: number): void => {
    const folder = join(share, 'sessions', createHash('md5').update(name).digest('hex'), key);
    mkdirSync(folder, { recursive: true });
    const begun = { message: { type: 'TurnBegin', payload: { user_input: key } } };
    writeFileSync(join(folder, 'wire.jsonl'), `${JSON.stringify(begun)}\n`);
    utimesSync(join(folder, 'wire.jsonl'), seconds, seconds);
  };
  keep('z:/work/app', 'kept by key', 200);
  keep('Z:\\Work\\App', 'kept as written', 100);
  const keys = async (cwd: string) => (await pastSessions(cwd, { KIMI_SHARE_DIR: share }, '', 'win32')).map(({ key }) => key);
  assert.deepEqual(await keys('z:\\Work\\App'), ['kept by key', 'kept as written']);
  assert.deepEqual(await keys('Z:\\WORK\\app'), ['kept by key']);
  rmSync(share, { recursive: true });
});

test('versions are compared by number: 1.10 is newer than 1.9 and 1.2', () => {
  const [ten, nine, one] = ['1.10', '1.9', '1'].map((text) => parseVersion(text));
  assert.ok(ten && nine && one);
  assert.deepEqual([atLeast(ten, 9), atLeast(nine, 10), atLeast(one, 1), atLeast(one, 0)], [true, false, false, true]);
  assert.deepEqual([isNewer(ten, nine), isNewer(nine, ten), isNewer(ten, ten)], [true, false, false]);
  assert.equal(parseVersion('new'), undefined);
});

test('arguments nested 20,000 deep: the call is shown without what is too deep, and the turn goes on', async () => {
  const server = await Server.running();
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
  await server.event('ToolCall', { type: 'function', id: 'c', function: { name: 'Deep', arguments: deep } });
  const approval = { id: 'p', tool_call_id: 'c', sender: 'Shell', action: 'run command', description: 'Run `ls`' };
  await server.request('ApprovalRequest', approval, 'rpc');
  assert.match(JSON.stringify(server.harness.call('c')), /nested more than 256 deep/);
  server.harness.choose('reject');
  await settled();
  assert.ok(server.answerTo('rpc'));
});

test('a stop answers what is asked first, on the wire too', async () => {
  const server = await Server.running();
  const approval = { id: 'a', tool_call_id: 'c', sender: 'Shell', action: 'run command', description: 'Run `ls`' };
  await server.request('ApprovalRequest', approval);
  server.harness.send({ type: 'cancel' });
  await settled();
  const sent = server.channel.out.slice(-2);
  assert.deepEqual([sent[0]?.id, sent[1]?.method], ['a', 'cancel']);
});

test('a failure without an id in a running turn does not end it', async () => {
  const server = await Server.running();
  const approval = { id: 'a', tool_call_id: 'c', sender: 'Shell', action: 'run command', description: 'Run `ls`' };
  server.channel.say({ jsonrpc: '2.0', id: 'a', method: 'request', params: { type: 'ApprovalRequest', payload: approval } });
  await server.event('TurnBegin', { user_input: 'go' });
  server.channel.say({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } });
  await settled();
  assert.equal(server.harness.turn.status, 'running');
  server.harness.choose('approve');
  await server.finish();
  assert.equal(server.harness.turn.status, 'done');
});

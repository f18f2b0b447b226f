import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../../src/base/log.ts';
import { processChannel } from '../../../src/transport/process.ts';
import { Harness, type HarnessOptions } from './harness.ts';

// The adapter against the bundled agent as each version of Wire (wire.md §3, "what to do when a feature is missing").
const agent = path.resolve('dist/parley-agent.js');

interface Live {
  readonly harness: Harness;
  readonly cwd: string;
}

function placeFor(t: TestContext): string {
  const cwd = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-live-')));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  return cwd;
}

function live(t: TestContext, args: readonly string[], options: HarnessOptions = {}, cwd = placeFor(t)): Live {
  const harness = new Harness((spec) => processChannel(spec, { log: silentLog, patience: { end: 2_000, term: 500 } }), {
    command: process.execPath,
    args: [agent, ...args],
    cwd,
    env: { KIMI_SHARE_DIR: path.join(cwd, '.home'), PARLEY_MODEL_BASE_URL: '', PARLEY_MODEL_NAME: '' },
    ...options,
  });
  t.after(async () => {
    harness.dispose();
    await harness.adapter.ended;
  });
  return { harness, cwd };
}

for (const minor of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) {
  test(`a conversation with an agent of 1.${minor}: edit, rejection with words, stop, mode, history`, async (t) => {
    const { harness, cwd } = live(t, ['--wire-version', `1.${minor}`]);
    await harness.ready;
    const { link } = harness.session;
    const offers = link.state === 'ready' ? link.offers : {};
    assert.deepEqual(
      [offers.steer ?? false, offers.feedback ?? false, harness.session.mode !== undefined, harness.session.commands.length > 0],
      [minor >= 4, minor >= 6, minor >= 1, minor >= 1],
    );

    harness.prompt('create file a.txt with "x"', 'edit');
    await harness.asked();
    assert.equal(harness.ask.kind === 'approval' && harness.ask.detail.type, 'edit');
    harness.choose('approve');
    await harness.ended(0);
    assert.equal(harness.turn.status, 'done');
    assert.equal(readFileSync(path.join(cwd, 'a.txt'), 'utf8').trim(), 'x');

    harness.prompt('create file b.txt with "x"', 'refused');
    await harness.asked();
    harness.choose('reject', 'call it c');
    await harness.ended(1);
    assert.equal(/call it c/.test(harness.shown.join()), minor >= 6);

    // Stopped with an approval open: versions before 1.4 end it only because the answer goes first.
    harness.prompt('create file b.txt with "x"', 'stopped');
    await harness.asked();
    harness.send({ type: 'cancel' });
    await harness.ended(2);
    assert.deepEqual([harness.turn.status, harness.session.asks.length, existsSync(path.join(cwd, 'b.txt'))], ['cancelled', 0, false]);

    if (minor >= 1) {
      // By its command before 1.4, which is a turn.
      harness.send({ type: 'setMode', modeId: 'plan' });
      if (minor < 4) await harness.ended(3);
      else await harness.until(() => harness.session.mode?.current === 'plan');
      harness.prompt('create file b.txt with "x"', 'planned');
      await harness.until(() => harness.turn.id === 'planned' && harness.turn.status === 'done');
      assert.equal(existsSync(path.join(cwd, 'b.txt')), false, 'plan mode is on');
    }

    const key = harness.session.resumeKey ?? '';
    harness.dispose();
    await harness.adapter.ended;
    const again = live(t, ['--wire-version', `1.${minor}`], { resume: { key, history: true } }, cwd).harness;
    await again.ready;
    if (minor < 3) {
      assert.equal(again.session.turns.length, 0);
      assert.match(again.session.notices.map((notice) => notice.text).join(), /cannot show all of it/);
    } else {
      assert.deepEqual(
        again.session.turns.slice(0, 3).map((turn) => turn.prompt[0]?.type === 'text' && turn.prompt[0].text),
        ['create file a.txt with "x"', 'create file b.txt with "x"', 'create file b.txt with "x"'],
      );
      assert.ok(again.session.turns.every((turn) => turn.status !== 'running'));
      assert.equal(again.session.asks.length, 0);
    }
  });
}

test('a word into a running turn: taken up from 1.4 on, the next prompt before', async (t) => {
  for (const minor of [3, 4, 5, 10]) {
    const { harness } = live(t, ['--wire-version', `1.${minor}`]);
    await harness.ready;
    harness.prompt('create file a.txt with "x"', 'one');
    await harness.asked();
    harness.send({ type: 'steer', turnId: 'two', content: [{ type: 'text', text: 'list files' }] });
    if (minor >= 4) await harness.until(() => minor > 4 || harness.shown.includes('prompt: list files'));
    harness.choose('approve');
    await harness.until(() => harness.turn.id === (minor >= 4 ? 'one' : 'two') && harness.turn.status === 'done');
    assert.equal(harness.shown.includes('prompt: list files'), minor >= 4, `1.${minor}`);
    assert.equal(harness.session.turns.length, minor >= 4 ? 1 : 2);
  }
});

test('a silent agent whose info says it is from before the handshake is not waited for long', {
  skip: process.platform === 'win32',
}, async (t) => {
  const cwd = placeFor(t);
  const kimi = path.join(cwd, 'kimi');
  writeFileSync(kimi, `#!/bin/sh\nexec '${process.execPath}' '${agent}' "$@" --wire-version 1.0 --wire-silent\n`);
  chmodSync(kimi, 0o755);
  const { harness } = live(t, [], { command: kimi, args: [], limits: { notes: [200] } }, cwd);
  await harness.ready;
  assert.equal(harness.session.commands.length, 0);
  harness.prompt('hello');
  await harness.ended();
  assert.equal(harness.turn.status, 'done');
});

test('a silent agent that says nothing of itself: the user decides, and the conversation goes on', async (t) => {
  const { harness } = live(t, ['--wire-version', '1.0', '--wire-silent'], { limits: { notes: [], silence: 100 } });
  await harness.asked();
  harness.send({
    type: 'answer',
    askId: harness.ask.id,
    answer: { kind: 'fields', values: { what: ['Continue without the handshake (old versions)'] } },
  });
  await harness.ready;
  harness.prompt('hello');
  await harness.ended();
  assert.match(harness.shown.join(), /not a language model/);
});

test('a command in the background: shown while it runs, its end told in the next turn, ended with the agent', {
  skip: process.platform === 'win32',
}, async (t) => {
  const { harness, cwd } = live(t, []);
  await harness.ready;
  const pidFile = path.join(cwd, 'pid');
  harness.prompt('run `echo $$ > pid; exec sleep 600` in the background', 'long');
  await harness.asked();
  assert.match(harness.ask.title, /^Run in the background/);
  harness.choose('approve');
  await harness.ended(0);
  assert.deepEqual(
    harness.session.background?.map((task) => task.text),
    ['echo $$ > pid; exec sleep 600'],
  );

  harness.prompt('run `true` in the background', 'short');
  await harness.asked();
  harness.choose('approve');
  await harness.ended(1);
  // News waits for a turn, and the end of a process is known a moment after it.
  for (let turn = 2; harness.session.background?.length !== 1; turn += 1) {
    assert.ok(turn < 100, 'the end was never told');
    harness.prompt('hello', `turn ${turn}`);
    await harness.ended(turn);
  }
  assert.ok(harness.shown.includes('notice: In the background: true\nExit code 0.'), harness.shown.join());
  const pid = Number(readFileSync(pidFile, 'utf8'));
  harness.dispose();
  await harness.adapter.ended;
  assert.throws(() => process.kill(pid, 0), 'it ended with the agent');
});

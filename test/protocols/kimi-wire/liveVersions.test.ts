import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../../src/base/log.ts';
import { processChannel } from '../../../src/transport/process.ts';
import { Desk, type DeskOptions } from './desk.ts';

// The adapter against the bundled agent as each version of Wire (wire.md §3, "what to do when a feature is missing").
const agent = path.resolve('dist/parley-agent.js');

interface Live {
  readonly desk: Desk;
  readonly cwd: string;
}

function placeFor(t: TestContext): string {
  const cwd = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-live-')));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  return cwd;
}

function live(t: TestContext, args: readonly string[], options: DeskOptions = {}, cwd = placeFor(t)): Live {
  const desk = new Desk((spec) => processChannel(spec, { log: silentLog, patience: { end: 2_000, term: 500 } }), {
    command: process.execPath,
    args: [agent, ...args],
    cwd,
    env: { KIMI_SHARE_DIR: path.join(cwd, '.home'), PARLEY_MODEL_BASE_URL: '', PARLEY_MODEL_NAME: '' },
    ...options,
  });
  t.after(async () => {
    desk.dispose();
    await desk.adapter.ended;
  });
  return { desk, cwd };
}

for (const minor of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) {
  test(`a conversation with an agent of 1.${minor}: edit, rejection with words, stop, mode, history`, async (t) => {
    const { desk, cwd } = live(t, ['--wire-version', `1.${minor}`]);
    await desk.ready;
    const { link } = desk.session;
    const offers = link.state === 'ready' ? link.offers : {};
    assert.deepEqual(
      [offers.steer ?? false, offers.feedback ?? false, desk.session.mode !== undefined, desk.session.commands.length > 0],
      [minor >= 4, minor >= 6, minor >= 1, minor >= 1],
    );

    desk.prompt('create file a.txt with "x"', 'edit');
    await desk.asked();
    assert.equal(desk.ask.kind === 'approval' && desk.ask.detail.type, 'edit');
    desk.choose('approve');
    await desk.ended(0);
    assert.equal(desk.turn.status, 'done');
    assert.equal(readFileSync(path.join(cwd, 'a.txt'), 'utf8').trim(), 'x');

    desk.prompt('create file b.txt with "x"', 'refused');
    await desk.asked();
    desk.choose('reject', 'call it c');
    await desk.ended(1);
    assert.equal(/call it c/.test(desk.shown.join()), minor >= 6);

    // Stopped with an approval open: versions before 1.4 end it only because the answer goes first.
    desk.prompt('create file b.txt with "x"', 'stopped');
    await desk.asked();
    desk.send({ type: 'cancel' });
    await desk.ended(2);
    assert.deepEqual([desk.turn.status, desk.session.asks.length, existsSync(path.join(cwd, 'b.txt'))], ['cancelled', 0, false]);

    if (minor >= 1) {
      // By its command before 1.4, which is a turn.
      desk.send({ type: 'setMode', modeId: 'plan' });
      if (minor < 4) await desk.ended(3);
      else await desk.until(() => desk.session.mode?.current === 'plan');
      desk.prompt('create file b.txt with "x"', 'planned');
      await desk.until(() => desk.turn.id === 'planned' && desk.turn.status === 'done');
      assert.equal(existsSync(path.join(cwd, 'b.txt')), false, 'plan mode is on');
    }

    const key = desk.session.resumeKey ?? '';
    desk.dispose();
    await desk.adapter.ended;
    const again = live(t, ['--wire-version', `1.${minor}`], { resume: { key, history: true } }, cwd).desk;
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
    const { desk } = live(t, ['--wire-version', `1.${minor}`]);
    await desk.ready;
    desk.prompt('create file a.txt with "x"', 'one');
    await desk.asked();
    desk.send({ type: 'steer', turnId: 'two', content: [{ type: 'text', text: 'list files' }] });
    if (minor >= 4) await desk.until(() => minor > 4 || desk.shown.includes('prompt: list files'));
    desk.choose('approve');
    await desk.until(() => desk.turn.id === (minor >= 4 ? 'one' : 'two') && desk.turn.status === 'done');
    assert.equal(desk.shown.includes('prompt: list files'), minor >= 4, `1.${minor}`);
    assert.equal(desk.session.turns.length, minor >= 4 ? 1 : 2);
  }
});

test('a silent agent whose info says it is from before the handshake is not waited for long', {
  skip: process.platform === 'win32',
}, async (t) => {
  const cwd = placeFor(t);
  const kimi = path.join(cwd, 'kimi');
  writeFileSync(kimi, `#!/bin/sh\nexec '${process.execPath}' '${agent}' "$@" --wire-version 1.0 --wire-silent\n`);
  chmodSync(kimi, 0o755);
  const { desk } = live(t, [], { command: kimi, args: [], limits: { notes: [200] } }, cwd);
  await desk.ready;
  assert.equal(desk.session.commands.length, 0);
  desk.prompt('hello');
  await desk.ended();
  assert.equal(desk.turn.status, 'done');
});

test('a silent agent that says nothing of itself: the user decides, and the conversation goes on', async (t) => {
  const { desk } = live(t, ['--wire-version', '1.0', '--wire-silent'], { limits: { notes: [], silence: 100 } });
  await desk.asked();
  desk.send({
    type: 'answer',
    askId: desk.ask.id,
    answer: { kind: 'fields', values: { what: ['Go on without the handshake (old versions)'] } },
  });
  await desk.ready;
  desk.prompt('hello');
  await desk.ended();
  assert.match(desk.shown.join(), /not a language model/);
});

test('a command in the background: shown while it runs, its end told in the next turn, ended with the agent', {
  skip: process.platform === 'win32',
}, async (t) => {
  const { desk, cwd } = live(t, []);
  await desk.ready;
  const pidFile = path.join(cwd, 'pid');
  desk.prompt('run `echo $$ > pid; exec sleep 600` in the background', 'long');
  await desk.asked();
  assert.match(desk.ask.title, /^Run in the background/);
  desk.choose('approve');
  await desk.ended(0);
  assert.deepEqual(
    desk.session.background?.map((task) => task.text),
    ['echo $$ > pid; exec sleep 600'],
  );

  desk.prompt('run `true` in the background', 'short');
  await desk.asked();
  desk.choose('approve');
  await desk.ended(1);
  // News waits for a turn, and the end of a process is known a moment after it.
  for (let turn = 2; desk.session.background?.length !== 1; turn += 1) {
    assert.ok(turn < 100, 'the end was never told');
    desk.prompt('hello', `turn ${turn}`);
    await desk.ended(turn);
  }
  assert.ok(desk.shown.includes('notice: In the background: true\nExit code 0.'), desk.shown.join());
  const pid = Number(readFileSync(pidFile, 'utf8'));
  desk.dispose();
  await desk.adapter.ended;
  assert.throws(() => process.kill(pid, 0), 'it ended with the agent');
});

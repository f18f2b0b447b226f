import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { qwen } from '../../../src/protocols/qwen/index.ts';
import { callsOf, changedFiles } from '../../../src/session/select.ts';
import { callLines, choose, type Drive, drive, textOf } from '../../agents/drive.ts';

/** The bundled agent through the adapter, in each dialect: the same story with the same end. */
const dialects = {
  'message dialect': {},
  'envelope dialect, messages': { dialect: 'envelope' },
  'envelope dialect, chunks': { format: 'stream-chunk-json' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

for (const [name, options] of Object.entries(dialects)) describe(name, () => story(name, options));

function story(name: string, options: Readonly<Record<string, string>>): void {
  let base: string;
  let agent: Drive;
  const file = (...parts: string[]) => path.join(base, 'work', ...parts);
  const start = (key?: string) =>
    drive({
      protocol: qwen,
      launch: {
        kind: 'process',
        command: process.execPath,
        args: [path.resolve('dist/parley-agent.js')],
        env: { KIMI_SHARE_DIR: path.join(base, 'share'), PARLEY_MODEL_BASE_URL: undefined },
        cwd: path.join(base, 'work'),
        options: { ...options },
      },
      ...(key === undefined ? {} : { resume: { key, history: true } }),
    });
  before(async () => {
    base = mkdtempSync(path.join(tmpdir(), 'parley-qwen-'));
    mkdirSync(file('src'), { recursive: true });
    writeFileSync(file('src', 'config.json'), '{\n  "debug": false\n}\n');
    agent = start();
    await agent.ready();
  });
  after(async () => {
    await agent.stop();
    rmSync(base, { recursive: true, force: true });
  });

  test('an edit is shown as a diff, approved, and made', async () => {
    agent.onAsk(choose('allow_once'));
    const turn = await agent.prompt('replace "false" with "true" in src/config.json');
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    const ask = agent.events.find((event) => event.type === 'ask.opened');
    assert.equal(ask?.type === 'ask.opened' && ask.ask.kind === 'approval' && ask.ask.detail.type, 'edit');
    const [changed] = changedFiles(turn);
    assert.equal(changed?.path, file('src', 'config.json'), callLines(turn).join('\n'));
    assert.deepEqual(
      changed?.diffs.map((diff) => [diff.before, diff.after]),
      [['{\n  "debug": false\n}\n', '{\n  "debug": true\n}\n']],
    );
    assert.match(readFileSync(file('src', 'config.json'), 'utf8'), /true/);
    assert.notEqual(textOf(turn), '');
  });

  test('a rejection changes nothing and its words reach the agent', async () => {
    agent.onAsk((ask) => {
      const answer = choose('reject_once')(ask);
      return answer?.kind === 'option' ? { ...answer, feedback: 'Leave it, please.' } : answer;
    });
    const turn = await agent.prompt('create file notes.md with "Hello"');
    assert.equal(turn.status, 'done');
    assert.equal(existsSync(file('notes.md')), false);
    assert.match(JSON.stringify(callsOf(turn)), /Leave it, please\./);
  });

  test('a changed proposal is what is written', async () => {
    agent.onAsk(() => ({ kind: 'option', optionId: 'allow', edited: 'Mine\n' }));
    const turn = await agent.prompt('create file notes.md with "Hello"');
    assert.equal(turn.status, 'done');
    assert.equal(readFileSync(file('notes.md'), 'utf8'), 'Mine\n');
  });

  test('a command asks first; stopping ends it', async () => {
    agent.onAsk((ask) => {
      assert.deepEqual(ask.kind === 'approval' && ask.detail, { type: 'command', command: 'sleep 60' });
      return choose('allow_once')(ask);
    });
    const turnId = agent.begin('run sleep 60');
    await agent.until('a running command', (session) =>
      session.turns.some((turn) => turn.id === turnId && callsOf(turn).some((call) => call.status === 'running')),
    );
    agent.live.send({ type: 'cancel' });
    const turn = await agent.ended(turnId);
    assert.equal(turn.status, 'cancelled');
    assert.deepEqual(agent.now().asks, []);
  });

  test('stopping while an approval is open settles it', async () => {
    agent.onAsk(() => undefined);
    const turnId = agent.begin('run echo never');
    await agent.until('an approval', (session) => session.asks.length > 0);
    agent.live.send({ type: 'cancel' });
    const turn = await agent.ended(turnId);
    assert.equal(turn.status, 'cancelled');
    assert.deepEqual(agent.now().asks, []);
    assert.ok(callsOf(turn).every((call) => call.status === 'cancelled'));
  });

  test('an editor tool runs through the control channel', async () => {
    agent.onAsk(choose('allow_once'));
    const turn = await agent.prompt('open src/config.json at line 2');
    assert.equal(turn.status, 'done');
    const opened = callsOf(turn).find((call) => call.name === 'open_in_ide');
    assert.equal(
      opened?.status,
      'done',
      agent.frames
        .slice(-16)
        .map((f) => JSON.stringify(f).slice(0, 420))
        .join('\n'),
    );
    assert.match(JSON.stringify(opened?.output), /Opened .*config\.json:2/);
  });

  test('a slash command gives its answer', async () => {
    await agent.until('the commands', (session) => session.commands.some((command) => command.name === 'status'));
    const turn = await agent.prompt('/status');
    assert.equal(turn.status, 'done');
    assert.match(JSON.stringify(turn.parts), /Folder: /);
  });

  if (name !== 'message dialect') {
    test('suggestions come while a command or a reference is typed', async () => {
      const commands = await agent.live.hints('/st', 3);
      assert.deepEqual(
        commands.map((hint) => hint.value),
        ['/status '],
      );
      const files = await agent.live.hints('look at @src/c', 14);
      assert.deepEqual(
        files.map((hint) => hint.value),
        ['look at @src/config.json '],
      );
    });
    return;
  }
  test('the conversation goes on in a new process', async () => {
    const key = agent.now().resumeKey;
    assert.ok(key);
    await agent.stop();
    agent = start(key);
    await agent.ready();
    const turn = await agent.prompt('/status');
    assert.equal(turn.status, 'done');
    assert.doesNotMatch(JSON.stringify(turn.parts), /about 0 of/);
  });
}

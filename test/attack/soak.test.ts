import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { silentLog } from '../../src/base/log.ts';
import * as redaction from '../../src/editor/redact.ts';
import { Traffic } from '../../src/editor/traffic.ts';
import { childTerminals } from '../../src/live/childTerminals.ts';
import { processChannel } from '../../src/transport/process.ts';
import { windowOn } from '../live/scriptedWindow.ts';
import { longestStop } from './stops.ts';

/** Turns; eight hours of a busy user are about five hundred. `npm run attack -- --soak` takes many more. */
const TURNS = Number(process.env.PARLEY_ATTACK_SOAK ?? 150);
const TURNS_EACH = 25;
const DELTAS = 40;
const profile = { id: 'p', name: 'P', protocol: 'scripted', command: 'x', args: [], env: {}, headers: {} };

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

interface Usage {
  /** Bytes. */
  readonly heap: number;
  readonly descriptors: number;
  readonly children: number;
  readonly resources: number;
}

/** Undefined numbers of other systems than Linux count as 0. */
async function usage(): Promise<Usage> {
  for (let time = 0; time < 3; time += 1) {
    await new Promise(setImmediate);
    collect();
  }
  const children = `/proc/self/task/${process.pid}/children`;
  return {
    heap: process.memoryUsage().heapUsed,
    descriptors: existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0,
    children: existsSync(children) ? readFileSync(children, 'utf8').split(' ').filter(Boolean).length : 0,
    resources: process.getActiveResourcesInfo().length,
  };
}

/** One conversation as a user has it: turns with text, a command and an agent's process, then it is closed. */
async function converse(folder: string, turns: number, window: ReturnType<typeof windowOn>): Promise<void> {
  const { script, sessions } = window;
  const id = sessions.open(profile, folder);
  const session = sessions.get(id);
  assert.ok(session);
  while (script.conversations.length === 0) await new Promise(setImmediate);
  const agent = processChannel({ command: process.execPath, args: ['-e', ''], env: {}, cwd: folder }, { log: silentLog });
  const ended = new Promise((resolve) => agent.onClosed(resolve));
  const conversation = script.last();
  conversation.ready();
  for (let turn = 0; turn < turns; turn += 1) {
    const turnId = `t${turn}`;
    session.send({ type: 'prompt', turnId, content: [{ type: 'text', text: `question ${turn}` }] });
    for (let at = 0; at < DELTAS; at += 1) {
      conversation.say({ type: 'text.delta', turnId, kind: 'text', partId: 'a', text: `word ${at} of the answer, ` });
    }
    const ask = {
      kind: 'approval',
      id: `a${turn}`,
      turnId,
      title: 'Run',
      detail: { type: 'command', command: 'true' },
      options: [],
    } as const;
    conversation.say({ type: 'ask.opened', ask });
    if (turn % 5 === 0) {
      const terminal = await childTerminals({ cwd: folder }).create({ command: 'true', args: [] });
      await terminal.exited();
      terminal.release();
    }
    conversation.endTurn();
    await new Promise(setImmediate);
  }
  agent.dispose();
  await ended;
  assert.equal(session.store.now.turns.length, turns);
  await sessions.forget(id);
  script.conversations.length = 0;
}

test(`memory, descriptors and processes stay as they are over ${TURNS} turns`, { timeout: 1_200_000 }, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-soak-'));
  const window = windowOn(folder, () => profile);
  try {
    for (let warm = 0; warm < 2; warm += 1) await converse(folder, TURNS_EACH, window);
    const before = await usage();
    const stop = await longestStop('soak', async () => {
      for (let turns = 0; turns < TURNS; turns += TURNS_EACH) await converse(folder, TURNS_EACH, window);
    });
    const after = await usage();
    console.log(
      `        ${TURNS} turns: heap ${(before.heap / 1e6).toFixed(1)} to ${(after.heap / 1e6).toFixed(1)} MB, descriptors ${before.descriptors} to ${after.descriptors}, processes ${before.children} to ${after.children}, longest stop ${stop.toFixed(0)} ms`,
    );
    assert.ok(after.heap <= 1.15 * before.heap + 1e6, `the heap grew from ${before.heap} to ${after.heap} bytes`);
    assert.ok(after.descriptors <= before.descriptors, `descriptors ${before.descriptors} to ${after.descriptors}`);
    assert.ok(after.children <= before.children, `processes ${before.children} to ${after.children}`);
    assert.ok(after.resources <= before.resources + 1, `timers and handles ${before.resources} to ${after.resources}`);
    assert.deepEqual(
      readdirSync(folder).filter((name) => !name.endsWith('.open.json')),
      [],
      'files of closed conversations',
    );
  } finally {
    window.sessions.dispose();
    await window.sessions.agentsEnded();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('the messages of an agent that are kept for the inspector do not fill the memory', async () => {
  const traffic = new Traffic(() => 0);
  const before = (await usage()).heap;
  const kinds: readonly ((at: number) => unknown)[] = [
    (at) => ({ method: 'x', params: { text: `${at}`.padEnd(500_000, 'word ') } }),
    (at) => Array.from({ length: 50_000 }, (_, one) => `${at} ${one}`),
    (at) => Object.fromEntries(Array.from({ length: 10_000 }, (_, one) => [`name ${at} ${one}`, one])),
  ];
  for (const [number, kind] of kinds.entries())
    for (let at = 0; at < 200; at += 1) traffic.message(`s${number}`, 'in', JSON.parse(JSON.stringify(kind(at))));
  const after = (await usage()).heap;
  assert.ok(after - before <= 60e6, `${((after - before) / 1e6).toFixed(0)} MB are kept`);
  traffic.watch('s0', redaction, () => {});
  const [row] = traffic.rows('s0');
  assert.ok(row && row.kind === 'x' && row.json.includes('word word'), row?.json.slice(0, 80));
});

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { utimesSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { LOCK_HOST } from '../../src/live/journal/lock.ts';
import { inFolder, wholeTurns } from '../live/journalTurns.ts';

/** Processes that are killed; `npm run attack -- --kills N` sets how many. */
const KILLS = Number(process.env.PARLEY_ATTACK_KILLS ?? 15);
/** Sessions that one process writes at once, and that each of its kills cuts off. */
const SESSIONS = ['s0', 's1', 's2', 's3'];
/** So many processes that write the same sessions are killed before new sessions begin. */
const KILLS_EACH = 30;
/** Processes that write, and are killed, side by side. */
const LANES = 2 * availableParallelism();
const program = fileURLToPath(new URL('../fakes/journalWriter.mjs', import.meta.url));

const start = (...args: readonly string[]): ChildProcess =>
  spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });

/** The lines of a writer that was killed `ms` after its first one. */
async function killed(child: ChildProcess, ms: number): Promise<readonly string[]> {
  let out = '';
  const closed = once(child, 'close');
  child.stdout?.on('data', (chunk: Buffer) => {
    if (out === '') setTimeout(() => child.kill('SIGKILL'), ms);
    out += chunk.toString('utf8');
  });
  await closed;
  return out.split('\n').slice(0, -1);
}

/** Kills processes until `kills` gives out; resolves with the number of turns that were settled. */
async function lane(kills: { left: number; done: number }): Promise<number> {
  let settledTurns = 0;
  while (kills.left > 0) {
    await inFolder(async (folder, journal) => {
      const settled: string[] = [];
      for (let time = 0; time < KILLS_EACH && kills.left > 0; time += 1) {
        kills.left -= 1;
        kills.done += 1;
        settled.push(...(await killed(start(folder, String(1000 * time), ...SESSIONS), Math.random() * 15 * SESSIONS.length)));
        for (const id of SESSIONS) {
          const read = await journal.read(id);
          const found = new Set(wholeTurns(read?.session).map((turn) => `${id} ${turn}`));
          const lost = settled.filter((turn) => turn.startsWith(`${id} `) && !found.has(turn));
          assert.deepEqual(lost, [], `kill ${time} of a session`);
          // A process may be killed before it creates its last session.
          assert.equal(read?.lost ?? 0, 0, `kill ${time} of a session`);
        }
      }
      settledTurns += settled.length;
    })();
  }
  return settledTurns;
}

test(`nothing that was settled is lost by ${KILLS} kills at random moments`, async () => {
  const kills = { left: KILLS, done: 0 };
  const settled = await Promise.all(Array.from({ length: LANES }, () => lane(kills)));
  assert.equal(kills.done, KILLS);
  console.log(
    `        ${kills.done} kills, ${SESSIONS.length} sessions cut off by each; ${settled.reduce((sum, turns) => sum + turns, 0)} settled turns, 0 lost`,
  );
});

test(
  'of several processes that find the lock of a dead one, exactly one takes it over',
  inFolder(async (folder) => {
    await killed(start(folder, '0', 's'), 5);
    const dead = start('/', 'once');
    dead.kill('SIGKILL');
    await once(dead, 'close');
    const lock = path.join(folder, 's.journal.lock');
    writeFileSync(lock, JSON.stringify({ pid: dead.pid, host: LOCK_HOST, token: 'dead' }));
    utimesSync(lock, new Date(), new Date());
    const children = Array.from({ length: 6 }, () => start(folder, 'once', 's'));
    const said = await Promise.all(children.map(async (child) => String((await once(child.stdout ?? child, 'data'))[0]).trim()));
    for (const child of children) child.stdin?.end();
    await Promise.all(children.map((child) => once(child, 'close')));
    assert.deepEqual(said.toSorted(), ['elsewhere', 'elsewhere', 'elsewhere', 'elsewhere', 'elsewhere', 'opened']);
  }),
);

test(
  'a process that is killed while it takes a lock does not keep the next one out',
  inFolder(async (folder) => {
    await killed(start(folder, '0', 's'), 5);
    const [, signal] = await once(start(folder, 'dies', 's'), 'close');
    assert.equal(signal, 'SIGKILL');
    const next = start(folder, 'once', 's');
    const [said] = await once(next.stdout ?? next, 'data');
    next.stdin?.end();
    await once(next, 'close');
    assert.equal(String(said).trim(), 'opened');
  }),
);

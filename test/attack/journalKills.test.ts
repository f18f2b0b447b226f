import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { utimesSync, writeFileSync } from 'node:fs';
import { availableParallelism, hostname } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inFolder, wholeTurns } from '../live/journalTurns.ts';

/** Random kills; `npm run attack -- --kills N` sets how many. */
const KILLS = Number(process.env.PARLEY_ATTACK_KILLS ?? 60);
/** A conversation is killed so often before the next begins. */
const KILLS_EACH = 30;
/** Conversations that are written, and killed, side by side. */
const LANES = 2 * availableParallelism();
const program = fileURLToPath(new URL('../fakes/journalWriter.mjs', import.meta.url));

const start = (...args: readonly string[]): ChildProcess =>
  spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });

/** The turns a writer said were over before it was killed after `ms` from its first one. */
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

/** One conversation after the other is killed until `kills` gives out; resolves with the number of turns that were settled. */
async function lane(kills: { left: number }): Promise<number> {
  let settledTurns = 0;
  while (kills.left > 0) {
    await inFolder(async (folder, journal) => {
      const settled: string[] = [];
      for (let time = 0; time < KILLS_EACH && kills.left > 0; time += 1) {
        kills.left -= 1;
        const turns = await killed(start(folder, 's', String(1000 * time)), Math.random() * 30);
        settled.push(...turns);
        const read = await journal.read('s');
        const found = new Set(wholeTurns(read?.session));
        assert.deepEqual(
          settled.filter((turn) => !found.has(turn)),
          [],
          `kill ${time} of a conversation`,
        );
        assert.equal(read?.lost, 0, `kill ${time} of a conversation`);
      }
      settledTurns += settled.length;
    })();
  }
  return settledTurns;
}

test(`nothing that was settled is lost by ${KILLS} kills at random moments`, async () => {
  const kills = { left: KILLS };
  const settled = await Promise.all(Array.from({ length: LANES }, () => lane(kills)));
  console.log(`        ${KILLS} kills, ${settled.reduce((sum, turns) => sum + turns, 0)} settled turns, 0 lost`);
});

test(
  'of several processes that find the lock of a dead one, exactly one takes it over',
  inFolder(async (folder) => {
    await killed(start(folder, 's', '0'), 5);
    const dead = start('/', '', 'once');
    dead.kill('SIGKILL');
    await once(dead, 'close');
    const lock = path.join(folder, 's.journal.lock');
    writeFileSync(lock, JSON.stringify({ pid: dead.pid, host: hostname(), token: 'dead' }));
    utimesSync(lock, new Date(), new Date());
    const children = Array.from({ length: 6 }, () => start(folder, 's', 'once'));
    const said = await Promise.all(children.map(async (child) => String((await once(child.stdout ?? child, 'data'))[0]).trim()));
    for (const child of children) child.stdin?.end();
    await Promise.all(children.map((child) => once(child, 'close')));
    assert.deepEqual(said.toSorted(), ['elsewhere', 'elsewhere', 'elsewhere', 'elsewhere', 'elsewhere', 'opened']);
  }),
);

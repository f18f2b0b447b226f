import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { filesUnder } from '../stages/files.ts';
import { runNodeTests } from '../stages/nodeTests.ts';
import { Tally } from '../stages/tally.ts';
import { LONGEST_STOPS, type Stop } from './stops.ts';

/** Tests of each room besides test/attack/<room>*.test.ts: paths begin so. */
const rooms: Readonly<Record<string, readonly string[]>> = {
  rules: ['test/base/glob', 'test/base/guardedFiles', 'test/base/fileName', 'test/session/policy'],
  session: ['test/editor/approvals/', 'test/headless/'],
  files: ['test/protocols/textFile'],
  agent: ['test/agent/tools/'],
  processes: ['test/transport/process', 'test/live/childTerminals'],
  http: [
    'test/protocols/mcpServer',
    'test/protocols/a2a/hostile',
    'test/protocols/a2a/badInput',
    'test/protocols/ai-sdk/limits',
    'test/transport/http',
  ],
  hosts: ['test/serve/serve'],
  texts: ['test/webview/hints', 'test/webview/markdownView', 'test/editor/redact'],
  journal: [],
  stops: [],
  soak: [],
};
const LIMIT_MS = 600_000;
/** More than eight hours of a busy user. */
const SOAK_TURNS = 5000;

/** Runs the rooms named, or all. The exit code is 0 when every attack was held off. */
export async function runAttacks(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { kills: { type: 'string' }, soak: { type: 'boolean' } },
  });
  const unknown = positionals.filter((room) => !Object.hasOwn(rooms, room));
  if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(', ')}; there are ${Object.keys(rooms).join(', ')}`);
  if (values.kills !== undefined && !/^\d{1,7}$/.test(values.kills)) throw new Error('--kills needs a whole number');
  if (values.kills !== undefined) process.env.PARLEY_ATTACK_KILLS = values.kills;
  if (values.soak) process.env.PARLEY_ATTACK_SOAK = String(SOAK_TURNS);
  const files = filesUnder('test', '.test.ts');
  const homeless = files.filter((file) => file.startsWith('test/attack/') && roomOf(file) === undefined);
  if (homeless.length > 0) throw new Error(`in no room: ${homeless.join(', ')}`);
  const chosen = positionals.length > 0 ? positionals : Object.keys(rooms);
  const lines: string[] = [];
  let [held, tried] = [0, 0];
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-attack-'));
  const stops: Stop[] = [];
  for (const room of chosen) {
    const tally = new Tally();
    process.env.PARLEY_ATTACK_STOPS = path.join(folder, room);
    const hours = Math.max(values.soak ? 2 * LIMIT_MS : LIMIT_MS, Number(values.kills ?? 0) * 1000);
    await runNodeTests(tally, {
      stage: 'attack',
      files: files.filter((file) => roomOf(file) === room),
      programs: filesUnder('test/fakes', '.ts'),
      name: undefined,
      concurrency: 2,
      limitMs: hours,
      totalMs: 2 * hours,
    });
    // The first step bundles the tests.
    const passed = Math.max(0, tally.passed - 1);
    const inRoom = stopsIn(path.join(folder, room));
    const [stop] = inRoom;
    stops.push(...inRoom);
    lines.push(
      `${room.padEnd(12)}${passed} of ${passed + tally.failed.length} held${stop ? `, longest stop ${stopText(stop)}` : ''}${tally.failed.map((name) => `\n  not held: ${name}`).join('')}`,
    );
    held += passed;
    tried += passed + tally.failed.length;
  }
  rmSync(folder, { recursive: true });
  const longest = stops.toSorted((a, b) => b.ms - a.ms).slice(0, LONGEST_STOPS);
  console.log(`\n${lines.join('\n')}\n${held} of ${tried} held`);
  if (longest.length > 0) console.log(`longest stops:\n  ${longest.map(stopText).join('\n  ')}`);
  return held === tried && tried > 0 ? 0 : 1;
}

function roomOf(file: string): string | undefined {
  return Object.entries(rooms).find(
    ([room, others]) => file.startsWith(`test/attack/${room}`) || others.some((begin) => file.startsWith(begin)),
  )?.[0];
}

/** The longest stops of the event loop in the processes of a room, longest first; none when none measured. */
function stopsIn(file: string): readonly Stop[] {
  try {
    const stops = readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Stop);
    return stops.toSorted((a, b) => b.ms - a.ms);
  } catch {
    return [];
  }
}

function stopText({ ms, what }: Stop): string {
  return `${ms.toFixed(0)} ms (${what})`;
}

import fs, { writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { silentLog } from '../../src/base/log.ts';
import { Journal } from '../../src/live/journal/journal.ts';
import type { JournalWriter } from '../../src/live/journal/writer.ts';
import { newSession } from '../../src/session/reduce.ts';
import { Store } from '../../src/session/store.ts';
import { head, turnEvents } from '../live/journalTurns.ts';

// A process that writes turns into journals until it is killed, and names each on a line of its output once it is over: its session and itself.
// Arguments: the folder, the number of the first turn, and the ids of the sessions, written side by side. With `once` in place of a number it only
// tries to open one, and prints what came of it; with `dies` it is killed as it writes the first byte.

const [folder = '', first = '', ...ids] = process.argv.slice(2);
const journal = new Journal(folder, silentLog);

if (first === 'once') {
  writeSync(1, `${(await journal.open(ids[0] ?? '')).kind}\n`);
  // Holds it until its input ends.
  process.stdin.resume().once('end', () => process.exit());
} else if (first === 'dies') {
  fs.writeFileSync = () => process.kill(process.pid, 'SIGKILL');
  syncBuiltinESMExports();
  await journal.open(ids[0] ?? '');
} else {
  await Promise.all(ids.map((id, at) => write(id, Number(first) + 7 * at)));
}

async function write(id: string, from: number): Promise<void> {
  const opened = await journal.open(id);
  if (opened.kind === 'elsewhere') {
    writeSync(1, `${id} elsewhere\n`);
    return;
  }
  const writer = opened.kind === 'opened' ? opened.writer : journal.create(head(id));
  const store = new Store(opened.kind === 'opened' ? opened.session : newSession(id, head(id).agent, head(id).cwd));
  store.onChange(({ event, now }) => writer.record(event, now));
  await writeTurns(id, from, store, writer);
}

async function writeTurns(id: string, from: number, store: Store, writer: JournalWriter): Promise<void> {
  for (let turn = from; ; turn += 1) {
    for (const event of turnEvents(turn)) {
      store.apply(event);
      // The writer's own pace is too slow for what is attacked here.
      if (event.type === 'text.delta' && turn % 3 === 0) await writer.settled();
    }
    writeSync(1, `${id} t${turn}\n`);
    if (turn % 25 === 24) await writer.compact(true);
    // One session does not hold up the others.
    await nextTurn();
  }
}

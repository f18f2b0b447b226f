import { writeSync } from 'node:fs';
import { silentLog } from '../../src/base/log.ts';
import { Journal } from '../../src/live/journal/journal.ts';
import type { JournalWriter } from '../../src/live/journal/writer.ts';
import { newSession } from '../../src/session/reduce.ts';
import { Store } from '../../src/session/store.ts';
import { head, turnEvents } from '../live/journalTurns.ts';

// A process that writes turns into a journal until it is killed, and names each on a line of its output once it is over.
// Arguments: the folder, the id of the session, and the number of its first turn. With `once` in place of a number it only tries to open it.

const [folder = '', id = '', first = ''] = process.argv.slice(2);
const journal = new Journal(folder, silentLog);
const opened = await journal.open(id);

if (first === 'once') {
  writeSync(1, `${opened.kind}\n`);
  // Holds it until its input ends.
  process.stdin.resume().once('end', () => process.exit());
} else if (opened.kind === 'elsewhere') {
  writeSync(1, 'elsewhere\n');
} else {
  const writer = opened.kind === 'opened' ? opened.writer : journal.create(head(id));
  const store = new Store(opened.kind === 'opened' ? opened.session : newSession(id, head(id).agent, head(id).cwd));
  store.onChange(({ event, now }) => writer.record(event, now));
  await writeTurns(store, writer);
}

async function writeTurns(store: Store, writer: JournalWriter): Promise<void> {
  for (let turn = Number(first); ; turn += 1) {
    for (const event of turnEvents(turn)) {
      store.apply(event);
      // The writer's own pace is too slow for what is attacked here.
      if (event.type === 'text.delta' && turn % 3 === 0) await writer.settled();
    }
    writeSync(1, `t${turn}\n`);
    if (turn % 25 === 24) await writer.compact(true);
  }
}

import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { Journal } from '../../src/live/journal.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import { randomEvents } from '../session/randomEvents.ts';

const head = (id: string, cwd = '/w') => ({ id, profile: 'p', agent: { protocol: 'x', name: 'A' }, cwd, at: 1 });

function inFolder(run: (folder: string, journal: Journal) => Promise<void>): () => Promise<void> {
  return async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'journal-'));
    try {
      await run(folder, new Journal(folder, silentLog));
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
}

test(
  'an event that cannot be written costs only itself',
  inFolder(async (_folder, journal) => {
    const writer = journal.write(head('s'));
    writer.record({ type: 'title.set', title: 'Before' });
    writer.record({ type: 'turn.adapterState', turnId: 't', value: JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`) });
    writer.record({ type: 'title.set', title: 'After' });
    await writer.settled();
    assert.equal((await journal.read('s'))?.session.title, 'After');
  }),
);

test(
  'a session comes back as it was written, by either way of writing',
  inFolder(async (_folder, journal) => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const writer = journal.write(head(`s${seed}`));
      const events = randomEvents(seed, 200);
      for (const [at, event] of events.entries()) {
        writer.record(event);
        if (at === 100) await writer.settled();
      }
      if (seed % 2) writer.flush();
      else await writer.settled();
      const read = await journal.read(`s${seed}`);
      assert.deepEqual(read?.session, events.reduce(reduce, newSession(`s${seed}`, { protocol: 'x', name: 'A' }, '/w')));
    }
  }),
);

test(
  'a file cut off in the middle of a line, or with junk in it, loses that line only',
  inFolder(async (folder, journal) => {
    const writer = journal.write(head('s'));
    writer.record({ type: 'turn.started', turnId: 't', at: 1, prompt: [{ type: 'text', text: 'hi' }] });
    writer.flush();
    const file = path.join(folder, readdirSync(folder)[0] ?? '');
    appendFileSync(
      file,
      'junk\n{"type":"turn.started"}\n{"type":"part.added","turnId":"t"}\n[1]\n{"type":"title.set","title":"T"}\n{"type":"text.gre',
    );
    const read = await journal.read('s');
    assert.deepEqual([read?.session.turns[0]?.status, read?.session.title], ['running', 'T']);
  }),
);

test(
  'sessions are listed with their first prompt, newest first; empty and foreign files are not',
  inFolder(async (folder, journal) => {
    for (const [id, words] of [
      ['a', 'first one\nmore'],
      ['b', 'second'],
    ] as const) {
      const writer = journal.write(head(id));
      writer.record({ type: 'turn.started', turnId: 't', at: 1, prompt: [{ type: 'text', text: words }] });
      await writer.settled();
    }
    journal.write(head('empty'));
    writeFileSync(path.join(folder, 'foreign.jsonl'), 'hello\n');
    assert.deepEqual((await journal.list()).map((entry) => entry.title).sort(), ['first one', 'second']);
  }),
);

test(
  'an id cannot name a file elsewhere',
  inFolder(async (folder, journal) => {
    journal.write(head('../../evil'));
    assert.deepEqual(readdirSync(folder), ['______evil.jsonl']);
    assert.equal((await journal.read('../../evil'))?.head.id, '../../evil');
  }),
);

test(
  'what a window had open is read back; a damaged record is no record',
  inFolder(async (folder, journal) => {
    assert.deepEqual(journal.readOpen('w'), { ids: [] });
    journal.writeOpen('w', { ids: ['a', 'b'], active: 'b' });
    assert.deepEqual(journal.readOpen('w'), { ids: ['a', 'b'], active: 'b' });
    writeFileSync(path.join(folder, 'w.open.json'), '{"ids":');
    assert.deepEqual(journal.readOpen('w'), { ids: [] });
  }),
);

test(
  'old files beyond the number kept go, and old ones in which nothing was said; what is open or young stays',
  inFolder(async (folder, journal) => {
    const now = 10 * 24 * 3600 * 1000;
    const write = async (id: string, spoken: boolean, daysAgo: number) => {
      const writer = journal.write(head(id));
      if (spoken) writer.record({ type: 'turn.started', turnId: 't', at: 1, prompt: [{ type: 'text', text: id }] });
      await writer.settled();
      const at = new Date(now - daysAgo * 24 * 3600 * 1000);
      utimesSync(path.join(folder, `${id}.jsonl`), at, at);
    };
    await write('newest', true, 2);
    await write('second', true, 3);
    await write('oldest', true, 4);
    await write('openOne', true, 5);
    await write('silent', false, 6);
    await write('silentYoung', false, 0.5);
    await journal.prune(2, new Set(['openOne']), now);
    assert.deepEqual(readdirSync(folder).sort(), ['newest.jsonl', 'openOne.jsonl', 'second.jsonl', 'silentYoung.jsonl']);
  }),
);

test(
  'a file of 0.1.0 is read under the new names of its events',
  inFolder(async (folder, journal) => {
    const events = [
      { type: 'turn.began', turnId: 't', at: 1, prompt: [{ type: 'text', text: 'hi' }] },
      { type: 'text.grew', turnId: 't', kind: 'text', partId: 'p', text: 'Hello' },
      { type: 'terminal.changed', terminal: { id: 'x', command: 'ls' }, grew: 'a.txt' },
      { type: 'turn.kept', turnId: 't', value: { a: 1 } },
    ];
    writeFileSync(path.join(folder, 's.jsonl'), [head('s'), ...events].map((line) => `${JSON.stringify(line)}\n`).join(''));
    const session = (await journal.read('s'))?.session;
    assert.deepEqual(session?.turns[0]?.parts, [{ kind: 'text', id: 'p', text: 'Hello' }]);
    assert.deepEqual(session?.turns[0]?.adapterState, { a: 1 });
    assert.equal(session?.terminals[0]?.tail, 'a.txt');
  }),
);

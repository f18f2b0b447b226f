import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Journal } from '../../src/live/journal/journal.ts';
import { frameOf } from '../../src/live/journal/records.ts';
import type { QueuedPrompt } from '../../src/session/model.ts';
import { reduce } from '../../src/session/reduce.ts';
import { randomEvents } from '../session/randomEvents.ts';
import { fresh, head, inFolder, record, turnEvents, wholeTurns } from './journalTurns.ts';

const DAY = 24 * 3600 * 1000;
const ALL = { sessions: 1000, bytes: Number.POSITIVE_INFINITY };

function written(journal: Journal, id: string, turns: readonly number[], cwd?: string): void {
  const writer = journal.create(head(id, cwd));
  record(writer, fresh(id), [{ type: 'link.opening' }, ...turns.flatMap(turnEvents)]);
  writer.dispose();
}

test(
  'an event that cannot be written costs only itself',
  inFolder(async (_folder, journal) => {
    const writer = journal.create(head('s'));
    record(writer, fresh('s'), [
      { type: 'title.set', title: 'Before' },
      { type: 'turn.started', turnId: 't', at: 1, prompt: [] },
      { type: 'turn.adapterState', turnId: 't', value: JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`) },
      { type: 'title.set', title: 'After' },
    ]);
    writer.dispose();
    const read = await journal.read('s');
    assert.deepEqual([read?.session.title, read?.lost], ['After', 0]);
  }),
);

test(
  'a session comes back as it was written, whichever way it was written, compacted or not',
  inFolder(async (_folder, journal) => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const id = `s${seed}`;
      const writer = journal.create(head(id));
      let session = fresh(id);
      for (const [at, event] of randomEvents(seed, 200).entries()) {
        const next = reduce(session, event);
        if (next === session) continue;
        session = next;
        writer.record(event, session);
        if (at % 40 === seed % 40) await writer.settled();
        if (at === 100 && seed % 3 === 0) await writer.compact(true);
      }
      if (seed % 3 === 1) await writer.compact(true);
      writer.dispose();
      const opened = await journal.open(id);
      assert.ok(opened.kind === 'opened');
      opened.writer.dispose();
      assert.deepEqual([opened.session, opened.lost], [session, 0]);
    }
  }),
);

test(
  'a prompt that waits is written once, however often the queue changes, and comes back whatever was compacted meanwhile',
  inFolder(async (folder, journal) => {
    const long = { type: 'text', text: 'x'.repeat(200_000) } as const;
    const queue: QueuedPrompt[] = [{ turnId: 'long', content: [long] }];
    const writer = journal.create(head('s'));
    let session = record(writer, fresh('s'), [
      { type: 'turn.started', turnId: 't', at: 1, prompt: [] },
      { type: 'queue.set', queue },
    ]);
    const size = () => statSync(path.join(folder, 's.journal')).size;
    const add = (turnId: string) => {
      queue.push({ turnId, content: [{ type: 'text', text: turnId }] });
      session = record(writer, session, [{ type: 'queue.set', queue: [...queue] }]);
    };
    for (let at = 0; at < 50; at += 1) add(`q${at}`);
    assert.ok(size() < 800_000, `${size()} bytes`);
    assert.deepEqual((await journal.read('s'))?.session.queue, session.queue);
    const compacted = writer.compact(true);
    add('meanwhile');
    await compacted;
    assert.deepEqual((await journal.read('s'))?.session.queue, session.queue);
    const [first, ...others] = queue;
    assert.ok(first);
    session = record(writer, session, [{ type: 'queue.set', queue: [...others, { ...first, held: true }] }]);
    writer.dispose();
    const opened = await journal.open('s');
    assert.ok(opened.kind === 'opened');
    assert.deepEqual([opened.session.queue, opened.lost], [session.queue, 0]);
    // Its begun turn has taken it out of the queue; when it is back, nobody is left without its words.
    const again = record(opened.writer, opened.session, [
      { type: 'queue.set', queue: [first] },
      { type: 'turn.started', turnId: 'long', at: 2, prompt: [long] },
    ]);
    await opened.writer.compact(true);
    record(opened.writer, again, [{ type: 'queue.set', queue: [first] }]);
    opened.writer.dispose();
    assert.deepEqual((await journal.read('s'))?.session.queue, [first]);
  }),
);

test(
  'a long conversation is replayed to the state it had, whatever events look back at',
  inFolder(async (_folder, journal) => {
    const writer = journal.create(head('s'));
    const turns = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => turnEvents(from + at)).flat();
    const session = record(writer, fresh('s'), [
      { type: 'turn.started', turnId: 'sub', at: 1, prompt: [] },
      {
        type: 'part.added',
        turnId: 'sub',
        part: {
          kind: 'call',
          id: 'c',
          call: {
            id: 'c',
            name: 'x',
            title: 'x',
            kind: 'other',
            status: 'running',
            inputText: '',
            output: [],
            locations: [],
            goesOn: true,
          },
        },
      },
      { type: 'turn.ended', turnId: 'sub', at: 2, status: 'done' },
      ...turns(0, 300),
      { type: 'text.delta', turnId: 'sub', kind: 'text', partId: 'below', parent: 'c', text: 'still at work' },
      { type: 'turn.started', turnId: 't3', at: 1, prompt: [{ type: 'text', text: 'a second time' }] },
      ...turns(300, 600),
      { type: 'turn.started', turnId: 'last', at: 1, prompt: [] },
      { type: 'part.added', turnId: 'last', part: { kind: 'prompt', id: 't5', content: [], pending: true } },
      { type: 'part.added', turnId: 'last', part: { kind: 'prompt', id: 'new', content: [], pending: true } },
      { type: 'turn.ended', turnId: 'last', at: 2, status: 'cancelled' },
      { type: 'turns.removed', from: 't590' },
      { type: 'link.closed', reason: 'x', at: 3 },
      ...turns(700, 702),
    ]);
    writer.dispose();
    const read = await journal.read('s');
    assert.deepEqual(read?.session, session);
    assert.equal(session.queue.length, 1);
  }),
);

/** As version 0.1.0 wrote it. */
const oldLines = [
  { id: 'old', profile: 'p', agent: { protocol: 'x', name: 'A' }, cwd: '/w', at: 1 },
  { type: 'history.began' },
  { type: 'link.ready', agent: { protocol: 'x', name: 'A' }, offers: {} },
  { type: 'resume.set', key: 'k' },
  { type: 'turn.began', turnId: 't', at: 1, prompt: [{ type: 'text', text: 'hello' }] },
  { type: 'text.grew', turnId: 't', kind: 'text', partId: 'p', text: 'answ' },
  { type: 'text.grew', turnId: 't', kind: 'text', partId: 'p', text: 'er' },
  { type: 'turn.kept', turnId: 't', value: { a: 1 } },
  { type: 'terminal.changed', terminal: { id: 'x', command: 'ls' }, grew: 'out' },
  { type: 'turn.ended', turnId: 't', at: 2, status: 'done' },
].map((line) => JSON.stringify(line));

test(
  'a file of the first version is listed, read and rewritten with all that is in it',
  inFolder(async (folder, journal) => {
    const old = path.join(folder, 'old.jsonl');
    writeFileSync(old, `${oldLines.join('\n')}\n`);
    utimesSync(old, 1000, 1000);
    const [listed] = await journal.list();
    assert.deepEqual([listed?.title, listed?.resumeKey, listed?.at], ['hello', 'k', 1_000_000]);
    const before = await journal.read('old');
    assert.ok(existsSync(old), 'reading changes nothing');
    const opened = await journal.open('old');
    assert.ok(opened.kind === 'opened');
    opened.writer.dispose();
    assert.deepEqual(readdirSync(folder), ['old.journal']);
    const after = await journal.read('old');
    assert.deepEqual(after?.session, before?.session);
    const [turn] = after?.session.turns ?? [];
    assert.deepEqual([turn?.parts, turn?.adapterState], [[{ kind: 'text', id: 'p', text: 'answer' }], { a: 1 }]);
    assert.equal(after?.session.terminals[0]?.tail, 'out');
    assert.equal((await journal.list())[0]?.at, 1_000_000, 'it stays as old as it is');
  }),
);

test(
  'a file of the first version whose line was torn by a closing window keeps what the next window wrote behind it',
  inFolder(async (folder, journal) => {
    const torn = `${oldLines.join('\n')}\n{"type":"text.grew","turnId":"t","text":"a \\"quoted{${oldLines[4]?.replaceAll('"t"', '"t2"')}\n{"type":"title.set","title":"T"}\n{"type":"tit`;
    writeFileSync(path.join(folder, 'old.jsonl'), torn);
    const read = await journal.read('old');
    assert.deepEqual([read?.session.turns.map((turn) => turn.id), read?.session.title, read?.lost], [['t', 't2'], 'T', 0]);
  }),
);

test(
  'a file of a later version is left alone',
  inFolder(async (folder, journal) => {
    const file = path.join(folder, 's.journal');
    const later = { type: 'journal.head', version: 3, ...head('s'), turns: 1 };
    writeFileSync(file, Buffer.concat([frameOf(1, later), ...turnEvents(0).map((event, at) => frameOf(at + 2, event))]));
    const { size } = statSync(file);
    assert.equal((await journal.open('s')).kind, 'gone');
    assert.deepEqual(await journal.list(), []);
    await journal.prune(ALL, new Set(), Date.now() + 10 * DAY);
    assert.equal(statSync(file).size, size);
  }),
);

test(
  'sessions are listed with their first prompt, newest first; empty and foreign files are not',
  inFolder(async (folder, journal) => {
    written(journal, 'a', [1]);
    written(journal, 'b', [2]);
    written(journal, 'long', [3, ...Array.from({ length: 300 }, (_, at) => at + 10)]);
    written(journal, 'empty', []);
    const told = journal.create(head('told'));
    record(told, fresh('told'), [
      { type: 'history.started' },
      ...turnEvents(4),
      { type: 'link.ready', agent: head('told').agent, offers: {} },
    ]);
    told.dispose();
    utimesSync(path.join(folder, 'told.journal'), 700, 700);
    utimesSync(path.join(folder, 'a.journal'), 1000, 1000);
    utimesSync(path.join(folder, 'long.journal'), 500, 500);
    writeFileSync(path.join(folder, 'foreign.jsonl'), 'hello\n');
    writeFileSync(path.join(folder, 'foreign.journal'), 'hello\n');
    assert.deepEqual(
      (await journal.list()).map((entry) => entry.title),
      ['question 2', 'question 1', 'question 4', 'question 3'],
    );
  }),
);

test(
  'a session whose only turn was killed is listed and kept, however much came before that turn and in it',
  inFolder(async (folder, journal) => {
    const long = 'x'.repeat(80 * 1024);
    const file = path.join(folder, 's.journal');
    const commands = [{ name: 'help', description: long, aliases: [] }];
    const told = [{ type: 'commands.set', commands }, ...turnEvents(1).filter(({ type }) => type !== 'turn.ended')];
    const grown = { type: 'text.delta', turnId: 't1', partId: 'late', kind: 'text', text: long };
    const records = [{ type: 'journal.head', version: 2, ...head('s'), turns: 0 }, ...told, grown];
    writeFileSync(file, Buffer.concat(records.map((one, at) => frameOf(at + 1, one))));
    const listed = (await journal.list()).map((entry) => [entry.title, entry.runs]);
    assert.deepEqual(listed, [['question 1', true]]);
    await journal.prune(ALL, new Set(), Date.now() + 10 * DAY);
    assert.ok(existsSync(file));
  }),
);

test(
  'a session is as old as its last turn, whenever its file is written',
  inFolder(async (_folder, journal) => {
    const at = Date.UTC(2026, 0);
    const writer = journal.create(head('a'));
    const prompt = [{ type: 'text', text: 'hello' }] as const;
    record(writer, fresh('a'), [
      { type: 'turn.started', turnId: 't', at, prompt },
      { type: 'turn.ended', turnId: 't', at: at + 5, status: 'done' },
      { type: 'link.closed', reason: 'The window closes.', at: at + 99 },
    ]);
    writer.dispose();
    assert.deepEqual(
      (await journal.list()).map((entry) => entry.at),
      [at + 5],
    );
  }),
);

test(
  'an id cannot name a file elsewhere',
  inFolder(async (folder, journal) => {
    written(journal, '../../evil', [0]);
    assert.deepEqual(readdirSync(folder), ['______evil.journal']);
    assert.equal((await journal.read('../../evil'))?.head.id, '../../evil');
  }),
);

test(
  'what a window had open is read back; a damaged list is no list; what another window has open stays in it',
  inFolder(async (folder, journal) => {
    assert.deepEqual(journal.readOpen('w'), { ids: [] });
    journal.writeOpen('w', { ids: ['a', 'b'], active: 'b' });
    assert.deepEqual(journal.readOpen('w'), { ids: ['a', 'b'], active: 'b' });
    const writer = journal.create(head('a'));
    record(writer, fresh('a'), turnEvents(0));
    journal.writeOpen('w', { ids: ['c'], active: 'c' });
    assert.deepEqual(journal.readOpen('w'), { ids: ['c', 'a'], active: 'c' });
    writer.dispose();
    writeFileSync(path.join(folder, 'w.open.json'), '{"ids":');
    assert.deepEqual(journal.readOpen('w'), { ids: [] });
  }),
);

test(
  'old files beyond either bound go, and old ones in which nothing was said; what is open or young stays',
  inFolder(async (folder, journal) => {
    const now = 10 * DAY;
    const write = (id: string, turns: readonly number[], daysAgo: number) => {
      written(journal, id, turns);
      const at = new Date(now - daysAgo * DAY);
      utimesSync(path.join(folder, `${id}.journal`), at, at);
    };
    const left = () => readdirSync(folder).map((name) => path.parse(name).name);
    write('newest', [0], 2);
    write('second', [0], 3);
    write('oldest', [0], 4);
    write('openOne', [0], 5);
    write('silent', [], 6);
    write('silentYoung', [], 0.5);
    await journal.prune({ ...ALL, sessions: 2 }, new Set(['openOne']), now);
    assert.deepEqual(left(), ['newest', 'openOne', 'second', 'silentYoung']);
    const bytes = statSync(path.join(folder, 'newest.journal')).size + 1;
    await journal.prune({ ...ALL, bytes }, new Set(['openOne']), now);
    assert.deepEqual(left(), ['newest', 'openOne', 'silentYoung']);
  }),
);

test(
  'large conversations that rest are compacted, say the same, and stay as old as they are',
  inFolder(async (folder, journal) => {
    const turns = Array.from({ length: 800 }, (_, at) => at);
    written(journal, 'large', turns);
    const file = path.join(folder, 'large.journal');
    const [before, session] = [statSync(file).size, (await journal.read('large'))?.session];
    utimesSync(file, 1000, 1000);
    await journal.prune(ALL, new Set(), Date.now());
    const after = statSync(file);
    assert.ok(after.size < before, `${after.size} of ${before}`);
    assert.equal(after.mtimeMs, 1_000_000);
    const read = await journal.read('large');
    assert.deepEqual([read?.session, wholeTurns(read?.session).length], [session, turns.length]);
    assert.deepEqual(readdirSync(folder), ['large.journal']);
  }),
);

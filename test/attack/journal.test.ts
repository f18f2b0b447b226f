import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { Journal } from '../../src/live/journal/journal.ts';
import { FileLock, LOCK_HOST } from '../../src/live/journal/lock.ts';
import { type Disk, RecordFile, realDisk } from '../../src/live/journal/recordFile.ts';
import { frameOf, RecordReader } from '../../src/live/journal/records.ts';
import type { JournalTrouble } from '../../src/live/journal/writer.ts';
import type { SessionEvent } from '../../src/session/events.ts';
import type { Session } from '../../src/session/model.ts';
import { reduce } from '../../src/session/reduce.ts';
import { answerOf, bytesOf, fresh, head, inFolder, record, turnEvents, wholeTurns } from '../live/journalTurns.ts';
import { longestStop } from './stops.ts';

/** The room of the journal: files are torn, disks are full, writers race, and nothing that was settled may be lost. */

const TURNS = 3;
/** Every byte is a place to cut; files of Windows under Wine are too slow for that. */
const STEP = process.platform === 'win32' ? 16 : 1;
const whole = bytesOf('s', TURNS);

/** Where each turn's records lie in the file: from the RS of its first to the LF of its last. */
function spanOf(turn: number): readonly [number, number] {
  const text = whole.toString('latin1');
  const from = text.lastIndexOf('\x1e', text.indexOf(`"type":"turn.started","turnId":"t${turn}"`));
  return [from, text.indexOf('\n', text.indexOf(`"type":"turn.ended","turnId":"t${turn}"`)) + 1];
}

/** A window finds that file, goes on with one more turn and is closed; what the next one reads. */
async function goOn(folder: string, bytes: Buffer): Promise<Session | undefined> {
  writeFileSync(path.join(folder, 's.journal'), bytes);
  const journal = new Journal(folder, silentLog);
  const opened = await journal.open('s');
  if (opened.kind !== 'opened') return undefined;
  record(opened.writer, opened.session, turnEvents(9));
  opened.writer.dispose();
  return (await journal.read('s'))?.session;
}

test(
  'a file cut off at any byte keeps every turn before the cut and takes the next one whole',
  inFolder(async (folder) => {
    const firstHead = whole.indexOf('\n') + 1;
    for (let cut = firstHead; cut <= whole.length; cut += STEP) {
      const expected = [0, 1, 2].filter((turn) => spanOf(turn)[1] - 1 <= cut).map((turn) => `t${turn}`);
      const session = await goOn(folder, whole.subarray(0, cut));
      assert.deepEqual(wholeTurns(session), [...expected, 't9'], `cut at ${cut}`);
    }
  }),
);

test(
  'a file whose beginning is destroyed up to any byte keeps every turn behind it',
  inFolder(async (folder) => {
    const lastHead = whole.lastIndexOf(0x1e);
    for (let cut = 1; cut <= lastHead; cut += STEP) {
      const expected = [0, 1, 2].filter((turn) => spanOf(turn)[0] >= cut).map((turn) => `t${turn}`);
      const zeroed = Buffer.from(whole).fill(0, 0, cut);
      for (const bytes of [zeroed, whole.subarray(cut)]) {
        assert.deepEqual(wholeTurns(await goOn(folder, bytes)), [...expected, 't9'], `destroyed up to ${cut}`);
      }
    }
  }),
);

test(
  'damage anywhere costs the records it touches, whatever the bytes are',
  inFolder(async (folder) => {
    const noise = [0x00, 0x0a, 0x1e, 0x7b, 0xff];
    for (let at = 0; at < whole.length; at += STEP) {
      const long = Math.min(1 + (at % 24), whole.length - at);
      const expected = [0, 1, 2].filter((turn) => spanOf(turn)[1] <= at || spanOf(turn)[0] >= at + long).map((turn) => `t${turn}`);
      const bytes = Buffer.from(whole).fill(noise[at % noise.length] ?? 0, at, at + long);
      const found = wholeTurns(await goOn(folder, bytes));
      for (const turn of [...expected, 't9']) assert.ok(found.includes(turn), `${turn} is lost by ${long} bytes at ${at}`);
    }
  }),
);

test(
  'a letter that changed on the disk is never shown as what was said',
  inFolder(async (folder, journal) => {
    const [from, to] = spanOf(1);
    for (let at = whole.indexOf('answer to 1', from); at < to; at += 1) {
      const bytes = Buffer.from(whole);
      bytes[at] = bytes[at] === 0x61 ? 0x62 : 0x61;
      writeFileSync(path.join(folder, 's.journal'), bytes);
      const read = await journal.read('s');
      assert.deepEqual(wholeTurns(read?.session).slice(0, 1), ['t0']);
      for (const turn of read?.session.turns ?? []) {
        const [said] = turn.parts;
        if (said?.kind === 'text') assert.ok(answerOf(Number(turn.id.slice(1))).startsWith(said.text), `${said.text} by a byte at ${at}`);
      }
    }
  }),
);

test(
  'a user is told of damage in the middle, not of an end that was cut off',
  inFolder(async (folder, journal) => {
    const lostIn = async (bytes: Buffer) => {
      writeFileSync(path.join(folder, 's.journal'), bytes);
      return (await journal.read('s'))?.lost;
    };
    const [from] = spanOf(1);
    assert.equal(await lostIn(whole), 0);
    assert.equal(await lostIn(whole.subarray(0, -20)), 0);
    assert.equal(await lostIn(Buffer.from(whole).fill(0, from, from + 20)), 1);
  }),
);

test(
  'records of a wrong shape are not replayed and cost nothing else',
  inFolder(async (folder, journal) => {
    const wrong: readonly unknown[] = [
      null,
      [],
      'text',
      { type: 'turn.started' },
      { type: 'turn.started', turnId: 7, at: 1, prompt: [] },
      { type: 'turn.started', turnId: 'x', at: 1, prompt: [{ type: 'text' }] },
      { type: 'part.added', turnId: 't0', part: { kind: 'call', id: 'c', call: {} } },
      { type: 'ask.opened', ask: { kind: 'approval', id: 'a', title: 'x', detail: { type: 'edit', diffs: 3 }, options: [] } },
      { type: 'queue.set', queue: [{}] },
      { type: '__proto__' },
      { type: 'constructor' },
      { type: 'of.tomorrow' },
      { type: 'journal.turn', turn: {} },
      { type: 'journal.state', session: { turns: 'x' } },
    ];
    const from = 1000;
    const frames = wrong.map((value, at) => frameOf(from + at, value));
    const more = turnEvents(5).map((event, at) => frameOf(from + wrong.length + at, event));
    writeFileSync(path.join(folder, 's.journal'), Buffer.concat([whole, ...frames, ...more]));
    const read = await journal.read('s');
    assert.deepEqual(wholeTurns(read?.session), ['t0', 't1', 't2', 't5']);
    assert.ok((read?.lost ?? 0) >= wrong.length);
  }),
);

test(
  'text that an agent wrote cannot pass for a record when the file is damaged around it',
  inFolder(async (folder, journal) => {
    const forged = frameOf(50, { type: 'title.set', title: 'forged' }).toString('utf8');
    const writer = journal.create(head('s'));
    record(writer, fresh('s'), [
      ...turnEvents(0),
      { type: 'turn.started', turnId: 'f', at: 1, prompt: [] },
      { type: 'text.delta', turnId: 'f', kind: 'text', partId: 'p', text: `${forged}${forged}` },
      { type: 'turn.ended', turnId: 'f', at: 1, status: 'done' },
    ]);
    writer.dispose();
    const file = path.join(folder, 's.journal');
    const bytes = readFileSync(file);
    for (let at = bytes.indexOf('"turnId":"f"'); at < bytes.length; at += STEP) {
      writeFileSync(file, Buffer.from(bytes).fill(0x20, at, at + 1));
      assert.notEqual((await journal.read('s'))?.session.title, 'forged');
    }
  }),
);

/** A disk that holds asynchronous writes back until it is told when they land. */
function slowDisk() {
  const late: (() => void)[] = [];
  const disk: Disk = {
    writeSync: realDisk.writeSync,
    write: (fd, bytes, position) =>
      new Promise((resolve) => {
        const copy = Buffer.from(bytes);
        late.push(() => resolve(realDisk.writeSync(fd, copy, position)));
      }),
  };
  return { disk, land: () => late.splice(0).forEach((write) => write()) };
}

for (const lands of ['before the flush', 'after the flush', 'after more was written', 'never'] as const) {
  for (const more of ['nothing', 'text', 'a turn'] as const) {
    test(
      `an append under way that lands ${lands} does not disturb a flush with ${more} behind it`,
      inFolder(async (folder) => {
        const { disk, land } = slowDisk();
        const journal = new Journal(folder, silentLog, disk);
        const writer = journal.create(head('s'));
        let session = record(writer, fresh('s'), [
          { type: 'turn.started', turnId: 'a', at: 1, prompt: [] },
          { type: 'text.delta', turnId: 'a', kind: 'text', partId: 'p', text: 'one ' },
        ]);
        void writer.settled();
        await Promise.resolve();
        if (lands === 'before the flush') land();
        const text: SessionEvent = { type: 'text.delta', turnId: 'a', kind: 'text', partId: 'p', text: 'two ' };
        const end: SessionEvent = { type: 'turn.ended', turnId: 'a', at: 2, status: 'done' };
        session = record(writer, session, more === 'nothing' ? [] : more === 'text' ? [text] : [text, end]);
        writer.flush();
        if (lands === 'after the flush') land();
        session = record(writer, session, [{ type: 'title.set', title: 'Later' }]);
        writer.flush();
        if (lands === 'after more was written') land();
        writer.dispose();
        const read = await journal.read('s');
        assert.deepEqual(read?.session, session);
        assert.equal(read?.lost, 0);
        land();
        assert.deepEqual((await journal.read('s'))?.session, session);
      }),
    );
  }
}

/** A disk that is full after so many bytes, writing what fits. */
function fullDisk() {
  let room = Number.POSITIVE_INFINITY;
  const writeSync = (fd: number, bytes: Buffer, position: number): number => {
    if (room === 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    const fits = bytes.subarray(0, Math.min(bytes.length, room));
    room -= fits.length;
    return realDisk.writeSync(fd, fits, position);
  };
  return {
    disk: { writeSync, write: async (fd: number, bytes: Buffer, position: number) => writeSync(fd, bytes, position) } satisfies Disk,
    setRoom: (bytes: number) => {
      room = bytes;
    },
  };
}

test(
  'a full disk is told once, holds up nothing, and loses nothing once there is room',
  inFolder(async (folder) => {
    for (const room of [0, 1, 10, 100]) {
      const { disk, setRoom } = fullDisk();
      const journal = new Journal(folder, silentLog, disk);
      const writer = journal.create(head(`s${room}`));
      const told: JournalTrouble['kind'][] = [];
      writer.onTrouble(({ kind }) => void told.push(kind));
      let session = record(writer, fresh(`s${room}`), turnEvents(0));
      setRoom(room);
      for (let turn = 1; turn < 5; turn += 1) {
        session = record(writer, session, turnEvents(turn));
        await writer.settled();
      }
      assert.deepEqual(told, ['failing']);
      setRoom(Number.POSITIVE_INFINITY);
      await writer.settled();
      assert.deepEqual(told, ['failing', 'recovered']);
      session = record(writer, session, turnEvents(5));
      writer.dispose();
      const read = await journal.read(`s${room}`);
      assert.deepEqual([read?.session, read?.lost], [session, 0]);
    }
  }),
);

test(
  'more than is kept while the disk is full is written as a snapshot once there is room',
  inFolder(async (folder) => {
    const { disk, setRoom } = fullDisk();
    const journal = new Journal(folder, silentLog, disk);
    const writer = journal.create(head('s'));
    let session = record(writer, fresh('s'), turnEvents(0));
    setRoom(100);
    const long = 'x'.repeat(4 * 1024 * 1024);
    session = record(writer, session, [{ type: 'turn.started', turnId: 'b', at: 1, prompt: [] }]);
    for (let part = 0; part < 10; part += 1) {
      session = record(writer, session, [{ type: 'text.delta', turnId: 'b', kind: 'text', partId: `p${part}`, text: long }]);
      await writer.settled();
    }
    setRoom(Number.POSITIVE_INFINITY);
    await writer.settled();
    session = record(writer, session, [{ type: 'turn.ended', turnId: 'b', at: 2, status: 'done' }]);
    writer.dispose();
    assert.ok(readFileSync(path.join(folder, 's.journal')).includes('"journal.state"'), 'all of it was kept');
    const read = await journal.read('s');
    assert.deepEqual([read?.session, read?.lost], [session, 0]);
  }),
);

test(
  'a damaged byte in the first records of a file that was rewritten costs no turn',
  inFolder(async (folder, journal) => {
    const file = path.join(folder, 's.journal');
    writeFileSync(path.join(folder, 's.jsonl'), oldFile('s', 20));
    const opened = await journal.open('s');
    assert.ok(opened.kind === 'opened');
    opened.writer.dispose();
    const written = readFileSync(file);
    const state = written.indexOf('"journal.state"');
    const second = written.indexOf(0x1e, state);
    for (const [at, lost] of [
      [20, 0],
      [state + 4, 1],
      [second - 3, 1],
    ] as const) {
      const bytes = Buffer.from(written);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      writeFileSync(file, bytes);
      const read = await journal.read('s');
      assert.deepEqual([wholeTurns(read?.session).length, read?.lost], [20, lost], `byte ${at}`);
      assert.equal((await journal.list()).length, 1, `listed, byte ${at}`);
    }
  }),
);

test('a window that had no room for a lock writes nothing over what another window wrote meanwhile', async (t) => {
  for (const isClosedAtOnce of [true, false])
    await inFolder(async (folder) => {
      writeFileSync(path.join(folder, 's.journal'), whole);
      const openWithoutLock = lockless(t);
      const first = await openWithoutLock(() => new Journal(folder, silentLog).open('s'));
      assert.ok(first.kind === 'opened');
      const told: JournalTrouble['kind'][] = [];
      first.writer.onTrouble(({ kind }) => void told.push(kind));
      const other = await new Journal(folder, silentLog).open('s');
      assert.ok(other.kind === 'opened');
      record(other.writer, other.session, turnEvents(50));
      other.writer.dispose();
      record(first.writer, first.session, turnEvents(60).slice(0, -1));
      if (!isClosedAtOnce) {
        await first.writer.settled();
        await first.writer.compact(true);
      }
      assert.ok(told.includes('moved'));
      first.writer.dispose();
      const journal = new Journal(folder, silentLog);
      assert.deepEqual(wholeTurns((await journal.read('s'))?.session), ['t0', 't1', 't2', 't50']);
      const moved = (await journal.list()).find((entry) => entry.head.id !== 's');
      assert.ok(moved);
      assert.deepEqual(
        (await journal.read(moved.head.id))?.session.turns.map((turn) => turn.id),
        ['t0', 't1', 't2', 't60'],
      );
    })();
});

test('a window that had no room for a lock goes on in the file when nobody else wrote it', async (t) => {
  await inFolder(async (folder) => {
    writeFileSync(path.join(folder, 's.journal'), whole);
    const openWithoutLock = lockless(t);
    const opened = await openWithoutLock(() => new Journal(folder, silentLog).open('s'));
    assert.ok(opened.kind === 'opened');
    record(opened.writer, opened.session, turnEvents(60));
    opened.writer.dispose();
    assert.deepEqual(wholeTurns((await new Journal(folder, silentLog).read('s'))?.session), ['t0', 't1', 't2', 't60']);
    assert.deepEqual(readdirSync(folder), ['s.journal']);
  })();
});

/** Makes no lock while the work is under way, as on a full disk. */
function lockless(t: TestContext) {
  return async <R>(work: () => Promise<R>): Promise<R> => {
    const mock = t.mock.method(FileLock, 'take', (): never => {
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    });
    try {
      return await work();
    } finally {
      mock.mock.restore();
    }
  };
}

/** A conversation as version 0.1.0 stored it. */
function oldFile(id: string, turns: number): string {
  const events = Array.from({ length: turns }, (_, turn) => turnEvents(turn)).flat();
  return `${[head(id), ...events].map((line) => JSON.stringify(line)).join('\n')}\n`;
}

test(
  'a file of the first version counts until the new one beside it is whole, wherever that one was cut off',
  inFolder(async (folder, journal) => {
    const old = path.join(folder, 's.jsonl');
    const file = path.join(folder, 's.journal');
    const all = Array.from({ length: 40 }, (_, turn) => `t${turn}`);
    writeFileSync(old, oldFile('s', 40));
    const first = await journal.open('s');
    assert.ok(first.kind === 'opened');
    first.writer.dispose();
    const written = readFileSync(file);
    for (const cut of [0, 1, 100, 500, 2000, Math.floor(written.length / 2), written.length - 30, written.length - 1]) {
      writeFileSync(old, oldFile('s', 40));
      writeFileSync(file, written.subarray(0, cut));
      assert.deepEqual(
        (await journal.list()).map((entry) => entry.head.id),
        ['s'],
        `listed, cut at ${cut}`,
      );
      assert.deepEqual(wholeTurns((await journal.read('s'))?.session), all, `read, cut at ${cut}`);
      const opened = await journal.open('s');
      assert.ok(opened.kind === 'opened', `opened, cut at ${cut}`);
      record(opened.writer, opened.session, turnEvents(90));
      opened.writer.dispose();
      assert.deepEqual(readdirSync(folder), ['s.journal'], `cut at ${cut}`);
      assert.deepEqual(wholeTurns((await journal.read('s'))?.session), [...all, 't90'], `continued, cut at ${cut}`);
    }
  }),
);

test('a conversation of the first version that is opened on a full disk stays, and the user is told', async (t) => {
  await inFolder(async (folder) => {
    for (const room of [0, 100, 3000]) {
      const id = `s${room}`;
      writeFileSync(path.join(folder, `${id}.jsonl`), oldFile(id, 40));
      const handle = await open(path.join(folder, `${id}.jsonl`));
      const prototype = Object.getPrototypeOf(handle) as typeof handle;
      await handle.close();
      const { disk, setRoom } = fullDisk();
      const journal = new Journal(folder, silentLog, disk);
      const writes = t.mock.method(prototype, 'writeFile', (): never => {
        throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      });
      setRoom(room);
      const opened = await journal.open(id);
      assert.ok(opened.kind === 'opened');
      const told: JournalTrouble['kind'][] = [];
      opened.writer.onTrouble(({ kind }) => void told.push(kind));
      record(opened.writer, opened.session, turnEvents(90));
      await opened.writer.settled();
      await opened.writer.settled();
      assert.deepEqual(told, ['failing'], `room for ${room}`);
      opened.writer.dispose();
      assert.ok(!readdirSync(folder).includes(`${id}.journal.new`));
      assert.equal(wholeTurns((await journal.read(id))?.session).length, 40, `room for ${room}`);
      writes.mock.restore();
      setRoom(Number.POSITIVE_INFINITY);
      const again = await journal.open(id);
      assert.ok(again.kind === 'opened');
      assert.equal(wholeTurns(again.session).length, 40, `room for ${room}`);
      again.writer.dispose();
      assert.ok(!readdirSync(folder).includes(`${id}.jsonl`));
    }
  })();
});

test(
  'a file has one writer: another window is told, and may go on when the first is closed',
  inFolder(async (folder, journal) => {
    const first = journal.create(head('s'));
    const session = record(first, fresh('s'), turnEvents(0));
    const other = new Journal(folder, silentLog);
    assert.equal((await other.open('s')).kind, 'elsewhere');
    assert.deepEqual(wholeTurns((await other.read('s'))?.session), ['t0'], 'it can be read meanwhile');
    record(first, session, turnEvents(1));
    await other.prune({ sessions: 0, bytes: 0 }, new Set(), Date.now() + 1e12);
    first.dispose();
    const opened = await other.open('s');
    assert.ok(opened.kind === 'opened');
    record(opened.writer, opened.session, turnEvents(2));
    opened.writer.dispose();
    assert.deepEqual(wholeTurns((await journal.read('s'))?.session), ['t0', 't1', 't2']);
  }),
);

test(
  'a lock whose owner was killed ends also when the clock was set back meanwhile and its process number was given again',
  inFolder(async (folder, journal) => {
    const first = journal.create(head('s'));
    record(first, fresh('s'), turnEvents(0));
    first.dispose();
    const lock = path.join(folder, 's.journal.lock');
    for (const ahead of [-3600, 3600, 400 * 24 * 3600]) {
      writeFileSync(lock, JSON.stringify({ pid: process.ppid, host: LOCK_HOST, token: 'of a process that was killed' }));
      const at = Date.now() / 1000 + ahead;
      utimesSync(lock, at, at);
      const opened = await new Journal(folder, silentLog).open('s');
      assert.equal(opened.kind, 'opened', `${ahead} seconds ahead`);
      if (opened.kind === 'opened') opened.writer.dispose();
    }
  }),
);

test(
  'records that are given up while a write is under way take nothing of those that follow',
  inFolder(async (folder) => {
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const late: Disk = { ...realDisk, write: (...place) => begun.then(() => realDisk.write(...place)) };
    const name = path.join(folder, 'late.journal');
    const file = new RecordFile(name, late, 0, undefined);
    file.append([{ a: 1 }]);
    const writing = file.write();
    file.append([{ b: 2 }]);
    file.dropUnwritten();
    file.append([{ c: 3 }, { d: 4 }]);
    begin();
    await writing;
    file.writeSync();
    file.dispose();
    const reader = new RecordReader();
    const found = [...reader.push(readFileSync(name)), ...reader.end()];
    assert.deepEqual(
      found.map(({ value }) => value),
      [{ a: 1 }, { c: 3 }, { d: 4 }],
    );
  }),
);

test('a record without an end does not fill the memory, and costs nothing behind it', () => {
  const reader = new RecordReader();
  const piece = Buffer.alloc(1024 * 1024, 'a');
  const before = process.memoryUsage().arrayBuffers;
  reader.push(Buffer.from('\x1e'));
  for (let megabytes = 0; megabytes < 400; megabytes += 1) reader.push(Buffer.from(piece));
  globalThis.gc?.();
  const found = [...reader.push(frameOf(1, { a: 1 })), ...reader.end()];
  assert.deepEqual(
    found.map(({ seq, value }) => [seq, value]),
    [[1, { a: 1 }]],
  );
  assert.ok(process.memoryUsage().arrayBuffers - before < 350 * 1024 * 1024, 'what is longer than any record is not put together');
});

test('a process that stood still while another took its file over goes on in a file of its own, with all it knows', (t) =>
  inFolder(async (folder, journal) => {
    t.mock.timers.enable({ apis: ['Date'] });
    const frozen = journal.create(head('s'));
    const told: JournalTrouble['kind'][] = [];
    frozen.onTrouble(({ kind }) => void told.push(kind));
    const before = record(frozen, fresh('s'), turnEvents(0));
    const lock = path.join(folder, 's.journal.lock');
    writeFileSync(lock, JSON.stringify({ ...JSON.parse(readFileSync(lock, 'utf8')), token: 'of another process' }));
    t.mock.timers.tick(60_000);
    const theirs = readFileSync(path.join(folder, 's.journal'));
    record(frozen, before, turnEvents(1));
    frozen.dispose();
    assert.deepEqual(told, ['moved']);
    assert.deepEqual(readFileSync(path.join(folder, 's.journal')), theirs);
    const copy = readdirSync(folder).find((name) => name.endsWith('.journal') && name !== 's.journal') ?? '';
    assert.deepEqual(wholeTurns((await journal.read(path.parse(copy).name))?.session), ['t0', 't1']);
  })());

test(
  'a compacted file holds the same in less, and what is said meanwhile',
  inFolder(async (folder, journal) => {
    const writer = journal.create(head('s'));
    let session = record(writer, fresh('s'), Array.from({ length: 200 }, (_, turn) => turnEvents(turn)).flat());
    writer.flush();
    const file = path.join(folder, 's.journal');
    const before = statSync(file).size;
    const compacted = writer.compact(true);
    session = record(writer, session, turnEvents(200));
    await compacted;
    session = record(writer, session, turnEvents(201));
    writer.dispose();
    const read = await journal.read('s');
    assert.deepEqual([read?.session, read?.lost], [session, 0]);
    assert.ok(statSync(file).size < before);
    assert.deepEqual(readdirSync(folder), ['s.journal']);
    const opened = await journal.open('s');
    assert.ok(opened.kind === 'opened');
    session = record(opened.writer, opened.session, turnEvents(202));
    opened.writer.dispose();
    assert.deepEqual((await journal.read('s'))?.session, session);
  }),
);

test(
  'a large file is compacted, and opened again, a piece at a time',
  inFolder(async (folder, journal) => {
    const writer = journal.create(head('s'));
    let session = fresh('s');
    const text = 'x 中'.repeat(20_000);
    for (let turn = 0; turn < 300; turn += 1) {
      const [begin, end] = [turnEvents(turn)[0], turnEvents(turn).at(-1)];
      assert.ok(begin && end);
      const delta: SessionEvent = { type: 'text.delta', turnId: `t${turn}`, kind: 'text', partId: `p${turn}`, text };
      session = record(writer, session, [begin, delta, end]);
    }
    await writer.settled();
    writer.dispose();
    const size = statSync(path.join(folder, 's.journal')).size;
    assert.ok(size > 20e6, `${size} bytes`);
    /** How often everything else had its turn meanwhile. */
    const turnsDuring = async (what: string, run: () => Promise<unknown>): Promise<number> => {
      let turns = 0;
      let isOver = false;
      const count = () => {
        turns += 1;
        if (!isOver) setImmediate(count);
      };
      setImmediate(count);
      await longestStop(what, run);
      isOver = true;
      return turns;
    };
    let opened: Awaited<ReturnType<Journal['open']>> | undefined;
    const opening = await turnsDuring('opening of 30 MB', async () => {
      opened = await journal.open('s');
    });
    assert.ok(opened?.kind === 'opened' && opened.session.turns.length === 300);
    const again = opened.writer;
    const compacting = await turnsDuring('compaction of 30 MB', () => again.compact(true));
    again.dispose();
    for (const turns of [compacting, opening]) assert.ok(turns >= size / 1e6, `${turns} turns of the loop for ${size} bytes`);
  }),
);

test(
  'a window that is closed in the middle of a compaction leaves the file as it was',
  inFolder(async (folder, journal) => {
    const writer = journal.create(head('s'));
    const session = record(writer, fresh('s'), turnEvents(0));
    const compacted = writer.compact(true);
    writer.dispose();
    await compacted;
    assert.deepEqual((await journal.read('s'))?.session, session);
    assert.deepEqual(readdirSync(folder), ['s.journal']);
  }),
);

test(
  'a snapshot that broke off does not take the place of what it was to replace',
  inFolder(async (folder, journal) => {
    const text = whole.toString('latin1');
    assert.ok(text.length > 0);
    const state = fresh('s');
    const { turns: _, ...rest } = [...turnEvents(0)].reduce(reduce, state);
    const torn = frameOf(1000, { type: 'journal.state', session: rest });
    writeFileSync(
      path.join(folder, 's.journal'),
      Buffer.concat([whole, torn, ...turnEvents(4).map((event, at) => frameOf(1001 + at, event))]),
    );
    assert.deepEqual(wholeTurns((await journal.read('s'))?.session), ['t0', 't1', 't2', 't4']);
  }),
);

test(
  'what was said is for its owner only',
  inFolder(async (folder, journal) => {
    chmodSync(folder, 0o755);
    const writer = journal.create(head('s'));
    record(writer, fresh('s'), turnEvents(0));
    const modes = () => [folder, ...readdirSync(folder).map((name) => path.join(folder, name))].map((file) => statSync(file).mode & 0o077);
    const first = modes();
    await writer.compact(true);
    journal.writeOpen('w', { ids: ['s'] });
    const all = [...first, ...modes()];
    writer.dispose();
    assert.ok(process.platform === 'win32' || all.every((mode) => mode === 0), all.join());
    assert.ok(answerOf(0).length > 0);
  }),
);

test('opening a long history lets everything else run in between', (t) =>
  inFolder(async (folder, journal) => {
    const writer = journal.create(head('s'));
    record(writer, fresh('s'), [
      { type: 'turn.started', turnId: 't', at: 1, prompt: [] },
      ...Array.from({ length: 2000 }, (_, at) => ({
        type: 'part.added' as const,
        turnId: 't',
        part: { kind: 'text' as const, id: `p${at}`, text: 'x'.repeat(2000) },
      })),
      { type: 'turn.ended', turnId: 't', at: 1, status: 'done' },
    ]);
    writer.dispose();
    assert.ok(statSync(path.join(folder, 's.journal')).size > 4e6);
    const parse = t.mock.method(JSON, 'parse');
    let [most, isOpen] = [0, false];
    const count = () => {
      most = Math.max(most, parse.mock.callCount());
      parse.mock.resetCalls();
      if (!isOpen) setImmediate(count);
    };
    setImmediate(count);
    await journal.read('s');
    isOpen = true;
    count();
    assert.ok(most > 0 && most < 100, `${most} records of 2 kB in one turn of the event loop`);
  })());

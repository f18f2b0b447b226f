/** What the review of changes costs: hunks of a large file, looks at a folder, bytes on the disk, and a folder of packages that grows beside. */

import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLog } from '../../src/base/log.ts';
import { ChangeSet, type FileEffects } from '../../src/live/review/changeSet.ts';
import { ContentStore } from '../../src/live/review/contentStore.ts';
import { proposalHunks } from '../../src/session/proposal.ts';
import { compareTexts, hunksOfSegments, settleHunks } from '../../src/session/segments.ts';
import { measureInWindow } from './window/review.ts';

const base = mkdtempSync(path.join(tmpdir(), 'review-bench-'));
const effects: FileEffects = {
  readText: async (file) => (existsSync(file) ? readFileSync(file, 'utf8') : null),
  writeText: async (file, text) => writeFileSync(file, text),
  hasUnsaved: () => false,
  folders: () => [],
};
const print = (what: string, value: string) => console.log(`${what.padEnd(72)}${value}`);
const ms = (since: number) => `${(performance.now() - since).toFixed(0)} ms`;
const bytesBelow = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);

interface Place {
  readonly root: string;
  readonly set: ChangeSet;
  readonly objects: string;
}
function place(name: string): Place {
  const [root, state] = [path.join(base, name), path.join(base, `${name}-state`)];
  mkdirSync(root);
  const objects = path.join(state, 'objects');
  mkdirSync(objects, { recursive: true });
  const set = new ChangeSet(root, path.join(state, 's.json'), { store: new ContentStore(objects), effects, log: silentLog });
  return { root, set, objects };
}
const source = (name: string, lines: number) =>
  Array.from({ length: lines }, (_, at) => `const ${name}${at} = compute(${at}, '${name}');\n`).join('');

function largeFile(): void {
  const lines = Array.from({ length: 50_000 }, (_, at) => `const value${at} = compute(${at});`);
  const changed = lines.map((line, at) => (at % 100 === 50 ? `${line} // changed` : line));
  const [before, after] = [lines.join('\n'), changed.join('\n')];
  let start = performance.now();
  const segments = compareTexts(before, after);
  const hunks = hunksOfSegments(segments);
  print(`a file of 50,000 lines: ${hunks.length} hunks found`, ms(start));
  start = performance.now();
  settleHunks(segments, (hunk) => hunk === hunks[250]?.hunk, 'undo');
  print('one of them undone', ms(start));
  start = performance.now();
  proposalHunks(before, after, after);
  print('as a pending edit: its changes found in the proposed text', ms(start));
}

async function thousandFiles(count: number): Promise<void> {
  const { root, set, objects } = place(`files-${count}`);
  for (let at = 0; at < count; at += 1) writeFileSync(path.join(root, `f${at}.ts`), source(`f${at}_`, 100));
  let start = performance.now();
  await set.prime();
  print(`${count} files: the first look, which keeps their contents`, ms(start));
  const kept = bytesBelow(objects);
  start = performance.now();
  await set.startTurn('t');
  print('the look before a prompt, nothing changed', ms(start));
  for (let at = 0; at < count; at += 1) writeFileSync(path.join(root, `f${at}.ts`), source(`f${at}_`, 101));
  start = performance.now();
  await set.look(undefined, true);
  print(
    `the look after ${count} files were changed`,
    `${ms(start)}, ${set.files.length} listed, ${set.turnFiles('t')?.unlisted?.files ?? 0} said`,
  );
  const changed = bytesBelow(objects) - kept;
  print(
    `contents: before, and of the change (files ${(bytesBelow(root) / 1e6).toFixed(1)} MB)`,
    `${(kept / 1e6).toFixed(2)} MB, ${(changed / 1e6).toFixed(2)} MB`,
  );
  start = performance.now();
  await set.restore('t');
  print('all of them restored', ms(start));
}

async function lastByte(): Promise<void> {
  const { root, set } = place('visible');
  for (let at = 0; at < 500; at += 1) writeFileSync(path.join(root, `f${at}.ts`), source(`f${at}_`, 200));
  await set.prime();
  await set.startTurn('t');
  const file = path.join(root, 'f7.ts');
  const times: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    writeFileSync(file, `${source('f7_', 200)}// ${round}\n`);
    const start = performance.now();
    await set.look();
    await set.segments(file);
    times.push(performance.now() - start);
  }
  print(
    'from the last byte to the hunks, 500 files (median of 20, after a wait of 300 ms)',
    `${times.sort((a, b) => a - b)[10]?.toFixed(1)} ms`,
  );
}

async function packages(): Promise<void> {
  const { root, set } = place('install');
  writeFileSync(path.join(root, 'index.ts'), source('index_', 100));
  await set.prime();
  await set.startTurn('t');
  let events = 0;
  const seen = new Set<string | null>();
  const watcher = watch(root, { recursive: true }, (_, name) => {
    events += 1;
    seen.add(name);
  });
  const cpu = process.cpuUsage();
  for (let at = 0; at < 400; at += 1) {
    const folder = path.join(root, 'node_modules', `p${at}`);
    mkdirSync(folder, { recursive: true });
    for (let file = 0; file < 20; file += 1) writeFileSync(path.join(folder, `${file}.js`), source('x', 20));
  }
  // The watcher hears of the last file last.
  const last = path.join(root, 'last');
  while (!seen.has('last')) {
    writeFileSync(last, `${events}`);
    await once(watcher, 'change');
  }
  const writing = process.cpuUsage(cpu);
  watcher.close();
  const start = performance.now();
  const before = process.cpuUsage();
  await set.look();
  const look = process.cpuUsage(before);
  print('8,000 files put into node_modules: events of a recursive watcher', `${events}`);
  print(
    'CPU of writing with that watcher, and of the one look instead of watching',
    `${(writing.user + writing.system) / 1000} ms, ${(look.user + look.system) / 1000} ms (${ms(start)})`,
  );
  print('listed, and said to be left out', `${set.files.length}, ${set.turnFiles('t')?.unlisted?.folders.join()}`);
}

async function inWindow(): Promise<void> {
  const { editor, opened, openedPlain, undone, visible, install } = await measureInWindow();
  const both = (of: typeof opened) => `${of.ms.toFixed(0)} ms, longest task ${of.longestTask.toFixed(0)} ms`;
  print('the workbench without any extension, 50,000 lines: a letter typed and saved', both(editor.saved));
  print('500 of its lines changed on the disk, until they are on the screen', both(editor.reread));
  print('in the workbench, 50,000 lines with 500 hunks: opened until Keep is there', both(opened));
  print('the same file with nothing to review, until its text is there', both(openedPlain));
  print('one of the 500 hunks undone by key, until the next, counted anew, is there', both(undone.one));
  print('all others undone at once, until no Keep is left', both(undone.all));
  print('from the last byte to the hunk in the open editor (median of 10)', `${visible.toFixed(0)} ms`);
  for (const when of ['rest', 'turn'] as const) {
    const { host, watcher } = install[when];
    const text = `extension host ${host} ms, the editor's own watcher ${watcher} ms of CPU`;
    print(`8,000 files put into node_modules, ${when === 'turn' ? 'while a turn runs' : 'with no turn running'}`, text);
  }
}

try {
  largeFile();
  await thousandFiles(1000);
  await thousandFiles(10_000);
  await lastByte();
  await packages();
  await inWindow();
} finally {
  rmSync(base, { recursive: true, force: true });
}

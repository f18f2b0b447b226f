import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'node:test';
import { fileURLToPath } from 'node:url';
import { silentLog } from '../../../src/base/log.ts';
import { processChannel } from '../../../src/transport/process.ts';
import { Harness, type HarnessOptions } from './harness.ts';

const FAKE = fileURLToPath(new URL('../../fakes/wire.mjs', import.meta.url));
const open: { harness: Harness; folder: string }[] = [];

afterEach(async () => {
  for (const { harness, folder } of open.splice(0)) {
    harness.dispose();
    await harness.adapter.ended;
    rmSync(folder, { recursive: true });
  }
});

/** A harness whose agent is the scripted server in a process of its own. */
export function processHarness(script: object, options: HarnessOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-'));
  const file = join(folder, 'script.json');
  const log = join(folder, 'log');
  writeFileSync(file, JSON.stringify({ ...script, log }));
  const harness = new Harness((spec) => processChannel(spec, { log: silentLog, patience: { end: 2_000, term: 500 } }), {
    command: process.execPath,
    args: [FAKE, file],
    cwd: folder,
    ...options,
  });
  open.push({ harness, folder });
  return { harness, folder, heard: () => readFileSync(log, 'utf8').trimEnd().split('\n') };
}

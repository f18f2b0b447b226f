import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { a2a } from '../../../src/protocols/a2a/index.ts';
import { drive } from '../drive.ts';
import { undoAtEnd } from '../lab.ts';
import { checkOptions } from '../options.ts';
import { startPeer } from './peers.ts';

test('gemini-a2a-server: the options it offers, and how they are shown', { timeout: 400_000 }, async (t) => {
  const undo = undoAtEnd(t);
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-options-'));
  undo(() => rmSync(cwd, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));
  const peer = await startPeer({ cwd, script: 'approvals.json' });
  undo(() => peer.remove());
  const driven = drive({ protocol: a2a, launch: peer.launch });
  undo(() => driven.stop());
  await driven.ready();
  await checkOptions('gemini-a2a-server (A2A)', driven);
});

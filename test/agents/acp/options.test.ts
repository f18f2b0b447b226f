import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { acp } from '../../../src/protocols/acp/index.ts';
import { drive } from '../drive.ts';
import { undoAtEnd } from '../lab.ts';
import { checkOptions } from '../options.ts';
import { type PeerName, recipes, startPeer } from './peers.ts';

for (const name of Object.keys(recipes) as PeerName[])
  test(`${name}: the options it offers, and how they are shown`, { timeout: 400_000 }, async (t) => {
    const undo = undoAtEnd(t);
    const cwd = mkdtempSync(path.join(tmpdir(), 'parley-options-'));
    undo(() => rmSync(cwd, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));
    const peer = await startPeer(name, { cwd, script: 'approvals.json' });
    undo(() => peer.remove());
    const driven = drive({ protocol: acp, launch: peer.launch });
    undo(() => driven.stop());
    await driven.ready();
    if (name === 'qwen') {
      driven.live.send({ type: 'setMode', modeId: 'default' });
      await driven.until('its mode', (session) => session.mode?.current === 'default');
    }
    await checkOptions(`${name} (ACP)`, driven);
  });

import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { acp } from '../../src/protocols/acp/index.ts';
import { kimiWire } from '../../src/protocols/kimi-wire/index.ts';
import { qwen } from '../../src/protocols/qwen/index.ts';
import { drive } from '../agents/drive.ts';

const OTHER = "console.log('Welcome to some other program!'); setInterval(() => {}, 1000);";

for (const [name, protocol] of Object.entries({ acp, kimiWire, qwen }))
  test(`${name}: a program that prints something else is named as such while it is waited for`, async (t) => {
    const launch = { kind: 'process', command: process.execPath, args: ['-e', OTHER, '--'], env: {}, cwd: tmpdir() } as const;
    const driven = drive({ protocol, launch });
    t.after(() => driven.stop());
    const { link } = await driven.until(
      'its first line',
      (now) => now.link.state === 'opening' && /other program/.test(now.link.note ?? ''),
    );
    assert.ok(link.state === 'opening');
    assert.match(link.note ?? '', /^The program printed “Welcome to some other program!”, which is not .+\./);
    assert.ok(link.next?.includes('openSettings'));
  });

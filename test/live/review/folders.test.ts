import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { putFile } from '../../../src/live/review/folders.ts';

test('what the system refuses to write is named with its reason, without the call and the path', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-folders-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const name = 'n'.repeat(300);
  await assert.rejects(putFile(folder, name, Buffer.from('text')), ({ message }: Error) => {
    assert.match(message, new RegExp(`^${name} could not be written: E[A-Z]+: [^,']+$`));
    return true;
  });
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { LARGEST_TEXT, readTextFile, readTextFileSync } from '../../src/protocols/textFile.ts';

test('only regular files of a bearable size are read; a pipe that nobody writes to does not keep anybody waiting', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-text-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [plain, pipe, large] = ['plain.txt', 'pipe', 'large.log'].map((name) => path.join(folder, name)) as [string, string, string];
  writeFileSync(plain, 'grüße\n');
  execFileSync('mkfifo', [pipe]);
  writeFileSync(large, '');
  truncateSync(large, LARGEST_TEXT + 1);
  assert.equal(await readTextFile(plain), 'grüße\n');
  assert.equal(readTextFileSync(plain), 'grüße\n');
  for (const [file, why] of [
    [pipe, /not a regular file/],
    ['/dev/zero', /not a regular file/],
    [folder, { code: 'EISDIR' }],
    [large, /larger than/],
    [path.join(folder, 'none'), { code: 'ENOENT' }],
  ] as const) {
    await assert.rejects(readTextFile(file), why);
    assert.throws(() => readTextFileSync(file), why);
  }
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
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

test('a file that another program holds is read once it is free, else the error names it', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-text-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'a.txt');
  writeFileSync(file, 'one');
  for (const code of ['EBUSY', 'EPERM', 'EACCES']) {
    let tries = 0;
    const heldFor = (times: number): typeof open => {
      tries = 0;
      return (...args) => {
        tries += 1;
        return tries <= times ? Promise.reject(Object.assign(new Error(`${code}: held`), { code })) : open(...args);
      };
    };
    assert.equal(await readTextFile(file, heldFor(2), true), 'one');
    assert.equal(tries, 3);
    const named = {
      message: `${file} is open in another program, or protected (${code}). Close it there or allow writing, then try again.`,
      code,
    };
    await assert.rejects(readTextFile(file, heldFor(99), false), named);
    assert.equal(tries, 1);
  }
});

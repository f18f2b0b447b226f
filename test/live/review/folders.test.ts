import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { putFile, readable } from '../../../src/live/review/folders.ts';

test('what the system refuses to write is named with its reason, without the call and the path', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-folders-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const name = 'n'.repeat(300);
  await assert.rejects(putFile({ root: folder, below: name }, Buffer.from('text')), ({ message }: Error) => {
    assert.match(message, new RegExp(`^${name} could not be written: [a-z][^,':]+$`));
    return true;
  });
});

test('a file that the system protects is said to be so, with what to do about it, by its name in the folder', () => {
  for (const [code, call] of [
    ['EACCES', 'permission denied, access'],
    ['EPERM', 'operation not permitted, rename'],
    ['EROFS', 'read-only file system, open'],
  ] as const) {
    const refused = readable('notes.txt', Object.assign(new Error(`${code}: ${call} '/the/whole/path'`), { code }));
    assert.ok(refused instanceof Error);
    assert.equal(
      refused.message,
      `notes.txt is open in another program, or protected (${code}). Close it there or allow writing, then try again.`,
    );
  }
});

test('where a folder or a link has come into the place of a file as it was written, the change is to be looked at again', () => {
  for (const code of ['EISDIR', 'ENOTDIR', 'ENOTEMPTY', 'ELOOP']) {
    const refused = readable('notes.txt', Object.assign(new Error(`${code}: the system's words, rename '/a' -> '/b'`), { code }));
    assert.ok(refused instanceof Error);
    assert.equal(refused.message, 'notes.txt has changed in the meantime. Look at the change again.');
  }
});

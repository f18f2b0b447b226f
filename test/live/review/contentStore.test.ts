import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { ContentStore, decoded } from '../../../src/live/review/contentStore.ts';

test('a text is read as it is marked, else as UTF-8, else as the editor reads it; what is no text is not', () => {
  const latin = Buffer.from('größer\n', 'latin1');
  assert.equal(decoded(Buffer.from('größer\n'), 'windows1252'), 'größer\n');
  assert.equal(decoded(latin, 'utf8'), undefined);
  assert.equal(decoded(latin, undefined), undefined);
  assert.equal(decoded(latin, 'no such encoding'), undefined);
  for (const name of ['windows1252', 'iso88591', 'iso885915']) assert.equal(decoded(latin, name), 'größer\n', name);
  assert.equal(decoded(Buffer.from([0xd0, 0xc9, 0xd7, 0xcf]), 'koi8r'), 'пиво');
  assert.equal(decoded(Buffer.from([0x93, 0xfa, 0x96, 0x7b]), 'shiftjis'), '日本');
  const wide = Buffer.from('\uFEFFab\n', 'utf16le');
  assert.equal(decoded(wide, undefined), 'ab\n');
  assert.equal(decoded(wide.swap16(), undefined), 'ab\n');
  assert.equal(decoded(Uint8Array.from([0, 1, 2]), undefined), undefined);
  assert.equal(decoded(Uint8Array.from([0x80, 0, 2]), 'windows1252'), undefined);
});

test('contents of any size are kept as they are, also after the folder was removed', async () => {
  const base = mkdtempSync(path.join(tmpdir(), 'store-'));
  const folder = path.join(base, 'objects');
  try {
    const store = new ContentStore(folder);
    for (const round of ['first', 'again']) {
      for (const size of [0, 1, 16 * 1024, 16 * 1024 + 1, 200_000]) {
        const bytes = Buffer.alloc(size, 'some text\n');
        const name = await store.put(bytes);
        assert.equal(await store.put(bytes), name);
        assert.deepEqual(await store.get(name), bytes, `${round}: ${size} bytes`);
      }
      rmSync(folder, { recursive: true });
    }
  } finally {
    rmSync(base, { recursive: true });
  }
});

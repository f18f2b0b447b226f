import './dom.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepingPicture } from '../../webview/clipboard.ts';

/** A clipboard with a picture, or with what the browser answers instead. */
function clipboardOf(answer: () => Promise<readonly object[]>): readonly object[] {
  const written: object[] = [];
  const clipboard = { read: answer, write: async (items: readonly object[]) => void written.push(...items) };
  Object.defineProperty(navigator, 'clipboard', { value: clipboard, configurable: true });
  Object.defineProperty(document, 'hasFocus', { value: () => true, configurable: true });
  Object.assign(globalThis, {
    ClipboardItem: class {
      readonly parts: object;
      constructor(parts: object) {
        this.parts = parts;
      }
    },
  });
  return written;
}
const picture = { types: ['image/png'], getType: async () => 'the picture' };

test('the picture on the clipboard is put back after what goes over it, also when that fails', async () => {
  for (const fails of [false, true]) {
    const written = clipboardOf(async () => [picture]);
    const work = async () => {
      assert.deepEqual(written, []);
      if (fails) throw new Error('no terminal');
    };
    if (fails) await assert.rejects(keepingPicture(work), /no terminal/);
    else await keepingPicture(work);
    assert.deepEqual(JSON.parse(JSON.stringify(written)), [{ parts: { 'image/png': 'the picture' } }]);
  }
});

test('nothing goes over a clipboard that may not be read, and an empty one stays as it is left', async () => {
  let ran = 0;
  const work = async () => {
    ran += 1;
  };
  clipboardOf(async () => Promise.reject(new Error('denied')));
  await assert.rejects(keepingPicture(work), /denied/);
  assert.equal(ran, 0);
  const written = clipboardOf(async () => []);
  await keepingPicture(work);
  assert.deepEqual([ran, written.length], [1, 0]);
});

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { foldersOf, nameOf } from '../../src/live/review/folders.ts';
import { CallFiles } from '../../src/protocols/a2a/connected.ts';
import { FilePort } from '../../src/protocols/acp/files.ts';
import { readText } from '../../src/protocols/fileNow.ts';
import { isForeign } from '../../src/protocols/paths.ts';
import type { Files } from '../../src/protocols/ports.ts';

/* Windows tells a server who the user is as soon as a path on it is looked at. Every way a path of an agent takes to the disk before an answer. */

const EVIL = '//evil/share/a.ts';
const LOCAL = '/ws/a.ts';
const roots = ['/ws'];

function watched(): { readonly files: Files; readonly looked: readonly string[] } {
  const looked: string[] = [];
  const read = async (file: string) => {
    looked.push(file);
    return 'text\n';
  };
  return { looked, files: { read, write: async () => undefined } };
}

test('no other server is looked at before the user has allowed it', async () => {
  const { files, looked } = watched();
  const port = new FilePort(files, 'win32');
  const outside = path.dirname(path.resolve(EVIL));
  assert.deepEqual(await port.run({ do: 'text', path: EVIL, roots }), { outside: true });
  assert.deepEqual(await port.run({ do: 'read', path: EVIL, line: null, limit: null, roots, allowed: false }), { outside });
  assert.deepEqual(await port.run({ do: 'look', path: EVIL, content: 'x', roots, refused: [] }), { outside });
  assert.deepEqual(await readText(files, EVIL, roots, 'win32'), { real: EVIL });
  assert.deepEqual(looked, []);
  await port.run({ do: 'text', path: LOCAL, roots });
  await readText(files, LOCAL, roots, 'win32');
  assert.deepEqual(looked, [LOCAL, LOCAL]);
});

test('the file of a call of the Gemini CLI server is not looked up on another server', () => {
  const result = (file: string) => ({
    kind: 'task',
    id: 't',
    contextId: 'c',
    status: {
      state: 'input-required',
      message: {
        kind: 'message',
        role: 'agent',
        messageId: 'm',
        parts: [
          {
            kind: 'data',
            data: { request: { callId: 'c1', name: 'write_file', args: { file_path: file, content: 'x' } }, status: 'awaiting_approval' },
          },
        ],
      },
    },
  });
  assert.equal(new CallFiles(roots, 'win32').in(result(LOCAL)).length, 1);
  assert.deepEqual(new CallFiles(roots, 'win32').in(result(EVIL)), []);
});

test('a file on another server is none of those under review', () => {
  assert.equal(nameOf(foldersOf('/evil', []), EVIL, 'win32'), undefined);
});

test('only a path of Windows leads to another server', () => {
  assert.ok(isForeign(EVIL, ['/ws'], 'win32'));
  assert.ok(!isForeign('C:\\a', ['/ws'], 'win32'));
  assert.ok(!isForeign(EVIL, ['/ws'], 'posix'));
});

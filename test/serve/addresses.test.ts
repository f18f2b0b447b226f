import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { changedTextPlace, changedTextUri, contentPlace, contentUri, pathOfUri } from '../../src/serve/addresses.ts';

test('files of this computer and of the window’s remote have a path here, others have none', () => {
  const file = path.resolve('a folder/ä#b?.ts');
  const { href } = pathToFileURL(file);
  assert.equal(pathOfUri(href), file);
  assert.equal(pathOfUri(href.replace('file://', 'vscode-remote://ssh-remote%2Bhost')), file);
  assert.equal(pathOfUri(href.replace('file://', 'vscode-remote://wsl%2BUbuntu')), file);
  const share = process.platform === 'win32' ? '\\\\server\\share\\a.ts' : undefined;
  assert.equal(pathOfUri('file://server/share/a.ts'), share);
  const elsewhere = process.platform === 'win32' ? 'file:///home/me/a.ts' : 'file:///c:/ws/a.ts';
  for (const uri of [elsewhere, 'untitled:a', 'vscode-vfs://github/a/b', 'file:///a%2Fb', 'file:///%E0%A4%A', 'a.ts', ''])
    assert.equal(pathOfUri(uri), undefined, uri);
});

test('addresses of texts are read as they come back from VS Code, which writes paths in its own way, and %2F as a slash', () => {
  const written = (uri: string) => decodeURIComponent(uri).replace(/(?<!:)\/{2,}/g, '/');
  for (const file of ['/work/a b/ä%2F#x?.ts', 'c:\\work\\x.ts', '/x', 'x.ts']) {
    for (const turnId of [undefined, 't/1', '']) {
      const place = { sessionId: 'id-1', turnId, side: 'before', version: 'abc', file } as const;
      for (const uri of [changedTextUri(place), changedTextUri(place, '/elsewhere')]) {
        assert.deepEqual(changedTextPlace(uri), place);
        assert.deepEqual(changedTextPlace(written(uri)), place);
      }
    }
    const place = { sessionId: 'id-1', owner: 'ask', callId: 'call//1', at: 2, side: 'after', file } as const;
    assert.deepEqual(contentPlace(contentUri(place)), place);
    assert.deepEqual(contentPlace(written(contentUri(place))), place);
  }
});

test('both sides of a file that stayed where it was have the path of that file: VS Code takes two paths for a renamed file', () => {
  const file = path.resolve('a folder/ä#b?.ts');
  const { pathname } = pathToFileURL(file);
  const side = (which: 'before' | 'after', shown?: string) =>
    new URL(changedTextUri({ sessionId: 'id-1', turnId: 't', side: which, version: which, file }, shown));
  assert.deepEqual([side('before').pathname, side('after').pathname], [pathname, pathname]);
  assert.notEqual(side('before').href, side('after').href);
  assert.equal(side('before', path.resolve('old.ts')).pathname, pathToFileURL(path.resolve('old.ts')).pathname);
  const asked = (which: 'before' | 'after') => new URL(contentUri({ sessionId: 'id-1', owner: 'c', callId: '', at: 0, side: which, file }));
  assert.deepEqual([asked('before').pathname, asked('after').pathname], [pathname, pathname]);
});

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

test('addresses of texts are read as they come back from VS Code, which takes %2F for a slash and two slashes for one', () => {
  const written = (uri: string) => decodeURIComponent(uri).replace(/(?<!:)\/{2,}/g, '/');
  for (const file of ['/work/a b/ä%2F.ts', 'c:\\work\\x.ts', '/x']) {
    for (const turnId of [undefined, 't/1', '']) {
      const place = { sessionId: 'id-1', turnId, side: 'before', version: 'abc', file } as const;
      assert.deepEqual(changedTextPlace(written(changedTextUri(place))), place);
    }
    const place = { sessionId: 'id-1', owner: 'call//1', at: 2, side: 'after' } as const;
    assert.deepEqual(contentPlace(written(contentUri(place, file))), place);
    assert.ok(contentUri(place, file).endsWith(`/${encodeURIComponent(file.split(/[\\/]/).at(-1) ?? '')}`));
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathInside, pathOfUri, resolvePath, uriOfPath } from '../../src/base/paths.ts';

test('a path is resolved as Windows does it, however it is written', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['C:\\ws', 'a\\..\\b', 'C:\\ws\\b'],
    ['C:\\ws', '\\a', 'C:\\a'],
    ['C:\\ws', '/c:/ws/a', 'c:\\ws\\a'],
    ['c:\\ws', 'C:a', 'c:\\ws\\a'],
    ['C:\\ws', 'D:a', 'D:\\a'],
    ['C:\\ws', '//server/share/a', '\\\\server\\share\\a'],
    ['\\\\server\\share\\ws', '//server/share/a', '\\\\server\\share\\a'],
    ['\\\\server\\share\\ws', 'a/b', '\\\\server\\share\\ws\\a\\b'],
    ['/ws', 'a/../b', '/ws/b'],
    ['/ws', 'C:a', '/ws/C:a'],
  ];
  for (const [from, to, resolved] of cases) assert.equal(resolvePath(from, to), resolved, `${to} from ${from}`);
  assert.equal(pathInside('C:\\ws', '/C:/WS/a'), 'a');
  assert.equal(pathInside('C:\\ws', 'D:a'), undefined);
});

test('file: addresses of Windows are read as the editor and as agents write them', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['file:///C:/ws/a%20b.ts', 'C:\\ws\\a b.ts'],
    ['file:///c%3A/ws/a.ts', 'c:\\ws\\a.ts'],
    ['file://C:/ws/a.ts', 'C:\\ws\\a.ts'],
    ['file:///C:\\ws\\a.ts', 'C:\\ws\\a.ts'],
    ['file://server/share/a', '\\\\server\\share\\a'],
    ['file://wsl%24/Ubuntu/home', '\\\\wsl$\\Ubuntu\\home'],
    ['file://wsl.localhost/Ubuntu/home', '\\\\wsl.localhost\\Ubuntu\\home'],
    ['file:///ws/a%5Cb', '/ws/a\\b'],
  ];
  for (const [uri, path] of cases) assert.equal(pathOfUri(uri), path, uri);
  // Nothing that would be read as another folder.
  for (const uri of ['file:///C:/ws/..%2fb', 'file://a%5Cb/c', 'file://a%2fb/c', 'file:///%zz', 'file:C:/ws'])
    assert.equal(pathOfUri(uri), uri);
});

test('the address of a path leads back to it', () => {
  for (const path of ['C:\\ws\\a b#?%.ts', '\\\\server\\share\\a b', '\\\\wsl$\\U\\x', '/ws/a\\b', '/ws/a b#?%.ts'])
    assert.equal(pathOfUri(uriOfPath(path)), path);
  assert.equal(uriOfPath('\\\\?\\C:\\ws\\a'), 'file:///C:/ws/a');
  assert.equal(uriOfPath('\\\\?\\UNC\\server\\share\\a'), 'file://server/share/a');
});

import './dom.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { droppedPaths } from '../../webview/attachments.ts';
import { absolute, pathInCode, targetOf } from '../../webview/links.ts';

/** A target as `path:line:column`, 0 without a line. */
const told = (target: ReturnType<typeof targetOf>) =>
  target?.kind === 'file'
    ? [target.path, target.line ?? 0, ...(target.column === undefined ? [] : [target.column])].join(':')
    : target?.uri;

test('links to files, of every system', () => {
  for (const [href, target] of [
    ['src/a.ts:12:5', 'src/a.ts:12:5'],
    ['src/a.ts:12-20', 'src/a.ts:12'],
    ['src/a.ts:12:5-14:2', 'src/a.ts:12:5'],
    ['src\\a.ts#L7', 'src\\a.ts:7'],
    ['src/a.ts(12,3)', 'src/a.ts:12:3'],
    ['notes (2)', 'notes (2):0'],
    ['C:\\ws\\a b.ts:3', 'C:\\ws\\a b.ts:3'],
    ['\\\\?\\C:\\ws\\a.ts:3', 'C:\\ws\\a.ts:3'],
    ['file:///c:/ws/a%20b.ts#L3', 'c:\\ws\\a b.ts:3'],
    ['file:///home/me/a%20b.ts#L3-L9', '/home/me/a b.ts:3'],
    ['file://localhost/home/me/a.ts', '/home/me/a.ts:0'],
    ['file://server/share/a%20b.ts#L2', '\\\\server\\share\\a b.ts:2'],
    ['https://example.org/a.ts:3', 'https://example.org/a.ts:3'],
    ['file:a.ts', undefined],
    ['//server/share/a.ts', undefined],
    ['javascript:alert(1)', undefined],
    ['vscode://x/y', undefined],
  ] as const)
    assert.equal(told(targetOf(href)), target, href);
});

test('inline code that reads like a path, with either slash', () => {
  for (const [text, target] of [
    ['src/a.ts', 'src/a.ts:0'],
    ['src\\editor\\a.ts:12', 'src\\editor\\a.ts:12'],
    ['.\\src\\a.ts', '.\\src\\a.ts:0'],
    ['c:\\ws\\src\\a.ts:3:1', 'c:\\ws\\src\\a.ts:3:1'],
    ['C:/ws/a.ts', 'C:/ws/a.ts:0'],
    ['~/x/a.ts', '~/x/a.ts:0'],
    ['a.ts:3', 'a.ts:3'],
    ['a.ts(12,3)', 'a.ts:12:3'],
    ['src\\a.ts(12)', 'src\\a.ts:12'],
    ['C:\\a.ts:3', 'C:\\a.ts:3'],
    ['C:\\Users\\张三\\p\\a.ts:12', 'C:\\Users\\张三\\p\\a.ts:12'],
    ['src/日本/a.ts:3', 'src/日本/a.ts:3'],
    ['文档.md:3', '文档.md:3'],
    ['file:///C:/ws/a%20b.ts:12', 'C:\\ws\\a b.ts:12'],
    ['file:///w/src/main.ts:3', '/w/src/main.ts:3'],
    // A look at a network folder tells its server who the user is.
    ['\\\\server\\share\\a.ts', undefined],
    ['//server/share/a.ts', undefined],
    ['file://server/share/a.ts', undefined],
    ['file:////server/share/a.ts', undefined],
    ['print(12)', undefined],
    ['\\d+\\.\\d', undefined],
    ['npm run build', undefined],
    ['a.b', undefined],
  ] as const)
    assert.equal(told(pathInCode(text)), target, text);
});

test('a relative path counts from the folder of the session, in its manner', () => {
  assert.equal(absolute('.\\src\\a.ts', 'c:\\ws'), 'c:\\ws\\src\\a.ts');
  assert.equal(absolute('src/a.ts', 'c:\\ws\\'), 'c:\\ws\\src/a.ts');
  assert.equal(absolute('D:\\x\\a.ts', 'c:\\ws'), 'D:\\x\\a.ts');
  assert.equal(absolute('src/a.ts', '\\\\server\\share'), '\\\\server\\share\\src/a.ts');
  assert.equal(absolute('./src/a.ts', '/home/me'), '/home/me/src/a.ts');
});

test('files dropped from the editor, of this computer and of a remote window', () => {
  const list = [
    '# a comment',
    'file:///home/me/a%20b.ts',
    'file:///c%3A/ws/a.ts',
    'file://server/share/a.ts',
    'vscode-remote://ssh-remote%2Bhost/home/me/a.ts',
    'vscode-remote://wsl%2BUbuntu/home/me/%C3%BC.ts',
    'vscode-remote://127.0.0.1:8000/srv/a.ts',
    'https://example.org/a.ts',
    'untitled:a',
    '',
  ].join('\r\n');
  const data = { getData: (type: string) => (type === 'text/uri-list' ? list : '') } as DataTransfer;
  assert.deepEqual(droppedPaths(data), [
    '/home/me/a b.ts',
    'c:\\ws\\a.ts',
    '\\\\server\\share\\a.ts',
    '/home/me/a.ts',
    '/home/me/ü.ts',
    '/srv/a.ts',
  ]);
});

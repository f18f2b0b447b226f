import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { fileKey, foldName, isOnOtherServer, isSameName, type Platform, pathBelowFolder } from '../../src/base/fileName.ts';
import { namedPath, pathOfUri, resolvePath, writtenKey, writtenPermitKey } from '../../src/base/paths.ts';
import { byPath } from '../../src/session/select.ts';
import { assertLinear } from '../attack/linear.ts';

/** Spellings of one file. */
const same: readonly (readonly [Platform, ...string[]])[] = [
  ['win32', 'c:\\ws\\a.ts', 'C:\\ws\\a.ts', 'C:/ws/a.ts', '/c:/ws/a.ts', 'C:\\WS\\A.TS', 'C:\\ws\\.\\x\\..\\a.ts', 'C:\\ws\\\\a.ts'],
  ['win32', 'C:\\ws\\a.ts', '\\\\?\\C:\\ws\\a.ts', '\\\\.\\C:\\ws\\a.ts', 'C:\\ws\\a.ts.', 'C:\\ws. \\a.ts . .', 'C:\\ws\\a.ts::$DATA'],
  ['win32', '\\\\server\\share\\a', '//Server/Share/A', '\\\\?\\UNC\\server\\share\\a'],
  ['win32', 'C:\\ÄÉ\\Жσ', 'c:\\äé\\жΣ'],
  ['darwin', '/Users/me/Ü.ts', '/users/ME/u\u0308.ts', '/Users/me/./x/../ü.ts'],
  ['darwin', '/ws/.vſcode', '/ws/.VSCODE'],
  [
    'win32',
    'C:\\ws\\a',
    'C:\\ws\\a\\',
    'C:\\ws\\a ',
    'C:\\ws\\a\\.',
    'C:\\\\ws\\a',
    'c:\\ws\\.\\a',
    'c:\\ws\\b\\..\\a',
    'c:\\ws.\\a',
    'c:/ws\\a',
  ],
  ['darwin', '/private/tmp/a', '/tmp/a', '/TMP/A', '/System/Volumes/Data/private/tmp/a'],
  ['darwin', '/private/var/a', '/var/a'],
  ['darwin', '/private/etc/a', '/etc/a'],
  ['darwin', '/Users/me/a', '/System/Volumes/Data/Users/me/a', '/system/volumes/data/users/Me/A', '/System/Volumes/Data/./Users/me/a'],
  ['darwin', '/usr/local/a', '/System/Volumes/Data/usr/local/a'],
  ['darwin', '/ws/straße', '/ws/STRAẞE', '/ws/strasse', '/WS/STRASSE'],
  ['darwin', '/ws/ﬁle', '/ws/file', '/ws/FILE'],
  ['darwin', '/ws/ﬀ', '/ws/FF', '/ws/ff'],
  ['darwin', '/ws/ǰ', '/ws/J\u030c', '/ws/j\u030c'],
  ['darwin', '/ws/ᾴ', '/ws/α\u0301\u0345', '/ws/ΆΙ'],
  ['posix', '/ws/a.ts', '/ws//a.ts', '/ws/./b/../a.ts', '/ws/a.ts/'],
];
/** Two files each. */
const different: readonly (readonly [Platform, string, string])[] = [
  ['win32', 'C:\\ws\\a', 'D:\\ws\\a'],
  ['win32', '\\\\server\\share\\a', 'C:\\server\\share\\a'],
  ['win32', 'C:\\..\\D:\\ws', 'D:\\ws'],
  ['win32', '\\\\evil\\share\\..\\..\\server\\share\\a', '\\\\server\\share\\a'],
  ['win32', 'C:\\wſ\\a', 'C:\\ws\\a'],
  ['win32', 'C:\\wor\u212a', 'C:\\work'],
  ['win32', 'C:\\ws\\kırmızı.md', 'C:\\ws\\kirmizi.md'],
  ['darwin', '/ws/kırmızı.md', '/ws/kirmizi.md'],
  ['win32', 'C:\\ws\\straße', 'C:\\ws\\strasse'],
  ['win32', 'C:\\ws\\straße', 'C:\\ws\\straẞe'],
  ['win32', 'C:\\ws\\ü', 'C:\\ws\\u\u0308'],
  ['win32', 'C:\\PROGRA~1', 'C:\\Program Files'],
  ['darwin', '/System/Volumes/Data/other/a', '/other/a'],
  ['darwin', '/System/Volumes/Database/Users/a', '/Users/a'],
  ['posix', '/System/Volumes/Data/Users/a', '/Users/a'],
  ['darwin', '/ws/a.', '/ws/a'],
  ['posix', '/ws/a', '/ws/A'],
  ['posix', '/ws/a\\b', '/ws/a/b'],
  ['posix', '/ws/a ', '/ws/a'],
  ['posix', '/ws/ü', '/ws/u\u0308'],
];

test('a file has one key by all its spellings', () => {
  for (const [platform, first, ...others] of same) {
    for (const other of others) {
      assert.equal(fileKey(other, platform), fileKey(first ?? '', platform), `${platform}: ${other} is ${first}`);
      assert.ok(isSameName(first ?? '', other, platform) && isSameName(other, first ?? '', platform), `${platform}: ${other} is ${first}`);
    }
  }
  for (const [platform, one, another] of different) {
    assert.notEqual(fileKey(one, platform), fileKey(another, platform), `${one} is ${another}`);
    assert.ok(!isSameName(one, another, platform) && !isSameName(another, one, platform), `${one} is ${another}`);
  }
});

test('an address that stands for a path is the same row as the path', () => {
  const path = 'C:\\ws\\ä.ts';
  for (const written of ['c:/ws/ä.ts', '/c:/ws/ä.ts', 'file:///c%3A/ws/%C3%A4.ts', 'file:///C:/ws/ä.ts', 'FILE://c:/ws/ä.ts'])
    assert.equal(writtenKey(written), writtenKey(path), written);
  assert.equal(writtenKey('file:///ws/a%20b.ts'), writtenKey('/ws/a b.ts'));
  assert.equal(writtenKey('/System/Volumes/Data/Users/me/a'), writtenKey('/Users/me/a'));
  const rows = byPath(['C:\\ws\\a.ts', '/c:/ws/a.ts', 'file:///c%3A/ws/a.ts'].map((one) => ({ path: one, before: '', after: one })));
  assert.deepEqual(
    rows.map((row) => [row.path, row.diffs.length]),
    [['C:\\ws\\a.ts', 3]],
  );
  // A list joins them, a permission does not.
  assert.equal(writtenKey('/Users/me/straße'), writtenKey('/Users/me/strasse'));
  assert.notEqual(writtenPermitKey('/Users/me/straße'), writtenPermitKey('/Users/me/strasse'));
  assert.equal(writtenPermitKey('/Users/me/Straße'), writtenPermitKey('/private/../Users/me/sTRAẞE'));
  assert.equal(namedPath('file:///c%3A/ws/a.ts'), 'c:\\ws\\a.ts');
  assert.equal(namedPath('/c:/ws/a.ts'), 'c:\\ws\\a.ts');
  assert.equal(namedPath('/ws/file:a'), '/ws/file:a');
});

test('the key of a plain path agrees with what path.win32 and path.posix make of it', () => {
  for (const file of [
    'C:\\ws\\a\\..\\b.ts',
    'C:\\ws\\.\\b.ts',
    'C:/ws/b.ts',
    'C:\\ws\\c\\d\\..\\..\\b.ts',
    'C:\\..\\..\\b',
    '\\\\s\\t\\..\\..\\a',
  ]) {
    assert.equal(fileKey(file, 'win32'), fileKey(path.win32.resolve(file), 'win32'), file);
  }
  for (const file of ['/ws/a/../b', '/ws/./b', '//ws/b', '/../ws/b']) {
    assert.equal(fileKey(file, 'posix'), path.posix.resolve(file).replace(/^\/\//, '/'), file);
  }
});

test('a character that some case folding makes letters of ASCII is these letters in a folded name', () => {
  // CaseFolding.txt, status F.
  const whole: Readonly<Record<string, string>> = {
    ...{ ß: 'ss', ẞ: 'ss', ﬀ: 'ff', ﬁ: 'fi', ﬂ: 'fl', ﬃ: 'ffi', ﬄ: 'ffl', ﬅ: 'st', ﬆ: 'st' },
    ...{ ſ: 's', '\u212a': 'k' },
  };
  for (const [character, letters] of Object.entries(whole)) assert.equal(foldName(`a${character}b`), `a${letters}b`, character);
  for (let code = 0x80; code < 0x110000; code += 1) {
    const character = String.fromCodePoint(code);
    const lower = character.toLowerCase();
    for (const other of [lower, character.toUpperCase(), lower.toUpperCase(), character.toUpperCase().toLowerCase()])
      if (/^[a-z]+$/i.test(other)) assert.equal(foldName(`a${character}b`), `a${other.toLowerCase()}b`, `U+${code.toString(16)}`);
  }
  for (const [one, other] of [
    ['ΟΔΟΣ', 'οδος'],
    ['ΟΔΟΣa', 'οδοςA'],
    ['J\u030c', 'ǰ'],
    ['Å', 'a\u030a'],
  ] as const)
    assert.equal(foldName(one), foldName(other), one);
});

test('what lies below a folder is told in its own spelling', () => {
  const cases: readonly (readonly [Platform, string, string, string | undefined])[] = [
    ['win32', 'c:\\ws', 'C:\\WS\\Src\\A.ts', 'Src/A.ts'],
    ['win32', 'C:\\ws\\', 'c:/ws/a', 'a'],
    ['win32', 'c:\\ws', 'C:\\ws', ''],
    ['win32', 'c:\\ws', 'C:\\ws-twin\\a', undefined],
    ['win32', 'c:\\ws', 'D:\\ws\\a', undefined],
    ['win32', 'c:\\ws', 'c:\\ws\\..\\a', undefined],
    ['win32', 'C:\\', 'c:\\a', 'a'],
    ['win32', 'C:\\ws', '\\\\server\\share\\a.ts', undefined],
    ['win32', '\\\\server\\share\\ws', '\\\\SERVER\\share\\ws\\a.ts', 'a.ts'],
    ['darwin', '/tmp/ws', '/private/tmp/ws/a', 'a'],
    ['darwin', '/private/var/ws', '/var/WS/a', 'a'],
    ['darwin', '/private/ws', '/ws/a', undefined],
    ['posix', '/tmp/ws', '/private/tmp/ws/a', undefined],
    ['darwin', '/Users/me/strasse', '/Users/me/straße/a', undefined],
    ['darwin', '/Users/me/straße', '/Users/me/STRAẞE/a', 'a'],
    ['darwin', '/Users/Me/ws', '/users/me/WS/Ä', 'Ä'],
    ['posix', '/ws', '/ws/a/../b', 'b'],
    ['posix', '/ws', '/WS/a', undefined],
    ['posix', '/', '/a', 'a'],
  ];
  for (const [platform, folder, file, below] of cases)
    assert.equal(pathBelowFolder(folder, file, platform), below, `${file} below ${folder}`);
});

test('a network folder or a device is another server, unless a known folder is in it', () => {
  const elsewhere = (target: string, ...folders: string[]) => isOnOtherServer(target, folders, 'win32');
  for (const target of [
    '\\\\evil\\share\\a',
    '//evil/share',
    '\\\\?\\UNC\\evil\\share\\a',
    '\\\\.\\pipe\\a',
    '\\\\?\\GLOBALROOT\\Device\\a',
    '\\\\?\\GLOBALROOT\\Device\\Mup\\evil\\share\\a',
    '\\\\.\\UNC\\evil\\share\\a',
    '\\\\?\\\\UNC\\\\evil\\share',
    '\\??\\UNC\\evil\\share\\a',
    '\\/evil/share\\a',
    '/\\evil\\share/a',
    '//?/UNC/evil/share',
    '///evil/share/a',
    '\\\\evil@SSL\\DavWWWRoot\\a',
    '\\\\evil@SSL@8443\\share\\a',
    '\\\\127.0.0.1\\c$\\a',
    '\\\\evil\\share\\..\\..\\server\\share\\ws\\a',
    '\\\\evil\\..\\server\\share\\ws\\a',
    '\\\\server.evil\\share\\ws',
    '\\\\server\\share2\\ws',
    '\\\\server',
    '\\\\?\\C:\\..\\..\\UNC\\evil\\s\\a',
    '\\\\?\\C:\\x\\..\\..\\UNC\\evil\\s\\a',
    '\\\\.\\C:\\..\\UNC\\evil\\s\\a',
    '\\\\.\\C:\\.. \\UNC\\evil\\s\\a',
    '\\??\\C:\\..\\UNC\\evil\\s\\a',
    '//?/C:/../UNC/evil/s/a',
    '\\\\?\\c:\\..\\GLOBALROOT\\Device\\Mup\\evil\\s\\a',
    pathOfUri('file://evil/share/a'),
    pathOfUri('file:////evil/share/a'),
    pathOfUri('file://evil@SSL/share/a'),
    resolvePath('C:\\ws', '//evil/share/a'),
  ])
    assert.ok(elsewhere(target, 'C:\\ws', '\\\\server\\share\\ws'), target);
  for (const target of ['C:\\a', '\\\\?\\C:\\a', '\\\\.\\c:\\a', '\\??\\C:\\a', '/a', 'a', '\\a', 'a//b', '/?/a'])
    assert.ok(!elsewhere(target, 'C:\\ws'), target);
  for (const target of ['\\\\SERVER\\Share\\b', '//server/share', '\\\\?\\UNC\\server\\share\\b'])
    assert.ok(!elsewhere(target, 'Z:\\ws', '\\\\server\\share\\ws'), target);
  assert.ok(elsewhere('\\\\server\\other\\b', '\\\\server\\share\\ws'));
  assert.ok(!isOnOtherServer('//evil/share', ['/ws'], 'posix'));
});

test('a path of any length costs time in proportion', () => {
  for (const platform of ['win32', 'darwin', 'posix'] as const) {
    for (const piece of ['a/', '../', '. ', '::$DATA', '\\\\?\\']) {
      assertLinear(`${platform} ${piece}`, 4000, (size) => () => fileKey(`/${piece.repeat(size)}x`, platform));
    }
  }
});

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { guardReason, setGuardedFiles } from '../../src/base/guardedFiles.ts';
import { assertLinear } from '../attack/linear.ts';
import { deceptiveNames } from '../attack/names.ts';

/** Ordinary files: a question about each would teach the user to stop reading. */
const ordinary = [
  'src/a.ts',
  'src/.hidden.ts',
  'build/out.js',
  'src/build/plan.ts',
  'README.md',
  'docs/agents/index.md',
  'src/hooks/useThing.ts',
  'src/config.ts',
  'src/settings.json',
  'test/fixtures/data.json',
  'styles/main.css',
  'git/notes.txt',
  'src/vscode.ts',
  'envrc',
  'makefiles.md',
  'my-package.json5',
  'a.b.c',
  '...rest.ts',
  'résumé.md',
  '文档/说明.md',
  'ｆｕｌｌｗｉｄｔｈ.md',
  'notes ❤️.md',
  'console.ts',
  'auxiliary.c',
  'com10.ts',
  'a~b.txt',
  'tilde~',
  'lib/index.d.ts',
  'Main.java',
  'main.go',
  'lib.rs',
  'app.py',
];
test('files that run by themselves are guarded by every name a system opens them under', () => {
  const all = deceptiveNames();
  for (const { name, trick } of all) assert.ok(guardReason(name), `${trick}: ${JSON.stringify(name)}`);
  assert.ok(all.length >= 200);
});

test('files that Windows reads by itself are guarded', () => {
  for (const name of ['App.csproj.user', '.vs/x/v17/.suo', 'x.suo', 'a.library-ms', 'b.searchConnector-ms'])
    assert.ok(guardReason(name), name);
});

test('ordinary files are not guarded', () => {
  for (const name of ordinary) assert.equal(guardReason(name), undefined, name);
});

test('signs that no text shows take no guard off', () => {
  for (const sign of ['\u2028', '\u2029', '\u1680', '\ufff9', '\ufffa', '\ufffb'])
    assert.notEqual(guardReason(`.envrc${sign}`), undefined, `U+${sign.codePointAt(0)?.toString(16)}`);
});

test('the user adds names and paths, and what is listed stays', () => {
  after(() => setGuardedFiles([]));
  setGuardedFiles(['*.Sql', 'infra/**', 'secret\\**']);
  assert.equal(guardReason('secret/a/b'), 'user');
  assert.equal(guardReason('db/schema.SQL'), 'user');
  assert.equal(guardReason('infra/a/b.ts'), 'user');
  assert.equal(guardReason('src/infra/a.ts'), undefined);
  assert.equal(guardReason('.envrc'), 'shell');
});

test('a letter that macOS takes for two takes no guard off', () => {
  after(() => setGuardedFiles([]));
  setGuardedFiles(['Straße/**', 'ΟΔΟΣ*']);
  const guarded = [
    'serverless.yml',
    '.ssh/config',
    '.harness',
    'crossplane.yaml',
    '.xsessionrc',
    'fastfile',
    'pipfile',
    'dockerfile',
    '.git',
  ];
  for (const name of guarded) {
    for (const [letters, character] of Object.entries({ ss: 'ẞ', ss2: 'ß', st: 'ﬆ', st2: 'ﬅ', fi: 'ﬁ', s: 'ſ', k: '\u212a' }))
      assert.ok(guardReason(name.replaceAll(letters.replace('2', ''), character)), `${name} with ${character}`);
  }
  for (const name of ['STRAẞE/a', 'strasse/a', 'straße/a', 'ΟΔΟΣ.md', 'οδοσα']) assert.equal(guardReason(name), 'user', name);
});

test('a path that no system opens is always asked about', () => {
  assert.equal(guardReason(`${'a/'.repeat(2000)}x`), undefined);
  assert.equal(guardReason(`${'a/'.repeat(20_000)}x`), 'name');
});

test('a name of any length costs time in proportion', () => {
  for (const piece of ['a', '.', '*', 'ſ', '\u200d', '/a', '~']) {
    assertLinear(`guard ${piece}`, 3000, (size) => () => guardReason(`${piece.repeat(size)}x`));
  }
});

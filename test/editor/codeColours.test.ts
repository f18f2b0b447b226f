import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { CodeColours } from '../../src/editor/codeColours.ts';
import { grammarsOf } from '../../src/editor/grammars.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'parley-grammars-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const grammar = (name: string, scopeName: string, patterns: readonly object[]) =>
  writeFileSync(path.join(folder, name), JSON.stringify({ scopeName, patterns }));
grammar('toy.json', 'source.toy', [
  { match: '\\b(if|else)\\b', name: 'keyword.control.toy' },
  { begin: '/\\*', end: '\\*/', name: 'comment.block.toy' },
  { match: '([a-z]+)(?=\\()', name: 'entity.name.function.toy' },
]);
grammar('more.json', 'more.injection', [{ match: 'TODO', name: 'keyword.todo' }]);
const more = { scopeName: 'more.injection', path: './more.json', injectTo: ['source.toy'] };
const manifest = {
  contributes: {
    languages: [{ id: 'toy', aliases: ['Toy Language', 'ty'], extensions: ['.toy'] }, { id: 7 }, 'nonsense'],
    grammars: [{ language: 'toy', scopeName: 'source.toy', path: './toy.json' }, more, { language: 'none' }, null],
  },
};
writeFileSync(
  path.join(folder, 'more.json'),
  JSON.stringify({ ...more, injectionSelector: 'L:comment', patterns: [{ match: 'TODO', name: 'keyword.todo' }] }),
);
const grammars = grammarsOf([
  { folder, manifest },
  { folder, manifest: undefined },
  { folder, manifest: { contributes: 'no' } },
]);
const loaded = CodeColours.load('node_modules/vscode-oniguruma/release/onig.wasm', grammars);
const rules = [
  { scope: ['keyword'], settings: { foreground: '#AA0000', fontStyle: 'bold' } },
  { scope: ['comment'], settings: { foreground: '#00AA00', fontStyle: 'italic' } },
  { scope: ['source.toy entity.name'], settings: { foreground: '#0000AA' } },
];

test('a language is known by its id, its other names and the ending of its files', () => {
  assert.deepEqual(
    ['toy', 'TOY', 'ty', 'Toy Language', 'text', 'console', ''].map((name) => grammars.scopeOf(name)),
    ['source.toy', 'source.toy', 'source.toy', 'source.toy', undefined, undefined, undefined],
  );
});

test('code has the colours and fonts of the theme, over several lines, with what other grammars put in', async () => {
  assert.deepEqual(await (await loaded).colour('if go(a)\n/* one\nTODO */ b', 'toy', rules), {
    looks: [{}, { colour: '#AA0000', font: 2 }, { colour: '#0000AA' }, { colour: '#00AA00', font: 1 }],
    lines: [
      [2, 1, 1, 0, 2, 2, 3, 0],
      [6, 3],
      [4, 1, 3, 3, 2, 0],
    ],
  });
});

test('another theme gives other colours; a language without a grammar none', async () => {
  const other = [{ scope: ['keyword'], settings: { foreground: '#123456' } }];
  assert.deepEqual((await (await loaded).colour('if', 'toy', other))?.looks, [{}, { colour: '#123456' }]);
  assert.equal(await (await loaded).colour('if', 'klingon', rules), null);
});

test('a line that is too long stays plain, and the others are coloured', async () => {
  const found = await (await loaded).colour(`${'if '.repeat(2_000)}\nif`, 'toy', rules);
  assert.deepEqual(found?.lines, [[], [2, 1]]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { themeRules } from '../../src/editor/themeRules.ts';

const read = (files: Readonly<Record<string, string>>) => async (name: string) => files[name];

test('a theme is read with its includes and comments; what is no colour and no style is left out', async () => {
  const files = {
    'themes/child.json': `{ // with comments
      "include": "./base.json",
      "tokenColors": [ { "scope": ["entity.name.function", "source.c keyword"], "settings": { "foreground": "#111111", }, }, ],
    }`,
    'themes/base.json': JSON.stringify({
      tokenColors: [
        { settings: { foreground: '#999999' } },
        { scope: 'entity.name, comment', settings: { foreground: '#222222' } },
        { scope: 'string', settings: { foreground: '#444444', fontStyle: 'italic' } },
        { scope: 'constant.numeric', settings: { foreground: 'red; } body { display: none' } },
        { scope: 'markup', settings: { fontStyle: 'bold; } x {' } },
      ],
    }),
  };
  assert.deepEqual(await themeRules('themes/child.json', 'Mine', undefined, read(files)), [
    { scope: ['entity.name', 'comment'], settings: { foreground: '#222222' } },
    { scope: ['string'], settings: { foreground: '#444444', fontStyle: 'italic' } },
    { scope: ['entity.name.function', 'source.c keyword'], settings: { foreground: '#111111' } },
  ]);
});

test('what the user sets for all themes, and for this one, comes after the theme', async () => {
  const files = { 'a.json': JSON.stringify({ tokenColors: [{ scope: 'comment', settings: { foreground: '#000000' } }] }) };
  const custom = {
    comments: '#aaaaaa',
    strings: { foreground: '#bbbbbb' },
    '[Mine]': { comments: '#cccccc' },
    '[Other]': { strings: '#dddddd' },
    '[Mi*]': { textMateRules: [{ scope: 'constant.numeric', settings: { foreground: '#eee' } }] },
  };
  const rules = await themeRules('a.json', 'Mine', custom, read(files));
  assert.deepEqual(
    rules.map(({ scope, settings }) => `${scope} ${settings.foreground}`),
    [
      'comment #000000',
      'comment,punctuation.definition.comment #aaaaaa',
      'string,meta.embedded.assembly #bbbbbb',
      'comment,punctuation.definition.comment #cccccc',
      'constant.numeric #eee',
    ],
  );
});

test('themes that include themselves, are no JSON or are missing give nothing', async () => {
  assert.deepEqual(await themeRules('a.json', 'x', undefined, read({ 'a.json': '{ "include": "a.json" }' })), []);
  assert.deepEqual(await themeRules('a.json', 'x', undefined, read({ 'a.json': '<plist/>' })), []);
  assert.deepEqual(await themeRules('gone.json', 'x', { textMateRules: 'all' }, read({})), []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenColours } from '../../src/editor/tokenColours.ts';

const read = (files: Readonly<Record<string, string>>) => async (name: string) => files[name];

test('a theme is read with its includes and comments; the narrower scope wins, and of two alike the later', async () => {
  const files = {
    'themes/child.json': `{ // with comments
      "include": "./base.json",
      "tokenColors": [ { "scope": ["entity.name.function", "source.c keyword"], "settings": { "foreground": "#111111", }, }, ],
    }`,
    'themes/base.json': JSON.stringify({
      tokenColors: [
        { settings: { foreground: '#999999' } },
        { scope: 'entity.name, comment', settings: { foreground: '#222222' } },
        { scope: 'keyword', settings: { foreground: '#333333' } },
        { scope: 'string', settings: { foreground: '#444444', fontStyle: 'italic' } },
        { scope: 'string', settings: { foreground: '#555555' } },
        { scope: 'constant.numeric', settings: { foreground: 'red; } body { display: none' } },
      ],
    }),
  };
  const colours = await tokenColours('themes/child.json', 'Mine', undefined, read(files));
  assert.deepEqual(colours, {
    comment: '#222222',
    function: '#111111',
    keyword: '#333333',
    regexp: '#555555',
    string: '#555555',
    tag: '#222222',
    type: '#222222',
  });
});

test('what the user sets for all themes, and for this one, stands above the theme', async () => {
  const files = { 'a.json': JSON.stringify({ tokenColors: [{ scope: 'comment', settings: { foreground: '#000000' } }] }) };
  const custom = {
    comments: '#aaaaaa',
    strings: { foreground: '#bbbbbb' },
    '[Mine]': { comments: '#cccccc' },
    '[Other]': { strings: '#dddddd' },
    '[Mi*]': { textMateRules: [{ scope: 'constant.numeric', settings: { foreground: '#eee' } }] },
  };
  const { comment, string, number } = await tokenColours('a.json', 'Mine', custom, read(files));
  assert.deepEqual([comment, string, number], ['#cccccc', '#bbbbbb', '#eee']);
});

test('themes that include themselves, are no JSON or are missing give nothing', async () => {
  assert.deepEqual(await tokenColours('a.json', 'x', undefined, read({ 'a.json': '{ "include": "a.json" }' })), {});
  assert.deepEqual(await tokenColours('a.json', 'x', undefined, read({ 'a.json': '<plist/>' })), {});
  assert.deepEqual(await tokenColours('gone.json', 'x', { textMateRules: 'all' }, read({})), {});
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { globMatcher, searchGlob } from '../../src/base/glob.ts';
import { assertLinear } from '../attack/linear.ts';

test('globs over paths', () => {
  const cases: [string, string, boolean][] = [
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/deep/a.ts', false],
    ['src/**', 'src/deep/a.ts', true],
    ['src/**', 'srcs/a.ts', false],
    ['**/*.ts', 'a.ts', true],
    ['**/*.ts', 'x/y/a.ts', true],
    ['**/*.ts', 'x/y/a.tsx', false],
    ['**/a.ts', 'xa.ts', false],
    ['x*/**/a', 'xy/b/a', true],
    ['?.ts', 'a.ts', true],
    ['?.ts', '/.ts', false],
    ['?', '😀', true],
    ['a**b', 'a/x/b', true],
    ['***', 'a/b', true],
    ['**/**/a', 'a', true],
    ['[a].ts', 'a.ts', false],
    ['', '', true],
    ['', 'a', false],
    ['**', '', true],
  ];
  for (const [glob, path, fits] of cases) assert.equal(globMatcher(glob, 'path')(path), fits, `${glob} on ${path}`);
});

test('a star of a text stands for anything, slashes and line ends too', () => {
  assert.equal(globMatcher('git *', 'text')('git log -- a/b'), true);
  assert.equal(globMatcher('git *', 'text')('git log\nrm x'), true);
  assert.equal(globMatcher('git *', 'text')('digit x'), false);
});

test('search globs know braces and classes', () => {
  const cases: [string, string, boolean][] = [
    ['*.{ts,tsx}', 'a.tsx', true],
    ['*.{ts,tsx}', 'a.js', false],
    ['{a,b{c,d}}.ts', 'bd.ts', true],
    ['{a}.ts', '{a}.ts', true],
    ['[a-c].ts', 'b.ts', true],
    ['[!a-c].ts', 'b.ts', false],
    ['[!a-c].ts', 'd.ts', true],
    ['[]].ts', '].ts', true],
    ['[a.ts', '[a.ts', true],
    ['\\*.ts', '*.ts', true],
    ['\\*.ts', 'a.ts', false],
    ['[!a]b', '/b', false],
  ];
  for (const [glob, path, fits] of cases) assert.equal(searchGlob(glob)(path), fits, `${glob} on ${path}`);
  assert.throws(() => searchGlob('{a,b}'.repeat(12)), /too many/);
});

test('matching takes time in proportion to the text, whatever the stars', () => {
  const stars = '*a'.repeat(20);
  const matches = globMatcher(`${stars}b`, 'text');
  assert.equal(matches('a'.repeat(1000)), false);
  assertLinear('stars over a command', 20_000, (size) => {
    const text = 'a'.repeat(size);
    return () => matches(text);
  });
  const folders = globMatcher(`${'**/a/'.repeat(20)}b`, 'path');
  assertLinear('folders over a path', 20_000, (size) => {
    const text = 'a/'.repeat(size / 2);
    return () => folders(text);
  });
});

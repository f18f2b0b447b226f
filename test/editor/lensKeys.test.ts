import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { changeWords, LENS_KEYS, lensTooltip } from '../../src/editor/review/lenses.ts';

interface Bound {
  readonly command: string;
  readonly key: string;
  readonly mac: string;
  readonly args?: unknown;
}

test('the keys in the tooltips of lenses are those that the manifest binds', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly contributes: { readonly keybindings: readonly Bound[] } };
  const bound = manifest.contributes.keybindings.filter(({ args }) => args === undefined);
  for (const [command, keys] of Object.entries(LENS_KEYS)) {
    const { key, mac } = bound.find((one) => one.command === command) ?? {};
    assert.deepEqual([key, mac], [`ctrl+k ${keys.toLowerCase()}`, `cmd+k ${keys.toLowerCase()}`], command);
  }
});

test('a tooltip names the keys of the keyboard in front of the user, both where it may be either', () => {
  const [title, command] = ['Reject with feedback', 'parley.diffFeedback'];
  assert.equal(lensTooltip(title, command, 'other'), 'Reject with feedback (Ctrl+K Shift+X)');
  assert.equal(lensTooltip(title, command, 'mac'), 'Reject with feedback (⌘K ⇧X)');
  assert.equal(lensTooltip(title, command, 'either'), 'Reject with feedback (Ctrl+K Shift+X, ⌘K ⇧X)');
  assert.equal(lensTooltip('1/2', '', 'other'), undefined);
});

test('a file without hunks says why it has none, and what has changed of it', () => {
  const form = (before: string, after = before) => changeWords({ form: { before, after } });
  assert.equal(form('UTF-16 LE LF'), 'not UTF-8 · UTF-16 LE LF');
  assert.equal(form('UTF-8 LF', 'windows1252 LF'), 'not UTF-8 · UTF-8 LF → windows1252 LF');
  assert.equal(form('UTF-8 CRLF', 'UTF-8 BOM LF'), 'UTF-8 CRLF → UTF-8 BOM LF', 'the text is UTF-8');
  assert.equal(changeWords({ permissions: { before: 'rw-r--r--', after: 'rwxr-xr-x' } }), 'rw-r--r-- → rwxr-xr-x');
  assert.equal(changeWords({ links: { after: 'there' } }), '+ → there');
  assert.equal(changeWords({ noLines: 'binary' }), 'binary');
  assert.equal(changeWords({ noLines: 'large' }), 'large');
  assert.equal(changeWords({ noLines: 'encoding' }), 'not UTF-8');
  assert.equal(changeWords({}), 'binary, large or not UTF-8', 'as an earlier version has kept it');
  assert.equal(changeWords({}, true), 'deleted');
});

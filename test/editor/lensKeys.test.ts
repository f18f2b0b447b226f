import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LENS_KEYS, lensTooltip } from '../../src/editor/review/lenses.ts';

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

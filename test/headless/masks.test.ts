import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Masks } from '../../src/headless/masks.ts';

test('a setting is kept secret by every name that the protocol log knows, and by those that only tell one in a setting', () => {
  const masks = new Masks();
  masks.addNamed({ PASSPHRASE: 'open sesame', HOOK_WEBHOOK: 'https://h/1', MAP_KEY: 'k-123', X_AUTH: 'Bearer b-456', LANG: 'en_US' });
  assert.equal(masks.text('open sesame, https://h/1, k-123, b-456, en_US'), '***, ***, ***, ***, en_US');
});

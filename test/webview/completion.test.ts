import './dom.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandMenu } from '../../webview/completion.ts';

test('an alias that is typed whole is inserted as it is; a part of one, or of a name, becomes the name', () => {
  const commands = [{ name: 'clear', description: 'Forget', aliases: ['reset'] }];
  const inserted = (text: string) => commandMenu(text, text.length, commands)?.items.map((item) => item.insert);
  assert.deepEqual(inserted('/reset'), ['/reset ']);
  assert.deepEqual(inserted('/rese'), ['/clear ']);
  assert.deepEqual(inserted('/cl'), ['/clear ']);
  assert.deepEqual(inserted('/clear'), ['/clear ']);
});

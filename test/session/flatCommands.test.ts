import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from '../../src/session/model.ts';
import { flatCommands } from '../../src/session/select.ts';

const command = (name: string, children?: readonly Command[]): Command => ({
  name,
  description: '',
  aliases: [],
  ...(children ? { children } : {}),
});

test('commands below a command are listed after it, with their whole path', () => {
  const flat = flatCommands([command('memory', [command('add'), command('list')]), command('help')]);
  assert.deepEqual(
    flat.map((one) => one.path.join(' ')),
    ['memory', 'memory add', 'memory list', 'help'],
  );
});

import assert from 'node:assert/strict';
import * as vscode from 'vscode';

interface Binding {
  readonly key: string;
  readonly command: string;
  readonly when?: string;
}

describe('keybindings', () => {
  it('take no key that the editor uses, but in a list or a box of ours', async () => {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse('vscode://defaultsettings/keybindings.json'));
    const list = document.getText().replaceAll(/^\s*\/\/.*$/gm, '');
    const all = JSON.parse(list.slice(list.indexOf('['), list.lastIndexOf(']') + 1)) as readonly Binding[];
    assert.ok(all.length > 300, `only ${all.length} keybindings were read`);
    const ours = all.filter(
      ({ command, when = '' }) => command.startsWith('parley.') && !/\b(?:focusedView|commentController) == '?parley\./.test(when),
    );
    assert.ok(ours.length > 0);
    const taken = new Map(all.filter(({ command }) => !command.startsWith('parley.')).map((binding) => [binding.key, binding.command]));
    assert.deepEqual(
      ours.filter((binding) => taken.has(binding.key)).map((binding) => `${binding.command}: ${binding.key} is ${taken.get(binding.key)}`),
      [],
    );
  });
});

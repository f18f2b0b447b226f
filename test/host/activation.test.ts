import assert from 'node:assert/strict';
import * as vscode from 'vscode';

describe('activation', () => {
  it('happens, in the workspace extension host', async () => {
    const extension = vscode.extensions.getExtension('parley.parley');
    assert.ok(extension, 'the extension is not there');
    await extension.activate();
    assert.equal(extension.isActive, true);
    assert.equal(extension.extensionKind, vscode.ExtensionKind.Workspace);
  });

  it('registers the commands of the manifest and no others', async () => {
    const extension = vscode.extensions.getExtension('parley.parley');
    const manifest = extension?.packageJSON as { contributes: { commands: readonly { command: string }[] } };
    // The editor makes commands of its own for every view.
    const made = /^parley\.\w+\.(focus|open|removeView|resetViewLocation|toggleVisibility)$/;
    const registered = (await vscode.commands.getCommands(true)).filter((id) => id.startsWith('parley.') && !made.test(id));
    const stated = manifest.contributes.commands.map((entry) => entry.command);
    assert.deepEqual(registered.sort(), stated.sort());
  });
});

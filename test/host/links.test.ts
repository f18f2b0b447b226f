import assert from 'node:assert/strict';
import path from 'node:path';
import * as vscode from 'vscode';
import { type ChatAnswersDeps, chatAnswers } from '../../src/editor/chatAnswers.ts';
import { newSession } from '../../src/session/reduce.ts';

describe('links of the chat', () => {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
  const now = newSession('s', { protocol: 'acp', name: 'x' }, folder);
  // What these answers look at.
  const deps = {
    sessions: { active: 's', all: ['s'], get: () => ({ store: { now } }) },
    changes: { firstLine: async () => undefined },
  } as unknown as ChatAnswersDeps;
  const { existing, open } = chatAnswers(deps);
  const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs).length;

  it('one to a missing file, or to one of another system, opens nothing and says so', async () => {
    const before = tabs();
    for (const file of ['C:\\ws\\a.ts', '\\\\server\\share\\x', path.join(folder, 'gone.ts')]) {
      if (file.includes('\\') && process.platform === 'win32') continue;
      for (const line of [{}, { line: 3 }])
        await assert.rejects(async () => open({ path: file, ...line }), { message: `${file} does not exist.` });
    }
    assert.equal(tabs(), before);
  });

  it('one to a file that exists, or to an unsaved one that is open, is followed', async () => {
    const file = path.join(folder, 'linked.txt');
    const uri = vscode.Uri.file(file);
    await vscode.workspace.fs.writeFile(uri, Buffer.from('abc\nb\n'));
    assert.deepEqual(await existing({ paths: [file, path.join(folder, 'gone.ts')] }), [file]);
    await open({ path: file, line: 1, column: 3 });
    assert.equal(vscode.window.activeTextEditor?.selection.active.character, 2);
    await open({ path: file, line: 1, column: 900 });
    assert.equal(vscode.window.activeTextEditor?.selection.active.character, 3, 'a line that has become shorter');
    await open({ path: file, line: 2 });
    assert.equal(vscode.window.activeTextEditor?.document.uri.fsPath, uri.fsPath);
    assert.equal(vscode.window.activeTextEditor.selection.active.line, 1);
    await vscode.workspace.fs.delete(uri);
    await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
  });
});

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { warnOfUnsaved } from '../../src/editor/unsaved.ts';
import type { Approval } from '../../src/session/model.ts';
import { FakeSessionHost, options } from './fakeHost.ts';

describe('an edit of a file with unsaved text', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'unsaved-'));
  const file = path.join(folder, 'a.txt');
  const edit = (id: string, of: string): Approval => ({
    kind: 'approval',
    id,
    turnId: 't',
    title: 'Edit',
    detail: { type: 'edit', diffs: [{ path: of, before: 'one', after: 'two' }] },
    options,
  });

  after(async () => {
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    rmSync(folder, { recursive: true });
  });

  it('is pointed out once, and saved when the user says so; the ask stays', async () => {
    writeFileSync(file, 'one\n');
    writeFileSync(path.join(folder, 'b.txt'), 'b\n');
    const editor = await vscode.window.showTextDocument(vscode.Uri.file(file));
    await editor.edit((change) => change.insert(new vscode.Position(1, 0), 'mine\n'));
    const fakeHost = new FakeSessionHost(folder, 'a');
    const asked: string[] = [];
    let answer: string | undefined;
    const watching = warnOfUnsaved(fakeHost, async (text, action) => {
      asked.push(text);
      return answer && action;
    });
    fakeHost.open(edit('other', path.join(folder, 'b.txt')));
    assert.deepEqual(asked, []);
    fakeHost.open(edit('first', 'a.txt'));
    assert.equal(asked.length, 1);
    assert.match(asked[0] ?? '', /Agent a wants to change .*a\.txt/);
    assert.ok(editor.document.isDirty);
    // Agents name a file by another spelling of its path; here through a link.
    symlinkSync(folder, path.join(folder, 'link'));
    fakeHost.open(edit('linked', path.join(folder, 'link', 'a.txt')));
    assert.equal(asked.length, 2);
    answer = 'save';
    const saved = new Promise((resolve) => vscode.workspace.onDidSaveTextDocument(resolve));
    fakeHost.open(edit('second', file));
    await saved;
    assert.equal(readFileSync(file, 'utf8'), 'one\nmine\n');
    assert.deepEqual(fakeHost.openAsks(), ['other', 'first', 'linked', 'second']);
    watching.dispose();
  });
});

import assert from 'node:assert/strict';
import path from 'node:path';
import * as vscode from 'vscode';
import { contextContent } from '../../src/editor/context.ts';
import { MentionFinder } from '../../src/editor/findMentions.ts';
import { RecentCommands } from '../../src/editor/recentCommands.ts';

describe('what can be named after an @', () => {
  const recent = new RecentCommands();
  const finder = new MentionFinder(recent);
  const root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
  const problems = vscode.languages.createDiagnosticCollection('mentions test');
  after(() => {
    recent.dispose();
    problems.dispose();
  });

  it('folders are found by their names, with a slash at the end', async () => {
    const found = await finder.find('src');
    const folder = found.find(({ kind }) => kind === 'folder');
    assert.deepEqual(folder, { kind: 'folder', path: `${path.join(root, 'src')}${path.sep}`, label: 'src/' });
    assert.ok((await finder.find('')).every(({ kind }) => kind !== 'folder'));
  });

  it('without a query the files in tabs come first, and no others that are open unseen', async () => {
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    await vscode.workspace.openTextDocument(path.join(root, 'src', 'tags.js'));
    const files = async () => (await finder.find('')).filter(({ kind }) => kind === 'file').map(({ label }) => label);
    assert.ok(!(await files())[0]?.startsWith('src/'), String(await files()));
    await vscode.window.showTextDocument(vscode.Uri.file(path.join(root, 'src', 'notes.ts')), { preview: false });
    assert.equal((await files())[0], 'src/notes.ts');
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  });

  it('a symbol is found at the first try, before any file of its language is open', async () => {
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    const found = await finder.findSymbols('parseNote');
    assert.ok(
      found.some(({ label, path: file }) => /^parseNote(\(\))?$/.test(label) && file.startsWith(root)),
      JSON.stringify(found),
    );
  });

  it('problems can be chosen while there are some, and are attached one a line', async () => {
    const kinds = async () => (await finder.find('')).filter((one) => !('empty' in one)).map(({ kind }) => kind);
    assert.ok(!(await kinds()).includes('problems'));
    const all = await finder.find('');
    const kindsFirst = ['browse', 'selection', 'problems', 'changes', 'terminal', 'openEditors'];
    assert.deepEqual(new Set(all.slice(0, 6).map(({ kind }) => kind)), new Set(kindsFirst), 'before fifty files');
    assert.ok(all.slice(6).length > 0 && all.slice(6).every(({ kind }) => kind === 'file'));
    const typed = await finder.find('s');
    assert.ok(
      typed.findLastIndex(({ kind }) => kind === 'file') < typed.findIndex((one) => 'empty' in one),
      'to one who types, what is empty comes last',
    );
    assert.ok((await finder.find('problems')).some(({ kind, detail }) => kind === 'problems' && detail === 'Nothing found'));
    const range = new vscode.Range(4, 2, 4, 9);
    problems.set(vscode.Uri.file(path.join(root, 'src', 'main.ts')), [new vscode.Diagnostic(range, 'Cannot find this.')]);
    assert.ok((await kinds()).includes('problems'));
    assert.ok((await finder.find('prob')).some(({ kind }) => kind === 'problems'));
    assert.deepEqual(await contextContent('problems', undefined), [
      { type: 'file', path: 'Problems (1)', text: `src${path.sep}main.ts:5:3: error: Cannot find this.`.replaceAll('\\', '/') },
    ]);
  });

  it('the selection is attached with its place', async () => {
    const document = await vscode.workspace.openTextDocument(path.join(root, 'src', 'main.ts'));
    const editor = await vscode.window.showTextDocument(document);
    editor.selection = new vscode.Selection(0, 0, 1, 0);
    const [content] = await contextContent('selection', undefined);
    assert.ok(content?.type === 'file');
    assert.deepEqual(content.lines, [1, 1]);
    editor.selection = new vscode.Selection(0, 0, 0, 0);
    assert.deepEqual(await contextContent('selection', undefined), []);
    await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
  });

  it('the open editors can be chosen with one file open, and not with none', async () => {
    const kinds = async () => (await finder.find('')).filter((one) => !('empty' in one)).map(({ kind }) => kind);
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    assert.ok(!(await kinds()).includes('openEditors'));
    const file = path.join(root, 'src', 'main.ts');
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(file));
    assert.ok((await kinds()).includes('openEditors'));
    assert.deepEqual(await contextContent('openEditors', undefined), [{ type: 'file', path: file }]);
    await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
  });

  it('the last command of a terminal is attached with its output and how it ended', async () => {
    const [content] = await contextContent('terminal', { command: 'npm test', output: 'one failed\n', exit: 1 });
    assert.deepEqual(content, { type: 'file', path: 'Terminal: npm test', text: '$ npm test\none failed\nexit 1' });
    const [lost] = await contextContent('terminal', { command: 'true', output: undefined, exit: 0 });
    assert.deepEqual(lost, { type: 'file', path: 'Terminal: true', text: '$ true\n(The output is unknown.)\nexit 0' });
  });
});

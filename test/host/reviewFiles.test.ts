import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { silentLog } from '../../src/base/log.ts';
import { editorFiles, fileEffects } from '../../src/editor/files.ts';
import { followSaves } from '../../src/editor/review/userSaves.ts';
import { ChangeSet } from '../../src/live/review/changeSet.ts';
import { ContentStore } from '../../src/live/review/contentStore.ts';
import { hunksOfSegments } from '../../src/session/segments.ts';
import { settled } from './settled.ts';

/** An agent that writes to the disk by itself, and a user who has the file open. */
describe('review of files of all kinds, as the editor has them', () => {
  let folder: string;
  let state: string;
  let set: ChangeSet;
  const place = (name: string) => path.join(folder, name);
  const uri = (name: string) => vscode.Uri.file(place(name));
  const bytes = (name: string) => readFileSync(place(name));
  const turn = async (act: () => void | Promise<void>) => {
    await set.startTurn('t');
    await act();
    await set.look(undefined, true);
  };
  const hunks = async (name: string) => hunksOfSegments((await set.segments(place(name))) ?? []);
  const edited = async (document: vscode.TextDocument, at: vscode.Position, text: string) => {
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, at, text);
    assert.equal(await vscode.workspace.applyEdit(edit), true);
  };
  const shown = async (name: string) => {
    const document = await vscode.workspace.openTextDocument(uri(name));
    await vscode.window.showTextDocument(document);
    return document;
  };
  const open = (name: string) => vscode.workspace.textDocuments.some((one) => one.uri.fsPath === place(name) && !one.isClosed);

  beforeEach(() => {
    const [workspace] = vscode.workspace.workspaceFolders ?? [];
    assert.ok(workspace);
    // In the workspace, where the editor follows what happens on the disk.
    folder = mkdtempSync(path.join(workspace.uri.fsPath, 'review-'));
    state = mkdtempSync(path.join(os.tmpdir(), 'review-state-'));
    const effects = { ...fileEffects, folders: () => [] };
    set = new ChangeSet(folder, path.join(state, 's.json'), {
      store: new ContentStore(path.join(state, 'objects')),
      effects,
      log: silentLog,
    });
  });
  afterEach(async () => {
    await vscode.workspace.saveAll();
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    for (const one of [folder, state]) rmSync(one, { recursive: true, force: true });
  });

  it('different line ends: each hunk goes back byte for byte, in front or not; unsaved text, whose save makes them one kind, is saved first', async () => {
    const before = 'one\r\ntwo\nthree\r\nfour\rfive\u0085\f\nsix\r\nseven\n';
    const after = before.replace('two\n', 'agent two\r\n').replace('six\r\n', 'six\r\nagent seven\n');
    writeFileSync(place('mixed.txt'), before);
    await turn(() => writeFileSync(place('mixed.txt'), after));
    const document = await shown('mixed.txt');
    const [first] = await hunks('mixed.txt');
    assert.ok(first);
    assert.equal(document.lineAt(first.afterLine).text, 'agent two');
    await set.settle(place('mixed.txt'), 'undo', [first]);
    assert.equal(bytes('mixed.txt').toString(), after.replace('agent two\r\n', 'two\n'));
    await settled(() => document.lineAt(1).text === 'two' && !document.isDirty);
    await edited(document, new vscode.Position(0, 0), 'mine ');
    const [second] = await hunks('mixed.txt');
    assert.ok(second);
    assert.equal(document.lineAt(second.afterLine).text, 'agent seven');
    await assert.rejects(set.settle(place('mixed.txt'), 'undo', [second]), /mixed\.txt has unsaved changes\. Save or revert it first\./);
    assert.equal(bytes('mixed.txt').toString(), after.replace('agent two\r\n', 'two\n'));
    await vscode.commands.executeCommand('workbench.action.files.revert');
    await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
    await set.settle(place('mixed.txt'), 'undo', await hunks('mixed.txt'));
    assert.equal(bytes('mixed.txt').toString(), before);
  });

  it('lone carriage returns alone: each line keeps its own, also where an agent writes the file that is in front', async () => {
    const lines = Array.from({ length: 9 }, (_, at) => `line ${at}`);
    writeFileSync(place('cr.txt'), lines.join('\r'));
    await turn(() => writeFileSync(place('cr.txt'), lines.with(2, 'agent').with(7, 'agent').join('\r')));
    const document = await shown('cr.txt');
    const [first] = await hunks('cr.txt');
    assert.ok(first);
    await set.settle(place('cr.txt'), 'undo', [first]);
    assert.equal(bytes('cr.txt').toString(), lines.with(7, 'agent').join('\r'));
    await settled(() => document.lineAt(2).text === 'line 2' && !document.isDirty);
    await edited(document, new vscode.Position(0, 0), 'mine ');
    await assert.rejects(set.settle(place('cr.txt'), 'undo', await hunks('cr.txt')), /cr\.txt has unsaved changes/);
    await vscode.commands.executeCommand('workbench.action.files.revert');
    await editorFiles.write(place('cr.txt'), lines.with(0, 'agent').join('\n'));
    assert.equal(bytes('cr.txt').toString(), lines.with(0, 'agent').join('\r'));
  });

  it('a notebook: what an agent wrote into its file is undone on the disk and on the screen; with unsaved cells it is refused', async () => {
    writeFileSync(place('n.ipynb'), notebookText('print(1)'));
    const notebook = await vscode.workspace.openNotebookDocument(uri('n.ipynb'));
    await vscode.window.showNotebookDocument(notebook);
    const first = () => notebook.cellAt(0).document.getText();
    assert.equal(first(), 'print(1)');
    await turn(() => writeFileSync(place('n.ipynb'), notebookText('print(2)')));
    await settled(() => first() === 'print(2)');
    assert.deepEqual(
      set.files.map(({ name, kind, unkept }) => [name, kind, unkept]),
      [['n.ipynb', 'changed', false]],
    );
    assert.equal((await hunks('n.ipynb')).length, 1);
    await edited(notebook.cellAt(0).document, new vscode.Position(0, 0), '# mine\n');
    assert.equal(notebook.isDirty, true);
    await assert.rejects(set.settle(place('n.ipynb'), 'undo'), /n\.ipynb has unsaved changes/);
    await assert.rejects(set.restore('t'), /n\.ipynb has unsaved changes/);
    assert.deepEqual([bytes('n.ipynb').toString(), first()], [notebookText('print(2)'), '# mine\nprint(2)']);
    await vscode.commands.executeCommand('workbench.action.files.revert');
    await settled(() => !notebook.isDirty);
    await set.settle(place('n.ipynb'), 'undo');
    assert.equal(bytes('n.ipynb').toString(), notebookText('print(1)'));
    await settled(() => first() === 'print(1)');
    assert.deepEqual(set.files, []);
  });

  it('a notebook: a cell that the user saves while an agent works is theirs', async () => {
    writeFileSync(place('n.ipynb'), notebookText('print(1)', 'print(2)', 'print(3)'));
    const notebook = await vscode.workspace.openNotebookDocument(uri('n.ipynb'));
    await vscode.window.showNotebookDocument(notebook);
    const saves = followSaves({
      userSaves: (file) => set.userSaves(file),
      userSaved: (file, saved) => void set.userSaved(file, saved),
      userMoved: () => {},
    });
    try {
      await turn(async () => {
        writeFileSync(place('n.ipynb'), notebookText('print(1)', 'print(2)', 'agent(3)'));
        await settled(() => notebook.cellAt(2).document.getText() === 'agent(3)');
        await edited(notebook.cellAt(0).document, new vscode.Position(0, 0), 'mine');
        assert.equal(await notebook.save(), true);
      });
    } finally {
      saves.dispose();
    }
    assert.match(bytes('n.ipynb').toString(), /mineprint\(1\)/);
    assert.deepEqual(
      (await hunks('n.ipynb')).map(({ hunk }) => hunk.after.join('\n').trim()),
      ['"agent(3)"'],
    );
  });

  it('unsaved text: a hunk is undone around it, a restore and a move back wait for it to be saved', async () => {
    const lines = Array.from({ length: 12 }, (_, at) => `line ${at}`);
    writeFileSync(place('a.txt'), lines.join('\n'));
    writeFileSync(place('b.txt'), lines.toReversed().join('\n'));
    const document = await shown('a.txt');
    await turn(() => {
      writeFileSync(place('a.txt'), lines.with(2, 'agent').join('\n'));
      renameSync(place('b.txt'), place('c.txt'));
    });
    await settled(() => document.lineAt(2).text === 'agent');
    await edited(document, new vscode.Position(9, 0), 'mine ');
    const moved = await vscode.workspace.openTextDocument(uri('c.txt'));
    await edited(moved, new vscode.Position(0, 0), 'mine ');
    await assert.rejects(set.restore('t'), /has unsaved changes/);
    await assert.rejects(set.settle(place('c.txt'), 'undo'), /c\.txt has unsaved changes/);
    await set.settle(place('a.txt'), 'undo', await hunks('a.txt'));
    assert.equal(document.getText(), lines.with(9, 'mine line 9').join('\n'));
    assert.equal(bytes('a.txt').toString(), lines.with(2, 'agent').join('\n'), 'nothing is saved for the user');
    assert.equal((await hunks('a.txt')).length, 0);
    await document.save();
    await set.userSaved(place('a.txt'));
    assert.ok(!set.files.some((one) => one.path === place('a.txt')), 'the change is undone');
    await moved.save();
    await set.userSaved(place('c.txt'));
    await set.settle(place('c.txt'), 'undo');
    assert.equal(bytes('b.txt').toString(), lines.toReversed().with(0, 'mine line 11').join('\n'));
    assert.equal(existsSync(place('c.txt')), false);
  });

  it('byte order mark, CRLF and a missing final line end stay, in a file that is open and in one that is not', async () => {
    const lines = Array.from({ length: 9 }, (_, at) => `line ${at}`);
    const text = (all: readonly string[]) => `\uFEFF${all.join('\r\n')}`;
    for (const name of ['open.txt', 'closed.txt']) writeFileSync(place(name), text(lines));
    const document = await shown('open.txt');
    await turn(() => {
      for (const name of ['open.txt', 'closed.txt']) writeFileSync(place(name), text(lines.with(2, 'agent').with(7, 'agent')));
    });
    await settled(() => document.lineAt(2).text === 'agent');
    for (const name of ['open.txt', 'closed.txt']) {
      const [first] = await hunks(name);
      assert.ok(first);
      await set.settle(place(name), 'undo', [first]);
      assert.equal(bytes(name).toString(), text(lines.with(7, 'agent')), name);
      await set.settle(place(name), 'undo');
      assert.equal(bytes(name).toString(), text(lines), name);
    }
    assert.deepEqual(set.files, []);
  });

  it('a text in another encoding has no hunks and goes back byte for byte', async () => {
    const latin = (word: string) => Buffer.from(`caf\u00e9 ${word}\nzwei\n`, 'latin1');
    writeFileSync(place('latin.txt'), latin('eins'));
    await turn(() => writeFileSync(place('latin.txt'), latin('agent')));
    assert.deepEqual(await hunks('latin.txt'), []);
    await set.settle(place('latin.txt'), 'undo');
    assert.deepEqual(bytes('latin.txt'), latin('eins'));
  });

  it('format on save changes nothing of what is undone', async () => {
    const files = vscode.workspace.getConfiguration('files');
    await files.update('trimTrailingWhitespace', true, vscode.ConfigurationTarget.Global);
    await files.update('insertFinalNewline', true, vscode.ConfigurationTarget.Global);
    try {
      const lines = ['one  ', 'two', 'three  ', 'four', 'five'];
      writeFileSync(place('a.txt'), lines.join('\n'));
      const document = await shown('a.txt');
      await turn(() => writeFileSync(place('a.txt'), lines.with(1, 'agent  ').with(4, 'agent').join('\n')));
      await settled(() => document.lineAt(4).text === 'agent');
      const [first] = await hunks('a.txt');
      assert.ok(first);
      await set.settle(place('a.txt'), 'undo', [first]);
      assert.equal(bytes('a.txt').toString(), lines.with(4, 'agent').join('\n'));
    } finally {
      await files.update('trimTrailingWhitespace', undefined, vscode.ConfigurationTarget.Global);
      await files.update('insertFinalNewline', undefined, vscode.ConfigurationTarget.Global);
    }
  });

  it('a file that settings make read-only: what is undone is on the disk and on the screen', async () => {
    const files = vscode.workspace.getConfiguration('files');
    await files.update('readonlyInclude', { '**/shut.txt': true }, vscode.ConfigurationTarget.Global);
    try {
      const lines = ['one', 'two', 'three', 'four', 'five', ''];
      writeFileSync(place('shut.txt'), lines.join('\n'));
      const document = await shown('shut.txt');
      await turn(() => writeFileSync(place('shut.txt'), lines.with(1, 'agent').with(4, 'agent').join('\n')));
      await settled(() => document.lineAt(4).text === 'agent');
      const [first] = await hunks('shut.txt');
      assert.ok(first);
      await set.settle(place('shut.txt'), 'undo', [first]);
      assert.equal(bytes('shut.txt').toString(), lines.with(4, 'agent').join('\n'));
      await settled(() => document.getText() === lines.with(4, 'agent').join('\n') && !document.isDirty);
      assert.equal((await hunks('shut.txt')).length, 1);
    } finally {
      await files.update('readonlyInclude', undefined, vscode.ConfigurationTarget.Global);
    }
  });

  it('a file that is open is moved back, and the tab of the other name does not bring it back', async () => {
    writeFileSync(place('a.txt'), 'one\ntwo\n');
    await turn(() => renameSync(place('a.txt'), place('b.txt')));
    await shown('b.txt');
    await set.settle(place('b.txt'), 'undo');
    assert.deepEqual([bytes('a.txt').toString(), existsSync(place('b.txt'))], ['one\ntwo\n', false]);
    await settled(() => !open('b.txt') || vscode.window.tabGroups.all.every((group) => group.tabs.every(({ isDirty }) => !isDirty)));
  });

  it('a link that takes the place of an open file as it is written leads nothing out of the folder', async () => {
    const lines = Array.from({ length: 9 }, (_, at) => `line ${at}`);
    const after = lines.with(2, 'agent').with(7, 'agent').join('\n');
    writeFileSync(place('a.txt'), lines.join('\n'));
    const document = await shown('a.txt');
    await turn(() => writeFileSync(place('a.txt'), after));
    await settled(() => document.lineAt(7).text === 'agent');
    const outside = path.join(state, 'outside.txt');
    writeFileSync(outside, after);
    const swap = () => {
      renameSync(place('a.txt'), path.join(state, 'moved.txt'));
      symlinkSync(outside, place('a.txt'));
    };
    const swapping = vscode.workspace.onDidChangeTextDocument((change) => {
      if (change.document !== document || existsSync(path.join(state, 'moved.txt'))) return;
      swap();
    });
    try {
      const [first] = await hunks('a.txt');
      assert.ok(first);
      await set.settle(place('a.txt'), 'undo', [first]);
      assert.equal(readFileSync(outside, 'utf8'), after);
      assert.equal(readFileSync(path.join(state, 'moved.txt'), 'utf8'), lines.with(7, 'agent').join('\n'), 'it was written before');
    } finally {
      swapping.dispose();
      rmSync(place('a.txt'));
    }
  });

  it('a link that takes the place of a file with unsaved text is not followed: the write is refused by name', async () => {
    writeFileSync(place('a.txt'), 'one\ntwo\nthree\n');
    const document = await shown('a.txt');
    await edited(document, new vscode.Position(0, 0), 'mine ');
    const outside = path.join(state, 'outside.txt');
    writeFileSync(outside, 'one\ntwo\nthree\n');
    const swapping = vscode.workspace.onDidChangeTextDocument((change) => {
      if (change.document !== document || change.contentChanges.length === 0) return;
      swapping.dispose();
      rmSync(place('a.txt'));
      symlinkSync(outside, place('a.txt'));
    });
    const agents = editorFiles.write(place('a.txt'), 'one\ntwo\nagent\n', 'one\ntwo\nthree\n', realpathSync(place('a.txt')));
    await assert.rejects(agents, (error: Error) => error.message.includes(`a.txt → ${outside} leads elsewhere`));
    assert.deepEqual([readFileSync(outside, 'utf8'), document.getText()], ['one\ntwo\nthree\n', 'mine one\ntwo\nthree\n']);
    rmSync(place('a.txt'));
    writeFileSync(place('a.txt'), 'one\n');
    await vscode.commands.executeCommand('workbench.action.files.revert');
  });

  it('a file that may not be written and one behind a link are refused by name, and nothing is written', async () => {
    mkdirSync(place('elsewhere'));
    writeFileSync(place('shut.txt'), 'one\n');
    writeFileSync(place('linked.txt'), 'one\n');
    writeFileSync(place('elsewhere/target.txt'), 'target\n');
    await turn(() => {
      writeFileSync(place('shut.txt'), 'agent\n');
      writeFileSync(place('linked.txt'), 'agent\n');
    });
    rmSync(place('linked.txt'));
    symlinkSync(place('elsewhere/target.txt'), place('linked.txt'));
    await assert.rejects(set.settle(place('linked.txt'), 'undo'), /linked\.txt/);
    assert.equal(bytes('elsewhere/target.txt').toString(), 'target\n');
    chmodSync(place('shut.txt'), 0o444);
    // Root may write into any file.
    if (process.getuid?.() !== 0) {
      await assert.rejects(
        set.settle(place('shut.txt'), 'undo'),
        /^shut\.txt is open in another program, or protected \(EACCES\)\. Close it there or allow writing, then try again\.$/,
      );
      assert.equal(bytes('shut.txt').toString(), 'agent\n');
    }
    chmodSync(place('shut.txt'), 0o644);
  });
});

/** A notebook with these cells of code. */
function notebookText(...sources: readonly string[]): string {
  const code = { cell_type: 'code', execution_count: null };
  const cells = sources.map((source, at) => ({ ...code, id: `c${at}`, metadata: {}, outputs: [], source: [source] }));
  return `${JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5 }, null, 1)}\n`;
}

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { editorFiles } from '../../src/editor/files.ts';
import { remoteTools } from '../../src/editor/tools/remoteTools.ts';
import { childTerminals } from '../../src/live/childTerminals.ts';
import type { Tool } from '../../src/protocols/ports.ts';

const signal = new AbortController().signal;

describe('hands for agents without any', () => {
  let cwd: string;
  let tools: readonly Tool[];
  const tool = (name: string): Tool => tools.find((one) => one.name === name) ?? assert.fail(name);
  const run = (name: string, input: unknown) => tool(name).run(input, signal);
  const file = (name: string) => path.join(cwd, name);

  before(() => {
    cwd = mkdtempSync(path.join(os.tmpdir(), 'parley-hands-'));
    tools = remoteTools({ cwd, files: editorFiles, terminals: childTerminals({ cwd }) });
  });
  beforeEach(() => writeFileSync(file('a.txt'), 'one\ntwo\nthree\ntwo more\n'));
  after(async () => {
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    rmSync(cwd, { recursive: true, force: true });
  });

  it('reading gives numbered lines, unsaved text first, and asks only outside', async () => {
    assert.deepEqual(await run('read_file', { path: 'a.txt', line: 2, lines: 2 }), { ok: true, text: '2\ttwo\n3\tthree\n(2 more lines)' });
    writeFileSync(file('open.txt'), 'saved\n');
    const open = await vscode.workspace.openTextDocument(file('open.txt'));
    const edit = new vscode.WorkspaceEdit();
    edit.insert(open.uri, new vscode.Position(0, 0), 'not saved\n');
    await vscode.workspace.applyEdit(edit);
    assert.match((await run('read_file', { path: 'open.txt', lines: 1 })).text, /^1\tnot saved/);
    await open.save();
    assert.equal(tool('read_file').confirm?.({ path: 'a.txt' }), undefined);
    assert.match(tool('read_file').confirm?.({ path: '/etc/hosts' })?.title ?? '', /outside the workspace/);
    assert.match(
      tool('edit_file').confirm?.({ path: '/tmp/parley-nowhere.txt', old_text: '', new_text: 'b' })?.title ?? '',
      /outside the workspace/,
    );
  });

  it('an edit that the user changed is written as they have it, with what they typed since', async () => {
    writeFileSync(file('edited.txt'), 'one\ntwo\nthree\n');
    const input = { path: 'edited.txt', old_text: 'three', new_text: 'four' };
    assert.ok(tool('edit_file').confirm?.(input));
    writeFileSync(file('edited.txt'), 'zero\none\ntwo\nthree\n');
    const edited = await tool('edit_file').runEdited?.(input, 'one\ntwo\nfive\n', signal);
    assert.match(edited?.text ?? '', /that the user edited/);
    assert.equal(readFileSync(file('edited.txt'), 'utf8'), 'zero\none\ntwo\nfive\n');
  });

  it('an edit asks with its change, replaces what is there once, and shows the whole of it', async () => {
    const input = { path: 'a.txt', old_text: 'three', new_text: 'four' };
    const asked = tool('edit_file').confirm?.(input);
    const diff = { path: file('a.txt'), before: 'one\ntwo\nthree\ntwo more\n', after: 'one\ntwo\nfour\ntwo more\n' };
    assert.deepEqual([asked?.title, asked?.kind, asked?.detail], ['Edit a.txt', 'edit', { type: 'edit', diffs: [diff] }]);
    const done = await run('edit_file', input);
    assert.equal(readFileSync(file('a.txt'), 'utf8'), 'one\ntwo\nfour\ntwo more\n');
    assert.deepEqual(done.shown, [{ kind: 'diff', diff }]);
    for (const [old_text, why] of [
      ['two', /more than once/],
      ['gone', /does not contain/],
      ['', /exists already/],
    ] as const) {
      const hopeless = { path: 'a.txt', old_text, new_text: 'x' };
      assert.equal(tool('edit_file').confirm?.(hopeless), undefined, 'nobody is asked about what cannot be done');
      const refused = await run('edit_file', hopeless);
      assert.deepEqual([refused.ok, why.test(refused.text)], [false, true], refused.text);
    }
    assert.equal(readFileSync(file('a.txt'), 'utf8'), 'one\ntwo\nfour\ntwo more\n');
  });

  it('an edit nobody was asked about is not made, though it can be by now', async () => {
    const input = { path: 'late.txt', old_text: 'later', new_text: 'x' };
    assert.equal(tool('edit_file').confirm?.(input), undefined);
    writeFileSync(file('late.txt'), 'later\n');
    assert.deepEqual(await run('edit_file', input), { ok: false, text: 'The file has changed just now. Try again.' });
    assert.equal(readFileSync(file('late.txt'), 'utf8'), 'later\n');
  });

  it('a file that became a link after the user decided is not written through', async () => {
    const input = { path: 'swapped.txt', old_text: 'mine', new_text: 'evil' };
    writeFileSync(file('swapped.txt'), 'mine\n');
    assert.ok(tool('edit_file').confirm?.(input));
    writeFileSync(file('target.txt'), 'mine\n');
    rmSync(file('swapped.txt'));
    symlinkSync('target.txt', file('swapped.txt'));
    await assert.rejects(run('edit_file', input), /elsewhere/);
    assert.equal(readFileSync(file('target.txt'), 'utf8'), 'mine\n');
  });

  it('a new file is asked for as one', async () => {
    const input = { path: 'deep/new.txt', old_text: '', new_text: 'made\n' };
    assert.equal(tool('edit_file').confirm?.(input)?.title, 'Create deep/new.txt');
    assert.equal(existsSync(file('deep/new.txt')), false);
    assert.equal((await run('edit_file', input)).ok, true);
    assert.equal(readFileSync(file('deep/new.txt'), 'utf8'), 'made\n');
  });

  it('a command always asks; output and exit code come back, and it stops when it is stopped', async () => {
    assert.deepEqual(tool('run_command').confirm?.({ command: 'ls' })?.detail, { type: 'command', command: 'ls', cwd });
    assert.deepEqual(await run('run_command', { command: 'echo out; exit 3' }), { ok: false, text: 'out\nExit code 3' });
    const stop = new AbortController();
    const stopped = tool('run_command').run({ command: 'echo begun; sleep 600' }, stop.signal);
    setImmediate(() => stop.abort());
    assert.match((await stopped).text, /Stopped$/);
  });

  it('files are found by a glob', async () => {
    assert.match((await run('find_files', { glob: '*.nowhere' })).text, /No file fits/);
    assert.match((await run('find_files', { glob: '**/a.txt' })).text, /a\.txt/);
  });
});

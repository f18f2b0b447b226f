import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { Lifetime } from '../../src/base/lifetime.ts';
import { bundlesIn } from '../../src/editor/bundles.ts';
import { REVIEW_SCHEME, ReviewDocuments } from '../../src/editor/review/documents.ts';
import { editorTools } from '../../src/editor/tools/index.ts';
import type { Tool } from '../../src/protocols/ports.ts';

const signal = new AbortController().signal;

describe('editor tools', () => {
  let life: Lifetime;
  let cwd: string;
  let tools: readonly Tool[];
  const tool = (name: string): Tool => {
    const found = tools.find((one) => one.name === name);
    assert.ok(found, name);
    return found;
  };
  const run = async (name: string, input: unknown) => {
    const answer = await tool(name).run(input, signal);
    assert.ok(answer.ok, answer.text);
    return answer.text;
  };
  const json = async (name: string, input: unknown): Promise<unknown> => JSON.parse(await run(name, input));

  before(() => {
    const { extensionPath } = vscode.extensions.getExtension('parley.parley')!;
    life = new Lifetime();
    cwd = mkdtempSync(path.join(os.tmpdir(), 'parley-tools-'));
    writeFileSync(path.join(cwd, 'tsconfig.json'), '{"compilerOptions":{"strict":true}}');
    writeFileSync(
      path.join(cwd, 'calc.ts'),
      'export function add(a: number): number {\n  return a;\n}\n\nexport const total: string = add(1);\n',
    );
    const documents = life.own(new ReviewDocuments(`${REVIEW_SCHEME}-tools`));
    tools = editorTools({ cwd, documents, lsp: bundlesIn(extensionPath).languageTools });
  });
  after(async () => {
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    life.dispose();
    rmSync(cwd, { recursive: true, force: true });
  });

  it('every schema is an object, says where counting begins and refuses what it does not know', () => {
    for (const { name, description, parameters } of tools) {
      assert.equal(parameters.type, 'object', name);
      assert.equal(parameters.additionalProperties, false, name);
      const { properties = {} } = parameters as { properties?: Record<string, { description?: string }> };
      const counted = Object.entries(properties).filter(([field]) => /line|column/i.test(field));
      for (const [field, schema] of counted) assert.match(`${schema.description} ${description}`, /1-based/, `${name}.${field}`);
    }
  });

  it('open_in_ide shows the 1-based line it was given', async () => {
    await run('open_in_ide', { path: 'calc.ts', line: 5 });
    assert.equal(vscode.window.activeTextEditor?.selection.active.line, 4);
    await run('open_in_ide', { path: 'calc.ts', line: 1, endLine: 2 });
    const { selection, document } = vscode.window.activeTextEditor!;
    assert.equal(document.getText(selection), 'export function add(a: number): number {\n  return a;');
  });

  it('get_selection answers path, text and an LSP range', async () => {
    await run('open_in_ide', { path: 'calc.ts', line: 2, endLine: 2 });
    const found = (await json('get_selection', {})) as { path: string; text: string; range: unknown };
    assert.equal(found.path, path.join(cwd, 'calc.ts'));
    assert.equal(found.text, '  return a;');
    assert.deepEqual(found.range, { start: { line: 1, character: 0 }, end: { line: 1, character: 11 } });
  });

  it('get_open_editors names what is open', async () => {
    const { editors } = (await json('get_open_editors', {})) as { editors: readonly { path: string; active: boolean }[] };
    assert.ok(editors.some((one) => one.path === path.join(cwd, 'calc.ts') && one.active));
  });

  it('show_diff shows and writes nothing', async () => {
    await run('show_diff', { path: 'calc.ts', text: 'nothing\n' });
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    assert.ok(input instanceof vscode.TabInputTextDiff);
    assert.equal((await vscode.workspace.openTextDocument(input.modified)).getText(), 'nothing\n');
  });

  it('document_symbols, go_to_definition and find_references answer in LSP shapes', async () => {
    const outline = (await json('document_symbols', { path: 'calc.ts' })) as { symbols: readonly { name: string; kind: number }[] };
    assert.deepEqual(
      outline.symbols.map(({ name }) => name),
      ['add', 'total'],
    );
    assert.equal(outline.symbols[0]?.kind, 12, 'LSP: 12 is a function');
    const uri = vscode.Uri.file(path.join(cwd, 'calc.ts')).toString();
    const definition = (await json('go_to_definition', { path: 'calc.ts', line: 5, symbol: 'add' })) as { locations: unknown };
    assert.deepEqual(definition.locations, [{ uri, range: { start: { line: 0, character: 16 }, end: { line: 0, character: 19 } } }]);
    const used = (await json('find_references', { path: 'calc.ts', line: 1, column: 17 })) as { count: number };
    assert.equal(used.count, 2);
  });

  it('get_diagnostics answers LSP diagnostics of an open file', async () => {
    writeFileSync(path.join(cwd, 'wrong.ts'), 'export const wrong: string = 1;\n');
    await run('open_in_ide', { path: 'wrong.ts' });
    type Found = { count: number; files: readonly { diagnostics: readonly { range: unknown; severity: number }[] }[] };
    let found: Found;
    // The language server may still be starting.
    do found = (await json('get_diagnostics', { path: 'wrong.ts', severity: 'error' })) as Found;
    while (found.count === 0);
    const [first] = found.files[0]?.diagnostics ?? [];
    assert.equal(first?.severity, 1, 'LSP: 1 is an error');
    assert.deepEqual(first?.range, { start: { line: 0, character: 13 }, end: { line: 0, character: 18 } });
  });

  it('get_diagnostics says so when a file is not open', async () => {
    writeFileSync(path.join(cwd, 'fine.txt'), 'fine\n');
    const found = (await json('get_diagnostics', { path: 'fine.txt' })) as { count: number; note: string };
    assert.equal(found.count, 0);
    assert.match(found.note, /not open/);
  });

  it('bad input is told, not thrown', async () => {
    for (const [name, input] of [
      ['open_in_ide', { path: 'calc.ts', line: 0 }],
      ['open_in_ide', { path: 'calc.ts', line: 3, endLine: 2 }],
      ['open_in_ide', {}],
      ['go_to_definition', { path: 'calc.ts', line: 5 }],
      ['go_to_definition', { path: 'calc.ts', line: 500, column: 1 }],
      ['go_to_definition', { path: 'calc.ts', line: 5, symbol: 'nowhere' }],
      ['get_diagnostics', { severity: 'bad' }],
    ] as const) {
      const answer = await tool(name).run(input, signal);
      assert.equal(answer.ok, false, `${name} ${JSON.stringify(input)}`);
      assert.ok(answer.text.length > 0);
    }
  });

  it('a path that leads out of the workspace asks first, through a link too', () => {
    const confirm = (file: string) => tool('open_in_ide').confirm?.({ path: file });
    assert.equal(confirm('calc.ts'), undefined);
    assert.equal(confirm(path.join(cwd, 'new', 'file.ts')), undefined);
    assert.deepEqual(confirm('../elsewhere.ts')?.detail, { type: 'text', text: path.join(path.dirname(cwd), 'elsewhere.ts') });
    assert.ok(confirm('/etc/hostname'));
    symlinkSync('/etc', path.join(cwd, 'link'));
    assert.ok(confirm('link/hostname'));
  });
});

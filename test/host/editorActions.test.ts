import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { Lifetime } from '../../src/base/lifetime.ts';
import { codeActions } from '../../src/editor/codeActions.ts';
import { messageIn } from '../../src/editor/commitMessage.ts';
import { editorCommands } from '../../src/editor/editorActions.ts';
import { migrateEditorActions } from '../../src/editor/settings.ts';
import type { Intent } from '../../src/session/intents.ts';
import type { Content } from '../../src/session/model.ts';
import { FakeSessionHost } from './fakeHost.ts';

describe('Parley in the editor', () => {
  let life: Lifetime;
  let folder: string;
  let uri: vscode.Uri;
  const sent: Intent[] = [];
  const inserted: Content[] = [];
  const commands = () => {
    const fakeHost = new FakeSessionHost(folder, 'a');
    const session = fakeHost.get('a')!;
    Object.assign(session, { send: (intent: Intent) => sent.push(intent) });
    return editorCommands({
      sessions: fakeHost,
      starter: { start: async () => undefined },
      chat: { focus: async () => {}, keepPicture: async () => false, insert: async (contents) => void inserted.push(...contents) },
      isGuide: () => false,
      profileInFront: () => assert.fail('no agent is asked apart'),
      askAside: () => assert.fail('no agent is asked apart'),
      newId: () => 'turn',
    });
  };
  const content = () => {
    const intent = sent.at(-1);
    assert.ok(intent?.type === 'prompt');
    return intent.content;
  };

  const set = (value: unknown) =>
    vscode.workspace.getConfiguration('parley').update('editorActions', value, vscode.ConfigurationTarget.Global);
  afterEach(() => set(undefined));
  before(() => {
    life = new Lifetime();
    folder = mkdtempSync(path.join(os.tmpdir(), 'parley-actions-'));
    const file = path.join(folder, 'calc.ts');
    writeFileSync(file, 'const one = 1;\n\nexport function add(a: number): number {\n  const b = a;\n  return b;\n}\n');
    uri = vscode.Uri.file(file);
    const problems = life.own(vscode.languages.createDiagnosticCollection('parley-test'));
    problems.set(uri, [new vscode.Diagnostic(new vscode.Range(3, 8, 3, 9), 'b is odd')]);
  });
  after(() => {
    life.dispose();
    rmSync(folder, { recursive: true });
  });

  it('offers to fix a problem and to explain what is selected, each unless it is off', async () => {
    const document = await vscode.workspace.openTextDocument(uri);
    const titles = (range: vscode.Range, problems: readonly vscode.Diagnostic[]) =>
      codeActions(document, range, problems).map(({ title }) => title);
    const problem = new vscode.Diagnostic(new vscode.Range(3, 8, 3, 9), 'b is odd');
    assert.deepEqual(titles(problem.range, [problem]), ['Fix with Parley', 'Explain with Parley', 'Add Problem to Chat']);
    assert.deepEqual(titles(new vscode.Range(0, 6, 0, 9), []), ['Explain with Parley', 'Add Test with Parley']);
    assert.deepEqual(titles(new vscode.Range(1, 0, 1, 0), []), []);
    await set({ explain: false });
    assert.deepEqual(titles(problem.range, [problem]), ['Fix with Parley', 'Add Problem to Chat']);
    await set({ fix: false, addProblem: false, addTest: false });
    assert.deepEqual(titles(problem.range, [problem]), ['Explain with Parley']);
    assert.deepEqual(titles(new vscode.Range(0, 6, 0, 9), []), ['Explain with Parley']);
  });

  it('turns everything off for those who had the earlier setting off, and nothing for those who had it on', async () => {
    const document = await vscode.workspace.openTextDocument(uri);
    const offered = () => codeActions(document, new vscode.Range(0, 6, 0, 9), []).length;
    const now = () => vscode.workspace.getConfiguration('parley').get<Record<string, boolean>>('editorActions') ?? {};
    for (const [earlier, count] of [
      [false, 0],
      [true, 2],
    ] as const) {
      await set(earlier);
      assert.equal(offered(), count);
      await migrateEditorActions();
      assert.equal(offered(), count);
      assert.deepEqual([Object.keys(now()).length, new Set(Object.values(now()))], [11, new Set([earlier])]);
    }
  });

  it('sends one prompt with the code around the place and the problems in it', async () => {
    await commands()['parley.fix'](uri, new vscode.Range(3, 8, 3, 9));
    const [prompt, code, problems] = content();
    assert.deepEqual(prompt, { type: 'text', text: 'Find what is wrong here, and fix it.' });
    assert.ok(code?.type === 'file' && code.text?.includes('const b = a;') && code.path === uri.fsPath);
    assert.ok(problems?.type === 'file' && /calc\.ts:4:9: b is odd$/.test(problems.text ?? ''));
  });

  it('puts a problem into the composer, to be asked about', async () => {
    await commands()['parley.addProblem'](uri, new vscode.Range(3, 8, 3, 9));
    const [problem] = inserted.splice(0);
    assert.ok(problem?.type === 'file' && /calc\.ts:4:9: b is odd$/.test(problem.text ?? ''));
  });

  it('asks what is typed below the lines about several selected lines as they are, once', async () => {
    const { 'parley.askHere': ask, 'parley.sendQuestion': submit } = commands();
    await ask(uri, new vscode.Range(2, 0, 4, 0));
    await submit({ text: '  ' });
    await submit({ text: 'Why so?' });
    const [prompt, code] = content();
    assert.deepEqual(prompt, { type: 'text', text: 'Why so?' });
    assert.ok(code?.type === 'file');
    assert.deepEqual([code.lines, code.text], [[3, 4], 'export function add(a: number): number {\n  const b = a;']);
    const before = sent.length;
    await submit({ text: 'And?' });
    assert.equal(sent.length, before, 'no box is open');
  });

  it('puts a failed test into the composer with what was expected', async () => {
    const message = {
      message: 'not equal',
      expectedOutput: '1',
      actualOutput: '2',
      location: new vscode.Location(uri, new vscode.Position(2, 0)),
    };
    await commands()['parley.addTestFailure']({ test: { label: 'adds' }, message });
    const [failure] = inserted.splice(0);
    assert.ok(failure?.type === 'file');
    assert.equal(failure.path, 'adds');
    assert.match(failure.text ?? '', /^adds\n.*calc\.ts:3\nnot equal\nexpected: 1\nactual: 2$/);
    await commands()['parley.addTestFailure'](undefined);
    assert.deepEqual(inserted, []);
  });

  it('takes a commit message out of its fence', () => {
    assert.equal(messageIn('```text\nFix it\n\nBecause.\n```\n'), 'Fix it\n\nBecause.');
    assert.equal(messageIn(' Fix `it` '), 'Fix `it`');
  });
});

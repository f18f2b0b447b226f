import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { Lifetime } from '../../src/base/lifetime.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import { REVIEW_SCHEME, ReviewDocuments } from '../../src/editor/review/documents.ts';
import { showProposalLenses } from '../../src/editor/review/proposalLenses.ts';
import { ProposedFiles } from '../../src/editor/review/proposedFiles.ts';
import { settleTurnFile } from '../../src/editor/review/revert.ts';
import { Review } from '../../src/editor/review/review.ts';
import { SavedTexts } from '../../src/editor/review/savedTexts.ts';
import type { Approval, Diff, ToolCall } from '../../src/session/model.ts';
import { command, FakeSessionHost } from './fakeHost.ts';
import { settled } from './settled.ts';

describe('review of changes', () => {
  let life: Lifetime;
  let folder: string;
  let file: string;
  let fakeHost: FakeSessionHost;
  let review: Review;

  const edit = (id: string, diffs: readonly Diff[], editable?: true): Approval => ({
    ...command(id),
    detail: { type: 'edit', diffs },
    ...(editable ? { editable } : {}),
  });
  const done = (diffs: readonly Diff[]) => {
    const call: ToolCall = {
      id: 'c',
      name: 'edit',
      title: 'edit',
      kind: 'edit',
      status: 'done',
      inputText: '',
      output: diffs.map((diff) => ({ kind: 'diff', diff })),
      locations: [],
    };
    fakeHost.say('a', { type: 'part.added', turnId: 't', part: { kind: 'call', id: 'c', call } });
  };
  const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const front = () => vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  const sides = async () => {
    const input = front();
    assert.ok(input instanceof vscode.TabInputTextDiff);
    const texts = await Promise.all([input.original, input.modified].map((uri) => vscode.workspace.openTextDocument(uri)));
    return texts.map((document) => document.getText());
  };
  /** Types at the start of the proposed side of the diff in front, which comes back. */
  const typeInFront = async (text: string) => {
    const input = front();
    assert.ok(input instanceof vscode.TabInputTextDiff);
    const change = new vscode.WorkspaceEdit();
    change.insert(input.modified, new vscode.Position(0, 0), text);
    assert.equal(await vscode.workspace.applyEdit(change), true);
    return input;
  };
  /** Texts that are saved on the disk, too. */
  const savedIn = (scheme: string, log: Log = silentLog) => {
    const documents = new ReviewDocuments(scheme);
    documents.saveIn(new SavedTexts(path.join(folder, 'saved'), log));
    return documents;
  };
  const session = () => fakeHost.get('a')!.store.now;

  beforeEach(async () => {
    life = new Lifetime();
    folder = mkdtempSync(path.join(os.tmpdir(), 'parley-review-'));
    file = path.join(folder, 'x.txt');
    writeFileSync(file, 'one\ntwo\nthree\n');
    fakeHost = new FakeSessionHost(folder, 'a');
    review = life.own(new Review(fakeHost, life.own(new ReviewDocuments(`${REVIEW_SCHEME}-test`)), silentLog));
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  });
  afterEach(async () => {
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    life.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  it('a pending edit opens as the file beside what is proposed, and belongs to its ask', async () => {
    fakeHost.open(edit('1', [{ path: 'x.txt', before: 'two', after: 'TWO', excerpt: { beforeLine: 2 } }]));
    await review.openAsk('a', '1');
    assert.deepEqual(await sides(), ['one\ntwo\nthree\n', 'one\nTWO\nthree\n']);
    assert.deepEqual(review.active?.kind === 'ask' && { kind: review.active.kind, file: review.active.file }, { kind: 'ask', file });
  });

  it('each change of a pending edit has the answers over it, which go with the question', async () => {
    life.own(showProposalLenses(fakeHost, review, `${REVIEW_SCHEME}-test`));
    const lines = Array.from({ length: 40 }, (_, at) => `line ${at + 1}`);
    writeFileSync(file, lines.join('\n'));
    const after = lines.with(4, 'five').with(29, 'thirty');
    fakeHost.open(edit('1', [{ path: 'x.txt', before: lines.join('\n'), after: after.join('\n') }]));
    await review.openAsk('a', '1');
    const input = front();
    assert.ok(input instanceof vscode.TabInputTextDiff);
    const lenses = async () => {
      const all = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', input.modified, 100);
      return all.map(({ range, command }) => `${range.start.line} ${command?.title}`);
    };
    const titles = ['Allow 2/2', '$(chevron-down)', 'Reject', '$(comment)', 'Leave out'];
    const wanted = [4, 29].flatMap((line) => titles.map((title) => `${line} ${title}`));
    assert.deepEqual((await lenses()).sort(), wanted.sort());
    await review.toggleHunk(input.modified, 4);
    assert.deepEqual((await sides())[1], lines.with(29, 'thirty').join('\n'));
    assert.deepEqual((await lenses()).filter((one) => one.startsWith('4 ')).sort(), ['4 Change 1 of 2 is left out', '4 Put back']);
    assert.ok((await lenses()).includes('29 Allow 1/2'), 'an allowance is not said to be for all');
    const revised = () => session().asks.flatMap((ask) => (ask.kind === 'approval' ? (ask.revised ?? []) : []));
    await settled(() => revised().length === 1);
    assert.deepEqual(revised()[0], { path: 'x.txt', before: lines.join('\n'), after: lines.with(29, 'thirty').join('\n') });
    assert.equal(await review.edited('a', '1'), undefined, 'this protocol carries no text');
    // By key, with the keyboard in the read-only side: at the cursor that has moved last, wherever it is.
    const cursorTo = async (uri: vscode.Uri, line: number) => {
      const editor = vscode.window.visibleTextEditors.find((one) => one.document.uri.toString() === uri.toString());
      assert.ok(editor);
      const moved = new Promise<void>((resolve) => life.own(vscode.window.onDidChangeTextEditorSelection(() => resolve())));
      editor.selection = new vscode.Selection(line, 0, line, 0);
      await moved;
    };
    await vscode.commands.executeCommand('workbench.action.compareEditor.focusSecondarySide');
    await cursorTo(input.original, 2);
    await cursorTo(input.modified, 29);
    const toggling = review.toggleHunk();
    // An answer that follows at once is about the text that this leaves.
    assert.equal(await review.edited('a', '1'), undefined);
    assert.deepEqual(revised(), [{ path: 'x.txt', before: lines.join('\n'), after: lines.join('\n') }]);
    await toggling;
    assert.deepEqual((await sides())[1], lines.join('\n'));
    const left = ['Reject', '$(comment)', 'Put back'];
    const last = [4, 29].flatMap((line, at) => [...left, `Change ${at + 1} of 2 is left out`].map((title) => `${line} ${title}`));
    assert.deepEqual((await lenses()).sort(), last.sort(), 'what is left out altogether can be rejected, and nothing pretends to allow it');
    const first = (await lenses()).filter((one) => one.startsWith('4 '))[0];
    assert.equal(first, '4 Put back', 'no answer comes to stand where "Leave out" was pressed');
    await review.toggleHunk();
    await cursorTo(input.original, 4);
    await review.toggleHunk();
    await settled(() => revised().length === 0);
    assert.deepEqual((await sides())[1], after.join('\n'));
    fakeHost.close('1');
    assert.deepEqual(await lenses(), []);
  });

  it('an editor that the keyboard leaves before it has asked for the answers is told again', async () => {
    const scheme = `${REVIEW_SCHEME}-test`;
    life.own(showProposalLenses(fakeHost, review, scheme));
    let asked = 0;
    // An editor asks all providers together.
    const provideCodeLenses = ({ uri }: vscode.TextDocument) => {
      const input = front();
      if (input instanceof vscode.TabInputTextDiff && uri.toString() === input.modified.toString()) asked += 1;
      return [];
    };
    life.own(vscode.languages.registerCodeLensProvider({ scheme }, { provideCodeLenses }));
    fakeHost.open(edit('1', [{ path: 'x.txt', before: 'two', after: 'TWO', excerpt: { beforeLine: 2 } }]));
    await review.openAsk('a', '1', undefined, true);
    await settled(() => asked > 0);
    for (let more = 2; ; more += 1) {
      await vscode.commands.executeCommand('workbench.action.focusSideBar');
      const before = asked;
      // It asks when it gets the keyboard.
      await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
      await settled(() => asked > before);
      const now = asked;
      fakeHost.open(edit(`${more}`, [{ path: 'y.txt', before: null, after: 'new' }]));
      await vscode.commands.executeCommand('workbench.action.focusSideBar');
      // Else it was quick enough to ask before the keyboard left.
      if (asked > now) continue;
      return settled(() => asked > now);
    }
  });

  it('over one change of several files it is said that the allowance is for all of them', async () => {
    life.own(showProposalLenses(fakeHost, review, `${REVIEW_SCHEME}-test`));
    const diffs = ['x.txt', 'y.txt'].map((name) => ({ path: name, before: null, after: 'new' }));
    fakeHost.open(edit('1', diffs));
    await review.openAsk('a', '1');
    const input = front();
    assert.ok(input instanceof vscode.TabInputTextDiff);
    const all = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', input.modified, 100);
    assert.ok(all.some(({ command }) => command?.title === 'Allow (2 files)'));
    fakeHost.open(edit('2', [{ path: '.vscode/tasks.json', before: null, after: '{}' }]));
    await review.openAsk('a', '2');
    const guarded = front();
    assert.ok(guarded instanceof vscode.TabInputTextDiff);
    const row = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', guarded.modified, 100);
    const titles = row.map(({ command }) => command?.title);
    assert.deepEqual(
      [titles[0], titles.at(-1)],
      ['$(warning)', 'Changes what runs by itself or in builds'],
      'the words are cut before the answers',
    );
  });

  it('a text that is looked at has the keyboard and the answers over it, and closes with its question', async () => {
    life.own(showProposalLenses(fakeHost, review, `${REVIEW_SCHEME}-test`));
    fakeHost.open(command('1', 'rm -rf src'));
    await review.look('a', '1', { text: { name: 'Look first.sh', text: 'true; rm -rf src', at: 6 } });
    const editor = vscode.window.activeTextEditor;
    assert.equal(editor?.document.getText(), 'true; rm -rf src');
    assert.equal(editor.selection.active.character, 6);
    assert.equal(review.active?.kind, 'text');
    const all = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', editor.document.uri, 100);
    assert.deepEqual(all.map((one) => one.command?.title).sort(), ['$(comment)', 'Allow once', 'Reject']);
    fakeHost.close('1');
    await settled(() => !(front() instanceof vscode.TabInputText));
  });

  it('the first change stands in the middle of the editor, out from under a quick-pick, in both columns', async () => {
    const lines = Array.from({ length: 400 }, (_, at) => `line ${at + 1}`);
    writeFileSync(file, lines.join('\n'));
    for (const at of [60, 200, 330]) {
      fakeHost.open(edit(`${at}`, [{ path: 'x.txt', before: `line ${at}`, after: `changed ${at}`, excerpt: { beforeLine: at } }]));
      await review.openAsk('a', `${at}`);
      const input = front();
      assert.ok(input instanceof vscode.TabInputTextDiff);
      for (const uri of [input.original, input.modified]) {
        const share = () => {
          const editor = vscode.window.visibleTextEditors.find((one) => one.document.uri.toString() === uri.toString());
          const [seen] = editor?.visibleRanges ?? [];
          return seen ? (at - 1 - seen.start.line) / (seen.end.line - seen.start.line) : -1;
        };
        await settled(() => share() > 0.35 && share() < 0.65);
      }
    }
  });

  it('with two asks open each diff is about its own', async () => {
    fakeHost.open(edit('1', [{ path: 'x.txt', before: 'one', after: '1', excerpt: { beforeLine: 1 } }]));
    fakeHost.open(edit('2', [{ path: 'x.txt', before: 'two', after: '2', excerpt: { beforeLine: 2 } }]));
    await review.openAsk('a', '1');
    const first = front();
    await review.openAsk('a', '2');
    const subject = (input: unknown) => {
      assert.ok(input instanceof vscode.TabInputTextDiff);
      const found = review.subjectOf(input.modified);
      return found?.kind === 'ask' ? found.askId : undefined;
    };
    assert.equal(subject(first), '1');
    assert.equal(subject(front()), '2');
  });

  it('when the ask is settled our tab goes and the user’s stay', async () => {
    const mine = await vscode.workspace.openTextDocument(file);
    await vscode.window.showTextDocument(mine, { preview: true });
    fakeHost.open(edit('1', [{ path: 'x.txt', before: null, after: 'all new\n' }]));
    await review.openAsk('a', '1');
    assert.equal(tabs().length, 2, 'the diff did not take the place of a preview');
    fakeHost.close('1');
    await settled(() => tabs().length === 1);
    const left = tabs()[0]?.input;
    assert.ok(left instanceof vscode.TabInputText);
    assert.equal(left.uri.fsPath, file);
    assert.equal(review.active, undefined);
  });

  it('a diff that comes up when its ask is over already goes again', async () => {
    class Slow extends ReviewDocuments {
      override put(...given: Parameters<ReviewDocuments['put']>): vscode.Uri {
        queueMicrotask(() => fakeHost.close('1'));
        return super.put(...given);
      }
    }
    const slow = new Review(fakeHost, life.own(new Slow('parley-review-slow')), silentLog);
    life.own(slow);
    fakeHost.open(edit('1', [{ path: 'x.txt', before: null, after: 'all new\n' }]));
    const seen: string[] = [];
    life.own(vscode.window.tabGroups.onDidChangeTabs(({ opened }) => seen.push(...opened.map((tab) => tab.label))));
    await slow.openAsk('a', '1');
    await settled(() => seen.length === 1 && tabs().length === 0);
  });

  it('what the user made of a proposal stays open when the agent takes its ask back', async () => {
    fakeHost.open(edit('1', [{ path: 'x.txt', before: 'one\ntwo\nthree\n', after: 'one\nTWO\nthree\n' }], true));
    await review.openAsk('a', '1');
    const input = await typeInFront('mine\n');
    fakeHost.say('a', { type: 'ask.closed', askId: '1', how: 'withdrawn' });
    await settled(() => review.active === undefined);
    const [tab] = tabs();
    assert.equal((await vscode.workspace.openTextDocument(input.modified)).getText(), 'mine\none\nTWO\nthree\n');
    assert.equal((await vscode.workspace.openTextDocument(input.original)).getText(), 'one\ntwo\nthree\n');
    assert.ok(tab);
    const kept = await vscode.workspace.openTextDocument(input.modified);
    await settled(() => !kept.isDirty);
    await vscode.window.tabGroups.close(tab);
  });

  it('a diff of an earlier window closes without a question, and what was typed in it is an untitled text', async () => {
    const documents = life.own(new ReviewDocuments(`${REVIEW_SCHEME}-earlier`));
    const sides = ['before', 'after'].map((side) => documents.put(`b/9/${side}`, file, `${side}\n`, side === 'after'));
    await vscode.commands.executeCommand('vscode.diff', ...sides, 'earlier');
    await typeInFront('mine\n');
    for (const uri of sides) documents.remove(uri);
    const later = life.own(new Review(fakeHost, documents, silentLog));
    const kept = () => vscode.workspace.textDocuments.filter(({ isUntitled }) => isUntitled).map((one) => one.getText());
    const isUntitled = ({ input }: vscode.Tab) => input instanceof vscode.TabInputText && input.uri.scheme === 'untitled';
    await settled(() => tabs().length === 1 && tabs().every(isUntitled));
    // The editor may ask for the texts of such a tab more than once.
    await Promise.all(sides.map((uri) => later.closeEarlier(uri)));
    assert.ok(tabs().length === 1 && tabs().every(isUntitled));
    assert.deepEqual(kept(), ['mine\nafter\n']);
  });

  it('what was saved in a diff of an earlier window is an untitled text, too, and nothing is left of it', async () => {
    const scheme = `${REVIEW_SCHEME}-saved`;
    const count = () => readdirSync(path.join(folder, 'saved')).length;
    const before = savedIn(scheme);
    const sides = ['before', 'after'].map((side) => before.put(`b/9/${side}`, file, `${side}\n`, side === 'after'));
    const [, right] = sides;
    assert.ok(right);
    await before.writeFile(right, new TextEncoder().encode('mine\nafter\n'));
    assert.equal(count(), 1);
    before.dispose();
    const documents = life.own(savedIn(scheme));
    const later = life.own(new Review(fakeHost, documents, silentLog));
    documents.restoreWith(async (uri) => void later.closeEarlier(uri));
    void vscode.commands.executeCommand('vscode.diff', ...sides, 'earlier').then(undefined, () => undefined);
    const untitled = () => vscode.workspace.textDocuments.filter(({ isUntitled, isClosed }) => isUntitled && !isClosed);
    await settled(() => untitled().some((one) => one.getText() === 'mine\nafter\n'));
    await settled(() => !tabs().some(({ input }) => input instanceof vscode.TabInputTextDiff));
    await settled(() => count() === 0);
  });

  it('a saved text of a proposal is forgotten with the proposal, or with another in its place, and their number is bounded', async () => {
    const names = () => readdirSync(path.join(folder, 'saved'));
    const documents = life.own(savedIn(`${REVIEW_SCHEME}-bounded`));
    const mine = new TextEncoder().encode('mine\n');
    const put = (id: number, text: string) => documents.put(`b/${id}/after`, file, text, true);
    for (const end of [documents.remove.bind(documents), () => put(1, 'another\n')]) {
      await documents.writeFile(put(1, 'one\n'), mine);
      assert.equal(names().length, 1);
      end(documents.address('b/1/after', file));
      await settled(() => names().length === 0);
    }
    for (let id = 1; id <= 103; id += 1) await documents.writeFile(put(id, 'one\n'), mine);
    assert.equal(names().length, 100);
    await documents.writeFile(put(103, 'one\n'), new Uint8Array(8_000_001));
    assert.equal(names().length, 99, 'a text that is too long leaves no earlier one');
  });

  it('a question that is open after a reload goes on with what was saved of its proposal; of another proposal, that is an untitled text', async () => {
    const scheme = `${REVIEW_SCHEME}-open`;
    const proposal = 'one\nTWO\nthree\n';
    const saved = async (of: string) => {
      const before = savedIn(scheme);
      await before.writeFile(before.put('a/1/after', file, of, true), new TextEncoder().encode('mine\n'));
      before.dispose();
    };
    const untitled = () => vscode.workspace.textDocuments.filter(({ isUntitled, isClosed }) => isUntitled && !isClosed);
    fakeHost.open(edit('1', [{ path: 'x.txt', before: 'one\ntwo\nthree\n', after: proposal }], true));
    for (const of of [proposal, 'another\n']) {
      await saved(of);
      const window = new Lifetime();
      const later = window.own(new Review(fakeHost, window.own(savedIn(scheme)), silentLog));
      await later.openAsk('a', '1');
      if (of === proposal) {
        assert.equal(await later.edited('a', '1'), 'mine\n');
        assert.equal(readdirSync(path.join(folder, 'saved')).length, 1, 'another reload finds it, too');
        assert.equal(untitled().length, 0);
      } else {
        await settled(() => untitled().some((one) => one.getText() === 'mine\n'));
        assert.equal(await later.edited('a', '1'), undefined);
      }
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      window.dispose();
    }
  });

  it('a disk that refuses the saved text of a proposal is in the log each time, and told once', async () => {
    const lines: string[] = [];
    const log: Log = { ...silentLog, error: (message) => lines.push(message) };
    writeFileSync(path.join(folder, 'saved'), 'no folder');
    const documents = life.own(savedIn(`${REVIEW_SCHEME}-refused`, log));
    const told: string[] = [];
    const { showWarningMessage } = vscode.window;
    const showing = Object.assign(vscode.window, { showWarningMessage: async (text: string) => void told.push(text) });
    life.onEnd(() => Object.assign(showing, { showWarningMessage }));
    const uri = documents.put('b/1/after', file, 'one\n', true);
    for (const text of ['mine\n', 'mine again\n']) await documents.writeFile(uri, new TextEncoder().encode(text));
    assert.equal(documents.textOf(uri), 'mine again\n', 'the window has it');
    assert.equal(lines.length, 2);
    assert.deepEqual(told, ['x.txt (proposed) could not be written: file already exists']);
  });

  it('the text of an editable proposal goes back as the user left it', async () => {
    fakeHost.open(edit('1', [{ path: 'x.txt', before: 'one\ntwo\nthree\n', after: 'one\nTWO\nthree\n' }], true));
    await review.openAsk('a', '1');
    assert.equal(await review.edited('a', '1'), undefined, 'untouched');
    await typeInFront('mine\n');
    assert.equal(await review.edited('a', '1'), 'mine\none\nTWO\nthree\n');
    fakeHost.close('1');
    await settled(() => tabs().length === 0);
  });

  it('what the user makes of a proposal is said to its ask, stays when the diff is opened again, and is taken back', async () => {
    const before = 'one\ntwo\nthree\n';
    fakeHost.open(edit('1', [{ path: 'x.txt', before, after: 'one\nTWO\nthree\n' }], true));
    await review.openAsk('a', '1');
    const input = front();
    assert.ok(input instanceof vscode.TabInputTextDiff);
    const put = async (at: vscode.Range, text: string) => {
      const change = new vscode.WorkspaceEdit();
      change.replace(input.modified, at, text);
      assert.equal(await vscode.workspace.applyEdit(change), true);
    };
    const revised = () => {
      const [ask] = session().asks;
      return ask?.kind === 'approval' ? ask.revised : undefined;
    };
    await put(new vscode.Range(0, 0, 0, 0), 'mine\n');
    await settled(() => revised() !== undefined);
    assert.deepEqual(revised(), [{ path: 'x.txt', before, after: 'mine\none\nTWO\nthree\n' }]);
    assert.equal(await (await vscode.workspace.openTextDocument(input.modified)).save(), true);
    await review.openAsk('a', '1');
    assert.equal(await review.edited('a', '1'), 'mine\none\nTWO\nthree\n', 'as the user left it');
    await put(new vscode.Range(0, 0, 1, 0), '');
    await settled(() => revised() === undefined);
    fakeHost.close('1');
    await settled(() => tabs().length === 0);
  });

  it('a pending edit learns that its file has changed, with its open diff, and that it is again as it was', async () => {
    const proposed = life.own(new ProposedFiles(fakeHost));
    const before = 'one\ntwo\nthree\n';
    const after = 'one\nTWO\nthree\n';
    const stale = (at = 0) => {
      const ask = session().asks[at];
      return ask?.kind === 'approval' ? ask.stale : undefined;
    };
    fakeHost.open(edit('1', [{ path: 'x.txt', before, after }]));
    await proposed.compare('a', '1');
    await review.openAsk('a', '1');
    const input = front();
    assert.ok(input instanceof vscode.TabInputTextDiff);
    const left = await vscode.workspace.openTextDocument(input.original);
    assert.equal(stale(), undefined);
    // On the disk, and in the editor before it is saved.
    const mine = `${before}mine\n`;
    writeFileSync(file, mine);
    await proposed.compare('a', '1');
    assert.deepEqual(stale(), [{ path: 'x.txt', before: mine, after }]);
    await settled(() => left.getText() === mine);
    writeFileSync(file, before);
    await proposed.compare('a', '1');
    assert.equal(stale(), undefined);
    await settled(() => left.getText() === before);
    const document = await vscode.workspace.openTextDocument(file);
    const type = async (at: vscode.Range, text: string) => {
      const change = new vscode.WorkspaceEdit();
      change.replace(document.uri, at, text);
      assert.equal(await vscode.workspace.applyEdit(change), true);
    };
    await type(new vscode.Range(0, 0, 0, 0), 'mine\n');
    await settled(() => stale() !== undefined);
    await type(new vscode.Range(0, 0, 1, 0), '');
    await settled(() => stale() === undefined);
    assert.equal(await document.save(), true);
    // What the agent writes once it is answered is its own.
    const decision = { kind: 'approval', by: 'user', effect: 'allow_once', label: 'Go' } as const;
    fakeHost.say('a', { type: 'ask.decided', askId: '1', decision });
    writeFileSync(file, after);
    await proposed.compare('a', '1');
    assert.equal(stale(), undefined);
    fakeHost.close('1');
    await settled(() => tabs().every(({ input: one }) => !(one instanceof vscode.TabInputTextDiff)));
  });

  it('that a proposal was changed is said once, with the way back', async () => {
    const said: string[] = [];
    const shown = vscode.window.showInformationMessage;
    const answering = async (text: string, ...buttons: readonly string[]) => {
      said.push(text);
      return buttons[0];
    };
    Object.assign(vscode.window, { showInformationMessage: answering });
    try {
      fakeHost.open(edit('1', [{ path: 'x.txt', before: 'one\ntwo', after: 'one\nTWO' }], true));
      writeFileSync(file, 'one\ntwo');
      await review.openAsk('a', '1');
      const input = await typeInFront('hello');
      await settled(() => said.length === 1);
      const document = await vscode.workspace.openTextDocument(input.modified);
      await settled(() => document.getText() === 'one\nTWO');
    } finally {
      Object.assign(vscode.window, { showInformationMessage: shown });
    }
    assert.match(said.join(), /: edited by you$/);
  });

  it('a proposal that was answered meanwhile is not put back, and the button says so', async () => {
    const said: string[] = [];
    const shown = vscode.window.showInformationMessage;
    let press = () => {};
    const answering = (text: string, ...buttons: readonly string[]) => {
      said.push(text);
      return new Promise((resolve) => {
        press = () => resolve(buttons[0]);
      });
    };
    Object.assign(vscode.window, { showInformationMessage: answering });
    try {
      fakeHost.open(edit('1', [{ path: 'x.txt', before: 'one', after: 'ONE' }], true));
      writeFileSync(file, 'one');
      await review.openAsk('a', '1');
      await typeInFront('hello');
      await settled(() => said.some((text) => text.endsWith(': edited by you')));
      const pressed = press;
      fakeHost.get('a')?.send({ type: 'answer', askId: '1', answer: { kind: 'option', optionId: 'no' } });
      pressed();
      await settled(() => said.some((text) => text.endsWith(': Answered')));
    } finally {
      Object.assign(vscode.window, { showInformationMessage: shown });
    }
  });

  it('a piece of a file is plain text: it is not checked as a file of its language', async () => {
    fakeHost.open(edit('1', [{ path: 'no.json', before: '"a": 1', after: '"a": 2', excerpt: { beforeLine: 1 } }]));
    await review.openAsk('a', '1');
    const input = front();
    assert.ok(input instanceof vscode.TabInputTextDiff);
    const sides = await Promise.all([input.original, input.modified].map((uri) => vscode.workspace.openTextDocument(uri)));
    assert.deepEqual(
      sides.map((document) => document.languageId),
      ['plaintext', 'plaintext'],
    );
    assert.match(input.modified.path, /\/no\.json\.txt$/);
    fakeHost.open(edit('2', [{ path: 'x.txt', before: 'four', after: 'five', excerpt: {} }]));
    await review.openAsk('a', '2');
    const plainFile = front();
    assert.ok(plainFile instanceof vscode.TabInputTextDiff);
    assert.match(plainFile.modified.path, /[/\\]x\.txt$/);
  });

  it('a proposed deletion is read-only', async () => {
    fakeHost.open(edit('1', [{ path: 'x.txt', before: 'one\ntwo\nthree\n', after: null }]));
    await review.openAsk('a', '1');
    const input = front();
    assert.ok(input instanceof vscode.TabInputTextDiff);
    const { permissions } = await vscode.workspace.fs.stat(input.modified);
    assert.equal(permissions, vscode.FilePermission.Readonly);
  });

  it('unsaved text is what a proposal is compared with', async () => {
    const document = await vscode.workspace.openTextDocument(file);
    await vscode.window.showTextDocument(document);
    const change = new vscode.WorkspaceEdit();
    change.insert(document.uri, new vscode.Position(0, 0), 'unsaved\n');
    await vscode.workspace.applyEdit(change);
    fakeHost.open(edit('1', [{ path: 'x.txt', before: 'two', after: 'TWO', excerpt: { beforeLine: 2 } }]));
    await review.openAsk('a', '1');
    assert.deepEqual(await sides(), ['unsaved\none\ntwo\nthree\n', 'unsaved\none\nTWO\nthree\n']);
    fakeHost.close('1');
    await settled(() => tabs().length === 1);
    await document.save();
  });

  it('in place of the diff that was allowed opens the file, once it is written', async () => {
    done([]);
    fakeHost.say('a', { type: 'call.changed', turnId: 't', callId: 'c', change: { status: 'waiting' } });
    fakeHost.open({ ...edit('1', [{ path: 'x.txt', before: 'one\ntwo\nthree\n', after: 'one\n' }]), callId: 'c' });
    await review.openAsk('a', '1', undefined, true);
    fakeHost.say('a', { type: 'ask.decided', askId: '1', decision: { kind: 'approval', by: 'user', effect: 'allow_once' } });
    fakeHost.close('1');
    await settled(() => tabs().length === 0);
    writeFileSync(file, 'one\n');
    fakeHost.say('a', { type: 'call.changed', turnId: 't', callId: 'c', change: { status: 'done' } });
    await settled(() => {
      const input = front();
      return input instanceof vscode.TabInputText && input.uri.fsPath === file;
    });
  });

  /** Opens the diff of an edit of line 30 of 40 and allows it there; the agent writes the file. `inDiff` is done before the answer. */
  const allowedInDiff = async (inDiff = () => {}) => {
    const lines = Array.from({ length: 40 }, (_, at) => `line ${at + 1}`);
    writeFileSync(file, lines.join('\n'));
    done([]);
    fakeHost.say('a', { type: 'call.changed', turnId: 't', callId: 'c', change: { status: 'waiting' } });
    const after = lines.with(29, 'thirty').join('\n');
    fakeHost.open({ ...edit('1', [{ path: 'x.txt', before: lines.join('\n'), after }]), callId: 'c' });
    await review.openAsk('a', '1', undefined, true);
    inDiff();
    fakeHost.say('a', { type: 'ask.decided', askId: '1', decision: { kind: 'approval', by: 'user', effect: 'allow_once' } });
    fakeHost.close('1');
    await settled(() => !tabs().some(({ input }) => input instanceof vscode.TabInputTextDiff));
    writeFileSync(file, after);
    fakeHost.say('a', { type: 'call.changed', turnId: 't', callId: 'c', change: { status: 'done' } });
  };
  const isAtLine = (line: number) => () =>
    vscode.window.activeTextEditor?.document.uri.fsPath === file && vscode.window.activeTextEditor.selection.active.line === line;

  it('the file that was allowed opens at the change', async () => {
    await allowedInDiff();
    await settled(isAtLine(29));
  });

  it('the file that was allowed opens where the user went in the diff', async () => {
    await allowedInDiff(() => {
      const right = vscode.window.visibleTextEditors.find(({ document }) => document.uri.query.endsWith('after'));
      assert.ok(right);
      right.selection = new vscode.Selection(11, 0, 11, 0);
    });
    await settled(isAtLine(11));
  });

  it('the file that was allowed stays where the user had it open', async () => {
    writeFileSync(file, Array.from({ length: 40 }, (_, at) => `line ${at + 1}`).join('\n'));
    await vscode.window.showTextDocument(vscode.Uri.file(file), { preview: false, selection: new vscode.Range(20, 0, 20, 0) });
    await allowedInDiff();
    await settled(isAtLine(20));
  });

  it('a finished edit opens as the earlier text beside the file itself', async () => {
    done([{ path: file, before: 'zwei', after: 'two', excerpt: { beforeLine: 2, afterLine: 2 } }]);
    await review.openTurn('a', 't');
    assert.deepEqual(await sides(), ['one\nzwei\nthree\n', 'one\ntwo\nthree\n']);
    const input = front();
    assert.ok(input instanceof vscode.TabInputTextDiff);
    assert.equal(input.modified.fsPath, file);
    assert.equal(review.active?.kind, 'turn');
  });

  it('revert writes the earlier text back', async () => {
    done([{ path: file, before: 'zwei', after: 'two', excerpt: { beforeLine: 2, afterLine: 2 } }]);
    await settleTurnFile(session(), 't', file, 'undo');
    assert.equal(readFileSync(file, 'utf8'), 'one\nzwei\nthree\n');
  });

  it('revert is refused where the user has changed the same place, and the file stays', async () => {
    done([{ path: file, before: 'zwei', after: 'TWO', excerpt: { beforeLine: 2, afterLine: 2 } }]);
    await assert.rejects(settleTurnFile(session(), 't', file, 'undo'), /changed in the meantime/);
    assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\nthree\n');
  });

  it('reverting a made file deletes it, but not what the user added to it', async () => {
    done([{ path: file, before: null, after: 'one\ntwo\nthree\n' }]);
    writeFileSync(file, 'one\ntwo\nthree\nmine\n');
    await assert.rejects(settleTurnFile(session(), 't', file, 'undo'), /changed in the meantime/);
    writeFileSync(file, 'one\ntwo\nthree\n');
    await settleTurnFile(session(), 't', file, 'undo');
    assert.throws(() => readFileSync(file), /ENOENT/);
  });
});

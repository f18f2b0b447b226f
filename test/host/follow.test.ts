import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { Lifetime } from '../../src/base/lifetime.ts';
import { silentLog } from '../../src/base/log.ts';
import { follow } from '../../src/editor/follow.ts';
import type { Location, ToolCall } from '../../src/session/model.ts';
import { command, FakeSessionHost } from './fakeHost.ts';
import { settled } from './settled.ts';

describe('following the agent', () => {
  let life: Lifetime;
  let folder: string;
  let fakeHost: FakeSessionHost;
  let on: boolean;
  let settingChanged: () => void;
  let calls = 0;

  const works = (...locations: Location[]) => {
    calls += 1;
    const id = `c${calls}`;
    const call: ToolCall = { id, name: 'read', title: 'read', kind: 'read', status: 'running', inputText: '', output: [], locations };
    fakeHost.say('a', { type: 'part.added', turnId: 'now', part: { kind: 'call', id, call } });
  };
  const visible = (name: string) => vscode.window.visibleTextEditors.find((one) => path.basename(one.document.uri.fsPath) === name);
  const shows = (name: string, line: number) =>
    visible(name)?.visibleRanges.some((range) => range.contains(new vscode.Position(line - 1, 0)));
  const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs.map((tab) => tab.label));

  beforeEach(async () => {
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    life = new Lifetime();
    folder = mkdtempSync(path.join(os.tmpdir(), 'parley-follow-'));
    for (const name of ['a.txt', 'b.txt', 'c.txt']) writeFileSync(path.join(folder, name), `${name}\n`.repeat(500));
    fakeHost = new FakeSessionHost(folder, 'a');
    fakeHost.say('a', { type: 'turn.ended', turnId: 't', at: 2, status: 'done' });
    on = true;
    const onSetting = (listener: () => void) => {
      settingChanged = listener;
      return { dispose() {} };
    };
    life.own(follow({ on: () => on, onSetting, now: Date.now, log: silentLog })(fakeHost));
  });
  afterEach(async () => {
    life.dispose();
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    rmSync(folder, { recursive: true, force: true });
  });
  const begin = () => fakeHost.say('a', { type: 'turn.started', turnId: 'now', at: Date.now(), prompt: [] });

  it('shows the file and the line in one preview after the other; paths are those of the session', async () => {
    begin();
    works({ path: 'a.txt', line: 300 });
    await settled(() => shows('a.txt', 300) === true);
    works({ path: path.join(folder, 'b.txt'), line: 9999 });
    await settled(() => shows('b.txt', 500) === true);
    await settled(() => tabs().join() === 'b.txt');
    works({ path: 'b.txt', line: 20 });
    await settled(() => shows('b.txt', 20) === true);
    assert.deepEqual(visible('b.txt')?.selection.active.line, 0, 'the cursor stays');
  });

  it('shows a place that comes with the end of its call, and stays there when the call has failed', async () => {
    begin();
    for (const [status, line] of [
      ['done', 200],
      ['failed', 400],
    ] as const) {
      works();
      fakeHost.say('a', {
        type: 'call.changed',
        turnId: 'now',
        callId: `c${calls}`,
        change: { status, locations: [{ path: 'a.txt', line }] },
      });
      await settled(() => shows('a.txt', line) === true);
    }
  });

  it('leaves alone the editor that the user works in', async () => {
    // Both have to be told before the turn begins: what comes after its beginning is a jump in it.
    const isMine = (editor: vscode.TextEditor | undefined) => editor?.document.uri.fsPath === path.join(folder, 'a.txt');
    let active = false;
    let visibly = false;
    life.own(
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        active = isMine(editor);
      }),
    );
    life.own(
      vscode.window.onDidChangeVisibleTextEditors((editors) => {
        visibly = editors.some(isMine);
      }),
    );
    const mine = await vscode.window.showTextDocument(vscode.Uri.file(path.join(folder, 'a.txt')), { preview: true });
    await settled(() => active && visibly);
    begin();
    await vscode.commands.executeCommand('type', { text: 'x' });
    const at = mine.selection.active;
    works({ path: 'b.txt', line: 250 });
    await settled(() => shows('b.txt', 250) === true);
    assert.equal(vscode.window.activeTextEditor?.document, mine.document);
    assert.ok(visible('a.txt'), 'it is still on the screen');
    assert.deepEqual(visible('a.txt')?.selection.active, at);
    await vscode.commands.executeCommand('type', { text: 'y' });
    assert.equal(mine.document.lineAt(0).text.slice(0, 2), 'xy');
    works({ path: 'c.txt', line: 100 });
    await settled(() => shows('c.txt', 100) === true);
    assert.equal(vscode.window.tabGroups.all.length, 2, 'one column is enough');
  });

  it('stops when the user goes to another file, until the next turn or until it is turned on again', async () => {
    begin();
    works({ path: 'a.txt', line: 300 });
    await settled(() => shows('a.txt', 300) === true);
    const go = async (name: string) => {
      await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(path.join(folder, name)));
      await settled(() => path.basename(vscode.window.activeTextEditor?.document.uri.fsPath ?? '') === name);
    };
    await go('b.txt');
    // What was asked for while it stood still would have come by the time that what is asked for afterwards is there.
    const seen = new Set<string>();
    life.own(
      vscode.window.onDidChangeVisibleTextEditors((editors) => {
        for (const { document } of editors) seen.add(path.basename(document.uri.fsPath));
      }),
    );
    works({ path: 'c.txt', line: 100 });
    fakeHost.say('a', { type: 'turn.ended', turnId: 'now', at: Date.now(), status: 'done' });
    fakeHost.say('a', { type: 'turn.started', turnId: 'then', at: Date.now() + 1, prompt: [] });
    const call: ToolCall = {
      id: 'd',
      name: 'read',
      title: 'read',
      kind: 'read',
      status: 'running',
      inputText: '',
      output: [],
      locations: [{ path: 'a.txt', line: 200 }],
    };
    fakeHost.say('a', { type: 'part.added', turnId: 'then', part: { kind: 'call', id: 'd', call } });
    await settled(() => shows('a.txt', 200) === true);
    assert.ok(!seen.has('c.txt'));
    await go('c.txt');
    settingChanged();
    fakeHost.say('a', { type: 'call.changed', turnId: 'then', callId: 'd', change: { locations: [{ path: 'b.txt', line: 400 }] } });
    await settled(() => shows('b.txt', 400) === true);
  });

  it('shows nothing that is past by the time it could be shown: the agent is elsewhere, or the user is asked', async () => {
    const seen = new Set<string>();
    life.own(
      vscode.window.onDidChangeVisibleTextEditors((editors) => {
        for (const { document } of editors) seen.add(path.basename(document.uri.fsPath));
      }),
    );
    begin();
    works({ path: 'a.txt', line: 300 });
    works({ path: 'b.txt', line: 300 });
    await settled(() => shows('b.txt', 300) === true);
    works({ path: 'c.txt', line: 300 });
    works({ path: 'b.txt', line: 20 });
    await settled(() => shows('b.txt', 20) === true);
    assert.deepEqual([...seen], ['b.txt']);
  });

  for (const [when, status] of [
    ['while the call runs', 'running'],
    ['with its end', 'done'],
  ] as const) {
    it(`shows a file that is made after it was named, ${when}`, async () => {
      begin();
      const file = path.join(folder, 'fresh.txt');
      works({ path: 'fresh.txt', line: 2 });
      // By then it has been looked for once.
      await assert.rejects(async () => vscode.workspace.fs.stat(vscode.Uri.file(file)));
      writeFileSync(file, 'a\nb\n');
      fakeHost.say('a', { type: 'call.changed', turnId: 'now', callId: `c${calls}`, change: { status } });
      await settled(() => visible('fresh.txt') !== undefined);
    });
  }

  it('opens nothing for what is missing, is no file or is elsewhere, nor while it is off or an ask waits', async () => {
    begin();
    on = false;
    works({ path: 'a.txt', line: 1 });
    fakeHost.open(command('1'));
    on = true;
    settingChanged();
    works({ path: 'gone.txt', line: 1 }, { path: '.' }, { path: '/etc/hostname' });
    fakeHost.close('1');
    works({ path: 'gone.txt', line: 1 });
    works({ path: 'c.txt' });
    await settled(() => visible('c.txt') !== undefined);
    assert.deepEqual(tabs(), ['c.txt']);
  });
});

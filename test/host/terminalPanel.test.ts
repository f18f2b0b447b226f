import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { TerminalPanel } from '../../src/editor/terminalPanel.ts';
import { FakeSessionHost } from './fakeHost.ts';
import { settled } from './settled.ts';

describe('terminals of an agent in the terminal panel', () => {
  let fakeHost: FakeSessionHost;
  let panel: TerminalPanel;
  const mine = () => vscode.window.terminals.filter((one) => one.name.startsWith('npm run'));

  /** The other end of what the editor reads: the terminal's own options. */
  const written = (terminal: vscode.Terminal | undefined) => {
    const options = terminal?.creationOptions;
    assert.ok(options && 'pty' in options, 'not one of ours');
    const texts: string[] = [];
    const listening = options.pty.onDidWrite((text) => texts.push(text));
    return { pty: options.pty, text: () => texts.join(''), end: () => listening.dispose() };
  };

  beforeEach(() => {
    fakeHost = new FakeSessionHost('/', 'a');
    panel = new TerminalPanel(fakeHost);
    fakeHost.say('a', { type: 'terminal.changed', terminal: { id: 'x', command: 'npm run \u001b[2Jwatch' }, delta: 'one\ntwo\r\n' });
  });
  afterEach(async () => {
    panel.dispose();
    await settled(() => mine().length === 0);
  });

  it('shows what was put out, what comes, and how it ended', async () => {
    assert.equal(panel.show('a', 'x'), true);
    await settled(() => mine().length === 1);
    const { pty, text, end } = written(mine()[0]);
    pty.open(undefined);
    assert.match(text(), /one\r\ntwo\r\n$/);
    assert.ok(!text().includes('\u001b[2J'), 'the command is shown, not carried out');
    fakeHost.say('a', { type: 'terminal.changed', terminal: { id: 'y', command: 'other' }, delta: 'not mine' });
    fakeHost.say('a', { type: 'terminal.changed', terminal: { id: 'x' }, delta: '\u001b[31mred\u001b[0m\n' });
    assert.ok(text().includes('\u001b[31mred\u001b[0m\r\n') && !text().includes('not mine'));
    fakeHost.say('a', { type: 'terminal.changed', terminal: { id: 'x', exit: { code: 3, signal: null } } });
    assert.match(text(), /exit 3/);
    end();
  });

  it('is opened once; closing it leaves the session as it is, and it can be opened again', async () => {
    panel.show('a', 'x');
    panel.show('a', 'x');
    await settled(() => mine().length === 1);
    mine()[0]?.dispose();
    await settled(() => mine().length === 0);
    assert.equal(fakeHost.get('a')?.store.now.terminals.at(-1)?.exit, undefined);
    panel.show('a', 'x');
    await settled(() => mine().length === 1);
  });

  it('a terminal that is not there is not made up', () => {
    assert.equal(panel.show('a', 'constructor'), false);
    assert.equal(panel.show('b', 'x'), false);
  });
});

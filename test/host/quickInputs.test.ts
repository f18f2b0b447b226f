import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { type PickChoice, QuickInputs } from '../../src/editor/quickInputs.ts';
import { settled } from './settled.ts';

describe('quick inputs that follow one another', () => {
  it('an answer does not wait until the editor has taken its input away: the next one comes at once, and nothing of ours appears between', async () => {
    const inputs = new QuickInputs();
    const free: string[] = [];
    inputs.onFree(() => free.push('free'));
    const first = inputs.pick([{ label: 'one', value: 1 }], { title: 'first' });
    const second = first.then((value) => {
      assert.deepEqual([value, inputs.busy], [1, true]);
      return inputs.pick([{ label: 'two', value: 2 }], { title: 'second' });
    });
    await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem');
    await first;
    assert.deepEqual(free, []);
    const over = new Promise<void>((resolve) => {
      inputs.onFree(() => resolve());
    });
    await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem');
    assert.equal(await second, 2);
    await over;
    assert.deepEqual([free, inputs.busy], [['free'], false]);
    inputs.dispose();
  });

  it('Esc in any of them leads back to where the keyboard was before the first, once, and not from an input that was opened elsewhere', async () => {
    let isInChat = true;
    let returned = 0;
    const back = async () => {
      returned += 1;
    };
    const inputs = new QuickInputs(() => (isInChat ? back : undefined));
    const free = () =>
      new Promise<void>((resolve) => {
        inputs.onFree(() => resolve());
      });
    const first = inputs.pick([{ label: 'one', value: 1 }], { title: 'first', step: 1 });
    isInChat = false;
    const over = free();
    await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem');
    assert.equal(await first, 1);
    await over;
    const leave = async (step?: 2) => {
      const pick = inputs.pick([{ label: 'two', value: 2 }], { title: 'another', ...(step ? { step } : {}) });
      await vscode.commands.executeCommand('workbench.action.closeQuickOpen');
      assert.equal(await pick, undefined);
      await inputs.dismissed();
    };
    await leave(2);
    assert.equal(returned, 1);
    await inputs.dismissed();
    await leave();
    assert.equal(returned, 1);
    inputs.dispose();
  });

  it('what was typed keeps a row in focus while descriptions and rows arrive late', async () => {
    const create = vscode.window.createQuickPick;
    let shown: vscode.QuickPick<PickChoice<string>> | undefined;
    const creating = () => {
      shown = create<PickChoice<string>>();
      return shown;
    };
    Object.assign(vscode.window, { createQuickPick: creating });
    const inputs = new QuickInputs();
    let sendDescription: (description: string) => void = () => {};
    let complete: (rows: readonly PickChoice<string>[]) => void = () => {};
    const found = new Promise<string>((resolve) => {
      sendDescription = resolve;
    });
    const whole = new Promise<readonly PickChoice<string>[]>((resolve) => {
      complete = resolve;
    });
    try {
      const local = { label: 'Local server', value: 'local', late: found };
      const chosen = inputs.pick([local], { title: 'model', whole });
      const pick = shown;
      assert.ok(pick);
      const active = () => pick.activeItems.map(({ value }) => value).join();
      await settled(() => active() === 'local');
      pick.value = 'hosted';
      await settled(() => active() === '');
      sendDescription('running');
      complete([local, { label: 'Hosted service', value: 'hosted' }]);
      await settled(() => active() === 'hosted');
      await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem');
      assert.equal(await chosen, 'hosted');
    } finally {
      Object.assign(vscode.window, { createQuickPick: create });
      inputs.dispose();
    }
  });
});

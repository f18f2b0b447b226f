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

  /** Lists one row, and returns the pick behind it with what completes it. */
  const opened = (inputs: QuickInputs) => {
    const create = vscode.window.createQuickPick;
    let shown: vscode.QuickPick<PickChoice<string>> | undefined;
    const creating = () => {
      shown = create<PickChoice<string>>();
      return shown;
    };
    let describe: (description: string) => void = () => {};
    const late = new Promise<string>((resolve) => {
      describe = resolve;
    });
    const local = { label: 'Local server', value: 'local', late };
    let complete = () => {};
    const whole = new Promise<readonly PickChoice<string>[]>((resolve) => {
      complete = () => resolve([local, { label: 'Hosted service', value: 'hosted' }]);
    });
    Object.assign(vscode.window, { createQuickPick: creating });
    const chosen = inputs.pick([local], { title: 'model', whole });
    Object.assign(vscode.window, { createQuickPick: create });
    assert.ok(shown);
    const pick = shown;
    const active = () => pick.activeItems.map(({ value }) => value).join();
    return { chosen, pick, active, describe: (text: string) => describe(text), complete: () => complete() };
  };

  it('what was typed keeps a row in focus while descriptions and rows arrive late', async () => {
    const inputs = new QuickInputs();
    const { chosen, pick, active, describe, complete } = opened(inputs);
    await settled(() => active() === 'local');
    pick.value = 'hosted';
    await settled(() => active() === '');
    describe('running');
    complete();
    await settled(() => active() === 'hosted');
    await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem');
    assert.equal(await chosen, 'hosted');
    inputs.dispose();
  });

  it('what is typed in the moment in which rows arrive has the focus on a row that matches', async () => {
    const inputs = new QuickInputs();
    const { chosen, pick, active, complete } = opened(inputs);
    await settled(() => active() === 'local');
    complete();
    pick.value = 'hosted';
    await settled(() => active() === 'hosted');
    await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem');
    assert.equal(await chosen, 'hosted');
    inputs.dispose();
  });
});

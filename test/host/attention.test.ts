import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { Lifetime } from '../../src/base/lifetime.ts';
import { Attention } from '../../src/editor/attention.ts';
import { command, FakeSessionHost, options, question } from './fakeHost.ts';
import { settled } from './settled.ts';

describe('notifications while the window is in the background', () => {
  let life: Lifetime;
  let fakeHost: FakeSessionHost;
  let focused: boolean;
  let off: readonly string[];
  let back: () => void;
  let stay: number;
  /** What stands in open notifications. */
  let texts: (string | undefined)[];
  const original = vscode.window.withProgress;

  beforeEach(() => {
    life = new Lifetime();
    texts = [];
    focused = false;
    off = [];
    stay = 0;
    fakeHost = new FakeSessionHost('/project', 'a');
    const progress: typeof vscode.window.withProgress = (_, task) => {
      const at = texts.push('') - 1;
      const report = ({ message }: { readonly message?: string }) => {
        texts[at] = message;
      };
      const over = task({ report } as never, {} as never);
      void over.then(() => {
        texts[at] = undefined;
      });
      return over;
    };
    Object.defineProperty(vscode.window, 'withProgress', { value: progress, configurable: true });
    life.own(
      new Attention({
        host: fakeHost,
        focused: () => focused,
        onFocus: (listener) => {
          back = listener;
          return { dispose: () => {} };
        },
        notifies: (of) => !off.includes(of),
        get stay() {
          return stay;
        },
      }),
    );
  });
  afterEach(() => {
    life.dispose();
    Object.defineProperty(vscode.window, 'withProgress', { value: original, configurable: true });
  });
  const open = () => texts.filter((text) => text !== undefined);

  it('an approval of a harmless command brings its answers, and goes when it is settled', async () => {
    fakeHost.open(command('1', 'npm test'));
    await settled(() => open().length === 1);
    assert.match(
      open()[0] ?? '',
      /^\[Allow once\]\(command:parley\.decide\?\S+\) · \[Reject\]\(command:\S+\) · \[Open\]\(command:\S+\) · Agent a: npm test$/,
    );
    fakeHost.close('1');
    await settled(() => open().length === 0);
  });

  it('what is dangerous, longer than the text or more than a command can only be looked at', async () => {
    fakeHost.open(command('1', 'sudo rm -rf /'));
    fakeHost.open(command('2', `echo ${'x'.repeat(500)}`));
    fakeHost.open({ ...command('3'), detail: { type: 'edit', diffs: [{ path: '/project/a', before: 'a', after: 'b' }] }, options });
    fakeHost.open(question('4', []));
    await settled(() => open().length === 4);
    for (const text of open()) assert.deepEqual(text.match(/\[[^\]]*\]\(command:[\w.]*/g), ['[Open](command:parley.showPending']);
  });

  it('words of an agent make no link', async () => {
    fakeHost.open({ ...question('1', []), title: 'Look [here](command:parley.acceptAll)' });
    await settled(() => open().length === 1);
    assert.equal(open()[0]?.includes('](command:parley.acceptAll'), false);
  });

  it('nothing is said while the user is there or does not want it, and all of it goes when they are back', async () => {
    focused = true;
    fakeHost.open(command('1'));
    await new Promise(setImmediate);
    focused = false;
    off = ['questions'];
    fakeHost.open(question('2', []));
    fakeHost.say('a', { type: 'turn.ended', turnId: 't', at: 2, status: 'done' });
    await settled(() => open().length === 1);
    assert.match(open()[0] ?? '', /^Agent a has finished: .*command:parley\.focusChat\?%5B%22a%22%5D/);
    focused = true;
    back();
    await settled(() => open().length === 0);
  });

  it('stays under the press that brings the window to the front, and when the user has gone again', async () => {
    fakeHost.open(command('1', 'npm test'));
    await settled(() => open().length === 1);
    stay = 60_000;
    focused = true;
    back();
    await new Promise(setImmediate);
    assert.equal(open().length, 1);
    stay = 0;
    back();
    focused = false;
    await new Promise((resolve) => setTimeout(resolve, 1));
    assert.equal(open().length, 1);
    focused = true;
    back();
    await settled(() => open().length === 0);
  });

  it('a turn that the user stopped is not announced', async () => {
    fakeHost.say('a', { type: 'turn.ended', turnId: 't', at: 2, status: 'cancelled' });
    fakeHost.say('a', { type: 'turn.started', turnId: 'u', at: 3, prompt: [] });
    fakeHost.say('a', { type: 'turn.ended', turnId: 'u', at: 4, status: 'failed' });
    await settled(() => open().length === 1);
    assert.match(open()[0] ?? '', /^Agent a failed: /);
  });
});

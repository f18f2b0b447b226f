import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { pickAgent } from '../../src/editor/pickAgent.ts';
import { type Choice, type ListOptions, QuickInputs } from '../../src/editor/quickInputs.ts';
import type { FoundAgent } from '../../src/live/findAgents.ts';
import { type KnownAgent, knownAgents } from '../../src/live/knownAgents.ts';
import type { Profile } from '../../src/live/profiles.ts';

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
    const pick = async <T>(first: readonly Choice<T>[], { whole }: ListOptions<T>): Promise<T | undefined> => {
      atOnce.push(...first.map((one) => one.label));
      const choices = (await whole) ?? first;
      for (const one of choices) {
        const row = [one.label, (await one.late) ?? one.description, one.detail].filter(Boolean).join(' | ');
        if (row) rows.push(row);
      }
      return choices.find((one) => one.label.includes(word))?.value;
    };
    return { chosen: await pickAgent(agents, { pick }), rows, atOnce, added };
  };

  it('names those of the settings, those on this computer with place and version, and how to get the others', async () => {
    const { rows } = await choose('nobody');
    assert.deepEqual(rows, [
      'Parley Agent | comes with Parley',
      'Mine | 3.2.1 · default | /opt/mine',
      '$(gear) Add an agent in the settings…',
      'Found on this computer',
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
    const pick = async <T>(choices: readonly Choice<T>[]): Promise<T | undefined> => {
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
    await pickAgent(agents, { pick });
    assert.deepEqual(details, ['node one.mjs', 'node two.mjs --acp', 'three']);
  });

  it('those of the settings are there at once, the others come when they are found', async () => {
    const { atOnce } = await choose('nobody');
    assert.deepEqual(atOnce, ['Parley Agent', 'Mine', '$(gear) Add an agent in the settings…', 'Looking for agents on this computer…']);
  });

  it('a list that comes whole later keeps what is active', async () => {
    const inputs = new QuickInputs();
    let find: (found: readonly Choice<number>[]) => void = () => {};
    const whole = new Promise<readonly Choice<number>[]>((resolve) => {
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
    assert.equal(await chosen, 9);
    inputs.dispose();
  });

  it('one click starts one that is there, and puts it into the settings', async () => {
    const { chosen, added } = await choose('Gemini');
    assert.deepEqual([chosen?.command, added], ['gemini', ['gemini']]);
    assert.deepEqual((await choose('Mine')).chosen?.command, '/opt/mine');
    assert.deepEqual((await choose('Mine')).added, []);
  });

  it('a version that comes late changes neither what is active nor what is chosen', async () => {
    const inputs = new QuickInputs();
    let say: (version: string) => void = () => {};
    const late = new Promise<string>((resolve) => {
      say = resolve;
    });
    const chosen = inputs.pick(
      [
        { label: 'Slow', value: 1, late },
        { label: 'Other', value: 2 },
      ],
      { title: 'Which?' },
    );
    await vscode.commands.executeCommand('workbench.action.quickOpenSelectNext');
    say('1.2.3');
    await late;
    await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem');
    assert.equal(await chosen, 2);
    inputs.dispose();
  });
});

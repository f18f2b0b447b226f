import assert from 'node:assert/strict';
import type { PickChoice } from '../../src/editor/quickInputs.ts';
import { changeOptions } from '../../src/editor/sessionChoices.ts';
import type { Intent } from '../../src/session/intents.ts';
import type { SessionOption } from '../../src/session/model.ts';
import { FakeSessionHost } from './fakeHost.ts';

describe('options of a session', () => {
  const model: SessionOption = {
    id: 'model',
    name: 'Model',
    about: 'model',
    kind: 'choice',
    current: 's',
    choices: [
      { value: 's', name: 'Small', group: 'Local' },
      { value: 'l', name: '$(flame) Large', group: 'Far' },
    ],
  };
  const wide: SessionOption = { id: 'web', name: 'Web search', kind: 'switch', on: false };

  /** Goes through the picks by the words in their rows; what the last words name is chosen. */
  const choosing = async (options: readonly SessionOption[], ...words: readonly string[]) => {
    const fakeHost = new FakeSessionHost('/', 'a');
    fakeHost.say('a', { type: 'options.set', options });
    const sent: Intent[] = [];
    const shown: string[][] = [];
    const left = [...words];
    const pick = async <T>(choices: readonly PickChoice<T>[]): Promise<T | undefined> => {
      shown.push(choices.map((choice) => `${choice.label} ${choice.description ?? ''}`.trim()));
      const word = left.shift();
      return word === undefined ? undefined : choices.find((choice) => choice.label.includes(word))?.value;
    };
    await changeOptions({ ...fakeHost.get('a')!, send: (intent) => sent.push(intent) }, { pick });
    return { sent, shown };
  };

  it('a choice shows its values under their headings, with the one that holds', async () => {
    const { sent, shown } = await choosing([model, wide], 'Model', 'Large');
    assert.deepEqual(sent, [{ type: 'setOption', optionId: 'model', value: 'l' }]);
    assert.deepEqual(shown[1], ['Local', 'Small current', 'Far', '$\u200b(flame) Large']);
  });

  it('a switch is turned at once; a single option needs no list', async () => {
    assert.deepEqual((await choosing([model, wide], 'Web')).sent, [{ type: 'setOption', optionId: 'web', value: true }]);
    assert.equal((await choosing([model], 'Large')).shown.length, 1);
  });

  it('nothing is sent for nothing chosen, nor for what holds already', async () => {
    assert.deepEqual((await choosing([model, wide])).sent, []);
    assert.deepEqual((await choosing([model], 'Small')).sent, []);
  });
});

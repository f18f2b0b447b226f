import './dom.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Content, Session } from '../../src/session/model.ts';
import { session, sessions } from './page/sessions.ts';
import { Stage } from './stage.ts';

const line = (profile: string) =>
  [{ id: 's1', title: '', agent: 'Parley Agent', profile, state: 'ready', asks: 0, at: 1, files: 0 }] as const;
const profiles = (model: string) => [{ id: 'parley', name: 'Parley Agent', model }];

/** The picker of a session of the bundled agent, with a configured model. */
async function bundled(model: string): Promise<Stage> {
  const stage = await Stage.open(session({}), { lines: line('parley') });
  stage.post({ type: 'sessions', list: line('parley'), active: 's1', profiles: profiles(model) });
  await stage.settle();
  return stage;
}

async function open(stage: Stage): Promise<HTMLInputElement> {
  stage.find('.pill').click();
  await stage.settle();
  return stage.find<HTMLInputElement>('.picker input');
}

async function search(stage: Stage, text: string): Promise<void> {
  const input = stage.find<HTMLInputElement>('.picker input');
  input.value = text;
  input.dispatchEvent(new Event('input', { bubbles: true }));
  await stage.settle();
}

const press = (stage: Stage, key: string) => {
  stage.find('.picker input').dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  return stage.settle();
};
const rows = (stage: Stage) => stage.all('.picker .menu-label bdi').map((row) => row.textContent);

test('one button names agent, model and mode, and opens one picker for all of them', async () => {
  const stage = await Stage.open(sessions.everything);
  assert.match(stage.text('.pill'), /Parley Agent\s*Large 4\s*Ask first/);
  assert.equal(stage.root.querySelector('select'), null);
  const input = await open(stage);
  assert.equal(document.activeElement, input);
  assert.deepEqual(rows(stage), [
    'House · Large 4',
    'House · Small 4',
    'Own · Local',
    'Ask first',
    'Automatic',
    'Web search',
    'Another agent',
  ]);
  assert.match(stage.text('#pick-0'), /Large 4/, 'the chosen one is active');
  assert.equal(input.getAttribute('aria-activedescendant'), 'pick-0');
  assert.equal(stage.find('#pick-0').getAttribute('aria-checked'), 'true');
});

test('the picker is searched and chosen from with the keyboard alone, and gives the focus back', async () => {
  const stage = await Stage.open(sessions.everything);
  await open(stage);
  await press(stage, 'ArrowDown');
  await press(stage, 'Enter');
  assert.deepEqual(stage.intents.at(-1), { type: 'setOption', optionId: 'model', value: 'small' });
  assert.equal(stage.root.querySelector('.picker'), null);
  assert.equal(document.activeElement, stage.composer);
  await open(stage);
  await search(stage, 'auto');
  assert.deepEqual(rows(stage), ['Automatic']);
  await press(stage, 'Enter');
  assert.deepEqual(stage.intents.at(-1), { type: 'setMode', modeId: 'auto' });
  await open(stage);
  await search(stage, 'web');
  await press(stage, 'Enter');
  assert.deepEqual(stage.intents.at(-1), { type: 'setOption', optionId: 'web', value: false });
  await open(stage);
  await press(stage, 'Escape');
  assert.equal(stage.root.querySelector('.picker'), null);
  assert.equal(document.activeElement, stage.composer);
  assert.equal(stage.intents.length, 3);
});

test('what is chosen already is not chosen again', async () => {
  const stage = await Stage.open(sessions.everything);
  await open(stage);
  await press(stage, 'Enter');
  assert.deepEqual(stage.intents, []);
});

test('the configured model is visible, and another one of its endpoint is chosen with its price in sight', async () => {
  const stage = await bundled('qwen3-coder');
  assert.match(stage.text('.pill'), /qwen3-coder/);
  await open(stage);
  const call = stage.sent.findLast((message) => message.type === 'call' && message.method === 'models');
  assert.ok(call?.type === 'call');
  const models = [{ name: 'sonnet', price: '$3 / $15' }, { name: 'qwen3-coder' }];
  stage.post({ type: 'reply', id: call.id, result: models });
  await stage.settle();
  assert.deepEqual(rows(stage), ['sonnet', 'qwen3-coder', 'Configure Model', 'Another agent']);
  assert.match(stage.text('#pick-0'), /\$3 \/ \$15/);
  assert.equal(stage.text('.pick-head > :last-child'), 'For a million tokens: in / out');
  await press(stage, 'ArrowUp');
  await press(stage, 'Enter');
  assert.deepEqual(stage.calls('useModel'), [{ name: 'sonnet' }]);
});

test('a narrow pill names the agent where no model is known', async () => {
  const modes = [{ id: 'default', name: 'Default' }];
  const hidden = async (options: Session['options']) => {
    const stage = await Stage.open(session({ mode: { current: 'default', all: modes }, ...(options ? { options } : {}) }));
    return stage.all('.pill-agent').length;
  };
  assert.deepEqual([await hidden(undefined), await hidden(sessions.everything?.options)], [0, 1]);
});

test('without a model the pill says so and the picker leads to setting one up', async () => {
  const stage = await bundled('');
  assert.match(stage.text('.pill'), /No model/);
  await open(stage);
  assert.deepEqual(stage.calls('models'), [], 'there is no endpoint to ask');
  await press(stage, 'Enter');
  assert.deepEqual(stage.calls('remedy'), [{ sessionId: 's1', remedy: 'configureModel' }]);
});

const answer = async (stage: Stage, method: string, result: unknown) => {
  const call = stage.sent.findLast((message) => message.type === 'call' && message.method === method);
  assert.ok(call?.type === 'call');
  stage.post({ type: 'reply', id: call.id, result });
  await stage.settle();
};
const prompted = (stage: Stage): readonly Content[] => {
  const intent = stage.intents.at(-1);
  return intent?.type === 'prompt' ? intent.content : [];
};
const idle: Session = session({});

test('problems chosen after an @ become a chip with a preview, and the @ goes', async () => {
  const stage = await Stage.open(idle);
  await stage.type('Fix these @prob');
  await answer(stage, 'findMentions', [{ kind: 'problems', label: 'Problems', detail: '2' }]);
  await stage.key('Enter');
  assert.equal(stage.composer.value, 'Fix these ');
  assert.deepEqual(stage.calls('attach'), [{ kind: 'problems' }]);
  const problems = { type: 'file', path: 'Problems (2)', text: 'src/a.ts:1:1: error: No' } as const;
  await answer(stage, 'attach', [problems]);
  assert.equal(stage.text('.attachment-name'), 'Problems (2)');
  stage.find('.attachment-name').click();
  await stage.settle();
  assert.equal(stage.text('.preview'), problems.text);
  await stage.key('Enter');
  assert.deepEqual(prompted(stage), [{ type: 'text', text: 'Fix these' }, problems]);
});

test('a row that is chosen while the list for what was typed since is on its way leaves no letters behind', async () => {
  const stage = await Stage.open(idle);
  await stage.type('see @not');
  await answer(stage, 'findMentions', [{ kind: 'file', label: 'notes.txt', path: '/code/sample/notes.txt' }]);
  await stage.type('see @notes');
  await stage.key('Enter');
  assert.equal(stage.composer.value, 'see @notes.txt ');
});

test('a file whose name begins another one is marked in the text, and taken out, by itself', async () => {
  const stage = await Stage.open(idle);
  const choose = async (label: string) => {
    await stage.type(`${stage.composer.value}@${label}`);
    await answer(stage, 'findMentions', [{ kind: 'file', label, path: `/code/sample/${label}` }]);
    await stage.key('Enter');
  };
  const names = () => stage.all('.composer-marks mark').map((one) => one.textContent);
  for (const label of ['main.tsx', 'main.ts', 'main.ts.bak']) await choose(label);
  await stage.type(`see ${stage.composer.value}`);
  assert.deepEqual(names(), ['@main.tsx', '@main.ts', '@main.ts.bak']);
  assert.equal(stage.all('.attachment').length, 0, 'said once');
  await stage.type('see @main.tsx @main.ts.bak ');
  assert.deepEqual(names(), ['@main.tsx', '@main.ts.bak']);
  await stage.key('Enter');
  const intent = stage.intents[0];
  assert.deepEqual(intent?.type === 'prompt' && intent.content.slice(1), [
    { type: 'file', path: '/code/sample/main.tsx' },
    { type: 'file', path: '/code/sample/main.ts.bak' },
  ]);
});

test('a folder named in the text is marked there alone; the chip of a symbol says its name and place, and removing it takes the name out of the text', async () => {
  const stage = await Stage.open(idle);
  await stage.type('@sr');
  await answer(stage, 'findMentions', [{ kind: 'folder', label: 'src/', path: '/code/sample/src/' }]);
  await stage.key('Enter');
  await stage.type(`${stage.composer.value}and @star`);
  await answer(stage, 'findMentions', []);
  await answer(stage, 'findSymbols', [{ kind: 'symbol', label: 'start', detail: 'src/a.ts:4', path: '/code/sample/src/a.ts', line: 4 }]);
  await stage.key('Enter');
  assert.equal(stage.composer.value, '@src/ and @start ');
  assert.deepEqual(
    stage.all('.attachment-name').map((chip) => chip.textContent?.trim()),
    ['start · src/a.ts:4'],
  );
  assert.deepEqual(
    stage.all('.composer-marks mark').map((mark) => mark.textContent),
    ['@src/'],
  );
  assert.equal(stage.find('.composer-marks').textContent, `${stage.composer.value}\n`, 'the marks lie below the same letters');
  await stage.press('Remove: start · src/a.ts:4');
  assert.equal(stage.composer.value, '@src/ and ');
  await stage.key('Enter');
  assert.deepEqual(prompted(stage), [
    { type: 'text', text: '@src/ and' },
    { type: 'file', path: '/code/sample/src/' },
  ]);
});

test('symbols come when the language services know them: until then the menu says that it looks, and the row that is chosen stays', async () => {
  const stage = await Stage.open(idle);
  await stage.type('@sta');
  await answer(stage, 'findMentions', [{ kind: 'file', path: '/code/sample/start.ts', label: 'start.ts' }]);
  while (stage.all('.menu-looking').length === 0) await stage.settle();
  assert.equal(stage.text('[role=option][aria-selected=true]'), 'start.ts');
  await answer(stage, 'findSymbols', [{ kind: 'symbol', label: 'start', detail: 'src/a.ts:4', path: '/code/sample/src/a.ts', line: 4 }]);
  assert.equal(stage.all('.menu-looking').length, 0);
  assert.equal(stage.text('[role=option][aria-selected=true]'), 'start.ts');
  assert.equal(stage.all('[role=option]').length, 2);
});

test('the button for context opens the menu that @ opens', async () => {
  const stage = await Stage.open(idle);
  await stage.type('look');
  await stage.press('Add context');
  assert.equal(stage.composer.value, 'look @');
  assert.deepEqual(stage.calls('findMentions'), [{ query: '' }]);
});

test('Esc in the menu of the button for context takes its @ back, and leaves one that was typed', async () => {
  const stage = await Stage.open(idle);
  await stage.type('look');
  await stage.press('Add context');
  await answer(stage, 'findMentions', [{ kind: 'file', path: '/code/sample/start.ts', label: 'start.ts' }]);
  await stage.key('Escape');
  assert.deepEqual([stage.composer.value, stage.all('[role=option]').length], ['look', 0]);
  await stage.type('look @');
  await answer(stage, 'findMentions', [{ kind: 'file', path: '/code/sample/start.ts', label: 'start.ts' }]);
  await stage.key('Escape');
  assert.equal(stage.composer.value, 'look @');
});

test('what holds nothing just now is listed after an @ and cannot be chosen or sent by mistake', async () => {
  const stage = await Stage.open(session({}));
  await stage.type('@prob');
  await answer(stage, 'findMentions', [{ kind: 'problems', label: 'Problems', detail: 'Nothing found', empty: true }]);
  assert.equal(stage.find('[role=option]').getAttribute('aria-disabled'), 'true');
  await stage.key('Enter');
  assert.deepEqual([stage.calls('attach'), stage.all('[role=option]').length], [[], 1]);
});

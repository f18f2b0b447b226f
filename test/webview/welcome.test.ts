import './dom.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Surroundings } from '../../src/bridge/contract.ts';
import { session } from './page/sessions.ts';
import { Stage } from './stage.ts';

const lines = [{ id: 's1', title: '', agent: 'Parley Agent', profile: 'parley', state: 'ready', asks: 0, at: 0, files: 0 }] as const;

async function shown(model: string | undefined): Promise<Stage> {
  const stage = await Stage.open(session({}), { lines });
  const profile = { id: 'parley', name: 'Parley Agent', ...(model === undefined ? {} : { model }) };
  stage.post({ type: 'sessions', list: lines, active: 's1', profiles: [profile] });
  await stage.settle();
  return stage;
}

test('without a model the welcome offers what is on this computer, a model and other agents', async () => {
  const stage = await shown('');
  const call = stage.sent.findLast((message) => message.type === 'call' && message.method === 'findSetups');
  assert.ok(call?.type === 'call');
  const claude = { kind: 'agent', id: 'claude', name: 'Claude Code', detail: 'installed' };
  const ollama = { kind: 'endpoint', id: 'http://localhost:11434/v1', name: 'Ollama', detail: 'running, 3 models' };
  stage.post({ type: 'reply', id: call.id, result: [claude, ollama] });
  await stage.settle();
  await stage.press('Connect: Claude Code');
  await stage.press('Connect: Ollama');
  assert.deepEqual(stage.calls('useSetup'), [
    { kind: 'agent', id: 'claude' },
    { kind: 'endpoint', id: 'http://localhost:11434/v1' },
  ]);
  await stage.press('Connect: Model');
  assert.deepEqual(stage.calls('remedy'), [{ sessionId: 's1', remedy: 'configureModel' }]);
  await stage.press('Connect: Another agent');
  assert.deepEqual(stage.calls('newSession'), [{ pick: true }]);
  assert.equal(stage.calls('findSetups').length, 1, 'asked once');
});

test('once a model is configured the welcome says nothing of a guide or of setting one up', async () => {
  const stage = await shown('qwen3-coder');
  assert.doesNotMatch(stage.text('.welcome'), /guide|Connect|Set up/);
  assert.deepEqual(stage.calls('findSetups'), []);
  await stage.press('What is in this workspace?', '.welcome');
  const sent = stage.intents.at(-1);
  assert.deepEqual(sent?.type === 'prompt' && sent.content, [{ type: 'text', text: 'What is in this workspace?' }]);
});

test('with an agent that chooses its own model there are examples only', async () => {
  const stage = await shown(undefined);
  assert.equal(stage.root.querySelector('.setups'), null);
  assert.ok(stage.all('.welcome .examples button').length >= 2);
});

test('the examples fit what is in the folder', async () => {
  const examples = async (model: string, around: Surroundings) => {
    const stage = await shown(model);
    const call = stage.sent.findLast((message) => message.type === 'call' && message.method === 'lookAround');
    assert.ok(call?.type === 'call');
    stage.post({ type: 'reply', id: call.id, result: around });
    await stage.settle();
    return stage.all('.welcome .examples button').map((button) => button.textContent);
  };
  const [first, tests, review] = ['What is in this workspace?', 'Run npm test', 'Review my uncommitted changes'];
  const nothing = { tests: false, changes: false, readme: false };
  assert.deepEqual(await examples('m', nothing), [first, 'Create README.md']);
  assert.deepEqual(await examples('m', { ...nothing, readme: true }), [first, 'Read README.md']);
  assert.deepEqual(await examples('m', { tests: true, changes: true, readme: true }), [first, review, tests]);
  assert.deepEqual(await examples('', nothing), [first, 'Find TODO']);
  assert.deepEqual(await examples('', { tests: true, changes: true, readme: false }), [first, 'Find TODO', tests]);
});

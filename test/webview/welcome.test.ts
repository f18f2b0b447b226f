import './dom.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  assert.ok(stage.all('.welcome .examples button').length >= 3);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refuse, SESSION } from '../../fakes/acp.ts';
import { inTurn, scene } from './scene.ts';

test('a conversation in which nothing was said is begun anew without a word when the agent kept nothing of it', async (t) => {
  const { agent, start } = await scene(t);
  agent.is({ agentCapabilities: { loadSession: true } });
  agent.handlers['session/load'] = () => new Refuse(-32603, 'Internal error', { details: 'No previous sessions found' });
  const driven = start();
  await driven.ready();
  await driven.live.restart();
  assert.deepEqual((await driven.ready()).notices, []);
  assert.ok(agent.received.some((frame) => frame.method === 'session/load'));
});

const select = (id: string, category: string | null, currentValue: string, values: readonly string[]) => ({
  id,
  name: id,
  category,
  type: 'select',
  currentValue,
  options: values.map((value) => ({ value, name: value.toUpperCase() })),
});
const modes = { currentModeId: 'old', availableModes: [{ id: 'old', name: 'Old' }] };

test('11 and 12: config options win over modes, an option of an unknown type is left out, groups are flat', async (t) => {
  const { agent, start } = await scene(t);
  const grouped = {
    ...select('model', 'model', 'a', []),
    options: [{ group: 'g', name: 'Group', options: [{ value: 'a', name: 'A' }] }],
  };
  const configOptions = [
    select('mode', 'mode', 'ask', ['ask', 'https://agent.example/modes#code']),
    grouped,
    { id: 'slider', name: 'x', type: 'slider', currentValue: 3 },
    select('nothing', 'other', 'a', []),
    { id: 'fast', name: 'Fast', type: 'boolean', currentValue: false },
  ];
  agent.handlers['session/new'] = () => ({ sessionId: SESSION, modes, configOptions });
  agent.handlers['session/set_config_option'] = ({ configId, value }) => ({
    configOptions: configOptions.map((one) => (one.id === configId ? { ...one, currentValue: value } : one)),
  });
  const driven = start();
  const session = await driven.ready();
  assert.deepEqual(
    session.mode?.all.map((mode) => mode.id),
    ['ask', 'https://agent.example/modes#code'],
  );
  assert.deepEqual(
    session.options?.map((option) => option.id),
    ['model', 'fast'],
  );
  assert.deepEqual(session.options?.[0], {
    id: 'model',
    name: 'model',
    about: 'model',
    kind: 'choice',
    current: 'a',
    choices: [{ value: 'a', name: 'A', group: 'Group' }],
  });
  driven.live.send({ type: 'setMode', modeId: 'https://agent.example/modes#code' });
  driven.live.send({ type: 'setOption', optionId: 'fast', value: true });
  driven.live.send({ type: 'setOption', optionId: 'fast', value: 'maybe' });
  await driven.until('the mode', (now) => now.mode?.current === 'https://agent.example/modes#code');
  await driven.until('the switch', (now) => now.options?.some((one) => one.kind === 'switch' && one.on) ?? false);
  assert.equal(agent.received.filter((frame) => frame.method === 'session/set_config_option').length, 2);
});

test('13: legacy models, and modes without an echo', async (t) => {
  const { agent, start } = await scene(t);
  agent.handlers['session/new'] = () => ({
    sessionId: SESSION,
    modes: {
      currentModeId: 'a',
      availableModes: [
        { id: 'a', name: 'A' },
        { id: 'b', name: 'B' },
      ],
    },
    models: {
      currentModelId: 'm1',
      availableModels: [
        { modelId: 'm1', name: 'M1' },
        { modelId: 'm2', name: 'M2' },
      ],
    },
  });
  agent.handlers['session/set_mode'] = () => ({});
  agent.handlers['session/set_model'] = () => null;
  const driven = start();
  await driven.ready();
  driven.live.send({ type: 'setMode', modeId: 'b' });
  driven.live.send({ type: 'setOption', optionId: 'model', value: 'm2' });
  await driven.until('mode b', (session) => session.mode?.current === 'b');
  await driven.until('model m2', (session) => session.options?.some((one) => one.kind === 'choice' && one.current === 'm2') ?? false);
  assert.deepEqual((await agent.got('session/set_model')).params, { sessionId: SESSION, modelId: 'm2' });
});

test('the record of conversations: pages, other folders left out; deleting one that is gone; a copy', async (t) => {
  const { agent, start, cwd } = await scene(t);
  agent.is({ agentCapabilities: { sessionCapabilities: { list: {}, delete: {}, fork: true } } });
  agent.handlers['session/list'] = ({ cursor }) =>
    cursor
      ? { sessions: [{ sessionId: 's2', cwd, title: null }] }
      : {
          sessions: [
            { sessionId: 's1', cwd, title: 'One', updatedAt: '2026-01-02T03:04:05Z' },
            { sessionId: 'x', cwd: '/elsewhere' },
          ],
          nextCursor: 'p2',
        };
  agent.handlers['session/delete'] = () => new Refuse(-32002, 'Resource not found');
  agent.handlers['session/fork'] = () => ({ sessionId: 'copy' });
  const driven = start();
  const { link } = await driven.ready();
  assert.ok(link.state === 'ready' && link.offers.history && link.offers.forget && link.offers.fork);
  assert.deepEqual(await driven.live.history(), [
    { key: 's1', title: 'One', at: Date.UTC(2026, 0, 2, 3, 4, 5) },
    { key: 's2', title: 's2' },
  ]);
  await driven.live.forget('s1');
  assert.equal(await driven.live.fork(), 'copy');
});

test('closing a session tells the agent, and the process ends', async (t) => {
  const { agent, start } = await scene(t);
  agent.is({ agentCapabilities: { sessionCapabilities: { close: {} } } });
  agent.handlers['session/close'] = () => ({});
  const driven = start();
  await driven.ready();
  await driven.stop();
  assert.deepEqual((await agent.got('session/close')).params, { sessionId: SESSION });
});

test('what is asked while the window closes is answered before the agent goes', async (t) => {
  const made = await scene(t);
  const { driven } = await inTurn(made);
  const options = [{ optionId: 'y', name: 'Yes', kind: 'allow_once' }];
  const asked = made.agent.ask('session/request_permission', { sessionId: SESSION, toolCall: { toolCallId: 'c' }, options });
  await driven.until('an ask', (session) => session.asks.length === 1);
  const stopped = driven.stop();
  assert.deepEqual((await asked).result, { outcome: { outcome: 'cancelled' } });
  await stopped;
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { WebSocket } from 'ws';
import type { AgentInfo, SessionConfig, SessionState } from '../../src/protocols/ahp/state.ts';
import { startService } from '../agent/fakeService.ts';
import { folderOf, type Started, started } from './hostProcess.ts';

/* The agents that a host which is a process of its own tells its clients of, from one run to the next. */

const AGENT = [path.resolve('dist/parley-agent.js'), '--input-format', 'stream-json', '--output-format', 'stream-json'];

/** A line to the host, and the actions that it has said. */
async function connected({ address, token }: Started) {
  const socket = new WebSocket(`${address}/?tkn=${token}`);
  await once(socket, 'open');
  const actions: { readonly type: string; readonly agents?: readonly AgentInfo[] }[] = [];
  const answers = new Map<number, (result: unknown) => void>();
  let wake = () => {};
  socket.on('message', (data) => {
    const { id, result, method, params } = JSON.parse(String(data));
    if (method === 'action') actions.push(params.action);
    answers.get(id)?.(result);
    wake();
  });
  const ask = (method: string, params: object) =>
    new Promise<unknown>((resolve) => {
      const id = answers.size + 1;
      answers.set(id, resolve);
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params: { channel: 'ahp-root://', ...params } }));
    });
  const heard = async (holds: (action: (typeof actions)[number]) => boolean) => {
    while (!actions.some(holds)) await new Promise<void>((resolve) => (wake = resolve));
  };
  await ask('initialize', { protocolVersions: ['1.0.0'], clientId: 'c', initialSubscriptions: ['ahp-root://'] });
  return { ask, heard, dispatch: (channel: string, action: object) => ask('dispatchAction', { channel, clientSeq: 1, action }) };
}

test('what an agent offered is there in the next run of the host, before the agent is; agents that are added later are told', async (t) => {
  const folder = folderOf(t);
  const model = await startService(t, [{ text: 'Hello.' }]);
  const env = {
    PARLEY_MODEL_BASE_URL: model.url,
    PARLEY_MODEL_NAME: 'm',
    PARLEY_MODEL_API_KEY: 'k',
    KIMI_SHARE_DIR: path.join(folder, 'home'),
  };
  const profile = path.join(folder, 'agents.json');
  const configure = (...ids: readonly string[]) =>
    writeFileSync(
      profile,
      JSON.stringify(ids.map((id) => ({ id, name: id, protocol: 'qwen', command: process.execPath, args: AGENT, env }))),
    );
  configure('one');
  const host = await started(t, folder, '--profile', profile);
  const client = await connected(host);
  const session = (name: string) => `one:/${name}-2222-3333-4444-555566667777`;
  const create = (one: Awaited<ReturnType<typeof connected>>, name: string) =>
    one.ask('createSession', { channel: session(name), provider: 'one', workingDirectories: [pathToFileURL(folder).href] });
  await create(client, '41111111');
  const chat = session('41111111').replace('one:', 'ahp-chat:');
  await client.ask('subscribe', { channel: session('41111111') });
  await client.ask('subscribe', { channel: chat });
  await client.dispatch(chat, { type: 'chat/turnStarted', turnId: 't', startedAt: '', message: { text: 'Hi', origin: { kind: 'user' } } });
  await client.heard(({ type }) => type === 'chat/turnComplete');
  host.child.kill('SIGKILL');
  await once(host.child, 'exit');

  const again = await connected(await started(t, folder, '--profile', profile));
  const { schema } = (await again.ask('resolveSessionConfig', { provider: 'one' })) as SessionConfig;
  assert.deepEqual(schema.properties.mode?.enum, ['plan', 'default', 'auto-edit', 'auto', 'yolo']);
  await create(again, '42222222');
  for (const name of ['41111111', '42222222']) {
    const { snapshot } = (await again.ask('subscribe', { channel: session(name) })) as {
      readonly snapshot: { readonly state: SessionState };
    };
    assert.deepEqual([snapshot.state.config?.values.mode, snapshot.state.config?.schema], ['default', schema], name);
  }
  const root = (await again.ask('subscribe', { channel: 'ahp-root://' })) as {
    readonly snapshot: { readonly state: { readonly agents: readonly AgentInfo[] } };
  };
  assert.deepEqual(
    root.snapshot.state.agents.map(({ models }) => models.map(({ id }) => id)),
    [['m']],
  );
  configure('one', 'two');
  await again.heard(({ type, agents }) => type === 'root/agentsChanged' && agents?.map(({ provider }) => provider).join() === 'one,two');
});

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { serveChats } from '../../src/agent/servers/ai-sdk/serve.ts';
import type { ChatState } from '../../src/protocols/ahp/state.ts';
import { aiSdk } from '../../src/protocols/ai-sdk/index.ts';
import { type Line, scriptedModel } from '../agent/scripted.ts';
import { AhpClient } from './ahpClient.ts';
import { hostFolder, hosting } from './hosting.ts';

const SESSION = 'fake:/0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';
const CHAT = 'ahp-chat:/0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

const half: Line = async function* (_request, signal) {
  yield { type: 'text', text: 'The first half' };
  await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
};
const turnsOf = ({ turns }: ChatState) =>
  turns.map(({ id, state, responseParts }) => [
    id,
    state,
    responseParts.flatMap((part) => (part.kind === 'markdown' ? part.content : part.kind === 'toolCall' ? part.toolCall.status : [])),
  ]);

/** A host that has ended in the middle of its first turn, which that line of the model began, and the client of the next one, not connected yet. */
async function restarted(t: TestContext, line: Line) {
  const folder = hostFolder();
  const model = scriptedModel([line, 'The answer.']);
  const server = await serveChats({ model, workspace: { cwd: folder, roots: [folder] }, port: 0, origins: [] });
  t.after(() => server.end());
  const real = { protocol: aiSdk, url: server.url };
  const first = hosting(folder, Date.now, randomUUID, real);
  const client = new AhpClient(first.host);
  await client.open();
  await client.ask('createSession', { channel: SESSION, provider: 'fake', workingDirectories: [pathToFileURL(folder).href] });
  await client.subscribe(CHAT);
  const says = (turnId: string, text: string, one: AhpClient) => {
    const message = { text, origin: { kind: 'user' } };
    return one.dispatch(CHAT, { type: 'chat/turnStarted', turnId, startedAt: '2026-01-01T00:00:00Z', message });
  };
  await says('t1', 'Begin', client);
  await until(() => /The first half|pending-confirmation/.test(JSON.stringify(client.chats.get(CHAT)?.activeTurn)));
  await first.end();

  const second = hosting(folder, Date.now, randomUUID, real);
  t.after(second.end);
  await second.host.restore();
  const again = client.elsewhere(second.host);
  return { model, again, says };
}

for (const [title, line, shown] of [
  ['that was writing', half, 'The first half'],
  ['that asked for approval', { calls: [['Shell', { command: 'true' }]] }, 'cancelled'],
] as const)
  test(`a turn over the AI SDK ${title} when its host ended stays as it was; the next prompt begins one of its own`, async (t) => {
    const { model, again, says } = await restarted(t, line);
    await again.reconnect();
    const chat = () => again.chats.get(CHAT) as ChatState;
    assert.deepEqual(turnsOf(chat()), [['t1', 'error', [shown]]]);
    await says('t2', 'Go on', again);
    await until(() => chat().turns.length === 2 && !chat().activeTurn);
    assert.deepEqual(turnsOf(chat()), [
      ['t1', 'error', [shown]],
      ['t2', 'complete', ['The answer.']],
    ]);
    const said = again.envelopes.filter(({ channel }) => channel === CHAT).map(({ action }) => action.type);
    assert.deepEqual(
      said.filter((type) => /truncated|Started|Cancelled|Complete$/.test(type)),
      ['chat/turnStarted', 'chat/turnComplete'],
    );
    const prompts = model.requests.at(-1)?.history.filter(({ role }) => role === 'user');
    assert.deepEqual(JSON.stringify(prompts).match(/Begin|Go on/g), ['Begin', 'Go on']);
  });

test('a turn over the AI SDK that its host left is tried again after a restart with its prompt sent once', async (t) => {
  const { model, again } = await restarted(t, half);
  await again.reconnect();
  await again.dispatch(CHAT, { type: 'chat/turnResume', turnId: 't1' });
  await until(() => again.chats.get(CHAT)?.turns.at(-1)?.state === 'complete');
  const prompts = model.requests.at(-1)?.history.filter(({ role }) => role === 'user');
  assert.deepEqual(JSON.stringify(prompts).match(/Begin/g), ['Begin']);
  assert.deepEqual(
    turnsOf(again.chats.get(CHAT) as ChatState).map(([id, state]) => [id, state]),
    [['t1', 'complete']],
  );
});

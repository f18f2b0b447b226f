import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { a2a } from '../../src/protocols/a2a/index.ts';
import type { ChatState } from '../../src/protocols/ahp/state.ts';
import { fakeAgent, type Json, shipped, status } from '../fakes/a2a.ts';
import { AhpClient } from './ahpClient.ts';
import { hostFolder, hosting } from './hosting.ts';

const SESSION = 'fake:/0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';
const CHAT = 'ahp-chat:/0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';
const partOf = (params: Json) =>
  (params.message as { readonly parts: readonly { readonly data?: Json; readonly text?: string }[] }).parts[0];
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test('a question of an agent over A2A reaches a client, whose answer the agent gets as words; another client sees it', async (t) => {
  const meta = { coderAgent: { kind: 'state-change' } };
  const rests = (reply: { record(one: Json): void }) => reply.record(status('input-required', '', [], { final: true, meta }));
  const asks = {
    request: { callId: 'g1', name: 'ask_user', args: {} },
    confirmationDetails: {
      type: 'ask_user',
      title: 'About the paint',
      questions: [{ question: 'Which colour?', header: 'Colour', type: 'choice', options: [{ label: 'Blue' }, { label: 'Red' }] }],
    },
  };
  const agent = await fakeAgent(t, {
    card: { name: 'Gemini SDLC Agent', capabilities: { streaming: true } },
    on: {
      'message/stream': ({ params }, reply) => {
        const said = partOf(params);
        if (said?.data) reply.record(shipped('cancelled', { request: asks.request }));
        else if (said?.text?.includes('Red')) reply.record(status('working', '', [{ kind: 'text', text: 'Red it is.' }]));
        else reply.record(shipped('awaiting_approval', asks));
        rests(reply);
        reply.end();
      },
    },
  });
  const folder = hostFolder();
  const { host, end } = hosting(folder, Date.now, randomUUID, { protocol: a2a, url: agent.url });
  t.after(end);
  const [client, other] = [new AhpClient(host), new AhpClient(host)];
  await client.open();
  await other.open('window-2');
  await client.ask('createSession', { channel: SESSION, provider: 'fake', workingDirectories: [pathToFileURL(folder).href] });
  for (const one of [client, other]) await one.subscribe(CHAT);
  const message = { text: 'Paint it', origin: { kind: 'user' } };
  await client.dispatch(CHAT, { type: 'chat/turnStarted', turnId: 't1', startedAt: '2026-01-01T00:00:00Z', message });

  const chat = (of: AhpClient) => of.chats.get(CHAT) as ChatState;
  const question = (of: AhpClient) => {
    const part = (chat(of).activeTurn ?? chat(of).turns.at(-1))?.responseParts.find((one) => one.kind === 'inputRequest');
    return part?.kind === 'inputRequest' ? part : undefined;
  };
  await until(() => question(client) !== undefined && question(other) !== undefined);
  const { request } = question(client) ?? {};
  assert.match(JSON.stringify(request?.questions), /"Which colour\?".*"id":"Blue".*"id":"Red"/);
  const [field] = request?.questions ?? [];
  const answers = { [field?.id ?? '']: { state: 'submitted', value: { kind: 'selected', value: 'Red' } } };
  const completed = { type: 'chat/inputCompleted', requestId: request?.id, response: 'accept', answers };
  await client.dispatch(CHAT, completed);
  await other.dispatch(CHAT, completed);
  await until(() => chat(client).turns.length === 1 && chat(other).turns.length === 1);
  const said = agent.requests('message/stream').map(({ params }) => partOf(params));
  assert.deepEqual(
    said.slice(1).map((part) => part?.data ?? part?.text),
    [{ callId: 'g1', outcome: 'cancel' }, 'Which colour? Red'],
  );
  assert.deepEqual([client.refusals, other.refusals], [[], ['This question is not open any more.']]);
  assert.equal(question(other)?.response, 'accept');
  assert.ok(JSON.stringify(chat(other).turns[0]).includes('Red it is.'));
});

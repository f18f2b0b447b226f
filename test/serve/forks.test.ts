import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { serveChats } from '../../src/agent/servers/ai-sdk/serve.ts';
import type { ChatState, SessionState } from '../../src/protocols/ahp/state.ts';
import { aiSdk } from '../../src/protocols/ai-sdk/index.ts';
import type { Approval, Offers, ToolCall } from '../../src/session/model.ts';
import { scriptedModel } from '../agent/scripted.ts';
import { AhpClient } from './ahpClient.ts';
import { hostFolder, hosting } from './hosting.ts';

const ID = '0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';
const SESSION = `fake:/${ID}`;
const CHAT = `ahp-chat:/${ID}`;
/** As VS Code names it. */
const FORK = `ahp-chat://1f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9/${Buffer.from(SESSION).toString('base64url')}`;

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2));
}
const prompt = (turnId: string, text: string) => ({
  type: 'chat/turnStarted',
  turnId,
  startedAt: '2026-01-01T00:00:00Z',
  message: { text, origin: { kind: 'user' } },
});
type Served = ReturnType<typeof hosting>;
const follow = async (client: AhpClient, ...channels: readonly string[]) => {
  for (const one of channels) await client.subscribe(one);
};
const agentsOf = async (client: AhpClient) => {
  const { snapshot } = (await client.ask('subscribe', { channel: 'ahp-root://' })) as {
    snapshot: { state: { agents: readonly { capabilities: object }[] } };
  };
  return snapshot.state.agents[0]?.capabilities;
};
const said = (chat: ChatState | undefined) => chat?.turns.map(({ message }) => message.text);

/** Two turns of an agent with those abilities. */
async function twoTurns(t: TestContext, offers: Offers, served: Served = hosting(hostFolder(), Date.now, randomUUID)) {
  t.after(served.end);
  const client = new AhpClient(served.host);
  await client.open();
  await client.ask('createSession', { channel: SESSION, provider: 'fake', workingDirectories: [pathToFileURL(hostFolder()).href] });
  await follow(client, SESSION, CHAT);
  for (const [turnId, text] of [
    ['t1', 'One'],
    ['t2', 'Two'],
  ] as const) {
    await client.dispatch(CHAT, prompt(turnId, text));
    await until(() => served.conversations.length > 0);
    if (turnId === 't1') served.last().ready(offers);
    await until(() => served.last().prompts().length === (turnId === 't1' ? 1 : 2));
    served.last().endTurn();
  }
  await until(() => client.chats.get(CHAT)?.turns.length === 2);
  return { ...served, client, session: () => client.sessions.get(SESSION) as SessionState };
}
const forkAfter = (client: AhpClient, turnId: string, more: object = {}) =>
  client.ask('createChat', { channel: SESSION, chat: FORK, source: { kind: 'fork', chat: CHAT, turnId }, ...more });

test('a fork is a further chat of its session, of the agent’s copy up to that turn, and goes on beside the first; it is there after a restart', async (t) => {
  const folder = hostFolder();
  const all = await twoTurns(t, { fork: true, edit: true }, hosting(folder, Date.now, randomUUID));
  const { client, session, conversations } = all;
  assert.deepEqual(await agentsOf(client), { multipleChats: { fork: true } });
  const forked = forkAfter(client, 't1');
  await until(() => conversations.length === 2);
  const [original, copy] = conversations;
  assert.ok(original && copy);
  for (const [at, text] of ['One', 'Two'].entries())
    copy.say(
      { type: 'turn.started', turnId: `h${at}`, at: 1, prompt: [{ type: 'text', text }] },
      { type: 'turn.ended', turnId: `h${at}`, at: 2, status: 'done' },
    );
  copy.ready({ fork: true, edit: true });
  assert.equal(await forked, null);
  assert.deepEqual(
    session().chats.map(({ resource, title, origin }) => [resource, title, origin.kind]),
    [
      [CHAT, 'One', 'user'],
      [FORK, 'Copy of One', 'fork'],
    ],
  );
  await follow(client, FORK);
  const fork = () => client.chats.get(FORK);
  assert.deepEqual(said(fork()), ['One']);

  await client.dispatch(FORK, prompt('f1', 'Another two'));
  await until(() => copy.prompts().length === 1);
  const [heard] = copy.prompts();
  assert.deepEqual(
    [heard?.type === 'prompt' && heard.replaces, original.prompts().length],
    ['h1', 2],
    'the agent forgets what came after it',
  );
  const call: ToolCall = {
    id: 'c',
    name: 'Shell',
    title: 'Shell',
    kind: 'execute',
    status: 'pending',
    inputText: '',
    output: [],
    locations: [],
  };
  const options: Approval['options'] = [{ id: 'once', label: 'Once', effect: 'allow_once' }];
  copy.say(
    { type: 'part.added', turnId: 'f1', part: { kind: 'call', id: 'c', call } },
    {
      type: 'ask.opened',
      ask: { kind: 'approval', id: 'a', turnId: 'f1', callId: 'c', title: 'ls', detail: { type: 'command', command: 'ls' }, options },
    },
  );
  await until(() => session().inputNeeded?.length === 1);
  assert.deepEqual([session().inputNeeded?.[0]?.chat, session().chats.map(({ status }) => status & 31)], [FORK, [1, 24]]);
  await client.dispatch(CHAT, prompt('t3', 'Three'));
  await until(() => original.prompts().length === 3);
  assert.equal(session().inputNeeded?.length, 1, 'the other chat has its own turn');
  await client.dispatch(FORK, { type: 'chat/toolCallConfirmed', turnId: 'f1', toolCallId: 'c', approved: true, confirmed: 'user-action' });
  copy.endTurn();
  original.endTurn();
  await until(() => fork()?.turns.length === 2 && client.chats.get(CHAT)?.turns.length === 3);
  assert.deepEqual([said(fork()), session().inputNeeded], [['One', 'Another two'], []]);
  await all.end();

  const second = hosting(folder, Date.now, randomUUID);
  t.after(second.end);
  await second.host.restore();
  const again = new AhpClient(second.host);
  await again.open();
  const { items } = (await again.ask('listSessions')) as { items: readonly { resource: string; title: string }[] };
  assert.deepEqual(
    items.map(({ resource, title }) => [resource, title]),
    [[SESSION, 'One']],
  );
  await follow(again, SESSION, CHAT, FORK);
  assert.deepEqual(
    [said(again.chats.get(CHAT)), said(again.chats.get(FORK))],
    [
      ['One', 'Two', 'Three'],
      ['One', 'Another two'],
    ],
  );
  assert.deepEqual(
    again.sessions.get(SESSION)?.chats.map(({ resource }) => resource),
    [CHAT, FORK],
  );

  await again.dispatch(FORK, { type: 'session/titleChanged', title: 'Mine' });
  assert.deepEqual(
    again.sessions.get(SESSION)?.chats.map(({ title }) => title),
    ['One', 'Mine'],
  );
  const told = again.envelopes.filter(({ action }) => action.type === 'session/titleChanged');
  assert.deepEqual(
    told.map(({ channel, origin }) => [channel, origin?.clientId]),
    [[FORK, 'window-1']],
    'a client waits for its own action',
  );

  await again.ask('disposeChat', { channel: FORK });
  assert.deepEqual(
    again.sessions.get(SESSION)?.chats.map(({ resource }) => resource),
    [CHAT],
  );
  await assert.rejects(again.ask('subscribe', { channel: FORK }), /-32001/);
  await assert.rejects(again.ask('disposeChat', { channel: CHAT }), /only chat of its session/);
  await again.ask('disposeSession', { channel: SESSION });
});

test('the turns of a fork were when those of the original were, and ended as they did, also after a restart', async (t) => {
  const folder = hostFolder();
  const { client, conversations, end } = await twoTurns(t, { fork: true }, hosting(folder, Date.now, randomUUID));
  await client.dispatch(CHAT, prompt('t3', 'Three'));
  await until(() => conversations[0]?.prompts().length === 3);
  conversations[0]?.endTurn('cancelled');
  await until(() => client.chats.get(CHAT)?.turns.length === 3);
  const forked = forkAfter(client, 't3');
  await until(() => conversations.length === 2);
  for (const [at, text] of ['One', 'Two', 'Three'].entries())
    conversations[1]?.say(
      { type: 'turn.started', turnId: `h${at}`, at: 9_000_000_000_000, prompt: [{ type: 'text', text }] },
      { type: 'turn.ended', turnId: `h${at}`, at: 9_000_000_000_000, status: 'done' },
    );
  conversations[1]?.ready({ fork: true });
  await forked;
  await follow(client, FORK);
  const facts = (chat: ChatState | undefined) => chat?.turns.map(({ startedAt, duration, state }) => [startedAt, duration, state]);
  // The agent of the test says these times of all its turns.
  const at = new Date(1).toISOString();
  const original = [
    [at, 1, 'complete'],
    [at, 1, 'complete'],
    [at, 1, 'cancelled'],
  ];
  assert.deepEqual(facts(client.chats.get(FORK)), original);
  await end();
  const second = hosting(folder, Date.now, randomUUID);
  t.after(second.end);
  await second.host.restore();
  const again = new AhpClient(second.host);
  await again.open();
  await follow(again, SESSION, CHAT, FORK);
  assert.deepEqual(facts(again.chats.get(FORK)), original);
});

test('an agent that copies whole conversations only is forked from its last answer; from before, that is refused in words', async (t) => {
  const { client, conversations, session } = await twoTurns(t, { fork: true });
  assert.deepEqual(await agentsOf(client), {}, 'windows, which fork from before a prompt only, offer none');
  await assert.rejects(forkAfter(client, 't1'), /whole conversations only/);
  assert.equal(conversations.length, 1);
  const forked = forkAfter(client, 't2');
  await until(() => conversations.length === 2);
  conversations[1]?.ready({ fork: true });
  await forked;
  assert.equal(session().chats.length, 2);
});

test('what cannot be forked is refused in words, and nothing is left of it', async (t) => {
  const { client, conversations, session, sessions } = await twoTurns(t, {});
  assert.deepEqual(await agentsOf(client), {});
  await assert.rejects(forkAfter(client, 't2'), /cannot copy conversations/);
  await assert.rejects(client.ask('createChat', { channel: SESSION, chat: FORK }), /only as forks/);
  conversations[0]?.ready({ fork: true });
  await assert.rejects(forkAfter(client, 'x'), /no such turn/);
  await assert.rejects(forkAfter(client, 't2', { chat: CHAT }), /-32003/);
  for (const chat of ['ahp-chat:/other', 'ahp-root://', `${SESSION}/x`, 'ahp-chat://a b/c'])
    await assert.rejects(forkAfter(client, 't2', { chat }), /-32602/);
  const other = 'fake:/3f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';
  await client.ask('createSession', { channel: other, provider: 'fake', workingDirectories: [pathToFileURL(hostFolder()).href] });
  await assert.rejects(forkAfter(client, 't2', { channel: other }), /another session/);
  const failed = forkAfter(client, 't2');
  await until(() => conversations.length === 2);
  conversations[1]?.say({ type: 'link.closed', reason: 'It crashed.', at: 1 });
  await assert.rejects(failed, /It crashed/);
  await client.dispatch(CHAT, prompt('t3', 'Three'));
  await assert.rejects(forkAfter(client, 't2'), /Stop the turn first/);
  assert.deepEqual([session().chats.length, sessions.all.length], [1, 1]);
});

test('a conversation over the AI SDK, which no agent keeps, is forked from what is here', async (t) => {
  const folder = hostFolder();
  const model = scriptedModel(['First answer.', 'Second answer.', 'Another answer.']);
  const server = await serveChats({ model, workspace: { cwd: folder, roots: [folder] }, port: 0, origins: [] });
  t.after(() => server.end());
  const served = hosting(folder, Date.now, randomUUID, { protocol: aiSdk, url: server.url });
  t.after(served.end);
  const client = new AhpClient(served.host);
  await client.open();
  await client.ask('createSession', { channel: SESSION, provider: 'fake', workingDirectories: [pathToFileURL(folder).href] });
  await follow(client, SESSION, CHAT);
  for (const [at, text] of ['One', 'Two'].entries()) {
    await client.dispatch(CHAT, prompt(`t${at}`, text));
    await until(() => client.chats.get(CHAT)?.turns.length === at + 1);
  }
  await forkAfter(client, 't0');
  await follow(client, FORK);
  assert.deepEqual(said(client.chats.get(FORK)), ['One']);
  await client.dispatch(FORK, prompt('f1', 'Else'));
  await until(() => client.chats.get(FORK)?.turns.length === 2);
  const asked = JSON.stringify(model.requests.at(-1)?.history.filter(({ role }) => role === 'user'));
  assert.deepEqual(asked.match(/One|Two|Else/g), ['One', 'Else']);
  assert.match(JSON.stringify(client.chats.get(FORK)?.turns.at(-1)), /Another answer/);
});

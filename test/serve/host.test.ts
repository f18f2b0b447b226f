import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { WebSocket } from 'ws';
import { silentLog } from '../../src/base/log.ts';
import { LOCK_HOST } from '../../src/live/journal/lock.ts';
import { toolCallOf } from '../../src/protocols/ahp/codec.ts';
import { needsInput, terminalText } from '../../src/protocols/ahp/reduce.ts';
import {
  type ChatState,
  type Message,
  type RootState,
  type SessionConfig,
  type SessionState,
  type SessionSummary,
  STATUS,
  type TerminalState,
  type ToolCallState,
} from '../../src/protocols/ahp/state.ts';
import { contentUri, terminalUri } from '../../src/serve/addresses.ts';
import type { AgentHost } from '../../src/serve/host.ts';
import { listen } from '../../src/serve/listen.ts';
import type { Approval, ToolCall } from '../../src/session/model.ts';
import { promptText, titleOf } from '../../src/session/select.ts';
import { randomFrom } from '../random.ts';
import { AhpClient } from './ahpClient.ts';
import { hostFolder, hosting as hostOver } from './hosting.ts';

const SESSION = 'fake:/0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';
const CHAT = 'ahp-chat:/0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';
const TERMINAL = terminalUri('0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9', 'term');

function hosting(t: TestContext, folder = hostFolder(), now = () => 1000) {
  let count = 0;
  const served = hostOver(folder, now, () => {
    count += 1;
    return `id-${count}`;
  });
  t.after(served.end);
  return { ...served, folder };
}

async function opened(t: TestContext) {
  const served = hosting(t);
  const client = new AhpClient(served.host);
  await client.open();
  await client.ask('createSession', { channel: SESSION, provider: 'fake', workingDirectories: [pathToFileURL(served.folder).href] });
  await client.subscribe(SESSION);
  await client.subscribe(CHAT);
  return { ...served, client, chat: () => client.chats.get(CHAT) as ChatState };
}

/** A new host of that folder, with the sessions of the earlier one. */
async function restarted(t: TestContext, folder: string, now?: () => number) {
  const served = hosting(t, folder, now);
  await served.host.restore();
  return served;
}

/** A client of that host that follows the chat. */
async function follower({ host }: Pick<ReturnType<typeof hosting>, 'host'>): Promise<AhpClient> {
  const client = new AhpClient(host);
  await client.open();
  await client.subscribe(CHAT);
  return client;
}

/** The chat as a client finds it at a new host of that folder. */
async function chatAfterRestart(t: TestContext, folder: string): Promise<ChatState> {
  const client = await follower(await restarted(t, folder));
  return client.chats.get(CHAT) as ChatState;
}

/** The sessions as a client finds them listed at a new host of that folder. */
async function listedAfterRestart(t: TestContext, folder: string) {
  const again = await restarted(t, folder);
  const client = new AhpClient(again.host);
  await client.open();
  const { items } = (await client.ask('listSessions')) as { readonly items: readonly SessionSummary[] };
  return { again, client, items };
}

/** The client begins turn t1, and its agent is ready. */
async function beginTurn(served: Pick<Awaited<ReturnType<typeof opened>>, 'client' | 'conversations' | 'last'>): Promise<void> {
  await served.client.dispatch(CHAT, prompt('t1'));
  await begun(served);
  served.last().ready();
}

const prompt = (turnId: string, text = 'Do it') => ({
  type: 'chat/turnStarted',
  turnId,
  startedAt: '2026-01-01T00:00:00Z',
  message: { text, origin: { kind: 'user' } },
});
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
const begun = (served: { readonly conversations: readonly unknown[] }, count = 1) => until(() => served.conversations.length >= count);
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
const approval: Approval = {
  kind: 'approval',
  id: 'a',
  turnId: 't1',
  callId: 'c',
  title: 'npm test',
  detail: { type: 'command', command: 'npm test' },
  options: [
    { id: 'always', label: 'Always', effect: 'allow_always' },
    { id: 'once', label: 'Once', effect: 'allow_once' },
    { id: 'no', label: 'No', effect: 'reject_once' },
    { id: 'odd', label: 'Reject', effect: 'other' },
  ],
};
async function asked(t: TestContext, options = approval.options) {
  const all = await opened(t);
  await all.client.dispatch(CHAT, prompt('t1'));
  await begun(all);
  all.last().ready();
  all
    .last()
    .say(
      { type: 'part.added', turnId: 't1', part: { kind: 'call', id: 'c', call } },
      { type: 'ask.opened', ask: { ...approval, options } },
    );
  // A rule may answer at once: clients are told a moment later.
  await new Promise((resolve) => setTimeout(resolve, 0));
  return { ...all, answers: () => all.last().heard.filter((intent) => intent.type === 'answer') };
}
const callIn = (chat: ChatState) => {
  const part = (chat.activeTurn ?? chat.turns.at(-1))?.responseParts.find((one) => one.kind === 'toolCall');
  return part?.kind === 'toolCall' ? part.toolCall : undefined;
};

/** The user of a client allows the call that `asked` opens. */
const ALLOWED_ONCE = {
  type: 'chat/toolCallConfirmed',
  turnId: 't1',
  toolCallId: 'c',
  approved: true,
  confirmed: 'user-action',
  selectedOptionId: 'once',
};

test('a prompt starts the agent, which answers in the turn that the client named', async (t) => {
  const { client, chat, conversations, last, ...rest } = await opened(t);
  assert.equal(conversations.length, 0, 'choosing an agent starts none');
  assert.equal(client.sessions.get(SESSION)?.lifecycle, 'ready');
  await client.dispatch(CHAT, prompt('t1', 'Say hello'));
  assert.equal(chat().activeTurn?.id, 't1');
  assert.deepEqual(client.envelopes.at(-1)?.origin ?? client.envelopes.find((one) => one.channel === CHAT)?.origin, {
    clientId: 'window-1',
    clientSeq: 1,
  });
  await begun({ ...rest, conversations });
  last().ready();
  last().say({ type: 'text.delta', turnId: 't1', kind: 'text', partId: 'p', text: 'Hello' });
  last().endTurn();
  assert.deepEqual(
    chat().turns.map(({ id, state, responseParts }) => ({ id, state, responseParts })),
    [{ id: 't1', state: 'complete', responseParts: [{ kind: 'markdown', id: 'p', content: 'Hello' }] }],
  );
  assert.equal(client.sessions.get(SESSION)?.title, 'Say hello');
  const told = client.notified.findLast(({ method }) => method === 'root/sessionSummaryChanged')?.params.changes;
  assert.deepEqual(
    [(told as { title: string }).title, chat().title, client.sessions.get(SESSION)?.chats[0]?.title],
    Array(3).fill('Say hello').with(1, 'Fake'),
  );
});

test('the first text of a turn is told at once, what follows close behind it is gathered', async (t) => {
  t.mock.method(performance, 'now', () => 1000);
  const { client, chat, conversations, last, ...rest } = await opened(t);
  await client.dispatch(CHAT, prompt('t1'));
  await begun({ ...rest, conversations });
  last().ready();
  last().endTurn();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  last().say({ type: 'title.set', title: 'Something else that has just been told' });
  t.mock.timers.tick(1);
  await client.dispatch(CHAT, prompt('t2'));
  const say = (text: string) => last().say({ type: 'text.delta', turnId: 't2', kind: 'text', partId: 'p', text });
  say('a');
  t.mock.timers.tick(1);
  const told = () => JSON.stringify(chat().activeTurn?.responseParts);
  assert.match(told(), /"a"/);
  say('b');
  t.mock.timers.tick(1);
  assert.match(told(), /"a"/);
  t.mock.timers.tick(20);
  assert.match(told(), /"ab"/);
});

test("an approval is asked with the agent's own answers, and what is chosen reaches the agent", async (t) => {
  const { client, chat, answers } = await asked(t);
  const asking = callIn(chat());
  assert.ok(asking?.status === 'pending-confirmation');
  assert.deepEqual(
    asking.options?.map(({ id, kind }) => [id, kind]),
    [
      ['once', 'approve'],
      ['always', 'approve'],
      ['no', 'deny'],
    ],
    'the narrowest first, whatever the order of the agent; what nobody knows the meaning of is not offered',
  );
  assert.equal(client.sessions.get(SESSION)?.inputNeeded?.length, 1);
  assert.equal(chat().status & STATUS.activity, STATUS.inputNeeded);
  await client.dispatch(CHAT, {
    type: 'chat/toolCallConfirmed',
    turnId: 't1',
    toolCallId: 'c',
    approved: true,
    confirmed: 'user-action',
    selectedOptionId: 'always',
  });
  assert.deepEqual(answers(), [{ type: 'answer', askId: 'a', answer: { kind: 'option', optionId: 'always' } }]);
  assert.equal(callIn(chat())?.status, 'running');
  assert.deepEqual(client.sessions.get(SESSION)?.inputNeeded, []);
});

test('an approval shows all that comes with it, with a call and without one', async (t) => {
  const { client, chat, last } = await opened(t);
  await client.dispatch(CHAT, prompt('t1'));
  await until(() => chat().activeTurn !== undefined);
  last().ready();
  const beside = [
    { type: 'edit', diffs: [{ path: '/w/.env', before: null, after: 'x' }] },
    { type: 'text', text: 'It *needs* the network' },
  ] as const;
  last().say(
    { type: 'part.added', turnId: 't1', part: { kind: 'call', id: 'c', call } },
    { type: 'ask.opened', ask: { ...approval, beside, outside: true, asker: 'Helper' } },
  );
  await until(() => callIn(chat())?.status === 'pending-confirmation');
  const asking = callIn(chat());
  assert.ok(asking?.status === 'pending-confirmation' && typeof asking.invocationMessage === 'object');
  assert.match(asking.invocationMessage.markdown, /\.env.*```\nIt \*needs\* the network\n```/s);
  const { parley } = (asking._meta ?? {}) as { parley: Record<string, unknown> };
  assert.deepEqual([parley.beside, parley.outside, parley.asker], [beside, true, 'Helper']);
  const { callId: _none, ...alone } = approval;
  last().say({ type: 'ask.opened', ask: { ...alone, id: 'b', beside } });
  await until(() => JSON.stringify(chat().activeTurn).includes('inputRequest'));
  const request = chat().activeTurn?.responseParts.find((part) => part.kind === 'inputRequest');
  assert.match(JSON.stringify(request), /npm test.*\.env.*needs/);
});

test('a name with signs that VS Code takes out of a title stands in the message, and the title names none', async (t) => {
  const { chat, client, conversations, last } = await opened(t);
  await beginTurn({ client, conversations, last });
  const long = `${'folder/'.repeat(16)}notes.txt`;
  const edit = (path: string, before: string | null) => ({ detail: { type: 'edit', diffs: [{ path, before, after: 'b\n' }] } }) as const;
  const kinds: readonly (readonly [Partial<Approval>, string, string])[] = [
    [edit('/w/my_old_file.txt', 'a\n'), 'Edit 1 file', '`/w/my_old_file.txt`\n\n✕ rejects this edit.'],
    [edit('/w/__init__.py', null), 'Create 1 file', '`/w/__init__.py`\n\n✕ rejects this edit.'],
    [edit('/w/a*`[b](command:x)', 'a\n'), 'Edit 1 file', '`` /w/a*`[b](command:x) ``\n\n✕ rejects this edit.'],
    [edit(`/w/${long}`, 'a\n'), 'Edit 1 file', `\`/w/${long}\`\n\n✕ rejects this edit.`],
    [edit('/w/notes[1].txt', 'a\n'), 'Edit /w/notes\\[1\\].txt', '✕ rejects this edit.'],
    [
      { title: 'x', detail: { type: 'mcp', server: 'my_files', tool: 'delete_file', input: { at: 'x_y' } } },
      'Allow this?',
      '`Use delete_file of my_files`\n\n- at: `x_y`',
    ],
    [{ title: '[a_b](command:x)', detail: { type: 'text', text: 'Why' } }, 'Allow this?', '`[a_b](command:x)`\n\n```\nWhy\n```'],
  ];
  for (const [at, [asks, title, markdown]] of kinds.entries()) {
    const ids = { callId: `c${at}`, askId: `a${at}` };
    const part = { kind: 'call', id: ids.callId, call: { ...call, kind: 'other', id: ids.callId } } as const;
    last().say(
      { type: 'part.added', turnId: 't1', part },
      { type: 'ask.opened', ask: { ...approval, ...asks, id: ids.askId, callId: ids.callId } },
    );
    const known = () =>
      chat().activeTurn?.responseParts.flatMap((one) =>
        one.kind === 'toolCall' && one.toolCall.toolCallId === ids.callId ? [one.toolCall] : [],
      )[0];
    await until(() => known()?.status === 'pending-confirmation');
    const asking = known();
    assert.ok(asking?.status === 'pending-confirmation');
    assert.deepEqual([asking.confirmationTitle, asking.invocationMessage], [{ markdown: title }, { markdown }]);
  }
});

test('what is asked stands in its message, whole, and not as an input that a client shows as JSON; nothing says that it runs', async (t) => {
  const { chat, client, conversations, last } = await opened(t);
  await beginTurn({ client, conversations, last });
  const kinds: readonly (readonly [Partial<ToolCall>, Partial<Approval>, string])[] = [
    [{ input: { command: 'npm test' } }, {}, '```\nnpm test\n```'],
    [
      { input: { url: 'http://x' }, kind: 'fetch' },
      { detail: { type: 'text', text: 'It says nothing' } },
      '```\nIt says nothing\n```\n\n```\n{\n  "url": "http://x"\n}\n```',
    ],
    [{ input: { url: 'http://x' }, kind: 'fetch' }, { detail: { type: 'text', text: 'Get http://x' } }, '```\nGet http://x\n```'],
    [{ input: { command: 'ls' } }, { detail: { type: 'text', text: 'May I?' } }, '```\nMay I?\n```\n\n```\nls\n```'],
    [
      { kind: 'edit', input: {} },
      { detail: { type: 'edit', diffs: [{ path: '/w/a.ts', before: 'a\n', after: 'b\n' }] } },
      '✕ rejects this edit.',
    ],
    [{ kind: 'other' }, { title: 'Do this', detail: { type: 'text', text: '' } }, 'Do this'],
  ];
  for (const [at, [of, asks, markdown]] of kinds.entries()) {
    const ids = { callId: `c${at}`, askId: `a${at}` };
    const part = {
      kind: 'call',
      id: ids.callId,
      call: { ...call, ...of, id: ids.callId, status: at === 0 ? 'running' : 'pending' },
    } as const;
    last().say({ type: 'part.added', turnId: 't1', part });
    const known = () =>
      chat()
        .activeTurn?.responseParts.flatMap((one) => (one.kind === 'toolCall' ? [one.toolCall] : []))
        .at(-1);
    // One that seemed to run has told its input.
    if (at === 0) await until(() => known()?.status === 'running');
    last().say({ type: 'ask.opened', ask: { ...approval, ...asks, id: ids.askId, callId: ids.callId } });
    await until(() => known()?.toolCallId === ids.callId && known()?.status === 'pending-confirmation');
    const asking = known();
    assert.ok(asking?.status === 'pending-confirmation');
    assert.deepEqual([asking.invocationMessage, asking.toolInput || undefined], [{ markdown }, undefined]);
    assert.deepEqual(toolCallOf(asking, () => null).input, of.input, "another Parley's view has it");
  }
});

test('an answer without an option takes the narrowest of its side', async (t) => {
  const { client, answers } = await asked(t);
  await client.dispatch(CHAT, { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c', approved: true, confirmed: 'user-action' });
  assert.deepEqual(answers(), [{ type: 'answer', askId: 'a', answer: { kind: 'option', optionId: 'once' } }]);
});

test('answers whose names mislead are marked for clients, and are taken only when they are named', async (t) => {
  const { client, chat, answers } = await asked(t, [
    { id: 'trap', label: 'Reject', effect: 'allow_once' },
    { id: 'no', label: 'Approve', effect: 'reject_once' },
  ]);
  const asking = callIn(chat());
  const offered = asking?.status === 'pending-confirmation' ? asking.options : [];
  assert.deepEqual(
    offered?.map(({ label }) => label),
    ['Reject ⚠ Allow once', 'Approve ⚠ Reject'],
  );
  await client.dispatch(CHAT, { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c', approved: true, confirmed: 'user-action' });
  assert.deepEqual(answers(), [], 'nothing is allowed under a name that rejects');
  await client.dispatch(CHAT, { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c', approved: false });
  assert.deepEqual(answers(), [{ type: 'answer', askId: 'a', answer: { kind: 'cancelled' } }]);
});

test('words with a rejection wait for an agent whose answers carry none, in sight of clients, and begin the next turn', async (t) => {
  const { client, chat, last, answers } = await asked(t);
  const userSuggestion = { text: 'use pnpm' };
  await client.dispatch(CHAT, { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c', approved: false, userSuggestion });
  assert.deepEqual(answers(), [{ type: 'answer', askId: 'a', answer: { kind: 'option', optionId: 'no' } }]);
  await until(() => chat().queuedMessages?.[0]?.message.text === 'use pnpm');
  last().say({ type: 'turn.ended', turnId: 't1', at: 2, status: 'cancelled' });
  await until(() => chat().activeTurn?.message.text === 'use pnpm');
  assert.deepEqual(chat().queuedMessages ?? [], []);
});

test('what was stopped or rejected says so, not that it runs, for those who were there and those who come later', async (t) => {
  const words = (chat: ChatState) => {
    const part = (chat.activeTurn ?? chat.turns.at(-1))?.responseParts.find((one) => one.kind === 'toolCall');
    const { status, invocationMessage } = part?.kind === 'toolCall' && part.toolCall.status === 'cancelled' ? part.toolCall : {};
    return [status, typeof invocationMessage === 'object' ? invocationMessage.markdown : invocationMessage];
  };
  const changed = (status: ToolCall['status']) => ({ type: 'call.changed', turnId: 't1', callId: 'c', change: { status } }) as const;
  const ways: Readonly<Record<string, (on: Awaited<ReturnType<typeof asked>>) => unknown>> = {
    'a client stops the turn that asks': ({ client }) => client.dispatch(CHAT, { type: 'chat/turnCancelled', turnId: 't1', duration: 1 }),
    'a client stops the command': async ({ client, chat, last }) => {
      last().say({ type: 'ask.closed', askId: 'a', how: 'answered' }, changed('running'));
      await until(() => callIn(chat())?.status === 'running');
      await client.dispatch(CHAT, { type: 'chat/turnCancelled', turnId: 't1', duration: 1 });
    },
    'its agent withdraws it then': async ({ client, chat, last }) => {
      await client.dispatch(CHAT, { type: 'chat/turnCancelled', turnId: 't1', duration: 1 });
      await until(() => callIn(chat())?.status === 'cancelled');
      last().say({ type: 'ask.closed', askId: 'a', how: 'withdrawn' });
      last().endTurn('cancelled');
    },
    'the agent is gone': ({ last }) => last().say({ type: 'link.closed', reason: 'It crashed.', at: 3 }),
    'the agent cancels the call': ({ last }) => last().say({ type: 'ask.closed', askId: 'a', how: 'cancelled' }, changed('cancelled')),
    'a client rejects it': ({ client }) =>
      client.dispatch(CHAT, { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c', approved: false }),
    'the agent rejects it': ({ last }) => last().say({ type: 'ask.closed', askId: 'a', how: 'answered' }, changed('rejected')),
  };
  for (const [way, carryOut] of Object.entries(ways)) {
    const all = await asked(t);
    await carryOut(all);
    await until(() => callIn(all.chat())?.status === 'cancelled');
    const verb = way.includes('reject') ? 'Rejected' : way.includes('stops the command') ? 'Stopped' : 'Skipped';
    assert.deepEqual(words(all.chat()), ['cancelled', `${verb} \`Shell\``], way);
    const other = new AhpClient(all.host);
    await other.open('window-2');
    await other.subscribe(CHAT);
    assert.deepEqual(words(other.chats.get(CHAT) as ChatState), words(all.chat()), way);
    await all.end();
    assert.deepEqual(words(await chatAfterRestart(t, all.folder)), words(all.chat()), `${way}, after a restart`);
  }
});

/** An address of this host as VS Code writes it into an attachment. */
function wrapped(uri: string, authority = '127.0.0.1__9501'): string {
  const [, scheme = '', host, file = '', query] = /^([a-z-]+):(?:\/\/([^/]*))?([^?]*)(?:\?(.*))?$/.exec(uri) ?? [];
  const inner = JSON.stringify({ scheme, ...(host ? { authority: host } : {}), ...(query ? { query } : {}), contentRef: true });
  return `vscode-agent-host://${authority}${file}?${encodeURIComponent(`_ah=${Buffer.from(inner).toString('base64url')}`)}`;
}

test('what VS Code attaches by addresses of its own reaches the agent as paths and texts, or in words', async (t) => {
  const { client, chat, last, folder } = await asked(t);
  const file = path.join(folder, 'a b.ts');
  const diff = { path: file, before: 'old\n', after: 'x'.repeat(70_000) };
  const edit: ToolCall = { ...call, id: 'e', kind: 'edit', status: 'done', output: [{ kind: 'diff', diff }] };
  last().say({ type: 'part.added', turnId: 't1', part: { kind: 'call', id: 'e', call: edit } });
  await until(() => JSON.stringify(chat().activeTurn).includes('"fileEdit"'));
  const part = chat().activeTurn?.responseParts.findLast((one) => one.kind === 'toolCall');
  const shown = part?.kind === 'toolCall' && part.toolCall.status === 'completed' ? part.toolCall.content?.[0] : undefined;
  assert.ok(shown?.type === 'fileEdit');
  last().endTurn();
  const attachments = [
    { type: 'resource', uri: wrapped(pathToFileURL(file).href), label: 'a b.ts' },
    { type: 'resource', uri: wrapped(shown.before?.content.uri ?? ''), label: 'Before' },
    { type: 'resource', uri: wrapped(shown.after?.content.uri ?? ''), label: 'After' },
    { type: 'resource', uri: wrapped('parley-content:/x/gone.ts?aWQ.YQ.MA.YWZ0ZXI'), label: 'gone.ts' },
    {
      type: 'resource',
      uri: wrapped(contentUri({ sessionId: 'x', owner: 'stopped', callId: '', at: 0, side: 'after', file })),
      label: 'Left open',
    },
    { type: 'resource', uri: wrapped('other-host:/etc/passwd'), label: 'passwd' },
    { type: 'resource', uri: 'vscode-agent-host://h/etc/x?_ah=%%%', label: 'odd' },
    { type: 'resource', uri: 'https://example.org/', label: 'Site' },
  ];
  await client.dispatch(CHAT, { ...prompt('t2'), message: { text: 'Look', origin: { kind: 'user' }, attachments } });
  await until(() => last().prompts().length === 2);
  const heard = last().prompts().at(-1);
  const [said, ...content] = heard?.type === 'prompt' ? heard.content : [];
  assert.deepEqual(said, { type: 'text', text: 'Look' });
  assert.deepEqual(
    content.map((one) => (one.type === 'text' ? one.text.replace(/x{100,}/, (run) => `${run.length}x`) : one)),
    [
      { type: 'file', path: file },
      '[Attached: Before, a b.ts before a change of this conversation]\n```\nold\n\n```',
      '[Attached: After, a b.ts after a change of this conversation, its first 65536 characters]\n```\n65536x\n```',
      '[Attached: gone.ts. Its text cannot be read here.]',
      { type: 'file', path: file },
      '[Attached: passwd. Its text cannot be read here.]',
      '[Attached: odd. Its text cannot be read here.]',
      { type: 'link', uri: 'https://example.org/', title: 'Site' },
    ],
  );
  assert.deepEqual(chat().activeTurn?.message.attachments?.slice(0, 8), attachments, 'clients see them as they came');
});

test('what is attached stays beside the words of the user, for those who come later and after a restart', async (t) => {
  const { client, last, folder, end, conversations, sessions } = await opened(t);
  const file = path.join(folder, 'a.ts');
  const range = { start: { line: 1, character: 0 }, end: { line: 3, character: 5 } };
  const attachments = [
    { type: 'resource', uri: pathToFileURL(file).href, label: 'a.ts' },
    { type: 'resource', uri: pathToFileURL(file).href, label: 'a.ts:2', displayKind: 'selection', selection: { range } },
    { type: 'embeddedResource', data: Buffer.from('of a note').toString('base64'), contentType: 'text/plain', label: 'Note' },
    { type: 'simple', label: 'Problem', modelRepresentation: 'of a problem' },
    { type: 'embeddedResource', data: 'iVBORw0KGgo=', contentType: 'image/png', label: 'Picture' },
  ];
  const message = { text: 'Look', origin: { kind: 'user' }, attachments };
  await client.dispatch(CHAT, { ...prompt('t1'), message });
  await begun({ conversations });
  last().ready();
  const heard = last().prompts().at(-1);
  assert.deepEqual(heard?.type === 'prompt' && heard.content, [
    { type: 'text', text: 'Look' },
    { type: 'file', path: file },
    { type: 'file', path: file, lines: [2, 4] },
    { type: 'text', text: 'of a note', label: 'Note' },
    { type: 'text', text: 'of a problem', label: 'Problem' },
    { type: 'image', mime: 'image/png', data: 'iVBORw0KGgo=' },
  ]);
  last().endTurn();
  const stored = sessions.get(SESSION.split('/')[1] ?? '')?.store.now;
  assert.deepEqual([stored && titleOf(stored), stored?.turns[0] && promptText(stored.turns[0])], ['Look', 'Look']);
  await end();
  const after = (await chatAfterRestart(t, folder)).turns[0]?.message;
  assert.equal(after?.text, 'Look');
  assert.deepEqual(
    after.attachments?.map((one) => (one as { readonly label?: string }).label),
    ['a.ts', 'a.ts:2-4', 'Note', 'Problem', 'image', 'By Test'],
  );
});

test('attack: an approval right behind a stop runs nothing', async (t) => {
  const { client, chat, answers } = await asked(t);
  await client.dispatch(CHAT, { type: 'chat/turnCancelled', turnId: 't1', duration: 10 });
  await client.dispatch(CHAT, { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c', approved: true, confirmed: 'user-action' });
  assert.deepEqual(answers(), []);
  assert.equal(client.refusals.length, 1);
  assert.deepEqual([chat().turns.at(-1)?.state, callIn(chat())?.status], ['cancelled', 'cancelled']);
});

test('a turn that a client stops took as long as the client says, or else until now', async (t) => {
  let now = 1000;
  const served = hosting(t, undefined, () => now);
  const client = new AhpClient(served.host);
  await client.open();
  await client.ask('createSession', { channel: SESSION, provider: 'fake', workingDirectories: [pathToFileURL(served.folder).href] });
  await client.subscribe(CHAT);
  for (const [turnId, said, expected] of [
    ['t1', { duration: 10 }, 10],
    ['t2', {}, 700],
    ['t3', { duration: 0 }, 700],
  ] as const) {
    await client.dispatch(CHAT, prompt(turnId));
    now += 700;
    await client.dispatch(CHAT, { type: 'chat/turnCancelled', turnId, ...said });
    assert.equal(client.chats.get(CHAT)?.turns.at(-1)?.duration, expected);
  }
});

test('attack: answers that were not offered, for calls that do not wait, with other input, or from a replay are refused', async (t) => {
  const { client, answers } = await asked(t);
  const confirmed = { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c', approved: true, confirmed: 'user-action' };
  for (const wrong of [
    { ...confirmed, selectedOptionId: 'odd' },
    { ...confirmed, selectedOptionId: 'no' },
    { ...confirmed, selectedOptionId: 'none' },
    { ...confirmed, toolCallId: 'other' },
    { ...confirmed, turnId: 'other' },
    { ...confirmed, confirmed: 'setting' },
    { ...confirmed, confirmed: 'not-needed' },
    { ...confirmed, confirmed: undefined },
    { ...confirmed, editedToolInput: 'rm -rf /' },
    { type: 'chat/inputCompleted', requestId: 'a', response: 'accept' },
    { type: 'chat/toolCallComplete', turnId: 't1', toolCallId: 'c', result: { success: true, pastTenseMessage: '' } },
    { type: 'no/such' },
  ])
    await client.dispatch(CHAT, wrong);
  assert.equal(client.refusals.length, 12);
  assert.deepEqual(answers(), []);
  await client.dispatch(CHAT, { ...confirmed, approved: false });
  await client.dispatch(CHAT, confirmed);
  assert.deepEqual(answers(), [{ type: 'answer', askId: 'a', answer: { kind: 'option', optionId: 'no' } }]);
  assert.equal(client.refusals.length, 13);
});

test('attack: a client that does not follow the chat answers nothing in it', async (t) => {
  const { client, host, answers } = await asked(t);
  const other = new AhpClient(host);
  await other.open('window-2');
  const confirmed = ALLOWED_ONCE;
  await other.dispatch(CHAT, confirmed);
  assert.deepEqual([answers(), other.refusals.length], [[], 1]);
  await other.subscribe(CHAT);
  await other.dispatch(CHAT, confirmed);
  assert.deepEqual([answers().length, client.refusals.length, other.refusals.length], [1, 0, 1]);
});

test('attack: an action for another session, or another of its channels, changes neither', async (t) => {
  const { client, answers, ...served } = await asked(t);
  const other = SESSION.replace('0f1d2c3b', '1f1d2c3b');
  const otherChat = CHAT.replace('0f1d2c3b', '1f1d2c3b');
  await client.ask('createSession', { channel: other, provider: 'fake', workingDirectories: [pathToFileURL(served.folder).href] });
  const confirmed = { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c', approved: true, confirmed: 'user-action' };
  for (const channel of [otherChat, other, SESSION, TERMINAL, `${SESSION}/changeset/session`, 'ahp-chat:/none'])
    await client.dispatch(channel, confirmed);
  for (const channel of [otherChat, SESSION]) await client.dispatch(channel, { type: 'chat/turnCancelled', turnId: 't1' });
  await client.dispatch(otherChat.replace('1f1d2c3b', '2f1d2c3b'), { type: 'session/titleChanged', title: 'Other' });
  await client.dispatch(CHAT, { type: 'session/isArchivedChanged', isArchived: true });
  await client.dispatch('ahp-root://', confirmed);
  assert.deepEqual(answers(), []);
  assert.equal(served.chat().activeTurn?.id, 't1');
  assert.equal(served.conversations.length, 1);
  assert.notEqual(client.sessions.get(SESSION)?.title, 'Other');
});

test('attack: a client announces and removes no other one', async (t) => {
  const { client, host } = await opened(t);
  const tools = [{ name: 'rename', description: 'Renames', inputSchema: { type: 'object' } }];
  await client.dispatch(SESSION, { type: 'session/activeClientSet', activeClient: { clientId: 'window-1', tools } });
  const other = new AhpClient(host);
  await other.open('window-2');
  await other.subscribe(SESSION);
  for (const action of [
    { type: 'session/activeClientSet', activeClient: { clientId: 'window-1', tools: [] } },
    { type: 'session/activeClientSet', activeClient: { clientId: 'window-3', tools } },
    { type: 'session/activeClientRemoved', clientId: 'window-1' },
  ])
    await other.dispatch(SESSION, action);
  assert.equal(other.refusals.length, 3);
  assert.deepEqual(
    client.sessions.get(SESSION)?.activeClients.map(({ clientId, tools: own }) => [clientId, own?.length]),
    [['window-1', 1]],
  );
});

test('attack: names without an end, and messages without an end that wait, are refused', async (t) => {
  const { client, chat } = await opened(t);
  for (const turnId of ['', 'x'.repeat(201)]) await client.dispatch(CHAT, prompt(turnId));
  assert.deepEqual([client.refusals.length, chat().activeTurn], [2, undefined]);
  await client.dispatch(CHAT, prompt('t1'));
  const message = { text: 'More', origin: { kind: 'user' } };
  for (let at = 0; at < 202; at += 1)
    await client.dispatch(CHAT, { type: 'chat/pendingMessageSet', kind: 'queued', id: `q${at}`, message });
  assert.deepEqual([chat().queuedMessages?.length, client.refusals.length], [200, 4]);
});

test('attack: messages that wait are bounded together, however long each is', async (t) => {
  const { client, chat } = await opened(t);
  await client.dispatch(CHAT, prompt('t1'));
  const queued = (id: string, units: number) => {
    const message = { text: 'x'.repeat(units), origin: { kind: 'user' } };
    return client.dispatch(CHAT, { type: 'chat/pendingMessageSet', kind: 'queued', id, message });
  };
  const MiB = 1024 * 1024;
  await queued('long', 9 * MiB);
  await queued('second', 8 * MiB);
  assert.deepEqual([chat().queuedMessages?.map(({ id }) => id), client.refusals.length], [['long'], 1]);
  assert.match(client.refusals[0] ?? '', /too long together/);
  await queued('short', 10);
  await queued('long', 15 * MiB);
  assert.deepEqual([chat().queuedMessages?.map(({ id }) => id), client.refusals.length], [['long', 'short'], 1], 'one may be changed');
});

test('attack: drafts and tools without an end are refused in words, and others are not told of them', async (t) => {
  const { client, chat, windowTools } = await opened(t);
  const draft = (text: string) => ({ text, origin: { kind: 'user' } });
  await client.dispatch(CHAT, { type: 'chat/draftChanged', draft: draft('Almost') });
  const told = client.envelopes.length;
  await client.dispatch(CHAT, { type: 'chat/draftChanged', draft: draft('x'.repeat(10 * 1024 * 1024)) });
  const tools = (count: number, description: string) => {
    const all = Array.from({ length: count }, (_, at) => ({ name: `tool-${at}`, description, inputSchema: { type: 'object' } }));
    return { type: 'session/activeClientSet', activeClient: { clientId: 'window-1', displayName: 'Test', tools: all } };
  };
  await client.dispatch(SESSION, tools(20_000, ''));
  await client.dispatch(SESSION, tools(10, 'x'.repeat(1024 * 1024)));
  assert.deepEqual(client.refusals, [
    'The draft is too long: it is kept up to 1 MiB.',
    'A window offers 1,000 tools at most.',
    'What a window says of itself and its tools is 4 MiB at most.',
  ]);
  assert.deepEqual([client.envelopes.length, chat().draft, client.sessions.get(SESSION)?.activeClients], [told, draft('Almost'), []]);
  await client.dispatch(SESSION, tools(1000, 'Does it'));
  assert.equal(windowTools.toolsOf(SESSION.split('/')[1] ?? '').length, 1000);
});

test('of two clients the first answer counts, and the other sees it with its sender', async (t) => {
  const { client, host, answers } = await asked(t);
  const other = new AhpClient(host);
  await other.open('window-2');
  await other.subscribe(CHAT);
  assert.equal(callIn(other.chats.get(CHAT) as ChatState)?.status, 'pending-confirmation');
  const confirmed = ALLOWED_ONCE;
  await other.dispatch(CHAT, confirmed);
  await client.dispatch(CHAT, { ...confirmed, selectedOptionId: 'always' });
  assert.deepEqual(answers(), [{ type: 'answer', askId: 'a', answer: { kind: 'option', optionId: 'once' } }]);
  assert.equal(client.envelopes.findLast((one) => one.action.type === 'chat/toolCallConfirmed')?.origin?.clientId, 'window-2');
  assert.deepEqual([client.refusals.length, other.refusals.length], [1, 0]);
});

test('a question goes out with its fields and comes back with its answers', async (t) => {
  const { client, chat, last, ...rest } = await opened(t);
  await client.dispatch(CHAT, prompt('t1'));
  await begun(rest);
  last().ready();
  const fields = [
    { id: 'f', label: 'Which?', choices: [{ label: 'A' }, { label: 'B' }], free: true },
    { id: 'g', label: 'How many?', kind: 'integer', min: 1 },
  ] as const;
  last().say({ type: 'ask.opened', ask: { kind: 'question', id: 'q', turnId: 't1', title: 'Tell me', fields } });
  // A rule may answer at once: clients are told a moment later.
  await new Promise((resolve) => setTimeout(resolve, 0));
  const part = chat().activeTurn?.responseParts.find((one) => one.kind === 'inputRequest');
  assert.deepEqual(part?.kind === 'inputRequest' && part.request.questions.map(({ id, kind }) => [id, kind]), [
    ['f', 'single-select'],
    ['g', 'integer'],
  ]);
  const answers = {
    f: { state: 'submitted', value: { kind: 'selected', value: 'B' } },
    g: { state: 'submitted', value: { kind: 'number', value: 3 } },
  };
  await client.dispatch(CHAT, { type: 'chat/inputCompleted', requestId: 'q', response: 'accept', answers });
  assert.deepEqual(last().heard.at(-1), { type: 'answer', askId: 'q', answer: { kind: 'fields', values: { f: ['B'], g: ['3'] } } });
});

test('an approval without a call shows all that it is about, takes no other answer, and offers first what allows nothing', async (t) => {
  const { client, chat, last, answers } = await asked(t);
  last().say({ type: 'ask.closed', askId: 'a', how: 'withdrawn' });
  const { callId: _, ...whole } = approval;
  const command = 'rm -rf ./build\n```\nrm -rf ~';
  const details = [
    { type: 'mcp', server: 'VS Code', tool: 'runTask', input: { command: 'rm -rf /', 'a*b': 2 } },
    { type: 'mcp', server: 'VS Code', tool: 'runTask', input: { command: 'ls\nrm -rf /' } },
    { type: 'command', command },
    { type: 'edit', diffs: [{ path: '/w/a.ts', before: 'a', after: 'b' }] },
    { type: 'text', text: 'Switch to *plan*?' },
  ] as const;
  for (const [at, detail] of details.entries()) last().say({ type: 'ask.opened', ask: { ...whole, id: `q${at}`, detail } });
  await new Promise((resolve) => setTimeout(resolve, 0));
  const open =
    chat().activeTurn?.responseParts.flatMap((part) => (part.kind === 'inputRequest' && !part.response ? part.request : [])) ?? [];
  assert.deepEqual(
    open.map(({ questions: [one] }) => [one?.title, one?.message]),
    [
      ['Use runTask of VS Code', '- command: `rm -rf /`\n- a\\*b: `2`'],
      ['Use runTask of VS Code', '```\n{\n  "command": "ls\\nrm -rf /"\n}\n```'],
      ['Run in terminal', `\`\`\`\`\n${command}\n\`\`\`\``],
      ['Edit /w/a.ts', '- /w/a.ts'],
      ['npm test', '```\nSwitch to *plan*?\n```'],
    ],
  );
  assert.ok(
    open.every(({ message }) => message === ''),
    'the title is shown once',
  );
  const [question] = open[0]?.questions ?? [];
  assert.ok(question?.kind === 'single-select');
  assert.deepEqual([question.allowFreeformInput, question.options.map(({ id }) => id)], [false, ['no', 'always', 'once']]);
  const answer = (value: string) => ({ answer: { state: 'submitted', value: { kind: 'selected', value } } });
  const completed = { type: 'chat/inputCompleted', requestId: 'q0', response: 'accept' };
  await client.dispatch(CHAT, { ...completed, answers: answer('yes, do') });
  assert.deepEqual([answers().length, client.refusals.length], [0, 1]);
  await client.dispatch(CHAT, { ...completed, answers: answer('once') });
  assert.deepEqual(answers(), [{ type: 'answer', askId: 'q0', answer: { kind: 'option', optionId: 'once' } }]);
});

test("the call of a window's tool is told in its session until that window has run it, and counts as work", async (t) => {
  const { client, chat, last, windowTools, ...rest } = await opened(t);
  const tools = [{ name: 'usages', inputSchema: {} }];
  await client.dispatch(SESSION, { type: 'session/activeClientSet', activeClient: { clientId: 'window-1', tools } });
  await client.dispatch(CHAT, prompt('t1'));
  await begun(rest);
  last().ready();
  const [tool] = windowTools.toolsOf(SESSION.split('/')[1] ?? '');
  const answer = tool?.run({ symbol: 'x' }, new AbortController().signal);
  const needed = () => client.sessions.get(SESSION)?.inputNeeded ?? [];
  await until(() => needed().length === 1);
  const [one] = needed();
  assert.ok(one?.kind === 'toolClientExecution');
  assert.deepEqual([one.chat, one.turnId, one.clientId, one.toolCall], [CHAT, 't1', 'window-1', callIn(chat())]);
  assert.equal(chat().status & STATUS.activity, STATUS.inProgress, 'nobody is asked');
  const result = { success: true, content: [{ type: 'text', text: 'src/a.ts:1' }] };
  await client.dispatch(CHAT, { type: 'chat/toolCallComplete', turnId: 't1', toolCallId: one.toolCall.toolCallId, result });
  assert.deepEqual(needed(), []);
  assert.deepEqual(await answer, { ok: true, text: 'src/a.ts:1' });
});

test('what is chosen for a new conversation is told to its agent before the first prompt, and is that of no other one', async (t) => {
  const served = await opened(t);
  const { client, chat, last, folder } = served;
  const modes = [
    { id: 'ask', name: 'Ask' },
    { id: 'plan', name: 'Plan' },
  ];
  const ready = () =>
    last().say(
      { type: 'mode.set', mode: { current: 'ask', all: modes } },
      { type: 'link.ready', agent: { protocol: 'scripted', name: 'Fake' }, offers: {} },
    );
  const told = () => last().heard.map(({ type }) => type);
  await client.dispatch(CHAT, prompt('t1'));
  await begun(served);
  ready();
  last().say({ type: 'mode.set', mode: { current: 'plan', all: modes } });
  await until(() => client.sessions.get(SESSION)?.config?.values.mode === 'plan');
  const values = async (config = {}) =>
    ((await client.ask('resolveSessionConfig', { provider: 'fake', config })) as { readonly values: object }).values;
  assert.deepEqual([await values(), await values({ mode: 'plan', isolation: 'folder' })], [{ mode: 'ask' }, { mode: 'plan' }]);
  assert.equal(chat().activeTurn?.id, 't1');

  for (const [at, name] of ['11111111-4a59-6877-8695-a4b3c2d1e0f9', '22222222-4a59-6877-8695-a4b3c2d1e0f9'].entries()) {
    const channel = `fake:/${name}`;
    const config = at === 0 ? { mode: 'plan', autoApprove: 'autoApprove' } : {};
    await client.ask('createSession', { channel, provider: 'fake', workingDirectories: [pathToFileURL(folder).href], config });
    await client.subscribe(channel);
    if (at === 1) await client.dispatch(channel, { type: 'session/configChanged', config: { mode: 'plan' } });
    assert.deepEqual(client.sessions.get(channel)?.config?.values, { mode: 'plan' });
    await client.dispatch(`ahp-chat:/${name}`, prompt(`n${at}`));
    await begun(served, at + 2);
    ready();
    await until(() => told().includes('prompt'));
    assert.deepEqual(told(), ['setMode', 'prompt']);
  }
  await served.end();
  const again = new AhpClient((await restarted(t, folder)).host);
  await again.open();
  const known = (await again.ask('resolveSessionConfig', { provider: 'fake' })) as { readonly values: object };
  assert.deepEqual(known.values, { mode: 'ask' }, 'also in the next run of the host');
});

test('a window finds itself in a session as it has sent itself, and what only reads is not asked about', async (t) => {
  const { client, windowTools } = await opened(t);
  const activeClient = {
    clientId: 'window-1',
    customizations: [{ uri: 'file:///x' }],
    tools: [
      { name: 'usages', title: 'Usages', annotations: { readOnlyHint: true } },
      { name: 'rename', title: 'Rename' },
    ],
  };
  await client.dispatch(SESSION, { type: 'session/activeClientSet', activeClient });
  assert.deepEqual(client.sessions.get(SESSION)?.activeClients, [activeClient]);
  const offered = windowTools.toolsOf(SESSION.split('/')[1] ?? '');
  assert.deepEqual(
    offered.map(({ name, confirm }) => [name, confirm !== undefined]),
    [
      ['usages', false],
      ['rename', true],
    ],
  );
});

test('a call that its window leaves, or that is stopped, is over for that window, too: back again it runs nothing', async (t) => {
  const { client, chat, last, windowTools, ...rest } = await opened(t);
  const tools = [{ name: 'rename', inputSchema: {} }];
  await client.dispatch(SESSION, { type: 'session/activeClientSet', activeClient: { clientId: 'window-1', tools } });
  await client.dispatch(CHAT, prompt('t1'));
  await begun(rest);
  last().ready();
  const [tool] = windowTools.toolsOf(SESSION.split('/')[1] ?? '');
  const needed = () => client.sessions.get(SESSION)?.inputNeeded ?? [];
  const stop = new AbortController();
  const stopped = tool?.run({}, stop.signal);
  await until(() => needed().length === 1);
  stop.abort();
  assert.deepEqual(await stopped, { ok: false, text: 'Cancelled.' });
  assert.deepEqual([callIn(chat())?.status, needed()], ['completed', []]);
  const left = tool?.run({}, new AbortController().signal);
  await until(() => needed().length === 1);
  const toolCallId = needed()[0]?.id;
  client.disconnect();
  assert.deepEqual(await left, { ok: false, text: 'The window was closed.' });
  await client.reconnect();
  assert.deepEqual(needed(), []);
  await client.dispatch(CHAT, { type: 'chat/toolCallComplete', turnId: 't1', toolCallId, result: { success: true } });
  assert.deepEqual(client.refusals, ['This call is not yours.']);
});

test('the question of a call is said once, in its request: the row of the call says that it asks, and that it was answered', async (t) => {
  const { client, chat, last, ...rest } = await opened(t);
  await client.dispatch(CHAT, prompt('t1'));
  await begun(rest);
  last().ready();
  const call = { id: 'c', name: 'ask_person', title: 'Which branch?', kind: 'other', status: 'running', inputText: '' } as const;
  last().say({ type: 'part.added', turnId: 't1', part: { kind: 'call', id: 'c', call: { ...call, output: [], locations: [] } } });
  const fields = [{ id: 'f', label: 'Which branch?', free: true }] as const;
  last().say({ type: 'ask.opened', ask: { kind: 'question', id: 'q', turnId: 't1', callId: 'c', title: 'Question', fields } });
  const words = () => {
    const shown = callIn(chat());
    const told = shown?.status === 'completed' ? shown.pastTenseMessage : shown?.status === 'running' ? shown.invocationMessage : undefined;
    return typeof told === 'object' ? told.markdown : told;
  };
  await until(() => words() === 'Question');
  const answers = { f: { state: 'submitted', value: { kind: 'text', value: 'main' } } };
  await client.dispatch(CHAT, { type: 'chat/inputCompleted', requestId: 'q', response: 'accept', answers });
  last().say({ type: 'ask.closed', askId: 'q', how: 'answered' });
  last().say({ type: 'call.changed', turnId: 't1', callId: 'c', change: { status: 'done' } });
  await until(() => callIn(chat())?.status === 'completed');
  assert.equal(words(), 'Answered');
});

test('what a client says while a turn runs is queued, and starts its turn from there', async (t) => {
  const { client, chat, last, ...rest } = await opened(t);
  await client.dispatch(CHAT, prompt('t1'));
  await begun(rest);
  last().ready();
  const message = { text: 'And then', origin: { kind: 'user' } };
  await client.dispatch(CHAT, { type: 'chat/pendingMessageSet', kind: 'steering', id: 's', message });
  // This agent takes no steering.
  await until(() => chat().steeringMessage === undefined && chat().queuedMessages?.[0]?.id === 's');
  last().endTurn();
  assert.deepEqual([chat().activeTurn?.id, chat().activeTurn?.message.text, chat().queuedMessages], ['s', 'And then', undefined]);
});

test('a prompt that comes while a turn of another client runs waits for its end, once, however often it is sent', async (t) => {
  const served = await opened(t);
  const { client, chat, last } = served;
  await beginTurn(served);
  const window = new AhpClient(served.host);
  await window.open('window-2', 'Window');
  // As a window sends it that has not heard of the other turn yet.
  const late = prompt('t9', 'And mine');
  await window.dispatch(CHAT, late);
  assert.deepEqual(window.refusals, []);
  assert.deepEqual(
    chat().queuedMessages?.map(({ message }) => message.text),
    ['And mine'],
  );
  // Its sender is told that this is what became of it.
  const told = client.envelopes.at(-1);
  assert.deepEqual([told?.action.type, told?.origin], ['chat/pendingMessageSet', { clientId: 'window-2', clientSeq: 1 }]);
  await window.dispatch(CHAT, late);
  last().endTurn();
  await until(() => last().prompts().length === 2);
  assert.deepEqual([chat().activeTurn?.message.text, chat().queuedMessages], ['And mine', undefined]);
  await window.dispatch(CHAT, late);
  last().endTurn();
  await until(() => chat().activeTurn === undefined);
  await window.dispatch(CHAT, late);
  assert.deepEqual(window.refusals, Array(3).fill('This turn is over.'));
  assert.equal(last().prompts().length, 2);
});

test('a prompt without a word is a turn that ends at once and says why: VS Code does not show why one is refused', async (t) => {
  const { client, chat, conversations } = await opened(t);
  await client.dispatch(CHAT, prompt('t1', ''));
  assert.deepEqual([client.refusals, conversations.length], [[], 0]);
  const [turn] = chat().turns;
  assert.deepEqual(
    [turn?.state, turn?.responseParts.map((part) => (part.kind === 'error' ? part.error.message : part.kind))],
    ['error', ['The prompt is empty.']],
  );
});

test('a message into a turn whose agent takes none is not lost by a window that removes what has left its turn, as VS Code does', async (t) => {
  const { client, chat, last, host, ...rest } = await opened(t);
  const window = new AhpClient(host);
  await window.open('window-2', 'Window');
  await window.subscribe(CHAT);
  await client.dispatch(CHAT, prompt('t1'));
  await begun(rest);
  last().ready();
  const message = { text: 'And then', origin: { kind: 'user' } };
  await window.dispatch(CHAT, { type: 'chat/pendingMessageSet', kind: 'steering', id: 's', message });
  await until(() => chat().steeringMessage === undefined && chat().queuedMessages?.[0]?.id === 's');
  // By the protocol's own rules, in which a message that was removed is in no queue.
  let queue: readonly string[] = [];
  for (const { action } of window.envelopes) {
    const { type, kind, id = '' } = action as { readonly type: string; readonly kind?: string; readonly id?: string };
    if (type === 'chat/pendingMessageSet' && kind === 'queued') queue = [...queue, id];
    if (type !== 'chat/pendingMessageRemoved' || kind !== 'steering') continue;
    if (queue.includes(id)) await window.dispatch(CHAT, { type: 'chat/pendingMessageRemoved', kind: 'queued', id });
  }
  last().endTurn();
  assert.deepEqual([chat().activeTurn?.id, chat().activeTurn?.message.text], ['s', 'And then']);
});

test('a message into a turn that has just ended begins the next one', async (t) => {
  const served = await opened(t);
  const { client, chat, last } = served;
  await beginTurn(served);
  last().endTurn();
  await until(() => chat().activeTurn === undefined);
  const message = { text: 'And then', origin: { kind: 'user' } };
  // As a window sends it that has not heard of the end yet.
  await client.dispatch(CHAT, { type: 'chat/pendingMessageSet', kind: 'steering', id: 's', message });
  await until(() => last().prompts().length === 2);
  assert.deepEqual(client.refusals, []);
  const { activeTurn, steeringMessage, queuedMessages } = chat();
  assert.deepEqual([activeTurn?.id, activeTurn?.message.text, steeringMessage, queuedMessages], ['s', 'And then', undefined, undefined]);
});

test('a message that an agent has taken into its turn is not sent again by a client that comes back and repeats it', async (t) => {
  const served = await opened(t);
  const { client, chat, last } = served;
  await client.dispatch(CHAT, prompt('t1'));
  await begun(served);
  last().ready({ steer: true });
  await until(() => last().prompts().length === 1);
  const message = { text: 'And then', origin: { kind: 'user' } };
  const said = { type: 'chat/pendingMessageSet', kind: 'steering', id: 's', message };
  await client.dispatch(CHAT, said);
  last().say({
    type: 'part.added',
    turnId: 't1',
    part: { kind: 'prompt', id: 's', content: [{ type: 'text', text: 'And then' }], pending: true },
  });
  // Agents repeat it under a name of their own.
  last().say({ type: 'parts.removed', turnId: 't1', partIds: ['s'] });
  last().say({ type: 'part.added', turnId: 't1', part: { kind: 'prompt', id: 'own', content: [{ type: 'text', text: 'And then' }] } });
  await until(() => chat().steeringMessage === undefined);
  await client.dispatch(CHAT, said);
  last().endTurn();
  await until(() => chat().activeTurn === undefined);
  await client.dispatch(CHAT, said);
  assert.deepEqual(client.refusals, Array(2).fill('This message is not waiting any more.'));
  assert.deepEqual(
    last().heard.map(({ type }) => type),
    ['prompt', 'steer'],
  );
});

test('queued messages are put into another order by one client, for all of them and for the agent', async (t) => {
  const { client, host, chat, last, ...served } = await opened(t);
  const other = new AhpClient(host);
  await other.open('window-2');
  await other.subscribe(CHAT);
  await client.dispatch(CHAT, prompt('t1'));
  await begun(served);
  last().ready();
  const queue = (id: string) =>
    client.dispatch(CHAT, { type: 'chat/pendingMessageSet', kind: 'queued', id, message: { text: id, origin: { kind: 'user' } } });
  for (const id of ['a', 'b', 'c']) await queue(id);
  await other.dispatch(CHAT, { type: 'chat/queuedMessagesReordered', order: ['c', 'strange', 'a'] });
  const order = (of: AhpClient) => of.chats.get(CHAT)?.queuedMessages?.map(({ id }) => id);
  await until(() => order(client)?.[0] === 'c');
  assert.deepEqual([order(client), order(other)], [Array.of('c', 'a', 'b'), Array.of('c', 'a', 'b')]);
  await other.dispatch(CHAT, { type: 'chat/queuedMessagesReordered', order: ['strange'] });
  assert.deepEqual(other.refusals, ['This message is not waiting any more.']);
  for (const ended of [1, 2, 3, 4]) {
    last().endTurn();
    await until(() => chat().turns.length === ended);
  }
  const ids = ({ turns }: ChatState) => turns.map(({ id }) => id);
  assert.deepEqual([ids(chat()), ids(other.chats.get(CHAT) as ChatState)], [Array.of('t1', 'c', 'a', 'b'), Array.of('t1', 'c', 'a', 'b')]);
  assert.deepEqual(
    last()
      .prompts()
      .map((one) => one.turnId),
    ['t1', 'c', 'a', 'b'],
  );
});

test('each prompt says who sent it, also one that waited, to other clients and after a restart', async (t) => {
  const first = await opened(t);
  const other = new AhpClient(first.host);
  await other.open('window-2', 'Phone');
  await other.subscribe(CHAT);
  await beginTurn(first);
  await other.dispatch(CHAT, {
    type: 'chat/pendingMessageSet',
    kind: 'queued',
    id: 't2',
    message: { text: 'Then', origin: { kind: 'user' } },
  });
  first.last().endTurn();
  await until(() => first.chat().activeTurn?.id === 't2');
  const senders = ({ turns, activeTurn }: ChatState) => [...turns, ...(activeTurn ? [activeTurn] : [])].map(({ message }) => message._meta);
  const expected = [{ client: 'Test' }, { client: 'Phone' }];
  for (const one of [first.client, other]) assert.deepEqual(senders(one.chats.get(CHAT) as ChatState), expected);
  await first.end();
  assert.deepEqual(senders(await chatAfterRestart(t, first.folder)), expected);
});

test('of two windows of one name in a session the second has a number, which it keeps; one window with several connections has one name', async (t) => {
  const { host, folder, chat, client, last, ...rest } = await opened(t);
  const other = 'fake:/11112222-3333-4444-5555-666677778888';
  await client.ask('createSession', { channel: other, provider: 'fake', workingDirectories: [pathToFileURL(folder).href] });
  const follow = async (clientId: string, window: string | undefined, channel: string, title = 'VS Code') => {
    const one = new AhpClient(host);
    one.connect();
    const meta = window === undefined ? {} : { _meta: { parley: { window } } };
    await one.ask('initialize', { protocolVersions: ['1.0.0'], clientId, clientInfo: { name: 'x', title }, ...meta });
    const { _meta: named } = (await one.ask('subscribe', { channel })) as { readonly _meta?: { readonly client: string } };
    return { one, name: named?.client };
  };
  const first = await follow('a', undefined, CHAT);
  const second = await follow('b', undefined, CHAT);
  assert.deepEqual([first.name, second.name, (await follow('c', undefined, other)).name], ['VS Code', 'VS Code 2', 'VS Code']);
  assert.equal((await follow('d', undefined, CHAT)).name, 'VS Code 3');
  const [parley, again] = [await follow('e', 'w1', CHAT, 'Parley'), await follow('f', 'w1', CHAT, 'Parley')];
  const [next, its] = [await follow('g', 'w2', CHAT, 'Parley'), await follow('h', 'w2', other, 'Parley')];
  assert.deepEqual([parley.name, again.name, next.name, its.name], ['Parley', 'Parley', 'Parley 2', 'Parley 2']);

  second.one.disconnect();
  second.one.connect();
  await second.one.ask('reconnect', { clientId: 'b', lastSeenServerSeq: 0, subscriptions: [CHAT] });
  await first.one.dispatch(CHAT, prompt('t1'));
  await begun(rest);
  last().ready();
  last().endTurn();
  await until(() => chat().turns.length === 1);
  await second.one.dispatch(CHAT, prompt('t2'));
  const shown = ({ _meta, attachments = [] }: Message) => [
    _meta?.client,
    ...attachments.map((one) => (one as { readonly label: string }).label),
  ];
  assert.deepEqual(
    [chat().turns[0], chat().activeTurn].map((turn) => turn && shown(turn.message)),
    [['VS Code'], ['VS Code 2', 'By VS Code 2']],
  );
});

test('a window that was open before the host introduces itself, and has a name; many short connections take no name from it', async (t) => {
  const { host, client, chat } = await opened(t);
  const window = new AhpClient(host);
  window.connect();
  const back = { clientId: 'early', lastSeenServerSeq: 0, subscriptions: ['ahp-root://', 'fake:/gone'] };
  await assert.rejects(window.ask('reconnect', back), /-32008 The host does not know this client/);
  const hello = { protocolVersions: ['0.9.0'], clientId: 'early', clientInfo: { name: 'x', title: 'VS Code' } };
  const { snapshots } = (await window.ask('initialize', { ...hello, initialSubscriptions: back.subscriptions })) as {
    readonly snapshots: readonly { readonly resource: string }[];
  };
  assert.deepEqual(
    snapshots.map(({ resource }) => resource),
    ['ahp-root://'],
  );
  assert.deepEqual(
    window.notified.map(({ method, params }) => [method, params.session]),
    [['root/sessionRemoved', 'fake:/gone']],
  );
  await window.ask('subscribe', { channel: CHAT });
  for (let at = 0; at < 300; at += 1) {
    const other = new AhpClient(host);
    await other.open(`short-${at}`, 'Parley');
    other.disconnect();
  }
  window.disconnect();
  window.connect();
  await window.ask('reconnect', { ...back, subscriptions: [CHAT] });
  await window.dispatch(CHAT, prompt('t1'));
  assert.deepEqual(chat().activeTurn?.message._meta, { client: 'VS Code' });
  assert.deepEqual(client.refusals, []);
});

test('VS Code shows no sender: an attachment of a prompt names every client but its own windows, and no agent is told that', async (t) => {
  const { host, chat, last, sessions, ...rest } = await opened(t);
  const [window, phone] = [new AhpClient(host), new AhpClient(host)];
  await window.open('window-2', 'VS Code');
  await phone.open('window-3', `Phone\n\u202e${'x'.repeat(1000)}`);
  await phone.dispatch(CHAT, prompt('t1'));
  await begun(rest);
  last().ready();
  const [note] = (chat().activeTurn?.message.attachments ?? []) as readonly { readonly type: string; readonly label: string }[];
  assert.equal(note?.type, 'simple');
  assert.match(note.label, /^By Phone⟨U\+000A⟩⟨U\+202E⟩x{20,70}…$/u);
  last().endTurn();
  await until(() => chat().turns.length === 1);
  // The window says the message again.
  const again = prompt('t2');
  const echoed = { ...note, modelRepresentation: note.label };
  await window.dispatch(CHAT, { ...again, message: { ...again.message, attachments: [echoed] } });
  assert.deepEqual([chat().activeTurn?.message.attachments, chat().activeTurn?.message._meta], [undefined, { client: 'VS Code' }]);
  const [id = ''] = sessions.all;
  await until(() => sessions.get(id)?.store.now.turns.length === 2);
  assert.deepEqual(sessions.get(id)?.store.now.turns[1]?.prompt, [{ type: 'text', text: 'Do it' }]);
});

test('what is said into a turn says who sent it, while it waits, when the agent has it, and after a restart', async (t) => {
  const first = await opened(t);
  const phone = new AhpClient(first.host);
  await phone.open('window-2', 'Phone');
  await phone.subscribe(CHAT);
  await first.client.dispatch(CHAT, prompt('t1'));
  await begun(first);
  const agent = first.last();
  agent.say({ type: 'link.ready', agent: { protocol: 'scripted', name: 'Fake' }, offers: { steer: true } });
  await until(() => first.sessions.all.some((id) => first.sessions.get(id)?.store.now.turns[0]?.status === 'running'));
  const content = [{ type: 'text', text: 'Faster' }] as const;
  const message = { text: 'Faster', origin: { kind: 'user' } };
  await phone.dispatch(CHAT, { type: 'chat/pendingMessageSet', kind: 'steering', id: 's', message });
  assert.deepEqual(
    agent.heard.filter(({ type }) => type === 'steer'),
    [{ type: 'steer', turnId: 's', content, sender: 'Phone' }],
  );
  agent.say({ type: 'part.added', turnId: 't1', part: { kind: 'prompt', id: 's', content, pending: true } });
  assert.deepEqual(first.chat().steeringMessage?.message._meta, { client: 'Phone' });
  // The agent repeats it under a name of its own.
  agent.say(
    { type: 'parts.removed', turnId: 't1', partIds: ['s'] },
    { type: 'part.added', turnId: 't1', part: { kind: 'prompt', id: 'p9', content } },
  );
  const said = (chat: ChatState) =>
    (chat.activeTurn ?? chat.turns.at(-1))?.responseParts.flatMap((part) =>
      part.kind === 'systemNotification' ? [[part.content, part._meta]] : [],
    );
  const expected = [['Phone: Faster', { prompt: true, client: 'Phone', id: 'p9' }]];
  await until(() => first.chat().steeringMessage === undefined);
  assert.deepEqual(said(first.chat()), expected);
  await first.end();
  assert.deepEqual(said(await chatAfterRestart(t, first.folder)), expected);
});

test('a prompt that waited for the end of a turn says after a restart who sent it', async (t) => {
  const first = await opened(t);
  await beginTurn(first);
  const message = { text: 'Then', origin: { kind: 'user' } };
  await first.client.dispatch(CHAT, { type: 'chat/pendingMessageSet', kind: 'queued', id: 't2', message });
  await first.end();
  const [waiting] = (await chatAfterRestart(t, first.folder)).queuedMessages ?? [];
  assert.deepEqual([waiting?.id, waiting?.message.text, waiting?.message._meta], ['t2', 'Then', { client: 'Test' }]);
});

test('a prompt that is sent while a turn is being stopped begins when that has ended', async (t) => {
  const first = await opened(t);
  await beginTurn(first);
  await until(() => first.last().prompts().length === 1);
  // VS Code sends both at once when the user writes on while something is asked.
  await first.client.dispatch(CHAT, { type: 'chat/turnCancelled', turnId: 't1', duration: 1 });
  const message = { text: 'Now this', origin: { kind: 'user' } };
  await first.client.dispatch(CHAT, { type: 'chat/pendingMessageSet', kind: 'queued', id: 't2', message });
  first.last().endTurn('cancelled');
  await until(() => first.last().prompts().length === 2);
  assert.equal(first.client.chats.get(CHAT)?.activeTurn?.id, 't2');
});

test('a prompt that was left waiting, by a restart or a Stop, begins when the next turn has ended', async (t) => {
  const queued = (id: string) => ({ type: 'chat/pendingMessageSet', kind: 'queued', id, message: { text: id, origin: { kind: 'user' } } });
  const first = await opened(t);
  await beginTurn(first);
  for (const id of ['t2', 't3']) await first.client.dispatch(CHAT, queued(id));
  await first.end();
  const second = await restarted(t, first.folder);
  const client = await follower(second);
  const chat = () => client.chats.get(CHAT) as ChatState;
  const waiting = () => (chat().queuedMessages ?? []).map(({ id }) => id);
  assert.deepEqual(waiting(), ['t2', 't3']);
  await client.dispatch(CHAT, prompt('t4', 'Go on'));
  await begun(second);
  second.last().ready();
  await until(() => second.last().prompts().length === 1);
  second.last().endTurn();
  await until(() => chat().activeTurn?.id === 't2');
  assert.deepEqual(waiting(), ['t3']);
  await client.dispatch(CHAT, { type: 'chat/turnCancelled', turnId: 't2', duration: 1 });
  second.last().endTurn('cancelled');
  await client.dispatch(CHAT, prompt('t5', 'Now this'));
  await until(() => second.last().prompts().length === 3);
  second.last().endTurn();
  await until(() => chat().activeTurn?.id === 't3');
  second.last().endTurn();
  await until(() => chat().activeTurn === undefined);
  assert.deepEqual(
    chat().turns.map(({ id, state }) => [id, state]),
    [
      ['t1', 'error'],
      ['t4', 'complete'],
      ['t2', 'cancelled'],
      ['t5', 'complete'],
      ['t3', 'complete'],
    ],
  );
  assert.deepEqual([waiting(), client.refusals], [[], []]);
});

test('after a restart a new prompt goes before one that no turn had kept from its start', async (t) => {
  const first = await opened(t);
  await beginTurn(first);
  first.last().endTurn();
  await until(() => first.chat().turns.length === 1);
  first.last().say({ type: 'queue.set', queue: [{ turnId: 't2', content: [{ type: 'text', text: 'Waits' }] }] });
  await first.end();
  const second = await restarted(t, first.folder);
  const client = await follower(second);
  await client.dispatch(CHAT, prompt('t3', 'New'));
  await begun(second);
  second.last().ready();
  const sent = () =>
    second
      .last()
      .prompts()
      .map(({ turnId }) => turnId);
  await until(() => sent().length === 1);
  second.last().endTurn();
  await until(() => sent().length === 2);
  assert.deepEqual(sent(), ['t3', 't2']);
});

/** The folder of a host that has ended, with one turn that was over. */
async function folderWithTurn(t: TestContext): Promise<string> {
  const first = await opened(t);
  await beginTurn(first);
  first.last().endTurn();
  await until(() => first.chat().turns.length === 1);
  await first.end();
  return first.folder;
}

test('after a restart all clients that come back at once find the whole chat', async (t) => {
  const second = await restarted(t, await folderWithTurn(t));
  const clients = ['a', 'b', 'c'].map(() => new AhpClient(second.host));
  await Promise.all(clients.map(async (client, at) => client.open(`window-${at}`)));
  await Promise.all(clients.map((client) => client.subscribe(CHAT)));
  assert.deepEqual(
    clients.map((client) => client.chats.get(CHAT)?.turns.map(({ id }) => id)),
    [['t1'], ['t1'], ['t1']],
  );
});

test('what a turn has used is there after a restart, too', async (t) => {
  const first = await opened(t);
  await beginTurn(first);
  first.last().say({ type: 'usage.set', usage: { input: 120, output: 61 } });
  first.last().endTurn();
  await until(() => first.chat().turns.length === 1);
  assert.deepEqual(first.chat().turns[0]?.usage, { inputTokens: 120, outputTokens: 61 });
  await first.end();
  assert.deepEqual((await chatAfterRestart(t, first.folder)).turns[0]?.usage, { inputTokens: 120, outputTokens: 61 });
});

test('a turn that was cut off took until its host ended, however late the next one begins', async (t) => {
  const folder = hostFolder();
  const first = hosting(t, folder, Date.now);
  const client = new AhpClient(first.host);
  await client.open();
  await client.ask('createSession', { channel: SESSION, provider: 'fake', workingDirectories: [pathToFileURL(folder).href] });
  await beginTurn({ ...first, client });
  first.last().say({ type: 'text.delta', turnId: 't1', kind: 'text', partId: 'p', text: 'Half' });
  await first.end();
  const day = 24 * 60 * 60 * 1000;
  const later = Date.now() + day;
  const second = await follower(await restarted(t, folder, () => later));
  const [turn] = second.chats.get(CHAT)?.turns ?? [];
  assert.equal(turn?.state, 'error');
  assert.ok(Date.parse(turn.startedAt) + turn.duration < later, String(turn.duration));
  assert.ok(Number.isInteger(turn.duration));
});

test('a turn that a killed host cut off took until the last sign of life of that host, long after the last word', async (t) => {
  const folder = hostFolder();
  const first = hosting(t, folder, Date.now);
  const client = new AhpClient(first.host);
  await client.open();
  await client.ask('createSession', { channel: SESSION, provider: 'fake', workingDirectories: [pathToFileURL(folder).href] });
  await beginTurn({ ...first, client });
  // What a killed process leaves beside its journal: no process has this id.
  const lock = path.join(folder, 'sessions', `${SESSION.slice('fake:/'.length)}.journal.lock`);
  writeFileSync(lock, JSON.stringify({ pid: 2 ** 22 + 1, host: LOCK_HOST, token: 'killed' }));
  const lastBeat = new Date(Date.now() + 600_000);
  utimesSync(lock, lastBeat, lastBeat);
  const second = await follower(await restarted(t, folder, () => Date.now() + 24 * 60 * 60 * 1000));
  const [turn] = second.chats.get(CHAT)?.turns ?? [];
  assert.ok(turn);
  assert.equal(Date.parse(turn.startedAt) + turn.duration, lastBeat.getTime());
});

test('after a restart a client that follows nothing may write into a stored chat: the agent gets it', async (t) => {
  const second = await restarted(t, await folderWithTurn(t));
  const phone = new AhpClient(second.host);
  await phone.open('window-9', 'Phone');
  await phone.dispatch(CHAT, prompt('t2', 'And now?'));
  await begun(second);
  second.last().ready();
  const heard = () => second.last().heard.flatMap((one) => (one.type === 'prompt' ? [one.turnId] : []));
  await until(() => heard().length > 0);
  assert.deepEqual(heard(), ['t2']);
  await second.end();
});

test('turns that a client takes back are gone for all, and for the agent with the next prompt', async (t) => {
  const { client, host, last, chat, ...served } = await opened(t);
  const other = new AhpClient(host);
  await other.open('window-2');
  await other.subscribe(CHAT);
  await client.dispatch(CHAT, prompt('t1', 'First'));
  await begun(served);
  last().say({ type: 'link.ready', agent: { protocol: 'scripted', name: 'Fake' }, offers: { edit: true } });
  last().endTurn();
  for (const turnId of ['t2', 't3']) {
    await client.dispatch(CHAT, prompt(turnId));
    last().endTurn();
  }
  await until(() => chat().turns.length === 3);
  await client.dispatch(CHAT, { type: 'chat/truncated', turnId: 't1' });
  assert.deepEqual(
    other.chats.get(CHAT)?.turns.map(({ id }) => id),
    ['t1'],
  );
  last().say({ type: 'link.ready', agent: { protocol: 'scripted', name: 'Fake' }, offers: { edit: true } });
  assert.deepEqual(
    chat().turns.map(({ id }) => id),
    ['t1'],
  );
  await client.dispatch(CHAT, prompt('t4', 'Instead'));
  const said = last().prompts().at(-1);
  assert.deepEqual(said?.type === 'prompt' && [said.turnId, said.replaces], ['t4', 't2']);
  last().endTurn();
  await until(() => chat().activeTurn === undefined);
  assert.deepEqual(
    chat().turns.map(({ id, message }) => [id, message.text]),
    [
      ['t1', 'First'],
      ['t4', 'Instead'],
    ],
  );
});

test('a window that sends a prompt while it loads the chat takes no history away', async (t) => {
  const { client, host, last, chat, ...served } = await opened(t);
  await client.dispatch(CHAT, prompt('t1', 'First'));
  await begun(served);
  const canGoBack = { type: 'link.ready', agent: { protocol: 'scripted', name: 'Fake' }, offers: { edit: true } } as const;
  last().say(canGoBack);
  last().endTurn();
  await until(() => chat().turns.length === 1);
  const reloaded = new AhpClient(host);
  await reloaded.open('window-2');
  await reloaded.subscribe(CHAT);
  // VS Code's model of the chat is empty until then, as if its user had edited the first message.
  await reloaded.dispatch(CHAT, { type: 'chat/truncated' });
  await reloaded.dispatch(CHAT, prompt('t2', 'And now?'));
  assert.equal(reloaded.refusals.length, 1);
  const sent = last().prompts().at(-1);
  assert.deepEqual(sent?.type === 'prompt' && [sent.turnId, sent.replaces], ['t2', undefined]);
  const [note] = chat().activeTurn?.responseParts ?? [];
  assert.match(note?.kind === 'systemNotification' ? String(note.content) : '', /^The messages before this one stay/);
  last().endTurn();
  await until(() => chat().turns.length === 2);
  // It has shown the chat by now.
  await reloaded.dispatch(CHAT, { type: 'chat/truncated' });
  assert.deepEqual([reloaded.refusals.length, chat().turns], [1, []]);
});

test('an action that is unknown is called so, on whatever channel; a known one on another channel names that', async (t) => {
  const { client } = await opened(t);
  for (const [channel, type] of [
    [SESSION, 'chat/unheardOf'],
    [CHAT, 'session/unheardOf'],
    [SESSION, 'session/unheardOf'],
    [SESSION, 'chat/truncated'],
    [CHAT, 'session/isReadChanged'],
  ] as const)
    await client.dispatch(channel, { type });
  const [unknown, elsewhere] = ['Parley does not know this action.', 'This is not the channel for that.'];
  assert.deepEqual(client.refusals, [unknown, unknown, unknown, elsewhere, elsewhere]);
});

test('turns of an agent that cannot take them back, and of a turn that runs, stay', async (t) => {
  const { client, last, chat, ...served } = await opened(t);
  await client.dispatch(CHAT, prompt('t1'));
  await begun(served);
  last().ready();
  await client.dispatch(CHAT, { type: 'chat/truncated' });
  last().endTurn();
  await until(() => chat().turns.length === 1);
  await client.dispatch(CHAT, { type: 'chat/truncated' });
  await client.dispatch(CHAT, { type: 'chat/truncated', turnId: 'none' });
  assert.deepEqual(client.refusals, ['Stop the turn first.', 'This agent cannot take turns back.', 'There is no such turn.']);
  assert.equal(chat().turns.length, 1);
  // VS Code has taken them away for its user by then, and sends its prompt all the same.
  await client.dispatch(CHAT, prompt('t2', 'Instead'));
  const [note, ...others] = chat().activeTurn?.responseParts ?? [];
  assert.match(note?.kind === 'systemNotification' ? String(note.content) : '', /cannot go back: it still knows the messages/);
  await until(() => last().prompts().length === 2);
  last().endTurn();
  await until(() => chat().turns.length === 2);
  await client.dispatch(CHAT, prompt('t3', 'And on'));
  assert.deepEqual([others, chat().activeTurn?.responseParts], [[], []], 'it is said once');
});

/** A turn that has failed after its first words. */
async function failedOnce(t: TestContext) {
  const all = await opened(t);
  await all.client.dispatch(CHAT, prompt('t1'));
  await begun(all);
  all.last().ready();
  all.last().say({ type: 'text.delta', turnId: 't1', kind: 'text', partId: 'p', text: 'Half' });
  all.last().endTurn('failed');
  await until(() => all.chat().turns.length === 1);
  return all;
}
const texts = ({ turns, activeTurn }: ChatState) =>
  [...turns, ...(activeTurn ? [activeTurn] : [])].map(({ id, responseParts }) => [
    id,
    responseParts.map((part) => (part.kind === 'markdown' ? part.content : part.kind)),
  ]);

test('a failed turn is tried again in its place for clients, and as another try for the agent, however often it fails', async (t) => {
  const { client, host, chat, last, sessions, folder, end } = await failedOnce(t);
  const part = chat().turns[0]?.responseParts.at(-1);
  assert.ok(part?.kind === 'error' && part.resumable, 'VS Code offers "Try Again" for these alone');
  const told = client.envelopes.find(({ action }) => action.type === 'chat/error');
  assert.ok(told && !('error' in told.action), 'which it would take in place of the part');
  for (const text of ['Less', 'Whole']) {
    await client.dispatch(CHAT, { type: 'chat/turnResume', turnId: 't1' });
    assert.equal(chat().activeTurn?.id, 't1');
    const said = last().prompts().at(-1);
    const tried = sessions.get(SESSION.split('/')[1] ?? '')?.store.now.turns.at(-2)?.id;
    assert.deepEqual(said?.type === 'prompt' && [said.content, said.again], [[{ type: 'text', text: 'Do it' }], tried]);
    last().say({ type: 'text.delta', turnId: said?.turnId ?? '', kind: 'text', partId: 'p', text });
    last().endTurn(text === 'Less' ? 'failed' : 'done');
    await until(() => chat().turns.length === 1);
  }
  assert.deepEqual([client.refusals, texts(chat())], [[], [['t1', ['Half', 'error', 'Less', 'error', 'Whole']]]]);
  assert.equal(chat().turns[0]?.state, 'complete');
  const fresh = new AhpClient(host);
  await fresh.open('window-2');
  await fresh.subscribe(CHAT);
  assert.deepEqual(texts(fresh.chats.get(CHAT) as ChatState), texts(chat()));
  await client.dispatch(CHAT, prompt('t2', 'Next'));
  last().endTurn();
  await until(() => chat().turns.length === 2);
  assert.deepEqual(
    chat().turns.map(({ id, state }) => [id, state]),
    [
      ['t1', 'complete'],
      ['t2', 'complete'],
    ],
  );
  const before = texts(chat());
  await end();
  const second = await restarted(t, folder);
  const back = await follower(second);
  const now = () => back.chats.get(CHAT) as ChatState;
  assert.deepEqual(texts(now()), before, 'one turn, also after a restart');
  await back.dispatch(CHAT, prompt('t3', 'Go on'));
  await begun(second);
  second.last().ready();
  second.last().endTurn();
  await until(() => now().turns.length === 3);
  assert.deepEqual([back.refusals, texts(now()).slice(0, 2)], [[], before]);
});

test('a failed try is tried again after a restart, in the same turn', async (t) => {
  const { client, chat, last, folder, end } = await failedOnce(t);
  await client.dispatch(CHAT, { type: 'chat/turnResume', turnId: 't1' });
  const tried = last().prompts().at(-1)?.turnId ?? '';
  last().say({ type: 'text.delta', turnId: tried, kind: 'text', partId: 'p', text: 'Less' });
  last().endTurn('failed');
  await until(() => chat().turns.length === 1);
  await end();
  const second = await restarted(t, folder);
  const back = await follower(second);
  await back.dispatch(CHAT, { type: 'chat/turnResume', turnId: 't1' });
  await begun(second);
  second.last().ready();
  const said = second.last().prompts().at(-1);
  assert.deepEqual(said?.type === 'prompt' && [said.content, said.again], [[{ type: 'text', text: 'Do it' }], tried]);
  second.last().say({ type: 'text.delta', turnId: said?.turnId ?? '', kind: 'text', partId: 'p', text: 'Whole' });
  second.last().endTurn();
  const now = () => back.chats.get(CHAT) as ChatState;
  await until(() => now().turns.at(-1)?.state === 'complete');
  assert.deepEqual([back.refusals, texts(now())], [[], [['t1', ['Half', 'error', 'Less', 'error', 'Whole']]]]);
});

test('what is asked in a try is answered in the turn of the client, and Stop ends it', async (t) => {
  const { client, chat, last } = await failedOnce(t);
  await client.dispatch(CHAT, { type: 'chat/turnResume', turnId: 't1' });
  const { turnId = '' } = last().prompts().at(-1) ?? {};
  last().say({ type: 'part.added', turnId, part: { kind: 'call', id: 'c', call } }, { type: 'ask.opened', ask: { ...approval, turnId } });
  await until(() => callIn(chat())?.status === 'pending-confirmation');
  await client.dispatch(CHAT, { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c', approved: true, confirmed: 'user-action' });
  assert.deepEqual(
    last().heard.filter(({ type }) => type === 'answer'),
    [{ type: 'answer', askId: 'a', answer: { kind: 'option', optionId: 'once' } }],
  );
  await client.dispatch(CHAT, { type: 'chat/turnCancelled', turnId: 't1', duration: 1 });
  assert.equal(last().heard.at(-1)?.type, 'cancel');
  last().endTurn('cancelled');
  await until(() => chat().turns[0]?.state === 'cancelled');
  assert.deepEqual([client.refusals, chat().turns.map(({ id }) => id), chat().activeTurn], [[], ['t1'], undefined]);
});

test('nothing but the last turn, and only a failed one, is tried again; after a restart that is possible, too', async (t) => {
  const { client, chat, last, folder, end } = await failedOnce(t);
  await client.dispatch(CHAT, { type: 'chat/turnResume', turnId: 'other' });
  await client.dispatch(CHAT, prompt('t2', 'Next'));
  await client.dispatch(CHAT, { type: 'chat/turnResume', turnId: 't1' });
  last().endTurn();
  await until(() => chat().turns.length === 2);
  await client.dispatch(CHAT, { type: 'chat/turnResume', turnId: 't2' });
  assert.deepEqual(client.refusals, Array(3).fill('Only a failed turn can be tried again.'));
  await client.dispatch(CHAT, prompt('t3', 'Cut off'));
  await end();
  const second = await restarted(t, folder);
  const back = await follower(second);
  await back.dispatch(CHAT, { type: 'chat/turnResume', turnId: 't3' });
  await begun(second);
  second.last().ready();
  const said = second.last().prompts().at(-1);
  assert.deepEqual(said?.type === 'prompt' && [said.content, said.again], [[{ type: 'text', text: 'Cut off' }], 't3']);
  second.last().say({ type: 'text.delta', turnId: said?.turnId ?? '', kind: 'text', partId: 'p', text: 'Here' });
  second.last().endTurn();
  const now = () => back.chats.get(CHAT) as ChatState;
  await until(() => now().turns.at(-1)?.state === 'complete');
  assert.deepEqual([back.refusals, texts(now()).at(-1)], [[], ['t3', ['error', 'Here']]]);
});

test('an agent that cannot be started ends the turn with the reason, and the next prompt does not bring the old one', async (t) => {
  const { client, chat, last, ...rest } = await opened(t);
  await client.dispatch(CHAT, prompt('t1'));
  await begun(rest);
  last().say({ type: 'link.closed', reason: 'The program was not found', at: 1 });
  const ended = chat().turns.at(-1);
  assert.equal(ended?.state, 'error');
  assert.deepEqual(ended?.responseParts.at(-1), {
    kind: 'error',
    error: { errorType: 'agent', message: 'The program was not found' },
    resumable: true,
  });
  await client.dispatch(CHAT, prompt('t2', 'Again'));
  await begun(rest, 2);
  last().ready();
  assert.deepEqual(
    last()
      .prompts()
      .map((one) => one.turnId),
    ['t2'],
  );
});

test('the sessions come back after a restart, and go on with their agent', async (t) => {
  const first = await opened(t);
  await beginTurn(first);
  first.last().say({ type: 'text.delta', turnId: 't1', kind: 'text', partId: 'p', text: 'Half' });
  await first.end();
  const second = await restarted(t, first.folder);
  const client = new AhpClient(second.host);
  await client.open();
  const { items } = (await client.ask('listSessions')) as { items: readonly { resource: string; title: string }[] };
  assert.deepEqual(
    items.map(({ resource, title }) => [resource, title]),
    [[SESSION, 'Do it']],
  );
  await client.subscribe(SESSION);
  await client.subscribe(CHAT);
  const [turn] = client.chats.get(CHAT)?.turns ?? [];
  assert.deepEqual([turn?.id, turn?.state, turn?.responseParts[0]], ['t1', 'error', { kind: 'markdown', id: 'p', content: 'Half' }]);
  assert.equal(second.conversations.length, 0);
  await client.dispatch(CHAT, prompt('t2'));
  await begun(second);
  second.last().ready();
  second.last().endTurn();
  assert.deepEqual(
    client.chats.get(CHAT)?.turns.map(({ id, state }) => [id, state]),
    [
      ['t1', 'error'],
      ['t2', 'complete'],
    ],
  );
});

test('what is read and archived is told to every list, and is there after a restart, until the session goes', async (t) => {
  const first = await opened(t);
  const other = new AhpClient(first.host);
  await other.open('window-2');
  const marked = (status: unknown) => Number(status) & (STATUS.read | STATUS.archived);
  // VS Code marks the empty session that it shows.
  await first.client.dispatch(SESSION, { type: 'session/isReadChanged', isRead: true });
  await beginTurn(first);
  first.last().endTurn();
  await first.client.dispatch(SESSION, { type: 'session/isArchivedChanged', isArchived: true });
  const told = other.notified.findLast(({ method }) => method === 'root/sessionSummaryChanged')?.params.changes;
  assert.equal(marked((told as SessionSummary).status), STATUS.read | STATUS.archived);
  await first.client.dispatch(SESSION, { type: 'session/isReadChanged', isRead: false });
  await first.end();
  const second = await restarted(t, first.folder);
  const client = new AhpClient(second.host);
  await client.open();
  const listed = async () =>
    ((await client.ask('listSessions')) as { items: readonly SessionSummary[] }).items.map((one) => marked(one.status));
  assert.deepEqual(await listed(), [STATUS.archived]);
  await client.subscribe(SESSION);
  assert.equal(marked(client.sessions.get(SESSION)?.status), STATUS.archived);
  await client.subscribe(CHAT);
  await client.dispatch(CHAT, prompt('t2'));
  await begun(second);
  second.last().ready();
  second.last().endTurn();
  assert.equal(marked(client.sessions.get(SESSION)?.status), STATUS.archived, 'also after a turn');
  await client.ask('disposeSession', { channel: SESSION });
  assert.deepEqual(JSON.parse(readFileSync(path.join(first.folder, 'sessions', 'marks.json'), 'utf8')), {});
});

test('a session that a client disposes ends its agent, and is not there after a restart either', async (t) => {
  const first = await opened(t);
  await beginTurn(first);
  first.last().endTurn();
  await first.client.ask('disposeSession', { channel: SESSION });
  assert.equal(first.last().disposed, 1);
  await assert.rejects(first.client.ask('subscribe', { channel: CHAT }), /-32001/);
  await first.end();
  const second = await restarted(t, first.folder);
  const client = new AhpClient(second.host);
  await client.open();
  assert.deepEqual(await client.ask('listSessions'), { items: [] });
});

test('VS Code names a session by the channel of its chat: all are told on that of the session', async (t) => {
  const { client } = await opened(t);
  await client.dispatch(CHAT, prompt('t1'));
  await client.dispatch(CHAT, { type: 'session/titleChanged', title: 'Mine' });
  assert.deepEqual([client.refusals, client.sessions.get(SESSION)?.title], [[], 'Mine']);
  const told = client.envelopes.filter(({ action }) => action.type === 'session/titleChanged');
  assert.deepEqual(
    told.map(({ channel, origin }) => [channel, origin?.clientId]),
    [[SESSION, 'window-1']],
  );
});

test('a session keeps the name that a client gives it, before and after its agent runs and after a restart', async (t) => {
  const first = await opened(t);
  const titles = async (client: AhpClient) => {
    const { items } = (await client.ask('listSessions')) as { items: readonly { title: string }[] };
    return items.map(({ title }) => title);
  };
  const name = (title: string) => first.client.dispatch(SESSION, { type: 'session/titleChanged', title });
  await name('Early');
  await first.client.dispatch(CHAT, prompt('t1', 'Some prompt'));
  await begun(first);
  first.last().ready();
  first.last().say({ type: 'text.delta', turnId: 't1', kind: 'text', partId: 'p', text: 'x' });
  first.last().endTurn();
  assert.deepEqual([await titles(first.client), first.client.sessions.get(SESSION)?.title], [['Early'], 'Early']);
  await name('Late');
  first.last().say({ type: 'title.set', title: "The agent's own" });
  await until(() => first.client.sessions.get(SESSION)?.title === 'Late');
  await first.end();
  const second = await restarted(t, first.folder);
  const client = new AhpClient(second.host);
  await client.open();
  assert.deepEqual(await titles(client), ['Late']);
  await client.subscribe(SESSION);
  await client.dispatch(SESSION, { type: 'session/titleChanged', title: 'Unopened' });
  await second.end();
  const third = await restarted(t, first.folder);
  const last = new AhpClient(third.host);
  await last.open();
  assert.deepEqual(await titles(last), ['Unopened']);
});

test('an empty session goes a while after the window that made it; one that somebody follows, or in which something was said, stays', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const all = hosting(t);
  const client = new AhpClient(all.host);
  await client.open();
  const session = (at: number) => `fake:/0f1d2c3b-4a59-6877-8695-00000000000${at}`;
  for (const at of [1, 2]) {
    const channel = session(at);
    await client.ask('createSession', { channel, provider: 'fake', workingDirectories: [pathToFileURL(all.folder).href] });
  }
  const other = new AhpClient(all.host);
  await other.open('window-2');
  await other.subscribe(session(2));
  client.disconnect();
  const isThere = (at: number) =>
    other.ask('subscribe', { channel: session(at) }).then(
      () => true,
      () => false,
    );
  t.mock.timers.tick(59_000);
  await other.notify('unsubscribe', { channel: session(1) });
  t.mock.timers.tick(1_000);
  assert.deepEqual([await isThere(1), await isThere(2)], [false, true]);
});

test('a window that is gone for a minute offers nothing any more; what a window only keeps is no use of a session', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 1000;
  const all = hosting(t, hostFolder(), () => now);
  const client = new AhpClient(all.host);
  await client.open();
  await client.ask('createSession', { channel: SESSION, provider: 'fake', workingDirectories: [pathToFileURL(all.folder).href] });
  await client.dispatch(SESSION, { type: 'session/activeClientSet', activeClient: { clientId: 'window-1', tools: [{ name: 'usages' }] } });
  const other = new AhpClient(all.host);
  await other.open('window-2');
  await other.subscribe(SESSION);
  await other.subscribe(CHAT);
  const used = other.chats.get(CHAT)?.modifiedAt;
  now = 5000;
  await other.dispatch(CHAT, { type: 'chat/draftChanged', draft: { text: 'x', origin: { kind: 'user' } } });
  assert.deepEqual([other.chats.get(CHAT)?.draft !== undefined, other.chats.get(CHAT)?.modifiedAt], [true, used]);
  client.disconnect();
  t.mock.timers.tick(60_000);
  assert.deepEqual(other.sessions.get(SESSION)?.activeClients, []);
  assert.deepEqual(all.windowTools.toolsOf(SESSION.split('/')[1] ?? ''), []);
});

test('an empty session is in no list, so that none keeps it when the host is killed; with its first prompt it is there for all', async (t) => {
  const { client, host } = await opened(t);
  const other = new AhpClient(host);
  await other.open('window-2');
  const listed = async (one: AhpClient) =>
    ((await one.ask('listSessions')) as { items: readonly { resource: string }[] }).items.map(({ resource }) => resource);
  await client.dispatch(SESSION, { type: 'session/titleChanged', title: 'Draft' });
  for (const one of [client, other]) {
    await one.subscribe('ahp-root://');
    assert.deepEqual([await listed(one), one.notified], [[], []]);
  }
  await client.dispatch(CHAT, prompt('t1'));
  for (const one of [client, other]) {
    assert.deepEqual(await listed(one), [SESSION]);
    assert.deepEqual(listNews(one), [['root/sessionAdded', SESSION]]);
  }
});

/** What a client was told of its list, up to the changes of lines that are there. */
function listNews({ notified }: AhpClient) {
  return notified.flatMap(({ method, params }) => {
    if (method === 'root/sessionSummaryChanged') return [];
    return [[method, method === 'root/sessionAdded' ? (params.summary as { readonly resource: string }).resource : params.session]];
  });
}

test('a client that comes back is told what was added to its list meanwhile, what is gone, and what has changed', async (t) => {
  const { client, host, folder, ...served } = await opened(t);
  const other = new AhpClient(host);
  await other.open('window-2');
  const session = (at: number) => `fake:/0f1d2c3b-4a59-6877-8695-00000000000${at}`;
  const create = async (at: number) => {
    await other.ask('createSession', { channel: session(at), provider: 'fake', workingDirectories: [pathToFileURL(folder).href] });
    await other.dispatch(`ahp-chat:/${session(at).split('/')[1]}`, prompt(`t${at}`));
    await begun(served, at);
  };
  await create(1);
  await create(2);
  await create(3);
  await client.subscribe(CHAT);
  const lost = client.lose();
  lost.closed();
  client.notified.length = 0;
  await other.ask('disposeSession', { channel: session(1) });
  served.last().ready();
  served.last().endTurn();
  await create(4);
  await client.reconnect();
  assert.deepEqual(listNews(client), [
    ['root/sessionRemoved', session(1)],
    ['root/sessionAdded', session(4)],
  ]);
  const changed = client.notified.filter(({ method }) => method === 'root/sessionSummaryChanged').map(({ params }) => params.session);
  assert.deepEqual(changed, [session(3)]);
});

test('a client that comes back to a host that was killed is told how its sessions stand now', async (t) => {
  const first = await opened(t);
  await beginTurn(first);
  await first.end();
  const second = await restarted(t, first.folder, () => 2000);
  const client = first.client.elsewhere(second.host);
  await client.reconnect();
  const [told] = client.notified;
  const changes = told?.params.changes as { readonly title: string; readonly status: number };
  assert.deepEqual(
    [told?.method, told?.params.session, changes.title, changes.status & 8],
    ['root/sessionSummaryChanged', SESSION, 'Do it', 0],
  );
});

test('a window of Parley tells which model the included agent is to use, and nothing else of its environment', async (t) => {
  const { client, environments } = await opened(t);
  const env = { PARLEY_MODEL_NAME: 'm', PARLEY_MODEL_API_KEY: null, PATH: '/evil', LD_PRELOAD: 'x', NODE_OPTIONS: '--require x' };
  await client.ask('parley/environment', { agent: 'fake', env });
  assert.deepEqual(environments, [['fake', { PARLEY_MODEL_NAME: 'm', PARLEY_MODEL_API_KEY: undefined }]]);
  await assert.rejects(client.ask('parley/environment', { agent: 'other', env }), /-32002/);
  await assert.rejects(client.ask('parley/environment', { agent: 'fake', env: { PARLEY_MODEL_NAME: 1 } }), /-32602/);
});

test('a client that comes back after a restart is told which sessions are gone', async (t) => {
  const first = await opened(t);
  await first.end();
  const second = await restarted(t, first.folder);
  const client = new AhpClient(second.host);
  client.connect();
  await client.ask('reconnect', { clientId: 'window-1', lastSeenServerSeq: 9, subscriptions: ['ahp-root://', SESSION] });
  assert.deepEqual(
    client.notified.map(({ method, params }) => [method, params.session]),
    [['root/sessionRemoved', SESSION]],
  );
});

test('a client that saw an earlier run of the host is given snapshots, however much has happened in this one', async (t) => {
  const first = await opened(t);
  await beginTurn(first);
  first.last().endTurn();
  await until(() => first.chat().turns.length === 1);
  first.client.disconnect();
  await first.end();
  const second = await restarted(t, first.folder, () => 2000);
  const other = new AhpClient(second.host);
  await other.open('window-2', 'Other');
  await other.subscribe(CHAT);
  for (let at = 0; at < 50; at += 1)
    await other.dispatch(CHAT, { type: 'chat/draftChanged', draft: { text: `${at}`, origin: { kind: 'user' } } });
  const back = first.client.elsewhere(second.host);
  assert.equal(await back.reconnect(), false, 'numbers of the earlier run are not taken for those of this one');
  assert.equal((back.chats.get(CHAT)?.draft as { readonly text: string } | undefined)?.text, '49');
  await back.dispatch(CHAT, prompt('t2'));
  assert.deepEqual(back.chats.get(CHAT)?.activeTurn?.message._meta, { client: 'Test' }, 'it does not say its name again');
});

test('a client that comes back keeps its name and its tools, also when its lost connection ends after that', async (t) => {
  const { client, host, chat, last, windowTools, ...rest } = await opened(t);
  const tools = [{ name: 'usages', inputSchema: {} }];
  await client.dispatch(SESSION, { type: 'session/activeClientSet', activeClient: { clientId: 'window-1', tools } });
  const lost = client.lose();
  await client.reconnect();
  lost.closed();
  await client.dispatch(CHAT, prompt('t1'));
  await begun(rest);
  last().ready();
  assert.deepEqual(chat().activeTurn?.message._meta, { client: 'Test' });
  const [tool] = windowTools.toolsOf(SESSION.split('/')[1] ?? '');
  const answer = tool?.run({ symbol: 'x' }, new AbortController().signal);
  await until(() => callIn(chat())?.status === 'running');
  const result = { success: true, content: [{ type: 'text', text: 'src/a.ts:1' }] };
  const toolCallId = callIn(chat())?.toolCallId;
  await client.dispatch(CHAT, { type: 'chat/toolCallComplete', turnId: 't1', toolCallId, result });
  assert.deepEqual(await answer, { ok: true, text: 'src/a.ts:1' });
});

test('attack: unknown versions, sessions and methods, and broken messages are refused in words', async (t) => {
  const { host, folder } = hosting(t);
  const client = new AhpClient(host);
  client.connect();
  await assert.rejects(client.ask('listSessions'), /-32600/);
  await assert.rejects(client.ask('initialize', { protocolVersions: ['0.8.0', '2.0.0', 'x'], clientId: 'c' }), /-32005/);
  assert.equal(await client.ask('ping'), null);
  await client.open();
  await assert.rejects(client.ask('subscribe', { channel: 'fake:/none' }), /-32001/);
  await assert.rejects(client.ask('createSession', { channel: SESSION, provider: 'none' }), /-32002/);
  await assert.rejects(client.ask('createSession', { channel: SESSION, provider: 'fake', workingDirectories: ['http://x/'] }), /-32602/);
  const create = (channel: string, folder: string) =>
    client.ask('createSession', { channel, provider: 'fake', workingDirectories: [folder] });
  const fresh = 'fake:/77772222-3333-4444-5555-666677778888';
  for (const missing of [path.join(folder, 'none'), path.join(folder, 'sessions', 'host.open.json')])
    await assert.rejects(create(fresh, pathToFileURL(missing).href), /-32602 There is no folder .* on this computer/);
  for (const odd of ['fake:/a b', 'fake:/', 'fake://x', 'fake:/a//b', 'fake:/../a', 'fake:/a?b', 'fake:/a#b', 'fake', 'fake:/\u202ea'])
    await assert.rejects(create(odd, pathToFileURL(folder).href), /-32602 .*a good one is fake:\/<uuid>/, odd);
  await assert.rejects(client.ask('resourceRead', { uri: 'file:///etc/passwd' }), /-32008/);
  await assert.rejects(client.ask('resourceRead', { uri: 'parley-content:/%ZZ' }), /-32008/);
  await assert.rejects(client.ask('createTerminal'), /-32601.*Clients cannot open terminals/);
  await assert.rejects(client.ask('createChat'), /-32602/);
  for (const params of [undefined, null, [], 'x', {}, { channel: 1 }]) await client.notify('dispatchAction', params);
  await client.dispatch('fake:/none', { type: 'chat/turnStarted' });
  assert.equal(client.refusals.length, 1);
});

test('attack: a session that is named like another channel, or like a conversation that is stored, takes neither over', async (t) => {
  const first = await opened(t);
  const folder = pathToFileURL(first.folder).href;
  const create = (client: AhpClient, channel: string) =>
    client.ask('createSession', { channel, provider: 'fake', workingDirectories: [folder] });
  const unborn = '1f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';
  for (const channel of [
    '',
    'ahp-root://',
    'ahp-root:/',
    `ahp-chat:/${unborn}`,
    CHAT,
    'ahp-terminal:/a/b',
    `fake:/a/changeset/session`,
    'fake:/a b',
  ])
    await assert.rejects(create(first.client, channel), /-3260[02]|-32003/, channel);
  await first.client.dispatch(CHAT, prompt('t1', 'Keep me'));
  await begun(first);
  first.last().ready();
  first.last().endTurn();
  await until(() => first.chat().turns.length === 1);
  await first.end();
  // The agent of the conversation is not configured while this host runs.
  const stored = readFileSync(path.join(first.folder, 'sessions', `${SESSION.split('/')[1]}.journal`), 'utf8');
  assert.match(stored, /Keep me/);
  const second = hosting(t, first.folder);
  const client = new AhpClient(second.host);
  await client.open();
  await create(client, SESSION);
  await client.subscribe(SESSION);
  const chat = client.sessions.get(SESSION)?.defaultChat ?? '';
  await client.subscribe(chat);
  await client.dispatch(chat, prompt('t2', 'Mine now'));
  await begun(second);
  second.last().ready();
  second.last().endTurn();
  await second.end();
  assert.notEqual(chat, CHAT);
  assert.equal(readFileSync(path.join(first.folder, 'sessions', `${SESSION.split('/')[1]}.journal`), 'utf8'), stored);
});

test('attack: names of sessions that differ in their case only are two conversations on every disk', async (t) => {
  const { client, folder, sessions, ...rest } = await opened(t);
  const channel = SESSION.toUpperCase().replace('FAKE', 'fake');
  await client.ask('createSession', { channel, provider: 'fake', workingDirectories: [pathToFileURL(folder).href] });
  await client.subscribe(channel);
  await client.dispatch(CHAT, prompt('t1'));
  await client.dispatch(client.sessions.get(channel)?.defaultChat ?? '', prompt('t2'));
  await begun(rest, 2);
  assert.equal(new Set(sessions.all.map((id) => id.toLowerCase())).size, 2);
});

test('attack: a client that makes empty sessions without end is told that there are too many', async (t) => {
  const { client, folder } = await opened(t);
  const create = (at: number) =>
    client.ask('createSession', { channel: `fake:/empty-${at}`, provider: 'fake', workingDirectories: [pathToFileURL(folder).href] });
  for (let at = 1; at < 2000; at += 1) await create(at);
  await assert.rejects(create(2000), /-32600 There are too many/);
  await client.ask('disposeSession', { channel: 'fake:/empty-1' });
  await create(2000);
});

test('attack: a client follows no more than a thousand channels, and one that names a channel ten thousand times is given it once', async (t) => {
  const { client, host, folder } = await opened(t);
  const workingDirectories = [pathToFileURL(folder).href];
  const session = (at: number) => `fake:/0f1d2c3b-4a59-6877-8695-${String(at).padStart(12, '0')}`;
  let followed = 0;
  for (let at = 0; at < 10_000; at += 1) {
    if (at < 1100) await client.ask('createSession', { channel: session(at), provider: 'fake', workingDirectories });
    const isTaken = await client.ask('subscribe', { channel: session(at % 1100) }).then(
      () => true,
      (error: Error) => {
        assert.match(error.message, /-32602 You follow too many channels/);
        return false;
      },
    );
    if (isTaken && at < 1100) followed += 1;
  }
  // The root, the session and its chat are followed already.
  assert.equal(followed, 1000 - 3);
  const many = Array.from({ length: 10_000 }, (_, at) => session(at));
  const same = Array.from({ length: 10_000 }, () => CHAT);
  const other = new AhpClient(host);
  other.connect();
  const said = { protocolVersions: ['0.9.0'], clientId: 'many' };
  await assert.rejects(other.ask('initialize', { ...said, initialSubscriptions: many }), /-32602 You follow too many channels/);
  await assert.rejects(other.ask('reconnect', { clientId: 'many', lastSeenServerSeq: 0, subscriptions: many }), /-32602/);
  const { snapshots } = (await other.ask('initialize', { ...said, initialSubscriptions: same })) as { snapshots: readonly object[] };
  assert.equal(snapshots.length, 1);
  const back = await other.ask('reconnect', { clientId: 'many', lastSeenServerSeq: 0, subscriptions: same });
  assert.equal((back as { snapshots: readonly object[] }).snapshots.length, 1);
});

test('channels that are not there do not count among those that a client follows', async (t) => {
  const { client } = await opened(t);
  for (let at = 0; at < 1100; at += 1)
    await assert.rejects(client.ask('subscribe', { channel: `${SESSION}/changeset/turn/none-${at}` }), /-32008/);
  await client.subscribe(`${SESSION}/changeset/session`);
});

test('what a command prints is a channel: coloured while it runs, bounded, with its exit code and end in the result of the call', async (t) => {
  const { client, chat, last } = await asked(t);
  await client.dispatch(CHAT, { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c', approved: true, confirmed: 'user-action' });
  const output = [{ kind: 'terminal', terminalId: 'term' }] as const;
  const says = (delta: string) => last().say({ type: 'terminal.changed', terminal: { id: 'term' }, delta });
  last().say({ type: 'terminal.changed', terminal: { id: 'term', command: 'npm test' } });
  last().say({ type: 'call.changed', turnId: 't1', callId: 'c', change: { status: 'running', output } });
  await until(() => callIn(chat())?.status === 'running' && JSON.stringify(callIn(chat())).includes(TERMINAL));
  const running = callIn(chat());
  assert.ok(running?.status === 'running');
  assert.deepEqual(running.content, [{ type: 'terminal', resource: TERMINAL, title: 'Shell', isPty: false }]);
  assert.deepEqual([running.toolInput, running._meta?.toolKind], ['npm test', 'terminal']);
  await client.subscribe(TERMINAL);
  const text = () => terminalText(client.terminals.get(TERMINAL) as TerminalState);
  says('\u001b[32mok\u001b[0m\n');
  await until(() => text() === '\u001b[32mok\u001b[0m\n');
  for (let at = 0; at < 20; at += 1) {
    says(`${at}`.repeat(10_000));
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await until(() => text().endsWith('19'));
  assert.ok(text().length <= 128 * 1024, `${text().length}`);
  last().say({ type: 'terminal.changed', terminal: { id: 'term', exit: { code: 3, signal: null } } });
  last().say({ type: 'call.changed', turnId: 't1', callId: 'c', change: { status: 'failed', error: { message: 'Exit code 3' } } });
  await until(() => callIn(chat())?.status === 'completed');
  assert.deepEqual(client.terminals.get(TERMINAL)?.lifecycle, { status: 'exited', exitCode: 3 });
  assert.equal(text().length, 64 * 1024, 'as much as the session keeps');
  const ended = callIn(chat());
  assert.ok(ended?.status === 'completed' && ended.content?.[0]?.type === 'terminal');
  assert.deepEqual(ended.content[0].result, { exitCode: 3, preview: text(), truncated: true });
  await client.dispatch(TERMINAL, { type: 'terminal/input', data: 'rm -rf .\r' });
  assert.deepEqual(client.refusals.at(-1), 'That is not for a client to change.');
  await assert.rejects(client.ask('subscribe', { channel: terminalUri(SESSION.split('/')[1] ?? '', 'other') }), /-32008/);
  await assert.rejects(client.ask('subscribe', { channel: 'ahp-terminal:/other/dGVybQ' }), /-32001/);
});

test('what an agent tells of its own command as a text is a terminal, too', async (t) => {
  const { client, chat, last } = await asked(t);
  await client.dispatch(CHAT, { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c', approved: true, confirmed: 'user-action' });
  const prints = (text: string, status: ToolCall['status'] = 'running') => {
    const change = {
      status,
      kind: 'other',
      input: { command: 'npm test', timeout: 5 },
      output: [{ kind: 'content', content: { type: 'text', text } }],
    } as const;
    last().say({ type: 'call.changed', turnId: 't1', callId: 'c', change });
  };
  prints('one\n');
  await until(() => JSON.stringify(callIn(chat())).includes('ahp-terminal:'));
  const running = callIn(chat());
  assert.ok(running?.status === 'running' && running.content?.[0]?.type === 'terminal');
  const { resource } = running.content[0];
  await client.subscribe(resource);
  const state = () => client.terminals.get(resource) as TerminalState;
  assert.deepEqual([running.toolInput, terminalText(state())], ['npm test', 'one\n']);
  prints('one\ntwo\n');
  await until(() => terminalText(state()) === 'one\ntwo\n');
  prints('one\ntwo\nthree\n', 'done');
  await until(() => callIn(chat())?.status === 'completed');
  const ended = callIn(chat());
  assert.ok(ended?.status === 'completed' && ended.content?.[0]?.type === 'terminal');
  assert.deepEqual([ended.content.length, ended.content[0].result], [1, { preview: 'one\ntwo\nthree\n', truncated: false }]);
  assert.deepEqual([terminalText(state()), state().lifecycle], ['one\ntwo\nthree\n', { status: 'exited' }]);
});

test('a terminal ends with its call, also where an error takes the place of what was printed', async (t) => {
  const { client, chat, last } = await asked(t);
  await client.dispatch(CHAT, { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c', approved: true, confirmed: 'user-action' });
  const says = (change: Partial<ToolCall>) => last().say({ type: 'call.changed', turnId: 't1', callId: 'c', change });
  const output = [{ kind: 'content', content: { type: 'text', text: 'one\n' } }] as const;
  says({ status: 'running', kind: 'execute', input: { command: 'npm test' }, output });
  await until(() => JSON.stringify(callIn(chat())).includes('ahp-terminal:'));
  const running = callIn(chat());
  assert.ok(running?.status === 'running' && running.content?.[0]?.type === 'terminal');
  const { resource } = running.content[0];
  await client.subscribe(resource);
  says({ status: 'failed', output: [], error: { message: 'Exit code 3.' } });
  await until(() => callIn(chat())?.status === 'completed');
  assert.deepEqual(client.terminals.get(resource)?.lifecycle, { status: 'exited' });
});

test('a command that an agent says in the title alone is a terminal, so that its row stays in VS Code; what is asked keeps its input', async (t) => {
  const { client, chat, last } = await opened(t);
  await client.dispatch(CHAT, prompt('t1'));
  await until(() => last() !== undefined);
  last().ready();
  const titled: ToolCall = { ...call, name: 'execute', title: 'printf hi' };
  last().say(
    { type: 'part.added', turnId: 't1', part: { kind: 'call', id: 'c', call: titled } },
    { type: 'ask.opened', ask: { ...approval, detail: { type: 'text', text: 'May I?' } } },
  );
  await until(() => callIn(chat())?.status === 'pending-confirmation');
  const pending = callIn(chat());
  assert.deepEqual([pending?.status === 'pending-confirmation' && pending.toolInput, pending?._meta?.toolKind], [undefined, undefined]);
  await client.dispatch(CHAT, { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c', approved: true, confirmed: 'user-action' });
  last().say({ type: 'call.changed', turnId: 't1', callId: 'c', change: { status: 'running' } });
  await until(() => callIn(chat())?._meta?.toolKind === 'terminal');
  const running = callIn(chat());
  assert.deepEqual(running?.status === 'running' && running.toolInput, 'printf hi');
  const output = [{ kind: 'content', content: { type: 'text', text: 'hi' } }] as const;
  last().say({ type: 'call.changed', turnId: 't1', callId: 'c', change: { status: 'done', output } });
  await until(() => callIn(chat())?.status === 'completed');
  const ended = callIn(chat());
  assert.ok(ended?.status === 'completed' && ended.content?.[0]?.type === 'terminal');
  assert.deepEqual([ended._meta?.toolKind, ended.content[0].result], ['terminal', { preview: 'hi', truncated: false }]);
});

test('the word before a command says neither that it runs nor that it ran until it is over, and then what became of it', async (t) => {
  for (const [verb, change] of [
    ['Ran', { status: 'done' }],
    ['Could not run', { status: 'failed' }],
    ['Stopped', undefined],
  ] as const) {
    const { client, chat, conversations, last, folder, end } = await opened(t);
    await beginTurn({ client, conversations, last });
    const running: ToolCall = { ...call, input: { command: 'npm test' }, status: 'running' };
    last().say({ type: 'part.added', turnId: 't1', part: { kind: 'call', id: 'c', call: running } });
    await until(() => callIn(chat())?.status === 'running');
    assert.equal(callIn(chat())?.intention, 'Run');
    if (change) last().say({ type: 'call.changed', turnId: 't1', callId: 'c', change });
    else await client.dispatch(CHAT, { type: 'chat/turnCancelled', turnId: 't1', duration: 1 });
    await until(() => callIn(chat())?.status === (change ? 'completed' : 'cancelled'));
    assert.equal(callIn(chat())?.intention, verb);
    last().endTurn();
    await end();
    const after = callIn(await chatAfterRestart(t, folder));
    // A row of its own words where nothing has run in this host.
    assert.deepEqual(
      after?.status === 'cancelled' ? after.invocationMessage : after?.intention,
      change ? verb : { markdown: 'Stopped `npm test`' },
    );
  }
});

test('a call whose title is only the name of its tool is no command line', async (t) => {
  const { chat, client, last } = await asked(t);
  await client.dispatch(CHAT, { type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c', approved: true, confirmed: 'user-action' });
  const output = [{ kind: 'content', content: { type: 'text', text: 'hi' } }] as const;
  last().say({ type: 'call.changed', turnId: 't1', callId: 'c', change: { status: 'done', output } });
  await until(() => callIn(chat())?.status === 'completed');
  const ended = callIn(chat());
  assert.ok(ended?.status === 'completed');
  assert.deepEqual([ended._meta?.toolKind, ended.content], [undefined, [{ type: 'text', text: 'hi' }]]);
});

test('an agent at rest starts anew when what it is launched with has changed; one at work goes on', async (t) => {
  const { client, last, conversations, sessions } = await opened(t);
  await client.dispatch(CHAT, prompt('t1'));
  await begun({ conversations });
  last().ready();
  const session = sessions.get(SESSION.split('/')[1] ?? '');
  session?.restartAtRest();
  assert.equal(last().disposed, 0);
  last().endTurn();
  session?.restartAtRest();
  await begun({ conversations }, 2);
});

test('what is said while the agent starts reaches it in its order; nothing of it leaves the chat meanwhile', async (t) => {
  const { folder, end, client: before, ...first } = await opened(t);
  await beginTurn({ client: before, ...first });
  first.last().endTurn();
  await end();
  const again = await restarted(t, folder);
  const client = await follower(again);
  await client.dispatch(CHAT, prompt('t2'));
  const message = { text: 'And that', origin: { kind: 'user' } };
  await client.dispatch(CHAT, { type: 'chat/pendingMessageSet', kind: 'steering', id: 's', message });
  await begun(again);
  again.last().ready();
  await until(() => again.last().prompts().length === 1);
  await until(() => client.chats.get(CHAT)?.queuedMessages?.length === 1);
  const told = client.envelopes.map(({ action }) => action as { readonly type: string; readonly kind?: string });
  assert.deepEqual(
    told.filter(({ type }) => type.startsWith('chat/pending')).map(({ type, kind }) => [type, kind]),
    [
      ['chat/pendingMessageSet', 'steering'],
      ['chat/pendingMessageRemoved', 'steering'],
      ['chat/pendingMessageSet', 'queued'],
    ],
  );
  again.last().endTurn();
  await until(() => again.last().prompts().length === 2);
  assert.deepEqual(
    again
      .last()
      .prompts()
      .map(({ turnId }) => turnId),
    ['t2', 's'],
  );
});

test('what waits for a choice of the user waits in its order', async (t) => {
  const served = await opened(t);
  const { client, last } = served;
  const modes = ['ask', 'plan'].map((id) => ({ id, name: id }));
  await beginTurn(served);
  last().say({ type: 'mode.set', mode: { current: 'ask', all: modes } });
  last().endTurn();
  const name = '11111111-4a59-6877-8695-a4b3c2d1e0f9';
  const [channel, chat] = [`fake:/${name}`, `ahp-chat:/${name}`];
  const create = { channel, provider: 'fake', workingDirectories: [pathToFileURL(served.folder).href], config: { mode: 'plan' } };
  await client.ask('createSession', create);
  await client.subscribe(chat);
  await client.dispatch(chat, prompt('t1'));
  const message = { text: 'Then that', origin: { kind: 'user' } };
  await client.dispatch(chat, { type: 'chat/pendingMessageSet', kind: 'queued', id: 'q', message });
  await begun(served, 2);
  last().say({ type: 'mode.set', mode: { current: 'ask', all: modes } });
  last().ready();
  await until(() => last().prompts().length === 1);
  last().endTurn();
  await until(() => last().prompts().length === 2);
  assert.deepEqual(
    last().heard.map((intent) => (intent.type === 'prompt' ? intent.turnId : intent.type)),
    ['setMode', 't1', 'q'],
  );
});

test('an agent that lacks the tools of a window has them with its next prompt, and keeps what was chosen', async (t) => {
  const served = await opened(t);
  const { client, chat, last, conversations } = served;
  const offer = (clientId: string, ...names: readonly string[]) => ({
    type: 'session/activeClientSet',
    activeClient: { clientId, tools: names.map((name) => ({ name })) },
  });
  const names = () => last().scene.ports.tools.map(({ name }) => name);
  const mode = (current: string) =>
    last().say({ type: 'mode.set', mode: { current, all: ['ask', 'edit'].map((id) => ({ id, name: id })) } });
  await client.dispatch(SESSION, offer('window-1', 'usages'));
  await beginTurn(served);
  last().say({ type: 'resume.set', key: 'k' });
  mode('edit');
  assert.deepEqual(names(), ['usages']);
  const [second, third] = [new AhpClient(served.host), new AhpClient(served.host)];
  await second.open('window-2');
  await third.open('window-3');
  await second.dispatch(SESSION, offer('window-2', 'usages', 'rename'));
  await client.dispatch(SESSION, { type: 'session/activeClientRemoved', clientId: 'window-1' });
  last().endTurn();
  assert.equal(conversations.length, 1, 'not before it is needed');
  await client.dispatch(CHAT, prompt('t2'));
  await begun(served, 2);
  assert.deepEqual([names(), last().scene.resume?.key], [['usages', 'rename'], 'k']);
  mode('ask');
  last().ready();
  await until(() => last().prompts().length === 1);
  assert.deepEqual(
    last().heard.map(({ type }) => type),
    ['setMode', 'prompt'],
  );
  last().endTurn();
  assert.deepEqual(
    chat().turns.map(({ id, state }) => [id, state]),
    [
      ['t1', 'complete'],
      ['t2', 'complete'],
    ],
  );
  await second.dispatch(SESSION, { type: 'session/activeClientRemoved', clientId: 'window-2' });
  await third.dispatch(SESSION, offer('window-3', 'usages'));
  await client.dispatch(CHAT, prompt('t3'));
  await until(() => last().prompts().length === 2);
  assert.equal(conversations.length, 2, 'it has all that is offered');
});

test('a window that was away twice, each time for less than a minute, still offers its tools', async (t) => {
  const { client, windowTools, host } = await opened(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await client.dispatch(SESSION, { type: 'session/activeClientSet', activeClient: { clientId: 'window-1', tools: [{ name: 'usages' }] } });
  client.disconnect();
  t.mock.timers.tick(1_000);
  await client.reconnect();
  t.mock.timers.tick(58_000);
  client.disconnect();
  t.mock.timers.tick(2_000);
  assert.equal(windowTools.toolsOf(SESSION.split('/')[1] ?? '').length, 1);
  t.mock.timers.tick(58_000);
  assert.deepEqual(windowTools.toolsOf(SESSION.split('/')[1] ?? ''), []);
  host.dispose();
});

test('a session was used when a turn began or ended, by the same time in each run of the host', async (t) => {
  const start = Date.UTC(2026, 0, 1);
  let now = start;
  const folder = hostFolder();
  const first = hosting(t, folder, () => now);
  const client = new AhpClient(first.host);
  await client.open();
  await client.ask('createSession', { channel: SESSION, provider: 'fake', workingDirectories: [pathToFileURL(folder).href] });
  await client.subscribe(CHAT);
  await client.dispatch(CHAT, prompt('t1'));
  await begun(first);
  first.last().say({ type: 'turn.started', turnId: 't1', at: now, prompt: [] });
  first.last().ready();
  const used = async (one: AhpClient) =>
    ((await one.ask('listSessions')) as { readonly items: readonly SessionSummary[] }).items.map(
      ({ modifiedAt }) => Date.parse(modifiedAt) - start,
    );
  now += 60_000;
  first.last().say({ type: 'part.added', turnId: 't1', part: { kind: 'call', id: 'c', call } }, { type: 'ask.opened', ask: approval });
  await until(() => callIn(client.chats.get(CHAT) as ChatState)?.status === 'pending-confirmation');
  assert.deepEqual(await used(client), [0]);
  const other = new AhpClient((await restarted(t, folder, () => now)).host);
  await other.open('window-2');
  assert.deepEqual(await used(other), [0]);
});

test('what happens while the snapshots of a client are read is in them, or comes after them', async (t) => {
  const { folder, end, client: before, ...first } = await opened(t);
  await beginTurn({ client: before, ...first });
  first.last().say({ type: 'part.added', turnId: 't1', part: { kind: 'call', id: 'c', call } });
  first.last().say({ type: 'terminal.changed', terminal: { id: 'term' }, delta: 'x' });
  await before.subscribe(TERMINAL);
  await end();
  const { host } = await restarted(t, folder, () => 2_000_000);
  const other = new AhpClient(host);
  await other.open('window-2');
  const client = before.elsewhere(host);
  client.terminals.set(TERMINAL, before.terminals.get(TERMINAL) as TerminalState);
  let isBack = false;
  const back = client.reconnect().then(() => {
    isBack = true;
  });
  for (let at = 0; !isBack; at += 1) {
    await other.dispatch(CHAT, { type: 'chat/draftChanged', draft: { text: String(at) } });
    await other.dispatch(SESSION, { type: 'session/activeClientSet', activeClient: { clientId: 'window-2', displayName: String(at) } });
    await new Promise((resolve) => setImmediate(resolve));
  }
  await back;
  await other.subscribe(CHAT);
  await other.subscribe(SESSION);
  assert.deepEqual(client.chats.get(CHAT)?.draft, other.chats.get(CHAT)?.draft);
  assert.deepEqual(client.sessions.get(SESSION)?.activeClients, other.sessions.get(SESSION)?.activeClients);
});

test('a session that comes back shows the mode that it was left in before its agent runs', async (t) => {
  const { folder, end, ...served } = await opened(t);
  await beginTurn(served);
  const all = ['ask', 'plan'].map((id) => ({ id, name: id }));
  served.last().say({ type: 'mode.set', mode: { current: 'ask', all } });
  served.last().say({ type: 'mode.set', mode: { current: 'plan', all } });
  served.last().endTurn();
  await end();
  const client = new AhpClient((await restarted(t, folder)).host);
  await client.open();
  await client.subscribe(SESSION);
  const { values, schema } = client.sessions.get(SESSION)?.config ?? {};
  assert.deepEqual([values, schema?.properties.mode?.enum], [{ mode: 'plan' }, ['ask', 'plan']]);
});

test('a prompt whose agent could not be started is there after a restart, failed, and is tried again', async (t) => {
  const { client, folder, end, ...first } = await opened(t);
  await client.dispatch(CHAT, prompt('t1', 'My long prompt'));
  await begun(first);
  first.last().say({ type: 'link.closed', reason: 'The program was not found', at: 1 });
  await end();
  const again = await restarted(t, folder);
  const other = await follower(again);
  const listed = async () =>
    ((await other.ask('listSessions')) as { readonly items: readonly SessionSummary[] }).items.map(({ title, status }) => [title, status]);
  assert.deepEqual(await listed(), [['My long prompt', STATUS.error]]);
  assert.deepEqual(
    other.chats.get(CHAT)?.turns.map(({ message, state }) => [message.text, state]),
    [['My long prompt', 'error']],
  );
  await other.dispatch(CHAT, { type: 'chat/turnResume', turnId: 't1' });
  await begun(again);
  again.last().ready();
  await until(() => again.last().prompts().length === 1);
  const [sent] = again.last().prompts();
  assert.equal(sent?.type === 'prompt' && promptText({ prompt: sent.content } as never), 'My long prompt');
  again.last().endTurn();
  await until(() => other.chats.get(CHAT)?.turns.at(-1)?.state === 'complete');
  assert.equal(other.chats.get(CHAT)?.turns.length, 1);
});

test('a session whose last turn has failed says so in the list of every later run', async (t) => {
  const { folder, end, ...served } = await opened(t);
  await beginTurn(served);
  served.last().endTurn('failed');
  await end();
  for (let run = 0; run < 2; run += 1) {
    const { again, client, items } = await listedAfterRestart(t, folder);
    assert.deepEqual(
      items.map(({ status }) => status & STATUS.activity),
      [STATUS.error],
    );
    await client.subscribe(SESSION);
    assert.equal((client.sessions.get(SESSION)?.status ?? 0) & STATUS.activity, STATUS.error);
    await again.end();
  }
});

test('a session whose host ended in its turn, the first one or a later one, is a failed one in the list of every later run', async (t) => {
  for (const said of ['', 'x'.repeat(200_000)])
    for (const before of [0, 1]) {
      const { folder, end, ...served } = await opened(t);
      await beginTurn(served);
      if (before > 0) {
        served.last().endTurn();
        await served.client.dispatch(CHAT, prompt('t2'));
      }
      const turnId = before > 0 ? 't2' : 't1';
      // Texts that are joined to one record are read whole.
      for (const partId of ['p', 'q']) served.last().say({ type: 'text.delta', turnId, kind: 'text', partId, text: said });
      await end();
      for (let run = 0; run < 2; run += 1) {
        const { again, items } = await listedAfterRestart(t, folder);
        assert.deepEqual(
          items.map(({ title, status }) => [title, status & STATUS.activity]),
          [['Do it', STATUS.error]],
          `${before} turns before, ${said.length} characters`,
        );
        await again.end();
      }
    }
});

test('a name of a session is one plain line, and none is refused', async (t) => {
  const { client } = await opened(t);
  await client.dispatch(CHAT, prompt('t1'));
  for (const title of ['', '   ', '\n\t']) await client.dispatch(SESSION, { type: 'session/titleChanged', title });
  assert.deepEqual(client.refusals, Array(3).fill('A session needs a name.'));
  await client.dispatch(SESSION, { type: 'session/titleChanged', title: ' two\nlines \u202eback\u0007 ' });
  assert.equal(client.sessions.get(SESSION)?.title, 'two lines ⟨U+202E⟩back⟨U+0007⟩');
  await client.dispatch(SESSION, { type: 'session/titleChanged', title: 'x'.repeat(100_000) });
  assert.equal(client.sessions.get(SESSION)?.title.length, 200);
});

test('a message that is sent again after it became a turn, or after the agent had it, is refused; and so is an empty one', async (t) => {
  const all = await opened(t);
  const { client, last, chat } = all;
  await client.dispatch(CHAT, prompt('t1'));
  await begun(all);
  last().ready({ steer: true });
  const send = (kind: string, id: string, text = 'More') =>
    client.dispatch(CHAT, { type: 'chat/pendingMessageSet', kind, id, message: { text, origin: { kind: 'user' } } });
  await send('queued', 't1');
  await send('queued', 'empty', ' ');
  await send('steering', 's');
  last().say({ type: 'part.added', turnId: 't1', part: { kind: 'prompt', id: 's', content: [{ type: 'text', text: 'More' }] } });
  await send('steering', 's');
  await send('queued', 'q');
  await send('queued', 'q', 'Other');
  assert.deepEqual(
    chat().queuedMessages?.map(({ message }) => message.text),
    ['Other'],
    'one that waits is written anew',
  );
  last().endTurn();
  await until(() => chat().activeTurn?.id === 'q');
  last().endTurn();
  await until(() => chat().activeTurn === undefined);
  await send('queued', 'q');
  const late = 'This message is not waiting any more.';
  assert.deepEqual(client.refusals, [late, 'The prompt is empty.', late, late]);
  assert.equal(last().prompts().length, 2);
});

test('a request without what it needs is told what is missing', async (t) => {
  const client = new AhpClient(hosting(t).host);
  client.connect();
  const refused = (params: object, words: RegExp) => assert.rejects(client.ask('initialize', params), words);
  await refused({}, /"protocolVersions" is missing/);
  await refused({ protocolVersions: ['1.0.0'] }, /"clientId" is missing/);
  await refused({ protocolVersions: '1.0.0', clientId: 'a' }, /"protocolVersions" has to be of the type array/);
  await refused({ protocolVersions: ['1.0.0', 1], clientId: 'a' }, /"protocolVersions.1" has to be of the type string/);
});

test('a model is offered once, by the agent; the first prompt of a session has it already', async (t) => {
  const served = await opened(t);
  const { client, last, folder } = served;
  const models = (current: string) =>
    last().say({
      type: 'options.set',
      options: [
        {
          id: 'model',
          name: 'Model',
          about: 'model',
          kind: 'choice',
          current,
          choices: ['a', 'b'].map((value) => ({ value, name: value })),
        },
      ],
    });
  await client.dispatch(CHAT, prompt('t1'));
  await begun(served);
  models('a');
  last().ready();
  last().endTurn();
  const { schema, values } = (await client.ask('resolveSessionConfig', { provider: 'fake' })) as SessionConfig;
  assert.deepEqual([schema.properties.model?.enum, values.model], [undefined, 'a']);
  const root = (await client.ask('subscribe', { channel: 'ahp-root://' })) as { readonly snapshot: { readonly state: RootState } };
  assert.deepEqual(
    root.snapshot.state.agents.map((agent) => agent.models.map(({ id }) => id)),
    [['a', 'b']],
  );
  const name = '11111111-4a59-6877-8695-a4b3c2d1e0f9';
  await client.ask('createSession', { channel: `fake:/${name}`, provider: 'fake', workingDirectories: [pathToFileURL(folder).href] });
  const first = prompt('t2');
  await client.dispatch(`ahp-chat:/${name}`, { ...first, message: { ...first.message, model: { id: 'b' } } });
  await begun(served, 2);
  models('a');
  last().ready();
  await until(() => last().prompts().length === 1);
  assert.deepEqual(last().heard.slice(0, 1), [{ type: 'setOption', optionId: 'model', value: 'b' }]);
});

test('attack: a client that never reads is let go of; the others hear everything', async (t) => {
  const { client, chat, last, host, ...rest } = await opened(t);
  const listening = await listen(host, { kind: 'port', host: '127.0.0.1', port: 0 }, 'a-token-of-the-test', silentLog);
  t.after(() => listening.close());
  const port = listening.place.kind === 'port' ? listening.place.port : 0;
  const deaf = new WebSocket(`ws://127.0.0.1:${port}/?tkn=a-token-of-the-test`);
  t.after(() => deaf.terminate());
  await once(deaf, 'open');
  const ask = (id: number, method: string, params: object) => deaf.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  ask(1, 'initialize', { channel: 'ahp-root://', protocolVersions: ['0.9.0'], clientId: 'deaf' });
  ask(2, 'subscribe', { channel: CHAT });
  await once(deaf, 'message');
  await once(deaf, 'message');
  deaf.pause();
  await client.dispatch(CHAT, prompt('t1'));
  await begun({ ...rest });
  last().ready();
  const piece = 'x'.repeat(1024 * 1024);
  for (let at = 0; at < 60; at += 1) {
    last().say({ type: 'text.delta', turnId: 't1', kind: 'text', partId: `p${at}`, text: piece });
    await until(() => chat().activeTurn?.responseParts.length === at + 1);
  }
  last().endTurn();
  assert.equal(chat().turns.at(-1)?.responseParts.length, 60);
  const closed = once(deaf, 'close');
  deaf.resume();
  const [code, reason] = (await closed) as [number, Buffer];
  assert.deepEqual([code, String(reason)], [1013, 'You do not read.']);
});

test('snapshot and actions are the same state after every message, however often the connection is lost', async (t) => {
  for (let seed = 1; seed <= 20; seed += 1) await randomRun(t, seed);
});

/** A conversation by chance, with a client that loses its connection by chance: what it holds is what a new client is given. */
async function randomRun(t: TestContext, seed: number): Promise<void> {
  const random = randomFrom(seed);
  const { client, host, last, ...rest } = await opened(t);
  const tools = [{ name: 'usages', inputSchema: {} }];
  await client.dispatch(SESSION, { type: 'session/activeClientSet', activeClient: { clientId: 'window-1', tools } });
  let isHere = true;
  let turns = 0;
  let asks = 0;
  const running = () => rest.sessions.get(SESSION.split('/')[1] ?? '')?.store.now.turns.at(-1);
  for (let step = 0; step < 60; step += 1) {
    // In every second run not each time: a new client brings all others up to now, and what is gathered is to be seen, too.
    if (isHere && (seed % 2 === 0 || random(4) === 0)) await holdsWhatIsThere(client, host, `seed ${seed}, step ${step}`);
    const turn = running();
    const turnId = turn?.id ?? '';
    const isRunning = turn?.status === 'running';
    if (random(6) === 0) {
      if (isHere) client.disconnect();
      else await client.reconnect();
      isHere = !isHere;
    } else if (!isRunning && isHere && rest.conversations.length === 0) {
      turns += 1;
      await client.dispatch(CHAT, prompt(`t${turns}`));
      await begun(rest);
      last().ready();
    } else if (!isRunning) {
      turns += 1;
      const content = [{ type: 'text', text: 'x' }] as const;
      rest.sessions.get(SESSION.split('/')[1] ?? '')?.send({ type: 'prompt', turnId: `t${turns}`, content });
    } else {
      const callId = `c${random(3)}-${turns}`;
      const statuses = ['pending', 'running', 'done', 'failed', 'rejected', 'cancelled'] as const;
      const status = statuses[random(statuses.length)] ?? 'pending';
      switch (random(13)) {
        case 8:
          last().say({ type: 'call.changed', turnId, callId, change: { output: [{ kind: 'terminal', terminalId: 'term' }] } });
          break;
        case 9: {
          const size = random(6) === 0 ? random(90_000) : random(20);
          const reset = random(8) === 0 ? ({ reset: true } as const) : {};
          const exit = random(8) === 0 ? { exit: { code: random(3), signal: null } } : {};
          last().say({ type: 'terminal.changed', terminal: { id: 'term', ...exit }, ...reset, delta: `${step}`.padEnd(size, `${step} `) });
          break;
        }
        case 11:
          void rest.windowTools.toolsOf(SESSION.split('/')[1] ?? '')[0]?.run({}, new AbortController().signal);
          break;
        case 12: {
          const theirs = client.chats
            .get(CHAT)
            ?.activeTurn?.responseParts.flatMap((part) => (part.kind === 'toolCall' ? part.toolCall : []));
          const toolCallId = theirs?.find(isInWindow)?.toolCallId;
          if (isHere) await client.dispatch(CHAT, { type: 'chat/toolCallComplete', turnId, toolCallId, result: { success: true } });
          break;
        }
        case 10:
          if (isHere && running()) await client.subscribe(TERMINAL).catch(() => {});
          break;
        case 0:
          last().say({ type: 'part.added', turnId, part: { kind: 'call', id: callId, call: { ...call, id: callId } } });
          break;
        case 1:
          last().say({ type: 'call.changed', turnId, callId, change: { status, input: { command: `run ${step}` } } });
          break;
        case 2:
          asks += 1;
          last().say({ type: 'ask.opened', ask: { ...approval, id: `a${asks}`, turnId, callId } });
          // A rule may answer at once: clients are told a moment later.
          await new Promise((resolve) => setTimeout(resolve, 0));
          break;
        case 3:
          last().say({ type: 'ask.closed', askId: `a${asks}`, how: 'withdrawn' });
          break;
        case 4:
          last().say({ type: 'text.set', turnId, partId: 'p', text: `anew ${step}` });
          break;
        case 5:
          last().endTurn((['done', 'cancelled', 'failed'] as const)[random(3)]);
          break;
        default:
          last().say({ type: 'text.delta', turnId, kind: random(2) ? 'text' : 'thought', partId: `p${random(2)}`, text: `${step} ` });
      }
    }
  }
  if (!isHere) await client.reconnect();
  await holdsWhatIsThere(client, host, `seed ${seed}`);
  await rest.end();
}

/** What a client holds is what a new one is given. */
async function holdsWhatIsThere(client: AhpClient, host: AgentHost, when: string): Promise<void> {
  const fresh = new AhpClient(host);
  await fresh.open('window-2');
  await fresh.subscribe(SESSION);
  await fresh.subscribe(CHAT);
  // Time and title of a chat change with its session's summary, by no action of its own.
  const timeless = (chat: ChatState | undefined) => ({ ...chat, modifiedAt: '', title: '' });
  assert.deepEqual(timeless(client.chats.get(CHAT)), timeless(fresh.chats.get(CHAT)), when);
  const [terminal] = client.terminals.values();
  if (terminal) await fresh.subscribe(TERMINAL);
  const shown = (one: TerminalState | undefined) => one && [terminalText(one), one.lifecycle];
  assert.deepEqual(shown(terminal), shown(fresh.terminals.get(TERMINAL)), when);
  const parts = fresh.chats.get(CHAT)?.activeTurn?.responseParts ?? [];
  const open = parts.filter((part) => needsInput(part) || (part.kind === 'toolCall' && isInWindow(part.toolCall)));
  assert.equal(fresh.sessions.get(SESSION)?.inputNeeded?.length ?? 0, open.length, when);
  // The status of a session is told to the lists, as its title is, and by no action.
  const shared = (session: SessionState | undefined) => ({
    ...session,
    status: 0,
    chats: session?.chats.map((one) => ({ ...one, modifiedAt: '' })),
  });
  assert.deepEqual(shared(client.sessions.get(SESSION)), shared(fresh.sessions.get(SESSION)), when);
  const { items } = (await fresh.ask('listSessions')) as { readonly items: readonly SessionSummary[] };
  assert.deepEqual(
    listedBy(client),
    items.map(({ resource, title, status }) => [resource, title, status]),
    when,
  );
  fresh.disconnect();
}

/** What the list of a client shows, by what it was told since it came. */
function listedBy({ notified }: AhpClient): readonly (readonly unknown[])[] {
  const listed = new Map<unknown, SessionSummary>();
  for (const { method, params } of notified) {
    const { summary, session, changes } = params as { summary: SessionSummary; session: string; changes: Partial<SessionSummary> };
    const known = listed.get(session);
    if (method === 'root/sessionAdded') listed.set(summary.resource, summary);
    else if (method === 'root/sessionRemoved') listed.delete(session);
    else if (known) listed.set(session, { ...known, ...changes });
  }
  return [...listed.values()].map(({ resource, title, status }) => [resource, title, status]);
}

function isInWindow({ status, contributor }: ToolCallState): boolean {
  return status === 'running' && contributor !== undefined;
}

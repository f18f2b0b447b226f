import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { sessionOfRecording } from '../../src/live/recording.ts';
import { formMisfit, formReply, formRequest } from '../../src/protocols/acp/forms.ts';
import { MOST_PARTS, reduceChat } from '../../src/protocols/ahp/reduce.ts';
import { readChat, readChatAction, readEnvelope, readSession, readSessionAction } from '../../src/protocols/ahp/schema.ts';
import type { ChatAction, ChatState } from '../../src/protocols/ahp/state.ts';
import { changedTextUri, contentUri } from '../../src/serve/addresses.ts';
import { chatActions } from '../../src/serve/translate.ts';
import type { Approval, Part, ToolCall, Turn } from '../../src/session/model.ts';
import { newSession } from '../../src/session/reduce.ts';
import { targetOf } from '../../webview/links.ts';
import { AhpClient } from '../serve/ahpClient.ts';
import { hostFolder, hosting } from '../serve/hosting.ts';
import { assertBrief, assertLinear } from './linear.ts';

/** The room of hosts: an agent in the host, a host of agents, a client of ours, and files that somebody else has written. */

const SESSION = 'fake:/0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';
const CHAT = 'ahp-chat:/0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9';

const call = (id: string, status: ToolCall['status']): ToolCall => ({
  id,
  name: 'Shell',
  title: 'Shell',
  kind: 'execute',
  status,
  inputText: '',
  output: [],
  locations: [],
});
const chatOf = (): ChatState => ({
  origin: { kind: 'user' },
  resource: CHAT,
  title: 'x',
  status: 1,
  modifiedAt: '2026-01-01T00:00:00Z',
  turns: [],
});
const begin: ChatAction = {
  type: 'chat/turnStarted',
  turnId: 't',
  startedAt: '2026-01-01T00:00:00Z',
  message: { text: 'go' },
} as ChatAction;

/** The user of a client allows the call. */
const confirmed = (more: object) => ({
  type: 'chat/toolCallConfirmed',
  turnId: 't1',
  toolCallId: 'c',
  approved: true,
  confirmed: 'user-action',
  ...more,
});

test('what changes in a turn of thousands of steps is told in proportion to them', () => {
  const kinds: Readonly<Record<string, (at: number) => Part>> = {
    calls: (at) => ({ kind: 'call', id: `c${at}`, call: call(`c${at}`, at % 2 ? 'done' : 'running') }),
    texts: (at) => ({ kind: at % 2 ? 'text' : 'thought', id: `p${at}`, text: 'x' }),
    notices: (at) => ({ kind: 'notice', id: `n${at}`, notice: { level: 'info', text: 'x' } }),
  };
  for (const [name, part] of Object.entries(kinds)) {
    assertLinear(`telling ${name}`, 500, (size) => {
      const turn: Turn = { id: 't', startedAt: 1, prompt: [], parts: Array.from({ length: size }, (_, at) => part(at)), status: 'running' };
      const session = { ...newSession('s', { protocol: 'p', name: 'Fake' }, '/w'), turns: [turn] };
      const told = chatActions(chatOf(), session).reduce(reduceChat, chatOf());
      assert.ok((told.activeTurn?.responseParts.length ?? 0) >= size);
      return () => assert.deepEqual(chatActions(told, session), []);
    });
  }
});

test('a turn without an end of another host is kept up to a bound, and says so', () => {
  const adds: readonly ((at: number) => ChatAction)[] = [
    (at) => ({ type: 'chat/toolCallStart', turnId: 't', toolCallId: `c${at}`, toolName: 'x', displayName: 'x' }),
    (at) => ({ type: 'chat/responsePart', turnId: 't', part: { kind: 'markdown', id: `p${at}`, content: 'x' } }),
  ];
  for (const add of adds) {
    let chat = reduceChat(chatOf(), begin);
    for (let at = 0; at < MOST_PARTS + 5000; at++) chat = reduceChat(chat, add(at));
    assert.equal(chat.activeTurn?.responseParts.length, MOST_PARTS + 1);
    assert.equal(chat.activeTurn?.responseParts.at(-1)?.kind, 'systemNotification');
    // What is asked of the user still comes.
    const asked = reduceChat(chat, { type: 'chat/inputRequested', turnId: 't', request: { id: 'q' } } as unknown as ChatAction);
    assert.equal(asked.activeTurn?.responseParts.at(-1)?.kind, 'inputRequest');
  }
});

/** Values where a host or a client may put any. */
const odd: readonly unknown[] = [
  null,
  0,
  '',
  'x'.repeat(10_000),
  [],
  [[]],
  {},
  JSON.parse('{"__proto__":{"polluted":true}}'),
  { constructor: { prototype: { polluted: true } } },
  Number.MAX_VALUE,
  '../../etc/passwd',
];

test('nonsense of another host is read or left out, and changes nothing else', () => {
  const types = [
    'turnStarted',
    'responsePart',
    'delta',
    'toolCallStart',
    'toolCallReady',
    'toolCallComplete',
    'inputRequested',
    'truncated',
    'usage',
    'error',
  ];
  const members = ['turnId', 'toolCallId', 'part', 'partId', 'content', 'request', 'message', 'result', 'options', 'usage', '__proto__'];
  let read = 0;
  for (const type of types)
    for (const value of odd) {
      const action = { type: `chat/${type}`, ...Object.fromEntries(members.map((name) => [name, value])), turnId: 't' };
      const known = readChatAction(action);
      if (!known) continue;
      read += 1;
      assert.doesNotThrow(() => reduceChat(reduceChat(chatOf(), begin), known), JSON.stringify(action).slice(0, 200));
    }
  assert.ok(read > 0);
  for (const value of odd)
    for (const reader of [readChat, readEnvelope, readSession, readSessionAction, readChatAction]) assert.doesNotThrow(() => reader(value));
  assert.equal(({} as { readonly polluted?: boolean }).polluted, undefined);
});

async function opened(t: TestContext) {
  const folder = hostFolder();
  const secret = path.join(folder, 'secret.txt');
  writeFileSync(secret, 'secret-of-the-user');
  let ids = 0;
  const served = hosting(folder, Date.now, () => `id-${++ids}`);
  t.after(served.end);
  const client = new AhpClient(served.host);
  await client.open();
  await client.ask('createSession', { channel: SESSION, provider: 'fake', workingDirectories: [pathToFileURL(folder).href] });
  await client.subscribe(SESSION);
  await client.subscribe(CHAT);
  return { ...served, folder, secret, client };
}

test('no request reads a file of the computer, and none that is odd stops the host', { timeout: 60_000 }, async (t) => {
  const { client, secret, folder } = await opened(t);
  const uris = [
    pathToFileURL(secret).href,
    secret,
    'parley-content:/../secret.txt',
    `parley-content:${secret}`,
    `parley-changed:${secret}?`,
    `parley-changed:${secret}?....`,
    ...[`../${path.basename(folder)}/secret`, '__proto__', '\0'].map((sessionId) =>
      contentUri({ sessionId, owner: 'c', callId: 'c', at: 0, side: 'after', file: 'x' }),
    ),
    contentUri({ sessionId: 'a', owner: 'b', callId: '', at: Number.NaN, side: 'after', file: 'x' }),
    'parley-content:/x?a.b.NaN.after',
    'parley-content:/%E0%A4%A?%E0%A4%A.b.0.after',
    ...(['before', 'after'] as const).flatMap((side) =>
      [undefined, 't', '__proto__'].flatMap((turnId) =>
        ['0f1d2c3b-4a59-6877-8695-a4b3c2d1e0f9', 'id-1', '..'].map((sessionId) =>
          changedTextUri({ sessionId, turnId, side, version: 'x', file: secret }),
        ),
      ),
    ),
    'parley-changed:/',
    'parley-changed:/x?%E0%A4%A',
  ];
  const answers = [];
  for (const uri of uris) answers.push(await client.ask('resourceRead', { uri, encoding: 'utf-8' }).catch((error: Error) => error.message));
  assert.ok(
    answers.every((one) => typeof one === 'string' && !one.includes('secret-of-the-user')),
    JSON.stringify(answers),
  );
  const methods = [
    'createSession',
    'disposeSession',
    'subscribe',
    'unsubscribe',
    'reconnect',
    'listSessions',
    'completions',
    'resolveSessionConfig',
    'resourceRead',
    'dispatchAction',
    'fetchTurns',
    'authenticate',
    'nothing',
  ];
  for (const method of methods)
    for (const value of odd) {
      const params = {
        channel: value,
        provider: value,
        uri: value,
        text: value,
        offset: value,
        cursor: value,
        limit: value,
        clientId: value,
      };
      await client.ask(method, params).catch(() => {});
      await client.notify(method, value);
    }
  assert.equal(await client.ask('ping'), null);
  const { items } = (await client.ask('listSessions', { cursor: '1e309', limit: -1 })) as { readonly items: readonly unknown[] };
  assert.ok(items.length <= 1);
});

test('a session takes no name that leads out of the folder of the sessions', async (t) => {
  const { client, folder } = await opened(t);
  const names = [
    'fake:/../../evil-name',
    'fake:/..%2f..%2fevil',
    'fake:/a/../../b',
    'fake:/con',
    'fake:/\u0000',
    '__proto__',
    'constructor',
    'fake:/.',
  ];
  for (const channel of names) {
    const params = { channel, provider: 'fake', workingDirectories: [pathToFileURL(folder).href] };
    await client.ask('createSession', params).catch(() => {});
  }
  // A folder on the network is one on Windows only.
  const onNetwork = process.platform === 'win32' ? [] : ['file://share.example/x'];
  for (const folderUri of ['http://evil.example/', 'vscode-vfs://github/x', '', '\\\\share\\x', ...onNetwork])
    await assert.rejects(
      client.ask('createSession', { channel: `fake:/${crypto.randomUUID()}`, provider: 'fake', workingDirectories: [folderUri] }),
      folderUri,
    );
  await assert.rejects(client.ask('createSession', { channel: 'fake:/abcdefgh', provider: '__proto__', workingDirectories: [] }));
  const named = { channel: 'fake:/well-named', provider: 'fake', workingDirectories: [pathToFileURL(folder).href] };
  await client.ask('createSession', named);
  const { items } = (await client.ask('listSessions')) as { readonly items: readonly { readonly resource: string }[] };
  assert.deepEqual(items, [], 'nothing was said in them');
  for (const place of [folder, path.dirname(folder)])
    assert.deepEqual(
      readdirSync(place).filter((name) => name.includes('evil')),
      [],
    );
});

const edit: Approval = {
  kind: 'approval',
  id: 'a',
  turnId: 't1',
  callId: 'c',
  title: 'Edit .git/hooks/pre-commit',
  toolKind: 'edit',
  detail: { type: 'edit', diffs: [{ path: '/w/.git/hooks/pre-commit', before: '', after: 'rm -rf ~' }] },
  options: [
    { id: 'always', label: 'Allow once', effect: 'allow_always' },
    { id: 'odd', label: 'Allow', effect: 'other' },
    { id: 'no', label: 'Reject', effect: 'reject_once' },
  ],
};

test('a client that allows without a choice is given nothing that lasts, and nobody answers for another', async (t) => {
  const { client, last, conversations, host } = await opened(t);
  const prompt = { type: 'chat/turnStarted', turnId: 't1', startedAt: '2026-01-01T00:00:00Z', message: { text: 'go' } };
  await client.dispatch(CHAT, prompt);
  while (conversations.length === 0) await new Promise(setImmediate);
  last().ready();
  last().say(
    { type: 'part.added', turnId: 't1', part: { kind: 'call', id: 'c', call: call('c', 'waiting') } },
    { type: 'ask.opened', ask: edit },
  );
  const shown = () => {
    const part = client.chats.get(CHAT)?.activeTurn?.responseParts.find((one) => one.kind === 'toolCall');
    return part?.kind === 'toolCall' && part.toolCall.status === 'pending-confirmation' ? part.toolCall : undefined;
  };
  while (!shown()) await new Promise(setImmediate);
  assert.deepEqual(
    shown()?.options?.map(({ id, label, kind }) => [id, label, kind]),
    [
      ['always', 'Allow from now on', 'approve'],
      ['no', 'Reject', 'deny'],
    ],
    'it is called what it is',
  );
  const other = new AhpClient(host);
  await other.open('window-2');
  const strange = [
    confirmed({}),
    confirmed({ selectedOptionId: 'odd' }),
    confirmed({ selectedOptionId: 'no' }),
    confirmed({ selectedOptionId: '__proto__' }),
    confirmed({ turnId: 't2', selectedOptionId: 'always' }),
    confirmed({ toolCallId: 'x', selectedOptionId: 'always' }),
    { type: 'chat/toolCallComplete', turnId: 't1', toolCallId: 'c', result: { success: true, content: [] } },
    { type: 'chat/inputCompleted', requestId: 'a', response: 'accept', answers: {} },
  ];
  for (const action of strange) {
    await client.dispatch(CHAT, action);
    await other.dispatch(CHAT, action).catch(() => {});
  }
  assert.deepEqual(
    last().heard.filter((intent) => intent.type === 'answer'),
    [],
  );
  assert.ok(shown(), 'it is still asked');
});

test('a client that allows without a choice is given none of several ways to allow something once', async (t) => {
  const { client, last, conversations } = await opened(t);
  await client.dispatch(CHAT, { type: 'chat/turnStarted', turnId: 't1', startedAt: '2026-01-01T00:00:00Z', message: { text: 'go' } });
  while (conversations.length === 0) await new Promise(setImmediate);
  last().ready();
  const options = [
    { id: 'wild', label: 'Yes, in a new folder', effect: 'allow_once' },
    { id: 'plain', label: 'Yes', effect: 'allow_once' },
    { id: 'no', label: 'No', effect: 'reject_once' },
  ] as const;
  last().say(
    { type: 'part.added', turnId: 't1', part: { kind: 'call', id: 'c', call: call('c', 'waiting') } },
    { type: 'ask.opened', ask: { ...edit, detail: { type: 'command', command: 'make' }, options } },
  );
  const isAsked = () =>
    client.chats
      .get(CHAT)
      ?.activeTurn?.responseParts.some((one) => one.kind === 'toolCall' && one.toolCall.status === 'pending-confirmation');
  while (!isAsked()) await new Promise(setImmediate);
  const given = () => last().heard.flatMap((intent) => (intent.type === 'answer' ? [intent.answer] : []));
  await client.dispatch(CHAT, confirmed({}));
  assert.deepEqual(given(), []);
  await client.dispatch(CHAT, confirmed({ selectedOptionId: 'plain' }));
  assert.deepEqual(given(), [{ kind: 'option', optionId: 'plain' }]);
});

test('the patterns of an agent’s form hold nobody up, alone or together', (t) => {
  const ask = (properties: object) =>
    formRequest.parse({ mode: 'form', message: 'M', sessionId: 'S', requestedSchema: { type: 'object', properties } });
  const patterns = [
    '(a+)+$',
    `${'a?'.repeat(40)}${'a'.repeat(40)}$`,
    `${'(?:a|a)'.repeat(40)}$`,
    '(?:a|aa)(?:a|aa)(?:a|aa)(?:a|aa)(?:a|aa)(?:a|aa)(?:a|aa)(?:a|aa)(?:a|aa)(?:a|aa)(?:a|aa)(?:a|aa)(?:a|aa)b',
    'a*a*b',
    'a*a*a*b',
    'a*a*a*a*b',
    '(?=a*a*b)a*',
    `${'[ab]{0,900}'.repeat(4)}c`,
    '(a*)\\1b',
    '(?<x>a*)\\k<x>b',
    '.*.*.*=.*',
  ];
  for (const pattern of patterns)
    for (const length of [18, 39, 149, 1999, 9999]) {
      const request = ask({ x: { type: 'string', pattern } });
      const answer = { kind: 'fields', values: { x: ['a'.repeat(length)] } } as const;
      assertBrief(`pattern ${pattern.slice(0, 30)}, ${length} characters`, () => {
        formReply(request, answer);
        formMisfit(request, answer);
      });
    }
  const formOf = (fields: number) =>
    Object.fromEntries(Array.from({ length: fields }, (_, at) => [`x${at}`, { type: 'string', pattern: 'a*a*c|b' }]));
  assertBrief('a form of 10,000 fields', () => assert.throws(() => ask(formOf(10_000))));
  const many = formOf(1000);
  const values = Object.fromEntries(Object.keys(many).map((name) => [name, [`${'a'.repeat(98)}b`]]));
  assertBrief('1,000 patterns of one form', () => formReply(ask(many), { kind: 'fields', values }));
  const looks = t.mock.method(String.prototype, 'match');
  formReply(ask(many), { kind: 'fields', values });
  looks.mock.restore();
  assert.ok(looks.mock.callCount() <= 100, `${looks.mock.callCount()} looks at patterns that have no steps`);
  // What can be checked in time still is.
  const code = ask({ x: { type: 'string', pattern: '^[a-z]+-[0-9]{2,4}$' } });
  assert.equal(formReply(code, { kind: 'fields', values: { x: ['ABC'] } }), undefined);
  assert.deepEqual(formReply(code, { kind: 'fields', values: { x: ['abc-12'] } }), { action: 'accept', content: { x: 'abc-12' } });
});

test('a form may call its fields what it likes', () => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
    const request = formRequest.parse({
      mode: 'form',
      message: 'M',
      sessionId: 'S',
      requestedSchema: { type: 'object', properties: { [name]: { type: 'string' }, own: { type: 'string' } }, required: [name] },
    });
    const answer = { kind: 'fields', values: { own: ['x'] } } as const;
    assert.equal(formReply(request, answer), undefined, name);
    assert.ok(formMisfit(request, answer), name);
  }
});

test('a recording that somebody else has written is shown or refused, and does nothing', () => {
  const start = newSession('s', { protocol: 'p', name: 'Fake' }, '/w');
  const lines = [
    '{"event":{"type":"__proto__"}}',
    '{"event":{"type":"constructor"}}',
    '{"event":{"type":"turn.started","turnId":{},"at":"x","prompt":7}}',
    '{"event":{"type":"part.added","turnId":"t","part":{"kind":"call","id":"c","call":null}}}',
    '{"event":{"type":"turn.started","turnId":"t","at":1,"prompt":[{"type":"text","text":"<img src=x onerror=alert(1)>"}],"__proto__":{"polluted":true}}}',
    `{"event":{"type":"title.set","title":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`,
    '{"event":',
    'null',
    '\u0000',
  ];
  const session = sessionOfRecording(lines.join('\n'), start);
  assert.equal(session?.turns.length, 1);
  assert.equal(({} as { readonly polluted?: boolean }).polluted, undefined);
  assert.equal(sessionOfRecording(lines.slice(5).join('\n'), start), undefined);
});

test('a link in an answer runs nothing and leads to nothing but pages and files', () => {
  const schemes = [
    'command:workbench.action.terminal.sendSequence',
    'vscode://x.y/z',
    'vscode-insiders:x',
    'javascript:alert(1)',
    'data:text/html,x',
    'blob:x',
    'vbscript:x',
    'ms-settings:x',
    'search-ms:query=x',
    'ssh://x',
    'mailto-x:y',
    '//evil.example/x',
    ' command:x',
    'COMMAND:x',
    'view-source:http://x',
    'ahp-root://',
    'parley-content:/x',
  ];
  for (const href of schemes) assert.equal(targetOf(href), undefined, href);
  for (const href of ['file:///w/a.ts', 'src/a.ts:3', 'file:///C:/w/a.ts#L2']) assert.equal(targetOf(href)?.kind, 'file', href);
});

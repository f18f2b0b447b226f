import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Emitter } from '../../src/base/emitter.ts';
import type { Log } from '../../src/base/log.ts';
import type { Answers, ToView } from '../../src/bridge/contract.ts';
import { ChatLink, type ChatPage } from '../../src/editor/chatLink.ts';
import type { HostedSession, SessionHost } from '../../src/live/surface.ts';
import { answersIn } from '../../src/session/approvalAnswers.ts';
import type { Intent } from '../../src/session/intents.ts';
import { newSession } from '../../src/session/reduce.ts';
import { Store, type StoreChange } from '../../src/session/store.ts';

class FakePage implements ChatPage {
  readonly posted: ToView[] = [];
  readonly #messages = new Emitter<unknown>();
  readonly #visible = new Emitter<void>();
  visible = true;
  post(message: unknown): void {
    this.posted.push(message as ToView);
  }
  onMessage = this.#messages.listen;
  onVisible = (listener: () => void) => this.#visible.listen(listener);
  say(message: unknown): void {
    this.#messages.fire(message);
  }
  show(visible: boolean): void {
    this.visible = visible;
    this.#visible.fire();
  }
  get listeners(): number {
    return this.#messages.size + this.#visible.size;
  }
  types(): readonly string[] {
    return this.posted.map((message) => message.type);
  }
}

function open(answers: Partial<Answers> = {}) {
  const changes = new Emitter<{ id: string; change: StoreChange }>();
  const lists = new Emitter<void>();
  const sent: { id: string; intent: Intent }[] = [];
  const sessions = new Map<string, HostedSession>();
  const fakeHost: { active: string | undefined } & SessionHost = {
    active: 'a',
    get all() {
      return [...sessions.keys()];
    },
    get: (id) => sessions.get(id),
    onChange: (listener) => changes.listen(({ id, change }) => listener(id, change)),
    onSessions: (listener) => lists.listen(listener),
  };
  const add = (id: string) => {
    const store = new Store(newSession(id, { protocol: 'p', name: `Agent ${id}` }, '/code'));
    store.onChange((change) => changes.fire({ id, change }));
    sessions.set(id, { id, store, profile: 'p', send: (intent) => sent.push({ id, intent }), hints: async () => [] });
    return store;
  };
  const [a, b] = [add('a'), add('b')];
  const problems: string[] = [];
  const log: Log = { trace: () => {}, info: () => {}, warn: (text) => problems.push(text), error: (text) => problems.push(text) };
  const typed: string[] = [];
  const page = new FakePage();
  let ready = 0;
  const link = new ChatLink(page, {
    host: fakeHost,
    answers: answers as Answers,
    profiles: () => [{ id: 'p', name: 'P', isDefault: true }],
    hello: () => ({ type: 'hello', strings: {}, language: 'en', trusted: true }),
    ready: () => {
      ready += 1;
    },
    judge: answersIn,
    asking: () => undefined,
    answer: (id, askId, answer) => sent.push({ id, intent: { type: 'answer', askId, answer } }),
    unsaved: (path) => (path === '/code/dirty.ts' ? 'not saved' : undefined),
    sized: ({ width, height }) => typed.push(`${width}×${height}`),
    typing: { noted: () => typed.push('noted'), over: () => typed.push('over') },
    log,
  });
  link.onFocused(() => typed.push('focused'));
  return { page, link, fakeHost, lists, a, b, sent, problems, typed, readies: () => ready };
}
const frame = () => new Promise((resolve) => setTimeout(resolve, 40));
const began = (id: string) => ({ type: 'turn.started', turnId: id, at: 1, prompt: [] }) as const;

test('nothing is said before the page is ready; then hello, sessions and a snapshot', async () => {
  const { page, link, a, readies } = open();
  a.apply(began('t'));
  await frame();
  assert.deepEqual(page.posted, []);
  page.say({ type: 'ready' });
  assert.deepEqual(page.types(), ['hello', 'sessions', 'snapshot']);
  assert.equal(readies(), 1);
  link.dispose();
});

test('changes come as one numbered patch a frame', async () => {
  const { page, link, a } = open();
  page.say({ type: 'ready' });
  page.posted.length = 0;
  a.apply(began('t'));
  a.apply({ type: 'text.delta', turnId: 't', kind: 'text', partId: 'p', text: 'Hel' });
  a.apply({ type: 'text.delta', turnId: 't', kind: 'text', partId: 'p', text: 'lo' });
  await frame();
  const patches = page.posted.filter((message) => message.type === 'patch');
  assert.equal(patches.length, 1);
  assert.deepEqual({ from: patches[0]?.from, seq: patches[0]?.seq, events: patches[0]?.events.length }, { from: 1, seq: 3, events: 2 });
  link.dispose();
});

test('another session’s changes move only the list', async () => {
  const { page, link, b } = open();
  page.say({ type: 'ready' });
  page.posted.length = 0;
  b.apply({ type: 'title.set', title: 'Other' });
  await frame();
  assert.deepEqual(page.types(), ['sessions']);
  link.dispose();
});

test('a hidden page gets nothing; the next one is greeted and gets a snapshot', async () => {
  const { page, link, a } = open();
  page.say({ type: 'ready' });
  page.show(false);
  page.posted.length = 0;
  a.apply(began('t'));
  a.apply({ type: 'title.set', title: 'T' });
  await frame();
  assert.deepEqual(page.posted, []);
  page.show(true);
  assert.deepEqual(page.posted, [], 'the page has not said that it is there');
  page.say({ type: 'ready' });
  assert.deepEqual(page.types(), ['hello', 'sessions', 'snapshot']);
  link.dispose();
});

test('switching shows the other session', () => {
  const { page, link, fakeHost, lists } = open();
  page.say({ type: 'ready' });
  page.posted.length = 0;
  fakeHost.active = 'b';
  lists.fire();
  assert.deepEqual(
    page.posted.map((message) => (message.type === 'snapshot' ? message.sessionId : message.type)),
    ['sessions', 'b'],
  );
  link.dispose();
});

test('a resync of the shown session is a snapshot, of another one nothing', () => {
  const { page, link } = open();
  page.say({ type: 'ready' });
  page.posted.length = 0;
  page.say({ type: 'resync', sessionId: 'b' });
  page.say({ type: 'resync', sessionId: 'a' });
  assert.deepEqual(page.types(), ['snapshot']);
  link.dispose();
});

test('what is put in before there is a page waits for it, in order', () => {
  const { page, link } = open();
  link.insert({ type: 'text', text: '1' });
  link.insert({ type: 'text', text: '2' });
  link.focus();
  page.say({ type: 'ready' });
  assert.deepEqual(page.types().slice(3), ['insert', 'insert', 'focus']);
  link.dispose();
});

test('a page that listens takes the keyboard by itself; one that does not, cannot or says nothing does not', async () => {
  const { page, link } = open();
  assert.equal(await link.takeFocus(1000), false);
  assert.deepEqual(page.posted, []);
  page.say({ type: 'ready' });
  page.posted.length = 0;
  const taken = link.takeFocus(60_000);
  page.say({ type: 'focused', on: true });
  assert.equal(await taken, true);
  // It has it already, and says so again.
  const again = link.takeFocus(60_000, true);
  page.say({ type: 'focused', on: true });
  assert.equal(await again, true);
  assert.deepEqual(page.posted, [{ type: 'focus' }, { type: 'focus', back: true }]);
  assert.equal(await link.takeFocus(1), false);
  const refused = link.takeFocus(60_000);
  page.say({ type: 'unfocused' });
  assert.equal(await refused, false);
  const late = link.takeFocus(60_000);
  link.dispose();
  assert.equal(await late, false);
});

test('intents reach their session; unknown sessions and asks that are gone are dropped', () => {
  const { page, link, sent, problems, typed } = open();
  page.say({ type: 'ready' });
  page.say({ type: 'typing' });
  page.say({ type: 'window', width: 800, height: 600 });
  page.say({ type: 'intent', sessionId: 'b', intent: { type: 'cancel' } });
  page.say({ type: 'intent', sessionId: 'x', intent: { type: 'cancel' } });
  page.say({ type: 'intent', sessionId: 'a', intent: { type: 'answer', askId: 'gone', answer: { kind: 'cancelled' } } });
  assert.deepEqual(sent, [{ id: 'b', intent: { type: 'cancel' } }]);
  assert.equal(problems.length, 1);
  assert.deepEqual(typed, ['noted', '800×600', 'over', 'over']);
  link.dispose();
});

test('calls are answered, failures told, and nonsense answered too where it has a number', async () => {
  const { page, link, problems } = open({
    findMentions: async ({ query }) => [{ kind: 'file', path: `/${query}`, label: query }],
    open: async () => {
      throw new Error('outside');
    },
  });
  page.say({ type: 'ready' });
  page.posted.length = 0;
  page.say({ type: 'call', id: 1, method: 'findMentions', params: { query: 'x' } });
  page.say({ type: 'call', id: 2, method: 'open', params: { path: '/etc' } });
  page.say({ type: 'call', id: 3, method: 'nothing', params: {} });
  page.say('rubbish');
  await frame();
  assert.deepEqual(
    page.posted.filter((message) => message.type === 'reply'),
    [{ type: 'reply', id: 1, result: [{ kind: 'file', path: '/x', label: 'x' }] }],
  );
  assert.deepEqual(page.posted.flatMap((message) => (message.type === 'failed' ? [message.id] : [])).sort(), [2, 3]);
  assert.equal(problems.length, 3);
  link.dispose();
});

test('after its end nothing is left: no listener, no answer', async () => {
  let answer: (files: []) => void = () => {};
  const { page, link, a } = open({
    findMentions: () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  });
  page.say({ type: 'ready' });
  page.say({ type: 'call', id: 1, method: 'findMentions', params: { query: '' } });
  a.apply(began('t'));
  page.posted.length = 0;
  link.dispose();
  answer([]);
  await frame();
  assert.deepEqual(page.posted, []);
  assert.equal(page.listeners, 0);
});

test('a file that is not saved goes with its text, in a prompt and in what is said into a turn', () => {
  const { page, sent } = open();
  page.say({ type: 'ready' });
  const content = [
    { type: 'text', text: 'look' },
    { type: 'file', path: '/code/dirty.ts' },
    { type: 'file', path: '/code/saved.ts' },
    { type: 'file', path: '/code/dirty.ts', text: 'a part', lines: [1, 2] },
  ];
  for (const type of ['prompt', 'steer']) page.say({ type: 'intent', sessionId: 'a', intent: { type, turnId: type, content } });
  const filled = content.map((one, at) => (at === 1 ? { ...one, text: 'not saved' } : one));
  assert.deepEqual(
    sent.map(({ intent }) => 'content' in intent && intent.content),
    [filled, filled],
  );
});

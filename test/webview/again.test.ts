import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Session, Turn } from '../../src/session/model.ts';
import { newSession, reduce } from '../../src/session/reduce.ts';
import { promptText } from '../../src/session/select.ts';
import './dom.ts';
import { callPart, session as page, turn } from './page/sessions.ts';
import { Stage } from './stage.ts';

function session(offers: { edit?: true }): Session {
  let now = newSession('s', { protocol: 'x', name: 'X' }, '/w');
  now = reduce(now, { type: 'link.ready', agent: { protocol: 'x', name: 'X' }, offers });
  for (const id of ['one', 'two']) {
    now = reduce(now, { type: 'turn.started', turnId: id, at: 1, prompt: [{ type: 'text', text: `say ${id}` }] });
    now = reduce(now, { type: 'turn.ended', turnId: id, at: 2, status: 'done' });
  }
  return now;
}
const button = (stage: Stage, label: string, at = 0) =>
  [...stage.root.querySelectorAll<HTMLButtonElement>(`button[aria-label="${label}"]`)][at];
const EDIT = 'Edit Message and Send It Again';
const AGAIN = 'Try again';
const intents = (stage: Stage) => stage.sent.flatMap((message) => (message.type === 'intent' ? [message.intent] : []));

test('another answer is asked for by the last turn only, with the same words', async () => {
  const stage = await Stage.open(session({ edit: true }));
  assert.equal(stage.root.querySelectorAll(`button[aria-label="${AGAIN}"]`).length, 1);
  button(stage, AGAIN)?.click();
  const [intent] = intents(stage);
  assert.ok(intent?.type === 'prompt');
  assert.deepEqual([intent.content, intent.replaces], [[{ type: 'text', text: 'say two' }], 'two']);
});

test('an earlier message is edited in the composer and sent in its place; the edit can be dropped', async () => {
  const stage = await Stage.open(session({ edit: true }));
  button(stage, EDIT)?.click();
  assert.equal(stage.root.querySelector<HTMLTextAreaElement>('.composer-text')?.value, 'say one');
  button(stage, 'Send')?.click();
  const [intent] = intents(stage);
  assert.ok(intent?.type === 'prompt');
  assert.equal(intent.replaces, 'one');
  await stage.settle();
  button(stage, EDIT, 1)?.click();
  await stage.settle();
  button(stage, 'Cancel')?.click();
  await stage.settle();
  assert.deepEqual(
    [stage.root.querySelector<HTMLTextAreaElement>('.composer-text')?.value, stage.root.querySelector('.editing')],
    ['', null],
  );
});

test('an edit whose turn is gone is none any more, and only the last turn can be tried again', async () => {
  const stage = await Stage.open(session({ edit: true }));
  await stage.happen(
    { type: 'turn.started', turnId: 'three', at: 3, prompt: [{ type: 'text', text: 'x' }] },
    { type: 'turn.ended', turnId: 'three', at: 4, status: 'failed', error: { message: 'no', next: ['retry', 'showLog'] } },
  );
  const labels = () => [...stage.root.querySelectorAll('.fault .actions > :not(.icon-button)')].map((one) => one.textContent?.trim());
  assert.deepEqual(labels(), ['Try again', 'Show Log']);
  assert.equal(stage.root.querySelector('.fault .button')?.textContent, stage.root.querySelector('.fault .button.primary')?.textContent);
  assert.equal(stage.root.querySelectorAll('.fault .button').length, 1, 'one remedy stands out');
  button(stage, EDIT, 2)?.click();
  await stage.settle();
  assert.ok(stage.root.querySelector('.editing'));
  await stage.happen(
    { type: 'turn.started', turnId: 'four', at: 5, prompt: [{ type: 'text', text: 'y' }] },
    { type: 'turn.ended', turnId: 'four', at: 6, status: 'done' },
  );
  assert.deepEqual(labels(), ['Show Log']);
  await stage.happen({ type: 'turns.removed', from: 'three' });
  assert.equal(stage.root.querySelector('.editing'), null);
  button(stage, 'Send')?.click();
  const [intent] = intents(stage);
  assert.ok(intent?.type === 'prompt');
  assert.equal(intent.replaces, undefined);
});

test('with an agent that takes nothing back, every message can still be edited and sent again, after all others', async () => {
  const stage = await Stage.open(session({}));
  const appended = /^This agent cannot go back: it gets this as a new message/;
  await stage.press('Try again', '[data-turn=one]');
  assert.match(stage.text('.said'), appended);
  await stage.press('Edit Message and Send It Again', '[data-turn=one]');
  assert.equal(stage.root.querySelector<HTMLTextAreaElement>('.composer-text')?.value, 'say one');
  assert.match(stage.text('.editing'), appended);
  assert.equal(stage.all('.said').length, 0, 'it is not said twice');
  button(stage, 'Send')?.click();
  await stage.settle();
  assert.equal(stage.all('.editing').length, 0);
  const sent = intents(stage).map((intent) => intent.type === 'prompt' && [intent.content, intent.replaces]);
  assert.deepEqual(
    sent,
    Array.from({ length: 2 }, () => [[{ type: 'text', text: 'say one' }], undefined]),
  );
});

const NOTES = { type: 'file', path: '/w/notes.txt' } as const;
const chips = (stage: Stage) => stage.all('.attachments .attachment').length;

for (const [agent, offers] of [
  ['can', { edit: true }],
  ['cannot', {}],
] as const) {
  test(`with an agent that ${agent} go back, the draft and its attachments wait while an earlier message is edited`, async (context) => {
    const now = context.mock.method(performance, 'now', () => 10_000);
    const stage = await Stage.open(session(offers));
    const edit = async () => {
      await stage.press(EDIT, '[data-turn=one]');
      assert.equal(stage.composer.value, 'say one');
      assert.equal(chips(stage), 0);
    };
    const drafts = () => {
      assert.deepEqual([stage.composer.value, chips(stage), stage.all('.editing').length], ['ten minutes of typing', 1, 0]);
      assert.equal(document.activeElement, stage.composer);
    };
    await stage.type('ten minutes of typing');
    stage.post({ type: 'insert', content: NOTES });
    await stage.settle();
    await edit();
    await stage.press('Cancel');
    drafts();
    await edit();
    await stage.key('Escape');
    drafts();
    assert.deepEqual(intents(stage), [], 'Escape stops nothing');
    await edit();
    await stage.key('Enter');
    drafts();
    const [intent] = intents(stage);
    assert.deepEqual(intent?.type === 'prompt' && intent.content, [{ type: 'text', text: 'say one' }]);
    await stage.key('Enter');
    button(stage, 'Send')?.click();
    drafts();
    assert.equal(intents(stage).length, 1, 'a second press right after the first sends no draft');
    now.mock.mockImplementation(() => 12_000);
    await stage.key('Enter');
    const last = intents(stage).at(-1);
    assert.deepEqual(last?.type === 'prompt' && [last.content, last.replaces], [
      [{ type: 'text', text: 'ten minutes of typing' }, NOTES],
      undefined,
    ]);
    assert.equal(stage.composer.value, '');
  });
}

test('an edit that is left for another one is a draft if anything was changed, and a dropped one is in the history', async () => {
  const stage = await Stage.open(session({ edit: true }));
  await stage.type('draft');
  await stage.press(EDIT, '[data-turn=one]');
  await stage.press(EDIT, '[data-turn=two]');
  await stage.press('Cancel');
  assert.equal(stage.composer.value, 'draft');
  await stage.press(EDIT, '[data-turn=one]');
  await stage.type('say one better');
  await stage.press(EDIT, '[data-turn=two]');
  await stage.type('say two better');
  await stage.key('Escape');
  assert.equal(stage.composer.value, 'draft\n\nsay one better');
  await stage.type('');
  for (let back = 0; back < 3; back += 1) await stage.key('ArrowUp');
  assert.equal(stage.composer.value, 'say two better');
});

test('a draft that waits outlives a reload, and comes back even when the turn that was edited is gone', async () => {
  const state = { saved: undefined };
  const before = await Stage.open(session({ edit: true }), { state });
  await before.type('draft');
  await before.press(EDIT, '[data-turn=two]');
  window.dispatchEvent(new Event('pagehide') as never);
  const stage = await Stage.open(session({ edit: true }), { state });
  assert.equal(stage.composer.value, 'say two');
  await stage.happen({ type: 'turns.removed', from: 'two' });
  await stage.press('Cancel');
  assert.deepEqual([stage.composer.value, stage.all('.editing').length], ['draft', 0]);
});

test('below an earlier turn stands what it took; with nothing to say its buttons take no line', async () => {
  const endedAt = Date.UTC(2026, 0) + 12_000;
  const turns = [turn({ id: 'one', startedAt: Date.UTC(2026, 0), endedAt }), turn({ id: 'two' }), turn({ id: 'three' })];
  const stage = await Stage.open(page({ turns }));
  assert.equal(stage.text('[data-turn=one] .sum .num'), '12 s');
  assert.equal(stage.root.querySelector('[data-turn=two] .sum .num'), null);
});

test('with any agent the last message can be sent again, and an answer is copied as it was written', async () => {
  const stage = await Stage.open(session({}));
  await stage.happen(
    { type: 'turn.started', turnId: 'three', at: 3, prompt: [{ type: 'text', text: 'x' }] },
    { type: 'text.delta', turnId: 'three', kind: 'text', partId: 'p', text: 'It is **done**.' },
    { type: 'turn.ended', turnId: 'three', at: 4, status: 'done' },
  );
  const copied: string[] = [];
  const clipboard = { writeText: async (text: string) => void copied.push(text) };
  Object.defineProperty(globalThis, 'navigator', { configurable: true, value: { clipboard } });
  button(stage, 'Copy Answer as Markdown')?.click();
  button(stage, 'Copy as text')?.click();
  button(stage, 'Copy Message', 2)?.click();
  assert.deepEqual(copied, ['It is **done**.', 'It is done.', 'x']);
  button(stage, 'Try again', 2)?.click();
  const [intent] = intents(stage);
  assert.ok(intent?.type === 'prompt');
  assert.deepEqual([intent.content, intent.replaces], [[{ type: 'text', text: 'x' }], undefined]);
});

test('an answer copied as text has the marks of its lists and the text of its code, and nothing of the bars', async () => {
  const stage = await Stage.open(session({}));
  const text = '3. one\n4. two\n   - inner\n\n- [x] done\n\n```ts\nlet x;\n```\n';
  await stage.happen(
    { type: 'turn.started', turnId: 'three', at: 3, prompt: [{ type: 'text', text: 'x' }] },
    { type: 'text.delta', turnId: 'three', kind: 'text', partId: 'p', text },
    { type: 'turn.ended', turnId: 'three', at: 4, status: 'done' },
  );
  const copied: string[] = [];
  const clipboard = { writeText: async (one: string) => void copied.push(one) };
  Object.defineProperty(globalThis, 'navigator', { configurable: true, value: { clipboard } });
  const drawn = stage.text('.answer');
  button(stage, 'Copy as text')?.click();
  // The lines are for the browser to make.
  assert.equal(copied[0]?.replaceAll('\n', ''), '3. one4. two  - inner☑ donelet x;');
  assert.equal(stage.text('.answer'), drawn, 'the answer is as before');
});

test('below a turn stands what it took; files are brought back and the session is copied only where that can be', async () => {
  const diff = { path: '/code/sample/a.ts', before: 'a', after: 'b' };
  const turns = [
    turn({ id: 'one' }),
    turn({
      id: 'two',
      startedAt: Date.UTC(2026, 0),
      endedAt: Date.UTC(2026, 0) + 12_000,
      spent: { input: 4_000, output: 120, cost: { amount: 0.25, currency: 'USD' } },
      parts: [
        callPart({ id: 'e', kind: 'edit', output: [{ kind: 'diff', diff }] }),
        callPart({ id: 'r', kind: 'execute', input: { command: 'npm test' } }),
      ],
    }),
  ];
  const plain = await Stage.open(page({ turns }));
  assert.equal(plain.text('[data-turn=two] .sum .num'), '12 s · Ran 1 command · 4.1k tokens · $0.25');
  assert.equal(button(plain, 'Copy Session'), undefined);
  await plain.press('Restore Files', '[data-turn=one]');
  assert.deepEqual(plain.calls('restoreFiles'), [{ sessionId: 's1', turnId: 'one' }]);
  const copies = await Stage.open(page({ turns: [turn({ id: 'one' })], link: { state: 'ready', offers: { fork: true } } }));
  await copies.press('Copy Session');
  assert.deepEqual(copies.calls('copySession'), [{ sessionId: 's1' }]);
  const branches = await Stage.open(
    page({ turns: [turn({ id: 'one' }), turn({ id: 'two' })], link: { state: 'ready', offers: { edit: true } } }),
  );
  await branches.press('Edit this message in a copy of this session', '[data-turn=one]');
  assert.deepEqual(branches.calls('copySession'), [{ sessionId: 's1', turnId: 'one' }]);
  assert.equal(button(copies, 'Restore Files'), undefined);
});

test('a turn that cost nothing tells no price, and one that cost less than a cent does not tell nothing', async () => {
  const cost = (id: string, amount: number) => turn({ id, spent: { input: 5, cost: { amount, currency: 'USD' } } });
  const stage = await Stage.open(page({ turns: [cost('free', 0), cost('cheap', 0.0021), cost('round', 0.006)] }));
  const told = ['free', 'cheap', 'round'].map((id) => stage.text(`[data-turn=${id}] .sum .num`));
  assert.deepEqual(told, ['5 tokens', '5 tokens · $0.002', '5 tokens · $0.01']);
});

test('the cost is told once: by the turns where they tell it, otherwise by the meter', async () => {
  const usage = { used: 5_000, size: 10_000, cost: { amount: 0.42, currency: 'USD' } };
  const told = async (spent: Turn['spent']) => {
    const stage = await Stage.open(page({ turns: [turn({ ...(spent ? { spent } : {}) })], usage }));
    return [stage.text('.usage-text'), stage.find('.usage').title];
  };
  assert.deepEqual(await told({ input: 5, cost: { amount: 0.42, currency: 'USD' } }), [
    '50 %',
    'Context 50 % full · 5.0k / 10k tokens · $0.42',
  ]);
  assert.equal((await told(undefined))[0], '$0.42');
});

test('once the files are brought back, the message is there to be sent anew where the conversation goes back, too', async () => {
  const files = [{ path: '/code/sample/a.ts', change: 'changed' as const, review: 'open' as const }];
  const turns = [turn({ id: 'one', prompt: [{ type: 'text', text: 'Say it' }], files })];
  const stage = await Stage.open(page({ turns, link: { state: 'ready', offers: { edit: true } } }));
  await stage.press('Restore Files', '[data-turn=one]');
  const call = stage.sent.find((message) => message.type === 'call' && message.method === 'restoreFiles');
  assert.ok(call?.type === 'call');
  stage.reply(call.id, true);
  await stage.settle();
  assert.match(stage.text('.editing'), /takes back everything after/);
  const told = await Stage.open(page({ turns, link: { state: 'ready', offers: { edit: true } } }));
  await told.type('a draft');
  told.post({ type: 'edit', sessionId: 's1', turnId: 'one' });
  await told.settle();
  assert.match(told.text('.editing'), /takes back everything after/);
  const composer = () => told.root.querySelector<HTMLTextAreaElement>('.composer-text')?.value;
  assert.equal(composer(), 'Say it');
  // The restore is undone. Another message would not be concerned.
  told.post({ type: 'endEdit', sessionId: 's1', turnId: 'two' });
  await told.settle();
  assert.match(told.text('.editing'), /takes back everything after/);
  await told.type('Say it otherwise');
  told.post({ type: 'endEdit', sessionId: 's1', turnId: 'one' });
  await told.settle();
  assert.deepEqual([told.all('.editing').length, composer()], [0, 'a draft']);
  told.root.querySelector<HTMLTextAreaElement>('.composer-text')?.setSelectionRange(0, 0);
  for (const text of ['Say it', 'Say it otherwise']) {
    await told.key('ArrowUp');
    assert.equal(composer(), text);
  }
  const appends = await Stage.open(page({ turns, link: { state: 'ready', offers: {} } }));
  appends.post({ type: 'edit', sessionId: 's1', turnId: 'one' });
  await appends.settle();
  assert.match(appends.text('.editing'), /cannot go back/);
  const reported = [turn({ id: 'one', files: files.map((file) => ({ ...file, review: 'reported' as const })) })];
  assert.equal(button(await Stage.open(page({ turns: reported })), 'Restore Files'), undefined);
});

test('a draft that came back from behind an edit is sent at once when the user has typed in it', async (context) => {
  context.mock.method(performance, 'now', () => 10_000);
  const stage = await Stage.open(session({ edit: true }));
  await stage.type('a draft');
  await stage.press(EDIT, '[data-turn=one]');
  await stage.key('Enter');
  await stage.type('a draft, finished');
  await stage.key('Enter');
  const texts = intents(stage).map((intent) => intent.type === 'prompt' && promptText({ prompt: intent.content }));
  assert.deepEqual(texts, ['say one', 'a draft, finished']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Session } from '../../src/session/model.ts';
import { window } from './dom.ts';
import { session, turn } from './page/sessions.ts';
import { Stage } from './stage.ts';

// What comes from the host while the user types takes no letter, no key and no composition from them.

const first = session({ id: 's1' });

/** The host shows another session; nothing is drawn yet. */
function shows(stage: Stage, shown: Session): void {
  stage.post({ type: 'sessions', list: [], active: shown.id, profiles: [] });
  stage.post({ type: 'snapshot', sessionId: shown.id, seq: 0, session: shown, answers: [] });
}

/** Types at the end of the composer, as it is now, and waits for no frame. */
function types({ composer }: Stage, text: string): void {
  composer.value += text;
  composer.setSelectionRange(composer.value.length, composer.value.length);
  composer.dispatchEvent(new Event('input', { bubbles: true }));
}

function presses({ composer }: Stage, key: string, more: object = {}): void {
  composer.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }));
}

function composes({ composer }: Stage, type: 'compositionstart' | 'compositionend'): void {
  composer.dispatchEvent(new Event(type, { bubbles: true }));
}

/** What was sent, with the session it was sent to. */
function prompts(stage: Stage): readonly unknown[] {
  return stage.sent.flatMap((message) =>
    message.type === 'intent' && message.intent.type === 'prompt' ? [[message.sessionId, message.intent.content]] : [],
  );
}

test('what is typed while another session is on its way goes on in that one, and Enter sends the whole of it there', async () => {
  const stage = await Stage.open(first);
  stage.composer.focus();
  types(stage, 'look at ');
  shows(stage, session({ id: 's2' }));
  types(stage, 'main.ts');
  presses(stage, 'Enter');
  await stage.settle();
  assert.deepEqual(prompts(stage), [['s2', [{ type: 'text', text: 'look at main.ts' }]]]);
  shows(stage, first);
  await stage.settle();
  assert.equal(stage.composer.value, '', 'nothing of it is left behind');
});

test('a draft from before stays in its session; what is typed after a command or elsewhere goes along', async () => {
  const stage = await Stage.open(first);
  stage.composer.focus();
  types(stage, 'a draft');
  presses(stage, 'n', { ctrlKey: true });
  types(stage, ' and more');
  shows(stage, session({ id: 's2' }));
  await stage.settle();
  assert.equal(stage.composer.value, ' and more');
  stage.composer.dispatchEvent(new Event('blur'));
  shows(stage, first);
  await stage.settle();
  assert.equal(stage.composer.value, 'a draft');
  shows(stage, session({ id: 's2' }));
  await stage.settle();
  assert.equal(stage.composer.value, ' and more');
});

test('a key right after the host has shown another session belongs to that one', async () => {
  const stage = await Stage.open(first);
  types(stage, 'of the first');
  stage.composer.dispatchEvent(new Event('blur'));
  shows(stage, session({ id: 's2' }));
  types(stage, 'x');
  await stage.settle();
  assert.equal(stage.composer.value, 'x');
  stage.composer.dispatchEvent(new Event('blur'));
  shows(stage, first);
  await stage.settle();
  assert.equal(stage.composer.value, 'of the first');
});

test('a composition lasts through what the agent does, and another session and what is inserted wait for its end', async () => {
  const stage = await Stage.open(session({ id: 's1', turns: [turn({ id: 't1', status: 'running', parts: [] })] }));
  const { composer } = stage;
  composer.focus();
  composes(stage, 'compositionstart');
  types(stage, 'に');
  let written = 0;
  const its = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(composer), 'value');
  assert.ok(its?.get && its.set);
  const { get, set } = its;
  const noted = (text: string) => {
    written += 1;
    set.call(composer, text);
  };
  Object.defineProperty(composer, 'value', { configurable: true, get, set: noted });
  await stage.happen({ type: 'text.delta', turnId: 't1', kind: 'text', partId: 'p1', text: 'Hello' });
  assert.match(stage.text('.content'), /Hello/);
  stage.post({ type: 'insert', content: { type: 'text', text: '@here ' } });
  shows(stage, session({ id: 's2' }));
  await stage.settle();
  assert.equal(written, 0, 'its text is left alone');
  assert.equal(stage.composer, composer);
  types(stage, 'ほん');
  composes(stage, 'compositionend');
  await new Promise((resolve) => setTimeout(resolve, 0));
  await stage.settle();
  assert.match(composer.value, /にほん/);
  assert.match(composer.value, /@here /);
});

test('a focus that the host gives late leaves the field the user types in', async () => {
  const fields = [{ id: 'f1', label: 'To whom?', kind: 'email' }] as const;
  const stage = await Stage.open(session({ asks: [{ kind: 'question', id: 'q1', title: 'Whom to tell?', fields }] }));
  const field = stage.find<HTMLInputElement>('.asks input');
  field.focus();
  field.value = 'ta';
  field.dispatchEvent(new Event('input', { bubbles: true }));
  stage.sent.length = 0;
  stage.post({ type: 'focus' });
  stage.post({ type: 'caret' });
  assert.equal(document.activeElement, field);
  assert.deepEqual(stage.sent, [{ type: 'focused', on: true }], 'the host is told that the keyboard is here');
  // The user was elsewhere in between.
  window.dispatchEvent(new window.Event('blur'));
  stage.post({ type: 'focus' });
  assert.equal(document.activeElement, stage.composer);
});

test('a page that cannot take the keyboard tells the host so', async (t) => {
  const stage = await Stage.open(first);
  t.mock.method(document, 'hasFocus', () => false);
  stage.sent.length = 0;
  stage.post({ type: 'focus' });
  while (stage.sent.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(stage.sent, [{ type: 'unfocused' }]);
});

test('what was typed last is kept when the page is hidden right after', async () => {
  const state: { saved: unknown } = { saved: undefined };
  const stage = await Stage.open(first, { state });
  types(stage, 'the last letters');
  window.dispatchEvent(new window.Event('blur'));
  assert.match(JSON.stringify(state.saved), /the last letters/);
});

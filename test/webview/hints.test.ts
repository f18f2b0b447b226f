import './dom.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { session, sessions } from './page/sessions.ts';
import { Stage } from './stage.ts';

/** A chat whose agent suggests, with what it was asked. */
async function suggesting() {
  const stage = await Stage.open(
    session({ commands: sessions.everything?.commands ?? [], link: { state: 'ready', offers: { hints: true } } }),
  );
  const asked = () => {
    const found = stage.sent.findLast((message) => message.type === 'call' && message.method === 'hints');
    return found?.type === 'call' ? found : assert.fail('nothing was asked');
  };
  const until = async (holds: () => boolean) => {
    for (let n = 0; n < 1000 && !holds(); n += 1) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(holds());
  };
  const questions = () => stage.calls('hints').length;
  return { stage, asked, until, questions };
}

test('what we know ourselves stands while the agent looks; its suggestions take the place', async () => {
  const { stage, asked, until, questions } = await suggesting();
  await stage.type('/he');
  assert.match(stage.text('[role=listbox]'), /\/help/);
  await until(() => questions() === 1);
  await until(() => stage.all('.menu-looking').length === 1);
  assert.match(stage.text('[role=listbox]'), /\/help/);
  stage.post({ type: 'reply', id: asked().id, result: [{ label: 'health', value: '/health ', description: 'How it is' }] });
  await stage.settle();
  assert.equal(stage.all('.menu-looking').length, 0);
  assert.match(stage.text('[role=listbox]'), /health How it is/);
  await stage.key('Enter');
  assert.equal(stage.composer.value, '/health ');
});

test('an agent that cannot suggest says why above our own list', async () => {
  const { stage, asked, until, questions } = await suggesting();
  await stage.type('/he');
  await until(() => questions() === 1);
  stage.post({ type: 'failed', id: asked().id, message: 'index is broken' });
  await stage.settle();
  assert.equal(stage.text('.menu-note'), 'Suggestions failed: index is broken');
  assert.match(stage.text('[role=listbox]'), /\/help/);
});

test('Escape while the agent looks takes the question back, and a late answer opens nothing', async () => {
  const { stage, asked, until, questions } = await suggesting();
  await stage.type('/he');
  await until(() => questions() === 1);
  const first = asked();
  await stage.key('Escape');
  assert.deepEqual(asked().params, { sessionId: stage.session?.id, text: '', cursor: 0 });
  stage.post({ type: 'reply', id: first.id, result: [{ label: 'late', value: '/late ' }] });
  await stage.settle();
  assert.equal(stage.root.querySelector('[role=listbox]'), null);
  assert.equal(questions(), 2);
});

test('a search of ours that finds nothing takes nothing from the agent: it is asked, may take its time, and is believed', async () => {
  const { stage, asked, until, questions } = await suggesting();
  const search = () => stage.sent.findLast((message) => message.type === 'call' && message.method === 'findMentions');
  const nothing = async () => {
    const call = search();
    stage.post({ type: 'reply', id: call?.type === 'call' ? call.id : assert.fail(), result: [] });
    await stage.settle();
  };
  await stage.type('@ne');
  await until(() => questions() === 1);
  await nothing();
  assert.equal(questions(), 1, 'the question is not taken back');
  await stage.type('@neverx');
  await nothing();
  await until(() => questions() === 2);
  assert.deepEqual(asked().params, { sessionId: stage.session?.id, text: '@neverx', cursor: 7 });
  await until(() => stage.all('.menu-looking').length === 1);
  stage.post({ type: 'reply', id: asked().id, result: [{ label: 'neverx.ts', value: '@src/neverx.ts ' }] });
  await stage.settle();
  assert.match(stage.text('[role=listbox]'), /neverx\.ts/);
});

test('an agent that cannot suggest files says why, before or after our own search came back empty', async () => {
  for (const first of ['ours', 'theirs']) {
    const { stage, asked, until, questions } = await suggesting();
    await stage.type('@err');
    await until(() => questions() === 1);
    const call = stage.sent.findLast((message) => message.type === 'call' && message.method === 'findMentions');
    const ours = () => stage.post({ type: 'reply', id: call?.type === 'call' ? call.id : assert.fail(), result: [] });
    const theirs = () => stage.post({ type: 'failed', id: asked().id, message: 'index is broken' });
    for (const one of first === 'ours' ? [ours, theirs] : [theirs, ours]) {
      one();
      await stage.settle();
    }
    assert.equal(stage.text('.menu-note'), 'Suggestions failed: index is broken', first);
    await stage.key('Escape');
    assert.equal(stage.root.querySelector('.menu-note'), null);
  }
});

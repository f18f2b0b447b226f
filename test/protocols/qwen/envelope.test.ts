import assert from 'node:assert/strict';
import { test } from 'node:test';

import { talking } from './envelopeHarness.ts';

// Suggestions are promises of the adapter, which no transcript shows.

test('hints: loading then found; the newest request wins; an error says why; silence and a cancel give nothing', async (t) => {
  const all = await talking(t);
  const asked = () =>
    all
      .last()
      .told.filter((line) => line.type === 'command_hint_request')
      .at(-1);
  const reply = (id: unknown, more: object) => ({ type: 'result/command_hint', session_id: 'E', prompt_id: id, trigger: 'slash', ...more });
  const suggestions = [{ label: 'chat', value: 'chat', description: 'Talk' }];
  const first = all.live.hints('/c', 2);
  assert.deepEqual([asked()?.text, asked()?.cursor, asked()?.trigger], ['/c', 2, 'slash']);
  all.last().say(reply(asked()?.prompt_id, { status: 'loading' }), reply(asked()?.prompt_id, { status: 'ok', suggestions }));
  assert.deepEqual(await first, [{ label: 'chat', value: '/chat ', description: 'Talk' }]);
  const old = all.live.hints('/c', 2);
  const oldId = asked()?.prompt_id;
  const newer = all.live.hints('/ch', 3);
  assert.deepEqual(await old, []);
  assert.ok(all.last().told.some((line) => line.type === 'command_hint_cancel' && line.prompt_id === oldId));
  all.last().say(reply(oldId, { status: 'ok', suggestions: [{ label: 'old', value: 'old' }] }));
  all.last().say(reply('E########preview', { status: 'ok', suggestions }));
  assert.equal((await newer)[0]?.value, '/chat ');
  const failing = all.live.hints('/x', 2);
  all.last().say(reply(asked()?.prompt_id, { status: 'error', message: 'no' }));
  await assert.rejects(failing, /^Error: no$/);
  const inFolder = all.live.hints('see @sr', 7);
  all.last().say({ ...reply(asked()?.prompt_id, { status: 'ok', suggestions: [{ label: 'src/', value: 'src/' }] }), trigger: 'at' });
  assert.equal((await inFolder)[0]?.value, 'see @src/');
  const silent = all.live.hints('@a', 2);
  await all.tick(10_000);
  assert.deepEqual(await silent, []);
  const closed = all.live.hints('@b', 2);
  const closedId = asked()?.prompt_id;
  assert.deepEqual(await all.live.hints('', 0), []);
  assert.ok(all.last().told.some((line) => line.type === 'command_hint_cancel' && line.prompt_id === closedId));
  assert.deepEqual(await closed, []);
  const help = all.live.hints('?', 1);
  assert.deepEqual([asked()?.trigger, asked()?.text], ['slash', '?']);
  all.last().say(reply(asked()?.prompt_id, { status: 'ok', suggestions: [{ label: 'help', value: 'help' }] }));
  assert.equal((await help)[0]?.value, '?help ');
  assert.deepEqual(await all.live.hints('plain text', 5), []);
  assert.equal(all.turn().status, 'running');
});

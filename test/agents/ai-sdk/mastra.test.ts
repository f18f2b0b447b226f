import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, echoTool, textOf } from '../../protocols/ai-sdk/talk.ts';
import { peerFolder } from '../lab.ts';
import { parley, started } from './peers.ts';

const openInIde = echoTool('open_in_ide', async () => ({ ok: true, text: '{"opened":true}' }));

for (const version of ['v5', 'v6', 'v7']) {
  test(`Mastra in its ${version} format: text, its tool, ours, approvals`, async (t) => {
    const url = `${await started(t, 'mastraServer.mjs', [peerFolder('mastra')])}/api/chat?version=${version}`;
    const { prompt, say, asked, answer, ended } = await parley(t, url, [openInIde], { tools: 'mastra' });
    assert.equal(textOf(await prompt('hello')), 'You said hello.');
    assert.match(textOf(await prompt('weather')), /clear/);
    const look = await prompt('look');
    assert.deepEqual([look.status, /opened/.test(textOf(look))], ['done', true]);
    for (const allowed of [true, false]) {
      const id = say('delete');
      answer(await asked(), allowed ? 'allow' : 'reject');
      const turn = await ended(id);
      const part = turn.parts.find((one) => one.kind === 'call');
      assert.equal(turn.status, 'done', turn.error?.message);
      assert.equal(call(turn, part!.id).status, allowed ? 'done' : 'rejected');
      assert.notEqual(textOf(turn), '');
    }
  });
}

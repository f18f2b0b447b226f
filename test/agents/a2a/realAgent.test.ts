import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { a2a } from '../../../src/protocols/a2a/index.ts';
import { callsOf } from '../../../src/session/select.ts';
import { callLines, choose, type Drive, drive, textOf } from '../drive.ts';
import { type Peer, startPeer } from './peers.ts';

describe("Gemini CLI's A2A server", () => {
  let peer: Peer;
  let agent: Drive;
  before(async () => {
    peer = await startPeer();
    agent = drive({ protocol: a2a, launch: peer.launch });
    await agent.ready();
  });
  after(async () => {
    await agent.stop();
    await peer.remove();
  });

  test('it answers a prompt', async () => {
    const turn = await agent.prompt('hello');
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    assert.notEqual(textOf(turn), '');
  });

  test('an approval that is answered after ten seconds runs the call', async () => {
    agent.onAsk(() => undefined);
    const turnId = agent.begin('SCN-WRITE');
    const session = await agent.until('an ask', (now) => now.asks.length > 0);
    const ask = session.asks[0];
    assert.equal(ask?.kind, 'approval');
    assert.equal(ask?.kind === 'approval' ? ask.detail.type : '', 'edit');
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    const answer = ask && choose('allow_once')(ask);
    if (ask && answer) agent.live.send({ type: 'answer', askId: ask.id, answer });
    const turn = await agent.ended(turnId);
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    assert.deepEqual(
      callsOf(turn).map((call) => call.status),
      ['done'],
      callLines(turn).join('\n'),
    );
    assert.match(readFileSync(path.join(peer.place.cwd, 'notes.md'), 'utf8'), /# Notes/);
  });
});

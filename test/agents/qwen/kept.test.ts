import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { qwen } from '../../../src/protocols/qwen/index.ts';
import { callsOf, changedFiles } from '../../../src/session/select.ts';
import { choose, type Drive, drive, textOf } from '../drive.ts';
import { type Peer, type PeerName, peerNames, startPeer } from './peers.ts';

/** Conversations that the agents keep themselves: listed, shown, gone on with, copied, gone back in. */
for (const name of peerNames) describe(`${name} keeps conversations`, () => keeping(name));

function keeping(name: PeerName): void {
  let peer: Peer;
  let agent: Drive;
  let key: string;
  const open: Drive[] = [];
  const start = (resume?: string) => {
    const one = drive({ protocol: qwen, launch: peer.launch, ...(resume === undefined ? {} : { resume: { key: resume, history: true } }) });
    open.push(one);
    return one;
  };
  const config = () => readFileSync(path.join(peer.place.cwd, 'src', 'config.json'), 'utf8');
  const lastHello = async () => {
    const asked = (await peer.model.requests()).findLast((request) => request.label?.startsWith('hi'));
    return (asked as { nmsgs?: number } | undefined)?.nmsgs ?? 0;
  };

  before(async () => {
    peer = await startPeer(name);
    agent = start();
    await agent.ready();
    agent.onAsk(choose('allow_once'));
    await agent.prompt('hello there');
    await agent.prompt('SCN-EDIT');
    key = agent.now().resumeKey ?? '';
    assert.ok(key);
    assert.match(config(), /"debug": true/);
    await agent.stop();
  });
  after(async () => {
    for (const one of open) await one.stop();
    await peer?.remove();
  });

  test('a new session lists it by what was said first; opened, it shows what was said and done, and goes on', async () => {
    const fresh = start();
    await fresh.ready();
    const past = await fresh.live.history();
    assert.deepEqual(
      past.map((one) => [one.key, one.title]),
      [[key, 'hello there']],
    );
    await fresh.stop();

    const again = start(key);
    await again.ready();
    const { turns, resumeKey } = again.now();
    assert.equal(resumeKey, key);
    assert.deepEqual(
      turns.map((turn) => [turn.prompt, turn.status]),
      [
        [[{ type: 'text', text: 'hello there' }], 'done'],
        [[{ type: 'text', text: 'SCN-EDIT' }], 'done'],
      ],
    );
    const [, edit] = turns;
    assert.ok(edit);
    assert.match(textOf(edit), /Reading the file\. .*Changing debug to true\. .*Done: debug is now on\./s);
    assert.deepEqual(
      callsOf(edit).map((call) => [call.kind, call.status]),
      [
        ['read', 'done'],
        ['edit', 'done'],
      ],
    );
    assert.deepEqual(
      changedFiles(edit).map((changed) => path.basename(changed.path)),
      ['config.json'],
    );
    await again.prompt('hello once more');
    assert.ok((await lastHello()) > 4, 'what was said before is part of the request');
    await again.stop();
  });

  test('a copy goes on under a name of its own and knows what was said', async () => {
    const original = start(key);
    await original.ready();
    const copy = start(await original.live.fork());
    await copy.ready();
    assert.ok(copy.now().turns.length >= 2, 'the copy shows the conversation');
    const turn = await copy.prompt('hello from the copy');
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    assert.notEqual(copy.now().resumeKey, key);
    assert.doesNotMatch(copy.now().resumeKey ?? '', /^copy:/);
    assert.ok((await lastHello()) > 4);
    await copy.stop();
    await original.stop();
    const listed = start();
    await listed.ready();
    assert.deepEqual(new Set((await listed.live.history()).map((one) => one.key)), new Set([key, copy.now().resumeKey]));
    await listed.stop();
  });

  if (name === 'claude-code') {
    for (const [choice, after] of [
      ['keep', /"debug": true/],
      ['restore', /"debug": false/],
    ] as const) {
      test(`an earlier message is said differently; files: ${choice}`, async () => {
        const one = start(key);
        await one.ready();
        const edited = one.now().turns.find((turn) => JSON.stringify(turn.prompt).includes('SCN-EDIT'));
        assert.ok(edited);
        const asked: string[] = [];
        one.onAsk((ask) => {
          asked.push(ask.kind === 'approval' && ask.detail.type === 'text' ? ask.detail.text : '');
          return { kind: 'option', optionId: choice };
        });
        const turnId = randomUUID();
        const content = [{ type: 'text', text: 'hello instead' }] as const;
        one.live.send({ type: 'prompt', turnId, content, replaces: edited.id });
        const turn = await one.ended(turnId);
        assert.equal(turn.status, 'done', JSON.stringify(turn.error));
        assert.deepEqual(asked, ['src/config.json']);
        assert.match(config(), after);
        const { turns } = one.now();
        assert.deepEqual(turns.at(-1)?.prompt, content);
        assert.ok(!turns.some((each) => each.id === edited.id), 'what was taken back is not shown');
        const asking = (await peer.model.requests()).findLast((request) => request.label?.startsWith('hi'));
        assert.ok(!JSON.stringify(asking).includes('SCN-EDIT'));
        assert.ok((await lastHello()) <= 6, 'what was taken back is not part of the request');
        assert.equal(one.now().resumeKey, key);
        await one.stop();
        if (choice === 'keep') {
          // The conversation has the edit in it again for the next round, as a new message.
          const more = start(key);
          await more.ready();
          more.onAsk(choose('allow_once'));
          execFileSync('sed', ['-i', 's/true/false/', path.join(peer.place.cwd, 'src', 'config.json')]);
          const begun = randomUUID();
          more.live.send({ type: 'prompt', turnId: begun, content: [{ type: 'text', text: 'SCN-EDIT' }] });
          await more.ended(begun);
          assert.match(config(), /"debug": true/);
          await more.stop();
        }
      });
    }

    test('before the very first message a new conversation begins', async () => {
      const one = start(key);
      await one.ready();
      const [first] = one.now().turns;
      assert.ok(first);
      one.onAsk(() => ({ kind: 'option', optionId: 'keep' }));
      const turnId = randomUUID();
      one.live.send({ type: 'prompt', turnId, content: [{ type: 'text', text: 'hello anew' }], replaces: first.id });
      const turn = await one.ended(turnId);
      assert.equal(turn.status, 'done', JSON.stringify(turn.error));
      assert.equal(one.now().turns.length, 1);
      assert.notEqual(one.now().resumeKey, key);
      await one.stop();
    });
  }

  if (name === 'qwen') {
    test('a turn in which the agent died is gone on with, if the user wants', async () => {
      const one = start();
      await one.ready();
      one.onAsk((ask) => (ask.turnId === undefined ? { kind: 'option', optionId: 'yes' } : choose('allow_once')(ask)));
      const turnId = one.begin('SCN-LONGSHELL');
      await one.until('a running command', (session) =>
        session.turns.some((turn) => turn.id === turnId && callsOf(turn).some((call) => call.status === 'running')),
      );
      const before = one.now().turns.length;
      killAgentIn(peer.place.cwd);
      const lost = await one.until('the broken turn', (session) =>
        session.turns.some((turn) => turn.id === turnId && turn.status === 'failed'),
      );
      assert.match(JSON.stringify(lost.turns.at(-1)?.parts), /ended before it reported a result/);
      const session = await one.until('the turn that goes on', ({ turns }) => turns.length > before && turns.at(-1)?.status !== 'running');
      assert.equal(session.turns.at(-1)?.status, 'done', JSON.stringify(session.turns.at(-1)));
      await one.stop();
    });
  }
}

/** Ends the agent that works in a folder of ours, as a crash would. */
function killAgentIn(cwd: string): void {
  const rows = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  for (const row of rows) {
    const [, pid, args = ''] = /^\s*(\d+) (.*)$/.exec(row) ?? [];
    if (!args.includes('qwen-code') || !pid) continue;
    try {
      if (execFileSync('readlink', [`/proc/${pid}/cwd`], { encoding: 'utf8' }).trim() === cwd) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // Gone, or not ours.
    }
  }
}

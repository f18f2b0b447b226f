import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { qwen } from '../../../src/protocols/qwen/index.ts';
import { callsOf, changedFiles } from '../../../src/session/select.ts';
import { callLines, choose, type Drive, drive, textOf } from '../drive.ts';
import { type Peer, type PeerName, peerNames, startPeer } from './peers.ts';

for (const name of peerNames) describe(name, () => conversation(name));

function conversation(name: PeerName): void {
  let peer: Peer;
  let agent: Drive;
  before(async () => {
    peer = await startPeer(name);
    agent = drive({ protocol: qwen, launch: peer.launch });
    await agent.ready();
  });
  after(async () => {
    await agent?.stop();
    await peer?.remove();
  });
  const file = (...parts: string[]) => path.join(peer.place.cwd, ...parts);

  test('its mode can be chosen before the first prompt', async () => {
    assert.deepEqual(agent.now().turns, []);
    for (const modeId of ['plan', 'default']) {
      assert.ok(agent.now().mode?.all.some((mode) => mode.id === modeId));
      agent.live.send({ type: 'setMode', modeId });
      await agent.until(`the mode ${modeId}`, (session) => session.mode?.current === modeId);
    }
    assert.deepEqual(agent.now().turns, []);
  });

  test('an edit is shown as a diff, approved, and made', async () => {
    agent.onAsk((ask) => {
      assert.equal(ask.kind, 'approval');
      assert.equal(ask.kind === 'approval' && ask.detail.type, 'edit');
      return choose('allow_once')(ask);
    });
    const turn = await agent.prompt('SCN-EDIT');
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    assert.match(textOf(turn), /Changing debug to true\. .*Done: debug is now on\./s);
    const [changed] = changedFiles(turn);
    assert.equal(changed?.path, file('src', 'config.json'));
    assert.match(changed?.diffs[0]?.before ?? '', /"debug": false/);
    assert.equal(changed?.diffs[0]?.after, readFileSync(file('src', 'config.json'), 'utf8'));
    assert.deepEqual(agent.now().asks, []);
  });

  test('a command asks first and shows what it printed', async () => {
    agent.onAsk((ask) => {
      assert.equal(ask.kind === 'approval' && ask.detail.type, 'command');
      return choose('allow_once')(ask);
    });
    const turn = await agent.prompt('SCN-SHELL');
    const [call] = callsOf(turn);
    assert.equal(call?.kind, 'execute', callLines(turn).join('\n'));
    assert.match(JSON.stringify(call?.output), /one.*two.*three/);
  });

  test('a rejection tells the agent why and changes nothing', async () => {
    agent.onAsk((ask) => {
      const answer = choose('reject_once')(ask);
      return answer?.kind === 'option' ? { ...answer, feedback: 'Not in this folder, please.' } : answer;
    });
    const turn = await agent.prompt('SCN-WRITE');
    assert.equal(turn.status, 'done');
    assert.equal(callsOf(turn)[0]?.status, 'rejected', callLines(turn).join('\n'));
    assert.equal(existsSync(file('notes.md')), false);
    const requests = await peer.model.requests();
    assert.ok(requests.some((request) => request.lastTool?.includes('Not in this folder, please.')));
  });

  test('the user changes the proposal before allowing it', async () => {
    agent.onAsk((ask) => ({ kind: 'option', optionId: ask.kind === 'approval' ? 'allow' : '', edited: '# Mine\n' }));
    const turn = await agent.prompt('SCN-WRITE');
    assert.equal(turn.status, 'done');
    assert.equal(readFileSync(file('notes.md'), 'utf8'), '# Mine\n');
    assert.deepEqual(
      changedFiles(turn).map((changed) => changed.diffs.map((diff) => diff.after)),
      [['# Mine\n']],
    );
  });

  test('a turn is stopped while an approval is open', async () => {
    agent.onAsk(() => undefined);
    const turnId = agent.begin('SCN-OUTSIDE');
    const asking = await agent.until('an approval', (session) => session.asks.length > 0);
    assert.match(asking.asks[0]?.title ?? '', /outside the workspace/);
    agent.live.send({ type: 'cancel' });
    const turn = await agent.ended(turnId);
    assert.equal(turn.status, 'cancelled');
    assert.deepEqual(agent.now().asks, []);
    assert.deepEqual(
      callsOf(turn).map((call) => call.status),
      ['cancelled'],
    );
  });

  test('a turn is stopped while a command runs', async () => {
    agent.onAsk(choose('allow_once'));
    const turnId = agent.begin('SCN-LONGSHELL');
    await agent.until('a running command', (session) =>
      session.turns.some((turn) => turn.id === turnId && callsOf(turn).some((call) => call.status === 'running')),
    );
    agent.live.send({ type: 'cancel' });
    const turn = await agent.ended(turnId);
    assert.equal(turn.status, 'cancelled');
    assert.equal(callsOf(turn)[0]?.status, 'cancelled', callLines(turn).join('\n'));
  });

  test('a turn is stopped while text streams, and keeps the text', async () => {
    const turnId = agent.begin('SCN-SLOW');
    await agent.until('text', (session) =>
      session.turns.some((turn) => turn.id === turnId && turn.parts.some((part) => part.kind === 'text')),
    );
    agent.live.send({ type: 'cancel' });
    const turn = await agent.ended(turnId);
    assert.equal(turn.status, 'cancelled');
    assert.match(textOf(turn), /^This/);
  });

  test('a question is answered', async () => {
    agent.onAsk((ask) => {
      if (ask.kind !== 'question') return undefined;
      assert.deepEqual(
        ask.fields[0]?.choices?.map((choice) => choice.label),
        ['Red', 'Blue'],
      );
      return { kind: 'fields', values: { [ask.fields[0]?.id ?? '']: ['Blue'] } };
    });
    const turn = await agent.prompt('SCN-ASK');
    assert.equal(turn.status, 'done');
    const requests = await peer.model.requests();
    assert.ok(requests.some((request) => /Blue/.test(request.lastTool ?? '')));
  });

  test('an editor tool runs over the control channel', async () => {
    agent.onAsk(choose('allow_once'));
    const turn = await agent.prompt('SCN-MCP');
    assert.equal(turn.status, 'done');
    const [call] = callsOf(turn);
    assert.equal(call?.name, 'open_in_ide');
    assert.match(JSON.stringify(call?.output), /Opened .*config\.json:2/);
  });

  test('a slash command runs', async () => {
    assert.ok(agent.now().commands.some((command) => command.name === 'context'));
    const turn = await agent.prompt('/context');
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    assert.match(textOf(turn), /context/i);
  });

  test("a sub-agent's work stands under its call", async () => {
    agent.onAsk(choose('allow_once'));
    const turn = await agent.prompt('SCN-AGENT');
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    const sub = callsOf(turn).find((call) => /agent|task/i.test(call.name));
    assert.ok(sub, callLines(turn).join('\n'));
    const inside = turn.parts.filter((part) => part.parent === sub.id);
    assert.ok(
      inside.some((part) => part.kind === 'call' && part.call.kind === 'read'),
      JSON.stringify(turn.parts).slice(0, 3000),
    );
    assert.match(textOf({ ...turn, parts: turn.parts.filter((part) => part.parent === undefined) }), /The helper is done/);
  });

  if (name === 'qwen') {
    test('it reports what has been used', async () => {
      assert.ok(agent.now().commands.some((command) => command.name === 'usage' && command.hint));
      const turn = await agent.prompt('/usage');
      assert.equal(turn.status, 'done', JSON.stringify(turn.error));
      assert.match(textOf(turn), /\| total tokens \| [\d,]+ \|/);
    });
  }

  test('the mode is changed, and edits are made without asking then', async () => {
    const edits = name === 'qwen' ? 'auto-edit' : 'acceptEdits';
    agent.live.send({ type: 'setMode', modeId: edits });
    await agent.until('the mode', (session) => session.mode?.current === edits);
    agent.onAsk(() => assert.fail('nothing should be asked'));
    const turn = await agent.prompt('SCN-PARALLEL');
    assert.equal(turn.status, 'done');
    assert.deepEqual(
      changedFiles(turn).map((changed) => [path.basename(changed.path), changed.diffs[0]?.before]),
      [
        ['a.txt', null],
        ['b.txt', null],
      ],
    );
  });

  test('what the agent offers for all later edits is shown in its words and not sent: each edit is asked about', async () => {
    agent.live.send({ type: 'setMode', modeId: 'default' });
    await agent.until('the mode that asks', (session) => session.mode?.current === 'default');
    const config = file('src', 'config.json');
    const offered: string[] = [];
    const edit = async () => {
      writeFileSync(config, readFileSync(config, 'utf8').replace('true', 'false'));
      const turn = await agent.prompt('SCN-EDIT');
      assert.equal(turn.status, 'done', JSON.stringify(turn.error));
      assert.match(readFileSync(config, 'utf8'), /"debug": true/, callLines(turn).join('\n'));
    };
    agent.onAsk((ask) => {
      if (ask.kind !== 'approval') return undefined;
      const later = ask.options.find((option) => option.effect === 'allow_always');
      if (later) offered.push(later.label);
      // It would cover files that run something by themselves.
      if (later) agent.live.send({ type: 'answer', askId: ask.id, answer: { kind: 'option', optionId: later.id } });
      const once = ask.options.find((option) => option.effect === 'allow_once');
      return once && { kind: 'option', optionId: once.id };
    });
    await edit();
    assert.match(offered[0] ?? '', name === 'qwen' ? /mode "Auto-edit"/ : /mode "Accept edits"/);
    await edit();
    assert.equal(offered.length, 2);
  });

  test('the conversation goes on after the agent was ended', async () => {
    agent.onAsk(choose('allow_once'));
    const key = agent.now().resumeKey;
    assert.ok(key);
    await agent.live.restart();
    await agent.ready();
    const turn = await agent.prompt('hello again');
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    assert.equal(agent.now().resumeKey, key);
    const last = (await peer.model.requests()).findLast((request) => request.label?.startsWith('hi'));
    assert.ok(((last as { nmsgs?: number } | undefined)?.nmsgs ?? 0) > 5, 'the earlier messages are part of the new request');
  });

  test('/clear empties the view; a restart before the next prompt goes on in the new conversation', async () => {
    const key = agent.now().resumeKey;
    const turnId = agent.begin('/clear');
    await agent.until('the cleared view', ({ turns, resumeKey }) => turns.length === 0 && resumeKey !== key);
    assert.ok(agent.events.some((event) => event.type === 'turn.ended' && event.turnId === turnId && event.status === 'done'));
    await agent.live.restart();
    await agent.ready();
    const turn = await agent.prompt('hello');
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    assert.notEqual(agent.now().resumeKey, key);
    const last = (await peer.model.requests()).findLast((request) => request.label?.startsWith('hi'));
    assert.ok(((last as { nmsgs?: number } | undefined)?.nmsgs ?? 99) < 6, 'nothing of what was said before is part of it');
  });
}

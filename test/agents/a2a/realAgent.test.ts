import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
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

  test('a call that is refused is not made, and the conversation goes on', async () => {
    agent.onAsk(choose('reject_once'));
    const turn = await agent.prompt('SCN-SHELL');
    assert.notEqual(turn.status, 'running');
    assert.deepEqual(
      callsOf(turn).map((call) => call.status),
      ['rejected'],
      callLines(turn).join('\n'),
    );
    const next = await agent.prompt('hello');
    assert.equal(next.status, 'done', JSON.stringify(next.error));
  });

  test('a command that is allowed runs and shows what it prints', async () => {
    agent.onAsk(choose('allow_once'));
    const turn = await agent.prompt('SCN-SHELL');
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    const [call] = callsOf(turn);
    assert.equal(call?.status, 'done');
    assert.match(JSON.stringify(call?.output), /three/);
  });

  test('what the user made of a proposed edit is what the file holds', async () => {
    agent.onAsk((ask) => {
      const answer = choose('allow_once')(ask);
      if (ask.kind !== 'approval' || ask.editable !== true || answer?.kind !== 'option') return answer;
      return { ...answer, edited: '{\n  "name": "mine",\n  "debug": true\n}\n' };
    });
    const turn = await agent.prompt('SCN-EDIT');
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    assert.match(readFileSync(path.join(peer.place.cwd, 'src', 'config.json'), 'utf8'), /mine/);
  });

  test('its slash commands are found and run', async () => {
    const names = agent.now().commands.map((command) => command.name);
    assert.ok(names.includes('memory'), names.join(' '));
    const turn = await agent.prompt('/memory show');
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    assert.notEqual(textOf(turn), '');
  });

  test("the editor's tools are found once the user turns them on, and open_in_ide is called", async () => {
    agent.live.send({ type: 'setOption', optionId: 'editorTools', value: true });
    await agent.until(
      'the switch',
      (now) => now.options?.some((one) => one.id === 'editorTools' && one.kind === 'switch' && one.on) === true,
    );
    const asked: string[] = [];
    agent.onAsk((ask) => {
      asked.push(ask.kind === 'approval' && ask.detail.type === 'mcp' ? ask.detail.tool : ask.title);
      return choose('allow_once')(ask);
    });
    // Servers for tools are started with a task.
    await agent.live.restart();
    await agent.ready();
    const turn = await agent.prompt('SCN-MCP');
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    assert.deepEqual(
      callsOf(turn).map((call) => [call.name.replace(/^mcp_editor_/, ''), call.status]),
      [['open_in_ide', 'done']],
      callLines(turn).join('\n'),
    );
    assert.match(JSON.stringify(callsOf(turn)[0]?.output), /Opened|config\.json/);
    assert.deepEqual(asked, [], 'a tool of ours that changes nothing is not asked about');
    agent.live.send({ type: 'setOption', optionId: 'editorTools', value: false });
    await agent.until(
      'no folder',
      (now) => now.options?.every((one) => one.id !== 'editorTools' || (one.kind === 'switch' && !one.on)) === true,
    );
    assert.equal(existsSync(path.join(peer.place.home, '.gemini', 'extensions', 'parley-editor-tools')), false);
  });

  test('a running command is ended by stop, and the conversation goes on', async () => {
    agent.onAsk(choose('allow_once'));
    const turnId = agent.begin('SCN-LONGSHELL');
    await agent.until('a running command', (now) =>
      now.turns.some((turn) => turn.id === turnId && callsOf(turn).some((call) => call.status === 'running')),
    );
    agent.live.send({ type: 'cancel' });
    const turn = await agent.ended(turnId);
    assert.equal(turn.status, 'cancelled');
    const next = await agent.prompt('hello');
    assert.equal(next.status, 'done', JSON.stringify(next.error));
  });

  test('a server that is killed in the middle of a turn is started again, and told what was said', async () => {
    agent.onAsk(() => undefined);
    agent.begin('SCN-WRITE');
    await agent.until('an ask', (now) => now.asks.length > 0);
    process.kill(peer.pid(), 'SIGKILL');
    await closed(agent);
    assert.equal(agent.now().asks.length, 0);
    assert.equal(agent.now().turns.at(-1)?.status, 'failed');
    agent.onAsk(choose('reject_once'));
    await agent.live.restart();
    await agent.ready();
    const turn = await agent.prompt('hello again');
    assert.equal(turn.status, 'done', JSON.stringify(turn.error));
    const told = (await peer.model.requests()).some((request) => request.lastUser?.includes('hello again'));
    assert.ok(told, 'the new server was asked');
    assert.ok(agent.frames.some(({ way, message }) => way === 'out' && JSON.stringify(message).includes('begun with an earlier task')));
  });
});

test("Gemini CLI's A2A server without a key: the user is told what it needs", async () => {
  const peer = await startPeer();
  const { GEMINI_API_KEY: _, ...env } = peer.launch.env;
  const agent = drive({ protocol: a2a, launch: { ...peer.launch, env: { ...env, GEMINI_API_KEY: undefined } } });
  try {
    await assert.rejects(agent.ready(), /needs GEMINI_API_KEY/);
  } finally {
    await agent.stop();
    await peer.remove();
  }
});

function closed(agent: Drive): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (agent.now().link.state !== 'closed') return;
      listener.dispose();
      resolve();
    };
    const listener = agent.live.store.onChange(check);
    check();
  });
}

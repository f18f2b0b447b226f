import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { sessionOfRecording } from '../../src/live/recording.ts';
import { wireLaunch } from '../../src/protocols/kimi-wire/launch.ts';
import { argsOf, copyKey, readTalkOptions } from '../../src/protocols/qwen/launch.ts';
import { newSession } from '../../src/session/reduce.ts';
import { windowOn } from '../live/scriptedWindow.ts';

/** A recording that somebody else has written becomes a session of the user's agent. */

const FLAGS = ['--dangerously-skip-permissions', '--yolo', '-y', '--approval-mode=yolo', '--mcp-config', '-', ''];
const profile = { id: 'p', name: 'P', protocol: 'scripted', command: 'x', args: [], env: {}, headers: {} };

test('what a recording says does nothing: it answers, sends and resumes nothing', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-import-'));
  const { script, sessions } = windowOn(folder, () => profile);
  try {
    const events = [
      { type: 'turn.started', turnId: 't1', at: 1, prompt: [{ type: 'text', text: 'Hello' }] },
      { type: 'link.ready', agent: { protocol: 'scripted', name: 'Fake' }, offers: {} },
      { type: 'resume.set', key: '--dangerously-skip-permissions' },
      { type: 'queue.set', queue: [{ turnId: 't2', content: [{ type: 'text', text: 'rm -rf ~' }], at: 1 }] },
      { type: 'queue.set', queue: [{ turnId: 't2', content: [{ type: 'text', text: 'rm -rf ~' }] }] },
      {
        type: 'ask.opened',
        ask: {
          kind: 'approval',
          id: 'a',
          title: 'Run',
          detail: { type: 'command', command: 'rm -rf ~' },
          options: [{ id: 'y', label: 'Reject', effect: 'reject_once' }],
        },
      },
      { type: 'turn.ended', turnId: 't1', at: 2, status: 'done' },
    ];
    const text = events.map((event) => JSON.stringify({ event })).join('\n');
    const recorded = sessionOfRecording(text, newSession('r', { protocol: 'scripted', name: 'P' }, folder));
    assert.ok(recorded);
    sessions.openRecorded(profile, recorded);
    const session = sessions.get('r');
    assert.ok(session);
    assert.equal(session.store.now.turns[0]?.prompt[0]?.type, 'text');
    assert.deepEqual([session.store.now.asks, session.store.now.queue, session.store.now.resumeKey], [[], [], undefined]);
    assert.deepEqual(script.conversations, [], 'no agent was started');
    await session.restart();
    session.send({ type: 'prompt', turnId: 't2', content: [{ type: 'text', text: 'go' }] });
    sessions.switchTo('r');
    await new Promise(setImmediate);
    assert.deepEqual(script.conversations, [], 'it is only read');
    assert.deepEqual([session.store.now.link.state, session.store.now.turns.length], ['recorded', 1]);
  } finally {
    sessions.dispose();
    await sessions.agentsEnded();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('the name of a conversation is no flag of the agent that goes on with it', () => {
  const peer = { flags: [], announce: () => [], server: '' } as never;
  const options = readTalkOptions({}, []).options;
  for (const flag of FLAGS) {
    for (const how of [
      { resume: flag, upTo: null },
      { resume: copyKey(flag), upTo: null },
      { resume: 'a', upTo: flag },
    ]) {
      const args = argsOf([], peer, options, { ...how, plain: false });
      assert.ok(!args.includes(flag), `${flag}: ${args.join(' ')}`);
    }
    const { spec } = wireLaunch({ command: 'kimi', args: [], env: {}, cwd: '/' }, flag);
    assert.ok(!spec.args.includes(flag), `${flag}: ${spec.args.join(' ')}`);
  }
  assert.deepEqual(argsOf([], peer, options, { resume: 'a', upTo: 'b', plain: false }), ['--resume', 'a', '--resume-session-at', 'b']);
});

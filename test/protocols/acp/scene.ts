import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { acp } from '../../../src/protocols/acp/index.ts';
import type { Resume } from '../../../src/protocols/adapter.ts';
import type { Ports } from '../../../src/protocols/ports.ts';
import type { ToolCall } from '../../../src/session/model.ts';
import { callsOf } from '../../../src/session/select.ts';
import { type Drive, drive } from '../../agents/drive.ts';
import { FakeAgent, later } from '../../fakes/acp.ts';

export interface Scene {
  readonly agent: FakeAgent;
  readonly cwd: string;
  /** Writes a file of the workspace and gives its path. */
  file(name: string, text: string): string;
  start(options?: {
    readonly resume?: Resume;
    readonly ports?: Partial<Ports>;
    readonly env?: Readonly<Record<string, string>>;
    readonly version?: '2';
    /** Further folders of the workspace. */
    readonly folders?: readonly string[];
    readonly now?: () => number;
  }): Drive;
}

/** A fake agent, a folder and live sessions; when the test is over all frames must have been good and nothing is left. */
export async function scene(t: TestContext): Promise<Scene> {
  const agent = await FakeAgent.start();
  const cwd = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-acp-')));
  const drives: Drive[] = [];
  t.after(async () => {
    for (const one of drives) await one.stop();
    await agent.stop();
    rmSync(cwd, { recursive: true, force: true });
    assert.deepEqual(agent.problems, []);
  });
  return {
    agent,
    cwd,
    file(name, text) {
      writeFileSync(path.join(cwd, name), text);
      return path.join(cwd, name);
    },
    start({ resume, ports, env, version, folders, now } = {}) {
      const made = drive({
        protocol: acp,
        launch: { ...agent.launch(cwd, env), ...(version ? { options: { version } } : {}), ...(folders ? { folders } : {}) },
        // No tools: the door is tried in a test of its own.
        ports: { tools: [], ...ports },
        ...(resume ? { resume } : {}),
        ...(now ? { now } : {}),
      });
      drives.push(made);
      return made;
    },
  };
}

/** A ready session whose prompts are not answered by themselves. `finish` ends the prompt that runs. */
export async function inTurn(made: Scene, options?: Parameters<Scene['start']>[0]) {
  const { agent } = made;
  agent.handlers['session/prompt'] = () => later;
  const driven = made.start(options);
  await driven.ready();
  const turnId = driven.begin('go');
  const { id } = await agent.got('session/prompt');
  return {
    driven,
    turnId,
    /** Ends the turn and gives it. */
    finish(stopReason = 'end_turn', more: object = {}) {
      agent.answer(id, { stopReason, ...more });
      return driven.ended(turnId);
    },
    /** Settles when the call of that id looks like this. */
    async call(callId: string, holds: (call: ToolCall) => boolean): Promise<ToolCall> {
      const find = () =>
        driven
          .now()
          .turns.flatMap(callsOf)
          .find((one) => one.id === callId && holds(one));
      await driven.until(`call ${callId}`, () => find() !== undefined);
      return find() as ToolCall;
    },
  };
}

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { methods } from '@agentclientprotocol/sdk';
import { EXTENSION } from '../../../src/protocols/a2a/schema.ts';
import { temporaryFolder } from '../agentProcess.ts';
import { startService } from '../fakeService.ts';
import { say, withAgent } from '../officialClient.ts';
import { user } from './aiSdkServed.ts';
import { ENVELOPE, finished, lendNothing, MESSAGES, request, servedWith, text } from './qwenServed.ts';

interface Scene {
  readonly t: TestContext;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly flags: readonly string[];
}

/** A server that listens: posts one body to it and reads the answer to its end. */
async function posted({ t, cwd, env, flags }: Scene, face: string, body: object): Promise<void> {
  const child = spawn(process.execPath, [path.resolve('dist/parley-agent.js'), '--protocol', face, ...flags], {
    cwd,
    env: { ...process.env, ...env, PARLEY_AGENT_TOKEN: 'tok', KIMI_SHARE_DIR: `${cwd}.home` },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.after(async () => {
    child.kill();
    await once(child, 'exit');
  });
  const [said]: unknown[] = await once(child.stdout.setEncoding('utf8'), 'data');
  const url = /http:\S+/.exec(String(said))?.[0] ?? '';
  const headers = { 'content-type': 'application/json', authorization: 'Bearer tok', 'x-a2a-extensions': EXTENSION };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = await response.text();
  assert.equal(response.status, 200, answer);
}

const faces: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  acp: ({ t, cwd, env, flags }) =>
    withAgent(
      t,
      cwd,
      async (agent, { updates }) => {
        const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
        assert.equal((await say(agent, sessionId, 'go')).stopReason, 'max_turn_requests');
        assert.match(JSON.stringify(updates), /"name":"skill:tidy"/);
      },
      { env, args: flags },
    ),
  'ai-sdk': (scene) => posted(scene, 'ai-sdk', { id: 'chat', messages: [user('go')] }),
  a2a: (scene) => {
    const message = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'go' }] };
    return posted(scene, 'a2a', { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message, configuration: { blocking: true } } });
  },
  "Qwen's envelope": async ({ t, env, flags }) => {
    const agent = servedWith(t, env, ...ENVELOPE, ...flags);
    agent.say(request(text('go')));
    await lendNothing(agent);
    await agent.line(finished);
    assert.match(agent.told.out, /MaxSessionTurns/);
  },
  "Qwen's messages": async ({ t, env, flags }) => {
    const agent = servedWith(t, env, ...MESSAGES, ...flags);
    agent.say({ type: 'user', message: { role: 'user', content: 'go' } });
    await agent.line((line) => line.type === 'result');
  },
  'plain text': async ({ t, env, flags }) => {
    const agent = servedWith(t, env, '--output-format', 'text', ...flags);
    agent.end('go');
    assert.equal(await agent.exited, 0);
  },
};

for (const [name, run] of Object.entries(faces)) {
  test(`${name}: a further folder of skills and the limit of steps hold`, async (t) => {
    const cwd = temporaryFolder(t);
    const skills = temporaryFolder(t);
    mkdirSync(path.join(skills, 'tidy'));
    writeFileSync(path.join(skills, 'tidy', 'SKILL.md'), '---\nname: tidy\ndescription: Tidies the attic\n---\nPut things away.\n');
    const service = await startService(t, [{ calls: [{ name: 'Glob', input: '{"pattern":"*.md"}' }] }]);
    const env = { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'm' };
    await run({ t, cwd, env, flags: ['--skills-dir', skills, '--max-steps-per-turn', '2'] });
    assert.equal(service.bodies.length, 2, 'steps');
    assert.match(JSON.stringify(service.bodies[0]?.messages[0]), /tidy: Tidies the attic/);
  });
}

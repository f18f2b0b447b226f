import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { methods } from '@agentclientprotocol/sdk';
import { EXTENSION } from '../../../src/protocols/a2a/schema.ts';
import { endAfter, temporaryFolder } from '../agentProcess.ts';
import { startService } from '../fakeService.ts';
import { say, withAgent } from '../officialClient.ts';
import { user } from './aiSdkServed.ts';
import { ENVELOPE, finished, MESSAGES, offerNoTools, request, servedWith, text } from './qwenServed.ts';

interface Scene {
  readonly t: TestContext;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly flags: readonly string[];
}

/** A server that listens: posts one body to it and reads the answer to its end. */
async function posted({ t, cwd, env, flags }: Scene, face: string, body: object): Promise<string> {
  const child = spawn(process.execPath, [path.resolve('dist/parley-agent.js'), '--protocol', face, ...flags], {
    cwd,
    env: { ...process.env, ...env, PARLEY_AGENT_TOKEN: 'tok', KIMI_SHARE_DIR: `${cwd}.home` },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  endAfter(t, async () => {
    child.kill();
    await once(child, 'exit');
  });
  const [said]: unknown[] = await once(child.stdout.setEncoding('utf8'), 'data');
  const url = /http:\S+/.exec(String(said))?.[0] ?? '';
  const headers = { 'content-type': 'application/json', authorization: 'Bearer tok', 'x-a2a-extensions': EXTENSION };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = await response.text();
  assert.equal(response.status, 200, answer);
  return answer;
}

/** Each says one thing to its server, and gives what that sent. */
const faces: Readonly<Record<string, (scene: Scene) => Promise<string>>> = {
  acp: async ({ t, cwd, env, flags }) => {
    let said = '';
    await withAgent(
      t,
      cwd,
      async (agent, { updates }) => {
        const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
        said += (await say(agent, sessionId, 'go')).stopReason;
        said += JSON.stringify(updates);
      },
      { env, args: flags },
    );
    return said;
  },
  'ai-sdk': (scene) => posted(scene, 'ai-sdk', { id: 'chat', messages: [user('go')] }),
  a2a: (scene) => {
    const message = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'go' }] };
    return posted(scene, 'a2a', { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message, configuration: { blocking: true } } });
  },
  "Qwen's envelope": async ({ t, env, flags }) => {
    const agent = servedWith(t, env, ...ENVELOPE, ...flags);
    agent.say(request(text('go')));
    await offerNoTools(agent);
    await agent.line(finished);
    return agent.told.out;
  },
  "Qwen's messages": async ({ t, env, flags }) => {
    const agent = servedWith(t, env, ...MESSAGES, ...flags);
    agent.say({ type: 'user', message: { role: 'user', content: 'go' } });
    await agent.line((line) => line.type === 'result');
    return agent.told.out;
  },
  'plain text': async ({ t, env, flags }) => {
    const agent = servedWith(t, env, '--output-format', 'text', ...flags);
    agent.end('go');
    assert.equal(await agent.exited, 0);
    return agent.told.out;
  },
};
/** What some of them say of the limit and of the skills. */
const says: Readonly<Record<string, readonly RegExp[]>> = {
  acp: [/^max_turn_requests/, /"name":"skill:tidy"/],
  "Qwen's envelope": [/MaxSessionTurns/],
};

for (const [name, run] of Object.entries(faces)) {
  test(`${name}: a further folder of skills and the limit of steps hold`, async (t) => {
    const cwd = temporaryFolder(t);
    const skills = temporaryFolder(t);
    mkdirSync(path.join(skills, 'tidy'));
    writeFileSync(path.join(skills, 'tidy', 'SKILL.md'), '---\nname: tidy\ndescription: Tidies the attic\n---\nPut things away.\n');
    const service = await startService(t, [{ calls: [{ name: 'Glob', input: '{"pattern":"*.md"}' }] }]);
    const env = { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'm' };
    const said = await run({ t, cwd, env, flags: ['--skills-dir', skills, '--max-steps-per-turn', '2'] });
    for (const words of says[name] ?? []) assert.match(said, words);
    assert.equal(service.bodies.length, 2, 'steps');
    assert.match(JSON.stringify(service.bodies[0]?.messages[0]), /tidy: Tidies the attic/);
  });
}

for (const [name, run] of Object.entries(faces)) {
  if (name === 'plain text') continue;
  test(`${name}: failures are told to the user in their language, and to the model in English`, async (t) => {
    const calls = [
      { name: 'ReadFile', input: '{"path":"none"}' },
      { name: 'Nothing', input: '{}' },
    ];
    const service = await startService(t, [{ calls }, { text: 'Done.' }]);
    const env = { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'm', PARLEY_LOCALE: 'zh-cn' };
    const said = await run({ t, cwd: temporaryFolder(t), env, flags: [] });
    for (const words of [/none 不存在。/, /没有工具“Nothing”。/]) assert.match(said, words);
    assert.doesNotMatch(said, /does not exist|There is no tool/);
    const results = JSON.stringify(service.bodies[1]?.messages);
    for (const words of [/none does not exist/, /There is no tool/]) assert.match(results, words);
  });
}

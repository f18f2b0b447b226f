import assert from 'node:assert/strict';
import { execSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { type Reply, startService } from '../../agent/fakeService.ts';
import { echoTool, textOf } from '../../protocols/ai-sdk/talk.ts';
import { official, parley, TOKEN } from './peers.ts';

execSync('npm run -s build:agent', { stdio: ['ignore', 'ignore', 'inherit'] });

/** The agent itself, over a model service that gives these replies. */
async function agent(t: TestContext, replies: readonly Reply[]) {
  const service = await startService(t, replies);
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-ai-sdk-'));
  const child = spawn(process.execPath, [path.resolve('dist/parley-agent.js'), '--protocol', 'ai-sdk', '--work-dir', cwd], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH ?? '',
      HOME: cwd,
      PARLEY_MODEL_BASE_URL: service.url,
      PARLEY_MODEL_NAME: 'fake',
      PARLEY_AGENT_TOKEN: TOKEN,
    },
  });
  t.after(async () => {
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number];
    rmSync(cwd, { recursive: true, force: true });
    assert.equal(code, 143);
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/\S+/.exec(line)?.[0];
    if (url) return { url, cwd, service };
  }
  throw new Error('the agent ended');
}

const CONVERSATION: readonly Reply[] = [
  { text: 'I open it.', calls: [{ id: 'k1', name: 'open_in_ide', input: '{"path":"a.ts"}' }] },
  { text: 'It is open.' },
  { calls: [{ id: 'k2', name: 'WriteFile', input: '{"path":"note.txt","content":"hello"}' }] },
  { text: 'It is written.' },
];
const tools = {
  open_in_ide: {
    description: 'Opens a file.',
    parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
};
const approvalTool = { request_approval: { description: 'Asks the user.', parameters: { type: 'object' } } };

for (const [client, what] of [
  ['official', 'the official client'],
  ['react', 'a page with useChat'],
  ['assistant', 'a page with assistant-ui'],
] as const)
  for (const version of [5, 6, 7]) {
    test(`${what} of version ${version}: text, its own tool, an approval`, async (t) => {
      const { url, cwd, service } = await agent(t, CONVERSATION);
      // Version 5 has no approvals of its own: it offers a tool for them.
      const viaTool = version === 5;
      const { messages, failures } = await official(
        version,
        url,
        {
          id: randomUUID(),
          prompts: ['open a.ts', 'write a note'],
          system: 'Answer in rhymes.',
          tools: viaTool ? { ...tools, ...approvalTool } : tools,
          outputs: { open_in_ide: { opened: true }, ...(viaTool ? { request_approval: { approved: true } } : {}) },
          approve: true,
        },
        client,
      );
      assert.deepEqual(failures, []);
      assert.deepEqual(
        messages.map((message) => message.role),
        ['user', 'assistant', 'user', 'assistant'],
      );
      const [first, second] = [messages[1]!, messages[3]!];
      const texts = (message: typeof first) => message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
      const states = (message: typeof first) =>
        message.parts.flatMap((part) => ('toolCallId' in part ? [[part.type, part.state, part.output]] : []));
      assert.deepEqual(texts(first), ['I open it.', 'It is open.']);
      assert.deepEqual(states(first), [['tool-open_in_ide', 'output-available', { opened: true }]]);
      assert.deepEqual(texts(second), ['It is written.']);
      assert.equal(states(second)[0]?.[1], 'output-available');
      assert.equal(readFileSync(path.join(cwd, 'note.txt'), 'utf8'), 'hello');
      assert.equal(service.bodies.length, 4);
      assert.ok(service.bodies[0]?.tools?.some((tool) => tool.function.name === 'open_in_ide'));
      if (client === 'assistant') assert.match(JSON.stringify(service.bodies[0]?.messages), /Answer in rhymes/);
    });
  }

for (const version of [6, 7]) {
  test(`the official client of version ${version} refuses an approval`, async (t) => {
    const { url, cwd } = await agent(t, CONVERSATION.slice(2));
    const { messages, failures } = await official(version, url, {
      id: randomUUID(),
      prompts: ['write'],
      tools,
      outputs: {},
      approve: false,
      reason: 'no notes',
    });
    assert.deepEqual(failures, []);
    const part = messages[1]?.parts.find((one) => 'toolCallId' in one);
    assert.equal(part?.state, 'output-denied');
    assert.equal(existsSync(path.join(cwd, 'note.txt')), false);
  });
}

for (const version of [5, 6, 7]) {
  test(`a page with useChat of version ${version} that is loaded again in the middle of an answer shows it from the beginning`, async (t) => {
    const { url, service } = await agent(t, [{ text: 'The first half', hang: true }]);
    const id = randomUUID();
    const script = { id, prompts: [], tools, outputs: {}, leaveAt: 'first half' };
    const before = await official(version, url, { ...script, prompts: ['go'] }, 'react');
    const after = await official(version, url, { ...script, resume: true, messages: before.messages.slice(0, 1) }, 'react');
    assert.deepEqual([before.failures, after.failures], [[], []]);
    assert.deepEqual(
      after.messages.map(({ role, parts }) => [role, parts.find((part) => part.type === 'text')?.text]),
      [
        ['user', 'go'],
        ['assistant', 'The first half'],
      ],
    );
    assert.deepEqual([after.messages[1]?.id, service.bodies.length], [before.messages[1]?.id, 1]);
  });
}

test('Parley: held open for its tool, an approval in between, one conversation', async (t) => {
  const { url, cwd } = await agent(t, CONVERSATION);
  const { prompt, say, asked, answer, ended } = await parley(t, url, [
    echoTool('open_in_ide', async () => ({ ok: true, text: '{"opened":true}' })),
  ]);
  assert.equal(textOf(await prompt('open a.ts')), 'I open it.|It is open.');
  const id = say('write a note');
  answer(await asked(), 'allow');
  assert.equal(textOf(await ended(id)), 'It is written.');
  assert.equal(readFileSync(path.join(cwd, 'note.txt'), 'utf8'), 'hello');
});

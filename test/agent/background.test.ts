import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { isAlive } from '../fakes/processes.ts';
import { type AgentProcess, startAgent, temporaryFolder } from './agentProcess.ts';
import { type Reply, type Service, startService } from './fakeService.ts';

const FULL = { protocol_version: '1.10', capabilities: { supports_question: true, supports_plan_mode: true } };
const call = (name: string, input: object) => ({ name, input: JSON.stringify(input) });
const inBackground = (command: string): Reply => ({ calls: [call('Shell', { command, run_in_background: true })] });

async function stage(t: TestContext, replies: readonly Reply[], args: readonly string[] = []) {
  const cwd = temporaryFolder(t);
  const service = await startService(t, replies);
  const agent = startAgent(t, { cwd, args, env: { PARLEY_MODEL_BASE_URL: service.url, PARLEY_MODEL_NAME: 'fake' } });
  await agent.ok('initialize', FULL);
  return { agent, service, cwd };
}

async function allow(agent: AgentProcess, action: string): Promise<Readonly<Record<string, unknown>>> {
  const { id, payload } = await agent.asked('ApprovalRequest');
  assert.equal(payload.action, action);
  agent.answer(id, { request_id: id, response: 'approve' });
  return payload;
}

/** The last state of a task that a result has shown. */
function lastTask(agent: AgentProcess): Readonly<Record<string, unknown>> {
  const blocks = agent.events('ToolResult').flatMap((event) => (event.return_value as { display: Record<string, unknown>[] }).display);
  return blocks.findLast((block) => block.type === 'background_task') ?? {};
}

async function fileOf(file: string): Promise<string> {
  while (!existsSync(file) || readFileSync(file, 'utf8').trim() === '') await new Promise((resolve) => setTimeout(resolve, 10));
  return readFileSync(file, 'utf8').trim();
}

const said = (service: Service): string => JSON.stringify(service.bodies.at(-1)?.messages);

test('a command in the background: asked for, left running, its end told in the next turn to client, hooks and model', async (t) => {
  const { agent, service, cwd } = await stage(t, [inBackground('echo done > out.txt'), { text: 'Started.' }, { text: 'I see.' }]);
  await agent.ok('initialize', { ...FULL, hooks: [{ id: 'n', event: 'Notification' }] });
  const first = agent.start('prompt', { user_input: 'start it' });
  await allow(agent, 'run background command');
  await agent.answerTo(first);
  assert.deepEqual([lastTask(agent).kind, lastTask(agent).status, lastTask(agent).description], ['bash', 'running', 'echo done > out.txt']);
  await fileOf(path.join(cwd, 'out.txt'));
  // News waits for a turn; it may take a moment until the end of the process is known.
  for (let turn = 0; agent.events('Notification').length === 0; turn += 1) {
    assert.ok(turn < 100, 'the end of the task was never told');
    const next = agent.start('prompt', { user_input: 'and now?' });
    const asked = await agent.find((message) => message.params?.type === 'HookRequest' || message.id === next);
    if (asked.id !== next) agent.answer(String(asked.id), { request_id: asked.id, action: 'allow', reason: '' });
    await agent.answerTo(next);
  }
  const [news] = agent.events('Notification');
  assert.deepEqual([news?.type, news?.source_id, news?.severity], ['task.completed', lastTask(agent).task_id, 'success']);
  assert.equal(agent.events('Notification').length, 1);
  assert.match(said(service), /is completed\. Exit code 0\./);
});

test('TaskList, TaskOutput and TaskStop show a task and end it with its whole group', async (t) => {
  const { agent, service, cwd } = await stage(t, [
    inBackground("echo hello; sh -c 'echo $$ > pid; exec sleep 600' & wait"),
    { calls: [call('TaskList', {})] },
    { text: 'Running.' },
  ]);
  const first = agent.start('prompt', { user_input: 'start it' });
  await allow(agent, 'run background command');
  await agent.answerTo(first);
  const id = String(lastTask(agent).task_id);
  assert.match(said(service), new RegExp(`${id} bash running`));
  const pid = Number(await fileOf(path.join(cwd, 'pid')));
  await agent.close();
  // It ends with the agent; the system may take a moment to bury it.
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
});

test('a task is looked at and stopped by the model', async (t) => {
  // The id is not known beforehand: the service gives calls with the id it is told.
  const { agent, service } = await stage(t, [inBackground('echo hello; sleep 600'), { text: 'ok' }]);
  const first = agent.start('prompt', { user_input: 'start it' });
  await allow(agent, 'run background command');
  await agent.answerTo(first);
  const task_id = String(lastTask(agent).task_id);
  service.next(
    { calls: [call('TaskOutput', { task_id, wait: 1 }), call('TaskOutput', { task_id: 'nothing' })] },
    { calls: [call('TaskStop', { task_id })] },
    { text: 'Stopped.' },
  );
  const second = agent.start('prompt', { user_input: 'stop it' });
  await allow(agent, 'stop background task');
  await agent.answerTo(second);
  const outputs = agent.events('ToolResult').map((event) => event.return_value as { output: string; message: string });
  assert.ok(outputs.some(({ output, message }) => output.includes('hello') && message.includes('running')));
  assert.ok(outputs.some(({ message }) => message.includes('There is no task nothing')));
  assert.equal(lastTask(agent).status, 'killed');
});

test('a sub-agent in the background asks without a turn, is asked again after a new handshake, and is not ended by a cancel', async (t) => {
  const order = { description: 'write a file', prompt: 'Write sub.txt', run_in_background: true };
  const { agent, service, cwd } = await stage(t, [{ calls: [call('Agent', order)] }, { text: 'It works on it.' }]);
  service.when('Write sub.txt', { calls: [call('WriteFile', { path: 'sub.txt', content: 'x' })] }, { text: 'Written.' });
  await agent.ok('prompt', { user_input: 'delegate' });
  const { id, payload } = await agent.asked('ApprovalRequest');
  assert.deepEqual(
    [payload.source_kind, payload.source_id, payload.source_description],
    ['background_agent', lastTask(agent).task_id, 'write a file'],
  );
  assert.equal((await agent.call('cancel')).error?.code, -32000);
  agent.messages.length = 0;
  await agent.ok('initialize', FULL);
  assert.deepEqual(
    agent.messages.map((message) => (message.params?.type === 'ApprovalRequest' ? message.id : 'answer')),
    [id, 'answer'],
  );
  agent.answer(id, { request_id: id, response: 'approve' });
  await fileOf(path.join(cwd, 'sub.txt'));
  assert.equal(agent.events('SubagentEvent').length, 0);
});

test('older versions know no background', async (t) => {
  const { agent, service } = await stage(t, [{ text: 'ok' }], ['--wire-version', '1.5']);
  await agent.ok('prompt', { user_input: 'x' });
  const offered = service.bodies[0]?.tools?.map((tool) => tool.function.name) ?? [];
  assert.ok(offered.includes('Shell') && !offered.includes('TaskList'));
});

test('a side question is answered from the conversation and not kept in it; a failure is told', async (t) => {
  const { agent, service } = await stage(t, [
    { text: 'Hello.' },
    { text: 'Because.' },
    { text: 'ok' },
    { status: 400, message: 'no more' },
  ]);
  const { slash_commands } = await agent.ok('initialize', FULL);
  assert.ok((slash_commands as { name: string }[]).some(({ name }) => name === 'btw'));
  await agent.ok('prompt', { user_input: 'hello' });
  await agent.ok('prompt', { user_input: '/btw why?' });
  const [began] = agent.events('BtwBegin');
  assert.equal(began?.question, 'why?');
  assert.deepEqual(agent.events('BtwEnd'), [{ id: began?.id, response: 'Because.', error: null }]);
  assert.match(said(service), /hello.*why\?/);
  await agent.ok('prompt', { user_input: 'go on' });
  assert.ok(!said(service).includes('why?'));
  assert.deepEqual(await agent.ok('prompt', { user_input: '/btw again?' }), { status: 'finished' });
  assert.match(String(agent.events('BtwEnd')[1]?.error), /no more/);
});

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Message, Role, type SendMessageRequest, type StreamResponse, TaskState } from '@a2a-js/sdk';
import { ClientFactory, ServiceParameters, withA2AExtensions } from '@a2a-js/sdk/client';
import { A2AClient } from 'a2a-sdk-0.3/client';
import { serveA2a } from '../../../src/agent/servers/a2a/serve.ts';
import { EXTENSION } from '../../../src/protocols/a2a/schema.ts';
import { type Line, scriptedModel } from '../scripted.ts';

// The official JavaScript clients, as published: 0.3 and 1.x with their defaults.

async function served(t: TestContext, lines: readonly Line[]) {
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-official-'));
  const agent = await serveA2a({ model: scriptedModel(lines), workspace: { cwd, roots: [cwd] }, port: 0 });
  t.after(async () => {
    await agent.end();
    rmSync(cwd, { recursive: true, force: true });
  });
  return { cwd, url: agent.url };
}
const write = { calls: [['WriteFile', { path: 'a.txt', content: 'x\n' }]] as const };
const isFields = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;

/** A client of 1.x with the extension's header. */
async function newer(url: string) {
  const client = await new ClientFactory().createFromUrl(url);
  const serviceParameters = ServiceParameters.create(withA2AExtensions(EXTENSION));
  const message = (part: Message['parts'][number]['content'], more: Partial<Message> = {}): SendMessageRequest => ({
    tenant: '',
    configuration: undefined,
    metadata: undefined,
    message: {
      messageId: String(Math.random()),
      role: Role.ROLE_USER,
      contextId: '',
      taskId: '',
      extensions: [],
      referenceTaskIds: [],
      metadata: undefined,
      parts: [{ content: part, metadata: undefined, filename: '', mediaType: '' }],
      ...more,
    },
  });
  const say = async (request: SendMessageRequest) => {
    const told: StreamResponse[] = [];
    for await (const one of client.sendMessageStream(request, { serviceParameters })) told.push(one);
    return told;
  };
  return { client, serviceParameters, message, say };
}
const words = (text: string) => ({ $case: 'text' as const, value: text });
/** States, texts and data of a stream of 1.x. */
function seen(told: readonly StreamResponse[]) {
  const updates = told.flatMap(({ payload }) => (payload?.$case === 'statusUpdate' ? [payload.value] : []));
  const parts = updates.flatMap(({ status }) => status?.message?.parts ?? []);
  return {
    first: told[0]?.payload?.$case,
    state: updates.at(-1)?.status?.state,
    text: parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join(''),
    calls: parts.flatMap(({ content }) => (content?.$case === 'data' && isFields(content.value) ? [content.value] : [])),
    ids: { taskId: updates[0]?.taskId ?? '', contextId: updates[0]?.contextId ?? '' },
  };
}

test('a client of 1.x that activates the extension: a prompt, an approval, the task and its list', async (t) => {
  const { cwd, url } = await served(t, [write, 'Written.']);
  const { client, message, say } = await newer(url);
  const first = seen(await say(message(words('write'))));
  assert.deepEqual([first.first, first.state], ['task', TaskState.TASK_STATE_INPUT_REQUIRED]);
  assert.equal(existsSync(path.join(cwd, 'a.txt')), false);
  const data = { tool_call_id: first.calls.at(-1)?.tool_call_id, selected_option_id: 'proceed_once' };
  const second = seen(await say(message({ $case: 'data', value: data }, first.ids)));
  assert.deepEqual([second.first, second.state, second.text], ['task', TaskState.TASK_STATE_COMPLETED, 'Written.']);
  assert.equal(existsSync(path.join(cwd, 'a.txt')), true);
  const task = await client.getTask({ tenant: '', id: first.ids.taskId, historyLength: 2 });
  assert.deepEqual([task.status?.state, task.history.length], [TaskState.TASK_STATE_COMPLETED, 2]);
  const list = await client.listTasks({
    tenant: '',
    contextId: first.ids.contextId,
    status: TaskState.TASK_STATE_COMPLETED,
    pageToken: '',
    statusTimestampAfter: undefined,
  });
  assert.deepEqual(
    list.tasks.map(({ id }) => id),
    [first.ids.taskId],
  );
});

test('a client of 1.x: the answer at once, the end by cancel, and errors of that version', async (t) => {
  const { url } = await served(t, [write]);
  const { client, message, say, serviceParameters } = await newer(url);
  const first = seen(await say(message(words('write'))));
  const canceled = await client.cancelTask({ tenant: '', id: first.ids.taskId, metadata: undefined });
  assert.equal(canceled.status?.state, TaskState.TASK_STATE_CANCELED);
  const named = (error: unknown) => (error instanceof Error ? error.name : '');
  const refusal = async (does: () => Promise<unknown>) => does().then(() => 'done', named);
  const asked = { tenant: '', metadata: undefined };
  assert.deepEqual(
    [
      await refusal(() => client.cancelTask({ ...asked, id: 'nobody' })),
      await refusal(() => client.sendMessage(message(words('more'), first.ids), { serviceParameters })),
      await refusal(() => client.sendMessage(message(words('no header')))),
      await refusal(() => client.sendMessage(message({ $case: 'url', value: 'http://x/' }), { serviceParameters })),
    ],
    ['TaskNotFoundError', 'UnsupportedOperationError', 'ExtensionSupportRequiredError', 'ContentTypeNotSupportedError'],
  );
});

test('a client of 0.3: a prompt, an approval, the next prompt in the completed task, and its errors', async (t) => {
  const { cwd, url } = await served(t, [write, 'Written.', 'Again.']);
  const withHeader = (input: string | URL | Request, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set('X-A2A-Extensions', EXTENSION);
    return fetch(input, { ...init, headers });
  };
  const client = await A2AClient.fromCardUrl(`${url}/.well-known/agent-card.json`, { fetchImpl: withHeader as typeof fetch });
  type Params = Parameters<typeof client.sendMessageStream>[0];
  const message = (part: Params['message']['parts'][number], more: Partial<Params['message']> = {}): Params => ({
    message: { kind: 'message', role: 'user', messageId: String(Math.random()), parts: [part], ...more },
  });
  const say = async (params: Params) => {
    const states: string[] = [];
    let text = '';
    let last: { taskId: string; contextId: string; final: boolean } | undefined;
    let callId: unknown;
    for await (const one of client.sendMessageStream(params)) {
      if (one.kind !== 'status-update') continue;
      last = one;
      states.push(one.status.state);
      for (const part of one.status.message?.parts ?? []) {
        if (part.kind === 'text') text += part.text;
        if (part.kind === 'data') callId = part.data.tool_call_id;
      }
    }
    return {
      state: states.at(-1),
      final: last?.final,
      text,
      callId,
      ids: { taskId: last?.taskId ?? '', contextId: last?.contextId ?? '' },
    };
  };
  const first = await say(message({ kind: 'text', text: 'write' }));
  assert.deepEqual([first.state, first.final], ['input-required', true]);
  const data = { tool_call_id: first.callId, selected_option_id: 'proceed_once' };
  const second = await say(message({ kind: 'data', data }, first.ids));
  assert.deepEqual([second.state, second.text, existsSync(path.join(cwd, 'a.txt'))], ['completed', 'Written.', true]);
  const whole = await client.sendMessage({
    ...message({ kind: 'text', text: 'again' }, first.ids),
    configuration: { blocking: true, historyLength: 1 },
  });
  assert.ok('result' in whole && whole.result.kind === 'task');
  assert.deepEqual([whole.result.status.state, whole.result.history?.length], ['completed', 1]);
  const missing = await client.getTask({ id: 'nobody' });
  assert.equal('error' in missing && missing.error.code, -32001);
});

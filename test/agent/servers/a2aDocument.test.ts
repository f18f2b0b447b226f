import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ModelPiece } from '../../../src/agent/models/model.ts';
import { type A2aServeOptions, serveA2a } from '../../../src/agent/servers/a2a/serve.ts';
import { EXTENSION } from '../../../src/protocols/a2a/schema.ts';
import type { Json } from '../../fakes/a2a.ts';
import { type Line, scriptedModel } from '../scripted.ts';

// What the extension's document lets an agent send, item by item; docs/protocols/a2a.md has the table.

interface Told {
  readonly result?: Json;
  readonly error?: { readonly code: number; readonly message: string };
}

async function served(t: TestContext, lines: readonly Line[], more: Partial<A2aServeOptions> = {}) {
  const cwd = mkdtempSync(path.join(tmpdir(), 'parley-document-'));
  const agent = await serveA2a({ model: scriptedModel(lines), workspace: { cwd, roots: [cwd] }, port: 0, ...more });
  t.after(async () => {
    await agent.end();
    rmSync(cwd, { recursive: true, force: true });
  });
  const ask = async (method: string, params: unknown, others: Record<string, string> = {}) => {
    const headers = { 'content-type': 'application/json', 'x-a2a-extensions': EXTENSION, ...others };
    const answer = await fetch(agent.url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) });
    const text = await answer.text();
    const isStream = (answer.headers.get('content-type') ?? '').includes('event-stream');
    return (isStream ? [...text.matchAll(/^data: (.*)$/gm)].map(([, one]) => one ?? '') : [text]).map((one) => JSON.parse(one) as Told);
  };
  const say = async (parts: readonly Json[], more: Json = {}) => {
    const message = { kind: 'message', role: 'user', messageId: String(Math.random()), parts, ...more };
    return seen(await ask('message/stream', { message }));
  };
  return { cwd, ask, say, prompt: (text: string, more: Json = {}) => say([{ kind: 'text', text }], more) };
}
/** The snapshots of calls, thoughts and the ids in the answer to a message. */
function seen(told: readonly Told[]) {
  const records = told.map(({ result }) => result ?? {});
  const data = records.flatMap(({ status }): Json[] => {
    const { message } = (status ?? {}) as { message?: { parts: readonly { data?: Json }[] } };
    return (message?.parts ?? []).flatMap(({ data: one }) => (one ? [one] : []));
  });
  const { taskId = '', contextId = '' } = records.at(-1) ?? {};
  return {
    records,
    calls: data.filter(({ tool_call_id }) => tool_call_id !== undefined),
    data,
    last: records.at(-1),
    ids: { taskId, contextId },
  };
}
const decision = (id: unknown, option: string): readonly Json[] => [
  { kind: 'data', data: { tool_call_id: id, selected_option_id: option } },
];

test('a list of things to do is structured data, not text', async (t) => {
  const items = [{ title: 'Look', status: 'done' }];
  const { prompt } = await served(t, [{ calls: [['SetTodoList', { todos: items }]] }, 'Done.']);
  const { calls } = await prompt('plan');
  assert.deepEqual(calls.at(-1)?.output, { structured_data: { items } });
});

test('a failure has its class, and a command its exit code', async (t) => {
  const { prompt, say } = await served(t, [
    { calls: [['ReadFile', { path: 'missing.txt' }]] },
    { calls: [['Shell', { command: 'exit 3' }]] },
    'Done.',
  ]);
  const first = await prompt('go');
  const failed = first.calls.find(({ status }) => status === 'FAILED')?.error as Json;
  assert.equal(failed.type, 'read_content_failure');
  const second = await say(decision(first.calls.at(-1)?.tool_call_id, 'proceed_once'), first.ids);
  const { type, status_code } = (second.calls.at(-1)?.error ?? {}) as Json;
  assert.deepEqual([type, status_code], ['shell_execute_error', 3]);
});

/** An MCP server with one tool that changes things and one that does not. */
async function mcpServer(t: TestContext) {
  const called: unknown[] = [];
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { id?: number; method: string; params: Json };
    if (method === 'tools/call') called.push(params.name);
    const inputSchema = { type: 'object', properties: {} };
    const result =
      method === 'tools/list'
        ? {
            tools: [
              { name: 'deploy', description: 'Deploys', inputSchema },
              { name: 'look', description: 'Looks', inputSchema, annotations: { readOnlyHint: true } },
            ],
          }
        : method === 'tools/call'
          ? { content: [{ type: 'text', text: 'ok' }], structuredContent: { place: 'north' } }
          : {};
    response.setHeader('content-type', 'application/json');
    response.end(id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, called };
}

test('a tool of a server that the settings name is asked about by its server and name; one that only reads is not', async (t) => {
  const { url, called } = await mcpServer(t);
  const { prompt, say } = await served(t, [{ calls: [['look', {}]] }, { calls: [['deploy', {}]] }, { calls: [['deploy', {}]] }, 'Done.']);
  const metadata = { [EXTENSION]: { mcp_servers: { ops: { url } } } };
  const first = await prompt('go', { metadata });
  assert.deepEqual(called, ['look']);
  const request = first.calls.at(-1)?.confirmation_request as Json;
  assert.deepEqual(request.mcp_details, { server_name: 'ops', tool_name: 'deploy' });
  const second = await say(decision(first.calls.at(-1)?.tool_call_id, 'proceed_once'), first.ids);
  assert.deepEqual(
    [called, second.calls.find(({ status }) => status === 'SUCCEEDED')?.output],
    [['look', 'deploy'], { structured_data: { place: 'north' } }],
  );
  await say(decision(second.calls.at(-1)?.tool_call_id, 'cancel'), first.ids);
  assert.deepEqual(called, ['look', 'deploy'], 'what was refused does not run');
});

test('settings that name a server by no HTTP address end the task with the reason', async (t) => {
  const { prompt } = await served(t, ['Never said.']);
  for (const server of [{ command: 'rm' }, { url: 'file:///etc/passwd' }, {}, 'x'])
    assert.equal((await prompt('go', { metadata: { [EXTENSION]: { mcp_servers: { ops: server } } } })).last?.final, true);
});

test('a thought with a heading has it as its subject', async (t) => {
  const line = async function* (): AsyncIterable<ModelPiece> {
    yield { type: 'thought', text: '**Where to look**\n\nIn the tests.' };
    yield { type: 'text', text: 'There.' };
  };
  const { data } = await (await served(t, [line])).prompt('go');
  assert.deepEqual(data, [{ subject: 'Where to look', description: 'In the tests.' }]);
});

test('commands name their arguments, and whether one must be given', async (t) => {
  const { ask } = await served(t, []);
  const [told] = await ask('commands/get', {});
  const commands = (told?.result?.commands ?? []) as readonly { name: string; arguments: readonly Json[] }[];
  const argumentsOf = (name: string) => commands.find((one) => one.name === name)?.arguments.map((one) => [one.name, one.is_required]);
  assert.deepEqual([argumentsOf('plan'), argumentsOf('init'), argumentsOf('clear')], [[['mode', false]], [['focus', false]], []]);
});

for (const [call, status] of [
  [['Shell', { command: 'ls' }], 'AWAITING_SHELL_CONFIRMATION'],
  [['WriteFile', { path: 'AGENTS.md', content: 'x' }], 'AWAITING_ACTION_CONFIRMATION'],
] as const)
  test(`a command whose first step waits for the user says so to a client that takes no stream: ${status}`, async (t) => {
    const { ask, say, cwd } = await served(t, [{ calls: [call] }, 'Done.']);
    const [told] = await ask('command/execute', { command_path: ['init'] }, { accept: 'application/json' });
    assert.equal(told?.result?.status, status);
    const id = told?.result?.execution_id;
    const [task] = await ask('tasks/get', { id, historyLength: 50 });
    const waiting = /"tool_call_id":"([^"]+)","status":"PENDING"/.exec(JSON.stringify(task))?.[1];
    const { last } = await say(decision(waiting, 'proceed_once'), { taskId: id });
    assert.equal(((last?.status ?? {}) as Json).state, 'completed');
    assert.equal(existsSync(path.join(cwd, 'AGENTS.md')), status === 'AWAITING_ACTION_CONFIRMATION');
  });

test('what is no request of JSON-RPC 2.0, or of this version of A2A, is refused with the code of its own', async (t) => {
  const { ask } = await served(t, []);
  const codeOf = async (method: string, params: unknown, headers?: Record<string, string>) =>
    (await ask(method, params, headers))[0]?.error?.code;
  assert.deepEqual(
    [
      await codeOf('', {}),
      await codeOf('tasks/get', []),
      await codeOf('tasks/get', {}),
      await codeOf('tasks/get', { id: 'x', historyLength: -1 }),
      await codeOf('GetTask', { id: 'x' }),
      await codeOf('tasks/get', { id: 'x' }, { 'a2a-version': '1.0' }),
      await codeOf('GetTask', { id: 'x' }, { 'a2a-version': '1.0' }),
      await codeOf('tasks/get', { id: 'x' }, { 'a2a-version': '2.0' }),
      await codeOf('agent/getAuthenticatedExtendedCard', {}),
      await codeOf('__proto__', {}),
    ],
    [-32600, -32602, -32602, -32602, -32601, -32601, -32001, -32009, -32007, -32601],
  );
});

test('a long answer is told piece by piece, and a client chooses how much of the history it reads', async (t) => {
  const pieces = 4000;
  const line = async function* (): AsyncIterable<ModelPiece> {
    for (let at = 0; at < pieces; at++) yield { type: 'text', text: `${at} ` };
  };
  const { prompt, ask } = await served(t, [line]);
  const { records, ids } = await prompt('count');
  assert.equal(records.filter(({ kind }) => kind === 'status-update').length, pieces + 2);
  const [task] = await ask('tasks/get', { id: ids.taskId, historyLength: 3 });
  assert.equal(((task?.result?.history ?? []) as readonly unknown[]).length, 3);
});

test('what a running command prints stands once in the task, not once for each time it was told', async (t) => {
  const { prompt, say, ask } = await served(t, [
    { calls: [['Shell', { command: 'for i in 1 2 3 4 5; do echo $i; sleep 0.02; done' }]] },
    'Done.',
  ]);
  const first = await prompt('run');
  await say(decision(first.calls.at(-1)?.tool_call_id, 'proceed_once'), first.ids);
  const [task] = await ask('tasks/get', { id: first.ids.taskId });
  assert.equal([...JSON.stringify(task).matchAll(/"status":"EXECUTING"/g)].length, 1);
});

test('the sample flow of the document, event by event, each under the address of the extension', async (t) => {
  const { cwd, prompt, say } = await served(t, [{ calls: [['WriteFile', { path: 'a.txt', content: 'x' }]] }, 'Written.']);
  const asked = await prompt('write', { metadata: { [EXTENSION]: { workspace_path: cwd } } });
  const allowed = await say(decision(asked.calls.at(-1)?.tool_call_id, 'proceed_once'), asked.ids);
  const flow = ({ records }: { readonly records: readonly Json[] }) =>
    records.map((one) => {
      const { state, message } = one.status as { state: string; message?: { parts: readonly { text?: string; data?: Json }[] } };
      const [part] = message?.parts ?? [];
      const { kind } = ((one.metadata ?? {}) as Record<string, Json>)[EXTENSION] ?? {};
      return [one.kind, kind, state, one.final, part?.data?.status ?? part?.text, part?.data?.confirmation_request !== undefined].join(' ');
    });
  assert.deepEqual(flow(asked), [
    'task  submitted   false',
    'status-update STATE_CHANGE working false  false',
    'status-update TOOL_CALL_UPDATE working false PENDING false',
    'status-update TOOL_CALL_CONFIRMATION working false PENDING true',
    'status-update STATE_CHANGE input-required true  false',
  ]);
  assert.deepEqual(flow(allowed), [
    'status-update TOOL_CALL_UPDATE working false EXECUTING false',
    'status-update TOOL_CALL_UPDATE working false SUCCEEDED false',
    'status-update TEXT_CONTENT working false Written. false',
    'status-update STATE_CHANGE completed true  false',
  ]);
});

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { AgentCard } from 'a2a-sdk-0.3';
import { type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler } from 'a2a-sdk-0.3/server';
import { callsOf } from '../../../src/session/select.ts';
import { type Asked, asks, fakeAgent, type Json, over, status, text, URI } from '../../fakes/a2a.ts';
import { option, talk, textOf } from './talk.ts';

test('A2A 1.0: its methods, headers, roles, parts and wrappers, and the tenant in every request', async (t) => {
  const { kind: _, ...waiting } = status('', '', [], {}) as { kind: string; status: object };
  const record = (state: string, parts: readonly object[]) => ({
    statusUpdate: {
      ...waiting,
      final: undefined,
      metadata: undefined,
      status: { state, message: { role: 'ROLE_AGENT', messageId: randomUUID(), parts } },
    },
  });
  const agent = await fakeAgent(t, {
    before: (request, response) => {
      if (request.method !== 'GET' || request.url !== '/.well-known/agent-card.json') return false;
      const url = `http://${request.headers.host}/rpc`;
      const supportedInterfaces = [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: 'me' }];
      response.end(JSON.stringify({ name: 'New', supportedInterfaces, capabilities: { streaming: true, extensions: [{ uri: URI }] } }));
      return true;
    },
    on: {
      SendStreamingMessage: (_asked, reply, at) => {
        const call = { toolCallId: 'k1', toolName: 'x', status: at === 0 ? 'TOOL_CALL_STATUS_PENDING' : 3, ...(at === 0 ? asks : {}) };
        if (at === 0) reply.record({ task: { id: 't1', contextId: 'c1', status: { state: 'TASK_STATE_SUBMITTED' } } });
        reply.record(record('TASK_STATE_WORKING', [{ data: call }]));
        if (at === 1) reply.record(record('TASK_STATE_WORKING', [{ text: 'New words.' }]));
        reply.record(record(at === 0 ? 'TASK_STATE_INPUT_REQUIRED' : 'TASK_STATE_COMPLETED', []));
        reply.end();
      },
    },
  });
  const session = talk(t, agent.url);
  const turnId = session.begin('go');
  const ask = await session.approval();
  session.answer(ask, option(ask, 'allow_once'));
  const turn = await session.ended(turnId);
  assert.deepEqual([turn.status, textOf(turn), callsOf(turn)[0]?.status], ['done', 'New words.', 'done']);
  const [first, second] = agent.requests('SendStreamingMessage');
  assert.deepEqual([first?.headers['a2a-version'], first?.headers['a2a-extensions'], first?.params.tenant], ['1.0', URI, 'me']);
  const { parts } = (second?.params.message ?? {}) as { parts?: unknown };
  assert.deepEqual(parts, [{ data: { toolCallId: 'k1', selectedOptionId: 'proceed_once' } }], 'in the names the agent uses');
});

test("an agent on the project's own server library, without the extension, can be chatted with", async (t) => {
  const card: AgentCard = {
    name: 'Plain',
    description: '',
    url: 'http://localhost/',
    version: '1',
    protocolVersion: '0.3.0',
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  };
  const executor: AgentExecutor = {
    execute: async ({ taskId, contextId, userMessage, task: known }, bus) => {
      const ids = { taskId, contextId };
      if (!known) bus.publish({ kind: 'task', id: taskId, contextId, status: { state: 'submitted' }, history: [userMessage] });
      bus.publish({ kind: 'artifact-update', ...ids, artifact: { artifactId: 'a', parts: [{ kind: 'text', text: 'Plain ' }] } });
      bus.publish({
        kind: 'artifact-update',
        ...ids,
        append: true,
        artifact: { artifactId: 'a', parts: [{ kind: 'text', text: 'words.' }] },
      });
      bus.publish({ kind: 'status-update', ...ids, final: true, status: { state: 'completed' } });
      bus.finished();
    },
    cancelTask: async () => {},
  };
  const rpc = new JsonRpcTransportHandler(new DefaultRequestHandler(card, new InMemoryTaskStore(), executor));
  const agent = await fakeAgent(t, {
    card: { ...card },
    before: (request, response, body) => {
      if (request.method !== 'POST') return false;
      void rpc.handle(body).then(async (result) => {
        if (!(Symbol.asyncIterator in result)) return response.setHeader('content-type', 'application/json').end(JSON.stringify(result));
        response.setHeader('content-type', 'text/event-stream');
        try {
          for await (const one of result) response.write(`data: ${JSON.stringify(one)}\n\n`);
        } catch (error) {
          // As the library's own web server says it.
          const { code, message } = error as { readonly code: number; readonly message: string };
          response.write(`event: error\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code, message } })}\n\n`);
        }
        return response.end();
      });
      return true;
    },
  });
  const session = talk(t, agent.url);
  assert.equal(textOf(await session.prompt('one')), 'Plain words.');
  assert.equal(textOf(await session.prompt('two')), 'Plain words.', 'a completed task of the library takes no more: a new one was made');
});

for (const [said, spoken] of [
  ['1.0', 'message/stream'],
  ['0.3', 'SendStreamingMessage'],
] as const)
  test(`a card that says ${said} while the agent speaks the other version: tried once in that, and from then on`, async (t) => {
    const agent = await fakeAgent(t, {
      card: said === '1.0' ? { supportedInterfaces: [{ url: '/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] } : {},
      on: {
        [spoken]: (_, reply) => {
          reply.record(status('working', 'TEXT_CONTENT', [text('Hello.')]));
          reply.record(over('input-required'));
          reply.end();
        },
      },
    });
    const session = talk(t, agent.url);
    assert.equal(textOf(await session.prompt('go')), 'Hello.');
    assert.equal(textOf(await session.prompt('on')), 'Hello.');
    const sent = agent.asked.filter(({ method }) => /message|Message/.test(method));
    assert.equal(sent.length, 3, 'the first prompt twice, the second once');
    const { params, headers } = agent.requests(spoken)[0] as Asked;
    const { parts, metadata } = params.message as { parts: Json[]; metadata?: Json };
    assert.deepEqual(parts, [spoken === 'message/stream' ? { kind: 'text', text: 'go' } : { text: 'go' }]);
    assert.ok(metadata, 'the settings are said again');
    assert.equal(headers['a2a-version'], spoken === 'message/stream' ? undefined : '1.0');
  });

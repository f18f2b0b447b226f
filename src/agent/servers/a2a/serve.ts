import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Message, Part, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import {
  type AgentExecutor,
  DefaultExecutionEventBusManager,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
} from '@a2a-js/sdk/server';
import { messageOf } from '../../../base/log.ts';
import { EXTENSION } from '../../../protocols/a2a/schema.ts';
import { type Command, commandsOf } from '../../commands.ts';
import type { Model } from '../../models/model.ts';
import { findSkills, skillCommands } from '../../skills.ts';
import type { Workspace } from '../../workspace/paths.ts';
import { bodyText, listenHttp, sendJson } from '../httpServer.ts';
import { agentCard } from './card.ts';
import { decisionIn } from './decision.ts';
import type { EditorTools } from './editorTools.ts';
import { commandIn, tellsOnlyThisMachine } from './params.ts';
import { Run, refuse } from './run.ts';
import { workspaceOf } from './workspace.ts';

export interface ServeOptions {
  readonly model: Model;
  readonly workspace: Workspace;
  /** 0 takes any that is free. */
  readonly port: number;
  /** What the editor that started this agent lends. */
  readonly editor?: EditorTools;
  /** Web pages of these origins may talk to it. */
  readonly origins?: readonly string[];
  /** Asked for as a bearer token of every request, when there is one. */
  readonly token?: string;
}
export interface Served {
  readonly url: string;
  end(): Promise<void>;
}

const CARD = '/.well-known/agent-card.json';
const KEEP_ALIVE = 15_000;
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;

/** Serves A2A 0.3 with the development-tool extension on the loopback interface. */
export async function serveA2a(options: ServeOptions): Promise<Served> {
  const runs = new Map<string, Run>();
  const contexts = new Map<string, string>();
  const executor: AgentExecutor = {
    execute: async (request, bus) => {
      const { contextId, taskId, userMessage } = request;
      let run = runs.get(contextId);
      if (!run) {
        try {
          run = new Run(options.model, await workspaceOf(options.workspace, userMessage.metadata), options.editor);
        } catch (error) {
          return refuse(request, bus, messageOf(error));
        }
        runs.set(contextId, run);
      }
      contexts.set(taskId, contextId);
      await run.take(request, bus);
    },
    cancelTask: async (taskId) => void (await runs.get(contexts.get(taskId) ?? '')?.stop()),
  };
  const server = await listenHttp(
    {
      port: options.port,
      ...(options.token === undefined ? {} : { token: options.token }),
      origins: options.origins ?? [],
      isPublic: (request, path) => request.method === 'GET' && path === CARD,
      allowedHeaders: ['x-a2a-extensions', 'a2a-extensions', 'a2a-version'],
    },
    (request, response, path) => handle(request, response, path),
  );
  const url = server.origin;
  const card = agentCard(`${url}/`, options.token !== undefined);
  const tasks = new InMemoryTaskStore();
  const pushes = new InMemoryPushNotificationStore();
  const handler = new DefaultRequestHandler(
    card,
    tasks,
    executor,
    new DefaultExecutionEventBusManager(),
    pushes,
    new DefaultPushNotificationSender(pushes),
  );
  const rpc = new JsonRpcTransportHandler(handler);

  const handle = async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
    if (request.method === 'GET' && path === CARD) return sendJson(response, 200, card);
    if (request.method !== 'POST' || path !== '/') return sendJson(response, 404, { error: `There is POST / and GET ${CARD}.` });
    const body = parse(await bodyText(request));
    if (body === undefined) {
      return sendJson(response, 400, { jsonrpc: '2.0', id: null, error: { code: PARSE_ERROR, message: 'The body is no JSON.' } });
    }
    const { id = null, method, params } = isRecord(body) ? body : {};
    const say = (result: object) => ({ jsonrpc: '2.0', id, result });
    const deny = (code: number, message: string) => sendJson(response, 200, { jsonrpc: '2.0', id, error: { code, message } });
    const named = (request.headers['x-a2a-extensions'] ?? '').toString();
    if (typeof method === 'string' && /^(message\/|commands?\/)/.test(method) && !named.split(/\s*,\s*/).includes(EXTENSION)) {
      return deny(INVALID_REQUEST, `The extension ${EXTENSION} is required.`);
    }
    if (!tellsOnlyThisMachine(params)) return deny(INVALID_PARAMS, 'Notifications go to an address on this machine only.');
    const commands = () => commandsOf(skillCommands(findSkills(options.workspace.cwd)), options.model);
    if (method === 'commands/get') return sendJson(response, 200, say({ commands: commandTree(commands().all) }));
    if (method === 'command/execute') {
      const asked = commandIn(params);
      if (!asked) return deny(INVALID_PARAMS, 'command_path has to be a list of names, args a text.');
      const { args, contextId, metadata } = asked;
      const name = asked.command_path.join(':');
      if (!commands().find(name))
        return sendJson(response, 200, say({ execution_id: '', status: 'FAILED_TO_START', message: `There is no command /${name}.` }));
      const message: Message = {
        kind: 'message',
        role: 'user',
        messageId: randomUUID(),
        parts: [{ kind: 'text', text: [`/${name}`, args].filter(Boolean).join(' ') }],
        // A client that names no conversation gets one of its own, never another client's.
        ...(contextId ? { contextId } : {}),
        ...(metadata ? { metadata } : {}),
      };
      const events = handler.sendMessageStream({ message });
      const first = (await events.next()).value;
      const execution_id = first && 'id' in first ? first.id : '';
      if (!/event-stream|text\/\*|\*\/\*/.test(request.headers.accept ?? '*/*')) {
        // Whoever takes no stream hears of the task by its id.
        sendJson(response, 200, say({ execution_id, status: 'STARTED', message: '' }));
        for await (const _ of events);
        return;
      }
      await stream(
        response,
        id,
        (async function* () {
          yield say({ execution_id, status: 'STARTED', message: '' });
          if (first) yield say(first);
          for await (const event of events) yield say(event);
        })(),
      );
      return;
    }
    const wrong = isMessageMethod(method) ? whatIsWrong(params) : undefined;
    if (wrong !== undefined) return deny(INVALID_PARAMS, wrong);
    // The RFC lets a completed task go on with another message.
    const target = isRecord(params) && isRecord(params.message) ? params.message.taskId : undefined;
    const known = typeof target === 'string' ? await tasks.load(target) : undefined;
    const context = isRecord(params) && isRecord(params.message) ? params.message.contextId : undefined;
    if (known && typeof context === 'string' && context !== known.contextId)
      return deny(INVALID_PARAMS, `The task ${known.id} belongs to another context.`);
    if (known?.status.state === 'completed') await tasks.save({ ...known, status: { state: 'input-required' } });
    // What runs is not ended by a message that comes meanwhile.
    const talk = known?.contextId ?? (typeof context === 'string' ? context : undefined);
    if (isMessageMethod(method) && !decides(params) && talk !== undefined && runs.get(talk)?.works)
      return deny(INVALID_REQUEST, 'The agent is working in this context. Cancel its task or wait for the end.');
    // A turn that waits for a user has no stream, and the library only marks its task.
    const stopped = method === 'tasks/cancel' && isRecord(params) ? contexts.get(String(params.id)) : undefined;
    const run = stopped === undefined ? undefined : runs.get(stopped);
    if (run?.suspended) await keepInTask(tasks, String(isRecord(params) ? params.id : ''), await run.stop());
    const result = await rpc.handle(body);
    if (Symbol.asyncIterator in result) return stream(response, id, result);
    sendJson(response, 200, result);
  };

  return {
    url,
    end: () => server.end(() => Promise.all([...runs.values()].map((run) => run.stop()))),
  };
}

/** Read to its end whether or not anybody listens: the task goes on without its client. */
async function stream(response: ServerResponse, id: unknown, events: AsyncIterable<object>): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
  const beat = setInterval(() => response.write(': keep-alive\n\n'), KEEP_ALIVE);
  response.on('error', () => {});
  try {
    for await (const event of events) if (!response.destroyed) response.write(`data: ${JSON.stringify(event)}\n\n`);
  } catch (error) {
    const code = error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : -32603;
    response.write(`event: error\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: messageOf(error) } })}\n\n`);
  } finally {
    clearInterval(beat);
    response.end();
  }
}

/** `skill:tidy` is the command `tidy` below `skill`, which is none by itself. */
function commandTree(all: readonly Command[]): readonly object[] {
  const groups = new Map<string, object[]>();
  const top: object[] = [];
  for (const { name, description } of all) {
    const [group, ...rest] = name.split(':');
    const own = { description, arguments: [{ name: 'text', description: '', is_required: false }], sub_commands: [] };
    if (group === undefined || rest.length === 0) {
      top.push({ name, ...own });
      continue;
    }
    const below = groups.get(group) ?? [];
    if (below.length === 0) top.push({ name: group, description: '', arguments: [], sub_commands: below });
    groups.set(group, below);
    below.push({ name: rest.join(':'), ...own });
  }
  return top;
}

function isMessageMethod(method: unknown): boolean {
  return method === 'message/send' || method === 'message/stream';
}

/** What the library takes for granted about a message; undefined when nothing is wrong. */
function whatIsWrong(params: unknown): string | undefined {
  const message = isRecord(params) ? params.message : undefined;
  if (!isRecord(message)) return 'params.message has to be an object.';
  const { parts, messageId } = message;
  if (typeof messageId !== 'string' || messageId === '') return 'message.messageId has to be a text.';
  if (!Array.isArray(parts) || parts.length === 0) return 'message.parts has to be a list that is not empty.';
  return parts.every((part) => isRecord(part) && typeof part.kind === 'string') ? undefined : 'Each part has to name its kind.';
}

/** The message holds a user's decision. */
function decides(params: unknown): boolean {
  const message = isRecord(params) ? params.message : undefined;
  const parts = isRecord(message) && Array.isArray(message.parts) ? (message.parts as readonly Part[]) : [];
  return parts.some((part) => decisionIn(part).length > 0);
}

/** What was said while no stream was open stands in the task that is kept. */
async function keepInTask(tasks: InMemoryTaskStore, id: string, said: readonly TaskStatusUpdateEvent[]): Promise<void> {
  const task = await tasks.load(id);
  const messages = said.flatMap(({ status, final }) => (final ? [] : (status.message ?? [])));
  if (!task || messages.length === 0) return;
  const before = task.status.message ? [task.status.message] : [];
  await tasks.save({ ...task, history: [...(task.history ?? []), ...before, ...messages] });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

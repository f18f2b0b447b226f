import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import path from 'node:path';
import { type MessageConnection, ResponseError } from 'vscode-jsonrpc/node';
import * as z from 'zod/mini';
import { Emitter } from '../../../base/emitter.ts';
import { messageOf } from '../../../base/log.ts';
import { fenced, inOneLine } from '../../../base/promptText.ts';
import { AUTH_REQUIRED, INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND, NOT_FOUND } from '../../../protocols/acp/schema.ts';
import type { Channel } from '../../../transport/channel.ts';
import { openRpc } from '../../../transport/jsonrpc.ts';
import { Cancelled, Conversation, type Preferences } from '../../conversation.ts';
import { isModelError, type Message, type Model, type UserPart } from '../../models/model.ts';
import { copySession, deleteSession, SessionStore, sessionsOf } from '../../sessionStore.ts';
import { problemsOf, type Shown } from '../../tools/tool.ts';
import { NAME, VERSION } from '../../version.ts';
import { AcpFrontend, type ClientCan, SessionClient } from './acpFrontend.ts';
import { mcpServers } from './toolServers.ts';
import { chunk, contentOf, diffLocations, inputOf, linkText, planOf, startedCall, textContent } from './toolWords.ts';

export interface AcpOptions {
  readonly channel: Channel;
  readonly model: Model;
  /** Where conversations are kept. */
  readonly home: string;
  readonly preferences?: Preferences;
}

interface Session {
  readonly conversation: Conversation;
  readonly client: SessionClient;
}

const folder = z.object({ cwd: z.string(), additionalDirectories: z.nullish(z.array(z.string())), mcpServers });
const listing = z.object({ cwd: z.nullish(z.string()) });
const named = z.object({ sessionId: z.string() });
const marker = z.nullish(z.unknown());
const hello = z.object({
  protocolVersion: z.number(),
  clientCapabilities: z.nullish(
    z.object({
      terminal: marker,
      fs: z.nullish(z.object({ readTextFile: marker, writeTextFile: marker })),
      session: z.nullish(z.object({ compaction: marker })),
      elicitation: z.nullish(z.object({ form: marker })),
    }),
  ),
});

/** Serves conversations over ACP (docs/protocols/acp.md, from the other side). The client calls the server, its sessions call the client. */
export function serveAcp({ channel, ...options }: AcpOptions): AcpServer {
  const note = (text: string) => void process.stderr.write(`parley-agent: ${text}\n`);
  const cancelled = new Emitter<string>();
  const { connection } = openRpc(channel, {
    log: { trace: () => {}, info: () => {}, warn: note, error: note },
    // A notification counts before the requests behind it.
    first: (message) => {
      if (!('method' in message) || 'id' in message) return false;
      const { method, params } = message as { readonly method?: unknown; readonly params?: unknown };
      const cancel = method === 'session/cancel' ? named.safeParse(params) : undefined;
      if (cancel?.success) cancelled.fire(cancel.data.sessionId);
      return true;
    },
  });
  const server = new AcpServer(connection, options);
  cancelled.listen((id) => server.cancel(id));
  connection.onRequest((method, params) => server.serve(method, params));
  return server;
}

/** Many sessions in one process. */
export class AcpServer {
  readonly #connection: MessageConnection;
  readonly #options: Omit<AcpOptions, 'channel'>;
  readonly #sessions = new Map<string, Session>();
  readonly #turns = new Set<Promise<unknown>>();
  /** Working directories of the sessions that were opened here. */
  readonly #folders = new Set<string>();
  #can: ClientCan = { terminals: false, reads: false, writes: false, forms: false, compactions: false };

  constructor(connection: MessageConnection, options: Omit<AcpOptions, 'channel'>) {
    this.#connection = connection;
    this.#options = options;
  }

  /** The result, or the failure as an error: both are answers. */
  async serve(method: string, params: unknown): Promise<object> {
    try {
      return await this.#run(method, params);
    } catch (error) {
      return error instanceof ResponseError ? error : new ResponseError(INTERNAL, messageOf(error));
    }
  }

  cancel(id: string): void {
    this.#sessions.get(id)?.conversation.cancel();
  }

  /** Ends the running turn; settles once it has ended. */
  async end(): Promise<void> {
    for (const { conversation } of this.#sessions.values()) conversation.cancel();
    await Promise.allSettled(this.#turns);
    await Promise.allSettled([...this.#sessions.values()].map(({ client }) => client.servers.close()));
  }

  #run(method: string, params: unknown): object | Promise<object> {
    switch (method) {
      case 'initialize':
        return this.#initialize(params);
      case 'session/new':
        return this.#open(randomUUID(), params);
      case 'session/load':
        return this.#reopen(params, true);
      case 'session/resume':
        return this.#reopen(params, false);
      case 'session/list':
        return this.#list(read(listing, params).cwd ?? undefined);
      case 'session/fork':
        return this.#fork(params);
      case 'session/delete':
        return this.#delete(read(named, params).sessionId);
      case 'session/close':
        return this.#close(read(named, params).sessionId);
      case 'session/set_mode':
        return this.#setMode(params);
      case 'session/prompt':
        return this.#prompt(params);
      default:
        throw new ResponseError(METHOD_NOT_FOUND, `Unknown method: ${method.slice(0, 100)}`);
    }
  }

  #initialize(params: unknown): object {
    const { clientCapabilities: caps } = read(hello, params);
    this.#can = {
      terminals: Boolean(caps?.terminal),
      reads: Boolean(caps?.fs?.readTextFile),
      writes: Boolean(caps?.fs?.writeTextFile),
      forms: Boolean(caps?.elicitation?.form),
      compactions: Boolean(caps?.session?.compaction),
    };
    return {
      protocolVersion: 1,
      agentInfo: { name: NAME, title: 'Parley Agent', version: VERSION },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, fork: {}, additionalDirectories: {} },
      },
      authMethods: [],
    };
  }

  async #open(id: string, params: unknown): Promise<object> {
    const { cwd, additionalDirectories, mcpServers: wanted } = read(folder, params);
    mustBeFolder(cwd, additionalDirectories ?? []);
    await this.#sessions.get(id)?.client.servers.close();
    const client = new SessionClient(this.#connection, { id, cwd, can: this.#can });
    const conversation = new Conversation({
      ...this.#options.preferences,
      frontend: new AcpFrontend(client),
      model: this.#options.model,
      workspace: { cwd, roots: [cwd, ...(additionalDirectories ?? [])] },
      store: new SessionStore(this.#options.home, cwd, id),
    });
    this.#sessions.set(id, { conversation, client });
    this.#folders.add(cwd);
    await client.servers.connect(wanted ?? [], cwd);
    // Behind the answer that names the session.
    setImmediate(() =>
      client.update({
        sessionUpdate: 'available_commands_update',
        availableCommands: conversation.commands.all.map(({ name, description }) => ({ name, description })),
      }),
    );
    return { sessionId: id, modes: modesOf(conversation) };
  }

  async #reopen(params: unknown, replay: boolean): Promise<object> {
    const { sessionId } = read(named, params);
    const { cwd, additionalDirectories } = read(folder, params);
    mustBeFolder(cwd, additionalDirectories ?? []);
    if (new SessionStore(this.#options.home, cwd, sessionId).readMessages().length === 0) {
      throw new ResponseError(NOT_FOUND, `Resource not found: ${sessionId}`);
    }
    await this.#open(sessionId, params);
    const session = this.#session(sessionId);
    if (replay) for (const update of replayed(session.conversation.history.messages, cwd)) session.client.update(update);
    return { modes: modesOf(session.conversation) };
  }

  async #close(id: string): Promise<object> {
    const { conversation, client } = this.#session(id);
    conversation.cancel();
    this.#sessions.delete(id);
    await client.servers.close();
    return {};
  }

  #list(cwd: string | undefined): object {
    const folders = cwd === undefined ? [...this.#folders] : [cwd];
    const sessions = folders.flatMap((one) =>
      sessionsOf(this.#options.home, one).map(({ id, title, at }) => ({
        sessionId: id,
        cwd: one,
        updatedAt: new Date(at).toISOString(),
        ...(title === undefined ? {} : { title }),
      })),
    );
    return { sessions };
  }

  /** The copy is a session of its own from here on. */
  async #fork(params: unknown): Promise<object> {
    const { sessionId } = read(named, params);
    const { cwd, additionalDirectories } = read(folder, params);
    mustBeFolder(cwd, additionalDirectories ?? []);
    const copy = randomUUID();
    if (!copySession(this.#options.home, cwd, sessionId, copy)) {
      throw new ResponseError(NOT_FOUND, `Resource not found: ${sessionId}`);
    }
    return this.#open(copy, params);
  }

  /** A missing session is not an error. */
  async #delete(id: string): Promise<object> {
    if (this.#sessions.has(id)) await this.#close(id);
    await deleteSession(this.#options.home, id);
    return {};
  }

  #setMode(params: unknown): object {
    const { sessionId, modeId } = read(z.extend(named, { modeId: z.enum(['default', 'plan']) }), params);
    this.#session(sessionId).conversation.setPlanMode(modeId === 'plan');
    return {};
  }

  async #prompt(params: unknown): Promise<object> {
    const { sessionId, prompt } = read(z.extend(named, { prompt: z.array(block) }), params);
    const turn = this.#session(sessionId).conversation.prompt(prompt.map(partOf));
    this.#turns.add(turn);
    try {
      const { status } = await turn;
      return { stopReason: status === 'finished' ? 'end_turn' : 'max_turn_requests' };
    } catch (error) {
      if (error instanceof Cancelled) return { stopReason: 'cancelled' };
      if (isModelError(error)) throw new ResponseError(error.kind === 'login' ? AUTH_REQUIRED : INTERNAL, error.message);
      throw error;
    } finally {
      this.#turns.delete(turn);
    }
  }

  #session(id: string): Session {
    const session = this.#sessions.get(id);
    if (!session) throw new ResponseError(NOT_FOUND, `Resource not found: ${id}`);
    return session;
  }
}

function modesOf(conversation: Conversation): object {
  return {
    currentModeId: conversation.planMode ? 'plan' : 'default',
    availableModes: [
      { id: 'default', name: 'Default', description: 'Asks before it changes something' },
      { id: 'plan', name: 'Plan', description: 'Only reads, and proposes a plan' },
    ],
  };
}

/** The folder a session works in; refused in words when it cannot be one. */
function mustBeFolder(cwd: string, others: readonly string[]): void {
  const relative = [cwd, ...others].find((one) => !path.isAbsolute(one));
  if (relative !== undefined) throw new ResponseError(INVALID_PARAMS, `The folder has to be an absolute path, not "${relative}"`);
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new ResponseError(INVALID_PARAMS, `${cwd} is not a folder on this machine`);
}

function read<S extends z.ZodMiniType>(schema: S, params: unknown): z.infer<S> {
  const parsed = schema.safeParse(params);
  if (!parsed.success) throw new ResponseError(INVALID_PARAMS, `Bad params: ${problemsOf(parsed.error)}`);
  return parsed.data;
}

/** The blocks of a prompt we said we take (acp.md §7). */
const block = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image'), data: z.string(), mimeType: z.string() }),
  z.object({ type: z.literal('resource_link'), uri: z.string(), name: z.string() }),
  z.object({ type: z.literal('resource'), resource: z.object({ uri: z.string(), text: z.string() }) }),
  z.object({ type: z.literal('resource'), resource: z.object({ uri: z.string(), blob: z.string(), mimeType: z.nullish(z.string()) }) }),
]);

/** Image types that models accept. */
const PICTURE = /^image\/(png|jpe?g|gif|webp)$/i;

/** Converts a block for the loop. Names content that a model cannot read, with type and size, so that the model knows of it. */
function partOf(given: z.infer<typeof block>): UserPart {
  switch (given.type) {
    case 'text':
      return { type: 'text', text: given.text };
    case 'image':
      return { type: 'image', url: `data:${given.mimeType};base64,${given.data}` };
    case 'resource_link':
      return { type: 'text', text: linkText(given.uri, given.name) };
    case 'resource':
      return resourcePart(given.resource);
  }
}

type Resource = Extract<z.infer<typeof block>, { type: 'resource' }>['resource'];

function resourcePart(resource: Resource): UserPart {
  if ('text' in resource) return { type: 'text', text: `${inOneLine(resource.uri)}\n${fenced(resource.text)}` };
  const { uri, blob, mimeType } = resource;
  if (mimeType != null && PICTURE.test(mimeType)) return { type: 'image', url: `data:${mimeType};base64,${blob}` };
  const bytes = Buffer.byteLength(blob, 'base64');
  return {
    type: 'text',
    text: `[attached: ${uri}, ${mimeType ?? 'unknown type'}, ${bytes} bytes; its content is not text and not shown here]`,
  };
}

/** A conversation as the updates that told of it (acp.md §5): calls with their input and place, edits with their diff, the user's pictures. */
function replayed(messages: readonly Message[], cwd: string): readonly object[] {
  const inputs = new Map<string, unknown>();
  return messages.flatMap((message): readonly object[] => {
    switch (message.role) {
      case 'user':
        return message.parts.flatMap(userChunk);
      case 'assistant':
        return [
          ...(message.thought ? [chunk('agent_thought_chunk', message.thought)] : []),
          ...(message.text ? [chunk('agent_message_chunk', message.text)] : []),
          ...message.calls.map(({ id, name, input }) => {
            const rawInput = inputOf(input);
            inputs.set(id, rawInput);
            return { sessionUpdate: 'tool_call', ...startedCall({ id, name, rawInput }, cwd) };
          }),
        ];
      case 'tool': {
        const diffs = (message.diffs ?? []).map((diff): Shown => ({ type: 'diff', ...diff }));
        const text = [message.message, message.text].filter(Boolean).join('\n');
        const plan = message.isError ? undefined : planIn(message.name, inputs.get(message.callId));
        return [
          {
            sessionUpdate: 'tool_call_update',
            toolCallId: message.callId,
            status: message.isError ? 'failed' : 'completed',
            content: diffs.length > 0 ? contentOf(diffs) : [textContent(text)],
            ...(diffs.length > 0 ? { locations: diffLocations(diffs) } : {}),
          },
          ...(plan ? [plan] : []),
        ];
      }
    }
  });
}

function userChunk(part: UserPart): readonly object[] {
  if (part.type === 'text') return [chunk('user_message_chunk', part.text)];
  const [, mimeType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(part.url) ?? [];
  if (part.type !== 'image' || mimeType === undefined || data === undefined) return [];
  return [{ sessionUpdate: 'user_message_chunk', content: { type: 'image', mimeType, data } }];
}

/** The plan a call has set: its input is the plan. */
function planIn(tool: string, input: unknown): object | undefined {
  const { todos } = (input ?? {}) as { readonly todos?: Extract<Shown, { type: 'todo' }>['items'] };
  return tool === 'SetTodoList' && Array.isArray(todos) ? planOf([{ type: 'todo', items: todos }]) : undefined;
}

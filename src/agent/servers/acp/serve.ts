import { randomUUID } from 'node:crypto';
import { type MessageConnection, ResponseError } from 'vscode-jsonrpc/node';
import * as z from 'zod/mini';
import { messageOf } from '../../../base/log.ts';
import { AUTH_REQUIRED, INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND, NOT_FOUND } from '../../../protocols/acp/schema.ts';
import type { Channel } from '../../../transport/channel.ts';
import { openRpc } from '../../../transport/jsonrpc.ts';
import { AgentConversation, Cancelled, type Preferences } from '../../conversation.ts';
import { isModelError, type Model } from '../../models/model.ts';
import { copySession, deleteSession, SessionStore, sessionsOf } from '../../sessionStore.ts';
import { problemsOf } from '../../tools/tool.ts';
import { problemOfFolders } from '../../workspace/paths.ts';
import { AcpFrontend } from './acpFrontend.ts';
import { type ClientCan, canOf, hello, mcpServers, SessionClient } from './client.ts';
import { block, introduction, partOf, replayed } from './words.ts';

export interface AcpOptions {
  readonly channel: Channel;
  readonly model: Model;
  /** Where conversations are kept. */
  readonly home: string;
  readonly preferences?: Preferences;
}

interface Session {
  readonly conversation: AgentConversation;
  readonly client: SessionClient;
}

const folder = z.object({ cwd: z.string(), additionalDirectories: z.nullish(z.array(z.string())), mcpServers });
const listing = z.object({ cwd: z.nullish(z.string()) });
const named = z.object({ sessionId: z.string() });

/** Serves conversations over ACP (docs/protocols/acp.md, from the other side). The client calls the server, its sessions call the client. */
export function serveAcp({ channel, ...options }: AcpOptions): AcpServer {
  const note = (text: string) => void process.stderr.write(`parley-agent: ${text}\n`);
  const sessions = new Map<string, Session>();
  const { connection } = openRpc(channel, {
    log: { trace: () => {}, info: () => {}, warn: note, error: note },
    // A notification counts before the requests behind it.
    first: (message) => {
      if (!('method' in message) || 'id' in message) return false;
      const { method, params } = message as { readonly method?: unknown; readonly params?: unknown };
      const cancel = method === 'session/cancel' ? named.safeParse(params) : undefined;
      if (cancel?.success) sessions.get(cancel.data.sessionId)?.conversation.cancel();
      return true;
    },
  });
  const server = new AcpServer(connection, options, sessions);
  connection.onRequest((method, params) => server.serve(method, params));
  return server;
}

/** Many sessions in one process. */
export class AcpServer {
  readonly #connection: MessageConnection;
  readonly #options: Omit<AcpOptions, 'channel'>;
  readonly #sessions: Map<string, Session>;
  readonly #turns = new Set<Promise<unknown>>();
  /** Working directories of the sessions that were opened here. */
  readonly #folders = new Set<string>();
  #can: ClientCan = { terminals: false, reads: false, writes: false, forms: false, compactions: false };

  constructor(connection: MessageConnection, options: Omit<AcpOptions, 'channel'>, sessions: Map<string, Session>) {
    this.#connection = connection;
    this.#options = options;
    this.#sessions = sessions;
  }

  /** The result, or the failure as an error: both are answers. */
  async serve(method: string, params: unknown): Promise<object> {
    try {
      return await this.#run(method, params);
    } catch (error) {
      return error instanceof ResponseError ? error : new ResponseError(INTERNAL, messageOf(error));
    }
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
    this.#can = canOf(read(hello, params));
    return introduction;
  }

  async #open(id: string, params: unknown): Promise<object> {
    const { cwd, additionalDirectories, mcpServers: wanted } = read(folder, params);
    mustBeFolder(cwd, additionalDirectories ?? []);
    await this.#sessions.get(id)?.client.servers.close();
    const client = new SessionClient(this.#connection, { id, cwd, can: this.#can });
    const conversation = new AgentConversation({
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

function modesOf(conversation: AgentConversation): object {
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
  const problem = problemOfFolders(cwd, others);
  if (problem !== undefined) throw new ResponseError(INVALID_PARAMS, problem);
}

function read<S extends z.ZodMiniType>(schema: S, params: unknown): z.infer<S> {
  const parsed = schema.safeParse(params);
  if (!parsed.success) throw new ResponseError(INVALID_PARAMS, `Bad params: ${problemsOf(parsed.error)}`);
  return parsed.data;
}

import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod/mini';
import { messageOf } from '../../../base/log.ts';
import { EXTENSION, LENGTHS } from '../../../protocols/a2a/schema.ts';
import { type Command, type Commands, commandsOf } from '../../commands.ts';
import type { Model } from '../../models/model.ts';
import { findSkills, skillCommands } from '../../skills.ts';
import { placeOf, type Workspace } from '../../workspace/paths.ts';
import { decisionsIn } from './decision.ts';
import { Notifications } from './notifications.ts';
import { Run } from './run.ts';
import { type Task, Tasks } from './tasks.ts';
import { type ToolServer, type ToolServerAddress, toolServer } from './toolServer.ts';
import {
  extensionRequired,
  historyLengthIn,
  invalidParams,
  invalidRequest,
  isRecord,
  type Json,
  type Message,
  messageIn,
  noExtendedCard,
  notCancelable,
  type Operation,
  operationOf,
  pushConfigOn,
  pushInMessage,
  pushInParams,
  stateOn,
  taskIsOver,
  taskNotFound,
  taskOn,
  textIn,
  unsupported,
  updateOn,
  type Version,
  wrappedTaskOn,
} from './wire.ts';

export interface A2aServerOptions {
  readonly model: Model;
  readonly workspace: Workspace;
  /** The tool server of the editor that started this agent. */
  readonly editor?: ToolServer;
}
/** How the client of one request speaks. */
export interface Caller {
  readonly version: Version;
  readonly extensions: readonly string[];
  readonly takesStreams: boolean;
}
/** `stream` settles when nothing more comes. */
export type Reply = { readonly result: unknown } | { readonly stream: (send: (result: unknown) => void) => Promise<void> };

/** A client that takes no stream hears at once when its command waits for the user; it is not kept waiting longer than this. Milliseconds. */
const FIRST_STEP = 500;
const PAGE = 50;
const LONGEST_PAGE = 100;

/** A2A with the development-tool extension, in version 0.3 and 1.0: its methods over tasks and conversations. Knows no HTTP. */
export class A2aServer {
  readonly #options: A2aServerOptions;
  readonly #tasks = new Tasks();
  readonly #runs = new Map<string, Run>();
  readonly #notifications = new Notifications();

  constructor(options: A2aServerOptions) {
    this.#options = options;
  }

  /** Throws RpcError. */
  async handle(method: string, params: unknown, caller: Caller): Promise<Reply> {
    const operation = operationOf(caller.version, method);
    if (NEEDS_EXTENSION.has(operation) && !caller.extensions.includes(EXTENSION)) throw extensionRequired(caller.version, EXTENSION);
    if (params !== undefined && !isRecord(params)) throw invalidParams('params has to be an object.');
    const given: Json = params ?? {};
    const { version } = caller;
    switch (operation) {
      case 'send':
        return { result: wrappedTaskOn(version, await this.#send(given, version)) };
      case 'stream':
        return this.#stream(given, version);
      case 'subscribe':
        return this.#subscribe(this.#task(given.id), version);
      case 'get': {
        const historyLength = historyLengthIn(given);
        return { result: taskOn(version, this.#task(given.id).record(historyLength)) };
      }
      case 'list':
        return { result: this.#list(given) };
      case 'cancel':
        return { result: await this.#cancel(this.#task(given.id), version) };
      case 'commands':
        return { result: { commands: commandTree(this.#commands.all) } };
      case 'execute':
        return this.#execute(given, caller);
      case 'extendedCard':
        throw noExtendedCard();
      default:
        return { result: this.#push(operation, given, version) };
    }
  }

  /** Settles when everything that runs has ended. */
  async end(): Promise<void> {
    await Promise.all([...this.#runs.values()].map((run) => run.stop()));
  }

  // --- messages

  #stream(params: Json, version: Version): Reply {
    const message = messageIn(version, params);
    const { task, isNew } = this.#admit(message, params, version);
    return {
      stream: (send) => {
        // 1.0 begins every stream with the task as it stands.
        if (isNew || version === '1.0') send(wrappedTaskOn(version, task.record(isNew ? undefined : 0)));
        const ended = untilFinal(task, (update) => send(updateOn(version, update)));
        void this.#begin(task, message);
        return ended;
      },
    };
  }
  async #send(params: Json, version: Version) {
    const message = messageIn(version, params);
    const configuration = isRecord(params.configuration) ? params.configuration : {};
    const historyLength = historyLengthIn(configuration);
    const { task } = this.#admit(message, params, version);
    const ended = untilFinal(task, () => {});
    void this.#begin(task, message);
    const waits = version === '0.3' ? configuration.blocking !== false : configuration.returnImmediately !== true;
    if (waits) await ended;
    return task.record(historyLength);
  }

  /** The task that a message is for; refuses one that cannot be taken now. */
  #admit(message: Message, params: Json, version: Version): { readonly task: Task; readonly isNew: boolean } {
    const isDecision = decisionsIn(message.parts).length > 0;
    if (!isDecision && textOf(message) === '') throw invalidParams('The message holds no text and no decision.');
    const push = isRecord(params.configuration) ? pushInMessage(version, params.configuration) : undefined;
    const known = message.taskId === undefined ? undefined : this.#task(message.taskId);
    if (known && message.contextId !== undefined && message.contextId !== known.contextId) {
      throw invalidParams(`The task ${known.id} belongs to another context.`);
    }
    if (known?.isOver) throw taskIsOver(version, known.id, known.state);
    const contextId = known?.contextId ?? message.contextId;
    // Rejects the message, because it must not end running work.
    if (!isDecision && contextId !== undefined && this.#runs.get(contextId)?.works) {
      throw invalidRequest('The agent is working in this context. Cancel its task or wait for the end.');
    }
    const task = known ?? this.#begun(contextId ?? randomUUID());
    task.take(message);
    if (push) this.#notifications.set(task, push, version);
    if (push && !known) this.#notifications.announce(task);
    return { task, isNew: !known };
  }

  #begun(contextId: string): Task {
    const { task, dropped } = this.#tasks.begin(contextId);
    if (dropped) {
      this.#notifications.forget(dropped.id);
      if (!this.#tasks.all.some((one) => one.contextId === dropped.contextId)) this.#runs.delete(dropped.contextId);
    }
    return task;
  }

  /** Never rejects: what goes wrong is told in the task. */
  async #begin(task: Task, message: Message): Promise<void> {
    try {
      const run = await this.#runOf(task.contextId, message);
      const decisions = decisionsIn(message.parts);
      if (decisions.length > 0) run.decide(task, decisions);
      else await run.prompt(task, textOf(message));
    } catch (error) {
      const reason = messageOf(error);
      task.tell('failed', [{ text: reason }], { [EXTENSION]: { kind: 'STATE_CHANGE', error: reason } }, true);
    }
  }
  async #runOf(contextId: string, message: Message): Promise<Run> {
    const known = this.#runs.get(contextId);
    if (known) return known;
    const { model, workspace, editor } = this.#options;
    const settings = await settingsOf(workspace, message.metadata);
    const servers = [...(editor ? [editor] : []), ...settings.servers.map(toolServer)];
    const run = this.#runs.get(contextId) ?? new Run(model, settings.workspace, servers);
    this.#runs.set(contextId, run);
    return run;
  }

  // --- tasks

  #task(id: unknown): Task {
    if (textIn(id) === undefined) throw invalidParams('The id of a task has to be a text.');
    const task = this.#tasks.find(id);
    if (!task) throw taskNotFound(id);
    return task;
  }
  #subscribe(task: Task, version: Version): Reply {
    if (version === '1.0' && (task.isOver || task.state === 'completed')) {
      throw unsupported(`Task ${task.id} is in a terminal state (${task.state}) and cannot be subscribed to.`);
    }
    return {
      stream: async (send) => {
        send(wrappedTaskOn(version, task.record()));
        if (!task.isAtRest) await untilFinal(task, (update) => send(updateOn(version, update)));
      },
    };
  }
  async #cancel(task: Task, version: Version): Promise<Json> {
    if (task.isOver || task.state === 'completed') throw notCancelable(task.id);
    const run = this.#runs.get(task.contextId);
    await run?.stop();
    // It may have come to its own end meanwhile.
    const state: string = task.state;
    if (state !== 'canceled') throw notCancelable(task.id);
    return taskOn(version, task.record());
  }
  #list(params: Json): Json {
    const { contextId, status, pageSize = PAGE, pageToken } = params;
    if (typeof pageSize !== 'number' || !Number.isInteger(pageSize) || pageSize < 1 || pageSize > LONGEST_PAGE) {
      throw invalidParams(`pageSize has to be between 1 and ${LONGEST_PAGE}.`);
    }
    const fits = this.#tasks.all
      .filter((task) => textIn(contextId) === undefined || task.contextId === contextId)
      .filter((task) => textIn(status) === undefined || stateOn('1.0', task.state) === status)
      .toReversed();
    const from = textIn(pageToken) === undefined ? 0 : fits.findIndex(({ id }) => id === pageToken);
    if (from < 0) throw invalidParams('pageToken is not known.');
    const historyLength = historyLengthIn(params) ?? 0;
    return {
      tasks: fits.slice(from, from + pageSize).map((task) => taskOn('1.0', task.record(historyLength))),
      nextPageToken: fits[from + pageSize]?.id ?? '',
      pageSize,
      totalSize: fits.length,
    };
  }

  // --- notifications

  #push(operation: 'pushSet' | 'pushGet' | 'pushList' | 'pushDelete', params: Json, version: Version): unknown {
    if (operation === 'pushSet') {
      const config = pushInParams(version, params);
      const task = this.#task(params.taskId);
      this.#notifications.set(task, config, version);
      return pushConfigOn(version, task.id, config);
    }
    const task = this.#task(version === '0.3' ? params.id : params.taskId);
    const id = version === '0.3' ? params.pushNotificationConfigId : params.id;
    const all = this.#notifications.list(task.id);
    if (operation === 'pushList') {
      const configs = all.map((config) => pushConfigOn(version, task.id, config));
      return version === '0.3' ? configs : { configs, nextPageToken: '' };
    }
    if (operation === 'pushDelete') {
      if (textIn(id) === undefined) throw invalidParams('The id of the notification config has to be a text.');
      this.#notifications.delete(task.id, String(id));
      return null;
    }
    const found = textIn(id) === undefined ? all[0] : all.find((config) => config.id === id);
    if (!found) throw taskNotFound(`the notification config ${String(id)} of ${task.id}`);
    return pushConfigOn(version, task.id, found);
  }

  // --- slash commands

  get #commands(): Commands {
    const { model, workspace } = this.#options;
    return commandsOf(skillCommands(findSkills(workspace.cwd)), model);
  }
  async #execute(params: Json, { version, takesStreams }: Caller): Promise<Reply> {
    const { command_path, args, contextId, metadata } = commandIn(params);
    const name = command_path.join(':');
    const failed = (message: string) => ({ result: { execution_id: '', status: 'FAILED_TO_START', message } });
    const command = this.#commands.find(name);
    if (!command) return failed(`There is no command /${name}.`);
    const message: Message = {
      messageId: randomUUID(),
      role: 'user',
      parts: [{ text: [`/${name}`, args].filter(Boolean).join(' ') }],
      // A client that names no conversation gets one of its own, never another client's.
      ...(contextId ? { contextId } : {}),
      ...(metadata ? { metadata } : {}),
    };
    const { task } = this.#admit(message, {}, version);
    const answer = (status: string) => ({ execution_id: task.id, status, message: '' });
    if (takesStreams) {
      return {
        stream: (send) => {
          send(answer('STARTED'));
          send(wrappedTaskOn(version, task.record()));
          const ended = untilFinal(task, (update) => send(updateOn(version, update)));
          void this.#begin(task, message);
          return ended;
        },
      };
    }
    const firstRest = untilFinal(task, () => {});
    void this.#begin(task, message);
    await Promise.race([firstRest, pause(FIRST_STEP)]);
    return { result: answer(startedAs(this.#runs.get(task.contextId)?.waitsFor)) };
  }
}

const NEEDS_EXTENSION: ReadonlySet<Operation> = new Set<Operation>(['send', 'stream', 'commands', 'execute']);

function textOf({ parts }: Message): string {
  return parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n');
}

/** Hands on what the task tells; settles after the first final update. */
function untilFinal(task: Task, listener: Parameters<Task['follow']>[0]): Promise<void> {
  return new Promise((resolve) => {
    const stop = task.follow((update) => {
      listener(update);
      if (!update.final) return;
      stop();
      resolve();
    });
  });
}

/** Slash commands as the extension has them (docs/protocols/a2a.md §13). */

const text = z.nullish(z.string());
const command = z.object({
  command_path: z.array(z.string().check(z.minLength(1))).check(z.minLength(1)),
  args: text,
  contextId: z.nullish(z.string().check(z.maxLength(LENGTHS.id))),
  metadata: z.nullish(z.record(z.string(), z.unknown())),
});

/** The params of `command/execute`, in either style of names. */
function commandIn(params: Json): z.infer<typeof command> {
  const { commandPath, ...rest } = params;
  const parsed = command.safeParse({ command_path: commandPath, ...rest });
  if (!parsed.success) throw invalidParams('command_path has to be a list of names, args a text.');
  return parsed.data;
}

/** `skill:tidy` is the command `tidy` below `skill`, which is none by itself. */
function commandTree(all: readonly Command[]): readonly Json[] {
  const groups = new Map<string, Json[]>();
  const top: Json[] = [];
  for (const { name, description, args = [] } of all) {
    const [group, ...rest] = name.split(':');
    const own = {
      description,
      arguments: args.map((one) => ({ name: one.name, description: one.description, is_required: one.isRequired === true })),
      sub_commands: [],
    };
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

/** The extension's state of a command that was just started. */
function startedAs(waitsFor: 'shell' | 'action' | undefined): string {
  if (waitsFor === undefined) return 'STARTED';
  return waitsFor === 'shell' ? 'AWAITING_SHELL_CONFIRMATION' : 'AWAITING_ACTION_CONFIRMATION';
}

/** Settings in the first message of a conversation (AgentSettings, docs/protocols/a2a.md §6). */
interface Settings {
  readonly workspace: Workspace;
  /** MCP servers whose tools the model gets; the document lets clients add such settings. */
  readonly servers: readonly ToolServerAddress[];
}

const MOST_SERVERS = 20;
const server = z.object({
  url: z.optional(z.string()),
  httpUrl: z.optional(z.string()),
  headers: z.optional(z.record(z.string(), z.string())),
});

/** Throws a sentence for the client. */
async function settingsOf(started: Workspace, metadata: Json | undefined): Promise<Settings> {
  const given = metadata?.[EXTENSION];
  const { workspace_path, workspacePath = workspace_path, mcp_servers, mcpServers = mcp_servers } = isRecord(given) ? given : {};
  return { workspace: await workspaceOf(started, workspacePath), servers: serversIn(mcpServers) };
}

/** The folder must lie within the agent's own roots; by default all of them. */
async function workspaceOf(started: Workspace, given: unknown): Promise<Workspace> {
  if (typeof given !== 'string' || given === '') return started;
  if (!isAbsolute(given)) throw new Error(`The workspace path ${given} is not absolute.`);
  const { path, real, inside } = await placeOf(started, given);
  if (!inside) throw new Error(`The workspace path ${path} is outside the folders this agent was started for: ${started.roots.join(', ')}`);
  if (!statSync(real, { throwIfNoEntry: false })?.isDirectory()) throw new Error(`The workspace path ${path} is no folder.`);
  return { cwd: path, roots: [path] };
}

/** By name; only those that speak HTTP. */
function serversIn(given: unknown): readonly ToolServerAddress[] {
  if (!isRecord(given)) return [];
  return Object.entries(given)
    .slice(0, MOST_SERVERS)
    .map(([name, value]) => {
      const { url, httpUrl = url, headers } = server.safeParse(value).data ?? {};
      if (httpUrl === undefined || !/^https?:/.test(httpUrl) || !URL.canParse(httpUrl) || !/^[\w.-]{1,64}$/.test(name)) {
        throw new Error(`The MCP server ${name} needs a name of letters and an HTTP address.`);
      }
      return { name, url: httpUrl, ...(headers ? { headers } : {}) };
    });
}

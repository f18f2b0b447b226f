import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../../base/log.ts';
import { commandAnswerOn, eventMetadata, readSettings } from '../../../protocols/a2a/codec.ts';
import { type A2aVersion, type CommandState, EXTENSION, type Fields, isRecord } from '../../../protocols/a2a/schema.ts';
import {
  type A2aMessage,
  type Operation,
  pushOfTask,
  readPushName,
  stateOn,
  taskOn,
  taskRecord,
  textIn,
  updateRecord,
} from '../../../protocols/a2a/versionCodec.ts';
import { type Commands, commandsOf } from '../../commands.ts';
import { findSkills, skillCommands } from '../../instructions.ts';
import type { Model } from '../../models/model.ts';
import { type Workspace, workspaceIn } from '../../workspace/paths.ts';
import {
  commandIn,
  type DecisionMessage,
  decisionsIn,
  extensionRequired,
  historyLengthIn,
  invalidParams,
  invalidRequest,
  listedCommands,
  messageIn,
  messagePush,
  noExtendedCard,
  notCancelable,
  operationOf,
  shortened,
  startedAs,
  taskIsOver,
  taskNotFound,
  taskPush,
  unsupported,
} from './requests.ts';
import { type RunOptions, TaskRunner } from './run.ts';
import { Notifications, type ServedTask, TaskStore } from './tasks.ts';
import { type McpToolServer, serversIn, type ToolServerAddress, toolServer } from './toolServer.ts';

export interface A2aServerOptions {
  readonly model: Model;
  readonly workspace: Workspace;
  readonly preferences?: RunOptions['preferences'];
  /** The tool server of the editor that started this agent. */
  readonly editor?: McpToolServer;
}
/** The version and extension of the client of one request. */
export interface Caller {
  readonly version: A2aVersion;
  readonly extensions: readonly string[];
  readonly takesStreams: boolean;
}
/** `stream` settles when nothing more comes. */
export type Reply = { readonly result: unknown } | { readonly stream: (send: (result: unknown) => void) => Promise<void> };

interface Admitted {
  readonly task: ServedTask;
  readonly isNew: boolean;
  /** Each is about a call that waits for it; none in a message of text. */
  readonly decisions: readonly DecisionMessage[];
}

/** A client that takes no stream learns at once when its command waits for the user; it is not kept waiting longer than this. Milliseconds. */
const FIRST_STEP = 500;
const PAGE = 50;
const LONGEST_PAGE = 100;

/** A2A with the development-tool extension, in version 0.3 and 1.0: its methods over tasks and conversations. Knows no HTTP. */
export class A2aServer {
  readonly #options: A2aServerOptions;
  readonly #tasks = new TaskStore();
  readonly #runs = new Map<string, TaskRunner>();
  readonly #notifications = new Notifications();

  constructor(options: A2aServerOptions) {
    this.#options = options;
  }

  /** Throws A2aError. */
  async handle(method: string, params: unknown, caller: Caller): Promise<Reply> {
    const operation = operationOf(caller.version, method);
    if (NEEDS_EXTENSION.has(operation) && !caller.extensions.includes(EXTENSION)) throw extensionRequired(caller.version, EXTENSION);
    if (params !== undefined && !isRecord(params)) throw invalidParams('params has to be an object.');
    const given: Fields = params ?? {};
    const { version } = caller;
    switch (operation) {
      case 'send':
        return { result: taskRecord(version, await this.#send(given, version)) };
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
        return { result: { commands: listedCommands(this.#commands.all) } };
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

  #stream(params: Fields, version: A2aVersion): Reply {
    const message = messageIn(version, params);
    const { task, isNew, decisions } = this.#admit(message, params, version);
    return {
      stream: (send) => {
        // 1.0 begins every stream with the present task.
        if (isNew || version === '1.0') send(taskRecord(version, task.record(isNew ? undefined : 0)));
        const ended = untilFinal(task, (update) => send(updateRecord(version, update)));
        void this.#begin(task, message, decisions);
        return ended;
      },
    };
  }
  async #send(params: Fields, version: A2aVersion) {
    const message = messageIn(version, params);
    const configuration = isRecord(params.configuration) ? params.configuration : {};
    const historyLength = historyLengthIn(configuration);
    const { task, decisions } = this.#admit(message, params, version);
    const ended = untilFinal(task, () => {});
    void this.#begin(task, message, decisions);
    const waits = version === '0.3' ? configuration.blocking !== false : configuration.returnImmediately !== true;
    if (waits) await ended;
    return task.record(historyLength);
  }

  /** The task that a message is for, and its decisions; refuses a message that cannot be taken now. */
  #admit(message: A2aMessage, params: Fields, version: A2aVersion): Admitted {
    const decisions = decisionsIn(message.parts);
    const isDecision = decisions.length > 0;
    if (!isDecision && textOf(message) === '') throw invalidParams('The message holds no text and no decision.');
    const push = isRecord(params.configuration) ? messagePush(version, params.configuration) : undefined;
    const known = message.taskId === undefined ? undefined : this.#task(message.taskId);
    if (known && message.contextId !== undefined && message.contextId !== known.contextId) {
      throw invalidParams(`The task ${known.id} belongs to another context.`);
    }
    if (known?.isOver) throw taskIsOver(version, known.id, known.state);
    this.#mustWait(known, decisions);
    const contextId = known?.contextId ?? message.contextId;
    // Rejects the message, because it must not end running work.
    if (!isDecision && contextId !== undefined && this.#runs.get(contextId)?.works) {
      throw invalidRequest('The agent is working in this context. Cancel its task or wait for the end.');
    }
    const task = known ?? this.#begun(contextId ?? randomUUID());
    task.take(message);
    if (push) this.#notifications.set(task, push, version);
    if (push && !known) this.#notifications.announce(task);
    return { task, isNew: !known, decisions };
  }

  /** Throws for a decision about a call that does not wait for one: what is decided about nothing must not look accepted. */
  #mustWait(task: ServedTask | undefined, decisions: readonly DecisionMessage[]): void {
    if (decisions.length > 0 && !task) throw invalidParams('A decision has to name its task in message.taskId.');
    for (const { id } of decisions) {
      if (task && this.#runs.get(task.contextId)?.awaits(task, id)) continue;
      throw invalidParams(`No call ${shortened(id)} waits for a decision in this task.`);
    }
  }

  #begun(contextId: string): ServedTask {
    const { task, dropped } = this.#tasks.begin(contextId);
    if (dropped) {
      this.#notifications.forget(dropped.id);
      if (!this.#tasks.all.some((one) => one.contextId === dropped.contextId)) this.#runs.delete(dropped.contextId);
    }
    return task;
  }

  /** Never rejects: the task reports errors. */
  async #begin(task: ServedTask, message: A2aMessage, decisions: readonly DecisionMessage[] = []): Promise<void> {
    if (decisions.length > 0) return this.#runs.get(task.contextId)?.decide(task, decisions);
    try {
      const run = await this.#runOf(task.contextId, message);
      await run.prompt(task, textOf(message));
    } catch (error) {
      const reason = messageOf(error);
      task.publish('failed', [{ text: reason }], eventMetadata({ kind: 'state_change', error: reason }), true);
    }
  }
  async #runOf(contextId: string, message: A2aMessage): Promise<TaskRunner> {
    const known = this.#runs.get(contextId);
    if (known) return known;
    const { model, workspace, editor, preferences } = this.#options;
    const settings = await settingsOf(workspace, message.metadata);
    const servers = [...(editor ? [editor] : []), ...settings.servers.map(toolServer)];
    const run =
      this.#runs.get(contextId) ??
      new TaskRunner({ model, workspace: settings.workspace, servers, ...(preferences ? { preferences } : {}) });
    this.#runs.set(contextId, run);
    return run;
  }

  // --- tasks

  #task(id: unknown): ServedTask {
    if (textIn(id) === undefined) throw invalidParams('The id of a task has to be a text.');
    const task = this.#tasks.find(id);
    if (!task) throw taskNotFound(id);
    return task;
  }
  #subscribe(task: ServedTask, version: A2aVersion): Reply {
    if (version === '1.0' && (task.isOver || task.state === 'completed')) {
      throw unsupported(`Task ${task.id} is in a terminal state (${task.state}) and cannot be subscribed to.`);
    }
    return {
      stream: async (send) => {
        send(taskRecord(version, task.record()));
        if (!task.isAtRest) await untilFinal(task, (update) => send(updateRecord(version, update)));
      },
    };
  }
  async #cancel(task: ServedTask, version: A2aVersion): Promise<Fields> {
    if (task.isOver || task.state === 'completed') throw notCancelable(task.id);
    const run = this.#runs.get(task.contextId);
    await run?.stop();
    // It may have come to its own end meanwhile.
    const state: string = task.state;
    if (state !== 'canceled') throw notCancelable(task.id);
    return taskOn(version, task.record());
  }
  #list(params: Fields): Fields {
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

  #push(operation: 'pushSet' | 'pushGet' | 'pushList' | 'pushDelete', params: Fields, version: A2aVersion): unknown {
    if (operation === 'pushSet') {
      const config = taskPush(version, params);
      const task = this.#task(params.taskId);
      this.#notifications.set(task, config, version);
      return pushOfTask(version, task.id, config);
    }
    const { taskId, id } = readPushName(version, params);
    const task = this.#task(taskId);
    const all = this.#notifications.list(task.id);
    if (operation === 'pushList') {
      const configs = all.map((config) => pushOfTask(version, task.id, config));
      return version === '0.3' ? configs : { configs, nextPageToken: '' };
    }
    if (operation === 'pushDelete') {
      if (textIn(id) === undefined) throw invalidParams('The id of the notification config has to be a text.');
      this.#notifications.delete(task.id, String(id));
      return null;
    }
    const found = textIn(id) === undefined ? all[0] : all.find((config) => config.id === id);
    if (!found) throw taskNotFound(`the notification config ${String(id)} of ${task.id}`);
    return pushOfTask(version, task.id, found);
  }

  // --- slash commands

  get #commands(): Commands {
    const { model, workspace, preferences } = this.#options;
    return commandsOf(skillCommands(findSkills(workspace.cwd, preferences?.skillsDirs)), model);
  }
  async #execute(params: Fields, { version, takesStreams }: Caller): Promise<Reply> {
    const { command_path, args, contextId, metadata } = commandIn(params);
    const name = command_path.join(':');
    if (!this.#commands.find(name)) {
      return { result: commandAnswerOn({ id: null, status: 'failed_to_start', message: `There is no command /${name}.` }) };
    }
    const message: A2aMessage = {
      messageId: randomUUID(),
      role: 'user',
      parts: [{ text: [`/${name}`, args].filter(Boolean).join(' ') }],
      // A client that names no conversation gets one of its own, never another client's.
      ...(contextId ? { contextId } : {}),
      ...(metadata ? { metadata } : {}),
    };
    const { task } = this.#admit(message, {}, version);
    const answer = (status: CommandState) => commandAnswerOn({ id: task.id, status, message: '' });
    if (takesStreams) {
      return {
        stream: (send) => {
          send(answer('started'));
          send(taskRecord(version, task.record()));
          const ended = untilFinal(task, (update) => send(updateRecord(version, update)));
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

function textOf({ parts }: A2aMessage): string {
  return parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n');
}

/** Passes the updates of the task on; settles after the first final update. */
function untilFinal(task: ServedTask, listener: Parameters<ServedTask['follow']>[0]): Promise<void> {
  return new Promise((resolve) => {
    const stop = task.follow((update) => {
      listener(update);
      if (!update.final) return;
      stop();
      resolve();
    });
  });
}

/** Settings in the first message of a conversation (AgentSettings, docs/protocols/a2a.md §6). */
interface Settings {
  readonly workspace: Workspace;
  /** MCP servers whose tools the model gets; the document lets clients add such settings. */
  readonly servers: readonly ToolServerAddress[];
}

/** Throws a sentence for the client. */
async function settingsOf(started: Workspace, metadata: Fields | undefined): Promise<Settings> {
  const { workspacePath, mcpServers } = readSettings(metadata);
  return { workspace: await workspaceIn(started, workspacePath), servers: serversIn(mcpServers) };
}

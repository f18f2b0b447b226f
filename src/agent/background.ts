import { randomBytes } from 'node:crypto';
import { messageOf } from '../base/log.ts';
import { localize } from './locale.ts';
import { BoundedOutput } from './tools/boundedOutput.ts';
import type { AgentTask, TaskEnd, ToolOutcome } from './tools/tool.ts';

/** The context of a running task. */
export interface TaskContext {
  readonly id: string;
  readonly signal: AbortSignal;
  output(text: string): void;
  /** Runs a question to the user; the task shows as waiting meanwhile. */
  asking<T>(ask: () => Promise<T>): Promise<T>;
}
interface Running {
  task: AgentTask;
  message: string;
  told: string | undefined;
  readonly output: BoundedOutput;
  readonly stop: AbortController;
  over: Promise<void>;
}

/** Background tasks of one conversation: commands and sub-agents. They end with it. */
export class Background {
  readonly #tasks = new Map<string, Running>();
  #ended: TaskEnd[] = [];

  get all(): readonly AgentTask[] {
    return [...this.#tasks.values()].map(({ task }) => task);
  }

  start(kind: AgentTask['kind'], description: string, run: (context: TaskContext) => Promise<ToolOutcome>): AgentTask {
    const id = `${kind === 'bash' ? 'b' : 'a'}${randomBytes(4).toString('hex')}`;
    const running: Running = {
      task: { id, kind, description, status: 'running' },
      message: '',
      told: undefined,
      output: new BoundedOutput(),
      stop: new AbortController(),
      over: Promise.resolve(),
    };
    this.#tasks.set(id, running);
    running.over = this.#run(running, run);
    return running.task;
  }

  /** Returns a task and its output so far; undefined when there is none of that id. */
  find(id: string): { readonly task: AgentTask; readonly output: string; readonly message: string } | undefined {
    const running = this.#tasks.get(id);
    return running && { task: running.task, output: running.output.text, message: running.message };
  }

  /** Settles when the task has ended, or when the signal fires. */
  async wait(id: string, signal: AbortSignal): Promise<void> {
    const over = this.#tasks.get(id)?.over;
    if (!over || signal.aborted) return;
    await Promise.race([over, new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))]);
  }

  /** Ends the task; settles once it has ended. */
  async stop(id: string): Promise<void> {
    const running = this.#tasks.get(id);
    running?.stop.abort();
    await running?.over;
  }

  /** Returns and clears the tasks that ended since the last call, oldest first. */
  takeEndedTasks(): readonly TaskEnd[] {
    return this.#ended.splice(0);
  }

  async end(): Promise<void> {
    await Promise.all([...this.#tasks.keys()].map((id) => this.stop(id)));
  }

  async #run(running: Running, run: (context: TaskContext) => Promise<ToolOutcome>): Promise<void> {
    const { id } = running.task;
    const { signal } = running.stop;
    const context: TaskContext = {
      id,
      signal,
      output: (text) => running.output.push(text),
      asking: async (ask) => {
        running.task = { ...running.task, status: 'awaiting_approval' };
        try {
          return await ask();
        } finally {
          running.task = { ...running.task, status: 'running' };
        }
      },
    };
    let isError = true;
    try {
      const outcome = await run(context);
      isError = outcome.isError;
      running.message = outcome.message;
      running.told = outcome.told;
      if (running.output.text === '') running.output.push(outcome.text);
    } catch (error) {
      running.message = messageOf(error);
    }
    if (signal.aborted) {
      running.message = 'It was stopped.';
      running.told = localize(running.message, '已停止。');
    }
    running.task = { ...running.task, status: signal.aborted ? 'killed' : isError ? 'failed' : 'completed' };
    this.#ended.push({
      id: `${id}.${running.task.status}`,
      task: running.task,
      message: running.message,
      ...(running.told === undefined ? {} : { told: running.told }),
      at: Date.now(),
    });
  }
}

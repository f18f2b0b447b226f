import * as z from 'zod/mini';
import type { Background } from '../background.ts';
import { localize } from '../locale.ts';
import { commandLine, shellInput, shellTool } from './shell.ts';
import type { AgentTask } from './tool.ts';
import {
  type AgentTool,
  defineTool,
  done,
  type OutcomeDisplay,
  type ToolOutcome,
  type ToolRunContext,
  toldFailed,
  toldFailure,
} from './tool.ts';

/** Long enough for any work day; what runs longer is ended. */
const MOST_SECONDS = 24 * 60 * 60;
const LONGEST_WAIT = 600;

/** The shell, with a way to leave a command running beside the conversation. */
export function backgroundShell(background: Background): AgentTool {
  return defineTool({
    name: shellTool.name,
    description: `${shellTool.description} With run_in_background it goes on beside the conversation (servers, long builds); its end is told later.`,
    reads: false,
    input: z.extend(shellInput, { run_in_background: z.optional(z.boolean()) }),
    run: async ({ run_in_background, ...input }, context) => {
      if (!run_in_background) return shellTool.run(input, context);
      const line = commandLine(input.command);
      await context.permit({
        action: 'run background command',
        description: localize(`Run in the background \`${line}\``, `在后台运行 \`${line}\``),
        shown: [{ type: 'command', command: input.command }],
      });
      const { runCommand, workspace } = context;
      const task = background.start('bash', line, async ({ signal, output }) => {
        const spec = { command: input.command, cwd: workspace.cwd, seconds: input.timeout ?? MOST_SECONDS, signal };
        const end = await runCommand(spec, output);
        if (end.type === 'failed') return toldFailed(`It could not be started: ${end.message}`, `无法启动：${end.message}`);
        if (end.type === 'timeout') return toldFailed(`Ended after ${spec.seconds} s.`, `已在 ${spec.seconds} 秒后结束。`);
        if (end.signal) return toldFailed(`Ended by ${end.signal}.`, `被 ${end.signal} 结束。`);
        return end.code === 0 ? done('', 'Exit code 0.') : toldFailed(`Exit code ${end.code}.`, `退出代码 ${end.code}。`);
      });
      return begun(task);
    },
  });
}

/** To the model and the user: it goes on, and how to ask for it. */
export function begun(task: AgentTask): ToolOutcome {
  return done(`task_id: ${task.id}`, 'It goes on in the background. Its end is told by itself; TaskOutput shows what it has put out.', [
    shownTask(task),
  ]);
}

function shownTask(task: AgentTask): OutcomeDisplay {
  return { type: 'task', task };
}

export function taskTools(background: Background): readonly AgentTool[] {
  const find = (id: string) => {
    const found = background.find(id);
    if (!found) throw toldFailure(`There is no task ${id}. TaskList shows them.`, `没有任务 ${id}。`);
    return found;
  };
  return [
    defineTool({
      name: 'TaskList',
      description: 'List what runs, or has run, in the background of this conversation.',
      reads: true,
      input: z.object({}),
      run: async () => {
        const rows = background.all.map((task) => `${task.id} ${task.kind} ${task.status}: ${task.description}`);
        return done(rows.join('\n'), `${rows.length} task(s).`, background.all.map(shownTask));
      },
    }),
    defineTool({
      name: 'TaskOutput',
      description: 'Show what a task in the background has put out. With wait it waits so many seconds for its end.',
      reads: true,
      input: z.object({ task_id: z.string(), wait: z.optional(z.number().check(z.minimum(0), z.maximum(LONGEST_WAIT))) }),
      run: async ({ task_id, wait }, context: ToolRunContext) => {
        find(task_id);
        if (wait) await background.wait(task_id, AbortSignal.any([context.signal, AbortSignal.timeout(wait * 1000)]));
        context.signal.throwIfAborted();
        const { task, output, message } = find(task_id);
        return done(output, [`${task.id} is ${task.status}.`, message].filter(Boolean).join(' '), [shownTask(task)]);
      },
    }),
    defineTool({
      name: 'TaskStop',
      description: 'End a task in the background, with everything it has started.',
      reads: false,
      input: z.object({ task_id: z.string() }),
      run: async ({ task_id }, context) => {
        const { task } = find(task_id);
        const description = localize(`Stop the background task \`${task.description}\``, `停止后台任务 \`${task.description}\``);
        await context.permit({ action: 'stop background task', description, shown: [shownTask(task)] });
        await background.stop(task_id);
        const now = find(task_id);
        return done('', `${task.id} is ${now.task.status}.`, [shownTask(now.task)]);
      },
    }),
  ];
}

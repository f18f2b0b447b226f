import * as z from 'zod/mini';
import { localize } from '../locale.ts';
import { BoundedOutput } from './boundedOutput.ts';
import { defineTool, done, failed, toldFailed } from './tool.ts';

const DEFAULT_SECONDS = 60;
const MOST_SECONDS = 600;

export const shellInput = z.object({
  command: z.string().check(z.minLength(1), z.describe('The command line.')),
  timeout: z.optional(z.number().check(z.minimum(1), z.maximum(MOST_SECONDS), z.describe(`Seconds. Default: ${DEFAULT_SECONDS}.`))),
});

export const shellTool = defineTool({
  name: 'Shell',
  description:
    'Run a shell command in the working directory and give its output and exit code. There is no input and no terminal: use flags that do not ask. Long output is cut in the middle.',
  reads: false,
  input: shellInput,
  run: async (input, context) => {
    const seconds = input.timeout ?? DEFAULT_SECONDS;
    await context.permit({
      action: 'run command',
      description: localize(`Run command \`${commandLine(input.command)}\``, `运行命令 \`${commandLine(input.command)}\``),
      shown: [{ type: 'command', command: input.command }],
    });
    const output = new BoundedOutput();
    const end = await context.runCommand(
      { command: input.command, cwd: context.workspace.cwd, seconds, signal: context.signal },
      (text, from) => {
        output.push(text);
        context.output(text, from);
      },
    );
    context.signal.throwIfAborted();
    const text = output.text;
    if (end.type === 'failed') return toldFailed(`The command could not be started: ${end.message}`, `无法启动命令：${end.message}`, text);
    if (end.type === 'timeout')
      return toldFailed(
        `Ended after ${seconds} s, with everything it had started. Give a longer timeout if it needs one.`,
        `已在 ${seconds} 秒后结束，包括它启动的所有进程。`,
        text,
      );
    const cut = output.dropped > 0 ? ' The output was cut in the middle.' : '';
    if (end.code === 0) return done(text, `Exit code 0.${text === '' ? ' No output.' : ''}${cut}`);
    if (end.signal) return toldFailed(`Ended by ${end.signal}.${cut}`, `被 ${end.signal} 结束。`, text);
    const outcome = failed(`Exit code ${end.code}.${cut}`, text);
    return typeof end.code === 'number' ? { ...outcome, exitCode: end.code } : outcome;
  },
});

/** A command line on one line, not too long. */
export function commandLine(command: string): string {
  const lines = command.split('\n').map((line) => line.trim());
  const flat = lines.filter(Boolean).join(' ; ');
  return flat.length > 200 ? `${flat.slice(0, 200)}...` : flat;
}

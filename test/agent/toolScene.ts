import { realpathSync } from 'node:fs';
import { runCommand } from '../../src/agent/tools/runCommand.ts';
import { type AgentTool, type OutcomeDisplay, Rejected, ToolFailure, type ToolRunContext } from '../../src/agent/tools/tool.ts';
import { diskFiles } from '../../src/agent/workspace/textFile.ts';

export interface Tried {
  readonly action: string;
  readonly description: string;
  readonly shown: readonly OutcomeDisplay[];
}
export interface TestScene extends ToolRunContext {
  readonly asked: Tried[];
  readonly printed: string[];
}

/** A scene in which every request is allowed, or what `answer` says. */
export function sceneIn(cwd: string, more: { answer?: () => void; signal?: AbortSignal; roots?: readonly string[] } = {}): TestScene {
  const asked: Tried[] = [];
  const printed: string[] = [];
  return {
    callId: 'c1',
    workspace: { cwd: realpathSync(cwd), roots: more.roots ?? [cwd] },
    signal: more.signal ?? new AbortController().signal,
    asked,
    printed,
    permit: async (request) => {
      asked.push(request);
      more.answer?.();
    },
    files: diskFiles,
    runCommand,
    output: (text) => void printed.push(text),
  };
}

export function reject(): never {
  throw new Rejected();
}

/** The message of the ToolFailure a run ends with. */
export async function failureOf(tool: AgentTool, input: unknown, scene: ToolRunContext): Promise<string> {
  try {
    const outcome = await tool.run(input, scene);
    return `no failure, but: ${outcome.message}`;
  } catch (error) {
    if (error instanceof ToolFailure) return error.message;
    throw error;
  }
}

import * as z from 'zod/mini';
import type { Background, TaskContext } from '../background.ts';
import { begun } from './tasks.ts';
import { defineTool, done, failed, type Tool, type ToolRunContext } from './tool.ts';

export type SubagentKind = 'general' | 'explore';
/** Runs a turn of its own on the prompt and gives its last words. */
export type RunSubagent = (order: Order, scene: Pick<ToolRunContext, 'callId' | 'signal'>, task?: TaskContext) => Promise<string>;
interface Order {
  readonly kind: SubagentKind;
  readonly description: string;
  readonly prompt: string;
}

/** With a background it can also go on beside the conversation. */
export function agentTool(run: RunSubagent, background?: Background): Tool {
  return defineTool({
    name: 'Agent',
    description:
      'Give a self-contained piece of work to a sub-agent with a memory of its own; only its report comes back. "explore" only reads; "general" may do everything you may, with the same approvals. Several can run at once.',
    reads: true,
    input: z.object({
      ...(background ? { run_in_background: z.optional(z.boolean()) } : {}),
      description: z.string().check(z.minLength(1), z.maxLength(200), z.describe('Three to six words, for the user.')),
      prompt: z.string().check(z.minLength(1), z.describe('Everything the sub-agent must know: it sees nothing of this conversation.')),
      subagent_type: z.optional(z.enum(['general', 'explore'])),
    }),
    run: async ({ description, prompt, subagent_type, run_in_background }, scene) => {
      const order = { kind: subagent_type ?? 'general', description, prompt } as const;
      if (background && run_in_background) {
        const { callId } = scene;
        const task = background.start('agent', description, async (task) => {
          const report = await run(order, { callId, signal: task.signal }, task);
          return report === '' ? failed('It ended without a report.') : done(report, 'It has given its report.');
        });
        return begun(task);
      }
      const report = await run(order, scene);
      return report === '' ? failed('The sub-agent ended without a report.') : done(report, 'The report of the sub-agent.');
    },
  });
}

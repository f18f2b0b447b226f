import * as z from 'zod/mini';
import { defineTool, done, failed, type Tool, type ToolScene } from './tool.ts';

export type SubagentKind = 'general' | 'explore';
/** Runs a turn of its own on the prompt and gives its last words. */
export type RunSubagent = (order: { kind: SubagentKind; description: string; prompt: string }, scene: ToolScene) => Promise<string>;

export function agentTool(run: RunSubagent): Tool {
  return defineTool({
    name: 'Agent',
    description:
      'Give a self-contained piece of work to a sub-agent with a memory of its own; only its report comes back. "explore" only reads; "general" may do everything you may, with the same approvals. Several can run at once.',
    reads: true,
    input: z.object({
      description: z.string().check(z.minLength(1), z.maxLength(200), z.describe('Three to six words, for the person.')),
      prompt: z.string().check(z.minLength(1), z.describe('Everything the sub-agent must know: it sees nothing of this conversation.')),
      subagent_type: z.optional(z.enum(['general', 'explore'])),
    }),
    run: async ({ description, prompt, subagent_type }, scene) => {
      const report = await run({ kind: subagent_type ?? 'general', description, prompt }, scene);
      return report === '' ? failed('The sub-agent ended without a report.') : done(report, 'The report of the sub-agent.');
    },
  });
}

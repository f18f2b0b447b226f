import { randomUUID } from 'node:crypto';
import * as z from 'zod/mini';
import type { Background, TaskContext } from './background.ts';
import type { Frontend } from './frontend.ts';
import { History } from './history.ts';
import { isModelError } from './models/model.ts';
import { begun } from './tools/tasks.ts';
import { type AgentTool, defineTool, done, type ToolRunContext, toldFailed, toldFailure } from './tools/tool.ts';
import { runTurn, type TurnContext } from './turn.ts';

type SubagentKind = 'general' | 'explore';
/** Runs a turn of its own on the prompt and gives its last words. */
export type RunSubagent = (
  order: SubagentPrompt,
  context: Pick<ToolRunContext, 'callId' | 'signal'>,
  task?: TaskContext,
) => Promise<string>;
interface SubagentPrompt {
  readonly kind: SubagentKind;
  readonly description: string;
  readonly prompt: string;
}

/** With a background it can also go on beside the conversation. */
export function agentTool(run: RunSubagent, background?: Background): AgentTool {
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
    run: async ({ description, prompt, subagent_type, run_in_background }, context) => {
      const order = { kind: subagent_type ?? 'general', description, prompt } as const;
      if (background && run_in_background) {
        const { callId } = context;
        const task = background.start('agent', description, async (task) => {
          const report = await run(order, { callId, signal: task.signal }, task);
          return report === '' ? toldFailed('It ended without a report.', '结束时没有报告。') : done(report, 'It has given its report.');
        });
        return begun(task);
      }
      const report = await run(order, context);
      return report === ''
        ? toldFailed('The sub-agent ended without a report.', '子智能体结束时没有报告。')
        : done(report, 'The report of the sub-agent.');
    },
  });
}

const MOST_STEPS = 50;
/** Tools withheld from sub-agents: their own sub-agents, and the conversation's plan. */
const WITHHELD = new Set(['Agent', 'EnterPlanMode', 'ExitPlanMode', 'SetTodoList', 'TaskList', 'TaskOutput', 'TaskStop']);
/** True for tools that clients run only within a turn, which a background sub-agent outlives. */
const WITH_A_TURN = (tool: AgentTool): boolean => tool.runsInClient === true || tool.name === 'AskUserQuestion';

const ROLE =
  'You are a sub-agent: nobody sees what you write but the agent that sent you. Do exactly the piece of work you are given. End with one complete report: what you found or did, with file paths and lines.';

/** The part of a turn that its sub-agents share. */
export type SharedContext = Omit<
  TurnContext,
  'history' | 'offers' | 'findTool' | 'toolNames' | 'takeSteers' | 'takeEndedTasks' | 'mayStop'
>;

/** Runs sub-agents beside the turn they belong to: same model, tools and approvals, a frontend that nests what they say, a history that is dropped. */
export function subagentsOf(parent: SharedContext, tools: readonly AgentTool[]): RunSubagent {
  return async ({ kind, description, prompt }, context, task) => {
    const agentId = randomUUID();
    const own = toolsFor(kind, tools).filter((tool) => !task || !WITH_A_TURN(tool));
    const history = new History();
    const data = { agent_id: agentId, subagent_type: kind };
    const frontend = task ? withoutEvents(parent.frontend) : nested(parent.frontend, { callId: context.callId, agentId, kind });
    const input = [{ type: 'text' as const, text: prompt }];
    await parent.frontend.hook('SubagentStart', kind, data, context.signal);
    frontend.emit({ type: 'turn.started', input });
    try {
      const end = await runTurn(
        {
          ...parent,
          frontend,
          history,
          signal: context.signal,
          maxSteps: Math.min(parent.maxSteps, MOST_STEPS),
          system: async () => `${await parent.system()}\n\n${ROLE}`,
          offers: () => own,
          findTool: (name) => own.find((tool) => tool.name === name),
          toolNames: () => own.map((tool) => tool.name),
          permit: (request, signal) => {
            const by = { agentId, kind, description, ...(task ? { taskId: task.id } : {}) };
            const ask = () => parent.permit({ ...request, by }, signal);
            return task ? task.asking(ask) : ask();
          },
          takeSteers: () => [],
          takeEndedTasks: () => [],
          mayStop: async () => undefined,
        },
        input,
      );
      const report = lastWords(history);
      return end.status === 'finished' ? report : `${report}\n\n(Stopped after ${end.steps} steps.)`;
    } catch (error) {
      if (isModelError(error)) throw toldFailure(`The sub-agent failed: ${error.message}`, `子智能体失败：${error.message}`);
      throw error;
    } finally {
      frontend.emit({ type: 'turn.ended' });
      await parent.frontend.hook('SubagentStop', kind, data, context.signal);
    }
  };
}

function toolsFor(kind: SubagentKind, tools: readonly AgentTool[]): readonly AgentTool[] {
  return tools.filter((tool) => !WITHHELD.has(tool.name) && (kind === 'general' || (tool.reads && tool.name !== 'AskUserQuestion')));
}

/** In the background only what needs a user is heard. */
function withoutEvents(frontend: Frontend): Frontend {
  return { ...nested(frontend, { callId: '', agentId: '', kind: '' }), emit: () => {} };
}

function nested(frontend: Frontend, at: { readonly callId: string; readonly agentId: string; readonly kind: string }): Frontend {
  return {
    emit: (said) => frontend.emit({ type: 'sub', ...at, said }),
    approve: (request, signal) => frontend.approve(request, signal),
    question: (request, signal) => frontend.question(request, signal),
    callClient: (call, signal) => frontend.callClient(call, signal),
    hook: (moment, target, data, signal) => frontend.hook(moment, target, data, signal),
    clientTools: () => frontend.clientTools(),
    asksQuestions: frontend.asksQuestions,
    hasPlanMode: frontend.hasPlanMode,
  };
}

function lastWords(history: History): string {
  const last = history.messages.findLast((message) => message.role === 'assistant' && message.text.trim() !== '');
  return last?.role === 'assistant' ? last.text.trim() : '';
}

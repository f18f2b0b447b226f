import type { Background } from './background.ts';
import type { Frontend } from './frontend.ts';
import { agentTool, type RunSubagent } from './tools/agent.ts';
import { askUserQuestionTool } from './tools/askUserQuestion.ts';
import { builtInTools } from './tools/builtIn.ts';
import { clientTool } from './tools/clientTool.ts';
import { type Planning, planModeTools } from './tools/planMode.ts';
import { shellTool } from './tools/shell.ts';
import { backgroundShell, taskTools } from './tools/tasks.ts';
import type { Tool } from './tools/tool.ts';

/** Names a client's tool may not take, also of tools that are not offered at the moment. */
export const takenNames: readonly string[] = [
  ...builtInTools.map((tool) => tool.name),
  'Agent',
  'AskUserQuestion',
  'EnterPlanMode',
  'ExitPlanMode',
  'TaskList',
  'TaskOutput',
  'TaskStop',
];

/** Every tool of this moment: our own, those the client can show, those it lends. */
export function toolbox(
  frontend: Frontend,
  planning: Planning,
  subagents: (tools: readonly Tool[]) => RunSubagent,
  background: Background | undefined,
): readonly Tool[] {
  const tools: readonly Tool[] = [
    ...builtInTools.map((tool) => (background && tool === shellTool ? backgroundShell(background) : tool)),
    ...(background ? taskTools(background) : []),
    ...(frontend.asksQuestions ? [askUserQuestionTool(frontend)] : []),
    ...((frontend.asksQuestions || frontend.approvesPlans) && frontend.hasPlanMode ? planModeTools(frontend, planning) : []),
    ...frontend.clientTools().map((offer) => clientTool(offer, frontend)),
  ];
  return [...tools, agentTool((order, scene, task) => subagents(tools)(order, scene, task), background)];
}

import type { Face } from './face.ts';
import { agentTool, type RunSubagent } from './tools/agent.ts';
import { askUserQuestionTool } from './tools/askUserQuestion.ts';
import { builtInTools } from './tools/builtIn.ts';
import { clientTool } from './tools/clientTool.ts';
import { type Planning, planModeTools } from './tools/planMode.ts';
import type { Tool } from './tools/tool.ts';

/** Names a client's tool may not take, also of tools that are not offered at the moment. */
export const takenNames: readonly string[] = [
  ...builtInTools.map((tool) => tool.name),
  'Agent',
  'AskUserQuestion',
  'EnterPlanMode',
  'ExitPlanMode',
];

/** Every tool of this moment: our own, those the client can show, those it lends. */
export function toolbox(face: Face, planning: Planning, subagents: (tools: readonly Tool[]) => RunSubagent): readonly Tool[] {
  const tools: readonly Tool[] = [
    ...builtInTools,
    ...(face.asksQuestions ? [askUserQuestionTool(face)] : []),
    ...(face.asksQuestions && face.hasPlanMode ? planModeTools(face, planning) : []),
    ...face.clientTools().map((offer) => clientTool(offer, face)),
  ];
  return [...tools, agentTool((order, scene) => subagents(tools)(order, scene))];
}

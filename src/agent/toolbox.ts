import type { Background } from './background.ts';
import type { Frontend } from './frontend.ts';
import type { ModelTool } from './models/model.ts';
import { agentTool, type RunSubagent } from './subagents.ts';
import { readFileTool, strReplaceFileTool, writeFileTool } from './tools/files.ts';
import { globTool, grepTool, listDirectoryTool } from './tools/searching.ts';
import { shellTool } from './tools/shell.ts';
import { backgroundShell, taskTools } from './tools/tasks.ts';
import { type AgentTool, checkerOf, toldFailure } from './tools/tool.ts';
import { askUserQuestionTool, type Planning, planModeTools, setTodoListTool } from './tools/user.ts';

/** The agent's own tools. A client's tool of one of these names is refused. */
const builtInTools: readonly AgentTool[] = [
  readFileTool,
  listDirectoryTool,
  globTool,
  grepTool,
  writeFileTool,
  strReplaceFileTool,
  shellTool,
  setTodoListTool,
];

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

/** Every tool of this moment: our own, those the client can show, those it offers. */
export function toolbox(
  frontend: Frontend,
  planning: Planning,
  subagents: (tools: readonly AgentTool[]) => RunSubagent,
  background: Background | undefined,
): readonly AgentTool[] {
  const tools: readonly AgentTool[] = [
    ...builtInTools.map((tool) => (background && tool === shellTool ? backgroundShell(background) : tool)),
    ...(background ? taskTools(background) : []),
    ...(frontend.asksQuestions ? [askUserQuestionTool(frontend)] : []),
    ...((frontend.asksQuestions || frontend.approvesPlans) && frontend.hasPlanMode ? planModeTools(frontend, planning) : []),
    ...frontend.clientTools().map((offer) => clientTool(offer, frontend)),
  ];
  return [...tools, agentTool((order, context, task) => subagents(tools)(order, context, task), background)];
}

/** A tool the client runs. Its arguments are checked here first; whether it may run is the client's business. */
function clientTool(offer: ModelTool, frontend: Frontend): AgentTool {
  return {
    ...offer,
    reads: false,
    runsInClient: true,
    run: async (input, context) => {
      const problem = (await checkerOf(offer.parameters))(input);
      if (problem !== undefined) throw toldFailure(`Invalid arguments: ${problem}`, `参数无效：${problem}`);
      return frontend.callClient({ id: context.callId, name: offer.name, input: JSON.stringify(input) }, context.signal);
    },
  };
}

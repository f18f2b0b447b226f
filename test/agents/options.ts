import { answersIn } from '../../src/session/approvalAnswers.ts';
import type { Approval } from '../../src/session/model.ts';
import { checkRows, optionRow } from '../optionRows.ts';
import { choose, type Drive } from './drive.ts';

/** What the script of test/agents/fakeModel/scenarios/approvals.json asks for. */
const PROMPTS = {
  'a command': 'Make the first file',
  'an edit': 'Turn debugging on',
  'a web page': 'Look it up',
  'an MCP tool': 'Show me the switch',
} as const;

/**
 * Asks an agent for one thing of each kind and compares what it offers, and how that is shown, with the table in docs/approvals.md.
 */
export async function checkOptions(agent: string, driven: Drive): Promise<void> {
  const rows: string[] = [];
  for (const [what, prompt] of Object.entries(PROMPTS)) {
    let asked: Approval | undefined;
    driven.onAsk((ask) => {
      if (ask.kind === 'approval') asked ??= ask;
      return choose('reject_once')(ask);
    });
    await driven.prompt(prompt);
    rows.push(asked ? optionRow(agent, what, asked, answersIn(driven.now(), asked)) : `| ${agent} | ${what} | does not ask | |`);
  }
  checkRows(agent, rows);
}

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { answersIn } from '../../src/session/approvalAnswers.ts';
import type { Approval } from '../../src/session/model.ts';
import { choose, type Drive } from './drive.ts';

const DOC = path.resolve('docs/approvals.md');
/** What the script of test/agents/fakeModel/scenarios/approvals.json asks for. */
const PROMPTS = {
  'a command': 'Make the first file',
  'an edit': 'Turn debugging on',
  'a web page': 'Look it up',
  'an MCP tool': 'Show me the switch',
} as const;

/**
 * Asks an agent for one thing of each kind and compares what it offers, and how that is shown, with the table in docs/approvals.md. With
 * PARLEY_UPDATE=1 the table is written anew.
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
    rows.push(asked ? `| ${agent} | ${what} | ${offered(asked)} | ${shown(driven, asked)} |` : `| ${agent} | ${what} | does not ask | |`);
  }
  const text = readFileSync(DOC, 'utf8');
  const isOf = (line: string) => line.startsWith(`| ${agent} `);
  const others = text.split('\n').filter((line) => !isOf(line));
  const known = text
    .split('\n')
    .filter(isOf)
    .map((line) => line.replaceAll(/ +/g, ' '));
  if (process.env.PARLEY_UPDATE === '1') {
    const at = others.findLastIndex((line) => line.startsWith('| ')) + 1;
    writeFileSync(DOC, others.toSpliced(at, 0, ...rows).join('\n'));
  } else assert.deepEqual(known, rows);
}

function offered({ options }: Approval): string {
  return options.map(({ label, effect }) => `${cell(label)} (${effect})`).join(' · ');
}

function shown(driven: Drive, ask: Approval): string {
  const { answers } = answersIn(driven.now(), ask);
  return answers
    .map(
      ({ letter, label, description }) =>
        `${letter ? `**${letter}** ` : ''}${cell(label)}${description === undefined ? '' : ` ${cell(description)}`}`,
    )
    .join(' · ');
}

/** Paths of temporary folders are different each time. */
function cell(text: string): string {
  return text
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ')
    .replaceAll(/\/\S*\/parley-[^/\s]+/g, '…');
}

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ApprovalAnswers } from '../src/session/approvalAnswers.ts';
import type { Approval } from '../src/session/model.ts';

// The table of what agents offer, in docs/approvals.md. With PARLEY_UPDATE=1 the rows of an agent are written anew.
const DOC = path.resolve('docs/approvals.md');

/** One row: what an agent offers for a kind of approval, and how that is shown. */
export function optionRow(agent: string, what: string, ask: Approval, { answers }: ApprovalAnswers): string {
  const offered = ask.options.map(({ label, effect }) => `${cell(label)} (${effect})`).join(' · ');
  const shown = answers
    .map(
      ({ letter, label, description }) =>
        `${letter ? `**${letter}** ` : ''}${cell(label)}${description === undefined ? '' : ` ${cell(description)}`}`,
    )
    .join(' · ');
  return `| ${agent} | ${what} | ${offered} | ${shown} |`;
}

/** Compares the rows of an agent with those of the table. */
export function checkRows(agent: string, rows: readonly string[]): void {
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

/** Paths of temporary folders are different each time. */
function cell(text: string): string {
  return text
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ')
    .replaceAll(/\/\S*\/parley-[^/\s”]+/g, '…');
}

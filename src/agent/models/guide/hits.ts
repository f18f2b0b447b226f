import type { Localize } from '../../locale.ts';
import type { ToolMessage } from '../model.ts';
import { linesOf } from './script.ts';

export interface Hit {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** The lines of a Grep result. */
export function hitsOf(result: ToolMessage): readonly Hit[] {
  return linesOf(result).flatMap((row) => {
    const match = /^(.+?):(\d+):(.*)$/.exec(row);
    return match ? [{ path: match[1] ?? '', line: Number(match[2]), text: match[3] ?? '' }] : [];
  });
}

/** Returns the sentence of a Grep result about unreadable files, after a blank; '' when all files were searched. */
export function unreadOf(result: ToolMessage): string {
  return / Could not be read [\s\S]*$/.exec(result.message)?.[0] ?? '';
}

/** As a Markdown list, at most twenty. */
export function hitRows(hits: readonly Hit[], translate: Localize): string {
  const rows = hits.slice(0, 20).map((hit) => `- \`${hit.path}:${hit.line}\` ${code(hit.text)}`);
  if (hits.length > 20) rows.push(translate(`- ... and ${hits.length - 20} more`, `- ……还有 ${hits.length - 20} 处`));
  return rows.join('\n');
}

function code(text: string): string {
  const trimmed = text.trim();
  const short = trimmed.length > 120 ? `${trimmed.slice(0, 120)}...` : trimmed;
  return short === '' ? '' : short.includes('`') ? `\`\` ${short} \`\`` : `\`${short}\``;
}

import { parseJson } from '../base/json.ts';
import type { Approval, ApprovalDetail } from './model.ts';

/** The input of a tool as lines of `name: value`, which read better than JSON; JSON where it is not an object. */
export function inputText(input: unknown): string {
  if (input === undefined || input === null) return '';
  if (typeof input !== 'object' || Array.isArray(input)) return typeof input === 'string' ? input : JSON.stringify(input, null, 2);
  return Object.entries(input).map(memberText).join('\n');
}

/** Indents the lines of a value, so that none of them reads as another member. */
function memberText([name, value]: readonly [string, unknown]): string {
  const label = /^[\w$.-]+$/.test(name) ? name : JSON.stringify(name);
  const text = typeof value === 'string' && value !== '' ? value : (JSON.stringify(value) ?? '');
  return text.includes('\n') ? `${label}:\n${text.replaceAll(/^/gm, '  ')}` : `${label}: ${text}`;
}

/** The text of a detail beyond the title of its approval; '' for none. Parses arguments that an agent writes as JSON. */
export function wordsBeside({ title }: Approval, { text, markdown }: Extract<ApprovalDetail, { type: 'text' }>): string {
  const bare = text.trim();
  if (bare === title.trim()) return '';
  const members = markdown ? undefined : membersOf(bare);
  if (!members) return text;
  const values = Object.values(members);
  return values.length === 1 && values[0] === title.trim() ? '' : inputText(members);
}

function membersOf(text: string): object | undefined {
  if (!text.startsWith('{') || !text.endsWith('}')) return undefined;
  try {
    const value = parseJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0 ? value : undefined;
  } catch {
    return undefined;
  }
}

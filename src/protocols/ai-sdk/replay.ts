import type { ToolPart, ToolState, UiPart } from './schema.ts';
import { isTool } from './toolParts.ts';

const RANK: Readonly<Record<ToolState, number>> = {
  'input-streaming': 0,
  'input-available': 1,
  'approval-requested': 2,
  'approval-responded': 3,
  'output-available': 4,
  'output-error': 4,
  'output-denied': 4,
};

/** How far a replayed message has come compared with the one that is shown. */
export function progress(shown: readonly UiPart[], replayed: readonly UiPart[]): 'behind' | 'level' | 'different' {
  for (const [at, part] of shown.entries()) {
    const other = replayed[at];
    if (!other) return 'behind';
    const how = compared(part, other);
    if (how !== 'level') return how;
  }
  return 'level';
}

function compared(shown: UiPart, replayed: UiPart): 'behind' | 'level' | 'different' {
  if (shown.type !== replayed.type) return 'different';
  if (isTool(shown)) return comparedCalls(shown, replayed as ToolPart);
  if (shown.type !== 'text' && shown.type !== 'reasoning') return 'level';
  const [text, other] = [String(shown.text), String((replayed as { text?: unknown }).text)];
  if (other.startsWith(text)) return 'level';
  return text.startsWith(other) ? 'behind' : 'different';
}

function comparedCalls(shown: ToolPart, replayed: ToolPart): 'behind' | 'level' | 'different' {
  if (RANK[replayed.state] < RANK[shown.state]) return 'behind';
  if (replayed.toolCallId !== shown.toolCallId) return 'different';
  const [text, other] = [String(shown.rawInput ?? ''), String(replayed.rawInput ?? '')];
  return replayed.state === 'input-streaming' && other.length < text.length ? 'behind' : 'level';
}

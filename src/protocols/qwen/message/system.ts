import { t } from '../../../base/l10n.ts';
import { isRecord } from '../detect.ts';
import type { SystemLine } from './schema.ts';

/** What a `system` line changes. */
export interface SystemEffects {
  readonly version?: string | undefined;
  readonly commands?: readonly string[] | undefined;
  readonly mode?: string | undefined;
  readonly model?: string | undefined;
  /** What the turn is busy with; null when that is over. */
  readonly activity?: string | null;
  /** The model failed, and the agent tries again. */
  readonly fails?: true;
  readonly notes: readonly { readonly level: 'info' | 'warn'; readonly text: string; readonly parent?: string }[];
}

/** Reads a `system` line. The subtype `init` comes again with every turn; unknown subtypes change nothing (qwen.md §3, §12). */
export function systemEffects(line: SystemLine): SystemEffects {
  const mode = line.permission_mode ?? line.permissionMode ?? undefined;
  const text = textIn(line);
  const parent = line.tool_use_id ? { parent: line.tool_use_id } : {};
  const note = (words: string, level: 'info' | 'warn' = 'info'): SystemEffects => ({ mode, notes: [{ level, text: words, ...parent }] });
  switch (line.subtype) {
    case 'init':
      return {
        mode,
        version: line.qwen_code_version ?? line.claude_code_version ?? undefined,
        commands: line.slash_commands ?? undefined,
        model: line.model ?? undefined,
        notes: [],
      };
    case 'status':
      return { mode, activity: line.status === 'compacting' ? t('Compacting the conversation') : null, notes: [] };
    case 'retry':
    case 'api_retry':
      return {
        mode,
        activity: text === '' ? t('The model failed; trying again') : t('Trying again: {0}', text),
        fails: true,
        notes: [],
      };
    case 'task_started':
      return note(t('In the background: {0}', text || '…'));
    case 'task_notification':
      return note(taskWords(line.status ?? '', text), line.status === 'failed' ? 'warn' : 'info');
    case 'model_fallback':
      return note(text || t('Another model was taken because the chosen one failed.'), 'warn');
    case 'permission_denied':
      return note(text || t('{0} was refused by the rules of the agent.', line.tool_name ?? ''), 'warn');
    case 'compact_boundary':
      return note(t('The conversation so far was replaced by a summary.'));
    case 'vision_bridge_failed':
    case 'continue_turn_failed':
      return note(text || line.subtype.replaceAll('_', ' '), 'warn');
    default:
      return { mode, notes: [] };
  }
}

function taskWords(status: string, text: string): string {
  const what = text || '…';
  if (status === 'completed') return t('Done in the background: {0}', what);
  if (status === 'failed') return t('Failed in the background: {0}', what);
  return t('Ended in the background: {0}', what);
}

/** The words of a line: its own, or those in its data. */
function textIn(line: SystemLine): string {
  const data = isRecord(line.data) ? line.data : {};
  const nested = isRecord(line.message) ? line.message.content : line.message;
  for (const value of [line.description, line.summary, nested, data.message, data.description, data.summary, data.reason, data.error]) {
    if (typeof value === 'string' && value !== '') return value.slice(0, 2000);
  }
  return '';
}

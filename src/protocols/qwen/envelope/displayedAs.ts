import { t } from '../../../base/l10n.ts';
import { visibleText } from '../../../session/visible.ts';
import { firstLine } from '../clip.ts';
import { type ToolUse, toolUse } from '../toolTable.ts';
import * as schema from './schema.ts';

/** A call nobody has named yet. */
export function nameless(cwd: string): ToolUse {
  return { ...toolUse('tool', undefined, cwd), title: t('Tool') };
}

/**
 * What a call seems to be that only its displays speak of: from what waits for a yes, else from what it shows (qwen.md §4.3).
 * `before` is what the displays before this one made it out to be.
 */
export function displayedAs(shown: schema.ToolDisplay, cwd: string, before: ToolUse | undefined): ToolUse | undefined {
  return askedAs(shown.confirmation, cwd) ?? resultAs(shown.result_display, cwd, before) ?? before;
}

function askedAs(value: unknown, cwd: string): ToolUse | undefined {
  const one = schema.confirmation.safeParse(value).data;
  if (!one) return typeof value === 'string' && value.trim() !== '' ? titled(nameless(cwd), value) : undefined;
  const server = one.serverName ?? one.server_name;
  const tool = one.toolName ?? one.tool_name;
  const file = one.file_path ?? one.filePath ?? one.file_name ?? one.fileName;
  if (one.command) return toolUse('shell', { command: one.command }, cwd);
  if (file) return toolUse('edit', { file_path: file }, cwd);
  if (server && tool) return toolUse(`mcp__${server}__${tool}`, one.arguments, cwd);
  if (one.plan) return toolUse('exit_plan_mode', { plan: one.plan }, cwd);
  if (one.urls?.[0]) return toolUse('web_fetch', { url: one.urls.join(' ') }, cwd);
  const words = one.title ?? one.prompt ?? one.message ?? tool;
  return words ? titled(nameless(cwd), words) : undefined;
}

function resultAs(value: unknown, cwd: string, before: ToolUse | undefined): ToolUse | undefined {
  // What it printed says least about it.
  if (typeof value === 'string') return before ?? titled(nameless(cwd), value);
  const one = schema.display.safeParse(value).data;
  if (!one) return undefined;
  switch (one.kind) {
    case 'string':
      return before ?? titled(nameless(cwd), one.text ?? '');
    case 'file_diff':
      return toolUse('edit', { file_path: one.file_name }, cwd);
    case 'todo_list':
      return toolUse('todo_write', undefined, cwd);
    case 'plan_summary':
      return titled({ ...toolUse('exit_plan_mode', undefined, cwd), title: t('Plan') }, one.message ?? '');
    case 'task_execution': {
      const words = [one.subagentName, one.taskDescription].filter(Boolean).join(': ');
      return before?.work === 'agent' && !one.taskDescription ? before : titled(toolUse('agent', undefined, cwd), words);
    }
    default:
      return before ?? titled(nameless(cwd), one.kind);
  }
}

function titled(use: ToolUse, words: string): ToolUse {
  const title = visibleText(firstLine(words));
  return title === '' ? use : { ...use, title };
}

import path from 'node:path';
import type { CallUpdate } from '../../../protocols/a2a/codec.ts';
import { type Fields, isRecord, type RfcFileDiff } from '../../../protocols/a2a/schema.ts';
import type { ApprovalRequest } from '../../frontend.ts';
import { localize } from '../../locale.ts';
import { type OutcomeDisplay, outcomeText, type ToolOutcome } from '../../tools/tool.ts';
import { filePatch } from '../filePatch.ts';

/* What of the agent's loop becomes which of the extension's objects (docs/protocols/a2a.md §6). How the objects look is the codec's. */

/** A tool of a server that the client named. */
export interface ClientTool {
  readonly server: string;
  readonly tool: string;
}

function diffOf(shown: readonly OutcomeDisplay[]): RfcFileDiff | undefined {
  const diff = shown.find((one) => one.type === 'diff');
  if (!diff) return undefined;
  return {
    file_name: path.basename(diff.path),
    file_path: diff.path,
    ...(diff.before === null ? {} : { old_content: diff.before }),
    new_content: diff.after,
    formatted_diff: filePatch(diff.path, diff.before ?? '', diff.after, { context: 4 }).text,
  };
}

/** ToolOutput: an edit, anything that has members, or text. */
export function outputOf(outcome: ToolOutcome): CallUpdate['output'] {
  const diff = diffOf(outcome.shown);
  if (diff) return { diff };
  for (const one of outcome.shown) {
    if (one.type === 'todo') return { structured_data: { items: one.items } };
    if (one.type === 'task') return { structured_data: { task: one.task } };
    if (one.type === 'other' && isRecord(one.value)) return { structured_data: one.value };
  }
  return { text: [outcome.text, outcome.message].filter(Boolean).join('\n') };
}

/** Classes of failures, by the tool; named like those of Gemini CLI where it has the same tool. */
const FAILURES: Readonly<Record<string, string>> = {
  ReadFile: 'read_content_failure',
  ListDirectory: 'ls_execution_error',
  Glob: 'glob_execution_error',
  Grep: 'grep_execution_error',
  WriteFile: 'file_write_failure',
  StrReplaceFile: 'edit_no_occurrence_found',
  Shell: 'shell_execute_error',
};

/** ErrorDetails. */
export function errorOf(tool: string, outcome: ToolOutcome, mcp: boolean): NonNullable<CallUpdate['error']> {
  // An edit that fits fails as any writing does.
  const as = tool === 'StrReplaceFile' && outcome.isBroken ? 'WriteFile' : tool;
  const type = mcp ? 'mcp_tool_error' : (FAILURES[as] ?? 'execution_failed');
  const message = outcomeText(outcome, '\n');
  return { message, type, ...(outcome.exitCode === undefined ? {} : { status_code: outcome.exitCode }) };
}

const LONGEST_DESCRIPTION = 200;

/** ConfirmationRequest. `cwd`: where a command would run. */
export function requestOf(request: ApprovalRequest, cwd: string, mcp?: ClientTool): CallUpdate['request'] {
  const command = request.shown.find((one) => one.type === 'command');
  const diff = diffOf(request.shown);
  return {
    options: [
      { id: 'proceed_once', name: localize('Allow once', '允许一次') },
      {
        id: 'proceed_always',
        name: localize('Allow for this session', '在本次会话中允许'),
        description: command?.type === 'command' ? command.command.slice(0, LONGEST_DESCRIPTION) : request.action,
      },
      { id: 'cancel', name: localize('Reject', '拒绝') },
    ],
    ...(mcp
      ? { mcp_details: { server_name: mcp.server, tool_name: mcp.tool } }
      : diff
        ? { file_edit_details: diff }
        : command
          ? { execute_details: { command: command.command, working_directory: cwd } }
          : { generic_details: { description: request.description } }),
  };
}

export function inputOf(text: string): Fields {
  try {
    const value: unknown = JSON.parse(text || '{}');
    return isRecord(value) ? value : { value };
  } catch {
    return { text };
  }
}

import { basename } from 'node:path';
import { type Line, recordOf } from '../../../protocols/qwen/codec.ts';
import type { ApprovalRequest } from '../../frontend.ts';
import { filePatch } from '../filePatch.ts';

/** Our tools by the names clients of this protocol know. */
const NAMES: Readonly<Record<string, string>> = {
  ReadFile: 'read_file',
  WriteFile: 'write_file',
  StrReplaceFile: 'edit',
  Shell: 'run_shell_command',
  Glob: 'glob',
  Grep: 'grep_search',
  ListDirectory: 'list_directory',
  SetTodoList: 'todo_write',
  Agent: 'agent',
  AskUserQuestion: 'ask_user_question',
  EnterPlanMode: 'enter_plan_mode',
  ExitPlanMode: 'exit_plan_mode',
};

/** The names of all our tools, as clients know them. */
export const toolNames: readonly string[] = Object.values(NAMES);

export function nameOf(tool: string): string {
  return NAMES[tool] ?? tool;
}

/** A call's input in the members clients know. */
export function inputOf(tool: string, text: string): Line {
  // A tool of the client: its input is the client's own.
  if (!Object.hasOwn(NAMES, tool)) return recordOf(parse(text));
  const { path, ...rest } = recordOf(parse(text));
  const input = path === undefined ? rest : { file_path: path, ...rest };
  if (tool === 'SetTodoList' && Array.isArray(rest.todos)) {
    const todos = rest.todos.map((one, at) => {
      const { title, status } = recordOf(one);
      return { id: String(at + 1), content: title, status: status === 'done' ? 'completed' : status };
    });
    return { todos };
  }
  if (tool === 'StrReplaceFile') {
    const edits = (Array.isArray(rest.edit) ? rest.edit : [rest.edit]).map((one) => {
      const { old, new: now, replace_all: all } = recordOf(one);
      return { old_string: old, new_string: now, ...(all === true ? { replace_all: true } : {}) };
    });
    return edits.length === 1 ? { file_path: path, ...edits[0] } : { file_path: path, edits };
  }
  return input;
}

/** A call that needs approval, as the request and as its display. */
export interface Proposal {
  readonly name: string;
  readonly input: Line;
  readonly confirmation: Line;
}
/** A change as the whole new text, which is exact; a command unchanged. */
export function proposalOf(request: ApprovalRequest): Proposal {
  const title = request.description;
  for (const shown of request.shown) {
    if (shown.type === 'command') {
      const { command } = shown;
      return { name: 'run_shell_command', input: { command, description: title }, confirmation: { type: 'exec', title, command } };
    }
    if (shown.type !== 'diff') continue;
    const { path: file, before, after } = shown;
    const fileDiff = filePatch(file, before ?? '', after, { before: 'Current', after: 'Proposed', context: 3 }).text;
    const confirmation = {
      type: 'edit',
      title,
      fileName: basename(file),
      filePath: file,
      fileDiff,
      originalContent: before,
      newContent: after,
    };
    if (before === null || before === '') return { name: 'write_file', input: { file_path: file, content: after }, confirmation };
    return { name: 'edit', input: { file_path: file, old_string: before, new_string: after }, confirmation };
  }
  return { name: nameOf(request.tool), input: { description: title }, confirmation: { type: 'info', title } };
}

/** Names that other programs of this protocol give to our tools. */
const ALIASES: Readonly<Record<string, string>> = { ls: 'ListDirectory', ripgrep: 'Grep', search: 'Grep', task: 'Agent', bash: 'Shell' };
const bare = (word: string): string => word.toLowerCase().replaceAll(/[_-]|tool$/g, '');

/** Our tool of a name on a client's list: `EditTool`, `edit`, `run_shell_command`, or its own; a client's tool by either of its names. */
export function toolCalled(word: string, offered: readonly string[]): string | undefined {
  const known = Object.keys(NAMES).find((name) => bare(name) === bare(word) || bare(nameOf(name)) === bare(word));
  return known ?? ALIASES[bare(word)] ?? offered.find((name) => name === word || word.endsWith(`__${name}`));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

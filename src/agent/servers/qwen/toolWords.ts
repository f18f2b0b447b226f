import type { ApprovalRequest } from '../../frontend.ts';
import { record } from './control.ts';

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

export function nameOf(tool: string): string {
  return NAMES[tool] ?? tool;
}

/** A call's input in the members clients know. */
export function inputOf(tool: string, text: string): Readonly<Record<string, unknown>> {
  // A tool of the client: its input is the client's own.
  if (!Object.hasOwn(NAMES, tool)) return record(parse(text));
  const { path, ...rest } = record(parse(text));
  const input = path === undefined ? rest : { file_path: path, ...rest };
  if (tool === 'SetTodoList' && Array.isArray(rest.todos)) {
    const todos = rest.todos.map((one, at) => {
      const { title, status } = record(one);
      return { id: String(at + 1), content: title, status: status === 'done' ? 'completed' : status };
    });
    return { todos };
  }
  if (tool === 'StrReplaceFile') {
    const edits = (Array.isArray(rest.edit) ? rest.edit : [rest.edit]).map((one) => {
      const { old, new: now, replace_all: all } = record(one);
      return { old_string: old, new_string: now, ...(all === true ? { replace_all: true } : {}) };
    });
    return edits.length === 1 ? { file_path: path, ...edits[0] } : { file_path: path, edits };
  }
  return input;
}

/** What is to be approved: a change as the whole new text, which is exact; a command as it stands. */
export function approvalInput(request: ApprovalRequest): { readonly name: string; readonly input: Readonly<Record<string, unknown>> } {
  for (const shown of request.shown) {
    if (shown.type === 'command') return { name: 'run_shell_command', input: { command: shown.command, description: request.description } };
    if (shown.type !== 'diff') continue;
    if (shown.before === null || shown.before === '') return { name: 'write_file', input: { file_path: shown.path, content: shown.after } };
    return { name: 'edit', input: { file_path: shown.path, old_string: shown.before, new_string: shown.after } };
  }
  return { name: nameOf(request.tool), input: { description: request.description } };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

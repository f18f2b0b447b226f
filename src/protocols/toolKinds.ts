import type { ToolKind } from '../session/model.ts';

/** Built-in tools of the agents in the field; others are judged by their name. */
const KINDS: Readonly<Record<string, ToolKind>> = {
  Shell: 'execute',
  Bash: 'execute',
  CMD: 'execute',
  ReadFile: 'read',
  ReadMediaFile: 'read',
  ListDirectory: 'read',
  Glob: 'search',
  Grep: 'search',
  WriteFile: 'edit',
  StrReplaceFile: 'edit',
  SearchWeb: 'fetch',
  FetchURL: 'fetch',
  Think: 'think',
  SetTodoList: 'think',
};
const BY_NAME: readonly (readonly [RegExp, ToolKind])[] = [
  [/^(run|exec|shell|bash|command)/i, 'execute'],
  [/^(read|list|ls|view|cat)(_|$|[A-Z])/, 'read'],
  [/^(glob|grep|search|find)(_|$|[A-Z])/, 'search'],
  [/^(edit|write|create|replace|patch|apply)(_|$|[A-Z])/, 'edit'],
  [/^(delete|remove)(_|$|[A-Z])/, 'delete'],
  [/^(move|rename)(_|$|[A-Z])/, 'move'],
  [/^(fetch|download)(_|$|[A-Z])/, 'fetch'],
];

/** The kind of a tool by its name, for its icon. */
export function kindOf(tool: string): ToolKind {
  return (Object.hasOwn(KINDS, tool) ? KINDS[tool] : BY_NAME.find(([pattern]) => pattern.test(tool))?.[1]) ?? 'other';
}

import { resolve } from 'node:path';
import { parseJson } from '../../base/json.ts';
import type { Location, ToolKind } from '../../session/model.ts';

/** Built-in tools of the servers in the field; others are judged by their name. */
const KINDS: Readonly<Record<string, ToolKind>> = {
  Shell: 'execute',
  Bash: 'execute',
  CMD: 'execute',
  ReadFile: 'read',
  ReadMediaFile: 'read',
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
const TITLE_LENGTH = 200;

export function kindOf(tool: string): ToolKind {
  return (Object.hasOwn(KINDS, tool) ? KINDS[tool] : BY_NAME.find(([pattern]) => pattern.test(tool))?.[1]) ?? 'other';
}

/** The tool and the one argument that says most: a command, a path, a question. */
export function titleOf(tool: string, input: unknown): string {
  const said = ['command', 'path', 'file_path', 'pattern', 'query', 'url', 'description', 'prompt', 'thought']
    .map((name) => stringIn(input, name))
    .find((value) => value !== undefined);
  if (said === undefined) return tool;
  const line = said.split('\n', 1)[0] ?? '';
  return `${tool}: ${line.length > TITLE_LENGTH || line.length < said.length ? `${line.slice(0, TITLE_LENGTH)}…` : line}`;
}

/** Where the call works; models name files from the working directory. */
export function locationsOf(input: unknown, cwd: string): readonly Location[] {
  const said = stringIn(input, 'path') ?? stringIn(input, 'file_path');
  if (said === undefined || said === '') return [];
  const path = resolve(cwd, said);
  const line = numberIn(input, 'line_offset') ?? numberIn(input, 'line');
  return [line !== undefined && Number.isSafeInteger(line) && line >= 1 ? { path, line } : { path }];
}

export function stringIn(input: unknown, name: string): string | undefined {
  const value = memberOf(input, name);
  return typeof value === 'string' ? value : undefined;
}

function numberIn(input: unknown, name: string): number | undefined {
  const value = memberOf(input, name);
  return typeof value === 'number' ? value : undefined;
}

function memberOf(input: unknown, name: string): unknown {
  return typeof input === 'object' && input !== null && Object.hasOwn(input, name) ? (input as Record<string, unknown>)[name] : undefined;
}

/** Arguments as a value; undefined while they are not whole. Empty arguments are none. */
export function parseInput(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

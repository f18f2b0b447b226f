import path from 'node:path';
import { parseJson } from '../../base/json.ts';
import { t } from '../../base/l10n.ts';
import type { Location, ToolKind } from '../../session/model.ts';
import { visibleText } from '../../session/visible.ts';
import { firstLine } from './clip.ts';
import { isRecord } from './detect.ts';

/** What a tool does, whatever the agent calls it (qwen.md §3.5). */
export type ToolWork =
  | 'edit'
  | 'write'
  | 'notebook'
  | 'shell'
  | 'read'
  | 'search'
  | 'fetch'
  | 'todo'
  | 'agent'
  | 'plan'
  | 'ask'
  | 'mcp'
  | 'other';
export interface ToolUse {
  readonly name: string;
  readonly work: ToolWork;
  readonly kind: ToolKind;
  readonly title: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly locations: readonly Location[];
}

const NAMES: Readonly<Record<string, ToolWork>> = {
  edit: 'edit',
  editfile: 'edit',
  multiedit: 'edit',
  replace: 'edit',
  strreplacefile: 'edit',
  write: 'write',
  writefile: 'write',
  createfile: 'write',
  notebookedit: 'notebook',
  bash: 'shell',
  runshellcommand: 'shell',
  shell: 'shell',
  powershell: 'shell',
  monitor: 'shell',
  read: 'read',
  readfile: 'read',
  readmanyfiles: 'read',
  listdirectory: 'read',
  ls: 'read',
  glob: 'search',
  grep: 'search',
  grepsearch: 'search',
  searchfilecontent: 'search',
  websearch: 'search',
  webfetch: 'fetch',
  todowrite: 'todo',
  agent: 'agent',
  task: 'agent',
  exitplanmode: 'plan',
  askuserquestion: 'ask',
};
const KINDS: Readonly<Record<ToolWork, ToolKind>> = {
  edit: 'edit',
  write: 'edit',
  notebook: 'edit',
  shell: 'execute',
  read: 'read',
  search: 'search',
  fetch: 'fetch',
  todo: 'think',
  agent: 'other',
  plan: 'think',
  ask: 'other',
  mcp: 'other',
  other: 'other',
};

/** Reads a tool call. Qwen's `tool_call` is unwrapped; paths become absolute. */
export function toolUse(name: string, input: unknown, cwd: string): ToolUse {
  const plain = isRecord(input) ? input : {};
  if (name === 'tool_call' && typeof plain.name === 'string') return toolUse(plain.name, parsed(plain.arguments), cwd);
  const mcp = mcpName(name);
  const work = mcp ? 'mcp' : (NAMES[name.toLowerCase().replaceAll(/[_-]/g, '')] ?? 'other');
  const file = pathOf(plain, cwd);
  return {
    name,
    work,
    kind: KINDS[work],
    title: visibleText(titleOf(name, work, plain, file === undefined ? undefined : shown(file, cwd))),
    input: plain,
    locations: file === undefined ? [] : [{ path: file, ...lineOf(plain) }],
  };
}

/** The two halves of `mcp__server__tool`. */
export function mcpName(name: string): { readonly server: string; readonly tool: string } | undefined {
  const found = /^mcp__(.+?)__(.+)$/.exec(name);
  return found?.[1] && found[2] ? { server: found[1], tool: found[2] } : undefined;
}

/** The file a tool works on, absolute. */
export function pathOf(input: Readonly<Record<string, unknown>>, cwd: string): string | undefined {
  for (const key of ['file_path', 'notebook_path', 'path', 'absolute_path', 'filePath']) {
    const value = input[key];
    if (typeof value === 'string' && value !== '') return path.resolve(cwd, value);
  }
  return undefined;
}

/** A path as a user would name it: below the folder it is worked in without the folder. */
export function shown(file: string, cwd: string): string {
  const relative = path.relative(cwd, file);
  if (relative === '' || relative.startsWith('..') || path.isAbsolute(relative)) return file;
  return relative;
}

export function isOutside(file: string, cwd: string): boolean {
  const relative = path.relative(cwd, file);
  return relative.startsWith('..') || path.isAbsolute(relative);
}

function titleOf(name: string, work: ToolWork, input: Readonly<Record<string, unknown>>, file: string | undefined): string {
  const text = (key: string) => (typeof input[key] === 'string' ? firstLine(input[key]) : '');
  switch (work) {
    case 'edit':
    case 'notebook':
      return t('Edit {0}', file ?? '').trim();
    case 'write':
      return t('Write {0}', file ?? '').trim();
    case 'shell':
      return text('command') || name;
    case 'read':
      return t('Read {0}', file ?? '').trim();
    case 'search':
      return t('Search {0}', text('pattern') || text('query')).trim();
    case 'fetch':
      return t('Fetch {0}', text('url') || text('prompt')).trim();
    case 'todo':
      return t('Plan');
    case 'agent':
      return text('description') || t('Sub-agent');
    case 'plan':
      return t('Leave plan mode');
    case 'ask':
      return t('Question');
    case 'mcp': {
      const mcp = mcpName(name);
      return mcp ? `${mcp.server}: ${mcp.tool}` : name;
    }
    case 'other':
      return name;
  }
}

function lineOf(input: Readonly<Record<string, unknown>>): { readonly line?: number } {
  const { offset } = input;
  return typeof offset === 'number' && Number.isInteger(offset) && offset > 0 ? { line: offset } : {};
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return parseJson(value);
  } catch {
    return {};
  }
}

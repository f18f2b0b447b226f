import * as z from 'zod/mini';
import { parseJson } from '../../base/json.ts';
import { t } from '../../base/l10n.ts';
import { namedPath, pathInside, resolvePath } from '../../base/paths.ts';
import type { SessionEvent } from '../../session/events.ts';
import type { Answer } from '../../session/intents.ts';
import type { ApprovalDetail, Diff, Field, Location, Option, Plan, ToolKind } from '../../session/model.ts';
import { visibleText } from '../../session/visible.ts';
import { commandInput, otherArguments, runningMembers } from '../commandInput.ts';
import { type Replacement, replaced } from '../replacements.ts';
import { isRecord } from './codec.ts';
import type { ProductTraits } from './quirks.ts';
import { type CanUseTool, questionInput, type Suggestion } from './schema.ts';

/* Describes a tool call from its name and input alone: kind, title, the change it makes to a file, and the ask for the user. */

/** The first line of a text, shortened. */
export function firstLine(text: string, longest = 120): string {
  const line = text.trimStart().split('\n', 1)[0] ?? '';
  const more = line.length < text.trim().length;
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : `${line}${more ? ' …' : ''}`;
}

/** At most this many UTF-16 units of a text, the middle taken out. */
export function clip(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  return `${text.slice(0, half)}\n… ${t('{0} characters', text.length - 2 * half)} …\n${text.slice(-half)}`;
}

// --- calls

/** The work that a tool does, whatever its agent calls it (docs/protocols/qwen.md §3.5). */
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
    if (typeof value === 'string' && value !== '') return resolvePath(cwd, namedPath(value));
  }
  return undefined;
}

/** A path as a user would name it: below the folder it is worked in without the folder. */
export function shown(file: string, cwd: string): string {
  return pathInside(cwd, file) || file;
}

export function isOutside(file: string, cwd: string): boolean {
  return pathInside(cwd, file) === undefined;
}

function titleOf(name: string, work: ToolWork, input: Readonly<Record<string, unknown>>, file: string | undefined): string {
  const text = (key: string) => (typeof input[key] === 'string' ? firstLine(input[key]) : '');
  switch (work) {
    case 'edit':
    case 'notebook':
      return t('Edit {0}', file ?? '').trim();
    case 'write':
      return t('Edit {0}', file ?? '').trim();
    case 'shell':
      return text('command') || name;
    case 'read':
      return t('Read {0}', file ?? '').trim();
    case 'search':
      return [t('Search'), text('pattern') || text('query')].filter(Boolean).join(': ');
    case 'fetch':
      return t('Read {0}', text('url') || text('prompt')).trim();
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

// --- what a call does to its file

/** A file as the user has it: null when there is none, undefined when it cannot be read. */
export type FileText = string | null | undefined;

export function changesFile(use: ToolUse): boolean {
  return use.work === 'edit' || use.work === 'write' || use.work === 'notebook';
}
const edit = z.object({
  old_string: z.string(),
  new_string: z.string(),
  replace_all: z.optional(z.nullable(z.boolean())),
});
const many = z.object({ edits: z.array(edit).check(z.maxLength(1000)) });
const write = z.object({ content: z.string() });
const notebook = z.object({
  cell_id: z.optional(z.nullable(z.string())),
  new_source: z.optional(z.nullable(z.string())),
  edit_mode: z.optional(z.nullable(z.string())),
});
const cells = z.object({
  cells: z.array(z.object({ id: z.optional(z.string()), source: z.union([z.string(), z.array(z.string())]) })),
});

/**
 * The change that a call would make to its file, from its input and the file's text, because the agent sends no diff (docs/protocols/qwen.md §3.5). If the
 * change is not certain, its pieces are shown as an excerpt. Empty for calls that change no file.
 */
export function proposalOf(use: ToolUse, text: FileText, cwd: string): readonly Diff[] {
  const path = pathOf(use.input, cwd);
  if (path === undefined) return [];
  if (use.work === 'write') {
    const parsed = write.safeParse(use.input);
    if (!parsed.success) return [];
    const after = unix(parsed.data.content);
    return [text === undefined ? { path, before: '', after, excerpt: {} } : { path, before: text, after }];
  }
  if (use.work === 'edit') return editProposal(editsOf(use.input), path, text);
  return use.work === 'notebook' ? cellProposal(use.input, path, text) : [];
}

/** The same before it is allowed: also notes what is uncertain about a file that cannot be read. */
export function previewOf(use: ToolUse, text: FileText, cwd: string): readonly Diff[] {
  const diffs = proposalOf(use, text, cwd);
  return text === undefined && use.work !== 'notebook' ? diffs.map((diff) => ({ ...diff, excerpt: { unplaced: true } })) : diffs;
}

function editsOf(input: Readonly<Record<string, unknown>>): readonly Replacement[] {
  const single = edit.safeParse(input);
  const several = many.safeParse(input);
  const edits = single.success ? [single.data] : several.success ? several.data.edits : [];
  return edits.map((one) => ({ from: unix(one.old_string), to: unix(one.new_string), all: one.replace_all ?? false }));
}

function editProposal(edits: readonly Replacement[], path: string, text: FileText): readonly Diff[] {
  if (edits.length === 0) return [];
  const after = text === undefined ? undefined : replaced(text, edits);
  if (after !== undefined && text !== undefined) return [{ path, before: text, after }];
  const excerpt = text === undefined ? {} : { unplaced: true as const };
  return edits.map(({ from, to }) => ({ path, before: from, after: to, excerpt }));
}

function cellProposal(input: Readonly<Record<string, unknown>>, path: string, text: FileText): readonly Diff[] {
  const parsed = notebook.safeParse(input);
  if (!parsed.success) return [];
  const { cell_id, new_source, edit_mode } = parsed.data;
  const before = edit_mode === 'insert' ? '' : (cellSource(text, cell_id) ?? '');
  return [{ path, before, after: edit_mode === 'delete' ? '' : unix(new_source ?? ''), excerpt: {} }];
}

function cellSource(text: FileText, id: string | null | undefined): string | undefined {
  if (!text) return undefined;
  try {
    const parsed = cells.safeParse(parseJson(text));
    const source = parsed.success ? parsed.data.cells.find((cell, at) => cell.id === id || `cell-${at}` === id)?.source : undefined;
    return typeof source === 'string' ? source : source?.join('');
  } catch {
    return undefined;
  }
}

/** The input that makes the call leave `text` behind instead of what it proposed; undefined where that cannot be said. */
export function inputFor(use: ToolUse, before: string | null, text: string): Readonly<Record<string, unknown>> | undefined {
  if (use.work === 'write') return { ...use.input, content: text };
  if (use.work !== 'edit') return undefined;
  if (before === null || before === '') return { ...use.input, old_string: '', new_string: text, replace_all: false };
  const change = smallestChange(before, text);
  return { ...use.input, ...(change ?? { old_string: before, new_string: text }), replace_all: false };
}

/** The changed lines, with as many lines around them as it takes to be found only once. */
function smallestChange(before: string, after: string): { readonly old_string: string; readonly new_string: string } | undefined {
  const old = before.split('\n');
  const now = after.split('\n');
  let head = 0;
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  for (; ; head -= 1, tail -= 1) {
    const [from, end] = [Math.max(0, head), Math.max(0, tail)];
    const old_string = old.slice(from, old.length - end).join('\n');
    if (old_string !== '' && before.split(old_string).length === 2) {
      return { old_string, new_string: now.slice(from, now.length - end).join('\n') };
    }
    if (from === 0 && end === 0) return undefined;
  }
}

function unix(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

// --- what the user is asked
export const ALLOW = 'allow';
export const REJECT = 'reject';
/** Allows, and goes to the mode in which edits need no approval. */
export const ALLOW_EDITS = 'allow:edits';
const DETAIL_KEPT = 20_000;

const rules = z.object({
  behavior: z.optional(z.string()),
  destination: z.optional(z.string()),
  mode: z.optional(z.string()),
  rules: z.optional(z.array(z.object({ toolName: z.string(), ruleContent: z.optional(z.nullable(z.string())) })).check(z.maxLength(50))),
  directories: z.optional(z.array(z.string()).check(z.maxLength(50))),
});
const WHERE: Readonly<Record<string, () => string>> = {
  session: () => t('For this session'),
  localSettings: () => t('In this workspace'),
  projectSettings: () => t('In this workspace'),
  userSettings: () => t('Everywhere'),
};

/** The options: allow once, the agent's own proposals for later, reject. */
export function optionsOf(request: CanUseTool, use: ToolUse, peer: ProductTraits): readonly Option[] {
  const later = (request.permission_suggestions ?? []).flatMap((suggestion, at) => suggestedOption(suggestion, at, peer));
  const changesFiles = use.work === 'edit' || use.work === 'write' || use.work === 'notebook';
  const edits: readonly Option[] =
    later.length === 0 && changesFiles && peer.editsMode !== undefined
      ? [
          {
            id: ALLOW_EDITS,
            label: t('Allow, and change to mode “{0}”', nameOf(peer.editsMode, peer)),
            effect: 'allow_always',
            description: t('Edits without asking'),
          },
        ]
      : [];
  return [
    { id: ALLOW, label: t('Allow'), effect: 'allow_once' },
    ...later,
    ...edits,
    { id: REJECT, label: t('Reject'), effect: 'reject_once' },
  ];
}

/** The suggestion behind an option's id. */
export function suggestionOf(request: CanUseTool, optionId: string): Suggestion | undefined {
  const at = /^allow:(\d+)$/.exec(optionId)?.[1];
  return at === undefined ? undefined : request.permission_suggestions?.[Number(at)];
}

/** The mode a suggestion changes to, if it is one without approvals. */
export function unattendedMode(suggestion: Suggestion, peer: ProductTraits): string | undefined {
  const { type, mode } = suggestion;
  return type === 'setMode' && typeof mode === 'string' && peer.unattended.includes(mode) ? mode : undefined;
}

function suggestedOption(suggestion: Suggestion, at: number, peer: ProductTraits): readonly Option[] {
  const parsed = rules.safeParse(suggestion);
  if (!parsed.success || (parsed.data.behavior !== undefined && parsed.data.behavior !== 'allow')) return [];
  const { mode, destination, rules: allowed, directories } = parsed.data;
  const option = (label: string): readonly Option[] => {
    const description = destination === undefined ? undefined : (WHERE[destination]?.() ?? destination);
    return [{ id: `allow:${at}`, label: visibleText(label), effect: 'allow_always', ...(description ? { description } : {}) }];
  };
  if (suggestion.type === 'setMode' && mode) return option(t('Allow, and change to mode “{0}”', nameOf(mode, peer)));
  if (suggestion.type === 'addRules' && allowed && allowed.length > 0) {
    return option(t('Always allow {0}', allowed.map(ruleText).join(', ')));
  }
  if (suggestion.type === 'addDirectories' && directories && directories.length > 0) {
    return option(t('Always allow {0}', directories.join(', ')));
  }
  return [];
}

type Rule = NonNullable<z.infer<typeof rules>['rules']>[number];

/** A rule in words; as the agent keeps it where there are none for it. */
function ruleText({ toolName, ruleContent }: Rule): string {
  const mcp = mcpName(toolName);
  if (mcp && !ruleContent) return mcp.tool === '*' ? t('all tools of {0}', mcp.server) : t('{0} of {1}', mcp.tool, mcp.server);
  const server = /^mcp__([^_]+)$/.exec(toolName)?.[1];
  if (server !== undefined && !ruleContent) return t('all tools of {0}', server);
  if (!ruleContent) return toolName === 'Bash' ? t('Run in terminal') : toolName === 'WebFetch' ? t('Uses the network') : toolName;
  const host = /^domain:([^*]+)$/.exec(ruleContent)?.[1];
  if (toolName === 'WebFetch' && host !== undefined) return t('Host: {0}', host);
  if (toolName !== 'Bash') return `${toolName}(${ruleContent})`;
  const beginning = /^(.+?)(?::\*| \*)$/s.exec(ruleContent)?.[1];
  return beginning === undefined ? `"${ruleContent}"` : t('commands that begin with {0}', `"${beginning}"`);
}

function nameOf(mode: string, peer: ProductTraits): string {
  return peer.modes().find((one) => one.id === mode)?.name ?? mode;
}

/** Details of an approval: from the tool and its input, never from the model's description alone. */
export function detailOf(use: ToolUse, diffs: readonly Diff[]): ApprovalDetail {
  const { input } = use;
  const text = (key: string) => (typeof input[key] === 'string' ? input[key] : undefined);
  if (diffs.length > 0) return { type: 'edit', diffs };
  const command = text('command');
  if (use.work === 'shell' && command !== undefined) {
    const known = commandInput(input);
    const cwd = known?.cwd;
    return {
      type: 'command',
      command: visibleText(known?.command ?? command),
      ...(cwd === undefined ? {} : { cwd }),
      ...(known?.unsure ? { unsure: true } : {}),
    };
  }
  const mcp = mcpName(use.name);
  if (mcp) return { type: 'mcp', ...mcp, input };
  const plan = text('plan');
  if (use.work === 'plan') {
    if (plan?.trim()) return { type: 'text', text: clip(plan, DETAIL_KEPT), markdown: true };
    return { type: 'text', text: t('Leave plan mode') };
  }
  if (use.work === 'agent') {
    const task = [text('description'), text('prompt')].filter(Boolean).join('\n\n');
    return {
      type: 'text',
      text: visibleText(clip(`${task}\n\n${t('Sub-agent')}: ${t('Edits without asking')}`, DETAIL_KEPT)),
    };
  }
  return { type: 'text', text: visibleText(clip(JSON.stringify(input, null, 2), DETAIL_KEPT)) };
}

/** Details below a command or an edit: what else is sent with it and may be carried out. */
export function argumentDetails(use: ToolUse, diffs: readonly Diff[]): readonly ApprovalDetail[] {
  if (diffs.length > 0) return runningMembers(use.input, diffs);
  const unknown = use.work === 'shell' ? Object.entries(otherArguments(use.input) ?? {}) : [];
  if (unknown.length === 0) return [];
  return [
    { type: 'text', text: visibleText(clip(unknown.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join('\n'), DETAIL_KEPT)) },
  ];
}

export function titleOfAsk(request: CanUseTool, use: ToolUse, cwd: string): string {
  const file = pathOf(use.input, cwd) ?? request.blocked_path ?? undefined;
  return file !== undefined && isOutside(file, cwd) ? t('{0} (outside the workspace)', use.title) : use.title;
}

/** The fields of a question to the user; undefined when the input is not a question. */
export function fieldsOf(input: unknown): readonly Field[] | undefined {
  const parsed = questionInput.safeParse(input);
  if (!parsed.success) return undefined;
  return parsed.data.questions.map((question, at) => ({
    id: String(at),
    label: visibleText(question.header ?? question.question),
    ...(question.header ? { body: question.question } : {}),
    ...(question.options && question.options.length > 0
      ? {
          choices: question.options.map(({ label, description }) => ({ label, ...(description ? { description } : {}) })),
        }
      : {}),
    ...(question.multiSelect ? { many: true as const } : {}),
    free: true,
  }));
}

/** The input with the user's answers, filed as the agent wants them (docs/protocols/qwen.md §3.3, §12); undefined when nothing was answered. */
export function answeredInput(input: unknown, answer: Answer, by: 'index' | 'question'): Readonly<Record<string, unknown>> | undefined {
  const parsed = questionInput.safeParse(input);
  if (!parsed.success || answer.kind !== 'fields') return undefined;
  const answers = parsed.data.questions.flatMap((question, at) => {
    const chosen = (answer.values[String(at)] ?? []).filter((one) => one !== '');
    return chosen.length === 0 ? [] : [[by === 'index' ? String(at) : question.question, chosen.join(', ')]];
  });
  if (answers.length === 0) return undefined;
  return { ...(typeof input === 'object' ? input : {}), answers: Object.fromEntries(answers) };
}

// --- the plan

const todos = z.object({
  todos: z.array(z.object({ content: z.string(), status: z.optional(z.nullable(z.string())) })).check(z.maxLength(500)),
});

/** A list of things to do, as the agent keeps it. */
export function planEvents(input: unknown): readonly SessionEvent[] {
  const parsed = todos.safeParse(input);
  if (!parsed.success) return [];
  const entries: Plan['entries'] = parsed.data.todos.map(({ content, status }) => ({
    text: content,
    status: status === 'completed' || status === 'in_progress' ? status : 'pending',
  }));
  return [{ type: 'plan.set', plan: entries.length === 0 ? null : { entries } }];
}

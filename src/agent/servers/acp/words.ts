import path from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod/mini';
import { fenced, inOneLine } from '../../../base/promptText.ts';
import {
  announcedCall,
  changedCall,
  contentUpdate,
  diffItemOf,
  planUpdate,
  textItem,
  textUpdate,
  type WrittenCall,
  type WrittenUpdate,
} from '../../../protocols/acp/codec.ts';
import type { ToolContent } from '../../../protocols/acp/schema.ts';
import { homeFolder } from '../../../transport/environment.ts';
import { localize } from '../../locale.ts';
import type { HistoryMessage, UserPart } from '../../models/model.ts';
import type { OutcomeDisplay } from '../../tools/tool.ts';
import { NAME, VERSION } from '../../version.ts';

/* Converts events of the agent's loop to updates of the protocol. The codec, which client and server share, defines their shape. */

/** The answer to the handshake. */
export const introduction = {
  protocolVersion: 1,
  agentInfo: { name: NAME, title: 'Parley Agent', version: VERSION },
  agentCapabilities: {
    loadSession: true,
    promptCapabilities: { image: true, embeddedContext: true },
    mcpCapabilities: { http: true, sse: true },
    sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, fork: {}, additionalDirectories: {} },
  },
  authMethods: [],
};

/** Of our tools (acp.md §8). */
const KINDS: Readonly<Record<string, string>> = {
  ReadFile: 'read',
  ListDirectory: 'read',
  Glob: 'search',
  Grep: 'search',
  WriteFile: 'edit',
  StrReplaceFile: 'edit',
  Shell: 'execute',
  SetTodoList: 'think',
  ExitPlanMode: 'switch_mode',
};

export function kindOf(tool: string): string {
  return Object.hasOwn(KINDS, tool) ? (KINDS[tool] ?? 'other') : 'other';
}

type Input = Readonly<Record<string, unknown>>;

/** Describes a call to the user; with its input still incomplete, only the known part. A client's tool keeps its name. */
export function titleOf(tool: string, input: unknown): string {
  const given = recordOf(input);
  const text = (name: string): string | undefined => (typeof given[name] === 'string' && given[name] !== '' ? given[name] : undefined);
  const file = text('path');
  const place = text('directory') ?? file;
  const where = place === undefined || place === '.' ? '' : localize(` in ${place}`, `（在 ${place} 中）`);
  switch (tool) {
    case 'ReadFile':
      return file === undefined ? localize('Read a file', '读取文件') : localize(`Read ${file}`, `读取 ${file}`);
    case 'WriteFile':
      return file === undefined ? localize('Write a file', '写入文件') : localize(`Write ${file}`, `写入 ${file}`);
    case 'StrReplaceFile':
      return file === undefined ? localize('Edit a file', '编辑文件') : localize(`Edit ${file}`, `编辑 ${file}`);
    case 'ListDirectory':
      return localize(`List ${file ?? 'a folder'}`, `列出 ${file ?? '文件夹'}`);
    case 'Glob':
      return text('pattern') === undefined
        ? localize('Find files', '查找文件')
        : localize(`Find files ${text('pattern')}${where}`, `查找文件 ${text('pattern')}${where}`);
    case 'Grep':
      return text('pattern') === undefined
        ? localize('Search', '搜索')
        : localize(`Search for "${text('pattern')}"${where}`, `搜索“${text('pattern')}”${where}`);
    case 'Shell':
      return text('command') === undefined ? localize('Run a command', '运行命令') : (text('command') ?? '');
    case 'SetTodoList':
      return localize('Update the plan', '更新计划');
    case 'Agent':
      return text('description') ?? localize('Hand on a task', '交办任务');
    default:
      return tool;
  }
}

/** The file or folder a call works at, absolute whatever the model wrote, so that a client can follow; `style` is the paths of this machine. */
export function locationsOf(input: unknown, cwd: string, style: Pick<typeof path, 'resolve'> = path): readonly WrittenLocation[] {
  const { path: given, directory, line_offset: line } = recordOf(input);
  const named = [given, directory].find((one) => typeof one === 'string' && one !== '' && !one.includes('\0')) as string | undefined;
  if (named === undefined) return [];
  const expanded = /^~(?=$|[\\/])/.test(named) ? homeFolder() + named.slice(1) : named;
  return [{ path: style.resolve(cwd, expanded), ...(Number.isInteger(line) && Number(line) > 0 ? { line: Number(line) } : {}) }];
}
type WrittenLocation = NonNullable<WrittenCall['locations']>[number];

/** Where an edit changes its file: the first line that differs, from 1. */
export function diffLocations(shown: readonly OutcomeDisplay[]): readonly WrittenLocation[] {
  return shown.flatMap((one) => (one.type === 'diff' ? [{ path: one.path, line: firstChange(one.before ?? '', one.after) }] : []));
}

function firstChange(before: string, after: string): number {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const at = now.findIndex((line, index) => line !== old[index]);
  return at < 0 ? Math.max(1, now.length) : at + 1;
}

export function contentOf(shown: readonly OutcomeDisplay[]): readonly ToolContent[] {
  return shown.flatMap((one): readonly ToolContent[] => {
    switch (one.type) {
      case 'diff':
        return [diffItemOf(one.path, one.before, one.after)];
      case 'brief':
        return [textItem(one.text)];
      case 'command':
      case 'task':
      case 'todo':
      case 'other':
        return [];
    }
  });
}

export function planOf(shown: readonly OutcomeDisplay[]): WrittenUpdate | undefined {
  const todo = shown.find((one) => one.type === 'todo');
  if (todo?.type !== 'todo') return undefined;
  const entries = todo.items.map(({ title, status }) => ({
    content: title,
    priority: 'medium',
    status: status === 'done' ? 'completed' : status,
  }));
  return planUpdate(entries);
}

export function linkText(uri: string, name: string): string {
  return uri.startsWith(pathToFileURL('/').href) ? `@${decodeURIComponent(new URL(uri).pathname)}` : `[${name}](${uri})`;
}

/** A call whose input is known, as `tool_call` and `tool_call_update` tell it: `pending` until it runs. */
export function startedCall(
  { id, name, rawInput }: { readonly id: string; readonly name: string; readonly rawInput: unknown },
  cwd: string,
): WrittenCall {
  const locations = locationsOf(rawInput, cwd);
  return {
    toolCallId: id,
    title: titleOf(name, rawInput),
    kind: kindOf(name),
    status: 'pending',
    ...(rawInput === undefined ? {} : { rawInput }),
    ...(locations.length > 0 ? { locations } : {}),
  };
}

/** The input a model wrote; undefined when it is no JSON. */
export function inputOf(text: string): unknown {
  try {
    return text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function recordOf(input: unknown): Input {
  return typeof input === 'object' && input !== null ? (input as Input) : {};
}

/** The blocks of a prompt we said we take (acp.md §7). */
export const block = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image'), data: z.string(), mimeType: z.string() }),
  z.object({ type: z.literal('resource_link'), uri: z.string(), name: z.string() }),
  z.object({ type: z.literal('resource'), resource: z.object({ uri: z.string(), text: z.string() }) }),
  z.object({ type: z.literal('resource'), resource: z.object({ uri: z.string(), blob: z.string(), mimeType: z.nullish(z.string()) }) }),
]);

/** Image types that models accept. */
const PICTURE = /^image\/(png|jpe?g|gif|webp)$/i;

/** Converts a block for the loop. Names content that a model cannot read, with type and size, so that the model knows of it. */
export function partOf(given: z.infer<typeof block>): UserPart {
  switch (given.type) {
    case 'text':
      return { type: 'text', text: given.text };
    case 'image':
      return { type: 'image', url: `data:${given.mimeType};base64,${given.data}` };
    case 'resource_link':
      return { type: 'text', text: linkText(given.uri, given.name) };
    case 'resource':
      return resourcePart(given.resource);
  }
}

type Resource = Extract<z.infer<typeof block>, { type: 'resource' }>['resource'];

function resourcePart(resource: Resource): UserPart {
  if ('text' in resource) return { type: 'text', text: `${inOneLine(resource.uri)}\n${fenced(resource.text)}` };
  const { uri, blob, mimeType } = resource;
  if (mimeType != null && PICTURE.test(mimeType)) return { type: 'image', url: `data:${mimeType};base64,${blob}` };
  const bytes = Buffer.byteLength(blob, 'base64');
  return {
    type: 'text',
    text: `[attached: ${uri}, ${mimeType ?? 'unknown type'}, ${bytes} bytes; its content is not text and not shown here]`,
  };
}

/** A conversation as the updates that told of it (acp.md §5): calls with their input and place, edits with their diff, the user's pictures. */
export function replayed(messages: readonly HistoryMessage[], cwd: string): readonly WrittenUpdate[] {
  const inputs = new Map<string, unknown>();
  return messages.flatMap((message): readonly WrittenUpdate[] => {
    switch (message.role) {
      case 'user':
        return message.parts.flatMap(userChunk);
      case 'assistant':
        return [
          ...(message.thought ? [textUpdate('agent_thought_chunk', message.thought)] : []),
          ...(message.text ? [textUpdate('agent_message_chunk', message.text)] : []),
          ...message.calls.map(({ id, name, input }) => {
            const rawInput = inputOf(input);
            inputs.set(id, rawInput);
            return announcedCall(startedCall({ id, name, rawInput }, cwd));
          }),
        ];
      case 'tool': {
        const diffs = (message.diffs ?? []).map((diff): OutcomeDisplay => ({ type: 'diff', ...diff }));
        const text = [message.message, message.text].filter(Boolean).join('\n');
        const plan = message.isError ? undefined : planIn(message.name, inputs.get(message.callId));
        return [
          changedCall({
            toolCallId: message.callId,
            status: message.isError ? 'failed' : 'completed',
            content: diffs.length > 0 ? contentOf(diffs) : [textItem(text)],
            ...(diffs.length > 0 ? { locations: diffLocations(diffs) } : {}),
          }),
          ...(plan ? [plan] : []),
        ];
      }
    }
  });
}

function userChunk(part: UserPart): readonly WrittenUpdate[] {
  if (part.type === 'text') return [textUpdate('user_message_chunk', part.text)];
  const [, mimeType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(part.url) ?? [];
  if (part.type !== 'image' || mimeType === undefined || data === undefined) return [];
  return [contentUpdate('user_message_chunk', { type: 'image', mimeType, data })];
}

/** The plan a call has set: its input is the plan. */
function planIn(tool: string, input: unknown): WrittenUpdate | undefined {
  const { todos } = (input ?? {}) as { readonly todos?: Extract<OutcomeDisplay, { type: 'todo' }>['items'] };
  return tool === 'SetTodoList' && Array.isArray(todos) ? planOf([{ type: 'todo', items: todos }]) : undefined;
}

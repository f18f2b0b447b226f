import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRecord, type Line, recordOf } from '../../../protocols/qwen/codec.ts';
import { type ChatRequest, sampling } from '../../../protocols/qwen/schema.ts';
import { type Moment, moments } from '../../frontend.ts';
import type { Sampling } from '../../models/endpoint.ts';
import { toolCalled } from './toolWords.ts';

/** A decoded chat request, or the reason to refuse it (docs/protocols/qwen.md §4, §4.5). */
export type Chat =
  | {
      readonly does: 'prompt';
      readonly text: string;
      readonly command: { readonly path: readonly string[]; readonly args: string } | undefined;
      readonly overrides: Overrides;
    }
  | { readonly does: 'toolResponse'; readonly callId: string; readonly response: unknown }
  | { readonly does: 'refuse'; readonly why: string; readonly code: string };
/** Settings of one turn, from its request. */
export interface Overrides {
  readonly model: string | undefined;
  readonly sampling: Sampling | undefined;
  /** The only tools the turn may use. */
  readonly tools: readonly string[] | undefined;
  /** The moments of the turn that its client wants to hear of. */
  readonly hooks: readonly Moment[];
  /** Options of the request that mean nothing here. */
  readonly unknown: readonly string[];
}

/** The document's debugging command holds the messages of a conversation; the last one of the user is the prompt. */
export function fromMessages(line: Line): Line {
  const { input, messages, ...rest } = line;
  if (input !== undefined || !Array.isArray(messages)) return line;
  const prompt = messages.map(recordOf).findLast((one) => one.role === 'user');
  if (!prompt) return line;
  const { content } = prompt;
  return { session_id: '_new', ...rest, input: { origin: 'user', parts: content } };
}

/** Reads a chat request; `lent` are the client's own tools. */
export function readChat(request: ChatRequest, lent: readonly string[]): Chat {
  const { input } = request;
  if (input.origin === 'tool_response') return toolResponse(request);
  const { command } = input;
  const overrides = overridesOf(request, lent);
  if (command?.kind === 'slash' && command.path) {
    const { path: words, args } = command;
    const text = asCommand(`/${[...words, args].filter(Boolean).join(' ')}`);
    return { does: 'prompt', text, command: { path: words, args: args ?? '' }, overrides };
  }
  const texts: string[] = [];
  for (const part of typeof input.parts === 'string' ? [input.parts] : (input.parts ?? [])) {
    const text = typeof part === 'string' ? part : partText(recordOf(part));
    if (text === undefined) {
      const kind = Object.keys(recordOf(part)).find((key) => key !== 'type') ?? 'unknown';
      const why = `A part of the prompt cannot be taken: ${kind}. Text and files of this machine can.`;
      return { does: 'refuse', why, code: 'QWEN_UNSUPPORTED_PART' };
    }
    texts.push(text);
  }
  return { does: 'prompt', text: asCommand(withReferences(texts.join('\n'), command)), command: undefined, overrides };
}

/** The result of a tool that the client ran by itself. */
function toolResponse({ input, tool_call_id, tool_request }: ChatRequest): Chat {
  const given = tool_call_id ?? recordOf(tool_request).callId;
  if (typeof given !== 'string') return { does: 'refuse', why: 'A tool response needs its tool_call_id.', code: 'QWEN_INVALID_INPUT' };
  const parts = Array.isArray(input.parts) ? input.parts : [];
  const found = parts.map(recordOf).find((part) => isRecord(part.function_response) || isRecord(part.functionResponse));
  const text = parts.map((part) => (typeof part === 'string' ? part : (partText(recordOf(part)) ?? ''))).join('');
  const { response } = recordOf(found?.function_response ?? found?.functionResponse);
  return { does: 'toolResponse', callId: given, response: response ?? { output: text } };
}

/** `?` is the other sign that a command begins with: alone it asks for help. */
function asCommand(text: string): string {
  const typed = text.trim();
  return typed === '?' || typed === '/?' ? '/help' : text;
}

/** A file is named in the text, for the model to read. */
function partText(part: Line): string | undefined {
  if (typeof part.text === 'string') return part.text;
  const { file_uri: snake, fileUri: camel } = recordOf(part.file_data ?? part.fileData);
  const uri = snake ?? camel;
  if (typeof uri !== 'string') return undefined;
  if (path.isAbsolute(uri)) return `@${uri.replaceAll(' ', '\\ ')}`;
  try {
    return `@${fileURLToPath(uri).replaceAll(' ', '\\ ')}`;
  } catch {
    return undefined;
  }
}

/** References stand in the text as what they resolve to; one that is not in it is added. */
function withReferences(text: string, command: ChatRequest['input']['command']): string {
  if (command?.kind !== 'at' || !command.references) return text;
  return command.references.reduce<string>((now, { original, resolved }) => {
    if (!resolved) return now;
    const reference = `@${resolved.replace(/^@/, '')}`;
    if (original && now.includes(original)) return original === reference ? now : now.split(original).join(reference);
    return now.includes(reference) ? now : `${now}\n${reference}`;
  }, text);
}

function overridesOf({ model, options }: ChatRequest, lent: readonly string[]): Overrides {
  const { tool_overrides: listed, model: optionModel, hooks: wanted, ...rest } = options ?? {};
  const hooks = moments.filter((moment) => wanted?.includes(moment));
  const read = sampling.safeParse(rest);
  const tools = listed?.map((word) => ({ word, tool: toolCalled(word, lent) }));
  const known = read.success ? Object.keys(sampling.shape) : [];
  return {
    model: model || (typeof optionModel === 'string' ? optionModel : undefined) || undefined,
    sampling: read.success ? samplingOf(read.data) : undefined,
    tools: tools?.flatMap(({ tool }) => tool ?? []),
    hooks,
    unknown: [
      ...(wanted ?? []).flatMap((name) => (hooks.some((moment) => moment === name) ? [] : [`the hook "${name}"`])),
      ...Object.entries(rest).flatMap(([name, value]) => (value == null || known.includes(name) ? [] : [name])),
      ...(tools ?? []).flatMap(({ word, tool }) => (tool === undefined ? [`the tool "${word}"`] : [])),
    ],
  };
}

function samplingOf(read: Readonly<Record<string, number | string | string[] | null | undefined>>): Sampling | undefined {
  const { temperature, top_p: topP, top_k: topK, max_tokens: maxOutputTokens, seed, stop } = read;
  const { presence_penalty: presencePenalty, frequency_penalty: frequencyPenalty } = read;
  const numbers = { temperature, topP, topK, maxOutputTokens, presencePenalty, frequencyPenalty, seed };
  const set = Object.entries(numbers).filter(([, value]) => typeof value === 'number');
  const stopSequences = typeof stop === 'string' ? [stop] : Array.isArray(stop) ? stop : undefined;
  if (set.length === 0 && !stopSequences) return undefined;
  return { ...Object.fromEntries(set), ...(stopSequences ? { stopSequences } : {}) };
}

import * as z from 'zod/mini';
import { parseJson } from '../../../base/json.ts';
import { isRecord } from '../detect.ts';
import { isInterruption } from '../interruption.ts';
import { type AssistantLine, assistantLine, type Block, block, type UserLine, userLine } from '../message/schema.ts';

/** A line of a kept conversation: where it stands in it, and what was said. */
export interface Entry {
  readonly id: string;
  /** The line it follows; the conversation may have gone back and on from there. */
  readonly after: string | undefined;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly said?: Said;
}
export type Said =
  | { readonly who: 'person'; readonly text: string }
  /** The user stopped the turn. */
  | { readonly who: 'stop' }
  | { readonly who: 'agent'; readonly line: AssistantLine }
  | { readonly who: 'tool'; readonly line: UserLine };

const maybe = <T extends z.core.$ZodType>(schema: T) => z.optional(z.nullable(schema));
const id = z.string().check(z.maxLength(1024));
const entry = z.object({
  uuid: id,
  parentUuid: maybe(id),
  logicalParentUuid: maybe(id),
  timestamp: maybe(z.string()),
  type: z.string(),
  isMeta: maybe(z.boolean()),
  isSidechain: maybe(z.boolean()),
  message: z.optional(z.unknown()),
  toolUseResult: z.optional(z.unknown()),
});
/** Qwen Code keeps what the model's own interface calls parts. */
const part = z.object({
  text: maybe(z.string()),
  thought: maybe(z.boolean()),
  functionCall: maybe(z.object({ id: maybe(id), name: z.string(), args: z.optional(z.unknown()) })),
  functionResponse: maybe(z.object({ id: maybe(id), response: z.optional(z.unknown()) })),
});
const parts = z.object({ parts: z.array(part).check(z.maxLength(10_000)) });
const content = z.object({ content: z.union([z.string(), z.array(block).check(z.maxLength(10_000))]) });

/** Reads a line of either product; undefined for lines that are not part of the conversation. */
export function entryIn(text: string): Entry | undefined {
  const parsed = entry.safeParse(json(text));
  if (!parsed.success || parsed.data.isSidechain) return undefined;
  const { uuid, parentUuid, logicalParentUuid, timestamp, isMeta } = parsed.data;
  const said = isMeta ? undefined : saidIn(parsed.data);
  return {
    id: uuid,
    after: parentUuid ?? logicalParentUuid ?? undefined,
    at: Date.parse(timestamp ?? '') || 0,
    ...(said ? { said } : {}),
  };
}

function saidIn({ type, message, toolUseResult }: z.infer<typeof entry>): Said | undefined {
  const inParts = parts.safeParse(message);
  const spoken = inParts.success ? blocksOf(inParts.data.parts) : content.safeParse(message).data?.content;
  if (spoken === undefined) return undefined;
  if (type === 'assistant') {
    const line = assistantLine.safeParse({ type, message: { ...(isRecord(message) ? message : {}), content: spoken } });
    return line.success ? { who: 'agent', line: line.data } : undefined;
  }
  if (type !== 'user' && type !== 'tool_result') return undefined;
  if (typeof spoken !== 'string' && spoken.some((one) => one.type === 'tool_result')) {
    const line = userLine.safeParse({ type: 'user', message: { content: spoken }, tool_use_result: toolUseResult });
    return line.success ? { who: 'tool', line: line.data } : undefined;
  }
  return promptIn(typeof spoken === 'string' ? spoken : spoken.map((one) => one.text ?? '').join('\n'));
}

/** What the user typed; the agent marks commands, and what it adds itself, by tags. */
function promptIn(text: string): Said | undefined {
  if (isInterruption(text)) return { who: 'stop' };
  const command = /<command-name>\/?([^<]+)<\/command-name>/.exec(text)?.[1];
  if (command !== undefined) {
    const args = /<command-args>([^<]*)<\/command-args>/.exec(text)?.[1] ?? '';
    return { who: 'person', text: `/${command.trim()} ${args.trim()}`.trim() };
  }
  const plain = text.replaceAll(/<system-reminder>[\s\S]*?<\/system-reminder>/g, '').trim();
  return plain === '' || /^<(local-command|task-notification|bash-)/.test(plain) ? undefined : { who: 'person', text: plain };
}

function blocksOf(all: readonly z.infer<typeof part>[]): readonly Block[] {
  return all.flatMap((one): readonly Block[] => {
    if (one.functionCall) {
      const { id: callId, name, args } = one.functionCall;
      return [{ type: 'tool_use', id: callId ?? name, name, input: args ?? {} }];
    }
    if (one.functionResponse) {
      const response = isRecord(one.functionResponse.response) ? one.functionResponse.response : {};
      const told = response.output ?? response.error;
      const words = typeof told === 'string' ? told : JSON.stringify(response);
      return [{ type: 'tool_result', tool_use_id: one.functionResponse.id ?? '', content: words, is_error: response.error !== undefined }];
    }
    if (!one.text) return [];
    return [one.thought ? { type: 'thinking', thinking: one.text } : { type: 'text', text: one.text }];
  });
}

function json(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

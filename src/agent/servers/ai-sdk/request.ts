import * as z from 'zod/mini';
import { isRecord } from '../../../protocols/ai-sdk/schema.ts';
import type { ModelTool } from '../../models/model.ts';

// The parts of messages, as strict as the AI SDK's own `validateUIMessages`: a part is taken when one of its versions 5 to 7 takes it.

const UNFIT = 'It is missing, of the wrong kind or out of place.';
const word = z.string();
const words = z.optional(word);
const absent = z.optional(z.never());

const block = z.looseObject({ text: word, state: z.optional(z.enum(['streaming', 'done'])) });
const file = z.looseObject({ mediaType: word, url: word, filename: words });
const plain: Readonly<Record<string, z.ZodMiniType>> = {
  text: block,
  reasoning: block,
  file,
  'reasoning-file': file,
  'source-url': z.looseObject({ sourceId: word, url: word, title: words }),
  'source-document': z.looseObject({ sourceId: word, mediaType: word, title: word, filename: words }),
  'step-start': z.looseObject({}),
  custom: z.looseObject({ kind: word }),
  'steering-message': z.looseObject({ id: word, parts: z.array(z.unknown()) }),
};
const data = z.looseObject({ id: words });

const unanswered = z.looseObject({ id: word, approved: absent });
const answered = z.looseObject({ id: word, approved: z.boolean(), reason: words });
/** By the state of a call. A call that was stopped keeps an approval without an answer, so those of ended calls are let through. */
const tools: Readonly<Record<string, z.ZodMiniType>> = {
  'input-streaming': z.looseObject({ toolCallId: word, output: absent, errorText: absent, approval: absent }),
  'input-available': z.looseObject({ toolCallId: word, output: absent, errorText: absent, approval: absent }),
  'approval-requested': z.looseObject({ toolCallId: word, output: absent, errorText: absent, approval: unanswered }),
  'approval-responded': z.looseObject({ toolCallId: word, output: absent, errorText: absent, approval: answered }),
  'output-available': z.looseObject({ toolCallId: word, errorText: absent, preliminary: z.optional(z.boolean()) }),
  'output-error': z.looseObject({ toolCallId: word, output: absent, errorText: word }),
  'output-denied': z.looseObject({ toolCallId: word, output: absent, errorText: absent, approval: z.looseObject({ id: word }) }),
};

type Problem = Pick<z.core.$ZodIssue, 'message' | 'path'>;

function problemsOfPart(value: Readonly<Record<string, unknown>> & { readonly type: string }): readonly Problem[] {
  const { type, state, toolName } = value;
  const isTool = type === 'dynamic-tool' || type.startsWith('tool-');
  if (!isTool) {
    const schema = type.startsWith('data-') ? data : own(plain, type);
    return schema ? problemsIn(schema, value) : [{ message: `There is no part of type "${type}".`, path: ['type'] }];
  }
  if (type === 'dynamic-tool' && typeof toolName !== 'string') return [{ message: 'The tool has no name.', path: ['toolName'] }];
  const schema = typeof state === 'string' ? own(tools, state) : undefined;
  return schema ? problemsIn(schema, value) : [{ message: `A call has no state "${String(state).slice(0, 100)}".`, path: ['state'] }];
}

function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function problemsIn(schema: z.ZodMiniType, value: unknown): readonly Problem[] {
  return (schema.safeParse(value).error?.issues ?? []).map(({ path }) => ({ message: UNFIT, path }));
}

// Requests of clients (docs/protocols/ai-sdk.md). Unknown members are kept out.

const id = z.string().check(z.minLength(1), z.maxLength(1024));

const part = z.looseObject({ type: z.string().check(z.maxLength(300)) }).check((check) => {
  const { value, issues } = check;
  for (const { message, path } of problemsOfPart(value)) issues.push({ code: 'custom', message, path: [...path], input: value });
});

export const uiMessage = z
  .object({
    id: z.string({ error: UNFIT }).check(z.maxLength(1024)),
    role: z.enum(['system', 'user', 'assistant']),
    parts: z.array(part).check(z.maxLength(10_000)),
  })
  .check(({ value, issues }) => {
    if (value.role !== 'assistant' && value.parts.length === 0)
      issues.push({ code: 'custom', message: 'The message has no part.', path: ['parts'], input: value.parts });
  });
export type ClientMessage = z.infer<typeof uiMessage>;
export type ClientPart = z.infer<typeof part>;

export const chatRequest = z.object({
  id,
  sessionId: z.nullish(id),
  messages: z.optional(z.array(uiMessage).check(z.maxLength(10_000))),
  message: z.optional(uiMessage),
  trigger: z.nullish(z.string()),
  messageId: z.nullish(id),
  /** Added to the agent's own system prompt. */
  system: z.nullish(z.string().check(z.maxLength(100_000))),
  tools: z.optional(z.unknown()),
  clientTools: z.optional(z.unknown()),
  /** Whether the stream stays open while the client works. Clients that send `sessionId` are asked for it; others re-post. */
  hold: z.nullish(z.boolean()),
});
export type AiSdkChatRequest = z.infer<typeof chatRequest>;

export const toolResult = z.object({
  session_id: id,
  tool_call_id: id,
  result: z.optional(z.unknown()),
  is_error: z.nullish(z.boolean()),
});

/** The tools a client offers, in any of the forms clients declare them in, as `{name, description, parameters}`. */
export function declaredTools(request: AiSdkChatRequest): readonly unknown[] {
  const { tools, clientTools } = request;
  if (Array.isArray(tools)) return tools.map((one: unknown) => (isRecord(one) && isRecord(one.function) ? one.function : one));
  const record = isRecord(tools) ? tools : isRecord(clientTools) ? clientTools : {};
  return Object.entries(record).map(([name, tool]) => {
    const given = isRecord(tool) ? tool : {};
    return { name, description: given.description ?? '', parameters: given.parameters ?? given.inputSchema };
  });
}

/** The client's capabilities, from its last request: the chunks it knows, how it acts, the tools it offers. */
export interface Terms {
  tools: readonly ModelTool[];
  /** Added to the agent's own system prompt. */
  system: string;
  /** The response stays open while the client works. */
  holds: boolean;
  /** The client knows every chunk of version 7. */
  newest: boolean;
  /** The client knows no approvals: it offers a tool for them. */
  oldest: boolean;
}
/** A client that offers a tool of this name is asked through it; clients of version 5 know no other way. */
export const APPROVAL_TOOL = 'request_approval';
export const noTerms = (): Terms => ({ tools: [], system: '', holds: false, newest: false, oldest: false });

export function termsOf({ system, hold, sessionId }: AiSdkChatRequest, tools: readonly ModelTool[]): Terms {
  const isParley = sessionId != null;
  const oldest = tools.some((tool) => tool.name === APPROVAL_TOOL);
  return { tools, system: system ?? '', holds: hold ?? isParley, newest: isParley, oldest };
}

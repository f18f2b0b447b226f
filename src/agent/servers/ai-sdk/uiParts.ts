import * as z from 'zod/mini';

// The parts of messages, as strict as the AI SDK's own `validateUIMessages`: a part is taken when one of its versions 5 to 7 takes it.

export const UNFIT = 'It is missing, of the wrong kind or out of place.';
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

export function problemsOfPart(value: Readonly<Record<string, unknown>> & { readonly type: string }): readonly Problem[] {
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

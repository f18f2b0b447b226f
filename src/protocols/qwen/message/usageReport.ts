import * as z from 'zod/mini';
import { say } from '../../../base/say.ts';

/** The command of ours that asks the agent what has been used, and the spans of time it knows (qwen.md §3.2). */
export const USAGE = 'usage';
const RANGES = ['today', 'week', 'month', 'all'];

const count = z.optional(z.nullable(z.number()));
const report = z.object({
  range: z.optional(z.nullable(z.string())),
  summary: z.object({
    totalTokens: count,
    inputTokens: count,
    outputTokens: count,
    cachedTokens: count,
    requests: count,
    sessions: count,
    toolCalls: count,
    linesAdded: count,
    linesRemoved: count,
  }),
  models: z.optional(z.array(z.object({ model: z.string(), totalTokens: count })).check(z.maxLength(100))),
});

/** The span of time a prompt asks about; undefined when it asks for no report. */
export function rangeIn(text: string): string | undefined {
  const found = /^\/usage(?: +(\w+))? *$/.exec(text);
  const range = found?.[1] ?? 'today';
  return found && RANGES.includes(range) ? range : undefined;
}

/** The agent's report as a table; undefined when it is none. */
export function usageText(payload: unknown): string | undefined {
  const parsed = report.safeParse(payload);
  if (!parsed.success) return undefined;
  const { summary: all, models = [], range } = parsed.data;
  const rows: readonly (readonly [string, number | null | undefined])[] = [
    [say('Tokens'), all.totalTokens],
    [say('Input tokens'), all.inputTokens],
    [say('Output tokens'), all.outputTokens],
    [say('Tokens from the cache'), all.cachedTokens],
    [say('Requests'), all.requests],
    [say('Sessions'), all.sessions],
    [say('Tool calls'), all.toolCalls],
    [say('Lines added'), all.linesAdded],
    [say('Lines removed'), all.linesRemoved],
    ...models.map(({ model, totalTokens }) => [say('Tokens of {0}', model.replaceAll(/[|`\n]/g, ' ')), totalTokens] as const),
  ];
  const lines = rows.flatMap(([name, value]) => (value == null ? [] : [`| ${name} | ${value.toLocaleString('en')} |`]));
  return [`| ${say('Used ({0})', range ?? '')} | |`, '| --- | ---: |', ...lines].join('\n');
}

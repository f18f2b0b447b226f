import * as z from 'zod/mini';
import { t } from '../../../base/l10n.ts';

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
    [t('Tokens'), all.totalTokens],
    [t('Input tokens'), all.inputTokens],
    [t('Output tokens'), all.outputTokens],
    [t('Tokens from the cache'), all.cachedTokens],
    [t('Requests'), all.requests],
    [t('Sessions'), all.sessions],
    [t('Tool calls'), all.toolCalls],
    [t('Lines added'), all.linesAdded],
    [t('Lines removed'), all.linesRemoved],
    ...models.map(({ model, totalTokens }) => [t('Tokens of {0}', model.replaceAll(/[|`\n]/g, ' ')), totalTokens] as const),
  ];
  const lines = rows.flatMap(([name, value]) => (value == null ? [] : [`| ${name} | ${value.toLocaleString('en')} |`]));
  return [`| ${t('Used ({0})', range ?? '')} | |`, '| --- | ---: |', ...lines].join('\n');
}

import { say } from '../../../base/say.ts';
import type { Fault, Usage } from '../../../session/model.ts';
import type { ResultLine } from './schema.ts';

export interface TurnEnd {
  readonly status: 'done' | 'cancelled' | 'failed';
  readonly stop?: string;
  readonly error?: Fault;
}

/** How a turn ended, by its `result` line. */
export function turnEnd(line: ResultLine, stopping: boolean): TurnEnd {
  const reason = line.terminal_reason ?? line.subtype ?? undefined;
  const stop = reason === undefined || reason === 'success' || reason === 'completed' ? {} : { stop: reason };
  if (!line.is_error && !isError(line.subtype)) return { status: 'done', ...stop };
  const message = line.error?.message ?? line.result ?? line.errors?.[0] ?? say('The turn failed.');
  if (stopping || line.terminal_reason?.startsWith('aborted') || message === 'Operation cancelled.')
    // That it was aborted is what `cancelled` says.
    return { status: 'cancelled', ...(reason?.startsWith('aborted') || reason === 'error_during_execution' ? {} : stop) };
  if (line.subtype === 'error_max_turns') {
    return {
      status: 'failed',
      ...stop,
      error: { message: say('The agent has used up the turns it may take.'), code: line.subtype, next: ['continue'] },
    };
  }
  return { status: 'failed', ...stop, error: { message, ...(line.subtype ? { code: line.subtype } : {}), next: ['retry'] } };
}

function isError(subtype: string | null | undefined): boolean {
  return subtype?.startsWith('error') ?? false;
}

/** Tokens of the whole session so far: Claude Code says them per model, Qwen Code as a running total (qwen.md §3.7). */
export function usageOf(line: ResultLine): Usage {
  const models = Object.values(line.modelUsage ?? {});
  const cost = line.total_cost_usd ? { cost: { amount: line.total_cost_usd, currency: 'USD' } } : {};
  if (models.length > 0) {
    const sum = (read: (model: (typeof models)[number]) => number | null | undefined) =>
      models.reduce((all, model) => all + (read(model) ?? 0), 0);
    const size = Math.max(...models.map((model) => model.contextWindow ?? 0));
    return {
      input: sum((model) => (model.inputTokens ?? 0) + (model.cacheReadInputTokens ?? 0)),
      output: sum((model) => model.outputTokens),
      ...(size > 0 ? { size } : {}),
      ...cost,
    };
  }
  const { input_tokens: input, output_tokens: output } = line.usage ?? {};
  return { ...(input ? { input } : {}), ...(output ? { output } : {}), ...cost };
}

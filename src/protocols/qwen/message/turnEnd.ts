import { t } from '../../../base/l10n.ts';
import type { Fault, Usage } from '../../../session/model.ts';
import type { ResultLine } from './schema.ts';

export interface TurnEnd {
  readonly status: 'done' | 'cancelled' | 'failed';
  readonly stop?: string;
  readonly error?: Fault;
}

/** How a turn ended, by its `result` line. */
export function turnEnd(line: ResultLine, stopping: boolean): TurnEnd {
  const reason = line.terminal_reason ?? line.subtype ?? '';
  const known = reasonWords(reason) ?? reasonWords(line.subtype ?? '');
  if (!line.is_error && !isError(line.subtype)) return { status: 'done', ...(known ? { stop: known } : {}) };
  const told = line.error?.message ?? line.result ?? line.errors?.[0];
  // That it was aborted is what `cancelled` says.
  if (stopping || reason.startsWith('aborted') || told === 'Operation cancelled.')
    return { status: 'cancelled', ...(known ? { stop: known } : {}) };
  if (LIMITS.some((limit) => limit === line.subtype)) {
    return { status: 'failed', error: { message: known ?? t('The turn failed.'), next: ['continue'] } };
  }
  return { status: 'failed', error: { message: told ?? known ?? t('The turn failed.'), next: ['retry'] } };
}

const LIMITS = ['error_max_turns', 'error_max_budget_usd'];

/** Why a turn ended, in words; nothing for what says no more than how it ended. A reason nobody here knows is told in its own words. */
function reasonWords(reason: string): string | undefined {
  switch (reason) {
    case '':
    case 'success':
    case 'completed':
    case 'error_during_execution':
    case 'model_error':
      return undefined;
    case 'max_turns':
    case 'error_max_turns':
      return t('The agent has used up the turns it may take.');
    case 'error_max_budget_usd':
      return t('The agent has used up its budget.');
    case 'prompt_too_long':
      return t('The conversation has become too long for the model.');
    case 'blocking_limit':
    case 'rapid_refill_breaker':
      return t('The agent has come to a limit of its service.');
    case 'hook_stopped':
    case 'stop_hook_prevented':
      return t('A hook of the agent has ended the turn.');
    default:
      return reason.startsWith('aborted') ? undefined : reason.replaceAll('_', ' ').slice(0, 200);
  }
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

import { t } from '../../base/l10n.ts';
import type { Fault } from '../../session/model.ts';

export interface Stop {
  readonly status: 'done' | 'cancelled' | 'failed';
  readonly error?: Fault;
  readonly forgotten?: true;
}

/** Why a turn ended, in our words (acp.md §6). A reason nobody knows is a normal end. */
export function stopOf(reason: string): Stop {
  switch (reason) {
    case 'cancelled':
      return { status: 'cancelled' };
    case 'max_tokens':
      return limit(t('The answer reached its largest length.'));
    case 'max_turn_requests':
      return limit(t('The agent reached its largest number of steps.'));
    case 'refusal':
      return {
        status: 'failed',
        forgotten: true,
        error: { message: t('The agent refused. It has forgotten this message and all it did about it.') },
      };
    default:
      return { status: 'done' };
  }
}

function limit(message: string): Stop {
  return { status: 'done', error: { message, next: ['continue'] } };
}

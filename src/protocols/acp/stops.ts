import type { Fault } from '../../session/model.ts';

export interface Stop {
  readonly status: 'done' | 'cancelled' | 'failed';
  readonly stop?: string;
  readonly error?: Fault;
}

/** Why a turn ended, in our words (acp.md §6). A reason nobody knows is a normal end. */
export function stopOf(reason: string): Stop {
  switch (reason) {
    case 'cancelled':
      return { status: 'cancelled' };
    case 'max_tokens':
      return {
        status: 'done',
        stop: 'The answer reached its largest length.',
        error: { message: 'The answer reached its largest length.', next: ['continue'] },
      };
    case 'max_turn_requests':
      return {
        status: 'done',
        stop: 'The agent reached its largest number of steps.',
        error: { message: 'The agent reached its largest number of steps.', next: ['continue'] },
      };
    case 'refusal':
      return {
        status: 'failed',
        error: { message: 'The agent refused. It has forgotten this message and all it did about it.', code: reason },
      };
    default:
      return { status: 'done' };
  }
}

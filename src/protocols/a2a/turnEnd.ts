import { t } from '../../base/l10n.ts';
import type { Fault, Remedy } from '../../session/model.ts';
import { leaveTask, type Memory } from './memory.ts';
import type { TaskState } from './records.ts';
import { RpcError, StatusError, wordsOf } from './rpc.ts';
import { advised } from './shippedTask.ts';

/** How a turn came to its end. */
export interface TurnEnd {
  readonly status: 'done' | 'cancelled' | 'failed';
  readonly stop?: string;
  readonly error?: Fault;
}

/** The task takes no more messages, or is gone. */
export function isTerminal(error: RpcError): boolean {
  return error.code === -32001 || error.code === -32004 || /terminal state/i.test(error.message);
}

/** The agent refused what it was asked. */
export function refusal(error: RpcError | StatusError): TurnEnd {
  const next: readonly Remedy[] = error instanceof StatusError ? ['retry', 'openSettings'] : ['retry', 'showLog'];
  const code = String(error instanceof RpcError ? error.code : error.status);
  return { status: 'failed', error: { message: wordsOf(error), code, next } };
}

/** The agent does not know the task any more: the conversation goes on with another. */
export function gone(memory: Memory): TurnEnd {
  // The conversation has its own task, and keeps it.
  const message = memory.aside
    ? t('The agent does not know what it runs for this command.')
    : t('The agent does not know its task any more; it may have been restarted. {0}', leaveTask(memory));
  return { status: 'failed', error: { message, next: memory.aside ? ['retry'] : ['retry', 'continue'] } };
}

/** The end that the task's state tells; undefined when nothing is wrong with it. */
export function unhappyEnd(state: TaskState | undefined, failure: string | undefined): TurnEnd | undefined {
  if (state === 'canceled') return { status: 'cancelled', stop: t('The agent stopped.') };
  if (state !== 'failed' && state !== 'rejected' && failure === undefined) return undefined;
  return { status: 'failed', error: { message: advised(failure) ?? t('The agent failed without saying why.'), next: ['retry'] } };
}

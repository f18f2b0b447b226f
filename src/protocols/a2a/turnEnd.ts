import { say } from '../../base/say.ts';
import type { Fault, Remedy } from '../../session/model.ts';
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

/** The end that the task's state tells; undefined when nothing is wrong with it. */
export function unhappyEnd(state: TaskState | undefined, failure: string | undefined): TurnEnd | undefined {
  if (state === 'canceled') return { status: 'cancelled', stop: say('The agent stopped.') };
  if (state !== 'failed' && state !== 'rejected' && failure === undefined) return undefined;
  return { status: 'failed', error: { message: advised(failure) ?? say('The agent failed without saying why.'), next: ['retry'] } };
}

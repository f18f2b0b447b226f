import { messageOf } from '../../base/log.ts';
import type { AdapterContext } from '../adapter.ts';
import type { BackOff } from './backOff.ts';
import type { Memory } from './memory.ts';
import { type Incoming, isAtRest, toIncoming } from './records.ts';
import { type Rpc, RpcError } from './rpc.ts';
import type { OpenStream } from './streams.ts';
import type { Timing } from './timing.ts';

/** How much of a task's history is asked for: without a number servers send none. */
const HISTORY = 200;

/** The task as the agent keeps it; undefined when it keeps none. Rejects when the agent cannot be reached. */
export async function lookUp(memory: Memory, how: Parameters<Rpc['call']>[2] = {}): Promise<Incoming | undefined> {
  if (!memory.task) return undefined;
  try {
    return toIncoming(await memory.rpc.call('tasks/get', { id: memory.task.id, historyLength: HISTORY }, how));
  } catch (error) {
    if (error instanceof RpcError && error.code === -32001) return undefined;
    throw error;
  }
}

export interface Recovery {
  readonly scene: AdapterContext;
  readonly memory: Memory;
  /** Milliseconds. */
  readonly timing: Pick<Timing, 'retries' | 'giveUp' | 'answer'>;
  readonly signal: AbortSignal;
  readonly backOff: BackOff;
  /** Settles when the stream has ended, with what went wrong. */
  readonly hear: (open: OpenStream) => Promise<unknown>;
  /** Whether a subscription stands. */
  readonly stands: (on: boolean) => void;
  readonly caughtUp: (record: Incoming) => void;
  readonly resting: () => boolean;
  /** Grows with everything that was not known before. */
  readonly progress: () => number;
}

/**
 * Takes up a task whose stream broke (a2a.md §11): `resting` when it has come to rest, `gone` when the agent does not know it any more, `lost`
 * when it could not be reached. What was said meanwhile is not replayed by the agent; it is read from the task.
 */
export async function resubscribe(recovery: Recovery): Promise<'resting' | 'gone' | 'lost'> {
  const { scene, memory, signal } = recovery;
  const { retries, giveUp } = recovery.timing;
  /** The end of the time without a subscription, moved on by every one that stood. */
  let until = scene.now() + giveUp;
  let at = 0;
  const again = () => {
    at = 0;
    until = scene.now() + giveUp;
  };
  const stopped = AbortSignal.any([signal, scene.signal]);
  // A try that news brought forward does not take the place of the one that was due; once for each, or an agent could have itself tried without end.
  let early = false;
  recovery.backOff.tries();
  for (; at < retries.length && scene.now() < until; at += early ? 0 : 1) {
    recovery.stands(false);
    early = await recovery.backOff.rest((retries[at] ?? 0) * (0.8 + Math.random() * 0.4), stopped, !early);
    if (signal.aborted || scene.signal.aborted) return 'lost';
    recovery.backOff.tries();
    const before = recovery.progress();
    let stoodAt: number | undefined;
    let rested = false;
    const opened = () => {
      stoodAt = scene.now();
      recovery.stands(true);
    };
    const error = await recovery.hear(async (take, signal) => {
      rested = await subscribe(recovery, take, signal, opened);
    });
    if (signal.aborted) return 'lost';
    if (rested || recovery.resting()) return 'resting';
    if (stoodAt !== undefined) until += scene.now() - stoodAt;
    // Only an agent that goes on earns quick tries: one that lets go of every subscription at once would be asked without end.
    if (recovery.progress() > before) again();
    const unsupported = error instanceof RpcError && (error.code === -32004 || error.code === -32601 || error.code === -32603);
    if (error instanceof RpcError && error.code === -32001) return 'gone';
    if (!unsupported && error !== undefined) {
      scene.log.info(`Subscribing again failed: ${messageOf(error)}`);
      continue;
    }
    // It cannot be subscribed to: it is over, or this agent offers no subscription.
    try {
      const now = await lookUp(memory);
      if (!now) return 'gone';
      recovery.caughtUp(now);
      if (recovery.progress() > before) again();
      if (isAtRest(now.state)) return 'resting';
    } catch (failure) {
      scene.log.info(`Looking at the task failed: ${messageOf(failure)}`);
    }
  }
  return 'lost';
}

/**
 * Reads the task as soon as the subscription stands, since nobody promises a first record; what comes meanwhile waits until everything missed has
 * been read. A task that rests says no more: its stream is let go of. True when it was found at rest; what is decided at once may have it go on
 * since.
 */
async function subscribe(recovery: Recovery, take: (result: unknown) => void, signal: AbortSignal, opened: () => void): Promise<boolean> {
  const { memory, timing } = recovery;
  let waiting: unknown[] | undefined = [];
  let reading: Promise<void> | undefined;
  let itself: Incoming | undefined;
  const read = new AbortController();
  const rests = new AbortController();
  const gone = new AbortController();
  const goOn = (record: Incoming | undefined) => {
    if (!waiting || signal.aborted) return;
    if (record) recovery.caughtUp(record);
    const held = waiting;
    waiting = undefined;
    for (const one of held) take(one);
  };
  const begin = () => {
    reading ??= lookUp(memory, { signal: read.signal }).then(
      (now) => {
        if (!now && !itself && waiting?.length === 0) throw new RpcError(-32001, 'Task not found');
        // What the subscription says of the task is better than nothing.
        const alone = waiting?.length === 0;
        goOn(now ?? itself);
        if (now && (alone ? isAtRest(now.state) : recovery.resting())) rests.abort();
      },
      () => goOn(itself),
    );
    reading.catch(() => gone.abort());
  };
  const heard = (result: unknown) => {
    begin();
    if (!waiting) return take(result);
    const record = toIncoming(result);
    if (record?.kind !== 'task' || itself || waiting.length > 0) return void waiting.push(result);
    itself = record;
    if ((record.history?.length ?? 0) === 0) return;
    read.abort();
    goOn(record);
  };
  const stands = () => {
    opened();
    begin();
  };
  const letGo = AbortSignal.any([signal, rests.signal, gone.signal]);
  try {
    await memory.rpc.stream('tasks/resubscribe', { id: memory.task?.id }, heard, { signal: letGo, opened: stands, within: timing.answer });
    begin();
  } catch (error) {
    if (!rests.signal.aborted && !gone.signal.aborted) throw error;
  }
  await reading;
  return rests.signal.aborted;
}

import { setImmediate } from 'node:timers/promises';
import { t } from '../../base/l10n.ts';
import { messageOf } from '../../base/log.ts';
import { leaveTask } from './memory.ts';
import { isOver } from './records.ts';
import { lookUp } from './recover.ts';
import { pause, RpcError, wordsOf } from './rpc.ts';
import type { TurnScene } from './timing.ts';

const NOT_FOUND = -32001;
const NOT_CANCELABLE = -32002;

/**
 * Stops the running task (a2a.md §10); `heard`: something came in this turn. Settles when it has stopped, or when the agent's time for that is over, with what the user should know.
 * Never rejects for what the agent does.
 */
export async function stopTask(
  { scene, memory, timing }: TurnScene,
  commandRuns: boolean,
  streaming: () => boolean,
  heard: boolean,
): Promise<string | undefined> {
  // Until what had not been sent is let go of: its end is not the agent's.
  await setImmediate();
  const { task, rpc, peer } = memory;
  const held = !rpc.turnIsFree;
  const until = scene.now() + timing.patience;
  const late = AbortSignal.timeout(timing.patience);
  const streamed = streaming();
  let why: string | undefined;
  const early = peer.dialect === 'gemini' && !memory.newer;
  if (task && !early) await cancel();
  if (peer.dialect !== 'gemini') {
    // Where no word has come yet there is no task to be told, and no last word to wait for.
    const waits = () => streaming() && heard && scene.now() < until && !scene.signal.aborted;
    while (waits()) await pause(50, scene.signal);
    const hungUp = streaming();
    if (hungUp) rpc.hangUp();
    if (why === undefined || (streamed && !hungUp)) return undefined;
    // Nobody knows whether it goes on: what is said next would be lost on a task that does.
    leaveTask(memory);
    return t('The agent did not say that it has stopped; it may still be at work. {0}', why).trim();
  }
  // Closing the socket is what ends the turn, and with it a command.
  const told = await rpc.takeLeave();
  if (early) {
    const now = await lookUp(memory, { signal: late }).catch(() => undefined);
    if (!now || isOver(now.state)) leaveTask(memory);
  } else leaveTask(memory);
  return commandRuns && !(held && told) ? t('A command of the agent may still be running; restarting the agent ends it.') : undefined;

  async function cancel(): Promise<void> {
    try {
      await rpc.call('tasks/cancel', { id: task?.id }, { signal: late });
      if (peer.dialect !== 'gemini') leaveTask(memory);
    } catch (error) {
      if (error instanceof RpcError && error.code === NOT_FOUND) leaveTask(memory);
      else if (!(error instanceof RpcError && error.code === NOT_CANCELABLE)) {
        why = late.aborted ? '' : wordsOf(error);
        scene.log.warn(`Cancelling failed: ${messageOf(error)}`);
      }
    }
  }
}

import { messageOf } from '../../base/log.ts';
import type { AdapterContext } from '../adapter.ts';
import type { Memory } from './memory.ts';

/** The door stands in the first message of a task. Where that was not said here (taken up, or made by a command), it is registered late (a2a.md §12). */
export async function registerPush(memory: Memory, { log }: Pick<AdapterContext, 'log'>): Promise<void> {
  const { push, task, rpc, peer } = memory;
  if (!push || !task) return;
  if (memory.pushSent) {
    memory.pushSent = false;
    memory.pushed = task.id;
  }
  if (memory.pushed === task.id || memory.pushRefused) return;
  memory.pushed = task.id;
  const config = push.config(peer.wire);
  try {
    await rpc.call(
      'tasks/pushNotificationConfig/set',
      peer.wire === '1.0' ? { taskId: task.id, ...config } : { taskId: task.id, pushNotificationConfig: config },
    );
  } catch (error) {
    memory.pushRefused = true;
    log.info(`No notifications from this agent: ${messageOf(error)}`);
  }
}

/** Nobody listens there any more: the agent is told. Settles within a moment and never rejects. */
export async function forgetPush(memory: Memory): Promise<void> {
  const { push, task, rpc, peer } = memory;
  const registered = memory.pushed ?? (memory.pushSent ? task?.id : undefined);
  if (!push || registered === undefined || memory.pushRefused) return;
  const params = peer.wire === '1.0' ? { taskId: registered, id: push.id } : { id: registered, pushNotificationConfigId: push.id };
  await rpc.farewell('tasks/pushNotificationConfig/delete', params);
}

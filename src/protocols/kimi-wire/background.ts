import type { SessionEvent } from '../../session/events.ts';
import type { SessionMemory } from './memory.ts';
import type { DisplayBlock, EventPayload } from './schema.ts';

/** States after which a task does nothing more; also the last words of the types of its notifications. */
const OVER = new Set(['completed', 'failed', 'killed', 'lost', 'stopped', 'cancelled', 'timed_out']);

/** What the blocks of a result say about tasks in the background: begun, still at it, or over. */
export function tasksSeen(blocks: readonly DisplayBlock[], memory: SessionMemory): readonly SessionEvent[] {
  let changed = false;
  for (const block of blocks) {
    if (block.type !== 'background_task') continue;
    if (OVER.has(block.status)) changed = memory.background.delete(block.task_id) || changed;
    else if (!memory.background.has(block.task_id)) {
      memory.background.set(block.task_id, block.description || block.task_id);
      changed = true;
    }
  }
  return changed ? [tasksNow(memory)] : [];
}

/** A notification may be about the end of a task: `task.completed` from the source of its id. */
export function taskTold(payload: EventPayload['Notification'], memory: SessionMemory): readonly SessionEvent[] {
  const id = payload.source_id ?? undefined;
  const isOver = OVER.has(payload.type?.split('.').at(-1) ?? '') || OVER.has(String(payload.payload?.status));
  return isOver && id !== undefined && memory.background.delete(id) ? [tasksNow(memory)] : [];
}

export function tasksNow({ background }: SessionMemory): SessionEvent {
  return { type: 'background.set', tasks: [...background].map(([id, text]) => ({ id, text })) };
}

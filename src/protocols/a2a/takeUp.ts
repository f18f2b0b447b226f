import { t } from '../../base/l10n.ts';
import { messageOf } from '../../base/log.ts';
import type { Turn } from '../../session/model.ts';
import { type LeftTurn, leftTurn } from './kept.ts';
import { comeBack, leaveTask, type Memory, setAside } from './memory.ts';
import { type Incoming, isOver } from './records.ts';
import { lookUp } from './recover.ts';
import { parse } from './rpc.ts';
import { isRecord } from './words.ts';

/** Remembers what earlier windows showed; gives the last turn, when it has not come to its own end. */
export function recall(memory: Memory, past: readonly Turn[]): LeftTurn | undefined {
  // Without its connection the shipped server stops, and what it remembers of words is not whole (a2a.md §11).
  if (memory.peer.dialect === 'gemini') return undefined;
  const turns = past.flatMap((turn) => leftTurn(turn) ?? []);
  for (const { turn, kept } of turns) {
    memory.known.begin();
    memory.known.restore(kept.known, turn.parts, kept.calls);
  }
  const last = turns.at(-1);
  return last?.kept.running && last.turn.status === 'failed' && last.turn === past.at(-1) ? last : undefined;
}

/**
 * Goes on with the task of an earlier time, where the agent still knows it: how it stands now, or what to tell the user when it is gone. A
 * turn that was left is looked for in its own task, which for a command is another than the conversation's.
 */
export async function takeUp(memory: Memory, resumeKey: string, left: LeftTurn | undefined): Promise<Incoming | string | undefined> {
  const key = parse(resumeKey);
  const { contextId, taskId } = isRecord(key) ? key : {};
  if (typeof contextId === 'string') memory.contextId = contextId;
  if (typeof taskId === 'string') {
    memory.task = { id: taskId };
    memory.settled = true;
  }
  if (left?.kept.taskId !== undefined && left.kept.taskId !== taskId) {
    setAside(memory);
    memory.task = { id: left.kept.taskId };
  }
  if (!memory.task) return undefined;
  const now = await lookUp(memory).catch((error: unknown) => messageOf(error));
  // It may well go on with the next message; only the agent itself can say that it is gone.
  if (typeof now === 'string') {
    comeBack(memory);
    return t('How the task stands could not be learned: {0}', now);
  }
  if (now && (left || !isOver(now.state) || now.state === 'completed')) return now;
  if (memory.aside) return void comeBack(memory);
  const told = leaveTask(memory);
  return memory.past.empty ? undefined : told;
}

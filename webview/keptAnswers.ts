import type { AskId, Session } from '../src/session/model.ts';
import { openFeedback } from './parts/approval.ts';
import { isAskedAgain, writtenWords } from './parts/question.ts';
import type { SessionMemory } from './ui.ts';

/**
 * Clears the memory of asks that are closed, by an answer, by the agent or by a reload. What the user had written about one and not sent goes to the
 * same question, where that is asked again, or else to the draft. Undefined when nothing changes.
 */
export function withoutClosedAsks(
  memory: SessionMemory,
  { asks, link }: Pick<Session, 'asks' | 'link'>,
  answered: readonly AskId[],
): Partial<SessionMemory> | undefined {
  // An agent that is still starting may ask again.
  const stays = (id: AskId) => asks.some((ask) => ask.id === id) || (link.state === 'opening' && !answered.includes(id));
  const entries = Object.entries(memory.answers);
  const closed = entries.filter(([id]) => !stays(id));
  if (closed.length === 0) return undefined;
  const answers = new Map(entries.filter(([id]) => stays(id)));
  const words = [memory.draft];
  for (const [id, given] of closed) {
    if (answered.includes(id)) continue;
    const again = asks.find((ask) => !answers.has(ask.id) && isAskedAgain(ask, given));
    if (again) answers.set(again.id, given);
    else words.push(openFeedback(memory, id), writtenWords(given));
  }
  return { answers: Object.fromEntries(answers), draft: words.filter(Boolean).join('\n') };
}

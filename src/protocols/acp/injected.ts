import { t } from '../../base/l10n.ts';
import type { SessionEvent } from '../../session/events.ts';
import { toContent } from './content.ts';
import { chunk, isReminder, newPart } from './messages.ts';
import type { ContentBlock } from './schema.ts';
import type { TurnMemory, Turns } from './turns.ts';

/**
 * What an agent says in the user's name while a turn runs (acp.md §7). An echo of the prompt is there already, and reminders to itself concern
 * nobody; the rest the user did not say, so it is shown as the agent's. Only the task of a sub-agent stands as it is: that is shown as a task.
 */
export function injected(
  blocks: readonly ContentBlock[],
  messageId: string | undefined,
  { turn, turns }: { readonly turn: TurnMemory | undefined; readonly turns: Turns },
): readonly SessionEvent[] {
  if (turn?.sort !== 'prompt') return [];
  const news = blocks.filter((block) => {
    const content = toContent(block);
    return content.type !== 'text' || !(turn.promptText.includes(content.text.trim()) || isReminder(content.text));
  });
  if (turn !== turns.current)
    return news.map((block) => ({
      type: 'part.added',
      turnId: turn.id,
      part: { kind: 'prompt', id: newPart(turn), content: [toContent(block)] },
    }));
  const id = `injected ${messageId ?? ''}`;
  const key = `text ${id}`;
  // Without a name it is another message as soon as something else was said in between.
  if (messageId === undefined && turn.growing?.messageId !== id) turn.parts.delete(key);
  return news.flatMap((block) => {
    const heading = turn.parts.has(key)
      ? []
      : chunk(turn, 'text', { type: 'text', text: `*${t('Said in your name by the agent:')}*\n\n` }, id);
    return [...heading, ...chunk(turn, 'text', block, id)];
  });
}

import type { SessionEvent } from '../../session/events.ts';
import type { PartId } from '../../session/model.ts';
import { toContent } from './content.ts';
import type { ContentBlock, Update } from './schema.ts';
import type { TurnMemory } from './turns.ts';

/** The agent's messages, piece by piece or whole (acp.md §7). */

/** One piece of a message. The commonest of all updates, so it takes plain values. */
export function grow(
  turn: TurnMemory,
  kind: 'text' | 'thought',
  text: string,
  messageId: string | null | undefined,
): Extract<SessionEvent, { type: 'text.delta' }> | undefined {
  // Empty pieces only carry figures; they make no bubble.
  if (text === '') return undefined;
  const id = messageId ?? undefined;
  let growing = turn.growing;
  if (growing?.kind !== kind || growing.messageId !== id) {
    const known = id === undefined ? undefined : turn.parts.get(`${kind} ${id}`);
    growing = { kind, messageId: id, partId: known ?? newPart(turn) };
    if (id !== undefined) turn.parts.set(`${kind} ${id}`, growing.partId);
    turn.growing = growing;
  }
  return { type: 'text.delta', turnId: turn.id, kind, partId: growing.partId, text };
}

export function chunk(
  turn: TurnMemory,
  kind: 'text' | 'thought',
  block: ContentBlock,
  messageId: string | null | undefined,
): readonly SessionEvent[] {
  const content = toContent(block);
  if (content.type === 'text') {
    const grown = grow(turn, kind, content.text, messageId);
    return grown ? [grown] : [];
  }
  turn.growing = undefined;
  return [{ type: 'part.added', turnId: turn.id, part: { kind: 'content', id: newPart(turn), content } }];
}

/** A message said whole, maybe after pieces of it: its text stands where it stood, other content is shown once. */
export function whole(
  turn: TurnMemory,
  kind: 'text' | 'thought',
  { messageId, content: blocks }: Pick<Extract<Update, { sessionUpdate: 'message' }>, 'messageId' | 'content'>,
): readonly SessionEvent[] {
  if (!blocks) return [];
  const contents = blocks.map(toContent);
  const text = contents.map((one) => (one.type === 'text' ? one.text : '')).join('');
  const known = turn.parts.get(`${kind} ${messageId}`);
  const events: SessionEvent[] = [];
  if (known !== undefined) events.push({ type: 'text.set', turnId: turn.id, partId: known, text });
  else {
    const grown = grow(turn, kind, text, messageId);
    if (grown) events.push(grown);
  }
  contents.forEach((content, at) => {
    const key = `${kind} ${messageId} ${at}`;
    if (content.type === 'text' || turn.parts.has(key)) return;
    const id = newPart(turn);
    turn.parts.set(key, id);
    turn.growing = undefined;
    events.push({ type: 'part.added', turnId: turn.id, part: { kind: 'content', id, content } });
  });
  return events;
}

export function newPart(turn: TurnMemory): PartId {
  turn.made += 1;
  return `${turn.prefix}${turn.made}`;
}

/** Texts of agents that hold nothing but one block in tags, or stand for a call's result (Gemini CLI's record), are notes to the model. */
export function isReminder(text: string): boolean {
  return /^\s*<([a-z][\w-]*)[^>]*>[\s\S]*<\/\1>\s*$/i.test(text) || /^\[Function (?:Call|Response): [^\]\n]*\]$/.test(text);
}

import { meaningOf } from './meaning.ts';
import type { Memory } from './memory.ts';
import { type Incoming, isAtRest } from './records.ts';
import type { Message } from './schema.ts';

/** What the task holds that nobody was shown: what came after the last known words. undefined when there is nothing to tell. */
export function missed(memory: Memory, now: Incoming): Incoming | undefined {
  const history = now.history ?? [];
  const prompt = history.findLastIndex((message) => /user/i.test(message.role ?? '') && wordsOf(message) !== '');
  const known = history.findLastIndex((message) => isAgents(message) && wordsOf(message) !== '' && memory.past.has(wordsOf(message)));
  const rest = history.slice(Math.max(prompt, known) + 1).filter(isAgents);
  const last = now.parts.flatMap((part) => part.text ?? []).join('');
  const parts = last !== '' && memory.past.has(last) ? [] : now.parts;
  const asks = [...rest, { parts: [...parts] }].some((message) =>
    meaningOf({ kind: 'message', final: false, parts: message.parts ?? [] }).some(
      (said) => said.type === 'call' && said.call.request !== undefined,
    ),
  );
  const news =
    rest.some((message) => wordsOf(message) !== '') || parts.some((part) => part.text) || (asks && now.state === 'input-required');
  return isAtRest(now.state) && !news ? undefined : { ...now, history: rest, parts };
}

function isAgents(message: Message): boolean {
  return /agent/i.test(message.role ?? '');
}

function wordsOf(message: Message): string {
  return (message.parts ?? []).flatMap((part) => part.text ?? []).join('');
}

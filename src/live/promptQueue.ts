import type { Intent } from '../session/intents.ts';
import type { Command, Content, QueuedPrompt, TurnId } from '../session/model.ts';

/** A prompt that names one of the agent's commands becomes that command; anything else stays a prompt. */
export function asCommand(prompt: QueuedPrompt, commands: readonly Command[]): Intent {
  const plain: Intent = { type: 'prompt', ...prompt };
  const [only, ...more] = prompt.content;
  if (only?.type !== 'text' || more.length > 0) return plain;
  const text = only.text.trim();
  if (!text.startsWith('/')) return plain;
  const path: string[] = [];
  let rest = text.slice(1);
  let level: readonly Command[] = commands;
  for (;;) {
    const found = level.find((command) => [command.name, ...command.aliases].some((name) => startsWithWord(rest, name)));
    if (!found) break;
    const name = [found.name, ...found.aliases].find((one) => startsWithWord(rest, one)) ?? found.name;
    // As it was typed: an alias is a name the agent gave.
    path.push(name);
    rest = rest.slice(name.length).trimStart();
    level = found.children ?? [];
  }
  return path.length === 0 ? plain : { type: 'command', turnId: prompt.turnId, path, args: rest };
}

function startsWithWord(text: string, word: string): boolean {
  return text.startsWith(word) && (text.length === word.length || /\s/.test(text[word.length] ?? ''));
}

export function commandText(path: readonly string[], args: string): string {
  return `/${[...path, args].filter(Boolean).join(' ')}`;
}

export function without(queue: readonly QueuedPrompt[], turnId: TurnId): readonly QueuedPrompt[] {
  return queue.filter((prompt) => prompt.turnId !== turnId);
}

/** A prompt with nothing in it is not sent. */
export function isEmpty(content: readonly Content[]): boolean {
  return content.every((one) => one.type === 'text' && one.text.trim() === '');
}

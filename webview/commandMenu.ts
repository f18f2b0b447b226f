import type { Command } from '../src/session/model.ts';
import type { Menu, MenuItem } from './menu.ts';

const MOST = 50;

/** The menu for a text that begins with a slash, and the hint of a completely typed command. */
export function commandMenu(text: string, caret: number, commands: readonly Command[]): Menu | undefined {
  const typed = text.slice(0, caret);
  if (!typed.startsWith('/') || typed.includes('\n')) return undefined;
  const words = typed.slice(1).split(' ');
  const query = words.pop() ?? '';
  const level = words.reduce<readonly Command[] | undefined>((list, word) => list && named(list, word)?.children, commands);
  if (!level) return undefined;
  const items = best(query, level, (command) => [command.name, ...command.aliases]).map((command): MenuItem => {
    const aliases = command.aliases.length > 0 ? `(${command.aliases.map((alias) => `/${alias}`).join(', ')})` : '';
    const hint = [command.hint ?? '', words.length === 0 ? aliases : ''].filter(Boolean).join(' ');
    return {
      label: words.length === 0 ? `/${command.name}` : command.name,
      detail: command.description,
      ...(hint === '' ? {} : { hint }),
      // A name that is typed whole stays: the agent may do something else by an alias, and the chat shows what was said.
      insert: `${words.length === 0 ? '/' : ''}${command.aliases.includes(query) ? query : command.name} `,
    };
  });
  const from = words.length === 0 ? 0 : caret - query.length;
  return items.length > 0 ? { kind: 'command', items, from, to: caret } : undefined;
}

/** The input hint of the command at the beginning of the text, while nothing is typed after it yet. */
export function commandHint(text: string, commands: readonly Command[]): string | undefined {
  const found = /^\/(\S+(?: \S+)*) ?$/.exec(text);
  const words = found?.[1]?.split(' ') ?? [];
  let level: readonly Command[] | undefined = commands;
  let command: Command | undefined;
  for (const word of words) {
    command = level && named(level, word);
    if (!command) return undefined;
    level = command.children;
  }
  return command?.hint;
}

function named(commands: readonly Command[], word: string): Command | undefined {
  return commands.find((command) => command.name === word || command.aliases.includes(word));
}

/** Things whose names contain the letters of the query in order, best first; all of them for an empty query. */
export function best<T>(query: string, things: readonly T[], names: (thing: T) => readonly string[]): readonly T[] {
  const scored = things.flatMap((thing, index) => {
    const score = Math.max(...names(thing).map((name) => scoreOf(query.toLowerCase(), name.toLowerCase())));
    return score === Number.NEGATIVE_INFINITY ? [] : [{ thing, score, index }];
  });
  return scored
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, MOST)
    .map(({ thing }) => thing);
}

/** Higher is better: prefix, then whole run inside, then scattered letters; -Infinity when letters are missing. */
function scoreOf(query: string, name: string): number {
  if (query === '') return 0;
  const at = name.indexOf(query);
  if (at === 0) return 1000 - name.length;
  if (at > 0) return 500 - at - name.length;
  let from = 0;
  for (const letter of query) {
    from = name.indexOf(letter, from) + 1;
    if (from === 0) return Number.NEGATIVE_INFINITY;
  }
  return 100 - name.length;
}

import { type Note, parseNote } from './notes.ts';
import { countTags } from './tags.js';

const greeting = 'Hello from Tally Notes';

/** The answer to one command of the command line. */
export function answer(command: string, lines: readonly string[]): string {
  const notes = lines.map(parseNote).filter((note) => note !== undefined);
  switch (command) {
    case 'list':
      return notes.map(describe).join('\n');
    case 'tags':
      return [...countTags(notes)].map(([tag, count]) => `${tag} ${count}`).join('\n');
    case 'count':
      return notes.length;
    default:
      return `${greeting}. Commands: list, tags, count`;
  }
}

function describe(note: Note): string {
  return `${note.day}  ${note.text}`;
}

/** One line of the notebook. */
export interface Note {
  readonly day: string;
  readonly text: string;
}

/** Reads `2026-11-02 Buy ink #shop`; undefined when the line is not a note. */
export function parseNote(line: string): Note | undefined {
  const match = /^(\d{4}-\d\d-\d\d) (.+)$/.exec(line.trim());
  return match ? { day: match[1]!, text: match[2]! } : undefined;
}

export function formatNote(note: Note): string {
  return `${note.day} ${note.text}`;
}

import { formatNote, type Note, parseNote } from './notes.ts';

/** Where the text of the notebook comes from and goes to. */
export interface TextFile {
  read(): string;
  write(text: string): void;
}

export function readNotes(file: TextFile): Note[] {
  return file.read().split('\n').map(parseNote).filter((note) => note !== undefined);
}

export function addNote(file: TextFile, note: Note): void {
  const text = file.read();
  file.write(`${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${formatNote(note)}\n`);
}

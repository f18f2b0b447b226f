import type { Content } from '../src/session/model.ts';
import { relativePath } from '../src/session/select.ts';

type FileContent = Extract<Content, { type: 'file' }>;

/** Something that a text names after an @. */
interface Mentioned<C> {
  /** With the @. */
  readonly name: string;
  readonly content: C;
}
/** A file or folder that a text names, so that it needs no chip. */
export type MentionPlace = Mentioned<FileContent>;

/** A piece of a text; one with content is a mention. */
interface TextPiece<C> {
  readonly text: string;
  readonly content?: C;
}

/** True for a folder: its path ends as one. */
export function isFolder(content: Content): boolean {
  return content.type === 'file' && /[\\/]$/.test(content.path);
}

/** The files and folders among the contents that the text names by their paths, longest name first. */
export function mentionsIn(text: string, contents: readonly Content[], cwd: string): readonly MentionPlace[] {
  const found = contents.flatMap((content): MentionPlace[] => {
    if (content.type !== 'file' || content.text !== undefined || content.lines !== undefined) return [];
    const mention = { name: `@${relativePath(content.path, cwd)}`, content };
    return textPieces(text, [mention]).some((piece) => piece.content) ? [mention] : [];
  });
  return found.sort((one, other) => other.name.length - one.name.length);
}

/** True where a name that ends there is the beginning of a longer one. */
function goesOn(text: string, end: number): boolean {
  return /^(?:[\w-]|[./\\][\w-])/.test(text.slice(end, end + 2));
}

/** True for a text that mentions that name. */
export function isMentioned(text: string, name: string): boolean {
  return textPieces(text, [{ name, content: true }]).some(({ content }) => content);
}

/** The text without its mentions of that name, and without the blank that follows each. */
export function withoutMention(text: string, name: string): string {
  const pieces = textPieces(text, [{ name, content: true }]);
  return pieces.map((piece, at) => (piece.content ? '' : pieces[at - 1]?.content ? piece.text.replace(/^ /, '') : piece.text)).join('');
}

/** The text in pieces, each mention by itself; of several names that fit the first one counts. */
export function textPieces<C>(text: string, named: readonly Mentioned<C>[]): readonly TextPiece<C>[] {
  const pieces: TextPiece<C>[] = [];
  let from = 0;
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', Math.max(at + 1, from))) {
    const mention = named.find(({ name }) => text.startsWith(name, at) && !goesOn(text, at + name.length));
    if (!mention) continue;
    if (at > from) pieces.push({ text: text.slice(from, at) });
    pieces.push({ text: mention.name, content: mention.content });
    from = at + mention.name.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from) });
  return pieces;
}

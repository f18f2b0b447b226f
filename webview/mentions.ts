import type { Content } from '../src/session/model.ts';
import { relativePath } from '../src/session/select.ts';

type FileContent = Extract<Content, { type: 'file' }>;

/** A file or folder that a text names after an @, so that it needs no chip. */
export interface MentionPlace {
  /** With the @. */
  readonly name: string;
  readonly content: FileContent;
}

/** A piece of a text; one with content is a mention. */
interface TextPiece {
  readonly text: string;
  readonly content?: FileContent;
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

/** The text before, between and after the mentions of that name, which are cut out with the blank that follows each; one piece where there is none. */
export function aroundMention(text: string, name: string): readonly string[] {
  const pieces: string[] = [];
  let from = 0;
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const end = at + name.length;
    if (at < from || goesOn(text, end)) continue;
    pieces.push(text.slice(from, at));
    from = text.charAt(end) === ' ' ? end + 1 : end;
  }
  return [...pieces, text.slice(from)];
}

export function textPieces(text: string, mentions: readonly MentionPlace[]): readonly TextPiece[] {
  const pieces: TextPiece[] = [];
  let from = 0;
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', Math.max(at + 1, from))) {
    const mention = mentions.find(({ name }) => text.startsWith(name, at) && !goesOn(text, at + name.length));
    if (!mention) continue;
    if (at > from) pieces.push({ text: text.slice(from, at) });
    pieces.push({ text: mention.name, content: mention.content });
    from = at + mention.name.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from) });
  return pieces;
}

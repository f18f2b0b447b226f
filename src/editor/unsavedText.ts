import type { Intent } from '../session/intents.ts';
import type { Content } from '../session/model.ts';

/** A text longer than this is left to the disk, in UTF-16 units. */
const LONGEST = 1024 * 1024;

/**
 * A prompt with the text of files it names that are not saved: agents read the disk, and would see another text than the user (acp.md §6).
 * `unsaved` gives the text of a file with unsaved changes, undefined for any other.
 */
export function withUnsaved<I extends Intent>(intent: I, unsaved: (path: string) => string | undefined): I {
  if (intent.type !== 'prompt' && intent.type !== 'steer') return intent;
  return { ...intent, content: intent.content.map((one) => filled(one, unsaved)) };
}

function filled(content: Content, unsaved: (path: string) => string | undefined): Content {
  if (content.type !== 'file' || content.text !== undefined || content.lines) return content;
  const text = unsaved(content.path);
  return text === undefined || text.length > LONGEST ? content : { ...content, text };
}

import { parseJson } from '../base/json.ts';
import { pathOfUri } from '../base/paths.ts';
import type { Approval, ToolKind } from '../session/model.ts';

/** More than any rule allows: what comes after is not looked for. */
const MOST = 500;

/** Names of arguments that hold a path, and of those whose text may look like one and is not. */
const PATH = /path|^uri$|^url$/i;
const TEXT = /old|new|content|text|string|code|insert|replace|body|patch|diff|query|regex|description|prompt|title|reason|instruction/i;
const PLACE = /file|dir|folder|^cwd$|root|target|source|^src$|^dest/i;
const LOOKS = /^(?:[\\/~]|[A-Za-z]:[\\/]|file:|\.\.?[\\/])|[\\/]\.\.(?:[\\/]|$)/;

/**
 * The paths a call is about: those its protocol knows, and all that its arguments name, as they are written. A search without one is about the
 * folder. Nothing when no path is known, or when the arguments are in no form that could be read.
 */
export function namedPaths(kind: ToolKind, input: unknown, known: readonly string[]): Pick<Approval, 'paths'> {
  const read = typeof input === 'string' ? decoded(input) : input;
  const isPlain = read === undefined || read === null || (typeof read === 'object' && !Array.isArray(read));
  if (!isPlain && kind !== 'edit') return {};
  if (kind !== 'edit' && runs(read)) return {};
  const found = new Set(known);
  gather(read, '', found);
  if (found.size > 0) return { paths: [...found] };
  return kind === 'search' && read ? { paths: ['.'] } : {};
}

function gather(value: unknown, name: string, found: Set<string>): void {
  if (found.size > MOST) return;
  if (typeof value === 'string') {
    if (value !== '' && isPath(name, value)) found.add(value.startsWith('file:') ? pathOfUri(value) : value);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) for (const one of value) gather(one, name, found);
  else
    for (const [key, one] of Object.entries(value)) {
      // Of files that are changed the name is the key.
      if (LOOKS.test(key)) found.add(key);
      gather(one, key, found);
    }
}

/** Something in it is carried out: places beside it do not tell what it is about. */
function runs(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, one]) => (RUNS.test(name) && typeof one !== 'boolean' && one !== null) || runs(one));
}
const RUNS = /command|^cmd|script$|shell|bash|exec|program|argv|^code$|eval/i;

function isPath(name: string, value: string): boolean {
  if (/^https?:\/\//.test(value)) return false;
  if (PATH.test(name)) return true;
  if (TEXT.test(name) || value.includes('\n')) return false;
  return PLACE.test(name) || LOOKS.test(value);
}

function decoded(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

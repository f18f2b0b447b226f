import { namedPath, resolvePath } from '../../base/paths.ts';
import type { Diff } from '../../session/model.ts';
import { type Replacement, replaced } from '../replacements.ts';
import { kindOf } from '../toolKinds.ts';
import { isRecord } from './schema.ts';

/*
 * Derives the edit of a file from the arguments of a server's tool call: the protocol has no diffs (docs/protocols/ai-sdk.md, "Edits of the server").
 * Tools differ between servers, so a call with any unknown argument yields no edit.
 */

/** One call's edit. */
export interface FileEdit {
  /** Absolute. */
  readonly path: string;
  readonly change:
    | { readonly is: 'write' | 'append'; readonly text: string }
    | { readonly is: 'replace'; readonly replacements: readonly Replacement[] };
}

/** Names of arguments in the tools of servers. The commands are those of the text editor tool that Claude's models know. */
const PATHS = ['path', 'file_path', 'filePath', 'filename', 'fileName', 'file'];
const OLD = ['old', 'old_string', 'oldString', 'old_str', 'oldStr', 'old_text', 'oldText'];
const NEW = ['new', 'new_string', 'newString', 'new_str', 'newStr', 'new_text', 'newText'];
const CONTENT = ['content', 'contents', 'file_text', 'fileText', 'text'];
const ALL = ['replace_all', 'replaceAll'];
const LISTS = ['edit', 'edits'];
/** Arguments that describe a call and do not change its effect. */
const WORDS = ['description', 'explanation', 'reason', 'instructions', 'overwrite'];
const COMMANDS: Readonly<Record<string, 'write' | 'replace'>> = { create: 'write', str_replace: 'replace' };
const MODES: Readonly<Record<string, 'write' | 'append'>> = { overwrite: 'write', write: 'write', append: 'append' };

const MOST_EDITS = 100;
/** UTF-16 units of both sides: they travel with the question and its call. */
const LARGEST = 512 * 1024;

/** The edit that the arguments describe; undefined when they describe none, or hold anything that is not known. */
export function editOf(tool: string, input: unknown, cwd: string): FileEdit | undefined {
  if (!isRecord(input)) return undefined;
  const left = new Map(Object.entries(input).filter(([name, value]) => value != null && !WORDS.includes(name)));
  const file = taken(left, PATHS);
  const command = taken(left, ['command']);
  if (typeof file !== 'string' || file === '') return undefined;
  const asked = command === undefined ? undefined : typeof command === 'string' ? COMMANDS[command] : undefined;
  if (command !== undefined && asked === undefined) return undefined;
  const isReplacing = asked === undefined ? [...OLD, ...LISTS].some((name) => left.has(name)) : asked === 'replace';
  const change = isReplacing ? replacing(left) : written(left, asked !== undefined || writes(tool));
  return change && left.size === 0 ? { path: resolvePath(cwd, namedPath(file)), change } : undefined;
}

/** The one argument of these names, which is then no longer left; nothing when there are several. */
function taken(left: Map<string, unknown>, names: readonly string[]): unknown {
  const [name, another] = names.filter((one) => left.has(one));
  if (name === undefined || another !== undefined) return undefined;
  const value = left.get(name);
  left.delete(name);
  return value;
}

function replacing(left: Map<string, unknown>): FileEdit['change'] | undefined {
  const list = taken(left, LISTS);
  const edits =
    list === undefined ? [left] : (Array.isArray(list) ? list : [list]).map((one) => new Map(isRecord(one) ? Object.entries(one) : []));
  if (edits.length === 0 || edits.length > MOST_EDITS) return undefined;
  const replacements = edits.map(replacement);
  return replacements.every((one) => one !== undefined) ? { is: 'replace', replacements } : undefined;
}
function replacement(left: Map<string, unknown>): Replacement | undefined {
  const [from, to, all = false] = [taken(left, OLD), taken(left, NEW), taken(left, ALL)];
  if (typeof from !== 'string' || from === '' || typeof to !== 'string' || typeof all !== 'boolean' || left.size > 0) return undefined;
  return { from: unix(from), to: unix(to), all };
}
/** A path and a text are an edit only where the tool's name means writing. */
function written(left: Map<string, unknown>, isSaid: boolean): FileEdit['change'] | undefined {
  const text = taken(left, CONTENT);
  const mode = taken(left, ['mode']) ?? 'overwrite';
  const is = typeof mode === 'string' ? MODES[mode] : undefined;
  if (typeof text !== 'string' || is === undefined || !isSaid) return undefined;
  return { is, text: unix(text) };
}
function writes(tool: string): boolean {
  return kindOf(tool) === 'edit' || /write_?file|create_?file|file_?write/i.test(tool);
}

/**
 * The edit as a diff of the whole file; undefined where it does not fit the file as it is here, or is too large: a server says nowhere which files
 * it works on. `text` is the file's: null when there is none, undefined when it cannot be read.
 */
export function diffOf({ path, change }: FileEdit, text: string | null | undefined): Diff | undefined {
  if (text === undefined || (text?.length ?? 0) > LARGEST) return undefined;
  const after =
    change.is === 'replace' ? replaced(text, change.replacements) : change.is === 'append' ? (text ?? '') + change.text : change.text;
  if (after === undefined || (text?.length ?? 0) + after.length > LARGEST) return undefined;
  return { path, before: text, after };
}

/** The same as pieces, without a look at the file. A text that is written whole does not say what it takes the place of. */
export function excerptsOf({ path, change }: FileEdit): readonly Diff[] {
  if (change.is !== 'replace') return [];
  return change.replacements.map(({ from, to }) => ({ path, before: from, after: to, excerpt: {} }));
}

function unix(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

import { createReadStream, existsSync, realpathSync, statSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { homeFolder } from '../../transport/environment.ts';
import { Lines } from '../../transport/lines.ts';
import { variableOf } from '../../transport/programFile.ts';
import type { Past, ProcessLaunch } from '../adapter.ts';
import { readText } from '../fileNow.ts';
import type { Files } from '../ports.ts';
import { copyIn } from './launch.ts';
import type { MessageBefore } from './message.ts';
import { type Entry, entryIn } from './messageCodec.ts';

/*
 * Reads from this machine: the program to run, the conversations that the agent keeps in its own files, and the files of the workspace.
 */

// --- the program

/**
 * The command that runs the agent in one process: the installed `qwen` is a wrapper that starts itself again, and the script beside it does the same
 * work (docs/protocols/qwen.md §1.1). Any other command is returned unchanged.
 */
export function withoutWrapper(launch: ProcessLaunch): { readonly command: string; readonly args: readonly string[] } {
  const plain = { command: launch.command, args: launch.args };
  const [first, ...rest] = launch.args;
  if (/^node(\.exe)?$/i.test(path.basename(launch.command)) && first !== undefined && path.basename(first) === 'cli-entry.js') {
    const script = path.join(path.dirname(path.resolve(launch.cwd, first)), 'cli.js');
    return existsSync(script) ? { command: launch.command, args: [script, ...rest] } : plain;
  }
  if (!/^qwen(\.cmd)?$/i.test(path.basename(launch.command))) return plain;
  const found = locate(launch.command, variableOf(launch.env, 'PATH') ?? process.env.PATH ?? '', launch.cwd);
  if (found === undefined) return plain;
  const script = [path.dirname(found), path.join(path.dirname(found), 'node_modules', '@qwen-code', 'qwen-code')]
    .filter((folder) => existsSync(path.join(folder, 'cli-entry.js')))
    .map((folder) => path.join(folder, 'cli.js'))
    .find((file) => existsSync(file));
  return script === undefined ? plain : { command: 'node', args: [script, ...launch.args] };
}

/** The file that a command runs, with its links resolved. */
function locate(command: string, searched: string, cwd: string): string | undefined {
  const names = process.platform === 'win32' ? [command, `${command}.cmd`] : [command];
  const folders = /[\\/]/.test(command) ? [''] : searched.split(path.delimiter).filter(Boolean);
  for (const folder of folders) {
    for (const name of names) {
      const file = path.resolve(cwd, folder, name);
      try {
        if (statSync(file).isFile()) return realpathSync(file);
      } catch {
        // Not here.
      }
    }
  }
  return undefined;
}

// --- conversations that the agent keeps: one file of JSON lines each

/**
 * The folder in which the agent keeps its conversations about a working folder, one file of JSON lines each, named by the session's id.
 * Undefined for a program that is not known to keep any.
 */
export function recordFolder({ command, args, env, cwd }: Pick<ProcessLaunch, 'command' | 'args' | 'env' | 'cwd'>): string | undefined {
  const words = [command, ...args.filter((arg) => !arg.startsWith('-'))].slice(0, 2).map((word) => word.replaceAll('\\', '/'));
  const says = (name: RegExp) => words.some((word) => name.test(word));
  const set = (name: string) => (name in env ? env[name] : process.env[name]);
  const home = homeFolder(env);
  const slug = real(cwd).replaceAll(/[^a-zA-Z0-9]/g, '-');
  if (says(/(^|[/@-])claude(-code)?(\.(exe|cmd|js|cjs|mjs))?$/i)) {
    return path.join(set('CLAUDE_CONFIG_DIR') ?? path.join(home, '.claude'), 'projects', slug);
  }
  if (says(/(^|\/)qwen(\.cmd)?$|@qwen-code\/qwen-code\//i)) return path.join(home, '.qwen', 'projects', slug, 'chats');
  return undefined;
}

/** The folder with links followed, as the agent names it; the folder itself when it cannot be read. */
function real(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}

/** How much of a file is read to find its first prompt, in bytes. */
const HEAD = 256 * 1024;
/** Bytes of one conversation that are read to show it. */
const LARGEST = 256 * 1024 * 1024;
const LARGEST_LINE = 16 * 1024 * 1024;
const MOST = 200;
const TITLE_LENGTH = 80;

/** The conversations in that folder, newest first. A folder that is not there, or files of another layout, are an empty list. */
export async function pastConversations(folder: string): Promise<readonly Past[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.jsonl'));
  const dated = await Promise.all(
    names.map(async (name) => ({
      file: path.join(folder, name),
      at: await stat(path.join(folder, name)).then(
        ({ mtimeMs }) => Math.round(mtimeMs),
        () => 0,
      ),
    })),
  );
  const newest = dated.sort((a, b) => b.at - a.at).slice(0, MOST);
  const found = await Promise.all(
    newest.map(async ({ file, at }): Promise<Past | undefined> => {
      const title = await firstPrompt(file);
      return title === undefined ? undefined : { key: path.basename(file, '.jsonl'), title, at };
    }),
  );
  return found.filter((past) => past !== undefined);
}

/** The entries of a stored conversation, from its first to the last message: the branch that was continued last. Empty when it cannot be read. */
export async function conversationIn(folder: string, key: string): Promise<readonly Entry[]> {
  const file = fileOf(folder, key);
  if (file === undefined) return [];
  const all = new Map<string, Entry>();
  let last: Entry | undefined;
  await eachLine(file, LARGEST, (text) => {
    const entry = entryIn(text);
    if (!entry) return false;
    all.set(entry.id, entry);
    if (entry.said) last = entry;
    return false;
  });
  const branch: Entry[] = [];
  for (let one = last; one; one = one.after === undefined ? undefined : all.get(one.after)) {
    all.delete(one.id);
    branch.push(one);
  }
  branch.reverse();
  const beside = parallelEntries(branch, all.values());
  return branch.flatMap((one) => [...(one.said ? [one] : []), ...(beside.get(one.id) ?? [])]);
}

/** An entry of the agent on the branch, to which parallel entries belong: its message, and the entries to show after it. */
interface Anchor {
  readonly message: string | undefined;
  readonly shown: Entry[];
}

/**
 * Calls and results that are not on the branch, by the id of the entry to show them after. The agent writes parallel calls as a line each, one after the
 * other, and each result follows its own call; the branch continues from the result that came last and leaves out the calls behind it (qwen.md §7).
 */
function parallelEntries(branch: readonly Entry[], others: Iterable<Entry>): ReadonlyMap<string, readonly Entry[]> {
  const answered = new Set(branch.flatMap(callsAnswered));
  const found = new Map<string, Entry[]>();
  const anchors = new Map<string, Anchor>();
  for (const { id, said } of branch) {
    if (said?.who !== 'agent') continue;
    const anchor = { message: said.line.message.id ?? undefined, shown: [] };
    anchors.set(id, anchor);
    found.set(id, anchor.shown);
  }
  for (const other of others) {
    const { id, after, said } = other;
    const anchor = after === undefined ? undefined : anchors.get(after);
    if (!anchor) continue;
    if (said?.who === 'agent' && anchor.message !== undefined && said.line.message.id === anchor.message) {
      anchor.shown.push(other);
    } else if (said?.who === 'tool') {
      const calls = callsAnswered(other);
      if (calls.length === 0 || calls.some((call) => answered.has(call))) continue;
      anchor.shown.push(other);
      for (const call of calls) answered.add(call);
    } else if (said) {
      continue;
    }
    anchors.set(id, anchor);
  }
  return found;
}

/** The ids of the calls whose results an entry holds. */
function callsAnswered({ said }: Entry): readonly string[] {
  const content = said?.who === 'tool' ? said.line.message.content : '';
  return typeof content === 'string' ? [] : content.flatMap(({ tool_use_id: call }) => (typeof call === 'string' ? [call] : []));
}

/** The first line of the first prompt, shortened; undefined when the beginning of the file holds none. */
async function firstPrompt(file: string): Promise<string | undefined> {
  let found: string | undefined;
  await eachLine(file, HEAD, (text) => {
    const said = entryIn(text)?.said;
    if (said?.who === 'user') found = said.text.split('\n', 1)[0]?.slice(0, TITLE_LENGTH);
    return found !== undefined;
  });
  return found;
}

/** Passes the lines of a file on until `enough` returns true. A file that cannot be read has none. `bytes`: how much of it is read. */
async function eachLine(file: string, bytes: number, enough: (line: string) => boolean): Promise<void> {
  let done = false;
  const take = (line: string) => {
    done ||= enough(line);
  };
  const lines = new Lines(take, { limit: LARGEST_LINE, onTooLong: () => {} });
  try {
    for await (const chunk of createReadStream(file, { end: bytes - 1 })) {
      lines.push(chunk as Buffer);
      if (done) return;
    }
    lines.end();
  } catch {
    // Not there, or not readable: there is nothing to show.
  }
}

/** The file of a conversation; undefined for a key that would lead out of the folder. */
function fileOf(folder: string, key: string): string | undefined {
  return /^[\w-]{1,100}$/.test(key) ? path.join(folder, `${key}.jsonl`) : undefined;
}

/** The id of the message before a turn, null in `upTo` for the first turn; null when the conversation does not hold the turn. */
export async function messageBefore(folder: string, key: string, turnId: string): Promise<{ readonly upTo: string | null } | null> {
  const entries = await conversationIn(folder, key);
  const at = entries.findIndex((entry) => entry.id === turnId);
  return at < 0 ? null : { upTo: entries[at - 1]?.id ?? null };
}

/** The file requests of the machine. */
export type QwenFileRequest =
  | { readonly do: 'read'; readonly path: string }
  | { readonly do: 'write'; readonly path: string; readonly text: string; readonly from: string | null; readonly real?: string }
  | { readonly do: 'record'; readonly key: string }
  | ({ readonly do: 'before'; readonly key: string } & Pick<MessageBefore, 'turnId' | 'prompt'>);

/** Carries out a file request of the machine; `folder` is where the agent keeps its conversations, if it does. */
export async function fileAnswer(
  args: QwenFileRequest,
  files: Files,
  roots: readonly string[],
  folder: string | undefined,
): Promise<unknown> {
  switch (args.do) {
    case 'read':
      return readText(files, args.path, roots);
    case 'write':
      return files.write(args.path, args.text, args.from ?? undefined, args.real);
    case 'record':
      return folder === undefined ? [] : conversationIn(folder, recordOf(args.key));
    case 'before': {
      const found = folder === undefined ? null : await messageBefore(folder, recordOf(args.key), args.turnId);
      return { turnId: args.turnId, prompt: args.prompt, found };
    }
  }
}

/** The key of the conversation to read: that of the original for a copy that is yet to be made. */
function recordOf(key: string): string {
  return copyIn(key) ?? key;
}

import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import type { ProcessLaunch } from '../commandLine.ts';

/**
 * The folder in which the agent keeps its conversations about a working folder, one file of JSON lines each, named by the session's id.
 * Undefined for a program that is not known to keep any.
 */
export function recordFolder({ command, args, env, cwd }: Pick<ProcessLaunch, 'command' | 'args' | 'env' | 'cwd'>): string | undefined {
  const words = [command, ...args.filter((arg) => !arg.startsWith('-'))].slice(0, 2).map((word) => word.replaceAll('\\', '/'));
  const says = (name: RegExp) => words.some((word) => name.test(word));
  const set = (name: string) => (name in env ? env[name] : process.env[name]);
  const home = set('HOME') ?? set('USERPROFILE') ?? homedir();
  const slug = real(cwd).replaceAll(/[^a-zA-Z0-9]/g, '-');
  if (says(/(^|[/@-])claude(-code)?(\.(exe|cmd|js|cjs|mjs))?$/i)) {
    return path.join(set('CLAUDE_CONFIG_DIR') ?? path.join(home, '.claude'), 'projects', slug);
  }
  if (says(/(^|\/)qwen(\.cmd)?$|@qwen-code\/qwen-code\//i)) return path.join(home, '.qwen', 'projects', slug, 'chats');
  return undefined;
}

/** The agent sees its working folder with links followed. */
function real(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}

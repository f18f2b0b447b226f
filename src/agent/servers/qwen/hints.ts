import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { Commands } from '../../commands.ts';

const MOST = 50;

export interface Suggestion {
  readonly label: string;
  readonly value: string;
  readonly description?: string;
}

/** Commands that begin with what was typed. */
export function commandHints(commands: Commands, typed: string): readonly Suggestion[] {
  const word = typed === '?' ? '?' : typed.replace(/^[/?]/, '');
  return commands.all
    .filter((command) => command.name.startsWith(word) || (word !== '' && command.aliases.includes(word)))
    .map(({ name, description }) => ({ label: name, value: name, description }));
}

/** What was typed is the whole name of a command, or another name for it. */
export function isCommandTyped(commands: Commands, typed: string): boolean {
  return commands.find(typed === '?' ? '?' : typed.replace(/^[/?]/, '')) !== undefined;
}

/** Files and folders that go on from what was typed after the `@`. Spaces are escaped. */
export function fileHints(cwd: string, typed: string): readonly Suggestion[] {
  const given = typed.replace(/^@/, '').replaceAll('\\ ', ' ');
  const folder = given.slice(0, given.lastIndexOf('/') + 1);
  const target = path.resolve(cwd, folder);
  if (path.relative(cwd, target).startsWith('..')) return [];
  try {
    return readdirSync(target, { withFileTypes: true })
      .filter((entry) => entry.name.startsWith(given.slice(folder.length)) && !entry.name.startsWith('.'))
      .slice(0, MOST)
      .map((entry) => {
        const name = `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`;
        return { label: name, value: name.replaceAll(' ', '\\ ') };
      });
  } catch {
    return [];
  }
}

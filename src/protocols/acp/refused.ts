import path from 'node:path';
import type { ApprovalDetail } from '../../session/model.ts';
import { realPath } from './paths.ts';

/** What the person has rejected in a turn: doing it by another way is asked about again, not simply served (acp.md §10). */
export class Refused {
  readonly #paths = new Set<string>();
  readonly #commands = new Set<string>();

  /** `paths` are those the call names besides; relative ones are below `cwd`. */
  add(details: readonly ApprovalDetail[], paths: readonly string[], cwd: string): void {
    for (const one of [...paths, ...pathsIn(details)]) this.#paths.add(path.resolve(cwd, one));
    for (const one of commandsIn(details)) this.#commands.add(one);
  }

  /** The person has allowed it after all. */
  remove(details: readonly ApprovalDetail[], cwd: string): void {
    for (const one of pathsIn(details)) this.#paths.delete(path.resolve(cwd, one));
    for (const one of commandsIn(details)) this.#commands.delete(one);
  }

  /** The rejected path that leads to this file, whatever it is called now: a link to it is the same file. */
  async pathOf(target: string): Promise<string | undefined> {
    if (this.#paths.size === 0) return undefined;
    const real = await realPath(path.resolve(target));
    for (const one of this.#paths) if ((await realPath(one)) === real) return one;
    return undefined;
  }

  /** True when the line is, or holds, a command that was rejected. */
  hasCommand(line: string): boolean {
    return [...this.#commands].some((one) => holds(line, one));
  }
}

function pathsIn(details: readonly ApprovalDetail[]): readonly string[] {
  return details.flatMap((one) => (one.type === 'edit' ? one.diffs.map((diff) => diff.path) : []));
}

function commandsIn(details: readonly ApprovalDetail[]): readonly string[] {
  return details.flatMap((one) => (one.type === 'command' && one.command.trim() ? [one.command.trim()] : []));
}

/** Not within a word: `ls` is not in `false`. */
function holds(line: string, command: string): boolean {
  for (let at = line.indexOf(command); at >= 0; at = line.indexOf(command, at + 1)) {
    if (!/\w/.test(line[at - 1] ?? ' ') && !/\w/.test(line[at + command.length] ?? ' ')) return true;
  }
  return false;
}

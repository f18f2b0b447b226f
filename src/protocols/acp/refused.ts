import path from 'node:path';
import type { ApprovalDetail } from '../../session/model.ts';
import { realPath } from '../paths.ts';

/** Why a command is asked about: it holds one that was rejected, or names a file whose change was. */
export type Against = 'command' | 'file';

/** What the user has rejected in a turn: doing it by another way is asked about again, not simply served (acp.md §10). */
export class Refused {
  readonly #paths = new Set<string>();
  readonly #commands = new Set<string>();
  /** Files of which they have rejected one text: another one may be allowed. */
  readonly #written = new Set<string>();
  /** Commands they have allowed, whatever those name. */
  readonly #allowed = new Set<string>();

  /** `paths` are those the call names besides; relative ones are below `cwd`. */
  add(details: readonly ApprovalDetail[], paths: readonly string[], cwd: string): void {
    for (const one of [...paths, ...pathsIn(details)]) this.#paths.add(path.resolve(cwd, one));
    for (const one of commandsIn(details)) {
      this.#commands.add(one);
      this.#allowed.delete(one);
    }
  }

  /** A write of the agent was rejected: no command does it unasked. Whether another write is asked about is seen by itself. */
  addWrite(target: string): void {
    this.#written.add(target);
  }

  /** The user has allowed it, before or after all. */
  remove(details: readonly ApprovalDetail[], cwd: string): void {
    for (const one of pathsIn(details)) this.#paths.delete(path.resolve(cwd, one));
    for (const one of commandsIn(details)) {
      this.#commands.delete(one);
      this.#allowed.add(one);
    }
  }

  /** The rejected path that leads to this file, whatever it is called now: a link to it is the same file. */
  async pathOf(target: string): Promise<string | undefined> {
    if (this.#paths.size === 0) return undefined;
    const real = await realPath(path.resolve(target));
    for (const one of this.#paths) if ((await realPath(one)) === real) return one;
    return undefined;
  }

  /**
   * What of it the user has rejected; undefined when they know of nothing. What they have allowed is left out first. A file counts by its bare
   * name: a command can reach it from any folder.
   */
  against(line: string): Against | undefined {
    let rest = line;
    for (const one of this.#allowed) rest = without(rest, one);
    if ([...this.#commands].some((one) => placeIn(rest, one) >= 0)) return 'command';
    const folded = rest.toLowerCase();
    return [...this.#paths, ...this.#written].some((one) => placeIn(folded, path.basename(one).toLowerCase()) >= 0) ? 'file' : undefined;
  }
}

function pathsIn(details: readonly ApprovalDetail[]): readonly string[] {
  return details.flatMap((one) => (one.type === 'edit' ? one.diffs.map((diff) => diff.path) : []));
}

function commandsIn(details: readonly ApprovalDetail[]): readonly string[] {
  return details.flatMap((one) => (one.type === 'command' && one.command.trim() ? [one.command.trim()] : []));
}

/** Where a command or a name stands in a line from there on, not within a word: `ls` is not in `false`. -1 when nowhere. */
function placeIn(line: string, name: string, from = 0): number {
  if (name === '') return -1;
  for (let at = line.indexOf(name, from); at >= 0; at = line.indexOf(name, at + 1)) {
    if (!/\w/.test(line[at - 1] ?? ' ') && !/\w/.test(line[at + name.length] ?? ' ')) return at;
  }
  return -1;
}

/** The line but for that command. */
function without(line: string, command: string): string {
  const rest: string[] = [];
  let from = 0;
  for (let at = placeIn(line, command); at >= 0; at = placeIn(line, command, from)) {
    rest.push(line.slice(from, at));
    from = at + command.length;
  }
  return [...rest, line.slice(from)].join(' ');
}

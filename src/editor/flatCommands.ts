import type { Command } from '../session/model.ts';

export interface FlatCommand {
  readonly path: readonly string[];
  readonly command: Command;
}

/** A command and its subcommands, in order. A command with children is listed itself too: agents may accept it alone. */
export function flatCommands(commands: readonly Command[], above: readonly string[] = []): readonly FlatCommand[] {
  return commands.flatMap((command) => {
    const path = [...above, command.name];
    return [{ path, command }, ...flatCommands(command.children ?? [], path)];
  });
}

import * as z from 'zod/mini';
import type { Command } from '../../commands.ts';
import { invalidParams, type Json } from './wire.ts';

/** Slash commands as the extension has them (docs/protocols/a2a.md §13). */

const text = z.nullish(z.string());
const command = z.object({
  command_path: z.array(z.string().check(z.minLength(1))).check(z.minLength(1)),
  args: text,
  contextId: text,
  metadata: z.nullish(z.record(z.string(), z.unknown())),
});

/** The params of `command/execute`, in either style of names. */
export function commandIn(params: Json): z.infer<typeof command> {
  const { commandPath, ...rest } = params;
  const parsed = command.safeParse({ command_path: commandPath, ...rest });
  if (!parsed.success) throw invalidParams('command_path has to be a list of names, args a text.');
  return parsed.data;
}

/** `skill:tidy` is the command `tidy` below `skill`, which is none by itself. */
export function commandTree(all: readonly Command[]): readonly Json[] {
  const groups = new Map<string, Json[]>();
  const top: Json[] = [];
  for (const { name, description, args = [] } of all) {
    const [group, ...rest] = name.split(':');
    const own = {
      description,
      arguments: args.map((one) => ({ name: one.name, description: one.description, is_required: one.isRequired === true })),
      sub_commands: [],
    };
    if (group === undefined || rest.length === 0) {
      top.push({ name, ...own });
      continue;
    }
    const below = groups.get(group) ?? [];
    if (below.length === 0) top.push({ name: group, description: '', arguments: [], sub_commands: below });
    groups.set(group, below);
    below.push({ name: rest.join(':'), ...own });
  }
  return top;
}

/** The extension's state of a command that was just started. */
export function startedAs(waitsFor: 'shell' | 'action' | undefined): string {
  if (waitsFor === undefined) return 'STARTED';
  return waitsFor === 'shell' ? 'AWAITING_SHELL_CONFIRMATION' : 'AWAITING_ACTION_CONFIRMATION';
}

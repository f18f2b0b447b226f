import * as vscode from 'vscode';
import type { DeskSession } from '../live/surface.ts';
import type { Command } from '../session/model.ts';
import type { Choice, QuickInputs } from './quickInputs.ts';

export interface FlatCommand {
  readonly path: readonly string[];
  readonly command: Command;
}

/** A command and those below it, in order. One that has children is listed itself too: agents may take it alone. */
export function flatCommands(commands: readonly Command[], above: readonly string[] = []): readonly FlatCommand[] {
  return commands.flatMap((command) => {
    const path = [...above, command.name];
    return [{ path, command }, ...flatCommands(command.children ?? [], path)];
  });
}

/** Quick-pick of the session's commands, then the arguments. True when one was sent. */
export async function runSlashCommand(session: DeskSession, inputs: QuickInputs, newId: () => string): Promise<boolean> {
  const all = flatCommands(session.store.now.commands);
  const title = vscode.l10n.t('Run Slash Command');
  const choices: Choice<FlatCommand>[] = all.map((one) => ({
    label: `/${one.path.join(' ')}`,
    description: [one.command.hint, ...one.command.aliases.map((alias) => `/${alias}`)].filter(Boolean).join('  '),
    detail: one.command.description,
    value: one,
  }));
  const chosen = await inputs.pick(choices, { title, placeholder: session.store.now.agent.name });
  if (!chosen) return false;
  const args = await inputs.input({
    title: `/${chosen.path.join(' ')}`,
    prompt: chosen.command.description,
    placeholder: chosen.command.hint ?? vscode.l10n.t('Arguments, or nothing'),
  });
  if (args === undefined) return false;
  session.send({ type: 'command', turnId: newId(), path: chosen.path, args: args.trim() });
  return true;
}

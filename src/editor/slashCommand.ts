import * as vscode from 'vscode';
import type { HostedSession } from '../live/surface.ts';
import { type FlatCommand, flatCommands } from './flatCommands.ts';
import type { Choice, QuickInputs } from './quickInputs.ts';

/** Quick-pick of the session's commands, then the arguments. True when one was sent. */
export async function runSlashCommand(session: HostedSession, inputs: QuickInputs, newId: () => string): Promise<boolean> {
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

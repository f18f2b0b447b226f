import * as vscode from 'vscode';
import type { AgentCheck, Finding } from '../live/checkAgent.ts';
import type { Profile } from '../live/profiles.ts';
import { durationText } from '../session/callWords.ts';
import type { Choice, QuickInputs } from './quickInputs.ts';

/** What a check needs of the agents. */
export interface CheckFrom {
  version(profile: Profile): Promise<string | undefined>;
  check(profile: Profile): AgentCheck;
}
type Row = 'start' | 'version' | 'connection' | 'model';

/**
 * Shows what works of an agent that was just installed, each row as it is found out: its version, the connection, the answer of its model. A row
 * that failed says why, and choosing it does what helps. Gives the profile when a session is to be started with it.
 */
export async function showCheck(profile: Profile, agents: CheckFrom, inputs: Pick<QuickInputs, 'pick'>): Promise<Profile | undefined> {
  const check = agents.check(profile);
  const row = (value: Row, label: string, late?: Promise<string | undefined>): Choice<Row> => ({
    value,
    label,
    ...(late ? { description: '$(loading~spin)', late } : {}),
  });
  try {
    const chosen = await inputs.pick<Row>(
      [
        row('start', `$(add) ${vscode.l10n.t('New Session')}`),
        row(
          'version',
          vscode.l10n.t('Version'),
          agents.version(profile).then((version) => version ?? '$(dash)'),
        ),
        row('connection', vscode.l10n.t('Connection'), check.connection.then(words)),
        row('model', vscode.l10n.t('Model'), check.model.then(words)),
      ],
      { title: profile.name },
    );
    if (chosen === 'start') return profile;
    if (chosen === 'connection') await cure(await check.connection, profile);
    if (chosen === 'model') await cure(await check.model, profile);
    return undefined;
  } finally {
    check.end();
  }
}

function words(found: Finding): string {
  if (found.ok) return `$(check) ${durationText(found.ms)}`;
  const help = found.next.includes('signIn') ? vscode.l10n.t('Sign in') : vscode.l10n.t('Show log');
  // Codicons of an agent's words would be drawn.
  return `$(error) ${found.reason.replaceAll('$(', '$ (').slice(0, 300)} · ${help}`;
}

/** A sign-in is done with the agent's own program: its command stands ready in a terminal. */
async function cure(found: Finding, { name, command }: Profile): Promise<void> {
  if (found.ok) return;
  if (!found.next.includes('signIn')) return void (await vscode.commands.executeCommand('parley.showLog'));
  const terminal = vscode.window.createTerminal({ name });
  terminal.show();
  if (command !== undefined) terminal.sendText(command, false);
}

import * as vscode from 'vscode';
import type { AsideFailure } from '../live/asideRequest.ts';
import type { AgentCheck, Finding } from '../live/checkAgent.ts';
import type { Profile } from '../live/profiles.ts';
import { durationText } from '../session/callWords.ts';
import type { Agents } from './agents.ts';
import { commandTitle } from './commandTitle.ts';
import type { PickChoice, QuickInputs } from './quickInputs.ts';

/** Starts a check of an agent. */
export type StartCheck = (profile: Profile) => AgentCheck;

type Row = 'start' | 'version' | 'connection' | 'model' | 'again';

/**
 * Shows the results of checking a newly installed agent, row by row as they arrive: its version, the connection, the answer of its model. A row that
 * failed shows why, and choosing it runs the remedy, after which the check can be run again. Returns the profile when the user wants to start a session
 * with it.
 */
export async function showCheck(
  profile: Profile,
  agents: Pick<Agents, 'version'>,
  inputs: Pick<QuickInputs, 'pick'>,
  start: StartCheck,
  triesAgain = asksAgain,
): Promise<Profile | undefined> {
  for (;;) {
    const outcome = await checkOnce(profile, agents, inputs, start, triesAgain);
    if (outcome !== 'again') return outcome === 'start' ? profile : undefined;
  }
}

async function checkOnce(
  profile: Profile,
  agents: Pick<Agents, 'version'>,
  inputs: Pick<QuickInputs, 'pick'>,
  start: StartCheck,
  triesAgain: typeof asksAgain,
): Promise<'start' | 'again' | undefined> {
  const check = start(profile);
  const row = (value: Row, label: string, late?: Promise<string | undefined>): PickChoice<Row> => ({
    value,
    label,
    ...(late ? { description: '$(loading~spin)', late } : {}),
  });
  try {
    const chosen = await inputs.pick<Row>(
      [
        row('start', `$(add) ${commandTitle('newSession')}`),
        row(
          'version',
          vscode.l10n.t('Version'),
          agents.version(profile).then((version) => version ?? '$(dash)'),
        ),
        row('connection', vscode.l10n.t('Connection'), check.connection.then(words)),
        row(
          'model',
          vscode.l10n.t('Model'),
          Promise.all([check.connection, check.model]).then(([first, found]) => (first.ok ? words(found) : '$(dash)')),
        ),
        row('again', `$(refresh) ${vscode.l10n.t('Try again')}`),
      ],
      { title: profile.name },
    );
    if (chosen === 'start' || chosen === 'again') return chosen;
    if (chosen !== 'connection' && chosen !== 'model') return undefined;
    const found = await check[chosen];
    check.end();
    if (found.ok) return 'again';
    await runRemedy(found, profile);
    return (await triesAgain(profile, found)) ? 'again' : undefined;
  } finally {
    check.end();
  }
}

/** Asks whether to check again, for after the remedy: the list has closed, and a sign-in takes time. */
async function asksAgain({ name }: Profile, { reason }: AsideFailure): Promise<boolean> {
  const again = vscode.l10n.t('Try again');
  return (await vscode.window.showInformationMessage(`${name}: ${reason.slice(0, 300)}`, again)) === again;
}

/** The remedy for a failed check, in one or two words. */
export function remedyTitle({ next }: AsideFailure): string {
  return next.includes('signIn') ? vscode.l10n.t('Sign in') : commandTitle('showLog');
}

function words(found: Finding): string {
  if (found.ok) return `$(check) ${durationText(found.ms)}`;
  const help = remedyTitle(found);
  // Escapes `$(`: the editor would draw codicons from an agent's words.
  const reason = found.reason.replaceAll('$(', '$ (').slice(0, 300);
  // The remedy comes first: a long reason is cut at the edge of the list.
  return `$(error) ${help}${reason === help ? '' : ` · ${reason}`}`;
}

/** Opens a terminal with the agent's own sign-in command, ready to run; without a sign-in as remedy, opens the log. */
export async function runRemedy(found: AsideFailure, { name, command }: Profile): Promise<void> {
  if (!found.next.includes('signIn')) return void (await vscode.commands.executeCommand('parley.showLog'));
  const terminal = vscode.window.createTerminal({ name });
  terminal.show();
  if (command !== undefined) terminal.sendText(command, false);
}

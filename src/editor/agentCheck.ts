import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { type AgentCheck, checkAgent, type Finding, noPorts } from '../live/checkAgent.ts';
import type { Profile } from '../live/profiles.ts';
import { durationText } from '../session/callWords.ts';
import type { AgentHostDeps } from './agentHost.ts';
import type { Agents } from './agents.ts';
import { commandTitle } from './commandTitle.ts';
import type { PickChoice, QuickInputs } from './quickInputs.ts';

/** Milliseconds until a model that says nothing counts as one that does not answer. */
const PATIENCE = 60_000;

/** Starts a check of an agent. */
export type StartCheck = (profile: Profile) => AgentCheck;

/** Checks an agent in an empty folder that is deleted with the check. */
export function agentChecks(
  agents: Pick<Agents, 'launch'>,
  { protocols, client, log }: Pick<AgentHostDeps, 'protocols' | 'client' | 'log'>,
): StartCheck {
  return (profile) => {
    const protocol = protocols()[profile.protocol];
    if (!protocol) throw new Error(`unknown protocol ${profile.protocol}`);
    const cwd = mkdtempSync(path.join(tmpdir(), 'parley-check-'));
    const launch = () => agents.launch(profile, { id: 'check', cwd });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const patience = () =>
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, PATIENCE);
      });
    const check = checkAgent(profile, cwd, { protocol, launch, ports: noPorts, client, log, now: Date.now, newId: randomUUID, patience });
    const end = (): void => {
      clearTimeout(timer);
      check.end();
      // The folder may still be the working directory of a program that is ending.
      rm(cwd, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
    };
    return { ...check, end };
  };
}

type Row = 'start' | 'version' | 'connection' | 'model';

/**
 * Shows the results of checking a newly installed agent, row by row as they arrive: its version, the connection, the answer of its model. A row that
 * failed says why, and choosing it runs the remedy. Returns the profile when the user wants to start a session with it.
 */
export async function showCheck(
  profile: Profile,
  agents: Pick<Agents, 'version'>,
  inputs: Pick<QuickInputs, 'pick'>,
  start: StartCheck,
): Promise<Profile | undefined> {
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
  const help = found.next.includes('signIn') ? vscode.l10n.t('Sign in') : commandTitle('showLog');
  // Escapes `$(`: the editor would draw codicons from an agent's words.
  const reason = found.reason.replaceAll('$(', '$ (').slice(0, 300);
  // The cure comes first: a long reason is cut at the edge of the list.
  return `$(error) ${help}${reason === help ? '' : ` · ${reason}`}`;
}

/** Opens a terminal with the agent's own sign-in command, ready to run. */
async function cure(found: Finding, { name, command }: Profile): Promise<void> {
  if (found.ok) return;
  if (!found.next.includes('signIn')) return void (await vscode.commands.executeCommand('parley.showLog'));
  const terminal = vscode.window.createTerminal({ name });
  terminal.show();
  if (command !== undefined) terminal.sendText(command, false);
}

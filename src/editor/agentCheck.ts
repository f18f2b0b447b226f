import * as vscode from 'vscode';
import { inSentences } from '../base/l10n.ts';
import type { AsideFailure } from '../live/asideRequest.ts';
import type { AgentCheck, Finding } from '../live/checkAgent.ts';
import { loginLine } from '../live/findAgents.ts';
import type { Profile } from '../live/profiles.ts';
import { durationText } from '../session/callWords.ts';
import type { Agents } from './agents.ts';
import { plainLabel } from './approvals/rowText.ts';
import { commandTitle } from './commandTitle.ts';
import { withoutSecrets } from './redact.ts';

/** Starts a check of an agent. */
export type StartCheck = (profile: Profile) => AgentCheck;

/** The notifications of a check; none of them takes the keyboard. */
export interface CheckNotices {
  /** Shows this as going on while `work` does, until it has ended or the user cancels. */
  progress(title: string, work: (show: (step: string) => void, canceled: Promise<undefined>) => Promise<void>): Promise<void>;
  /** Shows a text with buttons; returns the chosen one. */
  message(level: 'info' | 'warning', text: string, ...buttons: readonly string[]): Promise<string | undefined>;
}

/**
 * Checks a newly installed agent and shows the result as a notification: its version, how fast it connects and how fast its model answers, or why not,
 * with the remedy. An installation takes minutes, so the user may be typing elsewhere when it ends. Returns the profile when the user wants to start a
 * session with it.
 */
export async function showCheck(
  profile: Profile,
  agents: Pick<Agents, 'version'>,
  start: StartCheck,
  notices: CheckNotices = editorNotices,
): Promise<Profile | undefined> {
  const [begin, again] = [commandTitle('newSession'), vscode.l10n.t('Try again')];
  for (;;) {
    const result = await checkOnce(profile, agents, start, notices);
    if (result === undefined) return undefined;
    const { text, failure } = result;
    if (!failure) return (await notices.message('info', text, begin)) === begin ? profile : undefined;
    const remedy = remedyTitle(failure);
    let chosen = await notices.message('warning', text, remedy, again, begin);
    if (chosen === remedy) {
      await runRemedy(failure, profile);
      // The notification has closed, and a sign-in takes time.
      chosen = await notices.message('warning', text, again, begin);
    }
    if (chosen !== again) return chosen === begin ? profile : undefined;
  }
}

interface CheckResult {
  readonly text: string;
  readonly failure?: AsideFailure;
}

/** Undefined when the user has canceled. */
async function checkOnce(
  profile: Profile,
  agents: Pick<Agents, 'version'>,
  start: StartCheck,
  notices: CheckNotices,
): Promise<CheckResult | undefined> {
  const [connection, model] = [vscode.l10n.t('Connection'), vscode.l10n.t('Model')];
  const name = plainLabel(profile.name);
  const check = start(profile);
  const version = agents.version(profile);
  let result: CheckResult | undefined;
  try {
    await notices.progress(name, async (show, canceled) => {
      show(`${connection}…`);
      const connected = await Promise.race([check.connection, canceled]);
      if (!connected) return;
      if (connected.ok) show(`${model}…`);
      const answered = connected.ok ? await Promise.race([check.model, canceled]) : undefined;
      if (connected.ok && !answered) return;
      const title = [name, await version].filter(Boolean).join(' ');
      const steps = [`${connection}: ${words(connected)}`, ...(answered ? [`${model}: ${words(answered)}`] : [])];
      const failure = connected.ok ? answered : connected;
      result = { text: `${title} · ${steps.join(' · ')}`, ...(failure && !failure.ok ? { failure } : {}) };
    });
  } finally {
    check.end();
  }
  return result;
}

const editorNotices: CheckNotices = {
  progress: async (title, work) => {
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    await vscode.window.withProgress(options, (progress, token) => {
      const canceled = new Promise<undefined>((resolve) => token.onCancellationRequested(() => resolve(undefined)));
      return work((message) => progress.report({ message }), canceled);
    });
  },
  message: async (level, text, ...buttons) =>
    level === 'info' ? vscode.window.showInformationMessage(text, ...buttons) : vscode.window.showWarningMessage(text, ...buttons),
};

/** The remedy for a failed check, in one or two words. */
export function remedyTitle({ next }: AsideFailure): string {
  return next.includes('signIn') ? vscode.l10n.t('Sign in') : commandTitle('showLog');
}

function words(found: Finding): string {
  if (found.ok) return durationText(Math.max(50, found.ms));
  const told = found.lastLine === undefined ? found.reason : inSentences(found.reason, found.lastLine);
  // A notification draws links; the words are the agent's.
  return plainLabel(withoutSecrets(told).slice(0, 300)).replaceAll('](', ']\u200b(');
}

/** Opens a terminal to sign in, for a failure with that remedy; the log for another. */
export async function runRemedy(found: AsideFailure, profile: Profile): Promise<void> {
  if (found.next.includes('signIn')) openSignIn(profile);
  else await vscode.commands.executeCommand('parley.showLog');
}

/** Opens a terminal with the agent's own command to sign in, typed and not yet run. `cwd`: absolute. */
export function openSignIn({ name, command }: Pick<Profile, 'name' | 'command'>, cwd?: string): void {
  const terminal = vscode.window.createTerminal({ name, ...(cwd === undefined ? {} : { cwd }) });
  terminal.show();
  if (command !== undefined) terminal.sendText(loginLine(command), false);
}

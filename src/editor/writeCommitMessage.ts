import * as vscode from 'vscode';
import { messageOf } from '../base/log.ts';
import type { AsideAnswer, AsideFailure } from '../live/asideRequest.ts';
import type { Profile } from '../live/profiles.ts';
import type { Content } from '../session/model.ts';
import { remedyTitle, runRemedy } from './agentCheck.ts';
import type { AsideAgents } from './asideAgents.ts';
import { commandTitle } from './commandTitle.ts';
import { messageIn } from './commitMessage.ts';
import { attached } from './context.ts';
import { repositories, repositoryOf } from './git.ts';

export interface CommitMessageDeps {
  /** The agent of the session in front, or else the default one. */
  readonly profileInFront: () => Profile;
  readonly askAside: AsideAgents['ask'];
  /** Whether the agent of this profile has no model and only follows fixed rules. */
  readonly isGuide: (profile: string) => boolean;
}

/** Messages that are being written. */
const writing = new Set<AbortController>();

/** The button in Source Control, and the one that stops it. */
export function commitMessageCommands(deps: CommitMessageDeps) {
  return {
    'parley.commitMessage': (source?: unknown) => writeCommitMessage(deps, source),
    'parley.stopCommitMessage': () => {
      for (const stop of writing) stop.abort();
    },
  };
}

/**
 * Asks for a message for the staged changes, or else all changes, and writes it into Source Control's box, unless the user wrote there meanwhile. The
 * agent in front is asked apart from its sessions, so that no conversation of the user has it. The user stays where they are; Source Control shows the
 * progress.
 */
async function writeCommitMessage(deps: CommitMessageDeps, source: unknown): Promise<void> {
  const { rootUri } = (source ?? {}) as { readonly rootUri?: unknown };
  const all = await repositories();
  const repository = rootUri instanceof vscode.Uri ? repositoryOf(all, rootUri) : all[0];
  const diff = repository ? (await repository.diff(true)) || (await repository.diff(false)) : '';
  if (!repository || diff === '') return void vscode.window.showInformationMessage(vscode.l10n.t('No changes.'));
  const profile = deps.profileInFront();
  if (deps.isGuide(profile.id)) return void (await vscode.commands.executeCommand('parley.configureModel'));
  const before = repository.inputBox.value;
  const text = vscode.l10n.t('Write a commit message for these changes. Change nothing and answer with the message alone.');
  const content: readonly Content[] = [{ type: 'text', text }, ...attached(`${vscode.l10n.t('Uncommitted changes')}.diff`, diff)];
  const stop = new AbortController();
  await setWriting(stop, true);
  const asked = () =>
    deps
      .askAside(profile, content, stop.signal)
      .catch((error: unknown): AsideAnswer => ({ ok: false, reason: messageOf(error), next: [] }));
  const answer = await vscode.window.withProgress({ location: vscode.ProgressLocation.SourceControl }, asked);
  await setWriting(stop, false);
  if (answer === undefined) return;
  if (!answer.ok) return void showFailure(answer, profile);
  if (repository.inputBox.value === before) repository.inputBox.value = messageIn(answer.text);
}

/** Source Control shows Stop in place of the button meanwhile. */
async function setWriting(stop: AbortController, on: boolean): Promise<void> {
  if (on) writing.add(stop);
  else writing.delete(stop);
  await vscode.commands.executeCommand('setContext', 'parley.writesCommitMessage', writing.size > 0);
}

async function showFailure(failure: AsideFailure, profile: Profile): Promise<void> {
  const help = remedyTitle(failure);
  const chosen = await vscode.window.showErrorMessage(`${commandTitle('commitMessage')}: ${failure.reason.slice(0, 300)}`, help);
  if (chosen === help) await runRemedy(failure, profile);
}

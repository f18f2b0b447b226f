import * as vscode from 'vscode';
import type { LiveTexts } from '../live/texts.ts';

/** What live sessions say themselves, in the person's language. */
export function liveTexts(): LiveTexts {
  return {
    allow: vscode.l10n.t('Allow'),
    reject: vscode.l10n.t('Reject'),
    interrupted: vscode.l10n.t('Interrupted: the window or the agent was closed.'),
    noLaunch: (reason) => vscode.l10n.t('The agent could not be started: {0}', reason),
    endedByPerson: vscode.l10n.t('The agent was stopped.'),
  };
}

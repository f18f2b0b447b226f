import * as vscode from 'vscode';
import type { Profile } from '../live/profiles.ts';
import type { Agents } from './agents.ts';
import { plainLabel } from './approvals/optionRows.ts';
import type { Choice, QuickInputs } from './quickInputs.ts';

/** Quick-pick of the agents. Undefined when none was chosen, or when the person went to the settings to add one. */
export async function pickAgent(agents: Agents, inputs: QuickInputs): Promise<Profile | undefined> {
  const standard = agents.default().id;
  const choices: Choice<Profile | 'settings'>[] = agents.all().map((profile) => ({
    label: plainLabel(profile.name),
    description: profile.id === standard ? vscode.l10n.t('default') : '',
    detail: profile.command ?? profile.url ?? vscode.l10n.t('comes with Parley'),
    value: profile,
  }));
  choices.push({ label: '', kind: vscode.QuickPickItemKind.Separator, value: 'settings' });
  choices.push({ label: `$(gear) ${vscode.l10n.t('Add an agent in the settings…')}`, value: 'settings' });
  const chosen = await inputs.pick(choices, { title: vscode.l10n.t('New Session'), placeholder: vscode.l10n.t('With which agent?') });
  if (chosen !== 'settings') return chosen;
  await vscode.commands.executeCommand('workbench.action.openSettings', 'parley.agents');
  return undefined;
}

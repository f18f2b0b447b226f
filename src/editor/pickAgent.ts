import * as vscode from 'vscode';
import type { FoundAgent } from '../live/findAgents.ts';
import type { Profile } from '../live/profiles.ts';
import type { Agents } from './agents.ts';
import { plainLabel } from './approvals/optionRows.ts';
import type { Choice, QuickInputs } from './quickInputs.ts';
import { openSettings } from './settings.ts';

/** The agents there are, and the way to add one. */
type PickFrom = Pick<Agents, 'all' | 'known' | 'default' | 'add'>;
type Picked = { readonly profile: Profile } | { readonly known: FoundAgent } | 'settings';

/**
 * Quick-pick of the agents: those of the settings, those found on this computer, and known ones that are not here. Undefined when none was
 * chosen, when the person went to the settings, or when the chosen one has to be installed first.
 */
export async function pickAgent(agents: PickFrom, inputs: Pick<QuickInputs, 'pick'>): Promise<Profile | undefined> {
  const known = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: vscode.l10n.t('Looking for agents on this computer…') },
    () => agents.known(),
  );
  const chosen = await inputs.pick(choicesOf(agents, known), {
    title: vscode.l10n.t('New Session'),
    placeholder: vscode.l10n.t('With which agent?'),
  });
  if (chosen === undefined) return undefined;
  if (chosen === 'settings') {
    await openSettings('parley.agents');
    return undefined;
  }
  if ('profile' in chosen) return chosen.profile;
  if (chosen.known.file !== undefined) return agents.add(chosen.known.agent);
  await offerInstall(chosen.known);
  return undefined;
}

function choicesOf(agents: PickFrom, known: readonly FoundAgent[]): readonly Choice<Picked>[] {
  const standard = agents.default().id;
  const choices: Choice<Picked>[] = agents.all().map((profile) => ({
    label: plainLabel(profile.name),
    description: profile.id === standard ? vscode.l10n.t('default') : '',
    detail: profile.command ?? profile.url ?? vscode.l10n.t('comes with Parley'),
    value: { profile },
  }));
  const here = known.filter((one) => one.file !== undefined);
  const away = known.filter((one) => one.file === undefined && one.agent.npm !== undefined);
  if (here.length > 0) choices.push(heading(vscode.l10n.t('Found on this computer')));
  for (const one of here) choices.push(knownChoice(one, one.version ?? '', one.file ?? ''));
  if (away.length > 0) choices.push(heading(vscode.l10n.t('Not installed')));
  for (const one of away) choices.push(knownChoice(one, '', installLine(one)));
  choices.push(heading(''));
  choices.push({ label: `$(gear) ${vscode.l10n.t('Add an agent in the settings…')}`, value: 'settings' });
  return choices;
}

function heading(label: string): Choice<Picked> {
  return { label, kind: vscode.QuickPickItemKind.Separator, value: 'settings' };
}

function knownChoice(known: FoundAgent, description: string, detail: string): Choice<Picked> {
  const { late } = known;
  return { label: plainLabel(known.agent.name), description, detail, value: { known }, ...(late ? { late } : {}) };
}

function installLine({ agent }: FoundAgent): string {
  return `npm install -g ${agent.npm}`;
}

/** Nothing is installed by itself: the person gets the line to run. */
async function offerInstall(known: FoundAgent): Promise<void> {
  const line = installLine(known);
  const copy = vscode.l10n.t('Copy');
  const text = vscode.l10n.t('{0} is not on this computer. To install it, run: {1}', known.agent.name, line);
  if ((await vscode.window.showInformationMessage(text, copy)) === copy) await vscode.env.clipboard.writeText(line);
}

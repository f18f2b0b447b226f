import * as vscode from 'vscode';
import type { FoundAgent } from '../live/findAgents.ts';
import type { Profile } from '../live/profiles.ts';
import type { Agents } from './agents.ts';
import { plainLabel } from './approvals/rowText.ts';
import type { Choice, QuickInputs } from './quickInputs.ts';
import { openSettings } from './settings.ts';

/** The agents there are, and the way to add one. */
type PickFrom = Pick<Agents, 'all' | 'known' | 'default' | 'add' | 'version'>;
type Picked = { readonly profile: Profile } | { readonly known: FoundAgent } | 'settings';

/**
 * Quick-pick of the agents: at once those of the settings, then those found on this computer, and known ones that are not here. Undefined when
 * none was chosen, when the user went to the settings, or when the chosen one has to be installed first.
 */
export async function pickAgent(agents: PickFrom, inputs: Pick<QuickInputs, 'pick'>): Promise<Profile | undefined> {
  const settings: Choice<Picked> = { label: `$(gear) ${vscode.l10n.t('Add an agent in the settings…')}`, value: 'settings' };
  const first = [...ownChoices(agents), settings];
  const found = agents.known().then(
    (known) => foundChoices(known),
    () => [],
  );
  const looking = vscode.l10n.t('Looking for agents on this computer…');
  const chosen = await inputs.pick<Picked>([...first, heading(looking)], {
    title: vscode.l10n.t('New Session'),
    placeholder: vscode.l10n.t('With which agent?'),
    whole: found.then((others) => [...first, ...others]),
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

function ownChoices(agents: PickFrom): readonly Choice<Picked>[] {
  const standard = agents.default().id;
  const all = agents.all();
  return all.map((profile): Choice<Picked> => {
    const mark = profile.id === standard ? vscode.l10n.t('default') : '';
    return {
      label: plainLabel(profile.name),
      description: mark,
      detail: commandLine(profile, all) ?? profile.url ?? vscode.l10n.t('comes with Parley'),
      value: { profile },
      late: agents.version(profile).then((version) => (version ? [version, mark].filter(Boolean).join(' · ') : undefined)),
    };
  });
}

/** With its arguments where another agent has the same command. */
function commandLine({ id, command, args }: Profile, all: readonly Profile[]): string | undefined {
  if (command === undefined || !all.some((other) => other.id !== id && other.command === command)) return command;
  return [command, ...args].join(' ').slice(0, 300);
}

function foundChoices(known: readonly FoundAgent[]): readonly Choice<Picked>[] {
  const choices: Choice<Picked>[] = [];
  const here = known.filter((one) => one.file !== undefined);
  const away = known.filter((one) => one.file === undefined && one.agent.npm !== undefined);
  if (here.length > 0) choices.push(heading(vscode.l10n.t('Found on this computer')));
  for (const one of here) choices.push(knownChoice(one, one.version ?? '', one.file ?? ''));
  if (away.length > 0) choices.push(heading(vscode.l10n.t('Not installed')));
  for (const one of away) choices.push(knownChoice(one, '', installLine(one)));
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

/** Nothing is installed by itself: the user gets the line to run. */
async function offerInstall(known: FoundAgent): Promise<void> {
  const line = installLine(known);
  const copy = vscode.l10n.t('Copy');
  const text = vscode.l10n.t('{0} is not on this computer. To install it, run: {1}', known.agent.name, line);
  if ((await vscode.window.showInformationMessage(text, copy)) === copy) await vscode.env.clipboard.writeText(line);
}

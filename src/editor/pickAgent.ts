import * as vscode from 'vscode';
import { Lifetime } from '../base/lifetime.ts';
import type { FoundAgent } from '../live/findAgents.ts';
import type { Profile } from '../live/profiles.ts';
import { type StartCheck, showCheck } from './agentCheck.ts';
import type { Agents } from './agents.ts';
import { plainLabel } from './approvals/rowText.ts';
import { commandTitle } from './commandTitle.ts';
import type { PickChoice, QuickInputs } from './quickInputs.ts';
import { openSettings } from './settings.ts';

/** The available agents, and the way to add one. */
type PickFrom = Pick<Agents, 'all' | 'known' | 'default' | 'add' | 'version' | 'installed'>;
type Picked = { readonly profile: Profile } | { readonly known: FoundAgent } | 'settings';

/**
 * Quick-pick of the agents: first those of the settings, then those found on this computer, and known ones that are not here. Undefined when none was
 * chosen, when the user went to the settings, or when the chosen one was not installed.
 */
export async function pickAgent(agents: PickFrom, inputs: Pick<QuickInputs, 'pick'>, check: StartCheck): Promise<Profile | undefined> {
  const settings: PickChoice<Picked> = { label: `$(gear) ${vscode.l10n.t('Add an agent in the settings…')}`, value: 'settings' };
  const first = [...ownChoices(agents), settings];
  const found = agents.known().then(
    (known) => foundChoices(known),
    () => [],
  );
  const chosen = await inputs.pick<Picked>(first, {
    title: commandTitle('newSession'),
    placeholder: vscode.l10n.t('Search'),
    whole: found.then((others) => [...first, ...others]),
  });
  if (chosen === undefined) return undefined;
  if (chosen === 'settings') {
    await openSettings('parley.agents');
    return undefined;
  }
  if ('profile' in chosen) return chosen.profile;
  if (chosen.known.file !== undefined) return agents.add(chosen.known.agent);
  const installed = await install(chosen.known, agents, inputs);
  return installed && showCheck(installed, agents, check);
}

function ownChoices(agents: PickFrom): readonly PickChoice<Picked>[] {
  const standard = agents.default().id;
  const all = agents.all();
  return all.map((profile): PickChoice<Picked> => {
    const mark = profile.id === standard ? vscode.l10n.t('Default') : '';
    return {
      label: plainLabel(profile.name),
      description: mark,
      detail: commandLine(profile, all) ?? profile.url ?? vscode.l10n.t('comes with Parley'),
      value: { profile },
      late: agents.version(profile).then((version) => (version ? [version, mark].filter(Boolean).join(' · ') : undefined)),
    };
  });
}

/** The command, with its arguments where another agent has the same command. */
function commandLine({ id, command, args }: Profile, all: readonly Profile[]): string | undefined {
  if (command === undefined || !all.some((other) => other.id !== id && other.command === command)) return command;
  return [command, ...args].join(' ').slice(0, 300);
}

function foundChoices(known: readonly FoundAgent[]): readonly PickChoice<Picked>[] {
  const choices: PickChoice<Picked>[] = [];
  const here = known.filter((one) => one.file !== undefined);
  const away = known.filter((one) => one.file === undefined && one.agent.npm !== undefined);
  if (here.length > 0) choices.push(heading(vscode.l10n.t('Installed')));
  for (const one of here) choices.push(knownChoice(one, one.version ?? '', one.file ?? ''));
  if (away.length > 0) choices.push(heading(vscode.l10n.t('Not installed')));
  for (const one of away) choices.push(knownChoice(one, '', installLine(one)));
  return choices;
}

function heading(label: string): PickChoice<Picked> {
  return { label, kind: vscode.QuickPickItemKind.Separator, value: 'settings' };
}

function knownChoice(known: FoundAgent, description: string, detail: string): PickChoice<Picked> {
  const { late } = known;
  return { label: plainLabel(known.agent.name), description, detail, value: { known }, ...(late ? { late } : {}) };
}

function installLine({ agent }: FoundAgent): string {
  return `npm install -g ${agent.npm}`;
}

/** Milliseconds between checks for the program, for terminals that do not report the end of a command. */
const LOOK_EVERY = 2000;

/**
 * Installs an agent in a visible terminal, once the user has agreed; adds it to the settings when its program exists. Undefined when the user did not
 * agree, or the program is still missing at the end.
 */
async function install(known: FoundAgent, agents: PickFrom, inputs: Pick<QuickInputs, 'pick'>): Promise<Profile | undefined> {
  const line = installLine(known);
  const { name } = known.agent;
  const agreed = await inputs.pick([{ label: `$(terminal) ${vscode.l10n.t('Install in Terminal')}`, detail: line, value: true }], {
    title: plainLabel(name),
    placeholder: vscode.l10n.t('Not installed'),
  });
  if (!agreed) return undefined;
  const terminal = vscode.window.createTerminal({ name });
  terminal.show();
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: `${vscode.l10n.t('Install in Terminal')}: ${plainLabel(name)}`,
    cancellable: true,
  };
  const there = await vscode.window.withProgress(options, (_, token) => {
    const arrival = whenInstalled(known, agents, terminal, token);
    terminal.sendText(line);
    return arrival;
  });
  if (there) return agents.add(known.agent);
  void vscode.window.showWarningMessage(`${plainLabel(name)}: ${vscode.l10n.t('Not installed')}`);
  return undefined;
}

/** True as soon as the program exists; false when it is missing after the command ended, the terminal was closed or the user cancelled. */
async function whenInstalled(
  { agent }: FoundAgent,
  agents: PickFrom,
  terminal: vscode.Terminal,
  token: vscode.CancellationToken,
): Promise<boolean> {
  const life = new Lifetime();
  try {
    return await new Promise<boolean>((resolve) => {
      const check = (last: boolean) =>
        void agents.installed(agent).then(
          (there) => (there || last) && resolve(there),
          () => last && resolve(false),
        );
      const timer = setInterval(() => check(false), LOOK_EVERY);
      life.onEnd(() => clearInterval(timer));
      life.own(vscode.window.onDidEndTerminalShellExecution((ended) => ended.terminal === terminal && check(true)));
      life.own(vscode.window.onDidCloseTerminal((closed) => closed === terminal && check(true)));
      life.own(token.onCancellationRequested(() => check(true)));
    });
  } finally {
    life.dispose();
  }
}

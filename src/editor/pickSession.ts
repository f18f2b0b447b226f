import * as vscode from 'vscode';
import type { Profile } from '../live/profiles.ts';
import type { Sessions } from '../live/sessions.ts';
import type { SessionId } from '../session/model.ts';
import { isBusy, titleOf } from '../session/select.ts';
import type { Agents } from './agents.ts';
import { plainLabel } from './approvals/optionRows.ts';
import { sessionFolder } from './folder.ts';
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

type Switch = { readonly kind: 'open' | 'past'; readonly id: SessionId } | { readonly kind: 'new' };

/** Quick-pick of the open sessions and the earlier ones of this folder; goes to the chosen one. Undefined when nothing was chosen. */
export async function switchSession(sessions: Sessions, inputs: QuickInputs): Promise<'new' | 'switched' | undefined> {
  const cwd = await sessionFolder(inputs, false);
  const past = cwd === undefined ? [] : await sessions.past(cwd);
  const heading = (label: string): Choice<Switch> => ({ label, kind: vscode.QuickPickItemKind.Separator, value: { kind: 'new' } });
  const choices: Choice<Switch>[] = [
    { label: `$(add) ${vscode.l10n.t('New Session')}`, value: { kind: 'new' } },
    heading(vscode.l10n.t('Open')),
  ];
  for (const id of sessions.all) {
    const session = sessions.get(id);
    if (!session) continue;
    const { now } = session.store;
    choices.push({
      label: `${id === sessions.active ? '$(circle-filled)' : '$(circle-outline)'} ${plainLabel(titleOf(now) || vscode.l10n.t('New conversation'))}`,
      description: now.agent.name,
      detail: stateOf(now.asks.length, isBusy(now), now.link.state),
      value: { kind: 'open', id },
    });
  }
  choices.push(heading(vscode.l10n.t('Earlier in this folder')));
  for (const { head, title, at } of past) {
    choices.push({
      label: `$(history) ${plainLabel(title || vscode.l10n.t('Conversation'))}`,
      description: `${head.agent.name} · ${new Date(at).toLocaleString(vscode.env.language)}`,
      value: { kind: 'past', id: head.id },
    });
  }
  const chosen = await inputs.pick(choices, {
    title: vscode.l10n.t('Switch Session'),
    placeholder: vscode.l10n.t('Go on with which conversation?'),
  });
  if (chosen?.kind === 'open') sessions.switchTo(chosen.id);
  if (chosen?.kind === 'past' && !(await sessions.reopen(chosen.id))) {
    void vscode.window.showWarningMessage(vscode.l10n.t('That conversation cannot be read any more.'));
  }
  if (!chosen) return undefined;
  return chosen.kind === 'new' ? 'new' : 'switched';
}

function stateOf(asks: number, busy: boolean, link: 'opening' | 'ready' | 'closed'): string {
  if (asks > 0) return vscode.l10n.t('waits for you: {0}', asks);
  if (busy) return vscode.l10n.t('at work');
  return link === 'closed' ? vscode.l10n.t('agent not running') : '';
}

import * as vscode from 'vscode';
import type { LiveSession } from '../live/liveSession.ts';
import type { Sessions } from '../live/sessions.ts';
import type { Past } from '../protocols/adapter.ts';
import type { SessionId } from '../session/model.ts';
import { isBusy, titleOf } from '../session/select.ts';
import type { Agents } from './agents.ts';
import { plainLabel } from './approvals/rowText.ts';
import { sessionFolder } from './folder.ts';
import type { Choice, QuickInputs } from './quickInputs.ts';

type Switch =
  | { readonly kind: 'open' | 'past'; readonly id: SessionId }
  | { readonly kind: 'remembered'; readonly past: Past }
  | { readonly kind: 'new' };

/** Milliseconds an agent has to list what it remembers. */
const LIST_LIMIT = 2000;

/** Quick-pick of the open sessions and the earlier ones of this folder; goes to the chosen one. Undefined when nothing was chosen. */
export async function switchSession(sessions: Sessions, agents: Agents, inputs: QuickInputs): Promise<'new' | 'switched' | undefined> {
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
  const active = sessions.active === undefined ? undefined : sessions.get(sessions.active);
  const here = new Set([...sessions.all.map((id) => sessions.get(id)?.store.now.resumeKey), ...past.map((entry) => entry.resumeKey)]);
  const remembered = active ? (await rememberedBy(active)).filter((one) => !here.has(one.key)) : [];
  if (active && remembered.length > 0) choices.push(heading(vscode.l10n.t('Remembered by {0}', active.store.now.agent.name)));
  for (const past of remembered) {
    choices.push({
      label: `$(history) ${plainLabel(past.title || past.key)}`,
      ...(past.at === undefined ? {} : { description: new Date(past.at).toLocaleString(vscode.env.language) }),
      value: { kind: 'remembered', past },
    });
  }
  const chosen = await inputs.pick(choices, {
    title: vscode.l10n.t('Switch Session'),
    placeholder: vscode.l10n.t('Go on with which conversation?'),
  });
  if (chosen?.kind === 'open') sessions.switchTo(chosen.id);
  if (chosen?.kind === 'past') await reopen(sessions, chosen.id);
  const profile = active && agents.find(active.profile);
  if (chosen?.kind === 'remembered' && profile) sessions.open(profile, active.store.now.cwd, chosen.past);
  if (!chosen) return undefined;
  return chosen.kind === 'new' ? 'new' : 'switched';
}

async function reopen(sessions: Sessions, id: SessionId): Promise<void> {
  const outcome = await sessions.reopen(id);
  if (outcome === 'gone') void vscode.window.showWarningMessage(vscode.l10n.t('That conversation cannot be read any more.'));
  if (outcome === 'elsewhere') {
    void vscode.window.showWarningMessage(vscode.l10n.t('That conversation is open in another window. Close it there first.'));
  }
}

/** Earlier conversations that the agent keeps itself. */
async function rememberedBy(active: LiveSession): Promise<readonly Past[]> {
  const { link } = active.store.now;
  if (link.state !== 'ready' || !link.offers.history) return [];
  const listed = active.history().catch(() => []);
  const late = new Promise<readonly Past[]>((resolve) => setTimeout(resolve, LIST_LIMIT, []));
  return Promise.race([listed, late]);
}

function stateOf(asks: number, busy: boolean, link: 'opening' | 'ready' | 'closed'): string {
  if (asks > 0) return vscode.l10n.t('waits for you: {0}', asks);
  if (busy) return vscode.l10n.t('at work');
  return link === 'closed' ? vscode.l10n.t('agent not running') : '';
}

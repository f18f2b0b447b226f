import * as vscode from 'vscode';
import type { SessionLine } from '../bridge/contract.ts';
import type { LiveSession } from '../live/liveSession.ts';
import type { Sessions } from '../live/sessions.ts';
import type { Past } from '../protocols/adapter.ts';
import { timeLabel } from '../session/days.ts';
import type { SessionId } from '../session/model.ts';
import { groupedByDay } from '../session/sessionGroups.ts';
import { fileWords, stateWords } from '../session/sessionWords.ts';
import type { AgentHostProcess } from './agentHost.ts';
import { plainLabel } from './approvals/rowText.ts';
import { commandTitle } from './commandTitle.ts';
import { sessionFolder } from './folder.ts';
import type { PickChoice, QuickInputs } from './quickInputs.ts';
import type { SessionList } from './sessionList.ts';

type Switch =
  | { readonly kind: 'session'; readonly id: SessionId }
  | { readonly kind: 'remembered'; readonly past: Past }
  | { readonly kind: 'new' };

/** Milliseconds an agent has to list its conversations. */
const LIST_LIMIT = 2000;

/** Quick-pick of all sessions of this folder, by day; opens the chosen one. Undefined when nothing was chosen. */
export async function switchSession(
  sessions: Sessions,
  list: SessionList,
  agents: Pick<AgentHostProcess, 'find'>,
  inputs: QuickInputs,
): Promise<'new' | 'switched' | undefined> {
  const lines = await list.find('', await sessionFolder(inputs, false));
  const active = sessions.active === undefined ? undefined : sessions.get(sessions.active);
  const remembered = active ? await rememberedBy(active, sessions) : [];
  const choices: PickChoice<Switch>[] = [{ label: `$(add) ${commandTitle('newSession')}`, value: { kind: 'new' } }, ...byDay(lines)];
  if (active && remembered.length > 0) choices.push(heading(active.store.now.agent.name));
  for (const past of remembered) {
    choices.push({
      label: plainLabel(past.title || past.key),
      ...(past.at === undefined ? {} : { description: new Date(past.at).toLocaleString(vscode.env.language) }),
      value: { kind: 'remembered', past },
    });
  }
  const chosen = await inputs.pick(choices, { title: commandTitle('switchSession'), placeholder: vscode.l10n.t('Search') });
  if (chosen?.kind === 'session') await list.show(chosen.id);
  const profile = active && agents.find(active.profile);
  if (chosen?.kind === 'remembered' && profile) sessions.open(profile, active.store.now.cwd, chosen.past);
  if (!chosen) return undefined;
  return chosen.kind === 'new' ? 'new' : 'switched';
}

function heading(label: string): PickChoice<Switch> {
  return { label, kind: vscode.QuickPickItemKind.Separator, value: { kind: 'new' } };
}

function byDay(lines: readonly SessionLine[]): readonly PickChoice<Switch>[] {
  const now = Date.now();
  const language = vscode.env.language;
  return groupedByDay(lines, now, language).flatMap((group) => [
    heading(group.label),
    ...group.lines.map(
      (line): PickChoice<Switch> => ({
        label: plainLabel(line.title || commandTitle('newSession')),
        description: [stateWords(line), line.agent, fileWords(line), timeLabel(line.at || now, now, language)].filter(Boolean).join(' · '),
        value: { kind: 'session', id: line.id },
      }),
    ),
  ]);
}

/** Earlier conversations that the agent keeps itself and that are not here. */
async function rememberedBy(active: LiveSession, sessions: Sessions): Promise<readonly Past[]> {
  const { link, cwd } = active.store.now;
  if (link.state !== 'ready' || !link.offers.history) return [];
  const listed = active.history().catch(() => []);
  const late = new Promise<readonly Past[]>((resolve) => setTimeout(resolve, LIST_LIMIT, []));
  const [all, past] = await Promise.all([Promise.race([listed, late]), sessions.past(cwd)]);
  const here = new Set([...sessions.all.map((id) => sessions.get(id)?.store.now.resumeKey), ...past.map(({ resumeKey }) => resumeKey)]);
  return all.filter((one) => !here.has(one.key));
}

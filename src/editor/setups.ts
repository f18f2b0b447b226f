import * as vscode from 'vscode';
import type { SetupLine } from '../bridge/contract.ts';
import type { Agents } from './agents.ts';
import { endpoints, runningEndpoints } from './endpoints.ts';

const MOST_AGENTS = 3;

/** What is on this computer that a user without a model could use at once: agents and servers of models. */
export async function findSetups(agents: Pick<Agents, 'all' | 'known'>): Promise<readonly SetupLine[]> {
  const [found, running] = await Promise.all([agents.known().catch(() => []), runningEndpoints()]);
  const own = agents.all().filter(({ command, url }) => command !== undefined || url !== undefined);
  const here = found.flatMap(({ agent, file, version }) =>
    file === undefined
      ? []
      : [
          {
            kind: 'agent',
            id: agent.id,
            name: agent.name,
            detail: [vscode.l10n.t('installed'), version].filter(Boolean).join(' · '),
          } as const,
        ],
  );
  return [
    ...[...own.map(({ id, name }) => ({ kind: 'agent', id, name, detail: vscode.l10n.t('in your settings') }) as const), ...here].slice(
      0,
      MOST_AGENTS,
    ),
    ...running.map(
      ({ endpoint, models }) =>
        ({ kind: 'endpoint', id: endpoint.baseUrl, name: endpoint.name, detail: vscode.l10n.t('running, {0} models', models) }) as const,
    ),
  ];
}

export function endpointOf(baseUrl: string) {
  return endpoints(vscode.env.language).find((one) => one.baseUrl === baseUrl);
}

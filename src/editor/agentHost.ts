import path from 'node:path';
import * as vscode from 'vscode';
import { type RunningHost, runningHost, startHost, stopHost } from '../live/hostProcess.ts';
import { loginPath } from '../live/loginPath.ts';
import type { Profile } from '../live/profiles.ts';
import type { Agents } from './agents.ts';

/** VS Code's own setting for agent hosts. */
const REMOTE_HOSTS = 'chat.remoteAgentHosts';
const NAME = 'Parley';

export interface AgentHostPlaces {
  /** Where its conversations are kept. */
  readonly data: string;
  readonly extensionPath: string;
}

/** Starts the host unless one runs. It outlives the window. */
export async function startAgentHost(places: AgentHostPlaces, agents: Agents): Promise<RunningHost> {
  const running = runningHost(places.data);
  if (running) return running;
  const script = path.join(places.extensionPath, 'dist', 'parley.js');
  const bundled = await agents.bundledForHost();
  const PATH = await loginPath();
  const others = agents.all().flatMap((profile): readonly Profile[] => {
    if (profile.id === bundled.profile.id) return [];
    return [profile.command === undefined ? profile : { ...profile, env: { PATH, ...profile.env } }];
  });
  const env = { ...bundled.env, ELECTRON_RUN_AS_NODE: '1' };
  return startHost({ data: places.data, script, profiles: [bundled.profile, ...others], env });
}

export async function tellStarted(places: AgentHostPlaces, agents: Agents): Promise<void> {
  const wasRunning = runningHost(places.data) !== undefined;
  const host = await startAgentHost(places, agents);
  const connect = vscode.l10n.t("Connect VS Code's Chat");
  const text = wasRunning
    ? vscode.l10n.t('The agent host is running at {0}.', host.address)
    : vscode.l10n.t('The agent host was started at {0}. It goes on when this window is closed.', host.address);
  if ((await vscode.window.showInformationMessage(text, connect)) === connect) await connectChat(places, agents);
}

export function stopAgentHost({ data }: AgentHostPlaces): void {
  const host = runningHost(data);
  if (host) stopHost(host);
  void vscode.window.showInformationMessage(
    host ? vscode.l10n.t('The agent host was stopped.') : vscode.l10n.t('No agent host is running.'),
  );
}

/** Writes the host into VS Code's setting once the user has agreed. Where that is not there, the entry goes to the clipboard. */
export async function connectChat(places: AgentHostPlaces, agents: Agents): Promise<void> {
  const { address, token } = await startAgentHost(places, agents);
  const entry = { name: NAME, address: address.replace(/^ws:\/\//, ''), connectionToken: token };
  const write = vscode.l10n.t('Write the Setting');
  const question = vscode.l10n.t("Show Parley's agents in VS Code's own chat?");
  const detail = vscode.l10n.t('This adds Parley, with the token of its host, to {0} in your user settings.', REMOTE_HOSTS);
  if ((await vscode.window.showInformationMessage(question, { modal: true, detail }, write)) !== write) return;
  try {
    const setting = vscode.workspace.getConfiguration();
    const before: unknown = setting.inspect(REMOTE_HOSTS)?.globalValue;
    const others = Array.isArray(before) ? before.filter((one: unknown) => !isOurs(one)) : [];
    await setting.update(REMOTE_HOSTS, [...others, entry], vscode.ConfigurationTarget.Global);
    void vscode.window.showInformationMessage(
      vscode.l10n.t('Parley is in the settings. Its agents are in the window of "Chat: Open Agents Window".'),
    );
  } catch {
    await vscode.env.clipboard.writeText(JSON.stringify({ [REMOTE_HOSTS]: [entry] }, undefined, 2));
    await vscode.commands.executeCommand('workbench.action.openSettingsJson');
    void vscode.window.showWarningMessage(
      vscode.l10n.t('This VS Code does not know {0}. The entry is on the clipboard, to be pasted where it is known.', REMOTE_HOSTS),
    );
  }
}

function isOurs(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'name' in value && value.name === NAME;
}

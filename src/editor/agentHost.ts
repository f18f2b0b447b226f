import path from 'node:path';
import * as vscode from 'vscode';
import { Emitter } from '../base/emitter.ts';
import type { Log } from '../base/log.ts';
import { loginPath } from '../live/findAgents.ts';
import { inHost, isHost, isHosted, otherHostOf, settingsId } from '../live/hostedAgents.ts';
import {
  type HostSettings,
  otherHost,
  otherHosts,
  type RunningHost,
  runningHost,
  startHost,
  writeHostSettings,
} from '../live/hostProcess.ts';
import { launchOf, type Profile, providerOf } from '../live/profiles.ts';
import type { HostOrder, Launch, Protocol, RunningSession } from '../protocols/adapter.ts';
import { keyOfFile } from '../protocols/paths.ts';
import type { Agents } from './agents.ts';
import { HOSTED } from './hostedLines.ts';
import { approvalRules, guardedFiles, sessionsInHost } from './settings.ts';

const NAME = 'Parley';
/** Milliseconds that a list of sessions waits for the host. */
const LIST_LIMIT = 2000;

export interface AgentHostDeps {
  /** Where its conversations are kept. */
  readonly data: string;
  readonly extensionPath: string;
  readonly agents: Agents;
  readonly protocols: () => Readonly<Record<string, Protocol>>;
  readonly client: { readonly name: string; readonly version: string };
  readonly log: Log;
}

/** `isNew`: a process has taken the place of one that had ended. */
export interface HostStarted {
  readonly isNew: boolean;
}

/** A session that goes on in a host. */
export interface SessionInHost extends RunningSession {
  readonly profile: Profile;
  readonly host: RunningHost;
}

/**
 * The agent host of this window's Parley, a process that runs sessions and outlives the window; and the sessions of other hosts of this user,
 * which were started by hand or by another editor.
 */
export class AgentHostProcess {
  readonly #deps: AgentHostDeps;
  readonly #started = new Emitter<HostStarted>();
  #starting: Promise<RunningHost> | undefined;

  /** The window's own host was started, or the user has asked for one that runs. */
  readonly onStarted = this.#started.listen;

  constructor(deps: AgentHostDeps) {
    this.#deps = deps;
  }

  /** Where a new session of this agent runs. */
  placeOf(profile: Profile): Profile {
    return sessionsInHost() && !isHost(profile) ? inHost(profile) : profile;
  }

  /** Like `Agents.find`, for agents in the host too. */
  find(id: string): Profile | undefined {
    const name = settingsId(id);
    const profile = this.#deps.agents.find(name);
    const key = otherHostOf(id);
    if (key !== undefined) return inHost({ id: name, name: profile?.name ?? name }, key);
    return profile && isHosted(id) ? inHost(profile) : profile;
  }

  /** Like `Agents.launch`, for agents in the host too; starts the host unless it runs. */
  async launch(profile: Profile, session: { readonly id: string; readonly cwd: string }): Promise<Launch> {
    if (!isHosted(profile.id)) return this.#deps.agents.launch(profile, session);
    if (!vscode.workspace.isTrusted)
      throw new Error(vscode.l10n.t('Agents can run commands and change files, so they start only in a folder you trust.'));
    return this.#launchIn(await this.#hostOf(profile), profile, session.cwd);
  }

  /** Starts the window's own host unless it runs. Another one is for its user to start. */
  async #hostOf({ id }: Profile): Promise<RunningHost> {
    const key = otherHostOf(id);
    return key === undefined ? this.start() : otherHost(this.#deps.data, key);
  }

  /** The sessions that the hosts have in this folder. */
  async runningIn(cwd: string | undefined): Promise<readonly SessionInHost[]> {
    return cwd === undefined ? [] : this.#sessions(cwd);
  }

  /** The session behind a line of `mergedLines`; undefined for a line of another kind. */
  running(lineId: string): Promise<SessionInHost | undefined> {
    return this.withKey(lineId.startsWith(HOSTED) ? lineId.slice(HOSTED.length) : undefined);
  }

  /** The session of that name in a running host; undefined otherwise. */
  async withKey(name: string | undefined): Promise<SessionInHost | undefined> {
    if (name === undefined) return undefined;
    const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => this.#sessions(uri.fsPath));
    return (await Promise.all(folders)).flat().find(({ key }) => key === name);
  }

  /** Sends an order to a host. Rejects with the host's message. */
  async order(order: HostOrder, host: RunningHost): Promise<void> {
    const { client, log, protocols } = this.#deps;
    const launch = this.#launchIn(host, { options: {} }, '');
    await protocols().ahp?.order?.(launch, order, { client, log, signal: AbortSignal.timeout(LIST_LIMIT) });
  }

  /** Tells a running host the changed agents, rules and model of the included agent. */
  async settingsChanged(): Promise<void> {
    const host = this.own;
    if (host) await this.#sendSettings(host);
  }

  async #sendSettings(host: RunningHost): Promise<RunningHost> {
    const { settings, env, bundled } = await this.#settings();
    writeHostSettings(this.#deps.data, settings);
    await this.order({ kind: 'environment', agent: providerOf(bundled), env }, host).catch((error: unknown) =>
      this.#deps.log.warn(`The agent host was not told of the model: ${String(error)}`),
    );
    return host;
  }

  /** The window's own host, while it runs. */
  get own(): RunningHost | undefined {
    return runningHost(this.#deps.data);
  }

  /** Has the sessions in the host connected to it: the user has asked for it. */
  reconnect(): void {
    this.#started.fire({ isNew: false });
  }

  /** True while an agent works in the host, for whichever window. */
  async isBusy(host: RunningHost): Promise<boolean> {
    const all = await this.#listed(host, '');
    return all.some(({ state }) => state === 'busy' || state === 'asking');
  }

  /** Starts the host unless one runs. It outlives the window. */
  start(): Promise<RunningHost> {
    this.#starting ??= this.#startOne().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #startOne(): Promise<RunningHost> {
    const { data, extensionPath } = this.#deps;
    const running = this.own;
    if (running) return this.#sendSettings(running);
    const { settings, env } = await this.#settings();
    const script = path.join(extensionPath, 'dist', 'parley.js');
    const host = await startHost({ data, script, settings, env: { ...env, ELECTRON_RUN_AS_NODE: '1' } });
    this.#started.fire({ isNew: true });
    return host;
  }

  /** The sessions that hosts of this user run in this folder, newest first in each. */
  async #sessions(cwd: string): Promise<readonly SessionInHost[]> {
    const { own } = this;
    const others = otherHosts(this.#deps.data).map((host) =>
      this.#sessionsOf(host, cwd, ({ agent, agentName }) => inHost({ id: agent, name: agentName }, host.key)),
    );
    const mine = own ? this.#sessionsOf(own, cwd, (one) => this.#profileOf(one)) : [];
    return (await Promise.all([mine, ...others])).flat();
  }

  /** Leaves out the sessions of agents without a profile. */
  async #sessionsOf(
    host: RunningHost,
    cwd: string,
    profileOf: (one: RunningSession) => Profile | undefined,
  ): Promise<readonly SessionInHost[]> {
    const all = await this.#listed(host, cwd);
    return all.flatMap((one) => {
      const profile = keyOfFile(one.cwd) === keyOfFile(cwd) ? profileOf(one) : undefined;
      return profile ? [{ ...one, profile, host }] : [];
    });
  }

  /** All sessions of a host, of any folder; none when it does not answer. */
  async #listed(host: RunningHost, cwd: string): Promise<readonly RunningSession[]> {
    const { client, log, protocols } = this.#deps;
    try {
      const launch = this.#launchIn(host, { options: {} }, cwd);
      return (await protocols().ahp?.running?.(launch, { client, log, signal: AbortSignal.timeout(LIST_LIMIT) })) ?? [];
    } catch (error) {
      log.warn(`The agent host did not list its sessions: ${String(error)}`);
      return [];
    }
  }

  /** The agent of a session in the window's own host; undefined when the settings do not name it any more. */
  #profileOf({ agent }: RunningSession): Profile | undefined {
    const profile = this.#deps.agents.all().find((one) => providerOf(one.id) === agent);
    return profile && inHost(profile);
  }

  async #settings(): Promise<{
    readonly settings: HostSettings;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly bundled: string;
  }> {
    const { agents } = this.#deps;
    const { profile: bundled, env } = await agents.bundledForHost();
    const PATH = await loginPath();
    const others = agents.all().flatMap((profile): readonly Profile[] => {
      if (profile.id === bundled.id || isHost(profile)) return [];
      return [profile.command === undefined ? profile : { ...profile, env: { PATH, ...profile.env } }];
    });
    return { settings: { profiles: [bundled, ...others], rules: approvalRules(), guardedFiles: guardedFiles() }, env, bundled: bundled.id };
  }

  #launchIn({ address, token }: RunningHost, { options }: Pick<Profile, 'options'>, cwd: string): Launch {
    const url = path.isAbsolute(address) ? `unix:${encodeURIComponent(address)}` : address.replace(/^ws/, 'http');
    const headers = { authorization: `Bearer ${token}` };
    return launchOf({ id: '', name: NAME, protocol: 'ahp', args: [], env: {}, url, headers, ...(options ? { options } : {}) }, cwd);
  }
}

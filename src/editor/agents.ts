import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import type { Log } from '../base/log.ts';
import type { ProfileLine } from '../bridge/contract.ts';
import { discoverAgents, type FoundAgent, findAgents, type KnownAgent, knownAgents, loginPath } from '../live/findAgents.ts';
import { launchOf, type Profile, readProfiles } from '../live/profiles.ts';
import type { Launch, Protocol } from '../protocols/adapter.ts';
import type { SessionId } from '../session/model.ts';
import { versionOf, whereIs } from '../transport/programs.ts';
import { commandTitle } from './commandTitle.ts';
import { otherFolders } from './folder.ts';
import type { EditorSecrets } from './secrets.ts';
import { addAgent, agentsSetting, defaultAgent, modelSettings, openSettings } from './settings.ts';

export const BUNDLED_AGENT = 'parley-agent';

/** Milliseconds that agents on the PATH have to report their version before the list appears without it. */
const VERSIONS_WAIT = 1500;

export interface AgentsDeps {
  readonly secrets: EditorSecrets;
  readonly extensionPath: string;
  readonly protocols: () => Readonly<Record<string, Protocol>>;
  readonly log: Log;
}

/** The agents a session can be started with: the bundled one, and those of the user's settings. */
export class Agents {
  readonly #deps: AgentsDeps;
  #problems = '';

  constructor(deps: AgentsDeps) {
    this.#deps = deps;
  }

  all(): readonly Profile[] {
    const { profiles, problems } = readProfiles(agentsSetting(), this.#deps.protocols());
    this.#warnOnce(problems);
    return [this.#bundled(), ...profiles.filter((one) => one.id !== BUNDLED_AGENT)];
  }

  /** The well-known agents that are not in the settings yet, and where they are on this computer. */
  async known(): Promise<readonly FoundAgent[]> {
    const mine = this.all();
    const searched = await loginPath();
    const commands = mine.flatMap((one) => one.command ?? []);
    const asked = await discoverAgents(this.#deps.protocols(), { cwd: homedir(), path: searched, commands }, VERSIONS_WAIT);
    const names = new Set(asked.map(({ agent }) => agent.command));
    const others = knownAgents.filter(
      (agent) => !names.has(agent.command) && !mine.some((one) => one.id === agent.id || one.command === agent.command),
    );
    return [
      // An agent configured with a protocol it does not speak is offered with the one it speaks.
      ...asked.filter(({ agent }) => !mine.some((one) => one.command === agent.command && one.protocol === agent.protocol)),
      ...(await findAgents(others, searched, VERSIONS_WAIT)),
    ];
  }

  /** The version that the program of a profile reports. Asks known agents only, as another program may do anything then. Never rejects. */
  async version({ command }: Profile): Promise<string | undefined> {
    if (command === undefined || !knownAgents.some((one) => one.command === path.basename(command))) return undefined;
    const searched = await loginPath();
    const file = await whereIs(command, searched);
    return file === undefined ? undefined : versionOf(file, searched);
  }

  /** Whether the program of a known agent is on this computer by now. */
  async installed({ command }: KnownAgent): Promise<boolean> {
    return (await whereIs(command, await loginPath())) !== undefined;
  }

  /** Adds a known agent to the settings, so that its sessions can be resumed. */
  async add({ name, protocol, command, args, ...agent }: KnownAgent): Promise<Profile> {
    const id = this.find(agent.id) ? `${agent.id}-${protocol}` : agent.id;
    await addAgent({ id, name, protocol, command, args });
    return this.find(id) ?? { id, name, protocol, command, args, env: {}, headers: {} };
  }

  find(id: string): Profile | undefined {
    return this.all().find((one) => one.id === id);
  }

  default(): Profile {
    const all = this.all();
    const wanted = defaultAgent();
    return all.find((one) => one.id === wanted) ?? all.find((one) => one.name === wanted) ?? this.#bundled();
  }

  lines(): readonly ProfileLine[] {
    const { id } = this.default();
    return this.all().map((one) => ({
      id: one.id,
      name: one.name,
      ...(one.id === id ? { isDefault: true as const } : {}),
      ...(one.id === BUNDLED_AGENT ? { model: modelSettings().name } : {}),
    }));
  }

  async launch(profile: Profile, session: { readonly id: SessionId; readonly cwd: string }): Promise<Launch> {
    if (!vscode.workspace.isTrusted)
      throw new Error(vscode.l10n.t('Agents can run commands and change files, so they start only in a folder you trust.'));
    if (profile.id === BUNDLED_AGENT) return this.#launchBundled(session);
    const launch = launchOf(profile, session.cwd);
    // An editor started from a desktop has only a short PATH; the profile's own variables take precedence.
    return launch.kind === 'process'
      ? { ...launch, folders: otherFolders(session.cwd), env: { PATH: await loginPath(), ...launch.env } }
      : launch;
  }

  /** For a conversation apart from all sessions, in an empty folder. The bundled agent keeps nothing of it; another keeps it under that folder. */
  async launchAside(profile: Profile, cwd: string): Promise<Launch> {
    const launch = await this.launch(profile, { id: 'aside', cwd });
    return launch.kind === 'process' && profile.id === BUNDLED_AGENT ? { ...launch, env: { ...launch.env, KIMI_SHARE_DIR: cwd } } : launch;
  }

  #bundled(): Profile {
    return { id: BUNDLED_AGENT, name: vscode.l10n.t('Parley Agent'), protocol: 'kimi-wire', args: [], env: {}, headers: {} };
  }

  /** The bundled agent for a process of its own. Its model settings go into the environment, not into a file. */
  async bundledForHost(): Promise<{ readonly profile: Profile; readonly env: Readonly<Record<string, string | undefined>> }> {
    const profile = {
      ...this.#bundled(),
      command: process.execPath,
      args: [this.#script(), '--wire', '--live-output'],
      env: { ELECTRON_RUN_AS_NODE: '1' },
    };
    return { profile, env: await this.#modelEnvironment() };
  }

  /** Runs the bundled agent with the editor's own runtime: no installed node is needed. */
  async #launchBundled({ id, cwd }: { readonly id: SessionId; readonly cwd: string }): Promise<Launch> {
    const folders = otherFolders(cwd).flatMap((folder) => ['--add-dir', folder]);
    return {
      kind: 'process',
      command: process.execPath,
      args: [this.#script(), '--wire', '--live-output', '--work-dir', cwd, ...folders, '--session', id],
      env: { ELECTRON_RUN_AS_NODE: '1', PATH: await loginPath(), ...(await this.#modelEnvironment()) },
      cwd,
    };
  }

  #script(): string {
    const script = path.join(this.#deps.extensionPath, 'dist', 'parley-agent.js');
    if (!existsSync(script)) throw new Error(`${script} is missing from this installation.`);
    return script;
  }

  async #modelEnvironment(): Promise<Readonly<Record<string, string | undefined>>> {
    const { baseUrl, name, contextSize } = modelSettings();
    return {
      PARLEY_LOCALE: vscode.env.language,
      PARLEY_MODEL_BASE_URL: baseUrl || undefined,
      PARLEY_MODEL_NAME: name || undefined,
      PARLEY_MODEL_API_KEY: await this.#deps.secrets.modelKey(),
      PARLEY_MODEL_CONTEXT: contextSize === undefined ? undefined : String(contextSize),
    };
  }

  /** Reports each set of problems once, as the settings are read often. */
  #warnOnce(problems: readonly string[]): void {
    const text = problems.join('\n');
    if (text === this.#problems) return;
    this.#problems = text;
    if (!text) return;
    for (const problem of problems) this.#deps.log.warn(problem);
    const open = commandTitle('openSettings');
    const message = vscode.l10n.t('Some agents in the settings cannot be used: {0}', problems.join('; '));
    void vscode.window.showWarningMessage(message, open).then((choice) => {
      if (choice === open) void openSettings('parley.agents');
    });
  }
}

import * as vscode from 'vscode';
import type { Log } from '../base/log.ts';
import type { Profile } from '../live/profiles.ts';
import type { Sessions } from '../live/sessions.ts';
import type { SessionId } from '../session/model.ts';
import { isBusy } from '../session/select.ts';
import type { AgentHostProcess } from './agentHost.ts';
import { type Agents, BUNDLED_AGENT } from './agents.ts';
import { commandTitle } from './commandTitle.ts';
import { explainNoFolder, hasFolder, sessionFolder } from './folder.ts';
import type { QuickInputs } from './quickInputs.ts';

/** Selects the agent and the place for a new session. */
export type StartedAgents = Pick<Agents, 'default'> & Pick<AgentHostProcess, 'placeOf'>;

/** Starts sessions where allowed: in a trusted workspace with a folder. */
export class Starter {
  readonly #sessions: Sessions;
  readonly #agents: StartedAgents;
  readonly #inputs: QuickInputs;
  readonly #log: Log;
  #restored: Promise<void> | undefined;
  #isShown = false;
  #applied: Promise<void> = Promise.resolve();
  /** The session started because the chat appeared, until the user types: the user has not chosen its agent. */
  #offered: SessionId | undefined;

  constructor(sessions: Sessions, agents: StartedAgents, inputs: QuickInputs, log: Log) {
    this.#sessions = sessions;
    this.#agents = agents;
    this.#inputs = inputs;
    this.#log = log;
  }

  /** Restores this window's sessions, once. */
  restore(): Promise<void> {
    if (!vscode.workspace.isTrusted) return Promise.resolve();
    const failed = (error: unknown) => this.#log.error('The session that is back could not be shown', error);
    this.#restored ??= this.#sessions
      .restore((id) => void this.#apply(() => this.#giveWay(id)).catch(failed))
      .then(showElsewhere, (error: unknown) => this.#log.error('Earlier sessions could not be read', error));
    return this.#restored;
  }

  /** The chat is on the screen: it needs a session to type into. */
  async chatShown(): Promise<void> {
    this.#isShown = true;
    // Without a folder there is nothing to restore, and no session to start.
    if (!hasFolder()) return;
    await this.restore();
    if (this.#sessions.all.length > 0 || !vscode.workspace.isTrusted) return;
    this.#offered = await this.start(this.#agents.default(), false);
    // The settings may have arrived meanwhile.
    await this.agentsChanged();
  }

  /** The folders of a workspace on a remote computer may arrive after the window opened. */
  foldersChanged(): Promise<void> {
    return this.#isShown ? this.chatShown() : Promise.resolve();
  }

  /** The user types in the chat: the visible session is the one they want. */
  typed(): void {
    this.#offered = undefined;
  }

  /**
   * Reacts to a change of the agents or of the default agent. The settings of a remote computer arrive after the window opened: sessions whose agent
   * was unknown are restored now, and the session started unasked, while untouched, gives way to the one that was active, or to one with the right
   * agent.
   */
  agentsChanged(): Promise<void> {
    return this.#apply(async () => this.#giveWay(await this.#sessions.restoreAwaited()));
  }

  #apply(change: () => Promise<void>): Promise<void> {
    this.#applied = this.#applied.then(change, change);
    return this.#applied;
  }

  /** Replaces the untouched session that was started unasked: by the formerly active one that is back, or by one of the right agent. */
  async #giveWay(back: SessionId | undefined): Promise<void> {
    const session = this.#offered === undefined ? undefined : this.#sessions.get(this.#offered);
    if (!session) return;
    const wanted = this.#agents.placeOf(this.#agents.default());
    const { turns, queue } = session.store.now;
    if ((back === undefined && session.profile === wanted.id) || turns.length > 0 || queue.length > 0) return;
    const wasShown = this.#sessions.active === session.id;
    if (back !== undefined) this.#offered = undefined;
    await this.#sessions.forget(session.id);
    if (!wasShown) return;
    if (back !== undefined) this.#sessions.switchTo(back);
    else this.#offered = await this.start(this.#agents.default(), false);
  }

  /** Starts a session of the default agent where the window still has none: what waits for one goes to the session that is shown. */
  async startIfNone(): Promise<void> {
    await this.restore();
    if (this.#sessions.active === undefined) await this.start(this.#agents.default(), true, true);
  }

  async start(chosen: Profile = this.#agents.default(), ask = true, ifNone = false): Promise<SessionId | undefined> {
    const profile = this.#agents.placeOf(chosen);
    await this.restore();
    if (!vscode.workspace.isTrusted) {
      await vscode.commands.executeCommand('workbench.trust.manage');
      return undefined;
    }
    if (!hasFolder()) {
      await explainNoFolder();
      return undefined;
    }
    const cwd = profile.cwd ?? (await sessionFolder(this.#inputs, ask));
    if (cwd === undefined) return undefined;
    // The one that begins with the chat may have come meanwhile, and may have been spoken to.
    const empty = (ifNone ? this.#sessions.active : undefined) ?? this.#emptySession(profile, cwd);
    if (empty === undefined) return this.#sessions.open(profile, cwd);
    this.#sessions.switchTo(empty);
    return empty;
  }

  /** An empty session of the same agent: one is enough. */
  #emptySession(profile: Profile, cwd: string): SessionId | undefined {
    return this.#sessions.all.find((id) => {
      const session = this.#sessions.get(id);
      if (session?.profile !== profile.id) return false;
      const { turns, queue, link, resumeKey, cwd: folder, partial } = session.store.now;
      return turns.length === 0 && queue.length === 0 && link.state !== 'closed' && folder === cwd && !(partial && resumeKey);
    });
  }

  /** Applies a change of the bundled agent's model settings: idle sessions restart it, for the others the user decides. */
  async modelChanged(): Promise<void> {
    const mine = this.#sessions.all.flatMap((id) => this.#sessions.get(id) ?? []).filter((one) => one.profile === BUNDLED_AGENT);
    const running = mine.filter(({ store: { now } }) => now.link.state === 'opening' || now.link.state === 'ready');
    const busy = running.filter((one) => isBusy(one.store.now));
    for (const session of running) if (!busy.includes(session)) void session.restart();
    if (busy.length === 0) return;
    const restart = commandTitle('restartAgent');
    const text = vscode.l10n.t('{0} is at work. What it is doing is interrupted.', vscode.l10n.t('Parley Agent'));
    if ((await vscode.window.showInformationMessage(text, restart)) !== restart) return;
    for (const session of busy) void session.restart();
  }
}

function showElsewhere(elsewhere: readonly SessionId[]): void {
  if (elsewhere.length === 0) return;
  const text = vscode.l10n.t(
    'Open in another window: {0} conversation(s) of this folder. They come back here once that window closes.',
    elsewhere.length,
  );
  void vscode.window.showInformationMessage(text);
}

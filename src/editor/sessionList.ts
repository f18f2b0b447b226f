import { readFile, stat } from 'node:fs/promises';
import * as vscode from 'vscode';
import type { SessionLine } from '../bridge/contract.ts';
import { settingsId } from '../live/hostedAgents.ts';
import type { Profile } from '../live/profiles.ts';
import { sessionOfRecording } from '../live/recording.ts';
import { SessionSearch } from '../live/sessionSearch.ts';
import type { Sessions } from '../live/sessions.ts';
import type { Session, SessionId } from '../session/model.ts';
import { newSession } from '../session/reduce.ts';
import { titleOf } from '../session/select.ts';
import type { AgentHostProcess, KnownLine, SessionInHost } from './agentHost.ts';
import { commandTitle } from './commandTitle.ts';
import { sessionLine } from './sessionLine.ts';

const PINS = 'parley.pinnedSessions';
/** Sessions that a list holds at most, and bytes of a recording. */
const MOST = 500;
const LARGEST_RECORDING = 256 * 1024 * 1024;

type Host = Pick<AgentHostProcess, 'withRunning' | 'running' | 'withKey' | 'order'>;

/** The sessions of this window and the earlier ones of its folder: to list, search, rename, pin, export and delete. */
export class SessionList {
  readonly #sessions: Sessions;
  readonly #host: Host;
  readonly #pins: vscode.Memento;
  readonly #search: SessionSearch;

  constructor(sessions: Sessions, host: Host, pins: vscode.Memento, now: () => number) {
    this.#sessions = sessions;
    this.#host = host;
    this.#pins = pins;
    this.#search = new SessionSearch(sessions.read.bind(sessions), now);
  }

  /** The matching sessions, newest first, pinned ones before all others. */
  async find(query: string, cwd: string | undefined): Promise<readonly SessionLine[]> {
    const pinned = this.#pinned();
    const open = this.#sessions.all.flatMap((id) => this.#sessions.get(id) ?? []).map((session) => sessionLine(session));
    const past = cwd === undefined ? [] : await this.#sessions.past(cwd);
    const earlier = past.map(
      ({ head, title, at, files, failed, resumeKey }): KnownLine => ({
        ...(resumeKey === undefined ? {} : { resumeKey }),
        id: head.id,
        title,
        agent: head.agent.name,
        profile: settingsId(head.profile),
        state: 'past',
        asks: 0,
        at,
        files,
        ...(failed ? { failed } : {}),
      }),
    );
    const openKeys = this.#sessions.all.flatMap((id) => this.#sessions.get(id)?.store.now.resumeKey ?? []);
    const lines = [...open, ...(await this.#host.withRunning(cwd, earlier, openKeys))]
      .toSorted((a, b) => b.at - a.at)
      .slice(0, MOST)
      .map((line): SessionLine => (pinned.includes(line.id) ? { ...line, pinned: true } : line));
    return this.#search.find(query, [...lines.filter((line) => line.pinned), ...lines.filter((line) => !line.pinned)]);
  }

  async rename(id: SessionId, title: string): Promise<void> {
    const { there, isOnlyThere } = await this.#inHost(id);
    if (there) await this.#host.order({ kind: 'rename', key: there.key, title }, there.host);
    if (!isOnlyThere && !(await this.#sessions.rename(id, title))) throw new Error(unavailable());
  }

  async pin(id: SessionId, on: boolean): Promise<void> {
    const others = this.#pinned().filter((one) => one !== id);
    await this.#pins.update(PINS, on ? [...others, id].slice(-MOST) : others);
  }

  /** Deletes a session for good, after asking. */
  async remove(id: SessionId): Promise<void> {
    const { there, isOnlyThere, title } = await this.#inHost(id);
    const remove = vscode.l10n.t('Delete');
    const text = vscode.l10n.t('Delete “{0}”? Files it changed stay as they are.', title || commandTitle('newSession'));
    if ((await vscode.window.showWarningMessage(text, { modal: true }, remove)) !== remove) return;
    if (there) await this.#host.order({ kind: 'delete', key: there.key }, there.host);
    if (!isOnlyThere) await this.#sessions.forget(id);
    await this.pin(id, false);
  }

  /** Returns the session in its agent host, if one has it, and whether this window has not opened it yet. */
  async #inHost(
    id: SessionId,
  ): Promise<{ readonly there: SessionInHost | undefined; readonly isOnlyThere: boolean; readonly title: string }> {
    const there = await this.#host.running(id);
    if (there) return { there, isOnlyThere: true, title: there.title };
    const session = await this.#sessions.read(id);
    const known = await this.#host.withKey(session?.resumeKey);
    return { there: known, isOnlyThere: false, title: session ? titleOf(session) : '' };
  }

  /** Opens the conversation as a Markdown document, to read and to save. */
  async exportMarkdown(id: SessionId): Promise<void> {
    const session = await this.#sessions.read(id);
    if (!session) throw new Error(unavailable());
    const { sessionMarkdown } = await import('../session/markdown.ts');
    const document = await vscode.workspace.openTextDocument({ language: 'markdown', content: sessionMarkdown(session) });
    await vscode.window.showTextDocument(document, { preview: false });
  }

  /** Lets the user choose a recording and shows it as a session of `profile`. False when none was chosen. */
  async importRecording(profile: Profile, cwd: string, newId: () => string): Promise<boolean> {
    const [uri] = (await vscode.window.showOpenDialog({ filters: { JSONL: ['jsonl', 'json', 'log'] } })) ?? [];
    if (!uri) return false;
    const agent = { protocol: profile.protocol, name: profile.name };
    const session =
      (await stat(uri.fsPath)).size > LARGEST_RECORDING ? undefined : await recordedIn(uri.fsPath, newSession(newId(), agent, cwd));
    if (!session) throw new Error(vscode.l10n.t('{0} is not a recording of a session.', uri.fsPath));
    this.#sessions.openRecorded(profile, { ...session, agent: { ...session.agent, protocol: profile.protocol } });
    return true;
  }

  /** Shows a session, restored from the journal if necessary. */
  async show(id: SessionId): Promise<void> {
    let there = await this.#host.running(id);
    if (!there) {
      const outcome = await this.#sessions.reopen(id);
      if (outcome === 'open') return;
      // Any number of windows may show what runs in a host.
      if (outcome === 'elsewhere') there = await this.#host.withKey((await this.#sessions.read(id))?.resumeKey);
    }
    if (!there) throw new Error(unavailable());
    this.#sessions.open(there.profile, there.cwd, there);
  }

  #pinned(): readonly SessionId[] {
    const kept = this.#pins.get<unknown>(PINS);
    return Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : [];
  }
}

async function recordedIn(file: string, start: Session): Promise<Session | undefined> {
  return sessionOfRecording(await readFile(file, 'utf8'), start);
}

function unavailable(): string {
  return vscode.l10n.t('That session is open in another window, or cannot be read any more.');
}

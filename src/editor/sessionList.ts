import { readFile, stat } from 'node:fs/promises';
import * as vscode from 'vscode';
import type { SessionLine } from '../bridge/contract.ts';
import type { Profile } from '../live/profiles.ts';
import { sessionOfRecording } from '../live/recording.ts';
import { SessionSearch } from '../live/sessionSearch.ts';
import type { Sessions } from '../live/sessions.ts';
import type { Session, SessionId } from '../session/model.ts';
import { newSession } from '../session/reduce.ts';
import { titleOf } from '../session/select.ts';
import type { AgentHostProcess, SessionInHost } from './agentHost.ts';
import { commandTitle } from './commandTitle.ts';
import { hostKeyOf, type KnownLine, mergedLines } from './hostedLines.ts';
import { pastLine, sessionLine } from './sessionLine.ts';

const PINS = 'parley.pinnedSessions';
/** Sessions that a list holds at most, and bytes of a recording. */
const MOST = 500;
const LARGEST_RECORDING = 256 * 1024 * 1024;

type Host = Pick<AgentHostProcess, 'runningIn' | 'running' | 'withKey' | 'order'>;

/** The sessions of this window and the earlier ones of its folder: to list, search, rename, pin, export and delete. */
export class SessionList {
  readonly #sessions: Sessions;
  readonly #host: Host;
  readonly #pins: vscode.Memento;
  readonly #search: SessionSearch;
  readonly #changes = new vscode.EventEmitter<void>();
  /** A session got another name, was pinned or unpinned, or was deleted. */
  readonly onChange = this.#changes.event;

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
    const keys = this.#hostKeys(past);
    const known = [...open, ...past.map(pastLine)].map((line): KnownLine => {
      const hostKey = keys.get(line.id);
      return { ...line, ...(hostKey === undefined ? {} : { hostKey }), ...(pinned.includes(line.id) ? { pinned: true } : {}) };
    });
    const lines = mergedLines(known, await this.#host.runningIn(cwd), this.#sessions.active)
      .map((line): SessionLine => (pinned.includes(line.id) ? { ...line, pinned: true } : line))
      .toSorted((a, b) => b.at - a.at)
      .slice(0, MOST);
    return this.#search.find(query, [...lines.filter((line) => line.pinned), ...lines.filter((line) => !line.pinned)]);
  }

  /** The sessions of hosts among the open and the earlier ones, by id. */
  #hostKeys(past: Awaited<ReturnType<Sessions['past']>>): ReadonlyMap<SessionId, string> {
    const open = this.#sessions.all.flatMap((id) => this.#sessions.get(id) ?? []);
    const all = [
      ...open.map(({ id, profile, store }) => ({ id, key: hostKeyOf(profile, store.now.resumeKey) })),
      ...past.map(({ head, resumeKey }) => ({ id: head.id, key: hostKeyOf(head.profile, resumeKey) })),
    ];
    return new Map(all.flatMap(({ id, key }) => (key === undefined ? [] : [[id, key] as const])));
  }

  /** The conversations that show the same session of a host, this one first. */
  async #copies(id: SessionId): Promise<readonly SessionId[]> {
    const session = await this.#sessions.read(id);
    const keys = session ? this.#hostKeys(await this.#sessions.past(session.cwd)) : new Map<SessionId, string>();
    const key = keys.get(id);
    const others = [...keys].filter(([other, otherKey]) => other !== id && otherKey === key).map(([other]) => other);
    return [id, ...others];
  }

  async rename(id: SessionId, title: string): Promise<void> {
    const { there, isOnlyThere } = await this.#inHost(id);
    if (there) await this.#host.order({ kind: 'rename', key: there.key, title }, there.host);
    if (isOnlyThere) return this.#changes.fire();
    const renamed = await Promise.all((await this.#copies(id)).map((one) => this.#sessions.rename(one, title)));
    if (!there && !renamed.includes(true)) throw new Error(unavailable());
    this.#changes.fire();
  }

  async pin(id: SessionId, on: boolean): Promise<void> {
    const copies = await this.#copies(id);
    const others = this.#pinned().filter((one) => !copies.includes(one));
    await this.#pins.update(PINS, on ? [...others, id].slice(-MOST) : others);
    this.#changes.fire();
  }

  /** Deletes a session for good, after asking: every conversation that shows it, and for all windows what a host has of it. */
  async remove(id: SessionId): Promise<void> {
    const { there, isOnlyThere, title } = await this.#inHost(id);
    const copies = isOnlyThere ? [] : await this.#copies(id);
    // The other window would be left with a session that its host does not know.
    if (copies.some((one) => this.#sessions.isElsewhere(one))) throw new Error(unavailable());
    const remove = vscode.l10n.t('Delete');
    const text = vscode.l10n.t('Delete “{0}”? Files it changed stay as they are.', title || commandTitle('newSession'));
    const detail = there
      ? vscode.l10n.t('This session is on the agent host. Deleting it removes it from every window and from VS Code’s own chat.')
      : undefined;
    const more = detail === undefined ? {} : { detail };
    if ((await vscode.window.showWarningMessage(text, { modal: true, ...more }, remove)) !== remove) return;
    await this.pin(id, false);
    if (there) await this.#host.order({ kind: 'delete', key: there.key }, there.host);
    for (const one of copies) await this.#sessions.forget(one);
    this.#changes.fire();
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
      let isElsewhere = false;
      for (const one of await this.#copies(id)) {
        const outcome = await this.#sessions.reopen(one);
        if (outcome === 'open') return;
        isElsewhere ||= outcome === 'elsewhere';
      }
      // Any number of windows may show what runs in a host.
      if (isElsewhere) there = await this.#host.withKey((await this.#sessions.read(id))?.resumeKey);
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
  return vscode.l10n.t('The session is open in another window or can no longer be read.');
}

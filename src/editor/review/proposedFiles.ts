import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../../base/lifetime.ts';
import type { SessionHost } from '../../live/surface.ts';
import { keyOfFile } from '../../protocols/paths.ts';
import type { Approval, AskId, AskRef, Diff, Session, SessionId } from '../../session/model.ts';
import { changedSince } from '../../session/proposal.ts';
import { byPath, type FileDiffs, findAsk } from '../../session/select.ts';
import { comparedText } from '../files.ts';

type Texts = readonly (string | null | undefined)[];

/** A pending edit with its files as the user was asked about them. */
interface Proposal extends AskRef {
  readonly cwd: string;
  readonly diffs: readonly Diff[];
  readonly files: readonly FileDiffs[];
  readonly asked: Promise<Texts>;
}

/** Milliseconds after a change of a file until its proposals are compared with it again. */
const COMPARED_AFTER = 200;

/** Tells pending edits when their files are no longer as the user was asked about them, and when they are again. */
export class ProposedFiles implements Disposable {
  readonly #host: SessionHost;
  readonly #life = new Lifetime();
  #proposals: readonly Proposal[] = [];
  readonly #changed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(host: SessionHost) {
    this.#host = host;
    this.#life.own(host.onChange((_, { before, now }) => before.asks !== now.asks && this.#update()));
    this.#life.own(host.onSessions(() => this.#update()));
    this.#life.own(vscode.workspace.onDidChangeTextDocument(({ document }) => this.#noted(document.uri)));
    this.#life.own(vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#noted(uri)));
    const watcher = this.#life.own(vscode.workspace.createFileSystemWatcher('**/*'));
    for (const event of [watcher.onDidCreate, watcher.onDidChange, watcher.onDidDelete]) this.#life.own(event((uri) => this.#noted(uri)));
    this.#life.onEnd(() => clearTimeout(this.#timer));
    this.#update();
  }

  /** Settles when the ask knows how its files are now. */
  async compare(sessionId: SessionId, askId: AskId): Promise<void> {
    const found = this.#proposals.find((one) => one.askId === askId && one.sessionId === sessionId);
    if (found) await this.#compare(found);
  }

  dispose(): void {
    this.#life.dispose();
  }

  #update(): void {
    this.#proposals = this.#host.all.flatMap((sessionId) => {
      const session = this.#host.get(sessionId)?.store.now;
      return session ? session.asks.flatMap((ask) => (ask.kind === 'approval' ? this.#proposalOf(session, ask) : [])) : [];
    });
  }

  /** Goes on with what is known of the ask, unless the agent has changed its proposal. */
  #proposalOf({ id: sessionId, cwd }: Session, { id: askId, detail }: Approval): readonly Proposal[] {
    if (detail.type !== 'edit') return [];
    const { diffs } = detail;
    const known = this.#proposals.find((one) => one.askId === askId && one.sessionId === sessionId);
    if (known && (known.diffs === diffs || isDeepStrictEqual(known.diffs, diffs))) return [known];
    const files = byPath(diffs);
    const fresh: Proposal = { sessionId, askId, cwd, diffs, files, asked: textsOf(files, cwd) };
    if (known) void this.#compare(fresh);
    return [fresh];
  }

  #noted({ scheme, fsPath }: vscode.Uri): void {
    if (scheme !== 'file' || this.#proposals.length === 0) return;
    this.#changed.add(keyOfFile(fsPath));
    this.#timer ??= setTimeout(() => this.#compareChanged(), COMPARED_AFTER);
  }

  #compareChanged(): void {
    this.#timer = undefined;
    const isChanged = ({ files, cwd }: Proposal) => files.some((one) => this.#changed.has(keyOfFile(path.resolve(cwd, one.path))));
    for (const one of this.#proposals.filter(isChanged)) void this.#compare(one);
    this.#changed.clear();
  }

  async #compare(proposal: Proposal): Promise<void> {
    const { sessionId, askId, files, cwd } = proposal;
    const then = await proposal.asked;
    const now = await textsOf(files, cwd);
    const session = this.#host.get(sessionId);
    const ask = session && findAsk(session.store.now, askId);
    // After the answer the agent writes the file.
    if (!session || ask?.kind !== 'approval' || ask.decision || !this.#proposals.includes(proposal)) return;
    const stale = files.flatMap(({ diffs }, at) => changedSince(diffs, then[at], now[at]) ?? []);
    if (!isDeepStrictEqual(stale, ask.stale ?? [])) session.send({ type: 'revise', askId, diffs: ask.revised ?? [], stale });
  }
}

function textsOf(files: readonly FileDiffs[], cwd: string): Promise<Texts> {
  return Promise.all(files.map((one) => comparedText(path.resolve(cwd, one.path), cwd)));
}

import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import type { HostedSession, SessionHost } from '../live/surface.ts';
import type { Session, SessionId } from '../session/model.ts';
import { titleOf } from '../session/select.ts';
import { loadPage } from './chatPage.ts';
import { commandTitle } from './commandTitle.ts';
import type { Redaction, Traffic } from './traffic.ts';

/** Milliseconds between two updates of an open inspector. */
const REST = 200;
const LONGEST_QUERY = 1000;

/** The protocol inspector: an editor tab with the traffic of one session as a table, from the last messages before it was opened. */
export class Inspector implements Disposable {
  readonly #extensionUri: vscode.Uri;
  readonly #traffic: Traffic;
  readonly #life = new Lifetime();
  readonly #panels = new Map<SessionId, vscode.WebviewPanel>();

  constructor(extensionUri: vscode.Uri, traffic: Traffic, sessions: SessionHost) {
    this.#extensionUri = extensionUri;
    this.#traffic = traffic;
    this.#life.own(sessions.onChange((id, { event }) => traffic.event(id, event)));
    this.#life.own(sessions.onSessions(() => traffic.keepOnly(sessions.all)));
  }

  open(session: InspectedSession): void {
    const { id, store } = session;
    const there = this.#panels.get(id);
    if (there) return there.reveal();
    const name = `${commandTitle('inspect')}: ${titleOf(store.now, 40) || store.now.agent.name}`;
    const panel = vscode.window.createWebviewPanel('parley.inspector', name, vscode.ViewColumn.Active, { retainContextWhenHidden: true });
    this.#panels.set(id, panel);
    const shown = this.#life.own(new Lifetime());
    panel.onDidDispose(() => {
      this.#panels.delete(id);
      this.#life.release(shown);
      shown.dispose();
    });
    void this.#fill(panel, session, shown);
  }

  async #fill(panel: vscode.WebviewPanel, session: InspectedSession, shown: Lifetime): Promise<void> {
    const redaction = await import('./redact.ts');
    if (this.#panels.get(session.id) !== panel) return;
    shown.own(showTraffic(panel, this.#traffic, redaction, session));
    loadPage(panel, this.#extensionUri, 'inspector');
  }

  dispose(): void {
    this.#life.dispose();
  }
}

type InspectedSession = Pick<HostedSession, 'id'> & { readonly store: Pick<HostedSession['store'], 'now'> };

/** Sends a page the rows it does not have yet, and answers its requests. */
function showTraffic(
  { webview }: vscode.WebviewPanel,
  traffic: Traffic,
  redaction: Redaction,
  { id, store }: InspectedSession,
): Disposable {
  const life = new Lifetime();
  let sent = 0;
  let query = '';
  let timer: NodeJS.Timeout | undefined;
  const find = () => void webview.postMessage({ type: 'found', query, numbers: traffic.find(id, query) });
  const update = () => {
    timer = undefined;
    // The last row may have got events since.
    const all = traffic.rows(id);
    const rows = all.filter(({ number }) => number >= sent);
    sent = rows.at(-1)?.number ?? sent;
    const first = all[0]?.number ?? 0;
    void webview.postMessage({ type: 'rows', first, rows: rows.map(({ json: _, ...row }) => row), strings: vscode.l10n.bundle ?? {} });
    if (query !== '') find();
  };
  life.own(
    traffic.watch(id, redaction, () => {
      timer ??= setTimeout(update, REST);
    }),
  );
  life.onEnd(() => clearTimeout(timer));
  life.own(
    webview.onDidReceiveMessage((message: unknown) => {
      const { type, number, text } = (message ?? {}) as { readonly type?: unknown; readonly number?: unknown; readonly text?: unknown };
      if (type === 'ready') {
        sent = 0;
        update();
      } else if (type === 'detail') {
        const row = traffic.rows(id).find((one) => one.number === number);
        if (row) void webview.postMessage({ type: 'detail', number: row.number, json: row.json });
      } else if (type === 'find' && typeof text === 'string') {
        query = text.slice(0, LONGEST_QUERY);
        if (query !== '') find();
      } else if (type === 'save') void save(traffic, redaction, store.now);
    }),
  );
  return life;
}

/** Saves a recording that can be imported as a session and replayed without an editor. */
async function save(traffic: Traffic, redaction: Redaction, session: Session): Promise<void> {
  const defaultUri = vscode.Uri.file(path.join(session.cwd, 'parley-session.jsonl'));
  const uri = await vscode.window.showSaveDialog({ filters: { JSONL: ['jsonl'] }, defaultUri });
  if (uri) await writeFile(uri.fsPath, traffic.recording(session, redaction), { mode: 0o600 });
}

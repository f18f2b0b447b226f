import * as vscode from 'vscode';
import { type Disposable, Lifetime } from '../base/lifetime.ts';
import { TerminalFilter } from '../base/terminalText.ts';
import type { SessionHost } from '../live/surface.ts';
import type { SessionId, Terminal } from '../session/model.ts';
import { findTerminal } from '../session/select.ts';
import { plainLabel } from './approvals/rowText.ts';

/** UTF-16 units of a command that a tab shows. */
const LONGEST_NAME = 60;
const RESET = '\u001b[0m';

/** Agents' terminals in the editor's terminal panel: past and coming output. Read-only; closing one ends nothing. */
export class TerminalPanel implements Disposable {
  readonly #host: SessionHost;
  readonly #life = new Lifetime();
  readonly #open = new Map<string, vscode.Terminal>();

  constructor(host: SessionHost) {
    this.#host = host;
    this.#life.own(
      vscode.window.onDidCloseTerminal((closed) => {
        for (const [key, one] of this.#open) if (one === closed) this.#open.delete(key);
      }),
    );
    this.#life.onEnd(() => {
      for (const one of this.#open.values()) one.dispose();
    });
  }

  /** Shows a terminal, once however often requested. False when the session has no such terminal. */
  show(sessionId: SessionId, terminalId: string): boolean {
    const key = `${sessionId}\n${terminalId}`;
    const terminal = this.#find(sessionId, terminalId);
    if (!terminal) return false;
    const known = this.#open.get(key);
    const shown =
      known ??
      vscode.window.createTerminal({
        name: nameOf(terminal),
        iconPath: new vscode.ThemeIcon('robot'),
        isTransient: true,
        pty: this.#pty(sessionId, terminalId),
      });
    this.#open.set(key, shown);
    shown.show(true);
    return true;
  }

  dispose(): void {
    this.#life.dispose();
  }

  #find(sessionId: SessionId, terminalId: string): Terminal | undefined {
    const session = this.#host.get(sessionId)?.store.now;
    return session && findTerminal(session, terminalId);
  }

  /** A pseudoterminal that discards input. */
  #pty(sessionId: SessionId, terminalId: string): vscode.Pseudoterminal {
    const life = new Lifetime();
    const written = life.own(new vscode.EventEmitter<string>());
    const write = (text: string) => written.fire(text);
    const filter = new TerminalFilter();
    const writeOutput = (text: string) => write(withCarriageReturns(filter.push(text)));
    let ended = false;
    const end = (terminal: Terminal | undefined) => {
      if (ended || (terminal && !terminal.exit)) return;
      ended = true;
      // Resets modes the output left on, before Parley writes its own line.
      write(`${RESET}${faint(`\r\n${exitText(terminal)}`)}`);
    };
    return {
      onDidWrite: written.event,
      open: () => {
        const terminal = this.#find(sessionId, terminalId);
        if (terminal?.command) write(faint(`$ ${plainLabel(terminal.command)}\r\n`));
        if (terminal && terminal.dropped > 0) write(faint(`${vscode.l10n.t('Earlier output was dropped.')}\r\n`));
        if (terminal) writeOutput(terminal.tail);
        end(terminal);
        life.own(
          this.#host.onChange((id, { event, now }) => {
            if (id !== sessionId || event.type !== 'terminal.changed' || event.terminal.id !== terminalId) return;
            if (event.delta) writeOutput(event.delta);
            end(findTerminal(now, terminalId));
          }),
        );
        life.own(this.#host.onSessions(() => this.#host.get(sessionId) ?? end(undefined)));
      },
      close: () => life.dispose(),
    };
  }
}

function nameOf({ command }: Terminal): string {
  const name = plainLabel(command);
  if (name === '') return vscode.l10n.t('Terminal');
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
}

/** A pipe ends lines with \n only; a terminal also needs a carriage return. */
function withCarriageReturns(text: string): string {
  return text.replace(/\r?\n/g, '\r\n');
}

function faint(text: string): string {
  return `\u001b[2m${text}\u001b[22m`;
}

function exitText(terminal: Terminal | undefined): string {
  if (!terminal?.exit) return vscode.l10n.t('Ended');
  const { code, signal } = terminal.exit;
  if (signal !== null) return vscode.l10n.t('killed ({0})', signal);
  return code === null ? vscode.l10n.t('Ended') : vscode.l10n.t('exit {0}', code);
}

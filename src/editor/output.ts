import * as vscode from 'vscode';
import type { Disposable } from '../base/lifetime.ts';
import type { Log } from '../base/log.ts';
import type { SessionId } from '../session/model.ts';
import { traceOn } from './settings.ts';

/** The log channel, and the protocol log, which gets its own channel on first use. */
export class OutputChannels implements Disposable {
  readonly #channel = vscode.window.createOutputChannel('Parley', { log: true });
  readonly log = logTo(this.#channel);
  #protocol: vscode.LogOutputChannel | undefined;
  #tracing = traceOn();

  trace(id: SessionId, way: 'in' | 'out', message: unknown): void {
    if (!this.#tracing) return;
    const channel = this.#protocolChannel();
    // Loaded with the first line; the lines keep their order, as promises of one module are settled in turn.
    void import('./redact.ts').then(({ traceLine }) =>
      channel.info(`${id.slice(0, 8)} ${way === 'in' ? '<-' : '->'} ${traceLine(message)}`),
    );
  }

  get tracing(): boolean {
    return this.#tracing;
  }

  settingsChanged(): void {
    this.#tracing = traceOn();
    if (this.#tracing) this.#protocolChannel();
  }

  show(): void {
    this.#channel.show(true);
  }

  showProtocol(): void {
    this.#protocolChannel().show(true);
  }

  dispose(): void {
    this.#channel.dispose();
    this.#protocol?.dispose();
  }

  #protocolChannel(): vscode.LogOutputChannel {
    this.#protocol ??= vscode.window.createOutputChannel('Parley Protocol', { log: true });
    return this.#protocol;
  }
}

function logTo(channel: vscode.LogOutputChannel): Log {
  return {
    trace: (message) => channel.trace(message),
    info: (message) => channel.info(message),
    warn: (message) => channel.warn(message),
    error: (message, cause) => {
      if (cause instanceof Error) channel.error(message, cause);
      else channel.error(cause === undefined ? message : `${message}: ${String(cause)}`);
    },
  };
}

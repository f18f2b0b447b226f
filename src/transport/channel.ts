import type { Disposable } from '../base/lifetime.ts';

/** Text messages both ways, one line each, in order. */
export interface Channel extends Disposable {
  /** Hands one line over (without its end). Settles when the other side has taken it; rejects when the channel is closed. */
  send(line: string): Promise<void>;
  /** Messages before the first listener are lost, so listen at once. */
  onMessage(listener: (line: string) => void): Disposable;
  /** Called once, after the last message; at once when the channel has closed already. */
  onClosed(listener: (closed: Closed) => void): Disposable;
}

/** Why a channel closed. `code` and `signal` are there when a process ended. */
export interface Closed {
  /** A sentence for a user. */
  readonly reason: string;
  readonly failure: 'ended' | 'missing' | 'forbidden' | 'noFolder' | 'broken';
  readonly code?: number;
  readonly signal?: string;
  /** The last 64 KiB the process wrote to its standard error. */
  readonly stderr: string;
}

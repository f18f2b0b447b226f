import { type Disposable, toDisposable } from '../base/lifetime.ts';
import { messageOf } from '../base/log.ts';

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

/** A channel that could not be opened: it rejects every send and reports why it closed. */
export function closedChannel(closed: Closed): Channel {
  const nothing = toDisposable(() => {});
  return {
    send: () => Promise.reject(new Error(closed.reason)),
    onMessage: () => nothing,
    onClosed: (listener) => {
      queueMicrotask(() => listener(closed));
      return nothing;
    },
    dispose: () => {},
  };
}

/** A channel that is still opening. Lines sent until then wait; a failure to open it closes it. */
export function lateChannel(coming: Promise<Channel>): Channel {
  const later = (run: (channel: Channel) => Disposable): Disposable => {
    let isOver = false;
    let made: Disposable | undefined;
    void coming.then(
      (channel) => {
        if (!isOver) made = run(channel);
      },
      () => {},
    );
    return {
      dispose: () => {
        isOver = true;
        made?.dispose();
      },
    };
  };
  return {
    send: (line) => coming.then((channel) => channel.send(line)),
    onMessage: (listener) => later((channel) => channel.onMessage(listener)),
    onClosed: (listener) => {
      coming.catch((error: unknown) => listener({ reason: messageOf(error), failure: 'broken', stderr: '' }));
      return later((channel) => channel.onClosed(listener));
    },
    dispose: () => {
      void coming.then(
        (channel) => channel.dispose(),
        () => {},
      );
    },
  };
}

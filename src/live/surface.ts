import type { Disposable } from '../base/lifetime.ts';
import type { Hint } from '../protocols/adapter.ts';
import type { Intent } from '../session/intents.ts';
import type { SessionId } from '../session/model.ts';
import type { Store, StoreChange } from '../session/store.ts';

/** All live sessions, as surfaces see them. */
export interface SessionHost {
  readonly active: SessionId | undefined;
  readonly all: readonly SessionId[];
  get(id: SessionId): HostedSession | undefined;
  onChange(listener: (id: SessionId, change: StoreChange) => void): Disposable;
  /** Fires when a session is added or removed, or another one becomes active. */
  onSessions(listener: () => void): Disposable;
}
export interface HostedSession {
  readonly id: SessionId;
  readonly store: Store;
  /** The profile it was started with. */
  readonly profile: string;
  send(intent: Intent): void;
  hints(text: string, cursor: number): Promise<readonly Hint[]>;
}
/** A surface listens, shows, and sends intents. It holds no session facts. */
export type Surface = (host: SessionHost) => Disposable;

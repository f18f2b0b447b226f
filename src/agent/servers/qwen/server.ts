import type { Model } from '../../models/model.ts';
import type { SessionStore } from '../../sessionStore.ts';
import type { Workspace } from '../../workspace/paths.ts';

/** One conversation, in either dialect. */
export interface QwenServer {
  take(message: Readonly<Record<string, unknown>>): void;
  /** Settles when the running turn is over. */
  end(): Promise<void>;
}
export interface QwenServerOptions {
  readonly write: (message: object) => void;
  readonly exit: (code: number) => void;
  readonly session: string;
  readonly mode: string;
  readonly partials: boolean;
  readonly inputFormat: 'stream-json' | 'stream-chunk-json';
  readonly format: 'stream-json' | 'stream-chunk-json';
  readonly model: Model;
  readonly workspace: Workspace;
  readonly store: SessionStore;
  /** Where another conversation of this folder is kept. */
  readonly storeOf: (session: string) => SessionStore;
}

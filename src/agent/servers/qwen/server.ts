import type { Line } from '../../../protocols/qwen/codec.ts';
import type { Preferences } from '../../conversation.ts';
import type { Model, Sampling } from '../../models/model.ts';
import type { SessionStore } from '../../sessionStore.ts';
import type { Workspace } from '../../workspace/paths.ts';
import type { Mode } from './qwenFrontend.ts';

/** One conversation, in either dialect. */
export interface QwenServer {
  take(line: Line): void;
  /** Something the program writes beside the conversation. */
  log(level: string, text: string): void;
  /** Settles when the running turn is over. */
  end(): Promise<void>;
}
export interface QwenServerOptions {
  readonly write: (line: Line) => void;
  readonly exit: (code: number) => void;
  readonly session: string;
  readonly mode: Mode;
  readonly partials: boolean;
  readonly inputFormat: 'stream-json' | 'stream-chunk-json';
  readonly format: 'stream-json' | 'stream-chunk-json';
  readonly model: Model;
  /** Another model of the same service, or other sampling; undefined where there is nothing to choose. */
  readonly modelFor: (name: string | undefined, sampling: Sampling | undefined) => Model | undefined;
  readonly workspace: Workspace;
  readonly preferences?: Preferences;
  readonly store: SessionStore;
  /** Where another conversation of this folder is kept. */
  readonly storeOf: (session: string) => SessionStore;
}

import type { SessionEvent } from '../../session/events.ts';
import type { Intent } from '../../session/intents.ts';
import type { Offers, Remedy, TurnId } from '../../session/model.ts';
import type { AdapterContext, Hint } from '../adapter.ts';
import type { Peer } from './peers.ts';

/** One line of the agent: a JSON object whose members have not been looked at. */
export type AgentMessage = Readonly<Record<string, unknown>>;

/** A conversation in one dialect, over a process that runs. It never throws for what the agent says. */
export interface Talk {
  /** Begins the handshake; its first lines were `sent` already when they found out the dialect. */
  start(sent: boolean): void;
  take(message: AgentMessage): void;
  send(intent: Intent): void;
  readonly hints?: (text: string, cursor: number) => Promise<readonly Hint[]>;
  /** A turn runs. */
  readonly busy: boolean;
  /** Asks the agent to leave what it is doing, before its input ends. */
  leave(): void;
  /** The process is gone or about to be: every ask, call and turn is settled and every timer gone. */
  end(why: string): void;
}

/** What a conversation is given. */
export interface TalkSetup {
  readonly scene: AdapterContext;
  readonly emit: (event: SessionEvent) => void;
  /** Hands a message to the agent; one line. */
  readonly write: (message: object) => void;
  readonly peer: Peer;
  readonly cwd: string;
  readonly options: TalkOptions;
  /** The id of the `initialize` request, which may have been sent already. */
  readonly initId: string;
  /** The agent's name for the conversation, now. */
  readonly onSession: (id: string) => void;
  /** The mode the agent was started in, when the command line says so. */
  readonly mode: string | undefined;
  /** The handshake is done. */
  readonly onReady: () => void;
  /** The process is to be ended; it is started again on the same conversation when `again`. */
  readonly giveUp: (reason: string, how: { readonly again: boolean; readonly next?: readonly Remedy[] }) => void;
  /** The conversation that was begun before a restart. */
  readonly resume: string | undefined;
  /** What can be done with conversations the agent keeps. */
  readonly keeps: Pick<Offers, 'history' | 'fork' | 'edit'>;
  /** Goes back to before that turn and says something else there, in a new process. */
  readonly goBack: (turnId: TurnId, prompt: Extract<Intent, { type: 'prompt' }>) => void;
  /** The first turn that is shown. */
  readonly firstTurn: () => TurnId | undefined;
  /** The process before this one died in a turn. */
  readonly brokeOff: boolean;
}

/** What a user may set for a profile of this protocol. */
export interface TalkOptions {
  readonly dialect: 'auto' | 'message' | 'envelope';
  readonly format: 'stream-json' | 'stream-chunk-json';
  /** Milliseconds between heartbeats; 0 sends none (envelope dialect). */
  readonly heartbeat: number;
  /** Milliseconds without a sign of life until the agent counts as unresponsive. */
  readonly patience: number;
  /** What every chat request of the envelope dialect carries besides the prompt: a model, sampling, the tools allowed (qwen.md §4). */
  readonly request: object;
  /** Run the program's own script instead of the wrapper that is installed on the PATH. */
  readonly direct: boolean;
}

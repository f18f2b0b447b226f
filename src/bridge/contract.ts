import type { SessionEvent } from '../session/events.ts';
import type { Intent } from '../session/intents.ts';
import type { Content, Remedy, Session, SessionId } from '../session/model.ts';

/** host -> view */
export type ToView =
  /** Always the first answer to `ready`. */
  | { readonly type: 'hello'; readonly strings: Readonly<Record<string, string>>; readonly language: string; readonly trusted: boolean }
  | { readonly type: 'snapshot'; readonly sessionId: SessionId; readonly seq: number; readonly session: Session }
  | {
      readonly type: 'patch';
      readonly sessionId: SessionId;
      readonly from: number;
      readonly seq: number;
      readonly events: readonly SessionEvent[];
    }
  | {
      readonly type: 'sessions';
      readonly list: readonly SessionLine[];
      readonly active?: SessionId;
      readonly profiles: readonly ProfileLine[];
    }
  /** Puts something into the composer: text at the caret, or an attachment. */
  | { readonly type: 'insert'; readonly content: Content }
  | { readonly type: 'focus' }
  /** The caret goes into the composer, if the keys go to the view by now. */
  | { readonly type: 'caret' }
  | { readonly type: 'reply'; readonly id: number; readonly result: unknown }
  | { readonly type: 'failed'; readonly id: number; readonly message: string };
export interface SessionLine {
  readonly id: SessionId;
  readonly title: string;
  readonly agent: string;
  readonly state: 'opening' | 'ready' | 'busy' | 'closed';
  readonly asks: number;
  readonly at: number;
}
export interface ProfileLine {
  readonly id: string;
  readonly name: string;
  readonly isDefault?: true;
}

/** What is changed before it is allowed is changed in the editor's diff, not in the view. */
export type ViewIntent = Exclude<Intent, { readonly type: 'revise' }>;

/** view -> host */
export type FromView =
  | { readonly type: 'ready' }
  /** The user types in the view just now; said a few times a second at most. */
  | { readonly type: 'typing' }
  /** The view got the keyboard, or lost it. */
  | { readonly type: 'focused'; readonly on: boolean }
  | { readonly type: 'resync'; readonly sessionId: SessionId }
  | { readonly type: 'intent'; readonly sessionId: SessionId; readonly intent: ViewIntent }
  | Call;
export type Call = {
  readonly [M in keyof Calls]: { readonly type: 'call'; readonly id: number; readonly method: M; readonly params: Calls[M]['params'] };
}[keyof Calls];

/** The questions of the view that need an answer. Paths are absolute; lines 1-based. */
export interface Calls {
  /** At most 50 paths relative to the workspace folder, best first. */
  findFiles: { readonly params: { readonly query: string }; readonly result: readonly { readonly path: string; readonly label: string }[] };
  hints: {
    readonly params: { readonly sessionId: SessionId; readonly text: string; readonly cursor: number };
    readonly result: readonly { readonly label: string; readonly value: string; readonly description?: string }[];
  };
  open: { readonly params: { readonly path: string; readonly line?: number }; readonly result: null };
  openLink: { readonly params: { readonly uri: string }; readonly result: null };
  /** Opens the native diff of a pending approval (`askId`) or of what a turn changed (`turnId`), one file of it when `path` is there. */
  review: {
    readonly params: { readonly sessionId: SessionId; readonly path?: string; readonly askId?: string; readonly turnId?: string };
    readonly result: null;
  };
  /** Takes back what a turn did to a file. */
  revert: { readonly params: { readonly sessionId: SessionId; readonly turnId: string; readonly path: string }; readonly result: null };
  /** Brings back the files as they were before a turn, once the user has said yes. */
  restoreFiles: { readonly params: { readonly sessionId: SessionId; readonly turnId: string }; readonly result: null };
  /** Copies the conversation and shows the copy. */
  copySession: { readonly params: { readonly sessionId: SessionId }; readonly result: null };
  insertAtCursor: { readonly params: { readonly text: string }; readonly result: null };
  /** Shows a terminal of the session in the editor's terminal panel, to look at. */
  openTerminal: { readonly params: { readonly sessionId: SessionId; readonly terminalId: string }; readonly result: null };
  /** Allows this and the like of it for the session, or lets the user make a rule. */
  allowMore: {
    readonly params: { readonly sessionId: SessionId; readonly askId: string; readonly how: 'session' | 'always' };
    readonly result: null;
  };
  /** Without a profile the default agent; `pick` asks which one. */
  newSession: { readonly params: { readonly profile?: string; readonly pick?: true }; readonly result: null };
  switchSession: { readonly params: { readonly sessionId: SessionId }; readonly result: null };
  closeSession: { readonly params: { readonly sessionId: SessionId }; readonly result: null };
  remedy: { readonly params: { readonly sessionId: SessionId; readonly remedy: Remedy }; readonly result: null };
  trustWorkspace: { readonly params: Record<string, never>; readonly result: null };
}
/** The host's table of answers; a call without an answer does not compile. */
export type Answers = { readonly [M in keyof Calls]: (params: Calls[M]['params']) => Promise<Calls[M]['result']> };

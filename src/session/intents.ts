import type { AskId, CallId, Content, Diff, RuleWords, TurnId } from './model.ts';

/** Everything a user may want of a session, from whichever surface. */
export type Intent =
  /**
   * `replaces`: the prompt replaces that turn's, and the turn is removed with everything after it. `again`: that turn failed, and the user
   * retries it; an adapter that can resumes where the turn broke off, in its place. `sender`: the client of an agent host that wants it.
   */
  | {
      readonly type: 'prompt';
      readonly turnId: TurnId;
      readonly content: readonly Content[];
      readonly replaces?: TurnId;
      readonly again?: TurnId;
      readonly sender?: string;
    }
  | { readonly type: 'command'; readonly turnId: TurnId; readonly path: readonly string[]; readonly args: string }
  /** Adds a message to the running turn; queued where the agent cannot accept it. */
  | { readonly type: 'steer'; readonly turnId: TurnId; readonly content: readonly Content[]; readonly sender?: string }
  | { readonly type: 'unqueue'; readonly turnId: TurnId }
  /** Puts the named prompts of the queue into this order, among their own places; the others keep theirs. */
  | { readonly type: 'reorder'; readonly order: readonly TurnId[] }
  | { readonly type: 'cancel' }
  /** Stops one stoppable call, or the command of one terminal; the turn continues. */
  | { readonly type: 'stopCall'; readonly callId: CallId }
  | { readonly type: 'stopTerminal'; readonly terminalId: string }
  | { readonly type: 'answer'; readonly askId: AskId; readonly answer: Answer }
  /** Changes the proposal before the answer, or tells of its changed files, as `ask.revised` does; without diffs the original proposal applies again. */
  | { readonly type: 'revise'; readonly askId: AskId; readonly diffs: readonly Diff[]; readonly stale?: readonly Diff[] }
  | { readonly type: 'setMode'; readonly modeId: string }
  /** A boolean for a switch, a choice's value for a choice. */
  | { readonly type: 'setOption'; readonly optionId: string; readonly value: string | boolean };
export type Answer =
  /** `rule`: the rule for the session that the user made with this answer. */
  | {
      readonly kind: 'option';
      readonly optionId: string;
      readonly edited?: string;
      readonly feedback?: string;
      readonly rule?: RuleWords;
    }
  | { readonly kind: 'fields'; readonly values: Readonly<Record<string, readonly string[]>> }
  | { readonly kind: 'cancelled' };

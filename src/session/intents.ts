import type { AskId, CallId, Content, Diff, TurnId } from './model.ts';

/** Everything a user may want of a session, from whichever surface. */
export type Intent =
  /**
   * `replaces`: said instead of what began that turn, which is taken back with everything after it. `again`: that turn failed, and the user
   * wants it tried again; an adapter that can goes on where it broke off, in its place.
   */
  | {
      readonly type: 'prompt';
      readonly turnId: TurnId;
      readonly content: readonly Content[];
      readonly replaces?: TurnId;
      readonly again?: TurnId;
    }
  | { readonly type: 'command'; readonly turnId: TurnId; readonly path: readonly string[]; readonly args: string }
  /** Says something into the running turn; where the agent cannot take it, it is queued. */
  | { readonly type: 'steer'; readonly turnId: TurnId; readonly content: readonly Content[] }
  | { readonly type: 'unqueue'; readonly turnId: TurnId }
  | { readonly type: 'cancel' }
  /** Stops one call, or the command of one terminal, that says it can be stopped; the turn goes on. */
  | { readonly type: 'stopCall'; readonly callId: CallId }
  | { readonly type: 'stopTerminal'; readonly terminalId: string }
  | { readonly type: 'answer'; readonly askId: AskId; readonly answer: Answer }
  /** What is proposed was changed before the answer; without diffs it is as it was proposed. */
  | { readonly type: 'revise'; readonly askId: AskId; readonly diffs: readonly Diff[] }
  | { readonly type: 'setMode'; readonly modeId: string }
  /** A boolean for a switch, a choice's value for a choice. */
  | { readonly type: 'setOption'; readonly optionId: string; readonly value: string | boolean };
export type Answer =
  | { readonly kind: 'option'; readonly optionId: string; readonly edited?: string; readonly feedback?: string }
  | { readonly kind: 'fields'; readonly values: Readonly<Record<string, readonly string[]>> }
  | { readonly kind: 'cancelled' };

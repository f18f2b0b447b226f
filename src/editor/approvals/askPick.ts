import type { Disposable } from '../../base/lifetime.ts';
import type { ApprovalAnswer } from '../../session/approvalAnswers.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, Ask } from '../../session/model.ts';

/** How an ask left the screen. Only `answered` and `chosen` are decisions. */
export type PickOutcome =
  | { readonly how: 'answered'; readonly answer: Answer }
  /** `ask`: as it was on the screen when the answer was chosen. */
  | { readonly how: 'chosen'; readonly ask: Approval; readonly answer: ApprovalAnswer }
  /** The user wants to see the diff without the pick over it. */
  | { readonly how: 'look'; readonly path?: string }
  | { readonly how: 'dismissed' }
  | { readonly how: 'takenDown' };

/** One ask on the screen. */
export interface AskPick extends Disposable {
  /** Settles once, when it has left the screen. */
  readonly outcome: Promise<PickOutcome>;
  /** The same ask, as it is by now. */
  update(ask: Ask, title: string): void;
}

/** A promise of an outcome; the first one that settles it counts. */
export function pendingOutcome(): { readonly promise: Promise<PickOutcome>; readonly settle: (outcome: PickOutcome) => void } {
  let settle: (outcome: PickOutcome) => void = () => {};
  const promise = new Promise<PickOutcome>((resolve) => {
    settle = resolve;
  });
  return { promise, settle };
}

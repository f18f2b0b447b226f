import type { Disposable } from '../../base/lifetime.ts';
import type { ApprovalAnswer } from '../../session/approvalAnswers.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, Ask } from '../../session/model.ts';

/** How an ask left the screen. Only `answered` and `chosen` are decisions. */
export type PickOutcome =
  | { readonly how: 'answered'; readonly answer: Answer }
  /** `ask`: as it was on the screen when the answer was chosen. */
  | { readonly how: 'chosen'; readonly ask: Approval; readonly answer: ApprovalAnswer }
  /** The user wants to see it without the pick over it: the diff of a file, or a text. */
  | { readonly how: 'look'; readonly at: Look }
  | { readonly how: 'dismissed' }
  | { readonly how: 'takenDown' };

/** What is looked at before an answer. */
export interface Look {
  /** The file, of an edit. */
  readonly path?: string;
  /** What is asked, whole; `at`: the place of it that is dangerous, in UTF-16 units. */
  readonly text?: { readonly name: string; readonly text: string; readonly at?: number };
}

/** One ask on the screen. */
export interface AskPick extends Disposable {
  /** Settles once, when it has left the screen. */
  readonly outcome: Promise<PickOutcome>;
  /** The same ask, as it is by now. */
  update(ask: Ask, title: string): void;
  /** Moves the focus to the answer with that letter; nothing where there is none. */
  focus?(letter: string): void;
}

/** A promise of an outcome; the first one that settles it counts. */
export function pendingOutcome(): { readonly promise: Promise<PickOutcome>; readonly settle: (outcome: PickOutcome) => void } {
  let settle: (outcome: PickOutcome) => void = () => {};
  const promise = new Promise<PickOutcome>((resolve) => {
    settle = resolve;
  });
  return { promise, settle };
}

import type { Disposable } from '../../base/lifetime.ts';
import type { ApprovalAnswer } from '../../session/approvalAnswers.ts';
import type { Answer } from '../../session/intents.ts';
import type { Approval, Ask } from '../../session/model.ts';
import type { PickRoom } from './pickRoom.ts';

/** How an ask left the screen. Only `answered` and `chosen` are decisions. */
export type PickOutcome =
  | { readonly how: 'answered'; readonly answer: Answer }
  /** `ask`: as it was on the screen when the answer was chosen. */
  | { readonly how: 'chosen'; readonly ask: Approval; readonly answer: ApprovalAnswer }
  /** The user wants to see the diff of a file, or a text, without the pick over it. */
  | { readonly how: 'look'; readonly at: AskPreview }
  | { readonly how: 'dismissed' }
  | { readonly how: 'takenDown' };

/** The content that the user looks at before answering. */
export interface AskPreview {
  /** The file of an edit. */
  readonly path?: string;
  /** The whole ask; `at`: the offset of its dangerous part, in UTF-16 units. */
  readonly text?: { readonly name: string; readonly text: string; readonly at?: number };
}

/** One ask on the screen. */
export interface AskPick extends Disposable {
  /** Settles once, when the pick is over. */
  readonly outcome: Promise<PickOutcome>;
  /** Shows the current state of the same ask. */
  update(ask: Ask, title: string): void;
  /** Moves the focus to the answer with that letter, if there is one. */
  focus?(letter: string): void;
  /** The window has another size: shows what fits now. */
  resized?(room: PickRoom): void;
  /** Ends the pick, as a chosen answer does: it takes no more keys, and is on the screen until it is disposed. */
  end?(): void;
}

/** A promise of an outcome; the first one that settles it counts. */
export function pendingOutcome(): { readonly promise: Promise<PickOutcome>; readonly settle: (outcome: PickOutcome) => void } {
  let settle: (outcome: PickOutcome) => void = () => {};
  const promise = new Promise<PickOutcome>((resolve) => {
    settle = resolve;
  });
  return { promise, settle };
}

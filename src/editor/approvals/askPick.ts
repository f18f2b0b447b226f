import type * as vscode from 'vscode';
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
  /** Answered, keeps the keyboard until it is disposed. Settles when the editor has hidden it, as it does once the user goes elsewhere. */
  hold(): Promise<void>;
}

/** A promise of an outcome; the first one that settles it counts. */
export function pendingOutcome(): { readonly promise: Promise<PickOutcome>; readonly settle: (outcome: PickOutcome) => void } {
  let settle: (outcome: PickOutcome) => void = () => {};
  const promise = new Promise<PickOutcome>((resolve) => {
    settle = resolve;
  });
  return { promise, settle };
}

/** Leaves nothing to choose in an answered input, which swallows keys. Settles when the editor has hidden it. */
export function holdInput(input: vscode.InputBox | vscode.QuickPick<vscode.QuickPickItem>): Promise<void> {
  if ('items' in input) input.items = [];
  input.placeholder = '';
  input.buttons = [];
  input.busy = true;
  // The user who goes elsewhere takes the keyboard along.
  input.ignoreFocusOut = false;
  input.onDidChangeValue(() => {
    input.value = '';
  });
  return new Promise((resolve) => input.onDidHide(resolve));
}

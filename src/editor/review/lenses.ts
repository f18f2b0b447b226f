import { Emitter } from '../../base/emitter.ts';
import { t } from '../../base/l10n.ts';
import type { Disposable } from '../../base/lifetime.ts';
import type { UnreviewedFile } from '../../live/review/changeSet.ts';
import { isOtherEncoding, linkWords, mannerWords, noHunksWords } from '../../session/fileWords.ts';

/** The default keys of commands that lenses run, as the manifest binds them: what follows Ctrl+K. The editor tells no extension what a user has bound. */
export const LENS_KEYS: Readonly<Record<string, string>> = {
  'parley.acceptDiff': 'A',
  'parley.diffAnswers': 'Shift+A',
  'parley.rejectDiff': 'X',
  'parley.diffFeedback': 'Shift+X',
  'parley.toggleHunk': 'Shift+N',
  'parley.keepHunk': 'Shift+Y',
  'parley.undoHunk': 'Shift+N',
};

/** The keyboard of the window: in a remote window it may be of either kind. */
export type Keyboard = 'mac' | 'other' | 'either';

/** The tooltip of a lens: its title and the keys of its command; undefined for a lens without keys. */
export function lensTooltip(title: string, command: string, keyboard: Keyboard): string | undefined {
  const keys = LENS_KEYS[command];
  if (keys === undefined) return undefined;
  const other = `Ctrl+K ${keys}`;
  const mac = `⌘K ${keys.replace('Shift+', '⇧')}`;
  return `${title} (${{ mac, other, either: `${other}, ${mac}` }[keyboard]})`;
}

/** Why a file has no hunks, and what has changed of it. `isGone`: it stands for a file that was deleted. */
export function changeWords(file: Pick<UnreviewedFile, 'permissions' | 'form' | 'links' | 'noLines'>, isGone = false): string {
  const why = isOtherEncoding(file.form) ? noHunksWords('encoding') : '';
  const words = [why, mannerWords(file) || (file.links ? linkWords(file.links) : '')].filter(Boolean).join(' · ');
  return words || (isGone ? t('deleted') : noHunksWords(file.noLines));
}

/** Milliseconds in which an editor that heard of a change asks for its lenses: it waits a quarter of a second itself. */
const ASKED_BY = 1000;
/** An editor that shows no lenses never asks. */
const MOST_TOLD = 3;

/**
 * Tells the editors that their lenses have changed, and tells those that do not ask for them again: an editor forgets to where the keyboard leaves its
 * text before it has asked.
 */
export class LensChanges implements Disposable {
  readonly #changes = new Emitter<void>();
  readonly onChange = this.#changes.listen;
  /** Addresses of documents that were not asked about since. */
  readonly #waiting = new Set<string>();
  /** Of these the text has changed: the editors ask by themselves once it rests, and to tell them would only put that off. */
  readonly #asking = new Set<string>();
  #again: NodeJS.Timeout | undefined;

  /** `shown`: addresses of the documents on the screen whose lenses may have changed. */
  refresh(shown: readonly string[]): void {
    const isAsking = shown.length > 0 && shown.every((one) => this.#asking.has(one));
    // An editor may have forgotten to ask after a change before.
    for (const one of shown) this.#waiting.add(one);
    this.#tell(MOST_TOLD, !isAsking);
  }

  /** The text of that document has changed, or, without `parts` that have, whether it is saved: then no editor asks. */
  textChanged(address: string, parts: readonly unknown[]): void {
    if (parts.length > 0) this.#asking.add(address);
  }

  /** An editor asks for the lenses of that document. */
  asked(address: string): void {
    this.#waiting.delete(address);
    this.#asking.delete(address);
  }

  dispose(): void {
    clearTimeout(this.#again);
    this.#changes.dispose();
  }

  #tell(most: number, isNow = true): void {
    clearTimeout(this.#again);
    if (isNow) this.#changes.fire();
    if (this.#waiting.size === 0) return;
    if (most === 1) return this.#waiting.clear();
    this.#again = setTimeout(() => this.#waiting.size > 0 && this.#tell(most - 1), ASKED_BY);
  }
}

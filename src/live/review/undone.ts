import { hasMixedEnds, plain } from '../../session/lineEnds.ts';
import { mergedInto } from '../../session/merge.ts';
import { beforeText, compareTexts, hunksOfSegments, settleHunks, withUserText } from '../../session/segments.ts';

/** Files in which the undoing of an undoing is noticed: the latest ones. */
export const MOST_UNDONE = 20;
/** Milliseconds in which a save that is under way ends. */
const LONGEST_SAVE = 5000;

/** A text with all that was undone in it, and without; both have \n line ends. */
interface Undone {
  readonly with: string;
  readonly without: string;
}

/** Undone changes of files, for as long as the editor can undo that: lines that the user brings back are the agent's. */
export class UndoneTexts {
  readonly #texts = new Map<string, Undone>();

  has(name: string): boolean {
    return this.#texts.has(name);
  }

  /** undefined stands for a text that is not compared. */
  note(name: string, was: string | undefined, now: string | undefined): void {
    const known = this.#texts.get(name);
    this.#texts.delete(name);
    if (was === undefined || now === undefined || hasMixedEnds(was) || hasMixedEnds(now)) return;
    const whole = known && mergedInto(known.with, known.without, plain(was));
    this.#texts.set(name, { with: whole ?? plain(was), without: plain(now) });
    for (const oldest of this.#texts.keys()) if (this.#texts.size > MOST_UNDONE) this.#texts.delete(oldest);
  }

  forget(name: string): void {
    this.#texts.delete(name);
  }

  /** Lines of the agent's that the file holds again are no longer undone. */
  follow(name: string, text: string | undefined): void {
    const undone = this.#texts.get(name);
    const whole = undone && text !== undefined ? mergedInto(undone.with, undone.without, plain(text)) : undefined;
    if (whole === undefined || text === undefined) this.#texts.delete(name);
    else this.#texts.set(name, { with: whole, without: plain(text) });
  }

  /** The text of the user without the lines that they have brought back, and the text that these were undone in; undefined where there are none. */
  without(name: string, text: string): { readonly user: string; readonly base: string } | undefined {
    const undone = this.#texts.get(name);
    if (!undone || hasMixedEnds(text)) return undefined;
    const since = withUserText(compareTexts(undone.without, undone.with), plain(text));
    // Lines that the user has written are theirs, however similar.
    const back = settleHunks(since, ({ written }) => written !== undefined, 'keep');
    return hunksOfSegments(back).length === 0 ? undefined : { user: beforeText(back), base: undone.without };
  }
}

/** Saves of the user's that are under way; files by their absolute paths. */
export class UserSaves {
  readonly #ends = new Map<string, (isSaved: boolean) => void>();

  /** Settles once that save has ended; with false where it does not happen. */
  begin(file: string): Promise<boolean> {
    this.#ends.get(file)?.(false);
    return new Promise((resolve) => {
      const end = (isSaved: boolean) => {
        clearTimeout(timer);
        this.#ends.delete(file);
        resolve(isSaved);
      };
      const timer = setTimeout(end, LONGEST_SAVE, false);
      this.#ends.set(file, end);
    });
  }

  ended(file: string): void {
    this.#ends.get(file)?.(true);
  }
}

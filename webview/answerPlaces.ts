/** Milliseconds that an answer stands in sight before a press on it counts: an earlier one was meant for what was there before. */
export const UNREAD = 500;
/** Milliseconds for which places are remembered: a press may be handled later than it was made. */
const REMEMBERED = 5000;

export interface Point {
  readonly x: number;
  readonly y: number;
}
/** An answer that is drawn, and where. */
export interface AnswerPlace {
  readonly answer: string;
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Where the answers of a card have been lately. Times are those of the page, in milliseconds. */
export class AnswerPlaces {
  /** When the card was first drawn. */
  #begun: number | undefined;
  /** When each answer was first drawn. */
  #since: ReadonlyMap<string, number> = new Map();
  #places: readonly AnswerPlace[] = [];
  #earlier: readonly { readonly until: number; readonly places: readonly AnswerPlace[] }[] = [];

  /** Another question, or one that was out of sight: nothing of it has been read. */
  forget(): void {
    this.#begun = undefined;
    this.#since = new Map();
    this.#places = [];
    this.#earlier = [];
  }

  draw(places: readonly AnswerPlace[], now: number): void {
    this.#begun ??= now;
    if (JSON.stringify(places) === JSON.stringify(this.#places)) return;
    this.#earlier = [...this.#earlier.filter(({ until }) => until > now - REMEMBERED), { until: now, places: this.#places }];
    this.#places = places;
    this.#since = new Map(places.map(({ answer }) => [answer, this.#since.get(answer) ?? now]));
  }

  /** Milliseconds until a press at that time and place would have counted, 0 or less when it does. */
  wait(answer: string, at: number, point: Point): number {
    const since = this.#since.get(answer);
    if (since === undefined) return UNREAD;
    const isOther = (one: AnswerPlace) => one.answer !== answer && contains(one, point);
    const others = this.#earlier.filter(({ places }) => places.some(isOther)).map(({ until }) => until);
    return Math.max(since, ...others) + UNREAD - at;
  }

  /** The same for the keyboard, which only moves to what is there: the card must have been readable. */
  waitForKeys(at: number): number {
    return this.#begun === undefined ? UNREAD : this.#begun + UNREAD - at;
  }
}

function contains({ left, top, right, bottom }: AnswerPlace, { x, y }: Point): boolean {
  return left <= x && x <= right && top <= y && y <= bottom;
}

/** Milliseconds without a key, a click or a scroll after which an editor may be scrolled. */
export const REST = 3000;
/** The column beside the active one, as the editor numbers it. */
export const BESIDE = -2;

/** An editor on the screen. */
export interface OnScreen {
  readonly uri: string;
  readonly column: number;
}
export interface Scene {
  readonly visible: readonly OnScreen[];
  /** All columns, also those without a text editor in front. */
  readonly columns: readonly number[];
  readonly active: number;
  /** Where a file was shown last. */
  readonly own: number | undefined;
  /** When the editor of that file last moved other than by our doing, in milliseconds. */
  readonly touchedAt: (uri: string) => number | undefined;
  /** When the user last worked in the editor of that file. */
  readonly workedAt: (uri: string) => number | undefined;
  /** When the turn began: the editor that was worked in since is where the user is. */
  readonly since: number;
  readonly now: number;
}
export type Place = { readonly column: number } | { readonly waitMs: number };

/** Where to show a file without getting in the way: never over an editor the user works in, and never scrolling one that was just touched. */
export function placeFor(uri: string, scene: Scene): Place {
  const { visible, columns, active, own, touchedAt, workedAt, since, now } = scene;
  const restsIn = (one: OnScreen | undefined) => (one ? Math.max(0, (touchedAt(one.uri) ?? Number.NEGATIVE_INFINITY) + REST - now) : 0);
  const inFront = (column: number) => visible.find((one) => one.column === column);
  const shown = visible.filter((one) => one.uri === uri);
  const there = shown.find((one) => one.column === own) ?? shown[0];
  if (there) return restsIn(there) > 0 ? { waitMs: restsIn(there) } : { column: there.column };
  // The keys go to the active column: it is taken only while the user has done nothing there since they set the agent going.
  const worksIn = (column: number) => {
    const one = column === active ? inFront(column) : undefined;
    return one !== undefined && (workedAt(one.uri) ?? Number.NEGATIVE_INFINITY) >= since;
  };
  const known = own !== undefined && columns.includes(own) ? [own] : [];
  const all = [...known, active, ...columns].filter((column) => !worksIn(column));
  if (all.length === 0) return { column: BESIDE };
  const free = all.find((column) => restsIn(inFront(column)) === 0);
  if (free !== undefined) return { column: free };
  return { waitMs: Math.min(...all.map((column) => restsIn(inFront(column)))) };
}

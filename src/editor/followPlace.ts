/** Milliseconds without a key, a click or a scroll after which an editor may be scrolled. */
export const REST = 3000;
const LONG_AGO = Number.NEGATIVE_INFINITY;
/** The column beside the active one, as the editor numbers it. */
export const BESIDE = -2;

/** Files whose last touch is remembered. */
const MOST_FILES = 200;
/** Milliseconds in which a scroll of an editor where we just showed something counts as our own. */
const OWN_SCROLL = 1000;

/** The user's activity in the editors, by file address; times in milliseconds. Our own actions do not count. */
export interface UserActivity {
  /** When the editor of a file last scrolled. */
  readonly moved: ReadonlyMap<string, number>;
  /** When the user last typed, clicked or went there. */
  readonly worked: ReadonlyMap<string, number>;
  readonly visible: ReadonlySet<string>;
  /** Files on the screen that something other than us opened. */
  readonly appeared: ReadonlySet<string>;
  /** True when the active editor is one of our diffs. */
  readonly inReview: boolean;
  /** The editor the user went to last. */
  readonly chosen?: string | undefined;
  /** When the user last went to a file that was not on the screen. */
  readonly jumpedAt?: number | undefined;
  readonly own?: { readonly uri: string; readonly at: number };
}
export type EditorEvent =
  | { readonly type: 'worked' | 'moved' | 'shownByUs'; readonly uri: string; readonly at: number }
  | { readonly type: 'activated'; readonly uri?: string; readonly inReview?: boolean; readonly at: number }
  | { readonly type: 'visible'; readonly uris: readonly string[]; readonly at: number }
  | { readonly type: 'jumpForgotten' };

export function noActivity(visible: readonly string[]): UserActivity {
  return { moved: new Map(), worked: new Map(), visible: new Set(visible), appeared: new Set(), inReview: false };
}

/** The activity after an event of the editor. */
export function afterEvent(activity: UserActivity, event: EditorEvent): UserActivity {
  switch (event.type) {
    case 'worked':
      return { ...activity, worked: noted(activity.worked, event.uri, event.at) };
    case 'moved': {
      const { own } = activity;
      const isOurs = own !== undefined && own.uri === event.uri && event.at - own.at <= OWN_SCROLL;
      return isOurs ? activity : { ...activity, moved: noted(activity.moved, event.uri, event.at) };
    }
    case 'shownByUs':
      return { ...activity, own: { uri: event.uri, at: event.at } };
    case 'activated': {
      const { uri, inReview = activity.inReview, at } = event;
      const next = { ...activity, inReview, chosen: undefined };
      if (uri === undefined) return next;
      // An editor that appears because one of our diffs closed was not chosen by the user.
      if (activity.inReview || inReview || uri === activity.own?.uri) return { ...next, appeared: without(activity.appeared, uri) };
      return jumped({ ...next, chosen: uri, worked: noted(activity.worked, uri, at) }, at);
    }
    case 'visible': {
      const visible = new Set(event.uris);
      const came = event.uris.filter((uri) => !activity.visible.has(uri) && uri !== activity.own?.uri);
      const appeared = new Set([...activity.appeared, ...came].filter((uri) => visible.has(uri)));
      return jumped({ ...activity, visible, appeared }, event.at);
    }
    case 'jumpForgotten':
      return { ...activity, jumpedAt: undefined };
  }
}

/** Detects a jump, whose active and visible events the editor sends in either order. */
function jumped(activity: UserActivity, at: number): UserActivity {
  const { chosen, appeared } = activity;
  if (chosen === undefined || !appeared.has(chosen)) return activity;
  return { ...activity, appeared: without(appeared, chosen), jumpedAt: at };
}

function without(uris: ReadonlySet<string>, uri: string): ReadonlySet<string> {
  return new Set([...uris].filter((one) => one !== uri));
}

function noted(times: ReadonlyMap<string, number>, uri: string, at: number): ReadonlyMap<string, number> {
  const others = [...times].filter(([one]) => one !== uri);
  return new Map([...others.slice(-(MOST_FILES - 1)), [uri, at]]);
}

/** An editor on the screen. */
export interface OnScreen {
  readonly uri: string;
  readonly column: number;
}
export interface EditorLayout {
  readonly visible: readonly OnScreen[];
  /** All columns, also those without a text editor in front. */
  readonly columns: readonly number[];
  readonly active: number;
  /** The column where a file was shown last. */
  readonly own: number | undefined;
  readonly activity: UserActivity;
  /** When the turn began: the user is in the editor they used since. */
  readonly since: number;
  readonly now: number;
}
export type FollowTarget = { readonly column: number } | { readonly waitMs: number };

/** Where to show a file without disturbing: never over an editor the user works in, and never scrolling one that was just touched. */
export function placeFor(uri: string, layout: EditorLayout): FollowTarget {
  const { visible, columns, active, own, activity, since, now } = layout;
  const touchedAt = (file: string) => Math.max(activity.moved.get(file) ?? LONG_AGO, activity.worked.get(file) ?? LONG_AGO);
  const idleIn = (one: OnScreen | undefined) => (one ? Math.max(0, touchedAt(one.uri) + REST - now) : 0);
  const inFront = (column: number) => visible.find((one) => one.column === column);
  const shown = visible.filter((one) => one.uri === uri);
  const there = shown.find((one) => one.column === own) ?? shown[0];
  if (there) return idleIn(there) > 0 ? { waitMs: idleIn(there) } : { column: there.column };
  // The active column receives the keys: it is used only while the user has done nothing there since they started the agent.
  const worksIn = (column: number) => {
    const one = column === active ? inFront(column) : undefined;
    return one !== undefined && (activity.worked.get(one.uri) ?? LONG_AGO) >= since;
  };
  const known = own !== undefined && columns.includes(own) ? [own] : [];
  const all = [...known, active, ...columns].filter((column) => !worksIn(column));
  if (all.length === 0) return { column: BESIDE };
  const free = all.find((column) => idleIn(inFront(column)) === 0);
  if (free !== undefined) return { column: free };
  return { waitMs: Math.min(...all.map((column) => idleIn(inFront(column)))) };
}

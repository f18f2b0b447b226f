import type { DiffLine } from '../../session/hunks.ts';

/** A window of the editor, in pixels as its page counts them. */
export interface WindowSize {
  readonly width: number;
  readonly height: number;
}

/** The room that the editor gives a quick-pick, and what of a diff is in sight beside it. */
export interface PickRoom {
  /** Small letters of the editor's font that a row holds before its end is cut. */
  readonly row: number;
  /** Characters of a line of the title, at least. */
  readonly title: number;
  /** Rows that are in sight without scrolling, at most. */
  readonly rows: number;
  /** Rows of changed lines below the answers that are surely in sight. */
  readonly under: number;
  /** Columns of a diff that are in sight. */
  readonly columns: number;
  /** Pixels of a line in text editors. */
  readonly lineHeight: number;
}

/** Small letters in a row of the widest pick. */
export const ROW_WIDTH = 64;
/** The widest pick, in pixels, and the part of a window that a pick takes at most, in width and height. */
const [WIDEST, OF_WIDTH, OF_HEIGHT] = [600, 0.62, 0.4];
/** Pixels beside the text of a row, and of a row itself, which grow with the zoom of the window. */
const [BESIDE_TEXT, ROW] = [60, 22];
/** Rows of answers and of what separates them from the rest. */
const ANSWERS = 6;
/** The room in a window whose size nobody knows: that of a usual one. The rows are those of the highest pick, as they may lie over a change. */
const USUAL: Omit<PickRoom, 'lineHeight'> = { row: ROW_WIDTH, title: 60, rows: 30, under: 10, columns: 100 };
/** From this width on a diff has its sides beside each other. */
const TWO_SIDES = 1250;
/** Pixels of a smaller window beside the text of its diff, and of a letter in it. */
const [BESIDE_DIFF, LETTER] = [440, 8];

/** Computes the room in a window. `zoom`: how much larger than usual its page is drawn. */
export function pickRoom(window: WindowSize | undefined, lineHeight: number, zoom = 1): PickRoom {
  if (!window) return { ...USUAL, lineHeight };
  // A page may count in pixels of the screen: a larger zoom leaves less room, a smaller one is not relied on.
  const scale = Math.max(1, zoom);
  const [width, height] = [window.width / scale, window.height / scale];
  const ofText = (Math.min(WIDEST, OF_WIDTH * width) - BESIDE_TEXT) / (WIDEST - BESIDE_TEXT);
  const within = (least: number, value: number, most: number) => Math.floor(Math.max(least, Math.min(most, value)));
  const rows = within(4, (OF_HEIGHT * height) / ROW, USUAL.rows);
  return {
    row: within(16, USUAL.row * ofText, USUAL.row),
    title: within(12, USUAL.title * ofText, USUAL.title),
    rows,
    under: within(1, rows - ANSWERS, USUAL.under),
    columns: width < TWO_SIDES ? within(20, (width - BESIDE_DIFF) / LETTER, USUAL.columns) : USUAL.columns,
    lineHeight,
  };
}

/** Pixels of a line of the pick's title. They grow with the zoom of the window, as the lines of editors do. */
const TITLE_LINE = 18;
/** Pixels of the pick's title and input below the top edge of an editor without tabs and breadcrumbs. */
const HEAD = 72;

/**
 * The number of changed lines, from the first, that the pick must show itself, because it may cover them and no editor scrolls above its first line.
 * Rows that show them make the pick longer. `above`: its rows without them.
 */
export function linesUnderPick(
  lines: readonly Pick<DiffLine, 'before' | 'after'>[],
  above: number,
  { title, room }: { readonly title: string; readonly room: PickRoom },
): number {
  const head = HEAD + TITLE_LINE * Math.floor(title.length / room.title);
  let count = 0;
  while (count < Math.min(lines.length, room.rows)) {
    const covered = Math.ceil((head + ROW * Math.min(above + count, room.rows)) / room.lineHeight);
    const { before = 1, after = before } = lines[count] ?? {};
    if (Math.min(before, after) > covered) return count;
    count += 1;
  }
  return count;
}

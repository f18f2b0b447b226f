import { t } from '../base/l10n.ts';
import { dayLabel } from './days.ts';
import type { SessionId } from './model.ts';

export interface GroupedSession {
  readonly id: SessionId;
  /** When it was last used, milliseconds since the epoch; 0 for one in which nothing was said. */
  readonly at: number;
  readonly pinned?: true;
}
/** Sessions under one heading: pinned ones, or those of a day or month. */
export interface SessionGroup<L extends GroupedSession> {
  readonly label: string;
  readonly lines: readonly L[];
}

/** The sessions that were found, with the current state of those that are open: pinned ones first, then newest first. */
export function currentLines<L extends GroupedSession>(found: readonly L[], open: readonly L[]): readonly L[] {
  const states = new Map(open.map((line) => [line.id, line]));
  const lines = found.map((line) => {
    const now = states.get(line.id) ?? line;
    return line.pinned ? { ...now, pinned: line.pinned } : now;
  });
  return sortedLines(lines);
}

/** Pinned sessions first, then newest first; those in which nothing was said are the newest. */
export function sortedLines<L extends GroupedSession>(lines: readonly L[]): readonly L[] {
  const rank = ({ pinned }: L) => (pinned ? 0 : 1);
  return lines.toSorted((a, b) => rank(a) - rank(b) || (b.at || Number.MAX_VALUE) - (a.at || Number.MAX_VALUE));
}

/** Sorted sessions under their headings. */
export function groupedByDay<L extends GroupedSession>(lines: readonly L[], now: number, language: string): readonly SessionGroup<L>[] {
  const groups = new Map<string, L[]>();
  for (const line of lines) {
    const label = line.pinned ? t('Pinned') : dayLabel(line.at || now, now, language);
    const group = groups.get(label);
    if (group) group.push(line);
    else groups.set(label, [line]);
  }
  return [...groups].map(([label, group]) => ({ label, lines: group }));
}

import type { Content } from '../src/session/model.ts';

/** The name being typed after an @ before the caret; from..to includes the @. */
export function mentionAt(text: string, caret: number): { readonly query: string; readonly from: number; readonly to: number } | undefined {
  const found = /(?:^|[\s([{"'])@([^\s@]*)$/.exec(text.slice(0, caret));
  const query = found?.[1];
  return query === undefined ? undefined : { query, from: caret - query.length - 1, to: caret };
}

/** The mentions whose names are still in the text. */
export function named(
  text: string,
  mentions: Readonly<Record<string, Content>>,
): readonly { readonly label: string; readonly content: Content }[] {
  return Object.entries(mentions).flatMap(([label, content]) => (text.includes(`@${label}`) ? [{ label, content }] : []));
}

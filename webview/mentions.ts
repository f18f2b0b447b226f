import type { Content } from '../src/session/model.ts';

/** The file name being typed after an @ before the caret; from..to includes the @. */
export function mentionAt(text: string, caret: number): { readonly query: string; readonly from: number; readonly to: number } | undefined {
  const found = /(?:^|[\s([{"'])@([^\s@]*)$/.exec(text.slice(0, caret));
  const query = found?.[1];
  return query === undefined ? undefined : { query, from: caret - query.length - 1, to: caret };
}

/** The files that are still named in the text; `mentions` is name -> path. */
export function mentioned(text: string, mentions: Readonly<Record<string, string>>): readonly Content[] {
  return Object.entries(mentions).flatMap(([label, path]): Content[] => (text.includes(`@${label}`) ? [{ type: 'file', path }] : []));
}

import { gitGlob } from './glob.ts';

/** True or false when the rules say that a path below their folder is ignored or is not, undefined when they say nothing about it. */
export type IgnoreRules = (relative: string, directory: boolean) => boolean | undefined;

interface Rule {
  readonly ignores: boolean;
  readonly foldersOnly: boolean;
  readonly matches: (path: string) => boolean;
}

/** More rules than this of one file are not read. */
const MOST = 5000;

/** The rules of a .gitignore (https://git-scm.com/docs/gitignore), matched in linear time: the file is the workspace's, not the user's. */
export function ignoreRules(text: string): IgnoreRules {
  const rules = text.split(/\r?\n/, MOST).flatMap(ruleOf);
  return (relative, directory) => {
    // No rule can re-include a file in an ignored folder.
    for (let slash = relative.indexOf('/'); slash >= 0; slash = relative.indexOf('/', slash + 1)) {
      if (verdict(rules, relative.slice(0, slash), true)) return true;
    }
    return verdict(rules, relative, directory);
  };
}

/** The last rule that matches decides. */
function verdict(rules: readonly Rule[], path: string, directory: boolean): boolean | undefined {
  return rules.findLast((rule) => (directory || !rule.foldersOnly) && rule.matches(path))?.ignores;
}

function ruleOf(line: string): readonly Rule[] {
  let glob = withoutBlanksAtEnd(line);
  if (glob === '' || glob.startsWith('#')) return [];
  const negated = glob.startsWith('!');
  if (negated) glob = glob.slice(1);
  const foldersOnly = glob.endsWith('/');
  if (foldersOnly) glob = glob.slice(0, -1);
  if (glob === '') return [];
  const anchored = glob.includes('/');
  const matches = gitGlob(glob.startsWith('/') ? glob.slice(1) : glob);
  return [{ ignores: !negated, foldersOnly, matches: anchored ? matches : (path) => matches(path.slice(path.lastIndexOf('/') + 1)) }];
}

/** Blanks at the end do not count unless a backslash comes before them. */
function withoutBlanksAtEnd(line: string): string {
  let end = line.length;
  while (end > 0 && line[end - 1] === ' ' && line[end - 2] !== '\\') end -= 1;
  return line.slice(0, end);
}

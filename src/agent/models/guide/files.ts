import { call, type GuideContext, linesOf, type Part } from './script.ts';

export type FoundFile = { readonly path: string; readonly folder: boolean } | { readonly problem: string };

/** The file or folder a user means: as written, by its last part anywhere, or a list of names that come near. */
export function* fileNamed(scene: GuideContext, given: string): Part<FoundFile> {
  const { say } = scene;
  const name = given.replace(/^\.\//, '').replace(/\\/g, '/').replace(/\/+$/, '');
  if (name === '' || name === '.') return { path: '.', folder: true };
  if (/^(?:\/|~|\.\.|[A-Za-z]:)/.test(name)) return { path: given, folder: false };
  const literal = name.replace(/[*?[\]{}()!+@]/g, '\\$&');
  const found = linesOf(yield* call('Glob', { pattern: `**/${literal}`, include_dirs: true }));
  const exact = found.find((path) => bare(path) === name);
  if (exact !== undefined) return foundAt(exact);
  const [only] = found;
  if (only !== undefined && found.length === 1) return foundAt(only);
  if (found.length > 1) {
    const list = found.slice(0, 10).map((path) => `- \`${path}\``);
    return {
      problem: say(
        `There are ${found.length} of that name. Which one?\n\n${list.join('\n')}`,
        `有 ${found.length} 个同名项，是哪一个？\n\n${list.join('\n')}`,
      ),
    };
  }
  const all = linesOf(yield* call('Glob', { pattern: '**/*', include_dirs: true }));
  const alike = all.filter((path) => isAlike(name, bare(path)));
  const [likely] = alike;
  if (likely !== undefined && alike.length === 1) return foundAt(likely);
  const near = nearTo(name, all.map(bare));
  const missing = say(`There is no \`${given}\` in this workspace.`, `工作区里没有 \`${given}\`。`);
  if (near.length === 0) return { problem: missing };
  const list = near.map((path) => `- \`${path}\``).join('\n');
  return { problem: `${missing} ${say('Did you mean', '你是不是要找')}:\n\n${list}` };
}

/** The same name but for capital letters, or without its ending. */
function isAlike(name: string, path: string): boolean {
  const [wanted, given] = [last(name).toLowerCase(), last(path).toLowerCase()];
  return wanted === given || (!wanted.includes('.') && given.replace(/\.[^.]+$/, '') === wanted);
}

/** Paths whose names are like the given one, the nearest first, at most five. */
export function nearTo(name: string, paths: readonly string[]): readonly string[] {
  const wanted = last(name).toLowerCase();
  const scored = paths.map((path) => ({ path, score: distance(wanted, last(path).toLowerCase()) }));
  const limit = Math.max(2, Math.floor(wanted.length / 2.5));
  return scored
    .filter(({ score }) => score <= limit)
    .sort((a, b) => a.score - b.score || a.path.length - b.path.length)
    .slice(0, 5)
    .map(({ path }) => path);
}

/** Edits between two names; one that contains the other (or its stem) counts as near. */
function distance(a: string, b: string): number {
  const stem = (name: string): string => name.replace(/\.[^.]*$/, '');
  if (stem(a) === stem(b)) return 0.5;
  if (stem(a).length > 2 && b.includes(stem(a))) return 1;
  if (stem(b).length > 3 && a.includes(stem(b))) return 1.5;
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length] ?? a.length;
}

export function last(path: string): string {
  return path.split('/').at(-1) ?? path;
}

function foundAt(path: string): FoundFile {
  return { path: bare(path), folder: path.endsWith('/') };
}

function bare(path: string): string {
  return path.replace(/\/$/, '');
}

/** The language of a fence for a file. */
export function languageOf(path: string): string {
  const ending = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? '';
  const names: Readonly<Record<string, string>> = { mjs: 'js', cjs: 'js', mts: 'ts', cts: 'ts', yml: 'yaml', markdown: 'md', htm: 'html' };
  return names[ending] ?? ending;
}

/** The text of a ReadFile result without the line numbers. */
export function textOfRead(text: string): readonly string[] {
  return text === '' ? [] : text.split('\n').map((line) => line.replace(/^ *\d+\t/, ''));
}

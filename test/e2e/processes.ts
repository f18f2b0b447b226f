import { readdirSync, readFileSync } from 'node:fs';

/** Processes below `root` whose command line holds `text`. Linux only, as the workbench is. */
export function descendants(root: number, text: string): readonly number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? read(`/proc/${name}/stat`) : '';
    // The name in brackets may hold anything; the parent is the second field after it.
    const parent = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
    if (parent) parents.set(Number(name), Number(parent));
  }
  const below = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === root || below(parent));
  };
  return [...parents.keys()].filter((pid) => below(pid) && read(`/proc/${pid}/cmdline`).includes(text));
}

/** Empty when the process has gone in between. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** 0-based column of the name, preferably as a whole word. */
export function wordAt(line: string, name: string): number {
  const edge = (character: string | undefined) => character === undefined || !/[\p{L}\p{N}_$]/u.test(character);
  for (let at = line.indexOf(name); at >= 0; at = line.indexOf(name, at + 1)) {
    if (edge(line[at - 1]) && edge(line[at + name.length])) return at;
  }
  return line.indexOf(name);
}

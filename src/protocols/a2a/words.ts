/** ProtoJSON as agents write it: two styles of names, enums by name, number or prefix (a2a.md §6). */

export type Fields = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const camel = (name: string) => (name.includes('_') ? toCamel(name) : name);
const toCamel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/**
 * The members of these names, in snake_case however they came; the snake_case spelling wins. A `wrappers` member that stands around a oneof is
 * opened. Values are left alone.
 */
export function fields(value: unknown, names: readonly string[], wrappers: readonly string[] = []): Fields {
  if (!isRecord(value)) return {};
  const all: Fields[] = [...wrappers.map((name) => value[name] ?? value[camel(name)]).filter(isRecord), value];
  const found: Record<string, unknown> = {};
  for (const record of all)
    for (const name of names) {
      const one = record[name] ?? record[camel(name)];
      if (one !== undefined && one !== null) found[name] = one;
    }
  return found;
}

/** The member of an enum, in small letters with underscores; `unspecified` for what is not in the list. */
export function member<T extends string>(value: unknown, all: readonly T[]): T {
  const first = all[0] as T;
  if (typeof value === 'number') return all[value] ?? first;
  if (typeof value !== 'string') return first;
  if (/^\d+$/.test(value)) return all[Number(value)] ?? first;
  const plain = value.trim().toLowerCase().replaceAll('-', '_');
  const exact = all.find((one) => one === plain);
  if (exact !== undefined) return exact;
  // The longest name that ends it: a prefix is the name of the type.
  const fitting = all.filter((one) => plain.endsWith(`_${one}`)).sort((a, b) => b.length - a.length);
  return fitting[0] ?? first;
}

/** True when the object names its members in camelCase. */
export function writesCamel(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).some((name) => /[a-z][A-Z]/.test(name));
}

/** An object of ours in the style the agent writes. */
export function written(value: Fields, inCamel: boolean): Fields {
  if (!inCamel) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [camel(name), isRecord(one) ? written(one, true) : one]));
}

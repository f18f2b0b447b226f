const UNSAFE = ['__proto__', 'constructor', 'prototype'];

/** Objects are merged member by member, everything else is replaced. Neither side is changed. */
export function merged(base: unknown, more: unknown): unknown {
  if (!isRecord(more)) return more;
  const result: Record<string, unknown> = isRecord(base) ? { ...base } : {};
  for (const [key, value] of Object.entries(more)) {
    if (UNSAFE.includes(key) || value === undefined) continue;
    result[key] = merged(result[key], value);
  }
  return result;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

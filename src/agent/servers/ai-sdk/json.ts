export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Anything as text for a model. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value ?? null) ?? '');
}

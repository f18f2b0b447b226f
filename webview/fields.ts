import type { Field } from '../src/session/model.ts';

/** Half-given answers: key -> values. */
export type Given = Readonly<Record<string, readonly string[]>>;

/** Where free text is kept while it is typed. */
export function freeKey(field: Field): string {
  return `${field.id}\u0000free`;
}

export function takesText(field: Field): boolean {
  return field.free === true || ((field.choices ?? []).length === 0 && field.kind !== 'boolean');
}

/** What is chosen, before the user has chosen anything: what the agent filled in. */
export function chosenOf(field: Field, given: Given): readonly string[] {
  return given[field.id] ?? (takesText(field) && !field.choices ? [] : (field.initial ?? []));
}

export function freeOf(field: Field, given: Given): string {
  return given[freeKey(field)]?.[0] ?? (field.choices || field.kind === 'boolean' ? '' : (field.initial?.[0] ?? ''));
}

/** What would be sent for a field. */
export function valuesOf(field: Field, given: Given): readonly string[] {
  const chosen = chosenOf(field, given);
  const free = takesText(field) ? freeOf(field, given).trim() : '';
  if (free === '') return chosen;
  // The browser's field for it knows no time zone; what is sent names one.
  if (field.kind === 'date-time' && !Number.isNaN(Date.parse(free))) return [new Date(free).toISOString()];
  return field.many ? [...chosen, free] : [free];
}
